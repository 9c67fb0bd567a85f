// Usage: npm run release -- check [TAG] | notes TAG | prepare VERSION
//
// check: verifies that manifests, lock file, documents and CHANGELOG.md agree about the version and,
// with a tag, that it names this version. notes: prints the section of CHANGELOG.md, with the date
// of the tag. prepare: writes the next version into all of them. docs/releasing.md has the steps.

import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const folders = ['contract', 'client', 'server', 'web']

interface Manifest {
  name: string
  version: string
  dependencies?: Record<string, string>
}

/** Returns what contradicts a release of the folder, under a tag if there is one. */
export function findContradictions(root: string, tag?: string): string[] {
  const found: string[] = []
  const version = readManifest(root, 'server').version
  const { packages } = readJson<{ packages: Record<string, Manifest> }>(root, 'package-lock.json')
  for (const folder of folders) {
    const manifest = readManifest(root, folder)
    for (const [file, { version: its, dependencies = {} }] of [
      [`${folder}/package.json`, manifest],
      [`package-lock.json (${folder})`, packages[folder] ?? { version: 'missing' }],
    ] as const) {
      if (its !== version) found.push(`${file} has version ${its}, server has ${version}`)
      for (const [name, needed] of Object.entries(dependencies))
        if (name.startsWith('@talkshelf/') && needed !== version)
          found.push(`${file} needs ${name} ${needed}, server is ${version}`)
    }
  }
  const sections = changelogSections(readFileSync(join(root, 'CHANGELOG.md'), 'utf8'))
  const [first] = sections
  if (tag === undefined) {
    if (first?.title !== 'Unreleased' && first?.version !== version)
      found.push(`CHANGELOG.md begins with neither 'Unreleased' nor '${version}'`)
    return found
  }
  if (tag !== `v${version}`) found.push(`the tag is ${tag}, the manifests say v${version}`)
  if (first?.version !== version)
    found.push(`CHANGELOG.md begins with '${first?.title}' instead of '${version}'`)
  else if (first.text === '') found.push(`CHANGELOG.md says nothing about ${version}`)
  return found
}

interface Section {
  title: string
  version: string
  text: string
}

/** Splits a changelog at its second-level headings: `## 0.1.0`, or `## 0.1.0 (2027-01-31)`. */
function changelogSections(changelog: string): Section[] {
  return changelog
    .split(/^## /m)
    .slice(1)
    .map((section) => {
      const [title = '', ...lines] = section.split('\n')
      const [, version = ''] = /^(\d+\.\d+\.\d+)(?: \(\d{4}-\d\d-\d\d\))?$/.exec(title) ?? []
      return { title, version, text: lines.join('\n').trim() }
    })
}

/** Returns the notes of a release: its section and the day of its tag. */
export function releaseNotes(changelog: string, tag: string, day: string): string {
  const section = changelogSections(changelog).find(({ version }) => `v${version}` === tag)
  if (!section?.text) throw new Error(`CHANGELOG.md has no section for ${tag}`)
  return `Released on ${day}.\n\n${section.text}\n`
}

/**
 * Writes a version into manifests, lock file, Dockerfile and changelog. The section of the last
 * release gets the day of its tag, which was unknown until it was pushed.
 */
export function prepareRelease(
  root: string,
  version: string,
  dayOfTag: (tag: string) => string | undefined,
): void {
  if (!/^\d+\.\d+\.\d+$/.test(version)) throw new Error(`${version} is no version`)
  const changelog = readFileSync(join(root, 'CHANGELOG.md'), 'utf8')
  if (changelogSections(changelog)[0]?.title !== 'Unreleased')
    throw new Error("CHANGELOG.md must begin with 'Unreleased'")
  const dated = changelog.replaceAll(/^## (\d+\.\d+\.\d+)$/gm, (heading, old) => {
    const day = dayOfTag(`v${old}`)
    return day ? `${heading} (${day})` : heading
  })
  writeFileSync(join(root, 'CHANGELOG.md'), dated.replace(/^## Unreleased$/m, `## ${version}`))
  const update = (manifest: Manifest | undefined) => {
    if (!manifest) throw new Error('package-lock.json lacks a workspace')
    manifest.version = version
    for (const name of Object.keys(manifest.dependencies ?? {}))
      if (name.startsWith('@talkshelf/')) (manifest.dependencies ?? {})[name] = version
  }
  const lock = readJson<{ packages: Record<string, Manifest> }>(root, 'package-lock.json')
  for (const folder of folders) {
    const manifest = readManifest(root, folder)
    update(manifest)
    update(lock.packages[folder])
    writeJson(root, `${folder}/package.json`, manifest)
  }
  writeJson(root, 'package-lock.json', lock)
  const dockerfile = readFileSync(join(root, 'Dockerfile'), 'utf8')
  writeFileSync(
    join(root, 'Dockerfile'),
    dockerfile.replace(/(image\.version=)"[^"]*"/, `$1"${version}"`),
  )
}

function readManifest(root: string, folder: string): Manifest {
  return readJson<Manifest>(root, `${folder}/package.json`)
}

function readJson<T>(root: string, file: string): T {
  return JSON.parse(readFileSync(join(root, file), 'utf8')) as T
}

function writeJson(root: string, file: string, value: object): void {
  writeFileSync(join(root, file), `${JSON.stringify(value, null, 2)}\n`)
}

/** Returns the day of the commit of a tag, or undefined if there is no such tag. */
function dayOfTag(root: string, tag: string): string | undefined {
  try {
    const args = ['log', '-1', '--format=%cs', `refs/tags/${tag}`, '--']
    return execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: 'pipe' }).trim()
  } catch {
    return undefined
  }
}

function main([command, argument]: string[]): number {
  const root = join(import.meta.dirname, '..')
  if (command === 'check') {
    const found = findContradictions(root, argument)
    for (const line of found) console.error(line)
    const { version } = readManifest(root, 'server')
    if (found.length === 0)
      console.log(argument ? `Ready to release ${version}` : `All parts have version ${version}`)
    return found.length === 0 ? 0 : 1
  }
  if (command === 'notes' && argument) {
    const changelog = readFileSync(join(root, 'CHANGELOG.md'), 'utf8')
    // A container without git, or a tag that is not pushed yet: it is being released now.
    const day = dayOfTag(root, argument) ?? new Date().toISOString().slice(0, 10)
    process.stdout.write(releaseNotes(changelog, argument, day))
    return 0
  }
  if (command === 'prepare' && argument) {
    prepareRelease(root, argument, (tag) => dayOfTag(root, tag))
    console.log("Now run 'npm run docs' and 'npm run release -- check'")
    return 0
  }
  console.error('Usage: npm run release -- check [TAG] | notes TAG | prepare VERSION')
  return 2
}

if (import.meta.main) process.exitCode = main(process.argv.slice(2))
