import { setTimeout as sleep } from 'node:timers/promises'
import { authenticate } from '../server/auth/auth.ts'
import { anyone } from '../server/platform/actor.ts'
import type { Db } from '../server/platform/db/db.ts'
import { openPool, type Pool } from '../server/platform/db/pool.ts'
import { findBody } from '../server/videos/queries.ts'
import { changeVideo } from '../server/videos/videos.ts'
import type { BenchEnvironment } from './stage.ts'

// What the service asks PostgreSQL, as scripts for pgbench: recorded from the service's own code,
// so they can't drift apart.

type Statement = Parameters<Db['run']>[0]

/** The lookup of a record by its number. */
export async function readScript(records: number): Promise<string> {
  const recorded: Statement[] = []
  const db: Db = {
    run: async (statement) => {
      recorded.push(statement)
      return { rows: [], count: 0 }
    },
  }
  await findBody(db, 0)
  return `\\set id random(1, ${records})\n${recorded.map((it) => written(it, () => ':id')).join('')}`
}

/**
 * All that a PATCH of a text asks: who it is, what the record is, and the one statement that
 * writes.
 */
export async function patchScript({ url, token, records }: BenchEnvironment): Promise<string> {
  const recorded: Statement[] = []
  const pool = openPool({ url, connections: 1, applicationName: 'bench' })
  const recorder = (db: Db): Db['run'] => {
    return (statement, ifLost) => {
      recorded.push(statement)
      return db.run(statement, ifLost)
    }
  }
  const recording: Pool = {
    ...pool,
    run: recorder(pool),
    lookups: { ...pool.lookups, run: recorder(pool.lookups) },
  }
  const id = Math.floor(records / 2) + 1
  const request = {
    origin: { actor: anyone, via: 'api' as const, request: 'bench' },
    ifMatch: undefined,
    hash: Buffer.alloc(32),
  }
  // Often enough that no other number in the statement is the number of its revision.
  const revisions = 61
  try {
    for (let revision = 2; revision <= revisions; revision++) {
      recorded.length = 0
      await authenticate(recording, `Token ${token}`)
      await sleep(2) // Noting the use of a token is nobody's wait; only the first request of a minute does it.
      await changeVideo(recording, id, request, (before) => ({
        ...before,
        summary: `What changed ${revision}`,
      }))
    }
  } finally {
    await pool.close()
  }
  if (recorded.length !== 3)
    throw new Error(`A PATCH was expected to be 3 statements, and is ${recorded.length}`)
  const [who, read, write] = recorded as [Statement, Statement, Statement]
  const variable = (value: unknown) => {
    if (value === id) return ':id'
    if (value === revisions) return '(:is_revision + 1)'
    if (value === revisions - 1) return ':is_revision'
    return typeof value === 'string' && value.startsWith('{"category"') ? ':is_body' : undefined
  }
  return `\\set id random(1, ${records})\n${written(who)}${written(read, variable).replace(/;\n$/, ' \\gset is_\n')}${written(write, variable)}`
}

/**
 * Statements that are always the same with values that are not: the values come from a table, a row
 * by chance for each transaction.
 */
export async function writtenWith(
  stage: BenchEnvironment,
  table: string,
  recorded: readonly (readonly Statement[])[],
): Promise<string> {
  const [first = []] = recorded
  const columns = first.flatMap((statement, index) =>
    statement.values.map((_, value) => `s${index}_v${value}`),
  )
  const rows = recorded.map((statements) =>
    statements.flatMap(({ values }) => values.map((value) => stored(value))),
  )
  await stage.ask(
    `create table ${table} (n integer primary key, ${columns.map((name) => `${name} text`).join(', ')})`,
  )
  await stage.ask(
    `insert into ${table} values ${rows.map((row, n) => `(${[n + 1, ...row].join(', ')})`).join(', ')}`,
  )
  await stage.ask(`grant select on ${table} to public`)
  const types = ({ text }: Statement, place: number) =>
    /^::(\w+(\[\])?)/.exec(text.split(`$${place}`)[1] ?? '')?.[1]
  const filled = first.map((statement, index) =>
    statement.text.replaceAll(/\$(\d+)(::\w+(\[\])?)?/g, (_, value: string) => {
      const type =
        types(statement, Number(value)) ??
        (typeof statement.values[Number(value) - 1] === 'number' ? 'integer' : 'text')
      return `((select s${index}_v${Number(value) - 1} from ${table} where n = :n)::${type})`
    }),
  )
  return `\\set n random(1, ${recorded.length})\n${filled.map((text) => `${text.replaceAll(/\s+/g, ' ').trim()};\n`).join('')}`
}

function stored(value: unknown): string {
  if (value === null || value === undefined) return 'null'
  const text = Array.isArray(value)
    ? `{${value.map((it) => JSON.stringify(String(it))).join(',')}}`
    : String(value)
  return `'${text.replaceAll("'", "''")}'`
}

function written(
  { text, values }: Statement,
  variable: (value: unknown) => string | undefined = () => undefined,
): string {
  const filled = text.replaceAll(
    /\$(\d+)/g,
    (_, place) => variable(values[Number(place) - 1]) ?? literal(values[Number(place) - 1]),
  )
  return `${filled.replaceAll(/\s+/g, ' ').trim()};\n`
}

function literal(value: unknown): string {
  if (value === null || value === undefined) return 'null'
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  const text = value instanceof Buffer ? `\\x${value.toString('hex')}` : String(value)
  if (/:[A-Za-z_]/.test(text))
    throw new Error(`pgbench would take a part of this for a variable: ${text}`)
  return `'${text.replaceAll("'", "''")}'`
}
