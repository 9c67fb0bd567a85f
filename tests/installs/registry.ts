import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const name = 'talkshelf'

/** An npm registry with the packed server. It gets all other packages from the real registry. */
export interface Registry {
  readonly url: string
  /** Publishes the packed server with this version, and tags it as the latest. */
  publish(version: string): void
  close(): Promise<void>
}

/** Starts a registry on a loopback port. `packed` is the folder that `npm run pack` wrote. */
export async function startRegistry(packed: string): Promise<Registry> {
  const upstream = execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' })
    .trim()
    .replace(/\/$/, '')
  const tarballs = new Map<string, Buffer>()
  const versions: Record<string, object> = {}
  let latest = ''

  const server = createServer((request, response) => {
    answer(request.url ?? '/', request.headers.accept, response).catch((error: Error) => {
      if (!response.headersSent) response.writeHead(502)
      response.end(error.message)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  async function answer(path: string, accept: string | undefined, response: ServerResponse) {
    const tarball = tarballs.get(path)
    if (tarball) return response.end(tarball)
    if (path === `/${name}`) {
      response.setHeader('content-type', 'application/json')
      return response.end(JSON.stringify({ name, 'dist-tags': { latest }, versions }))
    }
    const found = await fetch(`${upstream}${path}`, { headers: accept ? { accept } : {} })
    const type = found.headers.get('content-type') ?? ''
    response.writeHead(found.status, { 'content-type': type })
    if (!type.includes('json')) return response.end(await found.bytes())
    // Tarballs are fetched from here, too.
    return response.end((await found.text()).replaceAll(upstream, url))
  }

  return {
    url,
    publish(version) {
      const { tarball, manifest } = packAs(packed, version)
      const path = `/${name}/-/${name}-${version}.tgz`
      tarballs.set(path, tarball)
      const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`
      versions[version] = { ...manifest, dist: { tarball: `${url}${path}`, integrity } }
      latest = version
    },
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** Packs the staged folder of the server with another version. */
function packAs(packed: string, version: string): { tarball: Buffer; manifest: object } {
  const folder = mkdtempSync(join(tmpdir(), 'talkshelf-pack-'))
  try {
    const staged = join(folder, 'package')
    cpSync(join(packed, name), staged, { recursive: true })
    const file = join(staged, 'package.json')
    const manifest = { ...JSON.parse(readFileSync(file, 'utf8')), version }
    writeFileSync(file, `${JSON.stringify(manifest, null, 2)}\n`)
    execFileSync('npm', ['pack', '--silent', '--ignore-scripts', './package'], { cwd: folder })
    return { tarball: readFileSync(join(folder, `${name}-${version}.tgz`)), manifest }
  } finally {
    rmSync(folder, { recursive: true })
  }
}
