import { states, type Video } from '@talkshelf/contract'
import sql, { join, raw, type Sql } from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import { insertChange, insertChanges, type NewChange } from '../changes/changes.ts'
import type { EntityKind, NamedEntity } from '../entities/entities.ts'
import type { Origin } from '../platform/actor.ts'
import { type Db, execute, many, maybe, one, writeReturning } from '../platform/db/db.ts'
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

const Ids = Type.Array(Type.Integer())
const ListIds = Type.Object({ speaker_ids: Ids, tag_ids: Ids })

export function findEntityIds(db: Db, id: number) {
  return maybe(db, ListIds, sql`select speaker_ids, tag_ids from video where id = ${id}`)
}

/**
 * Locks the record and nothing else, until the end of the transaction. What follows must be read
 * after this.
 */
export function lockVideo(tx: Db, id: number) {
  return execute(tx, sql`select from video where id = ${id} for no key update`)
}

/**
 * The same for many, in the order of their ids: two that lock the same never wait for each other.
 */
export function lockVideos(tx: Db, ids: readonly number[]) {
  return execute(
    tx,
    sql`select from video where id = any (${ids}::bigint[]) order by id for no key update`,
  )
}

const BodyWithIds = Type.Object({
  ...BodyRow.properties,
  category: Type.Integer(),
  speakers: Ids,
  tags: Ids,
})
export type BodyWithIds = Static<typeof BodyWithIds>

/** Bodies, with the ids behind their names. */
export function findBodiesWithIds(tx: Db, ids: readonly number[]) {
  return many(
    tx,
    BodyWithIds,
    sql`select ${body}, category_id as category, speaker_ids as speakers, tag_ids as tags
        from video_body join (select id, category_id, speaker_ids, tag_ids from video) as row using (id)
        where id = any (${ids}::bigint[]) order by id`,
  )
}

/** For what shows no names, or the same ones: nobody sees a change, so it is none. */
export function updateIds(
  tx: Db,
  id: number,
  { category, speakers, tags }: Pick<BodyWithIds, 'category' | 'speakers' | 'tags'>,
) {
  return execute(
    tx,
    sql`update video set category_id = ${category}, speaker_ids = ${speakers}, tag_ids = ${tags} where id = ${id}`,
  )
}

const Done = Type.Object({ done: Type.Null() })

/** The words of these records, of which some are names that have changed. */
export function refreshSearchRows(tx: Db, ids: readonly number[]) {
  return one(tx, Done, sql`select nullif(reindex_videos(${ids}::bigint[])::text, '') as done`)
}

const has: Record<EntityKind, (id: number) => Sql> = {
  category: (id) => sql`category_id = ${id}::bigint`,
  speaker: (id) => sql`speaker_ids @> array[${id}::bigint]`,
  tag: (id) => sql`tag_ids @> array[${id}::bigint]`,
}
const isListed = sql`state = 1 and taken_down is null`
const isUnlisted = sql`(state <> 1 or taken_down is not null)`

/**
 * Records that have this entity, whether they are listed or not, by their ids: those are in indexes
 * of their own.
 */
export async function findVideoIdsOfEntity(
  db: Db,
  kind: EntityKind,
  entity: number,
  after: number,
  limit: number,
): Promise<number[]> {
  const part = (condition: Sql) =>
    sql`(select id from video where ${has[kind](entity)} and ${condition} and id > ${after}::bigint order by id limit ${limit}::integer)`
  const rows = await many(
    db,
    NewId,
    sql`${part(isListed)} union all ${part(isUnlisted)} order by id limit ${limit}::integer`,
  )
  return rows.map(({ id }) => id)
}

const Count = Type.Object({ count: Type.Integer() })

export async function countVideosOfEntity(
  db: Db,
  kind: EntityKind,
  entity: number,
  after: number,
): Promise<number> {
  const part = (condition: Sql) =>
    sql`select from video where ${has[kind](entity)} and ${condition} and id > ${after}::bigint`
  return (
    await one(
      db,
      Count,
      sql`select count(*) from (${part(isListed)} union all ${part(isUnlisted)}) as left_over`,
    )
  ).count
}

export function nextVideoId(db: Db) {
  return one(db, NewId, sql`select nextval(pg_get_serial_sequence('video', 'id')) as id`)
}

export function freeVideoSlug(db: Db, base: string, attempt: number) {
  return freeSlug(db, sql`video`, base, 'video', attempt)
}

/** Ids in the place of the record's names; undefined where the names did not change. */
export interface ChangedEntityIds {
  readonly category: number | undefined
  readonly language: number | undefined
  readonly speakers: readonly number[] | undefined
  readonly tags: readonly number[] | undefined
}

/** Things that the record did not have before, as they were called when they were looked up. */
export interface AddedEntities {
  readonly category: readonly NamedEntity[]
  readonly speakers: readonly NamedEntity[]
  readonly tags: readonly NamedEntity[]
}

export interface NewVersion {
  readonly video: Video
  readonly revision: number
  readonly body: string
  readonly tag: string
  readonly ids: ChangedEntityIds
  readonly added: AddedEntities
  readonly change: NewChange
}

// A write is one statement: the record, its body and the change, all or nothing, in one round trip.

/**
 * Holds what was added, much as a foreign key would, and is true if all of it is still called so: a
 * name that changes meanwhile waits for this write, and then reaches the record as well; one that
 * changed a moment ago is looked up again.
 */
function isStillCalled({ category, speakers, tags }: AddedEntities): Sql {
  const parts: [string, string, readonly NamedEntity[]][] = [
    ['category', 'title', category],
    ['speaker', 'name', speakers],
    ['tag', 'name', tags],
  ]
  const conditions = parts
    .filter(([, , entities]) => entities.length > 0)
    .map(([table, name, entities]) => {
      const [ids, names] = [entities.map(({ id }) => id), entities.map((it) => it.name)]
      return sql`(select count(*) from (
                    select from ${raw(table)} as entity join unnest(${ids}::bigint[], ${names}::text[]) as given (id, name)
                    on entity.id = given.id and entity.${raw(name)} = given.name and entity.merged_into is null
                    order by entity.id for share of entity) as held) = ${entities.length}::integer`
    })
  return conditions.length > 0 ? join(conditions, ' and ') : sql`true`
}

const Held = Type.Object({ held: Type.Boolean() })

/** Before the record is locked: whoever renames something holds it first, and its records then. */
export function lockAddedEntities(tx: Db, added: AddedEntities) {
  return one(tx, Held, sql`select ${isStillCalled(added)} as held`)
}

/** Tells whether it wrote: false when somebody else has the slug by now, or a name has changed. */
export async function insertVideo(
  db: Db,
  { video: it, revision, body, tag, ids, added, change }: NewVersion,
): Promise<boolean> {
  const count = await execute(
    db,
    sql`with saved as (
          insert into video (
            id, revision, slug, state, category_id, language_id, speaker_ids, tag_ids, title, summary, description, quality_notes,
            copyright_text, embed, thumbnail_url, duration, video_ogv_length, video_ogv_url, video_ogv_download_only,
            video_mp4_length, video_mp4_url, video_mp4_download_only, video_webm_length, video_webm_url, video_webm_download_only,
            video_flv_length, video_flv_url, video_flv_download_only, source_url, whiteboard, recorded, added, updated)
          select
            ${it.id}, ${revision}, ${it.slug}, ${it.state}, ${ids.category}, ${ids.language}, ${ids.speakers}, ${ids.tags}, ${it.title},
            ${it.summary}, ${it.description}, ${it.quality_notes}, ${it.copyright_text}, ${it.embed}, ${it.thumbnail_url}, ${it.duration},
            ${it.video_ogv_length}, ${it.video_ogv_url}, ${it.video_ogv_download_only},
            ${it.video_mp4_length}, ${it.video_mp4_url}, ${it.video_mp4_download_only},
            ${it.video_webm_length}, ${it.video_webm_url}, ${it.video_webm_download_only},
            ${it.video_flv_length}, ${it.video_flv_url}, ${it.video_flv_download_only},
            ${it.source_url}, ${it.whiteboard}, ${it.recorded}, ${utc(it.added)}, ${utc(it.updated)}
          where ${isStillCalled(added)}
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

/** A record that is made together with others. */
export interface NewVideoRow {
  readonly id: number
  readonly revision: number
  readonly video: Video
  readonly ids: ChangedEntityIds
  readonly takenDown: { readonly day: string; readonly reason: string } | undefined
  readonly at: string
  readonly body: string
  readonly tag: string
}

const Created = Type.Object({ id: Type.Integer() })

/**
 * The same as insertVideo for many, in one statement. Tells which it wrote: not those whose slug or
 * number somebody has.
 */
export async function insertVideos(
  tx: Db,
  rows: readonly NewVideoRow[],
  origin: Origin,
  hash: Buffer,
): Promise<number[]> {
  const given = rows.map(({ video, ids, takenDown, ...row }) => ({
    ...video,
    ...row,
    category_id: ids.category,
    language_id: ids.language,
    speaker_ids: ids.speakers,
    tag_ids: ids.tags,
    added: `${video.added}Z`,
    updated: `${video.updated}Z`,
    taken_down: takenDown?.day,
    takedown_reason: takenDown?.reason,
    after: video,
    ids,
  }))
  const columns = sql`
    id, revision, slug, state, category_id, language_id, speaker_ids, tag_ids, title, summary, description, quality_notes,
    copyright_text, embed, thumbnail_url, duration, video_ogv_length, video_ogv_url, video_ogv_download_only,
    video_mp4_length, video_mp4_url, video_mp4_download_only, video_webm_length, video_webm_url, video_webm_download_only,
    video_flv_length, video_flv_url, video_flv_download_only, source_url, whiteboard, recorded, added, updated, taken_down, takedown_reason`
  const written = await writeReturning(
    tx,
    Created,
    sql`with given as materialized (
          select * from json_to_recordset(${JSON.stringify(given)}::json) as it (
            id bigint, revision integer, slug text, state smallint, category_id bigint, language_id integer, speaker_ids bigint[], tag_ids bigint[],
            title text, summary text, description text, quality_notes text, copyright_text text, embed text, thumbnail_url text, duration integer,
            video_ogv_length bigint, video_ogv_url text, video_ogv_download_only boolean,
            video_mp4_length bigint, video_mp4_url text, video_mp4_download_only boolean,
            video_webm_length bigint, video_webm_url text, video_webm_download_only boolean,
            video_flv_length bigint, video_flv_url text, video_flv_download_only boolean,
            source_url text, whiteboard text, recorded date, added timestamptz, updated timestamptz, taken_down date, takedown_reason text,
            body text, tag text, after jsonb, ids jsonb, at timestamptz)
        ), saved as (
          insert into video (${columns}) select ${columns} from given on conflict do nothing returning id
        ), rendered as (
          insert into video_body (id, revision, tag, live, updated, body, taken_down)
          select id, revision, tag, state = ${states.live} and taken_down is null, updated, body,
                 case when taken_down is not null then jsonb_build_object('taken_down', taken_down::text, 'reason', takedown_reason) end
          from given join saved using (id)
        ), recorded as (
          ${insertChanges('video', 'created', origin, hash, sql`select id, revision, '{}'::jsonb, after, ids, at from given join saved using (id)`)}
        )
        select id from saved`,
  )
  return written.map(({ id }) => id)
}

export async function nextVideoIds(db: Db, count: number): Promise<number[]> {
  const rows = await many(
    db,
    NewId,
    sql`select nextval(pg_get_serial_sequence('video', 'id')) as id from generate_series(1, ${count}::integer)`,
  )
  return rows.map(({ id }) => id)
}

/**
 * No number up to this one is given out from now on. One transaction at a time: a sequence must not
 * be set back.
 */
export async function advanceVideoIds(tx: Db, upTo: number): Promise<void> {
  await many(
    tx,
    Done,
    sql`select nullif(pg_advisory_xact_lock(hashtext('numbers of records'))::text, '') as done`,
  )
  await maybe(
    tx,
    NewId,
    sql`select setval(pg_get_serial_sequence('video', 'id'), ${upTo}::bigint) as id
        where ${upTo}::bigint > coalesce(pg_sequence_last_value(pg_get_serial_sequence('video', 'id')::regclass), 0)`,
  )
}

const Slug = Type.Object({ slug: Type.String() })

export async function findTakenSlugs(db: Db, slugs: readonly string[]): Promise<string[]> {
  return (
    await many(db, Slug, sql`select slug from video where slug = any (${slugs}::text[])`)
  ).map(({ slug }) => slug)
}

/**
 * Tells whether it wrote: false when the record is no longer at the revision before, or a name has
 * changed.
 */
export async function updateVideo(
  db: Db,
  { video: it, revision, body, tag, ids, added, change }: NewVersion,
): Promise<boolean> {
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
        where id = ${it.id} and revision = ${revision - 1} and ${isStillCalled(added)}
        returning id, revision`,
    sql`revision = saved.revision, tag = ${tag}, live = ${it.state === states.live}::boolean, updated = ${utc(it.updated)}, body = ${body}`,
    change,
  )
}

/**
 * The words stay in the history, for the people who run the archive; nothing of them is served any
 * more.
 */
export function saveTakedown(
  db: Db,
  it: {
    id: number
    revision: number
    tag: string
    updated: string
    day: string
    reason: string
    change: NewChange
  },
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

export function findIdempotencyKey(db: Db, token: number, key: string) {
  return maybe(
    db,
    Key,
    sql`select request_hash, video_id from idempotency_key
        where token_id = ${token} and key = ${key} and created > now() - interval '24 hours'`,
  )
}

/**
 * In the transaction of the record: a second request with the key waits here for the first, and is
 * then refused.
 */
export function insertIdempotencyKey(
  tx: Db,
  token: number,
  key: string,
  hash: Buffer,
  videoId: number,
) {
  return execute(
    tx,
    sql`insert into idempotency_key (token_id, key, request_hash, video_id) values (${token}, ${key}, ${hash}, ${videoId})`,
  )
}

/** Old keys go when a new one comes, a few at a time; and this one in any case, if it is old. */
export async function deleteExpiredKeys(tx: Db, token: number, key: string): Promise<void> {
  const isOld = sql`created <= now() - interval '24 hours'`
  await execute(
    tx,
    sql`delete from idempotency_key where token_id = ${token} and key = ${key} and ${isOld}`,
  )
  await execute(
    tx,
    sql`delete from idempotency_key where ctid = any (array(
          select ctid from idempotency_key where ${isOld} order by created limit 100 for update skip locked))`,
  )
}
