-- What is wrong with a record, worked out by the database when it is written: one column for each
-- rule of server/quality/rules, with the same name. Columns, because an index on the texts
-- themselves would make every change of a text write to all indexes of the record; a column whose
-- value stays the same does not.

-- Two spellings of one name are equal here: without case, accents, spaces, punctuation and academic
-- titles. Null where nothing is left.
alter table speaker add column spelling text collate "C" generated always as
  (nullif(regexp_replace(regexp_replace(fold(name), '^((dr|prof|professor)([.] *| +))+', ''), '[[:punct:][:space:]]', '', 'g'), '')) stored;
create index speaker_by_spelling on speaker (spelling, id) where spelling is not null;

-- Of a tag fewer signs go: c, c# and c++ are three entities.
alter table tag add column spelling text collate "C" generated always as
  (nullif(regexp_replace(fold(name), '^#|[[:space:].,:;/''"()!?_-]', '', 'g'), '')) stored;
create index tag_by_spelling on tag (spelling, id) where spelling is not null;

create function sorted_ids(bigint[]) returns bigint[]
  language sql immutable strict parallel safe
  return array(select distinct unnest($1) order by 1);

-- One video on a host has one identity, however its address is written. Of an address of which
-- nobody knows better, what does not matter is left out. Neither of the two is strict: PostgreSQL
-- puts them into the statements that call them, where they take a fifth of the time.
create function source_identity(address text) returns text
  language sql immutable parallel safe
  return coalesce(case
    -- As nearly all are written. The others are looked at more closely, which takes ten times as
    -- long.
    when address ~ '^https?://(www[.])?youtube[.]com/watch[?]v=[A-Za-z0-9_-]{11}$' then
      'youtube:' || right(address, 11)
    when address ~* '^https?://([a-z]+[.])?(youtube(-nocookie)?[.]com|youtu[.]be)/' then
      coalesce('youtube:' || substring(address from '(?i)^https?://[a-z.-]+/(?:watch/?[?](?:[^#]*&)?v=|embed/|e/|v/|shorts/|live/|(?<=youtu[.]be/))([A-Za-z0-9_-]{11})(?![A-Za-z0-9_-])'), address)
    when address ~* '^https?://([a-z]+[.])?vimeo[.]com/' then
      coalesce('vimeo:' || substring(address from '(?i)^https?://[a-z.]+/(?:[a-z]+/)*(?:[^/]+/(?:videos?/))?([0-9]+)(?![0-9A-Za-z])'), address)
    when address ~* '^https?://(www[.])?archive[.]org/(details|embed|download)/' then
      'archive.org:' || substring(address from '(?i)^https?://[a-z.]+/[a-z]+/([^/?#]+)')
    else
      lower(substring(address from '(?i)^https?://(?:www[.])?([^/?#]*)'))
      || regexp_replace(regexp_replace(regexp_replace(regexp_replace(address, '^https?://[^/?#]*', '', 'i'), '#.*', ''), '([?&])(utm_[a-z]+=[^&]*&?)+', '\1', 'g'), '[/?&]+$', '')
  end, address);

create function source_fingerprint(identity text) returns bigint
  language sql immutable parallel safe
  return hashtextextended(identity, 0) & 9007199254740991;

-- The last two are numbers of 53 bits, which are equal where the sources, or the title and the
-- speakers, are. An address may be too long for an index. Of a million different ones, two are the
-- same by chance once in 18,000 archives.
alter table video
  add column no_speaker          boolean generated always as (speaker_ids = '{}') stored,
  add column no_licence          boolean generated always as (copyright_text !~ '\S') stored,
  add column no_duration         boolean generated always as (coalesce(duration, 0) = 0) stored,
  -- Minutes are few, or round. Of 21,713 real records this finds 263, of which 224 are minutes, and
  -- misses one; up to 200 alone would find 422.
  add column duration_in_minutes boolean generated always as (coalesce(duration between 1 and 30 or duration <= 200 and duration > 0 and duration % 5 = 0, false)) stored,
  add column no_description      boolean generated always as (summary !~ '\S' and description !~ '\S') stored,
  add column no_thumbnail        boolean generated always as (coalesce(thumbnail_url, '') = '') stored,
  add column same_source         bigint  generated always as
    (case when source_url <> '' then source_fingerprint(source_identity(source_url)) end) stored,
  -- Nobody's talks are not the same: many events have "Lightning talks".
  add column same_talk           bigint  generated always as
    (case when speaker_ids <> '{}' then
       hashtextextended(fold(title), hash_array_extended(case when cardinality(speaker_ids) = 1 then speaker_ids else sorted_ids(speaker_ids) end, 0))
       & 9007199254740991 end) stored;

-- Drafts count too. A record that nothing is wrong with is in none of the first six.
create index video_no_speaker          on video (id) where no_speaker and taken_down is null;
create index video_no_licence          on video (id) where no_licence and taken_down is null;
create index video_no_duration         on video (id) where no_duration and taken_down is null;
create index video_duration_in_minutes on video (id) where duration_in_minutes and taken_down is null;
create index video_no_description      on video (id) where no_description and taken_down is null;
create index video_no_thumbnail        on video (id) where no_thumbnail and taken_down is null;
create index video_same_source on video (same_source) where same_source is not null and taken_down is null;
create index video_same_talk   on video (same_talk) where same_talk is not null and taken_down is null;

-- Whether a name is in a draft; those of live talks are counted.
create index video_draft_by_speaker on video using gin (speaker_ids) with (fastupdate = off) where state = 2 and taken_down is null;
create index video_draft_by_tag on video using gin (tag_ids) with (fastupdate = off) where state = 2 and taken_down is null;

-- Numbers that several records have are not looked for among all: who comes second is noted when it
-- comes. The primary key tells who that is, also of two that come at once. Only the maintenance
-- takes out what no record has any more; a reader of the suspects checks whether it is still so.
create table fingerprint (
  key bigint primary key
);
create table duplicate_candidate (
  rule text   not null check (rule in ('same-source', 'same-talk')),
  key  bigint not null,
  primary key (rule, key)
);

-- For each row, because two plain inserts are several times faster than one clever statement. A new
-- record has no old numbers: they are null.
create function record_fingerprints() returns trigger language plpgsql set search_path from current as $$
begin
  if new.same_source is distinct from old.same_source and new.same_source is not null then
    insert into fingerprint (key) values (new.same_source) on conflict do nothing;
    if not found then
      insert into duplicate_candidate (rule, key) values ('same-source', new.same_source) on conflict do nothing;
    end if;
  end if;
  if new.same_talk is distinct from old.same_talk and new.same_talk is not null then
    insert into fingerprint (key) values (new.same_talk) on conflict do nothing;
    if not found then
      insert into duplicate_candidate (rule, key) values ('same-talk', new.same_talk) on conflict do nothing;
    end if;
  end if;
  return null;
end $$;

create trigger record_inserted_fingerprints after insert on video for each row execute function record_fingerprints();
create trigger record_updated_fingerprints after update on video for each row
  when (old.same_source is distinct from new.same_source or old.same_talk is distinct from new.same_talk)
  execute function record_fingerprints();

-- From scratch: for what is there already, for whoever loads tables by other means, and to forget
-- what was mended.
create function rebuild_fingerprints() returns void language plpgsql set search_path from current as $$
begin
  -- Until the end of the transaction nobody writes a record.
  lock table video in share row exclusive mode;
  delete from duplicate_candidate;
  truncate fingerprint;
  insert into fingerprint (key)
  select same_source from video where same_source is not null union select same_talk from video where same_talk is not null;
  insert into duplicate_candidate (rule, key)
  select 'same-source', same_source from video where same_source is not null group by same_source having count(*) > 1
  union all
  select 'same-talk', same_talk from video where same_talk is not null group by same_talk having count(*) > 1;
end $$;
select rebuild_fingerprints();
