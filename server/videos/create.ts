import {
  invalidFields,
  Problem,
  states,
  type Video,
  type VideoInput,
  videoDefaults,
} from '@talkshelf/contract'
import { assertBeforeDeadline, retryOnConflict, type WriteContext } from '../changes/changes.ts'
import {
  type NamedEntity,
  type ResolvedNames,
  resolveNames,
  uniqueById,
} from '../entities/entities.ts'
import { type Db, UniqueViolation } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import { slugify } from '../platform/slug.ts'
import { embedHtml } from './embed.ts'
import {
  deleteExpiredKeys,
  findIdempotencyKey,
  freeVideoSlug,
  insertIdempotencyKey,
  insertVideo,
  nextVideoId,
} from './queries.ts'
import { readCurrent } from './read.ts'
import { findRevision } from './revisions.ts'
import {
  addedEntities,
  type CompleteNames,
  createMissingNames,
  failOnMissingNames,
  newVersion,
  type RenderedVideo,
} from './update.ts'
import { renderVideo, timestampAfter, writableFields } from './wire.ts'

export interface CreatedVideo extends RenderedVideo {
  readonly id: number
}

/** Creates a record. With a key, the same request within 24 hours gives the first answer again. */
export async function createVideo(
  pool: Pool,
  input: VideoInput,
  context: WriteContext,
  key: string | undefined,
): Promise<CreatedVideo> {
  const { token } = context.origin.actor
  if (key === undefined || token === null)
    return (
      (await insertNew(pool, input, context, failOnMissingNames)) ??
      pool.transaction((tx) => insertWithNames(tx, input, context))
    )

  const first = await firstAnswer(pool, token, key, context)
  if (first) return first
  try {
    return await pool.transaction(async (tx) => {
      await deleteExpiredKeys(tx, token, key)
      const created = await insertWithNames(tx, input, context)
      await insertIdempotencyKey(tx, token, key, context.hash, created.id)
      return created
    })
  } catch (error) {
    // The same key at the same time: the other one was first, and everything here was rolled back.
    if (!(error instanceof UniqueViolation)) throw error
    return (await firstAnswer(pool, token, key, context)) ?? Promise.reject(error)
  }
}

async function insertWithNames(
  tx: Db,
  input: VideoInput,
  context: WriteContext,
): Promise<CreatedVideo> {
  // All names are made, so none is missing.
  return (await insertNew(tx, input, context, (names, found) =>
    createMissingNames(tx, names, found, context),
  )) as CreatedVideo
}

async function insertNew(
  db: Db,
  input: VideoInput,
  context: WriteContext,
  complete: CompleteNames,
): Promise<CreatedVideo | undefined> {
  const embed = input.embed ?? embedHtml(input.source_url)
  const wanted = { ...videoDefaults, state: states.draft, ...writableFields(input), embed } as Video
  let id: number | undefined
  const now = timestampAfter(undefined)
  const base = slugify(wanted.title)
  const written = await retryOnConflict<CreatedVideo | 'names are missing'>(
    context,
    async (attempt) => {
      const named = await withNames(db, wanted, complete)
      if (!named) return 'names are missing'
      id ??= (await nextVideoId(db)).id
      // The plain slug is free nearly always: it is tried before anybody asks.
      const slug = attempt === 1 && base !== '' ? base : await freeVideoSlug(db, base, attempt - 1)
      const video: Video = { ...wanted, ...named.names, id, slug, added: now, updated: now }
      const version = newVersion(video, 1, named.ids, named.added, {
        subject: 'video',
        kind: 'created',
        before: {},
        after: video,
        ids: named.ids,
        at: `${now}Z`,
        origin: context.origin,
        requestHash: context.hash,
      })
      assertBeforeDeadline(context)
      return (await insertVideo(db, version))
        ? { id, body: version.body, tag: version.tag }
        : undefined
    },
  )
  return written === 'names are missing' ? undefined : written
}

/** The entities of the record, by their own names. */
async function withNames(db: Db, wanted: Video, complete: CompleteNames) {
  const resolved = await resolveNames(db, wanted)
  if ('errors' in resolved) throw invalidFields(resolved.errors)
  const lists = await complete(wanted, resolved.found)
  if (!lists) return undefined
  const { category, language } = resolved.found as ResolvedNames & {
    category: NamedEntity
    language: NamedEntity
  }
  const [speakers, tags] = [uniqueById(lists.speakers), uniqueById(lists.tags)]
  const nameOf = ({ name }: NamedEntity) => name
  const idOf = ({ id }: NamedEntity) => id
  return {
    names: {
      category: category.name,
      language: language.name,
      speakers: speakers.map(nameOf),
      tags: tags.map(nameOf),
    },
    ids: {
      category: category.id,
      language: language.id,
      speakers: speakers.map(idOf),
      tags: tags.map(idOf),
    },
    added: addedEntities(category, speakers, tags),
  }
}

// The record may have changed since; the first answer was its first revision, and that is kept for
// ever. But for the names: whoever was renamed since is called as today.
async function firstAnswer(
  db: Db,
  token: number,
  key: string,
  context: WriteContext,
): Promise<CreatedVideo | undefined> {
  const found = await findIdempotencyKey(db, token, key)
  if (!found) return undefined
  if (!found.request_hash.equals(context.hash))
    throw new Problem('key-reused', 'This Idempotency-Key was sent with another body before')
  await readCurrent(db, found.video_id)
  const created = await findRevision(db, found.video_id, 1)
  return { id: found.video_id, ...renderVideo(created?.record as Video, 1) }
}
