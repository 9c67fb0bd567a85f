-- A mirror: a database with a read-only copy of another archive (server/mirror). Both tables are
-- empty in other archives.

create table mirror (
  only_row        boolean primary key default true check (only_row),
  source          text    not null,               -- URL of the archive that is copied
  cursor          text,                           -- position in its feed; null: not complete
  earlier_cursors text[]  not null default '{}',  -- to find the common point after its restore
  digest          bigint  not null default 0,     -- of the copy, as that of the feed
  size            integer not null default 0,     -- records and entities that are not hidden
  writer          text    not null,               -- the process that copies; the newest one
  changed         timestamptz not null default now()
);

-- What the copy has of the feed: the newest entry of each record and entity.
create table mirrored (
  kind text   not null check (kind in ('video', 'category', 'speaker', 'tag')),
  id   bigint not null,
  seq  bigint not null,
  hash bigint not null,  -- its part of the digest; 0 if it is hidden
  primary key (kind, id)
);
create index mirrored_by_seq on mirrored (seq);
