import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Problem } from '@talkshelf/contract'
import type { MatchInput } from '../matching/matching.ts'
import { openMatcher } from './matcher.ts'

const words = ['river', 'stone', 'cloud', 'garden', 'letter', 'window', 'music', 'engine', 'paper']
const titleOf = (index: number) =>
  [index, index * 7, index * 31].map((seed) => `${words[seed % words.length]} ${seed}`).join(' ')

function inputOf(count: number): MatchInput {
  const indexes = Array.from({ length: count }, (_, index) => index)
  return {
    event: 'Tidal Days',
    talks: indexes.map((index) => ({
      key: `t${index}`,
      title: titleOf(index),
      speakers: [`Speaker ${index}`],
    })),
    recordings: indexes.map((index) => ({
      key: `r${index}`,
      title: `Speaker ${index}: ${titleOf(index)}`,
    })),
  }
}

test('pairs in a thread, while the process goes on', async () => {
  const matcher = openMatcher()
  let turns = 0
  const timer = setInterval(() => turns++, 1)
  const result = await matcher(inputOf(300))
  clearInterval(timer)
  assert.equal(result.talks.filter(({ band }) => band === 'sure').length, 300)
  assert.ok(turns > 5, `${turns} turns of the event loop`)
})

test('ends a match that takes too long, and pairs the next one', async () => {
  const slow = openMatcher(1)
  const isRefused = (error: unknown) =>
    error instanceof Problem && error.problem === 'import-refused'
  await assert.rejects(slow(inputOf(1000)), isRefused)
  const results = await Promise.allSettled([slow(inputOf(1000)), slow(inputOf(1000))])
  for (const result of results)
    assert.ok(result.status === 'rejected' && isRefused(result.reason), JSON.stringify(result))
  const matcher = openMatcher()
  const [first, second] = await Promise.all([matcher(inputOf(3)), matcher(inputOf(4))])
  assert.deepEqual([first?.talks.length, second?.talks.length], [3, 4])
})

test('too many waiting matches are refused', async () => {
  const matcher = openMatcher()
  const results = await Promise.allSettled(Array.from({ length: 20 }, () => matcher(inputOf(2))))
  const refused = results.filter(({ status }) => status === 'rejected')
  assert.equal(refused.length, 3)
})
