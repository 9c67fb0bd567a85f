import type { FieldError } from '@talkshelf/contract'
import { assertBeforeDeadline, type Deadline, retryOnConflict } from '../changes/changes.ts'
import type { Db } from '../platform/db/db.ts'
import { slugify } from '../platform/slug.ts'
import {
  type EntityKind,
  findCurrentEntities,
  findEntitiesByName,
  findNames,
  findSimilarCategories,
  findSimilarLanguages,
  freeEntitySlug,
  insertEntities,
  insertEntity,
} from './queries.ts'

// The names that a record shows, and the entities behind them.

/** Names to look up. A category or language that is left out is not looked for. */
export interface RecordNames {
  readonly category?: string | undefined
  readonly language?: string | undefined
  readonly speakers: readonly string[]
  readonly tags: readonly string[]
}

/** An entity, and what it is called: that is what records show, whichever of its names was given. */
export interface NamedEntity {
  readonly id: number
  readonly name: string
}

export interface ResolvedNames {
  /** Null where it was not looked for. */
  readonly category: NamedEntity | null
  readonly language: NamedEntity | null
  /** In the order of the names; null for each that is not there yet. */
  readonly speakers: readonly (NamedEntity | null)[]
  readonly tags: readonly (NamedEntity | null)[]
}

/** The same name, however it was typed: composed characters, no white space around. */
export function normalizeName(name: string): string {
  return name.normalize('NFC').trim()
}

/** What was sent about an entity, its names tidied. Wrong types stay, for the check to find. */
export function normalizeEntityInput(body: unknown): Record<string, unknown> {
  const it = { ...(body as Record<string, unknown>) }
  for (const field of ['title', 'name'])
    if (typeof it[field] === 'string') it[field] = normalizeName(it[field])
  const alias = (one: unknown) => (isNamed(one) ? { ...one, name: normalizeName(one.name) } : one)
  if (Array.isArray(it.aliases)) it.aliases = it.aliases.map(alias)
  return it
}

function isNamed(value: unknown): value is { name: string } {
  return typeof (value as { name?: unknown } | null)?.name === 'string'
}

/**
 * The entities behind the names. A speaker or tag that is not there yet is null; a category or
 * language that is not is an error.
 */
export async function resolveNames(
  db: Db,
  { category, language, speakers, tags }: RecordNames,
): Promise<{ found: ResolvedNames } | { errors: FieldError[] }> {
  const row = await findNames(db, {
    category,
    language,
    code: canonicalLanguageCode(language),
    speakers,
    tags,
  })
  const errors: FieldError[] = []
  if (category !== undefined && row.category_id === null) {
    const near = await findSimilarCategories(db, category)
    errors.push({
      pointer: '/category',
      code: 'unknown-category',
      detail: `is not the title of a category; ${nearest(near, 'POST /api/v2/category makes one')}`,
    })
  }
  if (language !== undefined && row.language_id === null) {
    const near = await findSimilarLanguages(db, language)
    errors.push({
      pointer: '/language',
      code: 'unknown-language',
      detail: `is not the English name or the code of a language; ${nearest(near, 'try its ISO 639 code')}`,
    })
  }
  if (errors.length > 0) return { errors }
  return {
    found: {
      category: named(row.category_id, row.category),
      language: named(row.language_id, row.language),
      speakers: row.speaker_ids.map((id, index) => named(id, row.speakers[index])),
      tags: row.tag_ids.map((id, index) => named(id, row.tags[index])),
    },
  }
}

function named(id: number | null, name: string | null | undefined): NamedEntity | null {
  return id === null ? null : { id, name: name as string }
}

/**
 * Makes the speakers or tags that are not there yet, and returns all. To be called in the
 * transaction of the record.
 */
export async function createMissingEntities(
  tx: Db,
  kind: 'speaker' | 'tag',
  names: readonly string[],
  found: readonly (NamedEntity | null)[],
  deadline: Deadline = {},
): Promise<NamedEntity[]> {
  const missing = names
    .filter((_, index) => found[index] === null)
    .map((name) => ({ name, slug: slugify(name) }))
  if (missing.length === 0) return found as NamedEntity[]
  // In one order for all writers, by slug and then by name: two that make the same of either wait
  // for each other, and never both at once.
  missing.sort((a, b) => compare(a.slug, b.slug) || compare(a.name, b.name))
  assertBeforeDeadline(deadline)
  await insertEntities(tx, kind, missing)
  const wanted = missing.map(({ name }) => name)
  const made: Map<string, NamedEntity> = await findEntitiesByName(tx, kind, wanted)
  // What is left has no slug of its own, or one that another name has: it gets a number.
  for (const { name, slug } of missing)
    if (!made.has(name)) made.set(name, await withNumber(tx, kind, name, slug, deadline))
  return names.map((name, index) => found[index] ?? (made.get(name) as NamedEntity))
}

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

function withNumber(
  tx: Db,
  kind: 'speaker' | 'tag',
  name: string,
  base: string,
  deadline: Deadline,
): Promise<NamedEntity> {
  return retryOnConflict(deadline, async (attempt) => {
    // Claims the name anew where it was an alias that has been removed since.
    await insertEntities(tx, kind, [{ name, slug: '' }])
    await insertEntity(tx, kind, name, await freeEntitySlug(tx, kind, base, attempt))
    return (await findEntitiesByName(tx, kind, [name])).get(name)
  })
}

/** Ids in the place of names, as a record or its history has them. */
export interface RecordEntityIds {
  readonly category: number
  readonly speakers: readonly number[]
  readonly tags: readonly number[]
}

/**
 * What ids stand for today: whoever was renamed since has the name of today, and what was merged is
 * what it was merged into. An id that is not there is left out, and of two that became one, the
 * second.
 */
export async function currentNames(
  db: Db,
  all: readonly RecordEntityIds[],
): Promise<
  (ids: RecordEntityIds) => {
    category: NamedEntity | undefined
    speakers: NamedEntity[]
    tags: NamedEntity[]
  }
> {
  const rows = await findCurrentEntities(db, {
    category: [...new Set(all.map(({ category }) => category))],
    speaker: [...new Set(all.flatMap(({ speakers }) => speakers))],
    tag: [...new Set(all.flatMap(({ tags }) => tags))],
  })
  const now = new Map(rows.map(({ kind, was, id, name }) => [`${kind} ${was}`, { id, name }]))
  const each = (kind: EntityKind, ids: readonly number[]) =>
    uniqueById(ids.flatMap((id) => now.get(`${kind} ${id}`) ?? []))
  return ({ category, speakers, tags }) => ({
    category: now.get(`category ${category}`),
    speakers: each('speaker', speakers),
    tags: each('tag', tags),
  })
}

/** The same entity twice, by two of its names, is kept once: in the first place. */
export function uniqueById(entities: readonly NamedEntity[]): NamedEntity[] {
  return entities.filter(({ id }, index) => entities.findIndex((it) => it.id === id) === index)
}

/** Canonical BCP 47; undefined where the text is no code. */
export function canonicalLanguageCode(text: string | undefined): string | undefined {
  try {
    return Intl.getCanonicalLocales(text?.replaceAll('_', '-'))[0]
  } catch {
    return undefined
  }
}

function nearest(found: { name: string }[], otherwise: string): string {
  return found.length > 0
    ? `the nearest are: ${found.map(({ name }) => name).join(', ')}`
    : otherwise
}
