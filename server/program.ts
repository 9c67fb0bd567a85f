import cluster from 'node:cluster'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Command, Option } from 'commander'
import { accessCommands } from './access/command.ts'
import { createApp } from './app.ts'
import { createToken, findEvent, listTokens, recordEvent, revokeToken } from './auth/auth.ts'
import { operator, personCommands } from './auth/command.ts'
import { backup, restore } from './backup/backup.ts'
import {
  asCommandError,
  CommandError,
  integerArgument,
  invalidArguments,
  type JsonOption,
  jsonOption,
  listenError,
  nameArgument,
  printTable,
} from './command.ts'
import { completionCommand } from './completion.ts'
import { basePathOf, type Config, parseReplicaUrls, readConfig, redactedConfig } from './config.ts'
import { demo } from './demo/demo.ts'
import { doctorCommands } from './doctor/command.ts'
import { exportCommands } from './exports/command.ts'
import { importCommands, importSteps } from './imports/cli/command.ts'
import { linkCommands } from './links/command.ts'
import { matchCommand } from './matches/command.ts'
import { mirrorCommands } from './mirror/command.ts'
import { findSource } from './mirror/mirror.ts'
import { isCaseMapped, migrate, schemaStatus } from './platform/db/migrate.ts'
import { openPool, type Pool } from './platform/db/pool.ts'
import { findFolderProblem } from './platform/files.ts'
import { textLog } from './platform/ops/text-log.ts'
import { print, printJson } from './platform/terminal.ts'
import { timeoutsFor } from './platform/timeouts.ts'
import { runProcesses } from './processes.ts'
import { readSite, type Site } from './site/site.ts'
import { version } from './version.ts'

// The commands of `talkshelf`. Results are printed to standard output, status messages to standard
// error.

const localeWarning = `
Warning: the locale of this database does not map upper and lower case outside of English letters.
Searches and lists will be case-sensitive for titles and names such as Ж. Use a database with a
UTF-8 locale:
  createdb --owner=ROLE --template=template0 --encoding=UTF8 --locale=C.UTF-8 NAME
To move an archive there: 'talkshelf backup', then 'talkshelf restore' into the new database.`

/** The folder with migrations/ and the triggers.sql of each feature. */
const schemaFolder = fileURLToPath(new URL('.', import.meta.url))
const say = (line: string) => process.stderr.write(`${line}\n`)
const exitCodes = `
Exit codes:
  0    success
  1    error; the message says what to do
  2    invalid arguments
  130  interrupted with Ctrl-C
The commands import and imports have more: see their --help.`

/** All commands. Also read by `npm run docs`, for the manual page. */
export const program = new Command('talkshelf')
  .description(
    'An archive for recorded talks. Settings are environment variables; DATABASE_URL is required.',
  )
  .version(version)
  .addHelpText('after', exitCodes)
  // Commander exits with 1. The subcommands inherit this.
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : invalidArguments))

program
  .command('migrate')
  .description('migrate the database to the schema of this release')
  .addOption(jsonOption())
  .action(async ({ json }: JsonOption) => {
    const { DATABASE_URL } = readConfig(process.env)
    const applied = await migrate(DATABASE_URL, schemaFolder, { onBlocked: say })
    for (const name of applied) say(`applied ${name}`)
    const { current, expected } = await schemaStatus(DATABASE_URL, schemaFolder)
    if (current > expected)
      say(
        `Nothing was applied: the database is at schema ${current}, and this release knows only ` +
          `${expected}. A newer release has migrated it; install that release.`,
      )
    else
      say(applied.length === 0 ? 'The schema is already up to date.' : 'The schema is up to date.')
    if (!(await isCaseMapped(DATABASE_URL))) say(localeWarning)
    if (json) await printJson({ applied, schema: current, supported: expected })
  })

program
  .command('serve')
  .description('start the web server')
  .addOption(
    new Option('--processes <count>', 'number of processes that share the port')
      .default(1)
      .argParser(integerArgument(1, 256)),
  )
  .action(async ({ processes }: { processes: number }) => {
    const config = readConfig(process.env)
    // Not awaited: a network drive that does not answer must not delay the start.
    if (cluster.isPrimary) void reportFolders(config)
    // Reported once, before other processes are started.
    const site = await readSite(config.SITE_DIR, basePathOf(config))
    if (await runProcesses(processes)) await serve(config, site)
  })

program
  .command('config')
  .description('print the effective settings, without secrets')
  .addOption(jsonOption())
  .action(async ({ json }: JsonOption) => {
    const settings = redactedConfig(readConfig(process.env))
    if (json) return void (await printJson(Object.fromEntries(settings)))
    for (const [name, value] of settings) process.stdout.write(`${name}=${value}\n`)
  })

program
  .command('demo')
  .description(
    'serve an archive with example talks, in a temporary PostgreSQL unless DATABASE_URL is set',
  )
  // Exits even if requests are still running: their database is gone.
  .action(async () => process.exit(await demo(process.env, schemaFolder)))

const token = program.command('token').description('create, list and revoke API tokens')

token
  .command('create')
  .description('create a token and print it to standard output; it cannot be shown again')
  .requiredOption(
    '--name <name>',
    'the person or program that uses it; shown in the history',
    nameArgument,
  )
  .addOption(
    new Option('--role <role>', 'permissions of the token')
      .choices(['editor', 'admin'])
      .makeOptionMandatory(),
  )
  .addOption(
    new Option('--days <days>', 'days until it expires')
      .default(365)
      .argParser(integerArgument(1, 3650)),
  )
  .option('--event <title>', 'only for the talks of this event')
  .addOption(jsonOption())
  .action((options) =>
    withPool(async (pool) => {
      const { name, role, days, event: title, json } = options
      if (title !== undefined && role !== 'editor')
        throw new CommandError('--event is for the role editor: an administrator has no limits.')
      const event = title === undefined ? undefined : await asCommandError(findEvent(pool, title))
      const { token, id, expires } = await pool.transaction(async (tx) => {
        const created = await createToken(tx, { name, role, days, eventId: event?.id })
        const detail = { token: created.id, name, role, ...(event && { event: event.name }) }
        await recordEvent(tx, 'token-created', operator(), null, detail)
        return created
      })
      if (json) await printJson({ id, name, role, event: event?.name ?? null, expires, token })
      else await print(token)
      const day = expires.slice(0, 10)
      say(
        `Created token ${id} for ${name} (${role}), valid until ${day}. ` +
          'Store it now: it is not shown again.',
      )
    }),
  )

token
  .command('list')
  .description('list all tokens, without their secrets')
  .addOption(jsonOption())
  .action(({ json }: JsonOption) =>
    withPool(async (pool) => {
      const tokens = await listTokens(pool)
      if (json) return void (await printJson(tokens))
      const titles = {
        id: 'ID',
        name: 'NAME',
        role: 'ROLE',
        event: 'EVENT',
        created: 'CREATED',
        created_by: 'CREATED BY',
        expires: 'EXPIRES',
        last_used: 'LAST USED',
        revoked: 'REVOKED',
      }
      const short = (time: string | null) => time?.slice(0, 16).replace('T', ' ')
      const rows = tokens.map((token) => ({
        ...token,
        created: short(token.created),
        expires: short(token.expires),
        last_used: short(token.last_used),
        revoked: short(token.revoked),
      }))
      printTable(titles, rows)
    }),
  )

token
  .command('revoke')
  .description('revoke a token')
  .argument('<id>', 'id of the token, see the list', integerArgument(1, Number.MAX_SAFE_INTEGER))
  .action((id: number) =>
    withPool(async (pool) => {
      const revoked = await pool.transaction(async (tx) => {
        const count = await revokeToken(tx, id)
        if (count > 0) await recordEvent(tx, 'token-revoked', operator(), null, { token: id })
        return count
      })
      if (revoked === 0)
        throw new CommandError(`There is no token ${id}. Run 'talkshelf token list' to see all.`)
      say(`Token ${id} is revoked.`)
    }),
  )

importCommands(program, { config: () => readConfig(process.env), withPool, say })
matchCommand(program, { config: () => readConfig(process.env), withPool, say }, importSteps)
linkCommands(
  program,
  { config: () => readConfig(process.env), withPool, say },
  importSteps.commandOrigin,
)
exportCommands(program, { config: () => readConfig(process.env), withPool, say })
mirrorCommands(program, { config: () => readConfig(process.env), withPool, say })
accessCommands(program, { config: () => readConfig(process.env), withPool, say }, operator)
personCommands(program, { config: () => readConfig(process.env), withPool, say })
doctorCommands(program, { config: () => readConfig(process.env), withPool, say }, schemaFolder)

program
  .command('backup')
  .description(
    'write the whole archive to a file, and its manifest to FILE.json for checks by restore',
  )
  .argument('<file>', 'path of the new file; it must not exist')
  .addOption(jsonOption())
  .action(async (file: string, { json }: JsonOption) => {
    const { DATABASE_URL } = readConfig(process.env)
    const manifest = await backup(DATABASE_URL, file, { environment: process.env, say })
    if (json) await printJson({ file, ...manifest })
  })

program
  .command('restore')
  .description('restore a backup into an empty database and verify every table')
  .argument('<file>', 'path of the backup; FILE.json must be in the same directory')
  .addOption(jsonOption())
  .action(async (file: string, { json }: JsonOption) => {
    const { DATABASE_URL } = readConfig(process.env)
    const options = { environment: process.env, schemaFolder, say }
    const manifest = await restore(DATABASE_URL, file, options)
    if (json) await printJson({ file, ...manifest })
  })

completionCommand(program)

/** How long a process may take to exit after all requests and jobs have ended. */
const maxExitMs = 3000

/** Reports folders in the settings that cannot be written. The server works without them. */
async function reportFolders(config: Config): Promise<void> {
  const effects = {
    SNAPSHOT_DIR: 'No snapshots are written until then.',
    PICTURE_DIR: 'Pictures are cached in memory only until then.',
  }
  for (const [name, effect] of Object.entries(effects)) {
    const folder = config[name as keyof typeof effects]
    const problem = folder === '' ? undefined : await findFolderProblem(folder)
    if (problem !== undefined) say(`${name}: ${problem} ${effect}`)
  }
}

async function serve(config: Config, site: Site): Promise<void> {
  const { current, expected, isPending } = await schemaStatus(config.DATABASE_URL, schemaFolder)
  if (isPending) {
    const difference =
      current === expected
        ? 'The triggers of the database are out of date.'
        : `The database is at schema ${current}, this release needs ${expected}.`
    throw new CommandError(`${difference} Run 'talkshelf migrate' first.`)
  }

  const replicaUrls = parseReplicaUrls(config.REPLICA_URLS)
  const pool = connect(config, `talkshelf/${version} serve`, replicaUrls)
  const app = createApp(config, pool, loggerOf(config), {}, await findSource(pool), site)
  let stopping = false
  const stop = async (signal: string) => {
    if (stopping) return
    stopping = true
    app.log.info({ signal }, 'stopping')
    app.drain()
    // After Ctrl-C there is no load balancer to wait for.
    if (signal === 'SIGTERM') await sleep(config.DRAIN_SECONDS * 1000)
    await app.close()
    // A job that hangs keeps its connection open and its thread busy, and exiting would wait for it.
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), maxExitMs).unref()
    await pool.close()
    // An open channel to the primary process would keep a worker process alive.
    if (process.connected) process.disconnect()
  }
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => stop(signal))
  try {
    await app.listen({ host: config.HOST, port: config.PORT })
  } catch (error) {
    // Open connections and timers would keep the process alive without a port.
    await app.close()
    await pool.close()
    if (process.connected) process.disconnect()
    throw listenError(error)
  }
}

function connect(
  config: Config,
  applicationName: string,
  replicaUrls: readonly string[] = [],
): Pool {
  return openPool({
    replicaUrls,
    url: config.DATABASE_URL,
    connections: config.DATABASE_CONNECTIONS,
    lookupConnections: config.LOOKUP_CONNECTIONS,
    searchConnections: config.SEARCH_CONNECTIONS,
    applicationName,
    times: timeoutsFor(config.ANSWER_SECONDS),
    onIdleError: (error) => say(`An idle database connection was lost: ${error.message}`),
  })
}

async function withPool<T>(
  work: (pool: Pool) => Promise<T>,
  { answerSeconds }: { answerSeconds?: number } = {},
): Promise<T> {
  const config = readConfig(process.env)
  const pool = connect(
    { ...config, ANSWER_SECONDS: answerSeconds ?? config.ANSWER_SECONDS },
    `talkshelf/${version} command`,
  )
  try {
    return await work(pool)
  } finally {
    await pool.close()
  }
}

/** Returns the settings of the log. */
function loggerOf({ LOG_LEVEL: level, LOG_FORMAT: format }: Config) {
  if (level === 'silent') return false
  return format === 'text'
    ? { level, stream: textLog((line) => process.stdout.write(line)) }
    : { level }
}
