import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hashToken, isWellFormedToken, makeToken } from './token.ts'

test('tokens are different, well-formed, and a changed character shows', () => {
  const made = Array.from({ length: 500 }, makeToken)
  assert.equal(new Set(made).size, 500)
  for (const token of made) {
    assert.match(token, /^talkshelf_[0-9A-Za-z]{49}$/)
    assert.ok(isWellFormedToken(token))
    const at = 10 + (token.charCodeAt(12) % 43)
    const other = token[at] === 'x' ? 'y' : 'x'
    assert.ok(!isWellFormedToken(token.slice(0, at) + other + token.slice(at + 1)))
  }
  assert.ok(!isWellFormedToken(''))
  assert.equal(hashToken('x').length, 32)
})
