-- Removes the content of a record that is taken down from the rows of all imports, and from what
-- sources had about it. The keys of the record in its sources stay, so that no later import brings
-- it back.

create or replace function redact_import_rows(id bigint) returns void
  language sql set search_path from current
begin atomic
  update import_row
  set place = 'row ' || position,
      item = null,
      changes = '{}',
      notes = '[{"kind": "refused", "field": "", "detail": "The record was taken down"}]',
      before = case
        when before is not null
        then '{"previousState": null, "revision": null, "facts": null}'::jsonb
      end
  where video_id = $1;
  update source_record
  set state = '{"fields": {}, "facts": []}'
  where video_id = $1;
end;

create or replace function redact_taken_down() returns trigger
  language plpgsql set search_path from current as $$
begin
  perform redact_import_rows(new.id);
  return null;
end $$;

create or replace trigger redact_taken_down
  after update on video
  for each row
  when (old.taken_down is null and new.taken_down is not null)
  execute function redact_taken_down();
