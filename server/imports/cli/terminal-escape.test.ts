import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  escapeJson,
  escapeLine,
  escapeLines,
  formatValue,
  shortenAroundDifference,
  truncate,
} from './terminal-escape.ts'

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

test('formats the values of fields', () => {
  assert.equal(formatValue('state', 2), 'draft')
  assert.equal(
    formatValue('speakers', ['Ann Example', 'Bob\x1b Example']),
    'Ann Example; Bob\\u001b Example',
  )
  assert.equal(formatValue('summary', null), '')
  assert.equal(formatValue('duration', 60), '60')
})

test('shortens long texts around their difference, within the limit', () => {
  const long = 'the river is wide and the bridge is long, '.repeat(20)
  const [old, now] = shortenAroundDifference(`${long}red${long}`, `${long}blue${long}`, 80)
  assert.match(old, /^….*long, red.*…$/)
  assert.match(now, /^….*long, blue.*…$/)
  // If little follows the difference, more is shown in front of it.
  assert.equal([...shortenAroundDifference(`${long}x`, `${long}y`, 60)[0]].length, 61)
  assert.deepEqual(shortenAroundDifference('short', '', 40), ['short', ''])
  assert.equal(truncate('🤖'.repeat(10), 5), '🤖🤖🤖🤖…')
  fc.assert(
    fc.property(
      fc.string({ maxLength: 200, unit: 'grapheme' }),
      fc.string({ maxLength: 200, unit: 'grapheme' }),
      fc.string({ maxLength: 100 }),
      (a, b, common) => {
        const [one, other] = [`${common}${a}${common}`, `${common}${b}${common}`]
        const cut = shortenAroundDifference(one, other, 50)
        for (const text of cut) assert.ok([...text].length <= 52, text)
        if (one !== other && [...a].length < 25 && [...b].length < 25)
          assert.notEqual(cut[0], cut[1])
      },
    ),
  )
})
