import sql from 'sql-template-tag'
import Type from 'typebox'
import { type Db, execute, many } from '../platform/db/db.ts'

/**
 * Claims a task that was last finished this many hours ago. Returns 0 if it is not due or another
 * process has claimed it. A claim expires after an hour.
 */
export function claimTask(db: Db, task: string, hours: number) {
  return execute(
    db,
    sql`insert into maintenance (task, began, finished)
        values (${task}, now(), '-infinity')
        on conflict (task) do update set began = now()
        where maintenance.finished < now() - make_interval(hours => ${hours}::integer)
          and maintenance.began < now() - interval '1 hour'`,
  )
}

/** Marks a task as finished. */
export function finishTask(db: Db, task: string) {
  return execute(db, sql`update maintenance set finished = now() where task = ${task}`)
}

const Finished = Type.Object({ task: Type.String(), finished: Type.Number() })

/** Lists when each task was last finished, in seconds since 1970; 0 if it never was. */
export function listFinished(db: Db) {
  return many(
    db,
    Finished,
    sql`select task,
               case when isfinite(finished) then extract(epoch from finished)::float8 else 0 end
                 as finished
        from maintenance`,
  )
}
