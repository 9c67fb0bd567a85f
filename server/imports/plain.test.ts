import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { beginning, plain, plainJson, plainLines, shortened, valueShown } from './plain.ts'

const words = fc.string({
  unit: fc.oneof(fc.constantFrom('\x1b', '\x07', '\x9b', '\n', '\r', '\u202e', '\u2028', '\t', '\x7f'), fc.string()),
})
const moves = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u

test('nothing that others wrote moves the cursor, rings a bell or begins a line', () => {
  assert.equal(plain('\x1b]0;owned\x07\x1b[31mred\nnext'), '\\u001b]0;owned\\u0007\\u001b[31mred\\nnext')
  assert.equal(plain('Čapek: R.U.R. 🤖 “ok”'), 'Čapek: R.U.R. 🤖 “ok”')
  assert.equal(plainLines('one\ntwo\x1b[2J'), 'one\ntwo\\u001b[2J')
  fc.assert(
    fc.property(words, (text) => {
      assert.doesNotMatch(plain(text), moves)
      assert.doesNotMatch(plainJson({ [text]: [text] }), moves)
      assert.deepEqual(JSON.parse(plainJson({ [text]: [text] })), { [text]: [text] })
    }),
  )
})

test('what a field holds is told in words', () => {
  assert.equal(valueShown('state', 2), 'draft')
  assert.equal(valueShown('speakers', ['Ann Example', 'Bob\x1b Example']), 'Ann Example; Bob\\u001b Example')
  assert.equal(valueShown('summary', null), '')
  assert.equal(valueShown('duration', 60), '60')
})

test('a long text is cut around what differs, and never more is shown than there is room for', () => {
  const long = 'the river is wide and the bridge is long, '.repeat(20)
  const [old, now] = shortened(`${long}red${long}`, `${long}blue${long}`, 80)
  assert.match(old, /^….*long, red.*…$/)
  assert.match(now, /^….*long, blue.*…$/)
  // With little behind the difference, more of what goes before has room.
  assert.equal([...shortened(`${long}x`, `${long}y`, 60)[0]].length, 61)
  assert.deepEqual(shortened('short', '', 40), ['short', ''])
  assert.equal(beginning('🤖'.repeat(10), 5), '🤖🤖🤖🤖…')
  fc.assert(
    fc.property(
      fc.string({ maxLength: 200, unit: 'grapheme' }),
      fc.string({ maxLength: 200, unit: 'grapheme' }),
      fc.string({ maxLength: 100 }),
      (a, b, common) => {
        const [one, other] = [`${common}${a}${common}`, `${common}${b}${common}`]
        const cut = shortened(one, other, 50)
        for (const text of cut) assert.ok([...text].length <= 52, text)
        if (one !== other && [...a].length < 25 && [...b].length < 25) assert.notEqual(cut[0], cut[1])
      },
    ),
  )
})
