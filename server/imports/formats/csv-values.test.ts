import assert from 'node:assert/strict'
import { test } from 'node:test'
import { collectHints, needsHints, readDay, readSeconds } from './csv-values.ts'

function findHints(dates: readonly string[], durations: readonly string[]) {
  const collector = collectHints()
  for (const date of dates) collector.add(date, '')
  for (const duration of durations) collector.add('', duration)
  return collector.hints()
}

const none = findHints([], [])

test('reads days as people write them', () => {
  for (const cell of [
    '2026-05-01',
    ' 2026/5/1 ',
    '2026-05-01 10:30',
    '2026-05-01T10:30:00Z',
    '01.05.2026',
    '1. 5. 2026',
    '1 May 2026',
    '1st of May 2026',
    '1. Mai 2026',
    '1 de mayo de 2026',
    'May 1 2026',
    'may 1st, 2026',
  ])
    assert.equal(readDay(cell, none), '2026-05-01', cell)
  assert.equal(readDay('Sept. 3, 2026', none) ?? readDay('Sep. 3, 2026', none), '2026-09-03')
  assert.equal(readDay('3 août 2026', none), '2026-08-03')
  for (const cell of [
    '',
    'soon',
    '31.02.2026',
    '2026-13-01',
    '1 Foo 2026',
    '01.05.26',
    '13/13/2026',
  ])
    assert.equal(readDay(cell, none), undefined, cell)
})

test('reads 05/01/2026 only if another date of the file makes it clear', () => {
  assert.equal(readDay('05/01/2026', none), 'ambiguous')
  assert.equal(readDay('05/05/2026', none), '2026-05-05')
  assert.equal(readDay('05/13/2026', none), '2026-05-13')
  assert.equal(readDay('05/01/2026', findHints(['05/13/2026'], [])), '2026-05-01')
  assert.equal(readDay('05/01/2026', findHints(['13/05/2026'], [])), '2026-01-05')
  assert.equal(readDay('05/01/2026', findHints(['13/05/2026', '05/13/2026'], [])), 'ambiguous')
})

test('reads durations as people write them', () => {
  const cases: [string, number | undefined][] = [
    ['2700', 2700],
    ['45 min', 2700],
    ['45m', 2700],
    ["45'", 2700],
    ['45 minutes', 2700],
    ['1h 05m', 3900],
    ['1 h 5 min', 3900],
    ['1h05', 3900],
    ['1 hour', 3600],
    ['2 hours 30 minutes', 9000],
    ['1:05:00', 3900],
    ['75:30', 4530],
    ['1:00', 60],
    ['PT45M', 2700],
    ['PT1H5M', 3900],
    ['pt90s', 90],
    ['90 sec', 90],
    ['', undefined],
    ['long', undefined],
    ['PT', undefined],
    ['1:75:00', undefined],
    ['1:99', undefined],
    ['-5', undefined],
    ['1.5 h', undefined],
    ['9'.repeat(30), undefined],
  ]
  for (const [cell, seconds] of cases) assert.equal(readSeconds(cell, none), seconds, cell)
})

test('waits for other rows only if a cell can be read in two ways', () => {
  assert.ok(needsHints('05/01/2026', ''))
  assert.ok(needsHints('', '1:05'))
  assert.ok(!needsHints('05/13/2026', '45:00'))
  assert.ok(!needsHints('2026-05-01', '1:05:00'))
})

test('reads 0:45 as minutes if the column has hours and minutes', () => {
  const hints = findHints([], ['00:45', '1:05', '0:30'])
  assert.deepEqual([readSeconds('00:45', hints), readSeconds('1:05', hints)], [2700, 3900])
  assert.equal(readSeconds('00:45', findHints([], ['00:45', '25:30'])), 45)
})
