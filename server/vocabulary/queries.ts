import { Category } from '@talkshelf/contract'
import sql, { raw } from 'sql-template-tag'
import Type, { type Static } from 'typebox'
import { insertChange, type NewChange } from '../changes/changes.ts'
import { type Db, execute, many, maybe, one } from '../platform/db/db.ts'
import { freeSlug } from '../platform/db/slugs.ts'

const Ids = Type.Array(Type.Union([Type.Integer(), Type.Null()]))
const MaybeId = Type.Union([Type.Integer(), Type.Null()])
const FoundNames = Type.Object({
  category_id: MaybeId,
  language_id: MaybeId,
  language: Type.Union([Type.String(), Type.Null()]),
  speaker_ids: Ids,
  tag_ids: Ids,
})
const Name = Type.Object({ name: Type.String() })
const Found = Type.Object({ id: Type.Integer() })
const NameRow = Type.Object({ id: Type.Integer(), name: Type.String() })

interface Wanted {
  readonly category: string | undefined
  readonly language: string | undefined
  readonly code: string | undefined
  readonly speakers: readonly string[]
  readonly tags: readonly string[]
}

/** Ids for names, in one round trip; null for each that is not there (yet), or was not asked for. */
export function findNames(db: Db, names: Wanted) {
  return one(
    db,
    FoundNames,
    sql`select (select id from category where title = ${names.category}::text) as category_id,
               language.id as language_id, language.name as language,
               array(select speaker.id from unnest(${names.speakers}::text[]) with ordinality as given (name, place)
                     left join speaker using (name) order by place) as speaker_ids,
               array(select tag.id from unnest(${names.tags}::text[]) with ordinality as given (name, place)
                     left join tag using (name) order by place) as tag_ids
        from (values (1)) as always
        left join lateral (select id, name from language
                           where lower(name) = lower(${names.language}::text) or code = ${names.code}::text
                           order by lower(name) = lower(${names.language}::text) desc limit 1) as language on true`,
  )
}

export function nearestCategories(db: Db, title: string) {
  return many(
    db,
    Name,
    sql`select title as name from category where similarity(title, ${title}) > 0.2 order by similarity(title, ${title}) desc, title limit 3`,
  )
}

export function nearestLanguages(db: Db, name: string) {
  return many(
    db,
    Name,
    sql`select name from language where similarity(name, ${name}) > 0.3 order by similarity(name, ${name}) desc, name limit 3`,
  )
}

const tables = { speaker: raw('speaker'), tag: raw('tag'), category: raw('category') }

export function freeVocabularySlug(db: Db, table: keyof typeof tables, base: string, attempt: number) {
  return freeSlug(db, tables[table], base, table, attempt)
}

/** In the order given. A name or a slug that is there by now is passed over. */
export function insertNames(db: Db, table: 'speaker' | 'tag', rows: readonly { name: string; slug: string }[]) {
  const [names, slugs] = [rows.map(({ name }) => name), rows.map(({ slug }) => slug)]
  return execute(
    db,
    sql`insert into ${tables[table]} (name, slug)
        select name, slug from unnest(${names}::text[], ${slugs}::text[]) with ordinality as given (name, slug, place) order by place
        on conflict do nothing`,
  )
}

export async function idsOfNames(db: Db, table: 'speaker' | 'tag', names: readonly string[]): Promise<Map<string, number>> {
  const rows = await many(db, NameRow, sql`select id, name from ${tables[table]} where name = any (${names}::text[])`)
  return new Map(rows.map(({ id, name }) => [name, id]))
}

const CategoryRow = Type.Object({ ...Category.properties, revision: Type.Integer() })
export type CategoryRow = Static<typeof CategoryRow>
const columns = sql`id, title, slug, description, url, start_date, end_date, revision`

export function findCategory(db: Db, slug: string) {
  return maybe(db, CategoryRow, sql`select ${columns} from category where slug = ${slug}`)
}

export function lockCategory(db: Db, slug: string) {
  return maybe(db, CategoryRow, sql`select ${columns} from category where slug = ${slug} for no key update`)
}

export function nextCategoryId(db: Db) {
  return one(db, Found, sql`select nextval(pg_get_serial_sequence('category', 'id')) as id`)
}

export function insertCategory(db: Db, it: Category, change: NewChange) {
  return execute(
    db,
    sql`with saved as (
          insert into category (id, title, slug, description, url, start_date, end_date)
          values (${it.id}, ${it.title}, ${it.slug}, ${it.description}, ${it.url}, ${it.start_date}::date, ${it.end_date}::date)
          returning id, revision
        )
        ${insertChange(change)}`,
  )
}

export function updateCategory(db: Db, it: Category, change: NewChange) {
  return execute(
    db,
    sql`with saved as (
          update category set description = ${it.description}, url = ${it.url}, start_date = ${it.start_date}::date,
                              end_date = ${it.end_date}::date, revision = revision + 1
          where id = ${it.id}
          returning id, revision
        )
        ${insertChange(change)}`,
  )
}
