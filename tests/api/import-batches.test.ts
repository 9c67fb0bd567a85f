import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { type Fact, states } from '@talkshelf/contract'
import { refuseNext } from '../../server/imports/engine/apply.ts'
import { decideRow, findImport, type ImportJob } from '../../server/imports/engine/queries.ts'
import { skipNext } from '../../server/imports/engine/undo.ts'
import { applyImport, nextImportBatch, undoImport } from '../../server/imports/imports.ts'
import type { ImportItem, ParsedItem } from '../../server/imports/item.ts'
import { category } from '../support/harness.ts'
import { importItem, kept, related, startImports } from '../support/imports-in-process.ts'
import { checkInvariants } from '../support/invariants.ts'

// Applies and undoes imports batch by batch: what is written, and the outcome of each row.

const imports = await startImports()
const { pool, sql, url, planned, apply, undo, redo, run, imported, rows, state } = imports
const { record, facts, sourceState, make, edit, takeDown, attach } = imports

let wordCount = 0
/** Returns a word that no other test uses. */
const newWord = () => `word${++wordCount}`
const videoOf = (word: string) => `https://media.example.org/${word}`

// Keeps talks of different tests from matching each other.
let scope = 0
beforeEach(() => {
  scope++
})
const titleOf = (key: string) => `Talk ${key} of ${scope}`

/** Returns a talk with a key. */
const talk = (key: string, fields: object, more: Partial<ImportItem> = {}): ImportItem =>
  importItem({ title: titleOf(key), ...fields }, { key, ...more })

/** Imports talks and returns the ids of their records. */
async function importNew(source: string, ...talks: ImportItem[]): Promise<number[]> {
  const { rows: all } = await imported(talks, { source })
  return all.map(({ video_id }) => video_id as number)
}

const outcomes = async (id: number) => (await rows(id)).map(({ outcome }) => outcome)
const undone = async (id: number) => (await rows(id)).map((row) => row.undone)
const setBatchSize = (id: number, size: number) =>
  sql('update import set batch_size = $1 where id = $2', [size, id])

/** Hides the history of a record while `work` runs. */
async function withoutHistory(id: number, work: () => Promise<void>): Promise<void> {
  const move = `update change set subject_id = -subject_id
                where subject = 'video' and subject_id = $1`
  await sql(move, [id])
  await work()
  await sql(move, [-id])
}

/** Runs one step of an import in a transaction of its own. */
const step = async (id: number, work: (tx: typeof pool, job: ImportJob) => Promise<void>) => {
  const job = (await findImport(pool, id)) as ImportJob
  await pool.transaction((tx) => work(tx as typeof pool, job))
}

const takenDown = { day: '2026-01-02', reason: 'asked for' }

test('applies each planned row and records its outcome', async () => {
  const source = newWord()
  const before = { summary: 'Said', duration: 60 }
  const [same, changing, edited, both] = (await importNew(
    source,
    talk('same', {}),
    talk('changing', before),
    talk('edited', before),
    talk('both', before),
  )) as [number, number, number, number]
  await edit(edited, { summary: 'By hand' })
  await edit(both, { summary: 'By hand' })
  const alike = await make({ title: `${source} alike` })
  const id = await planned(
    [
      talk('wrong', { duration: -1 }),
      talk('same', {}),
      talk('new', { tags: ['new'] }, { facts: [related('new')] }),
      talk('changing', { ...before, title: titleOf('after') }),
      talk('edited', { ...before, summary: 'Said anew' }),
      talk('both', { ...before, title: titleOf('later'), summary: 'Said anew' }),
      talk('alike', { title: `${source} alike` }),
    ],
    { source },
  )
  const changed = await apply(id)
  const all = await rows(id)
  assert.equal(await state(id), 'applied')
  const created = all[2]?.video_id as number
  assert.deepEqual(
    all.map(({ outcome, video_id, revision, facts_revision }) => [
      outcome,
      video_id,
      revision,
      facts_revision,
    ]),
    [
      ['refused', null, null, null],
      ['unchanged', same, null, null],
      ['created', created, 1, 1],
      ['changed', changing, 2, null],
      ['kept', edited, null, null],
      ['changed', both, 3, null],
      ['kept', null, null, null],
    ],
  )
  assert.deepEqual(changed, [created, changing, both])
  assert.deepEqual((await record(created)).tags, ['new'])
  assert.deepEqual(await facts(created), [related('new')])
  assert.equal((await record(changing)).title, titleOf('after'))
  assert.deepEqual((await record(edited)).summary, 'By hand')
  const { title, summary } = await record(both)
  assert.deepEqual([title, summary], [titleOf('later'), 'By hand'])
  assert.equal((await sourceState(source, 'edited'))?.fields.summary, 'Said anew')
  assert.equal((await sourceState(source, 'new'))?.fields.title, titleOf('new'))
  assert.equal(await sourceState(source, 'wrong'), undefined)
  assert.equal(await sourceState(source, 'alike'), undefined)
  // With a decision the talk matches the existing record.
  const again = await planned([talk('alike', { title: `${source} alike` })], { source })
  await decideRow(pool, again, 1, { same: true })
  await apply(again)
  assert.deepEqual(
    (await rows(again)).map(({ outcome, video_id }) => [outcome, video_id]),
    [['unchanged', alike]],
  )
})

test('creates the speakers, tags and categories of a file before its talks', async () => {
  const [word, other] = [newWord(), newWord()]
  const about = { description: 'About it', url: null, start_date: '2026-02-01', end_date: null }
  const speaker = {
    kind: 'speaker' as const,
    id: 4711,
    name: `Ann ${word}`,
    slug: `ann-${word}`,
    revision: 1,
    old_slugs: [],
    aliases: [{ name: `Annie ${word}`, shown: false }],
  }
  const items: ParsedItem[] = [
    { category: { title: word, ...about } },
    { category: { title: other } },
    { category: { title: category, description: 'Another one of the same name' } },
    { place: 'line 1', entity: speaker },
    talk('k', { category: word, speakers: [`Annie ${word}`] }),
    talk('l', { category: `${word} unheard of` }),
  ]
  const { id, rows: all } = await imported(items, { source: newWord(), batchSize: 4 })
  assert.deepEqual(
    [await state(id), all.map(({ outcome }) => outcome)],
    ['applied', ['created', 'created']],
  )
  const [first, second] = all.map(({ video_id }) => video_id as number) as [number, number]
  assert.deepEqual((await record(first)).speakers, [`Ann ${word}`])
  assert.equal((await record(second)).category, `${word} unheard of`)
  const categories = await sql(
    `select title, description, start_date::text from category
     where title in ($1, $2, $3) order by id`,
    [word, other, category],
  )
  assert.deepEqual(categories, [
    { title: category, description: '', start_date: null },
    { title: word, description: 'About it', start_date: '2026-02-01' },
    { title: other, description: '', start_date: null },
  ])
  assert.deepEqual(await sql(`select id::int from speaker where name = $1`, [speaker.name]), [
    { id: 4711 },
  ])
})

test('does not assign an id of a later talk to an earlier one', async () => {
  const next = (await make()) + 1
  const { changed } = await imported(
    [talk('without', {}), talk('own', {}, { id: next + 1 }), talk('first', {}, { id: next })],
    {
      source: newWord(),
      batchSize: 1,
    },
  )
  assert.deepEqual(changed, [next + 2, next + 1, next])
})

test('finishes an import without talks', async () => {
  const { id } = await imported([], { source: newWord() })
  assert.equal(await state(id), 'applied')
  await undo(id)
  assert.equal(await state(id), 'undone')
  // It also finishes if its only batch, which is empty, fails.
  const failing = await planned([], { source: newWord() })
  await applyImport(pool, failing, 'admin')
  await step(failing, (tx, job) => refuseNext(tx, job, 'It fails'))
  assert.deepEqual([await state(failing), await rows(failing)], ['applied', []])
})

test('notes when a record did not get the slug of the file', async () => {
  const word = newWord()
  await make({ title: word })
  const { rows: all } = await imported(
    [
      talk('a', {}, { id: 800_001, kept: kept(word) }),
      talk('b', {}, { id: 800_002, kept: kept(`${word}-own`) }),
      talk('c', {}),
    ],
    { source: newWord() },
  )
  const detail = `was ${word} in the file, which another record has: changed to ${word}-1`
  assert.deepEqual(
    all.map(({ notes }) => notes),
    [[{ kind: 'repaired', field: 'slug', detail }], [], []],
  )
})

test('refuses a record that is taken down between plan and batch', async () => {
  const source = newWord()
  const [same, changing] = (await importNew(source, talk('same', {}), talk('changing', {}))) as [
    number,
    number,
  ]
  const note = { kind: 'guessed' as const, field: 'x', detail: 'is guessed' }
  const again = [
    talk('same', {}, { notes: [note] }),
    talk('changing', { title: 'After' }),
    talk('new', {}),
    talk('late', { source_url: videoOf(source) }),
  ]
  const id = await planned(again, { source })
  await takeDown(same)
  await takeDown(changing)
  // A record with the same video, created and taken down since the plan.
  await takeDown(await make({ source_url: videoOf(source) }))
  await apply(id)
  assert.deepEqual(await outcomes(id), ['refused', 'refused', 'created', 'refused'])
})

test('keeps no text of a talk that the file marks as taken down', async () => {
  const source = newWord()
  const gone = { id: 810_001, kept: kept(`${source}-gone`, { takenDown }) }
  const { id, rows: all } = await imported(
    [talk('gone', { summary: 'Private' }, gone), talk('stays', {})],
    { source },
  )
  const note = { kind: 'refused', field: '', detail: 'The record was taken down' }
  const [first, second] = all
  assert.deepEqual(
    [first?.outcome, first?.place, first?.item, first?.notes],
    ['created', 'row 1', null, [note]],
  )
  assert.deepEqual(
    [second?.outcome, second?.place, second?.item?.fields.title, second?.notes],
    ['created', 'line 2', titleOf('stays'), []],
  )
  assert.deepEqual(await sourceState(source, 'gone'), { fields: {}, facts: [] })
  assert.equal((await sourceState(source, 'stays'))?.fields.title, titleOf('stays'))
  // Undo leaves it alone: a takedown is permanent.
  assert.deepEqual(await undo(id), [second?.video_id])
  assert.deepEqual(await undone(id), ['touched', 'undone'])
})

test('refuses only the row that cannot be written and notes the reason', async () => {
  const note = { kind: 'guessed' as const, field: 'x', detail: 'is guessed' }
  const entity = {
    kind: 'tag' as const,
    id: 4712,
    name: newWord(),
    slug: newWord(),
    revision: 0,
    old_slugs: [],
    aliases: [],
  }
  const items: ParsedItem[] = [
    { place: 'line 1', entity: entity },
    talk('a', {}, { notes: [note] }),
    talk('b', {}),
    talk('c', {}),
  ]
  const id = await planned(items, { source: newWord() })
  await applyImport(pool, id, 'admin')
  const refuse = (reason: string) => step(id, (tx, job) => refuseNext(tx, job, reason))
  await refuse('The tag fails')
  await refuse('The talk fails')
  await setBatchSize(id, 1)
  assert.equal((await nextImportBatch(pool))?.length, 1)
  assert.equal(await state(id), 'applying')
  await refuse('The last fails')
  assert.equal(await state(id), 'applied')
  const refusal = (detail: string) => ({ kind: 'refused', field: '', detail })
  assert.deepEqual(
    (await rows(id)).map(({ position, place, outcome, notes }) => [
      position,
      place,
      outcome,
      notes,
    ]),
    [
      [1, 'line 1', 'refused', [refusal('The tag fails')]],
      [2, 'line 2', 'refused', [note, refusal('The talk fails')]],
      [3, 'line 3', 'created', []],
      [4, 'line 4', 'refused', [refusal('The last fails')]],
    ],
  )
  assert.deepEqual(await sql('select id from tag where name = $1', [entity.name]), [])
})

test('turns new records into drafts and restores changed ones on undo', async () => {
  const source = newWord()
  const old = { title: titleOf('old'), summary: 'Said', tags: ['before'] }
  const [id] = (await importNew(source, talk('old', old, { facts: [related('a')] }))) as [number]
  const before = await record(id)
  const stateBefore = await sourceState(source, 'old')
  const second = await planned(
    [
      talk('new', {}, { facts: [related('new')] }),
      talk('old', { ...old, title: titleOf('after'), tags: ['after'] }, { facts: [related('b')] }),
      talk('newer', {}),
      talk('newest', {}),
    ],
    { source },
  )
  await apply(second)
  const [created, , newer, newest] = (await rows(second)).map(({ video_id }) => video_id)
  assert.deepEqual(await facts(id), [related('b')])
  await setBatchSize(second, 1)
  assert.deepEqual(await undo(second), [newest, newer, id, created])
  assert.deepEqual(await undone(second), ['undone', 'undone', 'undone', 'undone'])
  assert.equal(await state(second), 'undone')
  assert.deepEqual({ ...(await record(id)), updated: '' }, { ...before, updated: '' })
  assert.deepEqual(await facts(id), [related('a')])
  assert.deepEqual(await sourceState(source, 'old'), stateBefore)
  const draftNow = await record(created as number)
  assert.deepEqual([draftNow.state, draftNow.title], [states.draft, titleOf('new')])
  assert.deepEqual(await facts(created as number), [related('new')])
  const [change] = await sql(
    `select kind from change where subject = 'video' and subject_id = $1 order by revision desc`,
    [id],
  )
  assert.equal(change?.kind, 'restored')
  // Importing it again makes it live again.
  assert.equal((await sourceState(source, 'new'))?.fields.state, states.draft)
  const third = await imported([talk('new', {}, { facts: [related('new')] })], { source })
  assert.deepEqual(third.changed, [created])
  assert.equal((await record(created as number)).state, states.live)
})

test('undoes two imports, the last one first', async () => {
  const source = newWord()
  const keys = ['a', 'b']
  const first = await imported(
    keys.map((key) => talk(key, { summary: 'First' }, { facts: [related('a')] })),
    { source },
  )
  const ids = first.changed
  const second = await imported(
    keys.map((key) =>
      talk(key, { summary: 'First', recorded: '2026-05-02' }, { facts: [related('b')] }),
    ),
    { source },
  )
  assert.deepEqual(await outcomes(second.id), ['changed', 'changed'])
  await undo(second.id)
  await undo(first.id)
  assert.deepEqual(await undone(first.id), ['undone', 'undone'])
  const recordStates = () => Promise.all(ids.map(async (id) => (await record(id)).state))
  assert.deepEqual(await recordStates(), [states.draft, states.draft])

  // In the order in which they were applied, both can be redone.
  await redo(first.id)
  assert.deepEqual(await recordStates(), [states.live, states.live])
  await redo(second.id)
  assert.deepEqual(await outcomes(second.id), ['changed', 'changed'])
  for (const id of ids) assert.equal((await record(id)).recorded, '2026-05-02')
  await undo(second.id)
  await undo(first.id)
  assert.deepEqual(await recordStates(), [states.draft, states.draft])
})

test('undoes a kept talk when the import that changed it was undone', async () => {
  const source = newWord()
  const first = await imported([talk('a', { summary: 'One' }), talk('b', {})], { source })
  const [id, other] = first.changed as [number, number]
  const second = await imported([talk('a', { summary: 'Two' })], { source })
  await undo(first.id)
  assert.deepEqual(await undone(first.id), ['touched', 'undone'])
  assert.equal((await record(id)).summary, 'Two')

  // A redo leaves it alone and says so; it can still be undone.
  await redo(first.id)
  assert.deepEqual(await outcomes(first.id), ['kept', 'changed'])
  const [kept] = await rows(first.id)
  assert.match(kept?.notes.at(-1)?.detail ?? '', /the undo had kept it/)
  await undo(first.id)
  assert.deepEqual(await undone(first.id), ['touched', 'undone'])

  await undo(second.id)
  await undo(first.id)
  assert.deepEqual(await undone(first.id), ['undone', 'undone'])
  assert.deepEqual(
    [(await record(id)).state, (await record(other)).state],
    [states.draft, states.draft],
  )
  await assert.rejects(undo(first.id), /undone/)
})

test('undoes the fields of an import whose record was edited in others', async () => {
  const source = newWord()
  const [id] = (await importNew(source, talk('k', {}))) as [number]
  const { id: second } = await imported([talk('k', { summary: 'Imported' })], { source })
  const third = await imported([talk('k', { summary: 'Imported', recorded: '2026-05-02' })], {
    source,
  })
  await edit(id, { duration: 5 })
  await undo(second)
  assert.deepEqual(await undone(second), ['undone'])
  const { summary, duration, recorded } = await record(id)
  assert.deepEqual([summary, duration, recorded], ['', 5, '2026-05-02'])
  await undo(third.id)
  assert.deepEqual(await undone(third.id), ['undone'])
  assert.deepEqual((await record(id)).recorded, null)
  // Neither the record nor the source has the value: a new import applies it.
  await imported([talk('k', { summary: 'Imported' })], { source })
  assert.equal((await record(id)).summary, 'Imported')
})

test('keeps a value that a person chose again', async () => {
  const source = newWord()
  const [id] = (await importNew(source, talk('k', {}))) as [number]
  const { id: second } = await imported([talk('k', { summary: 'Imported' })], { source })
  await edit(id, { summary: 'By hand' })
  await edit(id, { summary: 'Imported' })
  await undo(second)
  assert.deepEqual(await undone(second), ['touched'])
  assert.equal((await record(id)).summary, 'Imported')
})

test('keeps a record live that was edited after the import made it live', async () => {
  const source = newWord()
  const first = await imported([talk('k', {})], { source })
  const [id] = first.changed as [number]
  await undo(first.id)
  const again = await imported([talk('k', {})], { source })
  assert.equal((await record(id)).state, states.live)
  await edit(id, { summary: 'By hand' })
  await undo(again.id)
  assert.deepEqual(await undone(again.id), ['touched'])
  assert.equal((await record(id)).state, states.live)
})

test('leaves records alone that were edited since, and lists them', async () => {
  const source = newWord()
  const keys = ['edited', 'attached', 'gone', 'unreadable', 'untouched']
  const ids = await importNew(
    source,
    ...keys.map((key) => talk(key, {}, { facts: [related('a')] })),
  )
  const [edited, attached, gone, unreadable, untouched] = ids as [
    number,
    number,
    number,
    number,
    number,
  ]
  const { id } = await imported(
    keys.map((key) => talk(key, { summary: 'Imported' }, { facts: [related('b')] })),
    { source },
  )
  await edit(edited, { summary: 'Edited' })
  await attach(attached, related('c'))
  await takeDown(gone)
  await withoutHistory(unreadable, async () => assert.deepEqual(await undo(id), [untouched]))
  const touched = 'touched'
  assert.deepEqual(await undone(id), [touched, touched, touched, touched, 'undone'])
  assert.equal((await record(edited)).summary, 'Edited')
  for (const videoId of [attached, unreadable])
    assert.equal((await record(videoId)).summary, 'Imported')
  assert.equal((await record(untouched)).summary, '')
  assert.deepEqual(await facts(attached), [related('c')])
  assert.deepEqual(await facts(unreadable), [related('b')])
})

test('restores only facts if only facts were changed', async () => {
  const source = newWord()
  const [id] = (await importNew(source, talk('k', {}, { facts: [related('a')] }))) as [number]
  const { id: second } = await imported([talk('k', {}, { facts: [related('b')] })], { source })
  assert.deepEqual(await outcomes(second), ['changed'])
  // This does not read the history of the record.
  await withoutHistory(id, async () => assert.deepEqual(await undo(second), [id]))
  assert.deepEqual(await undone(second), ['undone'])
  assert.deepEqual(await facts(id), [related('a')])
  const [row] = await sql('select revision from video where id = $1', [id])
  assert.equal(row?.revision, 1)
})

test('reverts the source state to its previous value, or removes it, on undo', async () => {
  const source = newWord()
  const word = newWord()
  const id = await make({ title: word, summary: 'By hand', source_url: videoOf(word) })
  const first = { title: word, source_url: videoOf(word) }
  const importSummary = (summary: string) =>
    imported([talk('k', { ...first, summary })], { source })

  // The import changed the record.
  const long = await imported([talk('k', { ...first, duration: 60 })], { source })
  assert.deepEqual(long.changed, [id])
  await undo(long.id)
  assert.equal(await sourceState(source, 'k'), undefined)

  // The import changed nothing: the hand edit stays.
  const one = await importSummary('One')
  assert.equal(one.rows[0]?.outcome, 'kept')
  const two = await importSummary('Two')
  await undo(two.id)
  assert.equal((await sourceState(source, 'k'))?.fields.summary, 'One')
  assert.deepEqual(await undone(two.id), [null])

  // A later import has another value, which stays.
  const three = await importSummary('Three')
  await undo(one.id)
  assert.equal((await sourceState(source, 'k'))?.fields.summary, 'Three')
  await undo(three.id)

  // A later import repeats the value of the undone one: the state of the source is removed.
  await sql('delete from source_record where source = $1', [source])
  const [a, b] = [await importSummary('A'), await importSummary('B')]
  const c = await importSummary('A')
  await undo(a.id)
  assert.equal(await sourceState(source, 'k'), undefined)
  await undo(b.id)
  assert.equal(await sourceState(source, 'k'), undefined)
  await undo(c.id)
  assert.equal(await state(c.id), 'undone')
  assert.equal((await record(id)).summary, 'By hand')
})

test('skips only the row that cannot be undone and notes the reason', async () => {
  const source = newWord()
  const { id, rows: all } = await imported([talk('a', {}), talk('b', {}), talk('c', {})], {
    source,
  })
  await undoImport(pool, id)
  await step(id, (tx, job) => skipNext(tx, job, 'It fails'))
  assert.equal(await state(id), 'undoing')
  assert.deepEqual(await run(), [all[1]?.video_id, all[0]?.video_id])
  const remaining = await rows(id)
  assert.deepEqual(
    remaining.map((row) => row.undone),
    ['undone', 'undone', 'touched'],
  )
  assert.deepEqual(remaining[2]?.notes, [{ kind: 'refused', field: '', detail: 'It fails' }])
  assert.deepEqual([remaining[0]?.notes, remaining[1]?.notes], [[], []])
})

test('keeps existing facts when another source imports the record, and on undo', async () => {
  const word = newWord()
  const mine: Fact[] = [related('mine')]
  const id = await make({ title: word, source_url: videoOf(word) })
  await attach(id, ...mine)
  const { id: first } = await imported(
    [talk('k', { title: word, source_url: videoOf(word) }, { facts: [related('b')] })],
    {
      source: newWord(),
    },
  )
  assert.deepEqual(await facts(id), [...mine, related('b')])
  await undo(first)
  assert.deepEqual(await facts(id), mine)
})

test('keeps the archive consistent after all tests', () => checkInvariants(url))
