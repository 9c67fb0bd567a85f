-- What the collections walk along and filter by. Only live records are listed, so only they are in
-- these indexes.

create extension if not exists unaccent;

-- Without accents and case, for sorting and for finding. Its rules come with PostgreSQL: after an
-- upgrade to another major version the indexes that use it are to be made anew
-- (docs/operations.md).
create function fold(text) returns text
  language sql immutable strict parallel safe
  return lower(unaccent('unaccent'::regdictionary, $1));

-- A talk of which the day or the length is not known counts as the oldest, or the shortest.
create index video_by_recorded on video ((coalesce(recorded, '-infinity'::date)) desc, (fold(title) collate "C"), id)
  where state = 1 and taken_down is null;
create index video_by_category on video (category_id, (coalesce(recorded, '-infinity'::date)) desc, (fold(title) collate "C"), id)
  where state = 1 and taken_down is null;
create index video_by_language on video (language_id, (coalesce(recorded, '-infinity'::date)) desc, (fold(title) collate "C"), id)
  where state = 1 and taken_down is null;
create index video_by_title on video ((fold(title) collate "C"), id) where state = 1 and taken_down is null;
create index video_by_added on video (added, id) where state = 1 and taken_down is null;
create index video_by_duration on video ((coalesce(duration, -1)), id) where state = 1 and taken_down is null;

-- The pending list of a GIN index makes some reader pay for the writers before.
create index video_by_speaker on video using gin (speaker_ids) with (fastupdate = off) where state = 1 and taken_down is null;
create index video_by_tag on video using gin (tag_ids) with (fastupdate = off) where state = 1 and taken_down is null;
create index video_by_source on video using hash (source_url) where source_url is not null;

-- Every change moves it, and the rows of the body are rewritten by every change anyway.
create index body_by_updated on video_body (updated, id) where live;
