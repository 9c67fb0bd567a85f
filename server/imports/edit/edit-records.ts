import { type EditOperation, Problem, type Video } from '@talkshelf/contract'
import { lookUpNames, type NameLookup } from '../../entities/entities.ts'
import type { Actor } from '../../platform/actor.ts'
import type { Db } from '../../platform/db/db.ts'
import { assertMayChange, type BodyRow } from '../../videos/videos.ts'
import type { FieldChange } from '../engine/merge.ts'
import { applyOperations, namesOfOperations, withCurrentOperationNames } from './operations.ts'

// Decides what the operations of a bulk edit make of records. The plan shows the result, and
// applying decides again with the records locked.

export interface EditedRecord {
  readonly row: BodyRow
  readonly record: Video
  /** The fields that change. */
  readonly patch: Partial<Video>
  readonly changes: Readonly<Record<string, FieldChange>>
}

/** A record that can't be edited. Nothing of one that was taken down is shown. */
export interface RefusedRecord {
  readonly reasons: readonly string[]
  readonly record?: Video
}

export interface EditContext {
  readonly operations: readonly EditOperation[]
  readonly actor: Actor
  /** Reads the records; may lock them. */
  readonly bodies: (ids: readonly number[]) => Promise<Map<number, BodyRow>>
}

/** Applies operations to records and returns the results by id. Writes nothing. */
export async function editRecords(
  db: Db,
  ids: readonly number[],
  { operations: planned, actor, bodies }: EditContext,
): Promise<Map<number, EditedRecord | RefusedRecord>> {
  const lookup = await lookUpNames(db, namesOfOperations(planned))
  const operations = withCurrentOperationNames(planned, lookup)
  const rows = await bodies(ids)
  const results = new Map<number, EditedRecord | RefusedRecord>()
  for (const id of ids) {
    const row = rows.get(id)
    const result = row ? editRecord(row, operations) : { reasons: ['The record does not exist'] }
    results.set(id, 'patch' in result ? await withinEvents(db, actor, result, lookup) : result)
  }
  return results
}

function editRecord(
  row: BodyRow,
  operations: readonly EditOperation[],
): EditedRecord | RefusedRecord {
  if (row.taken_down)
    return { reasons: [`The record was taken down on ${row.taken_down.taken_down}`] }
  if (row.merged_into !== null)
    return { reasons: [`The record was merged into record ${row.merged_into}`] }
  const record = JSON.parse(row.body) as Video
  const { patch, reasons } = applyOperations(record, operations)
  if (reasons.length > 0) return { record, reasons }
  const changes = Object.entries(patch).map(([field, value]): [string, FieldChange] => [
    field,
    { old: record[field as keyof Video], new: value },
  ])
  return { row, record, patch, changes: Object.fromEntries(changes) }
}

/** Refuses a change that an editor of single events may not make. */
async function withinEvents(
  db: Db,
  actor: Actor,
  edited: EditedRecord,
  lookup: NameLookup,
): Promise<EditedRecord | RefusedRecord> {
  const { row, record, patch } = edited
  const category = patch.category ? lookup.category.get(patch.category)?.id : undefined
  try {
    await assertMayChange(db, actor, row.id, category)
    return edited
  } catch (error) {
    if (error instanceof Problem && error.problem === 'forbidden')
      return { record, reasons: [error.message] }
    throw error
  }
}
