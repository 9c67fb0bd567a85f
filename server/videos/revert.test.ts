import assert from 'node:assert/strict'
import { test } from 'node:test'
import { maxNames } from '@talkshelf/contract'
import fc from 'fast-check'
import { revertList } from './revert.ts'

// Lists are reverted by element.

const entities = (ids: Iterable<number>) => [...ids].map((id) => ({ id, name: `Name ${id}` }))
const revert = (before: number[], after: number[], current: number[]) =>
  revertList(entities(before), entities(after), entities(current))?.map(({ id }) => id)

test('removes what was added and returns what was removed, at its place', () => {
  assert.deepEqual(revert([1, 2], [1, 2, 3], [1, 2, 3]), [1, 2])
  assert.deepEqual(revert([1, 2], [1, 2, 3], [4, 3, 2]), [4, 2])
  assert.deepEqual(revert([1, 2, 3], [1, 3], [1, 3]), [1, 2, 3])
  assert.deepEqual(revert([1, 2, 3], [1, 3], [4, 3]), [2, 4, 3])
  assert.deepEqual(revert([1, 2, 3], [], [4]), [1, 2, 3, 4])
})

test('changes nothing if the list is as it was before', () => {
  assert.deepEqual(revert([1, 2], [1, 3], [1, 2]), [1, 2])
  assert.deepEqual(revert([1, 2], [2, 1], [1, 2]), [1, 2])
  // The names of the entities changed, not the entities.
  assert.deepEqual(revert([1, 2], [1, 2], [2, 5]), [2, 5])
})

test('returns the old order, unless the list was reordered since', () => {
  assert.deepEqual(revert([1, 2, 3], [3, 2, 1], [3, 4, 2, 1]), [1, 4, 2, 3])
  assert.deepEqual(revert([1, 2, 3], [3, 2, 1], [3, 1]), [1, 3])
  assert.equal(revert([1, 2, 3], [3, 2, 1], [2, 3, 1]), undefined)
  // This change did not reorder it.
  assert.deepEqual(revert([1, 2, 3], [1, 2, 3, 4], [3, 4, 2, 1]), [3, 2, 1])
})

test('does not make a list too long', () => {
  const range = (from: number, length: number) => Array.from({ length }, (_, index) => from + index)
  assert.equal(revert(range(1, 60), [], range(100, maxNames - 60))?.length, maxNames)
  assert.equal(revert(range(1, 60), [], range(100, maxNames - 59)), undefined)
})

test('any lists: only what the change added and removed differs', () => {
  const list = fc.shuffledSubarray([1, 2, 3, 4, 5, 6])
  fc.assert(
    fc.property(list, list, list, (before, after, current) => {
      assert.deepEqual(revert(before, after, after), before, 'the latest change')
      const reverted = revert(before, after, current)
      const inAll = (id: number) => [before, after, current].every((ids) => ids.includes(id))
      const [old, made, now] = [before, after, current].map((ids) => String(ids.filter(inAll)))
      if (!reverted) return assert.ok(old !== made && made !== now && old !== now)
      const expected = new Set(current)
      for (const id of after) if (!before.includes(id)) expected.delete(id)
      for (const id of before) if (!after.includes(id)) expected.add(id)
      assert.deepEqual([...reverted].sort(), [...expected].sort())
      if (old === made) {
        const stays = (id: number) => current.includes(id) && expected.has(id)
        assert.deepEqual(reverted.filter(stays), current.filter(stays), 'the order of the others')
      }
      assert.deepEqual(revert(before, after, reverted), reverted, 'a second time')
    }),
    { numRuns: 20_000, seed: 20_261_117 },
  )
})
