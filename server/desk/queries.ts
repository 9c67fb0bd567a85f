import sql from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import { type Db, execute, many, maybe } from '../platform/db/db.ts'

const WorkingCopy = Type.Object({
  revision: Type.Integer(),
  form: Type.String(),
  saved: Type.String(),
})
export type WorkingCopy = Static<typeof WorkingCopy>

/** Finds what a person has typed and not saved. */
export function findWorkingCopy(db: Db, person: number, video: number) {
  return maybe(
    db,
    WorkingCopy,
    sql`select revision, form,
               to_char(saved at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as saved
        from working_copy
        where person_id = ${person} and video_id = ${video}`,
  )
}

const ListedCopy = Type.Object({
  id: Type.Integer(),
  title: Type.String(),
  saved: Type.String(),
})

/** Lists the talks in which a person has typed and not saved, the latest first. */
export function listWorkingCopies(db: Db, person: number, limit: number) {
  return many(
    db,
    ListedCopy,
    sql`select video.id, title,
               to_char(saved at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as saved
        from working_copy join video on video.id = video_id
        where person_id = ${person} and taken_down is null
        order by working_copy.saved desc
        limit ${limit}::integer`,
  )
}

/** Keeps what a person has typed. Does nothing if there is no such talk. */
export function saveWorkingCopy(
  db: Db,
  person: number,
  video: number,
  { revision, form }: Pick<WorkingCopy, 'revision' | 'form'>,
) {
  return execute(
    db,
    sql`insert into working_copy (person_id, video_id, revision, form)
        select ${person}, id, ${revision}, ${form}
        from video
        where id = ${video} and taken_down is null
        on conflict (person_id, video_id)
          do update set revision = excluded.revision, form = excluded.form, saved = now()`,
  )
}

/** Deletes what a person has typed, because it was saved or discarded. */
export function deleteWorkingCopy(db: Db, person: number, video: number) {
  return execute(
    db,
    sql`delete from working_copy where person_id = ${person} and video_id = ${video}`,
  )
}

/** Deletes what all people have typed about a talk. */
export function deleteCopiesOf(db: Db, video: number) {
  return execute(db, sql`delete from working_copy where video_id = ${video}`)
}

/** Deletes copies that are 90 days old, or of talks that were taken down. */
export function deleteOldCopies(db: Db): Promise<number> {
  return execute(
    db,
    sql`delete from working_copy
        using video
        where video.id = video_id
          and (saved < now() - interval '90 days' or taken_down is not null)`,
  )
}
