import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { formatValue, shortenAroundDifference, truncate } from './values.ts'

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
