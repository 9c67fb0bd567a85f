-- Roles for single events, and the person behind a change.

-- People who edit the talks of an event, whatever their role for the whole archive.
create table event_editor (
  person_id   bigint      not null references person,
  category_id bigint      not null references category,
  created     timestamptz not null default now(),
  primary key (person_id, category_id)
);
create index event_editor_category on event_editor (category_id);

-- The event whose talks the holder of a token edits. Null: those of the whole archive.
alter table token add column category_id bigint references category;

-- Who was signed in. No foreign keys: they would lock the row of the person on every write.
alter table change add column person_id bigint;
alter table import add column person_id bigint;
alter table rename_job add column person_id bigint;
