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
  unmergeEntity,
} from '../entities/entities.ts'
import type { Db } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import {
  countVideosOfEntity,
  countVideosShownAs,
  findMergedRecords,
  findVideoIdsOfEntity,
  findVideoIdsShownAs,
  refreshNames,
  replaceSpeaker,
} from '../videos/videos.ts'
import { insertRenameJob, lockMerges } from './queries.ts'
import { renameBatchSize } from './rename-jobs.ts'

// Changes entities together with the first batch of the records that contain their names.

/** The new version of an entity, and the ids of the records that were updated with it. */
export interface EntityWriteResult {
  readonly entity: RenderedEntity
  readonly changed: readonly number[]
  /** How many records a background job still has to update. */
  readonly left: number
}

/** Changes an entity. If its name changes, updates the names in its records. */
export function patchEntity(
  pool: Pool,
  kind: EntityKind,
  slug: string,
  patch: EntityPatch,
  context: WriteContext,
): Promise<EntityWriteResult> {
  return pool.transaction(async (tx) => {
    await lockMerges(tx, 'shared')
    const { id, slug: newSlug, isRenamed } = await changeEntity(tx, kind, slug, patch, context)
    const updated = isRenamed
      ? await updateFirstBatch(tx, pool.lists, kind, id, context)
      : noRecords
    return resultOf(tx, kind, newSlug, updated, context)
  })
}

/** Merges an entity into another one and updates the names in its records. */
export function mergeEntity(
  pool: Pool,
  kind: EntityKind,
  slug: string,
  intoSlug: string,
  context: WriteContext,
): Promise<EntityWriteResult> {
  return pool.transaction(async (tx) => {
    await lockMerges(tx, 'shared')
    const { into, merged } = await mergeEntities(tx, kind, slug, intoSlug, context)
    const updated =
      merged === undefined
        ? noRecords
        : await updateFirstBatch(tx, pool.lists, kind, merged, context)
    return resultOf(tx, kind, into, updated, context)
  })
}

/** Moves records of a speaker to another one, which is created if necessary and returned. */
export function splitSpeaker(
  pool: Pool,
  slug: string,
  { name, videos }: Split,
  context: WriteContext,
): Promise<EntityWriteResult> {
  return pool.transaction(async (tx) => {
    await lockMerges(tx, 'shared')
    const { from, to, isRepeated } = await splitOffSpeaker(tx, slug, name, context)
    const changed = isRepeated ? [] : await replaceSpeaker(tx, videos, from, to.id, context)
    return resultOf(tx, 'speaker', to.slug, { changed, left: 0 }, context)
  })
}

/**
 * Undoes the merge of the entity that had this slug, and returns this entity. Records that had it
 * and still have its target get it back.
 */
export function unmerge(
  pool: Pool,
  kind: EntityKind,
  slug: string,
  context: WriteContext,
): Promise<EntityWriteResult> {
  return pool.transaction(async (tx) => {
    await lockMerges(tx, 'exclusive')
    const { slug: ownSlug, target, ids } = await unmergeEntity(tx, kind, slug, context)
    if (target === undefined)
      return resultOf(tx, kind, ownSlug, noRecords, context, { records_kept: 0 })
    const records = await findMergedRecords(pool.lists, kind, ids, target)
    const kept = records.filter(({ shown }) => !shown).length
    const updated = await updateFirstBatch(tx, pool.lists, kind, target, context, undoOfMerge)
    return resultOf(tx, kind, ownSlug, updated, context, { records_kept: kept })
  })
}

type UpdatedRecords = Pick<EntityWriteResult, 'changed' | 'left'>

const noRecords: UpdatedRecords = { changed: [], left: 0 }

/** The records that a rename or merge updates. */
const recordsOfEntity = { find: findVideoIdsOfEntity, count: countVideosOfEntity, isUndo: false }
/** The records that the undo of a merge updates. */
const undoOfMerge = { find: findVideoIdsShownAs, count: countVideosShownAs, isUndo: true }

/**
 * Updates the first batch of the records of an entity and inserts a job for the others. The entity
 * is locked, so no other transaction can add it to a record. The records can therefore be found
 * outside of the transaction, on a connection where PostgreSQL plans for this entity: an index
 * lookup for a rare one, an index scan by id for a common one.
 */
async function updateFirstBatch(
  tx: Db,
  lists: Db,
  kind: EntityKind,
  entityId: number,
  context: WriteContext,
  { find, count, isUndo } = recordsOfEntity,
): Promise<UpdatedRecords> {
  const ids = await find(lists, kind, entityId, 0, renameBatchSize)
  const changed = await refreshNames(tx, ids, context)
  // A batch that is not full is the last one.
  const last = ids[renameBatchSize - 1]
  if (last === undefined) return { changed, left: 0 }
  const left = await count(lists, kind, entityId, last)
  if (left > 0) {
    const { actor, via, request: requestId } = context.origin
    await insertRenameJob(tx, {
      kind,
      entity_id: entityId,
      done_up_to: last,
      is_undo: isUndo,
      actor: actor.name,
      token_id: actor.token,
      person_id: actor.person ?? null,
      via,
      request_id: requestId,
      request_hash: context.hash,
    })
  }
  return { changed, left }
}

async function resultOf(
  tx: Db,
  kind: EntityKind,
  slug: string,
  { changed, left }: UpdatedRecords,
  context: WriteContext,
  extras: { records_kept?: number } = {},
): Promise<EntityWriteResult> {
  const { role } = context.origin.actor
  const entity = await readEntity(tx, kind, slug, role, { records_left: left, ...extras })
  if ('moved' in entity) throw new Error('A locked entity has moved')
  // Updating the records may have taken too long.
  assertBeforeDeadline(context)
  return { entity, changed, left }
}
