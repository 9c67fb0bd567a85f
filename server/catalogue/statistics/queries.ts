import sql, { empty, raw, type Sql } from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import { type Db, many, maybe } from '../../platform/db/db.ts'

// Statistics of the whole archive. These statements cost more than a page may, so their results
// are cached.

const Batch = Type.Object({
  authority: Type.String(),
  last_id: Type.Integer(),
  /** Records in any state; all counts below are of live talks. */
  scanned: Type.Integer(),
  talks: Type.Integer(),
  seconds: Type.Integer(),
  // The number of talks that have each of these.
  speakers: Type.Integer(),
  description: Type.Integer(),
  duration: Type.Integer(),
  recorded: Type.Integer(),
  tags: Type.Integer(),
  licence: Type.Integer(),
  source: Type.Integer(),
})

/**
 * Counts the next `size` records after an id, grouped by the authority of their source URL. All
 * records at once would exceed the statement timeout. The missing parts of a talk are computed when
 * it is written, by the rules of the quality lists (generated columns in 0005.do.videos.sql).
 */
export function countBatch(db: Db, after: number, size: number) {
  return many(
    db,
    Batch,
    sql`select coalesce(split_part(source_url, '/', 3), '') as authority,
               max(id) as last_id,
               count(*)::integer as scanned,
               count(*) filter (where live)::integer as talks,
               coalesce(sum(duration) filter (where live and not duration_too_long), 0)::bigint as seconds,
               count(*) filter (where live and not no_speaker)::integer as speakers,
               count(*) filter (where live and not no_description)::integer as description,
               count(*) filter (where live and not no_duration)::integer as duration,
               count(recorded) filter (where live)::integer as recorded,
               count(*) filter (where live and tag_ids <> '{}')::integer as tags,
               count(*) filter (where live and not no_licence)::integer as licence,
               count(*) filter (where live and (source_url <> ''
                                                or video_ogv_url <> ''
                                                or video_mp4_url <> ''
                                                or video_webm_url <> ''
                                                or video_flv_url <> ''))::integer as source
        from (select *, state = 1 and taken_down is null as live
              from video
              where id > ${after}::bigint
              order by id
              limit ${size}::integer) as batch
        group by 1`,
  )
}

const Year = Type.Object({ year: Type.Integer(), talks: Type.Integer() })

/**
 * Counts live talks by year, from the rows of the search, which are shorter. The key is 3000 minus
 * the year. Leaves out talks without a date: their key is the highest.
 */
export function countByYear(db: Db) {
  return many(
    db,
    Year,
    sql`select (3000 - year_key)::integer as year, count(*)::integer as talks
        from video_search
        where year_key < 32767
        group by year_key
        order by year_key desc`,
  )
}

const Month = Type.Object({ month: Type.String(), talks: Type.Integer() })

/** Counts live talks by the month in which they were added. Each month is a range of an index. */
export function countByMonthAdded(db: Db) {
  return many(
    db,
    Month,
    sql`select to_char(month, 'YYYY-MM') as month, talks
        from generate_series(
               date_trunc('month', (select min(added) from live_video) at time zone 'UTC'),
               (select max(added) from live_video) at time zone 'UTC',
               '1 month') as month,
             lateral (select count(*)::integer as talks
                      from live_video
                      where added >= month at time zone 'UTC'
                        and added < (month + interval '1 month') at time zone 'UTC') as counted
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

/** Counts live talks by language, the most frequent first. */
export function countByLanguage(db: Db) {
  return many(
    db,
    LanguageCount,
    sql`select name, code, slug, talks
        from language
        join ${talkCounts('language')} on entity_id = id
        order by talks desc, name collate "C"`,
  )
}

const UsedEntity = Type.Object({
  id: Type.Integer(),
  slug: Type.String(),
  name: Type.String(),
  talks: Type.Integer(),
  /** The number of all speakers or tags with live talks, also beyond the limit. */
  total: Type.Integer(),
})

/** Finds the speakers or tags with the most live talks. */
export function findMostUsedEntities(db: Db, kind: 'speaker' | 'tag', limit: number) {
  return many(
    db,
    UsedEntity,
    sql`select id, slug, name, talks, count(*) over ()::integer as total
        from ${raw(kind)}
        join ${talkCounts(kind)} on entity_id = id
        where merged_into is null
        order by talks desc, fold(name) collate "C", id
        limit ${limit}::integer`,
  )
}

const Addition = Type.Object({
  /** YYYY-MM-DD, in UTC. */
  day: Type.String(),
  talks: Type.Integer(),
  events: Type.Integer(),
  ids: Type.Array(Type.Integer()),
  /** The talks before this time belong to earlier additions. */
  since: Type.String(),
})
export type AdditionRow = Static<typeof Addition>

/** Counting stops at this number of talks. */
const maxAddedTalks = 100_000

/**
 * Finds the talks that were added last before a time. If the newest one was imported, these are all
 * since its import was created; otherwise all of its day, but only those after an import. `ids` are
 * those of the newest recordings, one of each event. A day in the future is a mistake, and comes
 * last.
 */
export function findAddition(db: Db, before: string, maxIds: number) {
  const lastImported = sql`
    select video.added
    from live_video as video
    join change
      on subject = 'video' and subject_id = video.id and change.revision = 1 and via = 'import'
    where video.added between date_trunc('day', newest.added, 'UTC') and newest.added
    order by video.added desc
    limit 1`
  return maybe(
    db,
    Addition,
    sql`with newest as (
          select id, added
          from live_video
          where added < ${before}::timestamptz
          order by added desc, id desc
          limit 1
        ), bounds as (
          select added,
                 least(added,
                       coalesce(import.created,
                                greatest(date_trunc('day', added, 'UTC'),
                                         (${lastImported}) + interval '1 ms'))) as since
          from newest
          left join change
            on subject = 'video' and subject_id = newest.id and revision = 1
            and change.via = 'import'
          left join import on change.request_id = 'import ' || import.id
        ), talk as (
          select video.id, category_id, recorded
          from bounds, live_video as video
          where video.added between bounds.since and bounds.added
          order by video.added desc
          limit ${maxAddedTalks}
        ), latest as (
          select distinct on (category_id) id, recorded
          from talk
          order by category_id, recorded > now() nulls last, recorded desc, id desc
        )
        select to_char(added at time zone 'UTC', 'YYYY-MM-DD') as day,
               (select count(*) from talk)::integer as talks,
               (select count(*) from latest)::integer as events,
               array(select id
                     from latest
                     order by recorded > now() nulls last, recorded desc, id desc
                     limit ${maxIds}::integer) as ids,
               since::text
        from bounds`,
  )
}

const Initial = Type.Object({ initial: Type.String() })

/** Lists the first characters of the names with live talks, folded, in the order of names. */
export async function listInitials(db: Db, kind: 'speaker' | 'tag', limit: number) {
  const rows = await many(
    db,
    Initial,
    sql`select distinct left(fold(name), 1) collate "C" as initial
        from ${raw(kind)}
        join ${talkCounts(kind)} on entity_id = id
        where merged_into is null
        order by initial
        limit ${limit}::integer`,
  )
  return rows.map(({ initial }) => initial)
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
 * Lists the categories with live talks. A missing start or end date is that of the first or last
 * talk, read from the ends of a range of an index, and never makes an event end before it starts.
 * A talk on 1 January may have only a year (`web/recorded.ts`): it counts if no talk has a day.
 */
export function listEvents(db: Db) {
  const day = sql`coalesce(video.recorded, '-infinity'::date)`
  const outermost = (direction: Sql, filter: Sql) => sql`
    (select recorded
     from live_video as video
     where category_id = category.id
       and ${day} > '-infinity'
       ${filter}
     order by ${day} ${direction}
     limit 1)`
  const hasDay = sql`and extract(doy from ${day}) <> 1`
  const outermostTalk = (direction: Sql) => sql`
    coalesce(${outermost(direction, hasDay)}, ${outermost(direction, empty)})`
  return many(
    db,
    EventRow,
    sql`select id, slug, title as name, talks, first::text, last::text
        from (select id, slug, title, talks,
                     coalesce(start_date, least(${outermostTalk(sql`asc`)}, end_date)) as first,
                     coalesce(end_date, greatest(${outermostTalk(sql`desc`)}, start_date)) as last
              from category
              join ${talkCounts('category')} on entity_id = id
              where merged_into is null) as event
        order by last desc nulls last, first desc, fold(title) collate "C", id`,
  )
}

/** Selects the number of live talks of each entity that has any. */
function talkCounts(kind: 'category' | 'language' | 'speaker' | 'tag'): Sql {
  return sql`(select entity_id, sum(talks)::integer as talks
              from talk_count
              where kind = ${kind}
              group by entity_id
              having sum(talks) > 0) as counted`
}
