import type { RefusedRows } from '@talkshelf/contract'
import type { Db } from '../platform/db/db.ts'
import { type ImportJob, type ImportRow, listRefusedRows } from './engine/queries.ts'
import { findColumn, refusedColumn } from './formats/csv-columns.ts'
import { fieldCells, joinCells } from './formats/csv-write.ts'
import { fieldsOfNewRecord } from './item.ts'

// The refused rows of an import as a table, to correct and import again.

export interface TableLimits {
  readonly rows: number
  /** The length of the text. The first row may exceed it. */
  readonly length: number
}

/**
 * Builds a table of the refused rows after a position, as many as fit, and lists those without
 * cells. The event and the language that the import was given are in every row, so that the table
 * can be imported without them.
 */
export async function readRefusedRows(
  db: Db,
  { id, options: { category, language } }: Pick<ImportJob, 'id' | 'options'>,
  after: number,
  limits: TableLimits,
): Promise<RefusedRows> {
  const given = Object.entries({ category, language }).filter(([, value]) => value !== undefined)
  const found = await listRefusedRows(db, id, after, limits.rows + 1)
  const rows = found.slice(0, limits.rows)
  const allRows = rows.map((row): TableRow => {
    const cells = withGiven(cellsOf(row), given as [string, string][])
    return { position: row.position, place: row.place, cells, reasons: reasonsOf(row) }
  })
  const tableRows = allRows.filter(({ cells }) => cells.size > 0)
  const omittedUpTo = (end: number) =>
    allRows.flatMap(({ position, place, cells, reasons }) =>
      cells.size === 0 && position <= end ? [{ position, place, reason: reasons }] : [],
    )
  const headers = [...new Set(tableRows.flatMap(({ cells }) => [...cells.keys()]))]
  let csv = joinCells([...headers, refusedColumn])
  let count = 0
  let last = after
  for (const { position, cells, reasons } of tableRows) {
    const line = joinCells([...headers.map((header) => cells.get(header) ?? ''), reasons])
    if (count > 0 && csv.length + line.length > limits.length)
      return { csv, rows: count, omitted: omittedUpTo(last), next_after: last }
    csv += line
    count++
    last = position
  }
  return {
    csv,
    rows: count,
    omitted: omittedUpTo(Number.POSITIVE_INFINITY),
    next_after: found.length > rows.length ? (rows.at(-1)?.position ?? after) : null,
  }
}

interface TableRow {
  readonly position: number
  readonly place: string
  /** Empty if the row cannot be corrected in a table. */
  readonly cells: ReadonlyMap<string, string>
  readonly reasons: string
}

function reasonsOf({ notes }: ImportRow): string {
  const reasons = notes.filter(({ kind }) => kind === 'refused')
  return reasons.map(({ detail }) => detail).join('; ')
}

/** Returns the cells of a row. One that was refused when it was applied has those of its talk. */
function cellsOf({ item, verdict }: ImportRow): Map<string, string> {
  if (item?.cells) return new Map(item.cells)
  return new Map(item && verdict !== 'refused' ? fieldCells(fieldsOfNewRecord(item)) : [])
}

/** Adds the values that the import was given, unless the row has a column for them. */
function withGiven(
  cells: Map<string, string>,
  given: readonly (readonly [column: string, value: string])[],
): Map<string, string> {
  if (cells.size === 0) return cells
  const present = new Set([...cells.keys()].map(findColumn))
  for (const [column, value] of given) if (!present.has(column)) cells.set(column, value)
  return cells
}
