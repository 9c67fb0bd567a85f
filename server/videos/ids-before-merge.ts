import type { EntityKind, RecordEntityIds } from '../entities/entities.ts'
import type { Db } from '../platform/db/db.ts'
import {
  deleteIdsBeforeMerge,
  findIdsBeforeMerge,
  type IdsBeforeMerge,
  saveIdsBeforeMerge,
} from './queries.ts'

// Remembers which entities records had before these were merged into others. A merge and its undo
// are then the same operation: the record gets the current entities of the ids that it had before.

const kinds: readonly EntityKind[] = ['category', 'speaker', 'tag']

/** The ids that locked records had before merges. */
export interface OriginalIds {
  /** Returns the ids that a record with these ids had before merges. */
  of(videoId: number, ids: RecordEntityIds): RecordEntityIds
  /** Adds what a record shows now instead of its original ids. */
  add(videoId: number, originals: RecordEntityIds, shownAs: ShownAs): void
  /** Writes what was added. */
  save(tx: Db): Promise<void>
}

/** Returns the current entity of an id. */
type ShownAs = (kind: EntityKind, id: number) => number

/** Reads the ids that locked records had before merges. */
export async function readOriginalIds(tx: Db, videoIds: readonly number[]): Promise<OriginalIds> {
  const keyOf = (kind: EntityKind, videoId: number) => `${kind} ${videoId}`
  const stored = new Map(
    (await findIdsBeforeMerge(tx, videoIds)).map((row) => [keyOf(row.kind, row.video_id), row]),
  )
  const changed: IdsBeforeMerge[] = []
  const unneeded: IdsBeforeMerge[] = []
  return {
    of(videoId, { category, speakers, tags }) {
      const originals = (kind: EntityKind, ids: readonly number[]) =>
        originalIds(ids, stored.get(keyOf(kind, videoId)))
      return {
        category: originals('category', [category])[0] as number,
        speakers: originals('speaker', speakers),
        tags: originals('tag', tags),
      }
    },
    add(videoId, { category, speakers, tags }, shownAs) {
      const lists = { category: [category], speaker: speakers, tag: tags }
      for (const kind of kinds) {
        const ids = [...lists[kind]]
        const row = {
          kind,
          video_id: videoId,
          entity_ids: ids,
          shown_as: ids.map((id) => shownAs(kind, id)),
        }
        const before = stored.get(keyOf(kind, videoId))
        const isMerged = String(row.entity_ids) !== String(row.shown_as)
        if (isMerged && !isSame(before, row)) changed.push(row)
        if (!isMerged && before) unneeded.push(before)
      }
    },
    async save(tx) {
      if (changed.length > 0) await saveIdsBeforeMerge(tx, changed)
      if (unneeded.length > 0) await deleteIdsBeforeMerge(tx, unneeded)
    },
  }
}

/**
 * Returns the ids that a list had before merges. If the list was edited since, each of its entities
 * stands for those that were merged into it, at its position.
 */
export function originalIds(
  current: readonly number[],
  stored: Pick<IdsBeforeMerge, 'entity_ids' | 'shown_as'> | undefined,
): readonly number[] {
  if (!stored) return current
  const { entity_ids: entityIds, shown_as: shownAs } = stored
  if (String([...new Set(shownAs)]) === String(current)) return entityIds
  return current.flatMap((id) => {
    const originals = entityIds.filter((_, index) => shownAs[index] === id)
    return originals.length > 0 ? originals : [id]
  })
}

function isSame(a: IdsBeforeMerge | undefined, b: IdsBeforeMerge): boolean {
  return (
    String(a?.entity_ids) === String(b.entity_ids) && String(a?.shown_as) === String(b.shown_as)
  )
}
