import { Problem } from '@talkshelf/contract'
import type { Origin } from '../platform/actor.ts'
import { type Db, Unavailable } from '../platform/db/db.ts'
import { ifMatchEtags, representationEtag, revisionInEtag } from '../platform/http/conditional.ts'
import { findLatestChange, type LatestChange, type Subject } from './queries.ts'

export interface CurrentVersion {
  readonly id: number
  readonly revision: number
  readonly tag: string
}

export interface Deadline {
  /** When the caller has been told that we do not know, on the clock of performance.now(). */
  readonly untilMs?: number
}

/** How a write was asked for. */
export interface WriteContext extends Deadline {
  readonly origin: Origin
  readonly ifMatch: string | undefined
  /** Of method, address and body. */
  readonly hash: Buffer
}

/**
 * To be called right before a write: one that comes after its caller was answered could undo what
 * somebody else wrote since.
 */
export function assertBeforeDeadline({ untilMs = Number.POSITIVE_INFINITY }: Deadline): void {
  if (performance.now() > untilMs)
    throw new Unavailable('not-applied', new Error('The caller has been answered'), true)
}

const maxAttempts = 20

/**
 * Repeats work that a concurrent write can undo, while it returns undefined. Gives up when the
 * caller has been answered, or after 20 attempts: an import has no deadline, and must end as well.
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
 * Whether a write may go on. `repeated`: the very request that made the current revision has come a
 * second time, because its answer was lost; the answer is the current record, and nothing is
 * written (RFC 9110, 13.1.1 allows this). `moved`: the record changed while we looked, and whoever
 * asks must look again; it can't happen to a record that is locked.
 */
export async function checkPrecondition(
  db: Db,
  subject: Subject,
  current: CurrentVersion,
  context: WriteContext,
): Promise<'proceed' | 'repeated' | 'moved'> {
  if (context.ifMatch === undefined) return 'proceed'
  const wanted = ifMatchEtags(context.ifMatch)
  if (wanted === '*' || wanted.includes(current.tag)) return 'proceed'

  const since = newestBefore(wanted, current)
  const latest = await findLatestChange(db, subject, current.id, since)
  if (!latest) {
    // What a record made by naming it has no change of its own yet, and nobody who made it.
    if (current.revision > 0) throw new Error('A record without a change')
    throw stale(current, { updated: null, by: null, fields: null })
  }
  if (latest.revision !== current.revision) return 'moved'
  if (since === current.revision - 1 && isMadeBy(latest, context)) return 'repeated'
  // Null where If-Match does not name a version of this record: then nobody can say what changed
  // since.
  throw stale(current, {
    updated: latest.at,
    by: latest.by,
    fields: since === undefined ? null : latest.changed,
  })
}

function stale(
  { revision, tag }: CurrentVersion,
  last: { updated: string | null; by: string | null; fields: string[] | null },
): Problem {
  const current = { revision, etag: representationEtag(tag, 'html'), ...last }
  return new Problem(
    'stale-revision',
    'The record has changed since the version in If-Match; nothing was written',
    { current },
  )
}

/**
 * Tells whether this very request made the current revision, and has come a second time because its
 * answer was lost. For a record that is gone since: `precondition` is for those that are there.
 */
export async function isRepeatedRequest(
  db: Db,
  subject: Subject,
  current: CurrentVersion,
  context: WriteContext,
): Promise<boolean> {
  const wanted = context.ifMatch === undefined ? '*' : ifMatchEtags(context.ifMatch)
  if (wanted === '*' || newestBefore(wanted, current) !== current.revision - 1) return false
  const latest = await findLatestChange(db, subject, current.id, undefined)
  return latest?.revision === current.revision && isMadeBy(latest, context)
}

/**
 * Returns the newest revision before the current one that the tags name. The same number with
 * another hash is another history (a database restored from a backup): what changed since is not
 * known.
 */
function newestBefore(
  tags: readonly string[],
  { id, revision }: CurrentVersion,
): number | undefined {
  const known = tags.map((tag) => revisionInEtag(tag, id)).filter((it) => it !== undefined)
  return known.filter((it) => it < revision).sort((a, b) => b - a)[0]
}

function isMadeBy(change: LatestChange, { origin, hash }: WriteContext): boolean {
  return change.token_id === origin.actor.token && change.request_hash.equals(hash)
}
