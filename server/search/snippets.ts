import type { Video } from '@talkshelf/contract'
import type { Db } from '../platform/db/db.ts'
import { runInOwnTask } from '../platform/event-loop.ts'
import { findWords } from './queries.ts'
import { stripMarkdown } from './strip-markdown.ts'
import type { Tsquery } from './tsquery.ts'

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

const letters = /[\p{L}\p{N}\p{M}]+/gu
const excerptLength = 240

/** Highlighting reads only the first part of a text: a description may be very long. */
const maxTextLength = 20_000

/** Builds the snippets of records that a query matched. */
export async function buildSnippets(
  db: Db,
  records: readonly Video[],
  { marks }: Tsquery,
): Promise<RecordSnippet[]> {
  const rangesIn = await createHighlighter(db, records, marks)
  return mapInOwnTasks(records, ({ id, title, summary, description }) => {
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
 * Creates a highlighter for the texts of these records: the dictionaries of the database tell which
 * of their words have the stem of a searched word.
 */
async function createHighlighter(
  db: Db,
  records: readonly Video[],
  marks: readonly string[],
): Promise<Highlighter> {
  const lexemes = new Set(marks.filter((mark) => !mark.endsWith('*')))
  const prefixes = marks.filter((mark) => mark.endsWith('*')).map((mark) => mark.slice(0, -1))
  const matching = await matchingWords(db, await candidateWords(records, marks), lexemes)
  // Scripts without spaces are indexed in pairs of characters, which are parts of a longer run.
  const pairs = [...lexemes, ...prefixes].filter((mark) => /^\p{Lo}{1,2}$/u.test(mark))
  const isMatch = (word: string) =>
    matching.has(word) || prefixes.some((prefix) => word.startsWith(prefix))
  return (text) =>
    [...text.slice(0, maxTextLength).matchAll(letters)].flatMap(({ 0: word, index }) => {
      if (isMatch(normalizeWord(word))) return [[index, index + word.length] as const]
      if (pairs.length === 0) return []
      return pairRanges(word, pairs).map(([from, to]) => [index + from, index + to] as const)
    })
}

/** Returns the words of the texts that begin like one of the marks. */
async function candidateWords(
  records: readonly Video[],
  marks: readonly string[],
): Promise<string[]> {
  const starts = new Set(marks.map((mark) => mark.slice(0, 2)))
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

async function matchingWords(
  db: Db,
  candidates: readonly string[],
  lexemes: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  const matching = new Set<string>()
  for (const { term, word, stems } of candidates.length > 0 ? await findWords(db, candidates) : [])
    if (lexemes.has(word) || stems.some(({ lexeme }) => lexemes.has(lexeme)))
      matching.add(candidates[term - 1] as string)
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
  (/^\w*$/.test(word) ? word : word.normalize('NFKD').replaceAll(/\p{M}/gu, '')).toLowerCase()

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
