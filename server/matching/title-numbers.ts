import { foldText } from '../platform/text/fold.ts'

// What tells titles apart that have the same words otherwise: years, parts, and when in the event
// a session is. No I/O.

const year = /(?<!\d)(?:19|20)\d\d(?!\d)/g

/** The name of an account may end in the year of a birth. */
const handle = /@[\w.]+/g

/** Finds the years of a title. */
export function yearsOf(title: string): Set<string> {
  return new Set(title.replaceAll(handle, ' ').match(year) ?? [])
}

/** Tells whether a word is a year. */
export const isYear = (word: string) => /^(?:19|20)\d\d$/.test(word)

const part = new RegExp(
  '(?:\\b(?:part|pt|parte|partie|teil|vol|volume|episode|session|day|dia|jour|tag|no|nr|track)' +
    '(?:\\b[.:#\\s]*|(?=\\d))|#\\s?)' +
    '(\\d{1,2}|i{1,3}|iv|v|one|two|three|four|first|second|third)(?![\\p{L}\\p{N}])|' +
    '[([](\\d{1,2})(?:\\s?(?:/|of)\\s?\\d{1,2})?[)\\]]|(?<![\\d/])(\\d)\\s?(?:/|of)\\s?\\d(?![\\d/])',
  'gu',
)
const values: Readonly<Record<string, string>> = {
  i: '1',
  ii: '2',
  iii: '3',
  iv: '4',
  v: '5',
  one: '1',
  two: '2',
  three: '3',
  four: '4',
  first: '1',
  second: '2',
  third: '3',
}

/** Finds the part numbers of a title: `#1`, `PT.2`, `Day 3`, `(2/4)`, `Part II`. */
export function partsOf(title: string): Set<string> {
  const found = [...foldText(title).matchAll(part)]
  return new Set(
    found.map(([, marked, bracketed, counted]) => {
      const value = marked ?? bracketed ?? counted ?? ''
      return values[value] ?? String(Number(value))
    }),
  )
}

const dayOrNumber =
  /(?:\b(?:session|day|dia|jour|tag|track)(?:\b[.:#\s]*|(?=\d))|#\s?)\d{1,2}(?![\p{L}\p{N}])/gu

/** Tells whether a title has the number of a part, apart from those of a day, a track and `#1`. */
export function hasPartNumber(title: string): boolean {
  return partsOf(foldText(title).replaceAll(dayOrNumber, ' ')).size > 0
}

/** As `Date` counts them. */
export const weekdays = [
  'sunday',
  'monday',
  'tuesday',
  'wednesday',
  'thursday',
  'friday',
  'saturday',
] as const

const phases: readonly (readonly [phase: string, words: RegExp])[] = [
  ['opening', /\b(?:opening|welcom\w*|kick-?off|apertura|abertura|bienvenid\w*|inaugura\w*)\b/],
  ['closing', /\b(?:closing|farewell|wrap-?up|cierre|clausura|encerramento)\b/],
  ['morning', /\bmorning\b/],
  ['afternoon', /\bafternoon\b/],
  ...weekdays.map((day): [string, RegExp] => [day, new RegExp(`\\b${day}\\b`)]),
]

/** Finds the words of a title that say when in the event it is: at its end, on Friday. */
export function phasesOf(title: string): Set<string> {
  const text = foldText(title)
  return new Set(phases.filter(([, words]) => words.test(text)).map(([phase]) => phase))
}
