import type { Db } from '../platform/db/db.ts'
import { countMatches, findSimilarWords } from './queries.ts'
import { type IndexedWord, quoteLexeme, stemInLanguages } from './tsquery.ts'

// Words that no talk has, or hardly any: what was meant instead.

/** How many talks have a word is only asked up to here. */
const many = 200

/**
 * For each word that seems mistyped the one that was meant. What talks have together with the other
 * words was meant sooner.
 */
export async function correctSpelling(
  db: Db,
  words: readonly IndexedWord[],
): Promise<Map<string, string>> {
  const found = new Map<string, string>()
  const counted: { word: IndexedWord; talks: number }[] = []
  for (const word of new Map(words.map((it) => [it.word, it])).values())
    counted.push({ word, talks: await talksWith(db, word) })
  const others = counted.filter(({ talks }) => talks > few).map(({ word }) => saying(word))
  for (const { word, talks } of counted) {
    if (word.isStop || talks > few || !isSpelt(word.word)) continue
    const better = await nearest(db, word.word, 10 * Math.max(talks, 0.1), others)
    if (better !== undefined) found.set(word.word, better)
  }
  return found
}

/** A word that so few talks have may be a slip. */
const few = 2

/** Letters of an alphabet, and enough of them to be wrong in one. */
const isSpelt = (word: string) => /^[\p{Ll}\p{Lu}\p{M}]{3,40}$/u.test(word)

async function nearest(
  db: Db,
  word: string,
  least: number,
  others: readonly string[],
): Promise<string | undefined> {
  const allowed = word.length < 5 ? 1 : word.length < 9 ? 2 : 3
  const near = (await findSimilarWords(db, word))
    .map((row) => ({ ...row, distance: distance(word, row.word) }))
    .filter((it) => it.distance > 0 && it.distance <= allowed)
    .sort((a, b) => a.distance - b.distance || b.similarity - a.similarity)
    .slice(0, 8)
  let best: { word: string; weight: number } | undefined
  for (const it of near) {
    // A dead word is not suggested: nobody is shown what no live talk shows.
    const talks = await talksWith(db, it)
    if (talks < least) continue
    const together =
      others.length > 0 && (await countMatches(db, [saying(it), ...others].join(' & '), {}, 1)) > 0
    // One letter less wrong is worth more than any number of talks; the same first letter is worth
    // a little.
    const weight =
      Math.log(1 + talks) - 4 * it.distance + (it.word[0] === word[0] ? 2 : 0) + (together ? 5 : 0)
    if (!best || weight > best.weight) best = { word: it.word, weight }
  }
  return best?.word
}

const talksWith = (db: Db, word: Pick<IndexedWord, 'word' | 'stems'>) =>
  countMatches(db, saying(word), {}, many)

/** As a name, or as each language has it. */
function saying({ word, stems }: Pick<IndexedWord, 'word' | 'stems'>): string {
  return `(${[quoteLexeme(word), ...stems.map(stemInLanguages)].join(' | ')})`
}

/**
 * Letters that are wrong, missing, too many, or swapped with their neighbour (Damerau and
 * Levenshtein).
 */
function distance(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, index) => index)]
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const above = rows[i - 1] as number[]
      const same = a[i - 1] === b[j - 1] ? 0 : 1
      let least = Math.min(
        (above[j] as number) + 1,
        (row[j - 1] as number) + 1,
        (above[j - 1] as number) + same,
      )
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        least = Math.min(least, (rows[i - 2]?.[j - 2] as number) + 1)
      row.push(least)
    }
    rows.push(row)
  }
  return rows[a.length]?.[b.length] as number
}
