// Recognizes words with a typo. In autocomplete the last word is often unfinished. No I/O.

/** Shorter words have too many neighbours. */
export const minTypoLength = 4

/**
 * Tells whether `typed` is `word`, or its beginning if it is `unfinished`, with at most one letter
 * that is wrong, missing, too much or exchanged with the next one.
 */
export function matchesWithTypo(typed: string, word: string, unfinished: boolean): boolean {
  if (unfinished ? word.startsWith(typed) : word === typed) return true
  if (typed.length < minTypoLength) return false
  if (!unfinished) return isOneEdit(typed, word)
  return [-1, 0, 1].some((more) => isOneEdit(typed, word.slice(0, typed.length + more)))
}

/** Tells whether two words differ by one insert, delete, replace or swap. */
function isOneEdit(a: string, b: string): boolean {
  if (Math.abs(a.length - b.length) > 1) return false
  let start = 0
  while (start < a.length && a[start] === b[start]) start++
  const [restOfA, restOfB] = [a.slice(start), b.slice(start)]
  const isSwapped = restOfA[0] === restOfB[1] && restOfA[1] === restOfB[0]
  return (
    restOfA.slice(1) === restOfB ||
    restOfA === restOfB.slice(1) ||
    restOfA.slice(1) === restOfB.slice(1) ||
    (isSwapped && restOfA.slice(2) === restOfB.slice(2))
  )
}
