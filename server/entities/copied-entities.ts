import type { ExportedEntity } from '@talkshelf/contract'
import { deleteChanges, type WriteContext } from '../changes/changes.ts'
import type { Db } from '../platform/db/db.ts'
import {
  type EntityKind,
  emptyEntities,
  findNamesOfIds,
  insertRestored,
  releaseNames,
  reserveEntities,
} from './queries.ts'
import { namesOf, rowOf, slugsOf } from './restore-entities.ts'

// Writes entities of another archive, for a mirror: the copy has the same ids, names and slugs, and
// keeps nothing of earlier versions.

/**
 * Writes entities of one kind as they are in the other archive. A name or slug that another entity
 * has here is taken from it: that one was renamed too, and is written later. Returns the ids of
 * those whose name is another one now.
 */
export async function copyEntities(
  tx: Db,
  kind: EntityKind,
  entities: readonly ExportedEntity[],
  { origin, hash }: WriteContext,
): Promise<number[]> {
  const ids = entities.map(({ id }) => id)
  const before = new Map((await findNamesOfIds(tx, kind, ids)).map(({ id, name }) => [id, name]))
  await releaseNames(tx, kind, ids, entities.flatMap(namesOf), entities.flatMap(slugsOf))
  await deleteChanges(tx, kind, ids)
  await insertRestored(tx, kind, entities.map(rowOf), origin, hash, { replaces: true })
  // Also of those without a row: a talk may have been written before its speaker.
  return entities.filter(({ id, name }) => before.get(id) !== name).map(({ id }) => id)
}

/** An entity that is not public any more. */
export interface WithdrawnEntity {
  readonly id: number
  /** What it was merged into. */
  readonly mergedInto: number | undefined
}

/** Removes names, slugs and content of entities. Those that have no row stay unknown. */
export async function withdrawEntities(
  tx: Db,
  kind: EntityKind,
  withdrawn: readonly WithdrawnEntity[],
): Promise<void> {
  const ids = withdrawn.map(({ id }) => id)
  const targets = withdrawn.flatMap(({ mergedInto }) => mergedInto ?? [])
  await releaseNames(tx, kind, ids, [], [])
  await deleteChanges(tx, kind, ids)
  await reserveEntities(tx, kind, targets)
  await emptyEntities(
    tx,
    kind,
    ids,
    withdrawn.map(({ mergedInto }) => mergedInto ?? null),
  )
}

/** Makes sure that categories have a row, so that records can refer to them. */
export const reserveCategories = (tx: Db, ids: readonly number[]) =>
  reserveEntities(tx, 'category', ids)
