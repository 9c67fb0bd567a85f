// node tests/properties-long.ts [--cases 1000000] [--seed N] [--only word] [--postgres 15|18]
//
// Runs any number of cases of properties.test.ts, on a private PostgreSQL and with the real server
// in a process of its own.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { Agent } from 'node:http'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { type CallOptions, call } from './support/harness.ts'
import { migratedDatabase, type PostgresMajor, startPostgres } from './support/postgres.ts'
import { type PropertyTarget, properties } from './support/properties.ts'

const root = resolve(import.meta.dirname, '..')
// Long enough that the opening of lanes costs nothing, short enough that every property has its
// turn in every run.
const perRound = 20_000

process.exitCode = await main()

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      cases: { type: 'string', default: '1000000' },
      seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
      only: { type: 'string', default: '' },
      postgres: { type: 'string', default: '15' },
    },
  })
  const [cases, seed] = [Number(values.cases), Number(values.seed)]
  const chosen = properties.filter(({ name }) => name.includes(values.only))
  if (!Number.isSafeInteger(cases) || !Number.isSafeInteger(seed) || chosen.length === 0)
    throw new Error('--cases and --seed take whole numbers')

  const postgres = await startPostgres({ version: Number(values.postgres) as PostgresMajor })
  let server: ChildProcess | undefined
  try {
    const databaseUrl = await migratedDatabase(postgres, 'properties')
    const started = await startServer(databaseUrl)
    server = started.child
    const code = await run(target(started.url, databaseUrl), chosen, cases, seed)
    if (code !== 0) console.error(`The last words of PostgreSQL:\n${postgres.log().slice(-4000)}`)
    return code
  } finally {
    server?.kill()
    await postgres.stop()
  }
}

async function run(
  archive: PropertyTarget,
  chosen: typeof properties,
  cases: number,
  seed: number,
): Promise<number> {
  const whole = chosen.reduce((sum, { share }) => sum + share, 0)
  const start = performance.now()
  const progress = { ran: 0, property: '' }
  const printProgress = () => {
    const seconds = (performance.now() - start) / 1000
    console.log(
      `${progress.ran} cases in ${seconds.toFixed(0)} s, ` +
        `${(progress.ran / seconds).toFixed(0)} a second: ${progress.property}`,
    )
  }
  const ticking = setInterval(printProgress, 10_000)
  try {
    for (let round = 0; progress.ran < cases; round++)
      for (const { name, property, share } of chosen) {
        const runs = Math.min(Math.ceil((perRound * share) / whole), cases - progress.ran)
        if (runs === 0) break
        progress.property = name
        // Far apart, because each lane takes the next seed.
        progress.ran += await property(archive, runs, (seed + round * 1000) % 2 ** 31)
      }
  } catch (error) {
    console.error(
      `After ${progress.ran} cases, with --seed ${seed}, this does not hold: ${progress.property}`,
    )
    console.error(error)
    return 1
  } finally {
    clearInterval(ticking)
  }
  printProgress()
  console.log(`${progress.ran} cases, 0 failures, seed ${seed}`)
  return 0
}

function target(url: string, databaseUrl: string): PropertyTarget {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 })
  const { stdout, stderr, status } = talkshelf(
    ['token', 'create', '--name', 'Properties', '--role', 'editor'],
    databaseUrl,
  )
  if (status !== 0) throw new Error(stderr)
  return {
    editor: stdout.trim(),
    call: (method: string, path: string, options?: CallOptions) =>
      call(url, method, path, options, agent),
  }
}

function talkshelf(args: string[], databaseUrl: string) {
  return spawnSync(process.execPath, ['server/main.ts', ...args], {
    cwd: root,
    env: { ...process.env, DATABASE_URL: databaseUrl },
    encoding: 'utf8',
  })
}

async function startServer(databaseUrl: string): Promise<{ url: string; child: ChildProcess }> {
  const child = spawn(process.execPath, [...process.execArgv, 'server/main.ts', 'serve'], {
    cwd: root,
    env: {
      ...process.env,
      DATABASE_URL: databaseUrl,
      PORT: '0',
      LOG_LEVEL: 'info',
      TZ: 'America/New_York',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const url = await new Promise<string>((resolve, reject) => {
    let output = ''
    child.on('exit', () => reject(new Error(`The server ended:\n${output}`)))
    child.stdout.on('data', (data) => {
      output = (output + data).slice(-10_000)
      const [address] = /http:\/\/127\.0\.0\.1:\d+/.exec(output) ?? []
      if (address) resolve(address)
    })
  })
  // The log lines of requests are not needed, but must be read.
  child.stdout.removeAllListeners('data').resume()
  return { url, child }
}
