import type { Db } from '../platform/db/db.ts'
import { countWords, joinWords, withoutLastCharacters } from '../platform/text/unspaced.ts'
import { talksOfLexemes, type WordFrequencies } from './frequencies.ts'
import type { QueryTerm, SearchQuery } from './parse-query.ts'
import { findSynonyms, findWords, type WordRow } from './queries.ts'
import type { IndexedWord, QueryUnit, QueryUnits } from './tsquery.ts'

// Finds out what the words of a query mean: their stems, the language of the query and with it the
// stop words, synonyms, and how rare each word is.

/** An interpreted query. */
export interface QueryMeaning {
  readonly query: SearchQuery
  readonly units: QueryUnits
  /** The words of each term in their order, by the text of the term. */
  readonly words: ReadonlyMap<string, readonly IndexedWord[]>
  /** The number of live talks. */
  readonly total: number
}

/** Interprets a parsed query. */
export async function interpretQuery(db: Db, query: SearchQuery): Promise<QueryMeaning> {
  const texts = [...new Set(query.flat().map(({ text }) => text))]
  const rows = await findWords(db, texts)
  const frequencies = await talksOfLexemes(db, lexemesOf(rows))
  const language = probableLanguage(
    rows.filter(({ term }) => isSearchedFor(query, texts[term - 1] as string)),
    frequencies,
  )
  const words = new Map(
    texts.map((text, index) => {
      const rowsOfTerm = withoutLastCharacters(rows.filter(({ term }) => term === index + 1))
      return [text, rowsOfTerm.map((row) => indexedWord(row, frequencies, language))]
    }),
  )
  const { total } = frequencies
  const terms = query.map((alternative) =>
    alternative.map((term) => ({ term, words: words.get(term.text) ?? [] })),
  )
  const synonyms = await readSynonyms(db, terms.map(plainWords), language)
  const units = terms.map((alternative) => buildUnits(alternative, synonyms, total))
  return { query, units, words, total }
}

const isSearchedFor = (query: SearchQuery, text: string) =>
  query.flat().some((term) => term.text === text && !term.isExcluded)

function lexemesOf(rows: readonly WordRow[]): string[] {
  const lexemes = rows.flatMap(({ word, stems }) => [word, ...stems.map(({ lexeme }) => lexeme)])
  return [...new Set(lexemes)]
}

function indexedWord(
  { word, stems, stop_languages: stopLanguages }: WordRow,
  frequencies: WordFrequencies,
  language: number | undefined,
): IndexedWord {
  const isStop = language !== undefined && stopLanguages.includes(language)
  let talks = 0
  for (const id of frequencies.languages.keys()) talks += talksIn({ word, stems }, frequencies, id)
  return { word, stems, isStop, talks: Math.max(1, talks) }
}

/** Returns about how many talks in a language have a word. */
function talksIn(
  { word, stems }: Pick<WordRow, 'word' | 'stems'>,
  { talksInLanguage }: WordFrequencies,
  language: number,
): number {
  const stem = stems.find(({ languages }) => languages.includes(language))?.lexeme ?? word
  return Math.max(talksInLanguage(stem, language), talksInLanguage(word, language))
}

// A single stop word outweighs twenty times as many talks in another language, not more: "de" is a
// word of many languages, and a part of names in all of them.

/** The share of texts of a language that have one of its stop words, at least. */
const shareOfStopWord = 0.05
/** The share of talks that have a word that is rare in the language. */
const shareOfUnknown = 0.0025

/**
 * Returns the language in which a query is probably written: the one whose talks have these words,
 * weighted by the number of its talks. Undefined in an empty archive.
 */
function probableLanguage(
  rows: readonly WordRow[],
  frequencies: WordFrequencies,
): number | undefined {
  let best: { language: number; likelihood: number } | undefined
  for (const [language, talksOfLanguage] of frequencies.languages) {
    let likelihood = Math.log(talksOfLanguage)
    for (const row of rows) {
      const share = talksIn(row, frequencies, language) / talksOfLanguage
      const isStop = row.stop_languages.includes(language)
      likelihood += Math.log(Math.max(share, isStop ? shareOfStopWord : shareOfUnknown))
    }
    if (!best || likelihood > best.likelihood) best = { language, likelihood }
  }
  return best?.language
}

interface TermWords {
  readonly term: QueryTerm
  readonly words: readonly IndexedWord[]
}

/** Returns the words of an alternative that may have synonyms, in runs that nothing interrupts. */
function plainWords(terms: readonly TermWords[]): IndexedWord[][] {
  const runs: IndexedWord[][] = [[]]
  for (const { term, words } of terms)
    if (term.isPhrase || term.isExcluded) runs.push([])
    else runs.at(-1)?.push(...words)
  return runs
}

/** The longest term with synonyms, in words. */
export const maxSynonymWords = 4
/** The longest term with synonyms in a script without spaces, in characters. */
export const maxSynonymCharacters = 12
/** Longer queries are looked up in part. */
const maxLookups = 120

/** Tells whether a sequence of indexed words is short enough for a term with synonyms. */
export const isSynonymLength = (words: readonly string[]) =>
  countWords(words) <= maxSynonymWords && words.length < maxSynonymCharacters

/** The synonyms of a term. */
interface TermSynonyms {
  readonly terms: readonly (readonly IndexedWord[])[]
  /** Whether an editor chose them; otherwise they follow from a rule. */
  readonly isInGroup: boolean
}

type SynonymsOf = ReadonlyMap<string, TermSynonyms>

/** Reads the synonyms of all words, and of all sequences of a few words. */
async function readSynonyms(
  db: Db,
  runs: readonly (readonly (readonly IndexedWord[])[])[],
  language: number | undefined,
): Promise<SynonymsOf> {
  const sequences = new Set<string>()
  for (const run of runs.flat())
    for (const [index] of run.entries())
      for (const sequence of sequencesFrom(run.slice(index))) sequences.add(textOf(sequence))
  const texts = [...sequences].slice(0, maxLookups)
  if (texts.length === 0) return new Map()
  const found = (await findSynonyms(db, texts)).map(({ ordinal, term }) => ({
    text: texts[ordinal - 1] as string,
    term,
  }))
  const all = [
    ...found,
    ...texts.flatMap((text) => otherSpellings(text).map((term) => ({ text, term }))),
  ]
  if (all.length === 0) return new Map()
  const rows = await findWords(
    db,
    all.map(({ term }) => term),
  )
  const frequencies = await talksOfLexemes(db, lexemesOf(rows))
  const synonyms = new Map<string, TermSynonyms>()
  for (const [index, { text }] of all.entries()) {
    const rowsOfTerm = withoutLastCharacters(rows.filter(({ term }) => term === index + 1))
    const words = rowsOfTerm.map((row) => indexedWord(row, frequencies, language))
    const { terms, isInGroup } = synonyms.get(text) ?? { terms: [], isInGroup: false }
    if (words.length > 0)
      synonyms.set(text, {
        terms: [...terms, words],
        isInGroup: isInGroup || index < found.length,
      })
  }
  return synonyms
}

/** Returns the sequences at the beginning that may be terms with synonyms, the shortest first. */
function sequencesFrom(words: readonly IndexedWord[]): IndexedWord[][] {
  return words
    .slice(0, maxSynonymCharacters)
    .map((_, index) => words.slice(0, index + 1))
    .filter((sequence) => isSynonymLength(sequence.map(({ word }) => word)))
}

const textOf = (words: readonly IndexedWord[]) => joinWords(words.map(({ word }) => word))

/** Returns the British or American spelling of words such as "optimize" and "analyse". */
function otherSpellings(word: string): string[] {
  const [, start, vowel, letter, end] =
    /^([a-z]{3,})([iy])([sz])(e|es|ed|er|ers|ing|ation|ations)$/.exec(word) ?? []
  return start ? [`${start}${vowel}${letter === 's' ? 'z' : 's'}${end}`] : []
}

/** Builds the units of an alternative. The longest terms with synonyms become single units. */
function buildUnits(terms: readonly TermWords[], synonyms: SynonymsOf, total: number): QueryUnit[] {
  const units: QueryUnit[] = []
  const add = (kind: QueryUnit['kind'], words: readonly IndexedWord[]) => {
    const { terms: others = [], isInGroup = false } =
      (kind === 'words' ? synonyms.get(textOf(words)) : undefined) ?? {}
    const isRepeated = units.some(
      (unit) => unit.kind === kind && textOf(unit.words) === textOf(words),
    )
    // A repeated word changes no result, but costs as much as the first.
    if (words.length > 0 && !isRepeated)
      units.push({
        kind,
        words,
        synonyms: others,
        hasSynonymGroup: isInGroup,
        weight: weightOf(words, others, total),
      })
  }
  let run: IndexedWord[] = []
  const addRun = () => {
    while (run.length > 0) {
      const words = longestTerm(run, synonyms)
      add('words', words)
      run = run.slice(words.length)
    }
  }
  for (const { term, words } of terms) {
    if (!term.isPhrase && !term.isExcluded) {
      run.push(...words)
      continue
    }
    addRun()
    add(term.isExcluded ? 'excluded' : 'phrase', words)
  }
  addRun()
  return units
}

function longestTerm(words: readonly IndexedWord[], synonyms: SynonymsOf): IndexedWord[] {
  const isTerm = (sequence: readonly IndexedWord[]) => synonyms.has(textOf(sequence))
  return sequencesFrom(words).findLast(isTerm) ?? words.slice(0, 1)
}

/** Returns the meaning of a query in which words have other numbers of talks. */
export function withTalks(meaning: QueryMeaning, talks: ReadonlyMap<string, number>): QueryMeaning {
  if (talks.size === 0) return meaning
  const { total } = meaning
  const units = meaning.units.map((alternative) =>
    alternative.map((unit) => {
      const words = unit.words.map((word) => ({
        ...word,
        talks: talks.get(word.word) ?? word.talks,
      }))
      return { ...unit, words, weight: weightOf(words, unit.synonyms, total) }
    }),
  )
  return { ...meaning, units }
}

/** Computes the weight of a unit as BM25 does, from the talks that have it. */
function weightOf(
  words: readonly IndexedWord[],
  synonyms: readonly (readonly IndexedWord[])[],
  total: number,
): number {
  // Titles and texts do not have stop words: a term of nothing else says nothing.
  const withoutStops = [words, ...synonyms]
    .map((sequence) => sequence.filter(({ isStop }) => !isStop))
    .filter((sequence) => sequence.length > 0)
  const rarest = (sequence: readonly IndexedWord[]) =>
    Math.min(...sequence.map(({ talks }) => talks), total)
  const talks = withoutStops.reduce((sum, sequence) => sum + rarest(sequence), 0)
  return inverseFrequency(withoutStops.length > 0 ? talks : total, total)
}

/** Returns the weight of a word that so many talks have. */
function inverseFrequency(talks: number, total: number): number {
  const others = Math.max(total - talks, 0)
  return Math.log(1 + (others + 0.5) / (talks + 0.5))
}
