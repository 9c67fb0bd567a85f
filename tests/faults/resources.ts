import { existsSync, rmSync, statfsSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { withDatabase } from '../support/invariants.ts'
import { told } from './kills.ts'
import { answerLimitMs, recovered } from './network.ts'
import {
  type Fault,
  type FaultEnvironment,
  makeFolder,
  startDatabase,
  startFaultService,
  system,
} from './stage.ts'
import { answersDuring, startWorkload, type Workload } from './workload.ts'

// What PostgreSQL runs out of: connections, disk.

const connections = 30
/** For superusers, as PostgreSQL has it by itself. */
const reserved = 3

export const noConnections: Fault = {
  name: 'no connections left',
  limitS: { quick: 45, full: 60 },
  async run(stage) {
    const database = await startDatabase(stage, {
      settings: { max_connections: String(connections) },
    })
    const service = await startFaultService(stage, { DATABASE_URL: database.serviceUrl })
    const workload = await startWorkload({ url: service.url, token: stage.token, workers: 24 })
    await workload.progress(50)
    const taken: pg.Client[] = []
    stage.atEnd(() => release(taken))
    let from = 0
    await withDatabase(database.url, async (query) => {
      const deadline = performance.now() + 15_000
      while (taken.length < connections - reserved - 1) {
        if (performance.now() > deadline)
          throw new Error(`only ${taken.length} connections could be taken`)
        await query(`select pg_terminate_backend(pid) from pg_stat_activity
                     where backend_type = 'client backend' and application_name <> 'others' and pid <> pg_backend_pid()`)
        await takeAll(taken, database.serviceUrl)
      }
      // This connection is the last one: it stays.
      from = performance.now()
      await sleep(stage.quick ? 3000 : 10_000)
    })
    const to = performance.now()
    await release(taken)
    const recovery = await recovered(workload, to)
    await workload.stop()
    const answers = answersDuring(workload, from, to)
    const figures = await workload.verify(database.serviceUrl)
    if (answers.slowestMs > answerLimitMs || !answers.statuses[503])
      throw new Error(`not answered as it should be: ${answers.told}`)
    return `${taken.length} taken by others, ${answers.told}, ${recovery}, ${told(figures)}`
  },
}

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
  limitS: { quick: 60, full: 90 },
  missing: noDisk,
  async run(stage) {
    const disk = mountDisk(stage, 96)
    const database = await startDatabase(stage, {
      data: join(disk, 'data'),
      wal: makeFolder(stage, 'wal'),
    })
    const service = await startFaultService(stage, { DATABASE_URL: database.serviceUrl })
    const workload = await startWorkload({ url: service.url, token: stage.token, workers: 8 })
    await workload.progress(50)
    const ballast = fill(disk)
    await refused(workload)
    const from = performance.now()
    await sleep(stage.quick ? 3000 : 10_000)
    const to = performance.now()
    rmSync(ballast)
    const recovery = await recovered(workload, to)
    await workload.stop()
    const answers = answersDuring(workload, from, to)
    const reads = answersDuring(workload, from, to, 'GET')
    const figures = await workload.verify(database.serviceUrl)
    if (Object.keys(reads.statuses).join() !== '200') throw new Error(`reads failed: ${reads.told}`)
    if (answers.slowestMs > answerLimitMs)
      throw new Error(`an answer took too long: ${answers.told}`)
    return `${answers.told}, all reads fine, ${recovery}, ${told(figures)}`
  },
}

/**
 * Without room for its log PostgreSQL ends itself, and it may be unable to start before there is
 * room again.
 */
export const logDiskFull: Fault = {
  name: 'disk full (write-ahead log)',
  limitS: { quick: 60, full: 90 },
  fullOnly: true,
  missing: noDisk,
  async run(stage) {
    const disk = mountDisk(stage, 160)
    const database = await startDatabase(stage, {
      data: join(disk, 'data'),
      settings: { wal_recycle: 'off', max_wal_size: '32MB', min_wal_size: '32MB' },
    })
    const service = await startFaultService(stage, { DATABASE_URL: database.serviceUrl })
    const workload = await startWorkload({ url: service.url, token: stage.token, workers: 8 })
    await workload.progress(50)
    const ballast = fill(disk)
    const from = performance.now()
    for (let isUp = true; isUp && performance.now() < from + 20_000; ) {
      isUp = await withDatabase(database.url, (query) => query('select pg_switch_wal()')).then(
        () => true,
        () => false,
      )
      await sleep(100)
    }
    await sleep(3000)
    const to = performance.now()
    rmSync(ballast)
    await database.stop()
    await database.start()
    const recovery = await recovered(workload, to)
    await workload.stop()
    const answers = answersDuring(workload, from, to)
    const figures = await workload.verify(database.serviceUrl)
    if (!/PANIC: {2}could not write to file "pg_wal/.test(database.log()))
      throw new Error('the log did not run out of room')
    if (answers.slowestMs > answerLimitMs)
      throw new Error(`an answer took too long: ${answers.told}`)
    return `PANIC as expected, ${answers.told}, ${recovery} (with PostgreSQL started again), ${told(figures)}`
  },
}

function noDisk(): string | undefined {
  if (process.getuid?.() !== 0) return 'only root may mount a disk'
  // There we are the first process, and the mount goes with us.
  if (process.pid !== 1) return 'there is no namespace of our own to mount it in'
  if (!existsSync('/dev/loop-control')) return 'there are no loop devices'
  return undefined
}

/** A small disk of its own: a file that is mounted, and has no name any more as soon as it is. */
function mountDisk(stage: FaultEnvironment, megabytes: number): string {
  const image = join(stage.dir, 'disk.img')
  const disk = makeFolder(stage, 'disk')
  writeFileSync(image, '')
  truncateSync(image, megabytes << 20)
  system('mkfs.ext4', '-q', '-m', '0', '-N', '4096', image)
  system('mount', '-o', 'loop', image, disk)
  stage.atEnd(() => system('umount', '--lazy', disk))
  rmSync(image)
  return disk
}

/** Leaves next to nothing. */
function fill(disk: string): string {
  const ballast = join(disk, 'ballast')
  const { bavail, bsize } = statfsSync(disk)
  system('fallocate', '-l', String(bavail * bsize - (128 << 10)), ballast)
  return ballast
}

async function refused(workload: Workload): Promise<void> {
  const deadline = performance.now() + 20_000
  while (!workload.tries.some(({ status }) => status === 503)) {
    if (performance.now() > deadline)
      throw new Error('no write was refused within 20 s: the disk did not fill')
    await sleep(20)
  }
}
