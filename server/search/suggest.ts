import type { Db } from '../platform/db/db.ts'
import type { ReadPool } from '../platform/db/read-pool.ts'
import { foldText } from '../platform/text/fold.ts'
import { findCountriesByPrefix } from './countries.ts'
import {
  findEventsByProfile,
  findNamesByPrefixes,
  findNamesByQuery,
  findNamesOfWords,
  findTitlesByPrefix,
} from './queries.ts'
import { findSuggestedTalks } from './suggest-talks.ts'
import { joinWithOr, prefixForm, quoteLexeme } from './tsquery.ts'
import { readTypedWords, type TypedWords } from './typed-words.ts'

// Autocomplete.

const maxPerKind = 5

/** Suggests a few talks, speakers, categories and tags for a partial input. */
export async function suggest(db: ReadPool, input: string) {
  const prefix = withoutWildcards(input)
  if (prefix === '') return { talks: [], speakers: [], categories: [], tags: [] }
  const typedWords = readTypedWords(db, prefix)
  const [names, events, titles] = await Promise.all([
    findSuggestedNames(db, prefix, typedWords),
    findEventsByProfile(db, prefix, findCountriesByPrefix(prefix), maxPerKind),
    findTitlesByPrefix(db, prefix, maxPerKind),
  ])
  // The words of a title in another place, which cost more, only fill up what titles with this
  // prefix leave free.
  const others =
    titles.length < maxPerKind
      ? await findSuggestedTalks(db, input, titles, maxPerKind, typedWords)
      : []
  const namesOf = (kind: string) =>
    names.filter((row) => row.kind === kind).map(({ name, slug, talks }) => ({ name, slug, talks }))
  return {
    talks: [...titles, ...others],
    speakers: namesOf('speaker'),
    // Those with a matching title come first.
    categories: [...namesOf('category'), ...events].slice(0, maxPerKind),
    tags: namesOf('tag'),
  }
}

const maxWords = 6

/** Finds the speakers, categories and tags that the input names, with its words in any order. */
export async function findNamed(db: Db, input: string) {
  const words = withoutWildcards(input)
    .split(/[\s"]+/)
    .filter(Boolean)
  if (words.length === 0 || words.length > maxWords) return []
  const names = await findNamesOfWords(db, words, maxPerKind)
  const sorted = (text: string) =>
    foldText(text)
      .split(/[\s-]+/)
      .sort()
      .join(' ')
  return names
    .filter(({ name }) => sorted(name) === sorted(words.join(' ')))
    .filter(({ kind }, index, all) => index === all.findIndex((other) => other.kind === kind))
}

/** Removes the wildcards of LIKE, which have no meaning in a query. */
const withoutWildcards = (input: string) =>
  input
    .normalize('NFC')
    .replaceAll(/[%_\\]/g, ' ')
    .trim()

/** Names with typos that are compared by their number. */
const maxWithTypos = 50

/**
 * Finds speakers, categories and tags by the words of their names, in any order. Accepts a typo in
 * each word if there are none without.
 */
async function findSuggestedNames(db: Db, text: string, typedWords: TypedWords) {
  const found = await findNamesByPrefixes(db, text, maxPerKind)
  if (found.length > 0) return found
  const words = await typedWords()
  if (words.every(({ corrections }) => corrections.length === 0)) return []
  const forms = words.map(({ word, corrections }) =>
    joinWithOr([prefixForm({ word }), ...corrections.map(quoteLexeme)]),
  )
  const similar = await findNamesByQuery(
    db,
    forms.map((form) => `(${form})`).join(' & '),
    maxWithTypos,
  )
  const typosIn = (name: string) => {
    const parts = foldText(name).split(/[^\p{L}\p{N}]+/u)
    return words.filter(({ word }) => !parts.some((part) => part.startsWith(word))).length
  }
  // With the same number of typos, those with the most talks stay first.
  const sorted = similar.toSorted((a, b) => typosIn(a.name) - typosIn(b.name))
  return ['speaker', 'category', 'tag'].flatMap((kind) =>
    sorted.filter((row) => row.kind === kind).slice(0, maxPerKind),
  )
}
