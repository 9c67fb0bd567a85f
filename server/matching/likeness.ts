import { matchesWithTypo } from '../platform/text/one-typo.ts'
import { wordsOf } from './words.ts'

// Compares two titles without knowing the others of an event. No I/O.

/** What a word with one wrong letter counts. */
const typoShare = 0.9

/**
 * Returns how alike two titles are, from 0 to 1: the share of their words that both have. Words of
 * the context, such as speakers and event, may be in one of them only. A number must be in both:
 * another part is another talk.
 */
export function titleLikeness(one: string, other: string, context: readonly string[]): number {
  const known = wordSet(context.join(' '))
  const [own, others] = [wordSet(one), wordSet(other)]
  const sides = [compare(own, others, known), compare(others, own, known)]
  if (sides.some(({ hasOwnNumber }) => hasOwnNumber)) return 0
  const total = sides.reduce((sum, side) => sum + side.total, 0)
  const found = sides.reduce((sum, side) => sum + side.found, 0)
  return total === 0 ? 0 : found / total
}

const wordSet = (text: string) => new Set(wordsOf(text).map((word) => word.text))

function compare(
  own: ReadonlySet<string>,
  others: ReadonlySet<string>,
  known: ReadonlySet<string>,
) {
  let [found, total, hasOwnNumber] = [0, 0, false]
  for (const word of own) {
    const isNumber = /^\d/.test(word)
    const share = shareOf(word, others, isNumber)
    if (share === 0 && known.has(word)) continue
    hasOwnNumber ||= share === 0 && isNumber
    found += share
    total++
  }
  return { found, total, hasOwnNumber }
}

function shareOf(word: string, others: ReadonlySet<string>, isNumber: boolean): number {
  if (others.has(word)) return 1
  const hasTypo = !isNumber && [...others].some((other) => matchesWithTypo(word, other, false))
  return hasTypo ? typoShare : 0
}
