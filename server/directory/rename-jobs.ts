import type { WriteContext } from '../changes/changes.ts'
import type { Pool } from '../platform/db/pool.ts'
import { findVideoIdsOfEntity, findVideoIdsShownAs, refreshNames } from '../videos/videos.ts'
import {
  advanceRenameJob,
  claimRenameJob,
  deleteRenameJob,
  hasRenameJobs,
  lockMerges,
  type RenameJob,
} from './queries.ts'

// Background jobs that update the names in records after a rename, a merge or its undo. A job is a row that
// is written with the rename. Any process claims it for one batch at a time, so a batch that was committed
// survives a crash and the next process continues from there.

/**
 * How many records are updated in one transaction. Concurrent writers of these records wait for it,
 * which takes a quarter of a second on a busy machine.
 */
export const renameBatchSize = 50

/**
 * Updates the next batch and returns the ids of the records that changed. Returns undefined if no
 * job is left, or another process has claimed it.
 */
export async function nextRenameBatch(pool: Pool): Promise<number[] | undefined> {
  // There is nearly always no job, and this lookup is cheaper than a transaction.
  if (!(await hasRenameJobs(pool.lookups))) return undefined
  return pool.transaction(async (tx) => {
    await lockMerges(tx, 'shared')
    const job = await claimRenameJob(tx)
    if (!job) return undefined
    const { id, kind, entity_id, done_up_to, is_undo } = job
    const findIds = is_undo ? findVideoIdsShownAs : findVideoIdsOfEntity
    // Outside of the transaction, on a connection where PostgreSQL plans for this entity.
    const ids = await findIds(pool.lists, kind, entity_id, done_up_to, renameBatchSize)
    const changed = await refreshNames(tx, ids, contextOf(job))
    // A batch that is not full is the last one.
    const last = ids[renameBatchSize - 1]
    if (last === undefined) await deleteRenameJob(tx, id)
    else await advanceRenameJob(tx, id, last)
    return changed
  })
}

/** Returns the context of the rename, so that all batches have the same origin in the history. */
function contextOf(job: RenameJob): WriteContext {
  const { actor: name, token_id: token, person_id: person } = job
  const actor = { role: 'editor' as const, name, token, person }
  return {
    origin: { actor, via: job.via, request: job.request_id },
    ifMatch: undefined,
    hash: job.request_hash,
  }
}
