import { setTimeout as sleep } from 'node:timers/promises'
import { authenticate } from '../server/auth/auth.ts'
import { anyone } from '../server/platform/actor.ts'
import type { Db } from '../server/platform/db/db.ts'
import { openPool, type Pool } from '../server/platform/db/pool.ts'
import { findBody } from '../server/videos/queries.ts'
import { changeVideo } from '../server/videos/videos.ts'
import type { BenchEnvironment } from './environment.ts'

// The statements of the service as scripts for pgbench, recorded from the code of the service, so
// that they stay the same.

type Statement = Parameters<Db['run']>[0]

/** Returns a script that reads a random record by id. */
export async function readScript(records: number): Promise<string> {
  const recorded: Statement[] = []
  const db: Db = {
    run: async (statement) => {
      recorded.push(statement)
      return { rows: [], count: 0 }
    },
  }
  await findBody(db, 0)
  const statements = recorded.map((statement) => toScript(statement, () => ':id'))
  return `\\set id random(1, ${records})\n${statements.join('')}`
}

/**
 * Returns a script with the statements of a PATCH: authentication, the read of the record, and the
 * write.
 */
export async function patchScript({
  url,
  token,
  records,
  query,
}: BenchEnvironment): Promise<string> {
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
  const slug = await query(`select slug from video where id = ${id}`)
  const context = {
    origin: { actor: anyone, via: 'api' as const, request: 'bench' },
    ifMatch: undefined,
    hash: Buffer.alloc(32),
  }
  // Larger than any other number in the statement, so that it identifies the revision.
  const revisions = 61
  try {
    for (let revision = 2; revision <= revisions; revision++) {
      recorded.length = 0
      await authenticate(recording, `Token ${token}`)
      // The last use of a token is written in the background, by the first request of a minute.
      await sleep(2)
      await changeVideo(recording, id, context, (before) => ({
        ...before,
        summary: `Changed in revision ${revision}`,
      }))
    }
  } finally {
    await pool.close()
  }
  if (recorded.length !== 3)
    throw new Error(`Expected a PATCH to execute 3 statements, not ${recorded.length}`)
  const [authentication, read, write] = recorded as [Statement, Statement, Statement]
  const variable = (value: unknown) => {
    if (value === id) return ':id'
    // Each record keeps its own.
    if (value === slug) return '(select slug from video where id = :id)'
    if (value === revisions) return '(:is_revision + 1)'
    if (value === revisions - 1) return ':is_revision'
    return typeof value === 'string' && value.startsWith('{"category"') ? ':is_body' : undefined
  }
  return [
    `\\set id random(1, ${records})\n`,
    toScript(authentication),
    // \gset stores the columns of the row as variables: revision as :is_revision, body as :is_body.
    toScript(read, variable).replace(/;\n$/, ' \\gset is_\n'),
    toScript(write, variable),
  ].join('')
}

/**
 * Returns a script of statements whose values come from a table: a random row for each transaction.
 * Creates the table. `recorded` has the statements of each request: the same ones, other values.
 */
export async function scriptWithTable(
  environment: BenchEnvironment,
  table: string,
  recorded: readonly (readonly Statement[])[],
): Promise<string> {
  const [first = []] = recorded
  const columns = first.flatMap((statement, index) =>
    statement.values.map((_, value) => `s${index}_v${value}`),
  )
  const rows = recorded.map((statements) =>
    statements.flatMap(({ values }) => values.map((value) => tableLiteral(value))),
  )
  const definitions = columns.map((name) => `${name} text`).join(', ')
  const tuples = rows.map((row, n) => `(${[n + 1, ...row].join(', ')})`).join(', ')
  await environment.query(`create table ${table} (n integer primary key, ${definitions})`)
  await environment.query(`insert into ${table} values ${tuples}`)
  await environment.query(`grant select on ${table} to public`)
  const typeOf = ({ text }: Statement, parameter: number) =>
    /^::(\w+(\[\])?)/.exec(text.split(`$${parameter}`)[1] ?? '')?.[1]
  const filled = first.map((statement, index) =>
    statement.text.replaceAll(/\$(\d+)(::\w+(\[\])?)?/g, (_, value: string) => {
      const type =
        typeOf(statement, Number(value)) ??
        (typeof statement.values[Number(value) - 1] === 'number' ? 'integer' : 'text')
      return `((select s${index}_v${Number(value) - 1} from ${table} where n = :n)::${type})`
    }),
  )
  const statements = filled.map((text) => `${inOneLine(text)};\n`)
  return `\\set n random(1, ${recorded.length})\n${statements.join('')}`
}

function tableLiteral(value: unknown): string {
  if (value === null || value === undefined) return 'null'
  const text = Array.isArray(value)
    ? `{${value.map((item) => JSON.stringify(String(item))).join(',')}}`
    : String(value)
  return `'${text.replaceAll("'", "''")}'`
}

/** Returns a statement with its values filled in, as a line of a script for pgbench. */
function toScript(
  { text, values }: Statement,
  variable: (value: unknown) => string | undefined = () => undefined,
): string {
  const filled = inOneLine(text).replaceAll(
    /\$(\d+)/g,
    (_, parameter) =>
      variable(values[Number(parameter) - 1]) ?? literal(values[Number(parameter) - 1]),
  )
  return `${filled};\n`
}

function literal(value: unknown): string {
  if (value === null || value === undefined) return 'null'
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  const text = value instanceof Buffer ? `\\x${value.toString('hex')}` : String(value)
  if (/:[A-Za-z_]/.test(text))
    throw new Error(`pgbench would replace a part of this as a variable: ${text}`)
  return `'${text.replaceAll("'", "''")}'`
}

/** Returns a statement in one line, without its comments. */
const inOneLine = (text: string) => text.replaceAll(/--.*$/gm, '').replaceAll(/\s+/g, ' ').trim()
