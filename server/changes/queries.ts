import sql, { type Sql } from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import type { Origin } from '../platform/actor.ts'
import { type Db, many, maybe, one } from '../platform/db/db.ts'

export type Subject = 'video' | 'category' | 'speaker' | 'tag' | 'facts'
export type ChangeKind = 'created' | 'updated' | 'restored' | 'taken-down' | 'merged'

export interface NewChange {
  readonly subject: Subject
  readonly kind: ChangeKind
  readonly before: Readonly<Record<string, unknown>>
  readonly after: Readonly<Record<string, unknown>>
  /** The ids behind the names in `after`: names change, ids don't. */
  readonly ids: Readonly<object>
  readonly at: string
  readonly origin: Origin
  readonly requestHash: Buffer
}

/**
 * The last part of the one statement that writes: `saved` is a common table expression of the
 * caller with the id and the revision of the row that it wrote. Where it wrote none, no change is
 * recorded.
 */
export function insertChange({
  subject,
  kind,
  before,
  after,
  ids,
  at,
  origin,
  requestHash,
}: NewChange): Sql {
  return sql`
    insert into change (subject, subject_id, revision, kind, before, after, ids, at, actor, token_id, via, request_id, request_hash)
    select ${subject}, saved.id, saved.revision, ${kind}, ${JSON.stringify(before)}::jsonb, ${JSON.stringify(after)}::jsonb, ${JSON.stringify(ids)}::jsonb,
           ${at}::timestamptz, ${origin.actor.name}, ${origin.actor.token}::bigint, ${origin.via}, ${origin.request}, ${requestHash}::bytea
    from saved`
}

/**
 * The same for many of one kind: `rows` selects id, revision, before, after, ids and the moment of
 * each.
 */
export function insertChanges(
  subject: Subject,
  kind: ChangeKind,
  origin: Origin,
  requestHash: Buffer,
  rows: Sql,
): Sql {
  return sql`
    insert into change (subject, subject_id, revision, kind, before, after, ids, at, actor, token_id, via, request_id, request_hash)
    select ${subject}, id, revision, ${kind}, before, after, ids, at,
           ${origin.actor.name}, ${origin.actor.token}::bigint, ${origin.via}, ${origin.request}, ${requestHash}::bytea
    from (${rows}) as saved (id, revision, before, after, ids, at)`
}

const at = sql`to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS') as at`

const ChangeSummary = Type.Object({
  revision: Type.Integer(),
  kind: Type.String(),
  at: Type.String(),
  by: Type.String(),
  via: Type.String(),
  request: Type.String(),
  fields: Type.Array(Type.String()),
})
export type ChangeSummary = Static<typeof ChangeSummary>

const Ids = Type.Array(Type.Integer())
const IdsThen = Type.Object({ category: Type.Integer(), speakers: Ids, tags: Ids })
const Version = Type.Object({
  ...ChangeSummary.properties,
  fields_then: Type.Record(Type.String(), Type.Unknown()),
  ids_then: Type.Union([IdsThen, Type.Null()]),
})
const Count = Type.Object({ count: Type.Integer() })
const LatestChange = Type.Object({
  revision: Type.Integer(),
  at: Type.String(),
  by: Type.String(),
  token_id: Type.Union([Type.Integer(), Type.Null()]),
  request_hash: Type.Unsafe<Buffer>({}),
  changed: Type.Array(Type.String()),
})
export type LatestChange = Static<typeof LatestChange>

// The fields of a creation are those of the whole record; the ones that only the service sets are
// no news.
const summary = sql`
  revision, kind, ${at}, actor as by, via, request_id as request,
  array(select key from jsonb_object_keys(after) as key where key <> all ('{id,slug,added,updated}') order by key) as fields`

export function listChanges(db: Db, subject: Subject, id: number, limit: number, offset: number) {
  return many(
    db,
    ChangeSummary,
    sql`select ${summary} from change where subject = ${subject} and subject_id = ${id}
        order by revision desc limit ${limit}::integer offset ${offset}::integer`,
  )
}

export async function countChanges(db: Db, subject: Subject, id: number) {
  const row = await one(
    db,
    Count,
    sql`select count(*) from change where subject = ${subject} and subject_id = ${id}`,
  )
  return row.count
}

/**
 * A version: its change, and of each field the newest value up to then, with the ids behind its
 * names.
 */
export function findVersion(db: Db, subject: Subject, id: number, revision: number) {
  const newest = (column: Sql) =>
    sql`(select jsonb_object_agg(key, value)
         from (select distinct on (key) key, value from change as earlier, jsonb_each(earlier.${column})
               where earlier.subject = ${subject} and earlier.subject_id = ${id} and earlier.revision <= ${revision}::integer
               order by key, earlier.revision desc) as newest)`
  return maybe(
    db,
    Version,
    sql`select ${summary}, ${newest(sql`after`)} as fields_then, ${newest(sql`ids`)} as ids_then
        from change where subject = ${subject} and subject_id = ${id} and revision = ${revision}`,
  )
}

const Since = Type.Object({
  server: Type.String(),
  snapshot: Type.String(),
  ids: Type.Array(Type.Integer()),
})

/**
 * Which subjects changed between two looks: exactly what this look can see and the look before
 * could not, however long the transactions took. Nothing before the first look.
 */
export function findChangedSince(db: Db, subject: Subject, snapshot: string | undefined) {
  const since = sql`${snapshot}::pg_snapshot`
  return one(
    db,
    Since,
    sql`select pg_postmaster_start_time()::text as server, pg_current_snapshot()::text as snapshot,
               array(select subject_id from change where subject = ${subject} and xid >= pg_snapshot_xmin(${since})
                     and not pg_visible_in_snapshot(xid, ${since})) as ids`,
  )
}

/**
 * The newest change of the subject, and which fields changed since a revision; none where that is
 * undefined.
 */
export function findLatestChange(db: Db, subject: Subject, id: number, since: number | undefined) {
  return maybe(
    db,
    LatestChange,
    sql`select revision, ${at}, actor as by, token_id, request_hash,
               array(select distinct key from change as later, jsonb_object_keys(later.after) as key
                     where later.subject = ${subject} and later.subject_id = ${id} and later.revision > ${since}::integer
                     order by key) as changed
        from change where subject = ${subject} and subject_id = ${id} order by revision desc limit 1`,
  )
}
