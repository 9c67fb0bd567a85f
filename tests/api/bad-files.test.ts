import assert from 'node:assert/strict'
import { test } from 'node:test'
import { beginImport, InputRefused, openInput, readImport } from '../../server/imports/imports.ts'
import { badFiles } from '../support/bad-files.ts'
import { category, startArchive } from '../support/harness.ts'
import { checkInvariants } from '../support/invariants.ts'

// Malformed files are planned or refused with a reason, in bounded time and memory, and nothing is
// written.

const archive = await startArchive()
const origin = {
  actor: { role: 'editor' as const, name: 'Edith', token: null },
  via: 'api' as const,
  request: 'bad',
}
// Detects a hang, not a slow machine.
const maxMs = 500_000
const maxMegabytes = 400

test(`plans or refuses ${badFiles.length} malformed files`, async (t) => {
  assert.ok(badFiles.length >= 100, 'there are fewer than a hundred')
  for (const { name, bytes, expect } of badFiles)
    await t.test(name, async () => {
      const [began, before] = [performance.now(), process.memoryUsage().rss]
      let peak = 0
      const memoryTimer = setInterval(() => (peak = Math.max(peak, process.memoryUsage().rss)), 20)
      const open = () => openInput({ stream: toAsync(bytes()), name })
      const { id, planned } = await beginImport(
        archive.pool,
        { name, open, category, language: 'en' },
        origin,
      )
      const refusal = await planned.then(
        () => undefined,
        (error: unknown) => error,
      )
      clearInterval(memoryTimer)
      const job = await readImport(archive.pool, id)
      if (refusal !== undefined) {
        assert.ok(
          refusal instanceof InputRefused,
          `it failed with ${refusal instanceof Error ? refusal.stack : refusal}`,
        )
        assert.ok(refusal.message.length > 8 && refusal.message.length < 3000, refusal.message)
        assert.deepEqual(
          [job.state, job.problem?.slice(0, 20)],
          ['failed', refusal.message.slice(0, 20)],
        )
      } else assert.equal(job.state, 'planned')
      if (expect === 'refused')
        assert.ok(refusal !== undefined, `it was planned: ${JSON.stringify(job.planned)}`)
      if (expect === 'no new records')
        assert.ok(refusal !== undefined || job.planned.new === 0, JSON.stringify(job.planned))
      assert.ok(
        performance.now() - began < maxMs,
        `it took ${(performance.now() - began).toFixed(0)} ms`,
      )
      const grown = (Math.max(peak, process.memoryUsage().rss) - before) / 2 ** 20
      assert.ok(grown < maxMegabytes, `memory grew by ${grown.toFixed(0)} MB`)
    })
})

test('writes no record for any of these files', async () => {
  assert.equal((await archive.call('GET', '/api/v2/video')).json.count, 0)
  await checkInvariants(archive.databaseUrl)
})

async function* toAsync(
  bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncIterable<Uint8Array> {
  yield* bytes
}
