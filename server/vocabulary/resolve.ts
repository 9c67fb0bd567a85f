import type { FieldError } from '@talkshelf/contract'
import type { Db } from '../platform/db/db.ts'
import { slugify } from '../platform/slug.ts'
import {
  findNames,
  freeThingSlug,
  insertThing,
  insertThings,
  type Kind,
  nearestCategories,
  nearestLanguages,
  thingsNamed,
  thingsNow,
} from './queries.ts'

// The names that a record shows, and the things behind them.

/** Names to look up. A category or language that is left out is not looked for. */
export interface Names {
  readonly category?: string | undefined
  readonly language?: string | undefined
  readonly speakers: readonly string[]
  readonly tags: readonly string[]
}

/** A thing, and what it is called: that is what records show, whichever of its names was given. */
export interface Named {
  readonly id: number
  readonly name: string
}

export interface FoundNames {
  readonly category: Named | undefined
  readonly language: Named | undefined
  /** In the order of the names; null for each that is not there yet. */
  readonly speakers: readonly (Named | null)[]
  readonly tags: readonly (Named | null)[]
}

/** The same name, however it was typed: composed characters, no white space around. */
export function tidyName(name: string): string {
  return name.normalize('NFC').trim()
}

/** What was sent about a thing, its names tidied. Wrong types stay, for the check to find. */
export function tidied(body: unknown): Record<string, unknown> {
  const it = { ...(body as Record<string, unknown>) }
  for (const field of ['title', 'name']) if (typeof it[field] === 'string') it[field] = tidyName(it[field])
  const alias = (one: unknown) => (isNamed(one) ? { ...one, name: tidyName(one.name) } : one)
  if (Array.isArray(it.aliases)) it.aliases = it.aliases.map(alias)
  return it
}

function isNamed(value: unknown): value is { name: string } {
  return typeof value === 'object' && value !== null && typeof (value as { name?: unknown }).name === 'string'
}

/** The things behind the names. A speaker or tag that is not there yet is null; a category or language that is not is an error. */
export async function resolveNames(
  db: Db,
  { category, language, speakers, tags }: Names,
): Promise<{ found: FoundNames } | { errors: FieldError[] }> {
  const row = await findNames(db, {
    category,
    language,
    code: language === undefined ? undefined : languageCode(language),
    speakers,
    tags,
  })
  const errors: FieldError[] = []
  if (category !== undefined && row.category_id === null) {
    const near = await nearestCategories(db, category)
    errors.push({
      pointer: '/category',
      code: 'unknown-category',
      detail: `is not the title of a category; ${nearest(near, 'POST /api/v2/category makes one')}`,
    })
  }
  if (language !== undefined && row.language_id === null) {
    const near = await nearestLanguages(db, language)
    errors.push({
      pointer: '/language',
      code: 'unknown-language',
      detail: `is not the English name or the code of a language; ${nearest(near, 'try its ISO 639 code')}`,
    })
  }
  if (errors.length > 0) return { errors }
  return {
    found: {
      category: named(row.category_id, row.category) ?? undefined,
      language: named(row.language_id, row.language) ?? undefined,
      speakers: row.speaker_ids.map((id, place) => named(id, row.speakers[place])),
      tags: row.tag_ids.map((id, place) => named(id, row.tags[place])),
    },
  }
}

function named(id: number | null, name: string | null | undefined): Named | null {
  return id === null || name === null || name === undefined ? null : { id, name }
}

/** Makes the speakers or tags that are not there yet, and returns all. To be called in the transaction of the record. */
export async function createMissing(
  tx: Db,
  kind: 'speaker' | 'tag',
  names: readonly string[],
  found: readonly (Named | null)[],
): Promise<Named[]> {
  const missing = names.filter((_, place) => found[place] === null).map((name) => ({ name, slug: slugify(name) }))
  if (missing.length === 0) return found as Named[]
  // In one order for all writers, by slug and then by name: two that make the same of either wait for each other, and never both at once.
  missing.sort((a, b) => compare(a.slug, b.slug) || compare(a.name, b.name))
  await insertThings(tx, kind, missing)
  const wanted = missing.map(({ name }) => name)
  const made: Map<string, Named> = await thingsNamed(tx, kind, wanted)
  // What is left has no slug of its own, or one that another name has: it gets a number.
  for (const { name, slug } of missing) if (!made.has(name)) made.set(name, await withNumber(tx, kind, name, slug))
  return names.map((name, place) => found[place] ?? (made.get(name) as Named))
}

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

async function withNumber(tx: Db, kind: 'speaker' | 'tag', name: string, base: string): Promise<Named> {
  for (let attempt = 1; ; attempt++) {
    await insertThing(tx, kind, name, await freeThingSlug(tx, kind, base, attempt))
    const thing = (await thingsNamed(tx, kind, [name])).get(name)
    if (thing) return thing
    // Somebody took the slug for another name, and the next one is asked for.
  }
}

/** Ids in the place of names, as a record or its history has them. */
export interface ThingIds {
  readonly category: number
  readonly speakers: readonly number[]
  readonly tags: readonly number[]
}

/**
 * What ids stand for today: whoever was renamed since has the name of today, and what was merged is what it was merged into. An id that
 * is not there is left out, and of two that became one, the second.
 */
export async function namesNow(
  db: Db,
  all: readonly ThingIds[],
): Promise<(ids: ThingIds) => { category: Named | undefined; speakers: Named[]; tags: Named[] }> {
  const rows = await thingsNow(db, {
    category: [...new Set(all.map(({ category }) => category))],
    speaker: [...new Set(all.flatMap(({ speakers }) => speakers))],
    tag: [...new Set(all.flatMap(({ tags }) => tags))],
  })
  const now = new Map(rows.map(({ kind, was, id, name }) => [`${kind} ${was}`, { id, name }]))
  const each = (kind: Kind, ids: readonly number[]) => once(ids.flatMap((id) => now.get(`${kind} ${id}`) ?? []))
  return ({ category, speakers, tags }) => ({
    category: now.get(`category ${category}`),
    speakers: each('speaker', speakers),
    tags: each('tag', tags),
  })
}

/** The same thing twice, by two of its names, is kept once: in the first place. */
export function once(things: readonly Named[]): Named[] {
  return things.filter(({ id }, place) => things.findIndex((it) => it.id === id) === place)
}

/** Canonical BCP 47; empty where the text is no code. */
export function languageCode(text: string): string {
  try {
    return Intl.getCanonicalLocales(text.replaceAll('_', '-'))[0] ?? ''
  } catch {
    return ''
  }
}

function nearest(found: { name: string }[], otherwise: string): string {
  return found.length > 0 ? `the nearest are: ${found.map(({ name }) => name).join(', ')}` : otherwise
}
