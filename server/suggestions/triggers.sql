-- Closes the suggestions about a record that is taken down, and removes their texts: they can
-- contain what must not be kept. A hash of a short text would confirm guesses.

create or replace function redact_suggestions(id bigint) returns void
  language sql set search_path from current
begin atomic
  update suggestion
  set fields = '{}',
      kept_ids = '{}',
      comment = '',
      name = null,
      show_name = false,
      reply = null,
      reason = case when state = 'declined' then 'taken-down' end,
      content_hash = sha256(uuid_send(gen_random_uuid())),
      state = case when state = 'open' then 'done' else state end,
      closed = coalesce(closed, now())
  where video_id = $1 or decided_video_id = $1 or duplicate_of = $1;
end;

create or replace function redact_suggestions_of_taken_down() returns trigger
  language plpgsql set search_path from current as $$
begin
  perform redact_suggestions(new.id);
  return null;
end $$;

create or replace trigger redact_suggestions
  after update on video
  for each row
  when (old.taken_down is null and new.taken_down is not null)
  execute function redact_suggestions_of_taken_down();

-- Locks the suggestions about records that are about to be taken down. Decisions lock a suggestion
-- first and its record then, so this comes before the lock of the records. No suggestion is added
-- until the end of the transaction.
create or replace function lock_suggestions(videos bigint[]) returns void
  language plpgsql set search_path from current as $$
begin
  perform pg_advisory_xact_lock(hashtext('suggestions'));
  perform
  from suggestion
  where video_id = any (videos) or decided_video_id = any (videos) or duplicate_of = any (videos)
  order by id
  for no key update;
end $$;
