import type { ReadPool } from '../platform/db/read-pool.ts'
import { findCountriesByPrefix } from './countries.ts'
import { matchesWithTypo } from './one-typo.ts'
import {
  findEventsByProfile,
  findNamesByWords,
  findSimilarNames,
  findTitles,
  findTitlesByPrefix,
} from './queries.ts'
import { search } from './ranked-search.ts'

// Autocomplete.

const maxPerKind = 5

/** Suggests a few talks, speakers, categories and tags for a partial input. */
export async function suggest(db: ReadPool, input: string) {
  // The wildcards of LIKE have no meaning here.
  const prefix = input
    .normalize('NFC')
    .replaceAll(/[%_\\]/g, ' ')
    .trim()
  if (prefix === '') return { talks: [], speakers: [], categories: [], tags: [] }
  const [names, events, titles] = await Promise.all([
    findSuggestedNames(db, prefix),
    findEventsByProfile(db, prefix, findCountriesByPrefix(prefix), maxPerKind),
    findTitlesByPrefix(db, prefix, maxPerKind),
  ])
  // The search, which costs more, only fills up what titles with this prefix leave free.
  const { hits } =
    titles.length < maxPerKind ? await search(db, input, {}, maxPerKind) : { hits: [] }
  const otherIds = hits.map(({ id }) => id).filter((id) => !titles.some((talk) => talk.id === id))
  const otherTitles = otherIds.length > 0 ? await findTitles(db, otherIds) : []
  const otherTalks = otherIds.flatMap((id) => otherTitles.find((talk) => talk.id === id) ?? [])
  const namesOf = (kind: string) =>
    names.filter((row) => row.kind === kind).map(({ name, slug, talks }) => ({ name, slug, talks }))
  return {
    talks: [...titles, ...otherTalks].slice(0, maxPerKind),
    speakers: namesOf('speaker'),
    // Those with a matching title come first.
    categories: [...namesOf('category'), ...events].slice(0, maxPerKind),
    tags: namesOf('tag'),
  }
}

const maxWords = 6
/** Similar names that are compared with the typed words. */
const maxSimilar = 50

/**
 * Finds speakers, categories and tags by the words of their names, in any order. Accepts typos if
 * there are none without.
 */
async function findSuggestedNames(db: ReadPool, prefix: string) {
  const words = prefix.split(/\s+/).slice(0, maxWords)
  const found = await findNamesByWords(db, words, maxPerKind)
  if (found.length > 0) return found
  const similar = await findSimilarNames(db, prefix, maxSimilar)
  const matching = similar.filter(({ name }) => hasAllWords(name, words))
  return ['speaker', 'category', 'tag'].flatMap((kind) =>
    matching.filter((row) => row.kind === kind).slice(0, maxPerKind),
  )
}

/** Tells whether a name has all words, each of them with at most one typo. */
function hasAllWords(name: string, words: readonly string[]): boolean {
  const parts = folded(name).split(/[\s-]+/)
  return words.every((word, index) =>
    parts.some((part) => matchesWithTypo(folded(word), part, index === words.length - 1)),
  )
}

const folded = (text: string) => text.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase()
