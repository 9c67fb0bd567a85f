import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import Postgrator from 'postgrator'

// Migrations are plain SQL, forward only. All that are missing run in one transaction, together
// with the table that says which ran: after a crash in the middle nothing has happened. A lock lets
// one process do it while others wait.

/** The advisory lock that a process holds while it migrates, or waits for the tables. */
export const migrationLock = 7_351_902_644

/**
 * How long a migration waits for a table. Everybody who comes later waits behind it, so this is
 * shorter than the 2 s that a reader has; and longer than the 1 s (`deadlock_timeout`) after which
 * PostgreSQL ends an autovacuum that is in the way.
 */
const lockTimeoutMs = 1500

/** Between two attempts, doubled each time. */
const [firstPauseMs, longestPauseMs] = [1000, 15_000]

/** Longer than an export may take: one that is under way never makes a migration fail. */
const defaultGiveUpMs = 15 * 60_000

export interface Migration {
  version: number
  name: string
}

export interface MigrateOptions {
  /** Called after each attempt that did not get its locks, with who holds them. */
  onBlocked?: ((message: string) => void) | undefined
  giveUpMs?: number | undefined
}

/** Other transactions held the tables until the migration gave up; nothing was applied. */
export class MigrationBlocked extends Error {}

export async function migrate(
  url: string,
  folder: string,
  options: MigrateOptions = {},
): Promise<Migration[]> {
  const { onBlocked = () => {}, giveUpMs = defaultGiveUpMs } = options
  return withClient(
    url,
    async (client, postgrator) => {
      await client.query('begin')
      await client.query('select pg_advisory_xact_lock($1)', [migrationLock])
      await client.query(`set local lock_timeout = ${lockTimeoutMs}`)
      await client.query('set local idle_in_transaction_session_timeout = 0')
      const untilMs = performance.now() + giveUpMs
      for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
        await client.query('savepoint attempt')
        const done = await postgrator.migrate().catch(async (error: { code?: string }) => {
          if (error.code !== lockNotAvailable) throw error
          // Gives all locks back but the one that keeps other migrations and new exports away.
          await client.query('rollback to savepoint attempt')
        })
        if (done) {
          await client.query('commit')
          return done.map(({ version, name }) => ({ version, name }))
        }
        const message = await blockers(client)
        if (performance.now() + pauseMs > untilMs)
          throw new MigrationBlocked(`${message}\n${advice}`)
        onBlocked(message)
        await sleep(pauseMs)
      }
    },
    folder,
  )
}

const lockNotAvailable = '55P03'
const advice =
  'Nothing was applied. Wait until these are done, or end one with: select pg_terminate_backend(pid);\n' +
  "Then run 'talkshelf migrate' again."

/** Tells which transactions were open all the time, and which tables they hold. */
async function blockers(client: pg.Client): Promise<string> {
  const { rows } = await client.query(
    `select activity.pid, usename as role, nullif(application_name, '') as name, state,
            extract(epoch from clock_timestamp() - xact_start)::integer as seconds,
            array_agg(distinct relation::regclass::text) as tables
     from pg_locks join pg_stat_activity as activity using (pid)
     where locktype = 'relation' and granted and activity.pid <> pg_backend_pid()
       and database = (select oid from pg_database where datname = current_database())
       and relation in (select oid from pg_class where relkind in ('r', 'p'))
       and relation::regclass::text !~ '^(pg_|information_schema)'
       and xact_start < clock_timestamp() - $1 * interval '1 ms'
     group by 1, 2, 3, 4, xact_start order by xact_start limit 5`,
    [lockTimeoutMs],
  )
  if (rows.length === 0)
    return 'The migration did not get its locks: other transactions came first.'
  const lines = rows.map(({ pid, role, name, state, seconds, tables }) => {
    const [some, more] = [
      tables.slice(0, 3).join(', '),
      tables.length > 3 ? ` and ${tables.length - 3} more` : '',
    ]
    return `  "${name ?? 'unnamed'}" (pid ${pid}, role ${role}, ${state}, open for ${seconds} s) holds ${some}${more}`
  })
  return `The migration waits for tables that other transactions hold:\n${lines.join('\n')}`
}

/** How far the database is, and how far this release wants it to be. */
export async function schemaVersion(
  url: string,
  folder: string,
): Promise<{ is: number; wants: number }> {
  return withClient(
    url,
    async (_, postgrator) => {
      const is = await postgrator.getDatabaseVersion().catch((error: { code?: string }) => {
        // No table yet: nothing has been applied.
        if (error.code === '42P01') return 0
        throw error
      })
      return { is, wants: await postgrator.getMaxVersion() }
    },
    folder,
  )
}

async function withClient<T>(
  url: string,
  work: (client: pg.Client, postgrator: Postgrator) => Promise<T>,
  folder: string,
): Promise<T> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 5000,
    application_name: 'talkshelf migrate',
  })
  client.on('error', () => {})
  await client.connect()
  try {
    const postgrator = new Postgrator({
      driver: 'pg',
      migrationPattern: `${folder}/*.sql`,
      schemaTable: 'schema_version',
      execQuery: (query) => client.query(query),
    })
    return await work(client, postgrator)
  } finally {
    await client.end()
  }
}
