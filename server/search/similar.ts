import type { Db } from '../platform/db/db.ts'
import { findRecordWords, findSimilarRecords } from './queries.ts'
import { joinWithOr, quoteLexeme } from './tsquery.ts'

// Talks that have words in common with one: of its title and its tags, as the index has them.
// Nobody typed anything, so there is nothing to correct.

/** So many that have two words in common are enough. */
const enough = 6

/**
 * The nearest first, and not the record itself. A record that is not live has no words in the
 * index, and nothing is like it.
 */
export async function findSimilar(
  db: Db,
  record: { readonly id: number; readonly recorded: string | null },
  upTo: number,
): Promise<number[]> {
  const words = (await findRecordWords(db, record.id, record.recorded)).map(
    ({ lexeme }) => `${quoteLexeme(lexeme)}:AC`,
  )
  if (words.length === 0) return []
  const alike = async (match: string) =>
    (await findSimilarRecords(db, words, match, record.id, upTo)).map(({ id }) => id)
  // Two words in common say far more than one, and one common word would let in half of the
  // archive.
  const inTwo = words.length > 1 ? await alike(twoOf(words)) : []
  return inTwo.length >= enough
    ? inTwo
    : [...new Set([...inTwo, ...(await alike(joinWithOr(words)))])].slice(0, upTo)
}

/** Any two: each with one of those behind it. */
function twoOf(words: readonly string[]): string {
  return joinWithOr(
    words.slice(0, -1).map((word, index) => `${word} & (${words.slice(index + 1).join(' | ')})`),
  )
}
