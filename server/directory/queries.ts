import sql from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import type { Origin } from '../platform/actor.ts'
import { type Db, execute, maybe, one } from '../platform/db/db.ts'

const RenameJob = Type.Object({
  id: Type.Integer(),
  kind: Type.Union([Type.Literal('category'), Type.Literal('speaker'), Type.Literal('tag')]),
  entity_id: Type.Integer(),
  done_up_to: Type.Integer(),
  actor: Type.String(),
  token_id: Type.Union([Type.Integer(), Type.Null()]),
  via: Type.Unsafe<Origin['via']>(Type.String()),
  request_id: Type.String(),
  request_hash: Type.Unsafe<Buffer>({}),
})
export type RenameJob = Static<typeof RenameJob>

export function insertRenameJob(tx: Db, it: Omit<RenameJob, 'id'>) {
  return execute(
    tx,
    sql`insert into rename_job (kind, entity_id, done_up_to, actor, token_id, via, request_id, request_hash)
        values (${it.kind}, ${it.entity_id}, ${it.done_up_to}, ${it.actor}, ${it.token_id}, ${it.via}, ${it.request_id}, ${it.request_hash})`,
  )
}

const Left = Type.Object({ any: Type.Boolean() })

export async function hasRenameJobs(db: Db): Promise<boolean> {
  return (await one(db, Left, sql`select exists (select from rename_job) as any`)).any
}

/** One that nobody is at, for as long as the transaction takes. */
export function claimRenameJob(tx: Db) {
  return maybe(
    tx,
    RenameJob,
    sql`select id, kind, entity_id, done_up_to, actor, token_id, via, request_id, request_hash
        from rename_job order by id limit 1 for update skip locked`,
  )
}

export function advanceRenameJob(tx: Db, id: number, doneUpTo: number) {
  return execute(tx, sql`update rename_job set done_up_to = ${doneUpTo} where id = ${id}`)
}

export function deleteRenameJob(tx: Db, id: number) {
  return execute(tx, sql`delete from rename_job where id = ${id}`)
}
