import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countWords, joinWords, withoutLastCharacters } from './unspaced.ts'

test('joins the pairs of a run of characters, and counts the run as a word', () => {
  const words = ['python', '人工', '工知', '知能', '能', '入門']
  assert.equal(joinWords(words), 'python 人工知能 入門')
  assert.equal(countWords(words), 3)
  const kept = withoutLastCharacters(words.map((word) => ({ word })))
  assert.deepEqual(
    kept.map(({ word }) => word),
    ['python', '人工', '工知', '知能', '入門'],
  )
  assert.equal(joinWords(['サー', 'ーバ', 'バー', 'ー']), 'サーバー')
  assert.equal(joinWords(['猫']), '猫')
})
