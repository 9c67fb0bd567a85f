import assert from 'node:assert/strict'
import { test } from 'node:test'
import { warningsAbout } from './warnings.ts'

const now = new Date('2026-11-16T22:00:00Z')
const codes = (fields: Parameters<typeof warningsAbout>[0], isNew = false) =>
  warningsAbout(fields, isNew, now).map(({ code }) => code)

test('warns about days in the future or before 1900, and about a missing day of a new talk', () => {
  assert.deepEqual(codes({ recorded: '2062-05-01' }), ['future-date'])
  assert.deepEqual(codes({ recorded: '2026-11-18' }), ['future-date'])
  assert.deepEqual(codes({ recorded: '2026-11-17' }), [])
  assert.deepEqual(codes({ recorded: '1899-12-31' }), ['old-date'])
  assert.deepEqual(codes({ recorded: '1900-01-01' }), [])
  assert.deepEqual(codes({}), [])
  assert.deepEqual(codes({}, true), ['missing-date'])
  assert.deepEqual(codes({ recorded: null }, true), ['missing-date'])
})

test('warns about implausible durations', () => {
  assert.deepEqual(codes({ duration: 30 }), ['short-duration'])
  assert.deepEqual(codes({ duration: 21_601 }), ['long-duration'])
  for (const duration of [null, 0, 59, 60, 2700, 21_600]) assert.deepEqual(codes({ duration }), [])
})

test('warns about several people in one name, but not about titles and names in two scripts', () => {
  const several = [
    'Ann Other, Bob Second',
    'Ann and Bob',
    'A & B',
    'Ann; Bob',
    'Joe Miller / Kim Park',
    'Chu, Hua-Rong',
    'Carine-Belle + Yonatan',
    'Federico Martinez y Santiago Avendaño',
    'Kim Jong-min, Park Yu-na, Hwang Han-gyeol',
  ]
  for (const name of several) assert.deepEqual(codes({ speakers: [name] }), ['several-names'], name)
  const single = [
    'Richard D. Copeland, Jr.',
    'Aaron Hall, MBA',
    'Takahiro Ikeuchi / 池内 孝啓',
    'Anthony I Joseph',
    'Antoni Viros i Martin',
    'Sandra Anderson',
    'José Ortega y Gasset',
  ]
  for (const name of single) assert.deepEqual(codes({ speakers: [name] }), [], name)
})
