import type { Db } from '../platform/db/db.ts'
import { either, quoted } from './meaning.ts'
import { findAlike, wordsOfRecord } from './queries.ts'

// Talks that have words in common with one: of its title and its tags, as the index has them. Nobody typed anything, so there is nothing to correct.

/** So many that have two words in common are enough. */
const enough = 6

/** The nearest first, and not the record itself. A record that is not live has no words in the index, and nothing is like it. */
export async function similar(db: Db, record: { readonly id: number; readonly recorded: string | null }, upTo: number): Promise<number[]> {
  const words = (await wordsOfRecord(db, record.id, record.recorded)).map(({ lexeme }) => `${quoted(lexeme)}:AC`)
  if (words.length === 0) return []
  const alike = async (match: string) => (await findAlike(db, words, match, record.id, upTo)).map(({ id }) => id)
  // Two words in common say far more than one, and one common word would let in half of the archive.
  const inTwo = words.length > 1 ? await alike(twoOf(words)) : []
  return inTwo.length >= enough ? inTwo : [...new Set([...inTwo, ...(await alike(either(words)))])].slice(0, upTo)
}

/** Any two: each with one of those behind it. */
function twoOf(words: readonly string[]): string {
  return either(words.slice(0, -1).map((word, place) => `${word} & (${words.slice(place + 1).join(' | ')})`))
}
