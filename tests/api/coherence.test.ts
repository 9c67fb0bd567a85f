import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { maxStaleMs } from '../../server/videos/record-cache.ts'
import { call, type Reply, type Server, spawnServer, startArchive } from '../support/harness.ts'

// Two processes cache records in memory. A write to one of them is visible in the other within the
// documented bound.

const archive = await startArchive()
const [writing, reading] = (await Promise.all(
  [1, 2].map(() => spawnServer({ DATABASE_URL: archive.databaseUrl })),
)) as [Server, Server]
const { editor: token } = archive
const revisionOf = ({ headers }: Reply) => Number(String(headers.etag).split('.')[1])

test(`serves no version older than ${maxStaleMs} ms under load`, async (t) => {
  const ids = await Promise.all(Array.from({ length: 5 }, async () => (await archive.make()).id))
  const acknowledged = new Map(ids.map((id) => [id, [{ revision: 1, atMs: performance.now() }]]))
  let [reads, maxBehindMs, isDone] = [0, 0, false]

  const write = async (id: number) => {
    for (let number = 0; !isDone; number++) {
      const reply = await call(writing.url, 'PATCH', `/api/v2/video/${id}`, {
        token,
        body: { whiteboard: `change ${number}` },
      })
      assert.equal(reply.status, 200, reply.text)
      acknowledged.get(id)?.push({ revision: revisionOf(reply), atMs: performance.now() })
      await sleep(Math.random() * 400)
    }
  }
  const read = async (id: number) => {
    while (!isDone) {
      const beganMs = performance.now()
      const seenRevision = revisionOf(await call(reading.url, 'GET', `/api/v2/video/${id}`))
      reads++
      // The first change that the response misses: how long before the request was it
      // acknowledged?
      const missedChange = acknowledged.get(id)?.find(({ revision }) => revision > seenRevision)
      if (missedChange) maxBehindMs = Math.max(maxBehindMs, beganMs - missedChange.atMs)
    }
  }
  const all = Promise.all(ids.flatMap((id) => [write(id), read(id), read(id), read(id)]))
  await sleep(8000)
  isDone = true
  await all
  t.diagnostic(`${reads} reads; the oldest answer was ${maxBehindMs.toFixed(0)} ms behind`)
  assert.ok(reads > 500, `only ${reads} reads`)
  assert.ok(maxBehindMs <= maxStaleMs, `an answer was ${maxBehindMs} ms behind`)
})

test('propagates changes while another transaction stays open', async () => {
  const { id } = await archive.make()
  const path = `/api/v2/video/${id}`
  const holder = new pg.Client({ connectionString: archive.databaseUrl })
  await holder.connect()
  try {
    await holder.query('begin')
    await holder.query('select pg_current_xact_id()')
    for (const summary of ['first', 'second']) {
      await call(reading.url, 'GET', path)
      await call(writing.url, 'PATCH', path, { token, body: { summary } })
      await sleep(maxStaleMs)
      assert.equal((await call(reading.url, 'GET', path)).json.summary, summary)
    }
  } finally {
    await holder.end()
  }
})

test('shows a change at once to its writer and to every editor in every process', async () => {
  const { id } = await archive.make()
  const path = `/api/v2/video/${id}`
  for (let number = 0; number < 20; number++) {
    await Promise.all([call(reading.url, 'GET', path), call(writing.url, 'GET', path)])
    const summary = `change ${number}`
    await call(writing.url, 'PATCH', path, { token, body: { summary } })
    assert.equal((await call(writing.url, 'GET', path)).json.summary, summary)
    assert.equal((await call(reading.url, 'GET', path, { token })).json.summary, summary)
  }
})

test('hides a drafted or taken-down record in every process within the bound', async () => {
  const [draft, takenDown] = [await archive.make(), await archive.make()]
  const read = ({ id }: { id: number }) => call(reading.url, 'GET', `/api/v2/video/${id}`)
  for (const record of [draft, takenDown]) assert.equal((await read(record)).status, 200)
  await call(writing.url, 'PATCH', `/api/v2/video/${draft.id}`, { token, body: { state: 2 } })
  await call(writing.url, 'POST', `/api/v2/video/${takenDown.id}/takedown`, {
    token: archive.admin,
    body: { reason: 'asked for' },
  })
  await sleep(maxStaleMs)
  assert.deepEqual([(await read(draft)).status, (await read(takenDown)).status], [404, 410])
})
