import { Language, ListedCategory, ListedSpeaker, ListedTag } from '@talkshelf/contract'
import sql, { empty, join, raw, type Sql } from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import { type Db, many, maybe, one } from '../platform/db/db.ts'
import type { SearchFilter } from '../search/search.ts'
import type { OrderField, OrderPart } from './ordering.ts'

const MaybeId = Type.Union([Type.Integer(), Type.Null()])
const MaybeText = Type.Union([Type.String(), Type.Null()])
const FilterIds = Type.Object({
  category: MaybeId,
  category_slug: MaybeText,
  speaker: MaybeId,
  speaker_slug: MaybeText,
  tag: MaybeId,
  tag_slug: MaybeText,
  language: MaybeId,
})

export interface FilterNames {
  readonly category: string | undefined
  readonly speaker: string | undefined
  readonly tag: string | undefined
  readonly language: string | undefined
}

/**
 * What the words of a filter stand for, and the slugs of today; null for what was not asked for, or
 * is not there. A speaker or tag that no live talk has is not there for readers.
 */
export function findFilterIds(db: Db, it: FilterNames) {
  const isListed = (kind: 'category' | 'speaker' | 'tag') =>
    kind === 'category'
      ? empty
      : sql`and (select sum(talks) from talk_count where talk_count.kind = ${kind} and talk_count.entity_id = ${raw(kind)}.id) > 0`
  const led = (kind: 'category' | 'speaker' | 'tag') =>
    sql`left join entity_slug as led_${raw(kind)} on led_${raw(kind)}.kind = ${kind} and led_${raw(kind)}.slug = ${it[kind]}::text and not led_${raw(kind)}.retired
        left join ${raw(kind)} on ${raw(kind)}.id = led_${raw(kind)}.entity_id ${isListed(kind)}`
  return one(
    db,
    FilterIds,
    sql`select category.id as category, category.slug as category_slug, speaker.id as speaker, speaker.slug as speaker_slug,
               tag.id as tag, tag.slug as tag_slug,
               (select id from language where lower(name) = lower(${it.language}::text) or lower(code) = lower(${it.language}::text) or slug = ${it.language}::text
                order by lower(name) = lower(${it.language}::text) desc limit 1) as language
        from (values (1)) as always ${led('category')} ${led('speaker')} ${led('tag')}`,
  )
}

/**
 * Ids in the place of names: PostgreSQL then knows how many records to expect, and chooses its way
 * by that.
 */
export interface Filter extends SearchFilter {
  /** Only these records. */
  readonly ids?: readonly number[] | undefined
}

// Exactly the expressions of the indexes in 0005.do.collections.sql.
const keys: Record<OrderField, { value: Sql; type: Sql; text: Sql }> = {
  recorded: {
    value: sql`coalesce(video.recorded, '-infinity'::date)`,
    type: sql`date`,
    text: sql`coalesce(video.recorded, '-infinity'::date)::text`,
  },
  title: {
    value: sql`fold(video.title) collate "C"`,
    type: sql`text`,
    text: sql`fold(video.title)`,
  },
  added: { value: sql`video.added`, type: sql`timestamptz`, text: moment(sql`video.added`) },
  updated: {
    value: sql`video_body.updated`,
    type: sql`timestamptz`,
    text: moment(sql`video_body.updated`),
  },
  id: { value: sql`video.id`, type: sql`bigint`, text: sql`video.id::text` },
  duration: {
    value: sql`coalesce(video.duration, -1)`,
    type: sql`integer`,
    text: sql`coalesce(video.duration, -1)::text`,
  },
}

function moment(value: Sql): Sql {
  return sql`to_char(${value} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
}

const ListedBody = Type.Object({ body: Type.String(), keys: Type.Array(Type.String()) })
export type ListedBody = Static<typeof ListedBody>

/** From the beginning, or from behind a place whose keys are given. */
export interface PageSlice {
  readonly after?: readonly string[] | undefined
  readonly offset: number
  readonly limit: number
}

export function listBodies(db: Db, filter: Filter, order: readonly OrderPart[], page: PageSlice) {
  const byUpdated = order.some(({ field }) => field === 'updated')
  const key = order.map((_, index) => raw(`key${index}`))
  const columns = order.map(({ field }, index) => sql`${keys[field].value} as ${key[index]}`)
  const turned = (values: readonly Sql[]) =>
    join(
      order.map(({ descending }, index) =>
        descending ? sql`${values[index]} desc` : values[index],
      ),
    )
  const along = turned(order.map(({ field }) => keys[field].value))
  const limit = sql`limit ${page.limit}::integer`
  const found = (condition: Sql) =>
    sql`(select video.id, array[${join(order.map(({ field }) => keys[field].text))}] as keys, ${join(columns)}
         from ${live(filter, byUpdated)} ${condition} order by ${along} ${limit} offset ${page.offset}::integer)`
  const parts = page.after
    ? behind(order, page.after).map((it) => found(sql`and ${it}`))
    : [found(empty)]
  // Bodies are fetched for the page only, and not for what an offset passes over.
  return many(
    db,
    ListedBody,
    sql`select body, keys
        from (select id, keys, ${join(key)} from (${join(parts, ' union all ')}) as found order by ${turned(key)} ${limit}) as listed
        join video_body using (id)
        order by ${turned(key)}`,
  )
}

const Body = Type.Object({ id: Type.Integer(), body: Type.String() })

/** Empties the texts of long records. Short ones stay as they are: that costs less. */
const withoutTexts = sql`case when octet_length(body) > 10000
  then (body::jsonb || '{"summary":"","description":"","quality_notes":"","copyright_text":"","embed":"","whiteboard":""}')::text
  else body end`

/** In the order given; what has gone meanwhile is left out. */
export async function findListedBodies(
  db: Db,
  ids: readonly number[],
  hasTexts = true,
): Promise<Static<typeof Body>[]> {
  const body = hasTexts ? sql`body` : withoutTexts
  const rows = await many(
    db,
    Body,
    sql`select id, ${body} as body from video_body where id = any (${ids}::bigint[]) and live`,
  )
  return ids.flatMap((id) => rows.find((row) => row.id === id) ?? [])
}

const Count = Type.Object({ count: Type.Integer() })

export async function countUpTo(db: Db, filter: Filter, limit: number): Promise<number> {
  const row = await one(
    db,
    Count,
    sql`select count(*) from (select from ${live(filter)} limit ${limit}::integer) as counted`,
  )
  return row.count
}

/**
 * Of all records, or of those of one entity, the number is kept by triggers; of other filters
 * nobody keeps any.
 */
export async function findStoredCount(db: Db, filter: Filter): Promise<number | undefined> {
  const [[kind, id] = ['language'], ...others] = Object.entries(filter).filter(
    ([, value]) => value !== undefined,
  )
  if (others.length > 0 || !(kind in entities)) return undefined
  // Every record has one language.
  const whose = id === undefined ? empty : sql`and entity_id = ${id}::bigint`
  const row = await one(
    db,
    Count,
    sql`select coalesce(sum(talks), 0)::integer as count from talk_count where kind = ${kind} ${whose}`,
  )
  return row.count
}

const Plan = Type.Object({
  'QUERY PLAN': Type.Array(Type.Object({ Plan: Type.Object({ 'Plan Rows': Type.Number() }) })),
})

/** How many PostgreSQL expects, from its statistics: at once, and about right. */
export async function estimateCount(db: Db, filter: Filter): Promise<number> {
  const row = await one(db, Plan, sql`explain (format json) select from ${live(filter)}`)
  return row['QUERY PLAN'][0]?.Plan['Plan Rows'] ?? 0
}

/** The body's row has the moment of the last change; it is only joined where that is asked for. */
function live(filter: Filter, byUpdated = false): Sql {
  const withBody = byUpdated || filter.updatedSince !== undefined
  const conditions = [sql`video.state = 1`, sql`video.taken_down is null`]
  if (withBody) conditions.push(sql`video_body.live`)
  if (filter.category !== undefined)
    conditions.push(sql`video.category_id = ${filter.category}::bigint`)
  if (filter.language !== undefined)
    conditions.push(sql`video.language_id = ${filter.language}::integer`)
  if (filter.speaker !== undefined)
    conditions.push(sql`video.speaker_ids @> array[${filter.speaker}::bigint]`)
  if (filter.tag !== undefined) conditions.push(sql`video.tag_ids @> array[${filter.tag}::bigint]`)
  if (filter.recordedAfter !== undefined)
    conditions.push(sql`${keys.recorded.value} >= ${filter.recordedAfter}::date`)
  if (filter.recordedBefore !== undefined)
    conditions.push(
      sql`${keys.recorded.value} <= ${filter.recordedBefore}::date`,
      sql`video.recorded is not null`,
    )
  if (filter.updatedSince !== undefined)
    conditions.push(sql`video_body.updated >= ${filter.updatedSince}::timestamptz`)
  if (filter.duration !== undefined)
    conditions.push(sql`duration_range_of(video.duration) = ${filter.duration}::smallint`)
  if (filter.ids !== undefined) conditions.push(sql`video.id = any (${filter.ids}::bigint[])`)
  if (filter.sourceUrl !== undefined)
    conditions.push(sql`video.source_url = ${filter.sourceUrl}::text`)
  return sql`video ${withBody ? sql`join video_body on video_body.id = video.id` : empty} where ${join(conditions, ' and ')}`
}

/**
 * The records behind a place, as conditions that an index can each begin with: the last key is
 * further on and all before it are the same, or the last but one is, and so on. What lies before
 * the place is never looked at.
 */
function behind(order: readonly OrderPart[], at: readonly string[]): Sql[] {
  const given = order.map(({ field }, index) => sql`${at[index]}::${keys[field].type}`)
  return order.map(({ field, descending }, index) => {
    const same = order
      .slice(0, index)
      .map((part, before) => sql`${keys[part.field].value} = ${given[before]}`)
    const further = descending
      ? sql`${keys[field].value} < ${given[index]}`
      : sql`${keys[field].value} > ${given[index]}`
    return join([...same, further], ' and ')
  })
}

const PlaceOfRecord = Type.Object({
  category: Type.Integer(),
  speakers: Type.Array(Type.Integer()),
  /** As the indexes have them. */
  recorded: Type.String(),
  title: Type.String(),
})

/** What a record is found by, whether it is live or not. */
export function findRelationKeys(db: Db, id: number) {
  return maybe(
    db,
    PlaceOfRecord,
    sql`select category_id as category, speaker_ids as speakers, ${keys.recorded.text} as recorded, ${keys.title.text} as title from video where id = ${id}`,
  )
}

const Beside = Type.Object({ list: Type.String(), id: Type.Integer() })

/**
 * Live records beside one, up to so many of each kind: the same talk at other events, the newest of
 * its speakers, and its neighbours in its category, on either side and the nearest first. Each
 * begins where an index has it, for any record, so that the statement is planned once.
 */
export function findRelatedRecords(
  db: Db,
  id: number,
  it: Static<typeof PlaceOfRecord>,
  limit: number,
) {
  const [recorded, title] = [keys.recorded.value, keys.title.value]
  const live = (condition: Sql) =>
    sql`from video where video.state = 1 and video.taken_down is null and ${condition}`
  const first = (list: string, found: Sql, order: Sql) =>
    sql`(select ${list}::text as list, video.id ${found} and video.id <> ${id}::bigint order by ${order} limit ${limit}::integer)`
  const ofSpeakers = sql`video.speaker_ids && ${it.speakers}::bigint[]`
  const inCategory = sql`video.category_id = ${it.category}::bigint and ${recorded}`
  const [day, place] = [sql`${it.recorded}::date`, sql`(${it.title}::text, ${id}::bigint)`]
  const newestFirst = sql`${recorded} desc, ${title}, video.id`
  const oldestFirst = sql`${recorded}, ${title} desc, video.id desc`
  const parts = [
    first(
      'also',
      live(
        sql`${title} = ${it.title}::text and ${ofSpeakers} and video.category_id <> ${it.category}::bigint`,
      ),
      newestFirst,
    ),
    // Without the inner one PostgreSQL would walk all days until it has met enough talks of
    // somebody who gave one.
    first(
      'speakers',
      sql`from (select video.id, video.recorded ${live(ofSpeakers)} offset 0) as video where true`,
      sql`${recorded} desc, id desc`,
    ),
    first(
      'before',
      live(sql`${inCategory} = ${day} and (${title}, video.id) < ${place}`),
      oldestFirst,
    ),
    first('before', live(sql`${inCategory} > ${day}`), oldestFirst),
    first(
      'after',
      live(sql`${inCategory} = ${day} and (${title}, video.id) > ${place}`),
      newestFirst,
    ),
    first('after', live(sql`${inCategory} < ${day}`), newestFirst),
  ]
  return many(db, Beside, join(parts, ' union all '))
}

// The entities that talks belong to, in the order of their names.

export type ListedKind = 'category' | 'speaker' | 'tag' | 'language'

const Keyed = { keys: Type.Array(Type.String()) }

const entities = {
  category: {
    row: Type.Object({ ...ListedCategory.properties, ...Keyed }),
    name: raw('title'),
    columns: sql`id, title, slug, description, url, start_date, end_date`,
  },
  speaker: {
    row: Type.Object({ ...ListedSpeaker.properties, ...Keyed }),
    name: raw('name'),
    columns: sql`id, name, slug`,
  },
  tag: {
    row: Type.Object({ ...ListedTag.properties, ...Keyed }),
    name: raw('name'),
    columns: sql`id, name, slug`,
  },
  language: {
    row: Type.Object({ ...Language.properties, ...Keyed }),
    name: raw('name'),
    columns: sql`code, name, slug`,
  },
}

function talksOf(kind: ListedKind): Sql {
  return sql`coalesce((select sum(talks) from talk_count where kind = ${kind} and entity_id = entity.id), 0)::integer`
}

/**
 * A category is there because somebody made it; the others are there for readers when live talks
 * have them. What was merged is not.
 */
function shown(kind: ListedKind): Sql {
  if (kind === 'language') return sql`${talksOf(kind)} > 0`
  return kind === 'category'
    ? sql`merged_into is null`
    : sql`merged_into is null and ${talksOf(kind)} > 0`
}

function startingAt(kind: ListedKind, from: string | undefined): Sql {
  return from === undefined
    ? empty
    : sql`and fold(${entities[kind].name}) collate "C" >= fold(${from}::text)`
}

export function selectEntities(
  db: Db,
  kind: ListedKind,
  way: 'next' | 'previous',
  page: PageSlice,
  from?: string,
): Promise<ListedEntity[]> {
  const { row, name, columns } = entities[kind]
  const key = sql`fold(${name}) collate "C"`
  const after = page.after
    ? sql`and (${key}, id) ${raw(way === 'next' ? '>' : '<')} (${page.after[0]}::text, ${page.after[1]}::bigint)`
    : empty
  const turned = raw(way === 'next' ? '' : 'desc')
  return many(
    db,
    row,
    sql`select ${columns}, ${talksOf(kind)} as talks, array[fold(${name}), id::text] as keys
        from ${raw(kind)} as entity
        where ${shown(kind)} ${startingAt(kind, from)} ${after}
        order by ${key} ${turned}, id ${turned}
        limit ${page.limit}::integer offset ${page.offset}::integer`,
  )
}

export type ListedEntity = Static<(typeof entities)[ListedKind]['row']>

export async function countEntitiesUpTo(
  db: Db,
  kind: ListedKind,
  limit: number,
  from?: string,
): Promise<number> {
  const found = sql`select from ${raw(kind)} as entity where ${shown(kind)} ${startingAt(kind, from)} limit ${limit}::integer`
  const row = await one(db, Count, sql`select count(*) from (${found}) as counted`)
  return row.count
}
