-- Replacements: copies of videos that are gone, or that are at one place only. They are found by
-- programs; an editor accepts or refuses each. A refused one stays: it is not proposed again.

-- Locks video and then source, as everybody who writes a talk does.
create table replacement (
  id         bigint      generated always as identity primary key,
  video_id   bigint      not null references video,
  source_id  bigint      not null references source,  -- that is gone, or the only one
  url        text        not null check (length(url) <= 2048),  -- of the copy
  key        uuid        not null,  -- source_key(url): the same copy has several URLs
  finder     text        not null,  -- archive.org, wayback, import
  evidence   text        check (length(evidence) <= 500),  -- why it may be the same video
  state      text        not null default 'open'
                         check (state in ('open', 'accepted', 'refused')),
  created    timestamptz not null default now(),
  decided    timestamptz,
  decided_by text,
  unique (video_id, key),
  check ((state = 'open') = (decided is null)),
  check ((state = 'open') = (decided_by is null))
);
create index replacement_open on replacement (id) where state = 'open';
