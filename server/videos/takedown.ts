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
 * Withdraws a record for ever. The words stay in the history for those who run the archive; nobody
 * is served them again. The same request with the same If-Match gives the first answer again.
 */
export function takeDownVideo(
  pool: Pool,
  id: number,
  reason: string,
  context: WriteContext,
): Promise<{ id: number; taken_down: string; reason: string }> {
  return pool.transaction(async (tx) => {
    await lockVideo(tx, id)
    const found = await findBody(tx, id)
    if (found?.taken_down && (await isRepeatedRequest(tx, 'video', found, context)))
      return { id, ...found.taken_down }
    const row = assertPresent(found)
    // Throws if it is stale. The record is locked and not taken down: it can neither have moved nor
    // be this request's own.
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
    const taken = await saveTakedown(tx, {
      id,
      revision,
      tag: versionEtag(id, revision, reason),
      updated,
      day: after.taken_down,
      reason,
      change,
    })
    if (!taken) throw new Error('A locked record has changed')
    return { id, ...after }
  })
}
