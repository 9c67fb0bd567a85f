-- Suggestions: what readers without an account want to have corrected. A correction is the fields
-- that a reader changed in a version of a talk; it is merged like the edit of an editor.

create table suggestion (
  id            bigint      generated always as identity primary key,
  kind          text        not null
                            check (kind in ('correction', 'dead-link', 'duplicate', 'missing',
                                            'removal')),
  video_id      bigint      references video,  -- null: a talk that is missing
  base_revision integer,    -- of the talk that the reader saw
  fields        jsonb       not null check (octet_length(fields::text) <= 131072),
  kept_ids      jsonb       not null default '{}',  -- of names that the talk had: they may change
  duplicate_of  bigint      references video,
  comment       text        not null check (length(comment) <= 2000),
  name          text        check (length(name) <= 100),
  show_name     boolean     not null,  -- to readers, once it is accepted
  -- The author follows the suggestion by a link with a secret. Only its hash is stored.
  secret_hash   bytea       not null unique,
  content_hash  bytea       not null,  -- the same suggestion is open only once
  low_priority  boolean     not null,  -- behind all others in the queue: probably abuse
  state         text        not null default 'open'
                            check (state in ('open', 'accepted', 'declined', 'withdrawn', 'done')),
  reason        text        check (length(reason) <= 500),  -- why it was declined
  reply         text        check (length(reply) <= 1000),  -- of the author, once
  taken         text[],     -- the fields that were accepted
  -- The talk that accepting changed, and its new revision. It is another talk than video_id if that
  -- was merged. Null if nothing was changed.
  decided_video_id bigint   references video,
  revision      integer,
  closed_by     text,       -- null: the author, or the service
  closed        timestamptz,
  decision_hash bytea,      -- of the request that decided it, to recognize a repeated one
  created       timestamptz not null default now(),
  check ((kind = 'missing') = (video_id is null)),
  check ((kind = 'duplicate') = (duplicate_of is not null)),
  check ((video_id is null) = (base_revision is null)),
  check ((state = 'open') = (closed is null)),
  check ((state = 'declined') = (reason is not null)),
  check ((decided_video_id is null) = (revision is null)),
  check (state = 'accepted' or revision is null)
);
create index suggestion_queue on suggestion (state, low_priority, id);
create unique index suggestion_content on suggestion (content_hash) where state = 'open';
create index suggestion_video on suggestion (video_id);
create index suggestion_duplicate_of on suggestion (duplicate_of) where duplicate_of is not null;
create index suggestion_decided_video on suggestion (decided_video_id)
  where decided_video_id is not null;
create index suggestion_closed on suggestion (closed) where closed is not null;

-- From which network a suggestion came, for limits. Networks are stored as an HMAC with a key of
-- the day. Both are deleted after 7 days.
create table suggestion_sender (
  suggestion_id bigint      primary key references suggestion on delete cascade,
  network       bytea       not null,
  form_hash     bytea       unique,  -- of the form that was sent: it is used once
  input_hash    bytea,      -- of what was typed, with a key that is not stored
  at            timestamptz not null default now()
);
create index suggestion_sender_network on suggestion_sender (network, at);
create index suggestion_sender_at on suggestion_sender (at);

create table suggestion_key (
  day date  primary key,
  key bytea not null
);
