import {
  assertBeforeDeadline,
  checkPrecondition,
  isRepeatedRequest,
  type WriteContext,
} from '../changes/changes.ts'
import type { Pool } from '../platform/db/pool.ts'
import { versionEtag } from '../platform/http/conditional.ts'
import { findBody, lockVideo, saveTakedown } from './queries.ts'
import { assertPresent } from './read.ts'
import { formatTimestamp, timestampAfter } from './wire.ts'

/**
 * Takes a record down permanently. Its content stays in the history for operators and is never
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
    await lockVideo(tx, id)
    const current = await findBody(tx, id)
    if (current?.taken_down && (await isRepeatedRequest(tx, 'video', current, context)))
      return { id, ...current.taken_down }
    const row = assertPresent(current)
    // Throws if it is stale. Other results are impossible, because the record is locked and this
    // request has not taken it down before.
    await checkPrecondition(tx, 'video', row, context)
    const updated = timestampAfter(formatTimestamp(row.updated_ms))
    const after = { taken_down: updated.slice(0, 10), reason }
    const revision = row.revision + 1
    const change = {
      subject: 'video',
      kind: 'taken-down',
      before: {},
      after,
      ids: {},
      at: `${updated}Z`,
      origin: context.origin,
      requestHash: context.hash,
    } as const
    assertBeforeDeadline(context)
    const isSaved = await saveTakedown(tx, {
      id,
      revision,
      etag: versionEtag(id, revision, reason),
      updated,
      day: after.taken_down,
      reason,
      change,
    })
    if (!isSaved) throw new Error('A locked record has changed')
    return { id, ...after }
  })
}
