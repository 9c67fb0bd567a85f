import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { escapeJson, escapeLine, escapeLines } from './terminal-escape.ts'

const texts = fc.string({
  unit: fc.oneof(
    fc.constantFrom('\x1b', '\x07', '\x9b', '\n', '\r', '\u202e', '\u2028', '\t', '\x7f'),
    fc.string(),
  ),
})
const unsafe = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u

test('escapes control characters, line breaks and bidirectional overrides', () => {
  assert.equal(
    escapeLine('\x1b]0;owned\x07\x1b[31mred\nnext'),
    '\\u001b]0;owned\\u0007\\u001b[31mred\\nnext',
  )
  assert.equal(escapeLine('Čapek: R.U.R. 🤖 “ok”'), 'Čapek: R.U.R. 🤖 “ok”')
  assert.equal(escapeLines('one\ntwo\x1b[2J'), 'one\ntwo\\u001b[2J')
  fc.assert(
    fc.property(texts, (text) => {
      assert.doesNotMatch(escapeLine(text), unsafe)
      assert.doesNotMatch(escapeJson({ [text]: [text] }), unsafe)
      assert.deepEqual(JSON.parse(escapeJson({ [text]: [text] })), { [text]: [text] })
    }),
  )
})
