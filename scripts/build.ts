// Usage: node scripts/build.ts [--watch]
//
// Builds the pages into web/dist: server/web.js renders them, client/ has the compressed files for
// browsers. Run by `npm run build` and at the end of `npm ci`.

import { globSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { build, type InlineConfig } from 'vite'
import { plainImports, shadowStyles } from './vite-csp.ts'

const root = join(import.meta.dirname, '../web')

/** Builds the pages if a source file is newer than the last build, or `always`. */
export async function buildPages({ always = false, watch = false } = {}): Promise<void> {
  if (!always && isFresh()) return
  await build(browserConfig(watch))
  await build(deskConfig(watch))
  await build(serverConfig(watch))
  if (!watch) compressAssets()
}

/** Vite settings of all builds. */
export const sharedConfig: InlineConfig = {
  root,
  configFile: false,
  logLevel: 'warn',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
}

/** Returns the Vite settings of the files for browsers. */
export function browserConfig(watch: boolean): InlineConfig {
  return {
    ...sharedConfig,
    base: './',
    plugins: [shadowStyles(), plainImports()],
    build: {
      outDir: 'dist/client',
      manifest: 'manifest.json',
      target: 'es2022',
      assetsInlineLimit: 0,
      // hls.js is one large file, which is loaded on demand.
      chunkSizeWarningLimit: 700,
      // The loader of the page preloads the module.
      modulePreload: false,
      rolldownOptions: {
        input: ['islands/main.ts', 'styles/main.css'].map((file) => join(root, file)),
      },
      watch: watch ? {} : null,
    },
  }
}

/**
 * Returns the Vite settings of the files for pages of the desk. A separate build: modules that it
 * shares with the public pages would become an additional file for readers.
 */
function deskConfig(watch: boolean): InlineConfig {
  const config = browserConfig(watch)
  return {
    ...config,
    build: {
      ...config.build,
      emptyOutDir: false,
      manifest: 'desk-manifest.json',
      rolldownOptions: {
        input: ['islands/desk.ts', 'styles/desk.css'].map((file) => join(root, file)),
      },
    },
  }
}

function serverConfig(watch: boolean): InlineConfig {
  return {
    ...sharedConfig,
    // web.js includes its dependencies, so that the bundle of the server needs no node_modules.
    ssr: { noExternal: true },
    build: {
      outDir: 'dist/server',
      ssr: join(root, 'web.ts'),
      target: 'node24',
      minify: false,
      watch: watch ? {} : null,
    },
  }
}

/** Compresses the files for browsers in advance, with the highest levels. */
function compressAssets(): void {
  const folder = join(root, 'dist', 'client')
  for (const file of globSync('**/*.{js,css,svg}', { cwd: folder })) {
    const bytes = readFileSync(join(folder, file))
    writeFileSync(join(folder, `${file}.gz`), gzipSync(bytes, { level: 9 }))
    writeFileSync(
      join(folder, `${file}.br`),
      brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }),
    )
  }
}

/** Tells whether the last build is newer than all source files of the pages. */
function isFresh(): boolean {
  const builtMs =
    statSync(join(root, 'dist', 'server', 'web.js'), { throwIfNoEntry: false })?.mtimeMs ?? 0
  const sources = globSync('**/*.{ts,tsx,css,svg,json}', {
    cwd: root,
    exclude: (path) => /^(dist|node_modules)\b/.test(String(path)),
  })
  const buildFiles = ['scripts/build.ts', 'scripts/vite-csp.ts', 'package-lock.json'].map((file) =>
    join('..', file),
  )
  return [...sources, ...buildFiles].every((file) => statSync(join(root, file)).mtimeMs < builtMs)
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { watch: { type: 'boolean', default: false } } })
  await buildPages({ always: true, watch: values.watch })
}
