import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Fact, type Video, videoDefaults } from '@talkshelf/contract'
import type { NameLookup } from '../../entities/entities.ts'
import {
  mergeFacts,
  mergeFields,
  type RecordFields,
  sourceStateOf,
  withCurrentNames,
} from './merge.ts'

// The three-way merge, field by field and fact by fact.

const noNames: NameLookup = {
  category: new Map(),
  language: new Map(),
  speaker: new Map(),
  tag: new Map(),
}

/** Otto was renamed to Nina, and Nino is an alias of Nina. */
const renamed: NameLookup = {
  ...noNames,
  category: new Map([['Days', { id: 1, name: 'Example Days' }]]),
  speaker: new Map(['Otto', 'Nino', 'Nina'].map((name) => [name, { id: 7, name: 'Nina' }])),
}

const record = (fields: RecordFields = {}): Video =>
  ({ ...videoDefaults, title: 'Weirs', category: 'Days', language: 'English', ...fields }) as Video

/** The state of the source at its last import. */
const previously = (fields: RecordFields) => sourceStateOf(fields, [])

const related = (word: string, more: object = {}): Fact =>
  ({ kind: 'related', url: `https://example.org/${word}`, label: null, ...more }) as Fact

test('reports no change if both sides are equal', () => {
  const merged = mergeFields(record({ summary: 'Same' }), { summary: 'Same' }, undefined, noNames)
  assert.deepEqual(merged, { patch: {}, changes: {}, hasConflicts: false })
})

test('takes a field that changed only at the source', () => {
  const previous = previously({ title: 'Weirs' })
  assert.deepEqual(mergeFields(record(), { title: 'Locks' }, previous, noNames), {
    patch: { title: 'Locks' },
    changes: { title: { old: 'Weirs', new: 'Locks' } },
    hasConflicts: false,
  })
})

test('keeps a field that changed only here, unless an editor takes the other value', () => {
  const previous = previously({ title: 'Dams' })
  assert.deepEqual(mergeFields(record(), { title: 'Dams' }, previous, noNames), {
    patch: {},
    changes: {},
    hasConflicts: false,
  })
  assert.deepEqual(
    mergeFields(record(), { title: 'Dams' }, previous, noNames, { take: ['title'] }),
    {
      patch: { title: 'Dams' },
      changes: { title: { old: 'Weirs', new: 'Dams' } },
      hasConflicts: false,
    },
  )
})

test('reports a conflict and keeps the edit here if both sides changed a field', () => {
  const previous = previously({ title: 'Dams', summary: 'Old' })
  const mine = record({ summary: 'Old' })
  const theirs = { title: 'Locks', summary: 'New' }
  const changes = {
    title: { old: 'Weirs', new: 'Locks', conflict: true },
    summary: { old: 'Old', new: 'New' },
  }
  assert.deepEqual(mergeFields(mine, theirs, previous, noNames), {
    patch: { summary: 'New' },
    changes,
    hasConflicts: true,
  })
  assert.deepEqual(mergeFields(mine, theirs, previous, noNames, { take: ['title'] }), {
    patch: theirs,
    changes,
    hasConflicts: true,
  })
  // Taking one field does not take the other.
  const taken = mergeFields(mine, { ...theirs, summary: 'Old' }, previous, noNames, {
    take: ['summary'],
  })
  assert.deepEqual(taken.patch, {})
})

test('a table replaces values of earlier imports, but no edits', () => {
  const mine = record({ summary: 'By hand' })
  const theirs = { title: 'Locks', summary: 'New' }
  const summary = { old: 'By hand', new: 'New', conflict: true }
  const imported = ['title']
  assert.deepEqual(mergeFields(mine, theirs, undefined, noNames, { imported }), {
    patch: {},
    changes: { title: { old: 'Weirs', new: 'Locks', conflict: true, imported: true }, summary },
    hasConflicts: true,
  })
  const options = { imported, replacesImports: true }
  assert.deepEqual(mergeFields(mine, theirs, undefined, noNames, options), {
    patch: { title: 'Locks' },
    changes: { title: { old: 'Weirs', new: 'Locks' }, summary },
    hasConflicts: true,
  })
  // A value that the source repeats is none of its changes.
  const previous = previously({ title: 'Locks' })
  const repeated = mergeFields(mine, { title: 'Locks' }, previous, noNames, options)
  assert.deepEqual(repeated.patch, {})
})

test('fills empty fields at the first import, and overwrites nothing', () => {
  const mine = record({ video_mp4_url: '', tags: [] })
  const filled = { summary: 'New', duration: 60, video_mp4_url: 'https://a.example/', tags: ['x'] }
  assert.deepEqual(mergeFields(mine, filled, undefined, noNames).patch, filled)
  const other = mergeFields(record({ duration: 1 }), { duration: 60 }, previously({}), noNames)
  assert.deepEqual([other.patch, other.hasConflicts], [{}, true])
})

test('compares renamed entities by their current names', () => {
  const previous = previously({ speakers: ['Otto'], category: 'Days' })
  const mine = record({ speakers: ['Nina'], category: 'Example Days' })
  const theirs = { speakers: ['Nina', 'Second'], category: 'Other Days' }
  assert.deepEqual(mergeFields(mine, theirs, previous, renamed).patch, theirs)
  // The source repeats its speaker, and an editor has added another one.
  const added = record({ speakers: ['Nina', 'Third'], category: 'Example Days' })
  const again = mergeFields(added, { speakers: ['Nina'] }, previous, renamed)
  assert.deepEqual(again, { patch: {}, changes: {}, hasConflicts: false })
})

test('replaces names by current ones, each once, and keeps unknown ones', () => {
  const fields = { title: 'Otto', speakers: ['Otto', 'New', 'Nino'], category: 'Days' }
  assert.deepEqual(withCurrentNames(fields, renamed), {
    title: 'Otto',
    speakers: ['Nina', 'New'],
    category: 'Example Days',
  })
  const wrong = { speakers: [1, 'Otto'], category: null } as never
  assert.deepEqual(withCurrentNames(wrong, renamed), { speakers: [1, 'Nina'], category: null })
})

test('stores short values and names as they are, and hashes long values', () => {
  const short = 'x'.repeat(98)
  const names = ['a'.repeat(60), 'b'.repeat(60)]
  const { fields } = sourceStateOf(
    { summary: short, description: `${short}x`, speakers: names },
    [],
  )
  assert.deepEqual([fields.summary, fields.speakers], [short, names])
  assert.deepEqual(Object.keys(fields.description as object), ['sha256'])
  // A hashed value is still compared.
  const long = 'y'.repeat(200)
  const previous = previously({ summary: long })
  const mine = record({ summary: long })
  assert.deepEqual(mergeFields(mine, { summary: 'z' }, previous, noNames).patch, { summary: 'z' })
  const edited = mergeFields(record({ summary: 'By hand' }), { summary: long }, previous, noNames)
  assert.deepEqual(edited.changes, {})
})

test('removes withdrawn facts, adds new ones and keeps those from elsewhere', () => {
  const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((word) => related(word)) as [Fact, Fact, Fact, Fact]
  const previous = sourceStateOf({}, [a, b])
  assert.deepEqual(mergeFacts([a, b, c], [b, d], previous), [b, c, d])
  assert.deepEqual(mergeFacts([c], [a], undefined), [c, a])
})

test('does not add a fact again that an editor removed', () => {
  const [a, b, c] = ['a', 'b', 'c'].map((word) => related(word)) as [Fact, Fact, Fact]
  assert.deepEqual(mergeFacts([b], [a, b, c], sourceStateOf({}, [a, b])), [b, c])
})

test('adds a fact once, even if the file repeats it or the record has it', () => {
  const [a, b] = [related('a'), related('b')]
  const inAnotherOrder = { label: null, url: 'https://example.org/a', kind: 'related' } as Fact
  assert.deepEqual(mergeFacts([inAnotherOrder], [a, b, b], undefined), [inAnotherOrder, b])
})

test('does not add the bare URL of a link that the record has with a label or a size', () => {
  const url = 'https://example.org/a'
  const links: Fact[] = [
    { kind: 'related', url, label: 'Slides' },
    { kind: 'media', url, type: 'mp4', size: 7 },
  ]
  const bare: Fact[] = [
    { kind: 'related', url, label: null },
    { kind: 'media', url, type: 'example.org', size: null },
  ]
  assert.deepEqual(mergeFacts(links, bare, undefined), links)
  assert.deepEqual(mergeFacts(links.slice(0, 1), bare, undefined), [links[0], bare[1]])
  // Another label is new.
  const code: Fact = { kind: 'related', url, label: 'Code' }
  assert.deepEqual(mergeFacts(links, [code], undefined), [...links, code])
})
