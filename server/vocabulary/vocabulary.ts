import type { FieldError } from '@talkshelf/contract'
import type { Db } from '../platform/db/db.ts'
import { slugify } from '../platform/slug.ts'
import { findNames, freeVocabularySlug, idsOfNames, insertNames, nearestCategories, nearestLanguages } from './queries.ts'

export { createCategory, patchCategory, readCategory } from './categories.ts'

// The names that a record shows, and the things behind them.

/** Names to look up. A category or language that is left out is not looked for. */
export interface Names {
  readonly category?: string | undefined
  readonly language?: string | undefined
  readonly speakers: readonly string[]
  readonly tags: readonly string[]
}

export interface NameIds {
  readonly category: number | undefined
  readonly language: number | undefined
  /** The language as records show it: a code that was given has become the name. */
  readonly languageName: string | undefined
  /** In the order of the names; null for each that is not there yet. */
  readonly speakers: readonly (number | null)[]
  readonly tags: readonly (number | null)[]
}

/** The same name, however it was typed: composed characters, no white space around. */
export function tidyName(name: string): string {
  return name.normalize('NFC').trim()
}

/** The ids behind the names. A speaker or tag that is not there yet is null; a category or language that is not is an error. */
export async function resolveNames(
  db: Db,
  { category, language, speakers, tags }: Names,
): Promise<{ ids: NameIds } | { errors: FieldError[] }> {
  const found = await findNames(db, {
    category,
    language,
    code: language === undefined ? undefined : languageCode(language),
    speakers,
    tags,
  })
  const errors: FieldError[] = []
  if (category !== undefined && found.category_id === null) {
    const near = await nearestCategories(db, category)
    errors.push({
      pointer: '/category',
      code: 'unknown-category',
      detail: `is not the title of a category; ${nearest(near, 'POST /api/v2/category makes one')}`,
    })
  }
  if (language !== undefined && found.language_id === null) {
    const near = await nearestLanguages(db, language)
    errors.push({
      pointer: '/language',
      code: 'unknown-language',
      detail: `is not the English name or the code of a language; ${nearest(near, 'try its ISO 639 code')}`,
    })
  }
  if (errors.length > 0) return { errors }
  return {
    ids: {
      category: found.category_id ?? undefined,
      language: found.language_id ?? undefined,
      languageName: found.language ?? undefined,
      speakers: found.speaker_ids,
      tags: found.tag_ids,
    },
  }
}

/** Makes the speakers or tags that are not there yet, and returns all ids. To be called in the transaction of the record. */
export async function createMissing(
  tx: Db,
  kind: 'speaker' | 'tag',
  names: readonly string[],
  ids: readonly (number | null)[],
): Promise<number[]> {
  const missing = names.filter((_, place) => ids[place] === null).map((name) => ({ name, slug: slugify(name) }))
  if (missing.length === 0) return ids as number[]
  // In one order for all writers, by slug and then by name: two that make the same of either wait for each other, and never both at once.
  missing.sort((a, b) => compare(a.slug, b.slug) || compare(a.name, b.name))
  const first = missing.filter(({ slug }, place) => slug !== '' && slug !== missing[place - 1]?.slug)
  await insertNames(tx, kind, first)
  const made = await idsOfNames(
    tx,
    kind,
    missing.map(({ name }) => name),
  )
  // What is left has no slug of its own, or one that another name has: it gets a number.
  for (const { name, slug } of missing) if (!made.has(name)) made.set(name, await ensureName(tx, kind, name, slug))
  return names.map((name, place) => ids[place] ?? (made.get(name) as number))
}

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

async function ensureName(tx: Db, kind: 'speaker' | 'tag', name: string, base: string): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    const slug = await freeVocabularySlug(tx, kind, base, attempt)
    await insertNames(tx, kind, [{ name, slug }])
    const id = (await idsOfNames(tx, kind, [name])).get(name)
    if (id !== undefined) return id
    // Neither made nor there: somebody took the slug for another name, and the next one is asked for.
  }
}

function languageCode(text: string): string {
  try {
    return Intl.getCanonicalLocales(text.replaceAll('_', '-'))[0] ?? ''
  } catch {
    return ''
  }
}

function nearest(found: { name: string }[], otherwise: string): string {
  return found.length > 0 ? `the nearest are: ${found.map(({ name }) => name).join(', ')}` : otherwise
}
