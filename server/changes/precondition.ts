import { Problem } from '@talkshelf/contract'
import type { Origin } from '../platform/actor.ts'
import { type Db, Unavailable } from '../platform/db/db.ts'
import { etag, revisionIn, wantedTags } from '../platform/http/conditional.ts'
import { latestChange, type Subject } from './queries.ts'

export interface Current {
  readonly id: number
  readonly revision: number
  readonly tag: string
}

/** How a write was asked for. */
export interface Request {
  readonly origin: Origin
  readonly ifMatch: string | undefined
  /** Of method, address and body. */
  readonly hash: Buffer
  /** When the caller has been told that we do not know, on the clock of performance.now(). */
  readonly untilMs?: number
}

/** To be called right before a write: one that comes after its caller was answered could undo what somebody else wrote since. */
export function stillWanted({ untilMs = Number.POSITIVE_INFINITY }: Request): void {
  if (performance.now() > untilMs) throw new Unavailable('not-applied', new Error('The caller has been answered'))
}

/**
 * Whether a write may go on. `repeated`: the very request that made the current revision has come a second time, because
 * its answer was lost; the answer is the current record, and nothing is written (RFC 9110, 13.1.1 allows this). `moved`: the record
 * changed while we looked, and whoever asks must look again; it can't happen to a record that is locked.
 */
export async function precondition(
  db: Db,
  subject: Subject,
  current: Current,
  request: Request,
): Promise<'proceed' | 'repeated' | 'moved'> {
  if (request.ifMatch === undefined) return 'proceed'
  const wanted = wantedTags(request.ifMatch)
  if (wanted === '*' || wanted.includes(current.tag)) return 'proceed'

  const known = wanted.map((tag) => revisionIn(tag, current.id)).filter((revision) => revision !== undefined)
  // The same number with another hash is another history (a database that came back from a backup): nobody knows what changed since.
  const since = known.filter((revision) => revision < current.revision).sort((a, b) => b - a)[0]
  const latest = await latestChange(db, subject, current.id, since ?? current.revision)
  // What a record made by naming it has no change of its own yet, and nobody who made it.
  if (!latest && current.revision > 0) throw new Error('A record without a change')
  if (latest && latest.revision !== current.revision) return 'moved'
  const { token } = request.origin.actor
  if (latest && since === current.revision - 1 && latest.token_id === token && latest.request_hash.equals(request.hash)) return 'repeated'
  throw new Problem('stale-revision', 'The record has changed since the version in If-Match; nothing was written', {
    current: {
      revision: current.revision,
      etag: etag(current.tag, 'html'),
      updated: latest?.at ?? null,
      by: latest?.by ?? null,
      // Null where If-Match does not name a version of this record: then nobody can say what changed since.
      fields: since === undefined ? null : (latest?.changed ?? null),
    },
  })
}
