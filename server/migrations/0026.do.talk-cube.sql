-- The number of live talks by year, language and range of duration, so that counts and facets are
-- exact for any number of talks. Like talk_count, a number is the sum of its rows: a change inserts
-- a row instead of updating one. Written by server/catalogue/triggers.sql. Talks that are older than
-- the table are counted by a later migration (0040).
create table talk_cube (
  year_key    smallint not null,  -- year_key_of
  language_id integer  not null,
  length      smallint not null,  -- duration_range_of
  talks       integer  not null
);
create index talk_cube_by_key on talk_cube (year_key, language_id, length) include (talks);

-- The triggers come with the table, because servers write talks until server/catalogue/triggers.sql
-- replaces them, and the talks are counted while they do.
create function add_inserted_to_cube() returns trigger
  language plpgsql set search_path from current as $$
begin
  insert into talk_cube (year_key, language_id, length, talks)
  select year_key_of(recorded), language_id, duration_range_of(duration), count(*)
  from added
  where state = 1 and taken_down is null
  group by 1, 2, 3;
  return null;
end $$;

create function move_in_cube() returns trigger
  language plpgsql set search_path from current as $$
begin
  insert into talk_cube (year_key, language_id, length, talks)
  select year_key_of(recorded), language_id, duration_range_of(duration), talks
  from (values (old.state, old.taken_down, old.recorded, old.language_id, old.duration, -1),
               (new.state, new.taken_down, new.recorded, new.language_id, new.duration, 1))
    as changed (state, taken_down, recorded, language_id, duration, talks)
  where state = 1 and taken_down is null;
  return null;
end $$;

create trigger add_inserted_to_cube
  after insert on video
  referencing new table as added
  for each statement execute function add_inserted_to_cube();

create trigger move_in_cube
  after update on video
  for each row
  when ((old.state = 1 and old.taken_down is null, year_key_of(old.recorded), old.language_id,
         duration_range_of(old.duration))
        is distinct from
        (new.state = 1 and new.taken_down is null, year_key_of(new.recorded), new.language_id,
         duration_range_of(new.duration)))
  execute function move_in_cube();
