// Usage: npm run supply-chain -- [--offline] [--strict]
//
// Checks the packages that we depend on: their number, hashes, licences, deprecations and known
// vulnerabilities. The last two ask the registry. What could not be checked is listed; with
// --strict it is a failure. --offline leaves it out.

import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { allowedLicences, type Lock, lockEntryName, readLock } from './third-party.ts'

const root = join(import.meta.dirname, '..')

/**
 * The highest number of lines that `npm ls --omit=dev --all --parseable` may print, the repository,
 * its four workspaces, Node and PostgreSQL among them. docs/decisions/0054 says what the others are
 * for. The number may only go down.
 */
export const maxPackages = 115

/** Returns what is wrong with the number of packages, given the output of `npm ls`. */
export function findTooMany(listed: string): string[] {
  const count = listed.split('\n').filter((line) => line !== '').length
  if (count === 0) return ['npm ls printed nothing']
  return count > maxPackages ? [`${count} packages, but at most ${maxPackages} are allowed`] : []
}

/** Returns entries without a hash, except those of packages for other platforms. */
export function findMissingHashes(
  lock: Lock,
  isInstalled = (path: string) => existsSync(join(root, path)),
): string[] {
  return thirdParty(lock)
    .filter(([path, { integrity, optional, os }]) => {
      const isForOthers = optional === true && os !== undefined && !isInstalled(path)
      return !/^sha512-[\w+/]{86}==$/.test(integrity ?? '') && !isForOthers
    })
    .map(([path]) => `${path} has no SHA-512 hash in the lock file`)
}

/** Returns packages of what we publish whose licence is not known to be acceptable. */
export function findLicences(lock: Lock): string[] {
  return (
    thirdParty(lock)
      .filter(([, { dev, devOptional }]) => !dev && !devOptional)
      // Node runs the tests and is no part of what we publish.
      .filter(([path]) => !lockEntryName(path).startsWith('node-linux-'))
      .filter(([, { license }]) => license === undefined || !allowedLicences.has(license))
      .map(([path, { license }]) => `${path} has the licence '${license}'`)
  )
}

/** Returns packages that were deprecated when they were installed, as the lock file says. */
export function findDeprecated(lock: Lock): string[] {
  return thirdParty(lock)
    .filter(([, { deprecated }]) => deprecated !== undefined)
    .map(([path, { deprecated }]) => `${path} is deprecated: ${deprecated}`)
}

/** Returns the third-party entries of the lock file. */
function thirdParty(lock: Lock): [string, Lock[string]][] {
  return Object.entries(lock).filter(
    ([path, { link }]) => path.includes('node_modules/') && link !== true,
  )
}

/** Runs the command of the limit. Throws if packages are missing. */
export function listPackages(): string {
  const { stdout, stderr } = npm(['ls', '--omit=dev', '--all', '--parseable'])
  if (/npm error missing:/.test(stderr)) throw new Error(`Run npm ci first.\n${stderr}`)
  return stdout
}

interface Audit {
  vulnerabilities?: Record<string, { severity: string; range: string; via: unknown[] }>
  metadata?: { dependencies?: { total?: number } }
}

/** Returns known vulnerabilities in the output of `npm audit --json`. Throws if it is no report. */
export function findVulnerable(output: string): string[] {
  const { vulnerabilities, metadata } = parseAudit(output)
  // An error is JSON, too, and a report about no packages is none.
  if (vulnerabilities === undefined || !metadata?.dependencies?.total)
    throw new Error('the registry gave no report')
  return Object.entries(vulnerabilities).map(
    ([name, { severity, range }]) => `${name} ${range} has a known vulnerability: ${severity}`,
  )
}

function parseAudit(output: string): Audit {
  try {
    return JSON.parse(output) as Audit
  } catch {
    return {}
  }
}

/** Asks the registry which installed versions are deprecated. Throws if it does not answer. */
async function findDeprecatedNow(lock: Lock): Promise<string[]> {
  const registry = npm(['config', 'get', 'registry']).stdout.trim()
  const found: string[] = []
  const left = thirdParty(lock).filter(([path]) => existsSync(join(root, path)))
  const askOne = async ([path, entry]: [string, Lock[string]]) => {
    const name = lockEntryName(path, entry)
    const reply = await fetch(new URL(name.replace('/', '%2f'), registry), {
      headers: { accept: 'application/vnd.npm.install-v1+json' },
      signal: AbortSignal.timeout(30_000),
    })
    if (!reply.ok) throw new Error(`the registry answered ${reply.status} for ${name}`)
    const { versions } = (await reply.json()) as { versions: Record<string, Lock[string]> }
    const version = versions[entry.version ?? '']
    if (!version) throw new Error(`the registry does not have ${name} ${entry.version}`)
    if (version.deprecated) found.push(`${name} is deprecated: ${version.deprecated}`)
  }
  const askMany = async () => {
    for (let next = left.pop(); next; next = left.pop()) await askOne(next)
  }
  await Promise.all(Array.from({ length: 8 }, askMany))
  return found
}

function npm(args: readonly string[]) {
  return spawnSync('npm', args, { cwd: root, encoding: 'utf8', maxBuffer: 64 * 2 ** 20 })
}

interface Check {
  name: string
  isOnline?: boolean
  find: () => string[] | Promise<string[]>
}

function allChecks(): readonly Check[] {
  const lock = readLock()
  return [
    { name: 'number of packages', find: () => findTooMany(listPackages()) },
    { name: 'hashes in the lock file', find: () => findMissingHashes(lock) },
    { name: 'licences', find: () => findLicences(lock) },
    { name: 'deprecated when installed', find: () => findDeprecated(lock) },
    { name: 'deprecated today', isOnline: true, find: () => findDeprecatedNow(lock) },
    {
      name: 'known vulnerabilities',
      isOnline: true,
      // .npmrc turns audits off, which would slow every installation down.
      find: () => findVulnerable(npm(['audit', '--audit=true', '--json']).stdout),
    },
  ]
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      offline: { type: 'boolean', default: false },
      strict: { type: 'boolean', default: false },
    },
  })
  const unchecked: string[] = []
  let hasFailed = false
  for (const { name, isOnline = false, find } of allChecks()) {
    if (isOnline && values.offline) {
      unchecked.push(name)
      console.log(`not checked  ${name}: --offline`)
      continue
    }
    try {
      const found = await find()
      hasFailed ||= found.length > 0
      console.log(`${found.length > 0 ? 'FAILED     ' : 'passed     '}  ${name}`)
      for (const line of found) console.log(`             ${line}`)
    } catch (error) {
      if (isOnline) unchecked.push(name)
      else hasFailed = true
      const { message } = error as Error
      console.log(`${isOnline ? 'NOT CHECKED' : 'FAILED     '}  ${name}: ${message}`)
    }
  }
  if (unchecked.length > 0) console.log(`\nThis says nothing about: ${unchecked.join(', ')}`)
  return hasFailed || (values.strict && unchecked.length > 0) ? 1 : 0
}

if (import.meta.main) process.exitCode = await main()
