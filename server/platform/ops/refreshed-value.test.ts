import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { openRefreshedValue } from './refreshed-value.ts'

test('a stale value is returned while it is refreshed, a very old one only if that fails', async () => {
  let calls = 0
  let isFailing = false
  const errors: unknown[] = []
  const open = (maxStaleMs: number) =>
    openRefreshedValue(
      async () => {
        await sleep(1)
        if (isFailing) throw new Error('failed')
        return ++calls
      },
      { maxAgeMs: 0, maxStaleMs, onError: (error) => errors.push(error) },
    )
  const lasting = open(3_600_000)
  assert.equal(await lasting.read(), 1)
  assert.equal(await lasting.read(), 1)
  const short = open(0)
  calls = 10
  assert.equal(await short.read(), 11)
  assert.equal(await short.read(), 12)
  isFailing = true
  assert.equal(await short.read(), 12)
  assert.equal(errors.length, 1)
})
