-- Webhooks: URLs to which the entries of the change feed are posted. A webhook is a position in the
-- feed and not a queue of messages: entries are in feed_entry, and never change.

create table webhook (
  id                bigint      generated always as identity primary key,
  url               text        not null,
  filter            jsonb       not null,  -- kind, category, speaker, tag: as in /api/v2/changes
  state             text        not null default 'new'
                                check (state in ('new', 'active', 'failing', 'disabled')),
  seq               bigint      not null,  -- the last entry that was delivered
  batch_end         bigint,     -- the last entry of the batch that is being sent
  batch_filter      jsonb,      -- the filter of that batch: with another one it is composed anew
  attempt           integer     not null default 0,  -- failed attempts to send this batch
  attempted         timestamptz,  -- the last attempt: the webhook that waited longest is next
  next_attempt      timestamptz,  -- not before; null: at once
  -- A process that sends a batch has a lease. Only its owner may say how the attempt ended.
  lease             uuid,
  leased_until      timestamptz,
  -- The secret is derived from WEBHOOK_KEY, the id and the salt. It is not stored. The salt is
  -- random, so that no secret is used a second time after a restore.
  salt              uuid        not null default gen_random_uuid(),
  old_salt          uuid,       -- of the previous secret
  old_secret_until  timestamptz,  -- until then the previous secret signs too
  failing_since     timestamptz,
  replays           integer     not null default 0,  -- part of the ids of messages
  created           timestamptz not null default now(),
  check (batch_end > seq),
  check ((batch_end is null) = (batch_filter is null)),
  check ((lease is null) = (leased_until is null))
);

-- The last attempts of each webhook.
create table webhook_delivery (
  id          bigint      generated always as identity primary key,
  webhook_id  bigint      not null references webhook on delete cascade,
  at          timestamptz not null default now(),
  message     text        not null,  -- the header webhook-id
  entries     integer     not null,  -- 0: a ping
  outcome     text        not null,
  status      integer,    -- of the answer, if there was one
  duration_ms integer     not null,
  answer      text        not null   -- its beginning
);
create index webhook_delivery_of on webhook_delivery (webhook_id, id);
