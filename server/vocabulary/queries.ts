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

/** What names lead to, and what that is called, in one round trip; null for each that is not there (yet), or was not asked for. */
export function findNames(db: Db, names: Wanted) {
  const known = (kind: 'speaker' | 'tag', column: Sql) =>
    sql`array(select ${column} from unnest(${kind === 'speaker' ? names.speakers : names.tags}::text[]) with ordinality as given (name, place)
              left join known_as on known_as.kind = ${kind} and known_as.name = given.name
              left join ${kinds[kind].table} as thing on thing.id = known_as.thing_id
              order by place)`
  return one(
    db,
    FoundNames,
    sql`select category.id as category_id, category.title as category, language.id as language_id, language.name as language,
               ${known('speaker', sql`thing.id`)} as speaker_ids, ${known('speaker', sql`thing.name`)} as speakers,
               ${known('tag', sql`thing.id`)} as tag_ids, ${known('tag', sql`thing.name`)} as tags
        from (values (1)) as always
        left join known_as on known_as.kind = 'category' and known_as.name = ${names.category}::text
        left join category on category.id = known_as.thing_id
        left join lateral (select id, name from language
                           where lower(name) = lower(${names.language}::text) or code = ${names.code}::text
                           order by lower(name) = lower(${names.language}::text) desc limit 1) as language on true`,
  )
}

export function nearestCategories(db: Db, title: string) {
  return many(
    db,
    Name,
    sql`select title as name from category where merged_into is null and similarity(title, ${title}) > 0.2
        order by similarity(title, ${title}) desc, title limit 3`,
  )
}

export function nearestLanguages(db: Db, name: string) {
  return many(
    db,
    Name,
    sql`select name from language where similarity(name, ${name}) > 0.3 order by similarity(name, ${name}) desc, name limit 3`,
  )
}

// The things themselves. Speakers and tags are alike; a category has more to say, and calls its name a title.

export type Kind = 'category' | 'speaker' | 'tag'

const kinds = {
  speaker: { table: raw('speaker'), name: raw('name'), about: sql`null::jsonb` },
  tag: { table: raw('tag'), name: raw('name'), about: sql`null::jsonb` },
  category: {
    table: raw('category'),
    name: raw('title'),
    about: sql`jsonb_build_object('description', thing.description, 'url', thing.url, 'start_date', thing.start_date, 'end_date', thing.end_date)`,
  },
}

export function freeThingSlug(db: Db, kind: Kind, base: string, attempt: number) {
  return freeSlug(db, sql`(select slug from known_slug where kind = ${kind}) as given_out`, base, kind, attempt)
}

/**
 * Makes the things of these names, in the order given. Whoever claims a name first makes the thing, and others who want the same wait until
 * it is there. A name that leads to something by now is passed over; so is one whose slug is empty or taken, but it stays claimed.
 */
export function insertThings(tx: Db, kind: 'speaker' | 'tag', rows: readonly { name: string; slug: string }[]) {
  const [names, slugs] = [rows.map(({ name }) => name), rows.map(({ slug }) => slug)]
  return execute(
    tx,
    sql`with given as (
          select * from unnest(${names}::text[], ${slugs}::text[]) with ordinality as given (name, slug, place)
        ), claimed as (
          insert into known_as (kind, name, thing_id, shown)
          select ${kind}::text, name, nextval(pg_get_serial_sequence(${kind}, 'id')), true from (select name from given order by place) as sorted
          on conflict do nothing
          returning name, thing_id
        ), settled as (
          insert into known_slug (kind, slug, thing_id)
          select ${kind}::text, slug, thing_id from claimed join given using (name) where slug <> '' order by place
          on conflict do nothing
          returning thing_id
        )
        insert into ${kinds[kind].table} (id, name, slug)
        select thing_id, name, slug from settled join claimed using (thing_id) join given using (name)`,
  )
}

/** Makes the thing of a name that is claimed already, unless the slug is taken. */
export function insertThing(tx: Db, kind: 'speaker' | 'tag', name: string, slug: string) {
  return execute(
    tx,
    sql`with settled as (
          insert into known_slug (kind, slug, thing_id)
          select kind, ${slug}::text, thing_id from known_as where kind = ${kind} and name = ${name}
          on conflict do nothing
          returning thing_id
        )
        insert into ${kinds[kind].table} (id, name, slug) select thing_id, ${name}::text, ${slug}::text from settled`,
  )
}

const Led = Type.Object({ given: Type.String(), id: Type.Integer(), name: Type.String(), slug: Type.String() })

/** What these names lead to. */
export async function thingsNamed(db: Db, kind: Kind, names: readonly string[]): Promise<Map<string, Omit<Static<typeof Led>, 'given'>>> {
  const rows = await many(
    db,
    Led,
    sql`select known_as.name as given, thing.id, thing.${kinds[kind].name} as name, thing.slug
        from known_as join ${kinds[kind].table} as thing on thing.id = known_as.thing_id
        where known_as.kind = ${kind} and known_as.name = any (${names}::text[])`,
  )
  return new Map(rows.map(({ given, ...thing }) => [given, thing]))
}

const Language = Type.Object({ given: Type.String(), id: Type.Integer(), name: Type.String() })

/** The languages of these English names or codes. */
export function findLanguages(db: Db, names: readonly string[], codes: readonly string[]) {
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

/** Nobody renames or merges these until the end of the transaction. What was merged already is left out. */
export function holdThings(tx: Db, kind: Kind, ids: readonly number[]) {
  const { table, name } = kinds[kind]
  return many(
    tx,
    Held,
    sql`select id, ${name} as name from ${table} where id = any (${ids}::bigint[]) and merged_into is null order by id for share`,
  )
}

const TakenThings = Type.Object({ ids: Type.Array(Type.Integer()), names: Type.Array(Type.String()), slugs: Type.Array(Type.String()) })

/** Which of these numbers, names and slugs lead somewhere. */
export function takenOf(db: Db, kind: Kind, ids: readonly number[], names: readonly string[], slugs: readonly string[]) {
  return one(
    db,
    TakenThings,
    sql`select array(select id from ${kinds[kind].table} where id = any (${ids}::bigint[])) as ids,
               array(select name from known_as where kind = ${kind} and name = any (${names}::text[])) as names,
               array(select slug from known_slug where kind = ${kind} and slug = any (${slugs}::text[])) as slugs`,
  )
}

/** Makes things as they were, in one statement, and gives none of their numbers out again. */
export async function insertKept(tx: Db, kind: Kind, rows: readonly object[], origin: Origin, hash: Buffer): Promise<void> {
  const { table, name } = kinds[kind]
  const isCategory = kind === 'category'
  const more = isCategory ? sql`, description, url, start_date, end_date` : empty
  await execute(
    tx,
    sql`with given as materialized (
          select * from json_to_recordset(${JSON.stringify(rows)}::json)
                   as it (id bigint, name text, slug text, revision integer, description text, url text, start_date date, end_date date,
                          names json, slugs text[], after jsonb)
        ), named as (
          insert into known_as (kind, name, thing_id, shown)
          select ${kind}::text, each.name, id, each.shown from given, json_to_recordset(names) as each (name text, shown boolean) order by 2
        ), settled as (
          insert into known_slug (kind, slug, thing_id) select ${kind}::text, unnest(slugs), id from given order by 2
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
    Moved,
    sql`select setval(pg_get_serial_sequence(${kind}, 'id'), max(id)) is not null as moved from ${table}
        having max(id) > coalesce(pg_sequence_last_value(pg_get_serial_sequence(${kind}, 'id')::regclass), 0)`,
  )
}

const Moved = Type.Object({ moved: Type.Boolean() })

const Now = Type.Object({ kind: Type.String(), was: Type.Integer(), id: Type.Integer(), name: Type.String() })

/** What these ids stand for today: what was merged stands for what it was merged into. */
export function thingsNow(db: Db, ids: Readonly<Record<Kind, readonly number[]>>) {
  const of = (kind: Kind) =>
    sql`select ${kind}::text as kind, was.id as was, now.id, now.${kinds[kind].name} as name
        from ${kinds[kind].table} as was join ${kinds[kind].table} as now on now.id = coalesce(was.merged_into, was.id)
        where was.id = any (${ids[kind]}::bigint[])`
  return many(db, Now, sql`${of('category')} union all ${of('speaker')} union all ${of('tag')}`)
}

const About = Type.Object({ description: Type.String(), url: MaybeText, start_date: MaybeText, end_date: MaybeText })
const ThingRow = Type.Object({
  id: Type.Integer(),
  name: Type.String(),
  slug: Type.String(),
  revision: Type.Integer(),
  about: Type.Union([About, Type.Null()]),
  talks: Type.Integer(),
  /** In the order of their names. */
  aliases: Type.Array(Alias),
})
export type ThingRow = Static<typeof ThingRow>

/** The thing that a slug leads to, today's or an old one. */
export function findThing(db: Db, kind: Kind, slug: string) {
  const led = sql`known_slug join ${kinds[kind].table} as thing on thing.id = known_slug.thing_id`
  return maybe(db, ThingRow, sql`${thingFrom(kind, led)} where known_slug.kind = ${kind} and known_slug.slug = ${slug}`)
}

/** The thing that an id stands for today. */
export function findThingNow(db: Db, kind: Kind, id: number) {
  const { table } = kinds[kind]
  const now = sql`${table} as was join ${table} as thing on thing.id = coalesce(was.merged_into, was.id)`
  return maybe(db, ThingRow, sql`${thingFrom(kind, now)} where was.id = ${id}`)
}

function thingFrom(kind: Kind, source: Sql): Sql {
  const { name, about } = kinds[kind]
  return sql`select thing.id, thing.${name} as name, thing.slug, thing.revision, ${about} as about,
               coalesce((select sum(talks) from talk_count where kind = ${kind} and talk_count.thing_id = thing.id), 0)::integer as talks,
               (select coalesce(jsonb_agg(jsonb_build_object('name', other.name, 'shown', other.shown) order by other.name collate "C"), '[]')
                from known_as as other where other.kind = ${kind} and other.thing_id = thing.id and other.name <> thing.${name}) as aliases
             from ${source}`
}

const Shown = Type.Object({
  kind: Type.Union([Type.Literal('category'), Type.Literal('speaker'), Type.Literal('tag'), Type.Literal('language')]),
  given: Type.String(),
  id: Type.Integer(),
  slug: Type.String(),
  name: Type.String(),
  code: Type.String(),
})

/** What the names of many records lead to, in one round trip; only a language has a code. */
export function thingsShown(db: Db, names: Readonly<Record<Kind | 'language', readonly string[]>>) {
  const of = (kind: Kind) =>
    sql`select ${kind}::text as kind, known_as.name as given, thing.id, thing.slug, thing.${kinds[kind].name} as name, '' as code
        from known_as join ${kinds[kind].table} as thing on thing.id = known_as.thing_id
        where known_as.kind = ${kind}::text and known_as.name = any (${names[kind]}::text[])`
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
 * Keeps everybody from using these for a record, or changing them, until the end of the transaction; in the order of the ids, so that two
 * who lock the same never wait for each other. What follows must be read after this.
 */
export function lockThings(tx: Db, kind: Kind, ids: readonly number[]) {
  return execute(tx, sql`select from ${kinds[kind].table} where id = any (${ids}::bigint[]) order by id for no key update`)
}

export function nextCategoryId(db: Db) {
  return one(db, Found, sql`select nextval(pg_get_serial_sequence('category', 'id')) as id`)
}

export function insertCategory(db: Db, it: Omit<ThingRow, 'about'> & { about: Static<typeof About> }, change: NewChange) {
  const { description, url, start_date, end_date } = it.about
  return execute(
    db,
    sql`with named as (
          insert into known_as (kind, name, thing_id, shown) values ('category', ${it.name}, ${it.id}, true)
        ), settled as (
          insert into known_slug (kind, slug, thing_id) values ('category', ${it.slug}, ${it.id})
        ), saved as (
          insert into category (id, title, slug, description, url, start_date, end_date)
          values (${it.id}, ${it.name}, ${it.slug}, ${description}, ${url}, ${start_date}::date, ${end_date}::date)
          returning id, revision
        )
        ${insertChange(change)}`,
  )
}

export function updateThing(tx: Db, kind: Kind, it: ThingRow, change: NewChange) {
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
export function claimName(tx: Db, kind: Kind, id: number, name: string) {
  return execute(tx, sql`insert into known_as (kind, name, thing_id) values (${kind}, ${name}, ${id}) on conflict do nothing`)
}

export function unclaimName(tx: Db, kind: Kind, id: number, name: string) {
  return execute(tx, sql`delete from known_as where kind = ${kind} and name = ${name} and thing_id = ${id}`)
}

/** Exactly these names lead to the thing from now on. Tells how many of them do: some may belong to another one. */
export async function replaceNames(tx: Db, kind: Kind, id: number, names: readonly { name: string; shown: boolean }[]): Promise<number> {
  const [all, shown] = [names.map(({ name }) => name), names.map((it) => it.shown)]
  await execute(tx, sql`delete from known_as where kind = ${kind} and thing_id = ${id} and name <> all (${all}::text[])`)
  return execute(
    tx,
    sql`insert into known_as (kind, name, thing_id, shown)
        select ${kind}, name, ${id}::bigint, shown from unnest(${all}::text[], ${shown}::boolean[]) as given (name, shown) order by name collate "C"
        on conflict (kind, name) do update set shown = excluded.shown where known_as.thing_id = excluded.thing_id`,
  )
}

const Owned = Type.Object({ name: Type.String(), slug: Type.String() })

/** Which of these names lead to another thing, and its slug. */
export function namesOfOthers(tx: Db, kind: Kind, id: number, names: readonly string[]) {
  return many(
    tx,
    Owned,
    sql`select known_as.name, thing.slug from known_as join ${kinds[kind].table} as thing on thing.id = known_as.thing_id
        where known_as.kind = ${kind} and known_as.thing_id <> ${id} and known_as.name = any (${names}::text[])`,
  )
}

/** Tells whether the slug leads to this thing now: it is new, or was the thing's own before. */
export async function takeSlug(tx: Db, kind: Kind, id: number, slug: string): Promise<boolean> {
  const count = await execute(
    tx,
    sql`insert into known_slug (kind, slug, thing_id) values (${kind}, ${slug}, ${id})
        on conflict (kind, slug) do update set thing_id = excluded.thing_id where known_slug.thing_id = excluded.thing_id`,
  )
  return count === 1
}

/** All that led to the one leads to the other from now on; what it was called itself is told no reader. */
export async function mergeThing(tx: Db, kind: Kind, from: ThingRow, into: ThingRow, change: NewChange): Promise<void> {
  const { table } = kinds[kind]
  await execute(
    tx,
    sql`update known_as set thing_id = ${into.id}, shown = shown and name <> ${from.name} where kind = ${kind} and thing_id = ${from.id}`,
  )
  await execute(tx, sql`update known_slug set thing_id = ${into.id} where kind = ${kind} and thing_id = ${from.id}`)
  await execute(tx, sql`update ${table} set merged_into = ${into.id} where merged_into = ${from.id}`)
  await execute(
    tx,
    sql`with saved as (update ${table} set merged_into = ${into.id}, revision = revision + 1 where id = ${from.id} returning id, revision)
        ${insertChange(change)}`,
  )
}
