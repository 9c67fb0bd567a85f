import { invalidFields, type Video } from '@talkshelf/contract'
import type { WriteContext } from '../changes/changes.ts'
import { currentNames, type NamedEntity, type RecordEntityIds } from '../entities/entities.ts'
import type { Db } from '../platform/db/db.ts'
import {
  type BodyWithIds,
  findBodiesWithIds,
  lockVideos,
  refreshSearchRows,
  updateIds,
} from './queries.ts'
import { noAdditions, writeVersion } from './update.ts'
import { changedFields } from './wire.ts'

// When what a record shows is renamed, merged or split, the record follows: a change like any
// other, by whoever did it.

/**
 * Lets these records show what their entities are called now. It looks at what is there and not at
 * what happened, so it may be done twice, or in any order with other renames: a record that shows
 * the right names already is left alone. Tells which records changed.
 */
export async function refreshNames(
  tx: Db,
  ids: readonly number[],
  context: WriteContext,
): Promise<number[]> {
  await lockVideos(tx, ids)
  return follow(tx, await findBodiesWithIds(tx, ids), (row) => row, context)
}

/** Puts one speaker in the place of another. Every record must have one of the two. */
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
    // One that has the other already: the answer to the first time was lost.
    if (speakers.includes(from) || speakers.includes(to)) return []
    return [
      {
        pointer: `/videos/${index}`,
        code: 'not-theirs',
        detail: 'is not the id of a record of this speaker',
      },
    ]
  })
  if (errors.length > 0) throw invalidFields(errors)
  return follow(
    tx,
    [...rows.values()],
    (row) => ({ ...row, speakers: row.speakers.map((id) => (id === from ? to : id)) }),
    context,
  )
}

async function follow(
  tx: Db,
  rows: readonly BodyWithIds[],
  next: (row: BodyWithIds) => RecordEntityIds,
  context: WriteContext,
): Promise<number[]> {
  const wanted = rows.map(next)
  const now = await currentNames(tx, wanted)
  const changed: number[] = []
  for (const [index, row] of rows.entries()) {
    const { category, speakers, tags } = now(wanted[index] as RecordEntityIds)
    if (!category) throw new Error('A record without a category')
    const ids = { category: category.id, speakers: speakers.map(idOf), tags: tags.map(idOf) }
    const names = {
      category: category.name,
      speakers: speakers.map(nameOf),
      tags: tags.map(nameOf),
    }
    if (await isShownAnew(tx, row, names, ids, context)) changed.push(row.id)
    else if (!isSame(row, ids)) await updateIds(tx, row.id, ids)
  }
  // A new name of the same entity changes no column that the search looks at; nor did it where
  // somebody else wrote the name before us.
  await refreshSearchRows(
    tx,
    rows.map(({ id }) => id),
  )
  return changed
}

/**
 * Writes a version with these names, and tells whether it is another one. What was taken down shows
 * none.
 */
async function isShownAnew(
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
  if (
    !(await writeVersion(
      tx,
      row,
      before,
      { after, ids: { ...ids, language: undefined }, added: noAdditions },
      'updated',
      context,
    ))
  )
    throw new Error('A locked record has changed')
  return true
}

const idOf = ({ id }: NamedEntity) => id
const nameOf = ({ name }: NamedEntity) => name

function isSame(row: RecordEntityIds, ids: RecordEntityIds): boolean {
  return (
    row.category === ids.category &&
    String(row.speakers) === String(ids.speakers) &&
    String(row.tags) === String(ids.tags)
  )
}
