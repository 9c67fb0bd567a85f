import { Problem } from '@talkshelf/contract'
import type { Actor } from '../platform/actor.ts'
import type { Db } from '../platform/db/db.ts'
import { findCategoryId } from './queries.ts'

// Editors of single events change the talks of these events only.

/**
 * Throws `forbidden` if the actor edits single events and the record is in another one, or would be
 * moved to another one. `category` is the new event, if it changes.
 */
export async function assertMayChange(
  db: Db,
  actor: Actor,
  id: number,
  category?: number,
): Promise<void> {
  if (!actor.events) return
  assertMayEditEvent(actor, await findCategoryId(db, id))
  if (category !== undefined) assertMayEditEvent(actor, category)
}

/** Throws `forbidden` if the actor edits single events and this is not one of them. */
export function assertMayEditEvent({ events }: Actor, category: number | undefined): void {
  if (events && (category === undefined || !events.includes(category)))
    throw new Problem('forbidden', 'You may change talks of your own events only')
}
