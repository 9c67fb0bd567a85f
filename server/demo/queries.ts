import sql from 'sql-template-tag'
import Type from 'typebox'
import { type Db, many, one } from '../platform/db/db.ts'

const LoadedTalk = Type.Object({ request: Type.String(), id: Type.Integer(), live: Type.Boolean() })
const Occupancy = Type.Object({ used: Type.Boolean(), demo: Type.Boolean() })

/** Returns the talks loaded by earlier demos, identified by their history, not by their title. */
export function loadedTalks(db: Db, prefix: string) {
  return many(
    db,
    LoadedTalk,
    sql`select change.request_id as request, change.subject_id as id, video_body.live
        from change
        join video_body on video_body.id = change.subject_id
        where change.subject = 'video'
          and change.revision = 1
          and change.via = 'command'
          and starts_with(change.request_id, ${prefix})
        order by change.subject_id`,
  )
}

/** Tells whether the database contains records, and whether an earlier demo has loaded any. */
export function occupancy(db: Db, prefix: string) {
  return one(
    db,
    Occupancy,
    sql`select
          exists (select from video) or exists (select from category) as used,
          exists (
            select from change
            where via = 'command' and starts_with(request_id, ${prefix})
          ) as demo`,
  )
}
