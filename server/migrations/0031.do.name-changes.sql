-- Permanent name changes: a former name of a speaker disappears from all tables, also from the
-- history (docs/decisions/0049-speakers.md).

-- Removes case and accents, also from composed characters. Much faster than fold for ASCII.
create function name_key(text) returns text
  language sql immutable strict parallel safe
  return case
    when octet_length($1) = length($1) then lower($1)
    else fold(normalize($1, nfkc))
  end;

-- Names that speakers no longer want to be called. An import that brings one gets the new name. Only
-- hashes of the former names are stored.
create table former_name (
  digest      bytea       primary key,  -- of the folded words of the name
  words       smallint    not null,     -- their number
  speaker_id  bigint      not null references speaker,
  replacement text        not null,
  in_links    boolean     not null,     -- also replaced in links to other sites
  created     timestamptz not null default now()
);
create index former_name_speaker on former_name (speaker_id);

-- A change of a name: planned by a search through all tables, then applied table by table. Any
-- process claims the next batch.
create table name_change (
  id         bigint      generated always as identity primary key,
  speaker_id bigint      not null references speaker,
  state      text        not null default 'planning'
                         check (state in ('planning', 'planned', 'applying', 'applied',
                                          'discarded')),
  -- [{"old": ..., "new": ...}]; null once it is applied or discarded.
  names      jsonb,
  in_links   boolean     not null default false,
  pass       integer     not null default 1,   -- over all tables, until one changes nothing
  table_name text        not null default '',  -- the table that is searched; '' before the first
  block      integer     not null default 0,   -- its next block
  changed    integer     not null default 0,   -- rows that were changed, in this pass
  total      integer     not null default 0,   -- in all passes
  blocks     integer     not null default 64,  -- that a batch of this table searches
  problem    text        check (problem in ('too-slow', 'failed')),  -- of the last batch
  -- A process that runs a batch; another one may take over after that time.
  lease        uuid,
  leased_until timestamptz,
  actor      text        not null,
  person_id  bigint,
  request_id text        not null,
  created    timestamptz not null default now(),
  touched    timestamptz not null default now(),
  applied    timestamptz,
  check ((names is null) = (state in ('applied', 'discarded')))
);
create index name_change_speaker on name_change (speaker_id);
create index name_change_running on name_change (id) where state in ('planning', 'applying');

-- Where a name was found. Deleted once the change is applied, except for what could not be changed.
create table name_change_place (
  name_change_id bigint  not null references name_change on delete cascade,
  position       integer not null,
  subject        text    not null,            -- video, facts, speaker ..., or a table
  subject_id     bigint  not null default 0,  -- 0: all rows of a table
  field          text    not null default '',
  title          text    not null default '', -- what the subject is called
  before         text    not null default '', -- an excerpt
  after          text    not null default '',
  rows           integer not null default 1,
  is_kept        boolean not null default false,  -- an editor wants to keep it
  refusal        text,                            -- why it could not be changed
  primary key (name_change_id, position)
);
create unique index name_change_place_subject
  on name_change_place (name_change_id, subject, subject_id, field);

-- Links with which speakers confirm or correct their own talks, without an account. An editor creates
-- and sends them. Only the SHA-256 of the secret is stored.
create table speaker_link (
  id         bigint      generated always as identity primary key,
  hash       bytea       not null unique,
  speaker_id bigint      not null references speaker,
  actor      text        not null,  -- who created it
  person_id  bigint,
  created    timestamptz not null default now(),
  expires    timestamptz not null,
  revoked    timestamptz,
  last_used  timestamptz
);
create index speaker_link_speaker on speaker_link (speaker_id);

-- What a speaker said to be right: a talk, in a revision.
create table speaker_confirmation (
  speaker_id bigint      not null references speaker,
  video_id   bigint      not null references video,
  revision   integer     not null,
  at         timestamptz not null default now(),
  primary key (speaker_id, video_id)
);
create index speaker_confirmation_video on speaker_confirmation (video_id);

-- What a speaker asks for that is no suggestion about a talk. The text is deleted when it is done.
create table speaker_request (
  id         bigint      generated always as identity primary key,
  speaker_id bigint      not null references speaker,
  kind       text        not null check (kind in ('profile', 'name', 'removal')),
  comment    text        not null check (length(comment) <= 2000),
  created    timestamptz not null default now(),
  closed     timestamptz,
  closed_by  text
);
create index speaker_request_speaker on speaker_request (speaker_id);
create index speaker_request_open on speaker_request (id) where closed is null;

-- The suggestions that came by the link of a speaker.
create table speaker_suggestion (
  suggestion_id bigint      primary key references suggestion on delete cascade,
  speaker_id    bigint      not null references speaker,
  created       timestamptz not null default now()
);
create index speaker_suggestion_speaker on speaker_suggestion (speaker_id, created);
