-- The number of live talks by year, language and range of duration, so that counts and facets are
-- exact for any number of talks. Like talk_count, a number is the sum of its rows: a change inserts
-- a row instead of updating one. Written by server/catalogue/triggers.sql.
create table talk_cube (
  year_key    smallint not null,  -- year_key_of
  language_id integer  not null,
  length      smallint not null,  -- duration_range_of
  talks       integer  not null
);
create index talk_cube_by_key on talk_cube (year_key, language_id, length) include (talks);

-- No record is written until the triggers are there, which the same transaction creates.
lock table video in share row exclusive mode;
insert into talk_cube (year_key, language_id, length, talks)
select year_key_of(recorded), language_id, duration_range_of(duration), count(*)
from video
where state = 1 and taken_down is null
group by 1, 2, 3;
