import sql, { raw, type Sql } from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import { type Db, many } from '../../platform/db/db.ts'

// The whole archive in numbers. Nothing here costs what a page costs: it is for whoever keeps the
// answer.

const Counted = Type.Object({
  place: Type.String(),
  last: Type.Integer(),
  seen: Type.Integer(),
  talks: Type.Integer(),
  seconds: Type.Integer(),
  speakers: Type.Integer(),
  description: Type.Integer(),
  duration: Type.Integer(),
  recorded: Type.Integer(),
  tags: Type.Integer(),
  licence: Type.Integer(),
  source: Type.Integer(),
})

/**
 * A piece of the walk through all records: the next so many, by the place between the slashes of
 * their address. All at once would take longer than any statement may, and hold a connection as
 * long. What a talk lacks is worked out when it is written, by the rules of the quality lists
 * (0009.do.quality.sql).
 */
export function countBatch(db: Db, after: number, size: number) {
  return many(
    db,
    Counted,
    sql`select coalesce(split_part(source_url, '/', 3), '') as place, max(id) as last, count(*)::integer as seen,
               count(*) filter (where live)::integer as talks, coalesce(sum(duration) filter (where live), 0)::bigint as seconds,
               count(*) filter (where live and not no_speaker)::integer as speakers,
               count(*) filter (where live and not no_description)::integer as description,
               count(*) filter (where live and not no_duration)::integer as duration,
               count(recorded) filter (where live)::integer as recorded,
               count(*) filter (where live and tag_ids <> '{}')::integer as tags,
               count(*) filter (where live and not no_licence)::integer as licence,
               count(*) filter (where live and (source_url <> '' or video_ogv_url <> '' or video_mp4_url <> '' or video_webm_url <> '' or video_flv_url <> ''))::integer as source
        from (select *, state = 1 and taken_down is null as live from video where id > ${after}::bigint order by id limit ${size}::integer) as piece
        group by 1`,
  )
}

const Year = Type.Object({ year: Type.Integer(), talks: Type.Integer() })

/**
 * The search has its live talks by year, in rows that are shorter. Whose day is not known is behind
 * all others.
 */
export function countByYear(db: Db) {
  return many(
    db,
    Year,
    sql`select (3000 - year_key)::integer as year, count(*)::integer as talks from video_search where year_key < 32767 group by year_key order by year_key desc`,
  )
}

const Month = Type.Object({ month: Type.String(), talks: Type.Integer() })

/** Each month is a piece of an index. */
export function countByMonthAdded(db: Db) {
  const live = sql`from video where state = 1 and taken_down is null`
  return many(
    db,
    Month,
    sql`select to_char(month, 'YYYY-MM') as month, talks
        from generate_series(date_trunc('month', (select min(added) ${live}) at time zone 'UTC'), (select max(added) ${live}) at time zone 'UTC', '1 month') as month,
             lateral (select count(*)::integer as talks ${live} and added >= month at time zone 'UTC' and added < (month + interval '1 month') at time zone 'UTC') as counted
        where talks > 0
        order by 1`,
  )
}

const LanguageCount = Type.Object({
  name: Type.String(),
  code: Type.String(),
  slug: Type.String(),
  talks: Type.Integer(),
})

export function countByLanguage(db: Db) {
  return many(
    db,
    LanguageCount,
    sql`select name, code, slug, talks from language join ${counted('language')} on entity_id = id order by talks desc, name collate "C"`,
  )
}

const Common = Type.Object({
  id: Type.Integer(),
  slug: Type.String(),
  name: Type.String(),
  talks: Type.Integer(),
  /** Of how many. */
  of: Type.Integer(),
})

/** The commonest first. */
export function findMostUsedEntities(db: Db, kind: 'speaker' | 'tag', limit: number) {
  return many(
    db,
    Common,
    sql`select id, slug, name, talks, count(*) over ()::integer as of from ${raw(kind)} join ${counted(kind)} on entity_id = id
        where merged_into is null
        order by talks desc, fold(name) collate "C", id
        limit ${limit}::integer`,
  )
}

const MaybeDay = Type.Union([Type.String(), Type.Null()])
const EventRow = Type.Object({
  id: Type.Integer(),
  slug: Type.String(),
  name: Type.String(),
  talks: Type.Integer(),
  first: MaybeDay,
  last: MaybeDay,
})
export type EventRow = Static<typeof EventRow>

/**
 * What a category does not say of its days, its talks say: the ends of its part of the index. No
 * event ends before it begins.
 */
export function listEvents(db: Db) {
  const day = sql`coalesce(video.recorded, '-infinity'::date)`
  const end = (turned: Sql) =>
    sql`(select recorded from video where state = 1 and taken_down is null and category_id = category.id and ${day} > '-infinity' order by ${day} ${turned} limit 1)`
  return many(
    db,
    EventRow,
    sql`select id, slug, title as name, talks, first::text, last::text
        from (select id, slug, title, talks,
                     coalesce(start_date, least(${end(sql`asc`)}, end_date)) as first,
                     coalesce(end_date, greatest(${end(sql`desc`)}, start_date)) as last
              from category join ${counted('category')} on entity_id = id
              where merged_into is null) as event
        order by last desc nulls last, first desc, fold(title) collate "C", id`,
  )
}

/** How many live talks each has; those that have none are left out. */
function counted(kind: 'category' | 'language' | 'speaker' | 'tag'): Sql {
  return sql`(select entity_id, sum(talks)::integer as talks from talk_count where kind = ${kind} group by entity_id having sum(talks) > 0) as counted`
}
