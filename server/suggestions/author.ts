import { Problem, type SuggestionKind, type SuggestionState } from '@talkshelf/contract'
import { hashSecret, isWellFormedSecret } from '../auth/auth.ts'
import { purgeKey } from '../edge/edge.ts'
import { takeLock } from '../platform/db/advisory-lock.ts'
import type { Db } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import { edgeKey } from '../platform/http/edge-policy.ts'
import { refuseSecondOpen } from './decide.ts'
import { assertQueueHasRoom } from './limits.ts'
import {
  deleteName,
  findByHash,
  lockSuggestion,
  readUsage,
  type SuggestionRow,
  saveReopened,
  saveReply,
  saveWithdrawn,
} from './queries.ts'
import { assertNotTakenDown, compareAndClose, compareForAuthor } from './read.ts'

// What the author of a suggestion sees and does with the secret link. It shows of the record only
// what all readers see.

export interface FollowedSuggestion {
  readonly id: number
  readonly kind: SuggestionKind
  readonly state: SuggestionState
  readonly created: string
  readonly reason: string | null
  readonly comment: string
  readonly name: string | null
  readonly showName: boolean
  readonly reply: string | null
  /** The talk, if readers see it. */
  readonly talk: { readonly id: number; readonly slug: string; readonly title: string } | undefined
  /** The suggested values, with what the talk has now if readers see it. */
  readonly fields: readonly {
    readonly field: string
    readonly suggested: unknown
    readonly current: unknown
    readonly isAlreadyApplied: boolean
    readonly isTaken: boolean
  }[]
}

/** Reads a suggestion for its author. Throws `not-found` unless the secret is right. */
export async function followSuggestion(
  pool: Pool,
  id: number,
  secret: string,
): Promise<FollowedSuggestion> {
  const found = await findOwn(pool, id, secret)
  const { row, current, isLive, fields, suggested } = await compareForAuthor(
    pool,
    await compareAndClose(pool, found),
  )
  const shown = isLive ? current : undefined
  const isMissing = row.kind === 'missing'
  return {
    id,
    kind: row.kind,
    state: row.state,
    created: row.created,
    reason: row.reason,
    comment: row.comment,
    name: row.name,
    showName: row.show_name,
    reply: row.reply,
    talk: shown && { id: shown.id, slug: shown.slug, title: shown.title },
    fields: Object.entries(suggested)
      .filter(([field]) => field !== 'state')
      .map(([field, value]) => ({
        field,
        suggested: value,
        current: isMissing || !shown ? undefined : shown[field as keyof typeof shown],
        isAlreadyApplied:
          !isMissing &&
          shown !== undefined &&
          fields.some((each) => each.field === field && each.state === 'already-applied'),
        isTaken: row.taken?.includes(field) ?? false,
      })),
  }
}

/** Withdraws an open suggestion and deletes its texts. Throws `wrong-state` if it is decided. */
export function withdraw(pool: Pool, id: number, secret: string): Promise<void> {
  return pool.transaction(async (tx) => {
    const { state } = await lockOwn(tx, id, secret)
    if (state === 'withdrawn') return
    if (state !== 'open') throw new Problem('wrong-state', 'Your suggestion was decided meanwhile')
    await saveWithdrawn(tx, id)
  })
}

/** Deletes the name of the author, also from the page of the talk. */
export function removeName(pool: Pool, id: number, secret: string): Promise<void> {
  return pool.transaction(async (tx) => {
    const { target_id: target, show_name } = await lockOwn(tx, id, secret)
    await deleteName(tx, id)
    if (target !== null && show_name) await purgeKey(tx, edgeKey('video', target))
  })
}

/**
 * Saves the only reply of the author. If the suggestion was declined, it is open again. Throws
 * `wrong-state` if there is a reply already, or the suggestion was accepted, and `taken-down` if
 * the record was taken down.
 */
export function replyToSuggestion(
  pool: Pool,
  id: number,
  secret: string,
  reply: string,
): Promise<void> {
  return refuseSecondOpen(() =>
    pool.transaction(async (tx) => {
      // As for a new suggestion, before any other lock.
      await takeLock(tx, 'suggestions')
      const row = await lockOwn(tx, id, secret)
      if (row.reply === reply) return
      if (row.reply !== null || !['open', 'declined'].includes(row.state))
        throw new Problem('wrong-state', 'You have replied already, or it was decided meanwhile')
      await assertNotTakenDown(tx, row)
      if (row.state === 'declined') {
        assertQueueHasRoom(await readUsage(tx, row.video_id, []), row.low_priority)
        await saveReopened(tx, id, null)
      }
      await saveReply(tx, id, reply)
    }),
  )
}

async function lockOwn(tx: Db, id: number, secret: string): Promise<SuggestionRow> {
  await lockSuggestion(tx, id)
  return findOwn(tx, id, secret)
}

async function findOwn(db: Db, id: number, secret: string): Promise<SuggestionRow> {
  const row = isWellFormedSecret(secret) ? await findByHash(db, id, hashSecret(secret)) : undefined
  if (!row) throw new Problem('not-found', 'This page does not exist')
  return row
}
