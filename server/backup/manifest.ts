import { readFile, stat } from 'node:fs/promises'
import { validationErrors } from '@talkshelf/contract'
import Type, { type Static } from 'typebox'
import type { Snapshot } from '../platform/db/snapshot.ts'
import { checksumTable, listTables } from './queries.ts'

// What a backup has to be when it comes back. It lies beside the dump, as FILE.json.

const Sum = Type.Object({
  rows: Type.Integer({ minimum: 0 }),
  sum: Type.String({ pattern: '^-?[0-9]{1,40}$' }),
})
type Sum = Static<typeof Sum>
const TableChecksums = Type.Record(Type.String(), Sum)
export type TableChecksums = Static<typeof TableChecksums>

const BackupManifest = Type.Object({
  /** How the sums are worked out, and what else the file has: another number is another way. */
  format: Type.Literal(1),
  made: Type.String({ maxLength: 40 }),
  talkshelf: Type.String({ maxLength: 40 }),
  schema: Type.Integer({ minimum: 1 }),
  postgresql: Type.String({ maxLength: 40 }),
  pg_dump: Type.String({ maxLength: 40, pattern: '^[0-9]+' }),
  extensions: Type.Array(Type.String({ maxLength: 63 }), { maxItems: 100 }),
  dump: Type.Object({
    bytes: Type.Integer({ minimum: 1 }),
    sha256: Type.String({ pattern: '^[0-9a-f]{64}$' }),
  }),
  tables: TableChecksums,
})
export type BackupManifest = Static<typeof BackupManifest>

/** What stands in the way is not our fault, and the message says what to do. */
export class BackupError extends Error {}

const largestManifest = 1024 * 1024

export const manifestPath = (file: string) => `${file}.json`

export async function readManifest(file: string): Promise<BackupManifest> {
  const name = manifestPath(file)
  const size = await stat(name).then(
    (found) => found.size,
    (error: Error) => refuse(`cannot be read: ${error.message}`),
  )
  if (size > largestManifest) refuse('is larger than any that belongs to a backup')
  const manifest = parsed(await readFile(name, 'utf8'))
  const mistakes = validationErrors(BackupManifest, manifest).map(
    ({ pointer, detail }) => `${pointer.slice(1) || 'all of it'} ${detail}`,
  )
  if (mistakes.length > 0)
    refuse(
      `is not what a backup of this release has beside it (${mistakes.slice(0, 3).join('; ')})`,
    )
  return manifest as BackupManifest

  function refuse(why: string): never {
    throw new BackupError(
      `${name} ${why}.\nIt is written together with the dump: copy both, as they were. Without it nobody can tell whether everything came back.`,
    )
  }
}

export interface ChecksumOptions {
  say(line: string): void
  signal?: AbortSignal
  wanted?(table: string): boolean
}

/** Reads tables from the first row to the last. */
export async function checksumTables(
  db: Snapshot,
  { say, signal, wanted = () => true }: ChecksumOptions,
): Promise<TableChecksums> {
  const sums: TableChecksums = {}
  for (const table of await listTables(db)) {
    if (!wanted(table.name)) continue
    signal?.throwIfAborted()
    const sum = await checksumTable(db, table)
    sums[table.name] = sum
    say(`- ${table.name}: ${counted(sum.rows)}`)
  }
  return sums
}

/** A line for each table that is not as it was. */
export function tableDifferences(
  then: Readonly<Record<string, Sum | undefined>>,
  now: TableChecksums,
): string[] {
  const names = [...new Set([...Object.keys(then), ...Object.keys(now)])].sort()
  return names.flatMap((name) => {
    const [was, is] = [then[name], now[name]]
    if (was === undefined) return is === undefined ? [] : [`${name}: the backup has no such table`]
    if (is === undefined) return [`${name}: the table is missing`]
    if (was.rows !== is.rows)
      return [`${name}: ${counted(is.rows)}, and the backup had ${counted(was.rows)}`]
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
