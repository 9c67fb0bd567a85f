import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Fact, maxImportedId, type Video } from '@talkshelf/contract'
import { createCategory, restoreEntities } from '../../server/entities/entities.ts'
import { writeFacts } from '../../server/facts/facts.ts'
import {
  type DecisionContext,
  namesOfItems,
  type PlannedItem,
  planItems,
} from '../../server/imports/engine/decide.ts'
import { type IncomingItem, sourceUrlOf } from '../../server/imports/engine/identity.ts'
import { itemKey } from '../../server/imports/engine/item-key.ts'
import { sourceStateOf } from '../../server/imports/engine/merge.ts'
import { type Decision, saveSourceStates } from '../../server/imports/engine/queries.ts'
import type { ImportItem } from '../../server/imports/item.ts'
import { category } from '../support/harness.ts'
import { importItem, kept, related, startImports } from '../support/imports-in-process.ts'
import { context } from '../support/writer.ts'

// Matches talks to records and plans the change of each, without writing anything.

const { pool, make, edit, takeDown, attach } = await startImports()
await createCategory(pool, { title: 'Other Days' }, context)

let wordCount = 0
/** Returns a word that no other test uses. */
const newWord = () => `word${++wordCount}`
const videoOf = (word: string) => `https://media.example.org/${word}`
const day = new Date().toISOString().slice(0, 10)

interface ItemInput {
  readonly item: ImportItem
  readonly key?: string
  readonly decision?: Decision | null
}

/** Plans the talks of one file. */
function decideAll(
  items: readonly (ImportItem | ItemInput)[],
  {
    source = newWord(),
    state = 1,
    bodies,
  }: { source?: string; state?: 1 | 2 } & Pick<DecisionContext, 'bodies'> = {},
): Promise<PlannedItem[]> {
  const incoming = items.map((input, index): IncomingItem => {
    const { item, key, decision = null }: ItemInput = 'item' in input ? input : { item: input }
    const ownKey = key ?? item.key ?? `key ${index}`
    return { position: index + 1, place: item.place, key: ownKey, item, decision }
  })
  return planItems(pool, incoming, { source, options: { state }, ...(bodies && { bodies }) })
}

async function decideOne(item: ImportItem | ItemInput, options?: Parameters<typeof decideAll>[1]) {
  const [planned] = await decideAll([item], options)
  return planned as PlannedItem
}

/** Stores the state of a source: its key for a record and the fields and facts it had. */
const saveSourceState = (
  source: string,
  key: string,
  id: number,
  fields: Partial<Video> = {},
  facts: Fact[] = [],
) => saveSourceStates(pool, source, [{ key, video_id: id, state: sourceStateOf(fields, facts) }])

const reasons = ({ notes }: PlannedItem) =>
  notes.flatMap(({ kind, detail }) => (kind === 'refused' ? [detail] : []))
const countQuestions = ({ notes }: PlannedItem) =>
  notes.filter(({ kind }) => kind === 'question').length
const takenDownReasons = [`The record was taken down on ${day} and cannot be imported again`]

test('plans a talk without a match as new with the fields of the file', async () => {
  const title = newWord()
  const note = { kind: 'guessed' as const, field: 'duration', detail: 'is guessed' }
  const decided = await decideOne(
    importItem({ title, speakers: ['New Person'] }, { notes: [note] }),
  )
  const fields = { title, category, language: 'English', speakers: ['New Person'] }
  const { incoming: _incoming, ...rest } = decided
  assert.deepEqual(rest, {
    videoId: null,
    changes: {},
    previousState: undefined,
    verdict: 'new',
    notes: [note],
    create: { record: { state: 1, ...fields }, id: undefined, kept: undefined },
    sourceState: { fields: { state: 1, ...fields }, facts: [] },
  })
  const asDraft = await decideOne(importItem({ title }), { state: 2 })
  assert.equal(asDraft.create?.record.state, 2)
  const withState = await decideOne(importItem({ title, state: 1 }), { state: 2 })
  assert.equal(withState.create?.record.state, 1)
})

test('plans two talks of a file as two records even if they share a video', async () => {
  const id = await make({ source_url: videoOf('shared') })
  const [first, second] = await decideAll([
    importItem({ title: 'First half', source_url: videoOf('shared') }),
    importItem({ title: 'Second half', source_url: videoOf('shared') }),
  ])
  assert.deepEqual([first?.videoId, second?.verdict], [id, 'new'])
})

test('does not match a record that the source has under another key', async () => {
  const [source, title] = [newWord(), newWord()]
  const id = await make({ title, source_url: videoOf(title) })
  await saveSourceState(source, 'own', id)
  const talk = importItem({ title, source_url: videoOf(title) })
  const [other] = await decideAll([{ item: talk, key: 'other' }], { source })
  assert.deepEqual([other?.verdict, other?.videoId], ['new', null])
  // The same title is no match either, and no question.
  const [words] = await decideAll([{ item: importItem({ title }), key: 'other' }], { source })
  assert.equal(words?.verdict, 'new')
  // It matches under its own key, and for another source, which has no key for it.
  const [own] = await decideAll([{ item: talk, key: 'own' }], { source })
  assert.equal(own?.videoId, id)
  assert.equal((await decideOne(talk)).videoId, id)
})

test('finds a record by its key whatever its title is now', async () => {
  const source = newWord()
  const id = await make({ title: 'Called so', summary: 'By hand' })
  await saveSourceState(source, 'k', id, { title: 'Called so', summary: 'Said' })
  const talk = importItem({ title: 'Called otherwise', summary: 'Said' })
  const decided = await decideOne({ item: talk, key: 'k' }, { source })
  assert.deepEqual([decided.verdict, decided.videoId], ['changed', id])
  assert.deepEqual(decided.changes, { title: { old: 'Called so', new: 'Called otherwise' } })
  assert.deepEqual(decided.change?.patch, { title: 'Called otherwise' })
  assert.deepEqual([decided.change?.row.id, decided.change?.row.revision], [id, 1])
  assert.deepEqual(decided.previousState, {
    fields: { title: 'Called so', summary: 'Said' },
    facts: [],
  })
  assert.deepEqual(decided.sourceState?.fields.title, 'Called otherwise')
  assert.ok(!('facts' in decided) && !('factsBefore' in decided))
})

test('recognizes a speaker who was renamed since the last import', async () => {
  const [source, word] = [newWord(), newWord()]
  const [name, old] = [`New ${word}`, `Old ${word}`]
  const named = { slug: word, aliases: [{ name: old, shown: false }], old_slugs: [] }
  const person = { kind: 'speaker' as const, id: 12_345, name, revision: 0, ...named }
  await pool.transaction((tx) => restoreEntities(tx, [person], context))
  const id = await make({ title: word, speakers: [name] })
  await saveSourceState(source, 'k', id, { title: word, speakers: [old] })
  const talk = importItem({ title: word, speakers: [`Third ${word}`] })
  const decided = await decideOne({ item: talk, key: 'k' }, { source })
  assert.equal(decided.verdict, 'changed')
  assert.deepEqual(decided.change?.patch, { speakers: [`Third ${word}`] })
})

test('does not create a record again that is gone', async () => {
  const source = newWord()
  const id = await make()
  await saveSourceState(source, 'k', id)
  const bodies = async () => new Map()
  const decided = await decideOne({ item: importItem({}), key: 'k' }, { source, bodies })
  assert.deepEqual(reasons(decided), [`Record ${id} no longer exists`])
})

test('matches an id only if the title or the slug is the same', async () => {
  const title = newWord()
  const id = await make({ title: `${title} Ä` })
  const byTitle = importItem({ title: ` ${title.toUpperCase()} ä` }, { id })
  assert.equal((await decideOne(byTitle)).videoId, id)
  const bySlug = importItem({ title: 'Another title' }, { id, kept: kept(`${title}-a`) })
  assert.equal((await decideOne(bySlug)).videoId, id)
  const other = await decideOne(importItem({ title: 'Not that one' }, { id }))
  assert.deepEqual(
    [other.verdict, other.create?.id, other.notes],
    [
      'new',
      undefined,
      [{ kind: 'dropped', field: 'id', detail: `${id} belongs to another record here` }],
    ],
  )
  const untitled = await decideOne({ place: 'row 1', id, fields: {}, facts: [], notes: [] })
  assert.deepEqual(reasons(untitled), [
    'title is required',
    'category is missing from the file. Set it for all talks with --category',
    'language is missing from the file. Set it for all talks with --language',
  ])
})

test('prefers the id if two records share a video', async () => {
  const video = videoOf(newWord())
  const [first, second] = [await make({ source_url: video }), await make({ source_url: video })]
  const numbered = (id: number) => importItem({ title: 'Renamed', source_url: video }, { id })
  assert.equal((await decideOne(numbered(second))).videoId, second)
  assert.equal((await decideOne(numbered(first))).videoId, first)
  // The id of an unrelated record is ignored in favour of the video.
  const elsewhere = await make({ title: newWord() })
  assert.equal((await decideOne(numbered(elsewhere))).videoId, first)
  // Without an id the first record matches.
  assert.equal(
    (await decideOne(importItem({ title: 'Renamed', source_url: video }))).videoId,
    first,
  )
})

test('keeps a free id up to the maximum', async () => {
  const free = await decideOne(importItem({ title: newWord() }, { id: maxImportedId }))
  assert.deepEqual([free.create?.id, free.notes], [maxImportedId, []])
  const tooHigh = await decideOne(
    importItem({ title: newWord() }, { id: maxImportedId + 1, kept: kept('far') }),
  )
  const detail = `${maxImportedId + 1} is too large for the id of a record`
  assert.deepEqual(
    [tooHigh.create?.id, tooHigh.notes],
    [undefined, [{ kind: 'dropped', field: 'id', detail }]],
  )
  assert.equal(tooHigh.create?.kept, undefined)
})

test('keeps archive metadata only with its id, and a takedown with any id', async () => {
  const original = kept('own-slug')
  const free = await decideOne(importItem({ title: newWord() }, { id: 900_001, kept: original }))
  assert.deepEqual([free.create?.id, free.create?.kept], [900_001, original])
  const taken = await make({ title: newWord() })
  const other = await decideOne(importItem({ title: newWord() }, { id: taken, kept: original }))
  assert.deepEqual([other.create?.id, other.create?.kept], [undefined, undefined])
  const gone = kept('gone-slug', { takenDown: { day: '2026-01-02', reason: 'asked for' } })
  const takenDown = await decideOne(importItem({ title: newWord() }, { id: taken, kept: gone }))
  assert.deepEqual([takenDown.create?.id, takenDown.create?.kept], [undefined, gone])
})

test('asks the editor about the same title, speakers and category', async () => {
  const title = newWord()
  const talk = importItem({ title: title.toUpperCase(), speakers: ['Ann Like', 'Bob Like'] })
  const id = await make({ title, speakers: ['Bob Like', 'Ann Like'] })
  const undecided = await decideOne(talk)
  assert.deepEqual(
    [undecided.verdict, undecided.videoId, undecided.create],
    ['conflict', null, undefined],
  )
  assert.deepEqual(undecided.notes, [
    {
      kind: 'question',
      field: 'title',
      detail: `Record ${id} has the same title, speakers and category. Is it the same talk?`,
    },
  ])
  const same = await decideOne({ item: talk, decision: { same: true } })
  assert.deepEqual([same.videoId, same.previousState], [id, undefined])
  const other = await decideOne({ item: talk, decision: { same: false } })
  assert.equal(other.verdict, 'new')
  assert.deepEqual(other.notes, [])
  // A talk without a match is new, whatever the decision was.
  const alone = await decideOne({
    item: importItem({ title: newWord() }),
    decision: { same: true },
  })
  assert.equal(alone.verdict, 'new')
})

test('asks about the same title and category if the speakers are similar', async () => {
  const title = newWord()
  const id = await make({ title, speakers: ['Ann Krüger', 'Bob Builder'] })
  const lists = [['Ann Kruger', 'Bob Builder'], ['Ann Krüger, Bob Builder'], ['Ann Krüger'], []]
  for (const speakers of lists) {
    const { verdict, notes } = await decideOne(importItem({ title, speakers }))
    assert.equal(verdict, 'conflict', speakers.join())
    const detail =
      `Record ${id} has the same title and category, and the speakers Ann Krüger; Bob Builder. ` +
      'Is it the same talk?'
    assert.deepEqual(notes, [{ kind: 'question', field: 'title', detail }])
  }
  const item = importItem({ title, speakers: ['Ann Kruger'] })
  assert.equal((await decideOne({ item, decision: { same: true } })).videoId, id)
  assert.equal((await decideOne({ item, decision: { same: false } })).verdict, 'new')
  // A source that has a key of its own for the record means another talk.
  const source = newWord()
  await saveSourceState(source, 'own key', id)
  assert.equal((await decideOne(item, { source })).verdict, 'new')
  // A key that is made of the speakers changes with them, unless the file has both talks.
  const derived = newWord()
  await saveSourceState(derived, 'talk:old', id)
  assert.equal((await decideOne(item, { source: derived })).verdict, 'conflict')
  const both = await decideAll(
    [
      { item: importItem({ title, speakers: ['Ann Krüger', 'Bob Builder'] }), key: 'talk:old' },
      item,
    ],
    { source: derived },
  )
  assert.deepEqual(
    both.map(({ verdict }) => verdict),
    ['unchanged', 'new'],
  )
})

test('does not ask about other speakers, another category or a matched record', async () => {
  const title = newWord()
  await make({ title, speakers: ['Ann Like', 'Bob Like'] })
  const decided = await decideAll([
    importItem({ title, speakers: ['Cid Other', 'Dee Other'] }),
    importItem({ title, speakers: ['Ann Like', 'Bob Like'], category: 'Other Days' }),
    importItem({ title, speakers: ['Ann Like', 'Bob Like'], category: 'Days to come' }),
  ])
  assert.deepEqual(
    decided.map(({ verdict }) => verdict),
    ['new', 'new', 'new'],
  )
  // The first talk of the file matches the record, so the second one does not.
  const [alone, words] = [newWord(), newWord()]
  const id = await make({ title: alone, source_url: videoOf(words) })
  const [first, second] = await decideAll([
    importItem({ title: 'Its video', source_url: videoOf(words) }),
    importItem({ title: alone }),
  ])
  assert.deepEqual([first?.videoId, second?.verdict], [id, 'new'])
  // Alone it raises a question: neither has speakers.
  assert.equal(countQuestions(await decideOne(importItem({ title: alone }))), 1)
})

test('matches the longest title and refuses a longer one', async () => {
  const title = newWord().padEnd(255, 'x')
  await make({ title })
  assert.equal(countQuestions(await decideOne(importItem({ title }))), 1)
  const long = await decideOne(importItem({ title: `${title}x` }))
  assert.deepEqual([long.verdict, reasons(long).length], ['refused', 1])
})

test('refuses values of the wrong type without affecting other talks of the file', async () => {
  const title = newWord()
  const id = await make({ title, speakers: ['Abe', 'Bea', 'Cid'] })
  const good = newWord()
  const decided = await decideAll([
    importItem({ title: 5 }, { id }),
    importItem({ title, speakers: null }),
    importItem({ title, speakers: 'Abe' }),
    importItem({ title, speakers: [1, null, {}] }),
    importItem({ title, category: 7, language: ['English'] }),
    importItem({ title, source_url: 7 }),
    importItem({ title: good }),
  ])
  assert.deepEqual(
    decided.map(({ verdict }) => verdict),
    ['refused', 'refused', 'refused', 'refused', 'refused', 'refused', 'new'],
  )
})

test('never imports a taken-down record again by its id, key or video', async () => {
  const [source, word] = [newWord(), newWord()]
  const id = await make({ title: word, source_url: videoOf(word) })
  await saveSourceState(source, 'k', id)
  await takeDown(id)
  const talk = importItem({ title: newWord(), source_url: videoOf(word) })
  for (const [item, itemSource] of [
    [{ item: importItem({ title: word }, { id, kept: kept(word) }), key: 'x' }, newWord()],
    [{ item: importItem({ title: newWord() }), key: 'k' }, source],
    // Another key of the same source does not bring it back.
    [{ item: talk, key: 'another key' }, source],
    [{ item: talk, key: 'x' }, newWord()],
  ] as const) {
    const decided = await decideOne(item, { source: itemSource })
    assert.deepEqual(
      [decided.verdict, reasons(decided), decided.isTakenDown],
      ['refused', takenDownReasons, true],
    )
  }
})

test('matches a record that shares its video with a taken-down record', async () => {
  const [source, word] = [newWord(), newWord()]
  const gone = await make({ title: word, source_url: videoOf(word) })
  const id = await make({ title: `${word} stays`, source_url: videoOf(word) })
  await saveSourceState(source, 'gone', gone)
  await takeDown(gone)
  const talk = importItem({ title: `${word} stays`, source_url: videoOf(word) }, { id })
  assert.equal((await decideOne(talk)).videoId, id)
  await saveSourceState(source, 'stays', id)
  const { id: _id, ...unnumbered } = talk
  const known = await decideOne({ item: unnumbered, key: 'stays' }, { source })
  assert.equal(known.videoId, id)
  // An export has both, each under its own key.
  const exported = importItem(
    { title: newWord(), source_url: videoOf(word) },
    { kept: kept(newWord()) },
  )
  const both = await decideOne({ item: exported, key: 'third' }, { source })
  assert.equal(both.verdict, 'new')
})

test('refuses a talk that is taken down in the file but live in the archive', async () => {
  const title = newWord()
  const id = await make({ title })
  const gone = kept(title, { takenDown: { day: '2026-01-02', reason: 'asked for' } })
  const decided = await decideOne(importItem({ title }, { id, kept: gone }))
  assert.deepEqual(reasons(decided), [
    `Taken down in the file, but not here. Take down record ${id}`,
  ])
  assert.equal(decided.isTakenDown, undefined)
})

test('applies the default state only to records of the same source', async () => {
  const [source, word] = [newWord(), newWord()]
  const id = await make({ title: word, state: 2, source_url: videoOf(word) })
  const talk = importItem({ title: word, source_url: videoOf(word) })
  const unowned = await decideOne(talk)
  assert.deepEqual([unowned.verdict, unowned.videoId, unowned.changes], ['unchanged', id, {}])
  await saveSourceState(source, 'k', id, { title: word, state: 2 })
  const owned = await decideOne({ item: talk, key: 'k' }, { source })
  assert.deepEqual(owned.changes, { state: { old: 2, new: 1 } })
})

test('plans no change for a talk that equals its record', async () => {
  const word = newWord()
  const id = await make({ title: word, source_url: videoOf(word) })
  await attach(id, related(word))
  const note = { kind: 'dropped' as const, field: 'x', detail: 'is no field' }
  const talk = importItem(
    { title: word, source_url: videoOf(word) },
    { facts: [related(word)], notes: [note] },
  )
  const { incoming: _incoming, ...decided } = await decideOne(talk)
  assert.deepEqual(decided, {
    verdict: 'unchanged',
    videoId: id,
    changes: {},
    notes: [note],
    sourceState: sourceStateOf(talk.fields, talk.facts),
    previousState: undefined,
  })
})

test('reports fields changed on both sides as conflicts and writes the others', async () => {
  const [source, word] = [newWord(), newWord()]
  const id = await make({ title: word, summary: 'Said' })
  await saveSourceState(source, 'k', id, { title: word, summary: 'Said' })
  await edit(id, { summary: 'By hand' })
  const talk = importItem({ title: word, summary: 'Said anew', duration: 60 })
  const decided = await decideOne({ item: talk, key: 'k' }, { source })
  assert.equal(decided.verdict, 'conflict')
  assert.deepEqual(decided.change?.patch, { duration: 60 })
  const only = importItem({ title: word, summary: 'Said anew' })
  const undecided = await decideOne({ item: only, key: 'k' }, { source })
  assert.deepEqual([undecided.verdict, 'change' in undecided], ['conflict', false])
  const taken = await decideOne(
    { item: only, key: 'k', decision: { take: ['summary'] } },
    { source },
  )
  assert.deepEqual(taken.change?.patch, { summary: 'Said anew' })
})

test('refuses an invalid change and accepts one without a language', async () => {
  const source = newWord()
  const id = await make()
  await saveSourceState(source, 'k', id)
  const decideOf = (fields: object) =>
    decideOne({ item: { place: 'row 1', fields, facts: [], notes: [] }, key: 'k' }, { source })
  const wrong = await decideOf({ duration: -1, language: 'Klingonese' })
  assert.equal(wrong.verdict, 'refused')
  assert.equal(reasons(wrong).length, 2)
  assert.deepEqual((await decideOf({ duration: 60 })).changes, { duration: { old: null, new: 60 } })
})

test('resolves a language by name or code and refuses an unknown one', async () => {
  const [german, english, unknown, none] = await decideAll(
    [
      importItem({ title: newWord(), language: 'de' }),
      importItem({ title: newWord(), language: 'English' }),
      importItem({ title: newWord(), language: 'Klingonese' }),
      importItem({ title: newWord(), language: undefined }),
    ].map((item) => JSON.parse(JSON.stringify(item)) as ImportItem),
  )
  assert.equal(german?.create?.record.language, 'German')
  assert.equal(english?.create?.record.language, 'English')
  assert.deepEqual(unknown && reasons(unknown), [
    'language is not the English name or the code of a language: “Klingonese”',
  ])
  assert.deepEqual(none && reasons(none), [
    'language is missing from the file. Set it for all talks with --language',
  ])
})

test('removes duplicate facts of a talk, but not of an export', async () => {
  const [a, b] = [related('a'), related('b')]
  const twice = await decideOne(importItem({ title: newWord() }, { facts: [a, b, a] }))
  assert.deepEqual(twice.facts, [a, b])
  const exported = importItem({ title: newWord() }, { facts: [a, b, a], kept: kept(newWord()) })
  assert.deepEqual((await decideOne(exported)).facts, [a, b, a])
})

test('updates the facts of a record from its source', async () => {
  const [source, word] = [newWord(), newWord()]
  const [a, b, mine] = [related('a'), related('b'), related('mine')]
  const id = await make({ title: word })
  await attach(id, a, mine)
  await saveSourceState(source, 'k', id, { title: word }, [a])
  const talk = importItem({ title: word }, { facts: [b] })
  const decided = await decideOne({ item: talk, key: 'k' }, { source })
  assert.equal(decided.verdict, 'changed')
  assert.deepEqual(
    [decided.facts, decided.factsBefore],
    [
      [mine, b],
      [a, mine],
    ],
  )
  assert.deepEqual(decided.changes, { facts: { old: 2, new: 2 } })
  assert.deepEqual(decided.change?.patch, {})
})

test('limits a record to 1,000 facts and 1 MB', async () => {
  const tooLarge = ['Has too many facts: a record can have 1000 facts, and 1 MB in total']
  const manyFacts = (count: number) =>
    Array.from({ length: count }, (_, index) => related(String(index)))
  const largeFacts = (bytes: number): Fact[] => {
    const facts = [{ kind: 'said', source: 'v2', field: 'f', value: '' }] as Fact[]
    const value = 'x'.repeat(bytes - Buffer.byteLength(JSON.stringify(facts)))
    return [{ ...facts[0], value } as Fact]
  }
  for (const facts of [manyFacts(1000), largeFacts(1 << 20)])
    assert.equal((await decideOne(importItem({ title: newWord() }, { facts }))).verdict, 'new')
  const [source, id] = [newWord(), await make()]
  await saveSourceState(source, 'k', id)
  for (const facts of [manyFacts(1001), largeFacts((1 << 20) + 1)]) {
    assert.deepEqual(
      reasons(await decideOne(importItem({ title: newWord() }, { facts }))),
      tooLarge,
    )
    const changed = await decideOne({ item: importItem({}, { facts }), key: 'k' }, { source })
    assert.deepEqual(reasons(changed), tooLarge)
  }
  // Facts above the limit stay if the talk adds nothing.
  await pool.transaction((tx) => writeFacts(tx, [{ id, facts: manyFacts(1001) }], context))
  const same = await decideOne({ item: importItem({}), key: 'k' }, { source })
  assert.equal(same.verdict, 'unchanged')
})

test('looks up each valid name once', () => {
  const longest = 'x'.repeat(255)
  const items = [
    { category: longest, speakers: ['Ann', 'Bob'], tags: ['a'] },
    { category: `${longest}x`, language: 'English', speakers: ['Ann', 5 as never] },
    {},
  ]
  assert.deepEqual(namesOfItems(items), {
    category: [longest],
    language: ['English'],
    speaker: ['Ann', 'Bob'],
    tag: ['a'],
  })
})

test('derives the key of a talk from its key, video or text and hashes a long one', () => {
  const talk = importItem({ title: 'Keys' })
  const [longest, longer] = ['k'.repeat(500), 'k'.repeat(501)]
  assert.equal(itemKey({ ...talk, key: longest }, 'video'), longest)
  assert.match(itemKey({ ...talk, key: longer }, 'video'), /^sha256:[\w-]{22}$/)
  assert.equal(itemKey(talk, longest), `source:${longest}`)
  assert.match(itemKey(talk, longer), /^source:[\w-]{22}$/)
  assert.match(itemKey(talk, undefined), /^talk:[\w-]{22}$/)
  assert.notEqual(itemKey(talk, undefined), itemKey(importItem({ title: 'Other keys' }), undefined))
})

test('looks up a URL only if a record can have it', () => {
  const longest = 'https://example.org/'.padEnd(2048, 'x')
  assert.equal(sourceUrlOf({ source_url: longest }), longest)
  assert.equal(sourceUrlOf({ source_url: `${longest}x` }), '')
  assert.equal(sourceUrlOf({ source_url: null }), '')
  assert.equal(sourceUrlOf({}), '')
})
