import { hash } from 'node:crypto'
import { invalidFields, Problem, type Publication, states, type Video } from '@talkshelf/contract'
import { assertBeforeDeadline, type WriteContext } from '../changes/changes.ts'
import type { Db } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import { assertMayChange, lockCurrent, setState } from '../videos/videos.ts'
import {
  deleteScheduled,
  findScheduled,
  listDue,
  type Scheduled,
  saveScheduled,
} from './queries.ts'

// Entry point of scheduled publication. A background job publishes drafts whose time has come. The
// change of the record deletes the schedule (triggers.sql), so both happen or neither.

export { countDue, listScheduled } from './queries.ts'

/** Longest time ahead: later ones are probably typing mistakes. */
const maxYears = 5

/** Reads when a record goes live. The caller checks access to the record. */
export async function readPublication(db: Db, id: number): Promise<Publication> {
  const scheduled = await findScheduled(db, id)
  return { publish_at: scheduled?.publish_at ?? null, by: scheduled?.actor ?? null }
}

/**
 * Schedules when a draft goes live; null cancels it. Throws `wrong-state` for a live record and
 * `invalid-fields` for a time in the past or more than five years ahead.
 */
export function schedulePublication(
  pool: Pool,
  id: number,
  publishAt: string | null,
  context: WriteContext,
): Promise<Publication> {
  const time = publishAt === null ? null : validTime(publishAt)
  return pool.transaction(async (tx) => {
    const { body } = await lockCurrent(tx, id)
    await assertMayChange(tx, context.origin.actor, id)
    assertBeforeDeadline(context)
    if (time === null) await deleteScheduled(tx, id)
    else {
      if ((JSON.parse(body) as Video).state === states.live)
        throw new Problem('wrong-state', 'This record is live already. Nothing was changed')
      await saveScheduled(tx, id, time, context.origin)
    }
    return readPublication(tx, id)
  })
}

const timePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/

/** Returns the time in UTC. Throws `invalid-fields` if a draft cannot be published then. */
export function validTime(text: string): string {
  const time = timePattern.test(text) ? new Date(text) : new Date(Number.NaN)
  const latest = new Date()
  latest.setUTCFullYear(latest.getUTCFullYear() + maxYears)
  const refuse = (code: string, detail: string): never => {
    throw invalidFields([{ pointer: '/publish_at', code, detail }])
  }
  if (Number.isNaN(time.getTime()) || !isDay(text.slice(0, 10)))
    refuse('invalid-time', 'must be a time with its offset from UTC, such as 2027-03-01T09:00:00Z')
  if (time <= new Date()) refuse('in-the-past', 'must be in the future. To publish it now, save it')
  if (time > latest) refuse('too-late', `must be within ${maxYears} years`)
  return time.toISOString()
}

/** Tells whether a day exists. `new Date` takes 30 February for 2 March. */
function isDay(text: string): boolean {
  return new Date(`${text}T00:00:00Z`).toISOString().startsWith(text)
}

/** Drafts that one batch publishes. */
const batchSize = 100

/**
 * Publishes drafts whose time has come, each in its own transaction. Returns their ids, or undefined
 * if there is none. A draft that cannot be published is reported and tried again later.
 */
export async function publishDue(
  pool: Pool,
  onError: (error: unknown, id: number) => void,
): Promise<number[] | undefined> {
  const published: number[] = []
  for (const { id } of await listDue(pool.lookups, batchSize))
    try {
      if (await publish(pool, id)) published.push(id)
    } catch (error) {
      onError(error, id)
    }
  return published.length > 0 ? published : undefined
}

/** Publishes a draft, unless another process has done so or it was cancelled meanwhile. */
function publish(pool: Pool, id: number): Promise<boolean> {
  return pool.transaction(async (tx) => {
    const row = await lockCurrent(tx, id)
    const scheduled = await findScheduled(tx, id)
    if (!scheduled?.is_due) return false
    await setState(tx, row, states.live, contextOf(scheduled))
    return true
  })
}

/** Returns the context of the request that scheduled the publication. */
function contextOf({ id, actor, token_id, person_id, via, request_id }: Scheduled): WriteContext {
  return {
    origin: {
      actor: { role: 'editor', name: actor, token: token_id, person: person_id },
      via,
      request: request_id,
    },
    ifMatch: undefined,
    hash: hash('sha256', `publish ${id} ${request_id}`, 'buffer'),
  }
}
