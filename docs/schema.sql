-- The schema that server/migrations make, as pg_dump 15 writes it. Made by npm run docs.

CREATE EXTENSION IF NOT EXISTS pg_trgm WITH SCHEMA public;

COMMENT ON EXTENSION pg_trgm IS 'text similarity measurement and index searching based on trigrams';

CREATE EXTENSION IF NOT EXISTS unaccent WITH SCHEMA public;

COMMENT ON EXTENSION unaccent IS 'text search dictionary that removes accents';

CREATE FUNCTION public.add_search_words(ids bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    SET search_path TO '$user', 'public'
    AS $$
begin
  insert into search_word (word)
  select said.word
  from search_words_of(ids) as said
  -- One look for each word, however many words are known.
  where (select known.word from search_word as known where known.word = said.word collate "C") is null
  order by said.word
  on conflict do nothing;
end $$;

CREATE FUNCTION public.unspaced_scripts() RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN '฀-໿က-႟ក-៿぀-ヿ㐀-䶿一-鿿가-힯豈-﫿'::text;

CREATE FUNCTION public.character_bigrams(text) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    BEGIN ATOMIC
 SELECT string_agg(
         CASE
             WHEN (pieces.piece[1] ~ (('['::text || public.unspaced_scripts()) || ']'::text)) THEN ( SELECT string_agg((pairs.letter || pairs.following), ' '::text ORDER BY pairs.place) AS string_agg
                FROM ( SELECT letters.letter,
                         COALESCE(lead(letters.letter) OVER (ORDER BY letters.place), ''::text) AS following,
                         letters.place
                        FROM unnest(string_to_array(pieces.piece[1], NULL::text)) WITH ORDINALITY letters(letter, place)) pairs)
             ELSE pieces.piece[1]
         END, ' '::text ORDER BY pieces.place) AS string_agg
    FROM regexp_matches($1, (((('(['::text || public.unspaced_scripts()) || ']+|[^'::text) || public.unspaced_scripts()) || ']+)'::text), 'g'::text) WITH ORDINALITY pieces(piece, place);
END;

CREATE FUNCTION public.compact_talk_counts() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO '$user', 'public'
    AS $$
begin
  if random() < 0.98 then
    return null;
  end if;
  with mine as (
    select ctid from talk_count where (kind, entity_id) in (select kind, entity_id from written) for update skip locked
  ), taken as (
    delete from talk_count using mine where talk_count.ctid = mine.ctid returning kind, entity_id, talks
  )
  insert into talk_count (kind, entity_id, talks)
  select kind, entity_id, sum(talks) from taken group by kind, entity_id having sum(talks) <> 0;
  return null;
end $$;

CREATE FUNCTION public.count_inserted_talks() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO '$user', 'public'
    AS $$
begin
  insert into talk_count (kind, entity_id, talks)
  select kind, entity_id, count(*)
  from added, counted_entities(state, taken_down, category_id, language_id, speaker_ids, tag_ids)
  group by kind, entity_id;
  return null;
end $$;

CREATE FUNCTION public.count_updated_talk() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO '$user', 'public'
    AS $$
begin
  insert into talk_count (kind, entity_id, talks)
  select kind, entity_id, sum(talks)
  from (select kind, entity_id, 1 as talks
        from counted_entities(new.state, new.taken_down, new.category_id, new.language_id, new.speaker_ids, new.tag_ids)
        union all
        select kind, entity_id, -1
        from counted_entities(old.state, old.taken_down, old.category_id, old.language_id, old.speaker_ids, old.tag_ids)) as changed
  group by kind, entity_id having sum(talks) <> 0;
  return null;
end $$;

CREATE FUNCTION public.counted_entities(state smallint, taken_down date, category_id bigint, language_id integer, speaker_ids bigint[], tag_ids bigint[]) RETURNS TABLE(kind text, entity_id bigint)
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT entities.kind,
     entities.entity_id
    FROM ( SELECT 'category'::text AS kind,
             counted_entities.category_id AS entity_id
         UNION ALL
          SELECT 'language'::text,
             counted_entities.language_id
         UNION ALL
          SELECT 'speaker'::text,
             unnest(counted_entities.speaker_ids) AS unnest
         UNION ALL
          SELECT 'tag'::text,
             unnest(counted_entities.tag_ids) AS unnest) entities
   WHERE ((counted_entities.state = 1) AND (counted_entities.taken_down IS NULL));
END;

CREATE PROCEDURE public.create_search_indexes()
    LANGUAGE plpgsql
    SET search_path TO '$user', 'public'
    AS $$
begin
  create index video_search_head on video_search using gin ((keys || head)) with (fastupdate = off);
  create index video_search_all on video_search using gin ((keys || head || text)) with (fastupdate = off);
end $$;

CREATE FUNCTION public.duration_range_of(duration integer) RETURNS smallint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (CASE WHEN ((duration IS NULL) OR (duration = 0)) THEN 0 WHEN (duration < 600) THEN 1 WHEN (duration < 1800) THEN 2 WHEN (duration < 3600) THEN 3 ELSE 4 END)::smallint;

CREATE FUNCTION public.fold(text) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN lower(public.unaccent('public.unaccent'::regdictionary, $1));

CREATE FUNCTION public.index_inserted_videos() RETURNS trigger
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    SET search_path TO '$user', 'public'
    AS $$
begin
  insert into video_search select source.* from added, lateral (select * from search_source where id = added.id offset 0) as source;
  perform add_search_words(array(select id from added));
  return null;
end $$;

CREATE FUNCTION public.index_updated_video() RETURNS trigger
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    SET search_path TO '$user', 'public'
    AS $_$
declare
  was_live constant boolean := old.state = 1 and old.taken_down is null;
  is_live  constant boolean := new.state = 1 and new.taken_down is null;
  slice    regclass;
  kept     tsvector;
begin
  if was_live then
    select tableoid, text into slice, kept from video_search where id = new.id and year_key = year_key_of(old.recorded);
    -- In its slice: through the whole table it would open all of them. A row that is missing there
    -- must not make the record unwritable: it is removed wherever it lies, and written anew below.
    execute format('delete from %s where id = $1', coalesce(slice, 'video_search')) using new.id;
    -- Reading a long text again is most of the work, and seldom needed.
    if old.summary <> new.summary or old.description <> new.description or old.language_id <> new.language_id then kept := null; end if;
  end if;
  if is_live then
    insert into video_search
    select id, year_key, recorded, category_id, language_id, speaker_ids, tag_ids, length, keys, head, coalesce(kept, text) from search_source where id = new.id;
    perform add_search_words(array[new.id]);
  end if;
  return null;
end $_$;

CREATE FUNCTION public.normalized_words(text, longest integer DEFAULT 150000) RETURNS text
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    SET search_path TO '$user', 'public'
    AS $_$
declare
  plain text := $1;
begin
  -- One character can stand for eighteen: what comes of them is cut before the slow steps as well.
  if octet_length(plain) > length(plain) then plain := unaccent('unaccent', left(normalize(plain, nfkc), 2 * longest)); end if;
  plain := left(regexp_replace(replace(replace(lower(plain), 'c++', 'cplusplus'), 'c#', 'csharp'),
    U&'[\0001-\002f\003a-\0060\007b-\00bf\0300-\036f\2000-\206f\20a0-\20cf\2100-\2bff\2e00-\2e7f\3000-\303f\30fb\fe00-\fe6f\ff5f-\ff65\+01f000-\+01faff]+',
    ' ', 'g'), longest);
  return case when plain ~ ('[' || unspaced_scripts() || ']') then left(character_bigrams(plain), longest) else plain end;
end $_$;

CREATE FUNCTION public.rebuild_fingerprints() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO '$user', 'public'
    AS $$
begin
  -- Until the end of the transaction nobody writes a record.
  lock table video in share row exclusive mode;
  delete from duplicate_candidate;
  truncate fingerprint;
  insert into fingerprint (key)
  select same_source from video where same_source is not null union select same_talk from video where same_talk is not null;
  insert into duplicate_candidate (rule, key)
  select 'same-source', same_source from video where same_source is not null group by same_source having count(*) > 1
  union all
  select 'same-talk', same_talk from video where same_talk is not null group by same_talk having count(*) > 1;
end $$;

CREATE PROCEDURE public.rebuild_search()
    LANGUAGE plpgsql
    SET search_path TO '$user', 'public'
    AS $$
begin
  -- Until the end of the transaction nobody writes a record, and nobody searches.
  lock table video in share row exclusive mode;
  drop index video_search_head, video_search_all;
  truncate video_search, search_word;
  insert into video_search select * from search_source;
  perform add_search_words(array(select id from video));
  call create_search_indexes();
end $$;

CREATE FUNCTION public.record_fingerprints() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO '$user', 'public'
    AS $$
begin
  if new.same_source is distinct from old.same_source and new.same_source is not null then
    insert into fingerprint (key) values (new.same_source) on conflict do nothing;
    if not found then
      insert into duplicate_candidate (rule, key) values ('same-source', new.same_source) on conflict do nothing;
    end if;
  end if;
  if new.same_talk is distinct from old.same_talk and new.same_talk is not null then
    insert into fingerprint (key) values (new.same_talk) on conflict do nothing;
    if not found then
      insert into duplicate_candidate (rule, key) values ('same-talk', new.same_talk) on conflict do nothing;
    end if;
  end if;
  return null;
end $$;

CREATE FUNCTION public.recount_talks() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO '$user', 'public'
    AS $$
begin
  -- Until the end of the transaction nobody writes a record: what is counted is what is there.
  lock table video in share row exclusive mode;
  delete from talk_count;
  insert into talk_count (kind, entity_id, talks)
  select kind, entity_id, count(*)
  from video, counted_entities(state, taken_down, category_id, language_id, speaker_ids, tag_ids)
  group by kind, entity_id;
end $$;

CREATE TABLE public.import_row (
    import_id bigint NOT NULL,
    "position" integer NOT NULL,
    place text NOT NULL,
    key text,
    draft jsonb,
    bytes integer NOT NULL,
    verdict text NOT NULL,
    video_id bigint,
    changes jsonb DEFAULT '{}'::jsonb NOT NULL,
    notes jsonb DEFAULT '[]'::jsonb NOT NULL,
    decision jsonb,
    outcome text,
    revision integer,
    facts_revision integer,
    before jsonb,
    undone text,
    CONSTRAINT import_row_outcome_check CHECK ((outcome = ANY (ARRAY['created'::text, 'changed'::text, 'unchanged'::text, 'kept'::text, 'refused'::text]))),
    CONSTRAINT import_row_undone_check CHECK ((undone = ANY (ARRAY['undone'::text, 'touched'::text]))),
    CONSTRAINT import_row_verdict_check CHECK ((verdict = ANY (ARRAY['new'::text, 'changed'::text, 'unchanged'::text, 'conflict'::text, 'refused'::text])))
);

CREATE TABLE public.source_record (
    source text NOT NULL,
    key text NOT NULL,
    video_id bigint NOT NULL,
    said jsonb NOT NULL
);

CREATE FUNCTION public.redact_import_rows(id bigint) RETURNS void
    LANGUAGE sql
    SET search_path TO '$user', 'public'
    BEGIN ATOMIC
 UPDATE public.import_row SET place = ('row '::text || import_row."position"), draft = NULL::jsonb, changes = '{}'::jsonb, notes = '[{"kind": "refused", "field": "", "detail": "The record was taken down"}]'::jsonb, before =
         CASE
             WHEN (import_row.before IS NOT NULL) THEN '{"said": null, "facts": null, "revision": null}'::jsonb
             ELSE NULL::jsonb
         END
   WHERE (import_row.video_id = redact_import_rows.id);
 UPDATE public.source_record SET said = '{"facts": [], "fields": {}}'::jsonb
   WHERE (source_record.video_id = redact_import_rows.id);
END;

CREATE FUNCTION public.redact_taken_down() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO '$user', 'public'
    AS $$
begin
  perform redact_import_rows(new.id);
  return null;
end $$;

CREATE FUNCTION public.reindex_videos(ids bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    SET search_path TO '$user', 'public'
    AS $$
begin
  with gone as (delete from video_search where id = any (ids) returning id, text)
  insert into video_search
  select source.id, year_key, recorded, category_id, language_id, speaker_ids, tag_ids, length, keys, head, gone.text
  from gone, lateral (select * from search_source where id = gone.id offset 0) as source;
  perform add_search_words(ids);
end $$;

CREATE FUNCTION public.sorted_ids(bigint[]) RETURNS bigint[]
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN ARRAY(SELECT DISTINCT unnest($1) AS unnest ORDER BY (unnest($1)));

CREATE FUNCTION public.source_fingerprint(identity text) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (hashtextextended(identity, (0)::bigint) & '9007199254740991'::bigint);

CREATE FUNCTION public.source_identity(address text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN COALESCE(CASE WHEN (address ~ '^https?://(www[.])?youtube[.]com/watch[?]v=[A-Za-z0-9_-]{11}$'::text) THEN ('youtube:'::text || "right"(address, 11)) WHEN (address ~* '^https?://([a-z]+[.])?(youtube(-nocookie)?[.]com|youtu[.]be)/'::text) THEN COALESCE(('youtube:'::text || "substring"(address, '(?i)^https?://[a-z.-]+/(?:watch/?[?](?:[^#]*&)?v=|embed/|e/|v/|shorts/|live/|(?<=youtu[.]be/))([A-Za-z0-9_-]{11})(?![A-Za-z0-9_-])'::text)), address) WHEN (address ~* '^https?://([a-z]+[.])?vimeo[.]com/'::text) THEN COALESCE(('vimeo:'::text || "substring"(address, '(?i)^https?://[a-z.]+/(?:[a-z]+/)*(?:[^/]+/(?:videos?/))?([0-9]+)(?![0-9A-Za-z])'::text)), address) WHEN (address ~* '^https?://(www[.])?archive[.]org/(details|embed|download)/'::text) THEN ('archive.org:'::text || "substring"(address, '(?i)^https?://[a-z.]+/[a-z]+/([^/?#]+)'::text)) ELSE (lower("substring"(address, '(?i)^https?://(?:www[.])?([^/?#]*)'::text)) || regexp_replace(regexp_replace(regexp_replace(regexp_replace(address, '^https?://[^/?#]*'::text, ''::text, 'i'::text), '#.*'::text, ''::text), '([?&])(utm_[a-z]+=[^&]*&?)+'::text, '\1'::text, 'g'::text), '[/?&]+$'::text, ''::text)) END, address);

CREATE TABLE public.category (
    id bigint NOT NULL,
    slug text NOT NULL COLLATE pg_catalog."C",
    title text NOT NULL,
    description text DEFAULT ''::text NOT NULL,
    url text,
    start_date date,
    end_date date,
    revision integer DEFAULT 1 NOT NULL,
    merged_into bigint
);

CREATE TABLE public.speaker (
    id bigint NOT NULL,
    slug text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL,
    revision integer DEFAULT 0 NOT NULL,
    merged_into bigint,
    spelling text GENERATED ALWAYS AS (NULLIF(regexp_replace(regexp_replace(public.fold(name), '^((dr|prof|professor)([.] *| +))+'::text, ''::text), '[[:punct:][:space:]]'::text, ''::text, 'g'::text), ''::text)) STORED COLLATE pg_catalog."C"
);

CREATE TABLE public.tag (
    id bigint NOT NULL,
    slug text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL,
    revision integer DEFAULT 0 NOT NULL,
    merged_into bigint,
    spelling text GENERATED ALWAYS AS (NULLIF(regexp_replace(public.fold(name), '^#|[[:space:].,:;/''"()!?_-]'::text, ''::text, 'g'::text), ''::text)) STORED COLLATE pg_catalog."C"
);

CREATE TABLE public.video (
    id bigint NOT NULL,
    revision integer NOT NULL,
    slug text NOT NULL COLLATE pg_catalog."C",
    state smallint NOT NULL,
    category_id bigint NOT NULL,
    language_id integer NOT NULL,
    speaker_ids bigint[] NOT NULL,
    tag_ids bigint[] NOT NULL,
    title text NOT NULL,
    summary text NOT NULL,
    description text NOT NULL,
    quality_notes text NOT NULL,
    copyright_text text NOT NULL,
    embed text NOT NULL,
    thumbnail_url text,
    duration integer,
    video_ogv_length bigint,
    video_ogv_url text,
    video_ogv_download_only boolean NOT NULL,
    video_mp4_length bigint,
    video_mp4_url text,
    video_mp4_download_only boolean NOT NULL,
    video_webm_length bigint,
    video_webm_url text,
    video_webm_download_only boolean NOT NULL,
    video_flv_length bigint,
    video_flv_url text,
    video_flv_download_only boolean NOT NULL,
    source_url text,
    whiteboard text NOT NULL,
    recorded date,
    added timestamp(3) with time zone NOT NULL,
    updated timestamp(3) with time zone NOT NULL,
    taken_down date,
    takedown_reason text,
    no_speaker boolean GENERATED ALWAYS AS ((speaker_ids = '{}'::bigint[])) STORED,
    no_licence boolean GENERATED ALWAYS AS ((copyright_text !~ '\S'::text)) STORED,
    no_duration boolean GENERATED ALWAYS AS ((COALESCE(duration, 0) = 0)) STORED,
    duration_in_minutes boolean GENERATED ALWAYS AS (COALESCE((((duration >= 1) AND (duration <= 30)) OR ((duration <= 200) AND (duration > 0) AND ((duration % 5) = 0))), false)) STORED,
    no_description boolean GENERATED ALWAYS AS (((summary !~ '\S'::text) AND (description !~ '\S'::text))) STORED,
    no_thumbnail boolean GENERATED ALWAYS AS ((COALESCE(thumbnail_url, ''::text) = ''::text)) STORED,
    same_source bigint GENERATED ALWAYS AS (
CASE
    WHEN (source_url <> ''::text) THEN public.source_fingerprint(public.source_identity(source_url))
    ELSE NULL::bigint
END) STORED,
    same_talk bigint GENERATED ALWAYS AS (
CASE
    WHEN (speaker_ids <> '{}'::bigint[]) THEN (hashtextextended(public.fold(title), hash_array_extended(
    CASE
        WHEN (cardinality(speaker_ids) = 1) THEN speaker_ids
        ELSE public.sorted_ids(speaker_ids)
    END, (0)::bigint)) & '9007199254740991'::bigint)
    ELSE NULL::bigint
END) STORED,
    CONSTRAINT video_check CHECK (((taken_down IS NULL) = (takedown_reason IS NULL))),
    CONSTRAINT video_slug_check CHECK ((slug ~ '^[a-z0-9]+(-[a-z0-9]+)*$'::text)),
    CONSTRAINT video_state_check CHECK ((state = ANY (ARRAY[1, 2])))
)
WITH (fillfactor='85');

CREATE FUNCTION public.search_words_of(ids bigint[]) RETURNS TABLE(word text)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT DISTINCT said.word
    FROM (public.video
      JOIN public.category ON ((category.id = video.category_id))),
     LATERAL regexp_split_to_table(public.normalized_words(concat_ws(' '::text, video.title, category.title, ( SELECT string_agg(( SELECT speaker.name
                    FROM public.speaker
                   WHERE (speaker.id = given.given)), ' '::text) AS string_agg
            FROM unnest(video.speaker_ids) given(given)), ( SELECT string_agg(( SELECT tag.name
                    FROM public.tag
                   WHERE (tag.id = given.given)), ' '::text) AS string_agg
            FROM unnest(video.tag_ids) given(given)))), ' +'::text) said(word)
   WHERE ((video.id = ANY (search_words_of.ids)) AND (video.state = 1) AND (video.taken_down IS NULL) AND (said.word ~ (('^[^0-9'::text || public.unspaced_scripts()) || ']{3,40}$'::text)));
END;

CREATE FUNCTION public.year_key_of(recorded date) RETURNS smallint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (COALESCE(((3000)::numeric - EXTRACT(year FROM recorded)), (32767)::numeric))::smallint;

ALTER TABLE public.category ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.category_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.change (
    subject text NOT NULL,
    subject_id bigint NOT NULL,
    revision integer NOT NULL,
    kind text NOT NULL,
    before jsonb NOT NULL,
    after jsonb NOT NULL,
    ids jsonb NOT NULL,
    at timestamp(3) with time zone NOT NULL,
    actor text NOT NULL,
    token_id bigint,
    via text NOT NULL,
    request_id text NOT NULL,
    request_hash bytea NOT NULL,
    xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    "position" bigint NOT NULL,
    CONSTRAINT change_kind_check CHECK ((kind = ANY (ARRAY['created'::text, 'updated'::text, 'restored'::text, 'taken-down'::text, 'merged'::text]))),
    CONSTRAINT change_subject_check CHECK ((subject = ANY (ARRAY['video'::text, 'category'::text, 'speaker'::text, 'tag'::text, 'facts'::text]))),
    CONSTRAINT change_via_check CHECK ((via = ANY (ARRAY['api'::text, 'import'::text, 'page'::text, 'command'::text])))
);

ALTER TABLE public.change ALTER COLUMN "position" ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.change_position_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.duplicate_candidate (
    rule text NOT NULL,
    key bigint NOT NULL,
    CONSTRAINT duplicate_candidate_rule_check CHECK ((rule = ANY (ARRAY['same-source'::text, 'same-talk'::text])))
);

CREATE TABLE public.entity_name (
    kind text NOT NULL,
    name text NOT NULL,
    entity_id bigint NOT NULL,
    shown boolean DEFAULT false NOT NULL,
    CONSTRAINT entity_name_kind_check CHECK ((kind = ANY (ARRAY['category'::text, 'speaker'::text, 'tag'::text])))
);

CREATE TABLE public.entity_slug (
    kind text NOT NULL,
    slug text NOT NULL COLLATE pg_catalog."C",
    entity_id bigint NOT NULL,
    retired boolean DEFAULT false NOT NULL,
    CONSTRAINT entity_slug_kind_check CHECK ((kind = ANY (ARRAY['category'::text, 'speaker'::text, 'tag'::text])))
);

CREATE TABLE public.fingerprint (
    key bigint NOT NULL
);

CREATE TABLE public.idempotency_key (
    token_id bigint NOT NULL,
    key text NOT NULL,
    request_hash bytea NOT NULL,
    video_id bigint NOT NULL,
    created timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE public.import (
    id bigint NOT NULL,
    state text NOT NULL,
    name text NOT NULL,
    format text NOT NULL,
    source text NOT NULL,
    options jsonb NOT NULL,
    rows integer DEFAULT 0 NOT NULL,
    done integer DEFAULT 0 NOT NULL,
    problem text,
    apply_role text DEFAULT 'editor'::text NOT NULL,
    batch_size integer DEFAULT 100 NOT NULL,
    failures integer DEFAULT 0 NOT NULL,
    retry_at timestamp with time zone DEFAULT now() NOT NULL,
    counts jsonb,
    actor text NOT NULL,
    token_id bigint,
    via text NOT NULL,
    request_id text NOT NULL,
    created timestamp with time zone DEFAULT now() NOT NULL,
    touched timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT import_apply_role_check CHECK ((apply_role = ANY (ARRAY['editor'::text, 'admin'::text]))),
    CONSTRAINT import_batch_size_check CHECK ((batch_size >= 1)),
    CONSTRAINT import_state_check CHECK ((state = ANY (ARRAY['reading'::text, 'failed'::text, 'planned'::text, 'applying'::text, 'stopped'::text, 'applied'::text, 'undoing'::text, 'undone'::text]))),
    CONSTRAINT import_via_check CHECK ((via = ANY (ARRAY['api'::text, 'import'::text, 'page'::text, 'command'::text])))
);

CREATE TABLE public.import_entity (
    import_id bigint NOT NULL,
    "position" integer NOT NULL,
    place text NOT NULL,
    entity jsonb NOT NULL,
    bytes integer NOT NULL
);

ALTER TABLE public.import ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.import_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.language (
    id integer NOT NULL,
    code text NOT NULL,
    name text NOT NULL,
    slug text NOT NULL COLLATE pg_catalog."C",
    dictionary text DEFAULT 'simple'::text NOT NULL
);

CREATE TABLE public.maintenance (
    task text NOT NULL,
    began timestamp with time zone NOT NULL,
    finished timestamp with time zone NOT NULL
);

CREATE TABLE public.rename_job (
    id bigint NOT NULL,
    kind text NOT NULL,
    entity_id bigint NOT NULL,
    done_up_to bigint NOT NULL,
    actor text NOT NULL,
    token_id bigint,
    via text NOT NULL,
    request_id text NOT NULL,
    request_hash bytea NOT NULL,
    CONSTRAINT rename_job_kind_check CHECK ((kind = ANY (ARRAY['category'::text, 'speaker'::text, 'tag'::text]))),
    CONSTRAINT rename_job_via_check CHECK ((via = ANY (ARRAY['api'::text, 'import'::text, 'page'::text, 'command'::text])))
);

ALTER TABLE public.rename_job ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.rename_job_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.schema_version (
    version bigint NOT NULL,
    name text,
    md5 text,
    run_at timestamp with time zone
);

CREATE VIEW public.search_source AS
 SELECT video.id,
    public.year_key_of(video.recorded) AS year_key,
    video.recorded,
    video.category_id,
    video.language_id,
    video.speaker_ids,
    video.tag_ids,
    public.duration_range_of(video.duration) AS length,
    array_to_tsvector(((ARRAY[('category:'::text || video.category_id), ('language:'::text || video.language_id), ('duration:'::text || public.duration_range_of(video.duration))] || string_to_array(NULLIF(('speaker:'::text || array_to_string(video.speaker_ids, ' speaker:'::text)), 'speaker:'::text), ' '::text)) || string_to_array(NULLIF(('tag:'::text || array_to_string(video.tag_ids, ' tag:'::text)), 'tag:'::text), ' '::text))) AS keys,
    (((setweight(to_tsvector((language.dictionary)::regconfig, public.normalized_words(video.title, 1000)), 'A'::"char") || setweight(to_tsvector('simple'::regconfig, public.normalized_words(COALESCE(( SELECT string_agg(( SELECT speaker.name
                   FROM public.speaker
                  WHERE (speaker.id = all_given.given)), ' '::text ORDER BY all_given.place) AS string_agg
           FROM unnest(video.speaker_ids) WITH ORDINALITY all_given(given, place)), ''::text), 40000)), 'B'::"char")) || setweight(to_tsvector((language.dictionary)::regconfig, public.normalized_words(COALESCE(( SELECT string_agg(( SELECT tag.name
                   FROM public.tag
                  WHERE (tag.id = all_given.given)), ' '::text ORDER BY all_given.place) AS string_agg
           FROM unnest(video.tag_ids) WITH ORDINALITY all_given(given, place)), ''::text), 40000)), 'C'::"char")) || setweight(to_tsvector((language.dictionary)::regconfig, public.normalized_words(category.title, 1000)), 'D'::"char")) AS head,
    (setweight(to_tsvector((language.dictionary)::regconfig, public.normalized_words(video.summary, 26000)), 'A'::"char") || setweight(to_tsvector((language.dictionary)::regconfig, public.normalized_words(video.description, 150000)), 'B'::"char")) AS text
   FROM ((public.video
     JOIN public.category ON ((category.id = video.category_id)))
     JOIN public.language ON ((language.id = video.language_id)))
  WHERE ((video.state = 1) AND (video.taken_down IS NULL));

CREATE TABLE public.search_word (
    word text NOT NULL COLLATE pg_catalog."C"
);

ALTER TABLE public.speaker ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.speaker_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

ALTER TABLE public.tag ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.tag_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.talk_count (
    kind text NOT NULL,
    entity_id bigint NOT NULL,
    talks integer NOT NULL,
    CONSTRAINT talk_count_kind_check CHECK ((kind = ANY (ARRAY['category'::text, 'speaker'::text, 'tag'::text, 'language'::text])))
);

CREATE TABLE public.token (
    id bigint NOT NULL,
    name text NOT NULL,
    role text NOT NULL,
    hash bytea NOT NULL,
    created timestamp with time zone DEFAULT now() NOT NULL,
    expires timestamp with time zone NOT NULL,
    last_used timestamp with time zone,
    revoked timestamp with time zone,
    CONSTRAINT token_role_check CHECK ((role = ANY (ARRAY['editor'::text, 'admin'::text])))
);

ALTER TABLE public.token ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.token_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.video_body (
    id bigint NOT NULL,
    revision integer NOT NULL,
    tag text NOT NULL,
    live boolean NOT NULL,
    updated timestamp(3) with time zone NOT NULL,
    body text NOT NULL,
    taken_down jsonb
)
WITH (fillfactor='85', toast_tuple_target='8160');

CREATE TABLE public.video_facts (
    id bigint NOT NULL,
    revision integer NOT NULL,
    facts jsonb NOT NULL
);

ALTER TABLE public.video ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.video_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.video_search (
    id bigint NOT NULL,
    year_key smallint NOT NULL,
    recorded date,
    category_id bigint NOT NULL,
    language_id integer NOT NULL,
    speaker_ids bigint[] NOT NULL,
    tag_ids bigint[] NOT NULL,
    length smallint NOT NULL,
    keys tsvector NOT NULL,
    head tsvector NOT NULL,
    text tsvector NOT NULL
)
PARTITION BY RANGE (year_key);
ALTER TABLE ONLY public.video_search ALTER COLUMN head SET STORAGE MAIN;
ALTER TABLE ONLY public.video_search ALTER COLUMN text SET STORAGE EXTERNAL;

CREATE TABLE public.video_search_2005 (
    id bigint NOT NULL,
    year_key smallint NOT NULL,
    recorded date,
    category_id bigint NOT NULL,
    language_id integer NOT NULL,
    speaker_ids bigint[] NOT NULL,
    tag_ids bigint[] NOT NULL,
    length smallint NOT NULL,
    keys tsvector NOT NULL,
    head tsvector NOT NULL,
    text tsvector NOT NULL
)
WITH (toast_tuple_target='1024');
ALTER TABLE ONLY public.video_search_2005 ALTER COLUMN head SET STORAGE MAIN;
ALTER TABLE ONLY public.video_search_2005 ALTER COLUMN text SET STORAGE EXTERNAL;

CREATE TABLE public.video_search_2006 (
    id bigint NOT NULL,
    year_key smallint NOT NULL,
    recorded date,
    category_id bigint NOT NULL,
    language_id integer NOT NULL,
    speaker_ids bigint[] NOT NULL,
    tag_ids bigint[] NOT NULL,
    length smallint NOT NULL,
    keys tsvector NOT NULL,
    head tsvector NOT NULL,
    text tsvector NOT NULL
)
WITH (toast_tuple_target='1024');
ALTER TABLE ONLY public.video_search_2006 ALTER COLUMN head SET STORAGE MAIN;
ALTER TABLE ONLY public.video_search_2006 ALTER COLUMN text SET STORAGE EXTERNAL;

CREATE TABLE public.video_search_2007 (
    id bigint NOT NULL,
    year_key smallint NOT NULL,
    recorded date,
    category_id bigint NOT NULL,
    language_id integer NOT NULL,
    speaker_ids bigint[] NOT NULL,
    tag_ids bigint[] NOT NULL,
    length smallint NOT NULL,
    keys tsvector NOT NULL,
    head tsvector NOT NULL,
    text tsvector NOT NULL
)
WITH (toast_tuple_target='1024');
ALTER TABLE ONLY public.video_search_2007 ALTER COLUMN head SET STORAGE MAIN;
ALTER TABLE ONLY public.video_search_2007 ALTER COLUMN text SET STORAGE EXTERNAL;

CREATE TABLE public.video_search_2008 (
    id bigint NOT NULL,
    year_key smallint NOT NULL,
    recorded date,
    category_id bigint NOT NULL,
    language_id integer NOT NULL,
    speaker_ids bigint[] NOT NULL,
    tag_ids bigint[] NOT NULL,
    length smallint NOT NULL,
    keys tsvector NOT NULL,
    head tsvector NOT NULL,
    text tsvector NOT NULL
)
WITH (toast_tuple_target='1024');
ALTER TABLE ONLY public.video_search_2008 ALTER COLUMN head SET STORAGE MAIN;
ALTER TABLE ONLY public.video_search_2008 ALTER COLUMN text SET STORAGE EXTERNAL;

CREATE TABLE public.video_search_2009 (
    id bigint NOT NULL,
    year_key smallint NOT NULL,
    recorded date,
    category_id bigint NOT NULL,
    language_id integer NOT NULL,
    speaker_ids bigint[] NOT NULL,
    tag_ids bigint[] NOT NULL,
    length smallint NOT NULL,
    keys tsvector NOT NULL,
    head tsvector NOT NULL,
    text tsvector NOT NULL
)
WITH (toast_tuple_target='1024');
ALTER TABLE ONLY public.video_search_2009 ALTER COLUMN head SET STORAGE MAIN;
ALTER TABLE ONLY public.video_search_2009 ALTER COLUMN text SET STORAGE EXTERNAL;

CREATE TABLE public.video_search_2010 (
    id bigint NOT NULL,
    year_key smallint NOT NULL,
    recorded date,
    category_id bigint NOT NULL,
    language_id integer NOT NULL,
    speaker_ids bigint[] NOT NULL,
    tag_ids bigint[] NOT NULL,
    length smallint NOT NULL,
    keys tsvector NOT NULL,
    head tsvector NOT NULL,
    text tsvector NOT NULL
)
WITH (toast_tuple_target='1024');
ALTER TABLE ONLY public.video_search_2010 ALTER COLUMN head SET STORAGE MAIN;
ALTER TABLE ONLY public.video_search_2010 ALTER COLUMN text SET STORAGE EXTERNAL;

CREATE TABLE public.video_search_2011 (
    id bigint NOT NULL,
    year_key smallint NOT NULL,
    recorded date,
    category_id bigint NOT NULL,
    language_id integer NOT NULL,
    speaker_ids bigint[] NOT NULL,
    tag_ids bigint[] NOT NULL,
    length smallint NOT NULL,
    keys tsvector NOT NULL,
    head tsvector NOT NULL,
    text tsvector NOT NULL
)
WITH (toast_tuple_target='1024');
ALTER TABLE ONLY public.video_search_2011 ALTER COLUMN head SET STORAGE MAIN;
ALTER TABLE ONLY public.video_search_2011 ALTER COLUMN text SET STORAGE EXTERNAL;

CREATE TABLE public.video_search_2012 (
    id bigint NOT NULL,
    year_key smallint NOT NULL,
    recorded date,
    category_id bigint NOT NULL,
    language_id integer NOT NULL,
    speaker_ids bigint[] NOT NULL,
    tag_ids bigint[] NOT NULL,
    length smallint NOT NULL,
    keys tsvector NOT NULL,
    head tsvector NOT NULL,
    text tsvector NOT NULL
)
WITH (toast_tuple_target='1024');
ALTER TABLE ONLY public.video_search_2012 ALTER COLUMN head SET STORAGE MAIN;
ALTER TABLE ONLY public.video_search_2012 ALTER COLUMN text SET STORAGE EXTERNAL;

CREATE TABLE public.video_search_2013 (
    id bigint NOT NULL,
    year_key smallint NOT NULL,
    recorded date,
    category_id bigint NOT NULL,
    language_id integer NOT NULL,
    speaker_ids bigint[] NOT NULL,
    tag_ids bigint[] NOT NULL,
    length smallint NOT NULL,
    keys tsvector NOT NULL,
    head tsvector NOT NULL,
    text tsvector NOT NULL
)
WITH (toast_tuple_target='1024');
ALTER TABLE ONLY public.video_search_2013 ALTER COLUMN head SET STORAGE MAIN;
ALTER TABLE ONLY public.video_search_2013 ALTER COLUMN text SET STORAGE EXTERNAL;

CREATE TABLE public.video_search_2014 (
    id bigint NOT NULL,
    year_key smallint NOT NULL,
    recorded date,
    category_id bigint NOT NULL,
    language_id integer NOT NULL,
    speaker_ids bigint[] NOT NULL,
    tag_ids bigint[] NOT NULL,
    length smallint NOT NULL,
    keys tsvector NOT NULL,
    head tsvector NOT NULL,
    text tsvector NOT NULL
)
WITH (toast_tuple_target='1024');
ALTER TABLE ONLY public.video_search_2014 ALTER COLUMN head SET STORAGE MAIN;
ALTER TABLE ONLY public.video_search_2014 ALTER COLUMN text SET STORAGE EXTERNAL;

CREATE TABLE public.video_search_2015 (
    id bigint NOT NULL,
    year_key smallint NOT NULL,
    recorded date,
    category_id bigint NOT NULL,
    language_id integer NOT NULL,
    speaker_ids bigint[] NOT NULL,
    tag_ids bigint[] NOT NULL,
    length smallint NOT NULL,
    keys tsvector NOT NULL,
    head tsvector NOT NULL,
    text tsvector NOT NULL
)
WITH (toast_tuple_target='1024');
ALTER TABLE ONLY public.video_search_2015 ALTER COLUMN head SET STORAGE MAIN;
ALTER TABLE ONLY public.video_search_2015 ALTER COLUMN text SET STORAGE EXTERNAL;

CREATE TABLE public.video_search_2016 (
    id bigint NOT NULL,
    year_key smallint NOT NULL,
    recorded date,
    category_id bigint NOT NULL,
    language_id integer NOT NULL,
    speaker_ids bigint[] NOT NULL,
    tag_ids bigint[] NOT NULL,
    length smallint NOT NULL,
    keys tsvector NOT NULL,
    head tsvector NOT NULL,
    text tsvector NOT NULL
)
WITH (toast_tuple_target='1024');
ALTER TABLE ONLY public.video_search_2016 ALTER COLUMN head SET STORAGE MAIN;
ALTER TABLE ONLY public.video_search_2016 ALTER COLUMN text SET STORAGE EXTERNAL;

CREATE TABLE public.video_search_2017 (
    id bigint NOT NULL,
    year_key smallint NOT NULL,
    recorded date,
    category_id bigint NOT NULL,
    language_id integer NOT NULL,
    speaker_ids bigint[] NOT NULL,
    tag_ids bigint[] NOT NULL,
    length smallint NOT NULL,
    keys tsvector NOT NULL,
    head tsvector NOT NULL,
    text tsvector NOT NULL
)
WITH (toast_tuple_target='1024');
ALTER TABLE ONLY public.video_search_2017 ALTER COLUMN head SET STORAGE MAIN;
ALTER TABLE ONLY public.video_search_2017 ALTER COLUMN text SET STORAGE EXTERNAL;

CREATE TABLE public.video_search_2018 (
    id bigint NOT NULL,
    year_key smallint NOT NULL,
    recorded date,
    category_id bigint NOT NULL,
    language_id integer NOT NULL,
    speaker_ids bigint[] NOT NULL,
    tag_ids bigint[] NOT NULL,
    length smallint NOT NULL,
    keys tsvector NOT NULL,
    head tsvector NOT NULL,
    text tsvector NOT NULL
)
WITH (toast_tuple_target='1024');
ALTER TABLE ONLY public.video_search_2018 ALTER COLUMN head SET STORAGE MAIN;
ALTER TABLE ONLY public.video_search_2018 ALTER COLUMN text SET STORAGE EXTERNAL;

CREATE TABLE public.video_search_2019 (
    id bigint NOT NULL,
    year_key smallint NOT NULL,
    recorded date,
    category_id bigint NOT NULL,
    language_id integer NOT NULL,
    speaker_ids bigint[] NOT NULL,
    tag_ids bigint[] NOT NULL,
    length smallint NOT NULL,
    keys tsvector NOT NULL,
    head tsvector NOT NULL,
    text tsvector NOT NULL
)
WITH (toast_tuple_target='1024');
ALTER TABLE ONLY public.video_search_2019 ALTER COLUMN head SET STORAGE MAIN;
ALTER TABLE ONLY public.video_search_2019 ALTER COLUMN text SET STORAGE EXTERNAL;

CREATE TABLE public.video_search_2020 (
    id bigint NOT NULL,
    year_key smallint NOT NULL,
    recorded date,
    category_id bigint NOT NULL,
    language_id integer NOT NULL,
    speaker_ids bigint[] NOT NULL,
    tag_ids bigint[] NOT NULL,
    length smallint NOT NULL,
    keys tsvector NOT NULL,
    head tsvector NOT NULL,
    text tsvector NOT NULL
)
WITH (toast_tuple_target='1024');
ALTER TABLE ONLY public.video_search_2020 ALTER COLUMN head SET STORAGE MAIN;
ALTER TABLE ONLY public.video_search_2020 ALTER COLUMN text SET STORAGE EXTERNAL;

CREATE TABLE public.video_search_2021 (
    id bigint NOT NULL,
    year_key smallint NOT NULL,
    recorded date,
    category_id bigint NOT NULL,
    language_id integer NOT NULL,
    speaker_ids bigint[] NOT NULL,
    tag_ids bigint[] NOT NULL,
    length smallint NOT NULL,
    keys tsvector NOT NULL,
    head tsvector NOT NULL,
    text tsvector NOT NULL
)
WITH (toast_tuple_target='1024');
ALTER TABLE ONLY public.video_search_2021 ALTER COLUMN head SET STORAGE MAIN;
ALTER TABLE ONLY public.video_search_2021 ALTER COLUMN text SET STORAGE EXTERNAL;

CREATE TABLE public.video_search_2022 (
    id bigint NOT NULL,
    year_key smallint NOT NULL,
    recorded date,
    category_id bigint NOT NULL,
    language_id integer NOT NULL,
    speaker_ids bigint[] NOT NULL,
    tag_ids bigint[] NOT NULL,
    length smallint NOT NULL,
    keys tsvector NOT NULL,
    head tsvector NOT NULL,
    text tsvector NOT NULL
)
WITH (toast_tuple_target='1024');
ALTER TABLE ONLY public.video_search_2022 ALTER COLUMN head SET STORAGE MAIN;
ALTER TABLE ONLY public.video_search_2022 ALTER COLUMN text SET STORAGE EXTERNAL;

CREATE TABLE public.video_search_2023 (
    id bigint NOT NULL,
    year_key smallint NOT NULL,
    recorded date,
    category_id bigint NOT NULL,
    language_id integer NOT NULL,
    speaker_ids bigint[] NOT NULL,
    tag_ids bigint[] NOT NULL,
    length smallint NOT NULL,
    keys tsvector NOT NULL,
    head tsvector NOT NULL,
    text tsvector NOT NULL
)
WITH (toast_tuple_target='1024');
ALTER TABLE ONLY public.video_search_2023 ALTER COLUMN head SET STORAGE MAIN;
ALTER TABLE ONLY public.video_search_2023 ALTER COLUMN text SET STORAGE EXTERNAL;

CREATE TABLE public.video_search_2024 (
    id bigint NOT NULL,
    year_key smallint NOT NULL,
    recorded date,
    category_id bigint NOT NULL,
    language_id integer NOT NULL,
    speaker_ids bigint[] NOT NULL,
    tag_ids bigint[] NOT NULL,
    length smallint NOT NULL,
    keys tsvector NOT NULL,
    head tsvector NOT NULL,
    text tsvector NOT NULL
)
WITH (toast_tuple_target='1024');
ALTER TABLE ONLY public.video_search_2024 ALTER COLUMN head SET STORAGE MAIN;
ALTER TABLE ONLY public.video_search_2024 ALTER COLUMN text SET STORAGE EXTERNAL;

CREATE TABLE public.video_search_2025 (
    id bigint NOT NULL,
    year_key smallint NOT NULL,
    recorded date,
    category_id bigint NOT NULL,
    language_id integer NOT NULL,
    speaker_ids bigint[] NOT NULL,
    tag_ids bigint[] NOT NULL,
    length smallint NOT NULL,
    keys tsvector NOT NULL,
    head tsvector NOT NULL,
    text tsvector NOT NULL
)
WITH (toast_tuple_target='1024');
ALTER TABLE ONLY public.video_search_2025 ALTER COLUMN head SET STORAGE MAIN;
ALTER TABLE ONLY public.video_search_2025 ALTER COLUMN text SET STORAGE EXTERNAL;

CREATE TABLE public.video_search_2026 (
    id bigint NOT NULL,
    year_key smallint NOT NULL,
    recorded date,
    category_id bigint NOT NULL,
    language_id integer NOT NULL,
    speaker_ids bigint[] NOT NULL,
    tag_ids bigint[] NOT NULL,
    length smallint NOT NULL,
    keys tsvector NOT NULL,
    head tsvector NOT NULL,
    text tsvector NOT NULL
)
WITH (toast_tuple_target='1024');
ALTER TABLE ONLY public.video_search_2026 ALTER COLUMN head SET STORAGE MAIN;
ALTER TABLE ONLY public.video_search_2026 ALTER COLUMN text SET STORAGE EXTERNAL;

CREATE TABLE public.video_search_2027 (
    id bigint NOT NULL,
    year_key smallint NOT NULL,
    recorded date,
    category_id bigint NOT NULL,
    language_id integer NOT NULL,
    speaker_ids bigint[] NOT NULL,
    tag_ids bigint[] NOT NULL,
    length smallint NOT NULL,
    keys tsvector NOT NULL,
    head tsvector NOT NULL,
    text tsvector NOT NULL
)
WITH (toast_tuple_target='1024');
ALTER TABLE ONLY public.video_search_2027 ALTER COLUMN head SET STORAGE MAIN;
ALTER TABLE ONLY public.video_search_2027 ALTER COLUMN text SET STORAGE EXTERNAL;

CREATE TABLE public.video_search_2028 (
    id bigint NOT NULL,
    year_key smallint NOT NULL,
    recorded date,
    category_id bigint NOT NULL,
    language_id integer NOT NULL,
    speaker_ids bigint[] NOT NULL,
    tag_ids bigint[] NOT NULL,
    length smallint NOT NULL,
    keys tsvector NOT NULL,
    head tsvector NOT NULL,
    text tsvector NOT NULL
)
WITH (toast_tuple_target='1024');
ALTER TABLE ONLY public.video_search_2028 ALTER COLUMN head SET STORAGE MAIN;
ALTER TABLE ONLY public.video_search_2028 ALTER COLUMN text SET STORAGE EXTERNAL;

CREATE TABLE public.video_search_2029 (
    id bigint NOT NULL,
    year_key smallint NOT NULL,
    recorded date,
    category_id bigint NOT NULL,
    language_id integer NOT NULL,
    speaker_ids bigint[] NOT NULL,
    tag_ids bigint[] NOT NULL,
    length smallint NOT NULL,
    keys tsvector NOT NULL,
    head tsvector NOT NULL,
    text tsvector NOT NULL
)
WITH (toast_tuple_target='1024');
ALTER TABLE ONLY public.video_search_2029 ALTER COLUMN head SET STORAGE MAIN;
ALTER TABLE ONLY public.video_search_2029 ALTER COLUMN text SET STORAGE EXTERNAL;

CREATE TABLE public.video_search_2030 (
    id bigint NOT NULL,
    year_key smallint NOT NULL,
    recorded date,
    category_id bigint NOT NULL,
    language_id integer NOT NULL,
    speaker_ids bigint[] NOT NULL,
    tag_ids bigint[] NOT NULL,
    length smallint NOT NULL,
    keys tsvector NOT NULL,
    head tsvector NOT NULL,
    text tsvector NOT NULL
)
WITH (toast_tuple_target='1024');
ALTER TABLE ONLY public.video_search_2030 ALTER COLUMN head SET STORAGE MAIN;
ALTER TABLE ONLY public.video_search_2030 ALTER COLUMN text SET STORAGE EXTERNAL;

CREATE TABLE public.video_search_2031 (
    id bigint NOT NULL,
    year_key smallint NOT NULL,
    recorded date,
    category_id bigint NOT NULL,
    language_id integer NOT NULL,
    speaker_ids bigint[] NOT NULL,
    tag_ids bigint[] NOT NULL,
    length smallint NOT NULL,
    keys tsvector NOT NULL,
    head tsvector NOT NULL,
    text tsvector NOT NULL
)
WITH (toast_tuple_target='1024');
ALTER TABLE ONLY public.video_search_2031 ALTER COLUMN head SET STORAGE MAIN;
ALTER TABLE ONLY public.video_search_2031 ALTER COLUMN text SET STORAGE EXTERNAL;

CREATE TABLE public.video_search_2032 (
    id bigint NOT NULL,
    year_key smallint NOT NULL,
    recorded date,
    category_id bigint NOT NULL,
    language_id integer NOT NULL,
    speaker_ids bigint[] NOT NULL,
    tag_ids bigint[] NOT NULL,
    length smallint NOT NULL,
    keys tsvector NOT NULL,
    head tsvector NOT NULL,
    text tsvector NOT NULL
)
WITH (toast_tuple_target='1024');
ALTER TABLE ONLY public.video_search_2032 ALTER COLUMN head SET STORAGE MAIN;
ALTER TABLE ONLY public.video_search_2032 ALTER COLUMN text SET STORAGE EXTERNAL;

CREATE TABLE public.video_search_2033 (
    id bigint NOT NULL,
    year_key smallint NOT NULL,
    recorded date,
    category_id bigint NOT NULL,
    language_id integer NOT NULL,
    speaker_ids bigint[] NOT NULL,
    tag_ids bigint[] NOT NULL,
    length smallint NOT NULL,
    keys tsvector NOT NULL,
    head tsvector NOT NULL,
    text tsvector NOT NULL
)
WITH (toast_tuple_target='1024');
ALTER TABLE ONLY public.video_search_2033 ALTER COLUMN head SET STORAGE MAIN;
ALTER TABLE ONLY public.video_search_2033 ALTER COLUMN text SET STORAGE EXTERNAL;

CREATE TABLE public.video_search_2034 (
    id bigint NOT NULL,
    year_key smallint NOT NULL,
    recorded date,
    category_id bigint NOT NULL,
    language_id integer NOT NULL,
    speaker_ids bigint[] NOT NULL,
    tag_ids bigint[] NOT NULL,
    length smallint NOT NULL,
    keys tsvector NOT NULL,
    head tsvector NOT NULL,
    text tsvector NOT NULL
)
WITH (toast_tuple_target='1024');
ALTER TABLE ONLY public.video_search_2034 ALTER COLUMN head SET STORAGE MAIN;
ALTER TABLE ONLY public.video_search_2034 ALTER COLUMN text SET STORAGE EXTERNAL;

CREATE TABLE public.video_search_2035 (
    id bigint NOT NULL,
    year_key smallint NOT NULL,
    recorded date,
    category_id bigint NOT NULL,
    language_id integer NOT NULL,
    speaker_ids bigint[] NOT NULL,
    tag_ids bigint[] NOT NULL,
    length smallint NOT NULL,
    keys tsvector NOT NULL,
    head tsvector NOT NULL,
    text tsvector NOT NULL
)
WITH (toast_tuple_target='1024');
ALTER TABLE ONLY public.video_search_2035 ALTER COLUMN head SET STORAGE MAIN;
ALTER TABLE ONLY public.video_search_2035 ALTER COLUMN text SET STORAGE EXTERNAL;

CREATE TABLE public.video_search_2036 (
    id bigint NOT NULL,
    year_key smallint NOT NULL,
    recorded date,
    category_id bigint NOT NULL,
    language_id integer NOT NULL,
    speaker_ids bigint[] NOT NULL,
    tag_ids bigint[] NOT NULL,
    length smallint NOT NULL,
    keys tsvector NOT NULL,
    head tsvector NOT NULL,
    text tsvector NOT NULL
)
WITH (toast_tuple_target='1024');
ALTER TABLE ONLY public.video_search_2036 ALTER COLUMN head SET STORAGE MAIN;
ALTER TABLE ONLY public.video_search_2036 ALTER COLUMN text SET STORAGE EXTERNAL;

CREATE TABLE public.video_search_2037 (
    id bigint NOT NULL,
    year_key smallint NOT NULL,
    recorded date,
    category_id bigint NOT NULL,
    language_id integer NOT NULL,
    speaker_ids bigint[] NOT NULL,
    tag_ids bigint[] NOT NULL,
    length smallint NOT NULL,
    keys tsvector NOT NULL,
    head tsvector NOT NULL,
    text tsvector NOT NULL
)
WITH (toast_tuple_target='1024');
ALTER TABLE ONLY public.video_search_2037 ALTER COLUMN head SET STORAGE MAIN;
ALTER TABLE ONLY public.video_search_2037 ALTER COLUMN text SET STORAGE EXTERNAL;

CREATE TABLE public.video_search_2038 (
    id bigint NOT NULL,
    year_key smallint NOT NULL,
    recorded date,
    category_id bigint NOT NULL,
    language_id integer NOT NULL,
    speaker_ids bigint[] NOT NULL,
    tag_ids bigint[] NOT NULL,
    length smallint NOT NULL,
    keys tsvector NOT NULL,
    head tsvector NOT NULL,
    text tsvector NOT NULL
)
WITH (toast_tuple_target='1024');
ALTER TABLE ONLY public.video_search_2038 ALTER COLUMN head SET STORAGE MAIN;
ALTER TABLE ONLY public.video_search_2038 ALTER COLUMN text SET STORAGE EXTERNAL;

CREATE TABLE public.video_search_2039 (
    id bigint NOT NULL,
    year_key smallint NOT NULL,
    recorded date,
    category_id bigint NOT NULL,
    language_id integer NOT NULL,
    speaker_ids bigint[] NOT NULL,
    tag_ids bigint[] NOT NULL,
    length smallint NOT NULL,
    keys tsvector NOT NULL,
    head tsvector NOT NULL,
    text tsvector NOT NULL
)
WITH (toast_tuple_target='1024');
ALTER TABLE ONLY public.video_search_2039 ALTER COLUMN head SET STORAGE MAIN;
ALTER TABLE ONLY public.video_search_2039 ALTER COLUMN text SET STORAGE EXTERNAL;

CREATE TABLE public.video_search_2040 (
    id bigint NOT NULL,
    year_key smallint NOT NULL,
    recorded date,
    category_id bigint NOT NULL,
    language_id integer NOT NULL,
    speaker_ids bigint[] NOT NULL,
    tag_ids bigint[] NOT NULL,
    length smallint NOT NULL,
    keys tsvector NOT NULL,
    head tsvector NOT NULL,
    text tsvector NOT NULL
)
WITH (toast_tuple_target='1024');
ALTER TABLE ONLY public.video_search_2040 ALTER COLUMN head SET STORAGE MAIN;
ALTER TABLE ONLY public.video_search_2040 ALTER COLUMN text SET STORAGE EXTERNAL;

CREATE TABLE public.video_search_2041 (
    id bigint NOT NULL,
    year_key smallint NOT NULL,
    recorded date,
    category_id bigint NOT NULL,
    language_id integer NOT NULL,
    speaker_ids bigint[] NOT NULL,
    tag_ids bigint[] NOT NULL,
    length smallint NOT NULL,
    keys tsvector NOT NULL,
    head tsvector NOT NULL,
    text tsvector NOT NULL
)
WITH (toast_tuple_target='1024');
ALTER TABLE ONLY public.video_search_2041 ALTER COLUMN head SET STORAGE MAIN;
ALTER TABLE ONLY public.video_search_2041 ALTER COLUMN text SET STORAGE EXTERNAL;

CREATE TABLE public.video_search_2042 (
    id bigint NOT NULL,
    year_key smallint NOT NULL,
    recorded date,
    category_id bigint NOT NULL,
    language_id integer NOT NULL,
    speaker_ids bigint[] NOT NULL,
    tag_ids bigint[] NOT NULL,
    length smallint NOT NULL,
    keys tsvector NOT NULL,
    head tsvector NOT NULL,
    text tsvector NOT NULL
)
WITH (toast_tuple_target='1024');
ALTER TABLE ONLY public.video_search_2042 ALTER COLUMN head SET STORAGE MAIN;
ALTER TABLE ONLY public.video_search_2042 ALTER COLUMN text SET STORAGE EXTERNAL;

CREATE TABLE public.video_search_2043 (
    id bigint NOT NULL,
    year_key smallint NOT NULL,
    recorded date,
    category_id bigint NOT NULL,
    language_id integer NOT NULL,
    speaker_ids bigint[] NOT NULL,
    tag_ids bigint[] NOT NULL,
    length smallint NOT NULL,
    keys tsvector NOT NULL,
    head tsvector NOT NULL,
    text tsvector NOT NULL
)
WITH (toast_tuple_target='1024');
ALTER TABLE ONLY public.video_search_2043 ALTER COLUMN head SET STORAGE MAIN;
ALTER TABLE ONLY public.video_search_2043 ALTER COLUMN text SET STORAGE EXTERNAL;

CREATE TABLE public.video_search_2044 (
    id bigint NOT NULL,
    year_key smallint NOT NULL,
    recorded date,
    category_id bigint NOT NULL,
    language_id integer NOT NULL,
    speaker_ids bigint[] NOT NULL,
    tag_ids bigint[] NOT NULL,
    length smallint NOT NULL,
    keys tsvector NOT NULL,
    head tsvector NOT NULL,
    text tsvector NOT NULL
)
WITH (toast_tuple_target='1024');
ALTER TABLE ONLY public.video_search_2044 ALTER COLUMN head SET STORAGE MAIN;
ALTER TABLE ONLY public.video_search_2044 ALTER COLUMN text SET STORAGE EXTERNAL;

CREATE TABLE public.video_search_2045 (
    id bigint NOT NULL,
    year_key smallint NOT NULL,
    recorded date,
    category_id bigint NOT NULL,
    language_id integer NOT NULL,
    speaker_ids bigint[] NOT NULL,
    tag_ids bigint[] NOT NULL,
    length smallint NOT NULL,
    keys tsvector NOT NULL,
    head tsvector NOT NULL,
    text tsvector NOT NULL
)
WITH (toast_tuple_target='1024');
ALTER TABLE ONLY public.video_search_2045 ALTER COLUMN head SET STORAGE MAIN;
ALTER TABLE ONLY public.video_search_2045 ALTER COLUMN text SET STORAGE EXTERNAL;

CREATE TABLE public.video_search_earlier (
    id bigint NOT NULL,
    year_key smallint NOT NULL,
    recorded date,
    category_id bigint NOT NULL,
    language_id integer NOT NULL,
    speaker_ids bigint[] NOT NULL,
    tag_ids bigint[] NOT NULL,
    length smallint NOT NULL,
    keys tsvector NOT NULL,
    head tsvector NOT NULL,
    text tsvector NOT NULL
)
WITH (toast_tuple_target='1024');
ALTER TABLE ONLY public.video_search_earlier ALTER COLUMN head SET STORAGE MAIN;
ALTER TABLE ONLY public.video_search_earlier ALTER COLUMN text SET STORAGE EXTERNAL;

CREATE TABLE public.video_search_later (
    id bigint NOT NULL,
    year_key smallint NOT NULL,
    recorded date,
    category_id bigint NOT NULL,
    language_id integer NOT NULL,
    speaker_ids bigint[] NOT NULL,
    tag_ids bigint[] NOT NULL,
    length smallint NOT NULL,
    keys tsvector NOT NULL,
    head tsvector NOT NULL,
    text tsvector NOT NULL
)
WITH (toast_tuple_target='1024');
ALTER TABLE ONLY public.video_search_later ALTER COLUMN head SET STORAGE MAIN;
ALTER TABLE ONLY public.video_search_later ALTER COLUMN text SET STORAGE EXTERNAL;

ALTER TABLE ONLY public.video_search ATTACH PARTITION public.video_search_2005 FOR VALUES FROM ('995') TO ('996');

ALTER TABLE ONLY public.video_search ATTACH PARTITION public.video_search_2006 FOR VALUES FROM ('994') TO ('995');

ALTER TABLE ONLY public.video_search ATTACH PARTITION public.video_search_2007 FOR VALUES FROM ('993') TO ('994');

ALTER TABLE ONLY public.video_search ATTACH PARTITION public.video_search_2008 FOR VALUES FROM ('992') TO ('993');

ALTER TABLE ONLY public.video_search ATTACH PARTITION public.video_search_2009 FOR VALUES FROM ('991') TO ('992');

ALTER TABLE ONLY public.video_search ATTACH PARTITION public.video_search_2010 FOR VALUES FROM ('990') TO ('991');

ALTER TABLE ONLY public.video_search ATTACH PARTITION public.video_search_2011 FOR VALUES FROM ('989') TO ('990');

ALTER TABLE ONLY public.video_search ATTACH PARTITION public.video_search_2012 FOR VALUES FROM ('988') TO ('989');

ALTER TABLE ONLY public.video_search ATTACH PARTITION public.video_search_2013 FOR VALUES FROM ('987') TO ('988');

ALTER TABLE ONLY public.video_search ATTACH PARTITION public.video_search_2014 FOR VALUES FROM ('986') TO ('987');

ALTER TABLE ONLY public.video_search ATTACH PARTITION public.video_search_2015 FOR VALUES FROM ('985') TO ('986');

ALTER TABLE ONLY public.video_search ATTACH PARTITION public.video_search_2016 FOR VALUES FROM ('984') TO ('985');

ALTER TABLE ONLY public.video_search ATTACH PARTITION public.video_search_2017 FOR VALUES FROM ('983') TO ('984');

ALTER TABLE ONLY public.video_search ATTACH PARTITION public.video_search_2018 FOR VALUES FROM ('982') TO ('983');

ALTER TABLE ONLY public.video_search ATTACH PARTITION public.video_search_2019 FOR VALUES FROM ('981') TO ('982');

ALTER TABLE ONLY public.video_search ATTACH PARTITION public.video_search_2020 FOR VALUES FROM ('980') TO ('981');

ALTER TABLE ONLY public.video_search ATTACH PARTITION public.video_search_2021 FOR VALUES FROM ('979') TO ('980');

ALTER TABLE ONLY public.video_search ATTACH PARTITION public.video_search_2022 FOR VALUES FROM ('978') TO ('979');

ALTER TABLE ONLY public.video_search ATTACH PARTITION public.video_search_2023 FOR VALUES FROM ('977') TO ('978');

ALTER TABLE ONLY public.video_search ATTACH PARTITION public.video_search_2024 FOR VALUES FROM ('976') TO ('977');

ALTER TABLE ONLY public.video_search ATTACH PARTITION public.video_search_2025 FOR VALUES FROM ('975') TO ('976');

ALTER TABLE ONLY public.video_search ATTACH PARTITION public.video_search_2026 FOR VALUES FROM ('974') TO ('975');

ALTER TABLE ONLY public.video_search ATTACH PARTITION public.video_search_2027 FOR VALUES FROM ('973') TO ('974');

ALTER TABLE ONLY public.video_search ATTACH PARTITION public.video_search_2028 FOR VALUES FROM ('972') TO ('973');

ALTER TABLE ONLY public.video_search ATTACH PARTITION public.video_search_2029 FOR VALUES FROM ('971') TO ('972');

ALTER TABLE ONLY public.video_search ATTACH PARTITION public.video_search_2030 FOR VALUES FROM ('970') TO ('971');

ALTER TABLE ONLY public.video_search ATTACH PARTITION public.video_search_2031 FOR VALUES FROM ('969') TO ('970');

ALTER TABLE ONLY public.video_search ATTACH PARTITION public.video_search_2032 FOR VALUES FROM ('968') TO ('969');

ALTER TABLE ONLY public.video_search ATTACH PARTITION public.video_search_2033 FOR VALUES FROM ('967') TO ('968');

ALTER TABLE ONLY public.video_search ATTACH PARTITION public.video_search_2034 FOR VALUES FROM ('966') TO ('967');

ALTER TABLE ONLY public.video_search ATTACH PARTITION public.video_search_2035 FOR VALUES FROM ('965') TO ('966');

ALTER TABLE ONLY public.video_search ATTACH PARTITION public.video_search_2036 FOR VALUES FROM ('964') TO ('965');

ALTER TABLE ONLY public.video_search ATTACH PARTITION public.video_search_2037 FOR VALUES FROM ('963') TO ('964');

ALTER TABLE ONLY public.video_search ATTACH PARTITION public.video_search_2038 FOR VALUES FROM ('962') TO ('963');

ALTER TABLE ONLY public.video_search ATTACH PARTITION public.video_search_2039 FOR VALUES FROM ('961') TO ('962');

ALTER TABLE ONLY public.video_search ATTACH PARTITION public.video_search_2040 FOR VALUES FROM ('960') TO ('961');

ALTER TABLE ONLY public.video_search ATTACH PARTITION public.video_search_2041 FOR VALUES FROM ('959') TO ('960');

ALTER TABLE ONLY public.video_search ATTACH PARTITION public.video_search_2042 FOR VALUES FROM ('958') TO ('959');

ALTER TABLE ONLY public.video_search ATTACH PARTITION public.video_search_2043 FOR VALUES FROM ('957') TO ('958');

ALTER TABLE ONLY public.video_search ATTACH PARTITION public.video_search_2044 FOR VALUES FROM ('956') TO ('957');

ALTER TABLE ONLY public.video_search ATTACH PARTITION public.video_search_2045 FOR VALUES FROM ('955') TO ('956');

ALTER TABLE ONLY public.video_search ATTACH PARTITION public.video_search_earlier DEFAULT;

ALTER TABLE ONLY public.video_search ATTACH PARTITION public.video_search_later FOR VALUES FROM (MINVALUE) TO ('955');

ALTER TABLE ONLY public.category
    ADD CONSTRAINT category_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.change
    ADD CONSTRAINT change_pkey PRIMARY KEY (subject, subject_id, revision);

ALTER TABLE ONLY public.duplicate_candidate
    ADD CONSTRAINT duplicate_candidate_pkey PRIMARY KEY (rule, key);

ALTER TABLE ONLY public.entity_name
    ADD CONSTRAINT entity_name_unique PRIMARY KEY (kind, name);

ALTER TABLE ONLY public.entity_slug
    ADD CONSTRAINT entity_slug_unique PRIMARY KEY (kind, slug);

ALTER TABLE ONLY public.fingerprint
    ADD CONSTRAINT fingerprint_pkey PRIMARY KEY (key);

ALTER TABLE ONLY public.idempotency_key
    ADD CONSTRAINT idempotency_key_unique PRIMARY KEY (token_id, key);

ALTER TABLE ONLY public.import_entity
    ADD CONSTRAINT import_entity_pkey PRIMARY KEY (import_id, "position");

ALTER TABLE ONLY public.import
    ADD CONSTRAINT import_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.import_row
    ADD CONSTRAINT import_row_pkey PRIMARY KEY (import_id, "position");

ALTER TABLE ONLY public.language
    ADD CONSTRAINT language_code_key UNIQUE (code);

ALTER TABLE ONLY public.language
    ADD CONSTRAINT language_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.language
    ADD CONSTRAINT language_slug_key UNIQUE (slug);

ALTER TABLE ONLY public.maintenance
    ADD CONSTRAINT maintenance_pkey PRIMARY KEY (task);

ALTER TABLE ONLY public.rename_job
    ADD CONSTRAINT rename_job_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.schema_version
    ADD CONSTRAINT schema_version_pkey PRIMARY KEY (version);

ALTER TABLE ONLY public.search_word
    ADD CONSTRAINT search_word_pkey PRIMARY KEY (word);

ALTER TABLE ONLY public.source_record
    ADD CONSTRAINT source_record_pkey PRIMARY KEY (source, key);

ALTER TABLE ONLY public.speaker
    ADD CONSTRAINT speaker_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.tag
    ADD CONSTRAINT tag_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.token
    ADD CONSTRAINT token_hash_key UNIQUE (hash);

ALTER TABLE ONLY public.token
    ADD CONSTRAINT token_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.video_body
    ADD CONSTRAINT video_body_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.video_facts
    ADD CONSTRAINT video_facts_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.video
    ADD CONSTRAINT video_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.video_search
    ADD CONSTRAINT video_search_pkey PRIMARY KEY (id, year_key);

ALTER TABLE ONLY public.video_search_2005
    ADD CONSTRAINT video_search_2005_pkey PRIMARY KEY (id, year_key);

ALTER TABLE ONLY public.video_search_2006
    ADD CONSTRAINT video_search_2006_pkey PRIMARY KEY (id, year_key);

ALTER TABLE ONLY public.video_search_2007
    ADD CONSTRAINT video_search_2007_pkey PRIMARY KEY (id, year_key);

ALTER TABLE ONLY public.video_search_2008
    ADD CONSTRAINT video_search_2008_pkey PRIMARY KEY (id, year_key);

ALTER TABLE ONLY public.video_search_2009
    ADD CONSTRAINT video_search_2009_pkey PRIMARY KEY (id, year_key);

ALTER TABLE ONLY public.video_search_2010
    ADD CONSTRAINT video_search_2010_pkey PRIMARY KEY (id, year_key);

ALTER TABLE ONLY public.video_search_2011
    ADD CONSTRAINT video_search_2011_pkey PRIMARY KEY (id, year_key);

ALTER TABLE ONLY public.video_search_2012
    ADD CONSTRAINT video_search_2012_pkey PRIMARY KEY (id, year_key);

ALTER TABLE ONLY public.video_search_2013
    ADD CONSTRAINT video_search_2013_pkey PRIMARY KEY (id, year_key);

ALTER TABLE ONLY public.video_search_2014
    ADD CONSTRAINT video_search_2014_pkey PRIMARY KEY (id, year_key);

ALTER TABLE ONLY public.video_search_2015
    ADD CONSTRAINT video_search_2015_pkey PRIMARY KEY (id, year_key);

ALTER TABLE ONLY public.video_search_2016
    ADD CONSTRAINT video_search_2016_pkey PRIMARY KEY (id, year_key);

ALTER TABLE ONLY public.video_search_2017
    ADD CONSTRAINT video_search_2017_pkey PRIMARY KEY (id, year_key);

ALTER TABLE ONLY public.video_search_2018
    ADD CONSTRAINT video_search_2018_pkey PRIMARY KEY (id, year_key);

ALTER TABLE ONLY public.video_search_2019
    ADD CONSTRAINT video_search_2019_pkey PRIMARY KEY (id, year_key);

ALTER TABLE ONLY public.video_search_2020
    ADD CONSTRAINT video_search_2020_pkey PRIMARY KEY (id, year_key);

ALTER TABLE ONLY public.video_search_2021
    ADD CONSTRAINT video_search_2021_pkey PRIMARY KEY (id, year_key);

ALTER TABLE ONLY public.video_search_2022
    ADD CONSTRAINT video_search_2022_pkey PRIMARY KEY (id, year_key);

ALTER TABLE ONLY public.video_search_2023
    ADD CONSTRAINT video_search_2023_pkey PRIMARY KEY (id, year_key);

ALTER TABLE ONLY public.video_search_2024
    ADD CONSTRAINT video_search_2024_pkey PRIMARY KEY (id, year_key);

ALTER TABLE ONLY public.video_search_2025
    ADD CONSTRAINT video_search_2025_pkey PRIMARY KEY (id, year_key);

ALTER TABLE ONLY public.video_search_2026
    ADD CONSTRAINT video_search_2026_pkey PRIMARY KEY (id, year_key);

ALTER TABLE ONLY public.video_search_2027
    ADD CONSTRAINT video_search_2027_pkey PRIMARY KEY (id, year_key);

ALTER TABLE ONLY public.video_search_2028
    ADD CONSTRAINT video_search_2028_pkey PRIMARY KEY (id, year_key);

ALTER TABLE ONLY public.video_search_2029
    ADD CONSTRAINT video_search_2029_pkey PRIMARY KEY (id, year_key);

ALTER TABLE ONLY public.video_search_2030
    ADD CONSTRAINT video_search_2030_pkey PRIMARY KEY (id, year_key);

ALTER TABLE ONLY public.video_search_2031
    ADD CONSTRAINT video_search_2031_pkey PRIMARY KEY (id, year_key);

ALTER TABLE ONLY public.video_search_2032
    ADD CONSTRAINT video_search_2032_pkey PRIMARY KEY (id, year_key);

ALTER TABLE ONLY public.video_search_2033
    ADD CONSTRAINT video_search_2033_pkey PRIMARY KEY (id, year_key);

ALTER TABLE ONLY public.video_search_2034
    ADD CONSTRAINT video_search_2034_pkey PRIMARY KEY (id, year_key);

ALTER TABLE ONLY public.video_search_2035
    ADD CONSTRAINT video_search_2035_pkey PRIMARY KEY (id, year_key);

ALTER TABLE ONLY public.video_search_2036
    ADD CONSTRAINT video_search_2036_pkey PRIMARY KEY (id, year_key);

ALTER TABLE ONLY public.video_search_2037
    ADD CONSTRAINT video_search_2037_pkey PRIMARY KEY (id, year_key);

ALTER TABLE ONLY public.video_search_2038
    ADD CONSTRAINT video_search_2038_pkey PRIMARY KEY (id, year_key);

ALTER TABLE ONLY public.video_search_2039
    ADD CONSTRAINT video_search_2039_pkey PRIMARY KEY (id, year_key);

ALTER TABLE ONLY public.video_search_2040
    ADD CONSTRAINT video_search_2040_pkey PRIMARY KEY (id, year_key);

ALTER TABLE ONLY public.video_search_2041
    ADD CONSTRAINT video_search_2041_pkey PRIMARY KEY (id, year_key);

ALTER TABLE ONLY public.video_search_2042
    ADD CONSTRAINT video_search_2042_pkey PRIMARY KEY (id, year_key);

ALTER TABLE ONLY public.video_search_2043
    ADD CONSTRAINT video_search_2043_pkey PRIMARY KEY (id, year_key);

ALTER TABLE ONLY public.video_search_2044
    ADD CONSTRAINT video_search_2044_pkey PRIMARY KEY (id, year_key);

ALTER TABLE ONLY public.video_search_2045
    ADD CONSTRAINT video_search_2045_pkey PRIMARY KEY (id, year_key);

ALTER TABLE ONLY public.video_search_earlier
    ADD CONSTRAINT video_search_earlier_pkey PRIMARY KEY (id, year_key);

ALTER TABLE ONLY public.video_search_later
    ADD CONSTRAINT video_search_later_pkey PRIMARY KEY (id, year_key);

ALTER TABLE ONLY public.video
    ADD CONSTRAINT video_slug UNIQUE (slug);

CREATE INDEX body_by_updated ON public.video_body USING btree (updated, id) WHERE live;

CREATE INDEX category_by_title ON public.category USING btree (public.fold(title) COLLATE "C", id);

CREATE INDEX category_title_trigrams ON public.category USING gin (public.fold(title) public.gin_trgm_ops) WITH (fastupdate=off);

CREATE INDEX change_feed ON public.change USING btree (xid, "position");

CREATE INDEX change_withdrawn ON public.change USING btree (at) WHERE ((kind = ANY (ARRAY['taken-down'::text, 'merged'::text])) OR ((subject = 'video'::text) AND (before @> '{"state": 1}'::jsonb) AND (after @> '{"state": 2}'::jsonb)) OR ((subject = ANY (ARRAY['category'::text, 'speaker'::text, 'tag'::text])) AND ((before ?| '{name,title}'::text[]) OR jsonb_path_exists(before, '$."aliases"[*]?(@."shown" == true)'::jsonpath))));

CREATE INDEX entity_name_by_entity ON public.entity_name USING btree (kind, entity_id);

CREATE INDEX entity_slug_by_entity ON public.entity_slug USING btree (kind, entity_id);

CREATE INDEX idempotency_key_created ON public.idempotency_key USING btree (created);

CREATE INDEX import_row_by_key ON public.import_row USING btree (import_id, key) WHERE (key IS NOT NULL);

CREATE INDEX import_row_by_undone ON public.import_row USING btree (import_id, undone, "position") WHERE (undone IS NOT NULL);

CREATE INDEX import_row_by_verdict ON public.import_row USING btree (import_id, verdict, "position");

CREATE INDEX import_row_by_video ON public.import_row USING btree (video_id) WHERE (video_id IS NOT NULL);

CREATE UNIQUE INDEX language_name ON public.language USING btree (lower(name));

CREATE INDEX search_word_trigrams ON public.search_word USING gin (word public.gin_trgm_ops) WITH (fastupdate=off);

CREATE INDEX source_record_by_video ON public.source_record USING btree (video_id);

CREATE INDEX speaker_by_name ON public.speaker USING btree (public.fold(name) COLLATE "C", id);

CREATE INDEX speaker_by_spelling ON public.speaker USING btree (spelling, id) WHERE (spelling IS NOT NULL);

CREATE INDEX speaker_name_trigrams ON public.speaker USING gin (public.fold(name) public.gin_trgm_ops) WITH (fastupdate=off);

CREATE INDEX tag_by_name ON public.tag USING btree (public.fold(name) COLLATE "C", id);

CREATE INDEX tag_by_spelling ON public.tag USING btree (spelling, id) WHERE (spelling IS NOT NULL);

CREATE INDEX tag_name_trigrams ON public.tag USING gin (public.fold(name) public.gin_trgm_ops) WITH (fastupdate=off);

CREATE INDEX talk_count_by_entity ON public.talk_count USING btree (kind, entity_id) INCLUDE (talks);

CREATE INDEX video_by_added ON public.video USING btree (added, id) WHERE ((state = 1) AND (taken_down IS NULL));

CREATE INDEX video_by_category ON public.video USING btree (category_id, COALESCE(recorded, '-infinity'::date) DESC, public.fold(title) COLLATE "C", id) WHERE ((state = 1) AND (taken_down IS NULL));

CREATE INDEX video_by_duration ON public.video USING btree (COALESCE(duration, '-1'::integer), id) WHERE ((state = 1) AND (taken_down IS NULL));

CREATE INDEX video_by_language ON public.video USING btree (language_id, COALESCE(recorded, '-infinity'::date) DESC, public.fold(title) COLLATE "C", id) WHERE ((state = 1) AND (taken_down IS NULL));

CREATE INDEX video_by_recorded ON public.video USING btree (COALESCE(recorded, '-infinity'::date) DESC, public.fold(title) COLLATE "C", id) WHERE ((state = 1) AND (taken_down IS NULL));

CREATE INDEX video_by_source ON public.video USING hash (source_url) WHERE (source_url IS NOT NULL);

CREATE INDEX video_by_speaker ON public.video USING gin (speaker_ids) WITH (fastupdate=off) WHERE ((state = 1) AND (taken_down IS NULL));

CREATE INDEX video_by_tag ON public.video USING gin (tag_ids) WITH (fastupdate=off) WHERE ((state = 1) AND (taken_down IS NULL));

CREATE INDEX video_by_title ON public.video USING btree (public.fold(title) COLLATE "C", id) WHERE ((state = 1) AND (taken_down IS NULL));

CREATE INDEX video_draft_by_speaker ON public.video USING gin (speaker_ids) WITH (fastupdate=off) WHERE ((state = 2) AND (taken_down IS NULL));

CREATE INDEX video_draft_by_tag ON public.video USING gin (tag_ids) WITH (fastupdate=off) WHERE ((state = 2) AND (taken_down IS NULL));

CREATE INDEX video_duration_in_minutes ON public.video USING btree (id) WHERE (duration_in_minutes AND (taken_down IS NULL));

CREATE INDEX video_gone_same_source ON public.video USING btree (same_source) WHERE ((same_source IS NOT NULL) AND (taken_down IS NOT NULL));

CREATE INDEX video_no_description ON public.video USING btree (id) WHERE (no_description AND (taken_down IS NULL));

CREATE INDEX video_no_duration ON public.video USING btree (id) WHERE (no_duration AND (taken_down IS NULL));

CREATE INDEX video_no_licence ON public.video USING btree (id) WHERE (no_licence AND (taken_down IS NULL));

CREATE INDEX video_no_speaker ON public.video USING btree (id) WHERE (no_speaker AND (taken_down IS NULL));

CREATE INDEX video_no_thumbnail ON public.video USING btree (id) WHERE (no_thumbnail AND (taken_down IS NULL));

CREATE INDEX video_same_source ON public.video USING btree (same_source) WHERE ((same_source IS NOT NULL) AND (taken_down IS NULL));

CREATE INDEX video_same_talk ON public.video USING btree (same_talk) WHERE ((same_talk IS NOT NULL) AND (taken_down IS NULL));

CREATE INDEX video_search_head ON ONLY public.video_search USING gin (((keys || head))) WITH (fastupdate=off);

CREATE INDEX video_search_2005_expr_idx ON public.video_search_2005 USING gin (((keys || head))) WITH (fastupdate=off);

CREATE INDEX video_search_all ON ONLY public.video_search USING gin ((((keys || head) || text))) WITH (fastupdate=off);

CREATE INDEX video_search_2005_expr_idx1 ON public.video_search_2005 USING gin ((((keys || head) || text))) WITH (fastupdate=off);

CREATE INDEX video_search_2006_expr_idx ON public.video_search_2006 USING gin (((keys || head))) WITH (fastupdate=off);

CREATE INDEX video_search_2006_expr_idx1 ON public.video_search_2006 USING gin ((((keys || head) || text))) WITH (fastupdate=off);

CREATE INDEX video_search_2007_expr_idx ON public.video_search_2007 USING gin (((keys || head))) WITH (fastupdate=off);

CREATE INDEX video_search_2007_expr_idx1 ON public.video_search_2007 USING gin ((((keys || head) || text))) WITH (fastupdate=off);

CREATE INDEX video_search_2008_expr_idx ON public.video_search_2008 USING gin (((keys || head))) WITH (fastupdate=off);

CREATE INDEX video_search_2008_expr_idx1 ON public.video_search_2008 USING gin ((((keys || head) || text))) WITH (fastupdate=off);

CREATE INDEX video_search_2009_expr_idx ON public.video_search_2009 USING gin (((keys || head))) WITH (fastupdate=off);

CREATE INDEX video_search_2009_expr_idx1 ON public.video_search_2009 USING gin ((((keys || head) || text))) WITH (fastupdate=off);

CREATE INDEX video_search_2010_expr_idx ON public.video_search_2010 USING gin (((keys || head))) WITH (fastupdate=off);

CREATE INDEX video_search_2010_expr_idx1 ON public.video_search_2010 USING gin ((((keys || head) || text))) WITH (fastupdate=off);

CREATE INDEX video_search_2011_expr_idx ON public.video_search_2011 USING gin (((keys || head))) WITH (fastupdate=off);

CREATE INDEX video_search_2011_expr_idx1 ON public.video_search_2011 USING gin ((((keys || head) || text))) WITH (fastupdate=off);

CREATE INDEX video_search_2012_expr_idx ON public.video_search_2012 USING gin (((keys || head))) WITH (fastupdate=off);

CREATE INDEX video_search_2012_expr_idx1 ON public.video_search_2012 USING gin ((((keys || head) || text))) WITH (fastupdate=off);

CREATE INDEX video_search_2013_expr_idx ON public.video_search_2013 USING gin (((keys || head))) WITH (fastupdate=off);

CREATE INDEX video_search_2013_expr_idx1 ON public.video_search_2013 USING gin ((((keys || head) || text))) WITH (fastupdate=off);

CREATE INDEX video_search_2014_expr_idx ON public.video_search_2014 USING gin (((keys || head))) WITH (fastupdate=off);

CREATE INDEX video_search_2014_expr_idx1 ON public.video_search_2014 USING gin ((((keys || head) || text))) WITH (fastupdate=off);

CREATE INDEX video_search_2015_expr_idx ON public.video_search_2015 USING gin (((keys || head))) WITH (fastupdate=off);

CREATE INDEX video_search_2015_expr_idx1 ON public.video_search_2015 USING gin ((((keys || head) || text))) WITH (fastupdate=off);

CREATE INDEX video_search_2016_expr_idx ON public.video_search_2016 USING gin (((keys || head))) WITH (fastupdate=off);

CREATE INDEX video_search_2016_expr_idx1 ON public.video_search_2016 USING gin ((((keys || head) || text))) WITH (fastupdate=off);

CREATE INDEX video_search_2017_expr_idx ON public.video_search_2017 USING gin (((keys || head))) WITH (fastupdate=off);

CREATE INDEX video_search_2017_expr_idx1 ON public.video_search_2017 USING gin ((((keys || head) || text))) WITH (fastupdate=off);

CREATE INDEX video_search_2018_expr_idx ON public.video_search_2018 USING gin (((keys || head))) WITH (fastupdate=off);

CREATE INDEX video_search_2018_expr_idx1 ON public.video_search_2018 USING gin ((((keys || head) || text))) WITH (fastupdate=off);

CREATE INDEX video_search_2019_expr_idx ON public.video_search_2019 USING gin (((keys || head))) WITH (fastupdate=off);

CREATE INDEX video_search_2019_expr_idx1 ON public.video_search_2019 USING gin ((((keys || head) || text))) WITH (fastupdate=off);

CREATE INDEX video_search_2020_expr_idx ON public.video_search_2020 USING gin (((keys || head))) WITH (fastupdate=off);

CREATE INDEX video_search_2020_expr_idx1 ON public.video_search_2020 USING gin ((((keys || head) || text))) WITH (fastupdate=off);

CREATE INDEX video_search_2021_expr_idx ON public.video_search_2021 USING gin (((keys || head))) WITH (fastupdate=off);

CREATE INDEX video_search_2021_expr_idx1 ON public.video_search_2021 USING gin ((((keys || head) || text))) WITH (fastupdate=off);

CREATE INDEX video_search_2022_expr_idx ON public.video_search_2022 USING gin (((keys || head))) WITH (fastupdate=off);

CREATE INDEX video_search_2022_expr_idx1 ON public.video_search_2022 USING gin ((((keys || head) || text))) WITH (fastupdate=off);

CREATE INDEX video_search_2023_expr_idx ON public.video_search_2023 USING gin (((keys || head))) WITH (fastupdate=off);

CREATE INDEX video_search_2023_expr_idx1 ON public.video_search_2023 USING gin ((((keys || head) || text))) WITH (fastupdate=off);

CREATE INDEX video_search_2024_expr_idx ON public.video_search_2024 USING gin (((keys || head))) WITH (fastupdate=off);

CREATE INDEX video_search_2024_expr_idx1 ON public.video_search_2024 USING gin ((((keys || head) || text))) WITH (fastupdate=off);

CREATE INDEX video_search_2025_expr_idx ON public.video_search_2025 USING gin (((keys || head))) WITH (fastupdate=off);

CREATE INDEX video_search_2025_expr_idx1 ON public.video_search_2025 USING gin ((((keys || head) || text))) WITH (fastupdate=off);

CREATE INDEX video_search_2026_expr_idx ON public.video_search_2026 USING gin (((keys || head))) WITH (fastupdate=off);

CREATE INDEX video_search_2026_expr_idx1 ON public.video_search_2026 USING gin ((((keys || head) || text))) WITH (fastupdate=off);

CREATE INDEX video_search_2027_expr_idx ON public.video_search_2027 USING gin (((keys || head))) WITH (fastupdate=off);

CREATE INDEX video_search_2027_expr_idx1 ON public.video_search_2027 USING gin ((((keys || head) || text))) WITH (fastupdate=off);

CREATE INDEX video_search_2028_expr_idx ON public.video_search_2028 USING gin (((keys || head))) WITH (fastupdate=off);

CREATE INDEX video_search_2028_expr_idx1 ON public.video_search_2028 USING gin ((((keys || head) || text))) WITH (fastupdate=off);

CREATE INDEX video_search_2029_expr_idx ON public.video_search_2029 USING gin (((keys || head))) WITH (fastupdate=off);

CREATE INDEX video_search_2029_expr_idx1 ON public.video_search_2029 USING gin ((((keys || head) || text))) WITH (fastupdate=off);

CREATE INDEX video_search_2030_expr_idx ON public.video_search_2030 USING gin (((keys || head))) WITH (fastupdate=off);

CREATE INDEX video_search_2030_expr_idx1 ON public.video_search_2030 USING gin ((((keys || head) || text))) WITH (fastupdate=off);

CREATE INDEX video_search_2031_expr_idx ON public.video_search_2031 USING gin (((keys || head))) WITH (fastupdate=off);

CREATE INDEX video_search_2031_expr_idx1 ON public.video_search_2031 USING gin ((((keys || head) || text))) WITH (fastupdate=off);

CREATE INDEX video_search_2032_expr_idx ON public.video_search_2032 USING gin (((keys || head))) WITH (fastupdate=off);

CREATE INDEX video_search_2032_expr_idx1 ON public.video_search_2032 USING gin ((((keys || head) || text))) WITH (fastupdate=off);

CREATE INDEX video_search_2033_expr_idx ON public.video_search_2033 USING gin (((keys || head))) WITH (fastupdate=off);

CREATE INDEX video_search_2033_expr_idx1 ON public.video_search_2033 USING gin ((((keys || head) || text))) WITH (fastupdate=off);

CREATE INDEX video_search_2034_expr_idx ON public.video_search_2034 USING gin (((keys || head))) WITH (fastupdate=off);

CREATE INDEX video_search_2034_expr_idx1 ON public.video_search_2034 USING gin ((((keys || head) || text))) WITH (fastupdate=off);

CREATE INDEX video_search_2035_expr_idx ON public.video_search_2035 USING gin (((keys || head))) WITH (fastupdate=off);

CREATE INDEX video_search_2035_expr_idx1 ON public.video_search_2035 USING gin ((((keys || head) || text))) WITH (fastupdate=off);

CREATE INDEX video_search_2036_expr_idx ON public.video_search_2036 USING gin (((keys || head))) WITH (fastupdate=off);

CREATE INDEX video_search_2036_expr_idx1 ON public.video_search_2036 USING gin ((((keys || head) || text))) WITH (fastupdate=off);

CREATE INDEX video_search_2037_expr_idx ON public.video_search_2037 USING gin (((keys || head))) WITH (fastupdate=off);

CREATE INDEX video_search_2037_expr_idx1 ON public.video_search_2037 USING gin ((((keys || head) || text))) WITH (fastupdate=off);

CREATE INDEX video_search_2038_expr_idx ON public.video_search_2038 USING gin (((keys || head))) WITH (fastupdate=off);

CREATE INDEX video_search_2038_expr_idx1 ON public.video_search_2038 USING gin ((((keys || head) || text))) WITH (fastupdate=off);

CREATE INDEX video_search_2039_expr_idx ON public.video_search_2039 USING gin (((keys || head))) WITH (fastupdate=off);

CREATE INDEX video_search_2039_expr_idx1 ON public.video_search_2039 USING gin ((((keys || head) || text))) WITH (fastupdate=off);

CREATE INDEX video_search_2040_expr_idx ON public.video_search_2040 USING gin (((keys || head))) WITH (fastupdate=off);

CREATE INDEX video_search_2040_expr_idx1 ON public.video_search_2040 USING gin ((((keys || head) || text))) WITH (fastupdate=off);

CREATE INDEX video_search_2041_expr_idx ON public.video_search_2041 USING gin (((keys || head))) WITH (fastupdate=off);

CREATE INDEX video_search_2041_expr_idx1 ON public.video_search_2041 USING gin ((((keys || head) || text))) WITH (fastupdate=off);

CREATE INDEX video_search_2042_expr_idx ON public.video_search_2042 USING gin (((keys || head))) WITH (fastupdate=off);

CREATE INDEX video_search_2042_expr_idx1 ON public.video_search_2042 USING gin ((((keys || head) || text))) WITH (fastupdate=off);

CREATE INDEX video_search_2043_expr_idx ON public.video_search_2043 USING gin (((keys || head))) WITH (fastupdate=off);

CREATE INDEX video_search_2043_expr_idx1 ON public.video_search_2043 USING gin ((((keys || head) || text))) WITH (fastupdate=off);

CREATE INDEX video_search_2044_expr_idx ON public.video_search_2044 USING gin (((keys || head))) WITH (fastupdate=off);

CREATE INDEX video_search_2044_expr_idx1 ON public.video_search_2044 USING gin ((((keys || head) || text))) WITH (fastupdate=off);

CREATE INDEX video_search_2045_expr_idx ON public.video_search_2045 USING gin (((keys || head))) WITH (fastupdate=off);

CREATE INDEX video_search_2045_expr_idx1 ON public.video_search_2045 USING gin ((((keys || head) || text))) WITH (fastupdate=off);

CREATE INDEX video_search_earlier_expr_idx ON public.video_search_earlier USING gin (((keys || head))) WITH (fastupdate=off);

CREATE INDEX video_search_earlier_expr_idx1 ON public.video_search_earlier USING gin ((((keys || head) || text))) WITH (fastupdate=off);

CREATE INDEX video_search_later_expr_idx ON public.video_search_later USING gin (((keys || head))) WITH (fastupdate=off);

CREATE INDEX video_search_later_expr_idx1 ON public.video_search_later USING gin ((((keys || head) || text))) WITH (fastupdate=off);

CREATE INDEX video_unlisted_by_category ON public.video USING btree (category_id, id) WHERE ((state <> 1) OR (taken_down IS NOT NULL));

CREATE INDEX video_unlisted_by_speaker ON public.video USING gin (speaker_ids) WITH (fastupdate=off) WHERE ((state <> 1) OR (taken_down IS NOT NULL));

CREATE INDEX video_unlisted_by_tag ON public.video USING gin (tag_ids) WITH (fastupdate=off) WHERE ((state <> 1) OR (taken_down IS NOT NULL));

ALTER INDEX public.video_search_head ATTACH PARTITION public.video_search_2005_expr_idx;

ALTER INDEX public.video_search_all ATTACH PARTITION public.video_search_2005_expr_idx1;

ALTER INDEX public.video_search_pkey ATTACH PARTITION public.video_search_2005_pkey;

ALTER INDEX public.video_search_head ATTACH PARTITION public.video_search_2006_expr_idx;

ALTER INDEX public.video_search_all ATTACH PARTITION public.video_search_2006_expr_idx1;

ALTER INDEX public.video_search_pkey ATTACH PARTITION public.video_search_2006_pkey;

ALTER INDEX public.video_search_head ATTACH PARTITION public.video_search_2007_expr_idx;

ALTER INDEX public.video_search_all ATTACH PARTITION public.video_search_2007_expr_idx1;

ALTER INDEX public.video_search_pkey ATTACH PARTITION public.video_search_2007_pkey;

ALTER INDEX public.video_search_head ATTACH PARTITION public.video_search_2008_expr_idx;

ALTER INDEX public.video_search_all ATTACH PARTITION public.video_search_2008_expr_idx1;

ALTER INDEX public.video_search_pkey ATTACH PARTITION public.video_search_2008_pkey;

ALTER INDEX public.video_search_head ATTACH PARTITION public.video_search_2009_expr_idx;

ALTER INDEX public.video_search_all ATTACH PARTITION public.video_search_2009_expr_idx1;

ALTER INDEX public.video_search_pkey ATTACH PARTITION public.video_search_2009_pkey;

ALTER INDEX public.video_search_head ATTACH PARTITION public.video_search_2010_expr_idx;

ALTER INDEX public.video_search_all ATTACH PARTITION public.video_search_2010_expr_idx1;

ALTER INDEX public.video_search_pkey ATTACH PARTITION public.video_search_2010_pkey;

ALTER INDEX public.video_search_head ATTACH PARTITION public.video_search_2011_expr_idx;

ALTER INDEX public.video_search_all ATTACH PARTITION public.video_search_2011_expr_idx1;

ALTER INDEX public.video_search_pkey ATTACH PARTITION public.video_search_2011_pkey;

ALTER INDEX public.video_search_head ATTACH PARTITION public.video_search_2012_expr_idx;

ALTER INDEX public.video_search_all ATTACH PARTITION public.video_search_2012_expr_idx1;

ALTER INDEX public.video_search_pkey ATTACH PARTITION public.video_search_2012_pkey;

ALTER INDEX public.video_search_head ATTACH PARTITION public.video_search_2013_expr_idx;

ALTER INDEX public.video_search_all ATTACH PARTITION public.video_search_2013_expr_idx1;

ALTER INDEX public.video_search_pkey ATTACH PARTITION public.video_search_2013_pkey;

ALTER INDEX public.video_search_head ATTACH PARTITION public.video_search_2014_expr_idx;

ALTER INDEX public.video_search_all ATTACH PARTITION public.video_search_2014_expr_idx1;

ALTER INDEX public.video_search_pkey ATTACH PARTITION public.video_search_2014_pkey;

ALTER INDEX public.video_search_head ATTACH PARTITION public.video_search_2015_expr_idx;

ALTER INDEX public.video_search_all ATTACH PARTITION public.video_search_2015_expr_idx1;

ALTER INDEX public.video_search_pkey ATTACH PARTITION public.video_search_2015_pkey;

ALTER INDEX public.video_search_head ATTACH PARTITION public.video_search_2016_expr_idx;

ALTER INDEX public.video_search_all ATTACH PARTITION public.video_search_2016_expr_idx1;

ALTER INDEX public.video_search_pkey ATTACH PARTITION public.video_search_2016_pkey;

ALTER INDEX public.video_search_head ATTACH PARTITION public.video_search_2017_expr_idx;

ALTER INDEX public.video_search_all ATTACH PARTITION public.video_search_2017_expr_idx1;

ALTER INDEX public.video_search_pkey ATTACH PARTITION public.video_search_2017_pkey;

ALTER INDEX public.video_search_head ATTACH PARTITION public.video_search_2018_expr_idx;

ALTER INDEX public.video_search_all ATTACH PARTITION public.video_search_2018_expr_idx1;

ALTER INDEX public.video_search_pkey ATTACH PARTITION public.video_search_2018_pkey;

ALTER INDEX public.video_search_head ATTACH PARTITION public.video_search_2019_expr_idx;

ALTER INDEX public.video_search_all ATTACH PARTITION public.video_search_2019_expr_idx1;

ALTER INDEX public.video_search_pkey ATTACH PARTITION public.video_search_2019_pkey;

ALTER INDEX public.video_search_head ATTACH PARTITION public.video_search_2020_expr_idx;

ALTER INDEX public.video_search_all ATTACH PARTITION public.video_search_2020_expr_idx1;

ALTER INDEX public.video_search_pkey ATTACH PARTITION public.video_search_2020_pkey;

ALTER INDEX public.video_search_head ATTACH PARTITION public.video_search_2021_expr_idx;

ALTER INDEX public.video_search_all ATTACH PARTITION public.video_search_2021_expr_idx1;

ALTER INDEX public.video_search_pkey ATTACH PARTITION public.video_search_2021_pkey;

ALTER INDEX public.video_search_head ATTACH PARTITION public.video_search_2022_expr_idx;

ALTER INDEX public.video_search_all ATTACH PARTITION public.video_search_2022_expr_idx1;

ALTER INDEX public.video_search_pkey ATTACH PARTITION public.video_search_2022_pkey;

ALTER INDEX public.video_search_head ATTACH PARTITION public.video_search_2023_expr_idx;

ALTER INDEX public.video_search_all ATTACH PARTITION public.video_search_2023_expr_idx1;

ALTER INDEX public.video_search_pkey ATTACH PARTITION public.video_search_2023_pkey;

ALTER INDEX public.video_search_head ATTACH PARTITION public.video_search_2024_expr_idx;

ALTER INDEX public.video_search_all ATTACH PARTITION public.video_search_2024_expr_idx1;

ALTER INDEX public.video_search_pkey ATTACH PARTITION public.video_search_2024_pkey;

ALTER INDEX public.video_search_head ATTACH PARTITION public.video_search_2025_expr_idx;

ALTER INDEX public.video_search_all ATTACH PARTITION public.video_search_2025_expr_idx1;

ALTER INDEX public.video_search_pkey ATTACH PARTITION public.video_search_2025_pkey;

ALTER INDEX public.video_search_head ATTACH PARTITION public.video_search_2026_expr_idx;

ALTER INDEX public.video_search_all ATTACH PARTITION public.video_search_2026_expr_idx1;

ALTER INDEX public.video_search_pkey ATTACH PARTITION public.video_search_2026_pkey;

ALTER INDEX public.video_search_head ATTACH PARTITION public.video_search_2027_expr_idx;

ALTER INDEX public.video_search_all ATTACH PARTITION public.video_search_2027_expr_idx1;

ALTER INDEX public.video_search_pkey ATTACH PARTITION public.video_search_2027_pkey;

ALTER INDEX public.video_search_head ATTACH PARTITION public.video_search_2028_expr_idx;

ALTER INDEX public.video_search_all ATTACH PARTITION public.video_search_2028_expr_idx1;

ALTER INDEX public.video_search_pkey ATTACH PARTITION public.video_search_2028_pkey;

ALTER INDEX public.video_search_head ATTACH PARTITION public.video_search_2029_expr_idx;

ALTER INDEX public.video_search_all ATTACH PARTITION public.video_search_2029_expr_idx1;

ALTER INDEX public.video_search_pkey ATTACH PARTITION public.video_search_2029_pkey;

ALTER INDEX public.video_search_head ATTACH PARTITION public.video_search_2030_expr_idx;

ALTER INDEX public.video_search_all ATTACH PARTITION public.video_search_2030_expr_idx1;

ALTER INDEX public.video_search_pkey ATTACH PARTITION public.video_search_2030_pkey;

ALTER INDEX public.video_search_head ATTACH PARTITION public.video_search_2031_expr_idx;

ALTER INDEX public.video_search_all ATTACH PARTITION public.video_search_2031_expr_idx1;

ALTER INDEX public.video_search_pkey ATTACH PARTITION public.video_search_2031_pkey;

ALTER INDEX public.video_search_head ATTACH PARTITION public.video_search_2032_expr_idx;

ALTER INDEX public.video_search_all ATTACH PARTITION public.video_search_2032_expr_idx1;

ALTER INDEX public.video_search_pkey ATTACH PARTITION public.video_search_2032_pkey;

ALTER INDEX public.video_search_head ATTACH PARTITION public.video_search_2033_expr_idx;

ALTER INDEX public.video_search_all ATTACH PARTITION public.video_search_2033_expr_idx1;

ALTER INDEX public.video_search_pkey ATTACH PARTITION public.video_search_2033_pkey;

ALTER INDEX public.video_search_head ATTACH PARTITION public.video_search_2034_expr_idx;

ALTER INDEX public.video_search_all ATTACH PARTITION public.video_search_2034_expr_idx1;

ALTER INDEX public.video_search_pkey ATTACH PARTITION public.video_search_2034_pkey;

ALTER INDEX public.video_search_head ATTACH PARTITION public.video_search_2035_expr_idx;

ALTER INDEX public.video_search_all ATTACH PARTITION public.video_search_2035_expr_idx1;

ALTER INDEX public.video_search_pkey ATTACH PARTITION public.video_search_2035_pkey;

ALTER INDEX public.video_search_head ATTACH PARTITION public.video_search_2036_expr_idx;

ALTER INDEX public.video_search_all ATTACH PARTITION public.video_search_2036_expr_idx1;

ALTER INDEX public.video_search_pkey ATTACH PARTITION public.video_search_2036_pkey;

ALTER INDEX public.video_search_head ATTACH PARTITION public.video_search_2037_expr_idx;

ALTER INDEX public.video_search_all ATTACH PARTITION public.video_search_2037_expr_idx1;

ALTER INDEX public.video_search_pkey ATTACH PARTITION public.video_search_2037_pkey;

ALTER INDEX public.video_search_head ATTACH PARTITION public.video_search_2038_expr_idx;

ALTER INDEX public.video_search_all ATTACH PARTITION public.video_search_2038_expr_idx1;

ALTER INDEX public.video_search_pkey ATTACH PARTITION public.video_search_2038_pkey;

ALTER INDEX public.video_search_head ATTACH PARTITION public.video_search_2039_expr_idx;

ALTER INDEX public.video_search_all ATTACH PARTITION public.video_search_2039_expr_idx1;

ALTER INDEX public.video_search_pkey ATTACH PARTITION public.video_search_2039_pkey;

ALTER INDEX public.video_search_head ATTACH PARTITION public.video_search_2040_expr_idx;

ALTER INDEX public.video_search_all ATTACH PARTITION public.video_search_2040_expr_idx1;

ALTER INDEX public.video_search_pkey ATTACH PARTITION public.video_search_2040_pkey;

ALTER INDEX public.video_search_head ATTACH PARTITION public.video_search_2041_expr_idx;

ALTER INDEX public.video_search_all ATTACH PARTITION public.video_search_2041_expr_idx1;

ALTER INDEX public.video_search_pkey ATTACH PARTITION public.video_search_2041_pkey;

ALTER INDEX public.video_search_head ATTACH PARTITION public.video_search_2042_expr_idx;

ALTER INDEX public.video_search_all ATTACH PARTITION public.video_search_2042_expr_idx1;

ALTER INDEX public.video_search_pkey ATTACH PARTITION public.video_search_2042_pkey;

ALTER INDEX public.video_search_head ATTACH PARTITION public.video_search_2043_expr_idx;

ALTER INDEX public.video_search_all ATTACH PARTITION public.video_search_2043_expr_idx1;

ALTER INDEX public.video_search_pkey ATTACH PARTITION public.video_search_2043_pkey;

ALTER INDEX public.video_search_head ATTACH PARTITION public.video_search_2044_expr_idx;

ALTER INDEX public.video_search_all ATTACH PARTITION public.video_search_2044_expr_idx1;

ALTER INDEX public.video_search_pkey ATTACH PARTITION public.video_search_2044_pkey;

ALTER INDEX public.video_search_head ATTACH PARTITION public.video_search_2045_expr_idx;

ALTER INDEX public.video_search_all ATTACH PARTITION public.video_search_2045_expr_idx1;

ALTER INDEX public.video_search_pkey ATTACH PARTITION public.video_search_2045_pkey;

ALTER INDEX public.video_search_head ATTACH PARTITION public.video_search_earlier_expr_idx;

ALTER INDEX public.video_search_all ATTACH PARTITION public.video_search_earlier_expr_idx1;

ALTER INDEX public.video_search_pkey ATTACH PARTITION public.video_search_earlier_pkey;

ALTER INDEX public.video_search_head ATTACH PARTITION public.video_search_later_expr_idx;

ALTER INDEX public.video_search_all ATTACH PARTITION public.video_search_later_expr_idx1;

ALTER INDEX public.video_search_pkey ATTACH PARTITION public.video_search_later_pkey;

CREATE TRIGGER compact_talk_counts AFTER INSERT ON public.talk_count REFERENCING NEW TABLE AS written FOR EACH STATEMENT WHEN ((pg_trigger_depth() < 2)) EXECUTE FUNCTION public.compact_talk_counts();

CREATE TRIGGER count_inserted_talks AFTER INSERT ON public.video REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION public.count_inserted_talks();

CREATE TRIGGER count_updated_talk AFTER UPDATE ON public.video FOR EACH ROW WHEN (((old.state <> new.state) OR (old.taken_down IS DISTINCT FROM new.taken_down) OR (old.category_id <> new.category_id) OR (old.language_id <> new.language_id) OR (old.speaker_ids <> new.speaker_ids) OR (old.tag_ids <> new.tag_ids))) EXECUTE FUNCTION public.count_updated_talk();

CREATE TRIGGER index_inserted_videos AFTER INSERT ON public.video REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION public.index_inserted_videos();

CREATE TRIGGER index_updated_video AFTER UPDATE ON public.video FOR EACH ROW WHEN ((((((((((((old.state IS DISTINCT FROM new.state) OR (old.taken_down IS DISTINCT FROM new.taken_down)) OR (old.category_id IS DISTINCT FROM new.category_id)) OR (old.language_id IS DISTINCT FROM new.language_id)) OR (old.speaker_ids IS DISTINCT FROM new.speaker_ids)) OR (old.tag_ids IS DISTINCT FROM new.tag_ids)) OR (old.title IS DISTINCT FROM new.title)) OR (old.summary IS DISTINCT FROM new.summary)) OR (old.description IS DISTINCT FROM new.description)) OR (old.recorded IS DISTINCT FROM new.recorded)) OR (public.duration_range_of(old.duration) IS DISTINCT FROM public.duration_range_of(new.duration)))) EXECUTE FUNCTION public.index_updated_video();

CREATE TRIGGER record_inserted_fingerprints AFTER INSERT ON public.video FOR EACH ROW EXECUTE FUNCTION public.record_fingerprints();

CREATE TRIGGER record_updated_fingerprints AFTER UPDATE ON public.video FOR EACH ROW WHEN (((old.same_source IS DISTINCT FROM new.same_source) OR (old.same_talk IS DISTINCT FROM new.same_talk))) EXECUTE FUNCTION public.record_fingerprints();

CREATE TRIGGER redact_taken_down AFTER UPDATE ON public.video FOR EACH ROW WHEN (((old.taken_down IS NULL) AND (new.taken_down IS NOT NULL))) EXECUTE FUNCTION public.redact_taken_down();

ALTER TABLE ONLY public.category
    ADD CONSTRAINT category_merged_into_fkey FOREIGN KEY (merged_into) REFERENCES public.category(id);

ALTER TABLE ONLY public.idempotency_key
    ADD CONSTRAINT idempotency_key_token_id_fkey FOREIGN KEY (token_id) REFERENCES public.token(id);

ALTER TABLE ONLY public.idempotency_key
    ADD CONSTRAINT idempotency_key_video_id_fkey FOREIGN KEY (video_id) REFERENCES public.video(id);

ALTER TABLE ONLY public.import_entity
    ADD CONSTRAINT import_entity_import_id_fkey FOREIGN KEY (import_id) REFERENCES public.import(id);

ALTER TABLE ONLY public.import_row
    ADD CONSTRAINT import_row_import_id_fkey FOREIGN KEY (import_id) REFERENCES public.import(id);

ALTER TABLE ONLY public.source_record
    ADD CONSTRAINT source_record_video_id_fkey FOREIGN KEY (video_id) REFERENCES public.video(id);

ALTER TABLE ONLY public.speaker
    ADD CONSTRAINT speaker_merged_into_fkey FOREIGN KEY (merged_into) REFERENCES public.speaker(id);

ALTER TABLE ONLY public.tag
    ADD CONSTRAINT tag_merged_into_fkey FOREIGN KEY (merged_into) REFERENCES public.tag(id);

ALTER TABLE ONLY public.video_body
    ADD CONSTRAINT video_body_id_fkey FOREIGN KEY (id) REFERENCES public.video(id);

ALTER TABLE ONLY public.video
    ADD CONSTRAINT video_category_id_fkey FOREIGN KEY (category_id) REFERENCES public.category(id);

ALTER TABLE ONLY public.video_facts
    ADD CONSTRAINT video_facts_id_fkey FOREIGN KEY (id) REFERENCES public.video(id);

ALTER TABLE ONLY public.video
    ADD CONSTRAINT video_language_id_fkey FOREIGN KEY (language_id) REFERENCES public.language(id);

ALTER TABLE public.video_search
    ADD CONSTRAINT video_search_id_fkey FOREIGN KEY (id) REFERENCES public.video(id);
