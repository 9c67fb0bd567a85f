import type { Video } from '@talkshelf/contract'
import type { Db } from '../platform/db/db.ts'
import { runInOwnTask } from '../platform/event-loop.ts'
import { findWords } from './queries.ts'
import type { Tsquery } from './tsquery.ts'

// Why a record was found: its title and a piece of its text, with the words that were looked for
// marked. Plain text in pieces, so that nobody has to trust markup.

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

export async function buildSnippets(
  db: Db,
  records: readonly Video[],
  { marks }: Tsquery,
): Promise<RecordSnippet[]> {
  const marksIn = await marker(db, records, marks)
  return eachInOwnTurn(records, (record) => {
    const title = marksIn(record.title)
    const field =
      [record.summary, record.description].find((text) => marksIn(text).length > 0) ??
      (record.summary || record.description)
    return {
      id: record.id,
      title: pieces(record.title, title, 0, record.title.length),
      excerpt: excerpt(field, marksIn(field)),
    }
  })
}

/** A hundred records can have 4 MB of text. */
async function eachInOwnTurn<T, U>(all: readonly T[], work: (one: T) => U): Promise<U[]> {
  const done: U[] = []
  for (const one of all) done.push(await runInOwnTask(() => work(one)))
  return done
}

type Range = readonly [from: number, to: number]
/** Where the words are that were looked for. */
type Marker = (text: string) => Range[]

/**
 * Which words of the texts are among those that were looked for: the dictionaries say, for every
 * word that begins like one.
 */
async function marker(
  db: Db,
  records: readonly Video[],
  marks: readonly string[],
): Promise<Marker> {
  const whole = new Set(marks.filter((mark) => !mark.endsWith('*')))
  const beginnings = marks.filter((mark) => mark.endsWith('*')).map((mark) => mark.slice(0, -1))
  const starts = new Set(marks.map((mark) => mark.slice(0, 2)))
  const texts = records.flatMap(({ title, summary, description }) => [title, summary, description])
  const words = new Set<string>()
  await eachInOwnTurn(texts, (text) => {
    for (const [word] of text.slice(0, readUpTo).matchAll(letters)) words.add(plain(word))
  })
  const asked = [...words]
    .filter((word) => starts.has(word.slice(0, 2)) && word.length <= 100)
    .slice(0, 500)
  const marked = new Set<string>()
  for (const { term, word, stems } of asked.length > 0 ? await findWords(db, asked) : [])
    if (whole.has(word) || stems.some(({ lexeme }) => whole.has(lexeme)))
      marked.add(asked[term - 1] as string)
  const pairs = [...whole, ...beginnings].filter((mark) => /^\p{Lo}{1,2}$/u.test(mark))
  const isMarked = (word: string) =>
    marked.has(word) || beginnings.some((begin) => word.startsWith(begin))
  return (text) =>
    [...text.slice(0, readUpTo).matchAll(letters)].flatMap(({ 0: word, index }): Range[] => {
      if (isMarked(plain(word))) return [[index, index + word.length]]
      return pairs.length === 0
        ? []
        : pieceRanges(word, pairs).map(([from, to]) => [index + from, index + to])
    })
}

/** Where pieces are in a word that is written together with others; pieces that overlap are one. */
function pieceRanges(word: string, pieces: readonly string[]): Range[] {
  const found: [number, number][] = []
  for (let at = 0; at < word.length; at++) {
    const length = Math.max(
      0,
      ...pieces.filter((piece) => word.startsWith(piece, at)).map((piece) => piece.length),
    )
    const last = found.at(-1)
    if (length > 0 && last && at <= last[1]) last[1] = Math.max(last[1], at + length)
    else if (length > 0) found.push([at, at + length])
  }
  return found
}

/** A description may be very long; what is far behind is not looked at for an excerpt. */
const readUpTo = 20_000

// Nearly all words are plain but for their case, and whoever makes them so keeps everybody waiting.
const plain = (word: string) =>
  (/^\w*$/.test(word) ? word : word.normalize('NFKD').replaceAll(/\p{M}/gu, '')).toLowerCase()

/** The part with the most hits, from a word's beginning on. */
function excerpt(text: string, marked: readonly Range[]): SnippetPart[] {
  const best = marked[maxWithin(marked, excerptLength - 40)]
  const start = best ? Math.max(0, best[0] - 40) : 0
  const from = start === 0 ? 0 : start + Math.max(0, text.slice(start, best?.[0]).search(/\s/) + 1)
  const to = Math.min(text.length, from + excerptLength)
  const end = to === text.length ? to : Math.max(from + 1, text.slice(0, to).search(/\s\S*$/)) || to
  const cut = pieces(
    text,
    marked.filter(([begin, stop]) => begin >= from && stop <= end),
    from,
    end,
  )
  return [
    ...(from > 0 ? [{ text: '… ' }] : []),
    ...cut,
    ...(end < text.length ? [{ text: ' …' }] : []),
  ]
}

/**
 * From which of the ranges on the most of them lie within a length. Each is looked at twice: a text
 * may have thousands.
 */
function maxWithin(ranges: readonly Range[], length: number): number {
  let [best, max, end] = [0, 0, 0]
  for (const [index, [from]] of ranges.entries()) {
    while (end < ranges.length && (ranges[end] as Range)[1] <= from + length) end++
    if (end - index > max) [best, max] = [index, end - index]
  }
  return best
}

function pieces(text: string, marked: readonly Range[], from: number, to: number): SnippetPart[] {
  const all: SnippetPart[] = []
  let at = from
  for (const [start, end] of marked) {
    if (start > at) all.push({ text: text.slice(at, start) })
    all.push({ text: text.slice(start, end), hit: true })
    at = end
  }
  if (at < to) all.push({ text: text.slice(at, to) })
  return all
}
