import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { installedPostgres, startPrivatePostgres } from '../server/platform/db/private-postgres.ts'
import { root } from '../tests/support/harness.ts'
import { migratedDatabase } from '../tests/support/postgres.ts'
import { query, seed } from './seed.ts'

// Everything that a measure needs: a PostgreSQL of our own with records in it, the service as
// people install it, and bare servers.

export interface BenchEnvironment {
  readonly dir: string
  /** The folder of PostgreSQL's programs. */
  readonly bin: string
  readonly records: number
  readonly postgres: string
  readonly seedSeconds: number
  /** For the role that owns the database, which is no superuser. */
  readonly url: string
  /** The server processes of PostgreSQL are below this one. */
  readonly postgresPid: number
  readonly token: string
  ask(statement: string): Promise<string>
  serve(environment: Record<string, string>): Promise<BenchServer>
  bare(answer: { status: number; headers: readonly string[]; body: string }): Promise<BenchServer>
  close(): Promise<void>
}

export interface BenchServer {
  readonly port: number
  readonly pid: number
  /** From the start of the process to its first answer. */
  readonly startMs: number
  stop(): Promise<void>
}

// As a small server would be set up. Safe: every acknowledged write is on the disk.
const settings = {
  shared_buffers: '1GB',
  max_connections: '200',
  max_wal_size: '8GB',
  checkpoint_timeout: '30min',
  maintenance_work_mem: '512MB',
}

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
    say(`PostgreSQL ${started.version} runs, the service is compiled`)

    const begin = performance.now()
    let told = 0
    await seed(bin, started.url('talkshelf'), records, (done) => {
      if (done - told < records / 10) return
      told = done
      say(`${done.toLocaleString('en')} records are in`)
    })
    const seedSeconds = (performance.now() - begin) / 1000
    say(`Seeded in ${seedSeconds.toFixed(0)} s`)

    const token = run(program, url, [
      'token',
      'create',
      '--name',
      'bench',
      '--role',
      'editor',
    ]).trim()
    const superuser = started.url('talkshelf')
    const keep = (server: BenchServer) => {
      servers.add(server)
      return { ...server, stop: () => server.stop().then(() => void servers.delete(server)) }
    }
    return {
      dir,
      bin,
      records,
      postgres: started.version,
      seedSeconds,
      url,
      postgresPid: Number(
        await query(bin, superuser, "select split_part(pg_read_file('postmaster.pid'), E'\\n', 1)"),
      ),
      token,
      ask: (statement) => query(bin, superuser, statement),
      serve: async (environment) => keep(await serve(program, url, environment)),
      bare: async (answer) => keep(await bare(answer)),
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** What people install: the path of its program. */
export function pack(dir: string): string {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['scripts/pack.ts', '--out', dir],
    {
      cwd: root,
      encoding: 'utf8',
    },
  )
  if (status !== 0) throw new Error(`It could not be packed:\n${stdout}${stderr}`)
  return join(dir, 'talkshelf', 'main.js')
}

function run(program: string, url: string, args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], {
    env: { ...process.env, DATABASE_URL: url },
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`talkshelf ${args.join(' ')}: ${stdout}${stderr}`)
  return stdout
}

let lastPort = 20_000 + (process.pid % 5000)

async function serve(
  program: string,
  url: string,
  environment: Record<string, string>,
): Promise<BenchServer> {
  const port = lastPort++
  // A line of log for each request is measured for itself; everything else is as it comes.
  const env = {
    ...process.env,
    LOG_LEVEL: 'warn',
    ...environment,
    DATABASE_URL: url,
    PORT: String(port),
  }
  const begin = performance.now()
  const child = spawn(process.execPath, [program, 'serve'], {
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  return {
    port,
    pid: child.pid as number,
    startMs: (await answering(child, port)) - begin,
    stop: () => end(child),
  }
}

async function bare(answer: object): Promise<BenchServer> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'bare.ts')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  child.stdin.end(JSON.stringify(answer))
  const [port] = (await once(child.stdout, 'data')) as [Buffer]
  return {
    port: Number(port),
    pid: child.pid as number,
    startMs: Number.NaN,
    stop: () => end(child),
  }
}

/** When the first request was answered, on the clock of performance.now(). */
async function answering(child: ChildProcess, port: number): Promise<number> {
  for (let tries = 0; tries < 6000 && child.exitCode === null; tries++) {
    const isThere = await fetch(`http://127.0.0.1:${port}/healthz`).then(
      (answer) => answer.ok,
      () => false,
    )
    if (isThere) return performance.now()
    await sleep(5)
  }
  throw new Error('The service did not start')
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGINT')
  const late = setTimeout(() => child.kill('SIGKILL'), 5000)
  await once(child, 'exit')
  clearTimeout(late)
}
