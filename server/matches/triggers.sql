-- Deletes a talk that is taken down from the files of all matches: its talk and its recordings.

create or replace function delete_matched_items() returns trigger
  language plpgsql set search_path from current as $$
begin
  delete from match_item
  using match, source_record
  where match.id = match_item.match_id
    and source_record.video_id = new.id
    and source_record.key = match_item.key
    and source_record.source = case side
      when 'talk' then talk_source
      else recording_source
    end;
  -- Also where the talk was not imported yet.
  delete from match_item
  where old.source_url is not null
    and item #>> '{fields,source_url}' is not null
    and source_identity(item #>> '{fields,source_url}') = source_identity(old.source_url);
  return null;
end $$;

create or replace trigger delete_matched_items
  after update on video
  for each row
  when (old.taken_down is null and new.taken_down is not null)
  execute function delete_matched_items();
