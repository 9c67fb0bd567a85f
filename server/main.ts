#!/usr/bin/env node
import { fileURLToPath } from 'node:url'
import { Command, InvalidArgumentError, Option } from 'commander'
import { createApp } from './app.ts'
import { createToken, listTokens, revokeToken } from './auth/auth.ts'
import { type Config, ConfigError, readConfig } from './config.ts'
import { openPool, type Pool, Unavailable } from './platform/db/db.ts'
import { migrate, schemaVersion } from './platform/db/migrate.ts'
import { version } from './version.ts'

// The `talkshelf` command. Answers go to standard output, everything said beside them to standard error.

const migrations = fileURLToPath(new URL('./migrations', import.meta.url))
const say = (line: string) => process.stderr.write(`${line}\n`)

class CommandError extends Error {}

const program = new Command('talkshelf')
  .description('An archive for recorded talks. Settings come from the environment: DATABASE_URL at least.')
  .version(version)

program
  .command('migrate')
  .description('bring the database to the schema of this release')
  .action(async () => {
    const done = await migrate(readConfig(process.env).DATABASE_URL, migrations)
    for (const { version, name } of done) say(`applied ${version} ${name}`)
    say(done.length === 0 ? 'The schema is up to date.' : `${done.length} migrations applied.`)
  })

program
  .command('serve')
  .description('answer requests until told to stop')
  .action(async () => serve(readConfig(process.env)))

const token = program.command('token').description('make, list and revoke API tokens')

token
  .command('create')
  .description('make a token; it is printed once, alone, on standard output')
  .requiredOption('--name <name>', 'who or what will use it; the history shows this name', wholeName)
  .addOption(new Option('--role <role>', 'what it may do').choices(['editor', 'admin']).makeOptionMandatory())
  .addOption(new Option('--days <days>', 'how long it is valid').default(365).argParser(wholeNumber(1, 3650)))
  .action((options) =>
    withPool(async (pool) => {
      const { token, id, expires } = await createToken(pool, options)
      process.stdout.write(`${token}\n`)
      say(`Token ${id} for ${options.name} (${options.role}), valid until ${expires}. Keep it: it is not shown again.`)
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
      const widths = Object.keys(head).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
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
  .argument('<id>', 'its number, as the list shows it', wholeNumber(1, Number.MAX_SAFE_INTEGER))
  .action((id: number) =>
    withPool(async (pool) => {
      if ((await revokeToken(pool, id)) === 0) throw new CommandError(`There is no token ${id}. 'talkshelf token list' shows them.`)
      say(`Token ${id} is revoked.`)
    }),
  )

try {
  await program.parseAsync()
} catch (error) {
  say(explained(error))
  process.exitCode = 1
}

async function serve(config: Config): Promise<void> {
  const { is, wants } = await schemaVersion(config.DATABASE_URL, migrations)
  if (is < wants) throw new CommandError(`The database is at schema ${is}, this release needs ${wants}. Run 'talkshelf migrate' first.`)

  const pool = connect(config, 'talkshelf serve')
  const app = createApp(config, pool, config.LOG_LEVEL === 'silent' ? false : { level: config.LOG_LEVEL })
  let stopping = false
  const stop = async (signal: string) => {
    if (stopping) return
    stopping = true
    app.log.info({ signal }, 'stopping')
    await app.close()
    await pool.close()
  }
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => stop(signal))
  await app.listen({ host: config.HOST, port: config.PORT })
}

function connect(config: Config, applicationName: string): Pool {
  return openPool({
    url: config.DATABASE_URL,
    connections: config.DATABASE_CONNECTIONS,
    applicationName,
    onIdleError: (error) => say(`An idle connection to the database broke: ${error.message}`),
  })
}

async function withPool(work: (pool: Pool) => Promise<void>): Promise<void> {
  const pool = connect(readConfig(process.env), 'talkshelf command')
  try {
    await work(pool)
  } finally {
    await pool.close()
  }
}

function explained(error: unknown): string {
  if (error instanceof ConfigError)
    return `The settings are not right:\n${error.message.replaceAll(/^/gm, '  ')}\nSee docs/configuration.md.`
  if (error instanceof CommandError) return error.message
  if (error instanceof Unavailable) return `${error.message}\nIs PostgreSQL running, and is DATABASE_URL right?`
  const { code } = error as { code?: string }
  if (code === 'ECONNREFUSED' || code === 'ENOTFOUND' || code === '3D000' || code === '28P01')
    return `The database cannot be reached: ${(error as Error).message || code}\nIs PostgreSQL running, and is DATABASE_URL right?`
  if (code === '42P01') return "The database has no tables yet. Run 'talkshelf migrate' first."
  if (code === 'EADDRINUSE') return `${(error as Error).message}\nAnother program listens there. Choose another PORT.`
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

function wholeNumber(least: number, most: number) {
  return (text: string): number => {
    const number = Number(text)
    if (!/^\d+$/.test(text) || number < least || number > most)
      throw new InvalidArgumentError(`It takes a whole number from ${least} to ${most}.`)
    return number
  }
}

function wholeName(text: string): string {
  if (text.trim() === '' || text.length > 100) throw new InvalidArgumentError('It takes 1 to 100 characters.')
  return text.trim()
}
