-- Maintains fingerprint and duplicate_candidate in the transaction that writes a record. A
-- fingerprint that exists already makes the record a candidate for a duplicate.

-- Runs for each row: two plain inserts are several times faster than one statement for all rows. On
-- insert the old fingerprints are null.
create or replace function add_fingerprints() returns trigger
  language plpgsql set search_path from current as $$
begin
  if new.same_source is distinct from old.same_source and new.same_source is not null then
    insert into fingerprint (key) values (new.same_source) on conflict do nothing;
    if not found then
      insert into duplicate_candidate (rule, key) values ('same-source', new.same_source)
      on conflict do nothing;
    end if;
  end if;
  if new.same_talk is distinct from old.same_talk and new.same_talk is not null then
    insert into fingerprint (key) values (new.same_talk) on conflict do nothing;
    if not found then
      insert into duplicate_candidate (rule, key) values ('same-talk', new.same_talk)
      on conflict do nothing;
    end if;
  end if;
  return null;
end $$;

-- Triggers for each row run in the order of their names, and before those for each statement. With
-- this name the fingerprints come first on insert and on update, before counts and search words:
-- the same order prevents deadlocks.
create or replace trigger add_inserted_fingerprints
  after insert on video
  for each row execute function add_fingerprints();

create or replace trigger add_updated_fingerprints
  after update on video
  for each row
  when (old.same_source is distinct from new.same_source
        or old.same_talk is distinct from new.same_talk)
  execute function add_fingerprints();

-- Earlier names.
drop trigger if exists record_inserted_fingerprints on video;
drop trigger if exists record_updated_fingerprints on video;
drop function if exists record_fingerprints();

-- Builds both tables from scratch: after tables were loaded by other means, and to remove what is
-- no longer a duplicate.
create or replace function rebuild_fingerprints() returns void
  language plpgsql set search_path from current as $$
begin
  -- Blocks writes of records until the end of the transaction.
  lock table video in share row exclusive mode;
  delete from duplicate_candidate;
  truncate fingerprint;
  insert into fingerprint (key)
  select same_source from video where same_source is not null
  union
  select same_talk from video where same_talk is not null;
  insert into duplicate_candidate (rule, key)
  select 'same-source', same_source
  from video
  where same_source is not null
  group by same_source
  having count(*) > 1
  union all
  select 'same-talk', same_talk
  from video
  where same_talk is not null
  group by same_talk
  having count(*) > 1;
end $$;
