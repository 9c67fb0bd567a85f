-- What editors have typed and not saved yet: one copy for each person and talk.
create table working_copy (
  person_id bigint      not null references person,
  video_id  bigint      not null references video,
  revision  integer     not null,  -- of the talk that the person saw
  form      text        not null,  -- the fields of the form, URL-encoded
  saved     timestamptz not null default now(),
  primary key (person_id, video_id)
);
create index working_copy_video on working_copy (video_id);
create index working_copy_saved on working_copy (saved);
