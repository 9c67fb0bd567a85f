-- Sources: the places where the videos of talks are, and whether they are still there. A source is
-- one video at one host, whichever of its URLs a talk has; several talks may share it. Sources are
-- never deleted, so that their history stays.

-- Returns the name of the host that is asked about a URL. Null if it has none.
create function source_host(address text) returns text
  language sql immutable parallel safe
  return case
    when source_identity(address) like 'youtube:%' then 'www.youtube.com'
    when source_identity(address) like 'vimeo:%' then 'vimeo.com'
    when source_identity(address) like 'archive.org:%' then 'archive.org'
    else lower(substring(address from
      '^[Hh][Tt][Tt][Pp][Ss]?://(?:[^/?#@]*@)?([A-Za-z0-9_-]+(?:[.][A-Za-z0-9_-]+)+)[.]?(?::[0-9]*)?(?:[/?#]|$)'))
  end;

-- Returns who runs a host: the registered domain, as far as it can be told from the name. Hosts of
-- one operator are lost together.
create function source_operator(host text) returns text
  language sql immutable parallel safe
  return coalesce(
    -- Buckets and sites of others, below the name of a provider.
    substring(host from '([^.]+[.](?:github[.]io|gitlab[.]io|blogspot[.]com|wordpress[.]com))$'),
    substring(host from '([^.]+[.](?:ac|co|com|edu|gov|net|org)[.][a-z]{2})$'),
    substring(host from '([^.]+[.][^.]+)$'),
    host);

-- Identifies a source. A hash, because URLs can be too long for an index.
create function source_key(address text) returns uuid
  language sql immutable parallel safe
  return left(encode(sha256(convert_to(source_identity(address), 'UTF8')), 'hex'), 32)::uuid;

create table source (
  id           bigint      generated always as identity primary key,
  key          uuid        not null unique,
  url          text        not null,  -- in the talk that had it first
  host         text        not null,
  operator     text        not null,
  state        text        not null default 'new'
                           check (state in ('new', 'ok', 'suspect', 'unreachable', 'embed-off',
                                            'region', 'age', 'moved', 'gone', 'private', 'removed',
                                            'closed')),
  since        timestamptz not null default now(),
  revision     integer     not null default 0,  -- counts the changes of its state in the history
  owner        text,       -- the channel or account at the host
  last_check   timestamptz,
  last_good    timestamptz,
  -- Spread over an hour: an import brings hundreds of the same host.
  next_check   timestamptz not null default now() + random() * interval '1 hour',
  pinned_until timestamptz,  -- the state was set by an editor
  -- What else the next check depends on: server/links/source-health.ts
  health       jsonb       not null default '{}',
  evidence     text,       -- what the host said last
  copies_searched timestamptz  -- when archive.org was asked for copies
);
create index source_due on source (host, next_check);
create index source_by_state on source (state, id) where state not in ('new', 'ok');
-- For the choice of a source with which an answer of its host is compared.
create index source_ok on source (host, since) where state = 'ok';
create index source_by_owner on source (host, owner) where owner is not null;

create table video_source (
  video_id  bigint not null references video,
  source_id bigint not null references source,
  primary key (video_id, source_id)
);
create index video_source_by_source on video_source (source_id);

-- How hosts are asked: never faster than their pace, whichever process asks. A request is counted
-- before it is sent, so that one that is lost with its process counts as well.
create table link_host (
  host         text        primary key,
  pace         jsonb       not null,  -- server/links/host-pace.ts
  next_turn    timestamptz not null,  -- when it may be asked next
  robots       jsonb,      -- the rules of its robots.txt: server/links/robots.ts
  robots_read  timestamptz,
  -- One process at a time checks the sources of a host.
  lease        uuid,
  leased_until timestamptz,
  check ((lease is null) = (leased_until is null))
);

-- The functions and the trigger come with the tables, because servers write talks until
-- server/links/triggers.sql replaces them, and the talks are gone through while they do.

-- Returns the sources that records name, each once for a record.
create function sources_of(ids bigint[]) returns table (video_id bigint, key uuid, url text)
  language sql stable
begin atomic
  select distinct on (named.video_id, source_key(named.url))
         named.video_id, source_key(named.url), named.url
  from (select id as video_id, urls.url
        from video
        cross join lateral (values (source_url), (video_mp4_url), (video_webm_url),
                                   (video_ogv_url), (video_flv_url)) as urls (url)
        where id = any (ids)
        union all
        select id, fact ->> 'url'
        from video_facts
        cross join lateral jsonb_array_elements(facts) as fact
        where id = any (ids) and fact ->> 'kind' in ('media', 'part')) as named
  where named.url ~* '^https?://' and length(named.url) <= 2048
    and source_host(named.url) is not null
  order by named.video_id, source_key(named.url), named.url;
end;

-- Makes the sources of records those that they name. Returns their ids.
create function refresh_video_sources(ids bigint[]) returns setof bigint
  language plpgsql set search_path from current as $$
declare
  videos bigint[];
  keys uuid[];
  urls text[];
begin
  select array_agg(named.video_id), array_agg(named.key), array_agg(named.url)
  into videos, keys, urls
  from sources_of(ids) as named;
  -- In the order of the keys: writers that add the same ones would deadlock otherwise.
  insert into source (key, url, host, operator)
  select distinct on (named.key)
         named.key, named.url, source_host(named.url), source_operator(source_host(named.url))
  from unnest(keys, urls) as named (key, url)
  order by named.key, named.url
  on conflict (key) do nothing;
  delete from video_source
  using source
  where video_source.video_id = any (ids)
    and source.id = video_source.source_id
    and not exists (select
                    from unnest(videos, keys) as named (video_id, key)
                    where named.video_id = video_source.video_id and named.key = source.key);
  insert into video_source (video_id, source_id)
  select named.video_id, source.id
  from unnest(videos, keys) as named (video_id, key)
  join source using (key)
  on conflict do nothing;
  return query select unnest(ids);
end $$;

create function refresh_inserted_sources() returns trigger
  language plpgsql set search_path from current as $$
begin
  perform refresh_video_sources(array(select id from added));
  return null;
end $$;

create function refresh_updated_sources() returns trigger
  language plpgsql set search_path from current as $$
begin
  perform refresh_video_sources(array[new.id]);
  return null;
end $$;

create function refresh_sources_of_facts() returns trigger
  language plpgsql set search_path from current as $$
begin
  perform refresh_video_sources(array[coalesce(new.id, old.id)]);
  return null;
end $$;

create trigger refresh_inserted_sources
  after insert on video
  referencing new table as added
  for each statement execute function refresh_inserted_sources();

create trigger refresh_updated_sources
  after update on video
  for each row
  when ((old.source_url, old.video_mp4_url, old.video_webm_url, old.video_ogv_url,
         old.video_flv_url)
        is distinct from
        (new.source_url, new.video_mp4_url, new.video_webm_url, new.video_ogv_url,
         new.video_flv_url))
  execute function refresh_updated_sources();
