-- Maintains video_search and search_word in the transaction that writes a record. A change that
-- alters what is indexed needs migrations that index all records again, such as 0042 and 0043.

-- The index row of each live record. Names, tags and category keep their stop words. Each name is
-- looked up separately: with a join, PostgreSQL would read all tags for each record.
create or replace view search_source as
select
  video.id,
  year_key_of(recorded) as year_key,
  recorded,
  category_id,
  language_id,
  speaker_ids,
  tag_ids,
  duration_range_of(duration) as length,
  -- No word begins with the sign, so that no prefix of a query matches a key.
  array_to_tsvector(
    array['#category:' || category_id,
          '#language:' || language_id,
          '#duration:' || duration_range_of(duration)]
    || string_to_array(
         nullif('#speaker:' || array_to_string(speaker_ids, ' #speaker:'), '#speaker:'), ' ')
    || string_to_array(nullif('#tag:' || array_to_string(tag_ids, ' #tag:'), '#tag:'), ' ')
  ) as keys,
  setweight(to_tsvector(dictionary::regconfig, normalized_words(video.title, 1000)), 'A')
    || setweight(to_tsvector('simple', normalized_words(coalesce((
         select string_agg((select name from speaker where id = speaker_id), ' ' order by index)
         from unnest(speaker_ids) with ordinality as speakers (speaker_id, index)
       ), ''), 40000)), 'B')
    || setweight(to_tsvector(all_words_of(dictionary), normalized_words(coalesce((
         select string_agg((select name from tag where id = tag_id), ' ' order by index)
         from unnest(tag_ids) with ordinality as tags (tag_id, index)
       ), ''), 40000)), 'C')
    || setweight(to_tsvector(all_words_of(dictionary), normalized_words(category.title, 1000)), 'D')
    as head,
  setweight(to_tsvector(dictionary::regconfig, normalized_words(summary, 26000)), 'A')
    || setweight(
         to_tsvector(dictionary::regconfig, normalized_words(video.description, 150000)), 'B')
    as text
from live_video as video
join category on category.id = category_id
join language on language.id = language_id;

-- Returns the words of those of these records that are live.
create or replace function search_words_of(ids bigint[]) returns table (word text)
  language sql stable
begin atomic
  select distinct used.word
  from live_video as video
  join category on category.id = video.category_id,
  regexp_split_to_table(
    normalized_words(concat_ws(
      ' ',
      video.title,
      category.title,
      (select string_agg((select name from speaker where speaker.id = speaker_id), ' ')
       from unnest(video.speaker_ids) as speaker_id),
      (select string_agg((select name from tag where tag.id = tag_id), ' ')
       from unnest(video.tag_ids) as tag_id))),
    ' +') as used (word)
  where video.id = any (ids)
    and used.word ~ ('^[^0-9' || unspaced_scripts() || ']{3,40}$');
end;

create or replace function add_search_words(ids bigint[]) returns void
  language plpgsql
  set plan_cache_mode = force_generic_plan
  set search_path from current as $$
begin
  insert into search_word (word)
  select used.word
  from search_words_of(ids) as used
  -- One index lookup per word, however many words are known.
  where (
    select known.word from search_word as known where known.word = used.word collate "C"
  ) is null
  order by used.word
  on conflict do nothing;
end $$;

create or replace function index_inserted_videos() returns trigger
  language plpgsql
  set plan_cache_mode = force_generic_plan
  set search_path from current as $$
begin
  insert into video_search
  select source.*
  from added, lateral (select * from search_source where id = added.id offset 0) as source;
  perform add_search_words(array(select id from added));
  return null;
end $$;

create or replace function index_updated_video() returns trigger
  language plpgsql
  -- Planning for the one partition that is read takes longer than reading it.
  set plan_cache_mode = force_generic_plan
  set search_path from current as $$
declare
  was_live constant boolean := old.state = 1 and old.taken_down is null;
  is_live constant boolean := new.state = 1 and new.taken_down is null;
  old_partition regclass;
  old_text tsvector;
begin
  if was_live then
    select tableoid, text
    into old_partition, old_text
    from video_search
    where id = new.id and year_key = year_key_of(old.recorded);
    -- Deletes from the partition: through the parent table all partitions would be opened. If the
    -- row is not there, the delete goes to the parent, so that the record stays writable.
    execute format('delete from %s where id = $1', coalesce(old_partition, 'video_search'))
    using new.id;
    -- Parsing a long text is most of the work, and the texts rarely change.
    if old.summary <> new.summary
       or old.description <> new.description
       or old.language_id <> new.language_id then
      old_text := null;
    end if;
  end if;
  if is_live then
    insert into video_search
    select id, year_key, recorded, category_id, language_id, speaker_ids, tag_ids, length,
           keys, head, coalesce(old_text, text)
    from search_source
    where id = new.id;
    perform add_search_words(array[new.id]);
  end if;
  return null;
end $$;

create or replace trigger index_inserted_videos
  after insert on video
  referencing new table as added
  for each statement execute function index_inserted_videos();

create or replace trigger index_updated_video
  after update on video
  for each row
  when ((old.state, old.taken_down, old.category_id, old.language_id, old.speaker_ids, old.tag_ids,
         old.title, old.summary, old.description, old.recorded, duration_range_of(old.duration))
        is distinct from
        (new.state, new.taken_down, new.category_id, new.language_id, new.speaker_ids, new.tag_ids,
         new.title, new.summary, new.description, new.recorded, duration_range_of(new.duration)))
  execute function index_updated_video();

-- Indexes records again whose speakers, tags or category were renamed. Called by the rename.
create or replace function reindex_videos(ids bigint[]) returns void
  language plpgsql
  set plan_cache_mode = force_generic_plan
  set search_path from current as $$
begin
  with gone as (
    delete from video_search where id = any (ids) returning id, text
  )
  insert into video_search
  select source.id, year_key, recorded, category_id, language_id, speaker_ids, tag_ids, length,
         keys, head, gone.text
  from gone, lateral (select * from search_source where id = gone.id offset 0) as source;
  perform add_search_words(ids);
end $$;

-- Builds the index from scratch, after tables were loaded by other means, and after an upgrade of
-- PostgreSQL that changes the rules for accents or stems.
create or replace procedure rebuild_search() language plpgsql set search_path from current as $$
begin
  -- Blocks writes of records and searches until the end of the transaction.
  lock table video in share row exclusive mode;
  drop index video_search_head, video_search_all;
  truncate video_search, search_word;
  insert into video_search select * from search_source;
  perform add_search_words(array(select id from video));
  call create_search_indexes();
end $$;
