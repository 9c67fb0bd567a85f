import pg from 'pg'
import sql, { raw, type Sql } from 'sql-template-tag'
import Type, { type Static, type TSchema } from 'typebox'
import { tracedQuery } from '../ops/trace.ts'
import { type Db, getTypeParser, many, one, translateError, Unavailable } from './db.ts'
import { migrationLock } from './migrate.ts'

// Work that takes minutes, such as a backup or an export of everything: one connection of its own,
// without the limits of the pool.

/** One statement of such work may take this long. */
const longestMs = 6 * 3_600_000

/**
 * One transaction that only reads, and sees the archive as it was at one moment, whatever is
 * written meanwhile.
 */
export interface Snapshot extends Db {
  /**
   * Other connections see the same with `set transaction snapshot`, pg_dump with `--snapshot`,
   * until the work is done.
   */
  readonly id: string
}

/**
 * Runs work that reads for minutes. Readers and writers go on as ever; a migration has to wait
 * until the work is done. While one waits, no such work begins: one after the other would keep it
 * waiting.
 */
export function withSnapshot<T>(
  url: string,
  applicationName: string,
  work: (db: Snapshot) => Promise<T>,
): Promise<T> {
  return withConnection(url, applicationName, async (db) => {
    // A table that was emptied between our first look and the first time we read it would be empty
    // for us: snapshots don't keep those rows. So all tables are held before the first look, and
    // `lock` is none.
    const { names } = await one(db, Names, readableTables)
    if (!(await one(db, NoMigration, noMigration)).free)
      throw new Unavailable('not-applied', new Error('A migration is under way'), true)
    await db.run(sql`begin transaction isolation level repeatable read read only`)
    if (names !== null) await db.run(sql`lock table ${raw(names)} in access share mode`)
    const { id } = await one(db, Id, sql`select pg_export_snapshot() as id`)
    const result = await work({ run: db.run, id })
    await db.run(sql`commit`)
    return result
  })
}

/** Each statement for itself. */
export async function withConnection<T>(
  url: string,
  applicationName: string,
  work: (db: Db) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({
    connectionString: url,
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
    // What is still under way is given up.
    await client.end().catch(() => {})
  }
}

/** The rows of a long answer, some at a time: never more than `batchSize` of them are in memory. */
export async function* streamRows<T extends TSchema>(
  db: Snapshot,
  row: T,
  statement: Sql,
  batchSize: number,
): AsyncIterable<Static<T>[]> {
  if (!Number.isSafeInteger(batchSize) || batchSize < 1)
    throw new Error(`A batch has at least one row, not ${batchSize}`)
  const cursor = raw(`stream_${++streams}`)
  await db.run(sql`declare ${cursor} no scroll cursor for ${statement}`)
  try {
    for (;;) {
      const rows = await many(db, row, sql`fetch forward ${raw(String(batchSize))} from ${cursor}`)
      if (rows.length > 0) yield rows
      if (rows.length < batchSize) return
    }
  } finally {
    // After an error the transaction is over, and the cursor with it.
    await db.run(sql`close ${cursor}`).catch(() => {})
  }
}

let streams = 0

// How a value is written as text must depend neither on the server nor on the role. And who reads
// everything should take the shortest way to the last row, not to the first, and leave the other
// cores to those who wait for an answer.
const settings = `
  set statement_timeout = ${longestMs}; set lock_timeout = 60000; set idle_in_transaction_session_timeout = 0;
  set timezone = 'UTC'; set datestyle = 'ISO'; set intervalstyle = 'postgres'; set bytea_output = 'hex'; set extra_float_digits = 1;
  set cursor_tuple_fraction = 1; set max_parallel_workers_per_gather = 0; set jit = off`

const Names = Type.Object({ names: Type.Union([Type.String(), Type.Null()]) })
const Id = Type.Object({ id: Type.String() })
const NoMigration = Type.Object({ free: Type.Boolean() })

// The lock is given back with the end of the statement.
const noMigration = sql`select pg_try_advisory_xact_lock_shared(${migrationLock}) as free`

// A slice goes with its whole.
const readableTables = sql`
  select string_agg(oid::regclass::text, ', ') as names from pg_class
  where relkind in ('r', 'p') and not relispartition and relpersistence <> 't' and relnamespace::regnamespace::text !~ '^(pg_|information_schema$)'
    and has_table_privilege(oid, 'select')`
