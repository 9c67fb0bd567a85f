import assert from 'node:assert/strict'
import { test } from 'node:test'
import { timeoutsFor } from './timeouts.ts'

test('inner timeouts expire before the timeout of the request', () => {
  for (const seconds of [3, 4, 10, 60]) {
    const { answerMs, searchMs, patienceMs, readMs, writeMs, waitMs } = timeoutsFor(seconds)
    assert.ok(answerMs < seconds * 1000)
    // The timeout of the driver is up to 0.6 s longer than that of PostgreSQL.
    assert.ok(
      readMs + 600 < answerMs && searchMs < answerMs && patienceMs < searchMs && waitMs < answerMs,
    )
    assert.ok(writeMs > answerMs, 'a write that was sent is not cancelled')
  }
})
