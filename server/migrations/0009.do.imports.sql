-- Imports: what a file contains, what will be done with it, and what was done.

-- One import. States: reading, planned, applying, applied, then possibly undoing, undone; failed or
-- stopped in between.
create table import (
  id           bigint      generated always as identity primary key,
  state        text        not null
                           check (state in ('reading', 'failed', 'planned', 'applying', 'stopped',
                                            'applied', 'undoing', 'undone')),
  name         text        not null,  -- of the file, or the URL
  format       text        not null,
  source       text        not null,  -- the namespace in which the keys of talks are unique
  options      jsonb       not null,
  rows         integer     not null default 0,
  done         integer     not null default 0,  -- position of the last processed row
  problem      text,                            -- why it failed, or what it waits for
  -- Permissions, and the retry state of a failed batch (server/imports/engine/batches.ts).
  apply_role   text        not null default 'editor' check (apply_role in ('editor', 'admin')),
  batch_size   integer     not null default 100 check (batch_size >= 1),
  failures     integer     not null default 0,      -- consecutive failures of the next batch
  retry_at     timestamptz not null default now(),  -- no attempt before this moment
  summary      jsonb,                 -- names that it creates, and its warnings by code
  counts       jsonb,                 -- rows by verdict and outcome, after the rows were deleted
  actor        text        not null,  -- of the import, and of the changes of all its records
  token_id     bigint,
  via          text        not null check (via in ('api', 'import', 'page', 'command')),
  request_id   text        not null,
  created      timestamptz not null default now(),
  touched      timestamptz not null default now()   -- last progress
);

-- Speakers, tags and categories that the file describes. They are created before its talks.
create table import_entity (
  import_id bigint  not null references import,
  position  integer not null,
  place     text    not null,  -- location in the file, for people
  entity    jsonb   not null,
  bytes     integer not null,  -- size of the JSON; batches are limited by size
  primary key (import_id, position)
);

-- One talk of the file: the plan for it, and the outcome.
create table import_row (
  import_id      bigint  not null references import,
  position       integer not null,
  place          text    not null,  -- location in the file, for people
  key            text,              -- null if no talk could be read
  item           jsonb,             -- the parsed talk; null if nothing is left to do
  bytes          integer not null,  -- size of the JSON of the item; batches are limited by size
  verdict        text    not null
                         check (verdict in ('new', 'changed', 'unchanged', 'conflict', 'refused')),
  video_id       bigint,
  -- {"title": {"old": ..., "new": ..., "conflict": true}}
  changes        jsonb   not null default '{}',
  notes          jsonb   not null default '[]',
  decision       jsonb,             -- of an editor: {"take": ["title"], "same": false}
  outcome        text    check (outcome in ('created', 'changed', 'unchanged', 'kept', 'refused')),
  revision       integer,           -- of the record after it was written
  facts_revision integer,
  before         jsonb,             -- the previous state of the source, and of the facts, for undo
  undone         text    check (undone in ('undone', 'touched')),
  primary key (import_id, position)
);
create index import_row_by_verdict on import_row (import_id, verdict, position);
create index import_row_by_key on import_row (import_id, key) where key is not null;
create index import_row_by_undone on import_row (import_id, undone, position)
  where undone is not null;
create index import_row_by_video on import_row (video_id) where video_id is not null;

-- What a source contained for a record at its last import. Long values are stored as a hash: they
-- are only compared.
create table source_record (
  source   text   not null,
  key      text   not null,
  video_id bigint not null references video,
  state    jsonb  not null,  -- {"fields": {...}, "facts": [...]}
  primary key (source, key)
);
create index source_record_by_video on source_record (video_id);

-- A record that was taken down is never imported again.
create index video_gone_same_source on video (same_source)
  where same_source is not null and taken_down is not null;
