-- Matches join the talks of a schedule with the recordings of a playlist. What a file said is stored
-- with its match until the match is deleted; what people decided belongs to the keys of both sources
-- and stays. Written by server/matches.
create table match (
  id               bigint generated always as identity primary key,
  name             text        not null,
  event            text        not null,
  talk_source      text        not null,
  recording_source text        not null,
  -- The last import that was planned from it.
  import_id        bigint references import (id) on delete set null,
  actor            text        not null,
  created          timestamptz not null default now()
);
create index match_by_import on match (import_id);

-- How the titles of the playlists of a series of events are written, learned from sure pairs. The
-- series is the title of an event without its numbers.
create table match_pattern (
  recording_source text not null,
  series           text not null,
  pattern          text not null,
  primary key (recording_source, series)
);

create table match_item (
  match_id bigint  not null references match (id) on delete cascade,
  side     text    not null check (side in ('talk', 'recording')),
  position integer not null,
  -- The key of a talk at its source; null for events, people and what can't be read.
  key      text,
  item     jsonb   not null,
  primary key (match_id, side, position)
);
create index match_item_by_key on match_item (key);

create table match_decision (
  id               bigint generated always as identity primary key,
  match_id         bigint references match (id) on delete set null,
  talk_source      text        not null,
  recording_source text        not null,
  verdict          text        not null,
  talk_key         text,
  recording_key    text,
  -- Hashes of the titles: a decision holds while both are the same.
  talk_title       text,
  recording_title  text,
  -- Why a talk has no recording.
  status           text,
  start_seconds    integer,
  end_seconds      integer,
  -- The first decision of those that were made at once, and are undone at once.
  step             bigint      not null,
  -- The step that replaced it; its own if it was undone.
  replaced_by      bigint,
  actor            text        not null,
  created          timestamptz not null default now()
);
create index match_decision_of_talk on match_decision (talk_source, talk_key)
  where replaced_by is null;
create index match_decision_of_recording on match_decision (recording_source, recording_key)
  where replaced_by is null;
create index match_decision_replaced on match_decision (replaced_by)
  where replaced_by is not null;
create index match_decision_by_match on match_decision (match_id, step);
create index match_decision_by_step on match_decision (step);
