-- Followed sources: URLs of playlists and schedules that are fetched again on a schedule. What is
-- new becomes a plan, an ordinary import that a person applies or deletes.

create table followed_source (
  id             bigint      generated always as identity primary key,
  url            text        not null,
  host           text        not null,  -- of the URL: one fetch at a time
  options        jsonb       not null,  -- of its imports: name, format, source, category, ...
  interval_hours integer     not null check (interval_hours between 1 and 744),
  -- paused by a person; disabled after too many failures
  state          text        not null default 'active'
                             check (state in ('active', 'paused', 'disabled')),
  -- Who set it up: the origin of its imports.
  actor          text        not null,
  token_id       bigint,
  person_id      bigint,
  via            text        not null check (via in ('api', 'import', 'page', 'command')),
  request_id     text        not null,
  created        timestamptz not null default now(),
  -- Counts changes of URL and options: a fetch that began before the last one does not count.
  revision       integer     not null default 1,
  -- What the host said at the last plan, and the hash of the items that were planned, to notice
  -- that nothing has changed.
  etag           text,
  last_modified  text,
  items_hash     bytea,
  -- When a person asked for a fetch. It is planned even if nothing has changed.
  requested      timestamptz,
  -- How the last fetch ended.
  last_fetch     timestamptz,
  outcome        text        check (outcome in ('planned', 'unchanged', 'waiting', 'failed')),
  message        text,
  failures       integer     not null default 0,  -- consecutive ones
  -- Fetches since the last one that ended: a process that is killed by a file leaves it behind.
  attempts       integer     not null default 0,
  next_fetch     timestamptz not null default now(),
  -- A process that fetches has a lease. Only its owner may say how the fetch ended.
  lease          uuid,
  leased_until   timestamptz,
  check ((lease is null) = (leased_until is null))
);

-- The followed source that an import comes from. Its plans stay when it is deleted. A plan that
-- another one has replaced stays as a failed import without rows, whose problem names the other.
alter table import
  add followed_source_id bigint references followed_source on delete set null,
  add replaced boolean not null default false;
create index import_by_followed_source on import (followed_source_id)
  where followed_source_id is not null;

-- Plans that wait for a person, for the first page of the desk.
create index import_waiting on import (id) where state = 'planned' and counts is null;
