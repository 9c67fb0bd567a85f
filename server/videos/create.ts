import { Problem, states, type Video, type VideoInput, videoDefaults } from '@talkshelf/contract'
import { assertBeforeDeadline, retryOnConflict, type WriteContext } from '../changes/changes.ts'
import { type Db, UniqueViolation } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import { slugify } from '../platform/slug.ts'
import { embedHtml } from './embed.ts'
import { assertMayEditEvent } from './event-access.ts'
import {
  deleteExpiredKeys,
  findIdempotencyKey,
  freeVideoSlug,
  insertIdempotencyKey,
  insertVideo,
  nextVideoId,
} from './queries.ts'
import { readCurrent } from './read.ts'
import {
  type CompleteNames,
  createMissingNames,
  failOnMissingNames,
  resolveRecordNames,
} from './record-names.ts'
import { findRevision } from './revisions.ts'
import { newVersion, type RenderedVideo } from './update.ts'
import { renderVideo, timestampAfter, writableFields } from './wire.ts'

// Creates single records, optionally with an idempotency key.

export interface CreatedVideo extends RenderedVideo {
  readonly id: number
}

/**
 * Creates a record. With a key, the same request within 24 hours gets the first response again.
 * Without one, a record whose names all exist is written without a transaction. Missing speakers
 * and tags are created; an unknown category or language is an invalid field. Throws 409 if the key
 * was used with another body, and 410 if the record that it created was taken down.
 */
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

  const earlier = await findFirstResponse(pool, token, key, context)
  if (earlier) return earlier
  try {
    return await pool.transaction(async (tx) => {
      await deleteExpiredKeys(tx, token, key)
      const created = await insertWithNames(tx, input, context)
      await insertIdempotencyKey(tx, token, key, context.hash, created.id)
      return created
    })
  } catch (error) {
    // A concurrent request with the same key was committed first, and this one was rolled back.
    if (!(error instanceof UniqueViolation)) throw error
    return (await findFirstResponse(pool, token, key, context)) ?? Promise.reject(error)
  }
}

async function insertWithNames(
  tx: Db,
  input: VideoInput,
  context: WriteContext,
): Promise<CreatedVideo> {
  // Not undefined, because missing names are created.
  return (await insertNew(tx, input, context, (names, found) =>
    createMissingNames(tx, names, found, context),
  )) as CreatedVideo
}

/** Inserts a record. Returns undefined if `complete` does. */
async function insertNew(
  db: Db,
  input: VideoInput,
  context: WriteContext,
  complete: CompleteNames,
): Promise<CreatedVideo | undefined> {
  const embed = input.embed ?? embedHtml(input.source_url)
  const requested = {
    ...videoDefaults,
    state: states.draft,
    ...writableFields(input),
    embed,
  } as Video
  let id: number | undefined
  const now = timestampAfter(undefined)
  const base = slugify(requested.title)
  const created = await retryOnConflict<CreatedVideo | 'names are missing'>(
    context,
    async (attempt) => {
      const named = await resolveRecordNames(db, undefined, requested, complete)
      if (!named) return 'names are missing'
      assertMayEditEvent(context.origin.actor, named.ids.category)
      id ??= (await nextVideoId(db)).id
      // The plain slug is nearly always free, so the first attempt saves the lookup.
      const slug = attempt === 1 && base !== '' ? base : await freeVideoSlug(db, base, attempt - 1)
      const video: Video = { ...named.video, id, slug, added: now, updated: now }
      const version = newVersion(video, 1, named, {
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
      // Retries if the slug was taken or a name has changed.
      return (await insertVideo(db, version))
        ? { id, body: version.body, etag: version.etag }
        : undefined
    },
  )
  return created === 'names are missing' ? undefined : created
}

/**
 * Finds the response of the first request with this key: revision 1 of the record, even if the
 * record has changed since, but with the current names of its entities.
 */
async function findFirstResponse(
  db: Db,
  token: number,
  key: string,
  context: WriteContext,
): Promise<CreatedVideo | undefined> {
  const row = await findIdempotencyKey(db, token, key)
  if (!row) return undefined
  if (!row.request_hash.equals(context.hash))
    throw new Problem('key-reused', 'This Idempotency-Key was already used with a different body')
  // Throws if the record was taken down.
  await readCurrent(db, row.video_id)
  const created = await findRevision(db, row.video_id, 1)
  return { id: row.video_id, ...renderVideo(created?.record as Video, 1) }
}
