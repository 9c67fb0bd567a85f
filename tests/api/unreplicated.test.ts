import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import pg from 'pg'
import { call, category, type Reply, runCommand, startServer } from '../support/harness.ts'
import { migratedDatabase, startPostgres } from '../support/postgres.ts'
import { until } from '../support/until.ts'

// Writes whose wait for a synchronous standby was cancelled: everyone can read them, and a failover
// may still undo them. A repeated request must not be answered as if they were durable.

const postgres = await startPostgres({ version: 15 })
const url = await migratedDatabase(postgres, 'talkshelf')
const database = new pg.Client({ connectionString: postgres.url('talkshelf') })
await database.connect()
await database.query('alter database talkshelf set synchronous_commit = on')
const server = await startServer({
  DATABASE_URL: url,
  ANSWER_SECONDS: '3',
  RESUME_SECONDS: '0',
  MAINTENANCE_HOURS: '0',
})
after(async () => {
  await server.stop()
  await database.end()
  await postgres.stop()
})
const token = (
  await runCommand(['token', 'create', '--name', 'Edith', '--role', 'editor'], {
    DATABASE_URL: url,
  })
).stdout.trim()
await call(server.url, 'POST', '/api/v2/category', { token, body: { title: category } })
// Keeps the server from storing the last use of the token.
await database.query("update token set last_used = now() + interval '1 day'")

async function setParameter(name: string, value: string): Promise<void> {
  await database.query(`alter system set ${name} = '${value}'`)
  await database.query('select pg_reload_conf()')
  await until(`${name} to be ${value}`, async () => {
    const { rows } = await database.query(`show ${name}`)
    return rows[0][name] === value
  })
}

/** Sends a request and cancels the wait of its commit, as the demotion of a primary does. */
async function sendCancelled(send: () => Promise<Reply>): Promise<Reply> {
  let reply: Reply | undefined
  const sent = send().then((received) => {
    reply = received
  })
  await until('the response', async () => {
    await database.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'`,
    )
    return reply !== undefined
  })
  await sent
  return reply ?? assert.fail()
}

const body = { title: 'Sent again', category, language: 'English', state: 1 }
const make = async () => {
  const reply = await call(server.url, 'POST', '/api/v2/video', { token, body })
  assert.equal(reply.status, 201, reply.text)
  return { path: `/api/v2/video/${reply.json.id}`, etag: String(reply.headers.etag) }
}

const requests = {
  'a change with If-Match': async () => {
    const { path, etag } = await make()
    const changed = { token, body: { title: 'Changed' }, headers: { 'if-match': etag } }
    return () => call(server.url, 'PATCH', path, changed)
  },
  'a change without If-Match': async () => {
    const { path } = await make()
    return () => call(server.url, 'PATCH', path, { token, body: { title: 'Changed' } })
  },
  'a new record with an Idempotency-Key': async () => {
    const headers = { 'idempotency-key': crypto.randomUUID() }
    return () => call(server.url, 'POST', '/api/v2/video', { token, body, headers })
  },
}

for (const [name, prepare] of Object.entries(requests))
  test(`${name} is confirmed when it is replicated`, async () => {
    const send = await prepare()
    await setParameter('synchronous_standby_names', 'missing')
    const first = await sendCancelled(send)
    assert.deepEqual([first.status, first.json.outcome], [503, 'unknown'], first.text)
    const { rows: before } = await database.query('select count(*) from change')

    const second = await send()
    assert.deepEqual([second.status, second.json.outcome], [503, 'unknown'], second.text)

    await setParameter('synchronous_standby_names', '')
    const third = await send()
    assert.ok(third.status === 200 || third.status === 201, third.text)
    const { rows } = await database.query('select count(*) from change')
    assert.deepEqual(rows, before, 'it has one effect')
  })
