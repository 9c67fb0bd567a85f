import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Fault, launch, startDatabase, startFaultService } from '../faults/environment.ts'
import { call, root } from '../support/harness.ts'
import { residentMegabytes } from '../support/process-metrics.ts'
import { until } from '../support/until.ts'
import { percentile } from './percentile.ts'
import { createRecords, startWriters } from './writers.ts'

const followers = 1000

/** A thousand clients of the stream: memory of the service, and the latency of other requests. */
export const manyStreams: Fault = {
  name: 'streams: 1,000 followers',
  limitS: { quick: 120, full: 300 },
  async run(environment) {
    const database = await startDatabase(environment, { settings: { max_connections: '100' } })
    const service = await startFaultService(environment, { DATABASE_URL: database.serviceUrl })
    const ids = await createRecords(service.url, environment.token, 200)
    const writers = startWriters(database.serviceUrl, ids, { pauseMs: 3000 })
    const measureMs = environment.quick ? 10_000 : 60_000
    // Without followers first, so that the service is warm.
    await latenciesOf(service.url, ids, 3000)
    const alone = await latenciesOf(service.url, ids, measureMs)
    const memoryBefore = residentMegabytes(service.pid())

    const script = join(root, 'tests/follow/stream-clients.ts')
    const clients = launch(
      environment,
      [process.execPath, script, service.url, String(followers)],
      { log: 'clients.log', variables: process.env },
    )
    const output = () => readFileSync(join(environment.dir, 'clients.log'), 'utf8')
    await until('all streams to be open', () => {
      assert.equal(clients.child.exitCode, null, output())
      return output().includes('open\n')
    })
    const writtenBefore = writers.count()
    const beside = await latenciesOf(service.url, ids, measureMs)
    const written = writers.count() - writtenBefore
    const memory = residentMegabytes(service.pid()) - memoryBefore
    await writers.stop()
    clients.child.kill('SIGTERM')
    await clients.exited
    const [, least = 0, most = 0] =
      /received (\d+) (\d+)/.exec(output())?.map(Number) ?? assert.fail(output())

    assert.ok(least > 0, 'a follower received nothing')
    assert.ok(memory < 100, `${memory.toFixed()} MB more memory`)
    const ratio = percentile(beside, 0.99) / percentile(alone, 0.99)
    return (
      `${followers} streams: ${memory.toFixed()} MB more memory; ${written} changes, each received ` +
      `${least} to ${most} entries; GET p99 ${percentile(alone, 0.99).toFixed(1)} ms alone, ` +
      `${percentile(beside, 0.99).toFixed(1)} ms beside them: ${ratio.toFixed(2)} times`
    )
  },
}

/** Reads records one after another for a time. Returns the sorted milliseconds of each. */
async function latenciesOf(url: string, ids: readonly number[], forMs: number): Promise<number[]> {
  const latencies: number[] = []
  const endMs = performance.now() + forMs
  while (performance.now() < endMs) {
    const id = ids[latencies.length % ids.length]
    const startMs = performance.now()
    const { status } = await call(url, 'GET', `/api/v2/video/${id}`)
    latencies.push(performance.now() - startMs)
    assert.equal(status, 200)
    await sleep(2)
  }
  return latencies.sort((a, b) => a - b)
}
