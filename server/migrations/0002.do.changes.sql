-- The history: one row for each accepted write, in the same transaction as the write. The change
-- feed and webhooks read this table.

create table change (
  subject      text           not null
                              check (subject in ('video', 'category', 'speaker', 'tag', 'facts')),
  subject_id   bigint         not null,
  revision     integer        not null,  -- of the subject after the change
  kind         text           not null
                              check (kind in ('created', 'updated', 'restored', 'taken-down',
                                              'merged')),
  before       jsonb          not null,  -- old values of the changed fields; empty on creation
  after        jsonb          not null,  -- their new values; on creation the whole record
  ids          jsonb          not null,  -- of the names in after: {"speakers": [2, 3]}
  at           timestamptz(3) not null,
  actor        text           not null,
  token_id     bigint,        -- no foreign key: it would lock the token's row on every write
  via          text           not null check (via in ('api', 'import', 'page', 'command')),
  request_id   text           not null,
  request_hash bytea          not null,  -- of method, URL and body: detects a repeated request
  -- Identity values are assigned before the transaction commits. A reader of the feed must order by
  -- (xid, position) and stay below pg_snapshot_xmin(pg_current_snapshot()), or it misses changes
  -- that commit late.
  xid          xid8           not null default pg_current_xact_id(),
  position     bigint         generated always as identity,
  primary key (subject, subject_id, revision)
);
create index change_feed on change (xid, position);

-- Changes that withdraw something from readers: a record is taken down or becomes a draft, a name is
-- no longer public, or something about a speaker changes. Snapshots older than the latest of these
-- are deleted.
create index change_withdrawn on change (at) where
  kind in ('taken-down', 'merged')
  or subject = 'video' and before @> '{"state": 1}' and after @> '{"state": 2}'
  or subject in ('category', 'speaker', 'tag')
     and (before ?| '{name,title}'
          or jsonb_path_exists(before, '$.aliases[*] ? (@.shown == true)'))
  or subject = 'speaker'
     and (before ->> 'description' <> ''
          or before ->> 'pronouns' <> ''
          or before ->> 'picture_url' <> ''
          or jsonb_path_exists(before, '$.links[*]'));
