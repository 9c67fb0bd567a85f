import { setTimeout as sleep } from 'node:timers/promises'
import { told } from './kills.ts'
import { type BadNetwork, startBadNetwork } from './proxy.ts'
import {
  type Database,
  type Fault,
  type FaultEnvironment,
  startDatabase,
  startFaultService,
} from './stage.ts'
import { answersDuring, startWorkload, type Workload } from './workload.ts'

// The network between the service and PostgreSQL: slow, cut, silent.

/**
 * Every request is answered within 3 s (`ANSWER_SECONDS`), with 503 if PostgreSQL is slow or
 * silent. The machines that run this stall for seconds: two more are theirs, not the service's.
 */
export const answerLimitMs = 3000 + 2000

export const slowNetwork: Fault = {
  name: 'network slow (300 ms each way)',
  limitS: { quick: 45, full: 90 },
  async run(stage) {
    const { database, network, workload } = await setUp(stage)
    const from = performance.now()
    network.delay(300)
    await sleep(stage.quick ? 6000 : 20_000)
    network.delay(0)
    const to = performance.now()
    const recovery = await recovered(workload, to)
    await workload.stop()
    const answers = answersDuring(workload, from, to)
    const figures = await workload.verify(database.serviceUrl)
    if (answers.slowestMs > answerLimitMs)
      throw new Error(`an answer took too long: ${answers.told}`)
    return `${answers.told}, ${recovery}, ${told(figures)}`
  },
}

export const cutNetwork: Fault = {
  name: 'network cut',
  limitS: { quick: 45, full: 120 },
  async run(stage) {
    const { database, network, workload } = await setUp(stage)
    const times = stage.quick ? 5 : 40
    for (let number = 0; number < times; number++) {
      await sleep(Math.random() * 100)
      network.cut()
      await workload.progress(20, 15_000)
    }
    await workload.stop()
    return `${times} cuts of all connections, ${told(await workload.verify(database.serviceUrl))}`
  },
}

export const silentNetwork: Fault = {
  name: 'network silent for 8 s',
  limitS: { quick: 45, full: 120 },
  async run(stage) {
    const { database, network, workload } = await setUp(stage)
    const told8: string[] = []
    let slowestMs = 0
    for (let number = 0; number < (stage.quick ? 1 : 3); number++) {
      await workload.progress(50)
      const from = performance.now()
      network.silence(true)
      await sleep(8000)
      network.silence(false)
      const to = performance.now()
      const recovery = await recovered(workload, to)
      const answers = answersDuring(workload, from, to)
      slowestMs = Math.max(slowestMs, answers.slowestMs)
      told8.push(`${answers.told}, ${recovery}`)
    }
    await workload.stop()
    const figures = await workload.verify(database.serviceUrl)
    if (slowestMs > answerLimitMs) throw new Error(`an answer took too long: ${told8.join('; ')}`)
    return `${told8.join('; ')}; ${told(figures)}`
  },
}

async function setUp(
  stage: FaultEnvironment,
): Promise<{ database: Database; network: BadNetwork; workload: Workload }> {
  const database = await startDatabase(stage)
  const network = await startBadNetwork(database.port)
  stage.atEnd(() => network.close())
  const url = new URL(database.serviceUrl)
  url.port = String(network.port)
  const service = await startFaultService(stage, { DATABASE_URL: url.href })
  // More of them than the service has connections.
  const workload = await startWorkload({ url: service.url, token: stage.token, workers: 24 })
  await workload.progress(50)
  return { database, network, workload }
}

/** By itself, and soon. */
export async function recovered(workload: Workload, since: number): Promise<string> {
  await workload.progress(1, 10_000)
  const seconds = (performance.now() - since) / 1000
  await workload.progress(50)
  return `writing again after ${seconds.toFixed(1)} s`
}
