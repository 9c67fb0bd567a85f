import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import Postgrator from 'postgrator'
import { driverUrl } from './driver-url.ts'

// Applies the schema: plain SQL in two kinds of files. `migrations/*.sql` run once, in order,
// forward only. `<feature>/triggers.sql` contain `create or replace` statements for functions,
// views and triggers, and run again whenever they change. Everything pending runs in one
// transaction with the tables that record it, so a crash leaves the old schema. An advisory lock
// lets one process migrate while others wait.

/** Key of the advisory lock held by a process that migrates or waits for table locks. */
export const migrationLock = 7_351_902_644

/**
 * Lock timeout of a migration. Later queries queue behind its lock request, so it is shorter than
 * the 2 s timeout of reads; it is longer than the 1 s (`deadlock_timeout`) after which PostgreSQL
 * cancels an autovacuum that holds the lock.
 */
const lockTimeoutMs = 1500

/** Pause between two attempts, doubled each time. */
const [firstPauseMs, maxPauseMs] = [1000, 15_000]

/** Longer than an export may take, so that a running export never makes a migration fail. */
const defaultGiveUpMs = 15 * 60_000

export interface MigrateOptions {
  /** Called after each attempt that did not get its locks. The message names the blockers. */
  onBlocked?: ((message: string) => void) | undefined
  giveUpMs?: number | undefined
}

/** This role or this database cannot have the schema. The message says what to do. */
export class MigrationRefused extends Error {}

/** Other transactions locked the tables until the migration gave up. Nothing was applied. */
export class MigrationBlocked extends Error {}

/**
 * Migrates the database to the schema in this folder and returns what was applied, such as
 * `3 entities` or `search/triggers.sql`. Does nothing if a newer release has migrated the database.
 * Retries while other transactions lock the tables, and throws MigrationBlocked after `giveUpMs`.
 */
export async function migrate(
  url: string,
  folder: string,
  options: MigrateOptions = {},
): Promise<string[]> {
  const { onBlocked = () => {}, giveUpMs = defaultGiveUpMs } = options
  return withClient(
    url,
    async (client, postgrator) => {
      await requireUtf8(client)
      await client.query('begin')
      await client.query('select pg_advisory_xact_lock($1)', [migrationLock])
      await client.query(`set local lock_timeout = ${lockTimeoutMs}`)
      await client.query('set local idle_in_transaction_session_timeout = 0')
      const deadline = performance.now() + giveUpMs
      for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, maxPauseMs)) {
        await client.query('savepoint attempt')
        try {
          // Its triggers must not be replaced by older ones.
          if (await isNewer(client, postgrator)) return []
          const migrations = await postgrator.migrate()
          const triggers = await applyTriggers(client, folder)
          await client.query('commit')
          return [...migrations.map(({ version, name }) => `${version} ${name}`), ...triggers]
        } catch (error) {
          const { code } = error as { code?: string }
          if (code !== lockNotAvailable && code !== insufficientPrivilege) throw error
          // Releases all locks except the advisory one, which blocks other migrations and exports.
          await client.query('rollback to savepoint attempt')
          if (code === insufficientPrivilege)
            throw new MigrationRefused(await describeOwner(client, (error as Error).message))
        }
        const message = await describeBlockers(client)
        if (performance.now() + pauseMs > deadline)
          throw new MigrationBlocked(`${message}\n${advice}`)
        onBlocked(message)
        await sleep(pauseMs)
      }
    },
    folder,
  )
}

async function requireUtf8(client: pg.Client): Promise<void> {
  const { rows } = await client.query('show server_encoding')
  const [{ server_encoding: encoding }] = rows
  if (encoding !== 'UTF8')
    throw new MigrationRefused(
      `The encoding of the database is ${encoding}, which cannot store all titles and names. ` +
        'Use a database with UTF8:\n' +
        '  createdb --owner=ROLE --template=template0 --encoding=UTF8 --locale=C.UTF-8 NAME',
    )
}

const lockNotAvailable = '55P03'
const insufficientPrivilege = '42501'
const advice =
  'Nothing was applied. Wait until these transactions end, or end one with:\n' +
  '  select pg_terminate_backend(pid);\n' +
  "Then run 'talkshelf migrate' again."

/** Lists the transactions that were open during the whole attempt and the tables they lock. */
async function describeBlockers(client: pg.Client): Promise<string> {
  const { rows } = await client.query(
    `select
       activity.pid,
       usename as role,
       nullif(application_name, '') as name,
       state,
       extract(epoch from clock_timestamp() - xact_start)::integer as seconds,
       array_agg(distinct relation::regclass::text) as tables
     from pg_locks
     join pg_stat_activity as activity using (pid)
     where locktype = 'relation'
       and granted
       and activity.pid <> pg_backend_pid()
       and database = (select oid from pg_database where datname = current_database())
       and relation in (select oid from pg_class where relkind in ('r', 'p'))
       and relation::regclass::text !~ '^(pg_|information_schema)'
       and xact_start < clock_timestamp() - $1 * interval '1 ms'
     group by 1, 2, 3, 4, xact_start
     order by xact_start
     limit 5`,
    [lockTimeoutMs],
  )
  if (rows.length === 0)
    return 'The migration did not get its table locks: other transactions were faster.'
  const lines = rows.map(({ pid, role, name, state, seconds, tables }) => {
    const details = `pid ${pid}, role ${role}, ${state}, open for ${seconds} s`
    const more = tables.length > 3 ? ` and ${tables.length - 3} more` : ''
    return `  "${name ?? 'unnamed'}" (${details}) locks ${tables.slice(0, 3).join(', ')}${more}`
  })
  return `The migration is waiting for tables locked by other transactions:\n${lines.join('\n')}`
}

/** Says which role owns the database and its tables, and how to change that. */
async function describeOwner(client: pg.Client, error: string): Promise<string> {
  const { rows } = await client.query(
    `select
       format('%I', current_user) as role,
       format('%I', current_database()) as database,
       (select format('%I', pg_get_userbyid(relowner))
          from pg_class
         where oid = to_regclass('schema_version')) as owner,
       -- The objects of the first superuser cannot be reassigned.
       (select relowner <> 10 from pg_class where oid = to_regclass('schema_version'))
         as is_reassignable`,
  )
  const { role, database, owner, is_reassignable: isReassignable } = rows[0]
  if (owner === null || owner === role)
    return (
      `${error}\nNothing was applied. The role ${role} must own the database. As a superuser:\n` +
      `  alter database ${database} owner to ${role};`
    )
  const advice = isReassignable
    ? `, or make ${role} the owner. As a superuser in this database:\n` +
      `  reassign owned by ${owner} to ${role};`
    : '.'
  return (
    `${error}\nNothing was applied. The tables belong to the role ${owner}. ` +
    `Use that role in DATABASE_URL${advice}`
  )
}

interface TriggerFile {
  /** Relative to the folder of the schema, e.g. `search/triggers.sql`. */
  readonly name: string
  readonly sql: string
  readonly checksum: string
}

function triggerFiles(folder: string): TriggerFile[] {
  return globSync('*/triggers.sql', { cwd: folder })
    .sort()
    .map((name) => {
      const sql = readFileSync(join(folder, name), 'utf8')
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') }
    })
}

/** Finds the trigger files that are not applied, or that changed since. */
async function pendingTriggers(client: pg.Client, folder: string): Promise<TriggerFile[]> {
  const { rows } = await client.query('select name, checksum from trigger_file')
  const applied = new Map(rows.map(({ name, checksum }) => [name, checksum]))
  return triggerFiles(folder).filter(({ name, checksum }) => applied.get(name) !== checksum)
}

/** Applies the pending trigger files and returns their names. */
async function applyTriggers(client: pg.Client, folder: string): Promise<string[]> {
  await client.query(
    `create table if not exists trigger_file (
       name     text        primary key,
       checksum text        not null,
       applied  timestamptz not null
     )`,
  )
  const pending = await pendingTriggers(client, folder)
  for (const { name, sql, checksum } of pending) {
    await client.query(sql)
    await client.query(
      `insert into trigger_file (name, checksum, applied)
       values ($1, $2, now())
       on conflict (name) do update set checksum = excluded.checksum, applied = excluded.applied`,
      [name, checksum],
    )
  }
  return pending.map(({ name }) => name)
}

export interface SchemaStatus {
  /** The version of the database; 0 if it is empty. */
  readonly current: number
  /** The version of this release. */
  readonly expected: number
  /**
   * Whether `migrate` would do anything. False if the database belongs to a newer release: servers
   * of the release before keep running during an upgrade.
   */
  readonly isPending: boolean
}

/** Compares the schema of the database with the one in this folder. */
export async function schemaStatus(url: string, folder: string): Promise<SchemaStatus> {
  return withClient(
    url,
    async (client, postgrator) => {
      const current = (await ifTableExists(postgrator.getDatabaseVersion())) ?? 0
      const expected = await postgrator.getMaxVersion()
      if (current !== expected) return { current, expected, isPending: current < expected }
      const triggers = await ifTableExists(pendingTriggers(client, folder))
      return { current, expected, isPending: triggers === undefined || triggers.length > 0 }
    },
    folder,
  )
}

/** Tells whether the database has a later version than this release. */
async function isNewer(client: pg.Client, postgrator: Postgrator): Promise<boolean> {
  const { rows } = await client.query("select to_regclass('schema_version') as name")
  if (rows[0].name === null) return false
  return (await postgrator.getDatabaseVersion()) > (await postgrator.getMaxVersion())
}

/**
 * Tells whether the locale of the database maps upper and lower case for all scripts, which search,
 * lists and spelling rules need. The locale C does not.
 */
export async function isCaseMapped(url: string): Promise<boolean> {
  const client = await connect(url)
  try {
    const { rows } = await client.query("select lower('Ж') = 'ж' as is_mapped")
    return rows[0].is_mapped
  } finally {
    await client.end()
  }
}

/** Returns undefined if the table that was read does not exist. */
async function ifTableExists<T>(result: Promise<T>): Promise<T | undefined> {
  try {
    return await result
  } catch (error) {
    if ((error as { code?: string }).code === '42P01') return undefined
    throw error
  }
}

async function withClient<T>(
  url: string,
  work: (client: pg.Client, postgrator: Postgrator) => Promise<T>,
  folder: string,
): Promise<T> {
  const client = await connect(url)
  try {
    const postgrator = new Postgrator({
      driver: 'pg',
      migrationPattern: join(folder, 'migrations', '*.sql'),
      schemaTable: 'schema_version',
      execQuery: (query) => client.query(query),
    })
    return await work(client, postgrator)
  } finally {
    await client.end()
  }
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: driverUrl(url),
    connectionTimeoutMillis: 5000,
    application_name: 'talkshelf migrate',
  })
  client.on('error', () => {})
  await client.connect()
  return client
}
