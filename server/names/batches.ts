import type { Request } from '../changes/changes.ts'
import type { Pool } from '../platform/db/pool.ts'
import { followNames, recordsOf } from '../videos/videos.ts'
import { advanceRenaming, deleteRenaming, isAnyLeft, type Renaming, takeRenaming } from './queries.ts'

// What a rename left to be done is a row, written together with it. Whichever server comes first does a batch, and another, until none is left;
// a server that is killed half way has done its batches, and the next one goes on from there.

/** So many records in one transaction: writers of the same records wait for it, and it takes a quarter of a second on a busy machine. */
export const batchSize = 50

/** The records that changed; undefined when nothing is left to do, or others are at it. */
export async function nextBatch(pool: Pool): Promise<number[] | undefined> {
  // Nearly always there is nothing, and one lookup tells.
  if (!(await isAnyLeft(pool.lookups))) return undefined
  return pool.transaction(async (tx) => {
    const renaming = await takeRenaming(tx)
    if (!renaming) return undefined
    const { id, kind, thing_id, done_up_to } = renaming
    const ids = await recordsOf(pool.lists, kind, thing_id, done_up_to, batchSize)
    const changed = await followNames(tx, ids, requestOf(renaming))
    const last = ids.at(-1)
    if (last === undefined || ids.length < batchSize) await deleteRenaming(tx, id)
    else await advanceRenaming(tx, id, last)
    return changed
  })
}

/** Who did it: the history of a record says the same, whichever batch it was in. */
function requestOf({ actor, token_id, via, request_id, request_hash }: Renaming): Request {
  const origin = { actor: { role: 'editor' as const, name: actor, token: token_id }, via, request: request_id }
  return { origin, ifMatch: undefined, hash: request_hash }
}
