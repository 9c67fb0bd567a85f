import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BulkEdit, FieldError, Import, Video } from '@talkshelf/contract'
import { createToken, findEvent } from '../../server/auth/auth.ts'
import { freshDatabase } from '../support/database.ts'
import { category, openArchive, startArchive } from '../support/harness.ts'
import { csvOf, importClient } from '../support/import-client.ts'
import { checkInvariants, withDatabase } from '../support/invariants.ts'
import { insertRecords } from '../support/many-records.ts'

// Bulk edits over the API: operations on the records of a search, planned before they are written,
// never over an edit that was made since the plan, and undoable.

const archive = await startArchive()
const { editor: token } = archive
const client = importClient(archive, token)
const { apply, undo, rows, send } = client
type Operation = BulkEdit['operations'][number]

const record = async (id: number): Promise<Video> => (await send('GET', `video/${id}`)).json
const patch = (id: number, fields: Partial<Video>) => send('PATCH', `video/${id}`, fields)
const idsOf = (videos: readonly Video[]) => videos.map(({ id }) => id)

/** Plans a bulk edit; returns when every record has a verdict. */
async function plan(filter: BulkEdit['filter'], ...operations: Operation[]): Promise<Import> {
  const { json, headers } = await send('POST', 'edit', { filter, operations })
  assert.match(String(headers.location), new RegExp(`/api/v2/import/${json.id}$`))
  return client.until(json.id, 'planned')
}

/** Sends an edit that is not valid. Returns its errors. */
async function refused(body: object): Promise<FieldError[]> {
  const { status, json } = await archive.call('POST', '/api/v2/edit', { token, body })
  assert.equal(status, 400, JSON.stringify(json))
  return json.errors
}

const set = (field: Operation['field'], value: Operation['value']): Operation => ({
  op: 'set',
  field,
  value,
})

/** Creates talks with a tag that no other talk has. */
let groups = 0
async function makeTalks(count: number, fields: Partial<Video> = {}): Promise<Video[]> {
  const tag = `group-${++groups}`
  const talks: Video[] = []
  for (let number = 1; number <= count; number++)
    talks.push(
      await archive.make({ title: `Talk ${number} of ${tag}`, ...fields, tags: [tag, 'shared'] }),
    )
  return talks
}

test('plans and applies an edit of all talks of a search, and undoes it', async () => {
  const talks = await makeTalks(3, { copyright_text: 'CC BY 3.0' })
  await patch(talks[2]?.id as number, { copyright_text: 'CC BY 4.0' })
  const before = await Promise.all(idsOf(talks).map(record))
  const filter = { tag: talks[0]?.tags[0] as string }
  const job = await plan(filter, set('copyright_text', 'CC BY 4.0'))
  assert.deepEqual(
    [job.format, job.source, job.name, job.by, job.rows],
    ['edit', 'edit', 'set copyright_text', 'Edith', 3],
  )
  assert.deepEqual(job.planned, { new: 0, changed: 2, unchanged: 1, conflict: 0, refused: 0 })
  const planned = await rows(job.id)
  assert.deepEqual(
    planned.map(({ title, video, verdict, changes }) => [title, video, verdict, changes]),
    talks.map(({ id, title }, index) =>
      index === 2
        ? [title, id, 'unchanged', {}]
        : [title, id, 'changed', { copyright_text: { old: 'CC BY 3.0', new: 'CC BY 4.0' } }],
    ),
  )
  assert.deepEqual(await Promise.all(idsOf(talks).map(record)), before, 'a plan changes nothing')

  const applied = await apply(job.id)
  assert.deepEqual(applied.outcome, { created: 0, changed: 2, unchanged: 1, kept: 0, refused: 0 })
  for (const id of idsOf(talks)) assert.equal((await record(id)).copyright_text, 'CC BY 4.0')
  const { json: history } = await send('GET', `video/${talks[0]?.id}/revisions`)
  const { by, via, request, fields } = history.results[0]
  assert.deepEqual(
    [by, via, request, fields],
    ['Edith', 'api', `import ${job.id}`, ['copyright_text']],
  )

  const undone = await undo(job.id)
  assert.deepEqual(undone.undone, { undone: 2, touched: 0 })
  const restored = await Promise.all(idsOf(talks).map(record))
  const withoutTime = (video: Video) => ({ ...video, updated: '' })
  assert.deepEqual(restored.map(withoutTime), before.map(withoutTime))

  await send('POST', `import/${job.id}/redo`)
  await client.until(job.id, 'applied')
  for (const id of idsOf(talks)) assert.equal((await record(id)).copyright_text, 'CC BY 4.0')
  await withDatabase(archive.databaseUrl, async (query) => {
    const [found] = await query(`select count(*)::int as count from source_record`)
    assert.equal(found?.count, 0, 'an edit is not what a source said')
  })
})

test('applies every kind of operation', async () => {
  const other = 'Other Days 2026'
  await send('POST', 'category', { title: other })
  const [talk] = (await makeTalks(1, {
    title: 'Pyhton (a+b) and Pyhton',
    speakers: ['Ada', 'Grace'],
    summary: 'costs $& and $1',
    source_url: 'http://old.example.org/1?x=1',
    recorded: '2026-01-01',
  })) as [Video]
  const { id, tags } = talk
  const operations: Operation[] = [
    set('category', '  Other Days 2026 '),
    set('language', 'de'),
    set('state', 2),
    set('recorded', null),
    set('quality_notes', 'No sound'),
    set('whiteboard', 'Checked'),
    { op: 'add', field: 'speakers', value: 'Edsger' },
    { op: 'remove', field: 'tags', value: 'shared' },
    { op: 'replace', field: 'title', value: 'Pyhton', with: 'Python $&' },
    { op: 'replace', field: 'source_url', value: 'http://old.', with: 'https://new.' },
  ]
  const job = await plan({ ids: [id, id] }, ...operations)
  assert.equal(job.rows, 1)
  assert.deepEqual(job.creates.speakers, { count: 1, names: ['Edsger'] })
  await apply(job.id)
  const after = await record(id)
  const expected = {
    category: other,
    language: 'German',
    state: 2,
    recorded: null,
    quality_notes: 'No sound',
    whiteboard: 'Checked',
    speakers: ['Ada', 'Grace', 'Edsger'],
    tags: [tags[0]],
    title: 'Python $& (a+b) and Python $&',
    source_url: 'https://new.example.org/1?x=1',
  }
  assert.deepEqual({ ...after, ...expected }, after)

  const second = await plan(
    { ids: [id] },
    { op: 'replace', field: 'speakers', value: 'Grace', with: 'Grace Hopper' },
    { op: 'replace', field: 'speakers', value: 'Edsger', with: 'Ada' },
    { op: 'replace', field: 'summary', value: '(a+b)', with: 'x' },
    { op: 'replace', field: 'title', value: '(a+b)', with: '.' },
    { op: 'add', field: 'tags', value: tags[0] as string },
    { op: 'remove', field: 'tags', value: 'not there' },
  )
  const [row] = await rows(second.id)
  assert.deepEqual(Object.keys(row?.changes ?? {}).sort(), ['speakers', 'title'])
  await apply(second.id)
  const { speakers, title } = await record(id)
  assert.deepEqual([speakers, title], [['Ada', 'Grace Hopper'], 'Python $& . and Python $&'])
  await undo(second.id)
  await undo(job.id)
  const { updated: _, ...fields } = talk
  assert.deepEqual({ ...(await record(id)), ...fields }, await record(id))
})

test('finds entities by their other names, and follows a rename since the plan', async () => {
  const talks = await makeTalks(2, { speakers: ['Original Name'] })
  await send('PATCH', 'speaker/original-name', { aliases: [{ name: 'O. Name' }] })
  const job = await plan(
    { ids: idsOf(talks) },
    { op: 'replace', field: 'speakers', value: 'O. Name', with: 'Another Person' },
  )
  assert.equal(job.planned.changed, 2)
  await send('PATCH', 'speaker/original-name', { name: 'Current Name' })
  const applied = await apply(job.id)
  assert.equal(applied.outcome.changed, 2)
  for (const id of idsOf(talks)) assert.deepEqual((await record(id)).speakers, ['Another Person'])
})

test('refuses operations that are not valid, each with its pointer', async () => {
  const [talk] = await makeTalks(1)
  const filter = { ids: [talk?.id] }
  const cases: [operation: object, pointer: string, code: string][] = [
    [{ op: 'set', field: 'title', value: 'x' }, 'field', 'not-a-choice'],
    [{ op: 'set', field: 'id', value: 1 }, 'field', 'not-a-choice'],
    [{ op: 'add', field: 'copyright_text', value: 'x' }, 'field', 'not-a-choice'],
    [{ op: 'replace', field: 'category', value: 'x', with: 'y' }, 'field', 'not-a-choice'],
    [{ op: 'change', field: 'tags', value: 'x' }, 'op', 'not-a-choice'],
    [{ op: 'set', field: 'state', value: 3 }, 'value', 'type'],
    [{ op: 'set', field: 'state', value: 'live' }, 'value', 'type'],
    [{ op: 'set', field: 'recorded', value: '2026-02-30' }, 'value', 'format'],
    [{ op: 'set', field: 'copyright_text', value: null }, 'value', 'type'],
    [{ op: 'set', field: 'copyright_text', value: 'x'.repeat(20_001) }, 'value', 'too-long'],
    [{ op: 'set', field: 'language', value: 'Englsh' }, 'value', 'unknown-language'],
    [{ op: 'set', field: 'category', value: 'Exampel Days 2026' }, 'value', 'unknown-category'],
    [{ op: 'set', field: 'state', value: 1, with: 'x' }, 'with', 'unknown-field'],
    [{ op: 'add', field: 'tags', value: '' }, 'value', 'too-short'],
    [{ op: 'add', field: 'tags', value: 'x'.repeat(256) }, 'value', 'too-long'],
    [{ op: 'add', field: 'tags', value: null }, 'value', 'type'],
    [{ op: 'replace', field: 'title', value: '', with: 'x' }, 'value', 'too-short'],
    [{ op: 'replace', field: 'title', value: 'x' }, 'with', 'required'],
    [{ op: 'replace', field: 'tags', value: 'x', with: ' ' }, 'with', 'too-short'],
  ]
  for (const [operation, part, code] of cases) {
    const [error] = await refused({ filter, operations: [set('state', 1), operation] })
    const expected = { pointer: `/operations/1/${part}`, code }
    assert.deepEqual({ ...error, ...expected }, error, JSON.stringify(operation).slice(0, 100))
  }
  const hints = await refused({
    filter,
    operations: [set('language', 'Englsh'), set('category', 'Exampel Days 2026')],
  })
  assert.match(hints[0]?.detail ?? '', /English/)
  assert.match(hints[1]?.detail ?? '', /Example Days 2026/)
  for (const count of [0, 11]) {
    const operations = Array.from({ length: count }, () => set('state', 1))
    const [error] = await refused({ filter, operations })
    assert.equal(error?.pointer, '/operations')
  }
})

test('refuses filters that are not valid or match nothing', async () => {
  const [talk] = (await makeTalks(1)) as [Video]
  const { json } = await send('POST', 'video', {
    title: 'Unfindable zyzzyva',
    category,
    language: 'English',
    state: 1,
  })
  const cases: [filter: object, pointer: string, code: string][] = [
    [{ ids: [] }, '/filter/ids', 'too-few'],
    [{ ids: Array.from({ length: 1001 }, (_, index) => index + 1) }, '/filter/ids', 'too-many'],
    [{ ids: [talk.id, 999_999] }, '/filter/ids/1', 'unknown-record'],
    [{ ids: [talk.id], q: 'x' }, '/filter', 'not-a-choice'],
    [{ page: 2 }, '/filter/page', 'unknown-field'],
    [{ year: 'soon' }, '/filter/year', 'format'],
    [{ state: 3 }, '/filter/state', 'not-a-choice'],
    [{ tag: 'no-such-tag' }, '/filter', 'no-match'],
    [{ q: 'unfindable nowhere' }, '/filter', 'no-match'],
    // The list of talks corrects this word.
    [{ q: 'zyzzyvva' }, '/filter', 'no-match'],
  ]
  for (const [filter, pointer, code] of cases) {
    const [error] = await refused({ filter, operations: [set('state', 1)] })
    assert.deepEqual({ ...error, pointer, code }, error, JSON.stringify(filter).slice(0, 100))
  }
  const job = await plan({ q: 'zyzzyva' }, set('state', 2))
  assert.deepEqual(
    (await rows(job.id)).map(({ video }) => video),
    [json.id],
  )
})

test('finds drafts too, unless the filter has a state', async () => {
  const [live, draft] = (await makeTalks(2, { speakers: ['Dora Draft'] })) as [Video, Video]
  await patch(draft.id, { state: 2, title: 'Ünfinished plans' })
  const [tag = ''] = draft.tags
  const found = async (filter: BulkEdit['filter']) => {
    const job = await plan(filter, set('whiteboard', 'x'))
    return (await rows(job.id)).map(({ video }) => video)
  }
  assert.deepEqual(await found({ tag }), [live.id, draft.id])
  assert.deepEqual(await found({ tag, state: 1 }), [live.id])
  assert.deepEqual(await found({ tag, state: 2 }), [draft.id])
  assert.deepEqual(await found({ tag, q: 'unfinished' }), [draft.id])
  await patch(live.id, { state: 2 })
  // A speaker without live talks.
  assert.deepEqual(await found({ speaker: 'dora-draft' }), [live.id, draft.id])
})

test('refuses more than 10,000 talks', async () => {
  const database = await freshDatabase()
  const large = await openArchive(database.url)
  await insertRecords(database.url, 10_001)
  const edit = { filter: {}, operations: [set('state', 2)] }
  const { json } = await large.call('POST', '/api/v2/edit', { token: large.editor, body: edit })
  const [error] = json.errors
  assert.deepEqual([error.pointer, error.code], ['/filter', 'too-many'])
  assert.match(error.detail, /more than 10,000 talks/)
  await large.close()
  await database.drop()
})

test('refuses the records that cannot have the new value, and edits the others', async () => {
  const talks = await makeTalks(2, { source_url: 'https://a.example.org/1' })
  const [first, second] = talks as [Video, Video]
  await patch(second.id, { title: 'Only' })
  const job = await plan(
    { ids: idsOf(talks) },
    { op: 'replace', field: 'title', value: 'Only', with: '' },
    set('quality_notes', 'x'),
  )
  assert.deepEqual([job.planned.changed, job.planned.refused], [1, 1])
  const [, row] = await rows(job.id)
  assert.match(row?.notes[0]?.detail ?? '', /^title must be a string of 1 to 255 characters/)
  const applied = await apply(job.id)
  assert.deepEqual([applied.outcome.changed, applied.outcome.refused], [1, 1])
  assert.equal((await record(second.id)).quality_notes, '')

  const long = await plan(
    { ids: [first.id] },
    { op: 'replace', field: 'source_url', value: 'https:', with: 'javascript:' },
  )
  assert.equal(long.planned.refused, 1)
  await patch(first.id, { description: 'a'.repeat(90_000) })
  const grown = await plan(
    { ids: [first.id] },
    { op: 'replace', field: 'description', value: 'a', with: 'b'.repeat(20_000) },
  )
  const [tooLong] = await rows(grown.id)
  assert.match(tooLong?.notes[0]?.detail ?? '', /description would be longer/)
})

test('leaves a record alone if a planned field was changed since, not if another was', async () => {
  const talks = await makeTalks(4, { copyright_text: 'Old' })
  const [untouched, sameField, otherField, already] = idsOf(talks) as [
    number,
    number,
    number,
    number,
  ]
  const job = await plan({ ids: idsOf(talks) }, set('copyright_text', 'New'), {
    op: 'add',
    field: 'tags',
    value: 'added',
  })
  await patch(sameField, { copyright_text: 'By hand' })
  await patch(otherField, { title: 'Another title' })
  await patch(already, { copyright_text: 'New', tags: [...(talks[3]?.tags ?? []), 'added'] })
  const applied = await apply(job.id)
  assert.deepEqual(applied.outcome, { created: 0, changed: 2, unchanged: 1, kept: 1, refused: 0 })
  assert.equal(applied.planned.conflict, 1)
  const conflicts = await rows(job.id, '&verdict=conflict')
  assert.deepEqual(
    conflicts.map(({ video, changes, outcome }) => [video, changes.copyright_text, outcome]),
    [[sameField, { old: 'By hand', new: 'New', conflict: true }, 'kept']],
  )
  const licences = await Promise.all(
    [untouched, sameField, otherField].map(async (id) => (await record(id)).copyright_text),
  )
  assert.deepEqual(licences, ['New', 'By hand', 'New'])
  assert.deepEqual((await record(sameField)).tags, talks[1]?.tags)
  assert.equal((await record(otherField)).title, 'Another title')

  // Later edits of these fields are kept and listed, those of other fields are kept.
  await patch(untouched, { copyright_text: 'Later' })
  await patch(otherField, { title: 'A third title' })
  const undone = await undo(job.id)
  assert.deepEqual(undone.undone, { undone: 1, touched: 1 })
  const touched = await rows(job.id, '&undone=touched')
  assert.deepEqual(
    touched.map(({ video }) => video),
    [untouched],
  )
  const { title, copyright_text, tags } = await record(otherField)
  assert.deepEqual([title, copyright_text, tags], ['A third title', 'Old', talks[2]?.tags])
  assert.equal((await record(untouched)).copyright_text, 'Later')

  // Applied again, a conflict stays one.
  await send('POST', `import/${job.id}/redo`)
  const redone = await client.until(job.id, 'applied')
  assert.deepEqual([redone.outcome.changed, redone.outcome.kept], [1, 2])
  assert.equal((await record(sameField)).copyright_text, 'By hand')
})

test('a list that was changed since the plan is a conflict', async () => {
  const [talk] = (await makeTalks(1)) as [Video]
  const job = await plan({ ids: [talk.id] }, { op: 'add', field: 'tags', value: 'mine' })
  await patch(talk.id, { tags: [...talk.tags, 'theirs'] })
  const applied = await apply(job.id)
  assert.equal(applied.outcome.kept, 1)
  assert.deepEqual((await record(talk.id)).tags, [...talk.tags, 'theirs'])
})

test('applying twice writes once', async () => {
  const talks = await makeTalks(3)
  const job = await plan({ ids: idsOf(talks) }, set('whiteboard', 'once'))
  const replies = await Promise.all(
    [1, 2, 3].map(() => archive.call('POST', `/api/v2/import/${job.id}/apply`, { token })),
  )
  for (const { status } of replies) assert.ok(status === 200 || status === 409)
  await client.until(job.id, 'applied')
  const { status } = await archive.call('POST', `/api/v2/import/${job.id}/apply`, { token })
  assert.equal(status, 409)
  for (const id of idsOf(talks)) {
    const { json } = await send('GET', `video/${id}/revisions`)
    assert.equal(json.count, 2)
  }
})

test('shows and changes nothing of a record that was taken down since the plan', async () => {
  const talks = await makeTalks(3, { summary: 'private words' })
  const [first, second, third] = talks as [Video, Video, Video]
  const takeDown = (id: number) =>
    archive.call('POST', `/api/v2/video/${id}/takedown`, {
      token: archive.admin,
      body: { reason: 'asked for' },
    })
  const operation: Operation = {
    op: 'replace',
    field: 'summary',
    value: 'private words',
    with: 'other words',
  }
  const job = await plan({ ids: idsOf(talks) }, operation)
  await takeDown(first.id)
  const applied = await apply(job.id)
  assert.deepEqual([applied.outcome.changed, applied.outcome.refused], [2, 1])
  await takeDown(second.id)
  const undone = await undo(job.id)
  assert.deepEqual(undone.undone, { undone: 1, touched: 1 })
  assert.equal((await record(third.id)).summary, 'private words')
  const text = JSON.stringify((await rows(job.id)).slice(0, 2))
  for (const word of ['private', 'other words', first.title]) assert.ok(!text.includes(word), word)

  const later = await plan({ ids: [first.id, third.id] }, operation)
  assert.deepEqual([later.planned.refused, later.planned.changed], [1, 1])
})

test('leaves records alone that were merged into another one', async () => {
  const talks = await makeTalks(3)
  const [first, second, kept] = talks as [Video, Video, Video]
  const merge = (id: number) => send('POST', `video/${id}/merge`, { into: kept.id })
  const licence = set('copyright_text', 'CC0')
  await merge(first.id)
  const job = await plan({ ids: idsOf(talks) }, licence)
  assert.deepEqual([job.planned.refused, job.planned.changed], [1, 2])
  await merge(second.id)
  const applied = await apply(job.id)
  assert.deepEqual([applied.outcome.changed, applied.outcome.refused], [1, 2])
  const drafts = await plan({ state: 2, tag: kept.tags[0] as string }, licence).catch(
    () => undefined,
  )
  assert.equal(drafts, undefined)
})

test('an editor of an event edits, applies and undoes talks of this event only', async () => {
  await archive.call('POST', '/api/v2/category', { token, body: { title: 'Foreign Days' } })
  const { id: eventId } = await findEvent(archive.pool, category)
  const named = { role: 'editor', days: 1, eventId } as const
  const own = (await createToken(archive.pool, { name: 'Own', ...named })).token
  const peer = (await createToken(archive.pool, { name: 'Peer', ...named })).token
  const [mine] = (await makeTalks(1)) as [Video]
  const foreign = await archive.make({ category: 'Foreign Days' })
  const as = (key: string, method: string, path: string, body?: object) =>
    archive.call(method, `/api/v2/${path}`, { token: key, ...(body && { body }) })
  const edit = { filter: { ids: [mine.id, foreign.id] }, operations: [set('whiteboard', 'event')] }
  const { status, json } = await as(own, 'POST', 'edit', edit)
  assert.equal(status, 201)
  const ownClient = importClient(archive, own)
  const job = await ownClient.until(json.id, 'planned')
  assert.deepEqual([job.planned.changed, job.planned.refused], [1, 1])
  const [, refusedRow] = await ownClient.rows(job.id)
  assert.equal(refusedRow?.notes[0]?.detail, 'You may change talks of your own events only')
  // Another editor of the same event.
  for (const [method, path] of [
    ['GET', ''],
    ['GET', '/talk'],
    ['POST', '/apply'],
    ['POST', '/stop'],
    ['POST', '/undo'],
    ['POST', '/redo'],
    ['POST', '/discard'],
  ] as const)
    assert.equal((await as(peer, method, `import/${job.id}${path}`)).status, 403, path)
  const applied = await ownClient.apply(job.id)
  assert.equal(applied.outcome.changed, 1)
  assert.equal((await record(mine.id)).whiteboard, 'event')
  assert.equal((await record(foreign.id)).whiteboard, '')
  assert.equal((await ownClient.undo(job.id)).undone.undone, 1)

  // Neither moved into another event, nor changed after it was moved there.
  const moving = { filter: { ids: [mine.id] }, operations: [set('category', 'Foreign Days')] }
  const { json: move } = await as(own, 'POST', 'edit', moving)
  assert.equal((await ownClient.until(move.id, 'planned')).planned.refused, 1)
  const { json: again } = await as(own, 'POST', 'edit', { ...edit, filter: { ids: [mine.id] } })
  await ownClient.until(again.id, 'planned')
  await patch(mine.id, { category: 'Foreign Days' })
  assert.equal((await ownClient.apply(again.id)).outcome.refused, 1)
  assert.equal((await as(own, 'POST', 'edit', edit)).status, 403)
})

test('a later import treats the value of an edit as that of a person', async () => {
  const talk = { key: 'a', title: 'Imported and edited', copyright_text: 'From the file' }
  const planTable = (copyright_text: string) =>
    client.plan({
      text: csvOf([{ ...talk, copyright_text }]),
      format: 'csv',
      source: 'edited',
      category,
      language: 'en',
    })
  const first = await planTable('From the file')
  await apply(first.id)
  const [row] = await rows(first.id)
  const id = row?.video as number
  const edit = await plan({ ids: [id] }, set('copyright_text', 'From the edit'))
  await apply(edit.id)
  const second = await planTable('From another file')
  assert.equal(second.planned.conflict, 1)
  // Undone in reverse order, everything is as before.
  await undo(edit.id)
  const third = await planTable('From another file')
  assert.equal(third.planned.changed, 1)
  assert.equal((await undo(first.id)).undone.undone, 1)
})

test('undoes edits of the same field in reverse order', async () => {
  const [talk] = (await makeTalks(1, { copyright_text: 'A' })) as [Video]
  const jobs: Import[] = []
  for (const licence of ['B', 'C']) {
    const job = await plan({ ids: [talk.id] }, set('copyright_text', licence))
    jobs.push(await apply(job.id))
  }
  const [first, second] = jobs as [Import, Import]
  assert.equal((await undo(first.id)).undone.touched, 1)
  assert.equal((await undo(second.id)).undone.undone, 1)
  assert.equal((await undo(first.id)).undone.undone, 1)
  assert.equal((await record(talk.id)).copyright_text, 'A')
})

test('leaves everything consistent', () => checkInvariants(archive.databaseUrl))
