-- Speakers, tags and categories can be renamed, have other names, and be merged. What an entity was
-- called once leads to it for ever.

-- Revision 0: made by the record that named it first. Each change of it since is in the history.
-- What was merged keeps its row, because its id stands in the history; it is listed nowhere, and no
-- name leads to it.
alter table speaker add revision integer not null default 0, add merged_into bigint references speaker;
alter table tag add revision integer not null default 0, add merged_into bigint references tag;
alter table category add merged_into bigint references category;

-- Every name that leads to an entity: the one that records show, and all others. One index for both,
-- so that a name can never be made while it becomes the other name of something else. The unique
-- names and slugs of the tables themselves would say less: what was merged keeps its own, and the
-- other one may take them.
create table entity_name (
  kind     text    not null check (kind in ('category', 'speaker', 'tag')),
  name     text    not null,
  entity_id bigint  not null,
  shown    boolean not null default false,  -- whether readers are told; always so for the one that records show
  constraint entity_name_unique primary key (kind, name)
);
create index entity_name_by_entity on entity_name (kind, entity_id);
insert into entity_name (kind, name, entity_id, shown)
select 'speaker', name, id, true from speaker
union all select 'tag', name, id, true from tag
union all select 'category', title, id, true from category;

-- Every slug that leads to an entity: the one that it has, and all that it had. A retired one leads
-- nowhere, and is not given out again.
create table entity_slug (
  kind     text    not null check (kind in ('category', 'speaker', 'tag')),
  slug     text    collate "C" not null,
  entity_id bigint  not null,
  retired  boolean not null default false,
  constraint entity_slug_unique primary key (kind, slug)
);
create index entity_slug_by_entity on entity_slug (kind, entity_id);
insert into entity_slug (kind, slug, entity_id)
select 'speaker', slug, id from speaker
union all select 'tag', slug, id from tag
union all select 'category', slug, id from category;

alter table speaker drop constraint speaker_name_key, drop constraint speaker_slug_key;
alter table tag drop constraint tag_name_key, drop constraint tag_slug_key;
alter table category drop constraint category_title, drop constraint category_slug;

alter table change
  drop constraint change_subject_check,
  drop constraint change_kind_check,
  add constraint change_subject_check check (subject in ('video', 'category', 'speaker', 'tag')),
  add constraint change_kind_check check (kind in ('created', 'updated', 'restored', 'taken-down', 'merged'));

-- Changes that take something from readers: a record goes, or a name is shown no longer. Snapshots
-- from before the last of them are withdrawn.
create index change_withdrawn on change (at) where
  kind in ('taken-down', 'merged')
  or subject = 'video' and before @> '{"state": 1}' and after @> '{"state": 2}'
  or subject in ('category', 'speaker', 'tag')
     and (before ?| '{name,title}' or jsonb_path_exists(before, '$.aliases[*] ? (@.shown == true)'));

-- An entity whose new name has not yet reached all its records: what is left is done batch by batch,
-- by whichever server comes first.
create table rename_job (
  id           bigint generated always as identity primary key,
  kind         text   not null check (kind in ('category', 'speaker', 'tag')),
  entity_id     bigint not null,
  done_up_to   bigint not null,  -- the id of the last record that was looked at
  actor        text   not null,  -- who did it, as the changes of all its records say
  token_id     bigint,
  via          text   not null check (via in ('api', 'import', 'page', 'command')),
  request_id   text   not null,
  request_hash bytea  not null
);

-- A name changes in drafts and in what was taken down as well, and the indexes of 0005 have only
-- what is listed.
create index video_unlisted_by_category on video (category_id, id) where state <> 1 or taken_down is not null;
create index video_unlisted_by_speaker on video using gin (speaker_ids) with (fastupdate = off) where state <> 1 or taken_down is not null;
create index video_unlisted_by_tag on video using gin (tag_ids) with (fastupdate = off) where state <> 1 or taken_down is not null;
