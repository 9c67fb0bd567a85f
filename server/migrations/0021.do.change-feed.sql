-- The change feed: an entry for each change of what anyone can read about a talk, a category, a
-- speaker or a tag. Drafts and hidden names are in no entry. Entries are derived from the history
-- after a change is committed, by one process at a time (server/change-feed/append.ts), and are
-- never changed.

create table feed_entry (
  seq         bigint         primary key,  -- 1, 2, 3 ... without gaps
  kind        text           not null check (kind in ('video', 'category', 'speaker', 'tag')),
  id          bigint         not null,
  state       text           not null check (state in ('live', 'hidden', 'merged', 'taken-down')),
  version     text,          -- of what is public; only if it is live
  merged_into bigint,
  belongs_to  text[]         not null,  -- category:3, speaker:7, tag:9, language:en
  belonged_to text[]         not null,  -- what it belonged to before, and no longer does
  at          timestamptz(3) not null,
  digest      bigint         not null,  -- of all that is public after this entry
  check ((state = 'live') = (version is not null)),
  check ((state = 'merged') = (merged_into is not null))
);
create index feed_entry_of on feed_entry (kind, id, seq);
create index feed_entry_at on feed_entry (at, seq);

-- How far the feed is. The history is read in windows between two snapshots: what is visible in
-- `reading` and not in `read`. Snapshots are the only order in which no change is missed, however
-- long its transaction took; within a window, `position` is the order of the changes of a record.
create table feed_head (
  only_row     boolean        primary key default true check (only_row),
  seq          bigint         not null default 0,
  digest       bigint         not null default 0,
  at           timestamptz(3) not null default 'epoch',
  read         pg_snapshot    not null default '1:1:',
  reading      pg_snapshot,   -- the end of the current window
  position     bigint         not null default 0,  -- the last change of the window that was read
  -- Key of the hashes in versions. Without it, anyone could find out by trying whether a name that is
  -- hidden now was part of an old version.
  secret       bytea          not null
                              default decode(replace(gen_random_uuid()::text || gen_random_uuid()::text,
                                                     '-', ''), 'hex'),
  -- The database that the snapshots belong to. In a copy they mean nothing: then all public state
  -- is compared with the feed.
  database     text           not null default '',
  comparing    text           check (comparing in ('category', 'speaker', 'tag', 'video')),
  compared     bigint         not null default 0   -- the last id that was compared
);
insert into feed_head default values;

-- A merged entity is public as long as its target is.
create index category_merged_into on category (merged_into) where merged_into is not null;
create index speaker_merged_into on speaker (merged_into) where merged_into is not null;
create index tag_merged_into on tag (merged_into) where merged_into is not null;

-- Returns 64 bits of a hash of a public state; 0 if nothing is public, or without a state.
create function feed_hash(kind text, id bigint, state text, version text, merged_into bigint)
  returns bigint
  language sql immutable parallel safe
  return case when coalesce(state, 'hidden') = 'hidden' then 0 else
    ('x' || left(
      encode(
        sha256(convert_to(concat_ws(':', kind, id, state, coalesce(version, merged_into::text)),
                          'UTF8')),
        'hex'),
      16))::bit(64)::bigint
  end;
