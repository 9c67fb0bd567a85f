import assert from 'node:assert/strict'
import { test } from 'node:test'
import { titleLikeness } from './likeness.ts'

const title = 'Ten years of tiny queues'
const context = ['Ada Lovelace', 'Example Days 2026']

test('titles with the same words are alike, whatever is around them', () => {
  for (const other of [
    title,
    'TEN YEARS OF TINY QUEUES!',
    'Ada Lovelace - Ten years of tiny queues | Example Days 2026',
    'Ten yéars of tiny queue',
    'Tiny queues of ten years',
  ]) {
    assert.ok(titleLikeness(title, other, context) >= 0.9, other)
    assert.equal(titleLikeness(other, title, context), titleLikeness(title, other, context))
  }
  assert.ok(titleLikeness('在 Python 中使用队列', '在Python中使用队列', []) >= 0.9)
})

test('other titles are not alike, nor is another part of a talk', () => {
  for (const other of [
    'Eleven years of tiny queues',
    'Ten years of tiny queues and what came after them',
    'Queues',
    'Grace Hopper - Ten years of tiny queues - Other Days',
    '',
  ])
    assert.ok(titleLikeness(title, other, context) < 0.9, other)
  const long = 'A long introduction to asynchronous programming with queues and many workers'
  assert.equal(titleLikeness(`${long}, part 1`, `${long}, part 2`, []), 0)
  assert.equal(titleLikeness(`${long} (2026)`, long, ['Example Days 2026']), 1)
  assert.equal(titleLikeness('Ada Lovelace', 'Example Days', context), 0)
  assert.equal(titleLikeness('', '', []), 0)
})
