import type { Db } from '../platform/db/db.ts'
import type { ReadPool } from '../platform/db/read-pool.ts'
import { endsInPartialWord, parseQuery, type SearchQuery } from './parse-query.ts'
import {
  estimateMatches,
  findInHead,
  findInText,
  findWords,
  type Hit,
  maxRanked,
  newestMatches,
  type SearchFilter,
} from './queries.ts'
import { correctSpelling } from './spelling.ts'
import {
  buildTsquery,
  type IndexedWord,
  joinWithOr,
  type Tsquery,
  type WordsOfTerms,
} from './tsquery.ts'

// The search: interprets the typed text and ranks the matching records.

/** How a query was interpreted. */
export interface Interpretation {
  readonly tsquery: Tsquery
  readonly corrected: readonly { readonly from: string; readonly to: string }[]
  /** Not every result has every word. */
  readonly isLoose: boolean
}

export interface SearchResult extends Interpretation {
  /** The best first. */
  readonly hits: readonly Hit[]
  readonly count: number
  /** Whether `count` is exact; otherwise it is an estimate. */
  readonly isExact: boolean
}

/** The maximum number of hits in the order of relevance, half of them for matches in the text. */
export const maxResults = 2 * maxRanked

/** With fewer results than this the last word is searched as a prefix as well. */
const fewResults = 20

type Attempt = (interpretation: Interpretation) => Promise<SearchResult>

/**
 * Finds the best hits, up to a limit. Only the newest matches are ranked (`maxRanked`). While there
 * are few or no results, tries the last word as a prefix, then corrected spelling, then fewer
 * words, as long as time is left.
 */
export async function search(
  db: ReadPool,
  input: string,
  filter: SearchFilter,
  limit: number,
): Promise<SearchResult> {
  const startMs = performance.now()
  const hasTimeLeft = () => performance.now() - startMs < db.patienceMs
  const query = parseQuery(input)
  const words = await indexedWords(db, query)
  const searched = positiveWords(query, words)
  const attempt: Attempt = async (interpretation) => ({
    ...interpretation,
    ...(await rankMatches(db, interpretation.tsquery, filter, limit)),
  })

  let result = await attempt({
    tsquery: buildTsquery(query, words, {}),
    corrected: [],
    isLoose: false,
  })
  if (result.count >= fewResults) return result

  const last = searched.at(-1)
  if (last && endsInPartialWord(input) && last.word.length > 1)
    result = await attempt({
      ...result,
      tsquery: buildTsquery(query, words, { unfinished: last.word }),
    })
  // Talks that have all the words confirm their spelling, but a single word may be a typo in a
  // talk as well.
  const isConfirmed = result.count > (searched.length === 1 ? 2 : 0)
  if (isConfirmed || !hasTimeLeft()) return result

  const corrections = await correctSpelling(db, searched)
  if (corrections.size > 0) {
    const [correctedQuery, correctedWords] = await correctQuery(db, query, words, corrections)
    const correctedResult = await attempt({
      tsquery: buildTsquery(correctedQuery, correctedWords, {}),
      corrected: [...corrections].map(([from, to]) => ({ from, to })),
      isLoose: false,
    })
    if (correctedResult.count > result.count) return correctedResult
    if (result.count === 0)
      return searchLoosely(correctedResult, correctedQuery, correctedWords, attempt, hasTimeLeft)
  }
  return result.count > 0 ? result : searchLoosely(result, query, words, attempt, hasTimeLeft)
}

/** Searches for records with all words but one, then all but two, then any of them. */
async function searchLoosely(
  strict: SearchResult,
  query: SearchQuery,
  words: WordsOfTerms,
  attempt: Attempt,
  hasTimeLeft: () => boolean,
): Promise<SearchResult> {
  const searched = [...new Set(positiveWords(query, words).map(({ word }) => word))]
  let result = strict
  for (const omissions of omissionSteps(searched)) {
    if (result.count > 0 || !hasTimeLeft()) break
    result = await attempt({
      ...strict,
      tsquery: looseTsquery(query, words, omissions),
      isLoose: true,
    })
  }
  return result
}

/**
 * Returns the steps of a loose search, each as the sets of words to leave out. There are no steps
 * between "all but two" (up to six words) and "any": the tsquery would have too many sets.
 */
function omissionSteps(words: readonly string[]): string[][][] {
  const steps: string[][][] = []
  if (words.length > 2 && words.length <= maxLooseWords) steps.push(subsets(words, 1))
  if (words.length > 3 && words.length <= 6) steps.push(subsets(words, 2))
  if (words.length > 1)
    steps.push(
      words.slice(0, maxLooseWords).map((retained) => words.filter((word) => word !== retained)),
    )
  return steps
}

/** A text in a script without spaces can be hundreds of words. */
const maxLooseWords = 16

/** Builds a tsquery that matches with any one of the sets of words left out. */
function looseTsquery(
  query: SearchQuery,
  words: WordsOfTerms,
  omissions: readonly (readonly string[])[],
): Tsquery {
  const strict = buildTsquery(query, words, {})
  const variants = omissions
    .map((leftOut) => buildTsquery(query, words, { leftOut: new Set(leftOut) }))
    .filter(({ match }) => match !== undefined)
  // Phrases stay whole: several variants may be equal, also to the strict one without results.
  const matches = [...new Set(variants.map(({ match = '' }) => match))].filter(
    (match) => match !== strict.match,
  )
  return {
    ...strict,
    near: undefined,
    match: matches.length > 0 ? joinWithOr(matches) : undefined,
    required: joinWithOr([...new Set(variants.map(({ required }) => required))]),
  }
}

function subsets(words: readonly string[], size: number): string[][] {
  if (size === 0) return [[]]
  return words.flatMap((word, index) =>
    subsets(words.slice(index + 1), size - 1).map((rest) => [word, ...rest]),
  )
}

async function rankMatches(
  db: Db,
  tsquery: Tsquery,
  filter: SearchFilter,
  limit: number,
): Promise<{ hits: Hit[]; count: number; isExact: boolean }> {
  const { match } = tsquery
  if (match === undefined) return { hits: [], count: 0, isExact: true }
  const inHead = await findInHead(db, { ...tsquery, match }, filter, limit)
  const headCount = inHead[0]?.matches ?? 0
  const isFull = inHead.length >= limit
  const inText = isFull
    ? []
    : await findInText(db, { ...tsquery, match }, filter, limit - inHead.length)
  const textCount = inText[0]?.matches ?? 0
  const hits = [...inHead, ...inText]
  // If both statements have seen all of their matches, nothing is left to count.
  if (!isFull && headCount < maxRanked && textCount < maxRanked)
    return { hits, count: headCount + textCount, isExact: true }
  return { hits, ...(await countOrEstimate(db, match, filter)) }
}

/**
 * Counts as far as ranking goes, and estimates beyond. Counting ten times as far took three times
 * as long as the rest of a search.
 */
async function countOrEstimate(
  db: Db,
  match: string,
  filter: SearchFilter,
): Promise<{ count: number; isExact: boolean }> {
  const { count, expected } = await estimateMatches(db, match, filter, maxRanked + 1)
  return count <= maxRanked
    ? { count, isExact: true }
    : { count: Math.max(Math.round(expected), count), isExact: false }
}

/** Finds the newest matches, for sorting by something else than relevance. */
export async function findNewestMatches(
  db: Db,
  { match }: Tsquery,
  filter: SearchFilter,
  limit: number,
): Promise<number[]> {
  return match === undefined
    ? []
    : (await newestMatches(db, match, filter, limit)).map(({ id }) => id)
}

async function indexedWords(db: Db, query: SearchQuery): Promise<WordsOfTerms> {
  const texts = [...new Set(query.flat().map(({ text }) => text))]
  const rows = await findWords(db, texts)
  const words = new Map<string, IndexedWord[]>(texts.map((text) => [text, []]))
  for (const { term, word, stems, is_stop: isStop } of rows) {
    const wordsOfTerm = words.get(texts[term - 1] as string) as IndexedWord[]
    // In a script without spaces the last character is indexed alone as well as in the pair before
    // it; for a query the pair is enough.
    if (/^\p{Lo}$/u.test(word) && wordsOfTerm.at(-1)?.word.endsWith(word)) continue
    wordsOfTerm.push({ word, stems, isStop })
  }
  return words
}

function positiveWords(query: SearchQuery, words: WordsOfTerms): IndexedWord[] {
  return query
    .flat()
    .flatMap(({ text, isExcluded }) => (isExcluded ? [] : (words.get(text) ?? [])))
    .filter(({ isStop }) => !isStop)
}

async function correctQuery(
  db: Db,
  query: SearchQuery,
  words: WordsOfTerms,
  corrections: ReadonlyMap<string, string>,
): Promise<[SearchQuery, WordsOfTerms]> {
  const corrected = query.map((terms) =>
    terms.map((term) => {
      const parts = words.get(term.text) ?? []
      return parts.some(({ word }) => corrections.has(word))
        ? { ...term, text: parts.map(({ word }) => corrections.get(word) ?? word).join(' ') }
        : term
    }),
  )
  return [corrected, await indexedWords(db, corrected)]
}
