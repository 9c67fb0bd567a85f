import sql, { empty, join, raw, type Sql } from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import { type Db, execute, many, one } from '../platform/db/db.ts'
import type { Tsquery } from './tsquery.ts'

/** What a search is narrowed by: ids in the place of names. */
export interface SearchFilter {
  readonly category?: number | undefined
  readonly speaker?: number | undefined
  readonly tag?: number | undefined
  readonly language?: number | undefined
  readonly recordedAfter?: string | undefined
  readonly recordedBefore?: string | undefined
  /** The number of a step of lengths. */
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

/**
 * What the dictionaries make of a word, each for its languages; only of languages that there are
 * talks in.
 */
function stemsOf(word: Sql): Sql {
  return sql`(select coalesce(jsonb_agg(stem), '[]')
              from (select lexeme, jsonb_agg(used.id order by used.id) as languages from used, unnest(to_tsvector(used.dictionary::regconfig, ${word}))
                    group by lexeme) as stem)`
}
const used = sql`used as (
  select id, dictionary from language
  where id in (select entity_id from talk_count where kind = 'language' group by entity_id having sum(talks) > 0))`

/** The words of each text. A word is a stop word where some dictionary leaves it out. */
export function findWords(db: Db, texts: readonly string[]) {
  return many(
    db,
    WordRow,
    sql`with ${used}
        select term.place::integer as term, word, ${stemsOf(sql`word`)} as stems,
               exists (select from used where to_tsvector(dictionary::regconfig, word) = '') as is_stop
        from unnest(${texts}::text[]) with ordinality as term (text, place),
             regexp_split_to_table(normalized_words(term.text), ' +') with ordinality as words (word, place)
        where word <> ''
        order by term.place, words.place`,
  )
}

const Hit = Type.Object({ id: Type.Integer(), score: Type.Number(), found: Type.Integer() })
export type Hit = Static<typeof Hit>

/** How many of the newest that match are put in order. */
export const maxRanked = 1000

// Ranks in the order of title, speakers, tags and category, and of summary and description. The
// sums of the two never meet: what has all words in its head comes before what has some of them in
// its text only.

/**
 * All words in title, speakers, tags and category. Slices are visited from the newest on, and the
 * limit ends the visit.
 */
export function findInHead(
  db: Db,
  it: Tsquery & { match: string },
  filter: SearchFilter,
  limit: number,
) {
  return many(
    db,
    Hit,
    sql`select id, score, found
        from (select id, 10 + ts_rank('{0.15, 0.3, 0.6, 1}', head, ${it.rank}::tsquery, 1)
                       + case when head @@ ${it.near ?? null}::tsquery
                              then 0.4 + ${it.nearWords}::real / greatest(${it.nearWords}::integer, length(ts_filter(head, '{a}'))) else 0 end as score,
                     count(*) over ()::integer as found
              from (select id, head from video_search where (keys || head) @@ ${narrowed(it.wanted, filter)} ${spared(it)} limit ${maxRanked}) as hit) as ranked
        order by score desc, id desc
        limit ${limit}::integer`,
  )
}

/** What must not be there must not be in the text either. */
function spared({
  hasExclusions,
  match,
}: {
  readonly hasExclusions: boolean
  readonly match: string
}): Sql {
  return hasExclusions ? sql`and (keys || head || text) @@ ${match}::tsquery` : empty
}

/** The others: some of the words are in summary and description. */
export function findInText(
  db: Db,
  it: Tsquery & { match: string },
  filter: SearchFilter,
  limit: number,
) {
  return many(
    db,
    Hit,
    sql`select id, score, found
        from (select id, 5 * ts_rank('{0.15, 0.3, 0.6, 1}', head, ${it.rank}::tsquery, 1) + ts_rank('{0, 0, 0.5, 1}', text, ${it.rank}::tsquery, 1) as score,
                     count(*) over ()::integer as found
              from (select id, head, text from video_search
                    where (keys || head || text) @@ ${narrowed(it.match, filter)} and not (keys || head) @@ ${it.wanted}::tsquery limit ${maxRanked}) as hit) as ranked
        order by score desc, id desc
        limit ${limit}::integer`,
  )
}

const Count = Type.Object({ count: Type.Integer() })

export async function countMatches(
  db: Db,
  match: string,
  filter: SearchFilter,
  limit: number,
): Promise<number> {
  const row = await one(
    db,
    Count,
    sql`select count(*) from (select from video_search where (keys || head || text) @@ ${narrowed(match, filter)} limit ${limit}::integer) as counted`,
  )
  return row.count
}

const Counted = Type.Object({ count: Type.Integer(), expected: Type.Number() })

/**
 * How many match, counted up to a number; and how many there will be in all, if they are as
 * frequent in the rest of the archive as in the part that was looked at. A slice is looked at from
 * its first page to the one of the last match.
 */
export function estimateMatches(db: Db, match: string, filter: SearchFilter, limit: number) {
  return one(
    db,
    Counted,
    sql`with counted as (
          select tableoid, (ctid::text::point)[0] as page from video_search where (keys || head || text) @@ ${narrowed(match, filter)} limit ${limit}::integer
        ), part as (
          select sum(found) as found, sum(reltuples * least(1, (page + 1) / greatest(relpages, 1))) as rows
          from (select tableoid as oid, count(*) as found, max(page) as page from counted group by tableoid) as slice join pg_class using (oid)
        )
        select coalesce(found, 0)::integer as count,
               coalesce(found * greatest(1, (select sum(reltuples) from pg_class join pg_inherits on inhrelid = oid
                                             where inhparent = 'video_search'::regclass) / nullif(greatest(rows, 1), 0)), 0)::float8 as expected
        from part`,
  )
}

const Id = Type.Object({ id: Type.Integer() })

export function newestMatches(db: Db, match: string, filter: SearchFilter, limit: number) {
  return many(
    db,
    Id,
    sql`select id from video_search where (keys || head || text) @@ ${narrowed(match, filter)} limit ${limit}::integer`,
  )
}

const LikeWord = Type.Object({ word: Type.String(), similarity: Type.Number(), stems: Stems })

/** Known words that look like this one. */
export function findSimilarWords(db: Db, word: string) {
  return many(
    db,
    LikeWord,
    sql`with ${used}, near as (
          select word, similarity(word, ${word}) as similarity from search_word
          where word % ${word} and length(word) between ${word.length - 3}::integer and ${word.length + 3}::integer
          order by similarity desc, word limit 30
        )
        select word, similarity, ${stemsOf(sql`word`)} as stems from near order by similarity desc, word`,
  )
}

const FacetRow = Type.Object({
  kind: Type.String(),
  value: Type.String(),
  name: Type.String(),
  talks: Type.Integer(),
  seen: Type.Integer(),
})

/**
 * How often each category, language, year, speaker, tag and length is among the newest that match:
 * the commonest of each.
 */
export function countFacets(
  db: Db,
  match: string | undefined,
  filter: SearchFilter,
  limit: number,
  each: number,
) {
  return many(
    db,
    FacetRow,
    sql`with hit as materialized (
          select year_key, category_id, language_id, speaker_ids, tag_ids, length from video_search where ${matching(match, filter)} limit ${limit}::integer
        ), counted as (
          select 'category' as kind, category_id as entity, count(*) as talks from hit group by 2
          union all select 'language', language_id, count(*) from hit group by 2
          union all select 'year', 3000 - year_key, count(*) from hit where year_key < 32767 group by 2
          union all select 'speaker', unnest(speaker_ids), count(*) from hit group by 2
          union all select 'tag', unnest(tag_ids), count(*) from hit group by 2
          union all select 'duration', length, count(*) from hit group by 2
        ), first as (
          select kind, entity, talks, row_number() over (partition by kind order by talks desc, entity desc) as place from counted
        )
        select kind, coalesce(category.slug, language.slug, speaker.slug, tag.slug, entity::text) as value,
               coalesce(category.title, language.name, speaker.name, tag.name, entity::text) as name, talks::integer,
               (select count(*) from hit)::integer as seen
        from first
        left join category on kind = 'category' and category.id = entity
        left join language on kind = 'language' and language.id = entity
        left join speaker on kind = 'speaker' and speaker.id = entity
        left join tag on kind = 'tag' and tag.id = entity
        where place <= ${each}::integer
        order by kind, place`,
  )
}

const Suggested = Type.Object({
  kind: Type.String(),
  name: Type.String(),
  slug: Type.String(),
  talks: Type.Integer(),
})

/**
 * Speakers, categories and tags of which a word begins so; those with the most talks first. `begin`
 * has no signs of LIKE in it.
 */
export function findNamesByPrefix(db: Db, begin: string, each: number) {
  const one = (kind: string, name: string) => {
    const folded = sql`fold(${raw(name)})`
    return sql`(select ${kind}::text as kind, name, slug, talks
                from (select ${raw(name)} as name, slug, counted.talks
                      from ${raw(kind)} as entity,
                           lateral (select sum(talks)::integer as talks from talk_count where kind = ${kind}::text and entity_id = entity.id) as counted
                      where (${folded} like fold(${begin}) || '%' or ${folded} like '% ' || fold(${begin}) || '%') and counted.talks > 0
                      -- Names of drafts do not count: however many there are, they leave room for the others.
                      limit 200) as found
                order by talks desc, name limit ${each}::integer)`
  }
  return many(
    db,
    Suggested,
    sql`${one('speaker', 'name')} union all ${one('category', 'title')} union all ${one('tag', 'name')}`,
  )
}

const Titled = Type.Object({ id: Type.Integer(), title: Type.String(), slug: Type.String() })

export function findTitlesByPrefix(db: Db, begin: string, limit: number) {
  return many(
    db,
    Titled,
    sql`select id, title, slug from video
        where state = 1 and taken_down is null and fold(title) collate "C" >= fold(${begin}) and fold(title) collate "C" < fold(${begin}) || chr(1114111)
        order by fold(title) collate "C" limit ${limit}::integer`,
  )
}

export function findTitles(db: Db, ids: readonly number[]) {
  return many(
    db,
    Titled,
    sql`select id, title, slug from video
        where id = any (${ids}::bigint[]) and state = 1 and taken_down is null`,
  )
}

/**
 * As many words of a record are looked for in others, and as many of those are put in order: each
 * word is looked up in each slice.
 */
const maxWords = 8
const maxAlike = 500

const Lexeme = Type.Object({ lexeme: Type.String() })

/**
 * Those of title and tags: first what both have, then the title from its beginning. Numbers and
 * single letters tell nothing.
 */
export function findRecordWords(db: Db, id: number, recorded: string | null) {
  return many(
    db,
    Lexeme,
    sql`select lexeme from video_search, unnest(ts_filter(head, '{a,c}')) as word
        where id = ${id}::bigint and year_key = ${recorded === null ? 32_767 : yearKeyOf(recorded)}::smallint and lexeme !~ '^([0-9]+|.)$'
        order by weights @> '{A,C}' desc, 'A' = any (weights) desc, positions[1], lexeme
        limit ${maxWords}`,
  )
}

const Alike = Type.Object({ id: Type.Integer() })

/**
 * The newest that match, those with the rarest of the words first: how rare one is, is seen among
 * them. Slices for years to come are empty, and are passed over.
 */
export function findSimilarRecords(
  db: Db,
  words: readonly string[],
  match: string,
  except: number,
  limit: number,
) {
  const nextYear = new Date().getUTCFullYear() + 1
  const places = Array.from({ length: maxWords }, (_, index) => index)
  const has = (place: number) => raw(`has${place}`)
  // Of the same shape for few words as for many, so that it is planned once.
  const columns = join(
    places.map(
      (place) =>
        sql`coalesce(head @@ ${words[place] ?? null}::tsquery, false)::integer as ${has(place)}`,
    ),
  )
  const score = join(
    places.map(
      (place) =>
        sql`${has(place)} * ln(1 + (count(*) over ())::real / greatest(sum(${has(place)}) over (), 1))`,
    ),
    ' + ',
  )
  return many(
    db,
    Alike,
    sql`select id from (select id, ${score} as score
                        from (select id, ${columns} from video_search
                              where (keys || head) @@ ${match}::tsquery and year_key >= ${3000 - nextYear}::smallint and id <> ${except}::bigint
                              limit ${maxAlike}) as hit) as ranked
        order by score desc, id desc
        limit ${limit}::integer`,
  )
}

/**
 * The words and the filter, in one: of the same shape whatever is asked for, so that it is planned
 * once.
 */
function narrowed(match: string, filter: SearchFilter): Sql {
  return sql`${withKeys(match, filter)}::tsquery ${within(filter)}`
}

/** Where nobody looks for words there may be nothing to ask the index for. */
function matching(match: string | undefined, filter: SearchFilter): Sql {
  const keys = withKeys(match, filter)
  return keys === ''
    ? sql`true ${within(filter)}`
    : sql`(keys || head || text) @@ ${keys}::tsquery ${within(filter)}`
}

function withKeys(
  match: string | undefined,
  { category, language, speaker, tag, duration }: SearchFilter,
): string {
  const keys = Object.entries({ category, language, speaker, tag, duration }).flatMap(
    ([name, id]) => (id === undefined ? [] : [`'${name}:${id}'`]),
  )
  return [...keys, ...(match === undefined ? [] : [`(${match})`])].join(' & ')
}

function within({ recordedAfter, recordedBefore, updatedSince, sourceUrl }: SearchFilter): Sql {
  const days = sql`
    and year_key between ${recordedBefore === undefined ? -32_768 : yearKeyOf(recordedBefore)}::smallint and ${recordedAfter === undefined ? 32_767 : yearKeyOf(recordedAfter)}::smallint
    and coalesce(recorded >= ${recordedAfter}::date, ${recordedAfter}::date is null)
    and coalesce(recorded <= ${recordedBefore}::date, ${recordedBefore}::date is null)`
  const changed =
    updatedSince === undefined
      ? empty
      : sql`
    and exists (select from video_body where video_body.id = video_search.id and updated >= ${updatedSince}::timestamptz)`
  const source =
    sourceUrl === undefined
      ? empty
      : sql`
    and exists (select from video where video.id = video_search.id and source_url = ${sourceUrl}::text)`
  return sql`${days} ${changed} ${source}`
}

/** As year_key_of() in the database: slices count from the newest year on. */
const yearKeyOf = (day: string) => 3000 - Number(day.slice(0, 4))

/** Returns live records in the order of their ids, for walking over all of them. */
export function listLiveIds(db: Db, after: number, limit: number) {
  return many(
    db,
    Id,
    sql`select id from video where id > ${after}::bigint and state = 1 and taken_down is null
        order by id limit ${limit}::integer`,
  )
}

const Word = Type.Object({ word: Type.String() })

/** Returns the words of these records, and adds those that are missing among the known ones. */
export async function refreshSearchWords(db: Db, ids: readonly number[]): Promise<string[]> {
  await execute(db, sql`select add_search_words(${ids}::bigint[])`)
  const rows = await many(db, Word, sql`select word from search_words_of(${ids}::bigint[])`)
  return rows.map(({ word }) => word)
}

export async function listSearchWords(db: Db, after: string, limit: number): Promise<string[]> {
  const rows = await many(
    db,
    Word,
    sql`select word from search_word where word > ${after}::text collate "C" order by word limit ${limit}::integer`,
  )
  return rows.map(({ word }) => word)
}

export function deleteSearchWords(db: Db, words: readonly string[]) {
  return execute(db, sql`delete from search_word where word = any (${words}::text[])`)
}
