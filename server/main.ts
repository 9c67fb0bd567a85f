#!/usr/bin/env node
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Command, InvalidArgumentError, Option } from 'commander'
import { createApp } from './app.ts'
import { createToken, listTokens, revokeToken } from './auth/auth.ts'
import { BackupError, backup, restore } from './backup/backup.ts'
import { CommandError, integerArgument } from './command.ts'
import { type Config, ConfigError, readConfig, redactedConfig } from './config.ts'
import { DemoError, demo } from './demo/demo.ts'
import { exportCommands } from './exports/command.ts'
import { importCommands } from './imports/cli/command.ts'
import { Unavailable } from './platform/db/db.ts'
import { MigrationBlocked, migrate, schemaVersion } from './platform/db/migrate.ts'
import { openPool, type Pool } from './platform/db/pool.ts'
import { timeoutsFor } from './platform/timeouts.ts'
import { runProcesses } from './processes.ts'
import { version } from './version.ts'

// The `talkshelf` command. Answers go to standard output, everything said beside them to standard
// error.

const migrations = fileURLToPath(new URL('./migrations', import.meta.url))
const say = (line: string) => process.stderr.write(`${line}\n`)

const program = new Command('talkshelf')
  .description(
    'An archive for recorded talks. Settings come from the environment: DATABASE_URL at least.',
  )
  .version(version)

program
  .command('migrate')
  .description('bring the database to the schema of this release')
  .action(async () => {
    const done = await migrate(readConfig(process.env).DATABASE_URL, migrations, { onBlocked: say })
    for (const { version, name } of done) say(`applied ${version} ${name}`)
    say(done.length === 0 ? 'The schema is up to date.' : `${done.length} migrations applied.`)
  })

program
  .command('serve')
  .description('answer requests until told to stop')
  .addOption(
    new Option('--processes <count>', 'how many processes share the port')
      .default(1)
      .argParser(integerArgument(1, 256)),
  )
  .action(async ({ processes }: { processes: number }) => {
    if (await runProcesses(processes)) await serve(readConfig(process.env))
  })

program
  .command('config')
  .description('print the settings that are in force, without secrets')
  .action(() => {
    for (const [name, value] of redactedConfig(readConfig(process.env)))
      process.stdout.write(`${name}=${value}\n`)
  })

program
  .command('demo')
  .description(
    'try it: an archive with example talks, on a PostgreSQL of its own unless DATABASE_URL is set, until Ctrl-C',
  )
  // Whatever is still under way when the demo was stopped has nothing left to work with.
  .action(async () => process.exit(await demo(process.env, migrations)))

const token = program.command('token').description('make, list and revoke API tokens')

token
  .command('create')
  .description('make a token; it is printed once, alone, on standard output')
  .requiredOption(
    '--name <name>',
    'who or what will use it; the history shows this name',
    wholeName,
  )
  .addOption(
    new Option('--role <role>', 'what it may do')
      .choices(['editor', 'admin'])
      .makeOptionMandatory(),
  )
  .addOption(
    new Option('--days <days>', 'how long it is valid')
      .default(365)
      .argParser(integerArgument(1, 3650)),
  )
  .action((options) =>
    withPool(async (pool) => {
      const { token, id, expires } = await createToken(pool, options)
      process.stdout.write(`${token}\n`)
      say(
        `Token ${id} for ${options.name} (${options.role}), valid until ${expires}. Keep it: it is not shown again.`,
      )
    }),
  )

token
  .command('list')
  .description('list all tokens, without their secrets')
  .action(() =>
    withPool(async (pool) => {
      const head = {
        id: 'ID',
        name: 'NAME',
        role: 'ROLE',
        created: 'CREATED',
        expires: 'EXPIRES',
        last_used: 'LAST USED',
        revoked: 'REVOKED',
      }
      const rows = [head, ...(await listTokens(pool))].map((row) =>
        Object.keys(head).map((key) => String(row[key as keyof typeof row] ?? '-')),
      )
      const widths = Object.keys(head).map((_, column) =>
        Math.max(...rows.map((row) => row[column]?.length ?? 0)),
      )
      for (const row of rows)
        process.stdout.write(
          `${row
            .map((cell, column) => cell.padEnd(widths[column] ?? 0))
            .join('  ')
            .trimEnd()}\n`,
        )
    }),
  )

token
  .command('revoke')
  .description('make a token useless from now on')
  .argument('<id>', 'its number, as the list shows it', integerArgument(1, Number.MAX_SAFE_INTEGER))
  .action((id: number) =>
    withPool(async (pool) => {
      if ((await revokeToken(pool, id)) === 0)
        throw new CommandError(`There is no token ${id}. 'talkshelf token list' shows them.`)
      say(`Token ${id} is revoked.`)
    }),
  )

importCommands(program, { config: () => readConfig(process.env), withPool, say })
exportCommands(program, { config: () => readConfig(process.env), withPool, say })

program
  .command('backup')
  .description(
    'write the whole archive to a file, and beside it to FILE.json what a restore has to find again',
  )
  .argument('<file>', 'a name that is not taken yet')
  .action(async (file: string) => {
    await backup(readConfig(process.env).DATABASE_URL, file, { environment: process.env, say })
  })

program
  .command('restore')
  .description('bring a backup back into an empty database, and look whether every row is there')
  .argument('<file>', 'as it was named for the backup; FILE.json is beside it')
  .action((file: string) =>
    restore(readConfig(process.env).DATABASE_URL, file, {
      environment: process.env,
      migrations,
      say,
    }),
  )

try {
  await program.parseAsync()
} catch (error) {
  say(explained(error))
  process.exitCode = error instanceof CommandError ? error.exitCode : 1
}

async function serve(config: Config): Promise<void> {
  const { is, wants } = await schemaVersion(config.DATABASE_URL, migrations)
  if (is < wants)
    throw new CommandError(
      `The database is at schema ${is}, this release needs ${wants}. Run 'talkshelf migrate' first.`,
    )

  const pool = connect(config, 'talkshelf serve')
  const app = createApp(
    config,
    pool,
    config.LOG_LEVEL === 'silent' ? false : { level: config.LOG_LEVEL },
  )
  let stopping = false
  const stop = async (signal: string) => {
    if (stopping) return
    stopping = true
    app.log.info({ signal }, 'stopping')
    app.drain()
    // Whoever presses Ctrl-C has no load balancer.
    if (signal === 'SIGTERM') await sleep(config.DRAIN_SECONDS * 1000)
    await app.close()
    await pool.close()
    // One of several processes lives as long as the first one can talk to it.
    if (process.connected) process.disconnect()
  }
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => stop(signal))
  await app.listen({ host: config.HOST, port: config.PORT })
}

function connect(config: Config, applicationName: string): Pool {
  return openPool({
    url: config.DATABASE_URL,
    connections: config.DATABASE_CONNECTIONS,
    lookupConnections: config.LOOKUP_CONNECTIONS,
    searchConnections: config.SEARCH_CONNECTIONS,
    applicationName,
    times: timeoutsFor(config.ANSWER_SECONDS),
    onIdleError: (error) => say(`An idle connection to the database broke: ${error.message}`),
  })
}

async function withPool<T>(work: (pool: Pool) => Promise<T>): Promise<T> {
  const pool = connect(readConfig(process.env), 'talkshelf command')
  try {
    return await work(pool)
  } finally {
    await pool.close()
  }
}

function explained(error: unknown): string {
  if (error instanceof ConfigError)
    return `The settings are not right:\n${error.message.replaceAll(/^/gm, '  ')}\nSee docs/configuration.md.`
  if (
    error instanceof CommandError ||
    error instanceof DemoError ||
    error instanceof BackupError ||
    error instanceof MigrationBlocked
  )
    return error.message
  if (error instanceof Unavailable)
    return `${error.message}\nIs PostgreSQL running, and is DATABASE_URL right?`
  const { code } = error as { code?: string }
  if (code === 'ECONNREFUSED' || code === 'ENOTFOUND' || code === '3D000' || code === '28P01')
    return `The database cannot be reached: ${(error as Error).message || code}\nIs PostgreSQL running, and is DATABASE_URL right?`
  if (code === '42P07')
    return `${(error as Error).message}: the database has tables, but not the list of what was migrated.\nA restore did not come to its end there, perhaps. Use an empty database.`
  if (code === '42P01') return "The database has no tables yet. Run 'talkshelf migrate' first."
  if (error instanceof Error && error.message.includes('checksum failed'))
    return `${error.message}: the file differs from the one that this database was migrated with.\nUse the release that the database belongs to, or an empty database.`
  if (code === 'EADDRINUSE')
    return `${(error as Error).message}\nAnother program listens there. Choose another PORT.`
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

function wholeName(text: string): string {
  if (text.trim() === '' || text.length > 100)
    throw new InvalidArgumentError('It takes 1 to 100 characters.')
  return text.trim()
}
