-- Daily tasks. One process claims a task; if it stops halfway, another takes over after an hour.

create table maintenance (
  task     text        primary key,
  began    timestamptz not null,
  finished timestamptz not null
);
