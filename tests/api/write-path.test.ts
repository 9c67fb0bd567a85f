import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Problem, Video, VideoInput } from '@talkshelf/contract'
import type { WriteContext } from '../../server/changes/changes.ts'
import { mergeEntity, patchEntity, splitSpeaker } from '../../server/directory/directory.ts'
import {
  changeEntity,
  createCategory,
  lookUpAndLockNames,
  mergeEntities,
} from '../../server/entities/entities.ts'
import { replaceFacts } from '../../server/facts/facts.ts'
import { openPool } from '../../server/platform/db/pool.ts'
import {
  type BodyRow,
  changeVideo,
  createVideo,
  lockAndReadBodies,
  refreshNames,
  takeDownVideo,
  writeLockedVersion,
} from '../../server/videos/videos.ts'
import { category } from '../support/harness.ts'
import type { Query } from '../support/invariants.ts'
import {
  assertOk,
  assertWriteRefused,
  context,
  ifMatch,
  startWriter,
  untilWaiting,
} from '../support/writer.ts'

// Writes of records: what is written, what is refused, and which request waits for which.

const writer = await startWriter()
const {
  archive,
  pool,
  token,
  admin,
  send,
  get,
  patch,
  post,
  sql,
  sound,
  createMany,
  recordOf,
  revisionOf,
} = writer

test('creates a record with defaults, a unique slug and each canonical name once', async () => {
  const { json: bare } = await assertOk(
    post('video', { title: ' Alone ', category, language: 'en' }),
  )
  assert.deepEqual(
    [bare.title, bare.slug, bare.state, bare.language, bare.speakers, bare.tags, bare.embed],
    ['Alone', 'alone', 2, 'English', [], [], ''],
  )
  const second = await assertOk(post('video', { title: 'Alone', category, language: 'ENGLISH' }))
  // A second attempt at a slug uses no further id.
  assert.deepEqual([second.json.slug, second.json.id], ['alone-1', bare.id + 1])
  // Without concurrent writers the slugs are numbered in order.
  for (const number of [2, 3, 4, 5, 6])
    assert.equal((await archive.make({ title: 'Alone' })).slug, `alone-${number}`)
  assert.equal(
    (await assertOk(post('video', { title: '!!!', category, language: 'English' }))).json.slug,
    'video-1',
  )
  const hosted = { source_url: 'https://www.youtube.com/watch?v=abcdefghijk' }
  assert.match((await archive.make({ ...hosted })).embed as string, /abcdefghijk/)
  assert.equal((await archive.make({ ...hosted, embed: '<b>own</b>' })).embed, '<b>own</b>')

  await archive.make({ speakers: ['Ann One'], tags: ['ann'] })
  await assertOk(
    patch('speaker/ann-one', { aliases: [{ name: 'A. One' }, { name: 'Annie', shown: true }] }),
  )
  await assertOk(patch('tag/ann', { aliases: [{ name: 'annie' }] }))
  const twice = await archive.make({
    speakers: ['A. One', 'Ann One', 'New', 'Annie', 'New'],
    tags: ['annie', 'fresh', 'ann', 'fresh'],
  })
  assert.deepEqual(
    [twice.speakers, twice.tags],
    [
      ['Ann One', 'New'],
      ['ann', 'fresh'],
    ],
  )
  assert.deepEqual((await archive.make({ tags: ['ann', 'mixed'] })).tags, ['ann', 'mixed'])
  const known = await archive.make({
    speakers: ['A. One', 'New', 'Ann One'],
    tags: ['annie', 'ann'],
  })
  assert.deepEqual([known.speakers, known.tags], [['Ann One', 'New'], ['ann']])
})

test('normalizes input and rejects wrong types', async () => {
  const names = { speakers: [' Tidy Zoe\u0301 '], tags: [' tidy '] }
  const input = { title: ' T ', category: ` ${category} `, language: ' en ', ...names }
  const { json } = await assertOk(post('video', input))
  assert.deepEqual(
    [json.title, json.category, json.language, json.speakers, json.tags],
    ['T', category, 'English', ['Tidy Zo\u00e9'], ['tidy']],
  )
  for (const wrong of [
    { title: 7 },
    { category: 7 },
    { speakers: 'x' },
    { speakers: [7] },
    { tags: {} },
  ])
    await assertWriteRefused(post('video', { ...input, ...wrong }), 400, /invalid-fields/)
})

test('reports all errors of a new record at once and writes nothing', async () => {
  const wrong = {
    title: 'Wrong',
    category: 'Exampel Days',
    language: 'Klingonish',
    speakers: ['Never Made'],
  }
  const { json } = await assertWriteRefused(post('video', wrong), 400, /unknown-category/)
  assert.deepEqual(
    json.errors.map(({ pointer, code }: Record<string, string>) => `${pointer} ${code}`),
    ['/category unknown-category', '/language unknown-language'],
  )
  assert.match(json.errors[0].detail, /closest matches: Example Days 2026/)
  const more = await assertWriteRefused(post('video', { ...wrong, duration: -1 }), 400, /duration/)
  assert.equal(more.json.errors.length, 3)
  const typed = await assertWriteRefused(
    post('video', { ...wrong, category: 7, duration: -1 }),
    400,
    /duration/,
  )
  assert.equal(typed.json.errors.length, 3)
  const fine = await assertWriteRefused(
    post('video', { ...wrong, category, language: 'en', duration: -1 }),
    400,
    /duration/,
  )
  assert.equal(fine.json.errors.length, 1)
  const far = await assertWriteRefused(
    post('video', { ...wrong, category: 'Zzzz', language: 'qqqq' }),
    400,
    /create it: POST .api.v2.category/,
  )
  assert.match(far.text, /try its ISO 639 code/)
  assert.equal((await get('speaker/never-made')).status, 404)
})

test('resolves a language by name or code in any spelling', async () => {
  for (const [input, expected] of [
    ['german', 'German'],
    ['de', 'German'],
    ['pt_br', 'Brazilian Portuguese'],
    ['und', 'Undetermined'],
  ])
    assert.equal((await archive.make({ language: input as string })).language, expected)
  // A word that is the name of one language and the code of another is taken as the name.
  assert.equal((await archive.make({ language: 'Ga' })).language, 'Ga')
  const { id } = await archive.make()
  assert.equal((await assertOk(patch(`video/${id}`, { language: 'de' }))).json.language, 'German')
  await assertWriteRefused(
    patch(`video/${id}`, { language: 'Klingonish' }),
    400,
    /unknown-language/,
  )
  await assertWriteRefused(patch(`video/${id}`, { category: 'Zzzz' }), 400, /unknown-category/)
  await assertWriteRefused(
    patch(`video/${id}`, { category: 'Zzzz', speakers: ['Never Made'] }),
    400,
    /unknown-category/,
  )
})

test('applies an Idempotency-Key per body and token for 24 hours', async () => {
  const body = { title: 'Keyed', category, language: 'en', speakers: ['Key Lime'] }
  const keyed = (key: string, more: object = {}, as = token) =>
    post('video', { ...body, ...more }, { token: as, headers: { 'idempotency-key': key } })
  const first = await assertOk(keyed('k1'))
  const again = await assertOk(keyed('k1'))
  assert.deepEqual(
    [again.text, again.headers.etag, again.status],
    [first.text, first.headers.etag, first.status],
  )
  // A repeated request uses no id.
  assert.equal((await archive.make()).id, first.json.id + 1)
  await assertWriteRefused(keyed('k1', { title: 'Other' }), 409, /key-reused/)
  assert.notEqual((await assertOk(keyed('k2'))).json.id, first.json.id)
  assert.notEqual((await assertOk(keyed('k1', {}, admin))).json.id, first.json.id)
  await assertOk(patch(`video/${first.json.id}`, { title: 'Changed since' }))
  assert.equal((await assertOk(keyed('k1'))).json.title, 'Keyed')
  await assertOk(patch('speaker/key-lime', { name: 'Key Lemon' }))
  assert.deepEqual((await assertOk(keyed('k1'))).json.speakers, ['Key Lemon'])
  const keys = () => sql((query) => query('select key from idempotency_key order by token_id, key'))
  const names = async () => (await keys()).map(({ key }) => key)
  assert.deepEqual(await names(), ['k1', 'k2', 'k1'])
  // A key expires after exactly 24 hours.
  await sql((query) =>
    query(`update idempotency_key set created = now() - interval '24 hours' where key = 'k2'`),
  )
  await assertOk(keyed('k3'))
  assert.deepEqual(await names(), ['k1', 'k3', 'k1'])
  await sql((query) =>
    query(
      `update idempotency_key
       set created = now() - interval '23 hours 59 minutes'
       where key = 'k3'`,
    ),
  )
  const third = await assertOk(keyed('k3'))
  assert.equal((await assertOk(keyed('k3'))).json.id, third.json.id)
  // An expired key that another transaction has locked is skipped; the key of the request itself
  // is always deleted.
  await sql(async (query) => {
    await query(
      `update idempotency_key set created = now() - interval '25 hours' where key in ('k1', 'k3')`,
    )
    await sql(async (lockingQuery) => {
      await lockingQuery('begin')
      await lockingQuery(`select from idempotency_key where key = 'k1' for update`)
      assert.notEqual((await assertOk(keyed('k3'))).json.id, third.json.id)
      await lockingQuery('rollback')
    })
  })
  assert.deepEqual(await names(), ['k1', 'k3', 'k1'])
  assert.notEqual((await assertOk(keyed('k1'))).json.id, first.json.id)
  await assertOk(post(`video/${third.json.id}/takedown`, { reason: 'asked' }, { token: admin }))
  await assertOk(keyed('k9'))
  const last = await assertOk(keyed('k8'))
  await assertOk(post(`video/${last.json.id}/takedown`, { reason: 'asked' }, { token: admin }))
  await assertWriteRefused(keyed('k8'), 410, /taken-down/)
})

test('deletes expired keys in batches of 100, oldest first, and always its own key', async () => {
  const remaining = () =>
    sql((query) => query(`select key from idempotency_key where key like 'old%' order by created`))
  const keyed = (key: string) =>
    post(
      'video',
      { title: 'Cleaner', category, language: 'en' },
      { headers: { 'idempotency-key': key } },
    )
  await sql((query) =>
    query(`insert into idempotency_key (token_id, key, request_hash, video_id, created)
           select (select min(id) from token), 'old' || n, '', (select min(id) from video),
                  now() - interval '2 days' + n * interval '1 second'
           from generate_series(1, 220) as n`),
  )
  await assertOk(keyed('old220'))
  const keys = (await remaining()).map(({ key }) => key)
  assert.deepEqual([keys.length, keys[0], keys.at(-1)], [120, 'old101', 'old220'])
})

test('creates one record for two concurrent requests with the same key', async () => {
  const body = { title: 'At once', category, language: 'en' }
  const keyed = () => post('video', body, { headers: { 'idempotency-key': 'at-once' } })
  await sql(async (query) => {
    await query('begin')
    await query('lock table idempotency_key in share mode')
    const requests = [keyed(), keyed()]
    await untilWaiting(query, 2, requests)
    await query('rollback')
    const [one, other] = await Promise.all(requests.map(assertOk))
    assert.equal(one?.text, other?.text)
  })
  const rows = await sql((query) => query(`select from video where title = 'At once'`))
  assert.equal(rows.length, 1)
})

test('repeats the response for a key that is inserted during the lookup', async () => {
  const keyed = () =>
    post(
      'video',
      { title: 'Looked for', category, language: 'en' },
      { headers: { 'idempotency-key': 'looked-for' } },
    )
  const first = await assertOk(keyed())
  await sql(async (query) => {
    await query('begin')
    await query('create temporary table kept as select * from idempotency_key where false')
    await query(`with gone as (delete from idempotency_key where key = 'looked-for' returning *)
                 insert into kept select * from gone`)
    await query('commit')
    await query('begin')
    await query('lock table idempotency_key in share mode')
    const second = keyed()
    await untilWaiting(query, 1, [second])
    await query('insert into idempotency_key select * from kept')
    await query('commit')
    assert.equal((await assertOk(second)).text, first.text)
  })
})

test('writes only what changed and nothing without a change', async () => {
  const made = await archive.make({ speakers: ['Sue', 'Tom'], tags: ['one', 'two'], summary: 'x' })
  const path = `video/${made.id}`
  const before = await get(path)
  const same = await assertOk(
    patch(path, { title: made.title, speakers: ['Sue', 'Tom'], summary: 'x' }),
  )
  assert.deepEqual([same.headers.etag, same.text], [before.headers.etag, before.text])
  assert.equal(await revisionOf(made.id), 1)
  const swapped = await assertOk(patch(path, { speakers: ['Tom', 'Sue'] }))
  assert.deepEqual(
    [swapped.json.speakers, swapped.json.tags],
    [
      ['Tom', 'Sue'],
      ['one', 'two'],
    ],
  )
  const more = await assertOk(
    patch(path, { speakers: ['Una', 'Sue'], tags: ['two', 'three', 'one'] }),
  )
  assert.deepEqual(
    [more.json.speakers, more.json.tags],
    [
      ['Una', 'Sue'],
      ['two', 'three', 'one'],
    ],
  )
  assert.deepEqual((await assertOk(patch(path, { tags: ['three'] }))).json.speakers, ['Una', 'Sue'])
  await sound()
  assert.deepEqual((await assertOk(patch(path, { speakers: [] }))).json.tags, ['three'])
  await assertOk(post('category', { title: 'Other Days' }))
  assert.equal(
    (await assertOk(patch(path, { category: 'Other Days' }))).json.category,
    'Other Days',
  )
  // An existing speaker with a new tag, and the other way round.
  await assertOk(patch(path, { speakers: ['Tom'], tags: ['never seen'] }))
  await assertOk(patch(path, { speakers: ['Never Seen'], tags: ['one'] }))
  const { json: revisions } = await get(`${path}/revisions`)
  assert.deepEqual(
    revisions.results.map(({ fields }: { fields: string[] }) => fields.join(' ')).slice(0, -1),
    ['speakers tags', 'speakers tags', 'category', 'speakers', 'tags', 'speakers tags', 'speakers'],
  )
  assert.ok(
    !revisions.results.at(-1).fields.includes('id') &&
      revisions.results.at(-1).fields.includes('title'),
  )
  // PUT resets omitted fields to their defaults, except for the state.
  const put = await assertOk(send('PUT', path, { title: 'Anew', category, language: 'en' }))
  assert.deepEqual(
    [put.json.state, put.json.summary, put.json.speakers, put.json.slug],
    [1, '', [], made.slug],
  )
  const draft = await assertOk(patch(path, { state: 2, speakers: ['Sue'] }))
  assert.equal(draft.json.state, 2)
  assert.equal((await archive.call('GET', `/api/v2/${path}`)).status, 404)
  await assertWriteRefused(patch('video/999999', { title: 'x' }), 404, /This record does not exist/)
})

test('ignores read-only fields and only moves timestamps forward', async () => {
  const made = await archive.make()
  const readOnly = {
    id: 77,
    slug: 'own',
    added: '2001-01-01T00:00:00.000',
    updated: '2001-01-01T00:00:00.000',
  }
  const { json } = await assertOk(patch(`video/${made.id}`, { ...readOnly, title: 'T' }))
  assert.deepEqual([json.id, json.slug, json.added], [made.id, made.slug, made.added])
  assert.ok(json.updated > made.updated)
  // The clock was ahead when the record was written.
  const ahead = '2999-01-01T00:00:00.000'
  await sql(async (query) => {
    const body = JSON.stringify({ ...json, updated: ahead })
    await query(`update video set updated = '${ahead}Z' where id = ${made.id}`)
    await query(`update video_body set updated = '${ahead}Z', body = $1 where id = ${made.id}`, [
      body,
    ])
  })
  assert.equal(
    (await assertOk(patch(`video/${made.id}`, { title: 'U' }))).json.updated,
    '2999-01-01T00:00:00.001',
  )
  await assertOk(post(`video/${made.id}/takedown`, { reason: 'asked' }, { token: admin }))
  const [row] = await sql((query) =>
    query(
      `select (updated at time zone 'UTC')::text as at, taken_down::text
       from video
       where id = ${made.id}`,
    ),
  )
  assert.deepEqual([row?.at, row?.taken_down], ['2999-01-01 00:00:00.002', '2999-01-01'])
})

test('checks If-Match and repeats a lost response to the same caller only', async () => {
  const made = await archive.make()
  const path = `video/${made.id}`
  const first = (await get(path)).headers.etag
  const title = (value: string, etag: unknown, as = token) =>
    patch(path, { title: value }, { ...ifMatch(etag), token: as })
  const second = (await assertOk(title('Two', first))).headers.etag
  // Facts have their own revisions, which do not count as changes of the record.
  for (const path of ['/one', '/two'])
    await assertOk(send('PUT', `video/${made.id}/facts`, { facts: [{ kind: 'address', path }] }))
  // The same request again, and similar ones that differ.
  assert.equal((await assertOk(title('Two', first))).headers.etag, second)
  assert.equal(await revisionOf(made.id), 2)
  const stale = await assertWriteRefused(title('Two', first, admin), 412, /stale-revision/)
  assert.deepEqual(
    [
      stale.json.current.revision,
      stale.json.current.by,
      stale.json.current.fields,
      stale.json.current.etag,
    ],
    [2, 'Edith', ['title'], second],
  )
  await assertWriteRefused(title('Three', first), 412, /stale-revision/)
  await assertOk(patch(path, { summary: 'x' }))
  const older = await assertWriteRefused(title('Two', first), 412, /stale-revision/)
  assert.deepEqual(older.json.current.fields, ['summary', 'title'])
  // The newest of the listed versions counts.
  const both = await assertWriteRefused(title('Four', `${first}, ${second}`), 412, /stale-revision/)
  assert.deepEqual(both.json.current.fields, ['summary'])
  // Versions of another record, of no revision or with another hash: the fields that changed since
  // are unknown.
  for (const etag of [
    '"999.1.AAAAAAAA"',
    `"${made.id}.3.AAAAAAAA"`,
    `"${made.id}.9.AAAAAAAA"`,
    '"nonsense"',
  ])
    assert.equal(
      (await assertWriteRefused(title('Five', etag), 412, /stale-revision/)).json.current.fields,
      null,
    )
  await assertOk(title('Six', '*'))
  const now = (await get(path)).headers.etag
  await assertOk(title('Seven', `"x", ${now}`))
  await assertWriteRefused(title('Eight', `W/${now}`), 412, /stale-revision/)
})

/** Resolves to the result of a write or to its error. */
const settled = (write: Promise<unknown>) => write.catch((error: unknown) => error)

/**
 * Changes a record in a transaction that commits only when all `writes`, which start after its
 * statements, wait for a lock.
 */
async function withConcurrentChange<T>(
  id: number,
  query: Query,
  writes: () => Promise<T>[],
  lock?: string,
): Promise<T[]> {
  const row = await recordOf(id)
  const revision = await revisionOf(id)
  const changed = { ...row, whiteboard: `held ${revision}` }
  await query('begin')
  await query(`update video set revision = revision + 1, whiteboard = $1 where id = ${id}`, [
    changed.whiteboard,
  ])
  const etag = `${id}.${revision + 1}.AAAAAAAA`
  await query(
    `update video_body set revision = revision + 1, etag = $2, body = $1 where id = ${id}`,
    [JSON.stringify(changed), etag],
  )
  await query(`
    insert into change (subject, subject_id, revision, kind, before, after, ids, at, actor, via,
                        request_id, request_hash)
    values ('video', ${id}, ${revision + 1}, 'updated', '{}',
            '{"whiteboard": "${changed.whiteboard}"}', '{}', now(), 'Other', 'api', '', '')`)
  if (lock) await query(lock)
  const pending = writes()
  await untilWaiting(query, pending.length, pending, lock && 'direct')
  await query('commit')
  return Promise.all(pending)
}

test('waits for a locked record and changes its latest version', async () => {
  const made = await archive.make({ speakers: ['Locked'] })
  const path = `video/${made.id}`
  await sql(async (query) => {
    const [simple, named] = await withConcurrentChange(made.id, query, () => [
      patch(path, { title: 'While held' }),
      patch(path, { speakers: ['Locked', 'New While Held'] }),
    ])
    assert.deepEqual([simple?.status, named?.status], [200, 200])
    assert.match(simple?.json.whiteboard, /^held/)
    assert.equal(await revisionOf(made.id), 4)
    // The version is stale, although it was current when the request arrived.
    const etag = (await get(path)).headers.etag
    const [late] = await withConcurrentChange(made.id, query, () => [
      patch(path, { title: 'Late' }, ifMatch(etag)),
    ])
    assert.equal(late?.status, 412)
    assert.equal(late?.json.current.by, 'Other')
    // The record changes after it was read and before its history is read.
    const direct = openPool({ url: archive.databaseUrl, connections: 2, applicationName: 'direct' })
    const moved = { ...context, ifMatch: '"1.1.AAAAAAAA"' }
    const next = (before: Video): Video => ({ ...before, title: 'Moved' })
    const lock = 'lock table change in access exclusive mode'
    const [result] = await withConcurrentChange(
      made.id,
      query,
      () => [settled(changeVideo(direct, made.id, moved, next))],
      lock,
    )
    assert.match(String(result), /has changed since the version in If-Match/)
    const { current } = (result as Problem).more as { current: { revision: number } }
    assert.equal(current.revision, await revisionOf(made.id))
    await direct.close()
    const [facts] = await withConcurrentChange(made.id, query, () => [
      send('PUT', `${path}/facts`, {
        facts: [{ kind: 'related', label: 'x', url: 'https://example.org' }],
      }),
    ])
    assert.ok((facts?.status ?? 500) < 500, facts?.text)
    const [takedown] = await withConcurrentChange(made.id, query, () => [
      post(`${path}/takedown`, { reason: 'asked' }, { token: admin }),
    ])
    assert.equal(takedown?.status, 200, takedown?.text)
  })
  await assertWriteRefused(patch(path, { title: 'x' }), 410, /taken-down/)
  await assertWriteRefused(
    post(`${path}/takedown`, { reason: 'twice' }, { token: admin }),
    410,
    /taken-down/,
  )
  const rows = await sql((query) =>
    query(
      `select v.revision, b.live, b.body, b.taken_down
       from video v join video_body b using (id)
       where id = ${made.id}`,
    ),
  )
  assert.equal(rows[0]?.live, false)
  assert.equal(rows[0]?.body, '')
})

test('lists, shows and restores revisions with current names', async () => {
  await archive.make({ speakers: ['Hist Ory'], tags: ['past'] })
  const made = await archive.make({
    speakers: ['Hist Ory', 'Gone'],
    tags: ['past'],
    title: 'First',
  })
  const path = `video/${made.id}`
  await assertOk(patch(path, { title: 'Second', speakers: ['Hist Ory'] }))
  await assertOk(patch(path, { summary: 'third' }))
  await assertOk(patch('speaker/hist-ory', { name: 'Hist Orian' }))
  const version = async (revision: number) =>
    (await assertOk(get(`${path}/revisions/${revision}`))).json
  assert.deepEqual(
    [
      (await version(1)).record.title,
      (await version(1)).record.speakers,
      (await version(1)).record.summary,
    ],
    ['First', ['Hist Orian', 'Gone'], ''],
  )
  assert.deepEqual(
    [(await version(2)).record.title, (await version(2)).record.speakers],
    ['Second', ['Hist Orian']],
  )
  assert.deepEqual(
    [(await version(3)).record.summary, (await version(3)).kind],
    ['third', 'updated'],
  )
  assert.deepEqual(Object.keys((await version(2)).record), Object.keys((await get(path)).json))
  const restored = await assertOk(post(`${path}/revisions/1/restore`, {}))
  assert.deepEqual(
    [
      restored.json.title,
      restored.json.speakers,
      restored.json.id,
      restored.json.slug,
      restored.json.added,
      restored.json.summary,
    ],
    ['First', ['Hist Orian', 'Gone'], made.id, made.slug, made.added, ''],
  )
  assert.equal((await get(`${path}/revisions`)).json.results[0].kind, 'restored')
  await assertWriteRefused(get(`${path}/revisions/99`), 404, /This revision does not exist/)
  await assertWriteRefused(get('video/999999/revisions'), 404, /This record does not exist/)
  await assertWriteRefused(get('video/999999/revisions/1'), 404, /This record does not exist/)
  await assertWriteRefused(get(`${path}/revisions?page=2`), 404, /Page out of range/)
  for (let times = 0; times < 48; times++) await patch(path, { whiteboard: String(times) })
  const { json: older } = await assertOk(get(`${path}/revisions?page=2`))
  assert.deepEqual(
    [older.count, older.results.map(({ revision }: { revision: number }) => revision)],
    [53, [3, 2, 1]],
  )
  await assertOk(post(`${path}/takedown`, { reason: 'asked' }, { token: admin }))
  await assertWriteRefused(get(`${path}/revisions`), 410, /taken-down/)
  await assertWriteRefused(get(`${path}/revisions/1`), 410, /taken-down/)
})

test('tells the revisions of a record from those of an entity with the same id', async () => {
  const [speaker] = await sql((query) =>
    query(
      `select speaker.id, speaker.slug
       from speaker join video using (id)
       where video.revision < 5
       limit 1`,
    ),
  )
  assert.ok(speaker)
  for (const part of ['One', 'Two', 'Three', 'Four', 'Five'])
    await assertOk(patch(`speaker/${speaker.slug}`, { name: `Same Id ${part}` }))
  await assertWriteRefused(get(`video/${speaker.id}/revisions/5`), 404, /revision does not exist/)
})

test('keeps a separate history of facts', async () => {
  const { id } = await archive.make()
  const path = `video/${id}/facts`
  const link = { kind: 'related', label: 'Slides', url: 'https://example.org/slides' }
  const put = (facts: object[], etag?: unknown) =>
    send('PUT', path, { facts }, etag ? ifMatch(etag) : {})
  const empty = await assertOk(get(path))
  assert.deepEqual(empty.json, { facts: [] })
  const first = await assertOk(put([link], empty.headers.etag))
  assert.deepEqual(first.json, { facts: [link] })
  assert.equal((await assertOk(put([link], empty.headers.etag))).headers.etag, first.headers.etag)
  await assertWriteRefused(put([], empty.headers.etag), 412, /stale-revision/)
  const factChanges = () =>
    sql((query) =>
      query(
        `select revision, before, after
         from change
         where subject = 'facts' and subject_id = ${id}
         order by 1`,
      ),
    )
  await assertOk(put([link]))
  assert.equal((await factChanges()).length, 1)
  await assertOk(put([]))
  assert.deepEqual(await factChanges(), [
    { revision: 1, before: { facts: [] }, after: { facts: [link] } },
    { revision: 2, before: { facts: [link] }, after: { facts: [] } },
  ])
  const paths = (last: number) =>
    [...Array.from({ length: 194 }, () => 1000), last].map((length) => ({
      kind: 'address',
      path: 'x'.repeat(length),
    }))
  const rest = 200_000 - JSON.stringify(paths(0)).length
  await assertWriteRefused(put(paths(rest + 1)), 400, /at most 200000 characters/)
  await assertOk(put(paths(rest)))
  await assertWriteRefused(
    send('PUT', 'video/999999/facts', { facts: [] }),
    404,
    /This record does not exist/,
  )
})

test('returns raw values of sources to editors only', async () => {
  const { id } = await archive.make()
  const rawFact = { kind: 'said', source: 's', field: 'speaker', value: 'Somebody' }
  const publicFact = { kind: 'address', path: '/open' }
  await assertOk(send('PUT', `video/${id}/facts`, { facts: [rawFact, publicFact] }))
  assert.deepEqual((await assertOk(get(`video/${id}/facts`))).json.facts, [rawFact, publicFact])
  const open = await archive.call('GET', `/api/v2/video/${id}/facts`)
  assert.deepEqual(open.json.facts, [publicFact])
})

test('creates many records with unique slugs', async () => {
  assert.deepEqual(await createMany([]), [])
  await archive.make({ title: 'Bulk' })
  const made = await createMany([
    { record: { title: 'Bulk' } },
    { record: { title: 'Bulk', speakers: ['Bulk Speaker', 'New'], tags: ['bulk'] } },
    { record: { title: '???' } },
    { record: { title: '???', state: 2 } },
    { record: { title: 'Fresh', source_url: 'https://www.youtube.com/watch?v=abcdefghijk' } },
    {
      record: {
        title: 'Fresh',
        embed: 'own',
        source_url: 'https://www.youtube.com/watch?v=abcdefghijk',
      },
    },
  ])
  const records = await Promise.all(made.map(({ id }) => recordOf(id)))
  const slugs = records.map(({ slug }) => slug)
  assert.deepEqual(
    [slugs[0], slugs[1], slugs[4], slugs[5]],
    ['bulk-1', 'bulk-2', 'fresh', 'fresh-1'],
  )
  assert.match(slugs[2] as string, /^video-\d+$/)
  assert.equal(new Set(slugs).size, 6)
  assert.deepEqual([records[1]?.speakers, records[1]?.tags], [['Bulk Speaker', 'New'], ['bulk']])
  assert.match(records[4]?.embed as string, /abcdefghijk/)
  assert.equal(records[5]?.embed, 'own')
})

test('creates many records with their ids and archive metadata', async () => {
  const [latest] = await createMany([{ record: { title: 'Latest' } }])
  const next = (latest as { id: number }).id + 1
  const original = {
    slug: 'kept-slug',
    added: '2001-01-01T00:00:00.000',
    updated: '2002-01-01T00:00:00.000',
    revision: 7,
  }
  const gone = {
    ...original,
    slug: 'kept-gone',
    revision: 3,
    takenDown: { day: '2003-01-01', reason: 'asked' },
  }
  const numbered = await createMany([
    { record: { title: 'Unnumbered' } },
    { record: { title: 'Numbered' }, id: next + 10 },
    { record: { title: 'Kept' }, id: next + 20, kept: original },
    { record: { title: 'Gone' }, id: next + 15, kept: gone },
  ])
  assert.deepEqual(numbered.slice(1), [
    { id: next + 10, revision: 1, slug: 'numbered' },
    { id: next + 20, revision: 7, slug: 'kept-slug' },
    { id: next + 15, revision: 3, slug: 'kept-gone' },
  ])
  assert.ok((numbered[0] as { id: number }).id > next + 20)
  const back = await recordOf(next + 20)
  assert.deepEqual(
    [back.slug, back.added, back.updated],
    [original.slug, original.added, original.updated],
  )
  assert.equal((await get(`video/${next + 15}`)).json.reason, 'asked')
  // A sequence never goes back: the next id is above all assigned ones.
  const low = await createMany([
    { record: { title: 'Low' }, id: next + 11 },
    { record: { title: 'After' } },
  ])
  assert.ok((low[1] as { id: number }).id > next + 21)
  await assert.rejects(
    createMany([{ record: { title: 'Taken' }, id: next + 11 }]),
    /could not be created/,
  )
  const [again] = await createMany([{ record: { title: 'Taken' }, id: next + 40, kept: original }])
  assert.equal(again?.slug, 'kept-slug-1')
})

test('changes a locked record in bulk with the locked names', async () => {
  const [made] = await createMany([
    { record: { title: 'To be changed', speakers: ['Old Name'], tags: ['kept'] } },
  ])
  const { id } = made as { id: number }
  const change = (fields: Partial<Video>) =>
    pool.transaction(async (tx) => {
      const requested = {
        category: [],
        language: ['German'],
        speaker: fields.speakers ?? [],
        tag: fields.tags ?? [],
      }
      const names = await lookUpAndLockNames(tx, requested)
      const row = (await lockAndReadBodies(tx, [id])).get(id) as BodyRow
      return writeLockedVersion(tx, row, fields, names, 'updated', context)
    })
  assert.deepEqual(await change({ title: 'To be changed' }), { id, revision: 1 })
  assert.deepEqual(await change({ speakers: ['New Name', 'Old Name'], language: 'German' }), {
    id,
    revision: 2,
  })
  const { speakers, tags, language } = await recordOf(id)
  assert.deepEqual([speakers, tags, language], [['New Name', 'Old Name'], ['kept'], 'German'])
  assert.deepEqual(await change({ speakers: ['New Name', 'Old Name'] }), { id, revision: 2 })
  assert.deepEqual(await change({ tags: [] }), { id, revision: 3 })
  assert.equal((await pool.transaction((tx) => lockAndReadBodies(tx, []))).size, 0)
  assert.deepEqual([...(await pool.transaction((tx) => lockAndReadBodies(tx, [id]))).keys()], [id])
})

test('writes nothing after the deadline of the request', async () => {
  const made = await archive.make({ speakers: ['Late Caller', 'Later Caller'] })
  const late: WriteContext = { ...context, untilMs: performance.now() - 1 }
  const input = { title: 'Late', category, language: 'English', state: 1 } as VideoInput
  const next = (before: Video): Video => ({ ...before, title: 'Late' })
  const state = () =>
    sql((query) =>
      query(
        `select (select count(*) from change) as changes,
                (select count(*) from entity_name) as names`,
      ),
    )
  const before = await state()
  const writes = [
    () => createVideo(pool, input, late, undefined),
    () => changeVideo(pool, made.id, late, next),
    () => takeDownVideo(pool, made.id, 'late', late),
    () => replaceFacts(pool, made.id, [{ kind: 'address', path: '/late' }], late),
    () => createCategory(pool, { title: 'Late Category' }, late),
    () => patchEntity(pool, 'speaker', 'late-caller', { name: 'Too Late' }, late),
    () => patchEntity(pool, 'speaker', 'late-caller', { aliases: [] }, late),
    () => mergeEntity(pool, 'speaker', 'late-caller', 'later-caller', late),
    () => splitSpeaker(pool, 'late-caller', { name: 'Split Late', videos: [made.id] }, late),
  ]
  for (const write of writes) await assert.rejects(write(), /The caller has been answered/)
  const rename = pool.transaction((tx) =>
    changeEntity(tx, 'speaker', 'late-caller', { name: 'Too Late' }, late),
  )
  await assert.rejects(rename, /The caller has been answered/)
  const merge = pool.transaction((tx) =>
    mergeEntities(tx, 'speaker', 'late-caller', 'later-caller', late),
  )
  await assert.rejects(merge, /The caller has been answered/)
  assert.deepEqual(await state(), before)
  // A command has no token, so an Idempotency-Key has no effect.
  const [one, other] = [
    await createVideo(pool, input, context, 'a key'),
    await createVideo(pool, input, context, 'a key'),
  ]
  assert.notEqual(one.id, other.id)
  const onTime: WriteContext = { ...context, untilMs: performance.now() + 60_000 }
  await changeVideo(pool, made.id, onTime, next)
})

test('does not create a name again that a record still shows', async () => {
  await assertOk(post('category', { title: 'Shown Now' }))
  const names = { category: 'Shown Now', speakers: ['Shown Now'], tags: ['shown now'] }
  const made = await archive.make(names)
  // Simulates a rename that has not reached the record yet and whose old name was released.
  await sql(async (query) => {
    for (const kind of ['speaker', 'tag', 'category']) {
      const name = kind === 'category' ? 'title' : 'name'
      await query(`update ${kind} set ${name} = 'Shown Later' where ${name} ilike 'shown now'`)
      await query(
        `update entity_name
         set name = 'Shown Later'
         where kind = '${kind}' and name ilike 'shown now'`,
      )
    }
  })
  const fields = { speakers: ['Shown Now', 'Brand New'], tags: ['brand new', 'shown now'] }
  const { json } = await assertOk(patch(`video/${made.id}`, fields))
  assert.deepEqual([json.speakers, json.tags], [fields.speakers, fields.tags])
  assert.equal(json.category, 'Shown Now')
  for (const kind of ['speaker', 'tag'])
    assert.deepEqual(
      await sql((query) => query(`select from ${kind} where name ilike 'shown now'`)),
      [],
    )
  await pool.transaction((tx) => refreshNames(tx, [made.id], context))
  assert.deepEqual((await recordOf(made.id)).speakers, ['Shown Later', 'Brand New'])
})

test('keeps the archive consistent after all tests', sound)
