import assert from 'node:assert/strict'
import { test } from 'node:test'
import { timeoutsFor } from './timeouts.ts'

test('whatever is behind gives up first, and the caller is answered in time', () => {
  for (const seconds of [3, 4, 10, 60]) {
    const { answerMs, searchMs, patienceMs, readMs, writeMs, waitMs } = timeoutsFor(seconds)
    assert.ok(answerMs < seconds * 1000)
    // A driver's limit stands half a second behind PostgreSQL's.
    assert.ok(
      readMs + 600 < answerMs && searchMs < answerMs && patienceMs < searchMs && waitMs < answerMs,
    )
    assert.ok(writeMs > answerMs, 'what was sent goes on')
  }
})
