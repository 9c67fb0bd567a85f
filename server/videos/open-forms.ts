import type { Video } from '@talkshelf/contract'
import { openFormerNames } from '../entities/entities.ts'
import type { Db } from '../platform/db/db.ts'
import { hasLaterRequest } from './queries.ts'

/**
 * Removes former names of speakers from an edit that was made in a form. If a name was changed after
 * the form was opened, the fields that were not edited have the former name, while the base of the
 * edit has the new one: these are no edits. Texts that keep a former name by choice stay.
 */
export async function removeFormerNames<T extends Partial<Video>>(
  db: Db,
  base: Video,
  revision: number,
  edit: T,
): Promise<T> {
  if (Object.keys(edit).length === 0) return edit
  if (!(await hasLaterRequest(db, base.id, revision, 'name change %'))) return edit
  const names = await openFormerNames(db)
  if (!names) return edit
  const fields = Object.entries(edit).flatMap(([field, value]) => {
    const old = { [field]: base[field as keyof Video] }
    if (names.value(old) !== old) return [[field, value]]
    const replaced = names.value({ [field]: value })
    return JSON.stringify(replaced) === JSON.stringify(old) ? [] : Object.entries(replaced)
  })
  return Object.fromEntries(fields) as T
}
