import {
  categoryDetails,
  Language,
  ListedSpeaker,
  ListedTag,
  type Profile,
} from '@talkshelf/contract'
import sql, { empty, raw, type Sql } from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import type { EntityKind } from '../entities/entities.ts'
import type { Origin } from '../platform/actor.ts'
import { type Db, execute, many, maybe, one } from '../platform/db/db.ts'

// Jobs that update records after a rename, and the lists of entities.

const RenameJob = Type.Object({
  id: Type.Integer(),
  kind: Type.Union([Type.Literal('category'), Type.Literal('speaker'), Type.Literal('tag')]),
  entity_id: Type.Integer(),
  /** The highest id of the records that were updated. */
  done_up_to: Type.Integer(),
  /** Whether it updates the records that show the entity instead of another one. */
  is_undo: Type.Boolean(),
  actor: Type.String(),
  token_id: Type.Union([Type.Integer(), Type.Null()]),
  person_id: Type.Union([Type.Integer(), Type.Null()]),
  via: Type.Unsafe<Origin['via']>(Type.String()),
  request_id: Type.String(),
  request_hash: Type.Unsafe<Buffer>({}),
})
export type RenameJob = Static<typeof RenameJob>

/** Inserts a job that updates the remaining records of an entity. */
export function insertRenameJob(tx: Db, job: Omit<RenameJob, 'id'>) {
  return execute(
    tx,
    sql`insert into rename_job (
          kind, entity_id, done_up_to, is_undo, actor, token_id, person_id, via, request_id,
          request_hash)
        values (
          ${job.kind}, ${job.entity_id}, ${job.done_up_to}, ${job.is_undo}, ${job.actor},
          ${job.token_id}, ${job.person_id}, ${job.via}, ${job.request_id}, ${job.request_hash})`,
  )
}

const Any = Type.Object({ any: Type.Boolean() })

/** Returns whether there are jobs, claimed or not. */
export async function hasRenameJobs(db: Db): Promise<boolean> {
  const row = await one(db, Any, sql`select exists (select from rename_job) as any`)
  return row.any
}

const JobCount = Type.Object({ count: Type.Integer() })

/** Returns the number of jobs, claimed or not. */
export async function countRenameJobs(db: Db): Promise<number> {
  return (await one(db, JobCount, sql`select count(*) from rename_job`)).count
}

/** Claims a job that no other process has claimed, until the end of the transaction. */
export function claimRenameJob(tx: Db) {
  return maybe(
    tx,
    RenameJob,
    sql`select id, kind, entity_id, done_up_to, is_undo, actor, token_id, person_id, via,
               request_id, request_hash
        from rename_job
        order by id
        limit 1
        for update skip locked`,
  )
}

/** Records that a job has updated all records up to this id. */
export function advanceRenameJob(tx: Db, id: number, doneUpTo: number) {
  return execute(tx, sql`update rename_job set done_up_to = ${doneUpTo} where id = ${id}`)
}

/** Deletes a finished job. */
export function deleteRenameJob(tx: Db, id: number) {
  return execute(tx, sql`delete from rename_job where id = ${id}`)
}

const Done = Type.Object({ done: Type.Null() })

/**
 * Locks out the undo of merges until the end of the transaction, or with `exclusive` everything that
 * updates records after a rename, merge or split. An undo must see all that a merge has written, and
 * a batch that began before the undo would apply the merge once more. Call it first in the
 * transaction, so that it cannot deadlock.
 */
export function lockMerges(tx: Db, mode: 'shared' | 'exclusive') {
  const lock = raw(mode === 'shared' ? 'pg_advisory_xact_lock_shared' : 'pg_advisory_xact_lock')
  return one(tx, Done, sql`select nullif(${lock}(hashtext('merges'))::text, '') as done`)
}

export type ListedKind = 'category' | 'speaker' | 'tag' | 'language'

/** The sort keys of a row, for cursors: its folded name and its id. */
const SortKeys = { keys: Type.Array(Type.String()) }

/** How the kinds differ: the row that is returned, the column with the name, and all columns. */
const listedKinds = {
  category: {
    row: Type.Object({
      id: Type.Integer(),
      title: Type.String(),
      slug: Type.String(),
      ...categoryDetails,
      profile: Type.Unsafe<Profile>(Type.Object({})),
      talks: Type.Integer(),
      ...SortKeys,
    }),
    name: raw('title'),
    columns: sql`id, title, slug, description, url, start_date, end_date, profile`,
  },
  speaker: {
    row: Type.Object({ ...ListedSpeaker.properties, ...SortKeys }),
    name: raw('name'),
    columns: sql`id, name, slug`,
  },
  tag: {
    row: Type.Object({ ...ListedTag.properties, ...SortKeys }),
    name: raw('name'),
    columns: sql`id, name, slug`,
  },
  language: {
    row: Type.Object({ ...Language.properties, ...SortKeys }),
    name: raw('name'),
    columns: sql`code, name, slug`,
  },
}

/** Returns the number of live talks of an entity. */
function talksOf(kind: ListedKind): Sql {
  return sql`coalesce((select sum(talks)
                       from talk_count
                       where kind = ${kind} and entity_id = entity.id), 0)::integer`
}

/**
 * Returns the condition for public entities: a category is public without talks as well, the others
 * if live talks have them. Merged entities are not.
 */
function isPublic(kind: ListedKind): Sql {
  if (kind === 'language') return sql`${talksOf(kind)} > 0`
  if (kind === 'category') return sql`merged_into is null`
  return sql`merged_into is null and ${talksOf(kind)} > 0`
}

/** Returns the condition for names that sort at or after `from`. */
function startsAt(kind: ListedKind, from: string | undefined): Sql {
  return from === undefined
    ? empty
    : sql`and fold(${listedKinds[kind].name}) collate "C" >= fold(${from}::text)`
}

/**
 * Lists a page of the public entities of a kind by name, with their number of live talks. `after`
 * has the sort keys of the last entity of the page before.
 */
export function selectEntities<K extends ListedKind>(
  db: Db,
  kind: K,
  way: 'next' | 'previous',
  page: { after: readonly string[] | undefined; offset: number; limit: number },
  from?: string,
): Promise<ListedEntity<K>[]> {
  const { row, name, columns } = listedKinds[kind]
  const key = sql`fold(${name}) collate "C"`
  const [comparison, direction] = way === 'next' ? [raw('>'), empty] : [raw('<'), raw('desc')]
  const after = page.after
    ? sql`and (${key}, id) ${comparison} (${page.after[0]}::text, ${page.after[1]}::bigint)`
    : empty
  const rows = many(
    db,
    row,
    sql`select ${columns}, ${talksOf(kind)} as talks, array[fold(${name}), id::text] as keys
        from ${raw(kind)} as entity
        where ${isPublic(kind)} ${startsAt(kind, from)} ${after}
        order by ${key} ${direction}, id ${direction}
        limit ${page.limit}::integer
        offset ${page.offset}::integer`,
  )
  return rows as Promise<ListedEntity<K>[]>
}

export type ListedEntity<K extends ListedKind> = Static<(typeof listedKinds)[K]['row']>

const EntityUse = Type.Object({
  id: Type.Integer(),
  name: Type.String(),
  slug: Type.String(),
  talks: Type.Integer(),
})

/**
 * Finds entities of a kind, also those of drafts only, by a part of a name or alias or by a similar
 * name; all if the text is empty.
 */
export function findEntitiesLike(
  db: Db,
  kind: EntityKind,
  text: string,
  { sort, limit, offset }: { sort: 'name' | 'use'; limit: number; offset: number },
) {
  const { name } = listedKinds[kind]
  const matches = sql`(
    fold(${name}) like '%' || fold(${text.replaceAll(/[\\%_]/g, '\\$&')}) || '%'
    or fold(${name}) % fold(${text})
    or id in (
      select entity_id
      from entity_name
      where kind = ${kind} and strpos(fold(name), fold(${text})) > 0))`
  const byName = sql`fold(${name}) collate "C", id`
  return many(
    db,
    EntityUse,
    sql`select id, ${name} as name, slug, coalesce(talks, 0)::integer as talks
        from ${raw(kind)} as entity
        left join (
          select entity_id, sum(talks) as talks
          from talk_count
          where kind = ${kind}
          group by entity_id
        ) as use on entity_id = id
        where merged_into is null and ${text === '' ? sql`true` : matches}
        order by ${sort === 'use' ? sql`coalesce(talks, 0) desc, ${byName}` : byName}
        limit ${limit}::integer offset ${offset}::integer`,
  )
}

const Count = Type.Object({ count: Type.Integer() })

/** Counts the public entities of a kind, up to a limit. */
export async function countEntitiesUpTo(
  db: Db,
  kind: ListedKind,
  limit: number,
  from?: string,
): Promise<number> {
  const row = await one(
    db,
    Count,
    sql`select count(*)
        from (select
              from ${raw(kind)} as entity
              where ${isPublic(kind)} ${startsAt(kind, from)}
              limit ${limit}::integer) as counted`,
  )
  return row.count
}
