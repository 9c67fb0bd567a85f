-- Collections of live records: indexes for their orders and filters, and talk counts.

-- A talk with an unknown day sorts as the oldest, one with an unknown duration as the shortest.
create index video_by_recorded on video
  ((coalesce(recorded, '-infinity'::date)) desc, (fold(title) collate "C"), id)
  where state = 1 and taken_down is null;
create index video_by_category on video
  (category_id, (coalesce(recorded, '-infinity'::date)) desc, (fold(title) collate "C"), id)
  where state = 1 and taken_down is null;
create index video_by_language on video
  (language_id, (coalesce(recorded, '-infinity'::date)) desc, (fold(title) collate "C"), id)
  where state = 1 and taken_down is null;
create index video_by_title on video ((fold(title) collate "C"), id)
  where state = 1 and taken_down is null;
create index video_by_added on video (added, id)
  where state = 1 and taken_down is null;
create index video_by_duration on video ((coalesce(duration, -1)), id)
  where state = 1 and taken_down is null;
create index video_by_speaker on video using gin (speaker_ids) with (fastupdate = off)
  where state = 1 and taken_down is null;
create index video_by_tag on video using gin (tag_ids) with (fastupdate = off)
  where state = 1 and taken_down is null;
create index video_by_source on video using hash (source_url)
  where source_url is not null;

-- The number of live talks of a category, speaker, tag or language is the sum of its rows. A change
-- inserts a row instead of updating one, so that two writers that add talks to the same event do
-- not wait for each other. Written by server/catalogue/triggers.sql, which also merges rows from
-- time to time.
create table talk_count (
  kind      text    not null check (kind in ('category', 'speaker', 'tag', 'language')),
  entity_id bigint  not null,
  talks     integer not null
);
create index talk_count_by_entity on talk_count (kind, entity_id) include (talks);
