import { type Fact, type Video, videoFields } from '@talkshelf/contract'
import { joinCells, joinNames, mainFields } from '../imports/imports.ts'

// Records as CSV, for spreadsheets. The importer reads the same columns. Labels, sizes and the
// values of sources are only in the NDJSON export.

/** Returns the line with the names of the columns. */
export function csvHeader(): string {
  return joinCells(columns)
}

/** Returns the line of a record, with the URLs of its facts. */
export function csvLine(video: Video, facts: readonly Fact[]): string {
  const urlsOf = (kind: 'related' | 'media') =>
    facts.flatMap((fact) => (fact.kind === kind ? [escapeUrl(fact.url)] : [])).join(' ')
  const cells = columns.map((column) => {
    if (column === 'related' || column === 'media') return urlsOf(column)
    const value = video[column]
    return Array.isArray(value) ? joinNames(value) : String(value ?? '')
  })
  return joinCells(cells)
}

const columns = [
  ...new Set(['id' as const, ...mainFields, ...videoFields]),
  'related',
  'media',
] as const

/** Escapes white space and final semicolons, which separate URLs. */
function escapeUrl(url: string): string {
  return url
    .replaceAll(/\s/g, encodeURIComponent)
    .replaceAll(/;(?=$|[a-z][a-z0-9+.-]*:\/\/)/gi, '%3B')
}
