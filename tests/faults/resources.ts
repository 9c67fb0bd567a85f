import { existsSync, rmSync, statfsSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { withDatabase } from '../support/invariants.ts'
import { until } from '../support/until.ts'
import {
  type Fault,
  type FaultEnvironment,
  makeFolder,
  startDatabase,
  startFaultService,
  system,
} from './environment.ts'
import { summarize } from './kills.ts'
import { responseLimitMs, untilRecovered } from './network.ts'
import { responsesDuring, startWorkload, type Workload } from './workload.ts'

// PostgreSQL runs out of connections or disk space.

const connections = 30
/** For superusers; the default of PostgreSQL. */
const reserved = 3

export const noConnections: Fault = {
  name: 'no connections left',
  limitS: { quick: 240, full: 300 },
  async run(environment) {
    const database = await startDatabase(environment, {
      settings: { max_connections: String(connections) },
    })
    const service = await startFaultService(environment, { DATABASE_URL: database.serviceUrl })
    const workload = await startWorkload({
      url: service.url,
      token: environment.token,
      workers: 24,
    })
    await workload.progress(50)
    const taken: pg.Client[] = []
    environment.atEnd(() => release(taken))
    let from = 0
    await withDatabase(database.url, async (query) => {
      await until(
        'all connections to be taken',
        async () => {
          await query(`
            select pg_terminate_backend(pid)
            from pg_stat_activity
            where backend_type = 'client backend'
              and application_name <> 'others'
              and pid <> pg_backend_pid()`)
          await takeAll(taken, database.serviceUrl)
          return taken.length >= connections - reserved - 1
        },
        { limitMs: 15_000 },
      )
      // The connection of this query stays open, so that none is left.
      from = performance.now()
      await sleep(environment.quick ? 3000 : 10_000)
    })
    const to = performance.now()
    await release(taken)
    const recovery = await untilRecovered(workload, to)
    await workload.stop()
    const responses = responsesDuring(workload, from, to)
    const figures = await workload.verify(database.serviceUrl)
    if (responses.slowestMs > responseLimitMs || !responses.statuses[503])
      throw new Error(`unexpected responses: ${responses.summary}`)
    const load = `${taken.length} taken by others, ${responses.summary}`
    return `${load}, ${recovery}, ${summarize(figures)}`
  },
}

/** Opens connections until PostgreSQL refuses one. */
async function takeAll(taken: pg.Client[], url: string): Promise<void> {
  for (;;) {
    const client = new pg.Client({ connectionString: url, application_name: 'others' })
    client.on('error', () => {})
    try {
      await client.connect()
      taken.push(client)
    } catch {
      return
    }
  }
}

async function release(taken: readonly pg.Client[]): Promise<void> {
  await Promise.all(taken.map((client) => client.end().catch(() => {})))
}

export const diskFull: Fault = {
  name: 'disk full (data)',
  limitS: { quick: 240, full: 300 },
  missing: noDisk,
  async run(environment) {
    const disk = mountDisk(environment, 96)
    const database = await startDatabase(environment, {
      data: join(disk, 'data'),
      wal: makeFolder(environment, 'wal'),
    })
    const service = await startFaultService(environment, { DATABASE_URL: database.serviceUrl })
    const workload = await startWorkload({ url: service.url, token: environment.token, workers: 8 })
    await workload.progress(50)
    const ballast = fill(disk)
    await untilRefused(workload)
    const from = performance.now()
    await sleep(environment.quick ? 3000 : 10_000)
    const to = performance.now()
    rmSync(ballast)
    const recovery = await untilRecovered(workload, to)
    await workload.stop()
    const responses = responsesDuring(workload, from, to)
    const reads = responsesDuring(workload, from, to, 'GET')
    const figures = await workload.verify(database.serviceUrl)
    if (Object.keys(reads.statuses).join() !== '200')
      throw new Error(`reads failed: ${reads.summary}`)
    if (responses.slowestMs > responseLimitMs)
      throw new Error(`a response took too long: ${responses.summary}`)
    return `${responses.summary}, all reads succeeded, ${recovery}, ${summarize(figures)}`
  },
}

/**
 * Without space for its write-ahead log PostgreSQL stops, and it may be unable to start before
 * there is space again.
 */
export const logDiskFull: Fault = {
  name: 'disk full (write-ahead log)',
  limitS: { quick: 240, full: 300 },
  fullOnly: true,
  missing: noDisk,
  async run(environment) {
    const disk = mountDisk(environment, 160)
    const database = await startDatabase(environment, {
      data: join(disk, 'data'),
      settings: { wal_recycle: 'off', max_wal_size: '32MB', min_wal_size: '32MB' },
    })
    const service = await startFaultService(environment, { DATABASE_URL: database.serviceUrl })
    const workload = await startWorkload({ url: service.url, token: environment.token, workers: 8 })
    await workload.progress(50)
    const ballast = fill(disk)
    const from = performance.now()
    await until(
      'PostgreSQL to stop',
      () =>
        withDatabase(database.url, (query) => query('select pg_switch_wal()')).then(
          () => false,
          () => true,
        ),
      { pauseMs: 100 },
    )
    await sleep(3000)
    const to = performance.now()
    rmSync(ballast)
    await database.stop()
    await database.start()
    const recovery = await untilRecovered(workload, to)
    await workload.stop()
    const responses = responsesDuring(workload, from, to)
    const figures = await workload.verify(database.serviceUrl)
    if (!/PANIC: {2}could not write to file "pg_wal/.test(database.log()))
      throw new Error('the disk of the write-ahead log did not fill')
    if (responses.slowestMs > responseLimitMs)
      throw new Error(`a response took too long: ${responses.summary}`)
    return (
      `PANIC as expected, ${responses.summary}, ${recovery} (after a restart of PostgreSQL), ` +
      summarize(figures)
    )
  },
}

function noDisk(): string | undefined {
  if (process.getuid?.() !== 0) return 'only root may mount a disk'
  // In a namespace of our own, the mount ends with us.
  if (process.env.FAULTS_NAMESPACE === undefined) return 'there is no private mount namespace'
  if (!existsSync('/dev/loop-control')) return 'there are no loop devices'
  return undefined
}

function mountDisk(environment: FaultEnvironment, megabytes: number): string {
  const disk = makeFolder(environment, 'disk')
  mountDiskAt(environment, disk, megabytes)
  return disk
}

/** Mounts a small disk: a file that is unlinked as soon as it is mounted. */
export function mountDiskAt(
  environment: FaultEnvironment,
  disk: string,
  megabytes: number,
  files = 4096,
): void {
  const image = join(environment.dir, 'disk.img')
  writeFileSync(image, '')
  truncateSync(image, megabytes << 20)
  system('mkfs.ext4', '-q', '-m', '0', '-N', String(files), image)
  system('mount', '-o', 'loop', image, disk)
  environment.atEnd(() => system('umount', '--lazy', disk))
  rmSync(image)
}

/** Fills a disk almost completely. Returns the file to delete. */
export function fill(disk: string): string {
  const ballast = join(disk, 'ballast')
  const { bavail, bsize } = statfsSync(disk)
  system('fallocate', '-l', String(bavail * bsize - (128 << 10)), ballast)
  return ballast
}

async function untilRefused({ attempts }: Workload): Promise<void> {
  await until('a write to be refused because the disk is full', () =>
    attempts.some(({ status }) => status === 503),
  )
}
