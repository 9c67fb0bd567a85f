import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isPlaceholderName, jumpList } from './initials.ts'

const labels = (characters: string) => jumpList([...characters]).map(({ label }) => label)

test('lists the initials of every script, and only those that names have', () => {
  assert.deepEqual(labels('"0@acz'), ['#', 'A', 'C', 'Z'])
  assert.deepEqual(labels('aбя'), ['A', 'Б', 'Я'])
  assert.deepEqual(labels('אم'), ['א', 'م'])
  assert.deepEqual(labels(''), [])
})

test('lists a script with many initials as one entry that starts at its first one', () => {
  const han = Array.from({ length: 60 }, (_, index) => String.fromCodePoint(0x4e00 + index))
  const [first = '', last = ''] = [han[0], han.at(-1)]
  assert.deepEqual(jumpList(['b', ...han, '강']), [
    { label: 'B', character: 'b' },
    { label: `${first}–${last}`, character: first },
    { label: '강', character: '강' },
  ])
})

test('recognises names that stand for people who are not named', () => {
  for (const name of ['Various speakers', 'various', 'Multiple Speakers', ' TBA ', 'N/A'])
    assert.equal(isPlaceholderName(name), true, name)
  for (const name of ['Panel Wójcik', 'Various Varga', 'Anonymous Coward', 'Ada', ''])
    assert.equal(isPlaceholderName(name), false, name)
})
