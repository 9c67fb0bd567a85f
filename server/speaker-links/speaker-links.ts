import { Problem, type SuggestionInput, type Video } from '@talkshelf/contract'
import {
  type AuditOrigin,
  hashSecret,
  isWellFormedSecret,
  makeSecret,
  recordEvent,
} from '../auth/auth.ts'
import { takeLock } from '../platform/db/advisory-lock.ts'
import type { Db } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import { createSuggestion } from '../suggestions/suggestions.ts'
import { findBodiesById, findVideoIdsOfEntity } from '../videos/videos.ts'
import {
  closeRequest,
  countSuggestions,
  findLink,
  findSuggestionMarks,
  insertConfirmations,
  insertLink,
  insertRequest,
  insertSuggestionMark,
  listConfirmations,
  listLinks,
  listRequests,
  type OpenedLink,
  revokeLink,
  revokeOldest,
  type SeenTalk,
  type SpeakerRequest,
  touchLink,
} from './queries.ts'

// Entry point of the links of speakers. An editor creates a link with a secret and sends it. With it,
// a speaker confirms talks, suggests corrections, and asks for a change of the profile or the name,
// or for removal. Nothing changes before an editor decides.

export {
  deleteOldLinks,
  listLinkHashes,
  type OpenedLink,
  revokeLinksExcept,
  type SpeakerRequest,
} from './queries.ts'
export { findSuggestionMarks, listConfirmations, listLinks, listRequests }

/** Links of one speaker that work at the same time. */
const maxLinks = 3
/** Requests of one speaker that wait. */
const maxRequests = 10
/** Suggestions of one speaker within a day. */
const maxSuggestionsPerDay = 50
const maxWords = 2000
/** Talks that a page lists. */
const maxTalks = 200

/** Creates a link and returns its secret, which is not stored. The oldest of several are revoked. */
export async function createSpeakerLink(
  pool: Pool,
  speaker: number,
  origin: AuditOrigin,
): Promise<string> {
  const secret = makeSecret()
  await pool.transaction(async (tx) => {
    await takeLock(tx, `links of speaker ${speaker}`)
    const { actor, person } = origin
    await insertLink(tx, { hash: hashSecret(secret), speaker, actor, person })
    await revokeOldest(tx, speaker, maxLinks)
    await recordEvent(tx, 'speaker-link-created', origin, null, { speaker })
  })
  return secret
}

/** Revokes a link. */
export function revokeSpeakerLink(
  pool: Pool,
  speaker: number,
  id: number,
  origin: AuditOrigin,
): Promise<void> {
  return pool.transaction(async (tx) => {
    if ((await revokeLink(tx, speaker, id)) === 1)
      await recordEvent(tx, 'speaker-link-revoked', origin, null, { speaker })
  })
}

/** Finds the speaker of a link. Throws `not-found` if it is unknown, expired or revoked. */
export async function openSpeakerLink(db: Db, secret: string): Promise<OpenedLink> {
  const link = isWellFormedSecret(secret) ? await findLink(db, hashSecret(secret)) : undefined
  if (!link)
    throw new Problem('not-found', 'This link does not work. Ask the editor for another one')
  return link
}

export interface SpeakerTalk {
  readonly video: Video
  readonly revision: number
  /** When the speaker confirmed it, if nothing has changed since. */
  readonly confirmed: string | undefined
}

/** Lists the live talks of a speaker with what was confirmed. */
export async function listSpeakerTalks(pool: Pool, speaker: number): Promise<SpeakerTalk[]> {
  const ids = await findVideoIdsOfEntity(pool.lists, 'speaker', speaker, 0, maxTalks)
  const bodies = await findBodiesById(pool.lists, ids)
  const confirmed = new Map(
    (await listConfirmations(pool.lists, speaker)).map((row) => [row.video, row]),
  )
  return ids.flatMap((id) => {
    const row = bodies.get(id)
    if (!row?.live || row.taken_down) return []
    const own = confirmed.get(id)
    return {
      video: JSON.parse(row.body) as Video,
      revision: row.revision,
      confirmed: own?.revision === row.revision ? own.at : undefined,
    }
  })
}

/** Reads a live talk of the speaker. Throws `not-found` if it is that of others. */
export async function readSpeakerTalk(pool: Pool, { speaker }: OpenedLink, id: number) {
  const talk = (await listSpeakerTalks(pool, speaker)).find(({ video }) => video.id === id)
  if (!talk) throw new Problem('not-found', 'This talk does not exist')
  return talk
}

/**
 * Saves that talks of the speaker are right, in the revisions that the speaker saw. Others are
 * ignored. Returns whether all of them were saved.
 */
export async function confirmTalks(
  pool: Pool,
  { id, speaker }: OpenedLink,
  talks: readonly SeenTalk[],
): Promise<boolean> {
  const seen = [...new Map(talks.slice(0, maxTalks).map((talk) => [talk.id, talk])).values()]
  const count = await insertConfirmations(pool, speaker, seen)
  await touchLink(pool, id)
  return count === seen.length
}

/**
 * Sends a suggestion about a talk of the speaker, without the limits of anonymous readers. Throws
 * `queue-full` if the speaker has sent too many within a day.
 */
export async function suggestAsSpeaker(
  pool: Pool,
  link: OpenedLink,
  input: SuggestionInput,
): Promise<void> {
  await readSpeakerTalk(pool, link, input.video ?? 0)
  if ((await countSuggestions(pool.lookups, link.speaker)) >= maxSuggestionsPerDay)
    throw new Problem('queue-full', 'Too many of your suggestions wait for an editor')
  const name = link.name.slice(0, 100)
  const body = { ...input, name, show_name: false }
  const sent = await createSuggestion(pool, body, { network: undefined, seesDrafts: false })
  await insertSuggestionMark(pool, sent.id, link.speaker)
  await touchLink(pool, link.id)
}

/** Sends a request. Throws `queue-full` if too many of the speaker wait. */
export async function requestAsSpeaker(
  pool: Pool,
  { id, speaker }: OpenedLink,
  kind: SpeakerRequest['kind'],
  comment: string,
): Promise<void> {
  const text = comment
    .replaceAll('\r\n', '\n')
    .toWellFormed()
    .replaceAll('\0', '')
    .trim()
    .slice(0, maxWords)
    .toWellFormed()
  if ((await insertRequest(pool, speaker, kind, text, maxRequests)) === undefined)
    throw new Problem('queue-full', 'Too many of your requests wait for an editor')
  await touchLink(pool, id)
}

/** Closes a request and deletes its text. */
export function closeSpeakerRequest(pool: Pool, id: number, origin: AuditOrigin): Promise<void> {
  return pool.transaction(async (tx) => {
    if ((await closeRequest(tx, id, origin.actor)) === 1)
      await recordEvent(tx, 'speaker-request-closed', origin, null, { request: id })
  })
}
