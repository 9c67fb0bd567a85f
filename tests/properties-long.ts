// node tests/properties-long.ts [--cases 1000000] [--seed N] [--only word] [--postgres 15|18] The
// properties of properties.test.ts, for as long as wanted: a PostgreSQL of its own, the real server
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
  const [wanted, seed] = [Number(values.cases), Number(values.seed)]
  const chosen = properties.filter(({ name }) => name.includes(values.only))
  if (!Number.isSafeInteger(wanted) || !Number.isSafeInteger(seed) || chosen.length === 0)
    throw new Error('--cases and --seed take whole numbers')

  const postgres = await startPostgres({ version: Number(values.postgres) as PostgresMajor })
  let server: ChildProcess | undefined
  try {
    const databaseUrl = await migratedDatabase(postgres, 'properties')
    const started = await startServer(databaseUrl)
    server = started.child
    const code = await run(target(started.url, databaseUrl), chosen, wanted, seed)
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
  wanted: number,
  seed: number,
): Promise<number> {
  const whole = chosen.reduce((sum, { share }) => sum + share, 0)
  const start = performance.now()
  const progress = { ran: 0, now: '' }
  const say = () => {
    const seconds = (performance.now() - start) / 1000
    console.log(
      `${progress.ran} cases in ${seconds.toFixed(0)} s, ${(progress.ran / seconds).toFixed(0)} a second: ${progress.now}`,
    )
  }
  const ticking = setInterval(say, 10_000)
  try {
    for (let round = 0; progress.ran < wanted; round++)
      for (const { name, property, share } of chosen) {
        const runs = Math.min(Math.ceil((perRound * share) / whole), wanted - progress.ran)
        if (runs === 0) break
        progress.now = name
        // Far apart: each of the lanes takes the next seed.
        progress.ran += await property(archive, runs, (seed + round * 1000) % 2 ** 31)
      }
  } catch (error) {
    console.error(
      `After ${progress.ran} cases, with --seed ${seed}, this does not hold: ${progress.now}`,
    )
    console.error(error)
    return 1
  } finally {
    clearInterval(ticking)
  }
  say()
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
    let said = ''
    child.on('exit', () => reject(new Error(`The server ended:\n${said}`)))
    child.stdout.on('data', (data) => {
      said = (said + data).slice(-10_000)
      const [address] = /http:\/\/127\.0\.0\.1:\d+/.exec(said) ?? []
      if (address) resolve(address)
    })
  })
  // From here on it says one line a request, which nobody needs; but somebody has to take them.
  child.stdout.removeAllListeners('data').resume()
  return { url, child }
}
