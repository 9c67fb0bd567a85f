import assert from 'node:assert/strict'
import { test } from 'node:test'
import { durationDoubt, isPlausibleDuration, longestTalkSeconds } from './durations.ts'

test('six hours are the longest plausible duration', () => {
  assert.equal(longestTalkSeconds, 21_600)
  assert.equal(isPlausibleDuration(21_600), true)
  assert.equal(isPlausibleDuration(21_601), false)
  assert.equal(durationDoubt(21_600), undefined)
  assert.equal(durationDoubt(3_060_760), 'long')
})

test('a very short or round duration below a minute is probably in minutes', () => {
  for (const minutes of [1, 7, 26, 30, 45, 55]) assert.equal(durationDoubt(minutes), 'short')
  for (const seconds of [0, 31, 54, 59, 60, 61, 75]) assert.equal(durationDoubt(seconds), undefined)
})
