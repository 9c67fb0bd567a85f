import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { translateError, Unavailable } from './db.ts'

const errorWith = (fields: Partial<pg.DatabaseError>) =>
  Object.assign(new pg.DatabaseError('message', 7, 'error'), fields)

test('the outcome of a write is unknown if the server may have written its commit', () => {
  for (const [fields, outcome] of [
    [{ code: '58030', severity: 'PANIC', file: 'xlog.c' }, 'unknown'],
    [{ code: '53100', severity: 'PANIK', file: 'xlog.c' }, 'unknown'],
    [{ code: '57P01', severity: 'FATAL', file: 'postgres.c' }, 'unknown'],
    [{ code: '53100', severity: 'ERROR', file: 'md.c' }, 'not-applied'],
    [{ code: '40P01', severity: 'ERROR', file: 'deadlock.c' }, 'not-applied'],
  ] as const) {
    const error = translateError(errorWith(fields), 'unknown')
    assert.ok(error instanceof Unavailable)
    assert.equal(error.outcome, outcome, JSON.stringify(fields))
    const read = translateError(errorWith(fields), 'not-applied') as Unavailable
    assert.equal(read.outcome, 'not-applied')
  }
})
