import { once } from 'node:events'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { createApp } from '../app.ts'
import { createToken } from '../auth/auth.ts'
import { listenError } from '../command.ts'
import { basePathOf, type Config, readConfig } from '../config.ts'
import { migrate, schemaStatus } from '../platform/db/migrate.ts'
import { openPool } from '../platform/db/pool.ts'
import {
  findPostgres,
  PostgresNotFound,
  startPrivatePostgres,
} from '../platform/db/private-postgres.ts'
import { timeoutsFor } from '../platform/timeouts.ts'
import { readSite } from '../site/site.ts'
import { version } from '../version.ts'
import { isOccupied, loadExamples } from './load.ts'
import { clipPath, clipRoute } from './routes.ts'
import { exampleTalks } from './talks.ts'

// `talkshelf demo`: starts an archive with example talks and serves it until Ctrl-C.

/** An error that the user can fix. The message says how. */
export class DemoError extends Error {}

type Environment = Record<string, string | undefined>
type App = ReturnType<typeof createApp>

/** Runs the demo until a signal stops it. Returns the exit status. */
export async function demo(environment: Environment, schemaFolder: string): Promise<number> {
  const stopRequest = waitForStop(environment)
  const closers: (() => Promise<unknown>)[] = []
  const closeAll = async () => {
    for (const close of closers.reverse()) await close()
  }
  try {
    const started = await Promise.race([start(environment, schemaFolder, closers), stopRequest])
    if (started !== 'stop') {
      process.stdout.write(started)
      await stopRequest
    }
    say('\nStopping ...')
    await closeAll()
    say('The demo has stopped.')
    return started === 'stop' ? 130 : 0
  } catch (error) {
    await closeAll()
    throw error
  }
}

/**
 * Resolves at the first signal. A second Ctrl-C ends the process at once, because the listener is
 * gone; the private PostgreSQL is stopped even then.
 */
function waitForStop(environment: Environment): Promise<'stop'> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
      process.once(signal, () => resolve('stop'))
    // npx runs this process in a shell. A SIGTERM ends npx and the shell but is not forwarded, so a
    // change of the parent process counts as a signal.
    const parent = process.ppid
    if (environment.npm_command === 'exec')
      setInterval(() => process.ppid !== parent && resolve('stop'), 250).unref()
  })
}

/** Starts everything and returns the text to print. Adds what has to be closed to `closers`. */
async function start(
  environment: Environment,
  schemaFolder: string,
  closers: (() => Promise<unknown>)[],
): Promise<string> {
  const startedAt = performance.now()
  const configuredUrl = environment.DATABASE_URL || undefined
  const settings = { ...environment, LOG_LEVEL: environment.LOG_LEVEL || 'warn' }
  // Reports all invalid settings before anything is started.
  const checked = readConfig({
    ...settings,
    DATABASE_URL: configuredUrl ?? 'postgresql://private',
  })
  const { HOST, PORT } = checked
  const site = await readSite(checked.SITE_DIR, basePathOf(checked))
  say(`Talkshelf ${version} demo`)
  const port = await choosePort(HOST, PORT, Boolean(environment.PORT))
  const DATABASE_URL = configuredUrl ?? (await startDatabase(environment, closers))
  const config = readConfig({ ...settings, DATABASE_URL })

  if (configuredUrl) say('- connecting to the database in DATABASE_URL')
  const { current } = await schemaStatus(DATABASE_URL, schemaFolder).catch(throwUnusable)
  const pool = openPool({
    url: DATABASE_URL,
    connections: config.DATABASE_CONNECTIONS,
    applicationName: 'talkshelf demo',
    times: timeoutsFor(config.ANSWER_SECONDS),
  })
  closers.push(() => pool.close())
  if (current > 0 && (await isOccupied(pool)))
    throw new DemoError(
      'This database contains an archive. The demo does not add its example talks to it.\n' +
        'Set DATABASE_URL to an empty database, or unset it to start a temporary PostgreSQL.\n' +
        "To serve the archive, run 'talkshelf serve'.",
    )
  say('- creating the tables')
  await migrate(DATABASE_URL, schemaFolder).catch(throwNotMigrated)
  const app = createApp(
    config,
    pool,
    config.LOG_LEVEL === 'silent' ? false : { level: config.LOG_LEVEL },
    {},
    undefined,
    site,
  )
  // Running requests may finish, but the user is waiting for the prompt.
  closers.push(() => Promise.race([app.close(), sleep(3000)]))
  clipRoute(app, basePathOf(config))
  await app.listen({ host: HOST, port }).catch((error) => {
    throw listenError(error)
  })
  const baseUrl = localUrl(app, config)
  say('- loading the example talks')
  const { loaded, id } = await loadExamples(
    pool,
    (config.PUBLIC_URL.replace(/\/+$/, '') || baseUrl) + clipPath,
  )
  say(loaded > 0 ? `- ${loaded} talks loaded` : '- all talks were loaded by an earlier demo')
  const { token } = await createToken(pool, { name: 'Demo editor', role: 'editor', days: 1 })
  return greeting({
    baseUrl,
    token,
    id,
    privateDatabase: configuredUrl === undefined ? DATABASE_URL : undefined,
    seconds: (performance.now() - startedAt) / 1000,
  })
}

/** Starts a private PostgreSQL and returns the URL of a database in it. */
async function startDatabase(
  environment: Environment,
  closers: (() => Promise<unknown>)[],
): Promise<string> {
  try {
    const bin = findPostgres(environment)
    say(`- starting a temporary PostgreSQL from ${bin}`)
    const { started, stop } = startPrivatePostgres({
      bin,
      name: 'talkshelf-demo-',
      listen: 'socket',
      // The data is discarded at the end, so it need not survive a crash.
      settings: {
        fsync: 'off',
        synchronous_commit: 'off',
        full_page_writes: 'off',
        shared_buffers: '32MB',
        max_connections: '50',
      },
    })
    closers.push(stop)
    const postgres = await started
    say(`- PostgreSQL ${postgres.version} is running in ${postgres.dir}`)
    return await postgres.createDatabase('talkshelf', 'talkshelf')
  } catch (error) {
    if (!(error instanceof PostgresNotFound)) throw error
    throw new DemoError(
      `${error.message}\n` +
        'Install PostgreSQL (Debian, Ubuntu: apt install postgresql), set PG_BIN to the\n' +
        'directory of its programs, or set DATABASE_URL to an empty database.',
    )
  }
}

function throwUnusable(error: { message: string; code?: string }): never {
  throw new DemoError(
    `Cannot connect to the database in DATABASE_URL: ${error.message || error.code}\n` +
      'Check that PostgreSQL is running and that the user, password and database name are\n' +
      'correct, or unset DATABASE_URL to start a temporary PostgreSQL.',
  )
}

function throwNotMigrated(error: { message: string }): never {
  throw new DemoError(
    `Cannot create the tables: ${error.message}\n` +
      'The user in DATABASE_URL must own the database, and the extension pg_trgm must be\n' +
      'available (on some systems it is in the package postgresql-contrib).',
  )
}

/**
 * Returns the port to listen on. Listens on it for a moment, so that a port in use is found before
 * PostgreSQL is started. Chooses another port unless this one was configured.
 */
async function choosePort(host: string, port: number, isConfigured: boolean): Promise<number> {
  const server = createServer().listen(port, host)
  try {
    await once(server, 'listening')
    server.close()
    return port
  } catch (error) {
    const isInUse = (error as NodeJS.ErrnoException).code === 'EADDRINUSE'
    if (isConfigured || !isInUse) throw listenError(error)
    say(`- port ${port} is in use, choosing another one`)
    return 0
  }
}

/** Returns the base URL for commands on this machine. */
function localUrl(app: App, config: Config): string {
  const address = app.server.address()
  if (address === null || typeof address === 'string') throw new Error('The server has no address')
  return `http://${localHost(address)}:${address.port}${basePathOf(config)}`
}

function localHost({ address, family }: { address: string; family: string }): string {
  if (address === '0.0.0.0') return '127.0.0.1'
  if (address === '::') return '[::1]'
  return family === 'IPv6' ? `[${address}]` : address
}

interface GreetingOptions {
  readonly baseUrl: string
  readonly token: string
  readonly id: number
  /** URL of the private PostgreSQL, if the demo started one. */
  readonly privateDatabase: string | undefined
  readonly seconds: number
}

function greeting({ baseUrl, token, id, privateDatabase, seconds }: GreetingOptions): string {
  const video = `${baseUrl}/api/v2/video/${id}`
  const exportLine = privateDatabase
    ? `export DATABASE_URL='${privateDatabase}' PUBLIC_URL='${baseUrl}' TOKEN='${token}'\n  `
    : ''
  const retention = privateDatabase
    ? 'All data is in a temporary directory, which is deleted when the demo stops.\n' +
      'Set DATABASE_URL to keep it.'
    : 'The talks stay in the database in DATABASE_URL. The token is valid for one day.'
  return `
Ready after ${seconds.toFixed(1)} s, with ${exampleTalks.length} invented talks.

  Pages      ${baseUrl}
  Reference  ${baseUrl}/api
  Token      ${token}

Try these in another terminal. Read a talk:

  curl '${video}'

Correct it, as an editor:

  curl -X PATCH '${video}' \\
    -H 'Authorization: Token ${token}' \\
    -H 'Content-Type: application/merge-patch+json' \\
    -d '{"summary": "Small queues, long memories."}'

See what was changed, when and by whom:

  curl '${video}/revisions' \\
    -H 'Authorization: Token ${token}'

Import your own talks: a yt-dlp playlist, a conference schedule or a table.

  ${exportLine}npx talkshelf import FILE --category 'Name of the event' --language en

${retention}
Press Ctrl-C to stop.
`
}

function say(line: string): void {
  process.stderr.write(`${line}\n`)
}
