// npm run bulk -- [--records N]
//
// Writes records through the bulk API of the write path, and the same rows with COPY into the same
// tables of another database, in alternating pieces: other load on the machine affects both. Fails
// if the bulk API reaches less than 0.35 of the rate of COPY.

import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Video, VideoInput, validate } from '@talkshelf/contract'
import { createCategory, lookUpAndLockNames } from '../server/entities/entities.ts'
import { openPool, type Pool } from '../server/platform/db/pool.ts'
import { installedPostgres, startPrivatePostgres } from '../server/platform/db/private-postgres.ts'
import { createVideos, normalizeVideoInput } from '../server/videos/videos.ts'
import { checkInvariants } from '../tests/support/invariants.ts'
import { migratedDatabase } from '../tests/support/postgres.ts'
import { makeNames, makeRecord, textOrigin } from './records.ts'

// `ours` is the database of the bulk API, `bare` that of COPY.
const { values } = parseArgs({ options: { records: { type: 'string', default: '100000' } } })
const records = Number(values.records)
const batchSize = 200
const pieceSize = Math.min(10_000, records / 2)

/** The tables that are copied, without the names and slugs of entities. */
const copiedTables = ['category', 'speaker', 'tag', 'video', 'video_body', 'change'] as const
const columnCache = new Map<string, string[]>()

const context = {
  origin: {
    actor: { role: 'editor' as const, name: 'bulk', token: null },
    via: 'import' as const,
    request: 'bulk',
  },
  ifMatch: undefined,
  hash: createHash('sha256').update('bulk').digest(),
}

const [installed] = installedPostgres()
if (!installed)
  throw new Error('There is no PostgreSQL in /usr/lib/postgresql: install postgresql-15')
const { bin } = installed
const settings = {
  shared_buffers: '1GB',
  max_wal_size: '8GB',
  checkpoint_timeout: '30min',
  maintenance_work_mem: '512MB',
}
const postgres = startPrivatePostgres({ bin, name: 'bulk-', listen: 'port', settings })
process.exitCode = await main().finally(() => postgres.stop())

/** Returns the exit code. */
async function main(): Promise<number> {
  const started = await postgres.started
  const ours = await migratedDatabase(started, 'ours')
  await psql(started.url('postgres'), 'create database bare template ours')
  const pool = openPool({ url: ours, connections: 2, applicationName: 'bulk' })
  const names = makeNames(records)
  for (const title of names.categories) await createCategory(pool, { title }, context)
  console.log(
    `${records.toLocaleString('en')} records of ${textOrigin}, PostgreSQL ${started.version}`,
  )

  const total = { ours: 0, bare: 0 }
  const copiedUpTo = new Map<string, number>(copiedTables.map((table) => [table, 0]))
  let peak = 0
  const memoryTimer = setInterval(() => (peak = Math.max(peak, process.memoryUsage().rss)), 100)
  const ratios: number[] = []
  for (let first = 1; first <= records; first += pieceSize) {
    const videos = Array.from(
      { length: Math.min(pieceSize, records - first + 1) },
      (_, index) => makeRecord(first + index, names).video,
    )
    const oursMs = await writeVideos(pool, videos)
    const bareMs = await copyPiece(started.url('ours'), started.url('bare'), copiedUpTo)
    total.ours += oursMs
    total.bare += bareMs
    ratios.push(bareMs / oursMs)
    const perSecond = (ms: number) => Math.round((videos.length * 1000) / ms)
    console.log(
      `${(first - 1 + videos.length).toLocaleString('en').padStart(9)}: ` +
        `${perSecond(oursMs)} a second, bare COPY ${perSecond(bareMs)}, ` +
        `ratio ${(bareMs / oursMs).toFixed(2)}, ` +
        `memory ${Math.round(process.memoryUsage().rss / 2 ** 20)} MB`,
    )
  }
  clearInterval(memoryTimer)
  await pool.close()
  if (records <= 100_000) await checkInvariants(ours)
  const ratio = total.bare / total.ours
  const range = `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`
  console.log(
    `Bulk / bare COPY: ${ratio.toFixed(2)} (${range}), floor 0.35, goal 0.60; ` +
      `memory ${Math.round(peak / 2 ** 20)} MB at most`,
  )
  return ratio >= 0.35 ? 0 : 1
}

/** Writes videos through the bulk API, in batches. Returns how many milliseconds it took. */
async function writeVideos(pool: Pool, videos: readonly Video[]): Promise<number> {
  const startedMs = performance.now()
  for (let index = 0; index < videos.length; index += batchSize) {
    const batch = videos
      .slice(index, index + batchSize)
      .map((video) => ({ record: validate(VideoInput, normalizeVideoInput(video)) }))
    const requested = {
      category: [...new Set(batch.map(({ record }) => record.category))],
      language: [...new Set(batch.map(({ record }) => record.language))],
      speaker: [...new Set(batch.flatMap(({ record }) => record.speakers ?? []))],
      tag: [...new Set(batch.flatMap(({ record }) => record.tags ?? []))],
    }
    await pool.transaction(async (tx) =>
      createVideos(tx, batch, await lookUpAndLockNames(tx, requested), context),
    )
  }
  return performance.now() - startedMs
}

/**
 * Copies the rows that are new since the last call, table by table. Triggers run in both databases.
 * Returns how many milliseconds the writes took.
 */
async function copyPiece(
  from: string,
  to: string,
  copiedUpTo: Map<string, number>,
): Promise<number> {
  const pieces: { table: string; columns: string; rows: string }[] = []
  for (const table of copiedTables) {
    const lastKey = copiedUpTo.get(table) as number
    const key = table === 'change' ? 'position' : 'id'
    const columns = (await columnsOf(from, table)).join(', ')
    pieces.push({
      table,
      columns,
      rows: await psql(
        from,
        `copy (select ${columns} from ${table} where ${key} > ${lastKey}) to stdout`,
      ),
    })
    copiedUpTo.set(table, Number(await psql(from, `select coalesce(max(${key}), 0) from ${table}`)))
  }
  const startedMs = performance.now()
  for (const { table, columns, rows } of pieces)
    await psql(to, `copy ${table} (${columns}) from stdin`, rows)
  return performance.now() - startedMs
}

/** Returns the columns of a table, without generated ones. */
async function columnsOf(url: string, table: string): Promise<string[]> {
  const statement = `
    select column_name
    from information_schema.columns
    where table_name = '${table}'
      and is_generated = 'NEVER'
      and identity_generation is distinct from 'ALWAYS'
    order by ordinal_position`
  const columns = columnCache.get(table) ?? (await psql(url, statement)).trim().split('\n')
  columnCache.set(table, columns)
  return columns
}

async function psql(url: string, command: string, input = ''): Promise<string> {
  const child = spawn(
    join(bin, 'psql'),
    ['-X', '-q', '-A', '-t', '-v', 'ON_ERROR_STOP=1', '-c', command, url],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  )
  const chunks: Buffer[] = []
  child.stdout.on('data', (data: Buffer) => chunks.push(data))
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`psql ended with ${code}: ${command.slice(0, 200)}`)
  return Buffer.concat(chunks).toString()
}
