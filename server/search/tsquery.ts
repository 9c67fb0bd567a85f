import type { QueryTerm, SearchQuery } from './parse-query.ts'

// What is looked for: a question in the words of the index. A word of the question stands for what
// each dictionary makes of it in the talks of its languages, because nobody says in which language
// they ask: "networks" is `networks` in a name and `network` in an English talk. "guido" is `guid`
// in an Italian talk, but not in an English one, where that would be a guide. No I/O.

/** A word as the index has it. */
export interface IndexedWord {
  /** Without case and accents. */
  readonly word: string
  readonly stems: readonly { readonly lexeme: string; readonly languages: readonly number[] }[]
  /** Too common in some language to be kept there: it cannot be asked for. */
  readonly isStop: boolean
}

/** What became of a term: its words in their order. */
export type WordsOfTerms = ReadonlyMap<string, readonly IndexedWord[]>

export interface Tsquery {
  /**
   * What has to hold. PostgreSQL's tsquery, as text; undefined where nothing is left to look for.
   */
  readonly match: string | undefined
  /**
   * The same without what must not be there: that is said of the whole record, and not of its head.
   */
  readonly wanted: string
  readonly hasExclusions: boolean
  /** What counts for the order: the more of it, the better. */
  readonly rank: string
  /** The words side by side in the title, as they were asked for. */
  readonly near: string | undefined
  /** How many words `near` has. */
  readonly nearWords: number
  /** Lexemes to mark, and whether each is the beginning of one. */
  readonly marks: readonly string[]
}

export interface TsqueryOptions {
  /** The word that may be unfinished. */
  readonly unfinished?: string | undefined
  /** Words that need not be there. */
  readonly leftOut?: ReadonlySet<string>
}

export function buildTsquery(
  question: SearchQuery,
  words: WordsOfTerms,
  { unfinished, leftOut = new Set() }: TsqueryOptions,
): Tsquery {
  const wordsOf = ({ text }: QueryTerm) => words.get(text) ?? []
  const positive = question.flat().filter(({ isExcluded }) => !isExcluded)
  const onlyStops = positive.every((term) => wordsOf(term).every(({ isStop }) => isStop))
  const isAsked = (word: IndexedWord) => (onlyStops || !word.isStop) && !leftOut.has(word.word)
  const one = (word: IndexedWord) => anyOf(word, { unfinished })
  const oneOfALanguage = (word: IndexedWord) => anyOf(word, { unfinished, byLanguage: true })

  const alternatives = question.flatMap((terms) => {
    const all = terms
      .filter(({ isExcluded }) => !isExcluded)
      .flatMap((term) =>
        term.isPhrase
          ? inSequence(wordsOf(term), one)
          : wordsOf(term).filter(isAsked).map(oneOfALanguage),
      )
    const wanted = [...new Set(all)]
    const excluded = terms
      .filter(({ isExcluded }) => isExcluded)
      .flatMap((term) => inSequence(wordsOf(term), (word) => anyOf(word, {})))
    // Everything but a word is nothing that anybody looks for.
    return wanted.length === 0
      ? []
      : [
          {
            wanted: wanted.join(' & '),
            all: [...wanted, ...excluded.map((it) => `!${it}`)].join(' & '),
          },
        ]
  })
  const counted = positive.flatMap(wordsOf).filter(({ word }) => !leftOut.has(word))
  const sequence =
    question.length === 1 && positive.length === question[0]?.length
      ? positive.flatMap(wordsOf)
      : []
  const known = sequence.filter(isAsked)
  return {
    match: alternatives.length > 0 ? joinWithOr(alternatives.map(({ all }) => all)) : undefined,
    wanted: joinWithOr(alternatives.map(({ wanted }) => wanted)),
    hasExclusions: question.flat().some(({ isExcluded }) => isExcluded),
    rank: [...new Set(counted.map(one))].join(' | '),
    near:
      known.length > 1
        ? inSequence(
            sequence.filter(({ word }) => !leftOut.has(word)),
            (word) => anyOf(word, { unfinished, weight: 'A' }),
          )[0]
        : undefined,
    nearWords: known.length,
    marks: counted.flatMap((word) =>
      lexemesOf(word).map((lexeme) => (word.word === unfinished ? `${lexeme}*` : lexeme)),
    ),
  }
}

/** One of them has to hold. */
export function joinWithOr(queries: readonly string[]): string {
  return queries.map((it) => `(${it})`).join(' | ')
}

const lexemesOf = ({ word, stems }: IndexedWord) => [
  ...new Set([word, ...stems.map(({ lexeme }) => lexeme)]),
]

function anyOf(
  it: IndexedWord,
  {
    unfinished,
    weight = '',
    byLanguage = false,
  }: { unfinished?: string | undefined; weight?: string; byLanguage?: boolean },
): string {
  const { word, stems } = it
  const signed = (lexeme: string) => quoteLexeme(lexeme) + (weight && `:${weight}`)
  // The word itself is the same in every language; a stem is one in its languages only.
  const each = byLanguage
    ? [quoteLexeme(word), ...stems.filter(({ lexeme }) => lexeme !== word).map(stemInLanguages)]
    : lexemesOf(it).map(signed)
  // A single character of a script that is kept in pairs begins a pair.
  if (word === unfinished || /^\p{Lo}$/u.test(word)) each.push(`${quoteLexeme(word)}:*${weight}`)
  return each.length === 1 ? (each[0] as string) : `(${each.join(' | ')})`
}

export function stemInLanguages({ lexeme, languages }: IndexedWord['stems'][number]): string {
  return `(${quoteLexeme(lexeme)} & (${languages.map((id) => `'language:${id}'`).join(' | ')}))`
}

/**
 * Words that stop nothing leave a gap of their own size: "state of the art" is state, and two words
 * later art.
 */
function inSequence(words: readonly IndexedWord[], write: (word: IndexedWord) => string): string[] {
  let text = ''
  let gap = 1
  for (const word of words) {
    if (word.isStop) {
      gap++
      continue
    }
    text = text === '' ? write(word) : `${text} <${gap}> ${write(word)}`
    gap = 1
  }
  return text === '' ? [] : [`(${text})`]
}

/** As a tsquery takes any text for one lexeme. */
export function quoteLexeme(lexeme: string): string {
  return `'${lexeme.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`
}
