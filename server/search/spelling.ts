import type { Db } from '../platform/db/db.ts'
import { joinWords } from '../platform/text/unspaced.ts'
import type { QueryMeaning } from './interpret.ts'
import type { SearchQuery } from './parse-query.ts'
import { countEach, findSimilarWords, findWords } from './queries.ts'
import {
  type IndexedWord,
  type QueryUnits,
  quoteLexeme,
  requiredUnits,
  unitForms,
  wordForm,
} from './tsquery.ts'

// Corrects the spelling of words, one by one: of those that hardly any talk has, and of those that
// do not occur together with the other words, if a similar word does.

/** A word of a query, and the word that is searched for instead. */
export interface Correction {
  readonly from: string
  readonly to: string
}

type Word = Pick<IndexedWord, 'word' | 'stems'>

/** The talks with a word are counted up to this number, or as far as they are compared. */
const maxCountedTalks = 200

/** A word is rare, and may be a typo, if at most this many talks have it. */
const maxTalksOfTypo = 2

/** A correction has to be so much more frequent than the word. */
const minRatio = 10

/** More words are not corrected. */
const maxWords = 8

/** Words that more talks have are never corrected. */
const maxTalksOfKnown = 50

/** Only in short queries, such as names, words are corrected that more than a few talks have. */
const maxWordsWithKnown = 5

/** The most similar known words that are considered for a word. */
const maxCandidates = 6

/** With how many of the other words, the rarest, a correction has to occur. */
const maxOthers = 3

/**
 * Finds the likely corrections of the words of a query with `found` results. Talks that have all
 * the words confirm their spelling, unless a correction has many times as many.
 */
export async function correctSpelling(
  db: Db,
  { units }: QueryMeaning,
  found: number,
  isKnownPrefix: (word: string) => boolean,
  hasTimeLeft: () => boolean,
): Promise<Correction[]> {
  const parts = queryParts(units)
  // A single word may be a typo in a talk as well.
  if (parts.length === 1 && found > maxTalksOfTypo) return []
  const counts = await countEach(
    db,
    parts.map(({ form }) => form),
    maxCountedTalks,
  )
  const current = [...parts]
  const byTalks = counts.map((talks, index) => ({ talks, index })).sort((a, b) => a.talks - b.talks)
  for (const { talks, index } of byTalks) {
    const { word: indexed, isKnownTerm } = parts[index] as QueryPart
    const { word } = indexed
    if (!hasTimeLeft()) break
    const mayBeTypo =
      !isKnownTerm &&
      talks <= (found === 0 && parts.length <= maxWordsWithKnown ? maxTalksOfKnown : maxTalksOfTypo)
    if (!mayBeTypo || !isCorrectable(word) || isKnownPrefix(word)) continue
    // The rarest first. A word that no talk has says nothing, unless it was corrected before.
    const others = byTalks
      .filter((other) => other.talks > 0 || isChanged(other.index))
      .filter((other) => other.index !== index)
      .slice(0, maxOthers)
    const candidate = await findCorrection(db, {
      word,
      talks,
      found,
      others: others.map((other) => (current[other.index] as QueryPart).form),
      neighbours: [current[index - 1]?.word, current[index + 1]?.word],
    })
    if (candidate)
      current[index] = { word: candidate, form: wordForm(candidate), isKnownTerm: false }
  }
  function isChanged(index: number): boolean {
    return current[index] !== parts[index]
  }
  const corrections = parts.flatMap(({ word: { word } }, index) =>
    isChanged(index) ? [{ from: word, to: (current[index] as QueryPart).word.word }] : [],
  )
  // No talk has two misspelled words by accident.
  return found > 0 && corrections.length > 1 ? [] : corrections
}

/** A word of a query, or a term with synonyms. */
interface QueryPart {
  /** The first word of a term. */
  readonly word: Word
  /** The tsquery of the talks that have it. */
  readonly form: string
  /** Whether an editor chose synonyms for it: such a term is not misspelled. */
  readonly isKnownTerm: boolean
}

function queryParts(units: QueryUnits): QueryPart[] {
  const parts = requiredUnits(units).flatMap((unit): QueryPart[] => {
    const words = unit.words.filter(({ isStop }) => !isStop)
    const [first] = words
    if (first && unit.synonyms.length > 0) {
      const form = unitForms(unit, new Set()).anywhere
      return [{ word: first, form, isKnownTerm: unit.hasSynonymGroup }]
    }
    return words.map((word) => ({ word, form: wordForm(word), isKnownTerm: false }))
  })
  return [...new Map(parts.map((part) => [part.word.word, part])).values()].slice(0, maxWords)
}

/** Replaces the words of a query. */
export function correctQuery(
  { query, words }: QueryMeaning,
  corrections: readonly Correction[],
): SearchQuery {
  const byWord = new Map(corrections.map(({ from, to }) => [from, to]))
  return query.map((terms) =>
    terms.map((term) => {
      const parts = words.get(term.text) ?? []
      return !term.isExcluded && parts.some(({ word }) => byWord.has(word))
        ? { ...term, text: parts.map(({ word }) => byWord.get(word) ?? word).join(' ') }
        : term
    }),
  )
}

/** The words of a typed text that are not excluded. */
const typedWords = /(?<![\p{L}\p{N}\p{M}])(?<!(?:^|\s)-"?)[\p{L}\p{N}\p{M}]+/gu

/** Replaces the words of a query as it was typed, and leaves the rest of the text as it is. */
export async function correctText(
  db: Db,
  text: string,
  corrections: readonly Correction[],
): Promise<string> {
  const typed = [...new Set(text.match(typedWords))]
  const byWord = new Map(corrections.map(({ from, to }) => [from, to]))
  const byTyped = new Map<string, string>()
  // Only the database knows that ß is ss and ł is l.
  const rows = Map.groupBy(await findWords(db, typed), ({ term }) => typed[term - 1] as string)
  for (const [word, parts] of rows)
    if (parts.some((part) => byWord.has(part.word)))
      byTyped.set(word, joinWords(parts.map((part) => byWord.get(part.word) ?? part.word)))
  return text.replaceAll(typedWords, (word) => byTyped.get(word) ?? word)
}

/**
 * Tells whether a word has only letters of an alphabet, and enough of them for a typo. Names with
 * signs, such as C#, have the letters of normalized_words().
 */
const isCorrectable = (word: string) =>
  /^[\p{Ll}\p{Lu}\p{M}]{3,40}$/u.test(word) && !/^(cplusplus|[cf]sharp|dotnet)$/.test(word)

interface Misspelling {
  readonly word: string
  readonly talks: number
  readonly found: number
  /** The tsqueries of the other words. */
  readonly others: readonly string[]
  /** The words before and after it. */
  readonly neighbours: readonly [Word | undefined, Word | undefined]
}

async function findCorrection(db: Db, misspelling: Misspelling): Promise<Word | undefined> {
  const { word, talks, found, others } = misspelling
  const isRare = talks <= maxTalksOfTypo
  // A known word is corrected only together with others.
  if (!isRare && (found > 0 || others.length === 0)) return undefined
  const maxDistance = maxEditDistance(word.length) - (isRare && found === 0 ? 0 : 1)
  const candidates = (await findSimilarWords(db, word, swappedLetters(word)))
    .map((row) => ({ ...row, distance: editDistance(word, row.word) }))
    .filter(({ distance }) => distance > 0 && distance <= Math.max(1, maxDistance))
    .sort((a, b) => a.distance - b.distance || b.similarity - a.similarity)
    .slice(0, maxCandidates)
  if (candidates.length === 0) return undefined
  const evidence = await countEvidence(db, candidates, misspelling)
  let best: { candidate: Word; weight: number } | undefined
  for (const [index, candidate] of candidates.entries()) {
    const { alone, together, inNames } = evidence[index] as Evidence
    const isFrequent = alone >= minRatio * Math.max(talks, 0.1)
    const isConfirmed = found > 0 && together < minRatio * found
    const isLikely = isRare ? isFrequent && !isConfirmed : together > 0 && (inNames || isFrequent)
    if (!isLikely) continue
    // One edit less outweighs any number of talks; the same first letter counts a little.
    const weight =
      Math.log(1 + alone) -
      4 * candidate.distance +
      (candidate.word[0] === word[0] ? 2 : 0) +
      (others.length > 0 && together > 0 ? 5 : 0) +
      (inNames ? 3 : 0)
    if (!best || weight > best.weight) best = { candidate, weight }
  }
  return best?.candidate
}

/** The number of talks that speak for a correction. Only live talks are counted. */
interface Evidence {
  readonly alone: number
  /** With all the other words. */
  readonly together: number
  /** Next to the same words in the name of a speaker, other than the misspelled word. */
  readonly inNames: boolean
}

async function countEvidence(
  db: Db,
  candidates: readonly Word[],
  { word, talks, found, others, neighbours: [before, after] }: Misspelling,
): Promise<Evidence[]> {
  const nameForm = ({ word: name, stems }: Word) =>
    `(${[name, ...stems.map(({ lexeme }) => lexeme)].map((text) => `${quoteLexeme(text)}:B`).join(' | ')})`
  const nameForms = (name: string) =>
    [
      before && `(${nameForm(before)} <-> ${quoteLexeme(name)}:B)`,
      after && `(${quoteLexeme(name)}:B <-> ${nameForm(after)})`,
    ].filter((form) => form !== undefined)
  const namesOf = (name: string) => nameForms(name).join(' | ') || quoteLexeme(`${name} `)
  const maxAlone = Math.max(maxCountedTalks, minRatio * talks)
  const alone = await countEach(db, candidates.map(wordForm), maxAlone)
  const together =
    others.length === 0
      ? alone
      : await countEach(
          db,
          candidates.map((candidate) => [wordForm(candidate), ...others].join(' & ')),
          Math.max(1, minRatio * found),
        )
  // Names tell something only of a word that is known.
  const [ownName = 0, ...names] =
    talks > maxTalksOfTypo
      ? await countEach(db, [word, ...candidates.map((other) => other.word)].map(namesOf), 1)
      : []
  return candidates.map((_, index) => ({
    alone: alone[index] ?? 0,
    together: together[index] ?? 0,
    inNames: ownName === 0 && (names[index] ?? 0) > 0,
  }))
}

/** Returns a word with each pair of letters swapped: in short words hardly a trigram is left. */
function swappedLetters(word: string): string[] {
  return Array.from(
    { length: word.length - 1 },
    (_, index) => word.slice(0, index) + word[index + 1] + word[index] + word.slice(index + 2),
  )
}

function maxEditDistance(length: number): number {
  if (length < 5) return 1
  return length < 9 ? 2 : 3
}

/** Computes the Damerau–Levenshtein distance: edits are inserts, deletes, replaces and swaps. */
function editDistance(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, index) => index)]
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const above = rows[i - 1] as number[]
      const replaceCost = a[i - 1] === b[j - 1] ? 0 : 1
      let min = Math.min(
        (above[j] as number) + 1,
        (row[j - 1] as number) + 1,
        (above[j - 1] as number) + replaceCost,
      )
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        min = Math.min(min, (rows[i - 2]?.[j - 2] as number) + 1)
      row.push(min)
    }
    rows.push(row)
  }
  return rows[a.length]?.[b.length] as number
}
