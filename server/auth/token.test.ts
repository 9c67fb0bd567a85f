import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hashSecret } from './secret.ts'
import { isWellFormedToken, makeToken } from './token.ts'

test('generates unique well-formed tokens and detects a changed character', () => {
  const tokens = Array.from({ length: 500 }, makeToken)
  assert.equal(new Set(tokens).size, 500)
  for (const token of tokens) {
    assert.match(token, /^talkshelf_[0-9A-Za-z]{49}$/)
    assert.ok(isWellFormedToken(token))
    const index = 10 + (token.charCodeAt(12) % 43)
    const other = token[index] === 'x' ? 'y' : 'x'
    assert.ok(!isWellFormedToken(token.slice(0, index) + other + token.slice(index + 1)))
  }
  assert.ok(!isWellFormedToken(''))
  assert.equal(hashSecret('x').length, 32)
})
