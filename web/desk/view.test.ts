import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatAge } from './view.ts'

test('formats ages in the largest unit', () => {
  const now = new Date('2026-05-01T12:00:00Z')
  const ageOf = (time: string, locale = 'en') => formatAge(locale, new Date(time), now)
  assert.equal(ageOf('2026-05-01T11:59:30Z'), 'this minute')
  assert.equal(ageOf('2026-05-01T11:58:30Z'), '1 minute ago')
  assert.equal(ageOf('2026-05-01T09:30:00Z'), '2 hours ago')
  assert.equal(ageOf('2026-04-30T11:00:00Z'), 'yesterday')
  assert.equal(ageOf('2026-03-01T00:00:00Z'), '2 months ago')
  assert.equal(ageOf('2020-01-01T00:00:00Z'), '6 years ago')
  assert.equal(ageOf('2026-05-04T13:00:00Z'), 'in 3 days')
  assert.equal(ageOf('2026-05-04T13:00:00Z', 'es'), 'dentro de 3 días')
})
