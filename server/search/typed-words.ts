import type { Db } from '../platform/db/db.ts'
import { matchesWithTypo } from '../platform/text/one-typo.ts'
import { findSimilarToTyped } from './queries.ts'

// The words of a text that is being typed, with the known words that they may stand for.

export interface TypedWord {
  readonly word: string
  /** Known words that differ by one typo; those of the last word may go on after it. */
  readonly corrections: readonly string[]
}

export type TypedWords = () => Promise<readonly TypedWord[]>

/** The most similar corrections of a word that are used. */
const maxCorrections = 8

/** Returns a function that finds the words of a text with their corrections, once. */
export function readTypedWords(db: Db, text: string): TypedWords {
  let words: Promise<readonly TypedWord[]> | undefined
  return () => {
    words ??= findTypedWords(db, text)
    return words
  }
}

async function findTypedWords(db: Db, text: string): Promise<TypedWord[]> {
  const rows = await findSimilarToTyped(db, text)
  return rows.map(({ typed, is_last: isLast, similar }) => ({
    word: typed,
    corrections: [...new Set(similar)]
      .filter((known) => known !== typed && matchesWithTypo(typed, known, isLast))
      .slice(0, maxCorrections),
  }))
}
