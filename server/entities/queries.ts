import { Alias } from '@talkshelf/contract'
import sql, { empty, raw, type Sql } from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import { insertChange, insertChanges, type NewChange } from '../changes/changes.ts'
import type { Origin } from '../platform/actor.ts'
import { type Db, execute, many, maybe, one } from '../platform/db/db.ts'
import { freeSlug } from '../platform/db/slugs.ts'

const MaybeText = Type.Union([Type.String(), Type.Null()])
const MaybeId = Type.Union([Type.Integer(), Type.Null()])
const FoundNames = Type.Object({
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
const Found = Type.Object({ id: Type.Integer() })

interface Wanted {
  readonly category: string | undefined
  readonly language: string | undefined
  readonly code: string | undefined
  readonly speakers: readonly string[]
  readonly tags: readonly string[]
}

/**
 * What names lead to, and what that is called, in one round trip; null for each that is not there
 * (yet), or was not asked for.
 */
export function findNames(db: Db, names: Wanted) {
  const known = (kind: 'speaker' | 'tag', column: Sql) =>
    sql`array(select ${column} from unnest(${kind === 'speaker' ? names.speakers : names.tags}::text[]) with ordinality as given (name, place)
              left join entity_name on entity_name.kind = ${kind} and entity_name.name = given.name
              left join ${kinds[kind].table} as entity on entity.id = entity_name.entity_id
              order by place)`
  return one(
    db,
    FoundNames,
    sql`select category.id as category_id, category.title as category, language.id as language_id, language.name as language,
               ${known('speaker', sql`entity.id`)} as speaker_ids, ${known('speaker', sql`entity.name`)} as speakers,
               ${known('tag', sql`entity.id`)} as tag_ids, ${known('tag', sql`entity.name`)} as tags
        from (values (1)) as always
        left join entity_name on entity_name.kind = 'category' and entity_name.name = ${names.category}::text
        left join category on category.id = entity_name.entity_id
        left join lateral (select id, name from language
                           where lower(name) = lower(${names.language}::text) or code = ${names.code}::text
                           order by lower(name) = lower(${names.language}::text) desc limit 1) as language on true`,
  )
}

export function findSimilarCategories(db: Db, title: string) {
  return many(
    db,
    Name,
    sql`select title as name from category where merged_into is null and similarity(title, ${title}) > 0.2
        order by similarity(title, ${title}) desc, title limit 3`,
  )
}

export function findSimilarLanguages(db: Db, name: string) {
  return many(
    db,
    Name,
    sql`select name from language where similarity(name, ${name}) > 0.3 order by similarity(name, ${name}) desc, name limit 3`,
  )
}

// The entities themselves. Speakers and tags are alike; a category has more to say, and calls its
// name a title.

export type EntityKind = 'category' | 'speaker' | 'tag'

const kinds = {
  speaker: { table: raw('speaker'), name: raw('name'), about: sql`null::jsonb` },
  tag: { table: raw('tag'), name: raw('name'), about: sql`null::jsonb` },
  category: {
    table: raw('category'),
    name: raw('title'),
    about: sql`jsonb_build_object('description', entity.description, 'url', entity.url, 'start_date', entity.start_date, 'end_date', entity.end_date)`,
  },
}

export function freeEntitySlug(db: Db, kind: EntityKind, base: string, attempt: number) {
  return freeSlug(
    db,
    sql`(select slug from entity_slug where kind = ${kind}) as given_out`,
    base,
    kind,
    attempt,
  )
}

/**
 * Makes the entities of these names, in the order given. Whoever claims a name first makes the
 * entity, and others who want the same wait until it is there. A name that leads to something by
 * now is passed over; so is one whose slug is empty or taken, but it stays claimed.
 */
export function insertEntities(
  tx: Db,
  kind: 'speaker' | 'tag',
  rows: readonly { name: string; slug: string }[],
) {
  const [names, slugs] = [rows.map(({ name }) => name), rows.map(({ slug }) => slug)]
  return execute(
    tx,
    sql`with given as (
          select * from unnest(${names}::text[], ${slugs}::text[]) with ordinality as given (name, slug, place)
        ), claimed as (
          insert into entity_name (kind, name, entity_id, shown)
          select ${kind}::text, name, nextval(pg_get_serial_sequence(${kind}, 'id')), true from (select name from given order by place) as sorted
          on conflict do nothing
          returning name, entity_id
        ), settled as (
          insert into entity_slug (kind, slug, entity_id)
          select ${kind}::text, slug, entity_id from claimed join given using (name) where slug <> '' order by place
          on conflict do nothing
          returning entity_id
        )
        insert into ${kinds[kind].table} (id, name, slug)
        select entity_id, name, slug from settled join claimed using (entity_id) join given using (name)`,
  )
}

/**
 * Makes the entity of a name that is claimed already, unless the slug is taken or the entity is
 * there.
 */
export function insertEntity(tx: Db, kind: 'speaker' | 'tag', name: string, slug: string) {
  return execute(
    tx,
    sql`with settled as (
          insert into entity_slug (kind, slug, entity_id)
          select kind, ${slug}::text, entity_id from entity_name
          where kind = ${kind} and name = ${name} and not exists (select from ${kinds[kind].table} where id = entity_id)
          on conflict do nothing
          returning entity_id
        )
        insert into ${kinds[kind].table} (id, name, slug) select entity_id, ${name}::text, ${slug}::text from settled`,
  )
}

const Led = Type.Object({
  given: Type.String(),
  id: Type.Integer(),
  name: Type.String(),
  slug: Type.String(),
})

/** What these names lead to. */
export async function findEntitiesByName(
  db: Db,
  kind: EntityKind,
  names: readonly string[],
): Promise<Map<string, Omit<Static<typeof Led>, 'given'>>> {
  const rows = await many(
    db,
    Led,
    sql`select entity_name.name as given, entity.id, entity.${kinds[kind].name} as name, entity.slug
        from entity_name join ${kinds[kind].table} as entity on entity.id = entity_name.entity_id
        where entity_name.kind = ${kind} and entity_name.name = any (${names}::text[])`,
  )
  return new Map(rows.map(({ given, ...entity }) => [given, entity]))
}

const Language = Type.Object({ given: Type.String(), id: Type.Integer(), name: Type.String() })

/** The languages of these English names or codes. */
export function findLanguages(
  db: Db,
  names: readonly string[],
  codes: readonly (string | undefined)[],
) {
  return many(
    db,
    Language,
    sql`select distinct on (given.name) given.name as given, language.id, language.name
        from unnest(${names}::text[], ${codes}::text[]) as given (name, code)
        join language on lower(language.name) = lower(given.name) or language.code = given.code
        order by given.name, lower(language.name) = lower(given.name) desc`,
  )
}

const Held = Type.Object({ id: Type.Integer(), name: Type.String() })

/**
 * Nobody renames or merges these until the end of the transaction. What was merged already is left
 * out.
 */
export function lockEntitiesForShare(tx: Db, kind: EntityKind, ids: readonly number[]) {
  const { table, name } = kinds[kind]
  return many(
    tx,
    Held,
    sql`select id, ${name} as name from ${table} where id = any (${ids}::bigint[]) and merged_into is null order by id for share`,
  )
}

const TakenEntities = Type.Object({
  ids: Type.Array(Type.Integer()),
  names: Type.Array(Type.String()),
  slugs: Type.Array(Type.String()),
})

/** Which of these numbers, names and slugs lead somewhere. */
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
    sql`select array(select id from ${kinds[kind].table} where id = any (${ids}::bigint[])) as ids,
               array(select name from entity_name where kind = ${kind} and name = any (${names}::text[])) as names,
               array(select slug from entity_slug where kind = ${kind} and slug = any (${slugs}::text[])) as slugs`,
  )
}

/** Makes entities as they were, in one statement, and gives none of their numbers out again. */
export async function insertRestored(
  tx: Db,
  kind: EntityKind,
  rows: readonly object[],
  origin: Origin,
  hash: Buffer,
): Promise<void> {
  const { table, name } = kinds[kind]
  const isCategory = kind === 'category'
  const more = isCategory ? sql`, description, url, start_date, end_date` : empty
  await execute(
    tx,
    sql`with given as materialized (
          select * from json_to_recordset(${JSON.stringify(rows)}::json)
                   as it (id bigint, name text, slug text, revision integer, description text, url text, start_date date, end_date date,
                          names json, slugs text[], retired text[], after jsonb)
        ), named as (
          insert into entity_name (kind, name, entity_id, shown)
          select ${kind}::text, each.name, id, each.shown from given, json_to_recordset(names) as each (name text, shown boolean) order by 2
        ), settled as (
          insert into entity_slug (kind, slug, entity_id, retired)
          select ${kind}::text, each.slug, id, each.slug = any (retired) from given, unnest(slugs) as each (slug) order by 2
        ), saved as (
          insert into ${table} (id, ${name}, slug, revision${more}) select id, name, slug, revision${more} from given returning id, revision
        )
        ${insertChanges(
          kind,
          'created',
          origin,
          hash,
          // What a record made by naming it has no history.
          sql`select id, revision, '{}'::jsonb, after, '{}'::jsonb, now() from given where revision > 0`,
        )}`,
  )
  await many(
    tx,
    Found,
    sql`select setval(pg_get_serial_sequence(${kind}, 'id'), max(id)) as id from ${table}
        having max(id) > coalesce(pg_sequence_last_value(pg_get_serial_sequence(${kind}, 'id')::regclass), 0)`,
  )
}

/** Reserves ids, none of which is among the given ones. */
export async function nextEntityIds(
  db: Db,
  kind: EntityKind,
  count: number,
  except: ReadonlySet<number>,
): Promise<number[]> {
  if (count === 0) return []
  const rows = await many(
    db,
    Found,
    sql`select nextval(pg_get_serial_sequence(${kind}, 'id')) as id from generate_series(1, ${count + except.size}::integer)`,
  )
  return rows.flatMap(({ id }) => (except.has(id) ? [] : id)).slice(0, count)
}

const Now = Type.Object({
  kind: Type.String(),
  was: Type.Integer(),
  id: Type.Integer(),
  name: Type.String(),
})

/** What these ids stand for today: what was merged stands for what it was merged into. */
export function findCurrentEntities(db: Db, ids: Readonly<Record<EntityKind, readonly number[]>>) {
  const of = (kind: EntityKind) =>
    sql`select ${kind}::text as kind, was.id as was, now.id, now.${kinds[kind].name} as name
        from ${kinds[kind].table} as was join ${kinds[kind].table} as now on now.id = coalesce(was.merged_into, was.id)
        where was.id = any (${ids[kind]}::bigint[])`
  return many(db, Now, sql`${of('category')} union all ${of('speaker')} union all ${of('tag')}`)
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
  talks: Type.Integer(),
  /** In the order of their names. */
  aliases: Type.Array(Alias),
  /** Sorted, as the retired ones are. */
  old_slugs: Type.Array(Type.String()),
  retired_slugs: Type.Array(Type.String()),
})
export type EntityRow = Static<typeof EntityRow>

/** The entity that a slug leads to, today's or an old one that was not retired. */
export function findEntity(db: Db, kind: EntityKind, slug: string) {
  const led = sql`entity_slug join ${kinds[kind].table} as entity on entity.id = entity_slug.entity_id`
  return maybe(
    db,
    EntityRow,
    sql`${entityFrom(kind, led)} where entity_slug.kind = ${kind} and entity_slug.slug = ${slug} and not entity_slug.retired`,
  )
}

const Any = Type.Object({ any: Type.Boolean() })

export async function isSlugRetired(db: Db, kind: EntityKind, slug: string): Promise<boolean> {
  const retired = sql`select from entity_slug where kind = ${kind} and slug = ${slug} and retired`
  return (await one(db, Any, sql`select exists (${retired}) as any`)).any
}

/** Retires exactly these slugs of the entity; its others redirect. */
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

/** The entity that an id stands for today. */
export function findCurrentEntity(db: Db, kind: EntityKind, id: number) {
  const { table } = kinds[kind]
  const now = sql`${table} as was join ${table} as entity on entity.id = coalesce(was.merged_into, was.id)`
  return maybe(db, EntityRow, sql`${entityFrom(kind, now)} where was.id = ${id}`)
}

const Merged = Type.Object({ id: Type.Integer(), revision: Type.Integer() })

/**
 * Finds the entity that had this slug when it was merged into another, which was its last change;
 * of several, the last one.
 */
export function findMergedEntity(db: Db, kind: EntityKind, slug: string) {
  return maybe(
    db,
    Merged,
    sql`select entity.id, entity.revision
        from ${kinds[kind].table} as entity join change on subject = ${kind} and subject_id = entity.id
        where slug = ${slug} order by at desc limit 1`,
  )
}

function entityFrom(kind: EntityKind, source: Sql): Sql {
  const { name, about } = kinds[kind]
  const slugs = (condition: Sql) =>
    sql`array(select former.slug from entity_slug as former
              where former.kind = ${kind} and former.entity_id = entity.id and ${condition} order by 1)`
  return sql`select entity.id, entity.${name} as name, entity.slug, entity.revision, ${about} as about,
               coalesce((select sum(talks) from talk_count where kind = ${kind} and talk_count.entity_id = entity.id), 0)::integer as talks,
               (select coalesce(jsonb_agg(jsonb_build_object('name', other.name, 'shown', other.shown) order by other.name collate "C"), '[]')
                from entity_name as other where other.kind = ${kind} and other.entity_id = entity.id and other.name <> entity.${name}) as aliases,
               ${slugs(sql`former.slug <> entity.slug and not former.retired`)} as old_slugs,
               ${slugs(sql`former.retired`)} as retired_slugs
             from ${source}`
}

const Shown = Type.Object({
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

/** What the names of many records lead to, in one round trip; only a language has a code. */
export function selectPublicEntities(
  db: Db,
  names: Readonly<Record<EntityKind | 'language', readonly string[]>>,
) {
  const of = (kind: EntityKind) =>
    sql`select ${kind}::text as kind, entity_name.name as given, entity.id, entity.slug, entity.${kinds[kind].name} as name, '' as code
        from entity_name join ${kinds[kind].table} as entity on entity.id = entity_name.entity_id
        where entity_name.kind = ${kind}::text and entity_name.name = any (${names[kind]}::text[])`
  return many(
    db,
    Shown,
    sql`${of('category')} union all ${of('speaker')} union all ${of('tag')}
        union all
        select 'language', given.name, shown.*
        from unnest(${names.language}::text[]) as given (name),
             -- Two or three of hundreds: one look for each.
             lateral (select id, slug, name, code from language where lower(language.name) = lower(given.name) offset 0) as shown`,
  )
}

/**
 * Keeps everybody from using these for a record, or changing them, until the end of the
 * transaction; in the order of the ids, so that two who lock the same never wait for each other.
 * What follows must be read after this.
 */
export function lockEntitiesForUpdate(
  tx: Db,
  kind: EntityKind,
  ids: readonly (number | undefined)[],
) {
  return execute(
    tx,
    sql`select from ${kinds[kind].table} where id = any (${ids}::bigint[]) order by id for no key update`,
  )
}

export function nextCategoryId(db: Db) {
  return one(db, Found, sql`select nextval(pg_get_serial_sequence('category', 'id')) as id`)
}

export function insertCategory(
  db: Db,
  it: Omit<EntityRow, 'about'> & { about: Static<typeof About> },
  change: NewChange,
) {
  const { description, url, start_date, end_date } = it.about
  return execute(
    db,
    sql`with named as (
          insert into entity_name (kind, name, entity_id, shown) values ('category', ${it.name}, ${it.id}, true)
        ), settled as (
          insert into entity_slug (kind, slug, entity_id) values ('category', ${it.slug}, ${it.id})
        ), saved as (
          insert into category (id, title, slug, description, url, start_date, end_date)
          values (${it.id}, ${it.name}, ${it.slug}, ${description}, ${url}, ${start_date}::date, ${end_date}::date)
          returning id, revision
        )
        ${insertChange(change)}`,
  )
}

export function updateEntity(tx: Db, kind: EntityKind, it: EntityRow, change: NewChange) {
  const { table, name } = kinds[kind]
  const about = it.about
    ? sql`, description = ${it.about.description}, url = ${it.about.url},
            start_date = ${it.about.start_date}::date, end_date = ${it.about.end_date}::date`
    : empty
  return execute(
    tx,
    sql`with saved as (
          update ${table} set ${name} = ${it.name}, slug = ${it.slug}, revision = revision + 1${about}
          where id = ${it.id}
          returning id, revision
        )
        ${insertChange(change)}`,
  )
}

/** Nothing happens where the name leads somewhere already. */
export function claimName(tx: Db, kind: EntityKind, id: number, name: string) {
  return execute(
    tx,
    sql`insert into entity_name (kind, name, entity_id) values (${kind}, ${name}, ${id}) on conflict do nothing`,
  )
}

export function releaseName(tx: Db, kind: EntityKind, id: number, name: string) {
  return execute(
    tx,
    sql`delete from entity_name where kind = ${kind} and name = ${name} and entity_id = ${id}`,
  )
}

/**
 * Exactly these names lead to the entity from now on. Tells how many of them do: some may belong to
 * another one.
 */
export async function replaceNames(
  tx: Db,
  kind: EntityKind,
  id: number,
  names: readonly { name: string; shown: boolean }[],
): Promise<number> {
  const [all, shown] = [names.map(({ name }) => name), names.map((it) => it.shown)]
  await execute(
    tx,
    sql`delete from entity_name where kind = ${kind} and entity_id = ${id} and name <> all (${all}::text[])`,
  )
  return execute(
    tx,
    sql`insert into entity_name (kind, name, entity_id, shown)
        select ${kind}, name, ${id}::bigint, shown from unnest(${all}::text[], ${shown}::boolean[]) as given (name, shown) order by name collate "C"
        on conflict (kind, name) do update set shown = excluded.shown where entity_name.entity_id = excluded.entity_id`,
  )
}

const Owned = Type.Object({ name: Type.String(), slug: Type.String() })

/** Which of these names lead to another entity, and its slug. */
export function findNameOwners(tx: Db, kind: EntityKind, id: number, names: readonly string[]) {
  return many(
    tx,
    Owned,
    sql`select entity_name.name, entity.slug from entity_name join ${kinds[kind].table} as entity on entity.id = entity_name.entity_id
        where entity_name.kind = ${kind} and entity_name.entity_id <> ${id} and entity_name.name = any (${names}::text[])`,
  )
}

/** Tells whether the slug leads to this entity now: it is new, or was the entity's own before. */
export async function claimSlug(
  tx: Db,
  kind: EntityKind,
  id: number,
  slug: string,
): Promise<boolean> {
  const count = await execute(
    tx,
    sql`insert into entity_slug (kind, slug, entity_id) values (${kind}, ${slug}, ${id})
        on conflict (kind, slug) do update set retired = false where entity_slug.entity_id = excluded.entity_id`,
  )
  return count === 1
}

/**
 * All that led to the one leads to the other from now on; what it was called itself is told no
 * reader.
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
    sql`update entity_name set entity_id = ${into.id}, shown = shown and name <> ${from.name} where kind = ${kind} and entity_id = ${from.id}`,
  )
  await execute(
    tx,
    sql`update entity_slug set entity_id = ${into.id} where kind = ${kind} and entity_id = ${from.id}`,
  )
  await execute(
    tx,
    sql`update ${table} set merged_into = ${into.id} where merged_into = ${from.id}`,
  )
  await execute(
    tx,
    sql`with saved as (update ${table} set merged_into = ${into.id}, revision = revision + 1 where id = ${from.id} returning id, revision)
        ${insertChange(change)}`,
  )
}
