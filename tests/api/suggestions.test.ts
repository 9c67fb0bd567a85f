import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Video } from '@talkshelf/contract'
import { createToken, findEvent } from '../../server/auth/auth.ts'
import { category, startArchive } from '../support/harness.ts'
import { checkInvariants, withDatabase } from '../support/invariants.ts'

// Suggestions over the API: what readers send, how it is compared with the record each time, and
// what editors decide.

const archive = await startArchive()
const { call, make, editor: token } = archive
const path = '/api/v2/suggestion'

/** Sends a suggestion with a token, which has no limits of a network. */
const send = (body: object) => call('POST', path, { body, token })
async function suggest(video: Video, fields: object, more: object = {}): Promise<number> {
  const reply = await send({ kind: 'correction', video: video.id, fields, ...more })
  assert.equal(reply.status, 201, reply.text)
  return reply.json.id
}
const read = async (id: number) => (await call('GET', `${path}/${id}`, { token })).json
const accept = (id: number, body: object = {}) =>
  call('POST', `${path}/${id}/accept`, { body, token })
const decline = (id: number, reason = 'not-verified') =>
  call('POST', `${path}/${id}/decline`, { body: { reason }, token })
const reopen = (id: number) => call('POST', `${path}/${id}/reopen`, { token })
const talkOf = async (id: number) => (await call('GET', `/api/v2/video/${id}`, { token })).json
const patch = (id: number, body: object) => call('PATCH', `/api/v2/video/${id}`, { body, token })
const fieldStates = async (id: number) =>
  Object.fromEntries(
    (await read(id)).fields.map(({ field, state }: { field: string; state: string }) => [
      field,
      state,
    ]),
  )

test('an editor accepts a correction, and the change names the suggestion', async () => {
  const talk = await make({ title: 'Tpyo', speakers: ['Ada'] })
  const id = await suggest(
    talk,
    { title: 'Typo', speakers: ['Ada', 'Grace'] },
    { name: ' Zoë  Q ' },
  )
  const open = await read(id)
  assert.deepEqual(
    [open.state, open.video, open.title, open.name, open.show_name, open.base_revision],
    ['open', talk.id, 'Tpyo', 'Zoë Q', false, 1],
  )
  assert.deepEqual(open.fields[0], {
    field: 'title',
    state: 'open',
    suggested: 'Typo',
    base: 'Tpyo',
    current: 'Tpyo',
  })
  const { status, json } = await accept(id)
  assert.equal(status, 200)
  assert.deepEqual(
    [json.state, json.closed_by, json.revision, json.taken],
    ['accepted', 'Edith', 2, ['title', 'speakers']],
  )
  const changed = await talkOf(talk.id)
  assert.deepEqual([changed.title, changed.speakers], ['Typo', ['Ada', 'Grace']])
  const [change] = await withDatabase(archive.databaseUrl, (query) =>
    query('select suggestion_id from change where subject_id = $1 and revision = 2', [talk.id]),
  )
  assert.equal(Number(change?.suggestion_id), id)
})

test('an editor takes some fields, and changes others first', async () => {
  const talk = await make({ title: 'A', summary: 'B' })
  const id = await suggest(talk, { title: 'A1', summary: 'B1', recorded: '2020-01-01' })
  const edits = { summary: 'B2', description: 'Added' }
  const { json } = await accept(id, { fields: ['title'], edits })
  assert.deepEqual(json.taken, ['title', 'summary', 'description'])
  const { title, summary, description, recorded } = await talkOf(talk.id)
  assert.deepEqual([title, summary, description, recorded], ['A1', 'B2', 'Added', null])
  const other = await suggest(talk, { title: 'A3' })
  assert.equal((await accept(other, { fields: [] })).status, 400)
  assert.equal((await accept(other, { fields: ['summary'] })).json.errors[0].pointer, '/fields/0')
  assert.equal((await accept(other, { edits: { title: '' } })).json.errors[0].code, 'too-short')
})

test('compares the fields with the record each time, and closes what others did', async () => {
  const talk = await make({ title: 'Old', summary: 'Old', tags: ['a'] })
  const id = await suggest(talk, { title: 'New', summary: 'New', tags: ['a', 'b'] })
  assert.deepEqual(await fieldStates(id), { title: 'open', summary: 'open', tags: 'open' })
  await patch(talk.id, { title: 'New', summary: 'Third', tags: ['a', 'c'] })
  const states = { title: 'already-applied', summary: 'conflict', tags: 'open' }
  assert.deepEqual(await fieldStates(id), states)
  const tags = (await read(id)).fields.find(({ field }: { field: string }) => field === 'tags')
  assert.deepEqual(tags.suggested.toSorted(), ['a', 'b', 'c'], 'lists are merged')
  const refused = await accept(id, { fields: ['summary', 'tags'] })
  assert.deepEqual([refused.status, refused.json.fields], [409, ['summary']])
  assert.equal((await talkOf(talk.id)).summary, 'Third')
  await patch(talk.id, { summary: 'New', tags: ['a', 'b'] })
  const closed = await read(id)
  assert.deepEqual([closed.state, closed.closed_by], ['done', null])
  assert.equal((await accept(id)).status, 409)
})

test('without a choice, fields in conflict are left out', async () => {
  const talk = await make({ title: 'Old', summary: 'Old', description: 'Old' })
  const id = await suggest(talk, { title: 'New', summary: 'New', description: 'New' })
  await patch(talk.id, { title: 'New', summary: 'Third' })
  const { status, json } = await accept(id)
  assert.deepEqual([status, json.taken], [200, ['title', 'description']])
  const { title, summary, description } = await talkOf(talk.id)
  assert.deepEqual([title, summary, description], ['New', 'Third', 'New'])
  const other = await suggest(talk, { title: 'Newest', summary: 'Newest' })
  await patch(talk.id, { title: 'Newest', summary: 'Fourth' })
  const refused = await accept(other)
  assert.deepEqual([refused.status, refused.json.fields], [409, ['summary']], 'no other is left')
  assert.equal((await read(other)).state, 'open')
  assert.equal((await talkOf(talk.id)).summary, 'Fourth')
})

test('a suggestion of which only the comment is left is accepted without fields', async () => {
  const talk = await make({ title: 'Old' })
  const id = await suggest(talk, { title: 'New' }, { comment: 'And look at the date' })
  assert.equal((await accept(id, { fields: [] })).status, 400, 'a field is left')
  await patch(talk.id, { title: 'New' })
  assert.deepEqual(await fieldStates(id), { title: 'already-applied' })
  const { status, json } = await accept(id, { fields: [] })
  assert.deepEqual([status, json.state, json.taken, json.revision], [200, 'accepted', [], null])
})

test('an edit replaces a field that was changed since only if the editor saw that', async () => {
  const talk = await make({ title: 'Old' })
  const id = await suggest(talk, { title: 'Suggested' })
  await patch(talk.id, { title: 'Second' })
  const stale = await accept(id, { edits: { title: 'Edited' }, revision: 1 })
  assert.deepEqual([stale.status, stale.json.fields], [409, ['title']])
  assert.equal((await accept(id, { edits: { title: 'x' }, revision: 9 })).status, 400)
  const { json } = await accept(id, { edits: { title: 'Edited' }, revision: 2 })
  assert.equal(json.state, 'accepted')
  assert.equal((await talkOf(talk.id)).title, 'Edited')
})

test('declines with a reason, and undoes decisions', async () => {
  const talk = await make({ title: 'Before' })
  const id = await suggest(talk, { title: 'After' })
  assert.equal((await decline(id, '')).status, 400)
  const { json } = await decline(id, 'unclear')
  assert.deepEqual([json.state, json.reason, json.closed_by], ['declined', 'unclear', 'Edith'])
  assert.equal((await decline(id, 'unclear')).status, 200, 'the same request again')
  const again = await decline(id, 'abuse')
  assert.deepEqual([again.status, again.json.detail.includes('Edith')], [409, true])
  assert.equal((await accept(id)).status, 409)
  assert.equal((await reopen(id)).json.state, 'open')
  assert.equal((await accept(id)).json.state, 'accepted')
  assert.equal((await talkOf(talk.id)).title, 'After')
  assert.equal((await reopen(id)).json.state, 'open')
  assert.equal((await talkOf(talk.id)).title, 'Before', 'the change is reverted')
  await accept(id)
  await patch(talk.id, { title: 'Later' })
  const kept = await reopen(id)
  assert.deepEqual([kept.status, kept.json.fields], [409, ['title']])
  assert.equal((await read(id)).state, 'accepted')
})

test('takes reports of dead links, duplicates and missing talks, and asks for removal', async () => {
  const [talk, other] = [await make({ source_url: 'https://a.example/1' }), await make()]
  const video = talk.id
  const link = { source_url: 'https://b.example/1' }
  const dead = await send({ kind: 'dead-link', video, fields: link })
  await accept(dead.json.id)
  assert.equal((await talkOf(video)).source_url, 'https://b.example/1')
  const gone = await send({ kind: 'dead-link', video })
  assert.deepEqual((await accept(gone.json.id)).json.revision, null)

  const duplicate = await send({ kind: 'duplicate', video, duplicate_of: other.id })
  assert.equal((await read(duplicate.json.id)).duplicate_of, other.id)
  await call('POST', `/api/v2/video/${other.id}/merge`, { body: { into: video }, token })
  assert.equal((await read(duplicate.json.id)).state, 'done')

  const fields = { title: 'Missing talk', category, source_url: 'https://a.example/2' }
  const missing = await send({ kind: 'missing', fields, comment: 'Second day' })
  assert.equal((await read(missing.json.id)).fields.length, 3)
  assert.equal((await accept(missing.json.id)).json.state, 'accepted')

  const removal = await send({ kind: 'removal', video, comment: 'I am the speaker' })
  assert.deepEqual(await fieldStates(removal.json.id), { state: 'open' })
  await accept(removal.json.id)
  assert.equal((await call('GET', `/api/v2/video/${video}`)).status, 404, 'it is a draft')
})

test('refuses what does not fit, and names each error', async () => {
  const talk = await make({ title: 'Same' })
  const video = talk.id
  const draft = await make({ state: 2 })
  const pointers = async (body: object) => {
    const { status, json } = await send(body)
    return [status, ...(json.errors ?? []).map(({ pointer }: { pointer: string }) => pointer)]
  }
  const kind = 'correction'
  assert.deepEqual(await pointers({ kind, video }), [400, '/fields'])
  assert.deepEqual(await pointers({ kind, video, fields: { title: 'Same' } }), [400, '/fields'])
  assert.deepEqual(await pointers({ kind, comment: 'x' }), [400, '/video'])
  assert.deepEqual(await pointers({ kind, video, fields: { title: '', recorded: '2020' } }), [
    400,
    '/fields/title',
    '/fields/recorded',
  ])
  assert.deepEqual(await pointers({ kind, video, fields: { category: 'No such' } }), [
    400,
    '/fields/category',
  ])
  assert.deepEqual(await pointers({ kind, video, fields: { embed: 'x' } }), [400, '/fields/embed'])
  assert.deepEqual(await pointers({ kind, video, fields: { state: 2 } }), [400, '/fields/state'])
  const long = { description: 'x'.repeat(70_000) }
  assert.deepEqual(await pointers({ kind, video, fields: long }), [400, '/fields'])
  assert.deepEqual(await pointers({ kind, video, base_revision: 7, fields: { title: 'x' } }), [
    400,
    '/base_revision',
  ])
  assert.deepEqual(await pointers({ kind: 'removal', video }), [400, '/comment'])
  assert.deepEqual(await pointers({ kind: 'duplicate', video, duplicate_of: video }), [
    400,
    '/duplicate_of',
  ])
  assert.deepEqual(await pointers({ kind: 'duplicate', video, duplicate_of: draft.id }), [
    400,
    '/duplicate_of',
  ])
  assert.deepEqual(await pointers({ kind: 'missing', video, comment: 'x' }), [
    400,
    '/video',
    '/fields/title',
  ])
  assert.deepEqual(await pointers({ kind: 'dead-link', video, fields: { title: 'x' } }), [
    400,
    '/fields/title',
  ])
  assert.deepEqual(await pointers({ kind, video: draft.id, comment: 'x' }), [404])
  assert.deepEqual(await pointers({ kind, video: 999_999, comment: 'x' }), [404])
  assert.equal((await read(999_999)).status, 404)
})

test('a suggestion about a merged talk is about the talk that was kept', async () => {
  const [merged, kept] = [await make({ title: 'Talk' }), await make({ title: 'Talk' })]
  const id = await suggest(merged, { title: 'The talk' })
  await call('POST', `/api/v2/video/${merged.id}/merge`, { body: { into: kept.id }, token })
  assert.equal((await read(id)).video, kept.id)
  await accept(id)
  assert.equal((await talkOf(kept.id)).title, 'The talk')
  assert.equal((await reopen(id)).json.state, 'open')
  assert.equal((await talkOf(kept.id)).title, 'Talk')
})

test('a decision about a merged talk survives that the talk is restored', async () => {
  const [merged, kept] = [
    await make({ title: 'Twin', summary: 'Old' }),
    await make({ title: 'Twin', summary: 'Old' }),
  ]
  const id = await suggest(merged, { summary: 'New' })
  await call('POST', `/api/v2/video/${merged.id}/merge`, { body: { into: kept.id }, token })
  assert.deepEqual([(await accept(id)).json.state, (await read(id)).video], ['accepted', kept.id])
  const restored = await call('POST', `/api/v2/video/${merged.id}/revisions/1/restore`, { token })
  assert.equal(restored.status, 200, restored.text)
  const { video, revision } = await read(id)
  assert.deepEqual([video, revision], [kept.id, 2], 'the talk that was changed')
  assert.equal((await reopen(id)).json.state, 'open')
  assert.equal((await talkOf(kept.id)).summary, 'Old')
  assert.equal((await read(id)).video, merged.id, 'the talk that it is about')
  assert.equal((await accept(id)).json.state, 'accepted')
  assert.equal((await talkOf(merged.id)).summary, 'New')
})

test('a revision that was never live is unknown without a token', async () => {
  const talk = await make({ title: 'Draft title', state: 2 })
  await patch(talk.id, { title: 'Live title', state: 1 })
  await patch(talk.id, { title: 'Later title' })
  const body = (base_revision: number, title: string) => ({
    kind: 'correction',
    video: talk.id,
    base_revision,
    fields: { title },
  })
  const anonymous = async (revision: number, title: string) => {
    const { status, json } = await call('POST', path, { body: body(revision, title) })
    return [status, json.errors?.[0].code]
  }
  assert.deepEqual(await anonymous(1, 'Draft title'), [400, 'unknown-revision'])
  assert.deepEqual(await anonymous(1, 'Wrong guess'), [400, 'unknown-revision'])
  assert.deepEqual(await anonymous(9, 'Wrong guess'), [400, 'unknown-revision'])
  assert.deepEqual(await anonymous(2, 'Corrected'), [201, undefined])
  assert.deepEqual(await anonymous(3, 'Corrected too'), [201, undefined])
  assert.equal((await send(body(1, 'By an editor'))).status, 201)
})

test('a revision of a talk that was merged is not one of the talk that was kept', async () => {
  const [merged, kept] = [await make({ title: 'One' }), await make({ title: 'Two' })]
  for (const summary of ['1', '2', '3', '4']) await patch(merged.id, { summary })
  await call('POST', `/api/v2/video/${merged.id}/merge`, { body: { into: kept.id }, token })
  const id = await suggest(merged, { title: 'Three' }, { base_revision: 4 })
  const { video, base_revision, current_revision } = await read(id)
  assert.deepEqual([video, base_revision], [kept.id, current_revision])
})

test('edits are normalised and validated like those of a record', async () => {
  const talk = await make({ title: 'Edited', speakers: ['Ada'] })
  const id = await suggest(talk, { title: 'Edit', speakers: ['Ada', 'Eve'] })
  const errors = async (edits: unknown) => {
    const { status, json } = await accept(id, { edits })
    return [status, ...(json.errors ?? []).map(({ pointer }: { pointer: string }) => pointer)]
  }
  assert.deepEqual(await errors({ title: '  ' }), [400, '/edits/title'])
  assert.deepEqual(await errors({ speakers: [' '] }), [400, '/edits/speakers/0'])
  assert.deepEqual(await errors({ title: '', recorded: 'x' }), [
    400,
    '/edits/title',
    '/edits/recorded',
  ])
  assert.deepEqual(await errors({ state: 2 }), [400, '/edits/state'])
  assert.equal((await accept(id, { edits: 'x' })).status, 400)
  await accept(id, { fields: ['title'], edits: { speakers: [' Ada ', 'Zoe\u0308'] } })
  assert.deepEqual((await talkOf(talk.id)).speakers, ['Ada', 'Zo\u00eb'])
  const missing = await send({ kind: 'missing', fields: { title: 'Nowhere' } })
  const refused = await accept(missing.json.id, { edits: { title: 'Elsewhere' } })
  assert.deepEqual([refused.status, refused.json.errors[0].pointer], [400, '/edits'])
  assert.equal((await read(missing.json.id)).state, 'open')
})

test('shows current names only, and follows a rename', async () => {
  const talk = await make({ speakers: ['Dora Former'] })
  const id = await suggest(talk, { speakers: ['Dora Former', 'Second Speaker'] })
  const body = { name: 'Nora Current' }
  await call('PATCH', '/api/v2/speaker/dora-former', { body, token })
  const shown = await read(id)
  assert.deepEqual(shown.fields[0].suggested, ['Nora Current', 'Second Speaker'])
  assert.doesNotMatch(JSON.stringify(shown), /Dora/)
  await accept(id)
  assert.deepEqual((await talkOf(talk.id)).speakers, ['Nora Current', 'Second Speaker'])
})

test('a category is known by the names that readers see', async () => {
  const talk = await make({ title: 'Moved' })
  await call('POST', '/api/v2/category', { body: { title: 'Former Days' }, token })
  const aliases = [{ name: 'Shown Days', shown: true }]
  const body = { title: 'Current Days', aliases }
  await call('PATCH', '/api/v2/category/former-days', { body, token })
  const send = async (title: string, more: object = {}) => {
    const fields = { category: title, ...more }
    const body = { kind: 'correction', video: talk.id, fields }
    const { status, json } = await call('POST', path, { body, token })
    return [status, json.errors?.map(({ code }: { code: string }) => code)]
  }
  const unknown = [400, ['unknown-category']]
  assert.deepEqual(await send('No Such Days'), unknown)
  assert.deepEqual(await send('Former Days'), unknown, 'a hidden name is as unknown as any other')
  const invalid = { recorded: 'soon' }
  assert.deepEqual(await send('Former Days', invalid), await send('No Such Days', invalid))
  assert.deepEqual(await send('Shown Days'), [201, undefined])
  assert.deepEqual(await send('Current Days'), [201, undefined])
})

test('a missing talk may be of an event that is missing too', async () => {
  await make({ speakers: ['Doris Former'] })
  const speaker = { name: 'Doris Current' }
  await call('PATCH', '/api/v2/speaker/doris-former', { body: speaker, token })
  for (const title of ['Next Days 2031', 'Former Days']) {
    const fields = { title: 'Not here', category: title, speakers: ['Doris Former'] }
    const { status, json, text } = await send({ kind: 'missing', fields })
    assert.equal(status, 201, text)
    const [stored] = await withDatabase(archive.databaseUrl, (query) =>
      query('select fields from suggestion where id = $1', [json.id]),
    )
    assert.deepEqual(stored?.fields, fields, 'as it was typed')
    const shown = (await read(json.id)).fields
    const [, event, speakers] = shown.map(({ suggested }: { suggested: unknown }) => suggested)
    assert.equal(event, title === 'Former Days' ? 'Current Days' : title)
    assert.deepEqual(speakers, ['Doris Current'], 'editors see current names')
    assert.equal((await accept(json.id)).json.state, 'accepted')
  }
})

test('a takedown closes suggestions and deletes their texts', async () => {
  const talk = await make()
  const id = await suggest(talk, { summary: 'Private words' }, { comment: 'Private', name: 'Zoë' })
  const declined = await suggest(talk, { summary: 'Private too' })
  await decline(declined, 'Private reason')
  const body = { reason: 'Asked for it' }
  await call('POST', `/api/v2/video/${talk.id}/takedown`, { body, token: archive.admin })
  const closed = await read(id)
  assert.deepEqual(
    [closed.state, closed.comment, closed.name, closed.fields],
    ['done', '', null, []],
  )
  const { state, reason } = await read(declined)
  assert.deepEqual([state, reason], ['declined', 'taken-down'])
  assert.equal((await reopen(declined)).status, 410)
  assert.equal((await read(declined)).state, 'declined')
  const rows = await withDatabase(archive.databaseUrl, (query) =>
    query('select suggestion::text as row from suggestion where video_id = $1', [talk.id]),
  )
  assert.doesNotMatch(JSON.stringify(rows), /Private/)
  assert.equal((await send({ kind: 'correction', video: talk.id, comment: 'x' })).status, 410)
})

test('lists open suggestions in pages, oldest first, with the age of the oldest', async () => {
  const talk = await make({ title: 'Listed' })
  const ids: number[] = []
  for (const number of [1, 2, 3]) ids.push(await suggest(talk, { title: `Listed ${number}` }))
  const links = 'https://a.example https://b.example https://c.example'
  const suspicious = await suggest(talk, {}, { comment: `Buy at ${links}` })
  const later = await suggest(talk, { title: 'Listed 4' })
  const seen: number[] = []
  let next: string | null = `${path}?page_size=2`
  for (let pages = 0; next && pages < 100; pages++) {
    const { status, json } = await call('GET', next, { token })
    assert.equal(status, 200)
    for (const { id, fields } of json.results) {
      seen.push(id)
      for (const field of fields) assert.ok(!('current' in field) && !('base' in field))
    }
    assert.match(json.oldest, /^\d{4}-\d\d-\d\dT/)
    next = json.next && new URL(json.next).pathname + new URL(json.next).search
  }
  assert.deepEqual(
    seen.filter((id) => [...ids, suspicious, later].includes(id)),
    [...ids, later, suspicious],
  )
  assert.equal(new Set(seen).size, seen.length)
  await decline(suspicious, 'abuse')
  const { json } = await call('GET', `${path}?state=declined&page_size=100`, { token })
  assert.ok(json.results.some(({ id }: { id: number }) => id === suspicious))
})

test('editors of single events see and decide only those of their events', async () => {
  await call('POST', '/api/v2/category', { body: { title: 'Other Days' }, token })
  const event = await findEvent(archive.pool, 'Other Days')
  const created = { name: 'Otto', role: 'editor', days: 1, eventId: event.id } as const
  const { token: otto } = await createToken(archive.pool, created)
  const own = await suggest(await make({ category: 'Other Days' }), { title: 'Own' })
  const foreignTalk = await make()
  const foreign = await suggest(foreignTalk, { title: 'Foreign' })
  const missing = (await send({ kind: 'missing', fields: { title: 'M' } })).json.id
  const listed = (await call('GET', `${path}?page_size=100`, { token: otto })).json
  assert.deepEqual([listed.count, listed.results.map(({ id }: { id: number }) => id)], [1, [own]])
  for (const id of [foreign, missing]) {
    const statuses = [
      await call('GET', `${path}/${id}`, { token: otto }),
      await call('POST', `${path}/${id}/accept`, { token: otto, body: {} }),
      await call('POST', `${path}/${id}/decline`, { token: otto, body: { reason: 'x' } }),
      await call('POST', `${path}/${id}/reopen`, { token: otto }),
    ].map(({ status }) => status)
    assert.deepEqual(statuses, [403, 403, 403, 403])
  }
  // A suggestion that would move the talk to an event of others is refused as the edit would be.
  const move = await suggest(await make({ category: 'Other Days' }), { category })
  const moved = await call('POST', `${path}/${move}/accept`, { token: otto, body: {} })
  assert.equal(moved.status, 403)
  assert.equal((await read(move)).state, 'open')
  const accepted = await call('POST', `${path}/${own}/accept`, { token: otto, body: {} })
  assert.equal(accepted.json.state, 'accepted')
})

test('the metrics have the number of open suggestions and the age of the oldest', async () => {
  const { json } = await call('GET', path, { token })
  const { text } = await call('GET', '/metrics')
  assert.match(text, new RegExp(`^talkshelf_suggestions_open ${json.count}$`, 'm'))
  await withDatabase(archive.databaseUrl, (query) =>
    query(`update suggestion set created = created - interval '3 days' where state = 'open'`),
  )
  const [, seconds] = /^talkshelf_suggestions_oldest_seconds (\S+)$/m.exec(
    (await call('GET', '/metrics')).text,
  ) ?? [undefined, '0']
  assert.ok(Number(seconds) >= 3 * 86_400)
})

test('the archive is consistent afterwards', () => checkInvariants(archive.databaseUrl))
