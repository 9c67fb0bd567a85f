import type { Db } from '../platform/db/db.ts'
import { countMatches, findSimilarWords } from './queries.ts'
import { type IndexedWord, quoteLexeme, stemInLanguages } from './tsquery.ts'

// Corrects the spelling of words that no talk has, or hardly any.

type Word = Pick<IndexedWord, 'word' | 'stems'>

/** The talks with a word are counted up to this number. */
const maxCountedTalks = 200

/** A word may be a typo if at most this many talks have it. */
const maxTalksOfTypo = 2

/**
 * Finds the likely correction of each word that seems misspelled. Prefers corrections that occur
 * together with the other words.
 */
export async function correctSpelling(
  db: Db,
  words: readonly IndexedWord[],
): Promise<Map<string, string>> {
  const corrections = new Map<string, string>()
  const counted: { word: IndexedWord; talks: number }[] = []
  for (const word of new Map(words.map((indexed) => [indexed.word, indexed])).values())
    counted.push({ word, talks: await countTalks(db, word) })
  const others = counted
    .filter(({ talks }) => talks > maxTalksOfTypo)
    .map(({ word }) => matchWord(word))
  for (const { word, talks } of counted) {
    if (word.isStop || talks > maxTalksOfTypo || !isCorrectable(word.word)) continue
    const correction = await findCorrection(db, word.word, 10 * Math.max(talks, 0.1), others)
    if (correction !== undefined) corrections.set(word.word, correction)
  }
  return corrections
}

/** Tells whether a word has only letters of an alphabet, and enough of them for a typo. */
const isCorrectable = (word: string) => /^[\p{Ll}\p{Lu}\p{M}]{3,40}$/u.test(word)

async function findCorrection(
  db: Db,
  word: string,
  minTalks: number,
  others: readonly string[],
): Promise<string | undefined> {
  const maxDistance = maxEditDistance(word.length)
  const candidates = (await findSimilarWords(db, word))
    .map((row) => ({ ...row, distance: editDistance(word, row.word) }))
    .filter(({ distance }) => distance > 0 && distance <= maxDistance)
    .sort((a, b) => a.distance - b.distance || b.similarity - a.similarity)
    .slice(0, 8)
  let best: { word: string; weight: number } | undefined
  for (const candidate of candidates) {
    // Counting only live talks keeps words of drafts and removed talks from being suggested.
    const talks = await countTalks(db, candidate)
    if (talks < minTalks) continue
    const occursWithOthers =
      others.length > 0 &&
      (await countMatches(db, [matchWord(candidate), ...others].join(' & '), {}, 1)) > 0
    // One edit less outweighs any number of talks; the same first letter counts a little.
    const weight =
      Math.log(1 + talks) -
      4 * candidate.distance +
      (candidate.word[0] === word[0] ? 2 : 0) +
      (occursWithOthers ? 5 : 0)
    if (!best || weight > best.weight) best = { word: candidate.word, weight }
  }
  return best?.word
}

function maxEditDistance(length: number): number {
  if (length < 5) return 1
  return length < 9 ? 2 : 3
}

const countTalks = (db: Db, word: Word) => countMatches(db, matchWord(word), {}, maxCountedTalks)

/** Builds a tsquery for a word: as it is, or by its stems in their languages. */
function matchWord({ word, stems }: Word): string {
  return `(${[quoteLexeme(word), ...stems.map(stemInLanguages)].join(' | ')})`
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
