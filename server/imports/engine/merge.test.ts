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

// The three-way rule, field by field and fact by fact.

const nobody: NameLookup = {
  category: new Map(),
  language: new Map(),
  speaker: new Map(),
  tag: new Map(),
}

/** Otto is called Nina today, and so is the alias Nino. */
const renamed: NameLookup = {
  ...nobody,
  category: new Map([['Days', { id: 1, name: 'Example Days' }]]),
  speaker: new Map(['Otto', 'Nino', 'Nina'].map((name) => [name, { id: 7, name: 'Nina' }])),
}

const record = (fields: RecordFields = {}): Video =>
  ({ ...videoDefaults, title: 'Weirs', category: 'Days', language: 'English', ...fields }) as Video

/** What the source said the last time. */
const saying = (fields: RecordFields) => sourceStateOf(fields, [])

const related = (word: string, more: object = {}): Fact =>
  ({ kind: 'related', url: `https://example.org/${word}`, label: null, ...more }) as Fact

test('a field in which both sides agree is no change', () => {
  const merged = mergeFields(record({ summary: 'Same' }), { summary: 'Same' }, undefined, nobody)
  assert.deepEqual(merged, { patch: {}, changes: {}, hasConflicts: false })
})

test('a field that only the source changed is taken', () => {
  const said = saying({ title: 'Weirs' })
  assert.deepEqual(mergeFields(record(), { title: 'Locks' }, said, nobody), {
    patch: { title: 'Locks' },
    changes: { title: { old: 'Weirs', new: 'Locks' } },
    hasConflicts: false,
  })
})

test('a field that only people here changed stays, unless somebody takes the other', () => {
  const said = saying({ title: 'Dams' })
  assert.deepEqual(mergeFields(record(), { title: 'Dams' }, said, nobody), {
    patch: {},
    changes: {},
    hasConflicts: false,
  })
  assert.deepEqual(mergeFields(record(), { title: 'Dams' }, said, nobody, ['title']), {
    patch: { title: 'Dams' },
    changes: { title: { old: 'Weirs', new: 'Dams' } },
    hasConflicts: false,
  })
})

test('a field that both changed is a conflict, in which the hand edit stays', () => {
  const said = saying({ title: 'Dams', summary: 'Old' })
  const mine = record({ summary: 'Old' })
  const theirs = { title: 'Locks', summary: 'New' }
  const changes = {
    title: { old: 'Weirs', new: 'Locks', conflict: true },
    summary: { old: 'Old', new: 'New' },
  }
  assert.deepEqual(mergeFields(mine, theirs, said, nobody), {
    patch: { summary: 'New' },
    changes,
    hasConflicts: true,
  })
  assert.deepEqual(mergeFields(mine, theirs, said, nobody, ['title']), {
    patch: theirs,
    changes,
    hasConflicts: true,
  })
  // Somebody who takes one field has not taken the other.
  const taken = mergeFields(mine, { ...theirs, summary: 'Old' }, said, nobody, ['summary'])
  assert.deepEqual(taken.patch, {})
})

test('what the source says for the first time fills what is empty, and overwrites nothing', () => {
  const mine = record({ video_mp4_url: '', tags: [] })
  const filled = { summary: 'New', duration: 60, video_mp4_url: 'https://a.example/', tags: ['x'] }
  assert.deepEqual(mergeFields(mine, filled, undefined, nobody).patch, filled)
  const other = mergeFields(record({ duration: 1 }), { duration: 60 }, saying({}), nobody)
  assert.deepEqual([other.patch, other.hasConflicts], [{}, true])
})

test('a name that the source said is compared as whoever it is called today', () => {
  const said = saying({ speakers: ['Otto'], category: 'Days' })
  const mine = record({ speakers: ['Nina'], category: 'Example Days' })
  const theirs = { speakers: ['Nina', 'Second'], category: 'Other Days' }
  assert.deepEqual(mergeFields(mine, theirs, said, renamed).patch, theirs)
  // The same two, said again: here somebody has added a third.
  const added = record({ speakers: ['Nina', 'Third'], category: 'Example Days' })
  const again = mergeFields(added, { speakers: ['Nina'] }, said, renamed)
  assert.deepEqual(again, { patch: {}, changes: {}, hasConflicts: false })
})

test('the names of a draft are those of today, each once; a new one stays', () => {
  const fields = { title: 'Otto', speakers: ['Otto', 'New', 'Nino'], category: 'Days' }
  assert.deepEqual(withCurrentNames(fields, renamed), {
    title: 'Otto',
    speakers: ['Nina', 'New'],
    category: 'Example Days',
  })
  const wrong = { speakers: [1, 'Otto'], category: null } as never
  assert.deepEqual(withCurrentNames(wrong, renamed), { speakers: [1, 'Nina'], category: null })
})

test('what a source said is remembered as it is if short or a name, else as a hash', () => {
  const short = 'x'.repeat(98)
  const names = ['a'.repeat(60), 'b'.repeat(60)]
  const { fields } = sourceStateOf(
    { summary: short, description: `${short}x`, speakers: names },
    [],
  )
  assert.deepEqual([fields.summary, fields.speakers], [short, names])
  assert.deepEqual(Object.keys(fields.description as object), ['sha256'])
  // It is compared all the same.
  const long = 'y'.repeat(200)
  const said = saying({ summary: long })
  const mine = record({ summary: long })
  assert.deepEqual(mergeFields(mine, { summary: 'z' }, said, nobody).patch, { summary: 'z' })
  const edited = mergeFields(record({ summary: 'By hand' }), { summary: long }, said, nobody)
  assert.deepEqual(edited.changes, {})
})

test('what the source takes back goes, what it adds comes, what others attached stays', () => {
  const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((word) => related(word)) as [Fact, Fact, Fact, Fact]
  const said = sourceStateOf({}, [a, b])
  assert.deepEqual(mergeFacts([a, b, c], [b, d], said), [b, c, d])
  assert.deepEqual(mergeFacts([c], [a], undefined), [c, a])
})

test('a fact that was removed since the source said it stays away, and a new one comes', () => {
  const [a, b, c] = ['a', 'b', 'c'].map((word) => related(word)) as [Fact, Fact, Fact]
  assert.deepEqual(mergeFacts([b], [a, b, c], sourceStateOf({}, [a, b])), [b, c])
})

test('a fact is attached once, also where a file says it twice or the record has it', () => {
  const [a, b] = [related('a'), related('b')]
  const inAnotherOrder = { label: null, url: 'https://example.org/a', kind: 'related' } as Fact
  assert.deepEqual(mergeFacts([inAnotherOrder], [a, b, b], undefined), [inAnotherOrder, b])
})
