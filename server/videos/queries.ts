import { states, type Video } from '@talkshelf/contract'
import sql, { type Sql } from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import { insertChange, type NewChange } from '../changes/changes.ts'
import { type Db, execute, many, maybe, one } from '../platform/db/db.ts'
import { freeSlug } from '../platform/db/slugs.ts'

const TakenDown = Type.Object({ taken_down: Type.String(), reason: Type.String() })

const BodyRow = Type.Object({
  id: Type.Integer(),
  revision: Type.Integer(),
  tag: Type.String(),
  live: Type.Boolean(),
  updated_ms: Type.Integer(),
  body: Type.String(),
  taken_down: Type.Union([TakenDown, Type.Null()]),
})
export type BodyRow = Static<typeof BodyRow>

const NewId = Type.Object({ id: Type.Integer() })

const body = sql`id, revision, tag, live, (extract(epoch from updated) * 1000)::bigint as updated_ms, body, taken_down`

/** The one read of the hot path: rows of one table, by its key. */
export function findBodies(db: Db, ids: readonly number[]) {
  return many(db, BodyRow, sql`select ${body} from video_body where id = any (${ids}::bigint[])`)
}

export function findBody(db: Db, id: number) {
  return maybe(db, BodyRow, sql`select ${body} from video_body where id = ${id}`)
}

const ListIds = Type.Object({ speaker_ids: Type.Array(Type.Integer()), tag_ids: Type.Array(Type.Integer()) })

export function findListIds(db: Db, id: number) {
  return maybe(db, ListIds, sql`select speaker_ids, tag_ids from video where id = ${id}`)
}

/** Locks the record and nothing else, until the end of the transaction. What follows must be read after this. */
export function lockVideo(tx: Db, id: number) {
  return execute(tx, sql`select from video where id = ${id} for no key update`)
}

export function nextVideoId(db: Db) {
  return one(db, NewId, sql`select nextval(pg_get_serial_sequence('video', 'id')) as id`)
}

export function freeVideoSlug(db: Db, base: string, attempt: number) {
  return freeSlug(db, sql`video`, base, 'video', attempt)
}

/** Ids in the place of the record's names; undefined where the names did not change. */
export interface RowIds {
  readonly category: number | undefined
  readonly language: number | undefined
  readonly speakers: readonly number[] | undefined
  readonly tags: readonly number[] | undefined
}

export interface NewVersion {
  readonly video: Video
  readonly revision: number
  readonly body: string
  readonly tag: string
  readonly ids: RowIds
  readonly change: NewChange
}

// A write is one statement: the record, its body and the change, all or nothing, in one round trip.

/** Tells whether it wrote: false when somebody else has the slug by now. */
export async function insertVideo(db: Db, { video: it, revision, body, tag, ids, change }: NewVersion): Promise<boolean> {
  const count = await execute(
    db,
    sql`with saved as (
          insert into video (
            id, revision, slug, state, category_id, language_id, speaker_ids, tag_ids, title, summary, description, quality_notes,
            copyright_text, embed, thumbnail_url, duration, video_ogv_length, video_ogv_url, video_ogv_download_only,
            video_mp4_length, video_mp4_url, video_mp4_download_only, video_webm_length, video_webm_url, video_webm_download_only,
            video_flv_length, video_flv_url, video_flv_download_only, source_url, whiteboard, recorded, added, updated)
          values (
            ${it.id}, ${revision}, ${it.slug}, ${it.state}, ${ids.category}, ${ids.language}, ${ids.speakers}, ${ids.tags}, ${it.title},
            ${it.summary}, ${it.description}, ${it.quality_notes}, ${it.copyright_text}, ${it.embed}, ${it.thumbnail_url}, ${it.duration},
            ${it.video_ogv_length}, ${it.video_ogv_url}, ${it.video_ogv_download_only},
            ${it.video_mp4_length}, ${it.video_mp4_url}, ${it.video_mp4_download_only},
            ${it.video_webm_length}, ${it.video_webm_url}, ${it.video_webm_download_only},
            ${it.video_flv_length}, ${it.video_flv_url}, ${it.video_flv_download_only},
            ${it.source_url}, ${it.whiteboard}, ${it.recorded}, ${utc(it.added)}, ${utc(it.updated)})
          on conflict (slug) do nothing
          returning id, revision
        ), rendered as (
          insert into video_body (id, revision, tag, live, updated, body)
          select id, revision, ${tag}, ${it.state === states.live}::boolean, ${utc(it.updated)}, ${body} from saved
        )
        ${insertChange(change)}`,
  )
  return count === 1
}

/** Tells whether it wrote: false when the record is no longer at the revision before. */
export async function updateVideo(db: Db, { video: it, revision, body, tag, ids, change }: NewVersion): Promise<boolean> {
  return save(
    db,
    sql`update video set
          revision = ${revision}, state = ${it.state},
          category_id = coalesce(${ids.category}::bigint, category_id), language_id = coalesce(${ids.language}::integer, language_id),
          speaker_ids = coalesce(${ids.speakers}::bigint[], speaker_ids), tag_ids = coalesce(${ids.tags}::bigint[], tag_ids),
          title = ${it.title}, summary = ${it.summary}, description = ${it.description}, quality_notes = ${it.quality_notes},
          copyright_text = ${it.copyright_text}, embed = ${it.embed}, thumbnail_url = ${it.thumbnail_url}, duration = ${it.duration},
          video_ogv_length = ${it.video_ogv_length}, video_ogv_url = ${it.video_ogv_url},
          video_ogv_download_only = ${it.video_ogv_download_only},
          video_mp4_length = ${it.video_mp4_length}, video_mp4_url = ${it.video_mp4_url},
          video_mp4_download_only = ${it.video_mp4_download_only},
          video_webm_length = ${it.video_webm_length}, video_webm_url = ${it.video_webm_url},
          video_webm_download_only = ${it.video_webm_download_only},
          video_flv_length = ${it.video_flv_length}, video_flv_url = ${it.video_flv_url},
          video_flv_download_only = ${it.video_flv_download_only},
          source_url = ${it.source_url}, whiteboard = ${it.whiteboard}, recorded = ${it.recorded}, updated = ${utc(it.updated)}
        where id = ${it.id} and revision = ${revision - 1}
        returning id, revision`,
    sql`revision = saved.revision, tag = ${tag}, live = ${it.state === states.live}::boolean, updated = ${utc(it.updated)}, body = ${body}`,
    change,
  )
}

/** The words stay in the history, for the people who run the archive; nothing of them is served any more. */
export function takeDown(
  db: Db,
  it: { id: number; revision: number; tag: string; updated: string; day: string; reason: string; change: NewChange },
): Promise<boolean> {
  return save(
    db,
    sql`update video set revision = ${it.revision}, taken_down = ${it.day}::date, takedown_reason = ${it.reason}, updated = ${utc(it.updated)}
        where id = ${it.id} and revision = ${it.revision - 1}
        returning id, revision`,
    sql`revision = saved.revision, tag = ${it.tag}, live = false, updated = ${utc(it.updated)}, body = '',
        taken_down = jsonb_build_object('taken_down', ${it.day}::text, 'reason', ${it.reason}::text)`,
    it.change,
  )
}

async function save(db: Db, updateRow: Sql, setBody: Sql, change: NewChange): Promise<boolean> {
  const count = await execute(
    db,
    sql`with saved as (${updateRow}), rendered as (update video_body set ${setBody} from saved where video_body.id = saved.id)
        ${insertChange(change)}`,
  )
  return count === 1
}

// The wire has no designator, PostgreSQL must not guess the zone.
function utc(moment: string): Sql {
  return sql`${`${moment}Z`}::timestamptz`
}

const Key = Type.Object({ request_hash: Type.Unsafe<Buffer>({}), video_id: Type.Integer() })

export function findKey(db: Db, token: number, key: string) {
  return maybe(
    db,
    Key,
    sql`select request_hash, video_id from idempotency_key
        where token_id = ${token} and key = ${key} and created > now() - interval '24 hours'`,
  )
}

/** In the transaction of the record: a second request with the key waits here for the first, and is then refused. */
export function insertKey(tx: Db, token: number, key: string, hash: Buffer, videoId: number) {
  return execute(
    tx,
    sql`insert into idempotency_key (token_id, key, request_hash, video_id) values (${token}, ${key}, ${hash}, ${videoId})`,
  )
}

/** Old keys go when a new one comes, a few at a time; and this one in any case, if it is old. */
export async function deleteOldKeys(tx: Db, token: number, key: string): Promise<void> {
  const isOld = sql`created <= now() - interval '24 hours'`
  await execute(tx, sql`delete from idempotency_key where token_id = ${token} and key = ${key} and ${isOld}`)
  await execute(
    tx,
    sql`delete from idempotency_key where ctid = any (array(
          select ctid from idempotency_key where ${isOld} order by created limit 100 for update skip locked))`,
  )
}
