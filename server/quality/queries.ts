import { type Fact, FoundRecord, ListedSpeaker, missingStates } from '@talkshelf/contract'
import sql, { empty, raw, type Sql } from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import { type Db, execute, many, one } from '../platform/db/db.ts'
import {
  type DuplicateRule,
  type RecordRule,
  type Rule,
  ruleColumn,
  type SourceRule,
  type SpellingRule,
} from './rule.ts'

// SQL of the data-quality rules. Every rule scans an index of 0008.do.quality.sql, or those of sources
// and replacements, starting after the last key of the previous page. Conditions on `video` repeat
// the predicates of these indexes.

const { address: _, ...found } = FoundRecord.properties

const FindingRow = Type.Object({
  keys: Type.Array(Type.String()),
  value: Type.Union([Type.String(), Type.Integer(), Type.Null()]),
  count: Type.Integer(),
  records: Type.Array(Type.Object(found)),
  names: Type.Array(ListedSpeaker),
})
export type FindingRow = Static<typeof FindingRow>

export interface FindingSlice {
  readonly way: 'next' | 'previous'
  readonly after: string | undefined
  readonly offset: number
  readonly limit: number
}

/** How many records or names of one finding are returned. */
const maxMembers = 100
// A merged record is checked as the one into which it was merged.
const isChecked = sql`taken_down is null and merged_into is null`
const none = sql`'[]'::json`
const record = sql`
  json_build_object(
    'id', video.id, 'title', video.title, 'category', category.title, 'state', state)`

/** The same timecodes as parseTimecode of the pages knows. */
const timecodeInUrl =
  '[?&#](?:t|start)=(?=[0-9])(?:([0-9]{1,3})h)?(?:([0-9]{1,4})m)?(?:([0-9]{1,6})s?)?(?:[&#]|$)'

/** Finds records that break a rule, ordered by id. */
export function findRecords(db: Db, rule: RecordRule, slice: FindingSlice): Promise<FindingRow[]> {
  const { range, direction, limit } = sliceClauses(sql`id`, sql`bigint`, slice)
  const value = rule.shows ? sql`to_jsonb(video.${raw(rule.shows)})` : sql`null`
  return many(
    db,
    FindingRow,
    sql`select array[found.id::text] as keys, ${value} as value, 1 as count,
               json_build_array(${record}) as records, ${none} as names
        from (
          select id
          from video
          where ${isChecked} and ${raw(ruleColumn(rule))} ${range}
          order by id ${direction}
          ${limit}
        ) as found
        join video using (id)
        join category on category.id = category_id
        order by found.id ${direction}`,
  )
}

/** Finds groups of duplicate records, ordered by fingerprint. */
export function findDuplicates(
  db: Db,
  rule: DuplicateRule,
  slice: FindingSlice,
): Promise<FindingRow[]> {
  const { range, direction, limit } = sliceClauses(sql`key`, sql`bigint`, slice)
  return many(
    db,
    FindingRow,
    sql`select array[found.key::text] as keys, value, found.count, records, ${none} as names
        from (
          ${selectDuplicates(rule, sql`key, count, start`, range, direction)}
          order by key ${direction}
          ${limit}
        ) as found
        cross join lateral (
          select to_jsonb((array_agg(video.${raw(rule.shows)} order by video.id))[1]) as value,
                 json_agg(${record} order by video.id) as records
          from (
            select *
            from video
            where ${isChecked}
              and ${raw(ruleColumn(rule))} = found.key
              and ${startOf(rule)} is not distinct from found.start
            order by id
            limit ${maxMembers}
          ) as video
          join category on category.id = category_id
        ) as members
        order by found.key ${direction}`,
  )
}

/** Finds groups of names that differ in spelling only, ordered by their normalised spelling. */
export function findSpellings(
  db: Db,
  rule: SpellingRule,
  slice: FindingSlice,
): Promise<FindingRow[]> {
  const { range, direction, limit } = sliceClauses(raw('spelling'), sql`text`, slice)
  const columns = sql`
    array[key] as keys, to_jsonb(key) as value, count, ${none} as records, names`
  return many(
    db,
    FindingRow,
    sql`${selectSpellings(rule, columns, range, direction)}
        order by key ${direction}
        ${limit}`,
  )
}

/** The records that have a source. */
const recordsOf = (source: Sql) => sql`
  from video_source
  join video on video.id = video_id and ${isChecked}
  where source_id = ${source}`

/** Selects sources in some states that a record has. Each state has its part of the index. */
function selectSources({ states }: SourceRule, columns: Sql, range: Sql, order: Sql): Sql {
  return sql`
    select ${columns}
    from unnest(${[...states]}::text[]) as wanted (state)
    cross join lateral (
      select id, url
      from source
      where source.state = wanted.state
        and source.state not in ('new', 'ok')
        and exists (select ${recordsOf(sql`source.id`)})
        ${range}
      ${order}
    ) as source`
}

/** Finds sources that break a rule, ordered by id, with their records. */
export function findSources(db: Db, rule: SourceRule, slice: FindingSlice): Promise<FindingRow[]> {
  const { range, direction, limit } = sliceClauses(sql`id`, sql`bigint`, slice)
  const first = sql`order by id ${direction} limit ${slice.offset + slice.limit}::integer`
  return many(
    db,
    FindingRow,
    sql`select array[found.id::text] as keys, to_jsonb(found.url) as value,
               (select count(*)::integer ${recordsOf(sql`found.id`)}) as count, records,
               ${none} as names
        from (
          ${selectSources(rule, sql`source.id, url`, range, first)}
          order by id ${direction}
          ${limit}
        ) as found
        cross join lateral (
          select json_agg(${record} order by video.id) as records
          from (
            select video.* ${recordsOf(sql`found.id`)}
            order by video.id
            limit ${maxMembers}
          ) as video
          join category on category.id = category_id
        ) as members
        order by found.id ${direction}`,
  )
}

const openReplacements = sql`
  from replacement
  join video as own on own.id = replacement.video_id
  join video
    on video.id = case when own.merged_into is null then own.id else merge_target(own.id) end
       and video.taken_down is null
  where replacement.state = 'open'`

/** Finds records for which a copy waits for a decision, ordered by the id of the copy. */
export function findReplacements(db: Db, slice: FindingSlice): Promise<FindingRow[]> {
  const { range, direction, limit } = sliceClauses(sql`replacement.id`, sql`bigint`, slice)
  return many(
    db,
    FindingRow,
    sql`select array[found.id::text] as keys, to_jsonb(found.url) as value, 1 as count,
               json_build_array(${record}) as records, ${none} as names
        from (
          select replacement.id, replacement.url, video.id as video_id ${openReplacements} ${range}
          order by replacement.id ${direction}
          ${limit}
        ) as found
        join video on video.id = found.video_id
        join category on category.id = category_id
        order by found.id ${direction}`,
  )
}

const Scanned = Type.Object({
  scanned: Type.Integer(),
  last_id: Type.Union([Type.Integer(), Type.Null()]),
  ids: Type.Array(Type.Integer()),
})

/** The only operator of the sources of a record that are there. Null if there are others. */
const onlyOperator = sql`
  (select case when count(distinct operator) = 1 then min(operator) end
   from video_source
   join source on source.id = source_id
   where video_id = video.id
     and source.state <> all (${[...missingStates]}::text[]))`

/** Scans the next live records after an id for those that one operator has, in their order. */
export function scanSingleOperator(
  db: Db,
  { way, after, size }: Pick<FindingSlice, 'way' | 'after'> & { readonly size: number },
) {
  const slice = { way, after, offset: 0, limit: size }
  const { range, direction, limit } = sliceClauses(sql`id`, sql`bigint`, slice)
  return one(
    db,
    Scanned,
    sql`select count(*)::integer as scanned,
               (array_agg(id order by id ${direction}))[count(*)] as last_id,
               coalesce(
                 array_agg(id order by id ${direction}) filter (where operator is not null),
                 '{}') as ids
        from (
          select id, ${onlyOperator} as operator
          from (
            select id
            from live_video
            where true ${range}
            order by id ${direction}
            ${limit}
          ) as video
        ) as scanned`,
  )
}

/** Finds records that one operator has, in the order of their ids. */
export function findWithOperator(
  db: Db,
  ids: readonly number[],
  way: FindingSlice['way'],
): Promise<FindingRow[]> {
  return many(
    db,
    FindingRow,
    sql`select array[video.id::text] as keys, to_jsonb(${onlyOperator}) as value, 1 as count,
               json_build_array(${record}) as records, ${none} as names
        from video
        join category on category.id = category_id
        where video.id = any (${ids}::bigint[])
        order by video.id ${way === 'next' ? empty : raw('desc')}`,
  )
}

/** Returns how many live records the planner of PostgreSQL expects, from its statistics. */
export async function estimateLiveRecords(db: Db): Promise<number> {
  const row = await one(db, Plan, sql`explain (format json) select from live_video`)
  return row['QUERY PLAN'][0]?.Plan['Plan Rows'] ?? 0
}

const MaybeDay = Type.Union([Type.String(), Type.Null()])
const FixableRow = Type.Object({
  id: Type.Integer(),
  etag: Type.String(),
  body: Type.String(),
  facts: Type.Array(Type.Unsafe<Fact>({})),
  event: Type.Object({ start: MaybeDay, end: MaybeDay }),
})

/** Finds what fixes need to know about records. Leaves out those that do not break the rule. */
export function findFixableTalks(db: Db, rule: RecordRule, ids: readonly number[]) {
  return many(
    db,
    FixableRow,
    sql`select id, etag, body,
               coalesce((select facts from video_facts where video_facts.id = video.id), '[]')
                 as facts,
               json_build_object('start', category.start_date, 'end', category.end_date) as event
        from (select id, category_id from video
              where id = any (${ids}::bigint[])
                and ${isChecked}
                and ${raw(ruleColumn(rule))}) as video
        join (select id, etag, body from video_body) as rendered using (id)
        join (select id as category_id, start_date, end_date from category) as category
          using (category_id)`,
  )
}

/** Rules whose findings one statement counts. */
type CountedRule = Exclude<Rule, { readonly finds: 'single-operator' }>

const Count = Type.Object({ count: Type.Integer() })

/** Counts the findings of a rule, up to a limit. */
export async function countFindings(db: Db, rule: CountedRule, limit: number): Promise<number> {
  const row = await one(
    db,
    Count,
    sql`select count(*)
        from (
          ${selectFindings(rule, limit)}
          limit ${limit}::integer
        ) as counted`,
  )
  return row.count
}

function selectFindings(rule: CountedRule, limit: number): Sql {
  if (rule.finds === 'spellings') return selectSpellings(rule, empty, empty, empty)
  if (rule.finds === 'same') return selectDuplicates(rule, empty, empty, empty)
  if (rule.finds === 'sources')
    return selectSources(rule, empty, empty, sql`limit ${limit}::integer`)
  if (rule.finds === 'replacements') return sql`select ${openReplacements}`
  return sql`select from video where ${isChecked} and ${raw(ruleColumn(rule))}`
}

const Plan = Type.Object({
  'QUERY PLAN': Type.Array(Type.Object({ Plan: Type.Object({ 'Plan Rows': Type.Number() }) })),
})

/** Returns how many records the planner of PostgreSQL expects, from its statistics. */
export async function estimateRecords(db: Db, rule: RecordRule): Promise<number> {
  const row = await one(
    db,
    Plan,
    sql`explain (format json)
        select from video where ${isChecked} and ${raw(ruleColumn(rule))}`,
  )
  return row['QUERY PLAN'][0]?.Plan['Plan Rows'] ?? 0
}

/**
 * Selects the candidates that several records still share, as `key`, `count` and `start`. Of the
 * parts of one recording those of the first start that several records have.
 */
function selectDuplicates(rule: DuplicateRule, columns: Sql, range: Sql, direction: Sql): Sql {
  return sql`
    select ${columns}
    from (
      select key
      from duplicate_candidate
      where rule = ${rule.rule} ${range}
      order by key ${direction}
    ) as found
    cross join lateral (
      select start, count(*), count(distinct category_id) as categories
      from (
        select category_id, ${startOf(rule)} as start
        from video
        where ${isChecked} and ${raw(ruleColumn(rule))} = found.key
      ) as sharing
      group by start
      having count(*) > 1
      order by start nulls first
      limit 1
    ) as now
    where ${raw(rule.acrossCategories ? 'categories' : 'count')} > 1`
}

/**
 * Where a talk starts in its recording, in seconds, by its facts or its URL (90, 90s, 1h2m3s).
 * Null if it is the whole recording.
 */
const partStart = sql`
  coalesce(
    (select (fact->>'start')::integer
     from video_facts
     cross join jsonb_array_elements(facts) with ordinality as listed (fact, position)
     where video_facts.id = video.id
       and fact->>'kind' = 'part'
       and source_identity(fact->>'url') = source_identity(source_url)
     order by position
     limit 1),
    (select nullif(
              coalesce(units[1]::integer, 0) * 3600
                + coalesce(units[2]::integer, 0) * 60
                + coalesce(units[3]::integer, 0),
              0)
     from regexp_match(source_url, ${timecodeInUrl}) as units))`

const startOf = ({ separatesParts }: DuplicateRule): Sql =>
  separatesParts ? partStart : sql`null::integer`

/**
 * Selects the spellings that several used names share, as `key`, `count` and `names`. A name that
 * no record contains stays in its table and is ignored.
 */
function selectSpellings(
  { of: kind }: SpellingRule,
  columns: Sql,
  range: Sql,
  direction: Sql,
): Sql {
  const table = raw(kind)
  return sql`
    select ${columns}
    from (
      select spelling as key
      from ${table}
      where spelling is not null and merged_into is null ${range}
      group by spelling
      having count(*) > 1
      order by spelling ${direction}
    ) as found
    cross join lateral (
      select max(used.total) as count,
             json_agg(
               json_build_object('id', id, 'name', name, 'slug', slug, 'talks', talks)
               order by talks desc, id) as names
      from (
        select *, count(*) over () as total
        from (
          select id, name, slug,
                 coalesce((
                   select sum(talks)
                   from talk_count
                   where kind = ${kind} and entity_id = entity.id), 0)::integer as talks
          from ${table} as entity
          where spelling = found.key and merged_into is null
          offset 0
        ) as entity
        where talks > 0
           or exists (
                select from video
                where state = 2
                  and ${isChecked}
                  and ${raw(`${kind}_ids`)} @> array[entity.id])
        order by talks desc, id
        limit ${maxMembers}
      ) as used
    ) as members
    where count > 1`
}

function sliceClauses(key: Sql, type: Sql, { way, after, offset, limit }: FindingSlice) {
  const [comparison, direction] = way === 'next' ? [raw('>'), empty] : [raw('<'), raw('desc')]
  return {
    range: after === undefined ? empty : sql`and ${key} ${comparison} ${after}::${type}`,
    direction,
    limit: sql`limit ${limit}::integer offset ${offset}::integer`,
  }
}

const Fingerprint = Type.Object({ key: Type.Integer(), unused: Type.Boolean() })

const isUnused = sql`
  not exists (select from video where same_source = fingerprint.key and taken_down is null)
  and not exists (select from video where same_talk = fingerprint.key and taken_down is null)`

/** Lists fingerprints ordered by key, and whether no record has them any more. */
export function listFingerprints(db: Db, after: number, limit: number) {
  return many(
    db,
    Fingerprint,
    sql`select key, ${isUnused} as unused
        from (
          select key
          from fingerprint
          where key > ${after}::bigint
          order by key
          limit ${limit}::integer
        ) as fingerprint
        order by key`,
  )
}

/** Whether fewer than two records share a candidate. Its rule decides which column they share. */
const isResolved = sql`
  (select count(*)
   from (
     select from video
     where rule = 'same-source' and same_source = duplicate_candidate.key and taken_down is null
     union all
     select from video
     where rule = 'same-talk' and same_talk = duplicate_candidate.key and taken_down is null
     limit 2
   ) as sharing) < 2`

/**
 * Locks all records against writes until the end of the transaction, so that none gets a
 * fingerprint that is being deleted. Times out quickly, because writers queue behind it.
 */
export async function lockRecords(tx: Db): Promise<void> {
  await execute(tx, sql`set local lock_timeout = '200ms'`)
  await execute(tx, sql`lock table video in share row exclusive mode`)
}

/** Deletes those of the fingerprints that no record has. */
export function deleteFingerprints(tx: Db, keys: readonly number[]) {
  return execute(
    tx,
    sql`delete from fingerprint where key = any (${keys}::bigint[]) and ${isUnused}`,
  )
}

const ResolvedCandidate = Type.Object({ rule: Type.String(), key: Type.Integer() })

/** Finds duplicate candidates that fewer than two records share. */
export function findResolvedCandidates(db: Db, limit: number) {
  return many(
    db,
    ResolvedCandidate,
    sql`select rule, key from duplicate_candidate where ${isResolved} limit ${limit}::integer`,
  )
}

/** Deletes those of the candidates that fewer than two records share. */
export function deleteResolvedCandidates(
  tx: Db,
  candidates: readonly Static<typeof ResolvedCandidate>[],
) {
  const [ruleNames, keys] = [candidates.map(({ rule }) => rule), candidates.map(({ key }) => key)]
  return execute(
    tx,
    sql`delete from duplicate_candidate
        where (rule, key) in (select * from unnest(${ruleNames}::text[], ${keys}::bigint[]))
          and ${isResolved}`,
  )
}
