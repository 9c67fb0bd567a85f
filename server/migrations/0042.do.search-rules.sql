-- The search index by the rules of migration 25. Names, tags and category keep their stop words. The
-- view is here too, because servers write talks until server/search/triggers.sql replaces it, and
-- the next migration indexes the others meanwhile.
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

-- Indexes records again by the current rules, also their texts. The caller has locked the records.
-- Returns their ids.
create function reparse_videos(ids bigint[]) returns setof bigint
  language plpgsql
  set plan_cache_mode = force_generic_plan
  set search_path from current as $$
begin
  if cardinality(ids) = 0 then
    return;
  end if;
  delete from video_search where id = any (ids);
  insert into video_search
  select source.*
  from unnest(ids) as video (id), lateral (
    select * from search_source where search_source.id = video.id offset 0
  ) as source;
  perform add_search_words(ids);
  return query select unnest(ids);
end $$;
