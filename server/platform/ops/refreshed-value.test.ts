import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openRefreshedValue } from './refreshed-value.ts'

/** Opens a value that is refreshed by each read and counts up, until it fails. */
function openCount(maxStaleMs: number) {
  const errors: unknown[] = []
  let count = 0
  let isFailing = false
  const compute = async () => {
    if (isFailing) throw new Error('failed')
    return ++count
  }
  const value = openRefreshedValue(compute, {
    ...{ maxAgeMs: 0, maxStaleMs },
    onError: (error) => errors.push(error),
  })
  return { value, errors, fail: () => (isFailing = true) }
}

test('a stale value is returned while it is refreshed', async () => {
  const { value } = openCount(3_600_000)
  assert.deepEqual([await value.read(), await value.read()], [1, 1])
})

test('a read waits for the refresh of a value that is very old', async () => {
  const { value, errors, fail } = openCount(0)
  assert.deepEqual([await value.read(), await value.read()], [1, 2])
  fail()
  assert.equal(await value.read(), 2)
  assert.equal(errors.length, 1)
})
