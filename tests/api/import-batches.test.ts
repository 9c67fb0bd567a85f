import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { type Fact, states } from '@talkshelf/contract'
import { refuseNext } from '../../server/imports/engine/apply.ts'
import { decideRow, findImport, type ImportJob } from '../../server/imports/engine/queries.ts'
import { skipNext } from '../../server/imports/engine/undo.ts'
import { applyImport, nextImportBatch, undoImport } from '../../server/imports/imports.ts'
import type { ImportItem, ParsedItem } from '../../server/imports/item.ts'
import { category } from '../support/harness.ts'
import { draft, kept, related, startImports } from '../support/imports-in-process.ts'
import { checkInvariants } from '../support/invariants.ts'

// Applying an import and undoing it, batch by batch: what is written, and what is told of it.

const imports = await startImports()
const { pool, sql, url, planned, apply, undo, run, imported, rows, state } = imports
const { record, facts, said, make, edit, takeDown, attach } = imports

let numbers = 0
/** A word that no other test uses. */
const newWord = () => `word${++numbers}`
const videoOf = (word: string) => `https://media.example.org/${word}`

// Talks of two tests must not look like each other.
let scope = 0
beforeEach(() => {
  scope++
})
const titleOf = (key: string) => `Talk ${key} of ${scope}`

/** A talk with a key of its source. */
const talk = (key: string, fields: object, more: Partial<ImportItem> = {}): ImportItem =>
  draft({ title: titleOf(key), ...fields }, { key, ...more })

/** A talk that the import has made, and its record. */
async function made(source: string, ...talks: ImportItem[]): Promise<number[]> {
  const { rows: all } = await imported(talks, { source })
  return all.map(({ video_id }) => video_id as number)
}

const outcomes = async (id: number) => (await rows(id)).map(({ outcome }) => outcome)
const undone = async (id: number) => (await rows(id)).map((row) => row.undone)
const batchesOf = (id: number, size: number) =>
  sql('update import set batch_size = $1 where id = $2', [size, id])

/** Makes the history of a record unreadable while this runs. */
async function withoutHistory(id: number, work: () => Promise<void>): Promise<void> {
  const move = `update change set subject_id = -subject_id
                where subject = 'video' and subject_id = $1`
  await sql(move, [id])
  await work()
  await sql(move, [-id])
}

/** Runs one step of an import by itself. */
const step = async (id: number, work: (tx: typeof pool, it: ImportJob) => Promise<void>) => {
  const it = (await findImport(pool, id)) as ImportJob
  await pool.transaction((tx) => work(tx as typeof pool, it))
}

const down = { day: '2026-01-02', reason: 'asked for' }

test('each talk gets what was planned for it, and the import tells what became of it', async () => {
  const source = newWord()
  const before = { summary: 'Said', duration: 60 }
  const [same, changing, edited, both] = (await made(
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
  assert.equal((await said(source, 'edited'))?.fields.summary, 'Said anew')
  assert.equal((await said(source, 'new'))?.fields.title, titleOf('new'))
  assert.equal(await said(source, 'wrong'), undefined)
  assert.equal(await said(source, 'alike'), undefined)
  // The same file once more changes nothing but what is answered.
  const again = await planned([talk('alike', { title: `${source} alike` })], { source })
  await decideRow(pool, again, 1, { same: true })
  await apply(again)
  assert.deepEqual(
    (await rows(again)).map(({ outcome, video_id }) => [outcome, video_id]),
    [['unchanged', alike]],
  )
})

test('speakers, tags and categories that a file describes are there before its talks', async () => {
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
  const readings: ParsedItem[] = [
    { category: { title: word, ...about } },
    { category: { title: other } },
    { category: { title: category, description: 'Another one of the same name' } },
    { place: 'line 1', entity: speaker },
    talk('k', { category: word, speakers: [`Annie ${word}`] }),
    talk('l', { category: `${word} unheard of` }),
  ]
  const { id, rows: all } = await imported(readings, { source: newWord(), batchSize: 4 })
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

test('a number that a later talk brings is not given to an earlier one', async () => {
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

test('an import without any talk ends as well', async () => {
  const { id } = await imported([], { source: newWord() })
  assert.equal(await state(id), 'applied')
  await undo(id)
  assert.equal(await state(id), 'undone')
  // Also where its only batch, which has nothing to write, could not be run.
  const failing = await planned([], { source: newWord() })
  await applyImport(pool, failing, 'admin')
  await step(failing, (tx, it) => refuseNext(tx, it, 'It fails'))
  assert.deepEqual([await state(failing), await rows(failing)], ['applied', []])
})

test('a record that did not get the slug of the file says so', async () => {
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
  const detail = `is ${word} in the file, which another record has: it is ${word}-1 here`
  assert.deepEqual(
    all.map(({ notes }) => notes),
    [[{ kind: 'repaired', field: 'slug', detail }], [], []],
  )
})

test('a record that is taken down between the plan and its batch is refused', async () => {
  const source = newWord()
  const [same, changing] = (await made(source, talk('same', {}), talk('changing', {}))) as [
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
  // The same video, by another way: made and taken down meanwhile.
  await takeDown(await make({ source_url: videoOf(source) }))
  await apply(id)
  assert.deepEqual(await outcomes(id), ['refused', 'refused', 'created', 'refused'])
})

test('of a talk that was taken down in the file, the import keeps no text', async () => {
  const source = newWord()
  const gone = { id: 810_001, kept: kept(`${source}-gone`, { takenDown: down }) }
  const { id, rows: all } = await imported(
    [talk('gone', { summary: 'Private' }, gone), talk('stays', {})],
    { source },
  )
  const note = { kind: 'refused', field: '', detail: 'The record was taken down' }
  const [first, second] = all
  assert.deepEqual(
    [first?.outcome, first?.place, first?.draft, first?.notes],
    ['created', 'row 1', null, [note]],
  )
  assert.deepEqual(
    [second?.outcome, second?.place, second?.draft?.fields.title, second?.notes],
    ['created', 'line 2', titleOf('stays'), []],
  )
  assert.deepEqual(await said(source, 'gone'), { fields: {}, facts: [] })
  assert.equal((await said(source, 'stays'))?.fields.title, titleOf('stays'))
  // Undoing does not touch it: what was taken down stays so.
  assert.deepEqual(await undo(id), [second?.video_id])
  assert.deepEqual(await undone(id), ['touched', 'undone'])
})

test('a row that can’t be written is refused with the reason, alone', async () => {
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
  const readings: ParsedItem[] = [
    { place: 'line 1', entity: entity },
    talk('a', {}, { notes: [note] }),
    talk('b', {}),
    talk('c', {}),
  ]
  const id = await planned(readings, { source: newWord() })
  await applyImport(pool, id, 'admin')
  const refuse = (reason: string) => step(id, (tx, it) => refuseNext(tx, it, reason))
  await refuse('The tag fails')
  await refuse('The talk fails')
  await batchesOf(id, 1)
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

test('undoing makes new records drafts, and changed ones what they were', async () => {
  const source = newWord()
  const old = { title: titleOf('old'), summary: 'Said', tags: ['before'] }
  const [id] = (await made(source, talk('old', old, { facts: [related('a')] }))) as [number]
  const was = await record(id)
  const saidThen = await said(source, 'old')
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
  await batchesOf(second, 1)
  assert.deepEqual(await undo(second), [newest, newer, id, created])
  assert.deepEqual(await undone(second), ['undone', 'undone', 'undone', 'undone'])
  assert.equal(await state(second), 'undone')
  assert.deepEqual({ ...(await record(id)), updated: '' }, { ...was, updated: '' })
  assert.deepEqual(await facts(id), [related('a')])
  assert.deepEqual(await said(source, 'old'), saidThen)
  const draftNow = await record(created as number)
  assert.deepEqual([draftNow.state, draftNow.title], [states.draft, titleOf('new')])
  assert.deepEqual(await facts(created as number), [related('new')])
  const [change] = await sql(
    `select kind from change where subject = 'video' and subject_id = $1 order by revision desc`,
    [id],
  )
  assert.equal(change?.kind, 'restored')
  // Imported once more it is live again.
  assert.equal((await said(source, 'new'))?.fields.state, states.draft)
  const third = await imported([talk('new', {}, { facts: [related('new')] })], { source })
  assert.deepEqual(third.changed, [created])
  assert.equal((await record(created as number)).state, states.live)
})

test('what somebody has touched since stays as it is, and is listed', async () => {
  const source = newWord()
  const keys = ['edited', 'attached', 'gone', 'unreadable', 'untouched']
  const ids = await made(source, ...keys.map((key) => talk(key, {}, { facts: [related('a')] })))
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
  await edit(edited, { duration: 5 })
  await attach(attached, related('c'))
  await takeDown(gone)
  await withoutHistory(unreadable, async () => assert.deepEqual(await undo(id), [untouched]))
  const touched = 'touched'
  assert.deepEqual(await undone(id), [touched, touched, touched, touched, 'undone'])
  for (const one of [edited, attached, unreadable])
    assert.equal((await record(one)).summary, 'Imported')
  assert.equal((await record(untouched)).summary, '')
  assert.deepEqual(await facts(attached), [related('c')])
  assert.deepEqual(await facts(unreadable), [related('b')])
})

test('where only facts were changed, only facts are restored', async () => {
  const source = newWord()
  const [id] = (await made(source, talk('k', {}, { facts: [related('a')] }))) as [number]
  const { id: second } = await imported([talk('k', {}, { facts: [related('b')] })], { source })
  assert.deepEqual(await outcomes(second), ['changed'])
  // Nothing has to be read of the history for that.
  await withoutHistory(id, async () => assert.deepEqual(await undo(second), [id]))
  assert.deepEqual(await undone(second), ['undone'])
  assert.deepEqual(await facts(id), [related('a')])
  const [row] = await sql('select revision from video where id = $1', [id])
  assert.equal(row?.revision, 1)
})

test('a source whose import is undone has said what it had said before, or nothing', async () => {
  const source = newWord()
  const word = newWord()
  const id = await make({ title: word, summary: 'By hand', source_url: videoOf(word) })
  const first = { title: word, source_url: videoOf(word) }
  const saying = (summary: string) => imported([talk('k', { ...first, summary })], { source })

  // It has changed the record.
  const long = await imported([talk('k', { ...first, duration: 60 })], { source })
  assert.deepEqual(long.changed, [id])
  await undo(long.id)
  assert.equal(await said(source, 'k'), undefined)

  // It has changed nothing: the hand edit stays.
  const one = await saying('One')
  assert.equal(one.rows[0]?.outcome, 'kept')
  const two = await saying('Two')
  await undo(two.id)
  assert.equal((await said(source, 'k'))?.fields.summary, 'One')
  assert.deepEqual(await undone(two.id), [null])

  // It has said something else since, which stands.
  const three = await saying('Three')
  await undo(one.id)
  assert.equal((await said(source, 'k'))?.fields.summary, 'Three')
  await undo(three.id)

  // It is known again by what it said at first, and then by nothing.
  await sql('delete from source_record where source = $1', [source])
  const [a, b] = [await saying('A'), await saying('B')]
  const c = await saying('A')
  await undo(a.id)
  assert.equal(await said(source, 'k'), undefined)
  await undo(b.id)
  assert.equal(await said(source, 'k'), undefined)
  await undo(c.id)
  assert.equal(await state(c.id), 'undone')
  assert.equal((await record(id)).summary, 'By hand')
})

test('a row that can’t be undone is left with the reason, alone', async () => {
  const source = newWord()
  const { id, rows: all } = await imported([talk('a', {}), talk('b', {}), talk('c', {})], {
    source,
  })
  await undoImport(pool, id)
  await step(id, (tx, it) => skipNext(tx, it, 'It fails'))
  assert.equal(await state(id), 'undoing')
  assert.deepEqual(await run(), [all[1]?.video_id, all[0]?.video_id])
  const left = await rows(id)
  assert.deepEqual(
    left.map((row) => row.undone),
    ['undone', 'undone', 'touched'],
  )
  assert.deepEqual(left[2]?.notes, [{ kind: 'refused', field: '', detail: 'It fails' }])
  assert.deepEqual([left[0]?.notes, left[1]?.notes], [[], []])
})

test('facts are said as they are when the record is imported by another source', async () => {
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

test('after all of it the archive is sound', () => checkInvariants(url))
