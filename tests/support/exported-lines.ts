import assert from 'node:assert/strict'
import type { ImportedTalk } from '@talkshelf/contract'
import type { TestArchive } from './harness.ts'
import type { Query } from './invariants.ts'

// The lines of an export, and whether each is in the archive that it was imported into.

export type ExportedJson = Record<string, unknown>

/** The entities and records of an export, without its first and last line. */
export function exportLines(text: string): ExportedJson[] {
  const lines = text.trimEnd().split('\n')
  return lines
    .map((line) => JSON.parse(line))
    .filter(({ kind }) => kind !== 'talkshelf' && kind !== 'end')
}

/** What a line says of its record or entity. */
export const recordOf = (line: ExportedJson): ExportedJson =>
  line.kind === 'video' ? (line.record as ExportedJson) : line

/** What each entity is called today, by kind and any of its names. */
export type ExportedNames = ReadonlyMap<string, string>

export async function namesOfExport(query: Query): Promise<ExportedNames> {
  const rows = await query(`
    select k.kind, k.name as given, t.name from entity_name k
    join (select 'speaker' as kind, id, name from speaker union all select 'tag', id, name from tag
          union all select 'category', id, title from category) t on t.kind = k.kind and t.id = k.entity_id`)
  return new Map(rows.map(({ kind, given, name }) => [`${kind} ${given}`, String(name)]))
}

export interface Imported {
  readonly known: ExportedNames
  /** Who imported it: only admins take records down. */
  readonly as: 'editor' | 'admin'
  /** Whether the archive was empty before: nothing can be in the way. */
  readonly isEmpty: boolean
}

/**
 * Checks that a good line was imported: under its own number or another one, with the names that
 * the archive has for its entities; or, where something was in the way, that the row says so.
 */
export async function assertImported(
  archive: TestArchive,
  line: ExportedJson,
  row: ImportedTalk | undefined,
  { known, as, isEmpty }: Imported,
): Promise<void> {
  const told = `${JSON.stringify(line)} became ${JSON.stringify(row)}`
  if (line.kind !== 'video') {
    assert.notEqual(row?.outcome, 'refused', told)
    assert.ok(known.has(`${line.kind} ${line.name}`), `nothing has the name of ${told}`)
    return
  }
  const isRefused = row?.outcome === 'refused' && row.notes.some(({ kind }) => kind === 'refused')
  if (line.taken_down && as === 'editor') return assert.ok(isRefused, told)
  // A tombstone whose number is used here may be refused, but never come to life.
  if (line.taken_down && !isEmpty && isRefused) return
  // Where the archive has a talk of the same words, it is a question, and nobody has answered it.
  if (!isEmpty && row?.outcome === 'kept' && row.notes.some(({ kind }) => kind === 'question'))
    return
  assert.ok(row && row.outcome === 'created', told)

  const { status, json } = await archive.call('GET', `/api/v2/video/${row.video}`, {
    token: archive.editor,
  })
  assert.equal(status, line.taken_down ? 410 : 200, told)
  if (line.taken_down) return
  const record = line.record as ExportedJson
  const lookUp = (kind: string, name: unknown) => known.get(`${kind} ${name}`)
  const lookUpAll = (kind: string, names: unknown) => [
    ...new Set((names as string[]).map((name) => lookUp(kind, name))),
  ]
  // Under another number it is a new record, with a slug and moments of its own.
  const own = json.id === record.id ? { slug: '' } : { id: 0, slug: '', added: '', updated: '' }
  const expected = {
    ...record,
    category: lookUp('category', record.category),
    speakers: lookUpAll('speaker', record.speakers),
    tags: lookUpAll('tag', record.tags),
  }
  assert.deepEqual({ ...json, ...own }, { ...expected, ...own }, told)
  const facts = await archive.call('GET', `/api/v2/video/${row.video}/facts`, {
    token: archive.editor,
  })
  assert.deepEqual(facts.json.facts, line.facts ?? [], told)
}
