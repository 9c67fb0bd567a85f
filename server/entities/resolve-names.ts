import type { FieldError } from '@talkshelf/contract'
import { assertBeforeDeadline, type Deadline, retryOnConflict } from '../changes/changes.ts'
import type { Db } from '../platform/db/db.ts'
import { slugify } from '../platform/slug.ts'
import { findByFormerName } from './former-names.ts'
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

// Resolves the names in a record to entities, and creates missing ones.

/** Names to look up. A category or language that is undefined is not looked up. */
export interface RecordNames {
  readonly category?: string | undefined
  readonly language?: string | undefined
  readonly speakers: readonly string[]
  readonly tags: readonly string[]
}

/** An entity with its current name. Records contain that name, whichever alias was sent. */
export interface NamedEntity {
  readonly id: number
  readonly name: string
}

export interface ResolvedNames {
  /** Null if it was not looked up. */
  readonly category: NamedEntity | null
  readonly language: NamedEntity | null
  /** In the order of the names; null for each that does not exist. */
  readonly speakers: readonly (NamedEntity | null)[]
  readonly tags: readonly (NamedEntity | null)[]
}

/** Normalises a name: composed characters (NFC), no surrounding white space. */
export function normalizeName(name: string): string {
  return name.normalize('NFC').trim()
}

/** Fields that are normalised like names. */
const nameFields = ['title', 'name', 'city', 'series', 'pronouns']

/** Normalises the names in the body of a request. Leaves wrong types for the validation. */
export function normalizeEntityInput(body: unknown): Record<string, unknown> {
  const input = { ...(body as Record<string, unknown>) }
  for (const field of nameFields)
    if (typeof input[field] === 'string') input[field] = normalizeName(input[field])
  const normalizeAlias = (alias: unknown) =>
    hasName(alias) ? { ...alias, name: normalizeName(alias.name) } : alias
  if (Array.isArray(input.aliases)) input.aliases = input.aliases.map(normalizeAlias)
  return input
}

function hasName(value: unknown): value is { name: string } {
  return typeof (value as { name?: unknown } | null)?.name === 'string'
}

/**
 * Resolves names to entities. A speaker or tag that does not exist is null; a category or language
 * that does not exist is an error. With `isPublic`, so is a category of which the name is hidden.
 */
export async function resolveNames(
  db: Db,
  { category, language, speakers, tags }: RecordNames,
  { isPublic = false }: { readonly isPublic?: boolean } = {},
): Promise<{ found: ResolvedNames } | { errors: FieldError[] }> {
  const row = await findNames(db, {
    category,
    language,
    code: canonicalLanguageCode(language),
    speakers,
    tags,
    isPublic,
  })
  const errors: FieldError[] = []
  if (category !== undefined && row.category_id === null) {
    const similar = await findSimilarCategories(db, category)
    const hint = nearest(similar, 'create it: POST /api/v2/category')
    errors.push({
      pointer: '/category',
      code: 'unknown-category',
      detail: `is not an existing category; ${hint}`,
    })
  }
  if (language !== undefined && row.language_id === null)
    errors.push(await unknownLanguageError(db, language))
  if (errors.length > 0) return { errors }
  return {
    found: {
      category: entityOrNull(row.category_id, row.category),
      language: entityOrNull(row.language_id, row.language),
      speakers: row.speaker_ids.map((id, index) => entityOrNull(id, row.speakers[index])),
      tags: row.tag_ids.map((id, index) => entityOrNull(id, row.tags[index])),
    },
  }
}

/** Lists the titles of similar categories. Empty if a category has this title. */
export async function suggestCategories(db: Db, title: string): Promise<string[]> {
  const names = { category: title, speakers: [], tags: [], isPublic: false }
  const { category_id } = await findNames(db, { ...names, language: undefined, code: undefined })
  return category_id === null
    ? (await findSimilarCategories(db, title)).map(({ name }) => name)
    : []
}

/** Builds the error of an unknown language, with the names that are most similar. */
export async function unknownLanguageError(db: Db, language: string): Promise<FieldError> {
  const hint = nearest(await findSimilarLanguages(db, language), 'try its ISO 639 code')
  return {
    pointer: '/language',
    code: 'unknown-language',
    detail: `is not the English name or the code of a language; ${hint}`,
  }
}

function entityOrNull(id: number | null, name: string | null | undefined): NamedEntity | null {
  return id === null ? null : { id, name: name as string }
}

/**
 * Creates the speakers or tags that do not exist, and returns all of them. A former name, which a
 * speaker no longer uses, is that speaker. Call it in the transaction that writes the record.
 */
export async function createMissingEntities(
  tx: Db,
  kind: 'speaker' | 'tag',
  names: readonly string[],
  found: readonly (NamedEntity | null)[],
  deadline: Deadline = {},
): Promise<NamedEntity[]> {
  const unknown = names.filter((_, index) => found[index] === null)
  if (unknown.length === 0) return found as NamedEntity[]
  const former: ReadonlyMap<string, NamedEntity> =
    kind === 'speaker' ? await findByFormerName(tx, unknown) : new Map()
  const missing = unknown
    .filter((name) => !former.has(name))
    .map((name) => ({ name, slug: slugify(name) }))
  // All writers insert in the same order, by slug and then by name, so they cannot deadlock.
  missing.sort((a, b) => compare(a.slug, b.slug) || compare(a.name, b.name))
  assertBeforeDeadline(deadline)
  if (missing.length > 0) await insertEntities(tx, kind, missing)
  const created: Map<string, NamedEntity> = await findEntitiesByName(
    tx,
    kind,
    missing.map(({ name }) => name),
  )
  // The remaining names have an empty slug or one that is taken, so they get a numbered one.
  for (const { name, slug } of missing)
    if (!created.has(name)) created.set(name, await createNumbered(tx, kind, name, slug, deadline))
  return names.map(
    (name, index) => found[index] ?? former.get(name) ?? (created.get(name) as NamedEntity),
  )
}

/** Compares by code units. `localeCompare` would depend on the locale of the process. */
function compare(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

function createNumbered(
  tx: Db,
  kind: 'speaker' | 'tag',
  name: string,
  base: string,
  deadline: Deadline,
): Promise<NamedEntity> {
  return retryOnConflict(deadline, async (attempt) => {
    // Claims the name again if it was an alias that has been removed since.
    await insertEntities(tx, kind, [{ name, slug: '' }])
    await insertEntity(tx, kind, name, await freeEntitySlug(tx, kind, base, attempt))
    return (await findEntitiesByName(tx, kind, [name])).get(name)
  })
}

/** The ids behind the names of a record, as the record or its history has them. */
export interface RecordEntityIds {
  readonly category: number
  readonly speakers: readonly number[]
  readonly tags: readonly number[]
}

/**
 * Returns a function that resolves ids to entities with their current names. Merged entities are
 * replaced by their target, unknown ids are skipped and duplicates removed.
 */
export async function currentNames(
  db: Db,
  records: readonly RecordEntityIds[],
): Promise<
  (ids: RecordEntityIds) => {
    category: NamedEntity | undefined
    speakers: NamedEntity[]
    tags: NamedEntity[]
  }
> {
  const rows = await findCurrentEntities(db, {
    category: [...new Set(records.map(({ category }) => category))],
    speaker: [...new Set(records.flatMap(({ speakers }) => speakers))],
    tag: [...new Set(records.flatMap(({ tags }) => tags))],
  })
  const current = new Map(rows.map(({ kind, was, id, name }) => [`${kind} ${was}`, { id, name }]))
  const resolveAll = (kind: EntityKind, ids: readonly number[]) =>
    uniqueById(ids.flatMap((id) => current.get(`${kind} ${id}`) ?? []))
  return ({ category, speakers, tags }) => ({
    category: current.get(`category ${category}`),
    speakers: resolveAll('speaker', speakers),
    tags: resolveAll('tag', tags),
  })
}

/** Removes duplicate entities, which several names can refer to. The first one stays. */
export function uniqueById(entities: readonly NamedEntity[]): NamedEntity[] {
  return entities.filter(
    ({ id }, index) => entities.findIndex((entity) => entity.id === id) === index,
  )
}

/** Returns the canonical BCP 47 code; undefined if the text is not a language code. */
export function canonicalLanguageCode(text: string | undefined): string | undefined {
  try {
    return Intl.getCanonicalLocales(text?.replaceAll('_', '-'))[0]
  } catch {
    return undefined
  }
}

function nearest(similar: { name: string }[], otherwise: string): string {
  return similar.length > 0
    ? `closest matches: ${similar.map(({ name }) => name).join(', ')}`
    : otherwise
}
