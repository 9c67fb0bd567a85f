import { FoundRecord, ListedSpeaker } from '@talkshelf/contract'
import sql, { empty, raw, type Sql } from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import { type Db, execute, many, one } from '../platform/db/db.ts'
import type { DuplicateRule, RecordRule, Rule, SpellingRule } from './rule.ts'

// Every rule walks along an index of 0009.do.quality.sql, from behind the key that was shown last.

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

const maxShown = 100
const none = sql`'[]'::json`

export function findRecords(db: Db, rule: RecordRule, slice: FindingSlice): Promise<FindingRow[]> {
  const { further, turned, limit } = along(sql`id`, sql`bigint`, slice)
  return many(
    db,
    FindingRow,
    sql`select array[found.id::text] as keys, ${rule.shows ? sql`to_jsonb(video.${raw(rule.shows)})` : sql`null`} as value, 1 as count,
               json_build_array(${record}) as records, ${none} as names
        from (select id from ${those(rule)} ${further} order by id ${turned} ${limit}) as found
        join video using (id)
        join category on category.id = category_id
        order by found.id ${turned}`,
  )
}

export function findDuplicates(
  db: Db,
  rule: DuplicateRule & { rule: string },
  slice: FindingSlice,
): Promise<FindingRow[]> {
  const { further, turned, limit } = along(sql`key`, sql`bigint`, slice)
  return many(
    db,
    FindingRow,
    sql`select array[found.key::text] as keys, value, found.count, records, ${none} as names
        from (select key, count from ${suspects(rule, further, sql`order by key ${turned}`)} order by key ${turned} ${limit}) as found
        cross join lateral (
          select to_jsonb((array_agg(video.${raw(rule.shows)} order by video.id))[1]) as value, json_agg(${record} order by video.id) as records
          from (select * from ${those(rule)} = found.key order by id limit ${maxShown}) as video
          join category on category.id = category_id
        ) as members
        order by found.key ${turned}`,
  )
}

export function findSpellings(
  db: Db,
  rule: SpellingRule,
  slice: FindingSlice,
): Promise<FindingRow[]> {
  const { further, turned, limit } = along(raw('spelling'), sql`text`, slice)
  return many(
    db,
    FindingRow,
    sql`select array[key] as keys, to_jsonb(key) as value, count, ${none} as records, names
        from ${spellings(rule, further, sql`order by spelling ${turned}`)}
        order by key ${turned} ${limit}`,
  )
}

const Count = Type.Object({ count: Type.Integer() })

export async function countFindings(db: Db, rule: Rule, limit: number): Promise<number> {
  const upTo = sql`limit ${limit}::integer`
  const all =
    rule.finds === 'spellings'
      ? sql`${spellings(rule, empty, sql`order by spelling`)} ${upTo}`
      : rule.finds === 'same'
        ? sql`${suspects(rule, empty, sql`order by key`)} ${upTo}`
        : sql`${those(rule)} ${upTo}`
  const row = await one(db, Count, sql`select count(*) from (select from ${all}) as counted`)
  return row.count
}

const Plan = Type.Object({
  'QUERY PLAN': Type.Array(Type.Object({ Plan: Type.Object({ 'Plan Rows': Type.Number() }) })),
})

/** How many PostgreSQL expects, from its statistics. */
export async function estimateRecords(db: Db, rule: RecordRule): Promise<number> {
  const row = await one(db, Plan, sql`explain (format json) select from ${those(rule)}`)
  return row['QUERY PLAN'][0]?.Plan['Plan Rows'] ?? 0
}

const record = sql`json_build_object('id', video.id, 'title', video.title, 'category', category.title, 'state', state)`

/**
 * Exactly the conditions of the indexes; for a number that is the same, what it is the same as is
 * to follow.
 */
function those({ column }: RecordRule | DuplicateRule): Sql {
  return sql`video where taken_down is null and ${raw(column)}`
}

/** The numbers of which it is still so that several records have them. */
function suspects(rule: DuplicateRule & { rule: string }, further: Sql, order: Sql): Sql {
  return sql`(select key from duplicate_candidate where rule = ${rule.rule} ${further} ${order}) as found
        cross join lateral (select count(*), count(distinct category_id) as categories from ${those(rule)} = found.key) as now
        where ${raw(rule.acrossCategories ? 'categories' : 'count')} > 1`
}

/** A name that is in no record any more stays in its table; it is no spelling of anything. */
function spellings({ of }: SpellingRule, further: Sql, order: Sql): Sql {
  const talks = sql`coalesce((select sum(talks) from talk_count where kind = ${of} and entity_id = entity.id), 0)::integer`
  const inDraft = sql`exists (select from video where state = 2 and taken_down is null and ${raw(`${of}_ids`)} @> array[entity.id])`
  return sql`(select spelling as key from ${raw(of)} where spelling is not null and merged_into is null ${further} group by spelling having count(*) > 1 ${order}) as found
        cross join lateral (
          select max(used.of_all) as count,
                 json_agg(json_build_object('id', id, 'name', name, 'slug', slug, 'talks', talks) order by talks desc, id) as names
          from (select *, count(*) over () as of_all
                from (select id, name, slug, ${talks} as talks from ${raw(of)} as entity where spelling = found.key and merged_into is null offset 0) as entity
                where talks > 0 or ${inDraft}
                order by talks desc, id limit ${maxShown}) as used
        ) as members
        where count > 1`
}

function along(key: Sql, type: Sql, { way, after, offset, limit }: FindingSlice) {
  const [than, turned] = way === 'next' ? [raw('>'), empty] : [raw('<'), raw('desc')]
  return {
    further: after === undefined ? empty : sql`and ${key} ${than} ${after}::${type}`,
    turned,
    limit: sql`limit ${limit}::integer offset ${offset}::integer`,
  }
}

const Seen = Type.Object({ key: Type.Integer(), unused: Type.Boolean() })

const isUnused = sql`not exists (select from video where same_source = fingerprint.key and taken_down is null)
                     and not exists (select from video where same_talk = fingerprint.key and taken_down is null)`

/** Returns keys in their order, and whether no record has them any more. */
export function listFingerprints(db: Db, after: number, limit: number) {
  return many(
    db,
    Seen,
    sql`select key, ${isUnused} as unused
        from (select key from fingerprint where key > ${after}::bigint order by key limit ${limit}::integer) as fingerprint
        order by key`,
  )
}

/** The rule of a suspect decides which of the two keys records share. */
const isResolved = sql`(select count(*) from (
    select from video where rule = 'same-source' and same_source = duplicate_candidate.key and taken_down is null
    union all
    select from video where rule = 'same-talk' and same_talk = duplicate_candidate.key and taken_down is null
    limit 2) as sharing) < 2`

/**
 * Keeps all records from being written until the end of the transaction, so that none gets a key
 * that is just being removed. Waits for a moment only: writers queue behind it.
 */
export async function lockRecords(tx: Db): Promise<void> {
  await execute(tx, sql`set local lock_timeout = '200ms'`)
  await execute(tx, sql`lock table video in share row exclusive mode`)
}

/** Removes those of the keys that no record has. */
export function deleteFingerprints(tx: Db, keys: readonly number[]) {
  return execute(
    tx,
    sql`delete from fingerprint where key = any (${keys}::bigint[]) and ${isUnused}`,
  )
}

const Resolved = Type.Object({ rule: Type.String(), key: Type.Integer() })

/** Returns suspects that fewer than two records share. */
export function findResolvedCandidates(db: Db, limit: number) {
  return many(
    db,
    Resolved,
    sql`select rule, key from duplicate_candidate where ${isResolved} limit ${limit}::integer`,
  )
}

/** Removes those of the suspects that fewer than two records share. */
export function deleteResolvedCandidates(tx: Db, suspects: readonly Static<typeof Resolved>[]) {
  const [given, keys] = [suspects.map(({ rule }) => rule), suspects.map(({ key }) => key)]
  return execute(
    tx,
    sql`delete from duplicate_candidate
        where (rule, key) in (select * from unnest(${given}::text[], ${keys}::bigint[])) and ${isResolved}`,
  )
}
