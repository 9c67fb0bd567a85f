-- People who sign in at the desk: their roles, their sessions, and the ways in which they sign in.

create table person (
  id       bigint      generated always as identity primary key,
  name     text        not null check (name <> ''),
  mail     text        check (mail <> ''),
  role     text        not null check (role in ('suggester', 'editor', 'admin')),
  created  timestamptz not null default now(),
  disabled timestamptz,  -- cannot sign in; the history keeps the name
  -- Identifies the person to authenticators. Random: a host can have several archives.
  handle   uuid        not null default gen_random_uuid()
);
create unique index person_mail on person (lower(mail));

create table passkey (
  credential_id bytea       primary key,
  person_id     bigint      not null references person,
  public_key    bytea       not null,
  counter       bigint      not null,  -- of signatures; 0 if the passkey is synchronized
  rp_id         text        not null,  -- the host for which it was created
  name          text        not null,
  created       timestamptz not null default now(),
  last_used     timestamptz
);
create index passkey_person on passkey (person_id);

create table session (
  hash         bytea       primary key,  -- SHA-256 of the cookie
  person_id    bigint      not null references person,
  method       text        not null check (method in ('link', 'passkey')),
  created      timestamptz not null default now(),
  last_seen    timestamptz not null default now(),
  expires      timestamptz not null,
  strong_until timestamptz not null,  -- until then, dangerous actions need no further passkey
  user_agent   text        not null
);
create index session_person on session (person_id);

-- Links that sign a person in, and challenges that a passkey signs. Both work once.
create table one_time_token (
  hash      bytea       primary key,  -- SHA-256 of the secret
  purpose   text        not null check (purpose in ('link', 'challenge')),
  person_id bigint      references person,  -- null: the challenge is for any passkey
  code_hash bytea,      -- SHA-256 of the secret and the code that a link without a passkey needs
  attempts  integer     not null default 0,  -- wrong codes
  created   timestamptz not null default now(),
  expires   timestamptz not null,
  used      timestamptz
);
create index one_time_token_person on one_time_token (person_id);
create index one_time_token_created on one_time_token (person_id, created)
  where purpose = 'challenge';

-- What people and operators did, except for changes of records: the history has those.
create table audit_event (
  id         bigint      generated always as identity primary key,
  at         timestamptz not null default now(),
  actor      text        not null,  -- name at the time
  person_id  bigint,                -- null: an operator in a terminal, or an API token
  kind       text        not null,
  subject_id bigint,                -- the person that it is about
  detail     jsonb       not null default '{}',
  request_id text        not null
);
create index audit_event_at on audit_event (at);
