import type { EditOperation } from '@talkshelf/contract'
import type { WriteContext } from '../../changes/changes.ts'
import { lookUpAndLockNames, lookUpNames, type NameLookup } from '../../entities/entities.ts'
import type { Db } from '../../platform/db/db.ts'
import { findBodiesById, lockAndReadBodies, writeLockedVersion } from '../../videos/videos.ts'
import { namesOfItems } from '../engine/decide.ts'
import { withCurrentNames } from '../engine/merge.ts'
import {
  type ConflictRow,
  type ImportJob,
  type ImportRow,
  type RowOutcome,
  saveConflicts,
  saveOutcomes,
} from '../engine/queries.ts'
import type { ItemFields } from '../item.ts'
import { type EditedRecord, editRecords, type RefusedRecord } from './edit-records.ts'
import { isSame } from './operations.ts'

// Applies a batch of a bulk edit: repeats its operations on the locked records. A record is written
// only if that gives the changes of the plan.

/**
 * Writes the records of a batch and saves the outcomes of its rows. `left` has the outcomes of rows
 * that a redo leaves alone. Returns the ids of the records that changed.
 */
export async function writeEdits(
  tx: Db,
  job: ImportJob,
  rows: readonly ImportRow[],
  left: ReadonlyMap<number, RowOutcome>,
  context: WriteContext,
): Promise<number[]> {
  // The row of a record that was taken down has no item.
  const pending = rows.filter(
    ({ position, verdict, item }) => verdict === 'changed' && item !== null && !left.has(position),
  )
  const operations = job.options.operations as readonly EditOperation[]
  const { actor } = context.origin
  const ids = pending.map(({ video_id }) => video_id as number)
  const planned = await lookUpNames(tx, namesOfItems(pending.flatMap(sidesOf)))
  const edit = async (bodies: typeof findBodiesById) => {
    const edited = await editRecords(tx, ids, {
      operations,
      actor,
      bodies: (wanted) => bodies(tx, wanted),
    })
    return pending.map((row) => decide(row, edited.get(row.video_id as number), planned))
  }
  // Decided twice: first to learn which names to lock, then with names and records locked.
  const patches = (await edit(findBodiesById)).flatMap(({ edited }) => edited?.patch ?? [])
  const lookup = await lookUpAndLockNames(tx, namesOfItems(patches as ItemFields[]))

  const outcomes = new Map<number, RowOutcome>(left)
  const conflicts: ConflictRow[] = []
  const changed: number[] = []
  for (const { row, outcome, edited, conflict } of await edit(lockAndReadBodies)) {
    if (conflict) conflicts.push({ position: row.position, changes: conflict })
    if (!edited) {
      outcomes.set(row.position, outcome)
      continue
    }
    const { patch, row: body } = edited
    const version = await writeLockedVersion(tx, body, patch, lookup, 'updated', context)
    changed.push(version.id)
    const before = { revision: body.revision }
    outcomes.set(row.position, { ...outcome, revision: version.revision, before })
  }
  await saveConflicts(tx, job.id, conflicts)
  await saveOutcomes(
    tx,
    job.id,
    rows.map((row) => outcomes.get(row.position) ?? unchangedOutcome(row)),
  )
  return changed
}

interface RowDecision {
  readonly row: ImportRow
  readonly outcome: RowOutcome
  /** The record to write. */
  readonly edited?: EditedRecord
  /** What the operations would change now, if that is not what was planned. */
  readonly conflict?: ConflictRow['changes']
}

function decide(
  row: ImportRow,
  result: EditedRecord | RefusedRecord | undefined,
  lookup: NameLookup,
): RowDecision {
  const { position, video_id, notes } = row
  const outcome = { position, video_id, before: null, notes }
  if (!result || !('patch' in result)) {
    const reasons = result?.reasons ?? ['The record does not exist']
    const refusals = reasons.map((detail) => ({ kind: 'refused' as const, field: '', detail }))
    return { row, outcome: { ...outcome, outcome: 'refused', notes: [...notes, ...refusals] } }
  }
  const fields = Object.keys(result.changes)
  if (fields.length === 0) return { row, outcome: { ...outcome, outcome: 'unchanged' } }
  if (isAsPlanned(row, result, lookup))
    return { row, outcome: { ...outcome, outcome: 'changed' }, edited: result }
  const conflict = Object.fromEntries(
    Object.entries(result.changes).map(([field, change]) => [
      field,
      { ...change, conflict: true as const },
    ]),
  )
  return { row, outcome: { ...outcome, outcome: 'kept' }, conflict }
}

/** Returns whether the operations change what the plan shows. Renamed entities are the same. */
function isAsPlanned(
  row: ImportRow,
  { record, patch, changes }: EditedRecord,
  lookup: NameLookup,
): boolean {
  const [before, after] = sidesOf(row).map((side) => withCurrentNames(side, lookup))
  const fields = Object.keys(changes)
  return (
    isSame(fields.toSorted(), Object.keys(row.changes).sort()) &&
    (fields as (keyof EditedRecord['patch'])[]).every(
      (field) => isSame(record[field], before?.[field]) && isSame(patch[field], after?.[field]),
    )
  )
}

/** Returns the planned values of a row, before and after. */
function sidesOf({ changes }: ImportRow): ItemFields[] {
  return (['old', 'new'] as const).map(
    (side) =>
      Object.fromEntries(
        Object.entries(changes).map(([field, change]) => [field, change[side]]),
      ) as ItemFields,
  )
}

/** Returns the outcome of a row that is not written: refused, in conflict, or without a change. */
function unchangedOutcome(row: ImportRow): RowOutcome {
  const isRefused = row.notes.some(({ kind }) => kind === 'refused')
  if (isRefused) return { ...row, outcome: 'refused' }
  return { ...row, outcome: row.verdict === 'conflict' ? 'kept' : 'unchanged' }
}
