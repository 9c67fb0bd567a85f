import { invalidFields, Problem, states, type Video, type VideoInput, videoDefaults } from '@talkshelf/contract'
import { type Request, stillWanted } from '../changes/changes.ts'
import { type Db, Taken } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import { slugify } from '../platform/slug.ts'
import { type Named, once, resolveNames } from '../vocabulary/vocabulary.ts'
import { embedFor } from './embed.ts'
import { deleteOldKeys, findKey, freeVideoSlug, insertKey, insertVideo, nextVideoId } from './queries.ts'
import { findCurrent } from './read.ts'
import { findRevision } from './revisions.ts'
import { addedOf, type Complete, newNames, newVersion, noNewNames, type SentVideo } from './update.ts'
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
  let id: number | undefined
  const now = momentAfter(undefined)
  const base = slugify(wanted.title)
  for (let attempt = 0; ; attempt++) {
    const named = await withNames(db, wanted, complete)
    if (!named) return undefined
    id ??= (await nextVideoId(db)).id
    // The plain slug is free nearly always: it is tried before anybody asks.
    const slug = attempt === 0 && base !== '' ? base : await freeVideoSlug(db, base, attempt)
    const video: Video = { ...wanted, ...named.names, id, slug, added: now, updated: now }
    const version = newVersion(video, 1, named.ids, named.added, {
      subject: 'video',
      kind: 'created',
      before: {},
      after: video,
      ids: named.ids,
      at: `${now}Z`,
      origin: request.origin,
      requestHash: request.hash,
    })
    stillWanted(request)
    if (await insertVideo(db, version)) return { id, body: version.body, tag: version.tag }
  }
}

/** The things of the record, by their own names. */
async function withNames(db: Db, wanted: Video, complete: Complete) {
  const resolved = await resolveNames(db, wanted)
  if ('errors' in resolved) throw invalidFields(resolved.errors)
  const { category, language } = resolved.found
  const lists = await complete(wanted, resolved.found)
  if (!lists || !category || !language) return undefined
  const [speakers, tags] = [once(lists.speakers), once(lists.tags)]
  const nameOf = ({ name }: Named) => name
  const idOf = ({ id }: Named) => id
  return {
    names: { category: category.name, language: language.name, speakers: speakers.map(nameOf), tags: tags.map(nameOf) },
    ids: { category: category.id, language: language.id, speakers: speakers.map(idOf), tags: tags.map(idOf) },
    added: addedOf(category, speakers, tags),
  }
}

// The record may have changed since; the first answer was its first revision, and that is kept for ever. But for the names: whoever was renamed
// since is called as today.
async function firstAnswer(db: Db, token: number, key: string, request: Request): Promise<Created | undefined> {
  const found = await findKey(db, token, key)
  if (!found) return undefined
  if (!found.request_hash.equals(request.hash)) throw new Problem('key-reused', 'This Idempotency-Key was sent with another body before')
  await findCurrent(db, found.video_id)
  const created = await findRevision(db, found.video_id, 1)
  return { id: found.video_id, ...rendered(created?.record as Video, 1) }
}
