import { readFile, stat } from 'node:fs/promises'
import { validationErrors } from '@talkshelf/contract'
import Type, { type Static } from 'typebox'
import type { Snapshot } from '../platform/db/snapshot.ts'
import { checksumTable, listTables } from './queries.ts'

// The manifest of a backup: what a restore must contain. It is beside the dump, as FILE.json.

const TableChecksum = Type.Object({
  rows: Type.Integer({ minimum: 0 }),
  sum: Type.String({ pattern: '^-?[0-9]{1,40}$' }),
})
type TableChecksum = Static<typeof TableChecksum>
const TableChecksums = Type.Record(Type.String(), TableChecksum)
export type TableChecksums = Static<typeof TableChecksums>

const BackupManifest = Type.Object({
  /** The version of the manifest and of the algorithm of its checksums. */
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

/** An expected error; its message tells the operator what to do. */
export class BackupError extends Error {}

const maxManifestBytes = 1024 * 1024

/** Returns the path of the manifest of a dump. */
export const manifestPath = (file: string) => `${file}.json`

/** Reads and validates the manifest of a dump. */
export async function readManifest(file: string): Promise<BackupManifest> {
  const name = manifestPath(file)
  const { size } = await stat(name).catch((error: Error) =>
    reject(`cannot be read: ${error.message}`),
  )
  if (size > maxManifestBytes) reject('is too large for a manifest')
  const manifest = parseJson(await readFile(name, 'utf8'))
  const errors = validationErrors(BackupManifest, manifest).map(
    ({ pointer, detail }) => `${pointer.slice(1) || 'the document'} ${detail}`,
  )
  if (errors.length > 0)
    reject(`is not a manifest that this release can read (${errors.slice(0, 3).join('; ')})`)
  return manifest as BackupManifest

  function reject(reason: string): never {
    throw new BackupError(
      `${name} ${reason}.\nIt belongs to the dump: copy both files unchanged. ` +
        'Without it the restored data cannot be verified.',
    )
  }
}

/**
 * Tables whose rows are in no backup: networks of readers, which are deleted after a week, and the
 * keys with which they are hashed.
 */
export const emptiedTables: readonly string[] = ['suggestion_key', 'suggestion_sender']

export interface ChecksumOptions {
  say(line: string): void
  signal?: AbortSignal
  /** Selects the tables; all by default. */
  isIncluded?(table: string): boolean
  /** Tables that count as empty. */
  readonly emptied?: readonly string[]
}

/** Computes the checksums of tables, which reads all of their rows. */
export async function checksumTables(
  db: Snapshot,
  { say, signal, isIncluded = () => true, emptied = [] }: ChecksumOptions,
): Promise<TableChecksums> {
  const checksums: TableChecksums = {}
  for (const table of await listTables(db)) {
    if (!isIncluded(table.name)) continue
    signal?.throwIfAborted()
    const isEmptied = emptied.includes(table.name)
    const checksum = isEmptied ? { rows: 0, sum: '0' } : await checksumTable(db, table)
    checksums[table.name] = checksum
    say(`- ${table.name}: ${formatRows(checksum.rows)}`)
  }
  return checksums
}

/** Returns a line for each table that differs from the backup. */
export function tableDifferences(
  expected: Readonly<Record<string, TableChecksum | undefined>>,
  actual: TableChecksums,
): string[] {
  const names = [...new Set([...Object.keys(expected), ...Object.keys(actual)])].sort()
  return names.flatMap((name) => {
    const [saved, restored] = [expected[name], actual[name]]
    if (saved === undefined) return restored === undefined ? [] : [`${name}: not in the backup`]
    if (restored === undefined) return [`${name}: missing`]
    if (saved.rows !== restored.rows)
      return [`${name}: ${formatRows(restored.rows)} instead of ${formatRows(saved.rows)}`]
    return saved.sum === restored.sum ? [] : [`${name}: rows with different values`]
  })
}

const formatRows = (rows: number) => `${rows.toLocaleString('en')} ${rows === 1 ? 'row' : 'rows'}`

/** Parses JSON; returns undefined if it is malformed, which no manifest is. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
