-- Talks that are loaded from elsewhere, and what came with them.

-- What is known about a talk and has no field in its record. It has a history of its own.
create table video_facts (
  id       bigint  primary key references video,
  revision integer not null,
  facts    jsonb   not null  -- a list of objects with a kind
);

alter table change
  drop constraint change_subject_check,
  add constraint change_subject_check check (subject in ('video', 'category', 'speaker', 'tag', 'facts'));

-- One attempt to load something. Its life: reading, planned, applying, applied; and perhaps undoing, undone.
create table import (
  id           bigint      generated always as identity primary key,
  state        text        not null check (state in ('reading', 'failed', 'planned', 'applying', 'stopped', 'applied', 'undoing', 'undone')),
  name         text        not null,  -- of the file, or the address
  format       text        not null,
  source       text        not null,  -- within which the keys of talks are unique, this time and next time
  options      jsonb       not null,
  rows         integer     not null default 0,
  done         integer     not null default 0,  -- the position of the last row that was applied, or undone
  problem      text,                            -- why it failed
  actor        text        not null,  -- who did it, as the changes of all its records say
  token_id     bigint,
  via          text        not null check (via in ('api', 'import', 'page', 'command')),
  request_id   text        not null,
  created      timestamptz not null default now(),
  touched      timestamptz not null default now()  -- when something last moved
);

-- The people, tags and events that the file describes: made before its talks.
create table import_thing (
  import_id bigint  not null references import,
  position  integer not null,
  thing     jsonb   not null,
  primary key (import_id, position)
);

-- One talk of the file: what shall become of it, and what became of it.
create table import_row (
  import_id      bigint  not null references import,
  position       integer not null,
  place          text    not null,  -- in the file, for people
  key            text,              -- none where no talk could be read
  draft          jsonb,             -- likewise, and where nothing is left to be done
  verdict        text    not null check (verdict in ('new', 'changed', 'unchanged', 'conflict', 'refused')),
  video_id       bigint,
  changes        jsonb   not null default '{}',  -- {"title": {"old": ..., "new": ...}}, with "conflict": true where both sides changed it
  notes          jsonb   not null default '[]',
  decision       jsonb,             -- what an editor said: {"take": ["title"], "same": false}
  outcome        text    check (outcome in ('created', 'changed', 'unchanged', 'kept', 'refused')),
  revision       integer,           -- of the record, after it was written
  facts_revision integer,
  before         jsonb,             -- what the source had said before, and the facts of then: for undoing
  undone         text    check (undone in ('undone', 'touched')),
  primary key (import_id, position)
);
create index import_row_by_verdict on import_row (import_id, verdict, position);
create index import_row_by_key on import_row (import_id, key) where key is not null;
create index import_row_by_undone on import_row (import_id, undone, position) where undone is not null;

-- What a source said of a record the last time. Long values are kept as a hash: they are only compared.
create table imported (
  source   text   not null,
  key      text   not null,
  video_id bigint not null references video,
  said     jsonb  not null,  -- {"fields": {...}, "facts": [...]}
  primary key (source, key)
);
create index imported_of on imported (video_id);

-- What was taken down is never imported again.
create index video_gone_same_source on video (same_source) where same_source is not null and taken_down is not null;
