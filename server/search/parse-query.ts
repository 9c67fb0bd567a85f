// Parses the text of a search: words, "quoted phrases", -excluded words and `or`. Everything else
// is a word or ignored: there are no syntax errors. No I/O.

export interface QueryTerm {
  /** The text as it was typed, without quotes and minus. */
  readonly text: string
  readonly isPhrase: boolean
  readonly isExcluded: boolean
}

/** Alternatives, of which at least one has to match with all of its terms. */
export type SearchQuery = readonly (readonly QueryTerm[])[]

/** Limits the cost of a search; further terms are ignored. */
const maxTerms = 16

/** Parses any text; returns no alternatives if it has no terms. */
export function parseQuery(input: string): SearchQuery {
  const alternatives: QueryTerm[][] = [[]]
  const tokens = input.replaceAll(/[“”„«»]/g, '"').matchAll(/(-?)"([^"]*)"?|(\S+)/g)
  let termCount = 0
  for (const [token, minus, phrase, word = ''] of tokens) {
    if (/^(or|\|)$/i.test(token)) {
      if (alternatives.at(-1)?.length) alternatives.push([])
      continue
    }
    const isPhrase = phrase !== undefined
    const isExcluded = isPhrase ? minus === '-' : /^-./.test(word)
    const text = isPhrase ? phrase : word.replace(/^-/, '').replaceAll('"', ' ')
    // A repeated term changes no result, but costs as much as the first.
    const isRepeated = alternatives
      .at(-1)
      ?.some(
        (term) =>
          term.text === text && term.isPhrase === isPhrase && term.isExcluded === isExcluded,
      )
    if (text.trim() === '' || isRepeated || termCount++ >= maxTerms) continue
    alternatives.at(-1)?.push({ text, isPhrase, isExcluded })
  }
  return alternatives.filter((terms) => terms.length > 0)
}

/** Tells whether a search text has excluded terms and no others. Such a search finds nothing. */
export function hasOnlyExclusions(input: string): boolean {
  const terms = parseQuery(input).flat()
  return terms.length > 0 && terms.every(({ isExcluded }) => isExcluded)
}

/**
 * Returns the term whose last word may be unfinished and should match as a prefix: the last one, if
 * neither a space nor a quote nor `or` follows it.
 */
export function unfinishedTerm(input: string): QueryTerm | undefined {
  const term = parseQuery(input).at(-1)?.at(-1)
  const isLast = term !== undefined && !term.isExcluded && input.endsWith(term.text)
  return isLast && /[^\s"”»]$/.test(input) ? term : undefined
}
