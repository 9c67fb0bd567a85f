import { Problem } from '@talkshelf/contract'
import type { Origin } from '../platform/actor.ts'
import { type Db, Unavailable } from '../platform/db/db.ts'
import { ifMatchEtags, representationEtag, revisionInEtag } from '../platform/http/conditional.ts'
import { findLatestChange, type LatestChange, type Subject } from './queries.ts'

// Optimistic concurrency: If-Match preconditions, detection of repeated requests, deadlines and
// retries of writes.

export interface CurrentVersion {
  readonly id: number
  readonly revision: number
  readonly etag: string
}

export interface Deadline {
  /** When the request times out and the caller gets an error, on the clock of performance.now(). */
  readonly untilMs?: number
}

/** What a write needs to know about its request. */
export interface WriteContext extends Deadline {
  readonly origin: Origin
  readonly ifMatch: string | undefined
  /** Recognizes a repeated request: the hash of its endpoint, path parameters and body. */
  readonly hash: Buffer
}

/**
 * Throws if the deadline has passed. Call it right before a write: a write that is applied after
 * the timeout could overwrite a newer one.
 */
export function assertBeforeDeadline({ untilMs = Number.POSITIVE_INFINITY }: Deadline): void {
  if (performance.now() > untilMs)
    throw new Unavailable('not-applied', new Error('The caller has been answered'), true)
}

const maxAttempts = 20

/**
 * Repeats work that a concurrent write can invalidate, as long as it returns undefined. Gives up at
 * the deadline or after 20 attempts, because an import has no deadline and must end too.
 */
export async function retryOnConflict<T>(
  deadline: Deadline,
  work: (attempt: number) => Promise<T | undefined>,
): Promise<T> {
  for (let attempt = 1; attempt <= maxAttempts; attempt++) {
    assertBeforeDeadline(deadline)
    const result = await work(attempt)
    if (result !== undefined) return result
  }
  throw new Unavailable(
    'not-applied',
    new Error(`Concurrent writes undid it ${maxAttempts} times`),
    true,
  )
}

/**
 * Checks If-Match and returns whether to write. Throws `stale-revision` if the precondition fails.
 *
 * - `repeated`: this request created the current revision and was sent again because its response
 *   was lost. Respond with the current record and write nothing (RFC 9110, 13.1.1 allows this).
 * - `moved`: the record changed during the check; read it again and retry. Cannot happen to a
 *   locked record.
 */
export async function checkPrecondition(
  db: Db,
  subject: Subject,
  current: CurrentVersion,
  context: WriteContext,
): Promise<'proceed' | 'repeated' | 'moved'> {
  if (context.ifMatch === undefined) return 'proceed'
  const etags = ifMatchEtags(context.ifMatch)
  if (etags === '*' || etags.includes(current.etag)) return 'proceed'

  const since = newestRevisionBefore(etags, current)
  const latest = await findLatestChange(db, subject, current.id, since)
  if (!latest) {
    // An entity that was created by using its name in a record has revision 0 and no change.
    if (current.revision > 0) throw new Error('A record without a change')
    throw staleRevision(current, etags, { updated: null, by: null, fields: null })
  }
  if (latest.revision !== current.revision) return 'moved'
  if (since === current.revision - 1 && wasMadeBy(latest, context)) return 'repeated'
  // `fields` is null if If-Match names no version of this record: the difference is unknown.
  throw staleRevision(current, etags, {
    updated: latest.at,
    by: latest.by,
    fields: since === undefined ? null : latest.changed,
  })
}

/** Throws `stale-revision` unless this is the current revision. Undefined means any. */
export async function checkRevision(
  db: Db,
  subject: Subject,
  current: CurrentVersion,
  expected: number | undefined,
): Promise<void> {
  if (expected === undefined || expected === current.revision) return
  const latest = await findLatestChange(db, subject, current.id, expected)
  const { at: updated = null, by = null, changed: fields = null } = latest ?? {}
  const { revision, etag } = current
  throw new Problem(
    'stale-revision',
    `Record ${current.id} has changed since revision ${expected}. Nothing was written; read it again`,
    { current: { revision, etag: representationEtag(etag, 'html'), updated, by, fields } },
  )
}

function staleRevision(
  { revision, etag }: CurrentVersion,
  sent: readonly string[],
  last: { updated: string | null; by: string | null; fields: string[] | null },
): Problem {
  const current = { revision, etag: representationEtag(etag, 'html'), ...last }
  return new Problem(
    'stale-revision',
    sent.length > 0
      ? 'The record has changed since the version in If-Match. Nothing was written; read it again'
      : 'If-Match has no strong ETag in quotes, such as "17.3.f3e_voTX". Nothing was written; send ' +
          'the ETag of the response as it is',
    { current },
  )
}

/**
 * Returns whether this request created the current revision and was sent again because its response
 * was lost. For records that were taken down; `checkPrecondition` handles all others.
 */
export async function isRepeatedRequest(
  db: Db,
  subject: Subject,
  current: CurrentVersion,
  context: WriteContext,
): Promise<boolean> {
  const etags = context.ifMatch === undefined ? '*' : ifMatchEtags(context.ifMatch)
  if (etags === '*' || newestRevisionBefore(etags, current) !== current.revision - 1) return false
  const latest = await findLatestChange(db, subject, current.id, undefined)
  return latest?.revision === current.revision && wasMadeBy(latest, context)
}

/**
 * Returns the newest revision before the current one that the etags name. The current number with
 * another hash belongs to another history (a database restored from a backup) and is ignored.
 */
function newestRevisionBefore(
  etags: readonly string[],
  { id, revision: current }: CurrentVersion,
): number | undefined {
  return etags
    .map((etag) => revisionInEtag(etag, id))
    .filter((revision) => revision !== undefined)
    .filter((revision) => revision < current)
    .sort((a, b) => b - a)[0]
}

function wasMadeBy(change: LatestChange, { origin, hash }: WriteContext): boolean {
  const { token, person = null } = origin.actor
  return (
    change.token_id === token && change.person_id === person && change.request_hash.equals(hash)
  )
}
