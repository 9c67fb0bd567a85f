-- The schema that server/migrations make, as pg_dump 15 writes it. Made by npm run docs.

CREATE EXTENSION IF NOT EXISTS pg_trgm WITH SCHEMA public;

COMMENT ON EXTENSION pg_trgm IS 'text similarity measurement and index searching based on trigrams';

CREATE EXTENSION IF NOT EXISTS unaccent WITH SCHEMA public;

COMMENT ON EXTENSION unaccent IS 'text search dictionary that removes accents';

CREATE FUNCTION public.add_up_talk_counts() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO '$user', 'public'
    AS $$
begin
  if random() < 0.98 then
    return null;
  end if;
  with mine as (
    select ctid from talk_count where (kind, thing_id) in (select kind, thing_id from written) for update skip locked
  ), taken as (
    delete from talk_count using mine where talk_count.ctid = mine.ctid returning kind, thing_id, talks
  )
  insert into talk_count (kind, thing_id, talks)
  select kind, thing_id, sum(talks) from taken group by kind, thing_id having sum(talks) <> 0;
  return null;
end $$;

CREATE FUNCTION public.count_changed_talk() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO '$user', 'public'
    AS $$
begin
  insert into talk_count (kind, thing_id, talks)
  select kind, thing_id, sum(talks)
  from (select kind, thing_id, 1 as talks
        from things_of(new.state, new.taken_down, new.category_id, new.language_id, new.speaker_ids, new.tag_ids)
        union all
        select kind, thing_id, -1
        from things_of(old.state, old.taken_down, old.category_id, old.language_id, old.speaker_ids, old.tag_ids)) as changed
  group by kind, thing_id having sum(talks) <> 0;
  return null;
end $$;

CREATE FUNCTION public.count_new_talks() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO '$user', 'public'
    AS $$
begin
  insert into talk_count (kind, thing_id, talks)
  select kind, thing_id, count(*)
  from added, things_of(state, taken_down, category_id, language_id, speaker_ids, tag_ids)
  group by kind, thing_id;
  return null;
end $$;

CREATE FUNCTION public.fold(text) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN lower(public.unaccent('public.unaccent'::regdictionary, $1));

CREATE FUNCTION public.in_order(bigint[]) RETURNS bigint[]
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN ARRAY(SELECT DISTINCT unnest($1) AS unnest ORDER BY (unnest($1)));

CREATE FUNCTION public.note_suspects() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO '$user', 'public'
    AS $$
begin
  if new.same_source is distinct from old.same_source and new.same_source is not null then
    insert into seen (key) values (new.same_source) on conflict do nothing;
    if not found then
      insert into suspect (rule, key) values ('same-source', new.same_source) on conflict do nothing;
    end if;
  end if;
  if new.same_talk is distinct from old.same_talk and new.same_talk is not null then
    insert into seen (key) values (new.same_talk) on conflict do nothing;
    if not found then
      insert into suspect (rule, key) values ('same-talk', new.same_talk) on conflict do nothing;
    end if;
  end if;
  return null;
end $$;

CREATE FUNCTION public.note_suspects_anew() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO '$user', 'public'
    AS $$
begin
  -- Until the end of the transaction nobody writes a record.
  lock table video in share row exclusive mode;
  delete from suspect;
  truncate seen;
  insert into seen (key)
  select same_source from video where same_source is not null union select same_talk from video where same_talk is not null;
  insert into suspect (rule, key)
  select 'same-source', same_source from video where same_source is not null group by same_source having count(*) > 1
  union all
  select 'same-talk', same_talk from video where same_talk is not null group by same_talk having count(*) > 1;
end $$;

CREATE FUNCTION public.recount_talks() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO '$user', 'public'
    AS $$
begin
  -- Until the end of the transaction nobody writes a record: what is counted is what is there.
  lock table video in share row exclusive mode;
  delete from talk_count;
  insert into talk_count (kind, thing_id, talks)
  select kind, thing_id, count(*)
  from video, things_of(state, taken_down, category_id, language_id, speaker_ids, tag_ids)
  group by kind, thing_id;
end $$;

CREATE FUNCTION public.things_of(state smallint, taken_down date, category_id bigint, language_id integer, speaker_ids bigint[], tag_ids bigint[]) RETURNS TABLE(kind text, thing_id bigint)
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    BEGIN ATOMIC
 SELECT things.kind,
     things.thing_id
    FROM ( SELECT 'category'::text AS kind,
             things_of.category_id AS thing_id
         UNION ALL
          SELECT 'language'::text,
             things_of.language_id
         UNION ALL
          SELECT 'speaker'::text,
             unnest(things_of.speaker_ids) AS unnest
         UNION ALL
          SELECT 'tag'::text,
             unnest(things_of.tag_ids) AS unnest) things
   WHERE ((things_of.state = 1) AND (things_of.taken_down IS NULL));
END;

CREATE TABLE public.category (
    id bigint NOT NULL,
    slug text NOT NULL COLLATE pg_catalog."C",
    title text NOT NULL,
    description text DEFAULT ''::text NOT NULL,
    url text,
    start_date date,
    end_date date,
    revision integer DEFAULT 1 NOT NULL
);

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
    CONSTRAINT change_kind_check CHECK ((kind = ANY (ARRAY['created'::text, 'updated'::text, 'restored'::text, 'taken-down'::text]))),
    CONSTRAINT change_subject_check CHECK ((subject = ANY (ARRAY['video'::text, 'category'::text]))),
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

CREATE TABLE public.idempotency_key (
    token_id bigint NOT NULL,
    key text NOT NULL,
    request_hash bytea NOT NULL,
    video_id bigint NOT NULL,
    created timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE public.language (
    id integer NOT NULL,
    code text NOT NULL,
    name text NOT NULL,
    slug text NOT NULL COLLATE pg_catalog."C"
);

CREATE TABLE public.schema_version (
    version bigint NOT NULL,
    name text,
    md5 text,
    run_at timestamp with time zone
);

CREATE TABLE public.seen (
    key bigint NOT NULL
);

CREATE TABLE public.speaker (
    id bigint NOT NULL,
    slug text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL,
    spelling text GENERATED ALWAYS AS (NULLIF(regexp_replace(regexp_replace(public.fold(name), '^((dr|prof|professor)([.] *| +))+'::text, ''::text), '[[:punct:][:space:]]'::text, ''::text, 'g'::text), ''::text)) STORED COLLATE pg_catalog."C"
);

ALTER TABLE public.speaker ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.speaker_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.suspect (
    rule text NOT NULL,
    key bigint NOT NULL,
    CONSTRAINT suspect_rule_check CHECK ((rule = ANY (ARRAY['same-source'::text, 'same-talk'::text])))
);

CREATE TABLE public.tag (
    id bigint NOT NULL,
    slug text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL,
    spelling text GENERATED ALWAYS AS (NULLIF(regexp_replace(public.fold(name), '^#|[[:space:].,:;/''"()!?_-]'::text, ''::text, 'g'::text), ''::text)) STORED COLLATE pg_catalog."C"
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
    thing_id bigint NOT NULL,
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
    WHEN (source_url <> ''::text) THEN (hashtextextended(source_url, (0)::bigint) & '9007199254740991'::bigint)
    ELSE NULL::bigint
END) STORED,
    same_talk bigint GENERATED ALWAYS AS (
CASE
    WHEN (speaker_ids <> '{}'::bigint[]) THEN (hashtextextended(public.fold(title), hash_array_extended(
    CASE
        WHEN (cardinality(speaker_ids) = 1) THEN speaker_ids
        ELSE public.in_order(speaker_ids)
    END, (0)::bigint)) & '9007199254740991'::bigint)
    ELSE NULL::bigint
END) STORED,
    CONSTRAINT video_check CHECK (((taken_down IS NULL) = (takedown_reason IS NULL))),
    CONSTRAINT video_state_check CHECK ((state = ANY (ARRAY[1, 2])))
)
WITH (fillfactor='85');

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

ALTER TABLE public.video ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.video_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

ALTER TABLE ONLY public.category
    ADD CONSTRAINT category_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.category
    ADD CONSTRAINT category_slug UNIQUE (slug);

ALTER TABLE ONLY public.category
    ADD CONSTRAINT category_title UNIQUE (title);

ALTER TABLE ONLY public.change
    ADD CONSTRAINT change_pkey PRIMARY KEY (subject, subject_id, revision);

ALTER TABLE ONLY public.idempotency_key
    ADD CONSTRAINT idempotency_key_once PRIMARY KEY (token_id, key);

ALTER TABLE ONLY public.language
    ADD CONSTRAINT language_code_key UNIQUE (code);

ALTER TABLE ONLY public.language
    ADD CONSTRAINT language_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.language
    ADD CONSTRAINT language_slug_key UNIQUE (slug);

ALTER TABLE ONLY public.schema_version
    ADD CONSTRAINT schema_version_pkey PRIMARY KEY (version);

ALTER TABLE ONLY public.seen
    ADD CONSTRAINT seen_pkey PRIMARY KEY (key);

ALTER TABLE ONLY public.speaker
    ADD CONSTRAINT speaker_name_key UNIQUE (name);

ALTER TABLE ONLY public.speaker
    ADD CONSTRAINT speaker_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.speaker
    ADD CONSTRAINT speaker_slug_key UNIQUE (slug);

ALTER TABLE ONLY public.suspect
    ADD CONSTRAINT suspect_pkey PRIMARY KEY (rule, key);

ALTER TABLE ONLY public.tag
    ADD CONSTRAINT tag_name_key UNIQUE (name);

ALTER TABLE ONLY public.tag
    ADD CONSTRAINT tag_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.tag
    ADD CONSTRAINT tag_slug_key UNIQUE (slug);

ALTER TABLE ONLY public.token
    ADD CONSTRAINT token_hash_key UNIQUE (hash);

ALTER TABLE ONLY public.token
    ADD CONSTRAINT token_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.video_body
    ADD CONSTRAINT video_body_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.video
    ADD CONSTRAINT video_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.video
    ADD CONSTRAINT video_slug UNIQUE (slug);

CREATE INDEX body_by_updated ON public.video_body USING btree (updated, id) WHERE live;

CREATE INDEX category_by_title ON public.category USING btree (public.fold(title) COLLATE "C", id);

CREATE INDEX change_feed ON public.change USING btree (xid, "position");

CREATE INDEX idempotency_key_created ON public.idempotency_key USING btree (created);

CREATE UNIQUE INDEX language_name ON public.language USING btree (lower(name));

CREATE INDEX speaker_by_name ON public.speaker USING btree (public.fold(name) COLLATE "C", id);

CREATE INDEX speaker_by_spelling ON public.speaker USING btree (spelling, id) WHERE (spelling IS NOT NULL);

CREATE INDEX tag_by_name ON public.tag USING btree (public.fold(name) COLLATE "C", id);

CREATE INDEX tag_by_spelling ON public.tag USING btree (spelling, id) WHERE (spelling IS NOT NULL);

CREATE INDEX talk_count_of ON public.talk_count USING btree (kind, thing_id) INCLUDE (talks);

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

CREATE INDEX video_no_description ON public.video USING btree (id) WHERE (no_description AND (taken_down IS NULL));

CREATE INDEX video_no_duration ON public.video USING btree (id) WHERE (no_duration AND (taken_down IS NULL));

CREATE INDEX video_no_licence ON public.video USING btree (id) WHERE (no_licence AND (taken_down IS NULL));

CREATE INDEX video_no_speaker ON public.video USING btree (id) WHERE (no_speaker AND (taken_down IS NULL));

CREATE INDEX video_no_thumbnail ON public.video USING btree (id) WHERE (no_thumbnail AND (taken_down IS NULL));

CREATE INDEX video_same_source ON public.video USING btree (same_source) WHERE ((same_source IS NOT NULL) AND (taken_down IS NULL));

CREATE INDEX video_same_talk ON public.video USING btree (same_talk) WHERE ((same_talk IS NOT NULL) AND (taken_down IS NULL));

CREATE TRIGGER add_up_talk_counts AFTER INSERT ON public.talk_count REFERENCING NEW TABLE AS written FOR EACH STATEMENT WHEN ((pg_trigger_depth() < 2)) EXECUTE FUNCTION public.add_up_talk_counts();

CREATE TRIGGER count_changed_talk AFTER UPDATE ON public.video FOR EACH ROW WHEN (((old.state <> new.state) OR (old.taken_down IS DISTINCT FROM new.taken_down) OR (old.category_id <> new.category_id) OR (old.language_id <> new.language_id) OR (old.speaker_ids <> new.speaker_ids) OR (old.tag_ids <> new.tag_ids))) EXECUTE FUNCTION public.count_changed_talk();

CREATE TRIGGER count_new_talks AFTER INSERT ON public.video REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION public.count_new_talks();

CREATE TRIGGER note_changed_suspects AFTER UPDATE ON public.video FOR EACH ROW WHEN (((old.same_source IS DISTINCT FROM new.same_source) OR (old.same_talk IS DISTINCT FROM new.same_talk))) EXECUTE FUNCTION public.note_suspects();

CREATE TRIGGER note_new_suspects AFTER INSERT ON public.video FOR EACH ROW EXECUTE FUNCTION public.note_suspects();

ALTER TABLE ONLY public.idempotency_key
    ADD CONSTRAINT idempotency_key_token_id_fkey FOREIGN KEY (token_id) REFERENCES public.token(id);

ALTER TABLE ONLY public.idempotency_key
    ADD CONSTRAINT idempotency_key_video_id_fkey FOREIGN KEY (video_id) REFERENCES public.video(id);

ALTER TABLE ONLY public.video_body
    ADD CONSTRAINT video_body_id_fkey FOREIGN KEY (id) REFERENCES public.video(id);

ALTER TABLE ONLY public.video
    ADD CONSTRAINT video_category_id_fkey FOREIGN KEY (category_id) REFERENCES public.category(id);

ALTER TABLE ONLY public.video
    ADD CONSTRAINT video_language_id_fkey FOREIGN KEY (language_id) REFERENCES public.language(id);
