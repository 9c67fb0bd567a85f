import { check, type FieldError, invalidFields, type Video, VideoPatch } from '@talkshelf/contract'
import { precondition, type Request } from '../changes/changes.ts'
import type { Db, Pool } from '../platform/db/db.ts'
import { createMissing, type NameIds, resolveNames } from '../vocabulary/vocabulary.ts'
import { lockVideo, type NewVersion, type RowIds, updateVideo } from './queries.ts'
import { findCurrent } from './read.ts'
import { changedFields, momentAfter, only, rendered } from './wire.ts'

/** A record as it is served. */
export interface SentVideo {
  readonly body: string
  readonly tag: string
}

/**
 * Changes a record. `next` makes the new version out of the current one, and may be called twice: the first try takes no
 * lock, and writes only if the record is still what it read. Where that fails, or a new speaker or tag has to be made as
 * well, a transaction does it, with the record locked.
 */
export async function changeVideo(
  pool: Pool,
  id: number,
  request: Request,
  next: Next,
  kind: 'updated' | 'restored' = 'updated',
): Promise<SentVideo> {
  return (
    (await attempt(pool, id, request, next, kind, noNewNames)) ??
    (await pool.transaction(async (tx) => {
      await lockVideo(tx, id)
      return (await attempt(tx, id, request, next, kind, (names, found) => newNames(tx, names, found))) ?? lost()
    }))
  )
}

export type Next = (before: Video) => Video

async function attempt(
  db: Db,
  id: number,
  request: Request,
  next: Next,
  kind: 'updated' | 'restored',
  complete: Complete,
): Promise<SentVideo | undefined> {
  const row = await findCurrent(db, id)
  const current = { id, revision: row.revision, tag: row.tag }
  if ((await precondition(db, 'video', current, request)) === 'repeated') return row

  const before = JSON.parse(row.body) as Video
  const wanted = next(before)
  const { after, ids } = await withIds(db, before, wanted, complete)
  if (ids === undefined) return undefined
  const changed = changedFields(before, after)
  if (changed.length === 0) return row

  const video = { ...after, updated: momentAfter(before.updated) }
  const version = newVersion(video, row.revision + 1, ids, {
    subject: 'video',
    kind,
    before: only(before, changed),
    after: only(after, changed),
    at: `${video.updated}Z`,
    origin: request.origin,
    requestHash: request.hash,
  })
  return (await updateVideo(db, version)) ? version : undefined
}

export function newVersion(video: Video, revision: number, ids: RowIds, change: NewVersion['change']): NewVersion {
  return { video, revision, ids, change, ...rendered(video, revision) }
}

/** Finds or makes the ids of speakers and tags; undefined where some are missing and must not be made here. */
export type Complete = (names: Video, found: NameIds) => Promise<Pick<RowIds, 'speakers' | 'tags'> | undefined>

export const noNewNames: Complete = async (_, { speakerIds, tagIds }) => {
  const isThere = (id: number | null) => id !== null
  return speakerIds.every(isThere) && tagIds.every(isThere) ? { speakers: speakerIds, tags: tagIds } : undefined
}

export const newNames = async (tx: Db, names: Video, { speakerIds, tagIds }: NameIds) => ({
  speakers: await createMissing(tx, 'speaker', names.speakers, speakerIds),
  tags: await createMissing(tx, 'tag', names.tags, tagIds),
})

// Most changes leave the names alone, and then nothing has to be looked up.
async function withIds(db: Db, before: Video, wanted: Video, complete: Complete): Promise<{ after: Video; ids: RowIds | undefined }> {
  const same = (['category', 'language', 'speakers', 'tags'] as const).every(
    (field) => JSON.stringify(before[field]) === JSON.stringify(wanted[field]),
  )
  if (same) return { after: wanted, ids: { category: undefined, language: undefined, speakers: undefined, tags: undefined } }
  const found = await resolveNames(db, wanted)
  if ('errors' in found) throw invalidFields(found.errors)
  const lists = await complete(wanted, found.ids)
  const ids = lists && { category: found.ids.categoryId, language: found.ids.languageId, ...lists }
  return { after: { ...wanted, language: found.ids.language }, ids }
}

/** Everything that is wrong with the fields that were sent, known and unknown to the database alike. */
export async function fieldErrors(db: Db, schema: Parameters<typeof check>[0], sent: Record<string, unknown>): Promise<FieldError[]> {
  const errors = check(schema, sent)
  if (errors.length === 0) return []
  // One answer names every wrong field, so the names are looked up although the body is refused already.
  const text = (field: 'category' | 'language') =>
    check(VideoPatch, { [field]: sent[field] }).length === 0 ? (sent[field] as string) : undefined
  const [category, language] = [text('category'), text('language')]
  const found = await resolveNames(db, { category: category ?? '', language: language ?? '', speakers: [], tags: [] })
  const unknown = 'errors' in found ? found.errors : []
  return [...errors, ...unknown.filter(({ pointer }) => (pointer === '/category' ? category : language) !== undefined)]
}

function lost(): never {
  throw new Error('A locked record has changed')
}
