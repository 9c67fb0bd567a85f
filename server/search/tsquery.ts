// Translates an interpreted query to PostgreSQL's tsquery. The language of a talk decides on its
// stems, so that each word matches itself in any talk and its stem of each language in the talks of
// that language: "networks" matches `networks` in a name and `network` in an English talk. "guido"
// matches `guid` in an Italian talk, but not in an English one, where that is the stem of "guide".
// No I/O.

import { isSingleCharacter } from '../platform/text/unspaced.ts'

/** A word of a query as the index has it. */
export interface IndexedWord {
  /** Without case and accents. */
  readonly word: string
  readonly stems: readonly { readonly lexeme: string; readonly languages: readonly number[] }[]
  /** A stop word of the language of the query: titles and texts in it do not have the word. */
  readonly isStop: boolean
  /** About how many talks have the word. */
  readonly talks: number
}

/** A part of a query that a record has or does not have. */
export interface QueryUnit {
  readonly kind: 'words' | 'phrase' | 'excluded'
  /** More than one only in a phrase and in a term with synonyms. */
  readonly words: readonly IndexedWord[]
  /** Words and phrases that mean the same, or are another spelling. */
  readonly synonyms: readonly (readonly IndexedWord[])[]
  /** Whether an editor chose synonyms for it. */
  readonly hasSynonymGroup: boolean
  /** The inverse document frequency: the rarer, the more. */
  readonly weight: number
}

/** A lexeme to highlight. */
export interface Mark {
  readonly lexeme: string
  /** The languages in whose talks the lexeme stands for a word of the query; by default in all. */
  readonly languages: readonly number[] | undefined
  readonly isPrefix: boolean
}

/** Alternatives, of which at least one has to match with all of its units. */
export type QueryUnits = readonly (readonly QueryUnit[])[]

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
  /** The lexemes to highlight. */
  readonly marks: readonly Mark[]
}

/** Words that may be unfinished: they match as prefixes. */
export type UnfinishedWords = ReadonlySet<string>

/** Builds the tsquery of a query: all units of an alternative have to match. */
export function buildTsquery(units: QueryUnits, unfinished: UnfinishedWords): Tsquery {
  return buildFrom(units, unfinished, (required) =>
    required.length > 0
      ? [...new Set(required.map((unit) => unitForm(unit, { unfinished, byLanguage: true })))].join(
          ' & ',
        )
      : undefined,
  )
}

/**
 * Builds a tsquery for records with a part of the words: those whose words of an alternative weigh
 * at least `neededWeight`. Phrases stay required. The match is undefined if no alternative can be
 * met without meeting all of it.
 */
export function buildPartialTsquery(
  units: QueryUnits,
  unfinished: UnfinishedWords,
  neededWeight: (total: number) => number,
): Tsquery {
  return buildFrom(units, unfinished, (required) => {
    const form = (unit: QueryUnit) => unitForm(unit, { unfinished, byLanguage: true })
    const allWords = required.filter(({ kind }) => kind === 'words')
    const phrases = required.filter(({ kind }) => kind === 'phrase').map(form)
    const words = allWords.toSorted((a, b) => b.weight - a.weight).slice(0, maxPartialWords)
    const needed = neededWeight(totalWeight(words))
    const lightest = words.at(-1)?.weight ?? 0
    const needsAll = words.length === allWords.length && needed > totalWeight(words) - lightest
    if (words.length < 2 || needsAll) return undefined
    const some = weighingAtLeast(
      words.map((unit) => ({ form: form(unit), weight: unit.weight })),
      needed,
    )
    return some ? [...phrases, `(${some})`].join(' & ') : undefined
  })
}

/** More words would make the tsquery too large. The rest of them only count for the rank. */
const maxPartialWords = 6

const totalWeight = (units: readonly { readonly weight: number }[]) =>
  units.reduce((sum, { weight }) => sum + weight, 0)

/** For sums of weights in another order. */
export const tolerance = 1e-6

/** Builds a tsquery for any of the words that together have a weight; empty if none is needed. */
function weighingAtLeast(
  words: readonly { readonly form: string; readonly weight: number }[],
  needed: number,
): string | undefined {
  if (needed <= tolerance) return ''
  const [first, ...rest] = words
  if (!first || totalWeight(words) < needed - tolerance) return undefined
  const others = weighingAtLeast(rest, needed - first.weight)
  const withFirst = others === undefined || others === '' ? others : `(${first.form} & (${others}))`
  const withoutFirst = weighingAtLeast(rest, needed)
  const alternatives = [withFirst === '' ? first.form : withFirst, withoutFirst]
  return alternatives.filter((text) => text !== undefined).join(' | ')
}

function buildFrom(
  units: QueryUnits,
  unfinished: UnfinishedWords,
  buildCondition: (required: readonly QueryUnit[]) => string | undefined,
): Tsquery {
  const isPositive = ({ kind }: QueryUnit) => kind !== 'excluded'
  const positive = units.flat().filter(isPositive)
  const isRequired = requirement(units)
  const alternatives = units.flatMap((alternative) => {
    const required = alternative.filter((unit) => isPositive(unit) && isRequired(unit))
    const condition = buildCondition(required)
    // An alternative of nothing but exclusions would match nearly the whole archive.
    if (condition === undefined) return []
    const excluded = alternative
      .filter((unit) => !isPositive(unit))
      .map((unit) => unitForm(unit, {}))
      .filter((form) => form !== '')
    return [{ condition, match: [condition, ...excluded.map((form) => `!${form}`)].join(' & ') }]
  })
  // A stop word with synonyms is not required, because titles in its language do not have it; talks
  // with a synonym rank higher.
  const rankedWords = positive
    .filter((unit) => isRequired(unit) || unit.synonyms.length > 0)
    .flatMap((unit) => [
      ...(isRequired(unit) ? unit.words : []),
      ...unit.synonyms.flat().filter(({ isStop }) => !isStop),
    ])
  const isSingleSequence = units.length === 1 && positive.length === units[0]?.length
  const sequence = isSingleSequence ? positive.flatMap(({ words }) => words) : []
  const nearWords = sequence.filter(({ isStop }) => !isStop).length
  return {
    match: alternatives.length > 0 ? joinWithOr(alternatives.map(({ match }) => match)) : undefined,
    required: joinWithOr(alternatives.map(({ condition }) => condition)),
    hasExclusions: positive.length < units.flat().length,
    rank: [...new Set(rankedWords.map((word) => anyForm(word, { unfinished })))].join(' | '),
    near:
      nearWords > 1
        ? inSequence(sequence, (word) => anyForm(word, { unfinished, weight: 'A' }))
        : undefined,
    nearWords,
    marks: rankedWords.flatMap(({ word, stems }) =>
      [{ lexeme: word, languages: undefined }, ...stems].map(({ lexeme, languages }) => ({
        lexeme,
        languages,
        isPrefix: lexeme === word && unfinished.has(word),
      })),
    ),
  }
}

/** Returns which units are required: stop words only if there are no other words. */
function requirement(units: QueryUnits): (unit: QueryUnit) => boolean {
  const isStop = ({ words }: QueryUnit) => words.every((word) => word.isStop)
  const hasOnlyStops = units.flat().every((unit) => unit.kind === 'excluded' || isStop(unit))
  return (unit) => (hasOnlyStops ? unit.kind !== 'phrase' || !isStop(unit) : !isStop(unit))
}

/** Returns the units of a query that a record should have. */
export function requiredUnits(units: QueryUnits): QueryUnit[] {
  return units.flat().filter((unit) => unit.kind !== 'excluded' && requirement(units)(unit))
}

/** How a unit matches in parts of a record, each as the text of a tsquery. */
export interface UnitForms {
  /** In the title; in a text this is the summary. */
  readonly title: string
  readonly speakers: string
  readonly anywhere: string
}

/** Builds the tsqueries of a unit by the part of a record, for ranking. */
export function unitForms(unit: QueryUnit, unfinished: UnfinishedWords): UnitForms {
  const form = (weight: string) => unitForm(unit, { unfinished, byLanguage: true, weight })
  return { title: form('A'), speakers: form('B'), anywhere: form('') }
}

/** Builds a tsquery that matches if any of the queries does. */
export function joinWithOr(queries: readonly string[]): string {
  return queries.map((query) => `(${query})`).join(' | ')
}

const lexemesOf = ({ word, stems }: IndexedWord) => [
  ...new Set([word, ...stems.map(({ lexeme }) => lexeme)]),
]

interface FormOptions {
  readonly unfinished?: UnfinishedWords
  /** The part of the head or text: a letter of a tsvector. */
  readonly weight?: string
  /** Stems match only in the talks of their languages. */
  readonly byLanguage?: boolean
}

/** Builds a tsquery for a unit or one of its synonyms. */
function unitForm({ kind, words, synonyms }: QueryUnit, options: FormOptions): string {
  // PostgreSQL compares positions of words only, not of the keys for languages.
  const sequenceOf = (sequence: readonly IndexedWord[]) =>
    inSequence(sequence, (word) => anyForm(word, { ...options, byLanguage: false }))
  const [first, ...rest] = words
  if (kind === 'excluded' && first && rest.length === 0 && !first.isStop)
    return anyForm(first, { ...options, byLanguage: true })
  if (kind !== 'words') return sequenceOf(words)
  const withoutStops = words.filter(({ isStop }) => !isStop)
  const wordForms = (withoutStops.length > 0 ? withoutStops : words).map((word) =>
    anyForm(word, options),
  )
  const own = wordForms.length > 1 ? `(${wordForms.join(' & ')})` : (wordForms[0] as string)
  if (synonyms.length === 0) return own
  const others = synonyms.map((synonym) =>
    synonym.length === 1 ? anyForm(synonym[0] as IndexedWord, options) : sequenceOf(synonym),
  )
  return `(${[own, ...others].filter((form) => form !== '').join(' | ')})`
}

/** Builds a tsquery for a word and its stems. */
function anyForm(
  indexed: IndexedWord,
  { unfinished, weight = '', byLanguage = false }: FormOptions,
): string {
  const { word, stems } = indexed
  const withWeight = (lexeme: string) => quoteLexeme(lexeme) + (weight && `:${weight}`)
  const forms = byLanguage
    ? [
        withWeight(word),
        ...stems.filter(({ lexeme }) => lexeme !== word).map((stem) => stemForm(stem, weight)),
      ]
    : lexemesOf(indexed).map(withWeight)
  // Scripts without spaces are indexed in pairs of characters: a single one is a prefix of pairs.
  if (unfinished?.has(word) || isSingleCharacter(word))
    forms.push(`${quoteLexeme(word)}:*${weight}`)
  return forms.length === 1 ? (forms[0] as string) : `(${forms.join(' | ')})`
}

/** Builds a tsquery for a stem in the talks of its languages. */
function stemForm({ lexeme, languages }: IndexedWord['stems'][number], weight = ''): string {
  const inLanguage = languages.map((id) => filterKey('language', id)).join(' | ')
  return `(${quoteLexeme(lexeme)}${weight && `:${weight}`} & (${inLanguage}))`
}

/** Builds a tsquery for a key of `video_search.keys`. No word begins with its sign. */
export const filterKey = (kind: string, id: number) => `'#${kind}:${id}'`

/** Builds a tsquery for a word: as it is, or by its stems in their languages. */
export function wordForm({ word, stems }: Pick<IndexedWord, 'word' | 'stems'>): string {
  return `(${[quoteLexeme(word), ...stems.map((stem) => stemForm(stem))].join(' | ')})`
}

/** Builds a tsquery for all words that begin with a word. */
export const prefixForm = ({ word }: Pick<IndexedWord, 'word'>) => `${quoteLexeme(word)}:*`

/**
 * Builds a tsquery for words in sequence, empty if all are stop words. A stop word leaves a gap:
 * "state of the art" is "state", and three positions later "art".
 */
function inSequence(words: readonly IndexedWord[], form: (word: IndexedWord) => string): string {
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
  return sequence && `(${sequence})`
}

/** Quotes any text as a single lexeme of a tsquery. */
export function quoteLexeme(lexeme: string): string {
  return `'${lexeme.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`
}
