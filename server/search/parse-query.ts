// What somebody typed, taken apart: words, "phrases in quotes", -words that must not be there, and
// `or`. Everything else is a word or nothing: there is no wrong question. No I/O.

export interface QueryTerm {
  /** As it was typed, without its signs. */
  readonly text: string
  readonly isPhrase: boolean
  readonly isExcluded: boolean
}

/** One of the alternatives has to hold, and of it every term. */
export type SearchQuery = readonly (readonly QueryTerm[])[]

/** More than anybody means; what comes behind is left out. */
const maxTerms = 16

export function parseQuery(asked: string): SearchQuery {
  const alternatives: QueryTerm[][] = [[]]
  const pieces = asked.replaceAll(/[“”„«»]/g, '"').matchAll(/(-?)"([^"]*)"?|(\S+)/g)
  let terms = 0
  for (const [whole, minus, phrase, word = ''] of pieces) {
    if (/^(or|\|)$/i.test(whole)) {
      if (alternatives.at(-1)?.length) alternatives.push([])
      continue
    }
    const isPhrase = phrase !== undefined
    const isExcluded = isPhrase ? minus === '-' : /^-./.test(word)
    const text = isPhrase ? phrase : word.replace(/^-/, '').replaceAll('"', ' ')
    const term = { text, isPhrase, isExcluded }
    // Said twice it means the same, and costs twice as much.
    const isSaid = alternatives
      .at(-1)
      ?.some((it) => it.text === text && it.isPhrase === isPhrase && it.isExcluded === isExcluded)
    if (text.trim() === '' || isSaid || terms++ >= maxTerms) continue
    alternatives.at(-1)?.push(term)
  }
  return alternatives.filter((all) => all.length > 0)
}

/** Whether the last word may be unfinished: nothing stands behind it, no sign and no space. */
export function endsInPartialWord(asked: string): boolean {
  return /[^\s"”»]$/.test(asked)
}
