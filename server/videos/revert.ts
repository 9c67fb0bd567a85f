import { invalidFields, maxNames, Problem, type Video, videoFields } from '@talkshelf/contract'
import { findVersion, type WriteContext } from '../changes/changes.ts'
import {
  currentNames,
  type NamedEntity,
  type RecordEntityIds,
  resolveNames,
} from '../entities/entities.ts'
import type { Db } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import { findCategoryId } from './queries.ts'
import { readCurrent } from './read.ts'
import { changeInTransaction, changeVideo, type NextVersion, type RenderedVideo } from './update.ts'

// Reverts single changes. A field returns to the value that it had before the change if its current
// value is still the one that the change gave it. Entities are compared by id, because their names
// change: a rename is nothing to revert.

/** A change in the history: the record before and after it. */
interface RecordedChange {
  readonly fields: readonly string[]
  readonly before: RecordedVersion
  readonly after: RecordedVersion
}

interface RecordedVersion {
  readonly fields: Readonly<Record<string, unknown>>
  readonly ids: RecordEntityIds
}

/**
 * Reverts a change, or some of its fields, as a new revision. Throws `fields-changed` and writes
 * nothing if one of the fields was changed since. Writes nothing if all have their old values.
 */
export async function revertRevision(
  pool: Pool,
  id: number,
  revision: number,
  fields: readonly string[] | undefined,
  context: WriteContext,
): Promise<RenderedVideo> {
  await readCurrent(pool, id)
  const next = await revertedVersion(pool, id, revision, fields)
  return changeVideo(pool, id, context, next, { kind: 'restored' })
}

/** Reverts a whole change as `revertRevision`, in a transaction of the caller. */
export async function revertInTransaction(
  tx: Db,
  id: number,
  revision: number,
  context: WriteContext,
): Promise<RenderedVideo> {
  const next = await revertedVersion(tx, id, revision, undefined)
  return changeInTransaction(tx, id, context, next, { kind: 'restored' })
}

/** Returns the function that derives the reverted version. */
async function revertedVersion(
  db: Db,
  id: number,
  revision: number,
  fields: readonly string[] | undefined,
): Promise<NextVersion> {
  const change = await readChange(db, id, revision)
  const errors = (fields ?? []).flatMap((field, index) =>
    change.fields.includes(field)
      ? []
      : [
          {
            pointer: `/fields/${index}`,
            code: 'not-changed',
            detail: 'is not a field that this revision changed',
          },
        ],
  )
  if (errors.length > 0) throw invalidFields(errors)
  const requested = change.fields.filter((field) => fields?.includes(field) ?? true)
  return (current, db) => revertFields(db, current, change, requested as (keyof Video)[])
}

async function readChange(db: Db, id: number, revision: number): Promise<RecordedChange> {
  const change = await findVersion(db, 'video', id, revision)
  if (change?.kind === 'created')
    throw new Problem(
      'not-revertible',
      'This revision created the record. To hide it from readers, make it a draft',
    )
  if (change?.kind === 'merged')
    throw new Problem(
      'not-revertible',
      'This revision merged the record into another one. Restore the revision before it',
    )
  const previous = await findVersion(db, 'video', id, revision - 1)
  if (!change?.ids_then || !previous?.ids_then)
    throw new Problem('not-found', 'This revision does not exist')
  return {
    // A restored record also has the field `merged_into` in its history.
    fields: change.fields.filter((field) => (videoFields as string[]).includes(field)),
    before: { fields: previous.fields_then, ids: previous.ids_then },
    after: { fields: change.fields_then, ids: change.ids_then },
  }
}

/** Returns the current version with the old values of some fields. Throws if others are newer. */
async function revertFields(
  db: Db,
  current: Video,
  { before, after }: RecordedChange,
  fields: readonly (keyof Video)[],
): Promise<Video> {
  const namesOf = await currentNames(db, [before.ids, after.ids])
  const [old, made] = [namesOf(before.ids), namesOf(after.ids)]
  const lists = await findListEntities(db, current, fields)
  const categoryId = fields.includes('category') ? await findCategoryId(db, current.id) : undefined

  /** Returns the value that a field gets, or undefined if it was changed since. */
  const revertField = (field: keyof Video): unknown => {
    if (field === 'speakers' || field === 'tags')
      return revertList(old[field], made[field], lists[field])?.map(({ name }) => name)
    if (field !== 'category')
      return revertValue(before.fields[field], after.fields[field], current[field])
    const id = revertValue(old.category?.id, made.category?.id, categoryId)
    return id === categoryId ? current.category : id && old.category?.name
  }
  const reverted = fields.map((field) => [field, revertField(field)] as const)
  const changedSince = reverted.flatMap(([field, value]) => (value === undefined ? [field] : []))
  if (changedSince.length > 0)
    throw new Problem(
      'fields-changed',
      `Changed since this revision: ${changedSince.join(', ')}. Nothing was written`,
      { fields: changedSince },
    )
  return { ...current, ...Object.fromEntries(reverted) }
}

/**
 * Finds the entities in the lists of a record, with the names that the record has. While a rename
 * is being applied, these can be former names.
 */
async function findListEntities(
  db: Db,
  current: Video,
  fields: readonly (keyof Video)[],
): Promise<{ speakers: NamedEntity[]; tags: NamedEntity[] }> {
  const namesIn = (field: 'speakers' | 'tags') => (fields.includes(field) ? current[field] : [])
  const names = { speakers: namesIn('speakers'), tags: namesIn('tags') }
  if (names.speakers.length + names.tags.length === 0) return { speakers: [], tags: [] }
  const resolved = await resolveNames(db, names)
  if ('errors' in resolved) throw invalidFields(resolved.errors)
  // A name that does not resolve is in no other list and stays.
  const entitiesOf = (field: 'speakers' | 'tags') =>
    names[field].map((name, index) => ({ id: resolved.found[field][index]?.id ?? -index, name }))
  return { speakers: entitiesOf('speakers'), tags: entitiesOf('tags') }
}

/** Returns the old value, or undefined if the current one is neither that nor the new one. */
function revertValue<T>(before: T, after: T, current: T): T | undefined {
  const isSame = (a: T, b: T) => JSON.stringify(a) === JSON.stringify(b)
  if (isSame(before, after) || isSame(current, before)) return current
  return isSame(current, after) ? before : undefined
}

/**
 * Reverts a change of a list by element: removes what the change added, and returns what it removed
 * to the place behind its old neighbour. If the change also reordered elements, they get their old
 * order back. Returns undefined if they were reordered since, or the list becomes too long.
 */
export function revertList(
  before: readonly NamedEntity[],
  after: readonly NamedEntity[],
  current: readonly NamedEntity[],
): NamedEntity[] | undefined {
  const kept = current.filter((entity) => !has(after, entity) || has(before, entity))
  const reverted = revertOrder(before, after, kept)
  if (!reverted) return undefined
  for (const [index, entity] of before.entries()) {
    if (has(after, entity) || has(reverted, entity)) continue
    const neighbour = before.slice(0, index).findLast((earlier) => has(reverted, earlier))
    const position = neighbour ? reverted.findIndex(({ id }) => id === neighbour.id) + 1 : 0
    reverted.splice(position, 0, entity)
  }
  return reverted.length > maxNames ? undefined : reverted
}

/** Returns the elements in their old order, or undefined if they were reordered since. */
function revertOrder(
  before: readonly NamedEntity[],
  after: readonly NamedEntity[],
  kept: readonly NamedEntity[],
): NamedEntity[] | undefined {
  const isCommon = (entity: NamedEntity) => [before, after, kept].every((list) => has(list, entity))
  const idsOf = (list: readonly NamedEntity[]) => list.filter(isCommon).map(({ id }) => id)
  const order = revertValue(idsOf(before), idsOf(after), idsOf(kept))
  if (!order) return undefined
  const byId = new Map(kept.map((entity) => [entity.id, entity]))
  const ordered = order.map((id) => byId.get(id) as NamedEntity)
  return kept.map((entity) => (isCommon(entity) ? (ordered.shift() as NamedEntity) : entity))
}

const has = (list: readonly NamedEntity[], { id }: NamedEntity) =>
  list.some((entity) => entity.id === id)
