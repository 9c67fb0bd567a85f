import { type Request, stillWanted } from '../changes/changes.ts'
import type { Pool } from '../platform/db/pool.ts'
import { versionTag } from '../platform/http/conditional.ts'
import { lockVideo, takeDown } from './queries.ts'
import { findCurrent } from './read.ts'
import { momentAfter, wireTime } from './wire.ts'

/** Withdraws a record for ever. The words stay in the history for those who run the archive; nobody is served them again. */
export function takeDownVideo(
  pool: Pool,
  id: number,
  reason: string,
  request: Request,
): Promise<{ id: number; taken_down: string; reason: string }> {
  return pool.transaction(async (tx) => {
    await lockVideo(tx, id)
    const row = await findCurrent(tx, id)
    const updated = momentAfter(wireTime(row.updated_ms))
    const after = { taken_down: updated.slice(0, 10), reason }
    const revision = row.revision + 1
    const change = {
      subject: 'video',
      kind: 'taken-down',
      before: {},
      after,
      ids: {},
      at: `${updated}Z`,
      origin: request.origin,
      requestHash: request.hash,
    } as const
    stillWanted(request)
    const taken = await takeDown(tx, {
      id,
      revision,
      tag: versionTag(id, revision, reason),
      updated,
      day: after.taken_down,
      reason,
      change,
    })
    if (!taken) throw new Error('A locked record has changed')
    return { id, ...after }
  })
}
