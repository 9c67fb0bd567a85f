import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Database,
  type Fault,
  type FaultEnvironment,
  startDatabase,
  startFaultService,
} from './environment.ts'
import { summarize } from './kills.ts'
import { type BadNetwork, startBadNetwork } from './proxy.ts'
import { responsesDuring, startWorkload, type Workload } from './workload.ts'

// Faults of the network between the service and PostgreSQL: slow, cut, silent.

/**
 * Every request gets a response within 3 s (`ANSWER_SECONDS`), with 503 if PostgreSQL is slow or
 * silent. Two more seconds are for machines that stall.
 */
export const responseLimitMs = 3000 + 2000

export const slowNetwork: Fault = {
  name: 'network slow (300 ms each way)',
  limitS: { quick: 240, full: 300 },
  async run(environment) {
    const { database, network, workload } = await setUp(environment)
    const from = performance.now()
    network.delay(300)
    await sleep(environment.quick ? 6000 : 20_000)
    network.delay(0)
    const to = performance.now()
    const recovery = await untilRecovered(workload, to)
    await workload.stop()
    const responses = responsesDuring(workload, from, to)
    const figures = await workload.verify(database.serviceUrl)
    if (responses.slowestMs > responseLimitMs)
      throw new Error(`a response took too long: ${responses.summary}`)
    return `${responses.summary}, ${recovery}, ${summarize(figures)}`
  },
}

export const cutNetwork: Fault = {
  name: 'network cut',
  limitS: { quick: 240, full: 300 },
  async run(environment) {
    const { database, network, workload } = await setUp(environment)
    const times = environment.quick ? 5 : 40
    for (let number = 0; number < times; number++) {
      await sleep(Math.random() * 100)
      network.cut()
      await workload.progress(20, 15_000)
    }
    await workload.stop()
    const figures = await workload.verify(database.serviceUrl)
    return `${times} cuts of all connections, ${summarize(figures)}`
  },
}

export const silentNetwork: Fault = {
  name: 'network silent for 8 s',
  limitS: { quick: 240, full: 300 },
  async run(environment) {
    const { database, network, workload } = await setUp(environment)
    const summaries: string[] = []
    let slowestMs = 0
    for (let number = 0; number < (environment.quick ? 1 : 3); number++) {
      await workload.progress(50)
      const from = performance.now()
      network.silence(true)
      await sleep(8000)
      network.silence(false)
      const to = performance.now()
      const recovery = await untilRecovered(workload, to)
      const responses = responsesDuring(workload, from, to)
      slowestMs = Math.max(slowestMs, responses.slowestMs)
      summaries.push(`${responses.summary}, ${recovery}`)
    }
    await workload.stop()
    const figures = await workload.verify(database.serviceUrl)
    if (slowestMs > responseLimitMs)
      throw new Error(`a response took too long: ${summaries.join('; ')}`)
    return `${summaries.join('; ')}; ${summarize(figures)}`
  },
}

async function setUp(
  environment: FaultEnvironment,
): Promise<{ database: Database; network: BadNetwork; workload: Workload }> {
  const database = await startDatabase(environment)
  const network = await startBadNetwork(database.port)
  environment.atEnd(() => network.close())
  const url = new URL(database.serviceUrl)
  url.port = String(network.port)
  const service = await startFaultService(environment, { DATABASE_URL: url.href })
  // More workers than the service has connections.
  const workload = await startWorkload({ url: service.url, token: environment.token, workers: 24 })
  await workload.progress(50)
  return { database, network, workload }
}

/** Waits until the service writes again, and returns after how long. */
export async function untilRecovered(workload: Workload, since: number): Promise<string> {
  await workload.progress(1, 10_000)
  const seconds = (performance.now() - since) / 1000
  await workload.progress(50)
  return `writing again after ${seconds.toFixed(1)} s`
}
