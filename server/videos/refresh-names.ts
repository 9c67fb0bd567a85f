import { invalidFields, maxNames, type Video } from '@talkshelf/contract'
import type { WriteContext } from '../changes/changes.ts'
import {
  currentNames,
  type EntityKind,
  type NamedEntity,
  type RecordEntityIds,
} from '../entities/entities.ts'
import type { Db } from '../platform/db/db.ts'
import { readOriginalIds } from './ids-before-merge.ts'
import {
  type BodyWithIds,
  findBodiesWithIds,
  lockVideos,
  refreshSearchRows,
  updateIds,
} from './queries.ts'
import { noAdditions } from './record-names.ts'
import { writeVersion } from './update.ts'
import { changedFields } from './wire.ts'

// Updates the names in records after an entity was renamed, merged, unmerged or split. Each update is a
// normal change, attributed to the actor of the rename.

/**
 * Updates the names in records to the current names of their entities and returns the ids of those
 * that changed. Idempotent and independent of the order of renames, because it compares the current
 * state: a record with the right names is not written.
 */
export async function refreshNames(
  tx: Db,
  ids: readonly number[],
  context: WriteContext,
): Promise<number[]> {
  await lockVideos(tx, ids)
  return writeCurrentNames(tx, await findBodiesWithIds(tx, ids), (row) => row, context)
}

/** Replaces a speaker in records by another one. Every record must have one of the two. */
export async function replaceSpeaker(
  tx: Db,
  ids: readonly number[],
  from: number,
  to: number,
  context: WriteContext,
): Promise<number[]> {
  await lockVideos(tx, ids)
  const rows = new Map((await findBodiesWithIds(tx, ids)).map((row) => [row.id, row]))
  const errors = ids.flatMap((id, index) => {
    const speakers = rows.get(id)?.speakers ?? []
    // A record that has the new speaker was updated by an earlier attempt of the same request.
    if (speakers.includes(from) || speakers.includes(to)) return []
    return [
      {
        pointer: `/videos/${index}`,
        code: 'not-theirs',
        detail: 'is not the id of a record by this speaker',
      },
    ]
  })
  if (errors.length > 0) throw invalidFields(errors)
  return writeCurrentNames(
    tx,
    [...rows.values()],
    (row) => ({ ...row, speakers: row.speakers.map((id) => (id === from ? to : id)) }),
    context,
  )
}

async function writeCurrentNames(
  tx: Db,
  rows: readonly BodyWithIds[],
  entityIdsOf: (row: BodyWithIds) => RecordEntityIds,
  context: WriteContext,
): Promise<number[]> {
  const requested = rows.map(entityIdsOf)
  const originalIds = await readOriginalIds(
    tx,
    rows.map(({ id }) => id),
  )
  const originals = rows.map(({ id }, index) =>
    originalIds.of(id, requested[index] as RecordEntityIds),
  )
  const resolve = await currentNames(tx, [...requested, ...originals])
  const changed: number[] = []
  for (const [index, row] of rows.entries()) {
    const own = shortEnough(originals[index] as RecordEntityIds, requested[index], resolve)
    const { category, speakers, tags } = resolve(own)
    if (!category) throw new Error('A record without a category')
    originalIds.add(row.id, own, (kind, id) => currentId(resolve, kind, id))
    const ids = { category: category.id, speakers: speakers.map(idOf), tags: tags.map(idOf) }
    const names = {
      category: category.name,
      speakers: speakers.map(nameOf),
      tags: tags.map(nameOf),
    }
    if (await writeNames(tx, row, names, ids, context)) changed.push(row.id)
    else if (!hasSameIds(row, ids)) await updateIds(tx, row.id, ids)
  }
  await originalIds.save(tx)
  // A new name of the same entity changes no column that updates the search rows. Unchanged records
  // are included, because another writer may have written the new name before.
  await refreshSearchRows(
    tx,
    rows.map(({ id }) => id),
  )
  return changed
}

type ResolveIds = Awaited<ReturnType<typeof currentNames>>

/** Returns the original ids, or those of the record if undoing a merge made a list too long. */
function shortEnough(
  originals: RecordEntityIds,
  requested: RecordEntityIds | undefined,
  resolve: ResolveIds,
): RecordEntityIds {
  const { speakers, tags } = resolve(originals)
  const isTooLong = speakers.length > maxNames || tags.length > maxNames
  return isTooLong && requested ? requested : originals
}

/** Returns the current entity of an id, which is another one if it was merged. */
function currentId(resolve: ResolveIds, kind: EntityKind, id: number): number {
  const none = { category: 0, speakers: [], tags: [] }
  if (kind === 'category') return resolve({ ...none, category: id }).category?.id ?? id
  const field = kind === 'speaker' ? 'speakers' : 'tags'
  return resolve({ ...none, [field]: [id] })[field][0]?.id ?? id
}

/**
 * Writes a version with these names. Returns false if nothing changes, or the record was taken down
 * and has no visible names.
 */
async function writeNames(
  tx: Db,
  row: BodyWithIds,
  names: Partial<Video>,
  ids: RecordEntityIds,
  context: WriteContext,
): Promise<boolean> {
  if (row.taken_down) return false
  const before = JSON.parse(row.body) as Video
  const after = { ...before, ...names }
  if (changedFields(before, after).length === 0) return false
  const version = { video: after, ids: { ...ids, language: undefined }, added: noAdditions }
  if (!(await writeVersion(tx, row, before, version, 'updated', context)))
    throw new Error('A locked record has changed')
  return true
}

const idOf = ({ id }: NamedEntity) => id
const nameOf = ({ name }: NamedEntity) => name

function hasSameIds(row: RecordEntityIds, ids: RecordEntityIds): boolean {
  return (
    row.category === ids.category &&
    String(row.speakers) === String(ids.speakers) &&
    String(row.tags) === String(ids.tags)
  )
}
