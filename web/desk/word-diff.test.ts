import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type DiffPart, diffWords } from './word-diff.ts'

const later = () => performance.now() + 10_000
const notation: Record<DiffPart['kind'], (text: string) => string> = {
  same: (text) => text,
  added: (text) => `{+${text}+}`,
  removed: (text) => `{-${text}-}`,
  omitted: () => '…',
}
const show = (parts: readonly DiffPart[]) =>
  parts.map(({ kind, text }) => notation[kind](text)).join('')
const diff = (before: string, after: string) => show(diffWords(before, after, later()))

test('marks the words that differ', () => {
  assert.equal(diff('A talk on queues', 'A talk on stacks'), 'A talk on {-queues-}{+stacks+}')
  assert.equal(diff('one two', 'one 2 two'), 'one {+2 +}two')
  assert.equal(diff('', 'new'), '{+new+}')
  assert.equal(diff('old', ''), '{-old-}')
  assert.equal(diff('same', 'same'), 'same')
  assert.equal(diff('a\nb', 'a\n\nb'), 'a\n{+\n+}b')
})

test('leaves out unchanged text that is far from a difference', () => {
  const long = 'word '.repeat(20_000)
  const shown = diff(`${long}one ${long}`, `${long}two ${long}`)
  assert.match(shown, /^…[word ]{80}\{-one-\}\{\+two\+\}[word ]{80}…$/)
})

test('shows both texts if their difference is too long, and not all of it', () => {
  const shown = diffWords('abc'.repeat(20_000), 'xyz'.repeat(20_000), later())
  assert.deepEqual(
    shown.map(({ kind, text }) => [kind, text.length]),
    [
      ['removed', 1500],
      ['omitted', 0],
      ['added', 1500],
      ['omitted', 0],
    ],
  )
  const expired = diffWords('a b c', 'x b y', performance.now() - 1)
  assert.equal(show(expired), '{-a b c-}{+x b y+}')
})

test('does not search for equal words in texts with many different ones', () => {
  const words = (count: number, letter: string) =>
    Array.from({ length: count }, (_, index) => `${letter}${index} and`).join(' ')
  const kindsOf = (count: number) =>
    diffWords(words(count, 'a'), words(count, 'b'), later()).map(({ kind }) => kind)
  assert.equal(kindsOf(50).filter((kind) => kind === 'same').length, 50)
  assert.deepEqual(new Set(kindsOf(200).slice(0, -1)), new Set(['removed', 'omitted', 'added']))
})

test('any texts: contains both of them', () => {
  const text = fc
    .array(fc.constantFrom('a', 'b', 'é', '😀', '漢', ' ', '\n', '.'))
    .map((it) => it.join(''))
  fc.assert(
    fc.property(text, text, (before, after) => {
      const parts = diffWords(before, after, later())
      const without = (kind: DiffPart['kind']) =>
        parts.map((part) => (part.kind === kind ? '' : part.text)).join('')
      assert.equal(without('added'), before)
      assert.equal(without('removed'), after)
      for (const part of parts) assert.ok(part.text.isWellFormed())
    }),
    { numRuns: 5000, seed: 20_261_117 },
  )
})
