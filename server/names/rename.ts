import type { Split } from '@talkshelf/contract'
import { type Request, stillWanted } from '../changes/changes.ts'
import type { Db } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import { countRecordsOf, exchangeSpeaker, followNames, recordsOf } from '../videos/videos.ts'
import { changeThing, type Kind, mergeThings, readThing, type SentThing, splitOff, type ThingPatch } from '../vocabulary/vocabulary.ts'
import { batchSize } from './batches.ts'
import { insertRenaming } from './queries.ts'

/** A thing as it is now, and the records that changed with it. */
export interface Written {
  readonly thing: SentThing
  readonly changed: readonly number[]
  /** How many records are still to follow. */
  readonly left: number
}

export function patchThing(pool: Pool, kind: Kind, slug: string, patch: ThingPatch, request: Request): Promise<Written> {
  return pool.transaction(async (tx) => {
    const { thing, isRenamed } = await changeThing(tx, kind, slug, patch, request)
    const followed = isRenamed ? await firstBatch(tx, pool.lists, kind, thing.id, request) : none
    return written(tx, kind, thing.slug, followed, request)
  })
}

export function mergeThing(pool: Pool, kind: Kind, slug: string, intoSlug: string, request: Request): Promise<Written> {
  return pool.transaction(async (tx) => {
    const { into, merged } = await mergeThings(tx, kind, slug, intoSlug, request)
    const followed = merged ? await firstBatch(tx, pool.lists, kind, merged.id, request) : none
    return written(tx, kind, into.slug, followed, request)
  })
}

/** The answer is the other person. */
export function splitSpeaker(pool: Pool, slug: string, { name, videos }: Split, request: Request): Promise<Written> {
  return pool.transaction(async (tx) => {
    const { from, to } = await splitOff(tx, slug, name, request)
    const changed = await exchangeSpeaker(tx, videos, from, to.id, request)
    return written(tx, 'speaker', to.slug, { changed, left: 0 }, request)
  })
}

interface Followed {
  readonly changed: readonly number[]
  readonly left: number
}

const none: Followed = { changed: [], left: 0 }

/**
 * The thing is locked: whoever was giving it to a record has done so, and everybody else waits. So the records can be looked for outside of
 * the transaction, where PostgreSQL plans for this very thing: a rare one is looked up, a common one found by walking along.
 */
async function firstBatch(tx: Db, lists: Db, kind: Kind, thing: number, request: Request): Promise<Followed> {
  const ids = await recordsOf(lists, kind, thing, 0, batchSize)
  const changed = await followNames(tx, ids, request)
  const last = ids.at(-1)
  const left = last === undefined || ids.length < batchSize ? 0 : await countRecordsOf(lists, kind, thing, last)
  if (last !== undefined && left > 0) {
    const { actor, via, request: requestId } = request.origin
    const who = { actor: actor.name, token_id: actor.token, via, request_id: requestId, request_hash: request.hash }
    await insertRenaming(tx, { kind, thing_id: thing, done_up_to: last, ...who })
  }
  return { changed, left }
}

async function written(tx: Db, kind: Kind, slug: string, { changed, left }: Followed, request: Request): Promise<Written> {
  const { role } = request.origin.actor
  const thing = await readThing(tx, kind, slug, role, { records_left: left })
  if ('moved' in thing) throw new Error('A locked thing has moved')
  // It may have taken long enough for the caller to be told that nobody knows.
  stillWanted(request)
  return { thing, changed, left }
}
