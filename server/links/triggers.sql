-- Keeps the sources of each record, in the transaction that writes the record or its facts.

-- Returns the sources that records name, each once for a record.
create or replace function sources_of(ids bigint[]) returns table (video_id bigint, key uuid, url text)
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
create or replace function refresh_video_sources(ids bigint[]) returns setof bigint
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
  with added as (
    insert into video_source (video_id, source_id)
    select named.video_id, source.id
    from unnest(videos, keys) as named (video_id, key)
    join source using (key)
    on conflict do nothing
    returning source_id
  ), used_again as materialized (
    -- A source that no talk had was not checked for long.
    select id
    from source
    where id in (select source_id from added)
      and next_check > now() + interval '1 hour'
      and not exists (select from video_source where source_id = source.id)
    order by id
    for no key update
  )
  update source
  set next_check = now() + random() * interval '1 hour'
  from used_again
  where source.id = used_again.id;
  return query select unnest(ids);
end $$;

create or replace function refresh_inserted_sources() returns trigger
  language plpgsql set search_path from current as $$
begin
  perform refresh_video_sources(array(select id from added));
  return null;
end $$;

create or replace function refresh_updated_sources() returns trigger
  language plpgsql set search_path from current as $$
begin
  perform refresh_video_sources(array[new.id]);
  return null;
end $$;

create or replace function refresh_sources_of_facts() returns trigger
  language plpgsql set search_path from current as $$
begin
  perform refresh_video_sources(array[coalesce(new.id, old.id)]);
  return null;
end $$;

create or replace trigger refresh_inserted_sources
  after insert on video
  referencing new table as added
  for each statement execute function refresh_inserted_sources();

create or replace trigger refresh_updated_sources
  after update on video
  for each row
  when ((old.source_url, old.video_mp4_url, old.video_webm_url, old.video_ogv_url,
         old.video_flv_url)
        is distinct from
        (new.source_url, new.video_mp4_url, new.video_webm_url, new.video_ogv_url,
         new.video_flv_url))
  execute function refresh_updated_sources();

create or replace trigger refresh_sources_of_facts
  after insert or update of facts or delete on video_facts
  for each row execute function refresh_sources_of_facts();

-- A replacement of a source that the record no longer has needs no decision.
create or replace function delete_stale_replacements() returns trigger
  language plpgsql set search_path from current as $$
begin
  delete from replacement
  where video_id = old.video_id and source_id = old.source_id and state = 'open';
  return null;
end $$;

create or replace trigger delete_stale_replacements
  after delete on video_source
  for each row execute function delete_stale_replacements();

-- Of a record that is taken down nothing is kept.
create or replace function delete_replacements() returns trigger
  language plpgsql set search_path from current as $$
begin
  delete from replacement where video_id = new.id;
  return null;
end $$;

create or replace trigger delete_replacements
  after update on video
  for each row
  when (old.taken_down is null and new.taken_down is not null)
  execute function delete_replacements();
