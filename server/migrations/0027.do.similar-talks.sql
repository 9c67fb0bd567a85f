-- The talks on the same subject as a talk, the most similar first: computed when they are first
-- read, because that takes longer than a page may, and again when the talk has changed or after a
-- week (server/search/similar.ts). Ids of talks that are no longer live may remain.
create table similar_talk (
  id       bigint         primary key references video,
  revision integer        not null,  -- of the talk
  ids      bigint[]       not null,
  computed timestamptz(3) not null default now()
);
