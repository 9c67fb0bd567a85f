import { createHash } from 'node:crypto'
import { Problem, validatorFor } from '@talkshelf/contract'
import pg from 'pg'
import type { Sql } from 'sql-template-tag'
import type { Static, TSchema } from 'typebox'

// The interface between features and the database: a feature writes SQL in its queries.ts and gets
// validated rows. Only this folder uses the driver.

/** Runs statements: a pool, in which each statement is its own transaction, or a transaction. */
export interface Db {
  /**
   * `ifLost` is the outcome to report when the connection breaks after the statement was sent. The
   * default is `unknown`.
   */
  run(statement: Sql, ifLost?: Unavailable['outcome']): Promise<{ rows: unknown[]; count: number }>
}

/**
 * The database did not run a statement for a reason outside of the statement: no connection, a
 * timeout, a conflict. `outcome` is `not-applied` if the write certainly had no effect, and
 * `unknown` if the connection was lost after the statement had been sent.
 */
export class Unavailable extends Error {
  readonly outcome: 'not-applied' | 'unknown'
  /** Whether the connection is still usable: the server itself reported the error. */
  readonly connected: boolean
  /** The statement exceeded its timeout. */
  readonly isTooSlow: boolean
  /** Another transaction was in the way: a deadlock, a serialization failure or a lock timeout. */
  readonly isConflict: boolean

  constructor(outcome: 'not-applied' | 'unknown', cause: unknown, connected = false) {
    super(`The database is not available: ${cause instanceof Error ? cause.message : cause}`, {
      cause,
    })
    this.name = 'Unavailable'
    this.outcome = outcome
    this.connected = connected
    const code = cause instanceof pg.DatabaseError ? (cause.code ?? '') : ''
    this.isTooSlow = code === '57014'
    this.isConflict = connected && !this.isTooSlow && !/^(25|53|58)/.test(code)
  }
}

/** A row violates a unique index. `index` names it. */
export class UniqueViolation extends Error {
  readonly index: string

  constructor(index: string, cause: unknown) {
    super(`A row with this value exists (${index})`, { cause })
    this.name = 'UniqueViolation'
    this.index = index
  }
}

// Declare a row schema once, outside of the function that queries: its validator is compiled once
// and cached. Do not destructure the call itself: TypeScript then infers the schema backwards from
// the pattern, which takes seconds.

/** Runs a statement that only reads. If the connection is lost, nothing was applied. */
export async function many<T extends TSchema>(
  db: Db,
  row: T,
  statement: Sql,
): Promise<Static<T>[]> {
  return checkedRows(row, statement, await db.run(statement, 'not-applied'))
}

/** Runs a statement that only reads and returns its only row, or undefined if there is none. */
export async function maybe<T extends TSchema>(
  db: Db,
  row: T,
  statement: Sql,
): Promise<Static<T> | undefined> {
  const rows = await many(db, row, statement)
  if (rows.length > 1)
    throw new Error(`Expected at most one row, got ${rows.length}: ${statement.text}`)
  return rows[0]
}

/** Runs a statement that only reads and returns its only row. Throws if there is none. */
export async function one<T extends TSchema>(db: Db, row: T, statement: Sql): Promise<Static<T>> {
  const match = await maybe(db, row, statement)
  if (match === undefined) throw new Error(`Expected one row, got none: ${statement.text}`)
  return match
}

/** Runs a statement that writes and returns rows. If the connection is lost, it may be applied. */
export async function writeReturning<T extends TSchema>(
  db: Db,
  row: T,
  statement: Sql,
): Promise<Static<T>[]> {
  return checkedRows(row, statement, await db.run(statement))
}

function checkedRows<T extends TSchema>(
  row: T,
  { text }: Sql,
  { rows }: { rows: unknown[] },
): Static<T>[] {
  const validator = validatorFor(row)
  for (const value of rows)
    if (!validator.Check(value)) throw new Error(`A row does not match its schema: ${text}`)
  return rows as Static<T>[]
}

/** Runs a statement and returns the number of affected rows. */
export async function execute(db: Db, statement: Sql): Promise<number> {
  return (await db.run(statement)).count
}

// Every statement is prepared under a hash of its text, so that PostgreSQL parses and plans it once
// per connection. The texts are the templates in queries.ts: few, and never built from input.
const names = new Map<string, string>()

/** Returns the name under which a statement is prepared. */
export function statementName(text: string): string {
  let name = names.get(text)
  if (name === undefined) {
    name = createHash('sha256').update(text).digest('base64url').slice(0, 22)
    names.set(text, name)
  }
  return name
}

/**
 * Converts an error of the driver to Unavailable or UniqueViolation, and the refusal of a read-only
 * archive to a problem; returns others unchanged.
 */
export function translateError(error: unknown, ifLost: Unavailable['outcome']): unknown {
  if (error instanceof Unavailable) return error
  if (!(error instanceof pg.DatabaseError)) return new Unavailable(ifLost, error)
  const code = error.code ?? ''
  // Raised by a trigger of our own.
  if (code === 'TS001') return new Problem('read-only', error.message)
  if (code === '23505') return new UniqueViolation(error.constraint ?? '', error)
  // The server is shutting down: the statement may still have been executed.
  if (code.startsWith('57P')) return new Unavailable(ifLost, error)
  // The log could not be written or synchronized, and the server restarts: what it had written of the
  // log is recovered, maybe with this commit. (The severity, PANIC, is in the language of the server.)
  if (code.startsWith('58') || error.file === 'xlog.c') return new Unavailable(ifLost, error)
  // Out of resources, a lock or statement timeout, a deadlock, a read-only server: rolled back, and
  // not caused by the statement. A read-only server may be a former primary, so its connection is
  // closed.
  if (/^(53|40|55P03|57014|25006)/.test(code))
    return new Unavailable('not-applied', error, code !== '25006')
  return error
}

// Keys are the OIDs of PostgreSQL types. bigint becomes a number; dates and times stay text,
// because the driver would convert them to Dates in the local time zone.
const parsers: Record<number, (value: string) => unknown> = {
  20: parseBigint, // bigint
  1016: parseBigintArray, // bigint[]
  1082: String, // date
  1114: String, // timestamp
  1184: String, // timestamptz
}

/** Returns the parser for the values of a PostgreSQL type. */
export function getTypeParser(oid: number, format?: 'text' | 'binary') {
  return parsers[oid] ?? pg.types.getTypeParser(oid, format as 'text')
}

function parseBigint(value: string): number {
  const number = Number(value)
  if (!Number.isSafeInteger(number))
    throw new Error('A number from the database exceeds the safe integer range')
  return number
}

function parseBigintArray(value: string): (number | null)[] {
  if (value === '{}') return []
  const items = value.slice(1, -1).split(',')
  return items.map((item) => (item === 'NULL' ? null : parseBigint(item)))
}
