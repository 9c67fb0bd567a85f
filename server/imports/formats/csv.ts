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

// Reads a table with a header: one talk per row, one field per column. An empty cell leaves the
// field unchanged.

export const csv: ImportFormat = {
  name: 'csv',
  about: 'a table (CSV) with column names in the first row',
  recognises(head, path) {
    if (/^\s*[{[<]/.test(head)) return false
    if (/\.(csv|tsv)$/i.test(path)) return true
    const header = head.trimStart().split(/\r?\n/, 1)[0] ?? ''
    const names = parseRow(header, delimiterOf(header))?.map(columnName) ?? []
    return names.filter((name) => columns.includes(name)).length >= 2
  },
  async *read(files, options) {
    for await (const file of files) yield* readTable(file, options)
  },
}

/** Returns a table with all columns and one fictional talk. */
export function csvTemplate(): string {
  const talk = columns.map((column) => example[column] ?? '')
  return [columns, talk].map((cells) => `${cells.join(',')}\r\n`).join('')
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
/** All columns that can be imported, the most common first. */
const columns = [
  ...new Set([
    'key',
    'id',
    ...mainFields,
    ...videoFields.filter((field) => !readOnly.includes(field)),
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
/** Without a limit, a missing quotation mark would make one row of the whole file. */
const maxRowLength = 4 << 20

async function* readTable(file: SourceFile, options: ParseOptions): AsyncGenerator<ParsedItem> {
  let header: readonly string[] | undefined
  let delimiter = ','
  // Notes on the columns are added to the first talk.
  let headerNotes: readonly ImportNote[] = []
  let number = 0
  for await (const row of splitRows(textChunks(file), file.path)) {
    number++
    const place = `row ${number}`
    if (row.trim() === '') continue
    if (!header) {
      delimiter = delimiterOf(row)
      header = parseHeader(parseRow(row, delimiter), file.path)
      headerNotes = header.flatMap(droppedColumnNotes)
      continue
    }
    const cells = parseRow(row, delimiter)
    if (!cells) {
      // Each line was probably meant as a row.
      const lineCount = row.split('\n').length
      number += lineCount - 1
      const skipped = lineCount > 1 ? `. Skipped ${lineCount} lines` : ''
      yield { place, unreadable: `${invalidQuotes}${skipped}` }
    } else if (cells.length > header.length)
      yield { place, unreadable: tooManyCells(cells.length, header.length, delimiter) }
    else if (cells.some((cell) => cell.trim() !== '')) {
      const item = readCells(header, cells, place, options)
      if ('unreadable' in item) yield item
      else {
        yield { ...item, notes: [...headerNotes, ...item.notes] }
        headerNotes = []
      }
    }
  }
  if (!header)
    throw new InputRefused(`${file.path} has no header. Put the column names in the first row`)
}

/** Splits text into rows. A line end within quotation marks is part of the row. */
async function* splitRows(chunks: AsyncIterable<string>, path: string): AsyncGenerator<string> {
  let row = ''
  let isQuoted = false
  let number = 1
  const append = (part: string) => {
    row += part
    for (let index = part.indexOf('"'); index >= 0; index = part.indexOf('"', index + 1))
      isQuoted = !isQuoted
    if (row.length > maxRowLength)
      throw new InputRefused(
        `Row ${number} of ${path} has more than ${formatBytes(maxRowLength)}. ` +
          'Is a quotation mark missing?',
      )
  }
  for await (const chunk of chunks) {
    let start = 0
    for (let end = chunk.indexOf('\n'); end >= 0; end = chunk.indexOf('\n', start)) {
      append(chunk.slice(start, end + 1))
      start = end + 1
      if (isQuoted) continue
      yield row.replace(/\r?\n$/, '')
      row = ''
      number++
    }
    append(chunk.slice(start))
  }
  if (row !== '') yield row
}

/**
 * Parses the cells of a row. Undefined if its quotation marks are invalid. Rows are parsed one by
 * one, so that an invalid one does not affect the others.
 */
function parseRow(row: string, delimiter: string): string[] | undefined {
  try {
    return parse(row, { delimiter, record_delimiter: '\n', relax_column_count: true })[0] ?? []
  } catch (error) {
    if (error instanceof CsvError) return undefined
    throw error
  }
}

const invalidQuotes =
  'Has invalid quotation marks. Quote such cells, and double the marks inside: "a 5"" disk"'

function tooManyCells(count: number, expected: number, delimiter: string): string {
  const name = { ';': 'semicolon', '\t': 'tab' }[delimiter] ?? 'comma'
  return `Has ${count} cells, but the header has ${expected}. Quote cells with a ${name}: "..."`
}

function delimiterOf(header: string): string {
  const unquoted = header.replaceAll(/"[^"]*"/g, '')
  const count = (delimiter: string) => unquoted.split(delimiter).length
  return [',', ';', '\t'].reduce((best, delimiter) =>
    count(delimiter) > count(best) ? delimiter : best,
  )
}

function columnName(cell: string): string {
  return unescapeFormula(cell).trim().toLowerCase()
}

function parseHeader(cells: readonly string[] | undefined, path: string): string[] {
  if (!cells) throw new InputRefused(`The header of ${path} has invalid quotation marks`)
  if (cells.length > maxColumns)
    throw new InputRefused(`${path} has ${cells.length} columns, and the limit is ${maxColumns}`)
  if (cells.some((cell) => cell.includes('\r')))
    throw new InputRefused(`The lines of ${path} end with CR only. Save it with LF or CRLF`)
  const names = cells.map(columnName)
  if (!names.some((name) => columns.includes(name)))
    throw new InputRefused(
      `The first row of ${path} has no known column. Known columns: ${columns.join(', ')}`,
    )
  const duplicate = names.find((name, index) => name !== '' && names.indexOf(name) !== index)
  if (duplicate !== undefined)
    throw new InputRefused(
      `${path} has two columns called ${quoteShort(duplicate)}. Remove one of them`,
    )
  return names
}

/** Notes an unknown column. The read-only fields of an export are ignored without a note. */
function droppedColumnNotes(name: string, index: number): ImportNote[] {
  if (columns.includes(name) || readOnly.includes(name)) return []
  if (name === '')
    return [{ kind: 'dropped', field: `column ${index + 1}`, detail: 'has no name in the header' }]
  return [{ kind: 'dropped', field: name.slice(0, 100), detail: 'is not a known column' }]
}

function readCells(
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
  const identity: { key?: string; id?: number } = {}
  for (const [index, column] of header.entries()) {
    const cell = unescapeFormula(cells[index] ?? '')
    if (cell.trim() === '' || !columns.includes(column)) continue
    const { read, expected } = cellTypeOf(column)
    const value = read(cell)
    if (value === undefined)
      return { place, unreadable: `${column} is ${quoteShort(cell)}, but must be ${expected}` }
    if (column === 'key') identity.key = value as string
    else if (column === 'id') identity.id = value as number
    else if (column === 'related' || column === 'media') facts.push(...(value as Fact[]))
    else fields[column] = value
    if (column === 'duration' && cell.includes(':'))
      notes.push({
        kind: 'repaired',
        field: column,
        detail: `was ${quoteShort(cell)} in the file, converted to ${value} seconds`,
      })
  }
  return { place, ...identity, fields: fields as ItemFields, facts, notes }
}

/** Converts a cell to a value. Undefined if the cell is not what is expected. */
interface CellType {
  readonly read: (cell: string) => unknown
  readonly expected?: string
}

const cellTypes = {
  text: { read: (cell) => cell },
  name: { read: (cell) => cell.trim() },
  names: { read: (cell) => splitNames(cell) },
  whole: { read: wholeNumber, expected: 'a whole number' },
  id: { read: (cell) => wholeNumber(cell) || undefined, expected: 'a positive whole number' },
  seconds: {
    read: (cell) => wholeNumber(cell) ?? clockSeconds(cell),
    expected: 'a number of seconds or a time such as 1:02:30',
  },
  boolean: { read: (cell) => booleans.get(cell.trim().toLowerCase()), expected: 'yes or no' },
  state: { read: (cell) => states.get(cell.trim().toLowerCase()), expected: 'live or draft' },
  day: {
    read: (cell) => /^\d{4}-\d\d-\d\d$/.exec(cell.trim())?.[0],
    expected: 'a date such as 2031-05-17',
  },
  related: {
    read: (cell) => splitUrls(cell).map((url) => ({ kind: 'related', url, label: null })),
  },
  media: {
    read: (cell) =>
      splitUrls(cell).map((url) => ({ kind: 'media', url, type: mediaTypeOf(url), size: null })),
  },
} as const satisfies Record<string, CellType>

const cellTypeByColumn: Record<string, CellType> = {
  key: cellTypes.name,
  id: cellTypes.id,
  title: cellTypes.name,
  category: cellTypes.name,
  language: cellTypes.name,
  speakers: cellTypes.names,
  tags: cellTypes.names,
  state: cellTypes.state,
  duration: cellTypes.seconds,
  recorded: cellTypes.day,
  related: cellTypes.related,
  media: cellTypes.media,
}

function cellTypeOf(column: string): CellType {
  if (column.endsWith('_url')) return cellTypes.name
  if (column.endsWith('_length')) return cellTypes.whole
  if (column.endsWith('_download_only')) return cellTypes.boolean
  return cellTypeByColumn[column] ?? cellTypes.text
}

const booleans = new Map(
  Object.entries({ true: true, yes: true, '1': true, false: false, no: false, '0': false }),
)
const states = new Map(Object.entries({ '1': 1, live: 1, '2': 2, draft: 2 }))

function wholeNumber(cell: string): number | undefined {
  const number = /^\d+$/.test(cell.trim()) ? Number(cell) : undefined
  return Number.isSafeInteger(number) ? number : undefined
}

function clockSeconds(cell: string): number | undefined {
  const [, hours, minutes, seconds] =
    /^(?:(\d{1,3}):(?=\d\d:))?(\d{1,3}):([0-5]\d)$/.exec(cell.trim()) ?? []
  if (minutes === undefined || (hours !== undefined && Number(minutes) > 59)) return undefined
  return Number(hours ?? 0) * 3600 + Number(minutes) * 60 + Number(seconds)
}

/** Splits names at semicolons. A backslash escapes a semicolon or a backslash. */
function splitNames(cell: string): string[] {
  const names = cell.match(/(?:\\[\\;]|[^;])+/g) ?? []
  return names
    .map((name) => name.replaceAll(/\\([\\;])/g, '$1').trim())
    .filter((name) => name !== '')
}

/** Splits URLs at white space or semicolons, but not at a semicolon inside a URL. */
function splitUrls(cell: string): string[] {
  return cell.split(/;(?=\s|$|[a-z][a-z0-9+.-]*:\/\/)|\s/i).filter((url) => url !== '')
}

/** Returns the file extension, or the host. */
function mediaTypeOf(url: string): string {
  if (!URL.canParse(url)) return ''
  const { pathname, hostname } = new URL(url)
  return (/\.(mp4|webm|ogv|flv|mkv|mov|mp3|ogg|opus|m4a|m4v)$/i.exec(pathname)?.[1] ?? hostname)
    .toLowerCase()
    .slice(0, 100)
}

/** Removes the ' that an export puts before text that a spreadsheet would run as a formula. */
function unescapeFormula(cell: string): string {
  return /^'+[=+\-@\t\r]/.test(cell) ? cell.slice(1) : cell
}

function quoteShort(cell: string): string {
  const text = cell.trim()
  return `“${text.length > 40 ? `${text.slice(0, 40).toWellFormed()}…` : text}”`
}
