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

-- One attempt to load something. Its life: reading, planned, applying, applied; and perhaps
-- undoing, undone.
create table import (
  id           bigint      generated always as identity primary key,
  state        text        not null check (state in ('reading', 'failed', 'planned', 'applying', 'stopped', 'applied', 'undoing', 'undone')),
  name         text        not null,  -- of the file, or the address
  format       text        not null,
  source       text        not null,  -- within which the keys of talks are unique, this time and next time
  options      jsonb       not null,
  rows         integer     not null default 0,
  done         integer     not null default 0,  -- the position of the last row that was applied, or undone
  problem      text,                            -- why it failed, or what it waits for
  -- What an import may do, and how it goes on after a batch that failed
  -- (server/imports/engine/batches.ts).
  apply_role   text        not null default 'editor' check (apply_role in ('editor', 'admin')),
  batch_size   integer     not null default 100 check (batch_size >= 1),
  failures     integer     not null default 0,     -- consecutive failures of the next batch
  retry_at     timestamptz not null default now(), -- no attempt before this moment
  counts       jsonb,                           -- of its rows by verdict and outcome, once they were removed for their age
  actor        text        not null,  -- who did it, as the changes of all its records say
  token_id     bigint,
  via          text        not null check (via in ('api', 'import', 'page', 'command')),
  request_id   text        not null,
  created      timestamptz not null default now(),
  touched      timestamptz not null default now()  -- when something last moved
);

-- The people, tags and events that the file describes: made before its talks.
create table import_entity (
  import_id bigint  not null references import,
  position  integer not null,
  place     text    not null,  -- in the file, for people
  entity     jsonb   not null,
  bytes     integer not null,  -- of the JSON: batches are bounded by their size
  primary key (import_id, position)
);

-- One talk of the file: what shall become of it, and what became of it.
create table import_row (
  import_id      bigint  not null references import,
  position       integer not null,
  place          text    not null,  -- in the file, for people
  key            text,              -- none where no talk could be read
  draft          jsonb,             -- likewise, and where nothing is left to be done
  bytes          integer not null,  -- of the JSON of the draft: batches are bounded by their size
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

-- What a source said of a record the last time. Long values are kept as a hash: they are only
-- compared.
create table source_record (
  source   text   not null,
  key      text   not null,
  video_id bigint not null references video,
  said     jsonb  not null,  -- {"fields": {...}, "facts": [...]}
  primary key (source, key)
);
create index source_record_by_video on source_record (video_id);

-- What is done once a day, by one of all processes: a task that one of them left half way is taken
-- up by another after an hour.
create table maintenance (
  task     text        primary key,
  began    timestamptz not null,
  finished timestamptz not null
);

-- What was taken down is never imported again.
create index video_gone_same_source on video (same_source) where same_source is not null and taken_down is not null;

-- Removes the texts of a record that was taken down from the rows of all imports, and from what
-- sources said of it. Which key of a source belongs to the record stays known, so that no later
-- import brings it back.
create function redact_import_rows(id bigint) returns void language sql set search_path from current
begin atomic
  update import_row
  set place = 'row ' || position,
      draft = null,
      changes = '{}',
      notes = '[{"kind": "refused", "field": "", "detail": "The record was taken down"}]',
      before = case when before is not null then '{"said": null, "revision": null, "facts": null}'::jsonb end
  where video_id = $1;
  update source_record set said = '{"fields": {}, "facts": []}' where video_id = $1;
end;
create index import_row_by_video on import_row (video_id) where video_id is not null;

create function redact_taken_down() returns trigger language plpgsql set search_path from current as $$
begin
  perform redact_import_rows(new.id);
  return null;
end $$;
create trigger redact_taken_down after update on video for each row
  when (old.taken_down is null and new.taken_down is not null)
  execute function redact_taken_down();
