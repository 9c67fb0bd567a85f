import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Fault,
  type FaultEnvironment,
  startDatabase,
  startFaultService,
} from './environment.ts'
import type { Figures } from './history.ts'
import { startWorkload } from './workload.ts'

// kill -9 of the service or of PostgreSQL in the middle of writes, several times.

export const serviceKilled: Fault = {
  name: 'kill -9 of the service',
  limitS: { quick: 240, full: 360 },
  async run(environment) {
    const database = await startDatabase(environment)
    const service = await startFaultService(environment, { DATABASE_URL: database.serviceUrl })
    const workload = await startWorkload({ url: service.url, token: environment.token, workers: 8 })
    const kills = await repeatedly(environment, workload, async () => {
      await service.kill()
      await service.start()
    })
    await workload.stop()
    return `${kills}, ${summarize(await workload.verify(database.serviceUrl))}`
  },
}

export const databaseKilled: Fault = {
  name: 'kill -9 of PostgreSQL',
  limitS: { quick: 240, full: 360 },
  async run(environment) {
    const database = await startDatabase(environment)
    const service = await startFaultService(environment, { DATABASE_URL: database.serviceUrl })
    const workload = await startWorkload({ url: service.url, token: environment.token, workers: 8 })
    const kills = await repeatedly(environment, workload, async (number) => {
      await database.kill(number % 2 === 0 ? 'all' : 'postmaster')
      await database.start()
    })
    await workload.stop()
    return `${kills}, ${summarize(await workload.verify(database.serviceUrl))}`
  },
}

/** Calls `strike` several times at random moments, until there were enough writes as well. */
async function repeatedly(
  environment: FaultEnvironment,
  workload: Awaited<ReturnType<typeof startWorkload>>,
  strike: (number: number) => Promise<void>,
): Promise<string> {
  const [times, writes] = environment.quick ? [3, 900] : [8, 6000]
  for (let number = 0; number < times; number++) {
    await workload.progress(Math.floor(writes / (times + 1)), 60_000)
    await sleep(Math.random() * 100)
    await strike(number)
  }
  await workload.progress(Math.max(100, writes - workload.acknowledged()), 60_000)
  return `${times} kills`
}

/** Describes the result of a workload in one line. */
export function summarize({
  acknowledged,
  failed,
  unknown,
  resolved,
  applied,
  reads,
  gapMs,
}: Figures): string {
  return (
    `${acknowledged} writes acknowledged, 0 lost, ${failed} refused, ` +
    `${unknown} unknown of which ${resolved} resolved (${applied} applied), ` +
    `${reads} reads, longest gap ${(gapMs / 1000).toFixed(1)} s`
  )
}
