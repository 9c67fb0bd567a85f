import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { call } from '../support/harness.ts'

// Writers that change records with SQL of their own, in transactions that the service itself would
// not send: long ones, with savepoints, and some that are rolled back.

const writerCount = 16
const category = 'Feed Days'

/** Creates live records. Returns their ids. */
export async function createRecords(url: string, token: string, count: number): Promise<number[]> {
  await call(url, 'POST', '/api/v2/category', { token, body: { title: category } })
  const ids: number[] = []
  for (let number = 0; number < count; number++) {
    const body = { title: `Talk ${number}`, category, language: 'English', state: 1 }
    const { status, json, text } = await call(url, 'POST', '/api/v2/video', { token, body })
    assert.equal(status, 201, text)
    ids.push(json.id)
  }
  return ids
}

/** A revision of a record, and when its commit was confirmed. */
export interface Commit {
  readonly id: number
  readonly revision: number
  readonly atMs: number
}

export interface Writers {
  count(): number
  /** Stops all writers and returns the changes that were confirmed. */
  stop(): Promise<Commit[]>
}

export interface WriterOptions {
  /** Mean pause between two transactions of a writer. */
  readonly pauseMs: number
}

/** Starts the writers. They continue after a lost connection. */
export function startWriters(
  databaseUrl: string,
  ids: readonly number[],
  { pauseMs }: WriterOptions,
): Writers {
  const commits: Commit[] = []
  let isStopped = false
  const write = async (writer: number) => {
    while (!isStopped) {
      const client = new pg.Client({ connectionString: databaseUrl })
      client.on('error', () => {})
      try {
        await client.connect()
        while (!isStopped) {
          commits.push(...(await runTransaction(client, ids, writer === 0)))
          await sleep(Math.random() * 2 * pauseMs)
        }
      } catch {
        // PostgreSQL was killed.
        await sleep(100)
      } finally {
        await client.end().catch(() => {})
      }
    }
  }
  const writers = Array.from({ length: writerCount }, (_, writer) => write(writer))
  return {
    count: () => commits.length,
    async stop() {
      isStopped = true
      await Promise.all(writers)
      return commits
    },
  }
}

const changeRecord = `
  with body as (
    update video_body
    set revision = revision + 1,
        etag = id || '.' || revision + 1 || '.' || substr(md5(random()::text), 1, 8)
    where id = $1
    returning id, revision
  ), record as (
    update video set revision = body.revision from body where video.id = body.id
  ), history as (
    insert into change (subject, subject_id, revision, kind, before, after, ids, at,
                        actor, via, request_id, request_hash)
    select 'video', id, revision, 'updated', '{}', '{}', '{}', now(), 'writer', 'api', 'x', ''
    from body
  )
  select revision from body`

/** Changes up to three records in one transaction. Returns the changes that were committed. */
async function runTransaction(
  client: pg.Client,
  ids: readonly number[],
  isSlow: boolean,
): Promise<Commit[]> {
  const chosen = Array.from({ length: 1 + Math.floor(Math.random() * 3) }, () => pick(ids))
  // In one order, so that writers cannot deadlock.
  const targets = [...new Set(chosen)].sort((a, b) => a - b)
  const written: { id: number; revision: number }[] = []
  await client.query('begin')
  // The transaction gets its id long before it changes a record.
  if (isSlow || Math.random() < 0.02) {
    await client.query('select pg_current_xact_id()')
    await sleep(Math.random() * (isSlow ? 3000 : 300))
  }
  for (const id of targets) {
    const isUndone = Math.random() < 0.1
    if (isUndone) await client.query('savepoint one')
    const { rows } = await client.query({ name: 'change', text: changeRecord, values: [id] })
    if (isUndone) await client.query('rollback to savepoint one')
    else written.push({ id, revision: rows[0].revision })
  }
  if (Math.random() < 0.1) {
    await client.query('rollback')
    return []
  }
  await client.query('commit')
  const atMs = performance.now()
  return written.map((change) => ({ ...change, atMs }))
}

const pick = (ids: readonly number[]) => ids[Math.floor(Math.random() * ids.length)] as number
