import { createHash } from 'node:crypto'
import { validator } from '@talkshelf/contract'
import pg from 'pg'
import type { Sql } from 'sql-template-tag'
import type { Static, TSchema } from 'typebox'
import { tracedQuery } from '../ops/trace.ts'

// With lookups.ts and migrate.ts beside it, the only place that talks to the driver. A feature writes SQL in its queries.ts and gets rows that were checked.

/** Something that runs a statement: the pool, each statement for itself, or one transaction. */
export interface Db {
  /** `ifLost`: what is known when the connection breaks after the statement was sent. Without it, nothing is. */
  run(statement: Sql, ifLost?: Unavailable['outcome']): Promise<{ rows: unknown[]; count: number }>
}

export interface Pool extends Db {
  figures(): { total: number; idle: number; waiting: number }
  transaction<T>(work: (tx: Db) => Promise<T>): Promise<T>
  close(): Promise<void>
}

/**
 * The database did not do what we asked, and it is nobody's mistake. `outcome` tells a writer what became of the write:
 * `not-applied` is certain, `unknown` means that the answer was lost after the statement had been sent.
 */
export class Unavailable extends Error {
  readonly outcome: 'not-applied' | 'unknown'
  /** Whether the connection is still good: the server itself refused, and said so. */
  readonly connected: boolean

  constructor(outcome: 'not-applied' | 'unknown', cause: unknown, connected = false) {
    super(`The database is not available: ${cause instanceof Error ? cause.message : cause}`, { cause })
    this.name = 'Unavailable'
    this.outcome = outcome
    this.connected = connected
  }
}

/** A unique index refused the row. Thrown for nothing else, so that a feature can tell which one it was. */
export class Taken extends Error {
  readonly index: string

  constructor(index: string, cause: unknown) {
    super(`A row with this value exists (${index})`, { cause })
    this.name = 'Taken'
    this.index = index
  }
}

// A row schema is declared once, outside of the function that asks: its check is compiled once and kept.
// Do not destructure the call itself: TypeScript then infers the schema backwards from the pattern, for seconds.

export async function many<T extends TSchema>(db: Db, row: T, statement: Sql): Promise<Static<T>[]> {
  // What returns rows only looks; what writes goes through `execute`.
  const { rows } = await db.run(statement, 'not-applied')
  const rowCheck = validator(row)
  for (const it of rows) if (!rowCheck.Check(it)) throw new Error(`A row is not what its schema says: ${statement.text}`)
  return rows as Static<T>[]
}

export async function maybe<T extends TSchema>(db: Db, row: T, statement: Sql): Promise<Static<T> | undefined> {
  const rows = await many(db, row, statement)
  if (rows.length > 1) throw new Error(`At most one row was expected, ${rows.length} came: ${statement.text}`)
  return rows[0]
}

export async function one<T extends TSchema>(db: Db, row: T, statement: Sql): Promise<Static<T>> {
  const it = await maybe(db, row, statement)
  if (it === undefined) throw new Error(`One row was expected, none came: ${statement.text}`)
  return it
}

/** Runs a statement that returns no rows we need; tells how many rows it touched. */
export async function execute(db: Db, statement: Sql): Promise<number> {
  return (await db.run(statement)).count
}

export interface PoolOptions {
  url: string
  connections: number
  applicationName: string
  /** Told about connections that broke while idle: nobody waits for them, but the log should say so. */
  onIdleError?: (error: Error) => void
}

export function openPool({ url, connections, applicationName, onIdleError = () => {} }: PoolOptions): Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max: connections,
    application_name: applicationName,
    connectionTimeoutMillis: 2000,
    // The driver's limit stands behind the server's, for a server that no longer answers at all.
    query_timeout: 5000,
    statement_timeout: 4000,
    lock_timeout: 2000,
    idle_in_transaction_session_timeout: 10_000,
    keepAlive: true,
    maxLifetimeSeconds: 300,
    types: { getTypeParser },
  })
  // Unheard, the error of an idle connection would end the process.
  pool.on('error', onIdleError)
  // And the error of a connection that is just being handed out, when the pool has stopped listening and we have not begun to.
  pool.on('connect', (client) => client.on('error', () => {}))

  async function withClient<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const client = await pool.connect().catch((error: unknown) => {
      throw new Unavailable('not-applied', error)
    })
    let broken = false
    try {
      return await work(client)
    } catch (error) {
      broken = isLost(error)
      throw error
    } finally {
      // After a time-out the driver leaves the connection wedged: only one that is known to be well goes back.
      client.release(broken)
    }
  }

  async function transaction<T>(work: (tx: Db) => Promise<T>): Promise<T> {
    return withClient(async (client) => {
      await send(client, begin, 'not-applied')
      let result: T
      try {
        // Until COMMIT is sent nothing can have been applied, whatever happens to the connection.
        result = await work({ run: (statement) => send(client, statement, 'not-applied') })
      } catch (error) {
        if (!isLost(error)) await send(client, rollback, 'not-applied')
        throw error
      }
      await send(client, commit, 'unknown')
      return result
    })
  }

  return {
    run: (statement, ifLost = 'unknown') => withClient((client) => send(client, statement, ifLost)),
    // PostgreSQL ends one of two transactions that wait for each other. It did nothing, and may try once more.
    transaction: (work) =>
      transaction(work).catch((error: unknown) => {
        if (error instanceof Unavailable && isDeadlock(error.cause)) return transaction(work)
        throw error
      }),
    figures: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    close: () => pool.end(),
  }
}

function isDeadlock(error: unknown): boolean {
  return error instanceof pg.DatabaseError && (error.code === '40P01' || error.code === '40001')
}

type Statement = Pick<Sql, 'text' | 'values'>
const begin: Statement = { text: 'begin', values: [] }
const commit: Statement = { text: 'commit', values: [] }
const rollback: Statement = { text: 'rollback', values: [] }

// Every statement is prepared under a name made of its text, so that PostgreSQL parses and plans it once a connection.
// The texts are the templates of our queries.ts: few, and never made of input.
const names = new Map<string, string>()

export function nameOf(text: string): string {
  let name = names.get(text)
  if (name === undefined) {
    name = createHash('sha256').update(text).digest('base64url').slice(0, 22)
    names.set(text, name)
  }
  return name
}

async function send(
  client: pg.PoolClient,
  { text, values }: Statement,
  ifLost: Unavailable['outcome'],
): Promise<{ rows: unknown[]; count: number }> {
  let unconfirmed: Error | undefined
  // A commit whose wait for the synchronous standby was cancelled is reported as done, with this warning beside it.
  // By its code: the words are in the language of the server.
  const listen = (notice: { code?: string | undefined; message?: string | undefined }) => {
    if (notice.code === '01000' || notice.code === '57P01') unconfirmed = new Error(notice.message)
  }
  client.on('notice', listen)
  try {
    const { rows, rowCount } = await tracedQuery(text, () => client.query({ name: nameOf(text), text, values: values as unknown[] }))
    if (unconfirmed) throw new Unavailable('unknown', unconfirmed)
    return { rows, count: rowCount ?? 0 }
  } catch (error) {
    throw explained(error, ifLost)
  } finally {
    client.off('notice', listen)
  }
}

export function explained(error: unknown, ifLost: Unavailable['outcome']): unknown {
  if (error instanceof Unavailable) return error
  if (!(error instanceof pg.DatabaseError)) return new Unavailable(ifLost, error)
  const code = error.code ?? ''
  if (code === '23505') return new Taken(error.constraint ?? '', error)
  // The server is going down: the statement may have been the last thing that it did.
  if (code.startsWith('57P')) return new Unavailable(ifLost, error)
  // Out of resources, a lock or time limit, a deadlock, a server that only reads: undone, and not the statement's fault. The last
  // was the primary once, perhaps: such a connection is not kept.
  if (/^(53|40|55P03|57014|25006|58)/.test(code)) return new Unavailable('not-applied', error, code !== '25006')
  return error
}

function isLost(error: unknown): boolean {
  return error instanceof Unavailable && !error.connected
}

// Numbers as numbers, dates and times as the text that PostgreSQL writes: the driver would make local-zone Dates of them.
const parsers: Record<number, (value: string) => unknown> = {
  20: wholeNumber,
  1016: (value) =>
    value === '{}'
      ? []
      : value
          .slice(1, -1)
          .split(',')
          .map((item) => (item === 'NULL' ? null : wholeNumber(item))),
  1082: String,
  1114: String,
  1184: String,
}

export function getTypeParser(oid: number, format?: 'text' | 'binary') {
  return parsers[oid] ?? pg.types.getTypeParser(oid, format as 'text')
}

function wholeNumber(value: string): number {
  const number = Number(value)
  if (!Number.isSafeInteger(number)) throw new Error('A number from the database is too large')
  return number
}
