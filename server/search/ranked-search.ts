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

// From what somebody typed to the records they mean, the best first.

/** What a question came to mean. */
export interface Interpretation {
  readonly meaning: Tsquery
  readonly corrected: readonly { readonly from: string; readonly to: string }[]
  /** Not every result has every word. */
  readonly isLoose: boolean
}

export interface SearchResult extends Interpretation {
  /** The best first. */
  readonly hits: readonly Hit[]
  readonly count: number
  readonly isExact: boolean
}

/** No search finds more in an order of its own. */
export const maxResults = 2 * maxRanked

/** With fewer results than this the last word may be an unfinished one. */
const few = 20

/**
 * The first `upTo` hits. How far they go at most is for the search to say: it puts the newest
 * thousand of each kind in order.
 */
export async function search(
  db: ReadPool,
  asked: string,
  filter: SearchFilter,
  upTo: number,
): Promise<SearchResult> {
  const began = performance.now()
  const isPatient = () => performance.now() - began < db.patienceMs
  const question = parseQuery(asked)
  const words = await wordsOf(db, question)
  const spoken = positiveWords(question, words)
  const attempt = async (understood: Interpretation) => ({
    ...understood,
    ...(await ranked(db, understood.meaning, filter, upTo)),
  })

  let found = await attempt({
    meaning: buildTsquery(question, words, {}),
    corrected: [],
    isLoose: false,
  })
  if (found.count >= few) return found

  const last = spoken.at(-1)
  if (last && endsInPartialWord(asked) && last.word.length > 1)
    found = await attempt({
      ...found,
      meaning: buildTsquery(question, words, { unfinished: last.word }),
    })
  // Where talks have all the words there is nothing to correct; but a slip of the pen may stand in
  // a talk as well.
  if (found.count > (spoken.length === 1 ? 2 : 0) || !isPatient()) return found

  const corrections = await correctSpelling(db, spoken)
  if (corrections.size > 0) {
    const [mended, mendedWords] = await mend(db, question, words, corrections)
    const corrected = [...corrections].map(([from, to]) => ({ from, to }))
    const better = await attempt({
      meaning: buildTsquery(mended, mendedWords, {}),
      corrected,
      isLoose: false,
    })
    if (better.count > found.count) return better
    if (found.count === 0) return looser(better, mended, mendedWords, attempt, isPatient)
  }
  return found.count > 0 ? found : looser(found, question, words, attempt, isPatient)
}

/** Nothing has all the words. What has all but one, or but two, or any of them? */
async function looser(
  strict: SearchResult,
  question: SearchQuery,
  words: WordsOfTerms,
  attempt: (understood: Interpretation) => Promise<SearchResult>,
  isPatient: () => boolean,
): Promise<SearchResult> {
  const spoken = [...new Set(positiveWords(question, words).map(({ word }) => word))]
  let found = strict
  for (const leftOut of waysToLeaveOut(spoken)) {
    if (found.count > 0 || !isPatient()) break
    found = await attempt({ ...strict, meaning: loosely(question, words, leftOut), isLoose: true })
  }
  return found
}

/**
 * All but one, all but two, any of them. The numbers between would be hundreds of ways, each looked
 * for in its turn.
 */
function waysToLeaveOut(spoken: readonly string[]): string[][][] {
  const ways: string[][][] = []
  if (spoken.length > 2 && spoken.length <= maxLeftOut) ways.push(subsets(spoken, 1))
  if (spoken.length > 3 && spoken.length <= 6) ways.push(subsets(spoken, 2))
  if (spoken.length > 1)
    ways.push(spoken.slice(0, maxLeftOut).map((kept) => spoken.filter((word) => word !== kept)))
  return ways
}

/** A text without spaces is hundreds of words. */
const maxLeftOut = 16

/** One of several ways to leave words out. */
function loosely(
  question: SearchQuery,
  words: WordsOfTerms,
  ways: readonly (readonly string[])[],
): Tsquery {
  const strict = buildTsquery(question, words, {})
  const all = ways
    .map((leftOut) => buildTsquery(question, words, { leftOut: new Set(leftOut) }))
    .filter(({ match }) => match !== undefined)
  // Phrases stay whole: several ways may be one, and it may be what nothing was found for.
  const matches = [...new Set(all.map(({ match = '' }) => match))].filter(
    (match) => match !== strict.match,
  )
  return {
    ...strict,
    near: undefined,
    match: matches.length > 0 ? joinWithOr(matches) : undefined,
    wanted: joinWithOr([...new Set(all.map(({ wanted }) => wanted))]),
  }
}

function subsets(words: readonly string[], size: number): string[][] {
  if (size === 0) return [[]]
  return words.flatMap((word, index) =>
    subsets(words.slice(index + 1), size - 1).map((rest) => [word, ...rest]),
  )
}

async function ranked(
  db: Db,
  tsquery: Tsquery,
  filter: SearchFilter,
  upTo: number,
): Promise<{ hits: Hit[]; count: number; isExact: boolean }> {
  const { match } = tsquery
  if (match === undefined) return { hits: [], count: 0, isExact: true }
  const inHead = await findInHead(db, { ...tsquery, match }, filter, upTo)
  const headCount = inHead[0]?.found ?? 0
  const isFull = inHead.length >= upTo
  const inText = isFull
    ? []
    : await findInText(db, { ...tsquery, match }, filter, upTo - inHead.length)
  const textCount = inText[0]?.found ?? 0
  const hits = [...inHead, ...inText]
  // Whoever has seen all of them knows how many there are.
  if (!isFull && headCount < maxRanked && textCount < maxRanked)
    return { hits, count: headCount + textCount, isExact: true }
  return { hits, ...(await counted(db, match, filter)) }
}

/**
 * Counting goes as far as ranking does. Ten times as far took three times as long as all the rest
 * of a search.
 */
async function counted(
  db: Db,
  match: string,
  filter: SearchFilter,
): Promise<{ count: number; isExact: boolean }> {
  const { count, expected } = await estimateMatches(db, match, filter, maxRanked + 1)
  return count <= maxRanked
    ? { count, isExact: true }
    : { count: Math.max(Math.round(expected), count), isExact: false }
}

/** The newest that match, as many as are put in another order than the best first. */
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

async function wordsOf(db: Db, question: SearchQuery): Promise<WordsOfTerms> {
  const texts = [...new Set(question.flat().map(({ text }) => text))]
  const rows = await findWords(db, texts)
  const words = new Map<string, IndexedWord[]>(texts.map((text) => [text, []]))
  for (const { term, word, stems, is_stop: isStop } of rows) {
    const list = words.get(texts[term - 1] as string) as IndexedWord[]
    // The last character of a piece stands alone in the index; here the pair before it says enough.
    if (/^\p{Lo}$/u.test(word) && list.at(-1)?.word.endsWith(word)) continue
    list.push({ word, stems, isStop })
  }
  return words
}

function positiveWords(question: SearchQuery, words: WordsOfTerms): IndexedWord[] {
  return question
    .flat()
    .flatMap(({ text, isExcluded }) => (isExcluded ? [] : (words.get(text) ?? [])))
    .filter(({ isStop }) => !isStop)
}

async function mend(
  db: Db,
  question: SearchQuery,
  words: WordsOfTerms,
  corrections: ReadonlyMap<string, string>,
): Promise<[SearchQuery, WordsOfTerms]> {
  const mended = question.map((terms) =>
    terms.map((term) => {
      const parts = words.get(term.text) ?? []
      return parts.some(({ word }) => corrections.has(word))
        ? { ...term, text: parts.map(({ word }) => corrections.get(word) ?? word).join(' ') }
        : term
    }),
  )
  return [mended, await wordsOf(db, mended)]
}
