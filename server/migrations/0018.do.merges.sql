-- What merges replaced in records, so that a merge can be undone.

-- The speakers, the tags or the category of a record before entities were merged. `shown_as` has, at
-- the same index, the entity that the record shows instead. There is a row while the two differ.
-- Later edits of the record do not change it: an entity counts while the record has its `shown_as`.
create table ids_before_merge (
  kind       text     not null check (kind in ('category', 'speaker', 'tag')),
  video_id   bigint   not null references video,
  entity_ids bigint[] not null,
  shown_as   bigint[] not null,
  primary key (kind, video_id),
  check (cardinality(entity_ids) = cardinality(shown_as))
);
create index ids_before_merge_video on ids_before_merge (video_id);
create index ids_before_merge_entities on ids_before_merge using gin (entity_ids)
  with (fastupdate = off);
create index ids_before_merge_shown_as on ids_before_merge using gin (shown_as)
  with (fastupdate = off);

-- Whether the job undoes a merge: its entity is then the target, and its records are those that show
-- the target instead of another entity.
alter table rename_job add column is_undo boolean not null default false;
