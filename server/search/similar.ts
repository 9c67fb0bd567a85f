import type { Db } from '../platform/db/db.ts'
import { findRecordWords, findSimilarRecords } from './queries.ts'
import { joinWithOr, quoteLexeme } from './tsquery.ts'

// Talks that share words of their titles and tags with another talk.

/** With this many records that share two words, those that share one are not looked for. */
const enough = 6

/**
 * Finds the records most similar to one, the best first. Returns none for a record that is not
 * live: it has no words in the index.
 */
export async function findSimilar(
  db: Db,
  record: { readonly id: number; readonly recorded: string | null },
  limit: number,
): Promise<number[]> {
  const words = (await findRecordWords(db, record.id, record.recorded)).map(
    ({ lexeme }) => `${quoteLexeme(lexeme)}:AC`,
  )
  if (words.length === 0) return []
  const findMatches = async (match: string) =>
    (await findSimilarRecords(db, words, match, record.id, limit)).map(({ id }) => id)
  // A single common word would match half of the archive; two shared words are far more specific.
  const sharingTwo = words.length > 1 ? await findMatches(anyTwoOf(words)) : []
  if (sharingTwo.length >= enough) return sharingTwo
  const sharingOne = await findMatches(joinWithOr(words))
  return [...new Set([...sharingTwo, ...sharingOne])].slice(0, limit)
}

/** Builds a tsquery for any two of the words: each word with one of those after it. */
function anyTwoOf(words: readonly string[]): string {
  return joinWithOr(
    words.slice(0, -1).map((word, index) => `${word} & (${words.slice(index + 1).join(' | ')})`),
  )
}
