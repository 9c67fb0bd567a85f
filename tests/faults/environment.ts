import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import {
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { createToken } from '../../server/auth/auth.ts'
import { openPool } from '../../server/platform/db/pool.ts'
import { freePort } from '../support/free-port.ts'
import { call, root, runCommand } from '../support/harness.ts'
import { withDatabase } from '../support/invariants.ts'
import { until } from '../support/until.ts'

// The environment of a fault: a durable PostgreSQL (fsync on) and the real server, as child
// processes that can be killed and restarted on the same port. Everything ends with the fault.

/** One kind of failure. */
export interface Fault {
  readonly name: string
  /** Only guards against hanging forever; a step has its own limit, and says what it waited for. */
  readonly limitS: { quick: number; full: number }
  /** Skipped in the quick run, unless it is named. */
  readonly fullOnly?: boolean
  /** Returns why the fault cannot be played on this machine. */
  missing?(): string | undefined
  /** Returns the figures; throws if the service did not withstand the fault. */
  run(environment: FaultEnvironment): Promise<string>
}

export interface FaultEnvironment {
  readonly quick: boolean
  readonly dir: string
  readonly token: string
  /** The folder of the migrated database, to be copied. */
  readonly template: string
  /** Registers a step for the end, which runs whatever happens; the last one runs first. */
  atEnd(undo: () => unknown): void
  /** Unexpected events, such as a service that ended; they fail the fault. */
  readonly unexpected: string[]
}

/** A child process that ends with the environment. */
export interface FaultProgram {
  readonly child: ChildProcess
  readonly exited: Promise<unknown>
}

/** Starts a program in the background; its output goes to a file in the folder of the fault. */
export function launch(
  environment: Pick<FaultEnvironment, 'atEnd' | 'dir'>,
  command: string[],
  { log: file, variables, user }: LaunchOptions,
): FaultProgram {
  const log = openSync(join(environment.dir, file), 'a')
  // setpriv: the kernel kills the child when this process ends. Needed without a namespace.
  const asUser = user ? [`--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups'] : []
  // Only for the program itself: a library that is preloaded before the change of user keeps files
  // that the other user cannot open, and hangs.
  const { LD_PRELOAD: preload, ...env } = variables
  const withPreload = preload === undefined ? [] : ['env', `LD_PRELOAD=${preload}`]
  const [program, ...args] = [
    'setpriv',
    '--pdeathsig',
    'KILL',
    ...asUser,
    '--',
    ...withPreload,
    ...command,
  ] as [string, ...string[]]
  const child = spawn(program, args, { cwd: root, env, stdio: ['ignore', log, log] })
  closeSync(log)
  const exited = new Promise((resolve) => {
    child.once('exit', resolve)
    child.once('error', resolve)
  })
  environment.atEnd(async () => {
    if (!isRunning(child)) return
    child.kill('SIGKILL')
    await exited
  })
  return { child, exited }
}

interface LaunchOptions {
  log: string
  variables: NodeJS.ProcessEnv
  user?: User | undefined
}

function isRunning(child: ChildProcess): boolean {
  return child.pid !== undefined && child.exitCode === null && child.signalCode === null
}

// --- PostgreSQL

export interface Database {
  readonly port: number
  /** The URL for the superuser. */
  readonly url: string
  /** The URL for the service, with a role that is not a superuser. */
  readonly serviceUrl: string
  log(): string
  start(): Promise<void>
  stop(): Promise<void>
  /** kill -9 of the postmaster alone, or of all its processes. */
  kill(which: 'postmaster' | 'all'): Promise<void>
}

interface User {
  uid: number
  gid: number
}

export interface DatabaseOptions {
  settings?: Record<string, string>
  variables?: NodeJS.ProcessEnv
  /** The folder for the data; by default in the folder of the fault. */
  data?: string
  /** The folder for the write-ahead log; by default in the data. */
  wal?: string
}

const databaseName = 'talkshelf'

/** Settings of a PostgreSQL that loses nothing when it is killed. */
export const durable = {
  listen_addresses: '127.0.0.1',
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  max_connections: '60',
  shared_buffers: '32MB',
  timezone: 'Pacific/Chatham',
}

/** Starts PostgreSQL on a copy of the template. */
export async function startDatabase(
  environment: FaultEnvironment,
  options: DatabaseOptions = {},
): Promise<Database> {
  const owner = serverUser()
  const data = options.data ?? join(environment.dir, 'data')
  system('cp', '-a', '--reflink=auto', `${environment.template}/.`, data)
  if (options.wal) {
    system('cp', '-a', `${data}/pg_wal/.`, options.wal)
    rmSync(join(data, 'pg_wal'), { recursive: true })
    symlinkSync(options.wal, join(data, 'pg_wal'))
  }
  return openDatabase(environment, data, owner, options)
}

async function openDatabase(
  environment: Pick<FaultEnvironment, 'atEnd' | 'dir'>,
  data: string,
  owner: User | undefined,
  { settings = {}, variables = {} }: DatabaseOptions,
): Promise<Database> {
  const port = await freePort()
  const log = () => readFileSync(join(environment.dir, 'postgres.log'), 'utf8')
  const args = ['-D', data, '-p', String(port), '-k', environment.dir]
  for (const [name, value] of Object.entries({ ...durable, ...settings }))
    args.push('-c', `${name}=${value}`)
  const env = { PATH: process.env.PATH, LC_ALL: 'C', ...variables }
  let program: FaultProgram | undefined

  async function start(): Promise<void> {
    program = undefined
    await until('PostgreSQL to start', async () => {
      // It refuses to start while a process of the killed one is still running.
      if (!program || !isRunning(program.child))
        program = launch(environment, [join(postgresBin(), 'postgres'), ...args], {
          log: 'postgres.log',
          variables: env,
          user: owner,
        })
      if (!(await acceptsConnections())) throw new Error(`Its log ends:\n${log().slice(-2000)}`)
      return true
    })
  }

  async function acceptsConnections(): Promise<boolean> {
    const client = new pg.Client({
      connectionString: url('postgres', 'postgres'),
      connectionTimeoutMillis: 2000,
    })
    client.on('error', () => {})
    try {
      await client.connect()
      return true
    } catch {
      return false
    } finally {
      await client.end().catch(() => {})
    }
  }

  const url = (database: string, role: string) =>
    `postgresql://${role}@127.0.0.1:${port}/${database}`
  const end = async (signal: NodeJS.Signals) => {
    if (!program || !isRunning(program.child)) return
    program.child.kill(signal)
    await program.exited
  }
  await start()
  return {
    port,
    url: url('postgres', 'postgres'),
    serviceUrl: url(databaseName, 'talkshelf'),
    log,
    start,
    stop: () => end('SIGINT'),
    async kill(which) {
      const pid = program?.child.pid
      if (pid === undefined || !isRunning(program?.child as ChildProcess)) return
      const children = which === 'all' ? childrenOf(pid) : []
      program?.child.kill('SIGKILL')
      for (const child of children) killQuietly(child)
      await program?.exited
    },
  }
}

/** Creates the database that every fault starts with: migrated, with a token. */
export async function makeTemplate(dir: string): Promise<{ template: string; token: string }> {
  const owner = serverUser()
  const undo: (() => unknown)[] = []
  const environment = { dir, atEnd: (step: () => unknown) => void undo.push(step) }
  const template = join(dir, 'template')
  if (owner) chownSync(dir, owner.uid, owner.gid)
  const init = [
    '--locale=C.UTF-8',
    '--encoding=UTF8',
    '--username=postgres',
    '--auth=trust',
    '--data-checksums',
    '--no-sync',
    '--no-instructions',
  ]
  const execution = {
    ...owner,
    cwd: dir,
    env: { PATH: process.env.PATH, LC_ALL: 'C' },
    stdio: 'pipe' as const,
  }
  execFileSync(join(postgresBin(), 'initdb'), [`--pgdata=${template}`, ...init], execution)
  const database = await openDatabase(environment, template, owner, { settings: { fsync: 'off' } })
  await withDatabase(database.url, async (query) => {
    await query('create role talkshelf login')
    await query(`create database ${databaseName} owner talkshelf`)
  })
  const { code, stderr } = await runCommand(['migrate'], { DATABASE_URL: database.serviceUrl })
  if (code !== 0) throw new Error(`The database could not be migrated:\n${stderr}`)
  const pool = openPool({ url: database.serviceUrl, connections: 1, applicationName: 'faults' })
  const { token } = await createToken(pool, { name: 'Edith', role: 'editor', days: 365 })
  await pool.close()
  await database.stop()
  system('sync', '-f', template)
  for (const step of undo.reverse()) await step()
  return { template, token }
}

function serverUser(): User | undefined {
  if (process.getuid?.() !== 0) return undefined
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n')
  for (const name of ['postgres', 'nobody']) {
    const [, , uid, gid] = lines.find((line) => line.startsWith(`${name}:`))?.split(':') ?? []
    if (uid && gid) return { uid: Number(uid), gid: Number(gid) }
  }
  throw new Error(
    'PostgreSQL cannot run as root, and there is neither a user postgres nor a user nobody',
  )
}

function postgresBin(): string {
  if (process.env.PG_BIN) return process.env.PG_BIN
  const folder = '/usr/lib/postgresql'
  const [newest] = (existsSync(folder) ? readdirSync(folder) : []).sort(
    (a, b) => Number(b) - Number(a),
  )
  if (newest === undefined)
    throw new Error(
      `There is no PostgreSQL in ${folder}: install postgresql-15, or name the folder in PG_BIN`,
    )
  return join(folder, newest, 'bin')
}

function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    .split(' ')
    .filter(Boolean)
    .map(Number)
}

function killQuietly(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended already.
  }
}

// --- the service

export interface FaultService {
  readonly url: string
  /** The id of the running process. */
  pid(): number
  /** Starts it again, with these settings changed, or another release of it. */
  start(changed?: { variables?: Record<string, string>; release?: string }): Promise<void>
  /** Sends SIGKILL, and waits for the end. */
  kill(): Promise<void>
  /** Sends SIGTERM, and returns how many milliseconds it took to end. */
  stop(): Promise<number>
}

let services = 0

/** Starts the real server. If it ends without kill() or stop(), the fault fails. */
export async function startFaultService(
  environment: Pick<FaultEnvironment, 'atEnd' | 'dir' | 'unexpected'>,
  variables: Record<string, string>,
  release = 'server/main.ts',
): Promise<FaultService> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const log = `service-${++services}.log`
  const output = () => readFileSync(join(environment.dir, log), 'utf8')
  const env = {
    ...process.env,
    LOG_LEVEL: 'error',
    HOST: '127.0.0.1',
    PORT: String(port),
    PUBLIC_URL: '',
    ...variables,
  }
  let program: FaultProgram | undefined
  let isEnding = false

  async function start({
    variables: changed = {},
    release: started = release,
  }: Parameters<FaultService['start']>[0] = {}): Promise<void> {
    isEnding = false
    Object.assign(env, changed)
    program = launch(environment, [process.execPath, started, 'serve'], {
      log,
      variables: env,
    })
    program.exited.then(() => {
      const messages = output()
        .split('\n')
        .filter((line) => !line.startsWith('{"level"'))
        .join('\n')
      if (!isEnding)
        environment.unexpected.push(`The service ended by itself:\n${messages.slice(-2000)}`)
    })
    const { child } = program
    const isStarted = () =>
      until('the service to be ready or to end', async () => !isRunning(child) || isReady(url))
    if (!(await isStarted().catch(() => false)) || !isRunning(child))
      throw new Error(`The service did not start. Its log ends:\n${output().slice(-2000)}`)
  }

  async function end(signal: NodeJS.Signals): Promise<number> {
    const startedMs = performance.now()
    isEnding = true
    program?.child.kill(signal)
    await program?.exited
    return performance.now() - startedMs
  }

  await start()
  return {
    url,
    pid: () => program?.child.pid ?? 0,
    start,
    kill: async () => void (await end('SIGKILL')),
    stop: () => end('SIGTERM'),
  }
}

async function isReady(url: string): Promise<boolean> {
  try {
    return (await call(url, 'GET', await readiness(url))).status === 200
  } catch {
    return false
  }
}

/** Returns the path of the readiness check; versions without /readyz have /api. */
export async function readiness(url: string): Promise<string> {
  return (await call(url, 'GET', '/readyz')).status === 404 ? '/api' : '/readyz'
}

/** Runs a program to its end. */
export function system(program: string, ...args: string[]): void {
  execFileSync(program, args, { stdio: 'pipe' })
}

/** Creates a folder that PostgreSQL can write to. */
export function makeFolder(environment: FaultEnvironment, name: string): string {
  const path = join(environment.dir, name)
  mkdirSync(path)
  const owner = serverUser()
  if (owner) chownSync(path, owner.uid, owner.gid)
  return path
}
