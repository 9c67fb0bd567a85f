-- The search index: one row of words for each live record, written by server/search/triggers.sql in
-- the transaction that writes the record. docs/decisions/0016-search.md explains the design.

-- Chinese, Japanese, Korean, Thai and related scripts write words without spaces, or with endings
-- that no available dictionary stems.
create function unspaced_scripts() returns text language sql immutable parallel safe
  return U&'\0e00-\0eff\1000-\109f\1780-\17ff\3040-\30ff\3400-\4dbf\4e00-\9fff'
           '\ac00-\d7af\f900-\faff';

-- Splits text in these scripts into overlapping pairs of characters, so that any two adjacent
-- characters can be found as a word. The last character stands alone.
create function character_bigrams(text) returns text language sql immutable strict parallel safe
begin atomic
  select string_agg(
    case
      when run.match[1] ~ ('[' || unspaced_scripts() || ']') then (
        select string_agg(pair.letter || pair.following, ' ' order by pair.index)
        from (
          select letter, index, coalesce(lead(letter) over (order by index), '') as following
          from unnest(string_to_array(run.match[1], null))
               with ordinality as letters (letter, index)
        ) as pair
      )
      else run.match[1]
    end,
    ' ' order by run.index)
  from regexp_matches(
    $1,
    '([' || unspaced_scripts() || ']+|[^' || unspaced_scripts() || ']+)',
    'g'
  ) with ordinality as run (match, index);
end;

-- Returns a text as words separated by spaces: without case, accents and punctuation, full-width
-- letters as normal ones. PostgreSQL's parser then sees no hyphens, URLs or file names.
--
-- Returns at most `max_length` characters: a tsvector holds less than 1 MB (2^20 bytes), and the
-- index takes keys, head and text of a record as one. A word of n characters takes at most 4n + 4
-- bytes of it and n + 1 characters here, including the space, so that a text takes at most 4 bytes
-- per character. The lengths in the view `search_source` add up to less than 1 MB; they exceed what
-- a record may contain in scripts with spaces, and cover a third of it in pairs of characters.
create function normalized_words(text, max_length integer default 150000) returns text
  language plpgsql immutable strict parallel safe set search_path from current as $$
declare
  plain text := $1;
begin
  -- Normalization can turn one character into eighteen: limit the length before the slow steps too.
  if octet_length(plain) > length(plain) then
    plain := unaccent('unaccent', left(normalize(plain, nfkc), 2 * max_length));
  end if;
  plain := replace(replace(lower(plain), 'c++', 'cplusplus'), 'c#', 'csharp');
  plain := left(
    regexp_replace(
      plain,
      U&'[\0001-\002f\003a-\0060\007b-\00bf\0300-\036f\2000-\206f\20a0-\20cf\2100-\2bff'
      '\2e00-\2e7f\3000-\303f\30fb\fe00-\fe6f\ff5f-\ff65\+01f000-\+01faff]+',
      ' ', 'g'),
    max_length);
  if plain ~ ('[' || unspaced_scripts() || ']') then
    return left(character_bigrams(plain), max_length);
  end if;
  return plain;
end $$;

-- The partition key. The index is partitioned by the year of the recording, and PostgreSQL scans
-- partitions in the order of this key: newest year first, talks without a day last. The first
-- thousand matches of a common word are found in the first partitions; a rare word costs one index
-- lookup in each.
create function year_key_of(recorded date) returns smallint language sql immutable parallel safe
  return coalesce(3000 - extract(year from $1), 32767)::smallint;

-- The ranges of the filter by duration.
create function duration_range_of(duration integer) returns smallint
  language sql immutable parallel safe
  return case
    when $1 is null or $1 = 0 then 0
    when $1 < 600 then 1
    when $1 < 1800 then 2
    when $1 < 3600 then 3
    else 4
  end::smallint;

create table video_search (
  id          bigint   not null references video,
  year_key    smallint not null,
  recorded    date,
  category_id bigint   not null,
  language_id integer  not null,
  speaker_ids bigint[] not null,
  tag_ids     bigint[] not null,
  length      smallint not null,  -- duration_range_of
  keys        tsvector not null,  -- filters, as words that no text contains
  head        tsvector not null,  -- A title, B speakers, C tags, D category
  text        tsvector not null,  -- A summary, B description
  primary key (id, year_key)
) partition by range (year_key);

-- Most searches and all counts read only the heads: the words of the texts are stored out of line,
-- so that a page holds many rows.
alter table video_search
  alter column text set storage external,
  alter column head set storage main;

do $$
begin
  create table video_search_later partition of video_search
    for values from (minvalue) to (3000 - 2045) with (toast_tuple_target = 1024);
  for year in reverse 2045..2005 loop
    execute format(
      'create table video_search_%s partition of video_search
         for values from (%s) to (%s) with (toast_tuple_target = 1024)',
      year, 3000 - year, 3001 - year);
  end loop;
  create table video_search_earlier partition of video_search
    default with (toast_tuple_target = 1024);
end $$;

create procedure create_search_indexes() language plpgsql set search_path from current as $$
begin
  create index video_search_head on video_search
    using gin ((keys || head)) with (fastupdate = off);
  create index video_search_all on video_search
    using gin ((keys || head || text)) with (fastupdate = off);
end $$;
call create_search_indexes();

-- The words of titles, speakers, tags and categories of live talks, for spelling suggestions. A
-- word may outlive its last talk until the next maintenance; a suggestion is made only if a live
-- talk contains it.
create table search_word (
  word text collate "C" primary key
);
create index search_word_trigrams on search_word using gin (word gin_trgm_ops)
  with (fastupdate = off);
