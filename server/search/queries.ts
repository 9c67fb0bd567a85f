import sql, { empty, join, raw, type Sql } from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import { type Db, execute, many, one } from '../platform/db/db.ts'
import type { Tsquery } from './tsquery.ts'

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
  term: Type.Integer(),
  word: Type.String(),
  stems: Stems,
  is_stop: Type.Boolean(),
})

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
                      from used, unnest(to_tsvector(used.dictionary::regconfig, ${word}))
                      group by lexeme) as stem)`
}

/**
 * Splits each text into its normalized words. A word is a stop word if the dictionary of any used
 * language drops it.
 */
export function findWords(db: Db, texts: readonly string[]) {
  return many(
    db,
    WordRow,
    sql`with ${usedLanguages}
        select term.ordinal::integer as term, word,
               ${stemsOf(sql`word`)} as stems,
               exists (select
                       from used
                       where to_tsvector(dictionary::regconfig, word) = '') as is_stop
        from unnest(${texts}::text[]) with ordinality as term (text, ordinal),
             regexp_split_to_table(normalized_words(term.text), ' +')
               with ordinality as words (word, ordinal)
        where word <> ''
        order by term.ordinal, words.ordinal`,
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
 * Ranks the newest records with all words in title, speakers, tags and category. Partitions are
 * scanned from the newest year on until the limit is reached.
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
                           then 0.4 + ${nearWords}::real
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

const Count = Type.Object({ count: Type.Integer() })

/** Counts the matches of a query, up to a limit. */
export async function countMatches(
  db: Db,
  match: string,
  filter: SearchFilter,
  limit: number,
): Promise<number> {
  const row = await one(
    db,
    Count,
    sql`select count(*)
        from (select
              from video_search
              where (keys || head || text) @@ ${withFilterKeys(match, filter)}::tsquery
                ${andInRange(filter)}
              limit ${limit}::integer) as counted`,
  )
  return row.count
}

const CountEstimate = Type.Object({ count: Type.Integer(), expected: Type.Number() })

/**
 * Counts matches up to a limit, and extrapolates to the whole archive from the share of it that was
 * scanned: each partition from its first page to that of its last match.
 */
export function estimateMatches(db: Db, match: string, filter: SearchFilter, limit: number) {
  return one(
    db,
    CountEstimate,
    sql`with counted as (
          select tableoid, (ctid::text::point)[0] as page
          from video_search
          where (keys || head || text) @@ ${withFilterKeys(match, filter)}::tsquery
            ${andInRange(filter)}
          limit ${limit}::integer
        ), scanned as (
          select sum(matches) as matches,
                 sum(reltuples * least(1, (page + 1) / greatest(relpages, 1))) as rows
          from (select tableoid as oid, count(*) as matches, max(page) as page
                from counted
                group by tableoid) as part
          join pg_class using (oid)
        ), archive as (
          select sum(reltuples) as rows
          from pg_class
          join pg_inherits on inhrelid = oid
          where inhparent = 'video_search'::regclass
        )
        select coalesce(matches, 0)::integer as count,
               coalesce(matches * greatest(1, archive.rows
                                              / nullif(greatest(scanned.rows, 1), 0)),
                        0)::float8 as expected
        from scanned, archive`,
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

/** Finds known words with a similar spelling, the most similar first. */
export function findSimilarWords(db: Db, word: string) {
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
        )
        select word, similarity,
               ${stemsOf(sql`word`)} as stems
        from near
        order by similarity desc, word`,
  )
}

const FacetRow = Type.Object({
  kind: Type.String(),
  value: Type.String(),
  name: Type.String(),
  talks: Type.Integer(),
  scanned: Type.Integer(),
})

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
  return many(
    db,
    FacetRow,
    sql`with hit as materialized (
          select year_key, category_id, language_id, speaker_ids, tag_ids, length
          from video_search
          where ${matches(match, filter)}
            ${andInRange(filter)}
          limit ${limit}::integer
        ), counted as (
          select 'category' as kind, category_id as entity, count(*) as talks from hit group by 2
          union all
          select 'language', language_id, count(*) from hit group by 2
          union all
          select 'year', 3000 - year_key, count(*) from hit where year_key < 32767 group by 2
          union all
          select 'speaker', unnest(speaker_ids), count(*) from hit group by 2
          union all
          select 'tag', unnest(tag_ids), count(*) from hit group by 2
          union all
          select 'duration', length, count(*) from hit group by 2
        ), ranked as (
          select kind, entity, talks,
                 row_number() over (partition by kind order by talks desc, entity desc) as ordinal
          from counted
        )
        select kind,
               coalesce(category.slug, language.slug, speaker.slug, tag.slug,
                        entity::text) as value,
               coalesce(category.title, language.name, speaker.name, tag.name,
                        entity::text) as name,
               talks::integer,
               (select count(*) from hit)::integer as scanned
        from ranked
        left join category on kind = 'category' and category.id = entity
        left join language on kind = 'language' and language.id = entity
        left join speaker on kind = 'speaker' and speaker.id = entity
        left join tag on kind = 'tag' and tag.id = entity
        where ordinal <= ${maxValues}::integer
        order by kind, ordinal`,
  )
}

const YearCount = Type.Object({
  year: Type.String(),
  talks: Type.Integer(),
  scanned: Type.Integer(),
})

/** Counts the years of the newest matches, up to a limit. The most frequent come first. */
export function countYears(
  db: Db,
  match: string | undefined,
  filter: SearchFilter,
  limit: number,
  maxValues: number,
) {
  return many(
    db,
    YearCount,
    sql`with hit as materialized (
          select year_key
          from video_search
          where ${matches(match, filter)}
            ${andInRange(filter)}
          limit ${limit}::integer
        )
        select (3000 - year_key)::text as year, count(*)::integer as talks,
               (select count(*) from hit)::integer as scanned
        from hit
        where year_key < 32767
        group by year_key
        order by talks desc, year_key
        limit ${maxValues}::integer`,
  )
}

const Suggested = Type.Object({
  kind: Type.String(),
  name: Type.String(),
  slug: Type.String(),
  talks: Type.Integer(),
})

/**
 * Finds speakers, categories and tags by the beginnings of words of their names, in any order.
 * Those with the most talks come first. The words must not contain the wildcards of LIKE.
 */
export function findNamesByWords(db: Db, words: readonly string[], maxPerKind: number) {
  const beginsWord = (name: Sql, word: string) =>
    sql`(fold(${name}) like fold(${word}) || '%'
         or fold(${name}) like '% ' || fold(${word}) || '%'
         or fold(${name}) like '%-' || fold(${word}) || '%')`
  return findNames(
    db,
    (name) =>
      join(
        words.map((word) => beginsWord(name, word)),
        ' and ',
      ),
    () => sql`talks desc, name`,
    maxPerKind,
  )
}

/** Finds speakers, categories and tags with a part that is similar to the text; best first. */
export function findSimilarNames(db: Db, text: string, maxPerKind: number) {
  return findNames(
    db,
    (name) => sql`fold(${text}) <% fold(${name})`,
    () => sql`word_similarity(fold(${text}), fold(name)) desc, talks desc, name`,
    maxPerKind,
  )
}

/** Finds entities with live talks whose name meets a condition. */
function findNames(db: Db, condition: (name: Sql) => Sql, order: () => Sql, maxPerKind: number) {
  // Names without live talks are filtered out before the inner limit, so that names of drafts
  // cannot displace public ones.
  const namesOf = (kind: string, column: string) => {
    const name = raw(column)
    return sql`(select ${kind}::text as kind, name, slug, talks
                from (select ${name} as name, slug, counted.talks
                      from ${raw(kind)} as entity,
                           lateral (select sum(talks)::integer as talks
                                    from talk_count
                                    where kind = ${kind}::text and entity_id = entity.id) as counted
                      where ${condition(name)} and counted.talks > 0
                      limit 1000) as candidate
                order by ${order()}
                limit ${maxPerKind}::integer)`
  }
  return many(
    db,
    Suggested,
    sql`${namesOf('speaker', 'name')}
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
        where (place_and_series(profile) like '% ' || fold(${prefix}) || '%'
               or profile ->> 'country' = any (${countries}::text[]))
          and ' ' || fold(title) not like '% ' || fold(${prefix}) || '%'
          and merged_into is null
          and counted.talks > 0
        order by counted.talks desc, title
        limit ${limit}::integer`,
  )
}

const Titled = Type.Object({ id: Type.Integer(), title: Type.String(), slug: Type.String() })

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

/** Finds the titles of live talks, in no particular order. */
export function findTitles(db: Db, ids: readonly number[]) {
  return many(
    db,
    Titled,
    sql`select id, title, slug
        from live_video
        where id = any (${ids}::bigint[])`,
  )
}

/** Each word of a record is looked up in each partition, so that only the best few are used. */
const maxRecordWords = 8

/** Only this many of the newest similar records are ranked. */
const maxSimilarRanked = 500

const Lexeme = Type.Object({ lexeme: Type.String() })

/**
 * Lists the most telling words of a record: first those that are in its title and in its tags, then
 * those of the title, then those of the tags. Leaves out numbers and single characters.
 */
export function findRecordWords(db: Db, id: number, recorded: string | null) {
  const yearKey = recorded === null ? 32_767 : yearKeyOf(recorded)
  return many(
    db,
    Lexeme,
    sql`select lexeme
        from video_search, unnest(ts_filter(head, '{a,c}')) as word
        where id = ${id}::bigint
          and year_key = ${yearKey}::smallint
          and lexeme !~ '^([0-9]+|.)$'
        order by weights @> '{A,C}' desc, 'A' = any (weights) desc, positions[1], lexeme
        limit ${maxRecordWords}`,
  )
}

/**
 * Ranks the newest matches by how rare their words are among all of them. Skips the partitions of
 * future years, which are empty.
 */
export function findSimilarRecords(
  db: Db,
  words: readonly string[],
  match: string,
  exceptId: number,
  limit: number,
) {
  const nextYear = new Date().getUTCFullYear() + 1
  const hasWord = (index: number) => raw(`has${index}`)
  // Always all columns, with null for missing words, so that every call has the same plan.
  const indexes = Array.from({ length: maxRecordWords }, (_, index) => index)
  const columns = indexes.map(
    (index) => sql`
                           coalesce(head @@ ${words[index] ?? null}::tsquery, false)::integer
                             as ${hasWord(index)}`,
  )
  const weights = indexes.map(
    (index) => sql`
                     ${hasWord(index)}
                       * ln(1 + (count(*) over ())::real
                                / greatest(sum(${hasWord(index)}) over (), 1))`,
  )
  return many(
    db,
    Id,
    sql`select id
        from (select id, ${join(weights, ' + ')} as score
              from (select id, ${join(columns)}
                    from video_search
                    where (keys || head) @@ ${match}::tsquery
                      and year_key >= ${3000 - nextYear}::smallint
                      and id <> ${exceptId}::bigint
                    limit ${maxSimilarRanked}) as hit) as ranked
        order by score desc, id desc
        limit ${limit}::integer`,
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
    ([name, id]) => (id === undefined ? [] : [`'${name}:${id}'`]),
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
const yearKeyOf = (day: string) => 3000 - Number(day.slice(0, 4))

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
