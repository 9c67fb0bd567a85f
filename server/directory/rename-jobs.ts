import type { WriteContext } from '../changes/changes.ts'
import type { Pool } from '../platform/db/pool.ts'
import { findVideoIdsOfEntity, refreshNames } from '../videos/videos.ts'
import {
  advanceRenameJob,
  claimRenameJob,
  deleteRenameJob,
  hasRenameJobs,
  type RenameJob,
} from './queries.ts'

// What a rename left to be done is a row, written together with it. Whichever server comes first
// does a batch, and another, until none is left; a server that is killed half way has done its
// batches, and the next one goes on from there.

/**
 * So many records in one transaction: writers of the same records wait for it, and it takes a
 * quarter of a second on a busy machine.
 */
export const renameBatchSize = 50

/** The records that changed; undefined when nothing is left to do, or others are at it. */
export async function nextRenameBatch(pool: Pool): Promise<number[] | undefined> {
  // Nearly always there is nothing, and one lookup tells.
  if (!(await hasRenameJobs(pool.lookups))) return undefined
  return pool.transaction(async (tx) => {
    const renaming = await claimRenameJob(tx)
    if (!renaming) return undefined
    const { id, kind, entity_id, done_up_to } = renaming
    const ids = await findVideoIdsOfEntity(pool.lists, kind, entity_id, done_up_to, renameBatchSize)
    const changed = await refreshNames(tx, ids, requestOf(renaming))
    // Only behind a full batch can there be more.
    const last = ids[renameBatchSize - 1]
    if (last === undefined) await deleteRenameJob(tx, id)
    else await advanceRenameJob(tx, id, last)
    return changed
  })
}

/** Who did it: the history of a record says the same, whichever batch it was in. */
function requestOf({ actor, token_id, via, request_id, request_hash }: RenameJob): WriteContext {
  const origin = {
    actor: { role: 'editor' as const, name: actor, token: token_id },
    via,
    request: request_id,
  }
  return { origin, ifMatch: undefined, hash: request_hash }
}
