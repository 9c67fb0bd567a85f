// npm run roundtrip -- FILE
//
// Imports a file of talks with the command (unless TALKS_DATABASE_URL has them), exports them again
// in the same format, and compares every field of every talk.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createReadStream, createWriteStream, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import type { AtRiskReport } from '@talkshelf/contract'
import { openAtRiskReport } from '../../server/links/links.ts'
import { openPool } from '../../server/platform/db/pool.ts'
import {
  installedPostgres,
  packagedPostgres,
  startPrivatePostgres,
} from '../../server/platform/db/private-postgres.ts'
import { scanAtRisk } from '../support/at-risk-scan.ts'
import { root } from '../support/harness.ts'
import { checkInvariants, withDatabase } from '../support/invariants.ts'
import { migratedDatabase } from '../support/postgres.ts'
import { comparedKinds, type Difference, kindOf, recordDifferences } from './differences.ts'

type Talk = Record<string, unknown>

const [file] = process.argv.slice(2)
if (file === undefined || !existsSync(file)) {
  console.error(
    'Give a file of talks: npm run roundtrip -- FILE',
    file === undefined ? '' : `(there is no ${file})`,
  )
  process.exit(2)
}

const loaded = process.env.TALKS_DATABASE_URL || undefined
const postgres = loaded === undefined ? openPostgres() : undefined
const database = {
  url: postgres ? await migratedDatabase(await postgres.started, 'talkshelf') : (loaded ?? ''),
}
const dir = mkdtempSync(join(tmpdir(), 'talkshelf-roundtrip-'))
process.exitCode = await roundtrip(file).finally(async () => {
  rmSync(dir, { recursive: true, force: true })
  await postgres?.stop()
})

async function roundtrip(source: string): Promise<number> {
  const importing = loaded ? undefined : await timed('import', [source, '--apply', '--yes'], [0, 4])
  if (importing) console.log(importing.output.trim())
  const exported = join(dir, 'exported.ndjson')
  const exporting = await timed('export', ['--format', 'pyvideo'], [0], exported)
  const again = await timed('import', [source, '--dry-run'], [0, 3, 4])
  const planned = await lastPlan()
  await checkInvariants(database.url)
  const atRisk = await compareAtRisk()

  const remaining = new Map<unknown, Talk>()
  for await (const talk of talksIn(exported)) remaining.set(talk.file, talk)
  let [total, found, formerIds, keptIds] = [0, 0, 0, 0]
  const counts = new Map<string, number>()
  const unexplained: { file: unknown; difference: Difference }[] = []
  const ids = await publicIds()
  for await (const talk of talksIn(source)) {
    total++
    const after = remaining.get(talk.file)
    remaining.delete(talk.file)
    if (talk.alias !== undefined && typeof talk.id === 'number') {
      formerIds++
      if (ids.get(talk.id) === String(talk.title).trim()) keptIds++
    }
    if (!after) continue
    found++
    for (const difference of recordDifferences(talk, after)) {
      const kind = kindOf(difference)
      if (kind) counts.set(kind.name, (counts.get(kind.name) ?? 0) + 1)
      else unexplained.push({ file: talk.file, difference })
    }
  }

  const imported = importing ? `in ${importing.seconds} s` : 'before'
  console.log(
    `\nImported ${imported}, exported in ${exporting.seconds} s, ` +
      `planned once more in ${again.seconds} s`,
  )
  console.log(
    `Planned once more: ${Object.entries(planned)
      .map(([verdict, count]) => `${count} ${verdict}`)
      .join(', ')}`,
  )
  console.log(
    `At one host only: ${atRisk.by_operators[1]?.talks} of ${atRisk.talks} talks, ` +
      'the same by a plain scan',
  )
  console.log(`Former numbers that still answer: ${keptIds} of ${formerIds}`)
  for (const { name, why } of comparedKinds)
    console.log(`${String(counts.get(name) ?? 0).padStart(6)}  ${name}: ${why}`)
  for (const { file, difference } of unexplained.slice(0, 20))
    console.log(`  not explained: ${file} ${JSON.stringify(difference).slice(0, 300)}`)
  if (remaining.size > 0)
    console.log(
      `  ${remaining.size} talks were exported that were not imported, ` +
        `for example ${[...remaining.keys()][0]}`,
    )
  console.log(`${found} of ${total} accounted for, ${unexplained.length} unexplained differences`)
  const isSame =
    found === total && remaining.size === 0 && unexplained.length === 0 && keptIds === formerIds
  const isQuiet = (planned.new ?? 0) + (planned.changed ?? 0) + (planned.conflict ?? 0) === 0
  return isSame && isQuiet ? 0 : 1
}

/** Compares the report of what is at risk with a plain scan. */
async function compareAtRisk(): Promise<AtRiskReport> {
  const pool = openPool({ url: database.url, connections: 2, applicationName: 'roundtrip' })
  try {
    const report = await openAtRiskReport(pool, (error) => console.error(error)).read()
    assert.deepEqual(report, await withDatabase(database.url, scanAtRisk))
    return report
  } finally {
    await pool.close()
  }
}

/** Starts a durable PostgreSQL, as in production: every batch is on disk when it is done. */
function openPostgres() {
  const bin = process.env.PG_BIN ?? installedPostgres()[0]?.bin ?? packagedPostgres()
  if (bin === undefined) throw new Error('There is no PostgreSQL here: install postgresql-15')
  return startPrivatePostgres({
    bin,
    name: 'roundtrip-',
    listen: 'port',
    settings: { shared_buffers: '512MB', max_wal_size: '4GB' },
  })
}

/** Runs the real command and measures its time. Writes its standard output to a file if given. */
async function timed(command: string, args: string[], codes: number[], into?: string) {
  const startedMs = performance.now()
  const child = spawn(process.execPath, ['server/main.ts', command, ...args], {
    cwd: root,
    env: { ...process.env, DATABASE_URL: database.url },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  child.stderr.on('data', (data: Buffer) => (output += data))
  if (into) await pipeline(child.stdout, createWriteStream(into))
  else child.stdout.on('data', (data: Buffer) => (output += data))
  const code = child.exitCode ?? (await once(child, 'close'))[0]
  if (!codes.includes(code))
    throw new Error(`talkshelf ${command} ended with ${code}:\n${output.slice(-3000)}`)
  return { output, seconds: ((performance.now() - startedMs) / 1000).toFixed(0) }
}

async function* talksIn(path: string): AsyncIterable<Talk> {
  const bytes = createReadStream(path)
  let rest = ''
  // Not with readline, which also splits at U+2028.
  for await (const piece of (path.endsWith('.gz') ? bytes.pipe(createGunzip()) : bytes).setEncoding(
    'utf8',
  )) {
    const lines = (rest + piece).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) yield JSON.parse(line) as Talk
  }
  if (rest !== '') yield JSON.parse(rest) as Talk
}

/** Reads the titles of public records, by id. */
async function publicIds(): Promise<Map<number, string>> {
  return readEntries(
    `select id, body::json->>'title' as title from video_body where live`,
    (row) => [row.id as number, row.title as string],
  )
}

async function lastPlan(): Promise<Record<string, number>> {
  const rows = await readEntries(
    `select verdict, count(*)::integer as count
     from import_row
     where import_id = (select max(id) from import)
     group by verdict`,
    (row) => [row.verdict as string, row.count as number],
  )
  return Object.fromEntries(rows)
}

async function readEntries<K, V>(
  text: string,
  entry: (row: Record<string, unknown>) => [K, V],
): Promise<Map<K, V>> {
  const pool = openPool({ url: database.url, connections: 1, applicationName: 'roundtrip' })
  try {
    const { rows } = await pool.run({ text, values: [] } as unknown as Parameters<
      typeof pool.run
    >[0])
    return new Map((rows as Record<string, unknown>[]).map(entry))
  } finally {
    await pool.close()
  }
}
