-- Cancels the scheduled publication of a record in the transaction that publishes it, makes it a
-- draft again, merges it into another one or takes it down.
create or replace function cancel_publication() returns trigger
  language plpgsql set search_path from current as $$
begin
  delete from scheduled_publication where video_id = new.id;
  return null;
end $$;

create or replace trigger cancel_publication
  after update on video
  for each row
  when (old.state <> new.state
        or old.taken_down is distinct from new.taken_down
        or old.merged_into is distinct from new.merged_into)
  execute function cancel_publication();
