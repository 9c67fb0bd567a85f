import { readFile, stat } from 'node:fs/promises'
import { check } from '@talkshelf/contract'
import Type, { type Static } from 'typebox'
import type { Snapshot } from '../platform/db/snapshot.ts'
import { listTables, sumTable } from './queries.ts'

// What a backup has to be when it comes back. It lies beside the dump, as FILE.json.

const Sum = Type.Object({ rows: Type.Integer({ minimum: 0 }), sum: Type.String({ pattern: '^-?[0-9]{1,40}$' }) })
type Sum = Static<typeof Sum>
const Sums = Type.Record(Type.String(), Sum)
export type Sums = Static<typeof Sums>

const Manifest = Type.Object({
  /** How the sums are worked out, and what else the file has: another number is another way. */
  format: Type.Literal(1),
  made: Type.String({ maxLength: 40 }),
  talkshelf: Type.String({ maxLength: 40 }),
  schema: Type.Integer({ minimum: 1 }),
  postgresql: Type.String({ maxLength: 40 }),
  pg_dump: Type.String({ maxLength: 40, pattern: '^[0-9]+' }),
  extensions: Type.Array(Type.String({ maxLength: 63 }), { maxItems: 100 }),
  dump: Type.Object({ bytes: Type.Integer({ minimum: 1 }), sha256: Type.String({ pattern: '^[0-9a-f]{64}$' }) }),
  tables: Sums,
})
export type Manifest = Static<typeof Manifest>

/** What stands in the way is not our fault, and the message says what to do. */
export class BackupError extends Error {}

const largestManifest = 1024 * 1024

export const manifestOf = (file: string) => `${file}.json`

export async function readManifest(file: string): Promise<Manifest> {
  const name = manifestOf(file)
  const size = await stat(name).then(
    (found) => found.size,
    (error: Error) => refuse(`cannot be read: ${error.message}`),
  )
  if (size > largestManifest) refuse('is larger than any that belongs to a backup')
  const manifest = parsed(await readFile(name, 'utf8'))
  const mistakes = check(Manifest, manifest).map(({ pointer, detail }) => `${pointer.slice(1) || 'all of it'} ${detail}`)
  if (mistakes.length > 0) refuse(`is not what a backup of this release has beside it (${mistakes.slice(0, 3).join('; ')})`)
  return manifest as Manifest

  function refuse(why: string): never {
    throw new BackupError(
      `${name} ${why}.\nIt is written together with the dump: copy both, as they were. Without it nobody can tell whether everything came back.`,
    )
  }
}

export interface SumOptions {
  say(line: string): void
  signal?: AbortSignal
  wanted?(table: string): boolean
}

/** Reads tables from the first row to the last. */
export async function sumTables(db: Snapshot, { say, signal, wanted = () => true }: SumOptions): Promise<Sums> {
  const sums: Sums = {}
  for (const table of await listTables(db)) {
    if (!wanted(table.name)) continue
    signal?.throwIfAborted()
    const sum = await sumTable(db, table)
    sums[table.name] = sum
    say(`- ${table.name}: ${counted(sum.rows)}`)
  }
  return sums
}

/** A line for each table that is not as it was. */
export function differences(then: Readonly<Record<string, Sum | undefined>>, now: Sums): string[] {
  const names = [...new Set([...Object.keys(then), ...Object.keys(now)])].sort()
  return names.flatMap((name) => {
    const [was, is] = [then[name], now[name]]
    if (was === undefined) return is === undefined ? [] : [`${name}: the backup has no such table`]
    if (is === undefined) return [`${name}: the table is missing`]
    if (was.rows !== is.rows) return [`${name}: ${counted(is.rows)}, and the backup had ${counted(was.rows)}`]
    return was.sum === is.sum ? [] : [`${name}: as many rows as in the backup, but not the same`]
  })
}

const counted = (rows: number) => `${rows.toLocaleString('en')} ${rows === 1 ? 'row' : 'rows'}`

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
