import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Video, videoDefaults } from '@talkshelf/contract'
import fc from 'fast-check'
import { mergeEdit } from './merge-edit.ts'

const base = {
  ...videoDefaults,
  id: 1,
  slug: 'a-talk',
  title: 'A talk',
  category: 'Example Days',
  language: 'English',
  state: 1,
  speakers: ['Ada', 'Grace'],
  tags: ['queues', 'pools'],
  added: '2026-01-01T00:00:00.000',
  updated: '2026-01-01T00:00:00.000',
} satisfies Video as Video

test('takes a field that only the edit changed, and keeps one that others changed', () => {
  const { video, conflicts } = mergeEdit(
    base,
    { title: 'My talk' },
    { ...base, summary: 'By others' },
  )
  assert.deepEqual(conflicts, [])
  assert.equal(video.title, 'My talk')
  assert.equal(video.summary, 'By others')
})

test('reports a field that both changed, unless both made the same change', () => {
  const current = { ...base, title: 'Their talk', summary: 'Same' }
  const { video, conflicts } = mergeEdit(base, { title: 'My talk', summary: 'Same' }, current)
  assert.deepEqual(conflicts, [
    { field: 'title', base: 'A talk', current: 'Their talk', edited: 'My talk' },
  ])
  assert.equal(video.title, 'Their talk')
})

const lists: [text: string, edited: string[], current: string[], merged: string[] | undefined][] = [
  ['both add', ['a', 'b', 'x'], ['a', 'b', 'y'], ['a', 'b', 'y', 'x']],
  ['adds at the beginning', ['x', 'a', 'b'], ['a', 'b', 'y'], ['x', 'a', 'b', 'y']],
  ['one removes, the other adds', ['b'], ['a', 'b', 'y'], ['b', 'y']],
  ['both remove', ['b'], ['a'], []],
  ['both remove the same', ['b'], ['b', 'y'], ['b', 'y']],
  ['the edit reorders', ['b', 'a'], ['a', 'b', 'y'], ['b', 'y', 'a']],
  ['the others reorder', ['a', 'b', 'x'], ['b', 'a'], ['b', 'x', 'a']],
  ['both replace the same element', ['a', 'x'], ['a', 'y'], undefined],
  ['both correct it in the same way', ['a', 'x'], ['a', 'x', 'y'], ['a', 'x', 'y']],
  ['each replaces another element', ['x', 'b'], ['a', 'y'], ['x', 'y']],
]
for (const [text, edited, current, merged] of lists)
  test(`merges lists by element: ${text}`, () => {
    const before = { ...base, tags: ['a', 'b'] }
    const { video, conflicts } = mergeEdit(before, { tags: edited }, { ...before, tags: current })
    if (merged === undefined) assert.deepEqual(conflicts[0]?.field, 'tags')
    else {
      assert.deepEqual(conflicts, [])
      assert.deepEqual([...video.tags].sort(), [...merged].sort())
    }
  })

test('what either side added to a list is there, what either removed is not, each once', () => {
  const names = fc.uniqueArray(fc.constantFrom(...'abcdef'))
  fc.assert(
    fc.property(names, names, names, (before, edited, current) => {
      const [from, to] = [
        { ...base, tags: before },
        { ...base, tags: current },
      ]
      const { video, conflicts } = mergeEdit(from, { tags: edited }, to)
      if (conflicts.length > 0) return
      const { tags } = video
      assert.equal(new Set(tags).size, tags.length)
      for (const name of 'abcdef') {
        const [was, mine, theirs] = [before, edited, current].map((list) => list.includes(name))
        const expected = was ? mine && theirs : mine || theirs
        assert.equal(tags.includes(name), expected, `${name} in ${tags}`)
      }
    }),
    { numRuns: 5000 },
  )
})
