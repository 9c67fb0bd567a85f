-- Logos of events and pictures of speakers that editors uploaded. A profile has the URL of a
-- picture, which ends with the hash of its content.
create table uploaded_picture (
  hash         text        primary key,  -- SHA-256 of the data, in hexadecimal
  data         bytea       not null,     -- WebP, as this server encoded it
  created      timestamptz not null default now(),
  -- Since when no profile uses it, as far as maintenance knows. Null while one does.
  unused_since timestamptz default now(),
  -- Who uploaded it first, and how.
  actor        text        not null,
  token_id     bigint,
  via          text        not null check (via in ('api', 'page')),
  request_id   text        not null
);
-- WebP is compressed already.
alter table uploaded_picture alter column data set storage external;

-- Returns the hash in the URL of an uploaded picture, whatever the host: it may have moved. Null for
-- other URLs. `uploadedHash` in server/pictures/uploads.ts has the same rule.
create function uploaded_hash(url text) returns text
  language sql immutable parallel safe
  return substring(url from '/picture/uploaded/([0-9a-f]{64})[.]webp$');

create index category_uploaded_logo on category (uploaded_hash(profile ->> 'logo_url'))
  where uploaded_hash(profile ->> 'logo_url') is not null;
create index speaker_uploaded_picture on speaker (uploaded_hash(profile ->> 'picture_url'))
  where uploaded_hash(profile ->> 'picture_url') is not null;
