-- Drafts that go live at a time. The row is deleted when the state of the record changes.
create table scheduled_publication (
  video_id   bigint      primary key references video,
  publish_at timestamptz not null,
  -- Who scheduled it, and how: the origin of the change.
  actor      text        not null,
  token_id   bigint      references token,
  person_id  bigint      references person,
  via        text        not null,
  request_id text        not null
);
create index scheduled_publication_time on scheduled_publication (publish_at);
create index scheduled_publication_token on scheduled_publication (token_id);
create index scheduled_publication_person on scheduled_publication (person_id);
