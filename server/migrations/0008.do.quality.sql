-- Data-quality reports.

-- Drafts are included.
create index video_no_speaker on video (id) where no_speaker and taken_down is null;
create index video_no_licence on video (id) where no_licence and taken_down is null;
create index video_no_duration on video (id) where no_duration and taken_down is null;
create index video_duration_in_minutes on video (id)
  where duration_in_minutes and taken_down is null;
create index video_duration_too_long on video (id) where duration_too_long and taken_down is null;
create index video_no_date on video (id) where no_date and taken_down is null;
create index video_no_description on video (id) where no_description and taken_down is null;
create index video_no_thumbnail on video (id) where no_thumbnail and taken_down is null;
create index video_same_source on video (same_source)
  where same_source is not null and taken_down is null;
create index video_same_talk on video (same_talk)
  where same_talk is not null and taken_down is null;

-- Whether a name occurs in a draft; names of live talks are counted in talk_count.
create index video_draft_by_speaker on video using gin (speaker_ids) with (fastupdate = off)
  where state = 2 and taken_down is null;
create index video_draft_by_tag on video using gin (tag_ids) with (fastupdate = off)
  where state = 2 and taken_down is null;

-- The fingerprints that occur, and those that occurred twice. Written by
-- server/quality/triggers.sql. The primary key decides which of two concurrent records is the
-- second. Only maintenance removes rows, so a reader of the candidates checks whether they are
-- still duplicates.
create table fingerprint (
  key bigint primary key
);
create table duplicate_candidate (
  rule text   not null check (rule in ('same-source', 'same-talk')),
  key  bigint not null,
  primary key (rule, key)
);
