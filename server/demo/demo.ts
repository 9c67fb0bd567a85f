import { setTimeout as sleep } from 'node:timers/promises'
import { createApp } from '../app.ts'
import { createToken } from '../auth/auth.ts'
import { type Config, readConfig } from '../config.ts'
import { migrate, schemaVersion } from '../platform/db/migrate.ts'
import { openPool } from '../platform/db/pool.ts'
import {
  findPostgres,
  PostgresNotFound,
  startPrivatePostgres,
} from '../platform/db/private-postgres.ts'
import { timeoutsFor } from '../platform/timeouts.ts'
import { version } from '../version.ts'
import { isOccupied, loadExamples } from './load.ts'
import { exampleTalks } from './talks.ts'

// `talkshelf demo`: an archive with example talks, from nothing, until Ctrl-C.

/** What stands in the way is not our fault, and the message says what to do. */
export class DemoError extends Error {}

type Environment = Record<string, string | undefined>
type App = ReturnType<typeof createApp>

/** Runs until told to stop; returns the exit status. */
export async function demo(environment: Environment, migrations: string): Promise<number> {
  // The second Ctrl-C finds no listener and ends us at once; a private PostgreSQL goes all the
  // same.
  const told = new Promise<'stop'>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
      process.once(signal, () => resolve('stop'))
    // npx starts us through a shell, and a SIGTERM to npx ends only these two: nobody is left to
    // pass it on.
    const parent = process.ppid
    if (environment.npm_command === 'exec')
      setInterval(() => process.ppid !== parent && resolve('stop'), 250).unref()
  })
  const closers: (() => Promise<unknown>)[] = []
  const close = async () => {
    for (const it of closers.reverse()) await it()
  }
  try {
    const ready = await Promise.race([start(environment, migrations, closers), told])
    if (ready !== 'stop') {
      process.stdout.write(ready)
      await told
    }
    say('\nStopping ...')
    await close()
    say('Nothing of the demo is running any more.')
    return ready === 'stop' ? 130 : 0
  } catch (error) {
    await close()
    throw error
  }
}

async function start(
  environment: Environment,
  migrations: string,
  closers: (() => Promise<unknown>)[],
): Promise<string> {
  const begun = performance.now()
  // All mistakes in the settings are told before anything is started.
  const given = environment.DATABASE_URL || undefined
  const settings = { ...environment, LOG_LEVEL: environment.LOG_LEVEL || 'warn' }
  readConfig({ ...settings, DATABASE_URL: given ?? 'postgresql://private' })
  say(`Talkshelf ${version} demo`)
  const DATABASE_URL = given ?? (await privateDatabase(environment, closers))
  const config = readConfig({ ...settings, DATABASE_URL })

  if (given) say('- looking at the database of DATABASE_URL')
  const { is } = await schemaVersion(DATABASE_URL, migrations).catch(notUsable)
  const pool = openPool({
    url: DATABASE_URL,
    connections: config.DATABASE_CONNECTIONS,
    applicationName: 'talkshelf demo',
    times: timeoutsFor(config.ANSWER_SECONDS),
  })
  closers.push(() => pool.close())
  if (is > 0 && (await isOccupied(pool)))
    throw new DemoError(
      'There is an archive in this database, and the demo does not mix its invented talks into it.\n' +
        "Name an empty database in DATABASE_URL, or leave it unset: then the demo starts a PostgreSQL of its own. 'talkshelf serve' serves the archive.",
    )
  say('- making the tables')
  await migrate(DATABASE_URL, migrations).catch(withoutTables)
  say('- loading the example talks')
  const { loaded, id } = await loadExamples(pool)
  say(loaded > 0 ? `- ${loaded} talks loaded` : '- all talks are there from an earlier demo')
  const { token } = await createToken(pool, { name: 'Demo editor', role: 'editor', days: 1 })

  const app = createApp(
    config,
    pool,
    config.LOG_LEVEL === 'silent' ? false : { level: config.LOG_LEVEL },
  )
  // Who is still reading may finish, but not for long: somebody waits for the prompt.
  closers.push(() => Promise.race([app.close(), sleep(3000)]))
  await listen(app, config, Boolean(environment.PORT))
  const address = addressOf(app, config)
  return greeting(
    address,
    token,
    id,
    given === undefined ? DATABASE_URL : undefined,
    (performance.now() - begun) / 1000,
  )
}

async function privateDatabase(
  environment: Environment,
  closers: (() => Promise<unknown>)[],
): Promise<string> {
  try {
    const bin = findPostgres(environment)
    say(`- starting a PostgreSQL of its own, from ${bin}`)
    const { started, stop } = startPrivatePostgres({
      bin,
      name: 'talkshelf-demo-',
      listen: 'socket',
      // It is thrown away when the demo ends, so nothing has to survive a power cut.
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
    say(`- PostgreSQL ${postgres.version} runs in ${postgres.dir}`)
    return await postgres.createDatabase('talkshelf', 'talkshelf')
  } catch (error) {
    if (!(error instanceof PostgresNotFound)) throw error
    throw new DemoError(
      `${error.message}\nInstall PostgreSQL (Debian, Ubuntu: apt install postgresql), or name the folder of its programs in PG_BIN,\n` +
        'or name a database that you may write to in DATABASE_URL.',
    )
  }
}

function notUsable(error: { message: string; code?: string }): never {
  throw new DemoError(
    `The database that DATABASE_URL names cannot be used: ${error.message || error.code}\n` +
      'Is PostgreSQL running there, and are user, password and name right? With DATABASE_URL unset, the demo starts a PostgreSQL of its own.',
  )
}

function withoutTables(error: { message: string }): never {
  throw new DemoError(
    `The tables could not be made: ${error.message}\n` +
      'The user in DATABASE_URL must own the database, and PostgreSQL must have pg_trgm (in some systems a package postgresql-contrib).',
  )
}

async function listen(
  app: App,
  { HOST: host, PORT: port }: Config,
  chosen: boolean,
): Promise<void> {
  try {
    await app.listen({ host, port })
  } catch (error) {
    if (chosen || (error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    say(`- port ${port} is taken, so another one is used`)
    await app.listen({ host, port: 0 })
  }
}

/** As a command on this machine reaches it. */
function addressOf(app: App, config: Config): string {
  const it = app.server.address()
  if (it === null || typeof it === 'string') throw new Error('The server has no address')
  const path =
    config.PUBLIC_URL === '' ? '' : new URL(config.PUBLIC_URL).pathname.replace(/\/+$/, '')
  const host =
    it.address === '0.0.0.0'
      ? '127.0.0.1'
      : it.address === '::'
        ? '[::1]'
        : it.family === 'IPv6'
          ? `[${it.address}]`
          : it.address
  return `http://${host}:${it.port}${path}`
}

/** `database`: of the demo's own PostgreSQL. */
function greeting(
  address: string,
  token: string,
  id: number,
  database: string | undefined,
  seconds: number,
): string {
  const video = `${address}/api/v2/video/${id}`
  const kept = database
    ? 'It is all in a temporary folder, which goes when you stop it; with DATABASE_URL it would be kept.'
    : 'The talks stay in the database of DATABASE_URL; the token is valid for a day.'
  return `
Ready after ${seconds.toFixed(1)} s, with ${exampleTalks.length} talks that never took place.

  Pages      ${address}
  Reference  ${address}/api
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

Load talks of your own: a playlist that yt-dlp wrote, a schedule, a table.

  ${database ? `export DATABASE_URL='${database}'\n  ` : ''}npx talkshelf import FILE --category 'Name of the event' --language en

${kept}
Ctrl-C stops it.
`
}

function say(line: string): void {
  process.stderr.write(`${line}\n`)
}
