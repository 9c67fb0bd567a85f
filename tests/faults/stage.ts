import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
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
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { createToken } from '../../server/auth/auth.ts'
import { openPool } from '../../server/platform/db/pool.ts'
import { call, root, runCommand } from '../support/harness.ts'
import { withDatabase } from '../support/invariants.ts'

// What a fault is played on: a PostgreSQL that keeps its promises (fsync on) and the real command,
// as children that can be killed and started again where they were. Everything goes when the fault
// is over.

/** One way for entities to break. */
export interface Fault {
  readonly name: string
  readonly limitS: { quick: number; full: number }
  /** Left out of the short run. */
  readonly fullOnly?: boolean
  /** Why it cannot be tried here. */
  missing?(): string | undefined
  /** Returns the figures; throws where the service did not stand it. */
  run(stage: FaultEnvironment): Promise<string>
}

export interface FaultEnvironment {
  readonly quick: boolean
  readonly dir: string
  readonly token: string
  /** Where the migrated data lies, to be copied. */
  readonly template: string
  /** To be done at the end whatever happens, the last one first. */
  atEnd(undo: () => unknown): void
  /** What nobody asked for; the fault has failed then. */
  readonly surprises: string[]
}

/** A program of ours that ends with the stage. */
export interface FaultProgram {
  readonly child: ChildProcess
  readonly exited: Promise<unknown>
}

export function launch(
  stage: Pick<FaultEnvironment, 'atEnd' | 'dir'>,
  command: string[],
  { log: file, environment, user }: LaunchOptions,
): FaultProgram {
  const log = openSync(join(stage.dir, file), 'a')
  // Whatever happens to us, no child stays: the kernel tells it. Needed where we have no namespace
  // of our own.
  const asUser = user ? [`--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups'] : []
  // For the program itself only: what is preloaded before the change of user keeps files that the
  // other user cannot open, and hangs.
  const { LD_PRELOAD: preload, ...env } = environment
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
  stage.atEnd(async () => {
    if (!isRunning(child)) return
    child.kill('SIGKILL')
    await exited
  })
  return { child, exited }
}

interface LaunchOptions {
  log: string
  environment: NodeJS.ProcessEnv
  user?: User | undefined
}

function isRunning(child: ChildProcess): boolean {
  return child.pid !== undefined && child.exitCode === null && child.signalCode === null
}

// --- PostgreSQL

export interface Database {
  readonly port: number
  /** For the superuser. */
  readonly url: string
  /** For the service: a role that is no superuser. */
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
  environment?: NodeJS.ProcessEnv
  /** Where the data goes instead of the stage's folder. */
  data?: string
  /** Where the log of writes goes instead of into the data. */
  wal?: string
}

const databaseName = 'talkshelf'

const durable = {
  listen_addresses: '127.0.0.1',
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  max_connections: '60',
  shared_buffers: '32MB',
  timezone: 'Pacific/Chatham',
}

export async function startDatabase(
  stage: FaultEnvironment,
  options: DatabaseOptions = {},
): Promise<Database> {
  const owner = serverUser()
  const data = options.data ?? join(stage.dir, 'data')
  system('cp', '-a', '--reflink=auto', `${stage.template}/.`, data)
  if (options.wal) {
    system('cp', '-a', `${data}/pg_wal/.`, options.wal)
    rmSync(join(data, 'pg_wal'), { recursive: true })
    symlinkSync(options.wal, join(data, 'pg_wal'))
  }
  return openDatabase(stage, data, owner, options)
}

async function openDatabase(
  stage: Pick<FaultEnvironment, 'atEnd' | 'dir'>,
  data: string,
  owner: User | undefined,
  { settings = {}, environment = {} }: DatabaseOptions,
): Promise<Database> {
  const port = await freePort()
  const log = () => readFileSync(join(stage.dir, 'postgres.log'), 'utf8')
  const args = ['-D', data, '-p', String(port), '-k', stage.dir]
  for (const [name, value] of Object.entries({ ...durable, ...settings }))
    args.push('-c', `${name}=${value}`)
  const env = { PATH: process.env.PATH, LC_ALL: 'C', ...environment }
  let program: FaultProgram | undefined

  async function start(): Promise<void> {
    const deadline = performance.now() + 60_000
    while (performance.now() < deadline) {
      program = launch(stage, [join(postgresBin(), 'postgres'), ...args], {
        log: 'postgres.log',
        environment: env,
        user: owner,
      })
      // It refuses to start while a process of the killed one is still there.
      while (isRunning(program.child) && performance.now() < deadline) {
        if (await answers()) return
        await sleep(20)
      }
      await sleep(50)
    }
    throw new Error(`PostgreSQL did not start within 60 s. Its log ends:\n${log().slice(-2000)}`)
  }

  async function answers(): Promise<boolean> {
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

/** Makes the data that every fault starts with: migrated, with a token. */
export async function makeTemplate(dir: string): Promise<{ template: string; token: string }> {
  const owner = serverUser()
  const undo: (() => unknown)[] = []
  const stage = { dir, atEnd: (step: () => unknown) => void undo.push(step) }
  const template = join(dir, 'template')
  if (owner) chownSync(dir, owner.uid, owner.gid)
  const init = [
    '--locale=C.UTF-8',
    '--encoding=UTF8',
    '--username=postgres',
    '--auth=trust',
    '--no-sync',
    '--no-instructions',
  ]
  const quietly = {
    ...owner,
    cwd: dir,
    env: { PATH: process.env.PATH, LC_ALL: 'C' },
    stdio: 'pipe' as const,
  }
  execFileSync(join(postgresBin(), 'initdb'), [`--pgdata=${template}`, ...init], quietly)
  const database = await openDatabase(stage, template, owner, { settings: { fsync: 'off' } })
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
    'PostgreSQL does not run as root, and there is neither a user postgres nor a user nobody to run it',
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
    // It went by itself.
  }
}

// --- the service

export interface FaultService {
  readonly url: string
  start(): Promise<void>
  /** kill -9. */
  kill(): Promise<void>
  /** SIGTERM; tells how long it took. */
  stop(): Promise<number>
}

let services = 0

export async function startFaultService(
  stage: FaultEnvironment,
  environment: Record<string, string>,
): Promise<FaultService> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const log = `service-${++services}.log`
  const said = () => readFileSync(join(stage.dir, log), 'utf8')
  const env = {
    ...process.env,
    LOG_LEVEL: 'error',
    HOST: '127.0.0.1',
    PORT: String(port),
    PUBLIC_URL: '',
    ...environment,
  }
  let program: FaultProgram | undefined
  let isEnding = false

  async function start(): Promise<void> {
    isEnding = false
    program = launch(stage, [process.execPath, 'server/main.ts', 'serve'], {
      log,
      environment: env,
    })
    program.exited.then(() => {
      const story = said()
        .split('\n')
        .filter((line) => !line.startsWith('{"level"'))
        .join('\n')
      if (!isEnding) stage.surprises.push(`The service ended by itself:\n${story.slice(-2000)}`)
    })
    const deadline = performance.now() + 30_000
    while (!(await isReady(url))) {
      if (!isRunning(program.child) || performance.now() > deadline)
        throw new Error(`The service did not start. Its log ends:\n${said().slice(-2000)}`)
      await sleep(30)
    }
  }

  async function end(signal: NodeJS.Signals): Promise<number> {
    const begin = performance.now()
    isEnding = true
    program?.child.kill(signal)
    await program?.exited
    return performance.now() - begin
  }

  await start()
  return {
    url,
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

/** /readyz where there is one. */
export async function readiness(url: string): Promise<string> {
  return (await call(url, 'GET', '/readyz')).status === 404 ? '/api' : '/readyz'
}

/**
 * Below the range from which the system gives ports to connections: nobody takes it while a killed
 * program is away.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000)
    const server = createServer().listen(port, '127.0.0.1')
    const isFree = await Promise.race([
      once(server, 'listening').then(() => true),
      once(server, 'error').then(() => false),
    ]).catch(() => false)
    if (isFree) await new Promise((resolve) => server.close(resolve))
    if (isFree) return port
  }
}

/** Runs a program of the system to its end. */
export function system(program: string, ...args: string[]): void {
  execFileSync(program, args, { stdio: 'pipe' })
}

export function makeFolder(stage: FaultEnvironment, name: string): string {
  const path = join(stage.dir, name)
  mkdirSync(path)
  const owner = serverUser()
  if (owner) chownSync(path, owner.uid, owner.gid)
  return path
}
