import { check, type FieldError, invalidFields, type Video, VideoPatch } from '@talkshelf/contract'
import { precondition, type Request, stillWanted } from '../changes/changes.ts'
import type { Db } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import { createMissing, type NameIds, resolveNames } from '../vocabulary/vocabulary.ts'
import { type BodyRow, findListIds, lockVideo, type NewVersion, type RowIds, updateVideo } from './queries.ts'
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
    (await attempt(pool, await findCurrent(pool.lookups, id), request, next, kind, noNewNames)) ??
    (await pool.transaction(async (tx) => {
      await lockVideo(tx, id)
      return (await attempt(tx, await findCurrent(tx, id), request, next, kind, (names, found) => newNames(tx, names, found))) ?? lost()
    }))
  )
}

export type Next = (before: Video) => Video

async function attempt(
  db: Db,
  row: BodyRow,
  request: Request,
  next: Next,
  kind: 'updated' | 'restored',
  complete: Complete,
): Promise<SentVideo | undefined> {
  const verdict = await precondition(db, 'video', row, request)
  if (verdict !== 'proceed') return verdict === 'repeated' ? row : undefined

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
    ids,
    at: `${video.updated}Z`,
    origin: request.origin,
    requestHash: request.hash,
  })
  stillWanted(request)
  return (await updateVideo(db, version)) ? version : undefined
}

export function newVersion(video: Video, revision: number, ids: RowIds, change: NewVersion['change']): NewVersion {
  return { video, revision, ids, change, ...rendered(video, revision) }
}

/** Finds or makes the ids of new speakers and tags; undefined where some are missing and must not be made here. */
export type Complete = (names: NewNames, found: NameIds) => Promise<{ speakers: readonly number[]; tags: readonly number[] } | undefined>

interface NewNames {
  readonly speakers: readonly string[]
  readonly tags: readonly string[]
}

export const noNewNames: Complete = async (_, { speakers, tags }) => {
  const isThere = (id: number | null) => id !== null
  return speakers.every(isThere) && tags.every(isThere) ? { speakers: speakers as number[], tags: tags as number[] } : undefined
}

export const newNames = async (tx: Db, names: NewNames, found: NameIds) => ({
  speakers: await createMissing(tx, 'speaker', names.speakers, found.speakers),
  tags: await createMissing(tx, 'tag', names.tags, found.tags),
})

// Only names that changed are looked up; the others stay what they are, also while somebody renames the thing behind them.
async function withIds(db: Db, before: Video, wanted: Video, complete: Complete): Promise<{ after: Video; ids: RowIds | undefined }> {
  const differs = (field: 'category' | 'language' | 'speakers' | 'tags') => JSON.stringify(before[field]) !== JSON.stringify(wanted[field])
  if (!differs('category') && !differs('language') && !differs('speakers') && !differs('tags')) return { after: wanted, ids: noIds }
  const added = {
    speakers: wanted.speakers.filter((name) => !before.speakers.includes(name)),
    tags: wanted.tags.filter((name) => !before.tags.includes(name)),
  }
  const found = await resolveNames(db, {
    category: differs('category') ? wanted.category : undefined,
    language: differs('language') ? wanted.language : undefined,
    ...added,
  })
  if ('errors' in found) throw invalidFields(found.errors)
  const lists = await complete(added, found.ids)
  if (!lists) return { after: wanted, ids: undefined }

  const kept = differs('speakers') || differs('tags') ? await findListIds(db, before.id) : undefined
  const idsOf = (field: 'speakers' | 'tags', keptIds: readonly number[] = []) =>
    wanted[field].map((name) => keptIds[before[field].indexOf(name)] ?? (lists[field][added[field].indexOf(name)] as number))
  const ids = {
    category: found.ids.category,
    language: found.ids.language,
    speakers: differs('speakers') ? idsOf('speakers', kept?.speaker_ids) : undefined,
    tags: differs('tags') ? idsOf('tags', kept?.tag_ids) : undefined,
  }
  return { after: { ...wanted, language: found.ids.languageName ?? wanted.language }, ids }
}

const noIds: RowIds = { category: undefined, language: undefined, speakers: undefined, tags: undefined }

/** Everything that is wrong with the fields that were sent, known and unknown to the database alike. */
export async function fieldErrors(db: Db, schema: Parameters<typeof check>[0], sent: Record<string, unknown>): Promise<FieldError[]> {
  const errors = check(schema, sent)
  if (errors.length === 0) return []
  // One answer names every wrong field, so the names are looked up although the body is refused already.
  const text = (field: 'category' | 'language') =>
    check(VideoPatch, { [field]: sent[field] }).length === 0 ? (sent[field] as string) : undefined
  const found = await resolveNames(db, { category: text('category'), language: text('language'), speakers: [], tags: [] })
  return 'errors' in found ? [...errors, ...found.errors] : errors
}

function lost(): never {
  throw new Error('A locked record has changed')
}
