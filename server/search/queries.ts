import sql, { empty, join, raw, type Sql } from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import { type Db, execute, many, maybe, one } from '../platform/db/db.ts'
import { minTypoLength } from '../platform/text/one-typo.ts'
import { filterKey, type Tsquery, type UnitForms } from './tsquery.ts'

/** The filters of a search, by id. */
export interface SearchFilter {
  readonly category?: number | undefined
  readonly speaker?: number | undefined
  readonly tag?: number | undefined
  readonly language?: number | undefined
  /** Only these years, within the range below. */
  readonly years?: readonly number[] | undefined
  readonly recordedAfter?: string | undefined
  readonly recordedBefore?: string | undefined
  /** The index of a duration range. */
  readonly duration?: number | undefined
  readonly updatedSince?: string | undefined
  readonly sourceUrl?: string | undefined
}

const Stems = Type.Array(
  Type.Object({ lexeme: Type.String(), languages: Type.Array(Type.Integer()) }),
)
const WordRow = Type.Object({
  /** The number of the text, from 1. */
  term: Type.Integer(),
  word: Type.String(),
  stems: Stems,
  /** The used languages whose dictionary drops the word. */
  stop_languages: Type.Array(Type.Integer()),
})
export type WordRow = Static<typeof WordRow>

/** The languages that live talks have, with the dictionary of each. */
const usedLanguages = sql`used as (
          select id, dictionary
          from language
          where id in (select entity_id
                       from talk_count
                       where kind = 'language'
                       group by entity_id
                       having sum(talks) > 0)
        )`

/** Selects the stems of a word, each with the used languages whose dictionary produces it. */
function stemsOf(word: Sql): Sql {
  return sql`(select coalesce(jsonb_agg(stem), '[]')
                from (select lexeme, jsonb_agg(used.id order by used.id) as languages
                      from used, unnest(to_tsvector(all_words_of(used.dictionary), ${word}))
                      group by lexeme) as stem)`
}

/** Longer words are cut: a lexeme of a tsquery has less than 2 KB. */
const maxWordLength = 500

/** Splits each text into its normalized words. */
export function findWords(db: Db, texts: readonly string[]) {
  return many(
    db,
    WordRow,
    sql`with ${usedLanguages}
        select term.ordinal::integer as term, word,
               ${stemsOf(sql`word`)} as stems,
               array(select id
                     from used
                     where to_tsvector(dictionary::regconfig, word) = '') as stop_languages
        from unnest(${texts}::text[]) with ordinality as term (text, ordinal),
             regexp_split_to_table(normalized_words(term.text), ' +')
               with ordinality as words (whole_word, ordinal),
             left(whole_word, ${maxWordLength}::integer) as word
        where word <> ''
        order by term.ordinal, words.ordinal`,
  )
}

const StemRow = Type.Object({
  /** The position of the word, from 1 on. */
  ordinal: Type.Integer(),
  language: Type.String(),
  language_id: Type.Integer(),
  lexemes: Type.Array(Type.String()),
})

/** Finds the stems of words in each of some languages. */
export function findStems(db: Db, words: readonly string[], languages: readonly string[]) {
  return many(
    db,
    StemRow,
    sql`select ordinal::integer, name as language, id as language_id,
               tsvector_to_array(to_tsvector(all_words_of(dictionary), normalized_words(word)))
                 as lexemes
        from unnest(${words}::text[]) with ordinality as words (word, ordinal), language
        where name = any (${languages}::text[])`,
  )
}

const Hit = Type.Object({ id: Type.Integer(), score: Type.Number(), matches: Type.Integer() })
export type Hit = Static<typeof Hit>

/** Only this many of the newest matches are ranked. */
export const maxRanked = 1000

type SearchTsquery = Tsquery & { readonly match: string }

// The head of a record is its title, speakers, tags and category; its text is the summary and the
// description. The scores of matches in the head and in the text do not overlap: a record with all
// words in its head ranks before one that has some of them in its text only.

/**
 * Ranks the newest records with all words in title, speakers, tags and category; those with the
 * words of the query next to each other in the title come first. Partitions are scanned from the
 * newest year on until the limit is reached.
 */
export function findInHead(db: Db, tsquery: SearchTsquery, filter: SearchFilter, limit: number) {
  const { rank, near = null, nearWords, required } = tsquery
  return many(
    db,
    Hit,
    sql`select id, score, matches
        from (select id,
                     10 + ts_rank('{0.15, 0.3, 0.6, 1}', head, ${rank}::tsquery, 1)
                       + case
                           when head @@ ${near}::tsquery
                           then 1 + ${nearWords}::real
                                / greatest(${nearWords}::integer, length(ts_filter(head, '{a}')))
                           else 0
                         end as score,
                     count(*) over ()::integer as matches
              from (select id, head
                    from video_search
                    where (keys || head) @@ ${withFilterKeys(required, filter)}::tsquery
                      ${andInRange(filter)}
                      ${andNotExcluded(tsquery)}
                    limit ${maxRanked}) as hit) as ranked
        order by score desc, id desc
        limit ${limit}::integer`,
  )
}

/** Checks exclusions against the whole record: an excluded word must not be in the text either. */
function andNotExcluded({ hasExclusions, match }: SearchTsquery): Sql {
  return hasExclusions ? sql`and (keys || head || text) @@ ${match}::tsquery` : empty
}

/** Ranks the newest of the other matches: those with some words only in summary or description. */
export function findInText(
  db: Db,
  { match, rank, required }: SearchTsquery,
  filter: SearchFilter,
  limit: number,
) {
  return many(
    db,
    Hit,
    sql`select id, score, matches
        from (select id,
                     5 * ts_rank('{0.15, 0.3, 0.6, 1}', head, ${rank}::tsquery, 1)
                       + ts_rank('{0, 0, 0.5, 1}', text, ${rank}::tsquery, 1) as score,
                     count(*) over ()::integer as matches
              from (select id, head, text
                    from video_search
                    where (keys || head || text) @@ ${withFilterKeys(match, filter)}::tsquery
                      ${andInRange(filter)}
                      and not (keys || head) @@ ${required}::tsquery
                    limit ${maxRanked}) as hit) as ranked
        order by score desc, id desc
        limit ${limit}::integer`,
  )
}

/** A word of a query, with its weight, in the parts of a record. */
export interface WeightedForms extends UnitForms {
  readonly weight: number
}

/**
 * Ranks the newest matches by the weights of the words that they have: more in the title and in
 * names than in tags and category, and least in the text. Shorter titles are better.
 */
export function findPartialMatches(
  db: Db,
  match: string,
  words: readonly WeightedForms[],
  filter: SearchFilter,
  limit: number,
) {
  return many(
    db,
    Hit,
    sql`select id, score, matches
        from (select id, matches,
                     (select sum(weight
                                 * case
                                     when head @@ in_title then 1.1 - least(title_words, 20) * 0.01
                                     when head @@ in_speakers then 1
                                     when head @@ anywhere then 0.8
                                     when text @@ in_title then 0.5
                                     when text @@ anywhere then 0.4
                                     else 0
                                   end)
                      from unnest(${words.map(({ weight }) => weight)}::float8[],
                                  ${words.map(({ title }) => title)}::tsquery[],
                                  ${words.map(({ speakers }) => speakers)}::tsquery[],
                                  ${words.map(({ anywhere }) => anywhere)}::tsquery[])
                           as word (weight, in_title, in_speakers, anywhere)) as score
              from (select id, keys || head as head, keys || text as text,
                           length(ts_filter(head, '{a}')) as title_words,
                           count(*) over ()::integer as matches
                    from (select id, keys, head, text
                          from video_search
                          where (keys || head || text) @@ ${withFilterKeys(match, filter)}::tsquery
                            ${andInRange(filter)}
                          limit ${maxRanked}) as hit
                    offset 0) as hit) as ranked
        order by score desc, id desc
        limit ${limit}::integer`,
  )
}

const MatchCount = Type.Object({ count: Type.Integer() })

/** Counts the matches of each query, up to a limit. */
export async function countEach(
  db: Db,
  matches: readonly string[],
  limit: number,
): Promise<number[]> {
  const rows = await many(
    db,
    MatchCount,
    sql`select (select count(*)
                from (select
                      from video_search
                      where (keys || head || text) @@ match
                      limit ${limit}::integer) as counted)::integer as count
        from unnest(${matches}::tsquery[]) with ordinality as query (match, ordinal)
        order by ordinal`,
  )
  return rows.map(({ count }) => count)
}

const Prefix = Type.Object({ word: Type.String(), talks: Type.Integer() })

/** Only the first lexemes with a prefix are counted. */
const maxPrefixLexemes = 2000

/** Finds about how many talks have a word with each of these prefixes. */
export function talksOfPrefixes(db: Db, prefixes: readonly string[]) {
  return many(
    db,
    Prefix,
    sql`select prefix.word,
               (select greatest(coalesce(sum(talks), 0), 1)::integer
                from (select talks
                      from search_lexeme
                      where lexeme >= prefix.word collate "C"
                        and lexeme < (prefix.word || chr(1114111)) collate "C"
                      limit ${maxPrefixLexemes}) as lexemes) as talks
        from unnest(${prefixes}::text[]) as prefix (word)`,
  )
}

const SynonymRow = Type.Object({ ordinal: Type.Integer(), term: Type.String() })

/** Finds the synonyms of terms, by the number of the term from 1. */
export function findSynonyms(db: Db, terms: readonly string[]) {
  return many(
    db,
    SynonymRow,
    sql`select searched.ordinal::integer, other.term
        from unnest(${terms}::text[]) with ordinality as searched (term, ordinal)
        join synonym as own on own.key = synonym_key(searched.term)
        join synonym as other on other.group_id = own.group_id and other.key <> own.key
        order by searched.ordinal, other.position`,
  )
}

const CountEstimate = Type.Object({ count: Type.Integer(), expected: Type.Number() })

/**
 * Counts matches up to a limit, and extrapolates to all talks of the years of the filter from the
 * share of them that was scanned: each partition from its first page to that of its last match. The
 * years before 2005 share a partition, and those after 2045.
 */
export function estimateMatches(
  db: Db,
  match: string | undefined,
  filter: SearchFilter,
  limit: number,
) {
  const partition = sql`greatest(least(year_key, 996), 954)`
  return one(
    db,
    CountEstimate,
    sql`with counted as (
          select tableoid, ${partition} as partition, (ctid::text::point)[0] as page
          from video_search
          where ${matches(match, filter)}
            ${andInRange(filter)}
          limit ${limit}::integer
        ), part as (
          select partition, count(*) as matches,
                 least(1, (max(page) + 1) * current_setting('block_size')::integer
                          / greatest(pg_relation_size(tableoid), 1)) as share
          from counted
          group by tableoid, partition
        ), talks as (
          select ${partition} as partition, sum(talks) as talks
          from talk_cube
          where ${inYears(filter)}
          group by 1
        ), scanned as (
          select matches, talks,
                 -- Partitions before the last one with a match were scanned, and have none.
                 talks
                   * coalesce(share,
                              (partition < max(partition) filter (where share is not null)
                                             over ())::integer) as scanned
          from talks
          left join part using (partition)
        )
        select coalesce(sum(matches), 0)::integer as count,
               coalesce(sum(matches) * greatest(1, sum(talks) / nullif(sum(scanned), 0)),
                        0)::float8 as expected
        from scanned`,
  )
}

const Id = Type.Object({ id: Type.Integer() })

/** Lists the ids of the newest matches, in no particular order. */
export function newestMatches(db: Db, match: string, filter: SearchFilter, limit: number) {
  return many(
    db,
    Id,
    sql`select id
        from video_search
        where (keys || head || text) @@ ${withFilterKeys(match, filter)}::tsquery
          ${andInRange(filter)}
        limit ${limit}::integer`,
  )
}

const SimilarWord = Type.Object({ word: Type.String(), similarity: Type.Number(), stems: Stems })

/** Finds known words with a similar spelling, the most similar first, and other spellings. */
export function findSimilarWords(db: Db, word: string, spellings: readonly string[]) {
  return many(
    db,
    SimilarWord,
    sql`with ${usedLanguages}, near as (
          select word, similarity(word, ${word}) as similarity
          from search_word
          where word % ${word}
            and length(word) between ${word.length - 3}::integer and ${word.length + 3}::integer
          order by similarity desc, word
          limit 30
        ), found as (
          select word, similarity from near
          union
          select word, similarity(word, ${word})
          from search_word
          where word = any (${spellings}::text[] collate "C")
        )
        select word, similarity,
               ${stemsOf(sql`word`)} as stems
        from found
        order by similarity desc, word`,
  )
}

const FacetRow = Type.Object({
  kind: Type.String(),
  /** An id, a year, or the index of a duration range. */
  entity: Type.Integer(),
  value: Type.String(),
  name: Type.String(),
  talks: Type.Integer(),
  /** The number of all talks of the category, language, speaker or tag. */
  own: Type.Union([Type.Integer(), Type.Null()]),
  /** The number of talks that were counted. */
  scanned: Type.Integer(),
})
export type FacetRow = Static<typeof FacetRow>

/** Names the most frequent values of each facet. `counted` has kind, entity and talks. */
function mostFrequent(counted: Sql, scanned: Sql, maxValues: number): Sql {
  return sql`
        , ranked as (
          select kind, entity, talks,
                 row_number() over (partition by kind order by talks desc, entity desc) as ordinal
          from (${counted}) as counted
        )
        select kind, entity::bigint,
               coalesce(category.slug, language.slug, speaker.slug, tag.slug,
                        entity::text) as value,
               coalesce(category.title, language.name, speaker.name, tag.name,
                        entity::text) as name,
               talks::integer,
               (select sum(talks)
                from talk_count
                where talk_count.kind = ranked.kind and entity_id = entity)::integer as own,
               (${scanned})::integer as scanned
        from ranked
        left join category on kind = 'category' and category.id = entity
        left join language on kind = 'language' and language.id = entity
        left join speaker on kind = 'speaker' and speaker.id = entity
        left join tag on kind = 'tag' and tag.id = entity
        where ordinal <= ${maxValues}::integer
        order by kind, ordinal`
}

/** Counts the categories, speakers and tags of the rows `hit`. */
const countedEntities = sql`
          select 'category' as kind, category_id as entity, count(*) as talks from hit group by 2
          union all
          select 'speaker', unnest(speaker_ids), count(*) from hit group by 2
          union all
          select 'tag', unnest(tag_ids), count(*) from hit group by 2`

/**
 * Counts the categories, languages, years, speakers, tags and durations of the newest matches, up
 * to a limit of matches. Returns the most frequent values of each facet.
 */
export function countFacets(
  db: Db,
  match: string | undefined,
  filter: SearchFilter,
  limit: number,
  maxValues: number,
) {
  const counted = sql`${countedEntities}
          union all
          select 'language', language_id, count(*) from hit group by 2
          union all
          select 'year', 3000 - year_key, count(*) from hit where year_key < 32767 group by 2
          union all
          select 'duration', length, count(*) from hit group by 2`
  return many(
    db,
    FacetRow,
    sql`with hit as materialized (
          select year_key, category_id, language_id, speaker_ids, tag_ids, length
          from video_search
          where ${matches(match, filter)}
            ${andInRange(filter)}
          limit ${limit}::integer
        )
        ${mostFrequent(counted, sql`select count(*) from hit`, maxValues)}`,
  )
}

/**
 * Counts the years, languages and durations of all talks of a filter that has nothing else, from
 * the stored numbers. A range of days counts as whole years.
 */
export function countStoredFacets(db: Db, filter: SearchFilter, maxValues: number) {
  const counted = sql`
          select 'year' as kind, 3000 - year_key as entity, sum(talks) as talks
          from cell
          where year_key < 32767
          group by 2
          union all
          select 'language', language_id, sum(talks) from cell group by 2
          union all
          select 'duration', length, sum(talks) from cell group by 2`
  return many(
    db,
    FacetRow,
    sql`with cell as materialized (
          select year_key, language_id, length, sum(talks) as talks
          from talk_cube
          where ${inYears(filter)}
            and coalesce(language_id = ${filter.language}::integer,
                         ${filter.language}::integer is null)
            and coalesce(length = ${filter.duration}::smallint,
                         ${filter.duration}::smallint is null)
          group by 1, 2, 3
          having sum(talks) > 0
        )
        ${mostFrequent(counted, sql`select coalesce(sum(talks), 0) from cell`, maxValues)}`,
  )
}

/**
 * Counts the categories, speakers and tags of all talks, except for those that match a tsquery.
 * There must be few of these, because they are counted one by one. Sums the numbers of each kind in
 * the order of the index and keeps only the highest: sorting all would take several times as long.
 */
export function countOtherEntities(db: Db, except: string | undefined, maxValues: number) {
  const isExcepted =
    except === undefined ? sql`false` : sql`(keys || head || text) @@ ${except}::tsquery`
  const mostTalks = ['category', 'speaker', 'tag'].map(
    (kind) => sql`
          (select counted.kind, counted.entity,
                  counted.talks - coalesce(excepted.talks, 0) as talks
           from (select kind, entity_id as entity, sum(talks) as talks
                 from talk_count
                 where kind = ${kind}
                 group by kind, entity_id) as counted
           left join excepted
             on excepted.kind = counted.kind and excepted.entity = counted.entity
           where counted.talks > coalesce(excepted.talks, 0)
           order by 3 desc, 2 desc
           limit ${maxValues}::integer)`,
  )
  return many(
    db,
    FacetRow,
    sql`with hit as materialized (
          select category_id, speaker_ids, tag_ids
          from video_search
          where ${isExcepted}
        ), excepted as materialized (${countedEntities})
        ${mostFrequent(join(mostTalks, ' union all '), sql`0`, maxValues)}`,
  )
}

const Snapshot = Type.Object({ snapshot: Type.String() })

/**
 * Returns a text that changes with every transaction that writes. On a replica that is the position
 * in the log: its snapshots do not name the transactions in progress.
 */
export async function readSnapshot(db: Db): Promise<string> {
  const row = await one(
    db,
    Snapshot,
    sql`select case when pg_is_in_recovery() then pg_last_wal_replay_lsn()::text
                    else pg_current_snapshot()::text end as snapshot`,
  )
  return row.snapshot
}

const StoredCount = Type.Object({ talks: Type.Integer() })

/**
 * Reads how many talks match each part of a filter that has a stored number: an entity alone, or
 * its years, language and duration together. Without any, that is the number of all talks.
 */
export async function storedCounts(db: Db, filter: SearchFilter): Promise<number[]> {
  const { years, recordedAfter, recordedBefore, language, duration } = filter
  const needsCube = [years, recordedAfter, recordedBefore, duration].some(
    (value) => value !== undefined,
  )
  const { category, speaker, tag } = filter
  const entities = { category, speaker, tag, ...(!needsCube && { language }) }
  const parts = Object.entries(entities).flatMap(([kind, id]) =>
    id === undefined
      ? []
      : [sql`select sum(talks) from talk_count where kind = ${kind} and entity_id = ${id}::bigint`],
  )
  if (needsCube)
    parts.push(sql`select sum(talks)
                   from talk_cube
                   where ${inYears(filter)}
                     and coalesce(language_id = ${language}::integer, ${language}::integer is null)
                     and coalesce(length = ${duration}::smallint, ${duration}::smallint is null)`)
  // Every record has exactly one language, so that their sum counts all records.
  if (parts.length === 0) parts.push(sql`select sum(talks) from talk_count where kind = 'language'`)
  const rows = await many(
    db,
    StoredCount,
    sql`select coalesce(talks, 0)::integer as talks
        from (${join(parts, ' union all ')}) as stored (talks)`,
  )
  return rows.map(({ talks }) => talks)
}

/** The condition of a filter on the years of talk_cube. */
function inYears({ years, recordedAfter, recordedBefore }: SearchFilter): Sql {
  const firstYearKey = recordedBefore === undefined ? -32_768 : yearKeyOf(recordedBefore)
  // Talks without a day have the last key, and are in no range.
  const lastKey = recordedBefore === undefined ? 32_767 : 32_766
  const lastYearKey = recordedAfter === undefined ? lastKey : yearKeyOf(recordedAfter)
  const isInYears =
    years === undefined
      ? empty
      : sql`and year_key = any (${years.map((year) => 3000 - year)}::smallint[])`
  return sql`year_key between ${firstYearKey}::smallint and ${lastYearKey}::smallint ${isInYears}`
}

/** Counts the years of the newest matches, up to a limit of matches. */
export function countYears(
  db: Db,
  match: string | undefined,
  filter: SearchFilter,
  limit: number,
  maxValues: number,
) {
  const counted = sql`
          select 'year' as kind, 3000 - year_key as entity, count(*) as talks
          from hit
          where year_key < 32767
          group by 2`
  return many(
    db,
    FacetRow,
    sql`with hit as materialized (
          select year_key
          from video_search
          where ${matches(match, filter)}
            ${andInRange(filter)}
          limit ${limit}::integer
        )
        ${mostFrequent(counted, sql`select count(*) from hit`, maxValues)}`,
  )
}

const Suggested = Type.Object({
  kind: Type.Union([Type.Literal('category'), Type.Literal('speaker'), Type.Literal('tag')]),
  id: Type.Integer(),
  name: Type.String(),
  slug: Type.String(),
  talks: Type.Integer(),
})

/** More different words of a name are not looked up. */
const maxNameWords = 6

/**
 * Finds speakers, categories and tags by the beginnings of words of their names, in any order.
 * Those with the most talks come first.
 */
export function findNamesByPrefixes(db: Db, text: string, maxPerKind: number) {
  return findNames(db, sql`name_prefix_query(${text}, ${maxNameWords})`, maxPerKind)
}

/** Finds speakers, categories and tags whose names have the given words only, in any order. */
export function findNamesOfWords(db: Db, words: readonly string[], maxPerKind: number) {
  const text = words.join(' ')
  return findNames(
    db,
    sql`name_prefix_query(${text}, ${maxNameWords})`,
    maxPerKind,
    (name) => sql`and char_length(fold(${name})) = char_length(fold(${text}))`,
  )
}

/** Finds speakers, categories and tags by a tsquery; those with the most talks come first. */
export function findNamesByQuery(db: Db, tsquery: string, maxPerKind: number) {
  return findNames(db, sql`${tsquery}::tsquery`, maxPerKind)
}

/** Finds entities with live talks by a tsquery on the words of their names. */
function findNames(
  db: Db,
  tsquery: Sql,
  maxPerKind: number,
  andCondition: (name: Sql) => Sql = () => empty,
) {
  // Names without live talks are filtered out before the inner limit, so that names of drafts
  // cannot displace public ones.
  const namesOf = (kind: string, column: string) => {
    const name = raw(column)
    return sql`(select ${kind}::text as kind, id, name, slug, talks
                from (select entity.id, ${name} as name, slug, counted.talks
                      from ${raw(kind)} as entity,
                           lateral (select sum(talks)::integer as talks
                                    from talk_count
                                    where kind = ${kind}::text and entity_id = entity.id) as counted
                      where name_words(${name}) @@ (select tsquery from words)
                        ${andCondition(name)}
                        and counted.talks > 0
                      limit 1000) as candidate
                order by talks desc, name
                limit ${maxPerKind}::integer)`
  }
  return many(
    db,
    Suggested,
    sql`with words as (select ${tsquery} as tsquery)
        ${namesOf('speaker', 'name')}
        union all
        ${namesOf('category', 'title')}
        union all
        ${namesOf('tag', 'name')}`,
  )
}

const SuggestedEvent = Type.Object({
  name: Type.String(),
  slug: Type.String(),
  talks: Type.Integer(),
})

/**
 * Finds categories with live talks by a word of their city or series, or by their country, unless
 * their title matches as well.
 */
export function findEventsByProfile(
  db: Db,
  prefix: string,
  countries: readonly string[],
  limit: number,
) {
  return many(
    db,
    SuggestedEvent,
    sql`select title as name, slug, counted.talks
        from category as entity,
             lateral (select sum(talks)::integer as talks
                      from talk_count
                      where kind = 'category' and entity_id = entity.id) as counted
        where id in (
            -- An index for each: with one condition for both, all events would be read.
            select id from category where place_and_series(profile) like '% ' || fold(${prefix}) || '%'
            union all
            select id from category
            where profile ? 'country' and profile ->> 'country' = any (${countries}::text[])
          )
          and ' ' || fold(title) not like '% ' || fold(${prefix}) || '%'
          and merged_into is null
          and counted.talks > 0
        order by counted.talks desc, title
        limit ${limit}::integer`,
  )
}

const Titled = Type.Object({ id: Type.Integer(), title: Type.String(), slug: Type.String() })
export type Titled = Static<typeof Titled>

/** Finds live talks whose title starts with `prefix`, without accents and case. */
export function findTitlesByPrefix(db: Db, prefix: string, limit: number) {
  return many(
    db,
    Titled,
    sql`select id, title, slug
        from live_video
        where fold(title) collate "C" >= fold(${prefix})
          and fold(title) collate "C" < fold(${prefix}) || chr(1114111)
        order by fold(title) collate "C"
        limit ${limit}::integer`,
  )
}

/** Only this many of the newest talks are ranked for autocomplete, if their texts are read. */
const maxRankedTexts = 100

/**
 * Finds the titles of talks with all words in title, speakers, tags and category, the best first.
 * With `prefix`, these also have a word that begins so, among the newest talks with the others: the
 * cost does not depend on how many words of the archive begin so.
 */
export function findTitlesByHead(
  db: Db,
  tsquery: SearchTsquery,
  prefix: string | undefined,
  limit: number,
) {
  const { rank, near = null, required } = tsquery
  return findRankedTitles(
    db,
    sql`select id, ts_rank('{0.15, 0.3, 0.6, 1}', head, ${rank}::tsquery, 1)
                     + coalesce((head @@ ${near}::tsquery)::integer, 0) as score
              from (select id, keys, head
                    from video_search
                    where (keys || head) @@ ${required}::tsquery
                      ${andNotExcluded(tsquery)}
                    limit ${maxRanked}) as hit
              where coalesce((keys || head) @@ ${prefix}::tsquery, true)`,
    limit,
  )
}

/** Finds the titles of the newest talks with all words in any of their texts, the best first. */
export function findTitlesByText(db: Db, { match, rank }: SearchTsquery, limit: number) {
  return findRankedTitles(
    db,
    sql`select id, 5 * ts_rank('{0.15, 0.3, 0.6, 1}', head, ${rank}::tsquery, 1)
                     + ts_rank('{0, 0, 0.5, 1}', text, ${rank}::tsquery, 1) as score
              from (select id, head, text
                    from video_search
                    where (keys || head || text) @@ ${match}::tsquery
                    limit ${maxRankedTexts}) as hit`,
    limit,
  )
}

/** Finds the titles of the newest talks that match, ranked by the weights of the words they have. */
export function findTitlesByWeight(
  db: Db,
  match: string,
  words: readonly { readonly form: string; readonly weight: number }[],
  limit: number,
) {
  return findRankedTitles(
    db,
    sql`select id, (select sum(weight)
                           from unnest(${words.map(({ form }) => form)}::tsquery[],
                                       ${words.map(({ weight }) => weight)}::float8[])
                                  as word (form, weight)
                           where head @@ form) as score
              from (select id, keys || head as head
                    from video_search
                    where (keys || head) @@ ${match}::tsquery
                    limit ${maxRankedTexts}
                    offset 0) as hit`,
    limit,
  )
}

/** Finds the titles of live talks with the highest scores. */
function findRankedTitles(db: Db, scored: Sql, limit: number) {
  return many(
    db,
    Titled,
    sql`select id, title, slug
        from (${scored}
              order by score desc, id desc
              limit ${limit}::integer) as best
        join live_video using (id)
        order by score desc, id desc`,
  )
}

const Completion = Type.Object({ lexeme: Type.String(), total: Type.Integer() })

/**
 * Finds the words with the most talks that begin so, and about how many talks all such words have.
 * Only the first ones in alphabetical order are looked at.
 */
export function findCompletions(db: Db, prefix: string, limit: number) {
  return many(
    db,
    Completion,
    sql`select lexeme, (sum(talks) over ())::integer as total
        from (select lexeme, sum(talks) as talks
              from (select lexeme, talks
                    from search_lexeme
                    where lexeme >= ${prefix} collate "C"
                      and lexeme < (${prefix} || chr(1114111)) collate "C"
                    limit ${maxPrefixLexemes}) as lexemes
              group by lexeme) as completion
        order by talks desc, lexeme
        limit ${limit}::integer`,
  )
}

const TypedWord = Type.Object({
  typed: Type.String(),
  is_last: Type.Boolean(),
  /** Known words with a similar spelling, the most similar first. */
  similar: Type.Array(Type.String()),
})

/** The most similar known words that are compared with a typed one. */
const maxSimilarWords = 50

/** Finds the first words of a text, with known words that are similar to them or to their start. */
export function findSimilarToTyped(db: Db, text: string) {
  return many(
    db,
    TypedWord,
    sql`with typed as (
          select left(word, ${maxWordLength}::integer) as word,
                 ordinal, ordinal = max(ordinal) over () as is_last
          from regexp_split_to_table(normalized_words(${text}), ' +')
                 with ordinality as words (word, ordinal)
          where word <> ''
        )
        select typed.word as typed, is_last,
               case
                 when length(word) < ${minTypoLength}::integer then '{}'
                 else array(select known.word
                            from search_word as known
                            where known.word % typed.word
                            order by similarity(typed.word, known.word) desc, known.word
                            limit ${maxSimilarWords})
                      || array(select known.word
                               from search_word as known
                               where is_last and typed.word <% known.word
                               order by word_similarity(typed.word, known.word) desc, known.word
                               limit ${maxSimilarWords})
                      -- A short word with two letters swapped has hardly a trigram in common.
                      || array(select known.word
                               from generate_series(1, least(length(typed.word), 40) - 1) as first,
                                    overlay(typed.word
                                            placing reverse(substr(typed.word, first, 2))
                                            from first for 2) as swapped,
                                    lateral (select word
                                             from search_word
                                             where word >= swapped collate "C"
                                               and word < (swapped || chr(1114111)) collate "C"
                                             limit 3) as known)
               end as similar
        from typed
        order by ordinal
        limit ${maxNameWords}::integer`,
  )
}

const StoredSimilar = Type.Object({
  revision: Type.Integer(),
  ids: Type.Array(Type.Integer()),
  is_fresh: Type.Boolean(),
})

/**
 * Finds the stored similar records of a record, or those of `known`, and whether the stored ones
 * were computed from the record as it is. Omits those that are no longer live, and those that have
 * come to the same event or speaker by a merge, which is no new revision. Word frequencies are a
 * day old, and lack the words of a new talk: what was computed with them is fresh for a day only.
 */
export function findStoredSimilar(db: Db, id: number, known?: readonly number[]) {
  return maybe(
    db,
    StoredSimilar,
    sql`select video.revision,
               array(select other.id
                     from unnest(coalesce(${known}::bigint[], ids))
                            with ordinality as similar_id (id, ordinal)
                     join live_video as other on other.id = similar_id.id
                     where other.category_id <> video.category_id
                       and not other.speaker_ids && video.speaker_ids
                     order by ordinal) as ids,
               coalesce(similar_talk.revision = video.revision
                        and computed > now() - case
                                                 when computed < video.updated + interval '2 days'
                                                 then interval '1 day'
                                                 else interval '7 days'
                                               end,
                        false) as is_fresh
        from video
        left join similar_talk using (id)
        where id = ${id}::bigint`,
  )
}

/** Stores the similar records of a record, unless those of a later revision are stored. */
export function saveSimilar(db: Db, id: number, revision: number, ids: readonly number[]) {
  return execute(
    db,
    sql`insert into similar_talk (id, revision, ids)
        values (${id}::bigint, ${revision}::integer, ${ids}::bigint[])
        on conflict (id) do update
        set revision = excluded.revision, ids = excluded.ids, computed = excluded.computed
        where similar_talk.revision <= excluded.revision`,
  )
}

/**
 * Selects the words of title, tags and texts with their value for the subject. A word of the title
 * that occurs in neither tags nor texts is often part of an idiom ("for fun and profit") and counts
 * half, unless the texts are too short to tell. Repetitions in a long text count less. A name
 * of a speaker does not count, and neither does that of the event, unless the texts have it too.
 */
const wordValues = sql`
          select lexeme, bool_or(in_head) as in_head,
                 bool_or(in_title)::integer
                   * (case when bool_or(in_tags) or sum(repeated) > 0 or length(text) < 15 then 3
                           when bool_or(in_event) then 0
                           else 1.5 end)
                   + bool_or(in_tags)::integer * 2
                   + 3.3 * sum(repeated) / (sum(repeated) + 0.6 + 0.01 * length(text)) as value
          from (select lexeme, weights && '{A,C}' as in_head, 'A' = any (weights) as in_title,
                       'B' = any (weights) as in_names, 'C' = any (weights) as in_tags,
                       'D' = any (weights) as in_event, 0 as repeated
                from unnest(head)
                union all
                select lexeme, false, false, false, false, false, cardinality(positions)
                from unnest(text)) as field
          where lexeme !~ '^([0-9]+|.)$'
          group by lexeme
          having bool_or(in_head or repeated > 0) and not bool_or(in_names)`

const RecordWord = Type.Object({
  lexeme: Type.String(),
  /** Whether the title or a tag has the word. */
  in_head: Type.Boolean(),
  value: Type.Number(),
  /** The share of the talks that have the word, in the archive or in the language of the talk. */
  share: Type.Number(),
})
export type RecordWord = Static<typeof RecordWord>

/**
 * Lists the words of a record that other talks have. A word that is common among the talks of the
 * language is common, however few these are. While no word has been counted yet, all are equal.
 */
export function findRecordWords(db: Db, id: number, recorded: string | null) {
  return many(
    db,
    RecordWord,
    sql`with source as (
          select head, text, language_id
          from video_search
          where id = ${id}::bigint and year_key = ${yearKeyOf(recorded)}::smallint
        ), total as (
          select sum(talks) as talks,
                 coalesce(sum(talks) filter (where entity_id = language_id), 0) as in_language
          from talk_count, source
          where kind = 'language'
        ), word as (
          select lexeme, in_head, value, frequency.talks, frequency.in_language
          from source,
               lateral (${wordValues}) as word,
               lateral (select sum(talks) as talks,
                               sum(talks) filter (where language_id = source.language_id)
                                 as in_language
                        from search_lexeme
                        where search_lexeme.lexeme = word.lexeme collate "C") as frequency
        )
        select lexeme, in_head, value::float8,
               least(1, greatest(coalesce(word.talks, 1) / total.talks::float8,
                                 coalesce(word.in_language, 0)::float8 / (total.in_language + 50)))
                 as share
        from word, total
        where value > 0
          and (word.talks > 1 or not exists (select from word where talks is not null))`,
  )
}

/** Only this many of the newest candidates are ranked. */
const maxSimilarRanked = 1000

const SimilarRecord = Type.Object({ id: Type.Integer(), title: Type.String() })

/**
 * Ranks the newest records that match a query by their words, except for those of the same category
 * or speakers. Skips the partitions of future years, which are empty.
 */
export function findSimilarRecords(
  db: Db,
  id: number,
  recorded: string | null,
  match: string,
  words: readonly { readonly lexeme: string; readonly weight: number }[],
  limit: number,
) {
  const nextYear = new Date().getUTCFullYear() + 1
  return many(
    db,
    SimilarRecord,
    sql`with source as (
          select category_id, speaker_ids
          from video_search
          where id = ${id}::bigint and year_key = ${yearKeyOf(recorded)}::smallint
        ), hit as materialized (
          select id, head, text
          from video_search
          where (keys || head || text) @@ ${match}::tsquery
            and year_key >= ${3000 - nextYear}::smallint
            and id <> ${id}::bigint
            and category_id <> (select category_id from source)
            and not speaker_ids && (select speaker_ids from source)
          limit ${maxSimilarRanked}
        ), ranked as (
          select id, sum(weight * value)
                     * case when count(*) filter (where value > 0) > 1 then 1 else 0.5 end as score
          from hit,
               lateral (${wordValues}) as word
          join unnest(${words.map(({ lexeme }) => lexeme)}::text[],
                      ${words.map(({ weight }) => weight)}::float8[])
                 as searched (lexeme, weight) using (lexeme)
          group by id
          order by score desc, id desc
          limit ${limit}::integer
        )
        select id, fold(title) as title
        from ranked
        join live_video using (id)
        order by score desc, id desc`,
  )
}

/** Without words and filters by entity there is nothing to search the index for. */
function matches(match: string | undefined, filter: SearchFilter): Sql {
  const tsquery = withFilterKeys(match, filter)
  return tsquery === '' ? sql`true` : sql`(keys || head || text) @@ ${tsquery}::tsquery`
}

/**
 * Adds the filters by entity and duration to a tsquery, as the lexemes of the column `keys`. As one
 * parameter the statement stays the same for every combination of filters, so that its plan does.
 */
function withFilterKeys(
  match: string | undefined,
  { category, language, speaker, tag, duration }: SearchFilter,
): string {
  const keys = Object.entries({ category, language, speaker, tag, duration }).flatMap(
    ([kind, id]) => (id === undefined ? [] : [filterKey(kind, id)]),
  )
  return [...keys, ...(match === undefined ? [] : [`(${match})`])].join(' & ')
}

function andInRange(filter: SearchFilter): Sql {
  const { years, recordedAfter, recordedBefore, updatedSince, sourceUrl } = filter
  const firstYearKey = recordedBefore === undefined ? -32_768 : yearKeyOf(recordedBefore)
  const lastYearKey = recordedAfter === undefined ? 32_767 : yearKeyOf(recordedAfter)
  const isInYears =
    years === undefined
      ? empty
      : sql`
    and year_key = any (${years.map((year) => 3000 - year)}::smallint[])`
  const isUpdatedSince =
    updatedSince === undefined
      ? empty
      : sql`
    and exists (select
                from video_body
                where video_body.id = video_search.id and updated >= ${updatedSince}::timestamptz)`
  const isFromSource =
    sourceUrl === undefined
      ? empty
      : sql`
    and exists (select
                from video
                where video.id = video_search.id and source_url = ${sourceUrl}::text)`
  return sql`
    and year_key between ${firstYearKey}::smallint and ${lastYearKey}::smallint
    and coalesce(recorded >= ${recordedAfter}::date, ${recordedAfter}::date is null)
    and coalesce(recorded <= ${recordedBefore}::date, ${recordedBefore}::date is null)
    ${isInYears} ${isUpdatedSince} ${isFromSource}`
}

/** Computes year_key_of() of the database: partitions are ordered from the newest year on. */
const yearKeyOf = (day: string | null) => (day === null ? 32_767 : 3000 - Number(day.slice(0, 4)))

/** Lists the next live records by id, for walking over all of them. */
export function listLiveIds(db: Db, after: number, limit: number) {
  return many(
    db,
    Id,
    sql`select id
        from live_video
        where id > ${after}::bigint
        order by id
        limit ${limit}::integer`,
  )
}

const Word = Type.Object({ word: Type.String() })

/** Returns the words of these records, and adds those that are missing to the known words. */
export async function refreshSearchWords(db: Db, ids: readonly number[]): Promise<string[]> {
  await execute(db, sql`select add_search_words(${ids}::bigint[])`)
  const rows = await many(db, Word, sql`select word from search_words_of(${ids}::bigint[])`)
  return rows.map(({ word }) => word)
}

/** Lists the next known words in alphabetical order, for walking over all of them. */
export async function listSearchWords(db: Db, after: string, limit: number): Promise<string[]> {
  const rows = await many(
    db,
    Word,
    sql`select word
        from search_word
        where word > ${after}::text collate "C"
        order by word
        limit ${limit}::integer`,
  )
  return rows.map(({ word }) => word)
}

/** Deletes known words. */
export function deleteSearchWords(db: Db, words: readonly string[]) {
  return execute(db, sql`delete from search_word where word = any (${words}::text[])`)
}

/** Deletes those of the words that the title and the names of no live talk have. */
export function forgetWords(db: Db, words: readonly string[]) {
  return execute(
    db,
    sql`delete from search_word
        where word = any (${words}::text[])
          and not exists (
            select from video_search
            where keys || head
                  @@ (plainto_tsquery('simple', word) || plainto_tsquery('english', word)))`,
  )
}

const LexemeCount = Type.Object({
  lexeme: Type.String(),
  language_id: Type.Integer(),
  talks: Type.Integer(),
})
export type LexemeCount = Static<typeof LexemeCount>

const LexemeOrTotal = Type.Object({
  ...LexemeCount.properties,
  lexeme: Type.Union([Type.String(), Type.Null()]),
})

/** Finds the known number of talks of each lexeme by language, and without lexeme of all talks. */
export function findLexemeCounts(db: Db, lexemes: readonly string[]) {
  return many(
    db,
    LexemeOrTotal,
    sql`select lexeme, language_id, talks
        from search_lexeme
        where lexeme = any (${lexemes}::text[])
        union all
        select null, entity_id::integer, sum(talks)::integer
        from talk_count
        where kind = 'language'
        group by entity_id
        having sum(talks) > 0`,
  )
}

const TalkCount = Type.Object({ talks: Type.Integer() })

/** Reads the number of live talks. */
export async function readTalkCount(db: Db): Promise<number> {
  const row = await one(
    db,
    TalkCount,
    sql`select coalesce(sum(talks), 0)::integer as talks from talk_count where kind = 'language'`,
  )
  return row.talks
}

/** Counts in how many of these records each lexeme is, by language. */
export function countLexemes(db: Db, ids: readonly number[]) {
  return many(
    db,
    LexemeCount,
    sql`select lexeme, search.language_id, count(*)::integer as talks
        from live_video as video
        join video_search as search
          on search.id = video.id and year_key = year_key_of(video.recorded),
        unnest(tsvector_to_array(head || text)) as lexeme
        where video.id = any (${ids}::bigint[])
        group by 1, 2`,
  )
}

/** Lists the next known numbers of talks by lexeme and language, for walking over all of them. */
export function listLexemeCounts(db: Db, after: LexemeCount | undefined, limit: number) {
  return many(
    db,
    LexemeCount,
    sql`select lexeme, language_id, talks
        from search_lexeme
        where (lexeme, language_id)
              > (${after?.lexeme ?? ''}::text collate "C", ${after?.language_id ?? 0}::integer)
        order by lexeme, language_id
        limit ${limit}::integer`,
  )
}

/** Writes how many talks have each lexeme. Leaves rows alone that are right. */
export function saveLexemeCounts(db: Db, rows: readonly LexemeCount[]) {
  return execute(
    db,
    sql`insert into search_lexeme (lexeme, language_id, talks)
        select lexeme, language_id, talks
        from json_to_recordset(${JSON.stringify(rows)}::json)
             as input (lexeme text, language_id integer, talks integer)
        order by lexeme collate "C", language_id
        on conflict (lexeme, language_id) do update set talks = excluded.talks
        where search_lexeme.talks <> excluded.talks`,
  )
}

/** Deletes the numbers of talks of lexemes. */
export function deleteLexemeCounts(db: Db, rows: readonly LexemeCount[]) {
  return execute(
    db,
    sql`delete from search_lexeme
        where (lexeme, language_id) in (
          select lexeme, language_id
          from json_to_recordset(${JSON.stringify(rows)}::json)
               as input (lexeme text, language_id integer)
        )`,
  )
}

const SynonymTerm = Type.Object({
  term: Type.String(),
  group_id: Type.Integer(),
  position: Type.Integer(),
})
type SynonymTerm = Static<typeof SynonymTerm>

/** Lists all synonyms by group. */
export function listSynonyms(db: Db) {
  return many(
    db,
    SynonymTerm,
    sql`select term, group_id, position from synonym order by group_id, position`,
  )
}

/** Locks the synonyms against other writers. Searches go on. */
export function lockSynonyms(tx: Db) {
  return execute(tx, sql`lock table synonym in share row exclusive mode`)
}

const SynonymKey = Type.Object({ key: Type.Union([Type.String(), Type.Null()]) })

/** Returns the keys by which terms are compared, in their order; null for one without words. */
export function findSynonymKeys(db: Db, terms: readonly SynonymTerm[]) {
  return many(
    db,
    SynonymKey,
    sql`select synonym_key(term) as key
        from unnest(${terms.map(({ term }) => term)}::text[]) with ordinality as terms (term, index)
        order by index`,
  )
}

/** Deletes all synonyms. */
export function deleteSynonyms(tx: Db) {
  return execute(tx, sql`delete from synonym`)
}

/** Adds synonyms. */
export function insertSynonyms(tx: Db, terms: readonly SynonymTerm[]) {
  return execute(
    tx,
    sql`insert into synonym (key, term, group_id, position)
        select synonym_key(term), term, group_id, position
        from json_to_recordset(${JSON.stringify(terms)}::json)
             as input (term text, group_id integer, position integer)`,
  )
}
