import type { QueryTerm, SearchQuery } from './parse-query.ts'

// Translates a parsed query to PostgreSQL's tsquery. The language of a query is unknown, so that
// each word matches itself in any talk and its stem of each language in the talks of that language:
// "networks" matches `networks` in a name and `network` in an English talk. "guido" matches `guid`
// in an Italian talk, but not in an English one, where that is the stem of "guide". No I/O.

/** A word of a query as the index has it. */
export interface IndexedWord {
  /** Without case and accents. */
  readonly word: string
  readonly stems: readonly { readonly lexeme: string; readonly languages: readonly number[] }[]
  /** A stop word of some language: the index does not have it there. */
  readonly isStop: boolean
}

/** The words of each term in their order, by the text of the term. */
export type WordsOfTerms = ReadonlyMap<string, readonly IndexedWord[]>

export interface Tsquery {
  /** The condition, as the text of a tsquery; undefined if the query has no searchable word. */
  readonly match: string | undefined
  /** The condition without exclusions, which apply to the whole record and not only to its head. */
  readonly required: string
  readonly hasExclusions: boolean
  /** The words that count for the rank. */
  readonly rank: string
  /** The words next to each other in the title, in the order of the query. */
  readonly near: string | undefined
  /** The number of words in `near`. */
  readonly nearWords: number
  /** The lexemes to highlight; a `*` at the end marks a prefix. */
  readonly marks: readonly string[]
}

export interface TsqueryOptions {
  /** The word that may be unfinished: it matches as a prefix. */
  readonly unfinished?: string | undefined
  /** Words that are not required. */
  readonly leftOut?: ReadonlySet<string>
}

/** Builds the tsquery of a query. Stop words are required only if there are no other words. */
export function buildTsquery(
  query: SearchQuery,
  words: WordsOfTerms,
  { unfinished, leftOut = new Set() }: TsqueryOptions,
): Tsquery {
  const wordsOf = ({ text }: QueryTerm) => words.get(text) ?? []
  const positive = query.flat().filter(({ isExcluded }) => !isExcluded)
  const hasOnlyStops = positive.every((term) => wordsOf(term).every(({ isStop }) => isStop))
  const isRequired = (word: IndexedWord) =>
    (hasOnlyStops || !word.isStop) && !leftOut.has(word.word)

  const alternatives = query.flatMap((terms) => {
    const parts = terms
      .filter(({ isExcluded }) => !isExcluded)
      .flatMap((term) =>
        term.isPhrase
          ? inSequence(wordsOf(term), (word) => anyForm(word, { unfinished }))
          : wordsOf(term)
              .filter(isRequired)
              .map((word) => anyForm(word, { unfinished, byLanguage: true })),
      )
    const required = [...new Set(parts)]
    // An alternative of nothing but exclusions would match nearly the whole archive.
    if (required.length === 0) return []
    const excluded = terms
      .filter(({ isExcluded }) => isExcluded)
      .flatMap((term) => inSequence(wordsOf(term), (word) => anyForm(word, {})))
      .map((part) => `!${part}`)
    return [{ required: required.join(' & '), match: [...required, ...excluded].join(' & ') }]
  })
  const ranked = positive.flatMap(wordsOf).filter(({ word }) => !leftOut.has(word))
  const isSingleSequence = query.length === 1 && positive.length === query[0]?.length
  const sequence = isSingleSequence ? positive.flatMap(wordsOf) : []
  const nearWords = sequence.filter(isRequired).length
  const near = inSequence(
    sequence.filter(({ word }) => !leftOut.has(word)),
    (word) => anyForm(word, { unfinished, weight: 'A' }),
  )
  return {
    match: alternatives.length > 0 ? joinWithOr(alternatives.map(({ match }) => match)) : undefined,
    required: joinWithOr(alternatives.map(({ required }) => required)),
    hasExclusions: query.flat().some(({ isExcluded }) => isExcluded),
    rank: [...new Set(ranked.map((word) => anyForm(word, { unfinished })))].join(' | '),
    near: nearWords > 1 ? near[0] : undefined,
    nearWords,
    marks: ranked.flatMap((word) =>
      lexemesOf(word).map((lexeme) => (word.word === unfinished ? `${lexeme}*` : lexeme)),
    ),
  }
}

/** Builds a tsquery that matches if any of the queries does. */
export function joinWithOr(queries: readonly string[]): string {
  return queries.map((query) => `(${query})`).join(' | ')
}

const lexemesOf = ({ word, stems }: IndexedWord) => [
  ...new Set([word, ...stems.map(({ lexeme }) => lexeme)]),
]

interface FormOptions {
  readonly unfinished?: string | undefined
  readonly weight?: string
  /** Stems match only in the talks of their languages. */
  readonly byLanguage?: boolean
}

/** Builds a tsquery for a word and its stems. */
function anyForm(
  indexed: IndexedWord,
  { unfinished, weight = '', byLanguage = false }: FormOptions,
): string {
  const { word, stems } = indexed
  const withWeight = (lexeme: string) => quoteLexeme(lexeme) + (weight && `:${weight}`)
  const forms = byLanguage
    ? [quoteLexeme(word), ...stems.filter(({ lexeme }) => lexeme !== word).map(stemInLanguages)]
    : lexemesOf(indexed).map(withWeight)
  // Scripts without spaces are indexed in pairs of characters: a single one is a prefix of pairs.
  if (word === unfinished || /^\p{Lo}$/u.test(word)) forms.push(`${quoteLexeme(word)}:*${weight}`)
  return forms.length === 1 ? (forms[0] as string) : `(${forms.join(' | ')})`
}

/** Builds a tsquery for a stem in the talks of its languages. */
export function stemInLanguages({ lexeme, languages }: IndexedWord['stems'][number]): string {
  return `(${quoteLexeme(lexeme)} & (${languages.map((id) => `'language:${id}'`).join(' | ')}))`
}

/**
 * Builds a tsquery for words in sequence, empty if all are stop words. A stop word leaves a gap:
 * "state of the art" is "state", and three positions later "art".
 */
function inSequence(words: readonly IndexedWord[], form: (word: IndexedWord) => string): string[] {
  let sequence = ''
  let distance = 1
  for (const word of words) {
    if (word.isStop) {
      distance++
      continue
    }
    sequence = sequence === '' ? form(word) : `${sequence} <${distance}> ${form(word)}`
    distance = 1
  }
  return sequence === '' ? [] : [`(${sequence})`]
}

/** Quotes any text as a single lexeme of a tsquery. */
export function quoteLexeme(lexeme: string): string {
  return `'${lexeme.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`
}
