import { setTimeout as sleep } from 'node:timers/promises'
import type { Figures } from './history.ts'
import { type Fault, type FaultEnvironment, startDatabase, startFaultService } from './stage.ts'
import { startWorkload } from './workload.ts'

// kill -9 in the middle of writes, again and again.

export const serviceKilled: Fault = {
  name: 'kill -9 of the service',
  limitS: { quick: 60, full: 240 },
  async run(stage) {
    const database = await startDatabase(stage)
    const service = await startFaultService(stage, { DATABASE_URL: database.serviceUrl })
    const workload = await startWorkload({ url: service.url, token: stage.token, workers: 8 })
    const kills = await repeatedly(stage, workload, async () => {
      await service.kill()
      await service.start()
    })
    await workload.stop()
    return `${kills}, ${told(await workload.verify(database.serviceUrl))}`
  },
}

export const databaseKilled: Fault = {
  name: 'kill -9 of PostgreSQL',
  limitS: { quick: 60, full: 240 },
  async run(stage) {
    const database = await startDatabase(stage)
    const service = await startFaultService(stage, { DATABASE_URL: database.serviceUrl })
    const workload = await startWorkload({ url: service.url, token: stage.token, workers: 8 })
    const kills = await repeatedly(stage, workload, async (number) => {
      await database.kill(number % 2 === 0 ? 'all' : 'postmaster')
      await database.start()
    })
    await workload.stop()
    return `${kills}, ${told(await workload.verify(database.serviceUrl))}`
  },
}

/** At moments that nobody chose, until there were enough of them and enough writes. */
async function repeatedly(
  stage: FaultEnvironment,
  workload: Awaited<ReturnType<typeof startWorkload>>,
  strike: (number: number) => Promise<void>,
): Promise<string> {
  const [times, writes] = stage.quick ? [3, 900] : [8, 6000]
  for (let number = 0; number < times; number++) {
    await workload.progress(Math.floor(writes / (times + 1)), 60_000)
    await sleep(Math.random() * 100)
    await strike(number)
  }
  await workload.progress(Math.max(100, writes - workload.acknowledged()), 60_000)
  return `${times} kills`
}

export function told({
  acknowledged,
  failed,
  unknown,
  resolved,
  applied,
  reads,
  gapMs,
}: Figures): string {
  return (
    `${acknowledged} writes acknowledged, 0 lost, ${failed} refused, ${unknown} unknown of which ${resolved} resolved (${applied} applied), ` +
    `${reads} reads, longest gap ${(gapMs / 1000).toFixed(1)} s`
  )
}
