import { Problem, type Video, videoFields } from '@talkshelf/contract'
import { type ChangeSummary, countChanges, findVersion, listChanges, type Request } from '../changes/changes.ts'
import type { Db } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import { findCurrent } from './read.ts'
import { changeVideo, type SentVideo } from './update.ts'

export const revisionsPerPage = 50

export async function listRevisions(db: Db, id: number, page: number): Promise<{ count: number; results: ChangeSummary[] }> {
  await findCurrent(db, id)
  const count = await countChanges(db, 'video', id)
  const results = await listChanges(db, 'video', id, revisionsPerPage, (page - 1) * revisionsPerPage)
  if (results.length === 0) throw new Problem('not-found', 'There are not so many pages')
  return { count, results }
}

/** The record as it was. */
export async function readRevision(db: Db, id: number, revision: number): Promise<ChangeSummary & { record: Video }> {
  await findCurrent(db, id)
  const version = await findVersion(db, 'video', id, revision)
  if (!version) throw new Problem('not-found', 'There is no such revision')
  const { fields_then, ...summary } = version
  const fields: Record<string, unknown> = { ...fields_then, updated: version.at }
  return { ...summary, record: Object.fromEntries(videoFields.map((field) => [field, fields[field]])) as Video }
}

export async function restoreRevision(pool: Pool, id: number, revision: number, request: Request): Promise<SentVideo> {
  const { record } = await readRevision(pool, id, revision)
  const next = ({ slug, added, updated }: Video): Video => ({ ...record, id, slug, added, updated })
  return changeVideo(pool, id, request, next, 'restored')
}
