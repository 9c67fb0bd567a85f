-- API tokens.

create table token (
  id        bigint      generated always as identity primary key,
  name      text        not null,
  role      text        not null check (role in ('editor', 'admin')),
  hash      bytea       not null unique,  -- SHA-256; the token itself is not stored
  created   timestamptz not null default now(),
  expires   timestamptz not null,
  last_used timestamptz,
  revoked   timestamptz
);
