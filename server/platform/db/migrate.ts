import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { driverUrl } from './driver-url.ts'
import { indexOf, type Migration, readMigrations } from './migration-files.ts'

// Applies the schema while servers use it: plain SQL in two kinds of files. `migrations/*.sql` run
// once, in order, forward only, each with its row in schema_version. `<feature>/triggers.sql`
// contain `create or replace` statements for functions, views and triggers, and run again whenever
// they change. An empty database gets everything in one transaction. Advisory locks let one process
// migrate while others wait.

/** Key of the advisory lock of a step that locks tables. No snapshot begins meanwhile. */
export const migrationLock = 7_351_902_644

/** Key of the advisory lock of a process that migrates, from its first step to its last. */
const processLock = 7_351_902_645

/**
 * Lock timeout of a migration. Later queries of the table queue behind its lock request, so this is
 * the longest that a migration makes a reader wait.
 */
export const lockTimeoutMs = 500

/**
 * Lock timeout for a table that an autovacuum has: PostgreSQL cancels it only for those who have
 * waited for 1 s (`deadlock_timeout`). This lock makes neither readers nor writers wait.
 */
const vacuumTimeoutMs = 1500

/** Pause between two attempts, doubled each time. */
const [firstPauseMs, maxPauseMs] = [1000, 30_000]

/** Together 13 minutes, longer than an export may take: none makes a migration fail. */
const defaultAttempts = 30

export interface MigrateOptions {
  /** Called after each attempt that did not get its locks. The message names the blockers. */
  onBlocked?: ((message: string) => void) | undefined
  /** How often a step is tried. */
  attempts?: number | undefined
}

/** This role or this database cannot have the schema. The message says what to do. */
export class MigrationRefused extends Error {}

/** Other transactions locked the tables until the migration gave up. */
export class MigrationBlocked extends Error {}

/**
 * Migrates the database to the schema in this folder and returns what was applied, such as
 * `3 entities` or `search/triggers.sql`. Does nothing if a newer release has migrated the database.
 * Retries while other transactions lock the tables, and finally throws MigrationBlocked. Steps that
 * were applied before that stay.
 */
export async function migrate(
  url: string,
  folder: string,
  options: MigrateOptions = {},
): Promise<string[]> {
  const migrations = readMigrations(folder)
  return withClient(url, async (client) => {
    try {
      return await applyPending(client, folder, migrations, options)
    } catch (error) {
      const { code, message } = error as { code?: string; message: string }
      if (code !== insufficientPrivilege) throw error
      throw new MigrationRefused(await describeOwner(client, message))
    }
  })
}

async function applyPending(
  client: pg.Client,
  folder: string,
  migrations: readonly Migration[],
  options: MigrateOptions,
): Promise<string[]> {
  await requireUtf8(client)
  await takeProcessLock(client)
  const version = await findVersion(client)
  // Its triggers must not be replaced by older ones.
  if (version > expectedVersion(migrations)) return []
  if (version === 0)
    return lockingTables(client, options, async () => [
      ...(await applyToEmpty(client, migrations)),
      ...(await applyTriggers(client, folder)),
    ])
  const applied: string[] = []
  for (const migration of await pendingMigrations(client, migrations)) {
    await applyMigration(client, migration, options)
    applied.push(`${migration.version} ${migration.name}`)
  }
  const triggers = await lockingTables(client, options, () => applyTriggers(client, folder))
  return [...applied, ...triggers]
}

/** Applies a migration to a database that is in use. */
async function applyMigration(
  client: pg.Client,
  migration: Migration,
  options: MigrateOptions,
): Promise<void> {
  if (migration.kind === 'index') {
    await buildIndex(client, migration, options)
    return record(client, migration)
  }
  if (migration.kind === 'fill') {
    await fillColumns(client, migration, options)
    return record(client, migration)
  }
  await lockingTables(client, options, async () => {
    if (migration.kind === 'contract') await refuseOldServers(client, migration)
    await client.query(migration.sql)
    await record(client, migration)
  })
}

/**
 * Repeats a statement until it changes no row. It locks rows and no tables, so exports may start
 * meanwhile.
 */
async function fillColumns(
  client: pg.Client,
  migration: Migration,
  options: MigrateOptions,
): Promise<void> {
  for (let last = '0'; ; ) {
    const { rowCount, rows } = await inTransaction(client, options, () =>
      fillBatch(client, migration, last),
    )
    // Of several statements, or one that changes no rows, there is no count.
    if (rowCount === null || rowCount === undefined)
      throw new Error(
        `${migration.version} ${migration.name} must be one statement that changes rows`,
      )
    if (rowCount === 0) return
    last = rows.at(-1)?.id ?? last
  }
}

/** Runs the statement of a fill once. With `$1` it gets the last id that it returned before. */
async function fillBatch(
  client: pg.Client,
  { sql }: Migration,
  last: string,
): Promise<pg.QueryResult<{ id: string }>> {
  return sql.includes('$1') ? client.query(sql, [last]) : client.query(sql)
}

/**
 * Creates or drops an index without blocking writes. PostgreSQL leaves an invalid index behind if
 * that fails, also if this process is killed, and `if not exists` would take it for a good one.
 */
async function buildIndex(
  client: pg.Client,
  migration: Migration,
  options: MigrateOptions,
): Promise<void> {
  const name = indexOf(migration)
  await retryWhileLocked(client, options, async () => {
    // Its lock blocks neither readers nor writers, and it waits for transactions of any length.
    await client.query('set lock_timeout = 0')
    const { rows } = await client.query(
      'select from pg_index where indexrelid = to_regclass($1) and not indisvalid',
      [name],
    )
    if (rows.length > 0) await client.query(`drop index concurrently ${name}`)
    await client.query(migration.sql)
  })
}

/** Refuses a contract migration while servers are connected that need what it removes. */
async function refuseOldServers(client: pg.Client, { version, needs }: Migration): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `select distinct application_name as name
     from pg_stat_activity
     where datname = current_database() and application_name ~ '^talkshelf(/\\S+)? serve'`,
  )
  const releases = rows.map(({ name }) => /^talkshelf\/(\S+)/.exec(name)?.[1] ?? 'an early release')
  const old = [...new Set(releases.filter((release) => isOlder(release, needs ?? '')))]
  if (old.length > 0)
    throw new MigrationRefused(
      `Migration ${version} removes what servers before ${needs} need, and these are running: ` +
        `${old.join(', ')}.\nUpdate all servers, then run 'talkshelf migrate' again.`,
    )
}

/** Compares two releases. What is not a version is older than all. */
export function isOlder(release: string, than: string): boolean {
  const parts = (text: string) => /^(\d+)\.(\d+)\.(\d+)/.exec(text)?.slice(1).map(Number)
  const [a = [-1], b = [-1]] = [parts(release), parts(than)]
  const index = [0, 1, 2].find((part) => a[part] !== b[part])
  return index !== undefined && (a[index] ?? -1) < (b[index] ?? -1)
}

/**
 * Waits for other processes that migrate, and takes their lock until the connection ends. It polls,
 * because a statement that waits has a snapshot, for which `create index concurrently` would wait.
 */
async function takeProcessLock(client: pg.Client): Promise<void> {
  for (;;) {
    const { rows } = await client.query('select pg_try_advisory_lock($1) as taken', [processLock])
    if (rows[0].taken) return
    await sleep(200)
  }
}

/** Runs work in a transaction, and again while others lock its rows or tables. */
function inTransaction<T>(
  client: pg.Client,
  options: MigrateOptions,
  work: () => Promise<T>,
): Promise<T> {
  return retryWhileLocked(client, options, async (vacuumedTables) => {
    await client.query('begin')
    try {
      await client.query(`set local lock_timeout = ${vacuumTimeoutMs}`)
      for (const table of vacuumedTables)
        await client.query(`lock table ${table} in share update exclusive mode`)
      await client.query(`set local lock_timeout = ${lockTimeoutMs}`)
      await client.query('set local idle_in_transaction_session_timeout = 0')
      const result = await work()
      await client.query('commit')
      return result
    } catch (error) {
      await client.query('rollback')
      throw error
    }
  })
}

/** Runs work in a transaction that locks tables. No snapshot begins until it has its locks. */
async function lockingTables<T>(
  client: pg.Client,
  options: MigrateOptions,
  work: () => Promise<T>,
): Promise<T> {
  // Also between two attempts: a sequence of exports could block a migration for ever.
  await client.query('select pg_advisory_lock($1)', [migrationLock])
  try {
    return await inTransaction(client, options, work)
  } finally {
    // Not if the connection is lost, which releases it.
    await client.query('select pg_advisory_unlock($1)', [migrationLock]).catch(() => {})
  }
}

/**
 * Runs a step until it gets its locks. Between two attempts it holds none on tables. The step gets
 * the tables that an autovacuum had locked.
 */
async function retryWhileLocked<T>(
  client: pg.Client,
  { onBlocked = () => {}, attempts = defaultAttempts }: MigrateOptions,
  step: (vacuumedTables: readonly string[]) => Promise<T>,
): Promise<T> {
  let vacuumedTables: readonly string[] = []
  for (let attempt = 1; ; attempt++) {
    try {
      return await step(vacuumedTables)
    } catch (error) {
      const { code } = error as { code?: string }
      if (code !== lockNotAvailable && code !== deadlockDetected) throw error
    }
    const blockers = await describeBlockers(client)
    if (attempt >= attempts) throw new MigrationBlocked(`${blockers.message}\n${advice}`)
    onBlocked(blockers.message)
    vacuumedTables = blockers.vacuumedTables
    await sleep(Math.min(firstPauseMs * 2 ** (attempt - 1), maxPauseMs))
  }
}

/** Returns the version of this release. */
const expectedVersion = (migrations: readonly Migration[]) => migrations.at(-1)?.version ?? 0

/** Returns the version of the database; 0 if it is empty. */
async function findVersion(client: pg.Client): Promise<number> {
  const { rows: tables } = await client.query("select to_regclass('schema_version') as name")
  if (tables[0].name === null) return 0
  const { rows } = await client.query('select max(version)::integer as version from schema_version')
  return rows[0].version ?? 0
}

/** Applies all migrations in the transaction of the caller. Returns their versions and names. */
async function applyToEmpty(
  client: pg.Client,
  migrations: readonly Migration[],
): Promise<string[]> {
  await client.query(
    `create table if not exists schema_version (
       version bigint      primary key,
       name    text,
       md5     text,
       run_at  timestamptz
     )`,
  )
  for (const migration of migrations) {
    // The tables have no readers yet, and few rows to fill.
    if (migration.kind === 'fill') await fillBatch(client, migration, '0')
    else if (migration.kind === 'index')
      await client.query(migration.sql.replace(/\bindex\s+concurrently\b/i, 'index'))
    else await client.query(migration.sql)
    await record(client, migration)
  }
  return migrations.map(({ version, name }) => `${version} ${name}`)
}

async function record(client: pg.Client, migration: Migration): Promise<void> {
  const { version, name, checksum } = migration
  await client.query(
    'insert into schema_version (version, name, md5, run_at) values ($1, $2, $3, now())',
    [version, name, checksum],
  )
}

/** Returns the migrations above the version of the database. Throws if an applied one differs. */
async function pendingMigrations(
  client: pg.Client,
  migrations: readonly Migration[],
): Promise<Migration[]> {
  const { rows } = await client.query('select version::integer, md5 from schema_version')
  const applied = new Map<number, string | null>(rows.map(({ version, md5 }) => [version, md5]))
  const changed = migrations.find(
    ({ version, checksum }) => (applied.get(version) ?? checksum) !== checksum,
  )
  if (changed)
    throw new Error(
      `Migration ${changed.version} (${changed.name}) was changed after it was applied. ` +
        'Restore the file, and write a new migration for the difference',
    )
  const current = Math.max(0, ...applied.keys())
  return migrations.filter(({ version }) => version > current)
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
const deadlockDetected = '40P01'
const insufficientPrivilege = '42501'
const advice =
  'This step was not applied. Wait until these transactions end, or end one with:\n' +
  '  select pg_terminate_backend(pid);\n' +
  "Then run 'talkshelf migrate' again."

/**
 * Lists the transactions that were open during the whole attempt and the tables they lock, and the
 * tables that an autovacuum has.
 */
async function describeBlockers(
  client: pg.Client,
): Promise<{ message: string; vacuumedTables: string[] }> {
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
  const vacuums = await client.query(
    `select distinct relation::regclass::text as name
     from pg_locks
     join pg_stat_activity as activity using (pid)
     join pg_class on pg_class.oid = relation
     where locktype = 'relation'
       and granted
       and mode = 'ShareUpdateExclusiveLock'
       and usesysid is null
       and relkind = 'r'
       and relnamespace = current_schema()::regnamespace
       and database = (select oid from pg_database where datname = current_database())`,
  )
  const vacuumedTables: string[] = vacuums.rows.map(({ name }) => name)
  if (rows.length === 0) {
    const others =
      vacuumedTables.length > 0 ? 'an autovacuum has them' : 'other transactions were faster'
    return { message: `The migration did not get its table locks: ${others}.`, vacuumedTables }
  }
  const lines = rows.map(({ pid, role, name, state, seconds, tables }) => {
    const details = `pid ${pid}, role ${role}, ${state}, open for ${seconds} s`
    const more = tables.length > 3 ? ` and ${tables.length - 3} more` : ''
    return `  "${name ?? 'unnamed'}" (${details}) locks ${tables.slice(0, 3).join(', ')}${more}`
  })
  const message = 'The migration is waiting for tables locked by other transactions:'
  return { message: `${message}\n${lines.join('\n')}`, vacuumedTables }
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
      `${error}\nThis step was not applied. The role ${role} must own the database. As a superuser:\n` +
      `  alter database ${database} owner to ${role};`
    )
  const advice = isReassignable
    ? `, or make ${role} the owner. As a superuser in this database:\n` +
      `  reassign owned by ${owner} to ${role};`
    : '.'
  return (
    `${error}\nThis step was not applied. The tables belong to the role ${owner}. ` +
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
  const expected = expectedVersion(readMigrations(folder))
  return withClient(url, async (client) => {
    const current = await findVersion(client)
    if (current !== expected) return { current, expected, isPending: current < expected }
    const triggers = await ifTableExists(pendingTriggers(client, folder))
    return { current, expected, isPending: triggers === undefined || triggers.length > 0 }
  })
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

async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = await connect(url)
  try {
    return await work(client)
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
