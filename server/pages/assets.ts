import { existsSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { acceptsEncoding, encodings } from '../platform/http/compression.ts'
import type { PageResponse } from '../platform/http/pages.ts'

// What browsers load beside the page. Names hold a hash of the content: whatever has a name never
// changes.

export interface Assets {
  /** Paths below the base. */
  readonly style: string
  readonly script: string
  read(
    name: string,
    acceptEncoding: string | string[] | undefined,
  ): Promise<PageResponse | undefined>
}

interface Manifest {
  readonly [source: string]: { readonly file: string }
}

// In the package they lie beside main.js; from source Vite puts them here.
const folders = [
  join(import.meta.dirname, 'web'),
  join(import.meta.dirname, '..', '..', 'web', 'dist', 'client'),
]

const types: Record<string, string> = {
  js: 'text/javascript',
  css: 'text/css',
  svg: 'image/svg+xml',
}
const endings = { br: '.br', gzip: '.gz' }

export function openAssets(): Assets {
  const folder = folders.find((it) => existsSync(join(it, 'manifest.json')))
  if (folder === undefined) throw new Error('The pages are not built: npm run build')
  const manifest = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')) as Manifest
  const fileOf = (source: string) => `/${manifest[source]?.file}`
  return {
    style: fileOf('styles/main.css'),
    script: fileOf('islands/main.ts'),
    async read(name, acceptEncoding) {
      const ending = /^[\w-]+\.([a-z]+)$/.exec(name)?.[1] ?? ''
      const type = types[ending]
      if (type === undefined) return undefined
      const coding = encodings.find((it) => acceptsEncoding(it, acceptEncoding))
      const path = join(folder, 'assets', name)
      const packed = coding && (await readIfThere(path + endings[coding]))
      const body = packed ?? (await readIfThere(path))
      if (body === undefined) return undefined
      return {
        body,
        headers: {
          'content-type': `${type}; charset=utf-8`,
          'cache-control': 'public, max-age=31536000, immutable',
          'cross-origin-resource-policy': 'same-origin',
          vary: 'Accept-Encoding',
          ...(packed && { 'content-encoding': coding }),
        },
      }
    },
  }
}

async function readIfThere(path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path)
  } catch {
    return undefined
  }
}
