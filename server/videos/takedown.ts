import {
  assertBeforeDeadline,
  checkPrecondition,
  isRepeatedRequest,
  type WriteContext,
} from '../changes/changes.ts'
import type { Db } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import { versionEtag } from '../platform/http/conditional.ts'
import {
  type BodyRow,
  findBody,
  findMergedIds,
  lockSuggestionsOf,
  lockVideos,
  saveTakedown,
  updateTakedownReason,
} from './queries.ts'
import { assertPresent } from './read.ts'
import { formatTimestamp, timestampAfter } from './wire.ts'

/**
 * Takes a record down permanently, with all that were merged into it. Its content stays in the history for operators and is never
 * served again. If-Match is optional; a repeated request with the same If-Match gets the first
 * response again. Throws 404 if there is no such record, 410 if it was taken down by another
 * request or by one without If-Match, and 412 if If-Match is stale.
 */
export function takeDownVideo(
  pool: Pool,
  id: number,
  reason: string,
  context: WriteContext,
): Promise<{ id: number; taken_down: string; reason: string }> {
  return pool.transaction(async (tx) => {
    const ids = [id, ...(await findMergedIds(tx, id))]
    await lockSuggestionsOf(tx, ids)
    await lockVideos(tx, ids)
    const current = await findBody(tx, id)
    if (current?.taken_down && (await isRepeatedRequest(tx, 'video', current, context)))
      return { id, ...current.taken_down }
    const row = assertPresent(current)
    // Throws if it is stale. Other results are impossible, because the record is locked and this
    // request has not taken it down before.
    await checkPrecondition(tx, 'video', row, context)
    assertBeforeDeadline(context)
    // What was merged into it is the same talk.
    for (const mergedId of await findMergedIds(tx, id))
      await writeTakedown(tx, assertPresent(await findBody(tx, mergedId)), reason, context)
    return { id, ...(await writeTakedown(tx, row, reason, context)) }
  })
}

/**
 * Replaces the reason of a takedown. Returns false if it stays, or the record is not taken down.
 */
export async function rewriteTakedownReason(
  tx: Db,
  id: number,
  rewrite: (reason: string) => string,
): Promise<boolean> {
  await lockVideos(tx, [id])
  const row = await findBody(tx, id)
  if (!row?.taken_down) return false
  const reason = rewrite(row.taken_down.reason)
  if (reason === row.taken_down.reason) return false
  await updateTakedownReason(tx, id, reason, versionEtag(id, row.revision, reason))
  return true
}

async function writeTakedown(
  tx: Db,
  { id, revision: before, updated_ms }: BodyRow,
  reason: string,
  { origin, hash: requestHash }: WriteContext,
): Promise<{ taken_down: string; reason: string }> {
  const updated = timestampAfter(formatTimestamp(updated_ms))
  const after = { taken_down: updated.slice(0, 10), reason }
  const revision = before + 1
  const isSaved = await saveTakedown(tx, {
    id,
    revision,
    etag: versionEtag(id, revision, reason),
    updated,
    day: after.taken_down,
    reason,
    change: {
      subject: 'video',
      kind: 'taken-down',
      before: {},
      after,
      ids: {},
      at: `${updated}Z`,
      origin,
      requestHash,
    },
  })
  if (!isSaved) throw new Error('A locked record has changed')
  return after
}
