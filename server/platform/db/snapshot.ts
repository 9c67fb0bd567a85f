import pg from 'pg'
import sql, { raw, type Sql } from 'sql-template-tag'
import Type, { type Static, type TSchema } from 'typebox'
import { tracedQuery } from '../ops/trace.ts'
import { type Db, getTypeParser, many, one, translateError, Unavailable } from './db.ts'
import { driverUrl } from './driver-url.ts'
import { migrationLock } from './migrate.ts'

// Connections for work that takes minutes, such as a backup or a full export: one connection
// outside of the pools, without their timeouts.

const statementTimeoutMs = 6 * 3_600_000

/** A read-only transaction with a consistent view of the archive. */
export interface Snapshot extends Db {
  /**
   * Other connections get the same view with `set transaction snapshot`, pg_dump with
   * `--snapshot`, until the transaction ends.
   */
  readonly id: string
}

/**
 * Runs long read-only work in a snapshot. Reads and writes are not blocked; a migration waits until
 * the work is done. While a migration runs or waits this throws Unavailable, because a series of
 * overlapping snapshots could block the migration forever.
 */
export function withSnapshot<T>(
  url: string,
  applicationName: string,
  work: (db: Snapshot) => Promise<T>,
): Promise<T> {
  return withConnection(url, applicationName, async (db) => {
    // A table that is truncated after the snapshot was taken appears empty in it. So all tables are
    // locked first: `lock` does not take the snapshot of the transaction yet.
    const { names } = await one(db, Names, readableTables)
    if (!(await one(db, NoMigration, noMigration)).free)
      throw new Unavailable('not-applied', new Error('A migration is running'), true)
    await db.run(sql`begin transaction isolation level repeatable read read only`)
    if (names !== null) await db.run(sql`lock table ${raw(names)} in access share mode`)
    const { id } = await one(db, Id, sql`select pg_export_snapshot() as id`)
    const result = await work({ run: db.run, id })
    await db.run(sql`commit`)
    return result
  })
}

/** Runs work with a separate connection, in which each statement is its own transaction. */
export async function withConnection<T>(
  url: string,
  applicationName: string,
  work: (db: Db) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({
    connectionString: driverUrl(url),
    application_name: applicationName,
    connectionTimeoutMillis: 5000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 30_000,
    types: { getTypeParser },
  })
  client.on('error', () => {})
  await client.connect().catch((error: unknown) => {
    throw new Unavailable('not-applied', error)
  })
  const run: Db['run'] = async ({ text, values }, ifLost = 'unknown') => {
    try {
      const { rows, rowCount } = await tracedQuery(text, () =>
        client.query({ text, values: values as unknown[] }),
      )
      return { rows, count: rowCount ?? 0 }
    } catch (error) {
      throw translateError(error, ifLost)
    }
  }
  try {
    await client.query(settings)
    return await work({ run })
  } finally {
    // Aborts a statement that is still running.
    await client.end().catch(() => {})
  }
}

/** Streams the rows of a query with a cursor, in batches of at most `batchSize` rows. */
export async function* streamRows<T extends TSchema>(
  db: Snapshot,
  row: T,
  statement: Sql,
  batchSize: number,
): AsyncIterable<Static<T>[]> {
  if (!Number.isSafeInteger(batchSize) || batchSize < 1)
    throw new Error(`The batch size must be a positive integer, not ${batchSize}`)
  const cursor = raw(`stream_${++streams}`)
  await db.run(sql`declare ${cursor} no scroll cursor for ${statement}`)
  try {
    for (;;) {
      const rows = await many(db, row, sql`fetch forward ${raw(String(batchSize))} from ${cursor}`)
      if (rows.length > 0) yield rows
      if (rows.length < batchSize) return
    }
  } finally {
    // After an error the transaction has already closed the cursor.
    await db.run(sql`close ${cursor}`).catch(() => {})
  }
}

let streams = 0

// The text format of values must not depend on the configuration of the server or the role. Plans
// are optimized for all rows, not for the first ones, and leave the other cores to requests.
const settings = `
  set statement_timeout = ${statementTimeoutMs};
  set lock_timeout = 60000;
  set idle_in_transaction_session_timeout = 0;
  set timezone = 'UTC';
  set datestyle = 'ISO';
  set intervalstyle = 'postgres';
  set bytea_output = 'hex';
  set extra_float_digits = 1;
  set cursor_tuple_fraction = 1;
  set max_parallel_workers_per_gather = 0;
  set jit = off`

const Names = Type.Object({ names: Type.Union([Type.String(), Type.Null()]) })
const Id = Type.Object({ id: Type.String() })
const NoMigration = Type.Object({ free: Type.Boolean() })

// The statement is its own transaction, so the lock is released at once.
const noMigration = sql`select pg_try_advisory_xact_lock_shared(${migrationLock}) as free`

// Locking a partitioned table locks its partitions.
const readableTables = sql`
  select string_agg(oid::regclass::text, ', ') as names
  from pg_class
  where relkind in ('r', 'p')
    and not relispartition
    and relpersistence <> 't'
    and relnamespace::regnamespace::text !~ '^(pg_|information_schema$)'
    and has_table_privilege(oid, 'select')`
