-- Maintains talk_count and talk_cube in the transaction that writes a record. Records are never
-- deleted; after deleting one by hand, call recount_talks().

-- Returns what a record counts for: nothing unless it is live.
create or replace function counted_entities(
  state smallint,
  taken_down date,
  category_id bigint,
  language_id integer,
  speaker_ids bigint[],
  tag_ids bigint[]
) returns table (kind text, entity_id bigint)
  language sql immutable parallel safe
begin atomic
  select entities.kind, entities.entity_id
  from (select 'category' as kind, $3 as entity_id
        union all select 'language', $4
        union all select 'speaker', unnest($5)
        union all select 'tag', unnest($6)) as entities
  where $1 = 1 and $2 is null;
end;

create or replace function count_inserted_talks() returns trigger
  language plpgsql set search_path from current as $$
begin
  insert into talk_count (kind, entity_id, talks)
  select kind, entity_id, count(*)
  from added, counted_entities(state, taken_down, category_id, language_id, speaker_ids, tag_ids)
  group by kind, entity_id;
  return null;
end $$;

create or replace function count_updated_talk() returns trigger
  language plpgsql set search_path from current as $$
begin
  insert into talk_count (kind, entity_id, talks)
  select kind, entity_id, sum(talks)
  from (select kind, entity_id, 1 as talks
        from counted_entities(new.state, new.taken_down, new.category_id, new.language_id,
                              new.speaker_ids, new.tag_ids)
        union all
        select kind, entity_id, -1
        from counted_entities(old.state, old.taken_down, old.category_id, old.language_id,
                              old.speaker_ids, old.tag_ids)) as changed
  group by kind, entity_id
  having sum(talks) <> 0;
  return null;
end $$;

create or replace trigger count_inserted_talks
  after insert on video
  referencing new table as added
  for each statement execute function count_inserted_talks();

create or replace trigger count_updated_talk
  after update on video
  for each row
  when (old.state <> new.state
        or old.taken_down is distinct from new.taken_down
        or old.category_id <> new.category_id
        or old.language_id <> new.language_id
        or old.speaker_ids <> new.speaker_ids
        or old.tag_ids <> new.tag_ids)
  execute function count_updated_talk();

-- Merges the rows of the entities that were just counted, after 2 % of the writes. Rows that
-- another transaction merges at the same time are skipped.
create or replace function compact_talk_counts() returns trigger
  language plpgsql set search_path from current as $$
begin
  if random() < 0.98 then
    return null;
  end if;
  with mine as (
    select ctid
    from talk_count
    where (kind, entity_id) in (select kind, entity_id from written)
    for update skip locked
  ), taken as (
    delete from talk_count
    using mine
    where talk_count.ctid = mine.ctid
    returning kind, entity_id, talks
  )
  insert into talk_count (kind, entity_id, talks)
  select kind, entity_id, sum(talks)
  from taken
  group by kind, entity_id
  having sum(talks) <> 0;
  return null;
end $$;

create or replace trigger compact_talk_counts
  after insert on talk_count
  referencing new table as written
  for each statement
  when (pg_trigger_depth() < 2)
  execute function compact_talk_counts();

create or replace function add_inserted_to_cube() returns trigger
  language plpgsql set search_path from current as $$
begin
  insert into talk_cube (year_key, language_id, length, talks)
  select year_key_of(recorded), language_id, duration_range_of(duration), count(*)
  from added
  where state = 1 and taken_down is null
  group by 1, 2, 3;
  return null;
end $$;

create or replace function move_in_cube() returns trigger
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

create or replace trigger add_inserted_to_cube
  after insert on video
  referencing new table as added
  for each statement execute function add_inserted_to_cube();

create or replace trigger move_in_cube
  after update on video
  for each row
  when ((old.state = 1 and old.taken_down is null, year_key_of(old.recorded), old.language_id,
         duration_range_of(old.duration))
        is distinct from
        (new.state = 1 and new.taken_down is null, year_key_of(new.recorded), new.language_id,
         duration_range_of(new.duration)))
  execute function move_in_cube();

-- Merges the rows of the cells that were just counted, like compact_talk_counts().
create or replace function compact_talk_cube() returns trigger
  language plpgsql set search_path from current as $$
begin
  if random() < 0.98 then
    return null;
  end if;
  with mine as (
    select ctid
    from talk_cube
    where (year_key, language_id, length) in (select year_key, language_id, length from written)
    for update skip locked
  ), taken as (
    delete from talk_cube
    using mine
    where talk_cube.ctid = mine.ctid
    returning year_key, language_id, length, talks
  )
  insert into talk_cube (year_key, language_id, length, talks)
  select year_key, language_id, length, sum(talks)
  from taken
  group by year_key, language_id, length
  having sum(talks) <> 0;
  return null;
end $$;

create or replace trigger compact_talk_cube
  after insert on talk_cube
  referencing new table as written
  for each statement
  when (pg_trigger_depth() < 2)
  execute function compact_talk_cube();

-- Merges the rows of all cells that have several. Returns how many rows fewer there are. Called by
-- maintenance.
create or replace function compact_all_cells() returns integer
  language sql set search_path from current
begin atomic
  with several as (
    select year_key, language_id, length
    from talk_cube
    group by year_key, language_id, length
    having count(*) > 1
  ), mine as (
    select ctid
    from talk_cube
    where (year_key, language_id, length) in (select year_key, language_id, length from several)
    for update skip locked
  ), taken as (
    delete from talk_cube
    using mine
    where talk_cube.ctid = mine.ctid
    returning year_key, language_id, length, talks
  ), merged as (
    insert into talk_cube (year_key, language_id, length, talks)
    select year_key, language_id, length, sum(talks)
    from taken
    group by year_key, language_id, length
    having sum(talks) <> 0
    returning 1
  )
  select ((select count(*) from taken) - (select count(*) from merged))::integer;
end;

-- Counts from scratch, after tables were loaded by other means.
create or replace function recount_talks() returns void
  language plpgsql set search_path from current as $$
begin
  -- Blocks writes of records until the end of the transaction.
  lock table video in share row exclusive mode;
  delete from talk_count;
  insert into talk_count (kind, entity_id, talks)
  select kind, entity_id, count(*)
  from video, counted_entities(state, taken_down, category_id, language_id, speaker_ids, tag_ids)
  group by kind, entity_id;
  delete from talk_cube;
  insert into talk_cube (year_key, language_id, length, talks)
  select year_key_of(recorded), language_id, duration_range_of(duration), count(*)
  from video
  where state = 1 and taken_down is null
  group by 1, 2, 3;
end $$;
