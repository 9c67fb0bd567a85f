import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type ImportNote, InputRefused, type ParsedItem } from '../item.ts'
import {
  firstKeys,
  joinTitle,
  limitItems,
  presentFields,
  readDate,
  readJson,
  readNames,
  readTrimmedText,
  readUrl,
} from './text.ts'

test('reads a day in all common formats', () => {
  assert.equal(readDate('20310502'), '2031-05-02')
  assert.equal(readDate(20310502), '2031-05-02')
  assert.equal(readDate('2031-05-02'), '2031-05-02')
  assert.equal(readDate('2031-05-02T00:30:00+02:00'), '2031-05-02')
  for (const invalid of [
    '20310231',
    '2031-13-01',
    'May 2031',
    '203105021',
    '',
    null,
    {},
    '00000000',
  ])
    assert.equal(readDate(invalid), undefined)
})

test('converts a timestamp in UTC to the time zone of the event', () => {
  assert.equal(readDate('2030-09-08T01:30:00Z', 'America/New_York'), '2030-09-07')
  assert.equal(readDate('2030-09-07T23:30:00+00:00', 'Europe/Berlin'), '2030-09-08')
  assert.equal(readDate('2030-09-08T01:30:00+02:00', 'America/New_York'), '2030-09-08')
  assert.equal(readDate('2030-09-08T01:30:00Z', 'Nowhere/Atall'), '2030-09-08')
  assert.equal(readDate('2030-09-08T99:30:00Z', 'Europe/Berlin'), '2030-09-08')
})

test('reads only http and https URLs', () => {
  assert.equal(readUrl(' https://example.org/a '), 'https://example.org/a')
  assert.equal(readUrl('/slides.pdf', 'https://example.org/x/'), 'https://example.org/slides.pdf')
  assert.equal(readUrl('//example.com/a', 'https://example.org/'), 'https://example.com/a')
  for (const invalid of [
    'javascript:alert(1)',
    'data:text/html,x',
    'mailto:a@example.org',
    '',
    null,
    'https://a b',
  ]) {
    assert.equal(readUrl(invalid, 'https://example.org/'), undefined)
  }
  assert.equal(readUrl('/slides.pdf'), undefined)
  assert.equal(readUrl('/slides.pdf', 'file:///etc/'), undefined)
})

test('reads the English text of several languages, or the first', () => {
  assert.equal(readTrimmedText({ de: 'Praxis', en: ' Practice ' }), 'Practice')
  assert.equal(readTrimmedText({ de: 'Praxis', fr: 'Pratique' }), 'Praxis')
  assert.equal(readTrimmedText(7), '7')
  for (const invalid of [null, undefined, true, [], {}, { en: 3 }])
    assert.equal(readTrimmedText(invalid), '')
})

test('drops empty names, with a note', () => {
  const notes: ImportNote[] = []
  assert.deepEqual(readNames([' Ada ', '', null, 'Bo'], 'speakers', notes), ['Ada', 'Bo'])
  assert.deepEqual(notes, [{ kind: 'dropped', field: 'speakers', detail: 'had 2 empty names' }])
  assert.equal(readNames('Ada', 'speakers', notes), undefined)
})

test('appends the subtitle to the title if both fit', () => {
  const notes: ImportNote[] = []
  assert.equal(joinTitle('Boats', 'a guide', notes).title, 'Boats: a guide')
  assert.equal(joinTitle('Boats?', 'A guide', notes).title, 'Boats? A guide')
  assert.deepEqual(
    notes.map(({ kind }) => kind),
    ['repaired', 'repaired'],
  )
  assert.deepEqual(joinTitle('Boats', '', []), { title: 'Boats', isWhole: true })
  assert.deepEqual(joinTitle('Boats: a guide', 'a guide', []), {
    title: 'Boats: a guide',
    isWhole: true,
  })
  assert.deepEqual(joinTitle('Boats', 's'.repeat(248), []).isWhole, true)
  assert.deepEqual(joinTitle('Boats', 's'.repeat(249), notes), { title: 'Boats', isWhole: false })
  assert.equal(notes.at(-1)?.kind, 'dropped')
})

test('removes empty texts and lists', () => {
  assert.deepEqual(
    presentFields({ title: 'x', summary: '', tags: [], speakers: undefined, duration: 0 }),
    { title: 'x', duration: 0 },
  )
})

test('refuses invalid JSON, with its location', () => {
  assert.deepEqual(readJson('a.json', '\uFEFF{"a":1}'), { a: 1 })
  assert.throws(
    () => readJson('a.json', '{"a":\n  "b'),
    (error: Error) =>
      error instanceof InputRefused && /^a\.json .*line 2 column/.test(error.message),
  )
  assert.throws(() => readJson('a.json', '{"a": <html>'), /a\.json is not valid JSON: .*<html>/)
})

test('refuses a file with too many talks', () => {
  function* endless(): Generator<ParsedItem> {
    for (;;) yield { place: '', unreadable: '' }
  }
  let count = 0
  assert.throws(() => {
    for (const _ of limitItems('big.json', endless())) count++
  }, /big\.json has more than 200000 talks/)
  assert.equal(count, 200_000)
})

test('finds the keys of the first object only', () => {
  assert.deepEqual(
    [...firstKeys('{"a": {"b": 1}, "c": [{"d": "\\"e\\": {"}], "f": 1} {"g": 1}')],
    ['a', 'c', 'f'],
  )
  assert.deepEqual([...firstKeys('\uFEFF [ {"a": 1}, {"b": 1} ]')], ['a'])
  assert.deepEqual([...firstKeys('{"a":1}\n{"b":1}')], ['a'])
  assert.deepEqual([...firstKeys('{"a": "cut off \\"b\\": {\\"c\\": ')], ['a'])
  for (const invalid of ['', 'a,b\n"{""x"": 1}",2', '<a b="{">', '"a": 1', '[]', '[1, 2]'])
    assert.deepEqual([...firstKeys(invalid)], [])
})

test('finds the keys wherever the text is cut off', () => {
  const objects = fc.dictionary(fc.stringMatching(/^[a-z]{1,6}$/), fc.jsonValue({ maxDepth: 3 }), {
    minKeys: 1,
  })
  fc.assert(
    fc.property(objects, fc.double({ min: 0, max: 1, noNaN: true }), (object, fraction) => {
      const text = JSON.stringify(object)
      assert.deepEqual([...firstKeys(text)], Object.keys(object))
      const cut = [...firstKeys(text.slice(0, text.length * fraction))]
      assert.deepEqual(cut, Object.keys(object).slice(0, cut.length))
    }),
  )
})
