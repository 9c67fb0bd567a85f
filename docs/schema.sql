-- The schema that server/migrations make, as pg_dump 15 writes it. Made by npm run docs.

CREATE EXTENSION IF NOT EXISTS pg_trgm WITH SCHEMA public;

COMMENT ON EXTENSION pg_trgm IS 'text similarity measurement and index searching based on trigrams';

CREATE EXTENSION IF NOT EXISTS unaccent WITH SCHEMA public;

COMMENT ON EXTENSION unaccent IS 'text search dictionary that removes accents';

CREATE FUNCTION public.add_up_talk_counts() RETURNS trigger
    LANGUAGE plpgsql
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

CREATE TABLE public.talk_count (
    kind text NOT NULL,
    thing_id bigint NOT NULL,
    talks integer NOT NULL,
    CONSTRAINT talk_count_kind_check CHECK ((kind = ANY (ARRAY['category'::text, 'speaker'::text, 'tag'::text, 'language'::text])))
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
    CONSTRAINT video_check CHECK (((taken_down IS NULL) = (takedown_reason IS NULL))),
    CONSTRAINT video_state_check CHECK ((state = ANY (ARRAY[1, 2])))
)
WITH (fillfactor='85');

CREATE FUNCTION public.recount_talks() RETURNS void
    LANGUAGE sql
    BEGIN ATOMIC
 DELETE FROM public.talk_count;
 INSERT INTO public.talk_count (kind, thing_id, talks)  SELECT things_of.kind,
             things_of.thing_id,
             count(*) AS count
            FROM public.video,
             LATERAL public.things_of(video.state, video.taken_down, video.category_id, video.language_id, video.speaker_ids, video.tag_ids) things_of(kind, thing_id)
           GROUP BY things_of.kind, things_of.thing_id;
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

CREATE TABLE public.speaker (
    id bigint NOT NULL,
    slug text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL
);

ALTER TABLE public.speaker ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.speaker_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.tag (
    id bigint NOT NULL,
    slug text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL
);

ALTER TABLE public.tag ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.tag_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
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

ALTER TABLE ONLY public.speaker
    ADD CONSTRAINT speaker_name_key UNIQUE (name);

ALTER TABLE ONLY public.speaker
    ADD CONSTRAINT speaker_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.speaker
    ADD CONSTRAINT speaker_slug_key UNIQUE (slug);

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

CREATE INDEX tag_by_name ON public.tag USING btree (public.fold(name) COLLATE "C", id);

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

CREATE TRIGGER add_up_talk_counts AFTER INSERT ON public.talk_count REFERENCING NEW TABLE AS written FOR EACH STATEMENT WHEN ((pg_trigger_depth() < 2)) EXECUTE FUNCTION public.add_up_talk_counts();

CREATE TRIGGER count_changed_talk AFTER UPDATE ON public.video FOR EACH ROW WHEN (((old.state <> new.state) OR (old.taken_down IS DISTINCT FROM new.taken_down) OR (old.category_id <> new.category_id) OR (old.language_id <> new.language_id) OR (old.speaker_ids <> new.speaker_ids) OR (old.tag_ids <> new.tag_ids))) EXECUTE FUNCTION public.count_changed_talk();

CREATE TRIGGER count_new_talks AFTER INSERT ON public.video REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION public.count_new_talks();

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
