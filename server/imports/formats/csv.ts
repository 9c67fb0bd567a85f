import { type Fact, readOnlyFields, videoFields } from '@talkshelf/contract'
import { CsvError, parse } from 'csv-parse/sync'
import { textChunks } from '../input/input.ts'
import { formatBytes } from '../input/unpack.ts'
import {
  type ImportFormat,
  type ImportItem,
  type ImportNote,
  InputRefused,
  type ItemFields,
  type ParsedItem,
  type ParseOptions,
  type SourceFile,
  type UnreadableItem,
} from '../item.ts'

// A table with a header: one talk a row, one field a column. An empty cell says nothing.

export const csv: ImportFormat = {
  name: 'csv',
  about: 'A table (CSV) whose first row names the columns',
  recognises(begin, path) {
    if (/^\s*[{[<]/.test(begin)) return false
    if (/\.(csv|tsv)$/i.test(path)) return true
    const header = begin.trimStart().split(/\r?\n/, 1)[0] ?? ''
    const names = cellsOf(header, delimiterOf(header))?.map(nameOf) ?? []
    return names.filter((name) => columns.includes(name)).length >= 2
  },
  async *read(files, options) {
    for await (const file of files) yield* readTable(file, options)
  },
}

/** A table to begin with: all columns, and one talk that nobody gave. */
export function csvTemplate(): string {
  return `${[columns, columns.map((column) => example[column] ?? '')].map((cells) => cells.join(',')).join('\r\n')}\r\n`
}

const readOnly: readonly string[] = readOnlyFields
const mainFields = [
  'title',
  'category',
  'language',
  'speakers',
  'tags',
  'recorded',
  'duration',
  'source_url',
  'state',
]
/** What can be imported, in the order in which people want to see it. */
const columns = [
  ...new Set([
    'key',
    'id',
    ...mainFields,
    ...videoFields.filter((it) => !readOnly.includes(it)),
    'related',
    'media',
  ]),
]

const example: Record<string, string> = {
  key: 'talk-1',
  title: 'Gardens on the Moon',
  category: 'ExampleConf 2031',
  language: 'English',
  speakers: 'Ada Example; Bo Sample',
  tags: 'gardens; moon',
  recorded: '2031-05-17',
  duration: '2700',
  source_url: 'https://example.org/talks/1',
  state: 'draft',
  summary: 'How to grow beans where nothing grows.',
  copyright_text: 'CC BY 4.0',
  video_mp4_url: 'https://example.org/talks/1.mp4',
  video_mp4_length: '104857600',
  video_mp4_download_only: 'no',
  related: 'https://example.org/talks/1/slides',
}

const maxColumns = 500
/**
 * As for one record elsewhere. A mark of quotation that nobody closes would make one row of the
 * whole file.
 */
const maxRow = 4 << 20

async function* readTable(file: SourceFile, options: ParseOptions): AsyncGenerator<ParsedItem> {
  let header: readonly string[] | undefined
  let delimiter = ','
  let notes: readonly ImportNote[] = []
  let number = 0
  for await (const row of rowsOf(textChunks(file), file.path)) {
    number++
    const place = `row ${number}`
    if (row.trim() === '') continue
    if (!header) {
      delimiter = delimiterOf(row)
      header = headerOf(cellsOf(row, delimiter), file.path)
      notes = header.flatMap(dropped)
      continue
    }
    const cells = cellsOf(row, delimiter)
    if (!cells) {
      const lines = row.split('\n').length
      // Where marks are wrong, each line was meant as a row.
      number += lines - 1
      yield { place, unreadable: `${misquoted}${lines > 1 ? `. ${lines} lines are left out` : ''}` }
    } else if (cells.length > header.length)
      yield {
        place,
        unreadable: `Has ${cells.length} cells, and the header has ${header.length}: a cell with a ${named(delimiter)} in it goes into "..."`,
      }
    else if (cells.some((cell) => cell.trim() !== '')) {
      const reading = readingOf(header, cells, place, options)
      if ('unreadable' in reading) yield reading
      else {
        yield { ...reading, notes: [...notes, ...reading.notes] }
        notes = []
      }
    }
  }
  if (!header)
    throw new InputRefused(`${file.path} has no header: the first row has to name the columns`)
}

/** The text of each row. A line end within quotation marks is part of the row. */
async function* rowsOf(pieces: AsyncIterable<string>, path: string): AsyncGenerator<string> {
  let row = ''
  let isQuoted = false
  let number = 1
  const add = (part: string) => {
    row += part
    for (let at = part.indexOf('"'); at >= 0; at = part.indexOf('"', at + 1)) isQuoted = !isQuoted
    if (row.length > maxRow)
      throw new InputRefused(
        `Row ${number} of ${path} has more than ${formatBytes(maxRow)}. Perhaps a quotation mark is opened there and never closed`,
      )
  }
  for await (const piece of pieces) {
    let from = 0
    for (let end = piece.indexOf('\n'); end >= 0; end = piece.indexOf('\n', from)) {
      add(piece.slice(from, end + 1))
      from = end + 1
      if (isQuoted) continue
      yield row.replace(/\r?\n$/, '')
      row = ''
      number++
    }
    add(piece.slice(from))
  }
  if (row !== '') yield row
}

/**
 * Nothing where the quotation marks are wrong. Each row is parsed by itself, so that a wrong one
 * spoils no other.
 */
function cellsOf(row: string, delimiter: string): string[] | undefined {
  try {
    return parse(row, { delimiter, record_delimiter: '\n', relax_column_count: true })[0] ?? []
  } catch (error) {
    if (error instanceof CsvError) return undefined
    throw error
  }
}

const misquoted =
  'Its quotation marks are wrong: a cell with one in it goes into "...", and the mark is written twice'

function delimiterOf(header: string): string {
  const bare = header.replaceAll(/"[^"]*"/g, '')
  const count = (sign: string) => bare.split(sign).length
  return [',', ';', '\t'].reduce((best, sign) => (count(sign) > count(best) ? sign : best))
}

const named = (delimiter: string) => ({ ';': 'semicolon', '\t': 'tab' })[delimiter] ?? 'comma'

function nameOf(cell: string): string {
  return unguarded(cell).trim().toLowerCase()
}

function headerOf(cells: readonly string[] | undefined, path: string): string[] {
  if (!cells)
    throw new InputRefused(`The header of ${path} can’t be read: its quotation marks are wrong`)
  if (cells.length > maxColumns)
    throw new InputRefused(`${path} has ${cells.length} columns, and ${maxColumns} are the most`)
  if (cells.some((cell) => cell.includes('\r')))
    throw new InputRefused(`The lines of ${path} end in a bare CR. Save it with common line ends`)
  const names = cells.map(nameOf)
  if (!names.some((name) => columns.includes(name)))
    throw new InputRefused(
      `The first row of ${path} names no column that is known. These are: ${columns.join(', ')}`,
    )
  const twice = names.find((name, at) => name !== '' && names.indexOf(name) !== at)
  if (twice !== undefined)
    throw new InputRefused(`${path} has two columns called ${shown(twice)}. Take one of them out`)
  return names
}

// The service's own fields are in an export; they are no news, and nobody misses them.
function dropped(name: string, at: number): ImportNote[] {
  if (columns.includes(name) || readOnly.includes(name)) return []
  const field = name === '' ? `column ${at + 1}` : name.slice(0, 100)
  return [
    {
      kind: 'dropped',
      field,
      detail: name === '' ? 'has no name in the header' : 'is no column that is known',
    },
  ]
}

function readingOf(
  header: readonly string[],
  cells: readonly string[],
  place: string,
  options: ParseOptions,
): ImportItem | UnreadableItem {
  const { category, language } = options
  const fields: Record<string, unknown> = {
    ...(category === undefined ? {} : { category }),
    ...(language === undefined ? {} : { language }),
  }
  const notes: ImportNote[] = []
  const facts: Fact[] = []
  const own: { key?: string; id?: number } = {}
  for (const [at, column] of header.entries()) {
    const cell = unguarded(cells[at] ?? '')
    if (cell.trim() === '' || !columns.includes(column)) continue
    const { read, wanted } = kindOf(column)
    const value = read(cell)
    if (value === undefined)
      return { place, unreadable: `The cell ${column} holds ${shown(cell)}, and must be ${wanted}` }
    if (column === 'key') own.key = value as string
    else if (column === 'id') own.id = value as number
    else if (column === 'related' || column === 'media') facts.push(...(value as Fact[]))
    else fields[column] = value
    if (column === 'duration' && cell.includes(':'))
      notes.push({
        kind: 'repaired',
        field: column,
        detail: `is ${shown(cell)} in the file, and ${value} seconds here`,
      })
  }
  return { place, ...own, fields: fields as ItemFields, facts, notes }
}

/** How a cell becomes a value, and what it must be; undefined is what it is not. */
interface Kind {
  readonly read: (cell: string) => unknown
  readonly wanted?: string
}

const kinds = {
  text: { read: (cell) => cell },
  name: { read: (cell) => cell.trim() },
  names: { read: (cell) => itemsOf(cell) },
  whole: { read: wholeNumber, wanted: 'a whole number' },
  id: { read: (cell) => wholeNumber(cell) || undefined, wanted: 'a whole number from 1' },
  seconds: {
    read: (cell) => wholeNumber(cell) ?? clock(cell),
    wanted: 'a number of seconds, or a time such as 1:02:30',
  },
  switch: { read: (cell) => switches.get(cell.trim().toLowerCase()), wanted: 'yes or no' },
  state: { read: (cell) => states.get(cell.trim().toLowerCase()), wanted: 'live or draft' },
  day: {
    read: (cell) => /^\d{4}-\d\d-\d\d$/.exec(cell.trim())?.[0],
    wanted: 'a day, written as 2031-05-17',
  },
  related: {
    read: (cell) => addressesOf(cell).map((url) => ({ kind: 'related', url, label: null })),
  },
  media: {
    read: (cell) =>
      addressesOf(cell).map((url) => ({ kind: 'media', url, type: typeOf(url), size: null })),
  },
} as const satisfies Record<string, Kind>

const kindByColumn: Record<string, Kind> = {
  key: kinds.name,
  id: kinds.id,
  title: kinds.name,
  category: kinds.name,
  language: kinds.name,
  speakers: kinds.names,
  tags: kinds.names,
  state: kinds.state,
  duration: kinds.seconds,
  recorded: kinds.day,
  related: kinds.related,
  media: kinds.media,
}

function kindOf(column: string): Kind {
  if (column.endsWith('_url')) return kinds.name
  if (column.endsWith('_length')) return kinds.whole
  if (column.endsWith('_download_only')) return kinds.switch
  return kindByColumn[column] ?? kinds.text
}

const switches = new Map(
  Object.entries({ true: true, yes: true, '1': true, false: false, no: false, '0': false }),
)
const states = new Map(Object.entries({ '1': 1, live: 1, '2': 2, draft: 2 }))

function wholeNumber(cell: string): number | undefined {
  const number = /^\d+$/.test(cell.trim()) ? Number(cell) : undefined
  return Number.isSafeInteger(number) ? number : undefined
}

function clock(cell: string): number | undefined {
  const [, hours, minutes, seconds] =
    /^(?:(\d{1,3}):(?=\d\d:))?(\d{1,3}):([0-5]\d)$/.exec(cell.trim()) ?? []
  if (minutes === undefined || (hours !== undefined && Number(minutes) > 59)) return undefined
  return Number(hours ?? 0) * 3600 + Number(minutes) * 60 + Number(seconds)
}

/**
 * Separated by semicolons. One that belongs to a name has a backslash before it, and so has a
 * backslash.
 */
function itemsOf(cell: string): string[] {
  const items = cell.match(/(?:\\[\\;]|[^;])+/g) ?? []
  return items
    .map((item) => item.replaceAll(/\\([\\;])/g, '$1').trim())
    .filter((item) => item !== '')
}

/** Separated by space or semicolons; but one in the midst of an address is a part of it. */
function addressesOf(cell: string): string[] {
  return cell.split(/;(?=\s|$|[a-z][a-z0-9+.-]*:\/\/)|\s/i).filter((address) => address !== '')
}

/** The ending of the file, or the host. */
function typeOf(url: string): string {
  if (!URL.canParse(url)) return ''
  const { pathname, hostname } = new URL(url)
  return (/\.(mp4|webm|ogv|flv|mkv|mov|mp3|ogg|opus|m4a|m4v)$/i.exec(pathname)?.[1] ?? hostname)
    .toLowerCase()
    .slice(0, 100)
}

/** Our export, and careful people, put a ' before what a spreadsheet would take for a formula. */
function unguarded(cell: string): string {
  return /^'+[=+\-@\t\r]/.test(cell) ? cell.slice(1) : cell
}

function shown(cell: string): string {
  const text = cell.trim()
  return `“${text.length > 40 ? `${text.slice(0, 40).toWellFormed()}…` : text}”`
}
