-- How many live talks a category, speaker, tag or language has, kept by the database itself:
-- whoever writes a record, and however many at a time, the counts are right in the same
-- transaction. Records are never deleted; whoever does it by hand calls recount_talks().
--
-- A count is the sum of rows, and a change of it is one more row: two writers never wait for each
-- other because they added a talk to the same event. Now and then a writer adds the rows of what it
-- changed together.

create table talk_count (
  kind     text    not null check (kind in ('category', 'speaker', 'tag', 'language')),
  entity_id bigint  not null,
  talks    integer not null
);
create index talk_count_by_entity on talk_count (kind, entity_id) include (talks);

-- What a record counts for: nothing unless it is live.
create function counted_entities(state smallint, taken_down date, category_id bigint, language_id integer, speaker_ids bigint[], tag_ids bigint[])
  returns table (kind text, entity_id bigint)
  language sql immutable parallel safe
begin atomic
  select entities.kind, entities.entity_id
  from (select 'category' as kind, $3 as entity_id
        union all select 'language', $4
        union all select 'speaker', unnest($5)
        union all select 'tag', unnest($6)) as entities
  where $1 = 1 and $2 is null;
end;

create function count_inserted_talks() returns trigger language plpgsql set search_path from current as $$
begin
  insert into talk_count (kind, entity_id, talks)
  select kind, entity_id, count(*)
  from added, counted_entities(state, taken_down, category_id, language_id, speaker_ids, tag_ids)
  group by kind, entity_id;
  return null;
end $$;

create function count_updated_talk() returns trigger language plpgsql set search_path from current as $$
begin
  insert into talk_count (kind, entity_id, talks)
  select kind, entity_id, sum(talks)
  from (select kind, entity_id, 1 as talks
        from counted_entities(new.state, new.taken_down, new.category_id, new.language_id, new.speaker_ids, new.tag_ids)
        union all
        select kind, entity_id, -1
        from counted_entities(old.state, old.taken_down, old.category_id, old.language_id, old.speaker_ids, old.tag_ids)) as changed
  group by kind, entity_id having sum(talks) <> 0;
  return null;
end $$;

create trigger count_inserted_talks after insert on video referencing new table as added
  for each statement execute function count_inserted_talks();
create trigger count_updated_talk after update on video for each row
  when (old.state <> new.state or old.taken_down is distinct from new.taken_down or old.category_id <> new.category_id
        or old.language_id <> new.language_id or old.speaker_ids <> new.speaker_ids or old.tag_ids <> new.tag_ids)
  execute function count_updated_talk();

-- Rows that somebody else is adding together are left to them.
create function compact_talk_counts() returns trigger language plpgsql set search_path from current as $$
begin
  if random() < 0.98 then
    return null;
  end if;
  with mine as (
    select ctid from talk_count where (kind, entity_id) in (select kind, entity_id from written) for update skip locked
  ), taken as (
    delete from talk_count using mine where talk_count.ctid = mine.ctid returning kind, entity_id, talks
  )
  insert into talk_count (kind, entity_id, talks)
  select kind, entity_id, sum(talks) from taken group by kind, entity_id having sum(talks) <> 0;
  return null;
end $$;
create trigger compact_talk_counts after insert on talk_count referencing new table as written
  for each statement when (pg_trigger_depth() < 2) execute function compact_talk_counts();

-- From scratch: for what is there already, and for whoever loads tables by other means.
create function recount_talks() returns void language plpgsql set search_path from current as $$
begin
  -- Until the end of the transaction nobody writes a record: what is counted is what is there.
  lock table video in share row exclusive mode;
  delete from talk_count;
  insert into talk_count (kind, entity_id, talks)
  select kind, entity_id, count(*)
  from video, counted_entities(state, taken_down, category_id, language_id, speaker_ids, tag_ids)
  group by kind, entity_id;
end $$;
select recount_talks();

-- The lists are in the order of the names.
create index category_by_title on category ((fold(title) collate "C"), id);
create index speaker_by_name on speaker ((fold(name) collate "C"), id);
create index tag_by_name on tag ((fold(name) collate "C"), id);
