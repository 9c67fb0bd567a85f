import { type Fact, type Video, videoFields } from '@talkshelf/contract'

// Records as a table, for spreadsheets. The importer reads the same columns back; labels, sizes and
// what sources said are in the export in lines only.

export function csvHeader(): string {
  return lineOf(columns)
}

export function csvLine(video: Video, facts: readonly Fact[]): string {
  const addresses = (kind: 'related' | 'media') =>
    facts.flatMap((fact) => (fact.kind === kind ? [oneAddress(fact.url)] : [])).join(' ')
  const cells = columns.map((column) => {
    if (column === 'related' || column === 'media') return addresses(column)
    const value = video[column]
    return Array.isArray(value) ? value.map(oneName).join('; ') : String(value ?? '')
  })
  return lineOf(cells)
}

const mainFields = [
  'id',
  'title',
  'category',
  'language',
  'speakers',
  'tags',
  'recorded',
  'duration',
  'source_url',
  'state',
] as const
const columns = [...new Set([...mainFields, ...videoFields]), 'related', 'media'] as const

function lineOf(cells: readonly string[]): string {
  return `${cells.map(quoted).join(',')}\r\n`
}

// A cell that begins so is a formula to a spreadsheet, and runs with the rights of whoever opens
// it. One that already has the mark gets another, or it would lose its own when it is read.
function quoted(cell: string): string {
  const guarded = /^'*[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell
  return /[",\r\n]|^\s|\s$/.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded
}

/** Semicolons separate names. */
function oneName(name: string): string {
  return name.replaceAll(/[\\;]/g, '\\$&')
}

/** Space separates addresses, and so does a semicolon at the end of one. */
function oneAddress(url: string): string {
  return url
    .replaceAll(/\s/g, encodeURIComponent)
    .replaceAll(/;(?=$|[a-z][a-z0-9+.-]*:\/\/)/gi, '%3B')
}
