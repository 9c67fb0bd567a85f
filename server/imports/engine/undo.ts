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
import type { OtherState } from './joined.ts'
import { revertSourceState, type SourceState } from './merge.ts'
import {
  advanceImport,
  changeImportState,
  clearStateBefore,
  deleteSourceStates,
  findRowsToUndo,
  findSourceStates,
  findWrittenVersions,
  type ImportJob,
  type ImportRow,
  type StateBefore,
  saveSourceStates,
  saveUndone,
  type UndoneRow,
  type WrittenVersion,
} from './queries.ts'

// Undoes an import, last talk first. Only the fields that the import wrote are restored. A record
// in which one of them changed since stays as it is and is listed; undoing the import again tries
// it again. No record is deleted: one that the import created becomes a draft, which only editors
// see. Imported again, it becomes live under the same id.

/** Undoes the last `batch_size` rows that are left. Returns the ids of the records that changed. */
export async function undoBatch(tx: Db, job: ImportJob, context: WriteContext): Promise<number[]> {
  const rows = await findRowsToUndo(tx, job.id, job.done, job.batch_size)
  const written = rows.filter(hasWritten)
  const ids = written.map(({ video_id }) => video_id as number)
  const versionsBefore = new Map<number, Partial<Video>>()
  for (const row of written) {
    const version = await findVersionBefore(tx, row)
    if (version) versionsBefore.set(row.position, version)
  }
  const names = namesOfItems([...versionsBefore.values()] as ItemFields[])
  const lookup = await lookUpAndLockNames(tx, names)
  const bodies = await lockAndReadBodies(tx, ids)
  const writes = await findWritesOfRows(tx, written)
  const changed: number[] = []
  const results: UndoneRow[] = []
  for (const row of written) {
    const body = bodies.get(row.video_id as number) as BodyRow
    const fields = fieldsToRestore(row, writes, versionsBefore.get(row.position))
    const isGone = body.taken_down !== null || body.merged_into !== null
    if (isGone || fields === undefined || hasChangedSince(row, writes)) {
      results.push({ position: row.position, undone: 'touched' })
      continue
    }
    const revision = await undoRow(tx, job, row, body, fields, lookup, context)
    changed.push(body.id)
    results.push({ position: row.position, undone: 'undone', revision })
  }
  for (const row of rows) if (!hasWritten(row)) await revertUnchanged(tx, job, row)
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

/** Returns whether the import wrote the record of a row or its facts. */
const hasWritten = ({ revision }: ImportRow) => revision !== null

/** Returns whether the import created the record of a row that it wrote. */
const hasCreated = ({ before }: ImportRow) => typeof before?.revision !== 'number'

/** Returns whether the import wrote the record itself, and not only its facts. */
const hasWrittenRecord = (row: ImportRow) =>
  hasWritten(row) && (hasCreated(row) || row.before?.revision !== row.revision)

/** What rows have written, by their positions. */
interface RowWrites {
  readonly records: ReadonlyMap<number, WrittenVersion>
  readonly facts: ReadonlyMap<number, WrittenVersion>
}

async function findWritesOfRows(tx: Db, rows: readonly ImportRow[]): Promise<RowWrites> {
  const records = rows.filter(hasWrittenRecord).map(({ position, video_id, revision }) => ({
    position,
    id: video_id as number,
    revision: revision as number,
  }))
  const facts = rows.flatMap(({ position, video_id, facts_revision: revision }) =>
    revision === null ? [] : [{ position, id: video_id as number, revision }],
  )
  const byPosition = (versions: readonly WrittenVersion[]) =>
    new Map(versions.map((version) => [version.position, version]))
  return {
    records: byPosition(await findWrittenVersions(tx, 'video', records)),
    facts: byPosition(await findWrittenVersions(tx, 'facts', facts)),
  }
}

/** Returns whether what the import wrote has changed since, or can't be read. */
function hasChangedSince(row: ImportRow, { records, facts }: RowWrites): boolean {
  const { position } = row
  return (
    (hasWrittenRecord(row) && records.get(position)?.is_overwritten !== false) ||
    (row.facts_revision !== null && facts.get(position)?.is_overwritten !== false)
  )
}

/** Finds the record as it was before the import wrote it. Undefined if the history lacks it. */
async function findVersionBefore(tx: Db, row: ImportRow): Promise<Partial<Video> | undefined> {
  if (hasCreated(row) || !hasWrittenRecord(row)) return undefined
  const version = await findRevision(tx, row.video_id as number, row.before?.revision as number)
  return version?.record
}

/** Returns the fields to restore, none if only facts were written. Undefined if not known. */
function fieldsToRestore(
  row: ImportRow,
  { records }: RowWrites,
  versionBefore: Partial<Video> | undefined,
): Partial<Video> | undefined {
  if (hasCreated(row)) return { state: states.draft }
  if (!hasWrittenRecord(row)) return {}
  const written = records.get(row.position)?.written ?? []
  return (
    versionBefore &&
    Object.fromEntries(Object.entries(versionBefore).filter(([field]) => written.includes(field)))
  )
}

/** Undoes a row. Returns the revision of its record. */
async function undoRow(
  tx: Db,
  job: ImportJob,
  row: ImportRow,
  body: BodyRow,
  fields: Partial<Video>,
  lookup: NameLookup,
  context: WriteContext,
): Promise<number> {
  const { key } = row
  const { revision } = await writeLockedVersion(tx, body, fields, lookup, 'restored', context)
  // A bulk edit has no source.
  if (key === null) return revision
  const isCreated = hasCreated(row)
  if (!isCreated && row.before?.facts)
    await writeFacts(tx, [{ id: body.id, facts: row.before.facts as Fact[] }], context)
  if (isCreated) await withdrawFromSchedule(tx, body.id, context)
  for (const state of sourcesOf(job, row, key)) {
    const { previousState, sourceState, previousVideoId = body.id } = state
    // A recording that belonged to another record belongs to it again.
    if (isCreated && previousVideoId === body.id) await markAsDraft(tx, state)
    else {
      const [current] = await findSourceStates(tx, state.source, [state.key])
      const reverted = revertSourceState(current?.state, previousState, sourceState)
      await restoreSourceState(tx, state, previousVideoId, reverted)
    }
  }
  return revision
}

/** Removes the fact with which a draft is in the public schedule of its event. */
async function withdrawFromSchedule(tx: Db, id: number, context: WriteContext): Promise<void> {
  const facts = (await findFactsById(tx, [id])).get(id)?.facts ?? []
  const others = facts.filter(({ kind }) => kind !== 'recording')
  if (others.length < facts.length) await writeFacts(tx, [{ id, facts: others }], context)
}

type RowSource = Omit<OtherState, 'sourceState' | 'previousState'> &
  Pick<StateBefore, 'sourceState' | 'previousState'>

/** Returns the sources of a row with their states: that of the import, and those of a joined talk. */
function sourcesOf({ source }: ImportJob, { before }: ImportRow, key: string): RowSource[] {
  const { previousState, sourceState, otherStates = [] } = before ?? {}
  return [{ source, key, previousState, sourceState }, ...otherStates]
}

/** Changes only the state at the source, so that the same talk imported again becomes live. */
async function markAsDraft(tx: Db, { source, key }: RowSource): Promise<void> {
  const [current] = await findSourceStates(tx, source, [key])
  if (!current) return
  const fields = { ...current.state.fields, state: states.draft }
  await saveSourceStates(tx, source, [{ ...current, state: { ...current.state, fields } }])
}

/**
 * Reverts the source state of a row that did not change its record, unless a later import replaced
 * it. Nothing is left to undo then.
 */
async function revertUnchanged(tx: Db, job: ImportJob, row: ImportRow): Promise<void> {
  for (const state of sourcesOf(job, row, row.key as string)) {
    const [current] = await findSourceStates(tx, state.source, [state.key])
    if (current && isDeepStrictEqual(current.state, state.sourceState))
      await restoreSourceState(
        tx,
        state,
        state.previousVideoId ?? current.video_id,
        state.previousState,
      )
  }
  await clearStateBefore(tx, job.id, row.position)
}

async function restoreSourceState(
  tx: Db,
  { source, key }: RowSource,
  videoId: number,
  sourceState: SourceState | null | undefined,
): Promise<void> {
  if (sourceState)
    await saveSourceStates(tx, source, [{ key, video_id: videoId, state: sourceState }])
  else await deleteSourceStates(tx, source, [key])
}
