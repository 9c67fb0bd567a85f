import { states, type Video } from '@talkshelf/contract'
import sql, { empty, join, raw, type Sql } from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import { type ChangeKind, insertChange, insertChanges, type NewChange } from '../changes/changes.ts'
import type { EntityKind, NamedEntity } from '../entities/entities.ts'
import type { Origin } from '../platform/actor.ts'
import { type Db, execute, many, maybe, one, writeReturning } from '../platform/db/db.ts'
import { freeSlug } from '../platform/db/slugs.ts'

// SQL of records: the rows of `video`, their rendered bodies in `video_body`, and idempotency keys.

/**
 * The columns of `video` that have the value of the field of the same name, with their types. A
 * field that is missing here does not compile.
 */
const fieldColumns = {
  state: 'smallint',
  title: 'text',
  summary: 'text',
  description: 'text',
  quality_notes: 'text',
  copyright_text: 'text',
  embed: 'text',
  thumbnail_url: 'text',
  duration: 'integer',
  video_ogv_length: 'bigint',
  video_ogv_url: 'text',
  video_ogv_download_only: 'boolean',
  video_mp4_length: 'bigint',
  video_mp4_url: 'text',
  video_mp4_download_only: 'boolean',
  video_webm_length: 'bigint',
  video_webm_url: 'text',
  video_webm_download_only: 'boolean',
  video_flv_length: 'bigint',
  video_flv_url: 'text',
  video_flv_download_only: 'boolean',
  source_url: 'text',
  whiteboard: 'text',
  recorded: 'date',
} as const satisfies Record<Exclude<keyof Video, keyof ComputedColumns>, string>

/** The fields that are stored in other columns, or not as they are. */
type ComputedColumns = Pick<
  Video,
  'id' | 'slug' | 'category' | 'language' | 'speakers' | 'tags' | 'added' | 'updated'
>

const fieldNames = Object.keys(fieldColumns) as (keyof typeof fieldColumns)[]

/** The names of the columns that have the value of a field. */
export const fieldColumnNames = raw(fieldNames.join(', '))

const TakenDown = Type.Object({ taken_down: Type.String(), reason: Type.String() })

const BodyRow = Type.Object({
  id: Type.Integer(),
  revision: Type.Integer(),
  etag: Type.String(),
  live: Type.Boolean(),
  updated_ms: Type.Integer(),
  body: Type.String(),
  taken_down: Type.Union([TakenDown, Type.Null()]),
  /** The record into which this one was merged. */
  merged_into: Type.Union([Type.Integer(), Type.Null()]),
})
export type BodyRow = Static<typeof BodyRow>

const NewId = Type.Object({ id: Type.Integer() })
const Count = Type.Object({ count: Type.Integer() })

const bodyColumns = sql`
  id, revision, etag, live, (extract(epoch from updated) * 1000)::bigint as updated_ms,
  body, taken_down, merged_into`

/** Finds rendered bodies by id. This is the only query of the hot read path. */
export function findBodies(db: Db, ids: readonly number[]) {
  return many(
    db,
    BodyRow,
    sql`select ${bodyColumns} from video_body where id = any (${ids}::bigint[])`,
  )
}

/** Finds the rendered body of a record, also of one that was taken down. */
export function findBody(db: Db, id: number) {
  return maybe(db, BodyRow, sql`select ${bodyColumns} from video_body where id = ${id}`)
}

const Body = Type.Object({ body: Type.String() })

/** Finds drafts with this text in their title, or all; the latest change first. */
export function findDrafts(db: Db, text: string, limit: number, offset: number) {
  return many(
    db,
    Body,
    sql`select body
        from video
        join video_body using (id)
        where state = 2 and video.taken_down is null and video.merged_into is null
          and (${text} = '' or strpos(fold(title), fold(${text})) > 0)
        order by video_body.updated desc, id desc
        limit ${limit}::integer offset ${offset}::integer`,
  )
}

const Ids = Type.Array(Type.Integer())
const ListIds = Type.Object({ speaker_ids: Ids, tag_ids: Ids })

/** Finds the ids of the speakers and tags of a record, in the order of their names. */
export function findEntityIds(db: Db, id: number) {
  return maybe(db, ListIds, sql`select speaker_ids, tag_ids from video where id = ${id}`)
}

const CategoryId = Type.Object({ category_id: Type.Integer() })

/** Finds the id of the category of a record. */
export async function findCategoryId(db: Db, id: number): Promise<number | undefined> {
  const row = await maybe(db, CategoryId, sql`select category_id from video where id = ${id}`)
  return row?.category_id
}

/**
 * Locks a record until the end of the transaction. Read the record after this, because it may have
 * changed while the lock was awaited.
 */
export function lockVideo(tx: Db, id: number) {
  return execute(tx, sql`select from video where id = ${id} for no key update`)
}

/** Locks records like `lockVideo`, in the order of their ids so that writers cannot deadlock. */
export function lockVideos(tx: Db, ids: readonly number[]) {
  return execute(
    tx,
    sql`select from video where id = any (${ids}::bigint[]) order by id for no key update`,
  )
}

/** Locks the suggestions about records. Decisions about these lock them before the records. */
export function lockSuggestionsOf(tx: Db, ids: readonly number[]) {
  return execute(tx, sql`select lock_suggestions(${ids}::bigint[])`)
}

const BodyWithIds = Type.Object({
  ...BodyRow.properties,
  category: Type.Integer(),
  speakers: Ids,
  tags: Ids,
})
export type BodyWithIds = Static<typeof BodyWithIds>

/** Finds rendered bodies with the ids behind their names, ordered by id. */
export function findBodiesWithIds(tx: Db, ids: readonly number[]) {
  return many(
    tx,
    BodyWithIds,
    sql`select ${bodyColumns}, category_id as category, speaker_ids as speakers, tag_ids as tags
        from video_body
        join (select id, category_id, speaker_ids, tag_ids from video) as row using (id)
        where id = any (${ids}::bigint[])
        order by id`,
  )
}

/** Updates ids without a new revision: the rendered body is unchanged. */
export function updateIds(
  tx: Db,
  id: number,
  { category, speakers, tags }: Pick<BodyWithIds, 'category' | 'speakers' | 'tags'>,
) {
  return execute(
    tx,
    sql`update video set category_id = ${category}, speaker_ids = ${speakers}, tag_ids = ${tags}
        where id = ${id}`,
  )
}

const IdsBeforeMerge = Type.Object({
  kind: Type.Union([Type.Literal('category'), Type.Literal('speaker'), Type.Literal('tag')]),
  video_id: Type.Integer(),
  entity_ids: Ids,
  /** What the record shows instead of each entity. */
  shown_as: Ids,
})
export type IdsBeforeMerge = Static<typeof IdsBeforeMerge>

/** Finds the ids that records had before entities were merged. */
export function findIdsBeforeMerge(tx: Db, videoIds: readonly number[]) {
  return many(
    tx,
    IdsBeforeMerge,
    sql`select kind, video_id, entity_ids, shown_as
        from ids_before_merge
        where video_id = any (${videoIds}::bigint[])`,
  )
}

/** Writes the ids that locked records had before entities were merged. */
export function saveIdsBeforeMerge(tx: Db, rows: readonly IdsBeforeMerge[]) {
  return execute(
    tx,
    sql`insert into ids_before_merge (kind, video_id, entity_ids, shown_as)
        select kind, video_id, entity_ids, shown_as
        from json_to_recordset(${JSON.stringify(rows)}::json) as input (
          kind text, video_id bigint, entity_ids bigint[], shown_as bigint[])
        on conflict (kind, video_id) do update set
          entity_ids = excluded.entity_ids,
          shown_as = excluded.shown_as`,
  )
}

/** Deletes the ids of records that show their own entities again. */
export function deleteIdsBeforeMerge(
  tx: Db,
  rows: readonly Pick<IdsBeforeMerge, 'kind' | 'video_id'>[],
) {
  return execute(
    tx,
    sql`delete from ids_before_merge
        using json_to_recordset(${JSON.stringify(rows)}::json) as input (
          kind text, video_id bigint)
        where ids_before_merge.kind = input.kind
          and ids_before_merge.video_id = input.video_id`,
  )
}

/** Finds the next records that show an entity instead of another one, ordered by id. */
export async function findVideoIdsShownAs(
  db: Db,
  kind: EntityKind,
  entityId: number,
  after: number,
  limit: number,
): Promise<number[]> {
  const rows = await many(
    db,
    NewId,
    sql`select video_id as id
        from ids_before_merge
        where kind = ${kind}
          and shown_as @> array[${entityId}::bigint]
          and video_id > ${after}::bigint
        order by video_id
        limit ${limit}::integer`,
  )
  return rows.map(({ id }) => id)
}

/** Counts the records that `findVideoIdsShownAs` finds. */
export async function countVideosShownAs(
  db: Db,
  kind: EntityKind,
  entityId: number,
  after: number,
): Promise<number> {
  const row = await one(
    db,
    Count,
    sql`select count(*)
        from ids_before_merge
        where kind = ${kind}
          and shown_as @> array[${entityId}::bigint]
          and video_id > ${after}::bigint`,
  )
  return row.count
}

const MergedRecords = Type.Object({ id: Type.Integer(), shown: Type.Boolean() })

/**
 * Finds the records that had an entity before it was merged, and whether they still have the entity
 * that they got instead.
 */
export function findMergedRecords(
  db: Db,
  kind: EntityKind,
  entityIds: readonly number[],
  target: number,
) {
  return many(
    db,
    MergedRecords,
    sql`select video.id, ${hasEntity[kind](target)} as shown
        from ids_before_merge
        join video on video.id = video_id
        where kind = ${kind} and entity_ids && ${entityIds}::bigint[]
        order by video.id`,
  )
}

const Done = Type.Object({ done: Type.Null() })

/** Rebuilds the search rows of records, which contain the names of their entities. */
export function refreshSearchRows(tx: Db, ids: readonly number[]) {
  return one(tx, Done, sql`select nullif(reindex_videos(${ids}::bigint[])::text, '') as done`)
}

const hasEntity: Record<EntityKind, (id: number) => Sql> = {
  category: (id) => sql`category_id = ${id}::bigint`,
  speaker: (id) => sql`speaker_ids @> array[${id}::bigint]`,
  tag: (id) => sql`tag_ids @> array[${id}::bigint]`,
}
const isListed = sql`state = 1 and taken_down is null`
const isUnlisted = sql`(state <> 1 or taken_down is not null)`

/**
 * Finds the next records of an entity, listed or not, ordered by id. Listed and unlisted records
 * have separate indexes, so each has its own branch.
 */
export async function findVideoIdsOfEntity(
  db: Db,
  kind: EntityKind,
  entityId: number,
  after: number,
  limit: number,
): Promise<number[]> {
  const idsWhere = (condition: Sql) =>
    sql`(select id from video where ${hasEntity[kind](entityId)}
           and ${condition}
           and id > ${after}::bigint
         order by id
         limit ${limit}::integer)`
  const rows = await many(
    db,
    NewId,
    sql`${idsWhere(isListed)}
        union all
        ${idsWhere(isUnlisted)}
        order by id
        limit ${limit}::integer`,
  )
  return rows.map(({ id }) => id)
}

/** Counts the records of an entity whose id is greater than `after`. */
export async function countVideosOfEntity(
  db: Db,
  kind: EntityKind,
  entityId: number,
  after: number,
): Promise<number> {
  const rowsWhere = (condition: Sql) =>
    sql`select from video where ${hasEntity[kind](entityId)}
          and ${condition}
          and id > ${after}::bigint`
  const row = await one(
    db,
    Count,
    sql`select count(*)
        from (${rowsWhere(isListed)} union all ${rowsWhere(isUnlisted)}) as remaining`,
  )
  return row.count
}

/** Reserves an id. */
export function nextVideoId(db: Db) {
  return one(db, NewId, sql`select nextval(pg_get_serial_sequence('video', 'id')) as id`)
}

/** Returns a slug that no record has at the moment. */
export function freeVideoSlug(db: Db, base: string, attempt: number) {
  return freeSlug(db, sql`video`, base, 'video', attempt)
}

/** Finds the records that were merged into a record, also through others. */
export async function findMergedIds(db: Db, id: number): Promise<number[]> {
  const rows = await many(db, NewId, sql`select id from merged_videos(${id}) as merged (id)`)
  return rows.map((row) => row.id)
}

/** The ids behind the names of a record; undefined if the names did not change. */
export interface ChangedEntityIds {
  readonly category: number | undefined
  readonly language: number | undefined
  readonly speakers: readonly number[] | undefined
  readonly tags: readonly number[] | undefined
}

/** Entities that the record did not have before, with the names that they had when looked up. */
export interface AddedEntities {
  readonly category: readonly NamedEntity[]
  readonly speakers: readonly NamedEntity[]
  readonly tags: readonly NamedEntity[]
}

export interface NewVersion {
  readonly video: Video
  readonly revision: number
  readonly body: string
  readonly etag: string
  readonly ids: ChangedEntityIds
  readonly added: AddedEntities
  readonly change: NewChange
  /** The record into which this one is merged. Default: null. */
  readonly mergedInto?: number | null
}

// A write is one statement: record, body and change are written together, in one round trip.

/**
 * Returns a condition that locks the added entities, much as a foreign key would, and is true if
 * all of them still have these names. A rename that starts later waits for this write and then
 * updates the record too; after an earlier rename the caller has to look the names up again.
 */
function lockUnrenamed({ category, speakers, tags }: AddedEntities): Sql {
  const tables: [string, string, readonly NamedEntity[]][] = [
    ['category', 'title', category],
    ['speaker', 'name', speakers],
    ['tag', 'name', tags],
  ]
  const conditions = tables
    .filter(([, , entities]) => entities.length > 0)
    .map(([table, nameColumn, entities]) => {
      const ids = entities.map(({ id }) => id)
      const names = entities.map(({ name }) => name)
      return sql`(select count(*)
                  from (select from ${raw(table)} as entity
                        join unnest(${ids}::bigint[], ${names}::text[]) as expected (id, name)
                          on entity.id = expected.id
                         and entity.${raw(nameColumn)} = expected.name
                         and entity.merged_into is null
                        order by entity.id
                        for share of entity) as locked) = ${entities.length}::integer`
    })
  return conditions.length > 0 ? join(conditions, ' and ') : sql`true`
}

const LockResult = Type.Object({ locked: Type.Boolean() })

/**
 * Locks entities that a record is about to get. Call it before the record is locked: a rename locks
 * the entity first and its records then, and the same order prevents deadlocks.
 */
export function lockAddedEntities(tx: Db, added: AddedEntities) {
  return one(tx, LockResult, sql`select ${lockUnrenamed(added)} as locked`)
}

/** Inserts a record. Returns false if the slug was taken or a name changed concurrently. */
export async function insertVideo(
  db: Db,
  { video, revision, body, etag, ids, added, change }: NewVersion,
): Promise<boolean> {
  const count = await execute(
    db,
    sql`with saved as (
          insert into video (
            id, revision, slug, category_id, language_id, speaker_ids, tag_ids, added, updated,
            ${fieldColumnNames})
          select
            ${video.id}, ${revision}, ${video.slug},
            ${ids.category}, ${ids.language}, ${ids.speakers}, ${ids.tags},
            ${utc(video.added)}, ${utc(video.updated)},
            ${join(fieldNames.map((field) => video[field]))}
          where ${lockUnrenamed(added)}
          on conflict (slug) do nothing
          returning id, revision
        ), rendered as (
          insert into video_body (id, revision, etag, live, updated, body)
          select id, revision, ${etag}, ${video.state === states.live}::boolean,
                 ${utc(video.updated)}, ${body}
          from saved
        )
        ${insertChange(change)}`,
  )
  return count === 1
}

/** A record that is created together with others. */
export interface NewVideoRow {
  readonly id: number
  readonly revision: number
  readonly video: Video
  readonly ids: ChangedEntityIds
  readonly takenDown: { readonly day: string; readonly reason: string } | undefined
  readonly at: string
  readonly body: string
  readonly etag: string
  /** The record into which this one was merged. Default: null. */
  readonly mergedInto?: number | undefined
}

export interface InsertOptions {
  /** Overwrites rows with the same id, instead of skipping them. */
  readonly replaces: boolean
  /** Default: `created`. */
  readonly kind: ChangeKind
  /** Old values of fields, for the history. */
  readonly before: object
}

/** The columns of `video` that `insertVideos` writes. */
const insertedColumns = [
  ...['id', 'revision', 'slug', 'category_id', 'language_id', 'speaker_ids', 'tag_ids'],
  ...['added', 'updated', 'taken_down', 'takedown_reason', 'merged_into'],
  ...fieldNames,
]
const assignExcluded = (columns: readonly string[]) =>
  raw(columns.map((column) => `${column} = excluded.${column}`).join(', '))
const bodyFields = ['revision', 'etag', 'live', 'updated', 'body', 'taken_down', 'merged_into']

const Created = Type.Object({ id: Type.Integer() })

/**
 * Inserts many records with their bodies and changes in one statement. Returns the ids of those
 * that were inserted; rows whose slug or id is taken are skipped.
 */
export async function insertVideos(
  tx: Db,
  rows: readonly NewVideoRow[],
  origin: Origin,
  hash: Buffer,
  { replaces, kind, before }: InsertOptions = { replaces: false, kind: 'created', before: {} },
): Promise<number[]> {
  const input = rows.map(({ video, ids, takenDown, mergedInto, ...row }) => ({
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
    merged_into: mergedInto,
    after: video,
    ids,
  }))
  const columns = raw(insertedColumns.join(', '))
  const onConflict = (updated: readonly string[]) =>
    replaces ? sql`on conflict (id) do update set ${assignExcluded(updated)}` : empty
  const inserted = await writeReturning(
    tx,
    Created,
    sql`with input as materialized (
          select *
          from json_to_recordset(${JSON.stringify(input)}::json) as record (
            id bigint, revision integer, slug text,
            category_id bigint, language_id integer, speaker_ids bigint[], tag_ids bigint[],
            added timestamptz, updated timestamptz, taken_down date, takedown_reason text,
            merged_into bigint,
            ${raw(fieldNames.map((field) => `${field} ${fieldColumns[field]}`).join(', '))},
            body text, etag text, after jsonb, ids jsonb, at timestamptz)
        ), saved as (
          insert into video (${columns})
          select ${columns}
          from input
          ${replaces ? onConflict(insertedColumns.slice(1)) : sql`on conflict do nothing`}
          returning id
        ), rendered as (
          insert into video_body (
            id, revision, etag, live, updated, body, taken_down, merged_into)
          select id, revision, etag, state = ${states.live} and taken_down is null, updated, body,
                 case
                   when taken_down is not null
                   then jsonb_build_object(
                     'taken_down', taken_down::text, 'reason', takedown_reason)
                 end,
                 merged_into
          from input
          join saved using (id)
          ${onConflict(bodyFields)}
        ), history as (
          ${insertChanges(
            'video',
            kind,
            origin,
            hash,
            sql`select id, revision, ${JSON.stringify(before)}::jsonb, after, ids, at
                from input
                join saved using (id)`,
          )}
        )
        select id from saved`,
  )
  return inserted.map(({ id }) => id)
}

/** Reserves ids. */
export async function nextVideoIds(db: Db, count: number): Promise<number[]> {
  const rows = await many(
    db,
    NewId,
    sql`select nextval(pg_get_serial_sequence('video', 'id')) as id
        from generate_series(1, ${count}::integer)`,
  )
  return rows.map(({ id }) => id)
}

/**
 * Advances the id sequence so that no id up to this one is generated. Holds an advisory lock until
 * the end of the transaction, because concurrent calls could set the sequence back.
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
        where ${upTo}::bigint > coalesce(
          pg_sequence_last_value(pg_get_serial_sequence('video', 'id')::regclass), 0)`,
  )
}

const Slug = Type.Object({ slug: Type.String() })

/** Returns those of the slugs that a record has. */
export async function findTakenSlugs(db: Db, slugs: readonly string[]): Promise<string[]> {
  const rows = await many(db, Slug, sql`select slug from video where slug = any (${slugs}::text[])`)
  return rows.map(({ slug }) => slug)
}

/**
 * Writes a new version of a record. Returns false if the record is no longer at the previous
 * revision, or a name changed concurrently.
 */
export async function updateVideo(
  db: Db,
  { video, revision, body, etag, ids, added, change, mergedInto = null }: NewVersion,
): Promise<boolean> {
  const count = await execute(
    db,
    sql`with saved as (
          update video set
            revision = ${revision},
            slug = ${video.slug},
            category_id = coalesce(${ids.category}::bigint, category_id),
            language_id = coalesce(${ids.language}::integer, language_id),
            speaker_ids = coalesce(${ids.speakers}::bigint[], speaker_ids),
            tag_ids = coalesce(${ids.tags}::bigint[], tag_ids),
            ${join(fieldNames.map((field) => sql`${raw(field)} = ${video[field]}`))},
            updated = ${utc(video.updated)},
            merged_into = ${mergedInto}
          where id = ${video.id} and revision = ${revision - 1} and ${lockUnrenamed(added)}
          returning id, revision
        ), rendered as (
          update video_body set
            revision = saved.revision,
            etag = ${etag},
            live = ${video.state === states.live}::boolean,
            updated = ${utc(video.updated)},
            body = ${body},
            merged_into = ${mergedInto}
          from saved
          where video_body.id = saved.id
        )
        ${insertChange(change)}`,
  )
  return count === 1
}

/**
 * Takes a record down and empties its body. The content stays in the history, for the operators of
 * the archive only. Returns false if the record is no longer at the previous revision.
 */
export async function saveTakedown(
  db: Db,
  takedown: {
    id: number
    revision: number
    etag: string
    updated: string
    day: string
    reason: string
    change: NewChange
  },
): Promise<boolean> {
  const { id, revision, etag, updated, day, reason, change } = takedown
  const count = await execute(
    db,
    sql`with saved as (
          update video set
            revision = ${revision},
            taken_down = ${day}::date,
            takedown_reason = ${reason},
            merged_into = null,
            updated = ${utc(updated)}
          where id = ${id} and revision = ${revision - 1}
          returning id, revision
        ), rendered as (
          update video_body set
            revision = saved.revision,
            etag = ${etag},
            live = false,
            updated = ${utc(updated)},
            body = '',
            merged_into = null,
            taken_down = jsonb_build_object('taken_down', ${day}::text, 'reason', ${reason}::text)
          from saved
          where video_body.id = saved.id
        )
        ${insertChange(change)}`,
  )
  return count === 1
}

/** Replaces the reason of a takedown. It keeps its revision: nothing else has changed. */
export function updateTakedownReason(tx: Db, id: number, reason: string, etag: string) {
  return execute(
    tx,
    sql`with saved as (
          update video set takedown_reason = ${reason}
          where id = ${id} and taken_down is not null
          returning id
        )
        update video_body
        set etag = ${etag}, taken_down = jsonb_set(taken_down, '{reason}', to_jsonb(${reason}::text))
        from saved
        where video_body.id = saved.id`,
  )
}

const LaterChange = Type.Object({ isChanged: Type.Boolean() })

/** Tells whether a change with such a request was made after a revision of a record. */
export async function hasLaterRequest(db: Db, id: number, revision: number, pattern: string) {
  const row = await one(
    db,
    LaterChange,
    sql`select exists (
          select from change
          where subject = 'video'
            and subject_id = ${id}
            and revision > ${revision}::integer
            and request_id like ${pattern}) as "isChanged"`,
  )
  return row.isChanged
}

// Timestamps on the wire have no zone designator; PostgreSQL would use the zone of the session.
function utc(timestamp: string): Sql {
  return sql`${`${timestamp}Z`}::timestamptz`
}

const IdempotencyKey = Type.Object({
  request_hash: Type.Unsafe<Buffer>({}),
  video_id: Type.Integer(),
})

/** Finds an idempotency key that has not expired. */
export function findIdempotencyKey(db: Db, token: number, key: string) {
  return maybe(
    db,
    IdempotencyKey,
    sql`select request_hash, video_id
        from idempotency_key
        where token_id = ${token} and key = ${key} and created > now() - interval '24 hours'`,
  )
}

/**
 * Inserts an idempotency key in the transaction of the record. A concurrent request with the same
 * key waits here for the first one and then fails with a `UniqueViolation`.
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
    sql`insert into idempotency_key (token_id, key, request_hash, video_id)
        values (${token}, ${key}, ${hash}, ${videoId})`,
  )
}

/** Deletes this key if it has expired, and up to 100 other expired keys. */
export async function deleteExpiredKeys(tx: Db, token: number, key: string): Promise<void> {
  const isExpired = sql`created <= now() - interval '24 hours'`
  await execute(
    tx,
    sql`delete from idempotency_key
        where token_id = ${token} and key = ${key} and ${isExpired}`,
  )
  await execute(
    tx,
    sql`delete from idempotency_key
        where ctid = any (array(
          select ctid
          from idempotency_key
          where ${isExpired}
          order by created
          limit 100
          for update skip locked))`,
  )
}

/** Gives other slugs to the records that have one of these, unless it is the one of their own. */
export function releaseSlugs(
  tx: Db,
  rows: readonly { readonly id: number; readonly slug: string }[],
) {
  return execute(
    tx,
    sql`update video
        set slug = 'moved-' || video.id || '-' || left(md5(random()::text), 12)
        from unnest(${rows.map(({ id }) => id)}::bigint[],
                    ${rows.map(({ slug }) => slug)}::text[]) as input (id, slug)
        where video.slug = input.slug and video.id <> input.id`,
  )
}

const References = Type.Object({
  id: Type.Integer(),
  isNew: Type.Boolean(),
  revision: Type.Integer(),
  category: Type.Union([Type.Integer(), Type.Null()]),
  language: Type.Integer(),
})

/**
 * Finds what rows without content refer to: what they refer to already, or any category and
 * language. The category is null if there is none.
 */
export function findReferences(tx: Db, ids: readonly number[]) {
  return many(
    tx,
    References,
    sql`select wanted.id, video.id is null as "isNew", coalesce(revision, 1) as revision,
               coalesce(category_id, (select min(id) from category)) as category,
               coalesce(language_id, (select min(id) from language)) as language
        from unnest(${ids}::bigint[]) as wanted (id)
        left join video on video.id = wanted.id`,
  )
}

/** Makes records redirect no longer. */
export async function clearMergedInto(tx: Db, ids: readonly number[]): Promise<void> {
  await execute(
    tx,
    sql`update video set merged_into = null
        where id = any (${ids}::bigint[]) and merged_into is not null`,
  )
  await execute(
    tx,
    sql`update video_body set merged_into = null
        where id = any (${ids}::bigint[]) and merged_into is not null`,
  )
}
