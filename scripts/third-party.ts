import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

// What is said about the packages in a package of ours: their licences, and a bill of materials.

const root = join(import.meta.dirname, '..')

/** An entry of the lock file. */
export interface LockEntry {
  name?: string
  version?: string
  integrity?: string | undefined
  license?: string
  deprecated?: string
  dev?: boolean
  devOptional?: boolean
  optional?: boolean
  link?: boolean
  os?: string[]
  cpu?: string[]
  dependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
}

export type Lock = Record<string, LockEntry>

export interface PackageManifest {
  name: string
  version: string
  license?: string
}

/** Licences under which a package may be part of what we publish. */
export const allowedLicences: ReadonlySet<string> = new Set([
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ISC',
  'MIT',
  'MIT-0',
  'PSF-2.0',
  // Installed beside the bundle as a shared library: libvips, which sharp loads.
  'Apache-2.0 AND LGPL-3.0-or-later',
  'Apache-2.0 AND LGPL-3.0-or-later AND MIT',
  'LGPL-3.0-or-later',
])

const mux = 'Copyright (c) 2024 Mux, Inc.'

/**
 * Copyright notices of packages that are published under the MIT licence without its text, from
 * their readme or repository. Whatever lacks its text and is not here cannot be packed.
 */
const mitNotices: Readonly<Record<string, string>> = {
  'abstract-logging': 'Copyright (c) James Sumners <james.sumners@gmail.com>',
  'custom-media-element': mux,
  'hls-video-element': mux,
  'media-played-ranges-mixin': mux,
  'media-tracks': mux,
  'native-promise-only': 'Copyright (c) Kyle Simpson <getify@gmail.com>',
  'pg-types': 'Copyright (c) 2014 Brian M. Carlson',
  pgpass: 'Copyright (c) 2013-2016 Hannes Hörl',
  'vimeo-video-element': mux,
}

const mitText = `Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.`

function readPackageManifest(folder: string): PackageManifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as PackageManifest
}

export function readLock(): Lock {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Lock
  }
  return packages
}

/** Returns the name of the package of a lock entry, whose path may be nested. */
export function lockEntryName(path: string, { name }: LockEntry = {}): string {
  return name ?? path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
}

/** Returns the licence text of an installed package. Throws if there is none. */
function licenceText(folder: string): string {
  const { name, license } = readPackageManifest(folder)
  const [file] = globSync('{LICEN[CS]E,licen[cs]e,COPYING}*', { cwd: folder })
  const notice = mitNotices[name]
  if (file !== undefined) {
    if (notice) throw new Error(`${name} has a licence text now: remove it from mitNotices`)
    return readFileSync(join(folder, file), 'utf8').trim()
  }
  if (notice === undefined || license !== 'MIT')
    throw new Error(`${name} (${license}) has no licence text: see scripts/third-party.ts`)
  return `The MIT License (MIT)\n\n${notice}\n\n${mitText}`
}

/** Lists packages with their versions and licences. Throws if one lacks its text. */
export function thirdPartyLicences(folders: readonly string[]): string {
  const sections = [...new Set(folders)].map((folder) => {
    const { name, version, license = '' } = readPackageManifest(folder)
    if (!allowedLicences.has(license))
      throw new Error(`${name} has the licence '${license}', which is not in allowedLicences`)
    const text = `\`\`\`text\n${licenceText(folder)}\n\`\`\``
    return { title: `## ${name} ${version} (${license})`, text }
  })
  const sorted = sections.sort((a, b) => a.title.localeCompare(b.title, 'en'))
  const list = sorted.map(({ title, text }) => `${title}\n\n${text}\n`).join('\n')
  return `# Third-party packages in Talkshelf\n\n${list}`
}

interface Component {
  type: 'library'
  'bom-ref': string
  name: string
  version: string
  scope: 'required' | 'optional'
  licenses: object[]
  purl: string
  hashes?: { alg: string; content: string }[]
  properties: { name: string; value: string }[]
}

/**
 * Returns the CycloneDX bill of materials of a package: what is bundled in it, from folders, and
 * what npm installs beside it, from the lock file with the binaries of every platform. It contains
 * neither a time nor a random number: the same sources give the same file.
 */
export function billOfMaterials(
  main: PackageManifest,
  bundled: readonly string[],
  external: readonly string[],
): object {
  const lock = readLock()
  const components = new Map<string, Component>()
  const add = (path: string, kind: 'bundled' | 'installed') => {
    const entry = lock[path]
    if (!entry?.version) throw new Error(`The lock file has no ${path}`)
    const component = toComponent(lockEntryName(path, entry), entry, kind)
    if (!components.has(component.purl)) components.set(component.purl, component)
    if (kind === 'bundled') return
    for (const name of Object.keys({ ...entry.dependencies, ...entry.optionalDependencies }))
      if (lock[`node_modules/${name}`]?.version) add(`node_modules/${name}`, kind)
  }
  for (const folder of bundled) add(folder.slice(folder.indexOf('node_modules/')), 'bundled')
  for (const name of external) add(`node_modules/${name}`, 'installed')
  const sorted = [...components.values()].sort((a, b) => a.purl.localeCompare(b.purl, 'en'))
  const purl = toPurl(main.name, main.version)
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: {
      component: {
        type: 'application',
        'bom-ref': purl,
        name: main.name,
        version: main.version,
        licenses: toLicences(main.license),
        purl,
      },
    },
    components: sorted,
    dependencies: [{ ref: purl, dependsOn: sorted.map(({ purl }) => purl) }],
  }
}

function toComponent(name: string, entry: LockEntry, kind: 'bundled' | 'installed'): Component {
  const { version = '', integrity, optional } = entry
  const purl = toPurl(name, version)
  return {
    type: 'library',
    'bom-ref': purl,
    name,
    version,
    scope: optional ? 'optional' : 'required',
    licenses: toLicences(entry.license),
    purl,
    ...(integrity && { hashes: toHashes(integrity) }),
    properties: [{ name: 'talkshelf:how', value: kind }],
  }
}

function toLicences(licence = ''): object[] {
  if (licence === '') return []
  return /\s/.test(licence) ? [{ expression: licence }] : [{ license: { id: licence } }]
}

/** Returns the hashes of an entry, whose algorithm and Base64 become those of CycloneDX. */
function toHashes(integrity: string): { alg: string; content: string }[] {
  return integrity.split(' ').map((part) => {
    const [, digits = '', base64 = ''] = /^sha(\d+)-(.+)$/.exec(part) ?? []
    return { alg: `SHA-${digits}`, content: Buffer.from(base64, 'base64').toString('hex') }
  })
}

function toPurl(name: string, version: string): string {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`
}
