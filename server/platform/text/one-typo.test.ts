import assert from 'node:assert/strict'
import { test } from 'node:test'
import { matchesWithTypo } from './one-typo.ts'

test('accepts one wrong, missing, additional or exchanged letter', () => {
  for (const typed of ['raymond', 'raymnd', 'raymomd', 'raymoond', 'raymnod'])
    assert.ok(matchesWithTypo(typed, 'raymond', false), typed)
  for (const typed of ['raynomd', 'rayond', 'raym', 'aymnd'])
    assert.equal(matchesWithTypo(typed, 'raymond', false), typed === 'rayond', typed)
})

test('accepts the beginning of a word with one typo', () => {
  for (const typed of ['hett', 'hetin', 'hettti', 'hettnig', 'hattin'])
    assert.ok(matchesWithTypo(typed, 'hettinger', true), typed)
  for (const typed of ['hxxt', 'httngr'])
    assert.ok(!matchesWithTypo(typed, 'hettinger', true), typed)
})

test('accepts no typo in short words', () => {
  assert.ok(!matchesWithTypo('fop', 'foo', false))
  assert.ok(matchesWithTypo('foo', 'foo', false))
})
