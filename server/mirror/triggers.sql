-- Refuses changes of a mirror, except by the process that copies. Every write adds a change.
create or replace function refuse_change_of_mirror() returns trigger
  language plpgsql set search_path from current as $$
begin
  if current_setting('talkshelf.copies', true) is distinct from 'on'
     and exists (select from mirror) then
    raise exception using
      errcode = 'TS001',  -- becomes a problem in server/platform/db/db.ts
      message = format('This is a copy of %s. Make the change there.',
                       (select source from mirror));
  end if;
  return null;
end $$;

create or replace trigger refuse_change_of_mirror
  before insert on change
  for each statement
  execute function refuse_change_of_mirror();
