import { createHash } from 'node:crypto'
import { validatorFor } from '@talkshelf/contract'
import pg from 'pg'
import type { Sql } from 'sql-template-tag'
import type { Static, TSchema } from 'typebox'

// What a feature knows of the database: it writes SQL in its queries.ts, and gets rows that were
// checked. Only this folder talks to the driver.

/** Something that runs a statement: the pool, each statement for itself, or one transaction. */
export interface Db {
  /**
   * `ifLost`: what is known when the connection breaks after the statement was sent. Without it,
   * nothing is.
   */
  run(statement: Sql, ifLost?: Unavailable['outcome']): Promise<{ rows: unknown[]; count: number }>
}

/**
 * The database did not do what we asked, and it is nobody's mistake. `outcome` tells a writer what
 * became of the write: `not-applied` is certain, `unknown` means that the answer was lost after the
 * statement had been sent.
 */
export class Unavailable extends Error {
  readonly outcome: 'not-applied' | 'unknown'
  /** Whether the connection is still good: the server itself refused, and said so. */
  readonly connected: boolean
  /** The statement itself took longer than it may. */
  readonly isTooSlow: boolean
  /**
   * It lost against another transaction: a deadlock, a serialization failure, or a lock that was
   * not free in time.
   */
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

/**
 * A unique index refused the row. Thrown for nothing else, so that a feature can tell which one it
 * was.
 */
export class UniqueViolation extends Error {
  readonly index: string

  constructor(index: string, cause: unknown) {
    super(`A row with this value exists (${index})`, { cause })
    this.name = 'Taken'
    this.index = index
  }
}

// A row schema is declared once, outside of the function that asks: its check is compiled once and
// kept. Do not destructure the call itself: TypeScript then infers the schema backwards from the
// pattern, for seconds.

/** Runs a statement that only reads: if the connection is lost, nothing was applied. */
export async function many<T extends TSchema>(
  db: Db,
  row: T,
  statement: Sql,
): Promise<Static<T>[]> {
  return checkedRows(row, statement, await db.run(statement, 'not-applied'))
}

export async function maybe<T extends TSchema>(
  db: Db,
  row: T,
  statement: Sql,
): Promise<Static<T> | undefined> {
  const rows = await many(db, row, statement)
  if (rows.length > 1)
    throw new Error(`At most one row was expected, ${rows.length} came: ${statement.text}`)
  return rows[0]
}

export async function one<T extends TSchema>(db: Db, row: T, statement: Sql): Promise<Static<T>> {
  const it = await maybe(db, row, statement)
  if (it === undefined) throw new Error(`One row was expected, none came: ${statement.text}`)
  return it
}

/**
 * Runs a statement that writes and returns rows: if the connection is lost, it may have been
 * applied.
 */
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
  const rowCheck = validatorFor(row)
  for (const it of rows)
    if (!rowCheck.Check(it)) throw new Error(`A row is not what its schema says: ${text}`)
  return rows as Static<T>[]
}

/** Runs a statement that returns no rows we need; tells how many rows it touched. */
export async function execute(db: Db, statement: Sql): Promise<number> {
  return (await db.run(statement)).count
}

// Every statement is prepared under a name made of its text, so that PostgreSQL parses and plans it
// once a connection. The texts are the templates of our queries.ts: few, and never made of input.
const names = new Map<string, string>()

export function statementName(text: string): string {
  let name = names.get(text)
  if (name === undefined) {
    name = createHash('sha256').update(text).digest('base64url').slice(0, 22)
    names.set(text, name)
  }
  return name
}

export function translateError(error: unknown, ifLost: Unavailable['outcome']): unknown {
  if (error instanceof Unavailable) return error
  if (!(error instanceof pg.DatabaseError)) return new Unavailable(ifLost, error)
  const code = error.code ?? ''
  if (code === '23505') return new UniqueViolation(error.constraint ?? '', error)
  // The server is going down: the statement may have been the last entity that it did.
  if (code.startsWith('57P')) return new Unavailable(ifLost, error)
  // Out of resources, a lock or time limit, a deadlock, a server that only reads: undone, and not
  // the statement's fault. The last was the primary once, perhaps: such a connection is not kept.
  if (/^(53|40|55P03|57014|25006|58)/.test(code))
    return new Unavailable('not-applied', error, code !== '25006')
  return error
}

// Numbers as numbers, dates and times as the text that PostgreSQL writes: the driver would make
// local-zone Dates of them.
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
