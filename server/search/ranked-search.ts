import type { Db } from '../platform/db/db.ts'
import type { ReadPool } from '../platform/db/read-pool.ts'
import { interpretQuery, type QueryMeaning, withTalks } from './interpret.ts'
import { parseQuery, unfinishedTerm } from './parse-query.ts'
import {
  countEach,
  estimateMatches,
  findInHead,
  findInText,
  findPartialMatches,
  type Hit,
  maxRanked,
  newestMatches,
  type SearchFilter,
  talksOfPrefixes,
} from './queries.ts'
import { type Correction, correctQuery, correctSpelling } from './spelling.ts'
import {
  buildPartialTsquery,
  buildTsquery,
  joinWithOr,
  prefixForm,
  requiredUnits,
  type Tsquery,
  tolerance,
  type UnfinishedWords,
  unitForms,
  wordForm,
} from './tsquery.ts'

// The search: interprets the typed text and ranks the matching records.

/** How a query was interpreted. */
export interface Interpretation {
  readonly tsquery: Tsquery
  readonly corrected: readonly Correction[]
}

export interface SearchResult extends Interpretation {
  /** The best first: those with all words before the others. */
  readonly hits: readonly Hit[]
  readonly count: number
  /** Whether `count` is exact; otherwise it is an estimate. */
  readonly isExact: boolean
  /** How many of `count` have all words. */
  readonly allWords: number
}

export interface SearchOptions {
  /** Whether misspelled words are replaced by similar ones. */
  readonly spelling: 'corrected' | 'exact'
  /** Whether records with some of the words are added to a few with all, or only to none. */
  readonly partial: 'if few' | 'if none'
}

/** The maximum number of hits in the order of relevance, half of them for matches in the text. */
export const maxResults = 2 * maxRanked

/** With fewer results than this the search tries other forms of the query. */
const fewResults = 20

const defaultOptions: SearchOptions = { spelling: 'corrected', partial: 'if few' }

/**
 * Finds the best hits, up to a limit. Only the newest matches are ranked (`maxRanked`). While there
 * are few or no results, tries unfinished words as prefixes, then corrected spelling, then adds
 * records with a part of the words, as long as time is left.
 */
export async function search(
  db: ReadPool,
  input: string,
  filter: SearchFilter,
  limit: number,
  options: SearchOptions = defaultOptions,
): Promise<SearchResult> {
  const startMs = performance.now()
  const hasTimeLeft = () => performance.now() - startMs < db.patienceMs
  const hasHalfLeft = () => performance.now() - startMs < db.patienceMs / 2
  // Partial matches follow after all others, on whichever page that is.
  const atLeastFew = Math.max(limit, fewResults)
  const findStrict = async (
    meaning: QueryMeaning,
    unfinished: UnfinishedWords,
    corrected: readonly Correction[],
  ): Promise<Attempt> => {
    const tsquery = buildTsquery(meaning.units, unfinished)
    const ranked = await rankMatches(db, tsquery, filter, atLeastFew)
    return { meaning, unfinished, corrected, tsquery, ...ranked, allWords: ranked.count }
  }

  let attempt = await findStrict(await interpretQuery(db, parseQuery(input)), new Set(), [])
  let corrected: Attempt | undefined
  if (attempt.count < fewResults) {
    const prefixes = await findUnfinished(db, input, attempt.meaning)
    const { meaning, unfinished, talks, isKnownPrefix } = prefixes
    if (unfinished.size > 0) attempt = await findStrict(meaning, unfinished, [])
    const isCorrected = options.spelling === 'corrected' && attempt.count < fewResults
    const corrections =
      isCorrected && hasHalfLeft()
        ? await correctSpelling(db, meaning, attempt.count, isKnownPrefix, hasHalfLeft)
        : []
    if (corrections.length > 0) {
      const query = correctQuery(meaning, corrections)
      const correctedMeaning = withTalks(await interpretQuery(db, query), talks)
      const other = await findStrict(correctedMeaning, unfinished, corrections)
      if (other.count > attempt.count || attempt.count === 0) corrected = other
    }
  }
  const minCount = options.partial === 'if few' ? fewResults : 1
  const withPartial = async (strict: Attempt) =>
    strict.count >= minCount ? strict : addPartial(db, strict, filter, hasTimeLeft)
  let best = await withPartial(corrected ?? attempt)
  // A correction that finds nothing is none: the filter may leave out the talks that have it.
  if (corrected && best.count === 0) best = await withPartial(attempt)
  const { meaning: _, unfinished: __, ...result } = best
  return { ...result, hits: result.hits.slice(0, limit) }
}

interface Attempt extends SearchResult {
  readonly meaning: QueryMeaning
  readonly unfinished: UnfinishedWords
}

/**
 * Finds the words that match as prefixes: the last one, and those that no talk has but with which
 * others begin. They weigh as little as all the words that they stand for.
 */
async function findUnfinished(db: Db, input: string, meaning: QueryMeaning): Promise<Unfinished> {
  const words = requiredUnits(meaning.units)
    .filter(({ kind }) => kind === 'words')
    .flatMap((unit) => unit.words)
  const lastTerm = unfinishedTerm(input)
  const lastWord = lastTerm && meaning.words.get(lastTerm.text)?.at(-1)?.word
  const last = requiredUnits(meaning.units)
    .flatMap((unit) => unit.words)
    .find(({ word }) => word === lastWord && word.length > 1)
  const candidates = words
    .filter(({ word, talks }) => talks <= 1 && word.length >= minUnfinishedLength)
    .slice(0, maxUnfinished)
  const prefixes = [...new Set([...candidates, ...(last ? [last] : [])])]
  if (prefixes.length === 0)
    return { meaning, unfinished: new Set(), talks: new Map(), isKnownPrefix: () => false }
  // Only live talks count, not the words of earlier ones.
  const counts = await countEach(
    db,
    prefixes.flatMap((word) => [wordForm(word), prefixForm(word)]),
    minTalksOfPrefix,
  )
  const countsOf = (word: string) => {
    const index = 2 * prefixes.findIndex((other) => other.word === word)
    return { talks: counts[index] ?? 0, begun: counts[index + 1] ?? 0 }
  }
  const unfinished = prefixes
    .map(({ word }) => word)
    .filter((word) => {
      const { talks, begun } = countsOf(word)
      return word === last?.word || (talks === 0 && begun > 0)
    })
  const talks = new Map((await talksOfPrefixes(db, unfinished)).map((row) => [row.word, row.talks]))
  return {
    meaning: withTalks(meaning, talks),
    unfinished: new Set(unfinished),
    talks,
    isKnownPrefix: (word) =>
      talks.has(word) && countsOf(word).talks === 0 && countsOf(word).begun >= minTalksOfPrefix,
  }
}

interface Unfinished {
  readonly meaning: QueryMeaning
  readonly unfinished: UnfinishedWords
  /** About how many talks have a word with each unfinished word as prefix. */
  readonly talks: ReadonlyMap<string, number>
  /** Tells whether a word that no talk has is the beginning of others, and not misspelled. */
  isKnownPrefix(word: string): boolean
}

const minTalksOfPrefix = 3

/** A text in a script without spaces can be hundreds of words. */
const maxUnfinished = 8

/** Shorter words begin too many others. */
const minUnfinishedLength = 3

/** Partial matches have at least this share of the weight of all words; the second if few have. */
const partialShares = [0.6, 0.4]

/** Any word is enough. */
const anyWeight = () => 2 * tolerance

/** More words hardly change a rank. */
const maxRankedWords = 16

/**
 * Adds records with a part of the words: the rarest words count most. Records with all words stay
 * first. A word alone that more talks have than are ranked is never enough, so that older talks
 * are not cut off; only if nothing else is found, any word is.
 */
async function addPartial(
  db: Db,
  strict: Attempt,
  filter: SearchFilter,
  hasTimeLeft: () => boolean,
): Promise<Attempt> {
  const { meaning, unfinished } = strict
  const forms = requiredUnits(meaning.units)
    .toSorted((a, b) => b.weight - a.weight)
    .slice(0, maxRankedWords)
    .map((unit) => ({ weight: unit.weight, ...unitForms(unit, unfinished) }))
  const minWeight = Math.log(Math.max(1, meaning.total / maxRanked))
  // Without time for more, a single step finds the most.
  const shares = hasTimeLeft() ? partialShares : partialShares.slice(-1)
  const neededWeights = [
    ...shares.map((share) => (total: number) => Math.max(share * total, minWeight)),
    anyWeight,
  ]
  let result = strict
  for (const [index, neededWeight] of neededWeights.entries()) {
    const isEnough = result.count >= (neededWeight === anyWeight ? 1 : fewResults)
    if (isEnough || (index > 0 && !hasTimeLeft())) break
    const tsquery = buildPartialTsquery(meaning.units, unfinished, neededWeight)
    if (tsquery.match === undefined) continue
    const match = joinStrict(meaning, strict.tsquery, tsquery.match)
    const partial = await findPartialMatches(db, match, forms, filter, maxRanked)
    const count = partial[0]?.matches ?? 0
    const others = partial.filter(({ id }) => !strict.hits.some((hit) => hit.id === id))
    result = {
      ...strict,
      tsquery: { ...strict.tsquery, match },
      // A score is a sum of weights, at most some hundred.
      hits: [...strict.hits, ...others.map((hit) => ({ ...hit, score: hit.score - 1000 }))],
      ...(count < maxRanked ? { count, isExact: true } : await countOrEstimate(db, match, filter)),
    }
  }
  return result
}

/** Records with all words of one alternative may not have a part of another. */
function joinStrict({ units }: QueryMeaning, strict: Tsquery, partial: string): string {
  return units.length > 1 && strict.match !== undefined
    ? joinWithOr([strict.match, partial])
    : partial
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
