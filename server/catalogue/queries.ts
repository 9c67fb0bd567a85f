import sql, { empty, join, raw, type Sql } from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import { type Db, many, maybe, one, writeReturning } from '../platform/db/db.ts'
import type { SearchFilter } from '../search/search.ts'
import type { OrderField, OrderPart } from './ordering.ts'

const MaybeId = Type.Union([Type.Integer(), Type.Null()])
const MaybeText = Type.Union([Type.String(), Type.Null()])
const FilterIds = Type.Object({
  category: MaybeId,
  category_slug: MaybeText,
  category_name: MaybeText,
  speaker: MaybeId,
  speaker_slug: MaybeText,
  speaker_name: MaybeText,
  tag: MaybeId,
  tag_slug: MaybeText,
  tag_name: MaybeText,
  language: MaybeId,
})

export interface FilterNames {
  readonly category: string | undefined
  readonly speaker: string | undefined
  readonly tag: string | undefined
  readonly language: string | undefined
}

export interface FilterOptions {
  /** Whether speakers and tags without live talks exist: for editors. */
  readonly hasDrafts?: boolean
}

/**
 * Resolves the slugs and names of a filter to ids, current slugs and names: null for what is not
 * given or does not exist. Speakers and tags without live talks do not exist for readers.
 */
export function findFilterIds(
  db: Db,
  { category, speaker, tag, language }: FilterNames,
  { hasDrafts = false }: FilterOptions = {},
) {
  return one(
    db,
    FilterIds,
    sql`select category.id as category, category.slug as category_slug,
               category.title as category_name,
               speaker.id as speaker, speaker.slug as speaker_slug, speaker.name as speaker_name,
               tag.id as tag, tag.slug as tag_slug, tag.name as tag_name,
               (select id
                from language
                where lower(name) = lower(${language}::text)
                  or lower(code) = lower(${language}::text)
                  or slug = ${language}::text
                order by lower(name) = lower(${language}::text) desc
                limit 1) as language
        from (values (1)) as always
        left join entity_slug as category_alias
          on category_alias.kind = 'category'
          and category_alias.slug = ${category}::text
          and not category_alias.retired
        left join category on category.id = category_alias.entity_id
        left join entity_slug as speaker_alias
          on speaker_alias.kind = 'speaker'
          and speaker_alias.slug = ${speaker}::text
          and not speaker_alias.retired
        left join speaker
          on speaker.id = speaker_alias.entity_id
          and (${hasDrafts}::boolean
               or (select sum(talks)
                   from talk_count
                   where talk_count.kind = 'speaker' and talk_count.entity_id = speaker.id) > 0)
        left join entity_slug as tag_alias
          on tag_alias.kind = 'tag'
          and tag_alias.slug = ${tag}::text
          and not tag_alias.retired
        left join tag
          on tag.id = tag_alias.entity_id
          and (${hasDrafts}::boolean
               or (select sum(talks)
                   from talk_count
                   where talk_count.kind = 'tag' and talk_count.entity_id = tag.id) > 0)`,
  )
}

const EventSpeaker = Type.Object({
  value: Type.String(),
  name: Type.String(),
  talks: Type.Integer(),
})

/** Lists the speakers of the live talks of an event, by name. */
export function listEventSpeakers(db: Db, categoryId: number) {
  return many(
    db,
    EventSpeaker,
    sql`select speaker.slug as value, speaker.name, count(*)::integer as talks
        from (select unnest(speaker_ids) as speaker_id
              from video
              where category_id = ${categoryId}::bigint and state = 1 and taken_down is null
              limit 5000) as given
        join speaker on speaker.id = given.speaker_id
        group by speaker.id
        order by fold(speaker.name) collate "C", speaker.id
        limit 500`,
  )
}

/** Filters by id, not by name: PostgreSQL estimates the number of rows from the id. */
export interface Filter extends SearchFilter {
  /** Only these records. */
  readonly ids?: readonly number[] | undefined
}

/** The fact `programme` of a record. */
const programmePosition = sql`
  coalesce(
    (select min((fact->>'position')::integer)
     from video_facts
     cross join jsonb_array_elements(facts) as fact
     where video_facts.id = video.id and fact->>'kind' = 'programme'),
    2147483647)`

// Sort keys: exactly the expressions of the indexes in 0006.do.catalogue.sql; that of `updated` is
// in 0005.do.videos.sql. `day` and `programme` have no index: they sort the talks of one category,
// which are found by video_by_category.
const keys: Record<OrderField, { value: Sql; type: Sql; text: Sql }> = {
  recorded: {
    value: sql`coalesce(video.recorded, '-infinity'::date)`,
    type: sql`date`,
    text: sql`coalesce(video.recorded, '-infinity'::date)::text`,
  },
  // Like `recorded`, but a talk with an unknown day comes last.
  day: {
    value: sql`coalesce(video.recorded, 'infinity'::date)`,
    type: sql`date`,
    text: sql`coalesce(video.recorded, 'infinity'::date)::text`,
  },
  title: {
    value: sql`fold(video.title) collate "C"`,
    type: sql`text`,
    text: sql`fold(video.title)`,
  },
  added: { value: sql`video.added`, type: sql`timestamptz`, text: utcText(sql`video.added`) },
  updated: {
    value: sql`video_body.updated`,
    type: sql`timestamptz`,
    text: utcText(sql`video_body.updated`),
  },
  // A talk without a position comes last.
  programme: {
    value: programmePosition,
    type: sql`integer`,
    text: sql`${programmePosition}::text`,
  },
  id: { value: sql`video.id`, type: sql`bigint`, text: sql`video.id::text` },
  duration: {
    value: sql`coalesce(video.duration, -1)`,
    type: sql`integer`,
    text: sql`coalesce(video.duration, -1)::text`,
  },
}

function utcText(value: Sql): Sql {
  return sql`to_char(${value} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
}

const ListedBody = Type.Object({ body: Type.String(), keys: Type.Array(Type.String()) })
export type ListedBody = Static<typeof ListedBody>

/** A page: from the start of the list, or after the record with these sort keys. */
export interface PageSlice {
  readonly after?: readonly string[] | undefined
  readonly offset: number
  readonly limit: number
}

/** Lists a page of live records in an order, with their sort keys. */
export function listBodies(db: Db, filter: Filter, order: readonly OrderPart[], page: PageSlice) {
  const byUpdated = order.some(({ field }) => field === 'updated')
  const keyNames = order.map((_, index) => raw(`key${index}`))
  const keyColumns = order.map(
    ({ field }, index) => sql`${keys[field].value} as ${keyNames[index]}`,
  )
  const keyTexts = order.map(({ field }) => keys[field].text)
  const inOrder = (values: readonly Sql[]) =>
    join(
      order.map(({ descending }, index) =>
        descending ? sql`${values[index]} desc` : values[index],
      ),
    )
  const range = (condition: Sql) => sql`
    (select video.id, array[${join(keyTexts)}] as keys, ${join(keyColumns)}
     from ${liveRecords(filter, byUpdated)} ${condition}
     order by ${inOrder(order.map(({ field }) => keys[field].value))}
     limit ${page.limit}::integer
     offset ${page.offset}::integer)`
  const ranges = page.after
    ? rangesAfter(order, page.after).map((condition) => range(sql`and ${condition}`))
    : [range(empty)]
  // Bodies are read for the page only, not for the records that an offset skips.
  return many(
    db,
    ListedBody,
    sql`select body, keys
        from (select id, keys, ${join(keyNames)}
              from (${join(ranges, ' union all ')}) as candidate
              order by ${inOrder(keyNames)}
              limit ${page.limit}::integer) as listed
        join video_body using (id)
        order by ${inOrder(keyNames)}`,
  )
}

const Body = Type.Object({ id: Type.Integer(), body: Type.String() })

/** Empties the texts of long records only: parsing a short body costs more than it saves. */
const bodyWithoutTexts = sql`
  case
    when octet_length(body) > 10000
    then (body::jsonb || '{
      "summary": "", "description": "", "quality_notes": "",
      "copyright_text": "", "embed": "", "whiteboard": ""
    }')::text
    else body
  end`

/**
 * Finds the bodies of live records, in the order of `ids`. Omits those that are not live. Without
 * `hasTexts`, the text fields of large records are empty.
 */
export async function findListedBodies(
  db: Db,
  ids: readonly number[],
  hasTexts = true,
): Promise<Static<typeof Body>[]> {
  const body = hasTexts ? sql`body` : bodyWithoutTexts
  const rows = await many(
    db,
    Body,
    sql`select id, ${body} as body
        from video_body
        where id = any (${ids}::bigint[]) and live`,
  )
  return ids.flatMap((id) => rows.find((row) => row.id === id) ?? [])
}

const Count = Type.Object({ count: Type.Integer() })

/** Counts the live records that match a filter, up to a limit. */
export async function countUpTo(db: Db, filter: Filter, limit: number): Promise<number> {
  const row = await one(
    db,
    Count,
    sql`select count(*)
        from (select from ${liveRecords(filter)} limit ${limit}::integer) as counted`,
  )
  return row.count
}

const Id = Type.Object({ id: Type.Integer() })

/** Finds the ids of the live records that match a filter, in ascending order. */
export async function findLiveIds(db: Db, filter: Filter, limit: number): Promise<number[]> {
  const rows = await many(
    db,
    Id,
    sql`select video.id
        from ${liveRecords(filter)}
        order by video.id
        limit ${limit}::integer`,
  )
  return rows.map(({ id }) => id)
}

/** Finds the ids of the drafts that match a filter and have this text in their title. */
export async function findDraftIds(
  db: Db,
  filter: Filter,
  text: string,
  limit: number,
): Promise<number[]> {
  const rows = await many(
    db,
    Id,
    sql`select video.id
        from video
        where state = 2 and taken_down is null and merged_into is null
          and (${text} = '' or strpos(fold(title), fold(${text})) > 0)
          and ${join(conditionsOf(filter), ' and ')}
        order by video.id
        limit ${limit}::integer`,
  )
  return rows.map(({ id }) => id)
}

const Plan = Type.Object({
  'QUERY PLAN': Type.Array(Type.Object({ Plan: Type.Object({ 'Plan Rows': Type.Number() }) })),
})

/** Estimates the number of matching records from the statistics of the query planner. */
export async function estimateCount(db: Db, filter: Filter): Promise<number> {
  const row = await one(db, Plan, sql`explain (format json) select from ${liveRecords(filter)}`)
  return row['QUERY PLAN'][0]?.Plan['Plan Rows'] ?? 0
}

/** Returns the `from` and `where` of live records. Joins video_body only for its `updated`. */
function liveRecords(filter: Filter, byUpdated = false): Sql {
  const needsBody = byUpdated || filter.updatedSince !== undefined
  const conditions = conditionsOf(filter)
  if (needsBody) conditions.push(sql`video_body.live`)
  if (filter.updatedSince !== undefined)
    conditions.push(sql`video_body.updated >= ${filter.updatedSince}::timestamptz`)
  const body = needsBody ? sql`join video_body on video_body.id = video.id` : empty
  return sql`live_video as video ${body} where ${join(conditions, ' and ')}`
}

/** Returns the conditions of a filter on the columns of video: all but `updatedSince`. */
function conditionsOf(filter: Filter): Sql[] {
  const conditions = [sql`true`]
  if (filter.category !== undefined)
    conditions.push(sql`video.category_id = ${filter.category}::bigint`)
  if (filter.language !== undefined)
    conditions.push(sql`video.language_id = ${filter.language}::integer`)
  if (filter.speaker !== undefined)
    conditions.push(sql`video.speaker_ids @> array[${filter.speaker}::bigint]`)
  if (filter.tag !== undefined) conditions.push(sql`video.tag_ids @> array[${filter.tag}::bigint]`)
  if (filter.years !== undefined)
    conditions.push(sql`extract(year from video.recorded) = any (${filter.years}::integer[])`)
  if (filter.recordedAfter !== undefined)
    conditions.push(sql`${keys.recorded.value} >= ${filter.recordedAfter}::date`)
  if (filter.recordedBefore !== undefined)
    conditions.push(
      sql`${keys.recorded.value} <= ${filter.recordedBefore}::date`,
      sql`video.recorded is not null`,
    )
  if (filter.duration !== undefined)
    conditions.push(sql`duration_range_of(video.duration) = ${filter.duration}::smallint`)
  if (filter.ids !== undefined) conditions.push(sql`video.id = any (${filter.ids}::bigint[])`)
  if (filter.sourceUrl !== undefined)
    conditions.push(sql`video.source_url = ${filter.sourceUrl}::text`)
  return conditions
}

/**
 * Returns the records after a position as disjoint ranges of an index: those with equal keys except
 * for the last, those with equal keys except for the last two, and so on. A single comparison of
 * rows cannot mix ascending and descending keys.
 */
function rangesAfter(order: readonly OrderPart[], position: readonly string[]): Sql[] {
  const values = order.map(({ field }, index) => sql`${position[index]}::${keys[field].type}`)
  return order.map(({ field, descending }, index) => {
    const equal = order
      .slice(0, index)
      .map((part, previous) => sql`${keys[part.field].value} = ${values[previous]}`)
    const further = descending
      ? sql`${keys[field].value} < ${values[index]}`
      : sql`${keys[field].value} > ${values[index]}`
    return join([...equal, further], ' and ')
  })
}

const Compacted = Type.Object({ removed: Type.Integer() })

/** Merges the rows of all cells of talk_cube. Returns how many rows fewer there are. */
export async function compactCube(db: Db): Promise<number> {
  const [row] = await writeReturning(db, Compacted, sql`select compact_all_cells() as removed`)
  return row?.removed ?? 0
}

const RelationKeys = Type.Object({
  category: Type.Integer(),
  speakers: Type.Array(Type.Integer()),
  /** As the indexes have them. */
  recorded: Type.String(),
  title: Type.String(),
})

/** Finds the keys by which related records are found, whether the record is live or not. */
export function findRelationKeys(db: Db, id: number) {
  return maybe(
    db,
    RelationKeys,
    sql`select category_id as category, speaker_ids as speakers,
               ${keys.recorded.text} as recorded, ${keys.title.text} as title
        from video
        where id = ${id}`,
  )
}

const Related = Type.Object({ list: Type.String(), id: Type.Integer() })

/**
 * Finds live records related to one, up to a limit for each kind: the same talk at other events,
 * the newest of its speakers, and the nearest before and after it in its category. Every part
 * starts at a position in an index for any record, so that one plan serves them all.
 */
export function findRelatedRecords(
  db: Db,
  id: number,
  { category, speakers, recorded, title }: Static<typeof RelationKeys>,
  limit: number,
) {
  const [recordedKey, titleKey] = [keys.recorded.value, keys.title.value]
  const newestFirst = sql`${recordedKey} desc, ${titleKey}, video.id`
  const oldestFirst = sql`${recordedKey}, ${titleKey} desc, video.id desc`
  const bySpeakers = sql`video.speaker_ids && ${speakers}::bigint[]`
  const inCategory = sql`video.category_id = ${category}::bigint and ${recordedKey}`
  const day = sql`${recorded}::date`
  const position = sql`(${title}::text, ${id}::bigint)`
  const nearest = (list: string, condition: Sql, order: Sql) => sql`
    (select ${list}::text as list, video.id
     from live_video as video
     where ${condition}
       and video.id <> ${id}::bigint
     order by ${order}
     limit ${limit}::integer)`
  const elsewhere = sql`${titleKey} = ${title}::text
       and ${bySpeakers}
       and video.category_id <> ${category}::bigint`
  // `offset 0` keeps the planner from walking the index by day until it has met enough talks of
  // the speakers.
  const ofSpeakers = sql`
    (select 'speakers'::text as list, video.id
     from (select video.id, video.recorded
           from live_video as video
           where ${bySpeakers}
           offset 0) as video
     where video.id <> ${id}::bigint
     order by ${recordedKey} desc, id desc
     limit ${limit}::integer)`
  const parts = [
    nearest('also', elsewhere, newestFirst),
    ofSpeakers,
    nearest(
      'before',
      sql`${inCategory} = ${day} and (${titleKey}, video.id) < ${position}`,
      oldestFirst,
    ),
    nearest('before', sql`${inCategory} > ${day}`, oldestFirst),
    nearest(
      'after',
      sql`${inCategory} = ${day} and (${titleKey}, video.id) > ${position}`,
      newestFirst,
    ),
    nearest('after', sql`${inCategory} < ${day}`, newestFirst),
  ]
  return many(db, Related, join(parts, ' union all '))
}
