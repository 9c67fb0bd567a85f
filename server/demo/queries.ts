import sql from 'sql-template-tag'
import Type from 'typebox'
import { type Db, many, one } from '../platform/db/db.ts'

const LoadedTalk = Type.Object({ request: Type.String(), id: Type.Integer(), live: Type.Boolean() })
const Occupancy = Type.Object({ used: Type.Boolean(), demo: Type.Boolean() })

/**
 * The talks that an earlier demo loaded, by the history: it stays, whatever became of their titles.
 */
export function loadedTalks(db: Db, prefix: string) {
  return many(
    db,
    LoadedTalk,
    sql`select change.request_id as request, change.subject_id as id, video_body.live
        from change join video_body on video_body.id = change.subject_id
        where change.subject = 'video' and change.revision = 1 and change.via = 'command' and starts_with(change.request_id, ${prefix})
        order by change.subject_id`,
  )
}

/** Whether there is an archive in the database already, and whether a demo has been here before. */
export function occupancy(db: Db, prefix: string) {
  return one(
    db,
    Occupancy,
    sql`select exists (select from video) or exists (select from category) as used,
               exists (select from change where via = 'command' and starts_with(request_id, ${prefix})) as demo`,
  )
}
