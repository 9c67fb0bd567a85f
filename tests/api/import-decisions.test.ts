import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Fact, maxImportedId, type Video } from '@talkshelf/contract'
import { createCategory, restoreEntities } from '../../server/entities/entities.ts'
import { writeFacts } from '../../server/facts/facts.ts'
import {
  type DecisionContext,
  itemKey,
  namesOfItems,
  type PlannedItem,
  planItems,
} from '../../server/imports/engine/decide.ts'
import { type IncomingItem, sourceUrlOf } from '../../server/imports/engine/identity.ts'
import { sourceStateOf } from '../../server/imports/engine/merge.ts'
import { type Decision, saveSourceStates } from '../../server/imports/engine/queries.ts'
import type { ImportItem } from '../../server/imports/item.ts'
import { category } from '../support/harness.ts'
import { draft, kept, related, startImports } from '../support/imports-in-process.ts'
import { context } from '../support/writer.ts'

// Which record a talk is, and what shall become of it: decided without writing anything.

const { pool, make, edit, takeDown, attach } = await startImports()
await createCategory(pool, { title: 'Other Days' }, context)

let numbers = 0
/** A word that no other test uses. */
const newWord = () => `word${++numbers}`
const videoOf = (word: string) => `https://media.example.org/${word}`
const day = new Date().toISOString().slice(0, 10)

interface Given {
  readonly draft: ImportItem
  readonly key?: string
  readonly decision?: Decision | null
}

/** Decides about the talks of one file. */
function decideAll(
  given: readonly (ImportItem | Given)[],
  {
    source = newWord(),
    state = 1,
    bodies,
  }: { source?: string; state?: 1 | 2 } & Pick<DecisionContext, 'bodies'> = {},
): Promise<PlannedItem[]> {
  const asked = given.map((one, at): IncomingItem => {
    const { draft: it, key, decision = null }: Given = 'draft' in one ? one : { draft: one }
    const own = key ?? it.key ?? `key ${at}`
    return { position: at + 1, place: it.place, key: own, draft: it, decision }
  })
  return planItems(pool, asked, { source, options: { state }, ...(bodies && { bodies }) })
}

async function decideOne(given: ImportItem | Given, options?: Parameters<typeof decideAll>[1]) {
  const [one] = await decideAll([given], options)
  return one as PlannedItem
}

/** Notes that a source has this record under a key, and said these fields of it. */
const saidOf = (
  source: string,
  key: string,
  id: number,
  fields: Partial<Video> = {},
  facts: Fact[] = [],
) => saveSourceStates(pool, source, [{ key, video_id: id, said: sourceStateOf(fields, facts) }])

const reasons = ({ notes }: PlannedItem) =>
  notes.flatMap(({ kind, detail }) => (kind === 'refused' ? [detail] : []))
const questions = ({ notes }: PlannedItem) => notes.filter(({ kind }) => kind === 'question').length
const tookDown = [`The record was taken down on ${day}: it is never imported again`]

test('a talk that nothing here is like is new, with what the file says', async () => {
  const title = newWord()
  const note = { kind: 'guessed' as const, field: 'duration', detail: 'is guessed' }
  const decided = await decideOne(draft({ title, speakers: ['New Person'] }, { notes: [note] }))
  const fields = { title, category, language: 'English', speakers: ['New Person'] }
  const { asked: _asked, ...rest } = decided
  assert.deepEqual(rest, {
    videoId: null,
    changes: {},
    said: undefined,
    verdict: 'new',
    notes: [note],
    create: { record: { state: 1, ...fields }, id: undefined, kept: undefined },
    says: { fields: { state: 1, ...fields }, facts: [] },
  })
  const asDraft = await decideOne(draft({ title }), { state: 2 })
  assert.equal(asDraft.create?.record.state, 2)
  const own = await decideOne(draft({ title, state: 1 }), { state: 2 })
  assert.equal(own.create?.record.state, 1)
})

test('two talks of a file are two records, also where both are in one video', async () => {
  const id = await make({ source_url: videoOf('shared') })
  const [first, second] = await decideAll([
    draft({ title: 'First half', source_url: videoOf('shared') }),
    draft({ title: 'Second half', source_url: videoOf('shared') }),
  ])
  assert.deepEqual([first?.videoId, second?.verdict], [id, 'new'])
})

test('a record that a source has under one key is not another talk of that source', async () => {
  const [source, title] = [newWord(), newWord()]
  const id = await make({ title, source_url: videoOf(title) })
  await saidOf(source, 'own', id)
  const talk = draft({ title, source_url: videoOf(title) })
  const [other] = await decideAll([{ draft: talk, key: 'other' }], { source })
  assert.deepEqual([other?.verdict, other?.videoId], ['new', null])
  // By its words neither: nobody is asked.
  const [words] = await decideAll([{ draft: draft({ title }), key: 'other' }], { source })
  assert.equal(words?.verdict, 'new')
  // Under its own key it is, and another source does not know any key of it.
  const [own] = await decideAll([{ draft: talk, key: 'own' }], { source })
  assert.equal(own?.videoId, id)
  assert.equal((await decideOne(talk)).videoId, id)
})

test('a key leads to its record, whatever the talk is called now', async () => {
  const source = newWord()
  const id = await make({ title: 'Called so', summary: 'By hand' })
  await saidOf(source, 'k', id, { title: 'Called so', summary: 'Said' })
  const talk = draft({ title: 'Called otherwise', summary: 'Said' })
  const decided = await decideOne({ draft: talk, key: 'k' }, { source })
  assert.deepEqual([decided.verdict, decided.videoId], ['changed', id])
  assert.deepEqual(decided.changes, { title: { old: 'Called so', new: 'Called otherwise' } })
  assert.deepEqual(decided.change?.patch, { title: 'Called otherwise' })
  assert.deepEqual([decided.change?.row.id, decided.change?.row.revision], [id, 1])
  assert.deepEqual(decided.said, { fields: { title: 'Called so', summary: 'Said' }, facts: [] })
  assert.deepEqual(decided.says?.fields.title, 'Called otherwise')
  assert.ok(!('facts' in decided) && !('factsBefore' in decided))
})

test('whoever was renamed since the source named them is the same', async () => {
  const [source, word] = [newWord(), newWord()]
  const [name, old] = [`New ${word}`, `Old ${word}`]
  const named = { slug: word, aliases: [{ name: old, shown: false }], old_slugs: [] }
  const person = { kind: 'speaker' as const, id: 12_345, name, revision: 0, ...named }
  await pool.transaction((tx) => restoreEntities(tx, [person], context))
  const id = await make({ title: word, speakers: [name] })
  await saidOf(source, 'k', id, { title: word, speakers: [old] })
  const talk = draft({ title: word, speakers: [`Third ${word}`] })
  const decided = await decideOne({ draft: talk, key: 'k' }, { source })
  assert.equal(decided.verdict, 'changed')
  assert.deepEqual(decided.change?.patch, { speakers: [`Third ${word}`] })
})

test('a record that is gone when it is looked at is not made again', async () => {
  const source = newWord()
  await saidOf(source, 'k', await make())
  const bodies = async () => new Map()
  const decided = await decideOne({ draft: draft({}), key: 'k' }, { source, bodies })
  assert.deepEqual(reasons(decided), ['There is no record of this number any more'])
})

test('a number means that record where the title or the slug is the same', async () => {
  const title = newWord()
  const id = await make({ title: `${title} Ä` })
  const byTitle = draft({ title: ` ${title.toUpperCase()} ä` }, { id })
  assert.equal((await decideOne(byTitle)).videoId, id)
  const bySlug = draft({ title: 'Another title' }, { id, kept: kept(`${title}-a`) })
  assert.equal((await decideOne(bySlug)).videoId, id)
  const other = await decideOne(draft({ title: 'Not that one' }, { id }))
  assert.deepEqual(
    [other.verdict, other.create?.id, other.notes],
    ['new', undefined, [{ kind: 'dropped', field: 'id', detail: `${id} is another record here` }]],
  )
  const untitled = await decideOne({ place: 'row 1', id, fields: {}, facts: [], notes: [] })
  assert.deepEqual(reasons(untitled), [
    'title is required',
    'category is required, and the file does not say it: give it for all talks with --category',
    'language is required, and the file does not say it: give it for all talks with --language',
  ])
})

test('of two records of one video, the number says which', async () => {
  const video = videoOf(newWord())
  const [first, second] = [await make({ source_url: video }), await make({ source_url: video })]
  const numbered = (id: number) => draft({ title: 'Renamed', source_url: video }, { id })
  assert.equal((await decideOne(numbered(second))).videoId, second)
  assert.equal((await decideOne(numbered(first))).videoId, first)
  // A number that is neither leads elsewhere: the video counts.
  const elsewhere = await make({ title: newWord() })
  assert.equal((await decideOne(numbered(elsewhere))).videoId, first)
  // Without a number it is the first.
  assert.equal((await decideOne(draft({ title: 'Renamed', source_url: video }))).videoId, first)
})

test('a number that is free is kept, up to the highest that counts', async () => {
  const free = await decideOne(draft({ title: newWord() }, { id: maxImportedId }))
  assert.deepEqual([free.create?.id, free.notes], [maxImportedId, []])
  const far = await decideOne(
    draft({ title: newWord() }, { id: maxImportedId + 1, kept: kept('far') }),
  )
  const detail = `${maxImportedId + 1} is too high a number for a record`
  assert.deepEqual(
    [far.create?.id, far.notes],
    [undefined, [{ kind: 'dropped', field: 'id', detail }]],
  )
  assert.equal(far.create?.kept, undefined)
})

test('what an archive gave a record stays with its number, and a takedown with any', async () => {
  const own = kept('own-slug')
  const free = await decideOne(draft({ title: newWord() }, { id: 900_001, kept: own }))
  assert.deepEqual([free.create?.id, free.create?.kept], [900_001, own])
  const taken = await make({ title: newWord() })
  const other = await decideOne(draft({ title: newWord() }, { id: taken, kept: own }))
  assert.deepEqual([other.create?.id, other.create?.kept], [undefined, undefined])
  const gone = kept('gone-slug', { takenDown: { day: '2026-01-02', reason: 'asked for' } })
  const down = await decideOne(draft({ title: newWord() }, { id: taken, kept: gone }))
  assert.deepEqual([down.create?.id, down.create?.kept], [undefined, gone])
})

test('the same title, speakers and category are a question for an editor', async () => {
  const title = newWord()
  const talk = draft({ title: title.toUpperCase(), speakers: ['Ann Like', 'Bob Like'] })
  const id = await make({ title, speakers: ['Bob Like', 'Ann Like'] })
  const asked = await decideOne(talk)
  assert.deepEqual([asked.verdict, asked.videoId, asked.create], ['conflict', null, undefined])
  assert.deepEqual(asked.notes, [
    {
      kind: 'question',
      field: 'title',
      detail: `Record ${id} has the same title, speakers and category: is it this one?`,
    },
  ])
  const same = await decideOne({ draft: talk, decision: { same: true } })
  assert.deepEqual([same.videoId, same.said], [id, undefined])
  const other = await decideOne({ draft: talk, decision: { same: false } })
  assert.equal(other.verdict, 'new')
  assert.deepEqual(other.notes, [])
  // What nothing is like is new, whatever was answered.
  const alone = await decideOne({ draft: draft({ title: newWord() }), decision: { same: true } })
  assert.equal(alone.verdict, 'new')
})

test('other speakers, another category or a record that is taken are no question', async () => {
  const title = newWord()
  await make({ title, speakers: ['Ann Like', 'Bob Like'] })
  const decided = await decideAll([
    draft({ title, speakers: ['Ann Like', 'Cid Like'] }),
    draft({ title, speakers: ['Ann Like'] }),
    draft({ title, speakers: [] }),
    draft({ title, speakers: ['Ann Like', 'Bob Like'], category: 'Other Days' }),
    draft({ title, speakers: ['Ann Like', 'Bob Like'], category: 'Days to come' }),
  ])
  assert.deepEqual(
    decided.map(({ verdict }) => verdict),
    ['new', 'new', 'new', 'new', 'new'],
  )
  // The first talk of the file is the record: the second is not.
  const [alone, words] = [newWord(), newWord()]
  const one = await make({ title: alone, source_url: videoOf(words) })
  const [first, second] = await decideAll([
    draft({ title: 'Its video', source_url: videoOf(words) }),
    draft({ title: alone }),
  ])
  assert.deepEqual([first?.videoId, second?.verdict], [one, 'new'])
  // Alone it would be asked about: neither has speakers.
  assert.equal(questions(await decideOne(draft({ title: alone }))), 1)
})

test('the longest title is found again, and a longer one is refused', async () => {
  const title = newWord().padEnd(255, 'x')
  await make({ title })
  assert.equal(questions(await decideOne(draft({ title }))), 1)
  const long = await decideOne(draft({ title: `${title}x` }))
  assert.deepEqual([long.verdict, reasons(long).length], ['refused', 1])
})

test('values of another type are refused, and spoil no other talk of the file', async () => {
  const title = newWord()
  const id = await make({ title, speakers: ['Abe', 'Bea', 'Cid'] })
  const good = newWord()
  const decided = await decideAll([
    draft({ title: 5 }, { id }),
    draft({ title, speakers: null }),
    draft({ title, speakers: 'Abe' }),
    draft({ title, speakers: [1, null, {}] }),
    draft({ title, category: 7, language: ['English'] }),
    draft({ title, source_url: 7 }),
    draft({ title: good }),
  ])
  assert.deepEqual(
    decided.map(({ verdict }) => verdict),
    ['refused', 'refused', 'refused', 'refused', 'refused', 'refused', 'new'],
  )
})

test('what was taken down does not come back by its number, its key or its video', async () => {
  const [source, word] = [newWord(), newWord()]
  const id = await make({ title: word, source_url: videoOf(word) })
  await saidOf(source, 'k', id)
  await takeDown(id)
  const talk = draft({ title: newWord(), source_url: videoOf(word) })
  for (const [given, from] of [
    [{ draft: draft({ title: word }, { id, kept: kept(word) }), key: 'x' }, newWord()],
    [{ draft: draft({ title: newWord() }), key: 'k' }, source],
    // A source that gives the talk another key does not bring it back.
    [{ draft: talk, key: 'another key' }, source],
    [{ draft: talk, key: 'x' }, newWord()],
  ] as const) {
    const decided = await decideOne(given, { source: from })
    assert.deepEqual(
      [decided.verdict, reasons(decided), decided.isTakenDown],
      ['refused', tookDown, true],
    )
  }
})

test('a record stays what it is where another one of the same video was taken down', async () => {
  const [source, word] = [newWord(), newWord()]
  const gone = await make({ title: word, source_url: videoOf(word) })
  const id = await make({ title: `${word} stays`, source_url: videoOf(word) })
  await saidOf(source, 'gone', gone)
  await takeDown(gone)
  const talk = draft({ title: `${word} stays`, source_url: videoOf(word) }, { id })
  assert.equal((await decideOne(talk)).videoId, id)
  await saidOf(source, 'stays', id)
  const { id: _id, ...unnumbered } = talk
  const known = await decideOne({ draft: unnumbered, key: 'stays' }, { source })
  assert.equal(known.videoId, id)
  // An export has both, each under its own key.
  const exported = draft({ title: newWord(), source_url: videoOf(word) }, { kept: kept(newWord()) })
  const both = await decideOne({ draft: exported, key: 'third' }, { source })
  assert.equal(both.verdict, 'new')
})

test('a talk that was taken down in the file, and lives here, is refused', async () => {
  const title = newWord()
  const id = await make({ title })
  const gone = kept(title, { takenDown: { day: '2026-01-02', reason: 'asked for' } })
  const decided = await decideOne(draft({ title }, { id, kept: gone }))
  assert.deepEqual(reasons(decided), [
    `It was taken down in the file, and is record ${id} here: take that one down`,
  ])
  assert.equal(decided.isTakenDown, undefined)
})

test('a file that says nothing of states means the one asked for, in its own records', async () => {
  const [source, word] = [newWord(), newWord()]
  const id = await make({ title: word, state: 2, source_url: videoOf(word) })
  const talk = draft({ title: word, source_url: videoOf(word) })
  const found = await decideOne(talk)
  assert.deepEqual([found.verdict, found.videoId, found.changes], ['unchanged', id, {}])
  await saidOf(source, 'k', id, { title: word, state: 2 })
  const made = await decideOne({ draft: talk, key: 'k' }, { source })
  assert.deepEqual(made.changes, { state: { old: 2, new: 1 } })
})

test('a talk that says what the record shows changes nothing', async () => {
  const word = newWord()
  const id = await make({ title: word, source_url: videoOf(word) })
  await attach(id, related(word))
  const note = { kind: 'dropped' as const, field: 'x', detail: 'is no field' }
  const talk = draft(
    { title: word, source_url: videoOf(word) },
    { facts: [related(word)], notes: [note] },
  )
  const { asked: _asked, ...decided } = await decideOne(talk)
  assert.deepEqual(decided, {
    verdict: 'unchanged',
    videoId: id,
    changes: {},
    notes: [note],
    says: sourceStateOf(talk.fields, talk.facts),
    said: undefined,
  })
})

test('what both sides changed is a conflict, and what else the file says is written', async () => {
  const [source, word] = [newWord(), newWord()]
  const id = await make({ title: word, summary: 'Said' })
  await saidOf(source, 'k', id, { title: word, summary: 'Said' })
  await edit(id, { summary: 'By hand' })
  const talk = draft({ title: word, summary: 'Said anew', duration: 60 })
  const decided = await decideOne({ draft: talk, key: 'k' }, { source })
  assert.equal(decided.verdict, 'conflict')
  assert.deepEqual(decided.change?.patch, { duration: 60 })
  const only = draft({ title: word, summary: 'Said anew' })
  const kept = await decideOne({ draft: only, key: 'k' }, { source })
  assert.deepEqual([kept.verdict, 'change' in kept], ['conflict', false])
  const taken = await decideOne(
    { draft: only, key: 'k', decision: { take: ['summary'] } },
    { source },
  )
  assert.deepEqual(taken.change?.patch, { summary: 'Said anew' })
})

test('a change that no record takes is refused, and one without a language is not', async () => {
  const source = newWord()
  const id = await make()
  await saidOf(source, 'k', id)
  const decideOf = (fields: object) =>
    decideOne({ draft: { place: 'row 1', fields, facts: [], notes: [] }, key: 'k' }, { source })
  const wrong = await decideOf({ duration: -1, language: 'Klingonese' })
  assert.equal(wrong.verdict, 'refused')
  assert.equal(reasons(wrong).length, 2)
  assert.deepEqual((await decideOf({ duration: 60 })).changes, { duration: { old: null, new: 60 } })
})

test('a language is known by its name or its code, and an unknown one is refused', async () => {
  const [german, english, unknown, none] = await decideAll(
    [
      draft({ title: newWord(), language: 'de' }),
      draft({ title: newWord(), language: 'English' }),
      draft({ title: newWord(), language: 'Klingonese' }),
      draft({ title: newWord(), language: undefined }),
    ].map((it) => JSON.parse(JSON.stringify(it)) as ImportItem),
  )
  assert.equal(german?.create?.record.language, 'German')
  assert.equal(english?.create?.record.language, 'English')
  assert.deepEqual(unknown && reasons(unknown), [
    'language is not the English name or the code of a language',
  ])
  assert.deepEqual(none && reasons(none), [
    'language is required, and the file does not say it: give it for all talks with --language',
  ])
})

test('facts come with a talk, each once, and out of an export as they were', async () => {
  const [a, b] = [related('a'), related('b')]
  const twice = await decideOne(draft({ title: newWord() }, { facts: [a, b, a] }))
  assert.deepEqual(twice.facts, [a, b])
  const exported = draft({ title: newWord() }, { facts: [a, b, a], kept: kept(newWord()) })
  assert.deepEqual((await decideOne(exported)).facts, [a, b, a])
})

test('facts of a record change with what the source says of them', async () => {
  const [source, word] = [newWord(), newWord()]
  const [a, b, mine] = [related('a'), related('b'), related('mine')]
  const id = await make({ title: word })
  await attach(id, a, mine)
  await saidOf(source, 'k', id, { title: word }, [a])
  const talk = draft({ title: word }, { facts: [b] })
  const decided = await decideOne({ draft: talk, key: 'k' }, { source })
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

test('a record takes 1,000 facts and 1 MB of them, and no more', async () => {
  const tooLarge = ['More is attached to it than a record takes: 1000 facts, and 1 MB']
  const many = (count: number) => Array.from({ length: count }, (_, at) => related(String(at)))
  const large = (bytes: number): Fact[] => {
    const facts = [{ kind: 'said', source: 'v2', field: 'f', value: '' }] as Fact[]
    const value = 'x'.repeat(bytes - Buffer.byteLength(JSON.stringify(facts)))
    return [{ ...facts[0], value } as Fact]
  }
  for (const facts of [many(1000), large(1 << 20)])
    assert.equal((await decideOne(draft({ title: newWord() }, { facts }))).verdict, 'new')
  const [source, id] = [newWord(), await make()]
  await saidOf(source, 'k', id)
  for (const facts of [many(1001), large((1 << 20) + 1)]) {
    assert.deepEqual(reasons(await decideOne(draft({ title: newWord() }, { facts }))), tooLarge)
    const changed = await decideOne({ draft: draft({}, { facts }), key: 'k' }, { source })
    assert.deepEqual(reasons(changed), tooLarge)
  }
  // What is too large already stays, where the talk adds nothing to it.
  await pool.transaction((tx) => writeFacts(tx, [{ id, facts: many(1001) }], context))
  const same = await decideOne({ draft: draft({}), key: 'k' }, { source })
  assert.equal(same.verdict, 'unchanged')
})

test('only names that a record takes are looked up, each once', () => {
  const longest = 'x'.repeat(255)
  const all = [
    { category: longest, speakers: ['Ann', 'Bob'], tags: ['a'] },
    { category: `${longest}x`, language: 'English', speakers: ['Ann', 5 as never] },
    {},
  ]
  assert.deepEqual(namesOfItems(all), {
    category: [longest],
    language: ['English'],
    speaker: ['Ann', 'Bob'],
    tag: ['a'],
  })
})

test('the key of a talk is its own, its video or its words; a long one is kept as a hash', () => {
  const talk = draft({ title: 'Keys' })
  const [longest, longer] = ['k'.repeat(500), 'k'.repeat(501)]
  assert.equal(itemKey({ ...talk, key: longest }, 'video'), longest)
  assert.match(itemKey({ ...talk, key: longer }, 'video'), /^sha256:[\w-]{22}$/)
  assert.equal(itemKey(talk, longest), `source:${longest}`)
  assert.match(itemKey(talk, longer), /^source:[\w-]{22}$/)
  assert.match(itemKey(talk, undefined), /^talk:[\w-]{22}$/)
  assert.notEqual(itemKey(talk, undefined), itemKey(draft({ title: 'Other keys' }), undefined))
})

test('an address is looked up if a record could have it', () => {
  const longest = 'https://example.org/'.padEnd(2048, 'x')
  assert.equal(sourceUrlOf({ source_url: longest }), longest)
  assert.equal(sourceUrlOf({ source_url: `${longest}x` }), '')
  assert.equal(sourceUrlOf({ source_url: null }), '')
  assert.equal(sourceUrlOf({}), '')
})
