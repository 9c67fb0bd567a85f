-- How far the edge cache has been purged (server/edge). One process at a time holds the lease.

create table edge_purge (
  only_row         boolean        primary key default true check (only_row),
  target           text           not null default '',  -- EDGE; empty before its first use
  -- The entry of the change feed up to which everything was purged, also for the last time. After
  -- a change of the process all later entries are purged again.
  seq              bigint         not null default 0,
  digest           text           not null default '0000000000000000',
  -- What is to be purged besides the entries.
  soft_keys        text[]         not null default '{}',
  hard_keys        text[]         not null default '{}',
  release          text           not null default '',
  previous_release text           not null default '',
  -- The database that the position belongs to: a restored one is another one.
  database         text           not null default '',
  timeline         integer        not null default 0,
  holder           text           not null default '',
  leased_until     timestamptz    not null default 'epoch',
  canary           timestamptz(3) not null default now()
);
insert into edge_purge default values;
