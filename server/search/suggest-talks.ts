import type { Db } from '../platform/db/db.ts'
import { interpretQuery, type QueryMeaning } from './interpret.ts'
import { parseQuery, unfinishedTerm } from './parse-query.ts'
import {
  findCompletions,
  findTitlesByHead,
  findTitlesByText,
  findTitlesByWeight,
  findWords,
  type Titled,
} from './queries.ts'
import {
  buildPartialTsquery,
  buildTsquery,
  type IndexedWord,
  type QueryUnit,
  type QueryUnits,
  requiredUnits,
  tolerance,
  type UnfinishedWords,
  unitForms,
} from './tsquery.ts'
import type { TypedWords } from './typed-words.ts'

// The talks of autocomplete. A search counts its results and weighs corrections against each other.
// This looks for a few talks, in statements that each have a limit, and stops at the first that
// finds any: all words in title and names, then in the texts, then with typos, then some words.

/** A prefix is looked up in the index only if about so many talks have a word that begins so. */
const maxTalksOfPrefix = 5000

/** The most frequent words that stand for a prefix of more talks, if nothing else was typed. */
const maxCompletions = 8

/** Words that more talks have are not corrected. */
const maxTalksOfTypo = 50

/** The most similar corrections of each word that are searched for, and of all words together. */
const maxCorrectionsOfWord = 4
const maxCorrections = 8

/** Partial matches have at least this share of the weight of all words; otherwise any of them. */
const partialShares = [0.4, 0]

/** More words hardly change a rank. */
const maxRankedWords = 16

/** Finds talks with the words of a partial input, other than the known ones, up to a limit. */
export async function findSuggestedTalks(
  db: Db,
  input: string,
  known: readonly Titled[],
  limit: number,
  typedWords: TypedWords,
): Promise<Titled[]> {
  const meaning = await interpretQuery(db, parseQuery(input))
  const { units, unfinished, prefix } = await planPrefix(db, input, meaning)
  const findInHead = async (withUnits: QueryUnits) => {
    const { match, ...tsquery } = buildTsquery(withUnits, unfinished)
    if (match === undefined) return []
    const found = await findTitlesByHead(db, { ...tsquery, match }, prefix, limit)
    return found
      .filter(({ id }) => !known.some((talk) => talk.id === id))
      .slice(0, limit - known.length)
  }
  const inHead = await findInHead(units)
  if (inHead.length > 0 || known.length > 0) return inHead
  const { match, ...tsquery } = buildTsquery(units, unfinished)
  if (match !== undefined && prefix === undefined) {
    const inText = await findTitlesByText(db, { ...tsquery, match }, limit)
    if (inText.length > 0) return inText
  }
  const corrected = await withCorrections(db, units, typedWords)
  const withTypos = corrected ? await findInHead(corrected) : []
  return withTypos.length > 0 ? withTypos : findPartial(db, meaning, unfinished, limit)
}

/** How an unfinished last word is searched for. */
interface PrefixPlan {
  readonly units: QueryUnits
  /** The last word, if it is looked up in the index as a prefix. */
  readonly unfinished: UnfinishedWords
  /** A tsquery for the last word, if it is compared with the talks that have the other words. */
  readonly prefix: string | undefined
}

/**
 * Decides by frequency how to search for an unfinished last word. The index reads all words that
 * begin so, which for "p" are most of the archive.
 */
async function planPrefix(db: Db, input: string, meaning: QueryMeaning): Promise<PrefixPlan> {
  const term = unfinishedTerm(input)
  const last = term && meaning.words.get(term.text)?.at(-1)?.word
  const required = requiredUnits(meaning.units)
  const unit = required.findLast(
    ({ kind, words }) => kind === 'words' && words.at(-1)?.word === last,
  )
  if (last === undefined || unit === undefined)
    return { units: meaning.units, unfinished: new Set(), prefix: undefined }
  const unfinished = new Set([last])
  const completions = await findCompletions(db, last, maxCompletions)
  if ((completions[0]?.total ?? 0) <= maxTalksOfPrefix)
    return { units: meaning.units, unfinished, prefix: undefined }
  if (required.length > 1)
    return {
      units: replaceUnits(meaning.units, (other) => (other === unit ? [] : [other])),
      unfinished: new Set(),
      prefix: unitForms(unit, unfinished).anywhere,
    }
  const words = completions.map(({ lexeme }) => asSynonym(lexeme, []))
  return {
    units: replaceUnits(meaning.units, (other) =>
      other === unit ? [addWords(unit, words)] : [other],
    ),
    unfinished: new Set(),
    prefix: undefined,
  }
}

const replaceUnits = (units: QueryUnits, replace: (unit: QueryUnit) => readonly QueryUnit[]) =>
  units.map((alternative) => alternative.flatMap(replace))

const asSynonym = (word: string, stems: IndexedWord['stems']): IndexedWord => ({
  word,
  stems,
  isStop: false,
  talks: 1,
})

const addWords = (unit: QueryUnit, words: readonly IndexedWord[]): QueryUnit => ({
  ...unit,
  synonyms: [...unit.synonyms, ...words.map((word) => [word])],
})

/** Adds their corrections to the words that few talks have; undefined if there are none. */
async function withCorrections(
  db: Db,
  units: QueryUnits,
  typedWords: TypedWords,
): Promise<QueryUnits | undefined> {
  const rare = new Set(
    requiredUnits(units)
      .filter(({ kind, words }) => kind === 'words' && words.length === 1)
      .flatMap(({ words }) => words)
      .filter(({ talks }) => talks <= maxTalksOfTypo)
      .map(({ word }) => word),
  )
  const pairs = (await typedWords())
    .filter(({ word }) => rare.has(word))
    .flatMap(({ word, corrections }) =>
      corrections.slice(0, maxCorrectionsOfWord).map((correction) => ({ word, correction })),
    )
    .slice(0, maxCorrections)
  if (pairs.length === 0) return undefined
  const rows = await findWords(
    db,
    pairs.map(({ correction }) => correction),
  )
  const correctionsOf = Map.groupBy(rows, ({ term }) => pairs[term - 1]?.word)
  return replaceUnits(units, (unit) => {
    const [word] = unit.words
    const corrections = unit.words.length === 1 ? correctionsOf.get(word?.word) : undefined
    return [
      corrections
        ? addWords(
            unit,
            corrections.map((row) => asSynonym(row.word, row.stems)),
          )
        : unit,
    ]
  })
}

/** Finds talks with a part of the words, the rarest first. */
async function findPartial(
  db: Db,
  { units }: QueryMeaning,
  unfinished: UnfinishedWords,
  limit: number,
): Promise<Titled[]> {
  const words = requiredUnits(units)
    .toSorted((a, b) => b.weight - a.weight)
    .slice(0, maxRankedWords)
    .map((unit) => ({ weight: unit.weight, form: unitForms(unit, unfinished).anywhere }))
  for (const share of partialShares) {
    const { match } = buildPartialTsquery(units, unfinished, (total) =>
      Math.max(share * total, 2 * tolerance),
    )
    const found = match === undefined ? [] : await findTitlesByWeight(db, match, words, limit)
    if (found.length > 0) return found
  }
  return []
}
