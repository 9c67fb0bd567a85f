import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Video } from '@talkshelf/contract'
import { createToken, findEvent } from '../../server/auth/auth.ts'
import { freshDatabase } from '../support/database.ts'
import { category, openArchive, type Reply, startArchive } from '../support/harness.ts'
import { csvOf, exportAll, importClient } from '../support/import-client.ts'
import { checkInvariants, withDatabase } from '../support/invariants.ts'

// Merges two records of the same talk: what the kept record gets, where the merged one redirects,
// how a merge is undone, and what imports and exports do with both.

const archive = await startArchive()
const { call, make, editor, admin } = archive
const imports = importClient(archive, editor)

const path = (id: number) => `/api/v2/video/${id}`
const get = (id: number, token?: string) => call('GET', path(id), token ? { token } : {})
const read = async (id: number): Promise<Video> => (await get(id, editor)).json
const patch = (id: number, body: object) => call('PATCH', path(id), { token: editor, body })
const merge = (id: number, into: number, more: object = {}, token = editor): Promise<Reply> =>
  call('POST', `${path(id)}/merge`, { token, body: { into, ...more } })
const merged = async (...request: Parameters<typeof merge>): Promise<Video> => {
  const reply = await merge(...request)
  assert.equal(reply.status, 200, reply.text)
  return reply.json
}
const restore = (id: number, revision: number, token = editor) =>
  call('POST', `${path(id)}/revisions/${revision}/restore`, { token })
const revisions = async (id: number) =>
  (await call('GET', `${path(id)}/revisions`, { token: editor })).json
const factsOf = async (id: number) =>
  (await call('GET', `${path(id)}/facts`, { token: editor })).json.facts

let video = 0
const newSource = () => `https://www.youtube.com/watch?v=merge${String(video++).padStart(6, '0')}`

/** Asserts that a request is refused with a problem. */
function assertProblem({ status, json, text }: Reply, expected: number, type: string) {
  assert.equal(status, expected, text)
  assert.equal(json.type, `${archive.url}/api/problems/${type}`)
}

test('merges a record into another one, which gets what it lacks', async () => {
  const source_url = newSource()
  const first = await make({ title: 'Twice', source_url, speakers: ['Ada'], tags: ['a'] })
  const second = await make({ title: 'Twice again', summary: 'Text', speakers: ['Bob'], tags: [] })
  const record = await merged(first.id, second.id)
  assert.deepEqual(record, {
    ...second,
    source_url,
    embed: first.embed,
    speakers: ['Bob', 'Ada'],
    tags: ['a'],
    updated: record.updated,
  })
  assert.deepEqual((await get(second.id)).json, record, 'the cache forgets the record')
  const { count, results } = await revisions(first.id)
  assert.equal(count, 2)
  assert.deepEqual([results[0].kind, results[0].fields], ['merged', ['merged_into', 'state']])
  await checkInvariants(archive.databaseUrl)
})

test('redirects the API and the pages of a merged record', async () => {
  const [first, second] = [await make({ title: 'Old place' }), await make({ title: 'New place' })]
  await merged(first.id, second.id)
  for (const token of [undefined, editor]) {
    const { status, headers, text } = await get(first.id, token)
    assert.deepEqual([status, text], [301, ''])
    assert.equal(headers.location, `${archive.url}${path(second.id)}`)
    assert.match(headers['cache-control'] ?? '', token ? /no-store/ : /max-age=60/)
  }
  const json = await call('GET', `${path(first.id)}?format=json`)
  assert.equal(json.headers.location, `${archive.url}${path(second.id)}?format=json`)
  const target = `/video/${second.id}/${second.slug}`
  for (const page of [`/video/${first.id}/${first.slug}`, `/video/${first.id}`]) {
    const { status, headers } = await call('GET', `${page}?t=90`)
    assert.deepEqual([status, headers.location], [301, `${target}?t=90`])
  }
  assert.match((await call('GET', `/embed/${first.id}`)).text, /New place/)
  const url = encodeURIComponent(`${archive.url}/video/${first.id}/${first.slug}`)
  assert.equal((await call('GET', `/oembed?url=${url}`)).json.title, 'New place')
  assert.equal((await call('GET', `${path(first.id)}/related`)).status, 200)
  const listed = (await call('GET', '/api/v2/video?q=place')).json.results as Video[]
  assert.deepEqual(
    listed.map(({ id }) => id),
    [second.id],
  )
  for (const file of ['/api/v2/export.ndjson', '/sitemap/talks-1.xml', '/feed.rss']) {
    const { text } = await call('GET', file)
    assert.ok(!text.includes(`"id":${first.id},`) && !text.includes(first.slug), file)
  }
})

test('refuses to change a merged record, and to merge it again', async () => {
  const [first, second, third] = [await make(), await make(), await make()]
  await merged(first.id, second.id)
  const body = { title: 'x' }
  for (const reply of [
    await patch(first.id, body),
    await call('PUT', path(first.id), {
      token: editor,
      body: { ...body, category, language: 'English' },
    }),
    await call('PUT', `${path(first.id)}/facts`, { token: editor, body: { facts: [] } }),
    await call('POST', `${path(first.id)}/revisions/1/revert`, { token: editor, body: {} }),
    await merge(first.id, third.id),
  ]) {
    assertProblem(reply, 409, 'merged')
    assert.equal(reply.json.merged_into, second.id)
  }
  const before = await revisions(second.id)
  assert.equal((await merge(first.id, second.id)).status, 200, 'repeating it has no effect')
  assert.deepEqual(await revisions(second.id), before)
  assert.equal((await revisions(first.id)).count, 2)
})

test('takes the chosen values, and validates them', async () => {
  const [first, second] = [await make({ title: 'One' }), await make({ title: 'Two' })]
  for (const field of ['title', 'category', 'speakers']) {
    const value = { title: ' ', category: 'None', speakers: Array(101).fill('x') }[field]
    const invalid = await merge(first.id, second.id, { fields: { [field]: value } })
    assertProblem(invalid, 400, 'invalid-fields')
    assert.equal(invalid.json.errors[0].pointer, `/fields/${field}`)
  }
  const tagsOf = (from: number) => Array.from({ length: 60 }, (_, index) => `tag ${from + index}`)
  const [many, more] = [await make({ tags: tagsOf(0) }), await make({ tags: tagsOf(50) })]
  const tooMany = await merge(many.id, more.id)
  assert.deepEqual([tooMany.status, tooMany.json.errors[0].pointer], [400, '/fields/tags'])
  for (const fields of [null, [], 'x', { other: 1 }])
    assertProblem(await merge(first.id, second.id, { fields }), 400, 'invalid-fields')
  const fields = { title: 'One', speakers: ['A new speaker'] }
  const record = await merged(first.id, second.id, { fields })
  assert.deepEqual([record.id, record.title, record.speakers], [second.id, 'One', fields.speakers])
})

test('refuses targets into which nothing can be merged', async () => {
  const [first, second, third] = [await make(), await make(), await make()]
  await merged(second.id, third.id)
  const gone = await make()
  await call('POST', `${path(gone.id)}/takedown`, { token: admin, body: { reason: 'asked' } })
  const codes: [number, string][] = [
    [first.id, 'same-record'],
    [second.id, 'merged'],
    [gone.id, 'taken-down'],
    [987_654, 'unknown-record'],
  ]
  for (const [into, code] of codes) {
    const reply = await merge(first.id, into)
    assertProblem(reply, 400, 'invalid-fields')
    assert.deepEqual([reply.json.errors[0].pointer, reply.json.errors[0].code], ['/into', code])
  }
  assertProblem(await merge(gone.id, first.id), 410, 'taken-down')
  assertProblem(await merge(987_654, first.id), 404, 'not-found')
  assert.equal((await revisions(first.id)).count, 1)
})

test('merges into a draft, which is live then', async () => {
  const [first, second] = [await make(), await make({ state: 2 })]
  assert.equal((await get(second.id)).status, 404)
  await merged(first.id, second.id)
  assert.equal((await get(second.id)).status, 200)
  const [a, b] = [await make({ state: 2 }), await make({ state: 2 })]
  await merged(a.id, b.id)
  assert.equal((await get(a.id)).status, 404, 'readers do not see that drafts were merged')
  assert.equal((await get(a.id, editor)).status, 301)
})

test('writes nothing if one of both has changed', async () => {
  const [first, second] = [await make(), await make()]
  const { headers } = await get(first.id, editor)
  await patch(first.id, { title: 'Changed' })
  const ifMatch = { 'if-match': String(headers.etag) }
  const request = { token: editor, body: { into: second.id }, headers: ifMatch }
  const stale = await call('POST', `${path(first.id)}/merge`, request)
  assertProblem(stale, 412, 'stale-revision')
  await patch(second.id, { summary: 'Changed' })
  const late = await merge(first.id, second.id, { into_revision: 1 })
  assertProblem(late, 412, 'stale-revision')
  const { revision, fields, by } = late.json.current
  assert.deepEqual([revision, fields, by], [2, ['summary'], 'Edith'])
  assert.deepEqual([(await revisions(first.id)).count, (await revisions(second.id)).count], [2, 2])
  await merged(first.id, second.id, { into_revision: 2 })
})

test('follows a chain of merges, and undoes it from either end', async () => {
  const [a, b, c] = [await make({ tags: ['a'] }), await make({ tags: ['b'] }), await make()]
  await merged(a.id, b.id)
  await merged(b.id, c.id)
  assert.deepEqual((await read(c.id)).tags, ['b', 'a'])
  for (const { id } of [a, b])
    assert.equal((await get(id)).headers.location, `${archive.url}${path(c.id)}`)
  assertProblem(await merge(c.id, a.id), 400, 'invalid-fields')
  // Revision 1 made it, 2 got the tags of the first one, 3 merged it.
  assert.equal((await restore(b.id, 2)).status, 200)
  assert.deepEqual((await read(b.id)).tags, ['b', 'a'])
  assert.equal((await get(a.id)).headers.location, `${archive.url}${path(b.id)}`)
  await merged(c.id, b.id)
  assert.equal((await restore(a.id, 1)).status, 200)
  assert.deepEqual((await get(a.id)).json.tags, ['a'])
  await checkInvariants(archive.databaseUrl)
})

test('a restored record no longer redirects, also as a draft', async () => {
  const [first, second] = [await make({ state: 2 }), await make()]
  await merged(first.id, second.id)
  const reply = await restore(first.id, 1)
  assert.equal(reply.status, 200, reply.text)
  assert.deepEqual([reply.json.id, reply.json.state], [first.id, 2])
  const [latest] = (await revisions(first.id)).results
  assert.deepEqual([latest.kind, latest.fields], ['restored', ['merged_into']])
  assert.equal((await patch(first.id, { title: 'Again' })).status, 200)
  const refused = await call('POST', `${path(first.id)}/revisions/2/revert`, {
    token: editor,
    body: {},
  })
  assertProblem(refused, 409, 'not-revertible')
  // What the kept record got can be reverted as any other change.
  const source = await make({ summary: 'Text' })
  await merged(source.id, second.id)
  assert.equal((await read(second.id)).summary, 'Text')
  const reverted = { token: editor, body: { fields: ['summary'] } }
  await call('POST', `${path(second.id)}/revisions/2/revert`, reverted)
  assert.equal((await read(second.id)).summary, '')
})

test('a takedown includes what was merged into the record', async () => {
  const [a, b, c] = [await make({ title: 'Withdrawn one' }), await make(), await make()]
  await merged(a.id, b.id)
  await merged(b.id, c.id)
  const body = { reason: 'The speaker asked' }
  const reply = await call('POST', `${path(c.id)}/takedown`, { token: admin, body })
  assert.equal(reply.status, 200, reply.text)
  for (const { id } of [a, b, c]) {
    assertProblem(await get(id), 410, 'taken-down')
    assertProblem(await restore(id, 1, admin), 410, 'taken-down')
  }
  // A merged record alone can be taken down as well: it no longer redirects.
  const [merging, kept] = [await make(), await make()]
  await merged(merging.id, kept.id)
  await call('POST', `${path(merging.id)}/takedown`, { token: admin, body })
  assertProblem(await get(merging.id), 410, 'taken-down')
  assert.equal((await get(kept.id)).status, 200)
  await checkInvariants(archive.databaseUrl)
})

test('unites facts and keeps the other video as a copy', async () => {
  const [one, two] = [newSource(), newSource()]
  const [first, second] = [await make({ source_url: one }), await make({ source_url: two })]
  const slides = { kind: 'related', url: 'https://slides.example.org/1', label: 'Slides' }
  const put = { token: editor, body: { facts: [slides] } }
  await call('PUT', `${path(first.id)}/facts`, put)
  await merged(first.id, second.id)
  const copy = { kind: 'media', url: one, type: 'www.youtube.com', size: null }
  assert.deepEqual(await factsOf(second.id), [slides, copy])
  assert.deepEqual(await factsOf(first.id), [slides, copy], 'facts are those of the kept record')
  const third = await make({ source_url: two.replace('www.youtube.com/watch?v=', 'youtu.be/') })
  await merged(third.id, second.id)
  assert.equal((await factsOf(second.id)).length, 2, 'the same video is no other copy')
  const fourth = await make({ source_url: newSource() })
  await merged(fourth.id, second.id, { fields: { source_url: fourth.source_url } })
  assert.equal((await factsOf(second.id)).at(-1).url, two)
})

test('a merged record is no finding and no draft of the lists', async () => {
  const source_url = newSource()
  const [first, second] = [await make({ source_url }), await make({ source_url })]
  const findings = async (rule: string) =>
    JSON.stringify((await call('GET', `/api/v2/quality/${rule}`, { token: editor })).json)
  assert.match(await findings('same-source'), new RegExp(`"id":${first.id},`))
  await merged(first.id, second.id)
  for (const rule of ['same-source', 'no-licence', 'no-date'])
    assert.doesNotMatch(await findings(`${rule}?page_size=100`), new RegExp(`"id":${first.id},`))
  await restore(first.id, 1)
  assert.match(await findings('same-source'), new RegExp(`"id":${first.id},`))
})

test('parts of one recording are no duplicates, unless they start at the same time', async () => {
  const source_url = newSource()
  const [first, second, third] = [
    await make({ source_url }),
    await make({ source_url }),
    await make({ source_url: `${source_url}&t=1h2m` }),
  ]
  const findings = async () => {
    const { json } = await call('GET', '/api/v2/quality/same-source?page_size=100', {
      token: editor,
    })
    const groups: { count: number; records: { id: number }[] }[] = json.results
    const group = groups.find(({ records }) => records.some(({ id }) => id === first.id))
    return group && [group.count, ...group.records.map(({ id }) => id)]
  }
  const partAt = (start: number) =>
    call('PUT', `/api/v2/video/${first.id}/facts`, {
      token: editor,
      body: { facts: [{ kind: 'part', url: source_url, start, end: null }] },
    })
  assert.deepEqual(await findings(), [2, first.id, second.id], 'the third starts elsewhere')
  assert.equal((await partAt(3720)).status, 200)
  assert.deepEqual(await findings(), [2, first.id, third.id], '1h2m is the same start')
  assert.equal((await partAt(90)).status, 200)
  assert.equal(await findings(), undefined)
  await call('PUT', `/api/v2/video/${second.id}/facts`, {
    token: editor,
    body: { facts: [{ kind: 'part', url: source_url, start: 90, end: 100 }] },
  })
  assert.deepEqual(await findings(), [2, first.id, second.id])
  const fourth = await make({ source_url: `${source_url}&t=3720` })
  assert.deepEqual(await findings(), [2, first.id, second.id], 'one start at a time')
  assert.equal((await partAt(95)).status, 200)
  const { json } = await call('GET', '/api/v2/quality/same-source?page_size=100', { token: editor })
  assert.match(JSON.stringify(json), new RegExp(`"id":${third.id},.*"id":${fourth.id},`))
  const wrong = await call('PUT', `/api/v2/video/${first.id}/facts`, {
    token: editor,
    body: { facts: [{ kind: 'part', url: source_url, start: 90, end: 90 }] },
  })
  assert.equal(wrong.status, 400)
  assert.match(wrong.text, /"\/facts\/0\/end"/)
})

test('editors of single events need both events', async () => {
  const other = 'Other Days 2026'
  await call('POST', '/api/v2/category', { token: editor, body: { title: other } })
  const eventId = (await findEvent(archive.pool, category))?.id
  const eve = { name: 'Eve', role: 'editor', days: 1, eventId } as const
  const { token } = await createToken(archive.pool, eve)
  const [own, own2, foreign] = [await make(), await make(), await make({ category: other })]
  assertProblem(await merge(own.id, foreign.id, {}, token), 403, 'forbidden')
  assertProblem(await merge(foreign.id, own.id, {}, token), 403, 'forbidden')
  const move = { fields: { category: other } }
  assertProblem(await merge(own.id, own2.id, move, token), 403, 'forbidden')
  assert.equal((await revisions(own.id)).count, 1)
  await merged(own.id, own2.id, {}, token)
  await merged(own2.id, foreign.id)
  // What is merged still belongs to its event.
  assert.equal((await restore(own2.id, 1, token)).status, 200)
})

test('concurrent edits and merges of both records lose nothing', async () => {
  for (let round = 0; round < 8; round++) {
    const [a, b, c] = [await make({ tags: ['a'] }), await make({ tags: ['b'] }), await make()]
    const replies = await Promise.all([
      merge(a.id, b.id),
      merge(b.id, a.id),
      merge(b.id, c.id),
      merge(c.id, a.id),
      patch(a.id, { summary: `A ${round}` }),
      patch(b.id, { description: `B ${round}` }),
    ])
    for (const { status, text } of replies) assert.ok([200, 400, 409].includes(status), text)
    // An accepted edit is in the record where the merged one now redirects, or in its history.
    const edits: [number, Video, string][] = [
      [4, a, 'summary'],
      [5, b, 'description'],
    ]
    for (const [index, record, field] of edits) {
      const { results } = await revisions(record.id)
      const isWritten = results.some(
        ({ fields, kind }: { fields: string[]; kind: string }) =>
          kind === 'updated' && fields.includes(field),
      )
      if (replies[index]?.status === 200) assert.ok(isWritten)
    }
  }
  await checkInvariants(archive.databaseUrl)
})

const importCsv = async (source: string, rows: readonly (readonly string[])[]) => {
  const text = csvOf(
    rows.map(([key = '', title, source_url, summary]) => ({ key, title, source_url, summary })),
  )
  const { id } = await imports.plan({ text, format: 'csv', source, category, language: 'en' })
  await imports.apply(id)
  return { id, rows: await imports.rows(id) }
}

test('an import of the source of a merged record changes the kept one', async () => {
  const url = newSource()
  const source = 'merged talks'
  const { rows: created } = await importCsv(source, [['k1', 'Imported', url, 'First']])
  const first = await read(created[0]?.video as number)
  const kept = await make({ title: 'Kept', source_url: newSource() })
  await merged(first.id, kept.id)
  const count = async () => (await call('GET', '/api/v2/video')).json.count
  const before = await count()
  const again = await importCsv(source, [['k1', 'Imported', url, 'First']])
  assert.deepEqual([again.rows[0]?.verdict, again.rows[0]?.video], ['unchanged', kept.id])
  const changed = await importCsv(source, [['k1', 'Imported', url, 'Second']])
  assert.deepEqual([changed.rows[0]?.outcome, changed.rows[0]?.video], ['changed', kept.id])
  assert.deepEqual([(await read(kept.id)).summary, (await read(kept.id)).title], ['Second', 'Kept'])
  // Another source with the video of the merged record.
  const other = await importCsv('another source', [['x1', 'Kept', url, 'Second']])
  assert.equal(other.rows[0]?.video, kept.id)
  assert.equal(await count(), before, 'no talk was created')
  // Undone: the source belongs to the first record again.
  await restore(first.id, 1)
  const separate = await importCsv(source, [['k1', 'Imported', url, 'Third']])
  assert.equal(separate.rows[0]?.video, first.id)
  await checkInvariants(archive.databaseUrl)
})

test('of two rows of one talk, only that of the kept record changes it', async () => {
  const source = 'two rows'
  const [a, b] = [newSource(), newSource()]
  const file = (summary: string) => [
    ['k1', 'Row one', a, `One ${summary}`],
    ['k2', 'Row two', b, `Two ${summary}`],
  ]
  const { rows } = await importCsv(source, file('first'))
  const [one, two] = rows.map(({ video }) => video as number) as [number, number]
  await merged(one, two)
  const again = await importCsv(source, file('second'))
  assert.deepEqual(
    again.rows.map(({ outcome, video }) => [outcome, video]),
    [
      ['unchanged', two],
      ['changed', two],
    ],
  )
  assert.match(JSON.stringify(again.rows[0]?.notes), /was merged into record \d+/)
  assert.equal((await read(two)).summary, 'Two second')
  assert.match((await read(two)).title, /Row two/)
})

test('undoing an import leaves merged records, and lists them', async () => {
  const source = 'undone'
  const { id, rows } = await importCsv(source, [
    ['k1', 'Undone one', newSource(), 'One'],
    ['k2', 'Undone two', newSource(), 'Two'],
  ])
  const [one, two] = rows.map(({ video }) => video as number) as [number, number]
  const kept = await make()
  await merged(one, kept.id)
  await imports.undo(id)
  assert.equal((await read(two)).state, 2)
  const left = (await imports.rows(id)).filter(({ undone }) => undone === 'touched')
  assert.deepEqual(
    left.map(({ video }) => video),
    [one],
  )
  assert.equal((await get(one)).status, 301)
  await checkInvariants(archive.databaseUrl)
})

test('an export has merged records as drafts, and an import says that the redirect is lost', async () => {
  const database = await freshDatabase()
  const other = await openArchive(database.url)
  after(async () => {
    await other.close()
    await database.drop()
  })
  const text = await exportAll(archive.databaseUrl)
  const lines = text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
  const redirects = lines.filter(({ merged_into }) => merged_into)
  assert.ok(redirects.length > 5)
  for (const { record } of redirects) assert.equal(record.state, 2)
  const client = importClient(other, other.admin)
  const { id } = await client.plan({ text, name: 'export.ndjson' })
  await client.apply(id)
  const notes = (await client.rows(id)).filter(({ notes }) =>
    notes.some(({ field }) => field === 'merged_into'),
  )
  assert.equal(notes.length, redirects.length)
  assert.match(JSON.stringify(notes[0]?.notes), /is a draft here and does not redirect/)
  await checkInvariants(other.databaseUrl)
  // The export of this archive changes nothing here.
  const total = () => withDatabase(archive.databaseUrl, (query) => query('select id from video'))
  const before = (await total()).length
  const own = importClient(archive, admin)
  const plan = await own.plan({ text, name: 'export.ndjson' })
  await own.apply(plan.id)
  assert.equal((await total()).length, before)
  for (const { record, merged_into } of redirects)
    assert.equal((await get(record.id, editor)).status, 301, `${record.id} to ${merged_into}`)
  await checkInvariants(archive.databaseUrl)
})

test('a rename changes a merged record, which still redirects', async () => {
  const [first, second] = [await make({ speakers: ['Dora'] }), await make()]
  await merged(first.id, second.id, { fields: { speakers: [] } })
  const body = { name: 'Nora' }
  const renamed = await call('PATCH', '/api/v2/speaker/dora', { token: editor, body })
  assert.equal(renamed.status, 200, renamed.text)
  assert.equal((await get(first.id)).status, 301)
  assert.deepEqual((await restore(first.id, 1)).json.speakers, ['Nora'])
  await checkInvariants(archive.databaseUrl)
})
