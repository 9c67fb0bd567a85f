import { invalidFields, type Video } from '@talkshelf/contract'
import type { Request } from '../changes/changes.ts'
import type { Db } from '../platform/db/db.ts'
import { type Named, namesNow, type ThingIds } from '../vocabulary/vocabulary.ts'
import { findNamed, lockVideos, type NamedRow, readWordsAgain, updateIds } from './queries.ts'
import { nothing, writeVersion } from './update.ts'
import { changedFields } from './wire.ts'

// When what a record shows is renamed, merged or split, the record follows: a change like any other, by whoever did it.

/**
 * Lets these records show what their things are called now. It looks at what is there and not at what happened, so it may be done twice, or
 * in any order with other renames: a record that shows the right names already is left alone. Tells which records changed.
 */
export async function followNames(tx: Db, ids: readonly number[], request: Request): Promise<number[]> {
  await lockVideos(tx, ids)
  return follow(tx, await findNamed(tx, ids), (row) => row, request)
}

/** Puts one speaker in the place of another. Every record must have one of the two. */
export async function exchangeSpeaker(tx: Db, ids: readonly number[], from: number, to: number, request: Request): Promise<number[]> {
  await lockVideos(tx, ids)
  const rows = new Map((await findNamed(tx, ids)).map((row) => [row.id, row]))
  const errors = ids.flatMap((id, place) => {
    const speakers = rows.get(id)?.speakers ?? []
    // One that has the other already: the answer to the first time was lost.
    if (speakers.includes(from) || speakers.includes(to)) return []
    return [{ pointer: `/videos/${place}`, code: 'not-theirs', detail: 'is not the id of a record of this speaker' }]
  })
  if (errors.length > 0) throw invalidFields(errors)
  return follow(tx, [...rows.values()], (row) => ({ ...row, speakers: row.speakers.map((id) => (id === from ? to : id)) }), request)
}

async function follow(tx: Db, rows: readonly NamedRow[], next: (row: NamedRow) => ThingIds, request: Request): Promise<number[]> {
  const wanted = rows.map(next)
  const now = await namesNow(tx, wanted)
  const changed: number[] = []
  for (const [place, row] of rows.entries()) {
    const { category, speakers, tags } = now(wanted[place] as ThingIds)
    if (!category) throw new Error('A record without a category')
    const ids = { category: category.id, speakers: speakers.map(idOf), tags: tags.map(idOf) }
    const before = row.taken_down ? undefined : (JSON.parse(row.body) as Video)
    const after = before && { ...before, category: category.name, speakers: speakers.map(nameOf), tags: tags.map(nameOf) }
    if (before && after && changedFields(before, after).length > 0) {
      if (!(await writeVersion(tx, row, before, { after, ids: { ...ids, language: undefined }, added: nothing }, 'updated', request)))
        throw new Error('A locked record has changed')
      changed.push(row.id)
    } else if (!isSame(row, ids)) await updateIds(tx, row.id, ids)
  }
  // A new name of the same thing changes no column that the search looks at; nor did it where somebody else wrote the name before us.
  if (rows.length > 0)
    await readWordsAgain(
      tx,
      rows.map(({ id }) => id),
    )
  return changed
}

const idOf = ({ id }: Named) => id
const nameOf = ({ name }: Named) => name

function isSame(row: ThingIds, ids: ThingIds): boolean {
  return row.category === ids.category && String(row.speakers) === String(ids.speakers) && String(row.tags) === String(ids.tags)
}
