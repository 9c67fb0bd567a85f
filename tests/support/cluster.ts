// A PostgreSQL with streaming replicas, for tests of their own.

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import {
  findPostgres,
  type PrivatePostgres,
  startPrivatePostgres,
} from '../../server/platform/db/private-postgres.ts'
import { freePort } from './free-port.ts'
import { until } from './until.ts'

/** Replicas need at least as many connections as their primary. */
const settings = {
  fsync: 'off',
  full_page_writes: 'off',
  max_connections: '100',
  shared_buffers: '32MB',
  hot_standby_feedback: 'on',
  // Tests decide what is written to the log.
  autovacuum: 'off',
}

export interface TestReplica {
  readonly port: number
  /** The parent of its processes. */
  readonly pid: number
  url(database: string, role?: string): string
  /** Runs a statement as the superuser. */
  query(text: string): Promise<Record<string, unknown>[]>
  /** Stops or continues replay. */
  pause(): Promise<void>
  resume(): Promise<void>
  /** Ends all of its processes at once, as when a machine loses its power. */
  kill(): Promise<void>
  start(): Promise<void>
  /** Stops all of its processes, with their connections open, or continues them. */
  freeze(): void
  thaw(): void
}

export interface TestPrimary extends PrivatePostgres {
  /** Ends all of its processes at once. Its folder remains until it is stopped. */
  crash(): Promise<void>
}

/** Starts a server that can have replicas. */
export async function startPrimary(): Promise<TestPrimary> {
  const bin = findPostgres(process.env)
  const options = { bin, name: 'primary-', listen: 'port', settings } as const
  const primary = await startPrivatePostgres(options).started
  return {
    ...primary,
    async crash() {
      const pid = postmasterOf(primary)
      for (const each of [pid, ...childrenOf(pid)]) process.kill(each, 'SIGKILL')
      await until('the primary to end', () => !existsSync(`/proc/${pid}/exe`))
    },
  }
}

function postmasterOf({ dir }: PrivatePostgres): number {
  const [line] = readFileSync(join(dir, 'data', 'postmaster.pid'), 'utf8').split('\n')
  return Number(line)
}

/**
 * Copies a server and starts the copy as its replica. It lives in the folder of the primary: if that
 * is removed, it ends by itself.
 */
export async function startReplica(
  primary: PrivatePostgres,
  extra: Readonly<Record<string, string>> = {},
): Promise<TestReplica> {
  const bin = findPostgres(process.env)
  const folder = join(primary.dir, `replica-${randomBytes(4).toString('hex')}`)
  // PostgreSQL does not run as root: the owner of the primary runs the replica as well.
  const { uid, gid } = statSync(join(primary.dir, 'data'))
  const owner = process.getuid?.() === 0 ? { uid, gid } : {}
  await promisify(execFile)(
    join(bin, 'pg_basebackup'),
    [
      `--dbname=${primary.url('postgres')}`,
      ...[`--pgdata=${folder}`, '--write-recovery-conf', '--wal-method=stream'],
      ...['--checkpoint=fast', '--no-sync'],
    ],
    { ...owner, cwd: primary.dir },
  )
  const port = await freePort()
  const url = (database: string, role = 'postgres') =>
    primary.url(database, role).replace(`:${primary.port}/`, `:${port}/`)
  let child: ChildProcess | undefined
  const processes = () => {
    const pid = child?.pid
    if (pid === undefined) return []
    return [pid, ...childrenOf(pid)]
  }
  const replica: TestReplica = {
    port,
    get pid() {
      return child?.pid ?? 0
    },
    url,
    query: (text) => queryOnce(url('postgres'), text),
    pause: async () => void (await replica.query('select pg_wal_replay_pause()')),
    resume: async () => void (await replica.query('select pg_wal_replay_resume()')),
    async kill() {
      if (!child || child.exitCode !== null || child.signalCode !== null) return
      child.ref()
      const ended = once(child, 'exit')
      for (const pid of processes()) process.kill(pid, 'SIGKILL')
      await ended
      child = undefined
    },
    async start() {
      const args = ['-D', folder, '-p', String(port), '-k', primary.dir]
      const all = { ...settings, ...extra, listen_addresses: '127.0.0.1' }
      for (const [name, value] of Object.entries(all)) args.push('-c', `${name}=${value}`)
      child = spawn(join(bin, 'postgres'), args, { ...owner, cwd: primary.dir, stdio: 'ignore' })
      child.unref()
      await until('the replica to accept connections', async () => {
        const [row] = await replica.query('select pg_is_in_recovery() as is_replica')
        return row?.is_replica === true
      })
    },
    freeze() {
      for (const pid of processes()) process.kill(pid, 'SIGSTOP')
    },
    thaw() {
      for (const pid of processes()) process.kill(pid, 'SIGCONT')
    },
  }
  await replica.start()
  return replica
}

/** Stops a process of a server that does a kind of work, such as `walwriter`. */
export function freezeWorker(primary: PrivatePostgres, title: string): { thaw(): void } {
  const worker = childrenOf(postmasterOf(primary)).find((pid) =>
    readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(title),
  )
  if (worker === undefined) throw new Error(`The server has no ${title}`)
  process.kill(worker, 'SIGSTOP')
  return { thaw: () => process.kill(worker, 'SIGCONT') }
}

/** Returns the processes that a process has started. */
export function childrenOf(pid: number): number[] {
  const file = `/proc/${pid}/task/${pid}/children`
  const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
  return text.split(' ').filter(Boolean).map(Number)
}

/** Runs a statement over a connection of its own. */
export async function queryOnce(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}
