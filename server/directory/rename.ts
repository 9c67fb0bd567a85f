import type { Split } from '@talkshelf/contract'
import { assertBeforeDeadline, type WriteContext } from '../changes/changes.ts'
import {
  changeEntity,
  type EntityKind,
  type EntityPatch,
  mergeEntities,
  type RenderedEntity,
  readEntity,
  splitOffSpeaker,
} from '../entities/entities.ts'
import type { Db } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import {
  countVideosOfEntity,
  findVideoIdsOfEntity,
  refreshNames,
  replaceSpeaker,
} from '../videos/videos.ts'
import { insertRenameJob } from './queries.ts'
import { renameBatchSize } from './rename-jobs.ts'

/** A entity as it is now, and the records that changed with it. */
export interface EntityWriteResult {
  readonly entity: RenderedEntity
  readonly changed: readonly number[]
  /** How many records are still to follow. */
  readonly left: number
}

export function patchEntity(
  pool: Pool,
  kind: EntityKind,
  slug: string,
  patch: EntityPatch,
  context: WriteContext,
): Promise<EntityWriteResult> {
  return pool.transaction(async (tx) => {
    const { id, slug: slugNow, isRenamed } = await changeEntity(tx, kind, slug, patch, context)
    const followed = isRenamed ? await firstBatch(tx, pool.lists, kind, id, context) : none
    return written(tx, kind, slugNow, followed, context)
  })
}

export function mergeEntity(
  pool: Pool,
  kind: EntityKind,
  slug: string,
  intoSlug: string,
  context: WriteContext,
): Promise<EntityWriteResult> {
  return pool.transaction(async (tx) => {
    const { into, merged } = await mergeEntities(tx, kind, slug, intoSlug, context)
    const followed =
      merged === undefined ? none : await firstBatch(tx, pool.lists, kind, merged, context)
    return written(tx, kind, into, followed, context)
  })
}

/** The answer is the other person. */
export function splitSpeaker(
  pool: Pool,
  slug: string,
  { name, videos }: Split,
  context: WriteContext,
): Promise<EntityWriteResult> {
  return pool.transaction(async (tx) => {
    const { from, to, isRepeated } = await splitOffSpeaker(tx, slug, name, context)
    const changed = isRepeated ? [] : await replaceSpeaker(tx, videos, from, to.id, context)
    return written(tx, 'speaker', to.slug, { changed, left: 0 }, context)
  })
}

interface Followed {
  readonly changed: readonly number[]
  readonly left: number
}

const none: Followed = { changed: [], left: 0 }

/**
 * The entity is locked: whoever was giving it to a record has done so, and everybody else waits. So
 * the records can be looked for outside of the transaction, where PostgreSQL plans for this very
 * entity: a rare one is looked up, a common one found by walking along.
 */
async function firstBatch(
  tx: Db,
  lists: Db,
  kind: EntityKind,
  entity: number,
  context: WriteContext,
): Promise<Followed> {
  const ids = await findVideoIdsOfEntity(lists, kind, entity, 0, renameBatchSize)
  const changed = await refreshNames(tx, ids, context)
  // Only behind a full batch can there be more.
  const last = ids[renameBatchSize - 1]
  if (last === undefined) return { changed, left: 0 }
  const left = await countVideosOfEntity(lists, kind, entity, last)
  if (left > 0) {
    const { actor, via, request: requestId } = context.origin
    const who = {
      actor: actor.name,
      token_id: actor.token,
      via,
      request_id: requestId,
      request_hash: context.hash,
    }
    await insertRenameJob(tx, { kind, entity_id: entity, done_up_to: last, ...who })
  }
  return { changed, left }
}

async function written(
  tx: Db,
  kind: EntityKind,
  slug: string,
  { changed, left }: Followed,
  context: WriteContext,
): Promise<EntityWriteResult> {
  const { role } = context.origin.actor
  const entity = await readEntity(tx, kind, slug, role, { records_left: left })
  if ('moved' in entity) throw new Error('A locked entity has moved')
  // It may have taken long enough for the caller to be told that nobody knows.
  assertBeforeDeadline(context)
  return { entity: entity, changed, left }
}
