import { invalidFields, Problem, states, type Video, type VideoInput, videoDefaults } from '@talkshelf/contract'
import { findVersion, type Request, stillWanted } from '../changes/changes.ts'
import { type Db, Taken } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import { slugify } from '../platform/slug.ts'
import { resolveNames } from '../vocabulary/vocabulary.ts'
import { embedFor } from './embed.ts'
import { deleteOldKeys, findKey, freeVideoSlug, insertKey, insertVideo, nextVideoId } from './queries.ts'
import { findCurrent } from './read.ts'
import { type Complete, newNames, newVersion, noNewNames, type SentVideo } from './update.ts'
import { momentAfter, rendered, writableOf } from './wire.ts'

export interface Created extends SentVideo {
  readonly id: number
}

/** Creates a record. With a key, the same request within 24 hours gives the first answer again. */
export async function createVideo(pool: Pool, input: VideoInput, request: Request, key: string | undefined): Promise<Created> {
  const { token } = request.origin.actor
  if (key === undefined || token === null)
    return (await insertNew(pool, input, request, noNewNames)) ?? pool.transaction((tx) => insertWithNames(tx, input, request))

  const first = await firstAnswer(pool, token, key, request)
  if (first) return first
  try {
    return await pool.transaction(async (tx) => {
      await deleteOldKeys(tx, token, key)
      const created = await insertWithNames(tx, input, request)
      await insertKey(tx, token, key, request.hash, created.id)
      return created
    })
  } catch (error) {
    // The same key at the same time: the other one was first, and everything here was rolled back.
    if (!(error instanceof Taken && error.index === 'idempotency_key_once')) throw error
    return (await firstAnswer(pool, token, key, request)) ?? Promise.reject(error)
  }
}

async function insertWithNames(tx: Db, input: VideoInput, request: Request): Promise<Created> {
  const created = await insertNew(tx, input, request, (names, found) => newNames(tx, names, found))
  if (!created) throw new Error('New names were not made')
  return created
}

async function insertNew(db: Db, input: VideoInput, request: Request, complete: Complete): Promise<Created | undefined> {
  const embed = input.embed ?? embedFor(input.source_url)
  const wanted = { ...videoDefaults, state: states.draft, ...writableOf(input), embed } as Video
  const found = await resolveNames(db, wanted)
  if ('errors' in found) throw invalidFields(found.errors)
  const lists = await complete(wanted, found.ids)
  if (!lists) return undefined

  const { id } = await nextVideoId(db)
  const now = momentAfter(undefined)
  const ids = { category: found.ids.category, language: found.ids.language, ...lists }
  const base = slugify(wanted.title)
  // The plain slug is free nearly always: it is tried before anybody asks.
  for (let attempt = 0; ; attempt++) {
    const slug = attempt === 0 && base !== '' ? base : await freeVideoSlug(db, base, attempt)
    const video: Video = {
      ...wanted,
      id,
      slug,
      language: found.ids.languageName ?? wanted.language,
      added: now,
      updated: now,
    }
    const version = newVersion(video, 1, ids, {
      subject: 'video',
      kind: 'created',
      before: {},
      after: video,
      ids,
      at: `${now}Z`,
      origin: request.origin,
      requestHash: request.hash,
    })
    stillWanted(request)
    if (await insertVideo(db, version)) return { id, body: version.body, tag: version.tag }
  }
}

// The record may have changed since; the first answer was its first revision, and that is kept for ever.
async function firstAnswer(db: Db, token: number, key: string, request: Request): Promise<Created | undefined> {
  const found = await findKey(db, token, key)
  if (!found) return undefined
  if (!found.request_hash.equals(request.hash)) throw new Problem('key-reused', 'This Idempotency-Key was sent with another body before')
  await findCurrent(db, found.video_id)
  const created = await findVersion(db, 'video', found.video_id, 1)
  return { id: found.video_id, ...rendered(created?.fields_then as Video, 1) }
}
