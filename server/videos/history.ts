import { Problem, type Video } from '@talkshelf/contract'
import { type ChangeSummary, findIdsThen, listChangesWithValues } from '../changes/changes.ts'
import { currentNames, type RecordEntityIds } from '../entities/entities.ts'
import type { Db } from '../platform/db/db.ts'
import { readPresent } from './read.ts'
import { revisionsPerPage } from './revisions.ts'

// Lists the changes of a record with their values.

/** A change with the old and new values of its fields. */
export interface HistoryEntry extends Omit<ChangeSummary, 'fields'> {
  /** Id of the suggestion that was accepted with the change. */
  readonly suggestion: number | null
  readonly changes: readonly FieldValues[]
}

interface FieldValues {
  readonly field: string
  readonly before: unknown
  readonly after: unknown
}

const maxPageBytes = 2_000_000
const noIds: RecordEntityIds = { category: 0, speakers: [], tags: [] }

/**
 * Reads a page of the history, newest first, and the current record. Entities have their current
 * names, because former names are never shown; a field in which only a name changed is left out.
 * `next` is the revision before which the next page begins.
 */
export async function readHistory(
  db: Db,
  id: number,
  before = Number.MAX_SAFE_INTEGER,
): Promise<{
  record: Video
  mergedInto: number | null
  entries: HistoryEntry[]
  next: number | undefined
}> {
  const { body, merged_into: mergedInto } = await readPresent(db, id)
  const rows = await listChangesWithValues(db, 'video', id, {
    before,
    limit: revisionsPerPage,
    maxBytes: maxPageBytes,
  })
  const oldest = rows.at(-1)
  if (!oldest) throw new Problem('not-found', 'Page out of range')
  // The first change has none before it.
  const idsThen = oldest.revision > 1 && (await findIdsThen(db, 'video', id, oldest.revision - 1))
  let ids = idsThen || noIds
  const steps = rows.toReversed().map((row) => {
    const idsBefore = ids
    ids = { ...ids, ...row.ids }
    return { row, idsBefore, idsAfter: ids }
  })
  const namesOf = await currentNames(
    db,
    steps.flatMap(({ idsBefore, idsAfter }) => [idsBefore, idsAfter]),
  )
  const entries = steps.map(({ row, idsBefore, idsAfter }) => {
    const { before: old, after: made, ids: _, fields, ...summary } = row
    const names = [namesOf(idsBefore), namesOf(idsAfter)] as const
    const changes = fields.map((field) => ({
      field,
      before: fieldValue(field, old, names[0]),
      after: fieldValue(field, made, names[1]),
    }))
    return { ...summary, changes: changes.filter(isVisible) }
  })
  const next = oldest.revision > 1 ? oldest.revision : undefined
  const record = JSON.parse(body) as Video
  return { record, mergedInto, entries: entries.toReversed(), next }
}

type CurrentNames = ReturnType<Awaited<ReturnType<typeof currentNames>>>

function fieldValue(
  field: string,
  fields: Readonly<Record<string, unknown>>,
  names: CurrentNames,
): unknown {
  if (field === 'category') return names.category?.name ?? null
  if (field === 'speakers' || field === 'tags') return names[field].map(({ name }) => name)
  return fields[field] ?? null
}

/** Returns whether a reader sees a difference. Empty values of a new record are none. */
function isVisible({ before, after }: FieldValues): boolean {
  const isEmpty = (value: unknown) => value === null || value === '' || value === false
  return JSON.stringify(before) !== JSON.stringify(after) && !(isEmpty(before) && isEmpty(after))
}
