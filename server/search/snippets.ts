import type { Video } from '@talkshelf/contract'
import type { Db } from '../platform/db/db.ts'
import { runInOwnTask } from '../platform/event-loop.ts'
import { findStems } from './queries.ts'
import { stripMarkdown } from './strip-markdown.ts'
import type { Mark, Tsquery } from './tsquery.ts'

// Snippets of search results: the title and an excerpt of the text, with the searched words
// highlighted. Plain text in parts instead of HTML or Markdown, so that clients need not trust or
// parse markup.

export interface SnippetPart {
  readonly text: string
  readonly hit?: true
}

export interface RecordSnippet {
  readonly id: number
  readonly title: readonly SnippetPart[]
  /** Of the summary, or of the description. */
  readonly excerpt: readonly SnippetPart[]
}

/** Words, and the names with signs that normalized_words() of the database takes for words. */
const letters =
  /(?<![\p{L}\p{N}])(?:c\+\+|[cf]#|\.net(?![\p{L}\p{N}])|\d{1,3}\.\d{1,3}(?!\d))|[\p{L}\p{N}\p{M}]+/giu
const excerptLength = 240

/** Highlighting reads only the first part of a text: a description may be very long. */
const maxTextLength = 20_000

/** Builds the snippets of records that a query matched. */
export async function buildSnippets(
  db: Db,
  records: readonly Video[],
  { marks }: Tsquery,
): Promise<RecordSnippet[]> {
  const highlighter = await createHighlighter(db, records, marks)
  return mapInOwnTasks(records, ({ id, title, summary, description, language }) => {
    const rangesIn = highlighter(language)
    const texts = [summary, description].map((field) =>
      stripMarkdown(field.slice(0, maxTextLength)),
    )
    const text = texts.find((field) => rangesIn(field).length > 0) ?? (texts[0] || texts[1] || '')
    return {
      id,
      title: splitParts(title, rangesIn(title), 0, title.length),
      excerpt: excerpt(text, rangesIn(text)),
    }
  })
}

/** Gives way to other tasks between the items: a hundred records can have 4 MB of text. */
async function mapInOwnTasks<T, U>(items: readonly T[], work: (item: T) => U): Promise<U[]> {
  const results: U[] = []
  for (const item of items) results.push(await runInOwnTask(() => work(item)))
  return results
}

type TextRange = readonly [from: number, to: number]

/** Finds the ranges of the searched words in a text. */
type Highlighter = (text: string) => TextRange[]

/**
 * Creates highlighters for the texts of these records, by language: the dictionaries of the database
 * tell which of their words have the stem of a searched word.
 */
async function createHighlighter(
  db: Db,
  records: readonly Video[],
  marks: readonly Mark[],
): Promise<(language: string) => Highlighter> {
  const prefixes = marks.filter(({ isPrefix }) => isPrefix).map(({ lexeme }) => lexeme)
  const words = await candidateWords(records, marks)
  const languages = [...new Set(records.map(({ language }) => language))]
  const matching = await matchingWords(db, words, languages, marks)
  // Scripts without spaces are indexed in pairs of characters, which are parts of a longer run.
  const pairs = marks.map(({ lexeme }) => lexeme).filter((text) => /^\p{Lo}{1,2}$/u.test(text))
  const isMatch = (word: string, language: string) =>
    matching.get(language)?.has(word) || prefixes.some((prefix) => word.startsWith(prefix))
  return (language) => (text) =>
    [...text.slice(0, maxTextLength).matchAll(letters)].flatMap(({ 0: word, index }) => {
      if (isMatch(normalizeWord(word), language)) return [[index, index + word.length] as const]
      if (pairs.length === 0) return []
      return pairRanges(word, pairs).map(([from, to]) => [index + from, index + to] as const)
    })
}

/** Returns the words of the texts that begin like one of the marks. */
async function candidateWords(
  records: readonly Video[],
  marks: readonly Mark[],
): Promise<string[]> {
  const starts = new Set(marks.map(({ lexeme }) => lexeme.slice(0, 2)))
  const texts = records.flatMap(({ title, summary, description }) => [title, summary, description])
  const words = new Set<string>()
  await mapInOwnTasks(texts, (text) => {
    for (const [word] of text.slice(0, maxTextLength).matchAll(letters))
      words.add(normalizeWord(word))
  })
  return [...words]
    .filter((word) => starts.has(word.slice(0, 2)) && word.length <= 100)
    .slice(0, 500)
}

/** Returns the words of each language whose stem is a mark of this language. */
async function matchingWords(
  db: Db,
  words: readonly string[],
  languages: readonly string[],
  marks: readonly Mark[],
): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const matching = new Map(languages.map((language) => [language, new Set<string>()]))
  const isMarked = (text: string, id: number) =>
    marks.some(({ lexeme, languages }) => lexeme === text && (languages?.includes(id) ?? true))
  const rows = words.length > 0 ? await findStems(db, words, languages) : []
  for (const row of rows)
    if (row.lexemes.some((lexeme) => isMarked(lexeme, row.language_id)))
      matching.get(row.language)?.add(words[row.ordinal - 1] as string)
  return matching
}

/** Finds the pairs in a word of a script without spaces. Joins ranges that touch or overlap. */
function pairRanges(word: string, pairs: readonly string[]): TextRange[] {
  const ranges: [number, number][] = []
  for (let index = 0; index < word.length; index++) {
    const length = Math.max(
      0,
      ...pairs.filter((pair) => word.startsWith(pair, index)).map((pair) => pair.length),
    )
    const last = ranges.at(-1)
    if (length > 0 && last && index <= last[1]) last[1] = Math.max(last[1], index + length)
    else if (length > 0) ranges.push([index, index + length])
  }
  return ranges
}

// Unicode normalization blocks the event loop; nearly all words are ASCII and do not need it.
const normalizeWord = (word: string) =>
  (/^\w*$/.test(word) ? word : withoutSigns(word)).toLowerCase()

const withoutSigns = (word: string) =>
  word
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replace('++', 'plusplus')
    .replace('#', 'sharp')
    .replace('.', 'dot')

/** Cuts out the part with the most hits, at the boundaries of words. */
function excerpt(text: string, ranges: readonly TextRange[]): SnippetPart[] {
  const best = ranges[densestRange(ranges, excerptLength - 40)]
  const start = best ? Math.max(0, best[0] - 40) : 0
  const from = start === 0 ? 0 : start + Math.max(0, text.slice(start, best?.[0]).search(/\s/) + 1)
  const to = Math.min(text.length, from + excerptLength)
  const end = to === text.length ? to : Math.max(from + 1, text.slice(0, to).search(/\s\S*$/)) || to
  const parts = splitParts(
    text,
    ranges.filter(([begin, stop]) => begin >= from && stop <= end),
    from,
    end,
  )
  return [
    ...(from > 0 ? [{ text: '… ' }] : []),
    ...parts,
    ...(end < text.length ? [{ text: ' …' }] : []),
  ]
}

/**
 * Returns the index of the range from which on the most ranges lie within a length. Takes linear
 * time: a text may have thousands of ranges.
 */
function densestRange(ranges: readonly TextRange[], length: number): number {
  let [best, max, end] = [0, 0, 0]
  for (const [index, [from]] of ranges.entries()) {
    while (end < ranges.length && (ranges[end] as TextRange)[1] <= from + length) end++
    if (end - index > max) [best, max] = [index, end - index]
  }
  return best
}

function splitParts(
  text: string,
  ranges: readonly TextRange[],
  from: number,
  to: number,
): SnippetPart[] {
  const parts: SnippetPart[] = []
  let offset = from
  for (const [start, end] of ranges) {
    if (start > offset) parts.push({ text: text.slice(offset, start) })
    parts.push({ text: text.slice(start, end), hit: true })
    offset = end
  }
  if (offset < to) parts.push({ text: text.slice(offset, to) })
  return parts
}
