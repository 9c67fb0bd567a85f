import { Problem, type Video, videoFields } from '@talkshelf/contract'
import {
  type ChangeSummary,
  countChanges,
  findVersion,
  listChanges,
  type WriteContext,
} from '../changes/changes.ts'
import { currentNames, type NamedEntity } from '../entities/entities.ts'
import type { Db } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import { readPresent } from './read.ts'
import { changeVideo, type RenderedVideo } from './update.ts'

// The history of a record: list, read and restore revisions.

export const revisionsPerPage = 50

/** Lists a page of the changes of a record, newest first. */
export async function listRevisions(
  db: Db,
  id: number,
  page: number,
): Promise<{ count: number; results: ChangeSummary[] }> {
  await readPresent(db, id)
  const count = await countChanges(db, 'video', id)
  const results = await listChanges(
    db,
    'video',
    id,
    revisionsPerPage,
    (page - 1) * revisionsPerPage,
  )
  if (results.length === 0) throw new Problem('not-found', 'Page out of range')
  return { count, results }
}

/** Reads a record as it was at a revision, with the current names of its entities. */
export async function readRevision(
  db: Db,
  id: number,
  revision: number,
): Promise<ChangeSummary & { record: Video }> {
  await readPresent(db, id)
  const version = await findRevision(db, id, revision)
  if (!version) throw new Problem('not-found', 'This revision does not exist')
  return version
}

/**
 * Finds a revision in the history. Entities have their current names, because former names are
 * never shown.
 */
export async function findRevision(
  db: Db,
  id: number,
  revision: number,
): Promise<(ChangeSummary & { record: Video }) | undefined> {
  const version = await findVersion(db, 'video', id, revision)
  if (!version?.ids_then) return undefined
  const { fields_then, ids_then, ...summary } = version
  const { category, speakers, tags } = (await currentNames(db, [ids_then]))(ids_then)
  const nameOf = ({ name }: NamedEntity) => name
  const names = { category: category?.name, speakers: speakers.map(nameOf), tags: tags.map(nameOf) }
  const fields: Record<string, unknown> = { ...fields_then, ...names, updated: version.at }
  return {
    ...summary,
    record: Object.fromEntries(videoFields.map((field) => [field, fields[field]])) as Video,
  }
}

/**
 * Writes the content of an earlier revision as a new one. Id, slug and `added` stay. A record that
 * was merged into another one is a record of its own again.
 */
export async function restoreRevision(
  pool: Pool,
  id: number,
  revision: number,
  context: WriteContext,
): Promise<RenderedVideo> {
  const { record } = await readRevision(pool, id, revision)
  const next = ({ slug, added, updated }: Video): Video => ({ ...record, id, slug, added, updated })
  return changeVideo(pool, id, context, next, { kind: 'restored', unmerges: true })
}
