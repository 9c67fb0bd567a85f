-- A record that was merged into another one, because both are the same talk. It stays as a draft
-- with its history, and its URLs redirect to the other one.

alter table video
  add column merged_into bigint references video,
  add check (merged_into is null or state = 2 and taken_down is null and merged_into <> id);
alter table video_body
  add column merged_into bigint;  -- a copy: reading a record reads only this table
create index video_merged_into on video (merged_into) where merged_into is not null;

-- Returns the record into which a record was merged, at the end of a chain, or the record itself.
-- There are no cycles: a merge locks both records, and the target is not merged at that time.
create function merge_target(bigint) returns bigint
  language sql stable strict set search_path from current
begin atomic
  with recursive path as (
    select id, merged_into from video where id = $1
    union all
    select video.id, video.merged_into from path join video on video.id = path.merged_into
  )
  select id from path where merged_into is null;
end;

-- Returns the records that were merged into a record, also through others.
create function merged_videos(bigint) returns setof bigint
  language sql stable strict set search_path from current
begin atomic
  with recursive member as (
    select id from video where merged_into = $1
    union
    select video.id from member join video on video.merged_into = member.id
  )
  select id from member;
end;
