-- Who may write.
create table token (
  id        bigint generated always as identity primary key,
  name      text        not null,
  role      text        not null check (role in ('editor', 'admin')),
  hash      bytea       not null unique,  -- SHA-256; the token itself is shown once and kept nowhere
  created   timestamptz not null default now(),
  expires   timestamptz not null,
  last_used timestamptz,
  revoked   timestamptz
);

-- Everything that ever happened, one row for each accepted write, in the same transaction as the
-- write. History, the change feed and webhooks are readings of this table.
create table change (
  subject      text           not null check (subject in ('video', 'category')),
  subject_id   bigint         not null,
  revision     integer        not null,  -- of the subject, after the change; the one before is one less
  kind         text           not null check (kind in ('created', 'updated', 'restored', 'taken-down')),
  before       jsonb          not null,  -- the fields that changed, as they were; empty on creation
  after        jsonb          not null,  -- the same fields as they are; on creation the whole record
  ids          jsonb          not null,  -- the ids behind the names in after: {"category": 1, "speakers": [2, 3]}
  at           timestamptz(3) not null,
  actor        text           not null,
  token_id     bigint,        -- no foreign key: it would lock the token's row at every write
  via          text           not null check (via in ('api', 'import', 'page', 'command')),
  request_id   text           not null,
  request_hash bytea          not null,  -- of method, address and body: tells a repeated request from another one
  -- Identities are given out before they become visible. A reader of the feed must go by (xid,
  -- position), below pg_snapshot_xmin(pg_current_snapshot()), or it misses the change that commits
  -- late.
  xid          xid8           not null default pg_current_xact_id(),
  position     bigint         generated always as identity,
  primary key (subject, subject_id, revision)
);
create index change_feed on change (xid, position);
