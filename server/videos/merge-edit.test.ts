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

// Two editors open the talk, change random fields and save, in any order. When both changed a
// field, the editor who saves last chooses, as on the page that asks.
const runs = Number(process.env.MERGE_RUNS ?? 500)
const savesOfEach = 200

test(`no accepted edit is lost in ${runs} interleavings of two editors`, () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2 ** 31 - 1 }), (seed) => {
      interleave(randomFrom(seed))
    }),
    { numRuns: runs },
  )
})

function interleave(random: (below: number) => number): void {
  const fields = ['title', 'summary', 'description', 'copyright_text', 'speakers', 'tags'] as const
  const names = [...'abcdefgh']
  const pick = <T>(values: readonly T[]) => values[random(values.length)] as T
  const editors = [
    { seen: base, saves: 0 },
    { seen: base, saves: 0 },
  ]
  let current = base
  // What the record must have: the latest accepted text, and whether each name is in a list.
  const texts = new Map<string, unknown>(fields.map((field) => [field, base[field]]))
  const listed = new Map<string, boolean>()
  for (const field of ['speakers', 'tags'] as const)
    for (const name of [...names, ...base[field]])
      listed.set(`${field} ${name}`, base[field].includes(name))

  const editOf = (seen: Video, number: number): Partial<Video> =>
    Object.fromEntries(
      [pick(fields), pick(fields)].map((field) => {
        if (field !== 'speakers' && field !== 'tags') return [field, `${field} ${number}`]
        const name = pick(names)
        const others = seen[field].filter((own) => own !== name)
        const isRemoved = others.length < seen[field].length
        return [field, isRemoved ? others : others.toSpliced(random(9), 0, name)]
      }),
    )

  const accept = (seen: Video, edit: Partial<Video>, video: Video) => {
    for (const [field, value] of Object.entries(edit) as [keyof Video, unknown][]) {
      if (!Array.isArray(value)) {
        if (value !== seen[field]) texts.set(field, value)
        continue
      }
      const before = seen[field] as string[]
      for (const name of value) if (!before.includes(name)) listed.set(`${field} ${name}`, true)
      for (const name of before) if (!value.includes(name)) listed.set(`${field} ${name}`, false)
    }
    current = video
  }

  let number = 0
  while (editors.some(({ saves }) => saves < savesOfEach)) {
    const editor = pick(editors.filter(({ saves }) => saves < savesOfEach))
    if (random(3) === 0) editor.seen = current
    let { seen } = editor
    let edit = editOf(seen, ++number)
    let result = mergeEdit(seen, edit, current)
    if (result.conflicts.length > 0) {
      const kept = Object.keys(edit).filter(
        (field) => !result.conflicts.some((conflict) => conflict.field === field),
      ) as (keyof Video)[]
      const chosen = result.conflicts
        .filter(() => random(2) === 0)
        .map(({ field, edited }) => [field, edited])
      const merged = result.video
      edit = Object.fromEntries([...kept.map((field) => [field, merged[field]]), ...chosen])
      seen = current
      result = mergeEdit(seen, edit, current)
      assert.deepEqual(result.conflicts, [])
    }
    accept(seen, edit, result.video)
    editor.seen = current
    editor.saves++
  }
  for (const [field, value] of texts)
    if (!Array.isArray(value)) assert.equal(current[field as keyof Video], value, field)
  for (const [key, isListed] of listed) {
    const [field, name] = key.split(' ') as ['speakers' | 'tags', string]
    assert.equal(current[field].includes(name), isListed, key)
  }
}

/** Returns a generator of numbers below a limit, the same for the same seed. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0
    return (state >>> 8) % below
  }
}
