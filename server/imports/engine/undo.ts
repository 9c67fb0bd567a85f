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

// Takes an import back, the last talk first. What somebody has touched since stays as it is, and is
// listed. A record is never deleted: one that the import made becomes a draft, which nobody but
// editors sees; imported again, it comes back under its number.

/** Undoes the last `batch_size` rows that are left. Returns the ids of the records that changed. */
export async function undoBatch(tx: Db, it: ImportJob, context: WriteContext): Promise<number[]> {
  const rows = await findRowsToUndo(tx, it.id, it.done, it.batch_size)
  const ids = rows.map(({ video_id }) => video_id as number)
  const then = new Map<number, Partial<Video>>()
  for (const row of rows) {
    const before = await beforeOf(tx, row)
    if (before) then.set(row.position, before)
  }
  const book = await lookUpAndLockNames(tx, namesOfItems([...then.values()] as ItemFields[]))
  const bodies = await lockAndReadBodies(tx, ids)
  const facts = await findFactsById(tx, ids)
  const changed: number[] = []
  const undone: UndoneRow[] = []
  for (const row of rows) {
    if (row.outcome !== 'created' && row.outcome !== 'changed') {
      await unsay(tx, it, row)
      continue
    }
    const id = row.video_id as number
    const body = bodies.get(id) as BodyRow
    const isTouched =
      body.taken_down ||
      body.revision !== row.revision ||
      (hasChangedRecord(row) && !then.has(row.position)) ||
      (row.facts_revision !== null && facts.get(id)?.revision !== row.facts_revision)
    if (!isTouched) {
      await undo(tx, it, row, body, then.get(row.position), book, context)
      changed.push(id)
    }
    undone.push({ position: row.position, undone: isTouched ? 'touched' : 'undone' })
  }
  await saveUndone(tx, it.id, undone)
  await finishBatch(tx, it, rows)
  return changed
}

/** Leaves the row that comes next as it is, because undoing it failed, and goes on before it. */
export async function skipNext(tx: Db, it: ImportJob, reason: string): Promise<void> {
  const rows = await findRowsToUndo(tx, it.id, it.done, 1)
  await saveUndone(
    tx,
    it.id,
    rows.map(({ position }) => ({ position, undone: 'touched', reason })),
  )
  await finishBatch(tx, { ...it, batch_size: 1 }, rows)
}

async function finishBatch(tx: Db, it: ImportJob, rows: readonly ImportRow[]): Promise<void> {
  // Fewer than there may be in a batch are the last ones.
  if (rows.length < it.batch_size)
    await changeImportState(tx, it.id, ['undoing'], 'undone', { done: 0 })
  else await advanceImport(tx, it.id, (rows.at(-1) as ImportRow).position - 1, maxBatchRows)
}

/**
 * The fields as they were before the import; undefined where it did not change the record itself,
 * or its history is not readable.
 */
async function beforeOf(tx: Db, row: ImportRow): Promise<Partial<Video> | undefined> {
  if (row.outcome === 'created') return { state: states.draft }
  if (!hasChangedRecord(row)) return undefined
  const version = await findRevision(tx, row.video_id as number, row.before?.revision as number)
  if (!version) return undefined
  const { id: _id, slug: _slug, added: _added, updated: _updated, ...fields } = version.record
  return fields
}

/** Whether the import changed the record, and not only what is attached to it. */
function hasChangedRecord({ revision, before }: ImportRow): boolean {
  return typeof before?.revision === 'number' && before.revision !== revision
}

async function undo(
  tx: Db,
  it: ImportJob,
  row: ImportRow,
  body: BodyRow,
  fields: Partial<Video> | undefined,
  lookup: NameLookup,
  context: WriteContext,
): Promise<void> {
  const key = row.key as string
  if (fields) await writeLockedVersion(tx, body, fields, lookup, 'restored', context)
  if (row.outcome === 'created') {
    // What it said stands, but for the state: said once more, it makes the record live again.
    const [now] = await findSourceStates(tx, it.source, [key])
    if (now)
      await saveSourceStates(tx, it.source, [
        { ...now, said: { ...now.said, fields: { ...now.said.fields, state: states.draft } } },
      ])
    return
  }
  if (row.before?.facts)
    await writeFacts(tx, [{ id: body.id, facts: row.before.facts as Fact[] }], context)
  await sayAgain(tx, it, key, body.id, row.before?.said)
}

/**
 * The record was left alone, and only what the source says was noted: unless it has said something
 * else since, it has said nothing.
 */
async function unsay(tx: Db, it: ImportJob, { key, before }: ImportRow): Promise<void> {
  const [now] = await findSourceStates(tx, it.source, [key as string])
  if (now && isDeepStrictEqual(now.said, before?.says))
    await sayAgain(tx, it, now.key, now.video_id, before?.said)
}

async function sayAgain(
  tx: Db,
  { source }: ImportJob,
  key: string,
  videoId: number,
  sourceState: SourceState | null | undefined,
): Promise<void> {
  if (sourceState)
    await saveSourceStates(tx, source, [{ key, video_id: videoId, said: sourceState }])
  else await deleteSourceStates(tx, source, [key])
}
