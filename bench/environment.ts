import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { installedPostgres, startPrivatePostgres } from '../server/platform/db/private-postgres.ts'
import { startReplica, type TestReplica } from '../tests/support/cluster.ts'
import { root } from '../tests/support/harness.ts'
import { installMissing } from '../tests/support/install.ts'
import { migratedDatabase } from '../tests/support/postgres.ts'
import { until } from '../tests/support/until.ts'
import { query, seed } from './seed.ts'

// The environment of the benchmarks: a private PostgreSQL with records, the packed service, and
// bare servers.

export interface BenchEnvironment {
  /** A temporary folder for the packed service and the files of load tests. */
  readonly dir: string
  /** The folder of the programs of PostgreSQL. */
  readonly bin: string
  /** The number of seeded records. Their ids start at 1. */
  readonly records: number
  readonly postgresVersion: string
  readonly seedSeconds: number
  /** The URL for the role that owns the database, which is not a superuser. */
  readonly url: string
  /** The parent of the server processes of PostgreSQL. */
  readonly postgresPid: number
  /** A token with the role editor. */
  readonly token: string
  /** Runs a statement as a superuser. Returns its output. */
  query(statement: string): Promise<string>
  /** Creates an empty database. Returns its URL. */
  createDatabase(name: string): Promise<string>
  /** Runs a command of the service to its end, with these environment variables. */
  run(variables: Record<string, string>, ...args: string[]): string
  /** Starts a replica, with the settings of the primary. */
  startReplica(): Promise<TestReplica>
  /** Starts the service with these environment variables. */
  serve(variables: Record<string, string>): Promise<BenchServer>
  /** Starts a minimal server that always sends this response. */
  bare(response: { status: number; headers: readonly string[]; body: string }): Promise<BenchServer>
  close(): Promise<void>
}

export interface BenchServer {
  readonly port: number
  readonly pid: number
  /** The time from the start of the process to its first response; NaN for a bare server. */
  readonly startMs: number
  stop(): Promise<void>
}

// The settings of a small server. Durable: every acknowledged write is on disk.
const settings = {
  shared_buffers: '1GB',
  max_connections: '200',
  max_wal_size: '8GB',
  checkpoint_timeout: '30min',
  maintenance_work_mem: '512MB',
}

/** Installs wrk if it is missing. Ends the process if that is not possible. */
export function requireWrk(): void {
  if (installMissing([{ package: 'wrk', program: 'wrk' }])) return
  console.error('wrk is not installed. Install it first (Debian: apt-get install wrk)')
  process.exit(2)
}

/** Returns a function that prints a line with the seconds since now. */
export function openProgressLog(): (line: string) => void {
  const startedMs = performance.now()
  return (line) =>
    console.log(`${((performance.now() - startedMs) / 1000).toFixed(0).padStart(4)} s  ${line}`)
}

/** Starts PostgreSQL, packs the service, and seeds the database with this number of records. */
export async function openBenchEnvironment(
  records: number,
  say: (line: string) => void,
): Promise<BenchEnvironment> {
  const [installed] = installedPostgres().filter(({ bin }) => existsSync(join(bin, 'pgbench')))
  if (!installed)
    throw new Error(
      'There is no PostgreSQL with pgbench in /usr/lib/postgresql: install postgresql-15',
    )
  const { bin } = installed
  const dir = mkdtempSync(join(tmpdir(), 'talkshelf-bench-'))
  chmodSync(dir, 0o755)
  const postgres = startPrivatePostgres({ bin, name: 'bench-', listen: 'port', settings })
  const servers = new Set<BenchServer>()
  const close = async () => {
    for (const server of servers) await server.stop()
    await postgres.stop()
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => void close().then(() => process.kill(process.pid, signal)))
  try {
    const started = await postgres.started
    const url = await migratedDatabase(started, 'talkshelf')
    const program = pack(dir)
    say(`Started PostgreSQL ${started.version} and packed the service`)

    const startedMs = performance.now()
    let lastReported = 0
    await seed(bin, started.url('talkshelf'), records, (done) => {
      if (done - lastReported < records / 10) return
      lastReported = done
      say(`Seeded ${done.toLocaleString('en')} records`)
    })
    const seedSeconds = (performance.now() - startedMs) / 1000
    say(`Seeded in ${seedSeconds.toFixed(0)} s`)

    const run = (variables: Record<string, string>, ...args: string[]) =>
      runCommand(program, { DATABASE_URL: url, ...variables }, args)
    const token = run({}, 'token', 'create', '--name', 'bench', '--role', 'editor').trim()
    const superuser = started.url('talkshelf')
    const register = (server: BenchServer) => {
      servers.add(server)
      return { ...server, stop: () => server.stop().then(() => void servers.delete(server)) }
    }
    return {
      dir,
      bin,
      records,
      postgresVersion: started.version,
      seedSeconds,
      url,
      postgresPid: Number(
        await query(bin, superuser, "select split_part(pg_read_file('postmaster.pid'), E'\\n', 1)"),
      ),
      token,
      query: (statement) => query(bin, superuser, statement),
      createDatabase: (name) => started.createDatabase(name, 'talkshelf'),
      run,
      startReplica: () => startReplica(started, settings),
      serve: async (variables) => register(await serve(program, url, variables)),
      bare: async (response) => register(await bare(response)),
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** Packs the service as it is published, without installing it. Returns its program's path. */
export function pack(dir: string): string {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['scripts/pack.ts', '--out', dir],
    {
      cwd: root,
      encoding: 'utf8',
    },
  )
  if (status !== 0) throw new Error(`The service could not be packed:\n${stdout}${stderr}`)
  return join(dir, 'talkshelf', 'main.js')
}

function runCommand(
  program: string,
  variables: Record<string, string>,
  args: readonly string[],
): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], {
    env: { ...process.env, ...variables },
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`talkshelf ${args.join(' ')}: ${stdout}${stderr}`)
  return stdout
}

let nextPort = 20_000 + (process.pid % 5000)

async function serve(
  program: string,
  url: string,
  variables: Record<string, string>,
): Promise<BenchServer> {
  const port = nextPort++
  // Logging of requests is measured separately; all other settings have their defaults.
  const env = {
    ...process.env,
    LOG_LEVEL: 'warn',
    ...variables,
    DATABASE_URL: url,
    PORT: String(port),
  }
  const startedMs = performance.now()
  const child = spawn(process.execPath, [program, 'serve'], {
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  return {
    port,
    pid: child.pid as number,
    startMs: (await firstResponse(child, port)) - startedMs,
    stop: () => end(child),
  }
}

async function bare(response: object): Promise<BenchServer> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'bare.ts')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  child.stdin.end(JSON.stringify(response))
  const [port] = (await once(child.stdout, 'data')) as [Buffer]
  return {
    port: Number(port),
    pid: child.pid as number,
    startMs: Number.NaN,
    stop: () => end(child),
  }
}

/** Waits for the first response. Returns its time on the clock of performance.now(). */
async function firstResponse(child: ChildProcess, port: number): Promise<number> {
  const isHealthy = () =>
    fetch(`http://127.0.0.1:${port}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    )
  const startedAt = await until(
    'the service to start or to end',
    async () => child.exitCode !== null || ((await isHealthy()) && performance.now()),
    { pauseMs: 5 },
  )
  if (startedAt === true) throw new Error('The service did not start')
  return startedAt
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGINT')
  const timeout = setTimeout(() => child.kill('SIGKILL'), 5000)
  await once(child, 'exit')
  clearTimeout(timeout)
}
