import type { Fact } from '@talkshelf/contract'
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
} from '../item.ts'
import { quote } from '../quote.ts'
import { columns, findColumn, isIgnored, suggestColumn } from './csv-columns.ts'
import { type CellHints, collectHints, needsHints, readDay, readSeconds } from './csv-values.ts'
import { englishLanguageName } from './languages.ts'

// Reads a table with a header: one talk per row, one field per column. An empty cell leaves the
// field unchanged, except in a table that was exported from here (`engine/empty-cells.ts`).

export const csv: ImportFormat = {
  name: 'csv',
  about: 'a table (CSV) with column names in the first row',
  recognises(head, path) {
    if (/^\s*[{[<]/.test(head)) return false
    if (/\.(csv|tsv)$/i.test(path)) return true
    const header = head.trimStart().split(/\r?\n/, 1)[0] ?? ''
    const names = parseRow(header, delimiterOf(header))?.map(columnName) ?? []
    const found = names.flatMap((name) => findColumn(name) ?? [])
    return (
      names.filter((name) => columns.includes(name)).length >= 2 ||
      (found.length >= 2 && found.includes('title'))
    )
  },
  async *read(files, options) {
    for await (const file of files) yield* readTable(file, options)
  },
}

/** Returns a table with one fictional talk: with the usual columns, or with all of them. */
export function csvTemplate(kind: 'csv' | 'csv-all' = 'csv'): string {
  const isShort = kind === 'csv'
  const headers = isShort ? Object.keys(shortExample) : columns
  const talk = isShort ? Object.values(shortExample) : columns.map((name) => example[name] ?? '')
  return [headers, talk].map((cells) => `${cells.join(',')}\r\n`).join('')
}

const shortExample: Record<string, string> = {
  title: 'Gardens on the Moon',
  speakers: 'Ada Example; Bo Sample',
  event: 'ExampleConf 2024',
  date: '2024-05-17',
  length: '45 min',
  language: 'English',
  video: 'https://example.org/talks/1',
}

const example: Record<string, string> = {
  key: 'talk-1',
  title: 'Gardens on the Moon',
  category: 'ExampleConf 2024',
  language: 'English',
  speakers: 'Ada Example; Bo Sample',
  tags: 'gardens; moon',
  recorded: '2024-05-17',
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

/** Rows that wait for others, which may show how dates are written. */
const maxHintRows = 5000
const maxHintLength = 8 << 20

interface Table {
  /** The names in the header, for people. */
  readonly headers: readonly string[]
  /** The column of each header. Undefined if it is not imported. */
  readonly fields: readonly (string | undefined)[]
}

/** A row with its cells, or with the reason why it has none. */
interface Row {
  readonly place: string
  readonly cells: readonly string[] | undefined
  readonly unreadable?: string
}

/**
 * Reads a table row by row. From the first row on whose dates or durations can be read in two ways,
 * rows wait for the others, up to a limit.
 */
async function* readTable(file: SourceFile, options: ParseOptions): AsyncGenerator<ParsedItem> {
  const collector = collectHints()
  let table: Table | undefined
  let hints: CellHints | undefined
  // Notes on the columns are added to the first talk.
  let headerNotes: readonly ImportNote[] = []
  let waiting: Row[] = []
  let waitingLength = 0
  const convert = (row: Row, of: Table): ParsedItem => {
    if (!row.cells) return { place: row.place, unreadable: row.unreadable ?? '' }
    const item = readCells(of, row.cells, row.place, hints ?? collector.hints(), options)
    const notes = [...headerNotes, ...item.notes]
    headerNotes = []
    return { ...item, notes }
  }
  for await (const row of readRows(file)) {
    if (!table) {
      table = parseHeader(row.cells, file.path)
      headerNotes = columnNotes(table)
      continue
    }
    const [date, duration] = [cellOf(row, table, 'recorded'), cellOf(row, table, 'duration')]
    collector.add(date, duration)
    const canWait = !hints && (waiting.length > 0 || needsHints(date, duration))
    if (!canWait) yield convert(row, table)
    else {
      waiting.push(row)
      waitingLength += row.cells?.reduce((sum, cell) => sum + cell.length, 0) ?? 0
      if (waiting.length < maxHintRows && waitingLength < maxHintLength) continue
      hints = collector.hints()
      for (const waited of waiting) yield convert(waited, table)
      waiting = []
    }
  }
  if (!table)
    throw new InputRefused(`${file.path} has no header. Put the column names in the first row`)
  for (const waited of waiting) yield convert(waited, table)
}

function cellOf({ cells }: Row, { fields }: Table, column: string): string {
  return cells?.[fields.indexOf(column)] ?? ''
}

/** Reads the header and the rows that are not empty. */
async function* readRows(file: SourceFile): AsyncGenerator<Row> {
  let columnCount: number | undefined
  let delimiter = ','
  let number = 0
  for await (const row of splitRows(textChunks(file), file.path)) {
    number++
    const place = `row ${number}`
    if (row.trim() === '') continue
    if (columnCount === undefined) delimiter = delimiterOf(row)
    const cells = parseRow(row, delimiter)
    if (columnCount === undefined) {
      columnCount = cells?.length ?? 0
      yield { place, cells }
    } else if (!cells) {
      // Each line was probably meant as a row.
      const lineCount = row.split('\n').length
      number += lineCount - 1
      const skipped = lineCount > 1 ? `. Skipped ${lineCount} lines` : ''
      yield { place, cells, unreadable: `${invalidQuotes}${skipped}` }
    } else if (cells.length > columnCount) {
      const unreadable = tooManyCells(cells.length, columnCount, delimiter)
      yield { place, cells: undefined, unreadable }
    } else if (cells.some((cell) => cell.trim() !== '')) yield { place, cells }
  }
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

function parseHeader(cells: readonly string[] | undefined, path: string): Table {
  if (!cells) throw new InputRefused(`The header of ${path} has invalid quotation marks`)
  if (cells.length > maxColumns)
    throw new InputRefused(`${path} has ${cells.length} columns, and the limit is ${maxColumns}`)
  if (cells.some((cell) => cell.includes('\r')))
    throw new InputRefused(`The lines of ${path} end with CR only. Save it with LF or CRLF`)
  const headers = cells.map(columnName)
  const found = headers.map(findColumn)
  if (found.every((column) => column === undefined))
    throw new InputRefused(
      `The first row of ${path} has no known column. Known columns: ${columns.join(', ')}`,
    )
  if (!found.some((column) => ['title', 'key', 'id'].includes(column ?? '')))
    throw new InputRefused(
      `${path} has no column for the titles of the talks. Its columns are: ` +
        `${headers.filter(Boolean).slice(0, 20).map(quoteShort).join(', ')}. ` +
        'Rename the one with the titles to "title"',
    )
  const duplicate = headers.find((name, index) => name !== '' && headers.indexOf(name) !== index)
  if (duplicate !== undefined)
    throw new InputRefused(
      `${path} has two columns called ${quoteShort(duplicate)}. Remove one of them`,
    )
  // Of several names for one column, its own counts, or else the first.
  const fields = found.map((column, index) => {
    const isOwn = column !== undefined && headers.includes(column)
    const isUsed = isOwn ? headers[index] === column : found.indexOf(column) === index
    return isUsed ? column : undefined
  })
  return { headers, fields }
}

/** Notes unknown columns. The read-only fields of an export are ignored without a note. */
function columnNotes({ headers, fields }: Table): ImportNote[] {
  return headers.flatMap((name, index): ImportNote[] => {
    if (fields[index] !== undefined || isIgnored(name)) return []
    const field = name === '' ? `column ${index + 1}` : name.slice(0, 100)
    return [{ kind: 'dropped', field, detail: droppedDetail(name) }]
  })
}

function droppedDetail(name: string): string {
  if (name === '') return 'has no name in the header'
  const column = findColumn(name)
  if (column !== undefined) return `means ${column}, which another column has`
  const suggestion = suggestColumn(name)
  return `is not a known column${suggestion === undefined ? '' : `. Did you mean ${suggestion}?`}`
}

const isTimestamp = (text: string) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}$/.test(text)

function readCells(
  { headers, fields: columnFields }: Table,
  cells: readonly string[],
  place: string,
  hints: CellHints,
  options: ParseOptions,
): ImportItem {
  const { category, language } = options
  const fields: Record<string, unknown> = {
    ...(category === undefined ? {} : { category }),
    ...(language === undefined ? {} : { language }),
  }
  const notes: ImportNote[] = []
  const errors: string[] = []
  const facts: Fact[] = []
  const identity: { key?: string; id?: number } = {}
  const emptyColumns: string[] = []
  for (const [index, column] of columnFields.entries()) {
    const cell = unescapeFormula(cells[index] ?? '')
    if (column === undefined) continue
    if (cell.trim() === '') {
      // A row that is too short may be cut off: its last cells are missing, not empty.
      if (cells[index] !== undefined && column !== 'key' && column !== 'id')
        emptyColumns.push(column)
      continue
    }
    const { read, expected } = cellTypeOf(column)
    const value = read(cell, hints)
    if (value === undefined || value === 'ambiguous') {
      const problem = value === undefined ? `must be ${expected}` : ambiguousDate
      errors.push(`${headers[index]} is ${quoteShort(cell)}, but ${problem}`)
    } else if (column === 'key') identity.key = value as string
    else if (column === 'id') identity.id = value as number
    else if (column === 'related' || column === 'media') facts.push(...(value as Fact[]))
    else fields[column] = value
    if (column === 'duration' && value !== undefined && cell.includes(':'))
      notes.push({
        kind: 'repaired',
        field: column,
        detail: `was ${quoteShort(cell)} in the file, converted to ${value} seconds`,
      })
  }
  const updated = unescapeFormula(cells[headers.indexOf('updated')] ?? '').trim()
  return {
    place,
    ...identity,
    ...(identity.id !== undefined && isTimestamp(updated) && { exportedVersion: updated }),
    replacesImports: true,
    fields: fields as ItemFields,
    ...(emptyColumns.length > 0 && { emptyColumns }),
    ...(errors.length > 0 && { errors }),
    cells: headers.flatMap((name, index) =>
      name === '' || (isIgnored(name) && name !== 'updated')
        ? []
        : [[name, unescapeFormula(cells[index] ?? '')] as const],
    ),
    facts,
    notes,
  }
}

const ambiguousDate =
  'it can be read with the day or the month first. Write it as in 2031-05-17, in all rows'

/** Converts a cell to a value. Undefined if the cell is not what is expected. */
interface CellType {
  readonly read: (cell: string, hints: CellHints) => unknown
  readonly expected?: string
}

const cellTypes = {
  text: { read: (cell) => cell },
  name: { read: (cell) => cell.trim() },
  url: { read: (cell) => withScheme(cell.trim()) },
  names: { read: (cell) => splitNames(cell) },
  language: { read: (cell) => englishLanguageName(cell.trim()) },
  whole: { read: wholeNumber, expected: 'a whole number' },
  id: { read: (cell) => wholeNumber(cell) || undefined, expected: 'a positive whole number' },
  seconds: { read: readSeconds, expected: 'a length such as 45 min, 1:02:30 or 2700 (seconds)' },
  boolean: { read: (cell) => booleans.get(cell.trim().toLowerCase()), expected: 'yes or no' },
  state: { read: (cell) => states.get(cell.trim().toLowerCase()), expected: 'live or draft' },
  day: { read: readDay, expected: 'a date such as 2031-05-17' },
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
  language: cellTypes.language,
  speakers: cellTypes.names,
  tags: cellTypes.names,
  state: cellTypes.state,
  duration: cellTypes.seconds,
  recorded: cellTypes.day,
  related: cellTypes.related,
  media: cellTypes.media,
}

function cellTypeOf(column: string): CellType {
  if (column.endsWith('_url')) return cellTypes.url
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

/** Completes an address of YouTube that was copied without its scheme. */
function withScheme(url: string): string {
  return /^(?:youtu\.be|(?:www\.|m\.)?youtube\.com)\//i.test(url) ? `https://${url}` : url
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

const quoteShort = (cell: string) => quote(cell.trim(), 40)
