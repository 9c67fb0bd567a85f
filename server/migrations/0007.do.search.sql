-- Search: one row of words for each live record. The database writes it itself, in the transaction
-- that writes the record, so it cannot be out of step. docs/decisions/0016-search.md says why it is
-- built so.

-- The dictionary that knows the word stems of a language; 'simple' knows none. A name, and not a
-- regconfig, for the sake of pg_upgrade.
alter table language add column dictionary text not null default 'simple';
update language set dictionary = known.dictionary
from (values
  ('ar', 'arabic'), ('ca', 'catalan'), ('da', 'danish'), ('de', 'german'), ('el', 'greek'), ('en', 'english'), ('es', 'spanish'),
  ('eu', 'basque'), ('fi', 'finnish'), ('fr', 'french'), ('ga', 'irish'), ('hi', 'hindi'), ('hu', 'hungarian'), ('hy', 'armenian'),
  ('id', 'indonesian'), ('it', 'italian'), ('lt', 'lithuanian'), ('nb', 'norwegian'), ('ne', 'nepali'), ('nl', 'dutch'), ('nn', 'norwegian'),
  ('no', 'norwegian'), ('pt', 'portuguese'), ('pt-BR', 'portuguese'), ('pt-PT', 'portuguese'), ('ro', 'romanian'), ('ru', 'russian'),
  ('sr', 'serbian'), ('sv', 'swedish'), ('ta', 'tamil'), ('tr', 'turkish'), ('yi', 'yiddish')) as known (code, dictionary)
where language.code = known.code;

-- Chinese, Japanese, Korean, Thai and their neighbours write words without spaces, or with endings
-- that no dictionary here knows.
create function unspaced_scripts() returns text language sql immutable parallel safe
  return U&'\0e00-\0eff\1000-\109f\1780-\17ff\3040-\30ff\3400-\4dbf\4e00-\9fff\ac00-\d7af\f900-\faff';

-- Each of their characters is kept together with the next one: any piece of two characters is then
-- a word that is found. The last stands alone.
create function character_bigrams(text) returns text language sql immutable strict parallel safe
begin atomic
  select string_agg(
    case when piece[1] ~ ('[' || unspaced_scripts() || ']')
      then (select string_agg(letter || following, ' ' order by place)
            from (select letter, coalesce(lead(letter) over (order by place), '') as following, place
                  from unnest(string_to_array(piece[1], null)) with ordinality as letters (letter, place)) as pairs)
      else piece[1] end, ' ' order by place)
  from regexp_matches($1, '([' || unspaced_scripts() || ']+|[^' || unspaced_scripts() || ']+)', 'g') with ordinality as pieces (piece, place);
end;

-- A text as words with spaces between them: no case, no accents, no punctuation, wide letters as
-- narrow ones. What PostgreSQL's parser makes of hyphens, addresses and file names is then never in
-- the way.
--
-- Returns at most `longest` characters: a tsvector holds less than 1 MB (2^20 bytes), and the index
-- takes keys, head and text of a record as one. A word of n characters takes at most 4n + 4 bytes
-- of it and n + 1 characters here, with the space behind it, so that a plain text takes at most 4
-- bytes for each character, whatever it says. The lengths in `search_source` add up to less than 1
-- MB; they are longer than a text in any script with spaces may be, and a third of a text in pairs.
create function normalized_words(text, longest integer default 150000) returns text
  language plpgsql immutable strict parallel safe set search_path from current as $$
declare
  plain text := $1;
begin
  -- One character can stand for eighteen: what comes of them is cut before the slow steps as well.
  if octet_length(plain) > length(plain) then plain := unaccent('unaccent', left(normalize(plain, nfkc), 2 * longest)); end if;
  plain := left(regexp_replace(replace(replace(lower(plain), 'c++', 'cplusplus'), 'c#', 'csharp'),
    U&'[\0001-\002f\003a-\0060\007b-\00bf\0300-\036f\2000-\206f\20a0-\20cf\2100-\2bff\2e00-\2e7f\3000-\303f\30fb\fe00-\fe6f\ff5f-\ff65\+01f000-\+01faff]+',
    ' ', 'g'), longest);
  return case when plain ~ ('[' || unspaced_scripts() || ']') then left(character_bigrams(plain), longest) else plain end;
end $$;

-- Records lie in slices by the year of their recording, and PostgreSQL visits the slices in the
-- order of this number: the newest first, and what has no day last. Whoever looks for the first
-- thousand of a common word finds them in the first slice; a rare word costs a look into each.
create function year_key_of(recorded date) returns smallint language sql immutable parallel safe
  return coalesce(3000 - extract(year from $1), 32767)::smallint;

-- In steps that people think in.
create function duration_range_of(duration integer) returns smallint language sql immutable parallel safe
  return case when $1 is null or $1 = 0 then 0 when $1 < 600 then 1 when $1 < 1800 then 2 when $1 < 3600 then 3 else 4 end::smallint;

create table video_search (
  id          bigint   not null references video,
  year_key         smallint not null,
  recorded    date,
  category_id bigint   not null,
  language_id integer  not null,
  speaker_ids bigint[] not null,
  tag_ids     bigint[] not null,
  length      smallint not null,
  keys        tsvector not null,  -- what a search can be narrowed by, as words that no text has: one index finds words and narrows
  head        tsvector not null,  -- A title, B speakers, C tags, D category
  text        tsvector not null,  -- A summary, B description
  primary key (id, year_key)
) partition by range (year_key);

-- Most searches and all counts look at the heads only: the words of the texts lie elsewhere, and a
-- page has many rows.
alter table video_search alter column text set storage external, alter column head set storage main;

do $$
begin
  create table video_search_later partition of video_search for values from (minvalue) to (3000 - 2045) with (toast_tuple_target = 1024);
  for year in reverse 2045..2005 loop
    execute format('create table video_search_%s partition of video_search for values from (%s) to (%s) with (toast_tuple_target = 1024)',
                   year, 3000 - year, 3001 - year);
  end loop;
  create table video_search_earlier partition of video_search default with (toast_tuple_target = 1024);
end $$;

-- The pending list of a GIN index would make some reader pay for the writers before.
create procedure create_search_indexes() language plpgsql set search_path from current as $$
begin
  create index video_search_head on video_search using gin ((keys || head)) with (fastupdate = off);
  create index video_search_all on video_search using gin ((keys || head || text)) with (fastupdate = off);
end $$;

call create_search_indexes();

-- What the row of a record has to be. Each name is looked up by itself: as a join, PostgreSQL would
-- read all tags for each record.
create view search_source as
select video.id, year_key_of(recorded) as year_key, recorded, category_id, language_id, speaker_ids, tag_ids, duration_range_of(duration) as length,
       array_to_tsvector(array['category:' || category_id, 'language:' || language_id, 'duration:' || duration_range_of(duration)]
         || string_to_array(nullif('speaker:' || array_to_string(speaker_ids, ' speaker:'), 'speaker:'), ' ')
         || string_to_array(nullif('tag:' || array_to_string(tag_ids, ' tag:'), 'tag:'), ' ')) as keys,
       setweight(to_tsvector(dictionary::regconfig, normalized_words(video.title, 1000)), 'A')
         || setweight(to_tsvector('simple', normalized_words(coalesce((select string_agg((select name from speaker where id = given), ' ' order by place)
              from unnest(speaker_ids) with ordinality as all_given (given, place)), ''), 40000)), 'B')
         || setweight(to_tsvector(dictionary::regconfig, normalized_words(coalesce((select string_agg((select name from tag where id = given), ' ' order by place)
              from unnest(tag_ids) with ordinality as all_given (given, place)), ''), 40000)), 'C')
         || setweight(to_tsvector(dictionary::regconfig, normalized_words(category.title, 1000)), 'D') as head,
       setweight(to_tsvector(dictionary::regconfig, normalized_words(summary, 26000)), 'A')
         || setweight(to_tsvector(dictionary::regconfig, normalized_words(video.description, 150000)), 'B') as text
from video
join category on category.id = category_id
join language on language.id = language_id
where state = 1 and taken_down is null;

-- The words of titles, speakers, tags and categories of live talks, for those who mistype one. A
-- word may outlive its last talk until the next maintenance: a suggestion is made only if a live
-- talk has it.
create table search_word (word text collate "C" primary key);
create index search_word_trigrams on search_word using gin (word gin_trgm_ops) with (fastupdate = off);

-- Of those records that are live.
create function search_words_of(ids bigint[]) returns table (word text) language sql stable
begin atomic
  select distinct said.word
  from video join category on category.id = video.category_id,
       regexp_split_to_table(normalized_words(concat_ws(' ', video.title, category.title,
         (select string_agg((select name from speaker where speaker.id = given), ' ') from unnest(video.speaker_ids) as given),
         (select string_agg((select name from tag where tag.id = given), ' ') from unnest(video.tag_ids) as given))), ' +') as said (word)
  where video.id = any (ids) and video.state = 1 and video.taken_down is null
    and said.word ~ ('^[^0-9' || unspaced_scripts() || ']{3,40}$');
end;

create function add_search_words(ids bigint[]) returns void language plpgsql
  set plan_cache_mode = force_generic_plan set search_path from current as $$
begin
  insert into search_word (word)
  select said.word
  from search_words_of(ids) as said
  -- One look for each word, however many words are known.
  where (select known.word from search_word as known where known.word = said.word collate "C") is null
  order by said.word
  on conflict do nothing;
end $$;

create function index_inserted_videos() returns trigger language plpgsql
  set plan_cache_mode = force_generic_plan set search_path from current as $$
begin
  insert into video_search select source.* from added, lateral (select * from search_source where id = added.id offset 0) as source;
  perform add_search_words(array(select id from added));
  return null;
end $$;

create function index_updated_video() returns trigger language plpgsql
  -- Planning anew for the one slice that is looked into takes longer than looking.
  set plan_cache_mode = force_generic_plan set search_path from current as $$
declare
  was_live constant boolean := old.state = 1 and old.taken_down is null;
  is_live  constant boolean := new.state = 1 and new.taken_down is null;
  slice    regclass;
  kept     tsvector;
begin
  if was_live then
    select tableoid, text into slice, kept from video_search where id = new.id and year_key = year_key_of(old.recorded);
    -- In its slice: through the whole table it would open all of them. A row that is missing there
    -- must not make the record unwritable: it is removed wherever it lies, and written anew below.
    execute format('delete from %s where id = $1', coalesce(slice, 'video_search')) using new.id;
    -- Reading a long text again is most of the work, and seldom needed.
    if old.summary <> new.summary or old.description <> new.description or old.language_id <> new.language_id then kept := null; end if;
  end if;
  if is_live then
    insert into video_search
    select id, year_key, recorded, category_id, language_id, speaker_ids, tag_ids, length, keys, head, coalesce(kept, text) from search_source where id = new.id;
    perform add_search_words(array[new.id]);
  end if;
  return null;
end $$;

create trigger index_inserted_videos after insert on video referencing new table as added for each statement execute function index_inserted_videos();
create trigger index_updated_video after update on video for each row
  when ((old.state, old.taken_down, old.category_id, old.language_id, old.speaker_ids, old.tag_ids, old.title, old.summary, old.description,
         old.recorded, duration_range_of(old.duration))
        is distinct from
        (new.state, new.taken_down, new.category_id, new.language_id, new.speaker_ids, new.tag_ids, new.title, new.summary, new.description,
         new.recorded, duration_range_of(new.duration)))
  execute function index_updated_video();

-- For records of which only a name was changed, and not the entity behind it: whoever renames calls
-- it with the records.
create function reindex_videos(ids bigint[]) returns void language plpgsql
  set plan_cache_mode = force_generic_plan set search_path from current as $$
begin
  with gone as (delete from video_search where id = any (ids) returning id, text)
  insert into video_search
  select source.id, year_key, recorded, category_id, language_id, speaker_ids, tag_ids, length, keys, head, gone.text
  from gone, lateral (select * from search_source where id = gone.id offset 0) as source;
  perform add_search_words(ids);
end $$;

-- From scratch: for what is there already, for whoever loads tables by other means, and after an
-- upgrade of PostgreSQL that brings other rules for accents or stems.
create procedure rebuild_search() language plpgsql set search_path from current as $$
begin
  -- Until the end of the transaction nobody writes a record, and nobody searches.
  lock table video in share row exclusive mode;
  drop index video_search_head, video_search_all;
  truncate video_search, search_word;
  insert into video_search select * from search_source;
  perform add_search_words(array(select id from video));
  call create_search_indexes();
end $$;
call rebuild_search();

-- For suggestions: names of which a word begins so.
create index speaker_name_trigrams on speaker using gin (fold(name) gin_trgm_ops) with (fastupdate = off);
create index category_title_trigrams on category using gin (fold(title) gin_trgm_ops) with (fastupdate = off);
create index tag_name_trigrams on tag using gin (fold(name) gin_trgm_ops) with (fastupdate = off);
