import sql from 'sql-template-tag'
import { type Db, execute } from '../platform/db/db.ts'

/**
 * Claims a task that was not finished for this many hours. Returns 0 if another process has it, or
 * did it. One that was claimed an hour ago and not finished is free again.
 */
export function claimTask(db: Db, task: string, hours: number) {
  return execute(
    db,
    sql`insert into maintenance (task, began, finished) values (${task}, now(), '-infinity')
        on conflict (task) do update set began = now()
        where maintenance.finished < now() - make_interval(hours => ${hours}::integer)
          and maintenance.began < now() - interval '1 hour'`,
  )
}

export function finishTask(db: Db, task: string) {
  return execute(db, sql`update maintenance set finished = now() where task = ${task}`)
}
