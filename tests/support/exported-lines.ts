import assert from 'node:assert/strict'
import type { ImportedTalk } from '@talkshelf/contract'
import type { TestArchive } from './harness.ts'
import type { Query } from './invariants.ts'

// Parses the lines of an export, and checks that each was imported into an archive.

export type ExportedJson = Record<string, unknown>

/** Parses the entities and records of an export, without its first and last line. */
export function exportLines(text: string): ExportedJson[] {
  const lines = text.trimEnd().split('\n')
  return lines
    .map((line) => JSON.parse(line))
    .filter(({ kind }) => kind !== 'talkshelf' && kind !== 'end')
}

/** Returns the record or entity of a line. */
export const recordOf = (line: ExportedJson): ExportedJson =>
  line.kind === 'video' ? (line.record as ExportedJson) : line

/** The current name of each entity, by kind and any of its names. */
export type ExportedNames = ReadonlyMap<string, string>

/** Reads the names of all entities of an archive. */
export async function namesOfExport(query: Query): Promise<ExportedNames> {
  const rows = await query(`
    select k.kind, k.name as alias, t.name
    from entity_name k
    join (
      select 'speaker' as kind, id, name from speaker
      union all
      select 'tag', id, name from tag
      union all
      select 'category', id, title from category
    ) t on t.kind = k.kind and t.id = k.entity_id`)
  return new Map(rows.map(({ kind, alias, name }) => [`${kind} ${alias}`, String(name)]))
}

export interface ImportContext {
  readonly known: ExportedNames
  /** The role of the import: only admins can take records down. */
  readonly as: 'editor' | 'admin'
  /** Whether the archive was empty before, so that nothing can conflict. */
  readonly isEmpty: boolean
}

/**
 * Checks that a valid line was imported: with its own id or another one, and with the names that
 * the archive has for its entities; or, if it conflicts with the archive, that the row says so.
 */
export async function assertImported(
  archive: TestArchive,
  line: ExportedJson,
  row: ImportedTalk | undefined,
  { known, as, isEmpty }: ImportContext,
): Promise<void> {
  const message = `${JSON.stringify(line)} became ${JSON.stringify(row)}`
  if (line.kind !== 'video') {
    assert.notEqual(row?.outcome, 'refused', message)
    assert.ok(known.has(`${line.kind} ${line.name}`), `no entity has the name of ${message}`)
    return
  }
  const isRefused = row?.outcome === 'refused' && row.notes.some(({ kind }) => kind === 'refused')
  if (line.taken_down && as === 'editor') return assert.ok(isRefused, message)
  // A tombstone whose id is already used may be refused, but never becomes a live record.
  if (line.taken_down && !isEmpty && isRefused) return
  // A talk with the same title as one in the archive is a question that was not decided.
  if (!isEmpty && row?.outcome === 'kept' && row.notes.some(({ kind }) => kind === 'question'))
    return
  assert.ok(row && row.outcome === 'created', message)

  const { status, json } = await archive.call('GET', `/api/v2/video/${row.video}`, {
    token: archive.editor,
  })
  assert.equal(status, line.taken_down ? 410 : 200, message)
  if (line.taken_down) return
  const record = line.record as ExportedJson
  const lookUp = (kind: string, name: unknown) => known.get(`${kind} ${name}`)
  const lookUpAll = (kind: string, names: unknown) => [
    ...new Set((names as string[]).map((name) => lookUp(kind, name))),
  ]
  // With another id it is a new record, with a slug and timestamps of its own.
  const own = json.id === record.id ? { slug: '' } : { id: 0, slug: '', added: '', updated: '' }
  const expected = {
    ...record,
    category: lookUp('category', record.category),
    speakers: lookUpAll('speaker', record.speakers),
    tags: lookUpAll('tag', record.tags),
  }
  assert.deepEqual({ ...json, ...own }, { ...expected, ...own }, message)
  const facts = await archive.call('GET', `/api/v2/video/${row.video}/facts`, {
    token: archive.editor,
  })
  assert.deepEqual(facts.json.facts, line.facts ?? [], message)
}
