import { Alias, type Profile } from '@talkshelf/contract'
import sql, { empty, raw, type Sql } from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import { insertChange, insertChanges, type NewChange } from '../changes/changes.ts'
import type { Origin } from '../platform/actor.ts'
import { type Db, execute, many, maybe, one } from '../platform/db/db.ts'
import { freeSlug } from '../platform/db/slugs.ts'

// SQL of categories, speakers, tags and languages, their names and their slugs.

const MaybeText = Type.Union([Type.String(), Type.Null()])
const MaybeId = Type.Union([Type.Integer(), Type.Null()])
const ResolvedNamesRow = Type.Object({
  category_id: MaybeId,
  category: MaybeText,
  language_id: MaybeId,
  language: MaybeText,
  speaker_ids: Type.Array(MaybeId),
  speakers: Type.Array(MaybeText),
  tag_ids: Type.Array(MaybeId),
  tags: Type.Array(MaybeText),
})
const Name = Type.Object({ name: Type.String() })
const NewId = Type.Object({ id: Type.Integer() })

interface NamesQuery {
  readonly category: string | undefined
  readonly language: string | undefined
  readonly code: string | undefined
  readonly speakers: readonly string[]
  readonly tags: readonly string[]
  /** Whether a category is found only by its title and by aliases that readers see. */
  readonly isPublic: boolean
}

/**
 * Resolves the names of a record to ids and current names, in one round trip. The result is null
 * for each name that does not exist or was not requested.
 */
export function findNames(db: Db, names: NamesQuery) {
  const inOrder = (kind: 'speaker' | 'tag', column: Sql) => {
    const requested = kind === 'speaker' ? names.speakers : names.tags
    return sql`
      array(
        select ${column}
        from unnest(${requested}::text[]) with ordinality as requested (name, ordinal)
        left join entity_name on entity_name.kind = ${kind} and entity_name.name = requested.name
        left join ${kinds[kind].table} as entity on entity.id = entity_name.entity_id
        order by ordinal)`
  }
  return one(
    db,
    ResolvedNamesRow,
    sql`select category.id as category_id,
               category.title as category,
               language.id as language_id,
               language.name as language,
               ${inOrder('speaker', sql`entity.id`)} as speaker_ids,
               ${inOrder('speaker', sql`entity.name`)} as speakers,
               ${inOrder('tag', sql`entity.id`)} as tag_ids,
               ${inOrder('tag', sql`entity.name`)} as tags
        from (values (1)) as always
        left join entity_name
          on entity_name.kind = 'category'
         and entity_name.name = ${names.category}::text
         and (shown or not ${names.isPublic}::boolean)
        left join category on category.id = entity_name.entity_id
        left join lateral (
          select id, name
          from language
          where lower(name) = lower(${names.language}::text) or code = ${names.code}::text
          order by lower(name) = lower(${names.language}::text) desc
          limit 1
        ) as language on true`,
  )
}

/** Finds up to three categories with a similar title. */
export function findSimilarCategories(db: Db, title: string) {
  return many(
    db,
    Name,
    sql`select title as name
        from category
        where merged_into is null and similarity(title, ${title}) > 0.2
        order by similarity(title, ${title}) desc, title
        limit 3`,
  )
}

/** Finds up to three languages with a similar name. */
export function findSimilarLanguages(db: Db, name: string) {
  return many(
    db,
    Name,
    sql`select name
        from language
        where similarity(name, ${name}) > 0.3
        order by similarity(name, ${name}) desc, name
        limit 3`,
  )
}

export type EntityKind = 'category' | 'speaker' | 'tag'

const noProfile = sql`'{}'::jsonb`

/** How the tables differ: a category has more columns, and its name is the column `title`. */
const kinds = {
  speaker: {
    table: raw('speaker'),
    name: raw('name'),
    about: sql`null::jsonb`,
    profile: sql`entity.profile`,
  },
  tag: { table: raw('tag'), name: raw('name'), about: sql`null::jsonb`, profile: noProfile },
  category: {
    table: raw('category'),
    name: raw('title'),
    about: sql`
      jsonb_build_object(
        'description', entity.description, 'url', entity.url,
        'start_date', entity.start_date, 'end_date', entity.end_date)`,
    profile: sql`entity.profile`,
  },
}

/** Returns a slug that no entity of this kind has or had. */
export function freeEntitySlug(db: Db, kind: EntityKind, base: string, attempt: number) {
  return freeSlug(
    db,
    sql`(select slug from entity_slug where kind = ${kind}) as taken`,
    base,
    kind,
    attempt,
  )
}

/**
 * Creates entities with these names, in this order. The first transaction that claims a name
 * creates the entity; concurrent ones wait for it. Skips a name that already belongs to an entity.
 * Also skips a name whose slug is empty or taken, but leaves it claimed.
 */
export function insertEntities(
  tx: Db,
  kind: 'speaker' | 'tag',
  rows: readonly { name: string; slug: string }[],
) {
  const [names, slugs] = [rows.map(({ name }) => name), rows.map(({ slug }) => slug)]
  return execute(
    tx,
    sql`with input as (
          select *
          from unnest(${names}::text[], ${slugs}::text[]) with ordinality
            as input (name, slug, ordinal)
        ), claimed_name as (
          insert into entity_name (kind, name, entity_id, shown)
          select ${kind}::text, name, nextval(pg_get_serial_sequence(${kind}, 'id')), true
          from (select name from input order by ordinal) as sorted
          on conflict do nothing
          returning name, entity_id
        ), claimed_slug as (
          insert into entity_slug (kind, slug, entity_id)
          select ${kind}::text, slug, entity_id
          from claimed_name
          join input using (name)
          where slug <> ''
          order by ordinal
          on conflict do nothing
          returning entity_id
        )
        insert into ${kinds[kind].table} (id, name, slug)
        select entity_id, name, slug
        from claimed_slug
        join claimed_name using (entity_id)
        join input using (name)`,
  )
}

/** Creates the entity of a claimed name, unless the slug is taken or the entity exists. */
export function insertEntity(tx: Db, kind: 'speaker' | 'tag', name: string, slug: string) {
  return execute(
    tx,
    sql`with claimed_slug as (
          insert into entity_slug (kind, slug, entity_id)
          select kind, ${slug}::text, entity_id
          from entity_name
          where kind = ${kind}
            and name = ${name}
            and not exists (select from ${kinds[kind].table} where id = entity_id)
          on conflict do nothing
          returning entity_id
        )
        insert into ${kinds[kind].table} (id, name, slug)
        select entity_id, ${name}::text, ${slug}::text
        from claimed_slug`,
  )
}

const NamedRow = Type.Object({
  given: Type.String(),
  id: Type.Integer(),
  name: Type.String(),
  slug: Type.String(),
})

/** Finds entities by any of their names, keyed by that name. */
export async function findEntitiesByName(
  db: Db,
  kind: EntityKind,
  names: readonly string[],
): Promise<Map<string, Omit<Static<typeof NamedRow>, 'given'>>> {
  const rows = await many(
    db,
    NamedRow,
    sql`select entity_name.name as given, entity.id, entity.${kinds[kind].name} as name, entity.slug
        from entity_name join ${kinds[kind].table} as entity on entity.id = entity_name.entity_id
        where entity_name.kind = ${kind} and entity_name.name = any (${names}::text[])`,
  )
  return new Map(rows.map(({ given, ...entity }) => [given, entity]))
}

const SpeakerName = Type.Object({
  name: Type.String(),
  id: Type.Integer(),
  slug: Type.String(),
})

/** Finds the names and aliases of speakers that have all of these words, in any spelling. */
export function findSpeakerNames(db: Db, words: readonly string[]) {
  return many(
    db,
    SpeakerName,
    sql`select entity_name.name, speaker.id, speaker.slug
        from entity_name join speaker on speaker.id = entity_name.entity_id
        where entity_name.kind = 'speaker'
          and name_key(entity_name.name) like all (
            array(select '%' || name_key(word) || '%' from unnest(${words}::text[]) as word))
        limit 1000`,
  )
}

const NamedLanguage = Type.Object({
  given: Type.String(),
  id: Type.Integer(),
  name: Type.String(),
})

/** Finds languages by English name or code. A match of the name takes precedence. */
export function findLanguages(
  db: Db,
  names: readonly string[],
  codes: readonly (string | undefined)[],
) {
  return many(
    db,
    NamedLanguage,
    sql`select distinct on (input.name) input.name as given, language.id, language.name
        from unnest(${names}::text[], ${codes}::text[]) as input (name, code)
        join language on lower(language.name) = lower(input.name) or language.code = input.code
        order by input.name, lower(language.name) = lower(input.name) desc`,
  )
}

const LockedEntity = Type.Object({ id: Type.Integer(), name: Type.String() })

/**
 * Locks entities against renames and merges until the end of the transaction. Returns the locked
 * ones; entities that were merged into another are skipped.
 */
export function lockEntitiesForShare(tx: Db, kind: EntityKind, ids: readonly number[]) {
  const { table, name } = kinds[kind]
  return many(
    tx,
    LockedEntity,
    sql`select id, ${name} as name
        from ${table}
        where id = any (${ids}::bigint[]) and merged_into is null
        order by id
        for share`,
  )
}

const TakenEntities = Type.Object({
  ids: Type.Array(Type.Integer()),
  names: Type.Array(Type.String()),
  slugs: Type.Array(Type.String()),
})

/** Returns those of the ids, names and slugs that are taken. */
export function findTaken(
  db: Db,
  kind: EntityKind,
  ids: readonly number[],
  names: readonly string[],
  slugs: readonly string[],
) {
  return one(
    db,
    TakenEntities,
    sql`select array(
                 select id
                 from ${kinds[kind].table}
                 where id = any (${ids}::bigint[])
               ) as ids,
               array(
                 select name
                 from entity_name
                 where kind = ${kind} and name = any (${names}::text[])
               ) as names,
               array(
                 select slug
                 from entity_slug
                 where kind = ${kind} and slug = any (${slugs}::text[])
               ) as slugs`,
  )
}

/**
 * Inserts exported entities in one statement and advances the id sequence past their ids. With
 * `replaces`, a row with the same id is overwritten.
 */
export async function insertRestored(
  tx: Db,
  kind: EntityKind,
  rows: readonly object[],
  origin: Origin,
  hash: Buffer,
  { replaces = false } = {},
): Promise<void> {
  const { table, name } = kinds[kind]
  const columns = {
    category: ['profile', 'description', 'url', 'start_date', 'end_date'],
    speaker: ['profile'],
    tag: [],
  }[kind]
  const aboutColumns = raw(columns.map((column) => `, ${column}`).join(''))
  const updated = raw(columns.map((column) => `, ${column} = excluded.${column}`).join(''))
  await execute(
    tx,
    sql`with input as materialized (
          select *
          from json_to_recordset(${JSON.stringify(rows)}::json) as entity (
            id bigint, name text, slug text, revision integer,
            profile jsonb, description text, url text, start_date date, end_date date,
            names json, slugs text[], retired text[], after jsonb)
        ), inserted_name as (
          insert into entity_name (kind, name, entity_id, shown)
          select ${kind}::text, each.name, id, each.shown
          from input, json_to_recordset(names) as each (name text, shown boolean)
          order by 2
        ), inserted_slug as (
          insert into entity_slug (kind, slug, entity_id, retired)
          select ${kind}::text, each.slug, id, each.slug = any (retired)
          from input, unnest(slugs) as each (slug)
          order by 2
        ), saved as (
          insert into ${table} (id, ${name}, slug, revision${aboutColumns})
          select id, name, slug, revision${aboutColumns}
          from input
          ${
            replaces
              ? sql`on conflict (id) do update set
                      ${name} = excluded.${name}, slug = excluded.slug,
                      revision = excluded.revision, merged_into = null${updated}`
              : empty
          }
          returning id, revision
        )
        ${insertChanges(
          kind,
          'created',
          origin,
          hash,
          // An entity that was created by using its name in a record has revision 0 and no history.
          sql`select id, revision, '{}'::jsonb, after, '{}'::jsonb, now()
              from input
              where revision > 0`,
        )}`,
  )
  await many(
    tx,
    NewId,
    sql`select setval(pg_get_serial_sequence(${kind}, 'id'), max(id)) as id
        from ${table}
        having max(id) > coalesce(
          pg_sequence_last_value(pg_get_serial_sequence(${kind}, 'id')::regclass), 0)`,
  )
}

/** Reserves ids that are not in `except`. */
export async function nextEntityIds(
  db: Db,
  kind: EntityKind,
  count: number,
  except: ReadonlySet<number>,
): Promise<number[]> {
  if (count === 0) return []
  const rows = await many(
    db,
    NewId,
    sql`select nextval(pg_get_serial_sequence(${kind}, 'id')) as id
        from generate_series(1, ${count + except.size}::integer)`,
  )
  return rows.flatMap(({ id }) => (except.has(id) ? [] : id)).slice(0, count)
}

const CurrentEntity = Type.Object({
  kind: Type.String(),
  /** The id that was looked up. */
  was: Type.Integer(),
  id: Type.Integer(),
  name: Type.String(),
})

/** Finds the entities that ids refer to now. A merged entity is replaced by its target. */
export function findCurrentEntities(db: Db, ids: Readonly<Record<EntityKind, readonly number[]>>) {
  const select = (kind: EntityKind) => {
    const { table, name } = kinds[kind]
    return sql`
      select ${kind}::text as kind, original.id as was, current.id, current.${name} as name
      from ${table} as original
      join ${table} as current on current.id = coalesce(original.merged_into, original.id)
      where original.id = any (${ids[kind]}::bigint[])`
  }
  return many(
    db,
    CurrentEntity,
    sql`${select('category')}
        union all
        ${select('speaker')}
        union all
        ${select('tag')}`,
  )
}

const About = Type.Object({
  description: Type.String(),
  url: MaybeText,
  start_date: MaybeText,
  end_date: MaybeText,
})
const EntityRow = Type.Object({
  id: Type.Integer(),
  name: Type.String(),
  slug: Type.String(),
  revision: Type.Integer(),
  about: Type.Union([About, Type.Null()]),
  /** What is set of it. */
  profile: Type.Unsafe<Profile>(Type.Object({})),
  talks: Type.Integer(),
  /** Sorted by name. */
  aliases: Type.Array(Alias),
  /** Slugs that redirect, sorted. */
  old_slugs: Type.Array(Type.String()),
  retired_slugs: Type.Array(Type.String()),
})
export type EntityRow = Static<typeof EntityRow>

/** Finds an entity by its slug or an old one that was not retired. */
export function findEntity(db: Db, kind: EntityKind, slug: string) {
  return maybe(
    db,
    EntityRow,
    sql`select ${entityColumns(kind)}
        from entity_slug join ${kinds[kind].table} as entity on entity.id = entity_slug.entity_id
        where entity_slug.kind = ${kind}
          and entity_slug.slug = ${slug}
          and not entity_slug.retired`,
  )
}

const Any = Type.Object({ any: Type.Boolean() })

/** Returns whether an entity of this kind had this slug and retired it. */
export async function isSlugRetired(db: Db, kind: EntityKind, slug: string): Promise<boolean> {
  const row = await one(
    db,
    Any,
    sql`select exists (
          select from entity_slug where kind = ${kind} and slug = ${slug} and retired
        ) as any`,
  )
  return row.any
}

/** Retires exactly these slugs of an entity; its other old slugs redirect. */
export function replaceRetiredSlugs(
  tx: Db,
  kind: EntityKind,
  id: number,
  slugs: readonly string[],
) {
  return execute(
    tx,
    sql`update entity_slug set retired = slug = any (${slugs}::text[])
        where kind = ${kind} and entity_id = ${id}`,
  )
}

/** Finds the entity that an id refers to now. A merged entity is replaced by its target. */
export function findCurrentEntity(db: Db, kind: EntityKind, id: number) {
  const { table } = kinds[kind]
  return maybe(
    db,
    EntityRow,
    sql`select ${entityColumns(kind)}
        from ${table} as original
        join ${table} as entity on entity.id = coalesce(original.merged_into, original.id)
        where original.id = ${id}`,
  )
}

const IsPublic = Type.Object({ is_public: Type.Boolean() })

/** Tells whether the profile of a public entity has this uploaded picture. */
export async function isPublicPicture(db: Db, hash: string): Promise<boolean> {
  const { is_public } = await one(
    db,
    IsPublic,
    sql`select exists (
                 select
                 from category
                 where uploaded_hash(profile ->> 'logo_url') = ${hash} and merged_into is null)
               or exists (
                 select
                 from speaker
                 where uploaded_hash(profile ->> 'picture_url') = ${hash}
                   and merged_into is null
                   and (select sum(talks)
                        from talk_count
                        where talk_count.kind = 'speaker' and entity_id = speaker.id) > 0)
                 as is_public`,
  )
  return is_public
}

/** Tells whether all speakers and tags with these current names have live talks. */
export async function haveLiveTalks(
  db: Db,
  { speakers, tags }: { readonly speakers: readonly string[]; readonly tags: readonly string[] },
): Promise<boolean> {
  const { is_public } = await one(
    db,
    IsPublic,
    sql`select coalesce(bool_and(coalesce((
                 select sum(talks)
                 from entity_name
                 join talk_count using (kind, entity_id)
                 where entity_name.kind = requested.kind
                   and entity_name.name = requested.name), 0) > 0), true) as is_public
        from (select 'speaker' as kind, unnest(${speakers}::text[]) as name
              union all
              select 'tag', unnest(${tags}::text[])) as requested`,
  )
  return is_public
}

const SeriesEvent = Type.Object({ id: Type.Integer(), slug: Type.String(), name: Type.String() })

/** Lists the categories of a series, newest first. */
export function listSeriesEvents(db: Db, series: string, limit: number) {
  return many(
    db,
    SeriesEvent,
    sql`select id, slug, title as name
        from category
        where profile ? 'series'
          and fold(profile ->> 'series') collate "C" = fold(${series}::text)
          and merged_into is null
        order by coalesce(start_date, end_date) desc nulls last, title desc, id
        limit ${limit}::integer`,
  )
}

const MergedEntity = Type.Object({ id: Type.Integer(), revision: Type.Integer() })

/**
 * Finds the entity that had this slug when it was merged into another. The merge was its last
 * change; of several such entities, the one that was merged last is returned.
 */
export function findMergedEntity(db: Db, kind: EntityKind, slug: string) {
  return maybe(
    db,
    MergedEntity,
    sql`select entity.id, entity.revision
        from ${kinds[kind].table} as entity
        join change on subject = ${kind} and subject_id = entity.id
        where slug = ${slug}
        order by at desc
        limit 1`,
  )
}

const MergeRow = Type.Object({
  id: Type.Integer(),
  name: Type.String(),
  slug: Type.String(),
  merged_into: Type.Integer(),
  at: Type.String(),
  by: Type.String(),
  /** What the entity had when it was merged. */
  before: Type.Object({
    names: Type.Optional(Type.Array(Alias)),
    slugs: Type.Optional(Type.Array(Type.String())),
  }),
  after: Type.Object({
    merged_into: Type.Integer(),
    /** Fields that the target got. */
    filled: Type.Optional(Type.Array(Type.String())),
  }),
})
export type MergeRow = Static<typeof MergeRow>

/** Selects merged entities with their merge, which is their last change. */
function selectMerges(kind: EntityKind, condition: Sql): Sql {
  const { table, name } = kinds[kind]
  return sql`
    select entity.id, entity.${name} as name, entity.slug, entity.merged_into,
           to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as at, actor as by,
           before, after
    from ${table} as entity
    join change
      on subject = ${kind} and subject_id = entity.id and change.revision = entity.revision
    where merged_into is not null and change.kind = 'merged' and ${condition}
    order by change.position desc`
}

/** Finds the merge of the entity that had this slug. Of several, the last one is returned. */
export async function findMerge(db: Db, kind: EntityKind, slug: string) {
  const [merge] = await many(
    db,
    MergeRow,
    sql`${selectMerges(kind, sql`entity.slug = ${slug}`)} limit 1`,
  )
  return merge
}

/** Lists the merges into an entity, newest first. */
export function findMergesInto(db: Db, kind: EntityKind, id: number, limit: number) {
  return many(
    db,
    MergeRow,
    sql`${selectMerges(kind, sql`merged_into = ${id}`)} limit ${limit}::integer`,
  )
}

/** Finds an entity by its id, also a merged one. */
export function findEntityById(db: Db, kind: EntityKind, id: number) {
  return maybe(
    db,
    EntityRow,
    sql`select ${entityColumns(kind)}
        from ${kinds[kind].table} as entity
        where entity.id = ${id}`,
  )
}

const LastKind = Type.Object({ kind: Type.String() })

/** Returns whether the last change of an entity undid its merge. */
export async function isRestored(db: Db, kind: EntityKind, id: number): Promise<boolean> {
  const row = await maybe(
    db,
    LastKind,
    sql`select kind
        from change
        where subject = ${kind} and subject_id = ${id}
        order by revision desc
        limit 1`,
  )
  return row?.kind === 'restored'
}

/** Moves names and slugs from one entity to another, except for its current ones. */
export async function moveNames(
  tx: Db,
  kind: EntityKind,
  from: EntityRow,
  to: number,
  names: readonly Alias[],
  slugs: readonly string[],
): Promise<void> {
  const [all, shown] = [names.map(({ name }) => name), names.map(({ shown }) => shown)]
  await execute(
    tx,
    sql`update entity_name set entity_id = ${to}, shown = moved.shown
        from unnest(${all}::text[], ${shown}::boolean[]) as moved (name, shown)
        where kind = ${kind}
          and entity_id = ${from.id}
          and entity_name.name = moved.name
          and entity_name.name <> ${from.name}`,
  )
  await execute(
    tx,
    sql`update entity_slug set entity_id = ${to}
        where kind = ${kind}
          and entity_id = ${from.id}
          and slug = any (${slugs}::text[])
          and slug <> ${from.slug}`,
  )
}

/**
 * Finds the entities that were merged into this one, directly or through others, and now refer to
 * the target of its own merge.
 */
export async function findMergedBefore(
  tx: Db,
  kind: EntityKind,
  { id, merged_into: target }: Pick<MergeRow, 'id' | 'merged_into'>,
): Promise<number[]> {
  const rows = await many(
    tx,
    NewId,
    sql`with recursive merge as (
          select entity.id, (after ->> 'merged_into')::bigint as into_id
          from ${kinds[kind].table} as entity
          join change
            on subject = ${kind} and subject_id = entity.id and change.revision = entity.revision
          where merged_into = ${target} and change.kind = 'merged'
        ), merged_before as (
          select id from merge where into_id = ${id}
          union
          select merge.id from merge join merged_before on merge.into_id = merged_before.id
        )
        select id from merged_before`,
  )
  return rows.map(({ id }) => id)
}

/** Makes a merged entity an entity of its own again, and the target of `mergedBefore`. */
export async function unmergeEntityRow(
  tx: Db,
  kind: EntityKind,
  { id, slug }: Pick<EntityRow, 'id' | 'slug'>,
  mergedBefore: readonly number[],
  change: NewChange,
): Promise<void> {
  const { table } = kinds[kind]
  await execute(
    tx,
    sql`with saved as (
          update ${table} set merged_into = null, slug = ${slug}, revision = revision + 1
          where id = ${id}
          returning id, revision
        )
        ${insertChange(change)}`,
  )
  await execute(
    tx,
    sql`update ${table} set merged_into = ${id} where id = any (${mergedBefore}::bigint[])`,
  )
}

/** Returns the columns of an `EntityRow`, for a table with the alias `entity`. */
function entityColumns(kind: EntityKind): Sql {
  const { name, about, profile } = kinds[kind]
  const slugsWhere = (condition: Sql) =>
    sql`array(
          select former.slug
          from entity_slug as former
          where former.kind = ${kind} and former.entity_id = entity.id and ${condition}
          order by 1)`
  return sql`
    entity.id,
    entity.${name} as name,
    entity.slug,
    entity.revision,
    ${about} as about,
    ${profile} as profile,
    coalesce((
      select sum(talks)
      from talk_count
      where kind = ${kind} and talk_count.entity_id = entity.id), 0)::integer as talks,
    (select coalesce(
              jsonb_agg(
                jsonb_build_object('name', other.name, 'shown', other.shown)
                order by other.name collate "C"),
              '[]')
     from entity_name as other
     where other.kind = ${kind}
       and other.entity_id = entity.id
       and other.name <> entity.${name}) as aliases,
    ${slugsWhere(sql`former.slug <> entity.slug and not former.retired`)} as old_slugs,
    ${slugsWhere(sql`former.retired`)} as retired_slugs`
}

const PublicEntityRow = Type.Object({
  kind: Type.Union([
    Type.Literal('category'),
    Type.Literal('speaker'),
    Type.Literal('tag'),
    Type.Literal('language'),
  ]),
  given: Type.String(),
  id: Type.Integer(),
  slug: Type.String(),
  name: Type.String(),
  code: Type.String(),
})

/** Resolves the names of many records in one round trip. Only languages have a code. */
export function selectPublicEntities(
  db: Db,
  names: Readonly<Record<EntityKind | 'language', readonly string[]>>,
) {
  const select = (kind: EntityKind) => {
    const { table, name } = kinds[kind]
    return sql`
      select ${kind}::text as kind, entity_name.name as given, entity.id, entity.slug,
             entity.${name} as name, '' as code
      from entity_name join ${table} as entity on entity.id = entity_name.entity_id
      where entity_name.kind = ${kind}::text and entity_name.name = any (${names[kind]}::text[])`
  }
  return many(
    db,
    PublicEntityRow,
    sql`${select('category')}
        union all
        ${select('speaker')}
        union all
        ${select('tag')}
        union all
        select 'language', requested.name, found.*
        from unnest(${names.language}::text[]) as requested (name),
             -- "offset 0" keeps this an index lookup for each of a few names.
             lateral (
               select id, slug, name, code
               from language
               where lower(language.name) = lower(requested.name)
               offset 0
             ) as found`,
  )
}

/**
 * Locks entities against changes and against use in records until the end of the transaction, in
 * the order of their ids so that writers cannot deadlock. Read the entities after this, because
 * they may have changed while the lock was awaited.
 */
export function lockEntitiesForUpdate(
  tx: Db,
  kind: EntityKind,
  ids: readonly (number | undefined)[],
) {
  return execute(
    tx,
    sql`select from ${kinds[kind].table}
        where id = any (${ids}::bigint[])
        order by id
        for no key update`,
  )
}

/** Reserves the id of a category. */
export function nextCategoryId(db: Db) {
  return one(db, NewId, sql`select nextval(pg_get_serial_sequence('category', 'id')) as id`)
}

/** Inserts a category. Throws a `UniqueViolation` if its name or slug is taken. */
export function insertCategory(
  db: Db,
  category: Omit<EntityRow, 'about'> & { about: Static<typeof About> },
  change: NewChange,
) {
  const { id, name, slug, profile } = category
  const { description, url, start_date, end_date } = category.about
  return execute(
    db,
    sql`with inserted_name as (
          insert into entity_name (kind, name, entity_id, shown)
          values ('category', ${name}, ${id}, true)
        ), inserted_slug as (
          insert into entity_slug (kind, slug, entity_id)
          values ('category', ${slug}, ${id})
        ), saved as (
          insert into category (
            id, title, slug, description, url, start_date, end_date, profile)
          values (
            ${id}, ${name}, ${slug}, ${description}, ${url},
            ${start_date}::date, ${end_date}::date, ${JSON.stringify(profile)}::jsonb)
          returning id, revision
        )
        ${insertChange(change)}`,
  )
}

/** Writes a new version of an entity. Names and old slugs are written separately. */
export function updateEntity(tx: Db, kind: EntityKind, entity: EntityRow, change: NewChange) {
  const { table, name: nameColumn } = kinds[kind]
  const { id, name, slug, about, profile } = entity
  const setProfile =
    kind === 'tag'
      ? empty
      : sql`,
            profile = ${JSON.stringify(profile)}::jsonb`
  const setAbout = about
    ? sql`,
            description = ${about.description},
            url = ${about.url},
            start_date = ${about.start_date}::date,
            end_date = ${about.end_date}::date`
    : empty
  return execute(
    tx,
    sql`with saved as (
          update ${table} set
            ${nameColumn} = ${name},
            slug = ${slug},
            revision = revision + 1${setAbout}${setProfile}
          where id = ${id}
          returning id, revision
        )
        ${insertChange(change)}`,
  )
}

/** Claims a name for an entity. Does nothing if the name is already taken. */
export function claimName(tx: Db, kind: EntityKind, id: number, name: string) {
  return execute(
    tx,
    sql`insert into entity_name (kind, name, entity_id)
        values (${kind}, ${name}, ${id})
        on conflict do nothing`,
  )
}

/** Shows the main name of an entity to readers. */
export function showName(tx: Db, kind: EntityKind, id: number, name: string) {
  return execute(
    tx,
    sql`update entity_name set shown = true
        where kind = ${kind} and name = ${name} and entity_id = ${id}`,
  )
}

/** Releases a name that `claimName` claimed. */
export function releaseName(tx: Db, kind: EntityKind, id: number, name: string) {
  return execute(
    tx,
    sql`delete from entity_name where kind = ${kind} and name = ${name} and entity_id = ${id}`,
  )
}

/**
 * Replaces all names of an entity. Returns how many of the new names it has; the others belong to
 * another entity.
 */
export async function replaceNames(
  tx: Db,
  kind: EntityKind,
  id: number,
  names: readonly { name: string; shown: boolean }[],
): Promise<number> {
  const [all, shown] = [names.map(({ name }) => name), names.map(({ shown }) => shown)]
  await execute(
    tx,
    sql`delete from entity_name
        where kind = ${kind} and entity_id = ${id} and name <> all (${all}::text[])`,
  )
  return execute(
    tx,
    sql`insert into entity_name (kind, name, entity_id, shown)
        select ${kind}, name, ${id}::bigint, shown
        from unnest(${all}::text[], ${shown}::boolean[]) as input (name, shown)
        order by name collate "C"
        on conflict (kind, name) do update set shown = excluded.shown
        where entity_name.entity_id = excluded.entity_id`,
  )
}

const NameOwner = Type.Object({ name: Type.String(), slug: Type.String() })

/** Finds those of the names that belong to another entity, with its slug. */
export function findNameOwners(tx: Db, kind: EntityKind, id: number, names: readonly string[]) {
  return many(
    tx,
    NameOwner,
    sql`select entity_name.name, entity.slug
        from entity_name join ${kinds[kind].table} as entity on entity.id = entity_name.entity_id
        where entity_name.kind = ${kind}
          and entity_name.entity_id <> ${id}
          and entity_name.name = any (${names}::text[])`,
  )
}

/** Claims a slug for an entity, or reactivates an old one of it. Returns false if it is taken. */
export async function claimSlug(
  tx: Db,
  kind: EntityKind,
  id: number,
  slug: string,
): Promise<boolean> {
  const count = await execute(
    tx,
    sql`insert into entity_slug (kind, slug, entity_id)
        values (${kind}, ${slug}, ${id})
        on conflict (kind, slug) do update set retired = false
        where entity_slug.entity_id = excluded.entity_id`,
  )
  return count === 1
}

/**
 * Moves all names and slugs of an entity to another one and marks it as merged. Its own name
 * becomes a hidden alias.
 */
export async function mergeEntityRows(
  tx: Db,
  kind: EntityKind,
  from: EntityRow,
  into: EntityRow,
  change: NewChange,
): Promise<void> {
  const { table } = kinds[kind]
  await execute(
    tx,
    sql`update entity_name set entity_id = ${into.id}, shown = shown and name <> ${from.name}
        where kind = ${kind} and entity_id = ${from.id}`,
  )
  await execute(
    tx,
    sql`update entity_slug set entity_id = ${into.id}
        where kind = ${kind} and entity_id = ${from.id}`,
  )
  await execute(
    tx,
    sql`update ${table} set merged_into = ${into.id} where merged_into = ${from.id}`,
  )
  await execute(
    tx,
    sql`with saved as (
          update ${table} set merged_into = ${into.id}, revision = revision + 1
          where id = ${from.id}
          returning id, revision
        )
        ${insertChange(change)}`,
  )
}

const NameOfId = Type.Object({ id: Type.Integer(), name: Type.String() })

/** Finds the names of those that have a row. */
export function findNamesOfIds(tx: Db, kind: EntityKind, ids: readonly number[]) {
  const { table, name } = kinds[kind]
  return many(
    tx,
    NameOfId,
    sql`select id, ${name} as name from ${table} where id = any (${ids}::bigint[])`,
  )
}

/** Releases all names and slugs of entities, and these names and slugs of any other. */
export async function releaseNames(
  tx: Db,
  kind: EntityKind,
  ids: readonly number[],
  names: readonly string[],
  slugs: readonly string[],
): Promise<void> {
  await execute(
    tx,
    sql`delete from entity_name
        where kind = ${kind}
          and (entity_id = any (${ids}::bigint[]) or name = any (${names}::text[]))`,
  )
  await execute(
    tx,
    sql`delete from entity_slug
        where kind = ${kind}
          and (entity_id = any (${ids}::bigint[]) or slug = any (${slugs}::text[]))`,
  )
}

/**
 * Empties the rows of entities. `into` has what each of them was merged into, or null: such a row
 * is merged into itself, and so in no list.
 */
export async function emptyEntities(
  tx: Db,
  kind: EntityKind,
  ids: readonly number[],
  into: readonly (number | null)[],
): Promise<void> {
  const { table, name } = kinds[kind]
  const about = {
    category: sql`, profile = '{}', description = '', url = null, start_date = null,
                  end_date = null`,
    speaker: sql`, profile = '{}'`,
    tag: empty,
  }[kind]
  await execute(
    tx,
    sql`update ${table} as entity
        set ${name} = '', slug = '', merged_into = coalesce(input.merged_into, entity.id) ${about}
        from unnest(${ids}::bigint[], ${into}::bigint[]) as input (id, merged_into)
        where entity.id = input.id`,
  )
}

/**
 * Inserts rows for entities whose content is not known yet; those that exist stay. They are merged
 * into themselves, and so in no list.
 */
export async function reserveEntities(
  tx: Db,
  kind: EntityKind,
  ids: readonly number[],
): Promise<void> {
  const { table, name } = kinds[kind]
  await execute(
    tx,
    sql`insert into ${table} (id, ${name}, slug, merged_into)
        select id, '', '', id from unnest(${ids}::bigint[]) as input (id)
        on conflict (id) do nothing`,
  )
}

/** Deletes slugs of an entity for good. They can be assigned again. */
export function deleteSlugs(tx: Db, kind: EntityKind, id: number, slugs: readonly string[]) {
  return execute(
    tx,
    sql`delete from entity_slug
        where kind = ${kind} and entity_id = ${id} and slug = any (${slugs}::text[])`,
  )
}

/** Lets the slugs of merged entities that lead nowhere lead to their targets. */
export async function addSlugsOfMerged(tx: Db): Promise<void> {
  for (const [kind, { table }] of Object.entries(kinds))
    await execute(
      tx,
      sql`insert into entity_slug (kind, slug, entity_id)
          select ${kind}, slug, merged_into from ${table}
          where merged_into <> id and slug <> ''
          on conflict (kind, slug) do nothing`,
    )
}

const FormerName = Type.Object({
  digest: Type.Unsafe<Buffer>({}),
  words: Type.Integer(),
  replacement: Type.String(),
  in_links: Type.Boolean(),
})

/** Lists all former names and what replaces them. */
export function listFormerNames(db: Db) {
  return many(db, FormerName, sql`select digest, words, replacement, in_links from former_name`)
}

const FormerNameOwner = Type.Object({
  digest: Type.Unsafe<Buffer>({}),
  id: Type.Integer(),
  name: Type.String(),
})

/** Finds the speakers that had these names. A merged speaker is replaced by its target. */
export function findFormerNames(db: Db, digests: readonly Buffer[]) {
  return many(
    db,
    FormerNameOwner,
    sql`select digest, current.id, current.name
        from former_name
        join speaker as original on original.id = speaker_id
        join speaker as current on current.id = coalesce(original.merged_into, original.id)
        where digest = any (${digests}::bytea[])`,
  )
}

/** Adds a former name of a speaker. One that was added before gets the new replacement. */
export function insertFormerName(tx: Db, speaker: number, former: Static<typeof FormerName>) {
  return execute(
    tx,
    sql`insert into former_name (digest, words, speaker_id, replacement, in_links)
        values (${former.digest}, ${former.words}, ${speaker}, ${former.replacement},
                ${former.in_links})
        on conflict (digest) do update
          set speaker_id = excluded.speaker_id, replacement = excluded.replacement,
              in_links = excluded.in_links`,
  )
}

const Count = Type.Object({ count: Type.Integer() })

/** Counts the former names of a speaker. */
export async function countFormerNames(db: Db, speaker: number): Promise<number> {
  const row = await one(
    db,
    Count,
    sql`select count(*) from former_name where speaker_id = ${speaker}`,
  )
  return row.count
}

/** Deletes a former name: a speaker has it again. */
export function deleteFormerName(tx: Db, digest: Buffer) {
  return execute(tx, sql`delete from former_name where digest = ${digest}`)
}
