import sql, { raw } from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import { type Db, execute, many, maybe, one, writeReturning } from '../platform/db/db.ts'

// SQL of the links of speakers, and of what speakers say with them.

const MaybeText = Type.Union([Type.String(), Type.Null()])
const utc = (column: string) =>
  raw(`to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`)

/** The speaker, and all who were merged into it: their links lead to it. */
const isOf = (speaker: number) => sql`
  speaker_id in (select id from speaker where id = ${speaker} or merged_into = ${speaker})`

const SpeakerLink = Type.Object({
  id: Type.Integer(),
  actor: Type.String(),
  created: Type.String(),
  expires: Type.String(),
  last_used: MaybeText,
})
export type SpeakerLink = Static<typeof SpeakerLink>

/** Lists the links of a speaker that work, the latest first. */
export function listLinks(db: Db, speaker: number) {
  return many(
    db,
    SpeakerLink,
    sql`select id, actor, ${utc('created')} as created, ${utc('expires')} as expires,
               ${utc('last_used')} as last_used
        from speaker_link
        where ${isOf(speaker)} and revoked is null and expires > now()
        order by id desc
        limit 100`,
  )
}

export interface NewLink {
  readonly hash: Buffer
  readonly speaker: number
  readonly actor: string
  readonly person: number | null
}

/** Inserts a link that works for 90 days. */
export function insertLink(tx: Db, { hash, speaker, actor, person }: NewLink) {
  return execute(
    tx,
    sql`insert into speaker_link (hash, speaker_id, actor, person_id, expires)
        values (${hash}, ${speaker}, ${actor}, ${person}, now() + interval '90 days')`,
  )
}

/** Revokes the links of a speaker except for the newest ones. */
export function revokeOldest(tx: Db, speaker: number, kept: number) {
  return execute(
    tx,
    sql`update speaker_link set revoked = now()
        where ${isOf(speaker)}
          and revoked is null
          and id not in (
            select id from speaker_link
            where ${isOf(speaker)} and revoked is null and expires > now()
            order by id desc
            limit ${kept}::integer)`,
  )
}

/** Revokes a link of a speaker. */
export function revokeLink(db: Db, speaker: number, id: number) {
  return execute(
    db,
    sql`update speaker_link set revoked = now()
        where id = ${id} and ${isOf(speaker)} and revoked is null`,
  )
}

const WorkingLinks = Type.Object({ hashes: Type.Array(Type.String()) })

/** Returns the hashes of all links that were not revoked. */
export async function listLinkHashes(db: Db): Promise<string[]> {
  const { hashes } = await one(
    db,
    WorkingLinks,
    sql`select coalesce(jsonb_agg(encode(hash, 'hex') order by id), '[]') as hashes
        from speaker_link
        where revoked is null`,
  )
  return hashes
}

/** Revokes all links except for these, by hash. Returns how many. */
export function revokeLinksExcept(tx: Db, hashes: readonly string[]) {
  return execute(
    tx,
    sql`update speaker_link set revoked = now()
        where revoked is null and encode(hash, 'hex') <> all (${hashes}::text[])`,
  )
}

const OpenedLink = Type.Object({
  id: Type.Integer(),
  speaker: Type.Integer(),
  name: Type.String(),
  slug: Type.String(),
  profile: Type.Unsafe<{
    readonly description?: string
    readonly pronouns?: string
    readonly links?: readonly { readonly kind: string; readonly url: string }[]
  }>(Type.Object({})),
})
export type OpenedLink = Static<typeof OpenedLink>

/** Finds the speaker of a link that works. A merged speaker is replaced by its target. */
export function findLink(db: Db, hash: Buffer) {
  return maybe(
    db,
    OpenedLink,
    sql`select speaker_link.id, current.id as speaker, current.name, current.slug, current.profile
        from speaker_link
        join speaker as original on original.id = speaker_id
        join speaker as current on current.id = coalesce(original.merged_into, original.id)
        where hash = ${hash} and revoked is null and expires > now()`,
  )
}

/** Saves when a link was last used. */
export function touchLink(db: Db, id: number) {
  return execute(db, sql`update speaker_link set last_used = now() where id = ${id}`)
}

/** A talk in the revision that a speaker saw. */
export interface SeenTalk {
  readonly id: number
  readonly revision: number
}

/** Saves that a speaker says that talks are right. Returns how many still have these revisions. */
export function insertConfirmations(db: Db, speaker: number, talks: readonly SeenTalk[]) {
  return execute(
    db,
    sql`insert into speaker_confirmation (speaker_id, video_id, revision)
        select ${speaker}::bigint, video.id, video.revision
        from unnest(${talks.map(({ id }) => id)}::bigint[],
                    ${talks.map(({ revision }) => revision)}::integer[]) as seen (id, revision)
        join video on video.id = seen.id and video.revision = seen.revision
        where speaker_ids @> array[${speaker}::bigint]
          and state = 1
          and taken_down is null
        on conflict (speaker_id, video_id) do update set revision = excluded.revision, at = now()`,
  )
}

const Confirmation = Type.Object({
  video: Type.Integer(),
  revision: Type.Integer(),
  at: Type.String(),
})

/** Lists what a speaker has confirmed, also before a merge. */
export function listConfirmations(db: Db, speaker: number) {
  return many(
    db,
    Confirmation,
    sql`select video_id as video, revision, ${utc('latest.at')} as at
        from (select distinct on (video_id) video_id, revision, at
              from speaker_confirmation
              where ${isOf(speaker)}
              order by video_id, revision desc, at desc) as latest
        order by latest.at desc
        limit 1000`,
  )
}

const NewId = Type.Object({ id: Type.Integer() })

/** Inserts a request, unless the speaker has too many that are open. Undefined then. */
export async function insertRequest(
  db: Db,
  speaker: number,
  kind: SpeakerRequest['kind'],
  comment: string,
  maxOpen: number,
): Promise<number | undefined> {
  const [row] = await writeReturning(
    db,
    NewId,
    sql`insert into speaker_request (speaker_id, kind, comment)
        select ${speaker}::bigint, ${kind}, ${comment}
        where (select count(*) from speaker_request
               where speaker_id = ${speaker} and closed is null) < ${maxOpen}::integer
        returning id`,
  )
  return row?.id
}

const SpeakerRequest = Type.Object({
  id: Type.Integer(),
  kind: Type.Union([Type.Literal('profile'), Type.Literal('name'), Type.Literal('removal')]),
  comment: Type.String(),
  created: Type.String(),
  name: Type.String(),
  slug: Type.String(),
})
export type SpeakerRequest = Static<typeof SpeakerRequest>

/** Lists open requests, the oldest first. */
export function listRequests(db: Db, limit: number) {
  return many(
    db,
    SpeakerRequest,
    sql`select request.id, kind, comment, ${utc('created')} as created, current.name, current.slug
        from speaker_request as request
        join speaker as original on original.id = speaker_id
        join speaker as current on current.id = coalesce(original.merged_into, original.id)
        where closed is null
        order by request.id
        limit ${limit}::integer`,
  )
}

/** Closes a request and deletes its text. */
export function closeRequest(db: Db, id: number, by: string) {
  return execute(
    db,
    sql`update speaker_request set closed = now(), closed_by = ${by}, comment = ''
        where id = ${id} and closed is null`,
  )
}

/** Marks a suggestion as that of a speaker. */
export function insertSuggestionMark(db: Db, suggestion: number, speaker: number) {
  return execute(
    db,
    sql`insert into speaker_suggestion (suggestion_id, speaker_id)
        values (${suggestion}, ${speaker})
        on conflict do nothing`,
  )
}

const Count = Type.Object({ count: Type.Integer() })

/** Counts the suggestions of a speaker within a day. */
export async function countSuggestions(db: Db, speaker: number): Promise<number> {
  const row = await one(
    db,
    Count,
    sql`select count(*) as count
        from speaker_suggestion
        where ${isOf(speaker)} and created > now() - interval '1 day'`,
  )
  return row.count
}

/** Returns those of the suggestions that came from speakers. */
export async function findSuggestionMarks(db: Db, ids: readonly number[]): Promise<number[]> {
  const rows = await many(
    db,
    NewId,
    sql`select suggestion_id as id
        from speaker_suggestion
        where suggestion_id = any (${ids}::bigint[])`,
  )
  return rows.map(({ id }) => id)
}

/** Deletes links that have not worked for 90 days, and requests that were closed a year ago. */
export async function deleteOldLinks(db: Db): Promise<number> {
  const links = await execute(
    db,
    sql`delete from speaker_link
        where expires < now() - interval '90 days' or revoked < now() - interval '90 days'`,
  )
  const requests = await execute(
    db,
    sql`delete from speaker_request where closed < now() - interval '1 year'`,
  )
  return links + requests
}
