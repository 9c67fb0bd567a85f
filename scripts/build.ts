// What `npm run build` runs, and `npm ci` at its end: node scripts/build.ts [--watch] Makes web/dist:
// server/web.js renders the pages, client/ is what browsers load, packed in advance.

import { globSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { build, type InlineConfig } from 'vite'
import { plainImports, styleNonces } from './vite-csp.ts'

const root = join(import.meta.dirname, '../web')

/** Builds where sources are newer than what was built. */
export async function buildPages({ always = false, watch = false } = {}): Promise<void> {
  if (!always && isFresh()) return
  await build(browserConfig(watch))
  await build(forServer(watch))
  if (!watch) pack()
}

export const sharedConfig: InlineConfig = {
  root,
  configFile: false,
  logLevel: 'warn',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
}

export function browserConfig(watch: boolean): InlineConfig {
  return {
    ...sharedConfig,
    base: './',
    plugins: [styleNonces(), plainImports()],
    build: {
      outDir: 'dist/client',
      manifest: 'manifest.json',
      target: 'es2022',
      assetsInlineLimit: 0,
      // hls.js is one file, and only comes where it is needed.
      chunkSizeWarningLimit: 700,
      // What it would put into the page has no nonce.
      modulePreload: false,
      rolldownOptions: {
        input: ['islands/main.ts', 'styles/main.css'].map((file) => join(root, file)),
      },
      watch: watch ? {} : null,
    },
  }
}

function forServer(watch: boolean): InlineConfig {
  return {
    ...sharedConfig,
    // All inside: the server's bundle takes this file, and nothing from node_modules.
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

/** Once, and as small as it gets: nobody waits for it. */
function pack(): void {
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

function isFresh(): boolean {
  const builtMs =
    statSync(join(root, 'dist', 'server', 'web.js'), { throwIfNoEntry: false })?.mtimeMs ?? 0
  const sources = globSync('**/*.{ts,tsx,css,svg,json}', {
    cwd: root,
    exclude: (path) => /^(dist|node_modules)\b/.test(String(path)),
  })
  const builders = ['scripts/build.ts', 'scripts/vite-csp.ts', 'package-lock.json'].map((file) =>
    join('..', file),
  )
  return [...sources, ...builders].every((file) => statSync(join(root, file)).mtimeMs < builtMs)
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { watch: { type: 'boolean', default: false } } })
  await buildPages({ always: true, watch: values.watch })
}
