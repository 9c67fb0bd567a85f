import { existsSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { acceptsEncoding, encodings } from '../platform/http/compression.ts'
import type { PageResponse } from '../platform/http/pages.ts'

// Serves the scripts and styles of the pages. Their names contain a hash of the content, so that
// they can be cached for ever.

export interface Assets {
  /** Paths relative to the base path. */
  readonly style: string
  readonly script: string
  /** Those of the pages for people who sign in. */
  readonly desk: { readonly style: string; readonly script: string }
  read(
    name: string,
    acceptEncoding: string | string[] | undefined,
  ): Promise<PageResponse | undefined>
}

interface Manifest {
  readonly [source: string]: { readonly file: string }
}

// The folder next to main.js in the package, or the output of Vite when running from source.
const folders = [
  join(import.meta.dirname, 'web'),
  join(import.meta.dirname, '..', '..', 'web', 'dist', 'client'),
]

const types: Record<string, string> = {
  js: 'text/javascript',
  css: 'text/css',
  svg: 'image/svg+xml',
}
const extensions = { br: '.br', gzip: '.gz' }

/** Finds the built assets. Throws if the pages have not been built. */
export function openAssets(): Assets {
  const folder = folders.find((path) => existsSync(join(path, 'manifest.json')))
  if (folder === undefined) throw new Error('The pages are not built: npm run build')
  const readManifest = (name: string): Manifest =>
    JSON.parse(readFileSync(join(folder, name), 'utf8'))
  const manifest = { ...readManifest('manifest.json'), ...readManifest('desk-manifest.json') }
  const fileOf = (source: string) => `/${manifest[source]?.file}`
  return {
    style: fileOf('styles/main.css'),
    script: fileOf('islands/main.ts'),
    desk: { style: fileOf('styles/desk.css'), script: fileOf('islands/desk.ts') },
    async read(name, acceptEncoding) {
      const extension = /^[\w-]+\.([a-z]+)$/.exec(name)?.[1] ?? ''
      const type = types[extension]
      if (type === undefined) return undefined
      const encoding = encodings.find((it) => acceptsEncoding(it, acceptEncoding))
      const path = join(folder, 'assets', name)
      const compressed = encoding && (await readIfExists(path + extensions[encoding]))
      const body = compressed ?? (await readIfExists(path))
      if (body === undefined) return undefined
      return {
        body,
        headers: {
          'content-type': `${type}; charset=utf-8`,
          'cache-control': 'public, max-age=31536000, immutable',
          'cross-origin-resource-policy': 'same-origin',
          vary: 'Accept-Encoding',
          ...(compressed && { 'content-encoding': encoding }),
        },
      }
    },
  }
}

async function readIfExists(path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path)
  } catch {
    return undefined
  }
}
