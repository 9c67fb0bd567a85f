import { globSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { call } from '../support/harness.ts'
import { withDatabase } from '../support/invariants.ts'
import { told } from './kills.ts'
import { type Fault, startDatabase, startFaultService } from './stage.ts'
import { startWorkload } from './workload.ts'

// Clocks that jump while everything runs. history.ts holds that every change is later than the one
// before.

const library = globSync('/usr/lib/*/faketime/libfaketime.so.1')[0]

const steps = [
  { service: '+0', database: '+0' },
  { service: '+2h', database: '+0' },
  { service: '-3h', database: '+0' },
  { service: '+0', database: '+2h' },
  { service: '+0', database: '-3h' },
  { service: '-3h', database: '+2h' },
  { service: '+0', database: '+0' },
]

export const clockSteps: Fault = {
  name: 'clock steps (+2 h, -3 h)',
  limitS: { quick: 60, full: 120 },
  missing: () => (library === undefined ? 'libfaketime is not installed' : undefined),
  async run(stage) {
    const file = (name: string) => join(stage.dir, `${name}.time`)
    const preload = (name: string) => ({
      LD_PRELOAD: library as string,
      FAKETIME_TIMESTAMP_FILE: file(name),
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    })
    const set = ({ service, database }: (typeof steps)[number]) => {
      writeFileSync(file('service'), service)
      writeFileSync(file('database'), database)
    }
    set({ service: '+0', database: '+0' })
    const database = await startDatabase(stage, { environment: preload('database') })
    const service = await startFaultService(stage, {
      DATABASE_URL: database.serviceUrl,
      ...preload('service'),
    })
    const workload = await startWorkload({ url: service.url, token: stage.token, workers: 8 })
    for (const step of steps) {
      set(step)
      await workload.progress(stage.quick ? 30 : 300)
      await expectHours('service', step.service, async () =>
        Date.parse(String((await call(service.url, 'GET', '/api')).headers.date)),
      )
      await expectHours('database', step.database, async () => {
        const [row] = await withDatabase(database.url, (query) =>
          query('select extract(epoch from clock_timestamp()) * 1000 as now'),
        )
        return Number(row?.now)
      })
    }
    await workload.stop()
    return `${steps.length} steps, ${told(await workload.verify(database.serviceUrl))}`
  },
}

/** Otherwise nothing was tried. Node writes the Date header anew once a second. */
async function expectHours(
  name: string,
  expected: string,
  now: () => Promise<number>,
): Promise<void> {
  for (let tries = 0; tries < 30; tries++) {
    const hours = ((await now()) - Date.now()) / 3_600_000
    if (Math.abs(hours - Number.parseInt(expected, 10)) < 0.1) return
    await sleep(100)
  }
  throw new Error(`the clock of the ${name} did not step to ${expected}`)
}
