import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  call,
  category,
  type Reply,
  type Server,
  spawnServer,
  startArchive,
} from '../support/harness.ts'
import { checkInvariants, withDatabase } from '../support/invariants.ts'

// Several server processes on one database, and many writers at once.

const archive = await startArchive()
const servers: Server[] = await Promise.all(
  Array.from({ length: 3 }, () =>
    spawnServer({ DATABASE_URL: archive.databaseUrl, LOG_LEVEL: 'info' }),
  ),
)
const writers = 50

/** Sends concurrent requests, spread over the processes. */
function sendEverywhere(send: (url: string, number: number) => Promise<Reply>): Promise<Reply[]> {
  return Promise.all(
    Array.from({ length: writers }, (_, number) =>
      send((servers[number % servers.length] as Server).url, number),
    ),
  )
}

const { editor: token } = archive

test(`accepts exactly one of ${writers} concurrent writers with the same ETag`, async () => {
  const { id } = await archive.make()
  const path = `/api/v2/video/${id}`
  const winners: string[] = []
  for (let round = 0; round < 10; round++) {
    // With a token, because without one the response may be cached for up to a second.
    const { headers } = await archive.call('GET', path, { token })
    const all = await sendEverywhere((url, number) =>
      call(url, 'PATCH', path, {
        token,
        body: { whiteboard: `round ${round} writer ${number}` },
        headers: { 'if-match': String(headers.etag) },
      }),
    )
    const won = all.filter(({ status }) => status === 200)
    assert.equal(won.length, 1, all.map(({ status }) => status).join(' '))
    assert.equal(all.filter(({ status }) => status === 412).length, writers - 1)
    winners.push(won[0]?.json.whiteboard)
    assert.equal((await archive.call('GET', path, { token })).json.whiteboard, winners.at(-1))
  }
  const { json } = await archive.call('GET', `${path}/revisions`, {
    token,
    headers: { accept: 'application/json' },
  })
  assert.equal(json.count, 1 + winners.length)
  const written = await Promise.all(
    winners.map(
      async (_, round) =>
        (await archive.call('GET', `${path}/revisions/${round + 2}`, { token })).json.record
          .whiteboard,
    ),
  )
  assert.deepEqual(written, winners)
})

test(`applies all of ${writers} concurrent writes without an ETag`, async () => {
  const { id, updated } = await archive.make()
  const path = `/api/v2/video/${id}`
  const all = await sendEverywhere((url, number) =>
    call(url, 'PATCH', path, { token, body: { whiteboard: `writer ${number}` } }),
  )
  assert.deepEqual(new Set(all.map(({ status }) => status)), new Set([200]))
  assert.equal(
    new Set([updated, ...all.map(({ json }) => json.updated)]).size,
    writers + 1,
    'every change has its own time',
  )
  const { json } = await archive.call('GET', `${path}/revisions`, { token })
  assert.equal(json.count, writers + 1)
})

test(`assigns unique slugs to ${writers} concurrent records with the same new names`, async () => {
  const body = {
    title: 'Everybody says this',
    category,
    language: 'English',
    speakers: ['Zoë New', 'Abe New'],
    tags: ['new tag'],
    state: 1,
  }
  const all = await sendEverywhere((url) => call(url, 'POST', '/api/v2/video', { token, body }))
  assert.deepEqual(new Set(all.map(({ status }) => status)), new Set([201]))
  const slugs = new Set(all.map(({ json }) => json.slug))
  assert.equal(slugs.size, writers)
  for (const slug of slugs) assert.match(slug, /^everybody-says-this(-\d+)?$/)
  await withDatabase(archive.databaseUrl, async (query) => {
    assert.equal(
      (await query("select from speaker where name in ('Zoë New', 'Abe New')")).length,
      2,
    )
    assert.equal((await query("select from tag where name = 'new tag'")).length, 1)
  })
})

test(`creates one record for ${writers} concurrent requests with one Idempotency-Key`, async () => {
  const body = { title: 'Only once', category, language: 'English', speakers: ['Once Only'] }
  const all = await sendEverywhere((url) =>
    call(url, 'POST', '/api/v2/video', { token, body, headers: { 'idempotency-key': 'race' } }),
  )
  assert.deepEqual(new Set(all.map(({ status }) => status)), new Set([201]))
  assert.equal(new Set(all.map(({ text }) => text)).size, 1)
  assert.equal(new Set(all.map(({ headers }) => headers.etag)).size, 1)
})

test(`creates one of ${writers} concurrent categories with the same title`, async () => {
  const all = await sendEverywhere((url) =>
    call(url, 'POST', '/api/v2/category', { token, body: { title: 'Race Days' } }),
  )
  assert.deepEqual(
    [201, 409].map((status) => all.filter((reply) => reply.status === status).length),
    [1, writers - 1],
  )
})

test('answers 410 to writers after a concurrent takedown', async () => {
  const { id } = await archive.make()
  const path = `/api/v2/video/${id}`
  const all = await sendEverywhere((url, number) =>
    number === 25
      ? call(url, 'POST', `${path}/takedown`, {
          token: archive.admin,
          body: { reason: 'asked for' },
        })
      : call(url, 'PATCH', path, { token, body: { whiteboard: `writer ${number}` } }),
  )
  assert.equal(all[25]?.status, 200)
  assert.ok(all.every(({ status }) => status === 200 || status === 410))
  assert.equal((await archive.call('GET', path, { token })).status, 410)
})

test('keeps records, bodies and changes consistent after all tests', () =>
  checkInvariants(archive.databaseUrl))
