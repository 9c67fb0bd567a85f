// Scripts without spaces, such as Chinese, Japanese, Korean and Thai. They are indexed in overlapping
// pairs of characters, and the last character alone (character_bigrams() of the database). No I/O.

/** The characters of unspaced_scripts() of the database, for a character class. */
export const unspacedScripts =
  '\\u0e00-\\u0eff\\u1000-\\u109f\\u1780-\\u17ff\\u3040-\\u30ff\\u3400-\\u4dbf' +
  '\\u4e00-\\u9fff\\uac00-\\ud7af\\uf900-\\ufaff'
const singleCharacter = new RegExp(`^[${unspacedScripts}]$`)
const characterPair = new RegExp(`^[${unspacedScripts}]{2}$`)

/** Tells whether an indexed word is a single character of such a script. */
export const isSingleCharacter = (word: string) => singleCharacter.test(word)

/** Tells whether a word overlaps with the pair before it. */
function continuesPair(word: string, before: string | undefined): boolean {
  return (
    before !== undefined &&
    characterPair.test(before) &&
    (characterPair.test(word) || isSingleCharacter(word)) &&
    before.endsWith(word.charAt(0))
  )
}

/** Removes the characters that the pair before them has: for a query the pair is enough. */
export function withoutLastCharacters<T extends { readonly word: string }>(
  words: readonly T[],
): T[] {
  return words.filter(
    ({ word }, index) => !(isSingleCharacter(word) && continuesPair(word, words[index - 1]?.word)),
  )
}

/** Joins words to a text with the same words: pairs to the run of characters that they are from. */
export function joinWords(words: readonly string[]): string {
  return words
    .reduce(
      (text, word, index) =>
        text + (continuesPair(word, words[index - 1]) ? word.slice(1) : ` ${word}`),
      '',
    )
    .trimStart()
}

/** Counts words as a reader does: a run of pairs is one. */
export function countWords(words: readonly string[]): number {
  return words.filter((word, index) => !continuesPair(word, words[index - 1])).length
}
