import assert from 'node:assert/strict'
import type { Video, VideoInput } from '@talkshelf/contract'
import type { WriteContext } from '../../server/changes/changes.ts'
import { lookUpAndLockNames } from '../../server/entities/entities.ts'
import type { Db } from '../../server/platform/db/db.ts'
import type { Pool } from '../../server/platform/db/pool.ts'
import { createVideos, type NewRecord } from '../../server/videos/videos.ts'
import {
  type CallOptions,
  category,
  type Reply,
  startArchive,
  type TestArchive,
} from './harness.ts'
import { checkInvariants, type Query, withDatabase } from './invariants.ts'
import { until } from './until.ts'

// Shared by the tests of the write path: an archive, and short functions for writes.

/** The origin of writes that call functions of the server directly. */
export const context: WriteContext = {
  origin: { actor: { role: 'editor', name: 'Edith', token: null }, via: 'import', request: 'bulk' },
  ifMatch: undefined,
  hash: Buffer.alloc(32),
}

/** Returns call options with an If-Match header. */
export const ifMatch = (etag: unknown): CallOptions => ({ headers: { 'if-match': String(etag) } })

/** Asserts that the status is 2xx, and returns the reply. */
export async function assertOk(request: Promise<Reply>): Promise<Reply> {
  const reply = await request
  assert.ok(reply.status < 300, reply.text)
  return reply
}

/** Asserts the status and the text of an error, and returns the reply. */
export async function assertWriteRefused(
  request: Promise<Reply>,
  status: number,
  text: RegExp,
): Promise<Reply> {
  const reply = await request
  assert.equal(reply.status, status, reply.text)
  assert.match(reply.text, text)
  return reply
}

/** Waits until `count` connections to the database wait for a lock. Fails if a write ends first. */
export async function untilWaiting(
  query: Query,
  count: number,
  writes: readonly Promise<unknown>[] = [],
  application = '%',
): Promise<void> {
  let isDone = false
  const done = () => {
    isDone = true
  }
  for (const write of writes) write.then(done, done)
  const waiting = `
    select from pg_stat_activity
    where wait_event_type = 'Lock'
      and datname = current_database()
      and application_name like $1`
  let areWaiting = false
  await until(
    `${count} connections that wait for a lock`,
    async () => {
      // Without this, a transaction always reads the statistics of its first access.
      await query('select pg_stat_clear_snapshot()')
      areWaiting = (await query(waiting, [application])).length >= count
      return areWaiting || isDone
    },
    { pauseMs: 2 },
  )
  assert.ok(areWaiting, 'a write did not wait')
}

/**
 * Returns a pool that calls `meanwhile` once, before the `nth` statement that matches `when`, and
 * records all statements.
 */
export function interrupted(
  pool: Pool,
  when: RegExp,
  meanwhile: (db: Db) => unknown,
  nth = 1,
): Pool & { readonly statements: readonly string[] } {
  const statements: string[] = []
  let matches = 0
  const wrap = <T extends Db>(db: T): T => ({
    ...db,
    async run(statement, ifLost) {
      statements.push(statement.text)
      if (when.test(statement.text) && ++matches === nth) await meanwhile(db)
      return db.run(statement, ifLost)
    },
  })
  const { lookups, lists } = pool
  const transaction = <T>(work: (tx: Db) => Promise<T>) => pool.transaction((tx) => work(wrap(tx)))
  return { ...wrap(pool), lookups: wrap(lookups), lists: wrap(lists), transaction, statements }
}

/** Returns a pool that records all statements. */
export const watched = (pool: Pool) => interrupted(pool, /$^/, () => undefined)

/** Tells whether rows can be locked without waiting. Must run in a transaction. */
export async function isFree(
  query: Query,
  rows: string,
  strength = 'no key update',
): Promise<boolean> {
  await query('savepoint before')
  const isLockable = await query(`select from ${rows} for ${strength} nowait`).then(
    () => true,
    (error: { code?: string }) => (error.code === '55P03' ? false : Promise.reject(error)),
  )
  await query('rollback to before')
  return isLockable
}

interface BulkRecord extends Omit<NewRecord, 'record'> {
  readonly record: Partial<Video> & { readonly title: string }
}

/** Starts an archive. To be called once, at the top of a test file. */
export async function startWriter() {
  const archive: TestArchive = await startArchive()
  const { pool, editor: token } = archive
  const send = (method: string, path: string, body?: object, options: CallOptions = {}) =>
    archive.call(method, `/api/v2/${path}`, { token, ...(body && { body }), ...options })
  const get = (path: string) => send('GET', path)
  const sql = <T>(work: (query: Query) => Promise<T>) => withDatabase(archive.databaseUrl, work)

  /** Creates records in one transaction, as an import does. */
  function createMany(records: readonly BulkRecord[]) {
    const defaults = { category, language: 'English', state: 1 as const }
    const all = records.map((input) => ({
      ...input,
      record: { ...defaults, ...input.record } as VideoInput,
    }))
    const names = (field: 'speakers' | 'tags') => [
      ...new Set(all.flatMap(({ record }) => record[field] ?? [])),
    ]
    const requested = {
      category: [category],
      language: ['English'],
      speaker: names('speakers'),
      tag: names('tags'),
    }
    return pool.transaction(async (tx) =>
      createVideos(tx, all, await lookUpAndLockNames(tx, requested), context),
    )
  }

  /** Holds a transaction open until `writes`, which begin after its work, wait for it. */
  async function heldOpen<T>(
    work: (tx: Db) => Promise<unknown>,
    writes: () => Promise<T>[],
  ): Promise<T[]> {
    let pending: Promise<T>[] = []
    await pool.transaction(async (tx) => {
      await work(tx)
      pending = writes()
      await sql((query) => untilWaiting(query, pending.length, pending))
    })
    return Promise.all(pending)
  }

  return {
    archive,
    pool,
    token,
    admin: archive.admin,
    send,
    get,
    patch: (path: string, body: object, options?: CallOptions) =>
      send('PATCH', path, body, options),
    post: (path: string, body: object, options?: CallOptions) => send('POST', path, body, options),
    sql,
    sound: () => checkInvariants(archive.databaseUrl),
    createMany,
    heldOpen,
    recordOf: async (id: number): Promise<Video> => (await get(`video/${id}`)).json,
    revisionOf: async (id: number) => Number((await get(`video/${id}/revisions`)).json.count),
  }
}
