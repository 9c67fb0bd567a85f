import { isDeepStrictEqual } from 'node:util'
import { type Fact, states, type Video } from '@talkshelf/contract'
import type { WriteContext } from '../../changes/changes.ts'
import { lookUpAndLockNames, type NameLookup } from '../../entities/entities.ts'
import { findFactsById, writeFacts } from '../../facts/facts.ts'
import type { Db } from '../../platform/db/db.ts'
import {
  type BodyRow,
  findRevision,
  lockAndReadBodies,
  writeLockedVersion,
} from '../../videos/videos.ts'
import type { ItemFields } from '../item.ts'
import { maxBatchRows } from './apply.ts'
import { namesOfItems } from './decide.ts'
import type { SourceState } from './merge.ts'
import {
  advanceImport,
  changeImportState,
  deleteSourceStates,
  findRowsToUndo,
  findSourceStates,
  type ImportJob,
  type ImportRow,
  saveSourceStates,
  saveUndone,
  type UndoneRow,
} from './queries.ts'

// Undoes an import, last talk first. A record that changed since stays as it is and is listed. No
// record is deleted: one that the import created becomes a draft, which only editors see. Imported
// again, it becomes live under the same id.

/** Undoes the last `batch_size` rows that are left. Returns the ids of the records that changed. */
export async function undoBatch(tx: Db, job: ImportJob, context: WriteContext): Promise<number[]> {
  const rows = await findRowsToUndo(tx, job.id, job.done, job.batch_size)
  const ids = rows.map(({ video_id }) => video_id as number)
  const fieldsBefore = new Map<number, Partial<Video>>()
  for (const row of rows) {
    const fields = await findFieldsBefore(tx, row)
    if (fields) fieldsBefore.set(row.position, fields)
  }
  const names = namesOfItems([...fieldsBefore.values()] as ItemFields[])
  const lookup = await lookUpAndLockNames(tx, names)
  const bodies = await lockAndReadBodies(tx, ids)
  const facts = await findFactsById(tx, ids)
  const changed: number[] = []
  const results: UndoneRow[] = []
  for (const row of rows) {
    if (row.outcome !== 'created' && row.outcome !== 'changed') {
      await revertUnchanged(tx, job, row)
      continue
    }
    const id = row.video_id as number
    const body = bodies.get(id) as BodyRow
    const fields = fieldsBefore.get(row.position)
    const isTouched = wasTouched(row, body, facts.get(id)?.revision) || isUnknown(row, fields)
    if (isTouched) {
      results.push({ position: row.position, undone: 'touched' })
      continue
    }
    const revision = await undoRow(tx, job, row, body, fields, lookup, context)
    changed.push(id)
    results.push({ position: row.position, undone: 'undone', revision })
  }
  await saveUndone(tx, job.id, results)
  await finishBatch(tx, job, rows)
  return changed
}

/** Skips the next row because undoing it failed, and moves past it. */
export async function skipNext(tx: Db, job: ImportJob, reason: string): Promise<void> {
  const rows = await findRowsToUndo(tx, job.id, job.done, 1)
  await saveUndone(
    tx,
    job.id,
    rows.map(({ position }) => ({ position, undone: 'touched', reason })),
  )
  await finishBatch(tx, { ...job, batch_size: 1 }, rows)
}

async function finishBatch(tx: Db, job: ImportJob, rows: readonly ImportRow[]): Promise<void> {
  const isLast = rows.length < job.batch_size
  if (isLast) await changeImportState(tx, job.id, ['undoing'], 'undone', { done: 0 })
  else await advanceImport(tx, job.id, (rows.at(-1) as ImportRow).position - 1, maxBatchRows)
}

/** Returns whether the record or its facts changed after the import wrote them. */
function wasTouched(row: ImportRow, body: BodyRow, factsRevision: number | undefined): boolean {
  return (
    Boolean(body.taken_down) ||
    body.revision !== row.revision ||
    (row.facts_revision !== null && factsRevision !== row.facts_revision)
  )
}

/** Returns whether the import changed the record, but its fields before can't be read. */
function isUnknown(row: ImportRow, fieldsBefore: Partial<Video> | undefined): boolean {
  return hasChangedRecord(row) && fieldsBefore === undefined
}

/**
 * Returns the fields to restore. Undefined if the import changed only facts, or if the revision
 * can't be read.
 */
async function findFieldsBefore(tx: Db, row: ImportRow): Promise<Partial<Video> | undefined> {
  if (row.outcome === 'created') return { state: states.draft }
  if (!hasChangedRecord(row)) return undefined
  const version = await findRevision(tx, row.video_id as number, row.before?.revision as number)
  if (!version) return undefined
  const { id: _id, slug: _slug, added: _added, updated: _updated, ...fields } = version.record
  return fields
}

/** Returns whether the import changed the record itself, and not only its facts. */
function hasChangedRecord({ revision, before }: ImportRow): boolean {
  return typeof before?.revision === 'number' && before.revision !== revision
}

/** Undoes a row. Returns the revision of its record. */
async function undoRow(
  tx: Db,
  job: ImportJob,
  row: ImportRow,
  body: BodyRow,
  fields: Partial<Video> | undefined,
  lookup: NameLookup,
  context: WriteContext,
): Promise<number> {
  const key = row.key as string
  const { revision } = fields
    ? await writeLockedVersion(tx, body, fields, lookup, 'restored', context)
    : body
  if (row.outcome === 'created') await markAsDraft(tx, job, key)
  else {
    if (row.before?.facts)
      await writeFacts(tx, [{ id: body.id, facts: row.before.facts as Fact[] }], context)
    await restoreSourceState(tx, job, key, body.id, row.before?.previousState)
  }
  return revision
}

/** Changes only the state at the source, so that the same talk imported again becomes live. */
async function markAsDraft(tx: Db, { source }: ImportJob, key: string): Promise<void> {
  const [current] = await findSourceStates(tx, source, [key])
  if (!current) return
  const fields = { ...current.state.fields, state: states.draft }
  await saveSourceStates(tx, source, [{ ...current, state: { ...current.state, fields } }])
}

/**
 * Reverts the source state of a row that did not change its record, unless a later import replaced
 * it.
 */
async function revertUnchanged(tx: Db, job: ImportJob, { key, before }: ImportRow): Promise<void> {
  const [current] = await findSourceStates(tx, job.source, [key as string])
  if (current && isDeepStrictEqual(current.state, before?.sourceState))
    await restoreSourceState(tx, job, current.key, current.video_id, before?.previousState)
}

async function restoreSourceState(
  tx: Db,
  { source }: ImportJob,
  key: string,
  videoId: number,
  sourceState: SourceState | null | undefined,
): Promise<void> {
  if (sourceState)
    await saveSourceStates(tx, source, [{ key, video_id: videoId, state: sourceState }])
  else await deleteSourceStates(tx, source, [key])
}
