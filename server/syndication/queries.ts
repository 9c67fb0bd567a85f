import type { Profile } from '@talkshelf/contract'
import sql, { raw, type Sql } from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import type { EntityKind } from '../entities/entities.ts'
import { type Db, many, maybe, one } from '../platform/db/db.ts'

// Read only: other features write these tables.

const MaybeText = Type.Union([Type.String(), Type.Null()])
const MaybeInteger = Type.Union([Type.Integer(), Type.Null()])

const utcText = (value: Sql) =>
  sql`to_char(${value} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS')`

const talksOf = (kind: EntityKind) =>
  sql`coalesce((select sum(talks)
                from talk_count
                where talk_count.kind = ${kind} and talk_count.entity_id = entity.id), 0)::integer`

const About = Type.Object({
  description: Type.String(),
  url: MaybeText,
  start_date: MaybeText,
  end_date: MaybeText,
})
const Language = Type.Object({ name: Type.String(), slug: Type.String() })

/** Finds a language by its slug, also without talks. */
export function findLanguage(db: Db, slug: string) {
  return maybe(db, Language, sql`select name, slug from language where slug = ${slug}::text`)
}

const NewCategory = Type.Object({
  id: Type.Integer(),
  slug: Type.String(),
  name: Type.String(),
  ...About.properties,
  profile: Type.Unsafe<Profile>(Type.Object({})),
  created: Type.String(),
  changed: Type.String(),
})
export type NewCategory = Static<typeof NewCategory>

/**
 * Lists the newest categories with talks. A category that was loaded without history is as old as
 * its first talk.
 */
export function newestCategories(db: Db, limit: number): Promise<NewCategory[]> {
  const lastChange = sql`(select max(at)
                         from change
                         where subject = 'category' and subject_id = entity.id)`
  return many(
    db,
    NewCategory,
    sql`select id, slug, name, description, url, start_date, end_date, profile,
               ${utcText(sql`created`)} as created,
               ${utcText(sql`greatest(created, ${lastChange})`)} as changed
        from (select id, slug, title as name, description, url, start_date, end_date, profile,
                     coalesce((select min(at)
                               from change
                               where subject = 'category'
                                 and subject_id = entity.id
                                 and kind = 'created'),
                              (select min(added)
                               from live_video
                               where category_id = entity.id)) as created
              from category as entity
              where merged_into is null
                and ${talksOf('category')} > 0
              order by id desc
              limit ${limit}::integer) as entity
        where created is not null
        order by id desc`,
  )
}

// Sitemaps are split by ranges of ids: a talk never moves to another file, and nothing has to be
// counted or sorted.

export const maxSitemapEntries = 10_000

const Part = Type.Object({ part: Type.Integer(), changed: MaybeText })

export type SitemapSection = 'video' | EntityKind

/** Lists the numbers of the ranges that have entries, from 1. */
export function listSitemapParts(db: Db, section: SitemapSection) {
  const size = raw(String(maxSitemapEntries))
  if (section === 'video')
    return many(
      db,
      Part,
      sql`select ((id - 1) / ${size} + 1) as part, ${utcText(sql`max(updated)`)} as changed
          from video_body
          where live
          group by 1
          order by 1`,
    )
  return many(
    db,
    Part,
    sql`select distinct ((entity_id - 1) / ${size} + 1) as part, null as changed
        from (select entity_id
              from talk_count
              where kind = ${section}
              group by entity_id
              having sum(talks) > 0) as listed
        order by 1`,
  )
}

const PagesWithTalks = Type.Object({
  languages: Type.Array(Type.String()),
  years: Type.Array(Type.Integer()),
})

/**
 * Returns the slugs of the languages and the years that have live talks. The recursion jumps from
 * year to year in the index instead of reading all talks.
 */
export function pagesWithTalks(db: Db) {
  const day = sql`coalesce(recorded, '-infinity'::date)`
  return one(
    db,
    PagesWithTalks,
    sql`with recursive newest (day) as (
          select max(${day})
          from live_video
          union all
          select (select max(${day})
                  from live_video
                  where ${day} < date_trunc('year', day)::date)
          from newest
          where isfinite(day)
        )
        select array(select slug::text
                     from language
                     where (select sum(talks)
                            from talk_count
                            where kind = 'language' and entity_id = language.id) > 0
                     order by slug) as languages,
               array(select extract(year from day)::integer
                     from newest
                     where isfinite(day)
                     order by 1 desc) as years`,
  )
}

const SitemapTalk = Type.Object({
  id: Type.Integer(),
  slug: Type.String(),
  title: Type.String(),
  text: Type.String(),
  thumbnail_url: MaybeText,
  duration: MaybeInteger,
  source_url: MaybeText,
  video_mp4_url: MaybeText,
  video_mp4_length: MaybeInteger,
  video_webm_url: MaybeText,
  video_webm_length: MaybeInteger,
  video_ogv_url: MaybeText,
  video_ogv_length: MaybeInteger,
  added: Type.String(),
  updated: Type.String(),
})
export type SitemapTalk = Static<typeof SitemapTalk>

/** Lists live talks of a range of ids, with the first characters of their text. */
export function listSitemapTalks(
  db: Db,
  after: number,
  upTo: number,
  maxTextLength: number,
  limit: number,
) {
  return many(
    db,
    SitemapTalk,
    sql`select id, slug, title,
               left(case when summary ~ '\\S' then summary else description end,
                    ${maxTextLength}::integer) as text,
               thumbnail_url, duration, source_url,
               video_mp4_url, video_mp4_length,
               video_webm_url, video_webm_length,
               video_ogv_url, video_ogv_length,
               ${utcText(sql`added`)} as added, ${utcText(sql`updated`)} as updated
        from live_video
        where id > ${after}::bigint
          and id <= ${upTo}::bigint
        order by id
        limit ${limit}::integer`,
  )
}

const SitemapEntity = Type.Object({ id: Type.Integer(), slug: Type.String() })

/** Lists the entities of a range of ids that have live talks. */
export function listSitemapEntities(
  db: Db,
  kind: EntityKind,
  after: number,
  upTo: number,
  limit: number,
) {
  return many(
    db,
    SitemapEntity,
    sql`select id, slug
        from ${raw(kind)} as entity
        where id > ${after}::bigint
          and id <= ${upTo}::bigint
          and merged_into is null
          and ${talksOf(kind)} > 0
        order by id
        limit ${limit}::integer`,
  )
}
