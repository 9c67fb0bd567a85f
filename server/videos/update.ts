import { check, type FieldError, invalidFields, type Video, VideoPatch } from '@talkshelf/contract'
import { precondition, type Request, stillWanted } from '../changes/changes.ts'
import type { Db } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import { createMissing, type FoundNames, type Named, once, resolveNames } from '../vocabulary/vocabulary.ts'
import { type Added, type BodyRow, findListIds, holdThings, lockVideo, type NewVersion, type RowIds, updateVideo } from './queries.ts'
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
      const complete: Complete = (names, found) => newNames(tx, names, found)
      // Names and things first, and then the record: everybody takes them in this order, and nobody waits for each other.
      await hold(tx, await findCurrent(tx, id), next, complete)
      await lockVideo(tx, id)
      const row = await findCurrent(tx, id)
      // The record can't move any more, but somebody may rename what it shall show, now and again.
      for (let tries = 0; tries < 10; tries++) {
        const written = await attempt(tx, row, request, next, kind, complete)
        if (written) return written
      }
      throw new Error('A locked record has changed')
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
  const named = await withNames(db, before, wanted, complete)
  return named && writeVersion(db, row, before, named, kind, request)
}

// All that is named, also what the record has already: what it has may be another by the time it is locked. What it shows under a name that
// leads nowhere is not made anew.
async function hold(tx: Db, row: BodyRow, next: Next, complete: Complete): Promise<void> {
  const before = JSON.parse(row.body) as Video
  const wanted = next(before)
  const differs = (field: 'category' | 'speakers' | 'tags') => JSON.stringify(before[field]) !== JSON.stringify(wanted[field])
  const resolved = await resolveNames(tx, {
    category: differs('category') ? wanted.category : undefined,
    speakers: differs('speakers') ? wanted.speakers : [],
    tags: differs('tags') ? wanted.tags : [],
  })
  if ('errors' in resolved) throw invalidFields(resolved.errors)
  const known = (field: 'speakers' | 'tags') =>
    resolved.found[field].flatMap((thing, place) => {
      const name = wanted[field][place] as string
      return thing || !before[field].includes(name) ? [{ name, thing }] : []
    })
  const [speakers, tags] = [known('speakers'), known('tags')]
  const names = { speakers: speakers.map(({ name }) => name), tags: tags.map(({ name }) => name) }
  const found = { ...resolved.found, speakers: speakers.map(({ thing }) => thing), tags: tags.map(({ thing }) => thing) }
  const lists = await complete(names, found)
  const added = addedOf(found.category, lists?.speakers ?? [], lists?.tags ?? [])
  if (added.category.length + added.speakers.length + added.tags.length > 0) await holdThings(tx, added)
}

/** Undefined where somebody was faster; the version that is there where nothing changed. */
export async function writeVersion(
  db: Db,
  row: BodyRow,
  before: Video,
  { after, ids, added }: NamedVersion,
  kind: 'updated' | 'restored',
  request: Request,
): Promise<SentVideo | undefined> {
  const changed = changedFields(before, after)
  if (changed.length === 0) return row
  const video = { ...after, updated: momentAfter(before.updated) }
  const version = newVersion(video, row.revision + 1, ids, added, {
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

export function newVersion(video: Video, revision: number, ids: RowIds, added: Added, change: NewVersion['change']): NewVersion {
  return { video, revision, ids, added, change, ...rendered(video, revision) }
}

/** A version with the names that its things have, and the ids of those that changed. */
export interface NamedVersion {
  readonly after: Video
  readonly ids: RowIds
  readonly added: Added
}

/** Finds or makes new speakers and tags; undefined where some are missing and must not be made here. */
export type Complete = (names: NewNames, found: FoundNames) => Promise<{ speakers: readonly Named[]; tags: readonly Named[] } | undefined>

interface NewNames {
  readonly speakers: readonly string[]
  readonly tags: readonly string[]
}

export const noNewNames: Complete = async (_, { speakers, tags }) => {
  const isThere = (it: Named | null) => it !== null
  return speakers.every(isThere) && tags.every(isThere) ? { speakers, tags } : undefined
}

export const newNames = async (tx: Db, names: NewNames, found: FoundNames) => ({
  speakers: await createMissing(tx, 'speaker', names.speakers, found.speakers),
  tags: await createMissing(tx, 'tag', names.tags, found.tags),
})

// Only names that changed are looked up; the others stay what they are, also while somebody renames the thing behind them: the new name
// reaches this record by itself. What is looked up is shown by its own name, whichever of its names was given, and once.
async function withNames(db: Db, before: Video, wanted: Video, complete: Complete): Promise<NamedVersion | undefined> {
  const differs = (field: 'category' | 'language' | 'speakers' | 'tags') => JSON.stringify(before[field]) !== JSON.stringify(wanted[field])
  if (!differs('category') && !differs('language') && !differs('speakers') && !differs('tags'))
    return { after: wanted, ids: noIds, added: nothing }
  const names = {
    speakers: wanted.speakers.filter((name) => !before.speakers.includes(name)),
    tags: wanted.tags.filter((name) => !before.tags.includes(name)),
  }
  const resolved = await resolveNames(db, {
    category: differs('category') ? wanted.category : undefined,
    language: differs('language') ? wanted.language : undefined,
    ...names,
  })
  if ('errors' in resolved) throw invalidFields(resolved.errors)
  const { category, language } = resolved.found
  const lists = await complete(names, resolved.found)
  if (!lists) return undefined

  const kept = differs('speakers') || differs('tags') ? await findListIds(db, before.id) : undefined
  const listOf = (field: 'speakers' | 'tags', ids: readonly number[] = []) =>
    once(
      wanted[field].map((name) => {
        const id = ids[before[field].indexOf(name)]
        return id === undefined ? (lists[field][names[field].indexOf(name)] as Named) : { id, name }
      }),
    )
  const speakers = differs('speakers') ? listOf('speakers', kept?.speaker_ids) : undefined
  const tags = differs('tags') ? listOf('tags', kept?.tag_ids) : undefined
  return {
    after: {
      ...wanted,
      category: category?.name ?? wanted.category,
      language: language?.name ?? wanted.language,
      speakers: speakers?.map(({ name }) => name) ?? wanted.speakers,
      tags: tags?.map(({ name }) => name) ?? wanted.tags,
    },
    ids: { category: category?.id, language: language?.id, speakers: speakers?.map(({ id }) => id), tags: tags?.map(({ id }) => id) },
    added: addedOf(category, lists.speakers, lists.tags),
  }
}

/** Each once, also where two names led to it. */
export function addedOf(category: Named | undefined, speakers: readonly Named[], tags: readonly Named[]): Added {
  return { category: category ? [category] : [], speakers: once(speakers), tags: once(tags) }
}

const noIds: RowIds = { category: undefined, language: undefined, speakers: undefined, tags: undefined }
export const nothing: Added = { category: [], speakers: [], tags: [] }

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
