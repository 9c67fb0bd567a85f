// npm run upgrade -- [--quick] [--records N] [--from COMMIT]
//
// Upgrades an archive under load: two servers of an earlier release behind HAProxy, a migration to
// this release while a slow reader holds an export open, servers replaced one after the other, one
// of them rolled back and forward again. Needs HAProxy, PostgreSQL and access to an npm registry.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import {
  installedPostgres,
  startPrivatePostgres,
} from '../../server/platform/db/private-postgres.ts'
import { startFaultService } from '../faults/environment.ts'
import { haproxyMissing, startHaproxy } from '../faults/haproxy.ts'
import { summarize } from '../faults/kills.ts'
import { type Attempt, attemptsDuring, countByStatus, startWorkload } from '../faults/workload.ts'
import { runProgram } from '../installs/run-program.ts'
import { StepFailed, startChecks } from '../support/checks.ts'
import { call } from '../support/harness.ts'
import { installMissing } from '../support/install.ts'
import { checkCounts, checkInvariants, withDatabase } from '../support/invariants.ts'
import { until } from '../support/until.ts'
import { currentRelease, earlierRelease, hasCommit, type Release } from './releases.ts'
import { openExport } from './slow-export.ts'
import { startVisitors } from './visitors.ts'

/** The last commit before migrations were made for upgrades without downtime. */
const defaultFrom = '0125b72'

/** The longest that a request may wait, if none waits longer without an upgrade. */
const maxWaitMs = 1000

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    records: { type: 'string' },
    from: { type: 'string', default: defaultFrom },
  },
})
const records = Number(values.records ?? (values.quick ? 20_000 : 1_000_000))
if (!Number.isInteger(records) || records < 1000)
  throw new Error('--records takes a number from 1000 on')

const checks = startChecks()
/** Undone in the opposite order, also after Ctrl-C. */
const cleanups: (() => unknown)[] = []
const dir = mkdtempSync(join(tmpdir(), 'talkshelf-upgrade-'))
chmodSync(dir, 0o755)
cleanups.push(() => rmSync(dir, { recursive: true, force: true }))
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.once(signal, () => void cleanUp().then(() => process.exit(130)))

process.exitCode = await main()

async function main(): Promise<number> {
  const reason = findMissing()
  if (reason !== undefined) {
    checks.skip('upgrade', reason)
    checks.finish()
    await cleanUp()
    return 0
  }
  try {
    await upgrade()
  } catch (error) {
    if (!(error instanceof StepFailed)) await checks.check('upgrade', () => Promise.reject(error))
  } finally {
    await cleanUp()
  }
  return checks.finish()
}

/** Returns why the test cannot run on this machine. */
function findMissing(): string | undefined {
  if (!hasCommit(values.from))
    return `the history has no commit ${values.from}; run 'git fetch --unshallow', or use --from`
  installMissing([{ package: 'haproxy', program: 'haproxy' }])
  if (installedPostgres().length === 0) return 'there is no PostgreSQL in /usr/lib/postgresql'
  return haproxyMissing()
}

async function cleanUp(): Promise<void> {
  for (const step of cleanups.splice(0).reverse()) await step()
}

async function upgrade(): Promise<void> {
  const releases: { old?: Release; new?: Release } = {}
  await checks.step('both releases are packed and installed', async () => {
    releases.old = await earlierRelease(values.from, join(dir, 'old'))
    releases.new = await currentRelease(join(dir, 'new'))
  })
  const { old: oldRelease, new: newRelease } = releases as Required<typeof releases>
  const { url, superuserUrl, bin } = await startDatabase()
  await checks.step(`${records} records are loaded into the earlier release`, async () => {
    await talkshelf(oldRelease, url, 'migrate')
    await seed(oldRelease, bin, superuserUrl)
  })
  const editor = ['token', 'create', '--name', 'upgrade', '--role', 'editor']
  const token = (await talkshelf(oldRelease, url, ...editor)).trim()

  const environment = {
    dir,
    unexpected: [] as string[],
    atEnd: (step: () => unknown) => void cleanups.push(step),
  }
  // A request must fail because of the upgrade only, not because the machine stalls for seconds.
  const variables = { DATABASE_URL: url, ANSWER_SECONDS: '30', LOG_LEVEL: 'warn' }
  const services = [
    await startFaultService(environment, variables, oldRelease.program),
    await startFaultService(environment, variables, oldRelease.program),
  ] as const
  const balancer = await startHaproxy(environment, services)

  const workload = await startWorkload({
    url: balancer.url,
    token,
    workers: 8,
    writes: 0.4,
    pauseMs: 50,
  })
  const visitors = await startVisitors({
    url: balancer.url,
    token,
    records,
    readers: 4,
    pauseMs: 50,
  })
  const attempts = () => [...workload.attempts, ...visitors.attempts]
  const phases: Phase[] = []
  /** Measures how long requests and the timers of this process wait while something runs. */
  async function measure<T>(name: string, work: () => Promise<T>): Promise<T> {
    const timers = monitorEventLoopDelay({ resolution: 10 })
    timers.enable()
    const from = performance.now()
    const result = await work()
    timers.disable()
    phases.push({ name, from, to: performance.now(), stallMs: timers.max / 1e6 })
    return result
  }
  /** Waits until more requests were answered. */
  const requests = (count: number) => {
    const goal = attempts().length + count
    return until(`${count} more requests`, () => attempts().length >= goal, { limitMs: 600_000 })
  }
  const enough = values.quick ? 1000 : 2500

  await measure('before', () => requests(4 * enough))
  const slowExport = await openExport(services[0].url)
  cleanups.push(() => slowExport.close())
  let exported = 0
  await checks.step('the database is migrated while an export is open', () =>
    measure('migration', async () => {
      const migration = startMigration(newRelease, url)
      await Promise.race([migration.blocked, migration.done])
      await requests(enough / 4)
      exported = await slowExport.finish()
      await migration.done
    }),
  )
  await checks.step('servers are replaced one after the other', () =>
    measure('new servers', async () => {
      for (const service of services) {
        await service.stop()
        await service.start({ release: newRelease.program })
        await balancer.untilUp(services.length)
        await requests(enough / 2)
      }
    }),
  )
  await checks.step('a server is rolled back and forward again', () =>
    measure('rollback', async () => {
      const [service] = services
      for (const { program } of [oldRelease, newRelease]) {
        await service.stop()
        // As units and images do before they start a server. An earlier release changes nothing.
        await talkshelf({ program }, url, 'migrate')
        await service.start({ release: program })
        await balancer.untilUp(services.length)
        await requests(enough / 2)
      }
    }),
  )
  await measure('after', () => requests(enough))
  await Promise.all([workload.stop(), visitors.stop()])

  report(phases, attempts())
  await checks.check('no request failed', () => {
    const failed = attempts().filter(({ status }) => ![200, 201, 412].includes(status))
    const example = JSON.stringify(failed[0])
    assert.equal(failed.length, 0, `${JSON.stringify(countByStatus(failed))}, such as ${example}`)
    assert.deepEqual(environment.unexpected, [])
  })
  if (values.quick) checks.skip('no request waited longer than a second', 'left out by --quick')
  else
    await checks.check('no request waited longer than a second', () => {
      const [before, ...others] = phases.map((phase) => slowestIn(phase, attempts()))
      assert.ok(Math.max(...others) <= Math.max(maxWaitMs, before ?? 0))
    })
  await checks.check('the export is complete', () => assert.ok(exported >= records * 0.9))
  await checks.check('no acknowledged write is lost', async () => {
    console.log(summarize(await workload.verify(url, async () => {})))
  })
  await checks.check('a search finds what was written at any time', async () => {
    const talks = [...visitors.written]
    const step = Math.ceil(talks.length / 200)
    for (const [id, word] of talks.filter((_, index) => index % step === 0)) {
      const { json } = await call(services[0].url, 'GET', `/api/v2/video?q=${word}`)
      const found = (json.results as { id: number }[]).map((talk) => talk.id)
      assert.ok(found.includes(id), `${word} finds ${found}, and not ${id}`)
    }
  })
  await checks.check('stored counts are exact', () => checkCounts(url))
  if (values.quick) await checks.check('all invariants hold', () => checkInvariants(url))
  else await checks.check('rows of the search index are those of their records', checkSample)

  async function checkSample(): Promise<void> {
    const sample = `select id from video where id % ${Math.ceil(records / 5000)} = 0`
    const rows = await withDatabase(url, (query) =>
      query(`
        select coalesce(stored.id, expected.id)
        from (select * from video_search where id in (${sample})) as stored
        full join (select * from search_source where id in (${sample})) as expected using (id)
        where (stored.keys, stored.head, stored.text) is distinct from
              (expected.keys, expected.head, expected.text)`),
    )
    assert.deepEqual(rows, [])
  }
}

interface Phase {
  readonly name: string
  readonly from: number
  readonly to: number
  /** The longest that a timer of this process was late: then the machine stalled. */
  readonly stallMs: number
}

function slowestIn({ from, to }: Phase, attempts: readonly Attempt[]): number {
  return attemptsDuring(attempts, from, to).reduce((slowest, { ms }) => Math.max(slowest, ms), 0)
}

/** Prints how long requests waited in each phase, and in relation to the first one. */
function report(phases: readonly Phase[], attempts: readonly Attempt[]): void {
  const before = phases[0] && slowestIn(phases[0], attempts)
  console.table(
    phases.map((phase) => {
      const sorted = attemptsDuring(attempts, phase.from, phase.to).toSorted((a, b) => a.ms - b.ms)
      const slowest = sorted.at(-1)
      return {
        phase: phase.name,
        seconds: Math.round((phase.to - phase.from) / 1000),
        requests: sorted.length,
        'p99.9 ms': Math.round(sorted[Math.floor(sorted.length * 0.999)]?.ms ?? 0),
        'longest ms': Math.round(slowest?.ms ?? 0),
        'of before': ((slowest?.ms ?? 0) / (before ?? 1)).toFixed(1),
        request: slowest?.request.slice(0, 40),
        'stall ms': Math.round(phase.stallMs),
      }
    }),
  )
}

async function startDatabase(): Promise<{ url: string; superuserUrl: string; bin: string }> {
  const [installed] = installedPostgres()
  if (!installed) throw new Error('There is no PostgreSQL')
  // The settings of a small server. Durable: every acknowledged write is on disk.
  const settings = {
    shared_buffers: '1GB',
    max_connections: '200',
    max_wal_size: '8GB',
    maintenance_work_mem: '512MB',
    timezone: 'Pacific/Chatham',
  }
  const { bin } = installed
  const postgres = startPrivatePostgres({ bin, name: 'upgrade-', listen: 'port', settings })
  cleanups.push(() => postgres.stop())
  const started = await postgres.started
  const url = await started.createDatabase('talkshelf', 'talkshelf')
  return { url, superuserUrl: started.url('talkshelf'), bin }
}

/** Fills the database with the generator of the release, which knows its tables. */
async function seed({ source }: Release, bin: string, url: string): Promise<void> {
  const script = `
    import { seed } from './bench/seed.ts'
    const [bin, url, records] = process.argv.slice(1)
    await seed(bin, url, Number(records), () => {})`
  const args = ['--input-type=module', '--eval', script, bin, url, String(records)]
  await runProgram(process.execPath, args, { cwd: source, maxMs: 3 * 3_600_000 })
}

/** Runs a command of a release. Returns what it prints. */
function talkshelf(
  { program }: Pick<Release, 'program'>,
  url: string,
  ...args: string[]
): Promise<string> {
  const env = { ...(process.env as Record<string, string>), DATABASE_URL: url }
  return runProgram(process.execPath, [program, ...args], { env })
}

/** Migrates the database with a release. `blocked` resolves when it waits for a lock. */
function startMigration({ program }: Release, url: string) {
  const child = spawn(process.execPath, [program, 'migrate'], {
    env: { ...process.env, DATABASE_URL: url },
    stdio: ['ignore', 'inherit', 'pipe'],
  })
  cleanups.push(() => child.kill('SIGKILL'))
  const blocked = Promise.withResolvers<void>()
  let output = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output += text
    if (text.includes('is waiting for tables')) blocked.resolve()
  })
  const done = once(child, 'close').then(([code]) => {
    console.log(output.trimEnd().replaceAll(/^/gm, '  '))
    if (code !== 0) throw new Error(`The migration ended with ${code}`)
  })
  return { done, blocked: blocked.promise }
}
