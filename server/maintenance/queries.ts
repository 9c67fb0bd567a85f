import sql from 'sql-template-tag'
import { type Db, execute } from '../platform/db/db.ts'

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
