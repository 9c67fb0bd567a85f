import sql from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import type { Origin } from '../platform/actor.ts'
import { type Db, execute, many, maybe, one } from '../platform/db/db.ts'

const Scheduled = Type.Object({
  id: Type.Integer(),
  publish_at: Type.String(),
  /** Whether that time has come. */
  is_due: Type.Boolean(),
  actor: Type.String(),
  token_id: Type.Union([Type.Integer(), Type.Null()]),
  person_id: Type.Union([Type.Integer(), Type.Null()]),
  via: Type.Unsafe<Origin['via']>(Type.String()),
  request_id: Type.String(),
})
export type Scheduled = Static<typeof Scheduled>

const columns = sql`
  video_id as id,
  to_char(publish_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as publish_at,
  publish_at <= now() as is_due,
  actor, token_id, person_id, via, request_id`

/** Finds when a record goes live. */
export function findScheduled(db: Db, id: number) {
  return maybe(
    db,
    Scheduled,
    sql`select ${columns} from scheduled_publication where video_id = ${id}`,
  )
}

const DueId = Type.Object({ id: Type.Integer() })

/** Lists records whose time has come, the oldest first. */
export function listDue(db: Db, limit: number) {
  return many(
    db,
    DueId,
    sql`select video_id as id
        from scheduled_publication
        where publish_at <= now()
        order by publish_at, video_id
        limit ${limit}::integer`,
  )
}

const Due = Type.Object({ count: Type.Integer(), oldest_seconds: Type.Number() })

/** Counts the records whose time has come, and returns how late the oldest is. */
export function countDue(db: Db) {
  return one(
    db,
    Due,
    sql`select count(*) as count,
               coalesce(extract(epoch from now() - min(publish_at)), 0)::float8 as oldest_seconds
        from scheduled_publication
        where publish_at <= now()`,
  )
}

const ScheduledTalk = Type.Object({
  id: Type.Integer(),
  title: Type.String(),
  publish_at: Type.String(),
  by: Type.String(),
})

/** Lists scheduled publications, the next one first. */
export function listScheduled(db: Db, limit: number) {
  return many(
    db,
    ScheduledTalk,
    sql`select video_id as id, title,
               to_char(publish_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as publish_at,
               actor as by
        from scheduled_publication join video on video.id = video_id
        order by scheduled_publication.publish_at, video_id
        limit ${limit}::integer`,
  )
}

/** Sets when a record goes live. The record must be locked. */
export function saveScheduled(
  tx: Db,
  id: number,
  publishAt: string,
  { actor, via, request }: Origin,
) {
  return execute(
    tx,
    sql`insert into scheduled_publication (
          video_id, publish_at, actor, token_id, person_id, via, request_id)
        values (
          ${id}, ${publishAt}::timestamptz, ${actor.name}, ${actor.token}, ${actor.person ?? null},
          ${via}, ${request})
        on conflict (video_id) do update set
          publish_at = excluded.publish_at,
          actor = excluded.actor,
          token_id = excluded.token_id,
          person_id = excluded.person_id,
          via = excluded.via,
          request_id = excluded.request_id`,
  )
}

/** Cancels the publication of a record. The record must be locked. */
export function deleteScheduled(tx: Db, id: number) {
  return execute(tx, sql`delete from scheduled_publication where video_id = ${id}`)
}
