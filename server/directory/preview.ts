import { type EntityKind, readMerge } from '../entities/entities.ts'
import type { Pool } from '../platform/db/pool.ts'
import { countVideosOfEntity, findMergedRecords, findVideoIdsOfEntity } from '../videos/videos.ts'

// The records that a rename, a merge or its undo would change.

/** The first records, and how many there are. */
export interface RecordPreview {
  readonly ids: readonly number[]
  readonly count: number
}

/** Finds the records of an entity, which a rename or merge would change. */
export async function previewRecords(
  pool: Pool,
  kind: EntityKind,
  id: number,
  limit: number,
  after = 0,
): Promise<RecordPreview> {
  return {
    ids: await findVideoIdsOfEntity(pool.lists, kind, id, after, limit),
    count: await countVideosOfEntity(pool.lists, kind, id, after),
  }
}

/** Finds the records that the undo of a merge would change, and those that it would keep. */
export async function previewUnmerge(pool: Pool, kind: EntityKind, slug: string, limit: number) {
  const merge = await readMerge(pool.lists, kind, slug)
  const records = await findMergedRecords(pool.lists, kind, merge.ids, merge.target.id)
  const preview = (isShown: boolean): RecordPreview => {
    const ids = records.filter(({ shown }) => shown === isShown).map(({ id }) => id)
    return { ids: ids.slice(0, limit), count: ids.length }
  }
  return { merge, changed: preview(true), kept: preview(false) }
}
