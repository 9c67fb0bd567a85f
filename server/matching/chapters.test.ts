import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readChapters, secondsOf } from './chapters.ts'

test('reads chapters with the time before or after the title', () => {
  const lines: readonly (readonly [string, string, number, number | null])[] = [
    ['0:00 Hello', 'Hello', 0, null],
    ['04:30 - 47:27 Rivers - Ana', 'Rivers - Ana', 270, 2847],
    ['(1:02:03) Rivers', 'Rivers', 3723, null],
    ['[04:30–47:27] Rivers', 'Rivers', 270, 2847],
    ['• 75:00 to 76:05: Rivers', 'Rivers', 4500, 4565],
    ['3. 12:30 Rivers', 'Rivers', 750, null],
    ['Rivers and dams: 12:30', 'Rivers and dams', 750, null],
    ['Rivers by Ana (12:30-13:00)', 'Rivers by Ana', 750, 780],
  ]
  for (const [line, title, startSeconds, endSeconds] of lines)
    assert.deepEqual(readChapters(line), [{ title, startSeconds, endSeconds }], line)
})

test('ignores lines without a time or without a title', () => {
  assert.deepEqual(readChapters('Hello\n12:30\nPython 3.11\n\nhttps://example.org/a:b'), [])
})

test('sorts chapters, and bounds the list', () => {
  assert.deepEqual(
    readChapters('2:00 b\r\n1:00 a').map(({ title }) => title),
    ['a', 'b'],
  )
  assert.equal(readChapters('1:00 a\n'.repeat(2000)).length, 500)
})

test('converts time codes', () => {
  assert.deepEqual(['4:30', '75:00', '1:15:45'].map(secondsOf), [270, 4500, 4545])
})
