import assert from 'node:assert/strict'
import { test } from 'node:test'
import { partsOf, phasesOf, yearsOf } from './title-numbers.ts'
import { titleFingerprint, wordsOf } from './words.ts'

const textsOf = (title: string) => wordsOf(title).map(({ text }) => text)

test('folds words as the search does', () => {
  assert.deepEqual(textsOf('C++ and C# on .NET, Python 3.11.2'), [
    'cplusplus',
    'and',
    'csharp',
    'on',
    'dotnet',
    'python',
    '3dot11',
    '2',
  ])
  assert.deepEqual(textsOf("Don't Łukasz Straße Ｐｙ"), ['dont', 'lukasz', 'strasse', 'py'])
  assert.deepEqual(textsOf('한국어'.normalize('NFD')), ['한국', '국어'])
  assert.deepEqual(textsOf('RBSと型のRails 🌊 …'), ['rbs', 'と型', '型の', 'rails'])
})

test('says where a word stands', () => {
  const title = 'Ørsted, 川の流れ'
  assert.deepEqual(
    wordsOf(title).map(({ start, end }) => title.slice(start, end)),
    ['Ørsted', '川の', 'の流', '流れ'],
  )
})

test('identifies a title by its words', () => {
  assert.equal(titleFingerprint('Why dams fail!'), titleFingerprint('why  Dams: fail'))
  assert.notEqual(titleFingerprint('Why dams fail'), titleFingerprint('Why dams fall'))
})

test('finds parts, years, and when in the event a session is', () => {
  for (const title of [
    'X #2',
    'X PT.2',
    'X (Part II)',
    'X (2/3)',
    'X, day 2',
    'X Day2',
    'X part two',
  ])
    assert.deepEqual([...partsOf(title)], ['2'], title)
  for (const title of ['X', 'Python 2', 'Web 2.0', 'II'])
    assert.equal(partsOf(title).size, 0, title)
  assert.deepEqual([...yearsOf('X 2026, 12026, 1850')], ['2026'])
  assert.deepEqual([...phasesOf('Closing on Friday')], ['closing', 'friday'])
})
