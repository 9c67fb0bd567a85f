import assert from 'node:assert/strict'
import { closeSync, openSync, readFileSync, readSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { call, category } from '../support/harness.ts'
import { withDatabase } from '../support/invariants.ts'
import { until } from '../support/until.ts'
import {
  type Database,
  type Fault,
  type FaultEnvironment,
  launch,
  startDatabase,
  startFaultService,
} from './environment.ts'
import { summarize } from './kills.ts'
import { startWorkload } from './workload.ts'

// A disk that fails: it refuses to write, changes bits, or writes half of a page in a crash.

const pageBytes = 8192

/** Every fsync fails once, in all processes of PostgreSQL, by strace. */
export const fsyncFails: Fault = {
  name: 'fsync fails',
  limitS: { quick: 240, full: 360 },
  fullOnly: true,
  async run(environment) {
    const database = await startDatabase(environment)
    const service = await startFaultService(environment, { DATABASE_URL: database.serviceUrl })
    const workload = await startWorkload({ url: service.url, token: environment.token, workers: 8 })
    const panics = () => database.log().match(/PANIC: {2}could not (fsync|fdatasync)/g)?.length ?? 0
    const rounds = 4
    for (let round = 0; round < rounds; round++) {
      await workload.progress(200, 60_000)
      const before = panics()
      const isChecked = round % 2 === 1
      const pids = await processes(database, isChecked ? ['checkpointer'] : undefined)
      const tracer = launch(
        environment,
        [
          ...['strace', '-qq', '-o', '/dev/null', '-e', 'trace=fsync,fdatasync'],
          ...['-e', 'inject=fsync,fdatasync:error=EIO:when=1', '-p', pids.join(',')],
        ],
        { log: 'strace.log', variables: { PATH: process.env.PATH } },
      )
      await until('PostgreSQL to notice that fsync failed', async () => {
        if (isChecked)
          await withDatabase(database.url, (query) => query('checkpoint')).catch(() => {})
        return panics() > before
      })
      tracer.child.kill('SIGTERM')
      await tracer.exited
      await until('PostgreSQL to recover', () =>
        withDatabase(database.url, (query) => query('select 1')).catch(() => undefined),
      )
    }
    await workload.progress(200, 60_000)
    await workload.stop()
    return `${rounds} times, ${summarize(await workload.verify(database.serviceUrl))}`
  },
}

/** Returns the ids of the processes of PostgreSQL that write: backends and background processes. */
async function processes(
  database: Database,
  kinds = ['checkpointer', 'walwriter', 'client backend'],
): Promise<number[]> {
  return withDatabase(database.url, async (query) => {
    const rows = await query(
      `select pid from pg_stat_activity
       where backend_type in ('${kinds.join("','")}') and pid <> pg_backend_pid()`,
    )
    return rows.map(({ pid }) => Number(pid))
  })
}

const relations = [
  'video',
  'video_body',
  'video_pkey',
  'video_body_pkey',
  'change',
  'entity_slug',
  'category',
]

/** Bits of pages change while PostgreSQL is stopped. */
export const bitsFlipped: Fault = {
  name: 'bits flip on the disk',
  limitS: { quick: 240, full: 360 },
  fullOnly: true,
  async run(environment) {
    const database = await startDatabase(environment)
    const paths = await makeTalks(environment, database)
    const good = await readAll(environment, database, paths)
    for (const { status, path } of good.values()) assert.equal(status, 200, path)
    const figures: string[] = []
    for (const relation of relations) {
      const file = join(environment.dir, 'data', await fileOf(database, relation))
      await database.stop()
      const undo = flipBits(file)
      await database.start()
      const logged = database.log().length
      const damaged = await readAll(environment, database, paths)
      let refused = 0
      for (const [path, { status, text }] of damaged)
        if (status === 200) assert.equal(text, good.get(path)?.text, `${path} of damaged pages`)
        else {
          assert.ok(status >= 500, `${path} was answered with ${status}: ${text}`)
          refused++
        }
      assert.match(database.log().slice(logged), /invalid page in block/, relation)
      assert.ok(refused > 0, `no answer noticed the damage of ${relation}`)
      figures.push(`${relation} ${refused}`)
      await database.stop()
      undo()
      await database.start()
    }
    const last = await readAll(environment, database, paths)
    for (const [path, { text }] of last) assert.equal(text, good.get(path)?.text)
    return `${paths.length} answers of each, none with damaged data; refused: ${figures.join(', ')}`
  },
}

/** Returns the file of a table or an index, below the folder of the data. */
async function fileOf({ serviceUrl }: Database, relation: string): Promise<string> {
  const [row] = await withDatabase(serviceUrl, (query) =>
    query(`select pg_relation_filepath('${relation}') as path`),
  )
  return String(row?.path)
}

/** Flips one bit near the end of each page. Returns a function that flips them back. */
function flipBits(file: string): () => void {
  const flip = () => {
    const descriptor = openSync(file, 'r+')
    const byte = Buffer.alloc(1)
    // From the end of the page, where the first rows are.
    for (let at = pageBytes - 200; readSync(descriptor, byte, 0, 1, at) === 1; at += pageBytes) {
      byte[0] = (byte[0] ?? 0) ^ 0b100
      writeSync(descriptor, byte, 0, 1, at)
    }
    closeSync(descriptor)
  }
  flip()
  return flip
}

/** Creates talks, and returns paths that show them. */
async function makeTalks(environment: FaultEnvironment, database: Database): Promise<string[]> {
  const { token } = environment
  const service = await startFaultService(environment, { DATABASE_URL: database.serviceUrl })
  await call(service.url, 'POST', '/api/v2/category', { body: { title: category }, token })
  const ids: number[] = []
  for (let count = 0; count < 20; count++) {
    const body = { title: `Talk ${count}`, category, language: 'English', state: 1 }
    const { json } = await call(service.url, 'POST', '/api/v2/video', { body, token })
    ids.push(json.id as number)
  }
  await service.stop()
  return [
    ...ids.map((id) => `/api/v2/video/${id}`),
    ...ids.map((id) => `/api/v2/video/${id}/revisions`),
    '/api/v2/video',
    '/api/v2/category/example-days-2026',
  ]
}

/** Reads all paths from a service that has nothing in its memory. */
async function readAll(
  environment: FaultEnvironment,
  { serviceUrl }: Database,
  paths: readonly string[],
) {
  const service = await startFaultService(environment, { DATABASE_URL: serviceUrl })
  const answers = new Map<string, { path: string; status: number; text: string }>()
  for (const path of paths) {
    const { status, text } = await call(service.url, 'GET', path, { token: environment.token })
    answers.set(path, { path, status, text: text.replaceAll(/127\.0\.0\.1:\d+/g, 'host') })
  }
  await service.stop()
  return answers
}

/** PostgreSQL crashes while pages are written: half of each is that of before. */
export const pagesTorn: Fault = {
  name: 'pages are torn in a crash',
  limitS: { quick: 240, full: 360 },
  fullOnly: true,
  async run(environment) {
    const database = await startDatabase(environment)
    const service = await startFaultService(environment, { DATABASE_URL: database.serviceUrl })
    const workload = await startWorkload({ url: service.url, token: environment.token, workers: 8 })
    let torn = 0
    const rounds = 3
    for (let round = 0; round < rounds; round++) {
      await workload.progress(100, 60_000)
      await withDatabase(database.url, (query) => query('checkpoint'))
      const before = await pagesOf(environment, database)
      await workload.progress(100, 60_000)
      const written = await changedPages(database)
      await database.kill('all')
      for (const { file, block } of written) {
        const old = before.get(file)?.subarray(block * pageBytes, (block + 1) * pageBytes)
        if (old?.length !== pageBytes) continue
        const descriptor = openSync(join(environment.dir, 'data', file), 'r+')
        // The first half is of another moment than the second one.
        const page = Buffer.alloc(pageBytes)
        readSync(descriptor, page, 0, pageBytes, block * pageBytes)
        page.fill(round, 0, 16)
        old.copy(page, pageBytes / 2, pageBytes / 2)
        writeSync(descriptor, page, 0, pageBytes, block * pageBytes)
        closeSync(descriptor)
        torn++
      }
      await database.start()
    }
    assert.ok(torn > rounds, `only ${torn} pages were torn`)
    await workload.progress(100, 60_000)
    await workload.stop()
    assert.doesNotMatch(database.log(), /invalid page in block/)
    return `${torn} pages, ${summarize(await workload.verify(database.serviceUrl))}`
  },
}

const written = ['video', 'video_body']

async function pagesOf({ dir }: FaultEnvironment, database: Database) {
  const files = await Promise.all(written.map((table) => fileOf(database, table)))
  return new Map(files.map((file) => [file, readFileSync(join(dir, 'data', file))]))
}

/**
 * Returns the pages that were changed since the last checkpoint: the log has all of their content.
 */
async function changedPages(database: Database): Promise<{ file: string; block: number }[]> {
  return withDatabase(database.url.replace(/postgres$/, 'talkshelf'), async (query) => {
    await query('create extension if not exists pageinspect')
    const pages: { file: string; block: number }[] = []
    for (const table of written) {
      const file = await fileOf(database, table)
      const rows = await query(`
        select block
        from generate_series(0, pg_relation_size('${table}') / 8192 - 1) as block
        where (select lsn > redo_lsn
               from page_header(get_raw_page('${table}', block::int)), pg_control_checkpoint())`)
      for (const { block } of rows) pages.push({ file, block: Number(block) })
    }
    return pages
  })
}
