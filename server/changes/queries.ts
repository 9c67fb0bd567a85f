import sql, { type Sql } from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import type { Origin } from '../platform/actor.ts'
import { type Db, execute, many, maybe, one } from '../platform/db/db.ts'

export type Subject = 'video' | 'category' | 'speaker' | 'tag' | 'facts' | 'source'
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
 * Returns the final `insert` of a statement that writes a row: `saved` is a common table expression
 * of the caller with the id and the revision of that row. Records no change if `saved` is empty.
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
    insert into change (
      subject, subject_id, revision, kind, before, after, ids, at,
      actor, token_id, person_id, suggestion_id, via, request_id, request_hash)
    select
      ${subject}, saved.id, saved.revision, ${kind},
      ${JSON.stringify(before)}::jsonb, ${JSON.stringify(after)}::jsonb,
      ${JSON.stringify(ids)}::jsonb, ${at}::timestamptz,
      ${origin.actor.name}, ${origin.actor.token}::bigint, ${origin.actor.person ?? null}::bigint,
      ${origin.suggestion ?? null}::bigint, ${origin.via}, ${origin.request}, ${requestHash}::bytea
    from saved`
}

/**
 * Returns an `insert` of many changes of one kind: `rows` selects id, revision, before, after, ids
 * and timestamp of each.
 */
export function insertChanges(
  subject: Subject,
  kind: ChangeKind,
  origin: Origin,
  requestHash: Buffer,
  rows: Sql,
): Sql {
  return sql`
    insert into change (
      subject, subject_id, revision, kind, before, after, ids, at,
      actor, token_id, person_id, suggestion_id, via, request_id, request_hash)
    select
      ${subject}, id, revision, ${kind}, before, after, ids, at,
      ${origin.actor.name}, ${origin.actor.token}::bigint, ${origin.actor.person ?? null}::bigint,
      ${origin.suggestion ?? null}::bigint, ${origin.via}, ${origin.request}, ${requestHash}::bytea
    from (${rows}) as saved (id, revision, before, after, ids, at)`
}

const utcTimestamp = sql`to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS') as at`

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
  person_id: Type.Union([Type.Integer(), Type.Null()]),
  request_hash: Type.Unsafe<Buffer>({}),
  changed: Type.Array(Type.String()),
})
export type LatestChange = Static<typeof LatestChange>

// The first change contains the whole record; the fields that only the service sets are excluded.
const summaryColumns = sql`
  revision, kind, ${utcTimestamp}, actor as by, via, request_id as request,
  array(
    select key
    from jsonb_object_keys(after) as key
    where key <> all ('{id,slug,added,updated}')
    order by key
  ) as fields`

/** Lists the changes of a subject, newest first. */
export function listChanges(db: Db, subject: Subject, id: number, limit: number, offset: number) {
  return many(
    db,
    ChangeSummary,
    sql`select ${summaryColumns}
        from change
        where subject = ${subject} and subject_id = ${id}
        order by revision desc
        limit ${limit}::integer offset ${offset}::integer`,
  )
}

const ChangeWithValues = Type.Object({
  ...ChangeSummary.properties,
  suggestion: Type.Union([Type.Integer(), Type.Null()]),
  before: Type.Record(Type.String(), Type.Unknown()),
  after: Type.Record(Type.String(), Type.Unknown()),
  ids: Type.Partial(IdsThen),
})

/**
 * Lists changes before a revision with their values, newest first: at most `limit`, and fewer if
 * the values have more than `maxBytes`. The first one is always listed.
 */
export function listChangesWithValues(
  db: Db,
  subject: Subject,
  id: number,
  { before, limit, maxBytes }: { before: number; limit: number; maxBytes: number },
) {
  return many(
    db,
    ChangeWithValues,
    sql`select ${summaryColumns}, suggestion_id as suggestion, before, after, ids
        from (
          select *,
                 sum(octet_length(before::text) + octet_length(after::text)) over (
                   order by revision desc rows between unbounded preceding and 1 preceding
                 ) as newer_bytes
          from (
            select *
            from change
            where subject = ${subject} and subject_id = ${id} and revision < ${before}::bigint
            order by revision desc
            limit ${limit}::integer
          ) as page
        ) as measured
        where coalesce(newer_bytes, 0) <= ${maxBytes}::integer
        order by revision desc`,
  )
}

const NewestIds = Type.Object({ ids: Type.Union([IdsThen, Type.Null()]) })

/** Finds the ids behind the names of a version. Null if there is no such version. */
export async function findIdsThen(db: Db, subject: Subject, id: number, revision: number) {
  const newest = newestValues(sql`ids`, subject, id, revision)
  const row = await one(db, NewestIds, sql`select ${newest} as ids`)
  return row.ids
}

/** Counts the changes of a subject. */
export async function countChanges(db: Db, subject: Subject, id: number) {
  const row = await one(
    db,
    Count,
    sql`select count(*) from change where subject = ${subject} and subject_id = ${id}`,
  )
  return row.count
}

/**
 * Finds a version: its change, the newest value of each field up to that revision, and the ids
 * behind its names.
 */
export function findVersion(db: Db, subject: Subject, id: number, revision: number) {
  return maybe(
    db,
    Version,
    sql`select ${summaryColumns},
               ${newestValues(sql`after`, subject, id, revision)} as fields_then,
               ${newestValues(sql`ids`, subject, id, revision)} as ids_then
        from change
        where subject = ${subject} and subject_id = ${id} and revision = ${revision}`,
  )
}

/** Selects the newest value of each key of a column, up to a revision. */
function newestValues(column: Sql, subject: Subject, id: number, revision: number): Sql {
  return sql`
    (select jsonb_object_agg(key, value)
     from (select distinct on (key) key, value
           from change as earlier, jsonb_each(earlier.${column})
           where earlier.subject = ${subject}
             and earlier.subject_id = ${id}
             and earlier.revision <= ${revision}::integer
           order by key, earlier.revision desc) as newest)`
}

const ChangedSince = Type.Object({
  server: Type.String(),
  snapshot: Type.String(),
  ids: Type.Array(Type.Integer()),
})

/**
 * Finds the subjects that changed since a snapshot: exactly those that are visible now and were not
 * visible then, however long their transactions took. Finds none without a snapshot.
 */
export function findChangedSince(db: Db, subject: Subject, snapshot: string | undefined) {
  const since = sql`${snapshot}::pg_snapshot`
  return one(
    db,
    ChangedSince,
    sql`select pg_postmaster_start_time()::text as server,
               pg_current_snapshot()::text as snapshot,
               array(
                 select subject_id
                 from change
                 where subject = ${subject}
                   and xid >= pg_snapshot_xmin(${since})
                   and not pg_visible_in_snapshot(xid, ${since})
               ) as ids`,
  )
}

/**
 * Finds the newest change of a subject, with the fields that changed since a revision. The list is
 * empty if `since` is undefined.
 */
export function findLatestChange(db: Db, subject: Subject, id: number, since: number | undefined) {
  return maybe(
    db,
    LatestChange,
    sql`select revision, ${utcTimestamp}, actor as by, token_id, person_id, request_hash,
               array(
                 select distinct key
                 from change as later, jsonb_object_keys(later.after) as key
                 where later.subject = ${subject}
                   and later.subject_id = ${id}
                   and later.revision > ${since}::integer
                 order by key
               ) as changed
        from change
        where subject = ${subject} and subject_id = ${id}
        order by revision desc
        limit 1`,
  )
}

/** Deletes the history of subjects whose content must not be kept. */
export function deleteChanges(tx: Db, subject: Subject, ids: readonly number[]) {
  return execute(
    tx,
    sql`delete from change where subject = ${subject} and subject_id = any (${ids}::bigint[])`,
  )
}
