import { randomBytes } from 'node:crypto'
import { existsSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { withDatabase } from '../support/invariants.ts'
import { until } from '../support/until.ts'
import {
  type Database,
  type Fault,
  type FaultEnvironment,
  launch,
  makeFolder,
  startDatabase,
  startFaultService,
  system,
} from './environment.ts'
import { summarize } from './kills.ts'
import { startWorkload } from './workload.ts'

// All records are deleted by mistake, and the database is restored to the moment before with the
// commands of docs/operations.md.

const program = '/usr/bin/pgbackrest'

export const everythingDeleted: Fault = {
  name: 'everything is deleted, back to the moment before',
  limitS: { quick: 240, full: 360 },
  missing: () => (existsSync(program) ? undefined : 'pgbackrest is not installed'),
  async run(environment) {
    const config = join(environment.dir, 'pgbackrest.conf')
    const backrest = [program, `--config=${config}`, '--stanza=talkshelf']
    const archive = { archive_mode: 'on', archive_command: `${backrest.join(' ')} archive-push %p` }
    const database = await startDatabase(environment, { settings: archive })
    configure(environment, config, database)
    const timed = (...args: string[]) => timedAsOwner(environment, [...backrest, ...args])
    await timed('stanza-create')
    await timed('check')
    const service = await startFaultService(environment, { DATABASE_URL: database.serviceUrl })
    const workload = await startWorkload({ url: service.url, token: environment.token, workers: 8 })
    const writes = environment.quick ? 150 : 1500
    await workload.progress(writes)
    const fullS = await timed('--type=full', 'backup')
    await workload.progress(writes)
    const incrementalS = await timed('--type=incr', 'backup')
    await workload.progress(writes)
    await workload.stop()

    const moment = await withDatabase(database.serviceUrl, async (query) => {
      const [row] = await query('select clock_timestamp()::text as moment')
      await query('truncate video cascade')
      await query('delete from change')
      return String(row?.moment)
    })
    await withDatabase(database.url, (query) => query('select pg_switch_wal()'))
    await service.stop()
    await database.stop()
    rmSync(join(environment.dir, 'data'), { recursive: true })
    makeFolder(environment, 'data')
    system('chmod', '700', join(environment.dir, 'data'))
    const restoreS = await timed(
      '--type=time',
      `--target=${moment}`,
      '--target-action=promote',
      'restore',
    )
    const startedMs = performance.now()
    await database.start()
    await until('the end of the recovery', async () => !(await isRecovering(database)))
    const replayS = (performance.now() - startedMs) / 1000
    await service.start()
    const seconds =
      `full backup ${fullS.toFixed(1)} s, incremental ${incrementalS.toFixed(1)} s, ` +
      `restore ${restoreS.toFixed(1)} s, replay ${replayS.toFixed(1)} s`
    return `${seconds}, ${summarize(await workload.verify(database.serviceUrl))}`
  },
}

function configure(environment: FaultEnvironment, file: string, { port }: Database): void {
  const folders = ['repo', 'spool', 'lock', 'log'].map((name) => makeFolder(environment, name))
  const [repo, spool, lock, log] = folders
  writeFileSync(
    file,
    `[global]
repo1-path=${repo}
repo1-cipher-type=aes-256-cbc
repo1-cipher-pass=${randomBytes(48).toString('base64')}
repo1-retention-full=2
repo1-bundle=y
compress-type=lz4
start-fast=y
log-level-console=warn
log-path=${log}
lock-path=${lock}
spool-path=${spool}

[talkshelf]
pg1-path=${join(environment.dir, 'data')}
pg1-socket-path=${environment.dir}
pg1-port=${port}
pg1-user=postgres
`,
    { mode: 0o600 },
  )
  system('chown', '--reference', environment.template, file)
}

/** Runs a command as the user who owns the database. Returns how many seconds it took. */
async function timedAsOwner(environment: FaultEnvironment, command: string[]): Promise<number> {
  const startedMs = performance.now()
  const { uid, gid } = statSync(environment.template)
  const user = process.getuid?.() === 0 ? { uid, gid } : undefined
  const { child, exited } = launch(environment, command, {
    log: 'pgbackrest.log',
    variables: { PATH: process.env.PATH, LC_ALL: 'C' },
    user,
  })
  await exited
  if (child.exitCode !== 0)
    throw new Error(`${command.join(' ')} ended with ${child.exitCode ?? child.signalCode}`)
  return (performance.now() - startedMs) / 1000
}

async function isRecovering({ url }: Database): Promise<boolean> {
  return withDatabase(
    url,
    async (query) =>
      (await query('select pg_is_in_recovery() as recovering'))[0]?.recovering === (true as never),
  )
}
