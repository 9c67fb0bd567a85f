import { globSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { call } from '../support/harness.ts'
import { withDatabase } from '../support/invariants.ts'
import { until } from '../support/until.ts'
import { type Fault, startDatabase, startFaultService } from './environment.ts'
import { summarize } from './kills.ts'
import { startWorkload } from './workload.ts'

// The clocks of the service and of PostgreSQL jump during writes. history.ts checks that every
// change is later than the one before.

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
  limitS: { quick: 240, full: 300 },
  missing: () => (library === undefined ? 'libfaketime is not installed' : undefined),
  async run(environment) {
    const file = (name: string) => join(environment.dir, `${name}.time`)
    const preload = (name: string) => ({
      LD_PRELOAD: library as string,
      FAKETIME_TIMESTAMP_FILE: file(name),
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    })
    const setClocks = ({ service, database }: (typeof steps)[number]) => {
      writeFileSync(file('service'), service)
      writeFileSync(file('database'), database)
    }
    setClocks({ service: '+0', database: '+0' })
    const database = await startDatabase(environment, { variables: preload('database') })
    const service = await startFaultService(environment, {
      DATABASE_URL: database.serviceUrl,
      ...preload('service'),
    })
    const workload = await startWorkload({ url: service.url, token: environment.token, workers: 8 })
    for (const step of steps) {
      setClocks(step)
      await workload.progress(environment.quick ? 30 : 300)
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
    return `${steps.length} steps, ${summarize(await workload.verify(database.serviceUrl))}`
  },
}

/**
 * Waits until a clock has jumped; otherwise nothing was tested. Node updates the Date header once a
 * second.
 */
async function expectHours(
  name: string,
  expected: string,
  now: () => Promise<number>,
): Promise<void> {
  await until(`the clock of the ${name} to jump to ${expected}`, async () => {
    const hours = ((await now()) - Date.now()) / 3_600_000
    return Math.abs(hours - Number.parseInt(expected, 10)) < 0.1
  })
}
