import type { ItemFields } from '../item.ts'

// Writes cells of a table. No I/O.

/** Joins cells to a line. */
export function joinCells(cells: readonly string[]): string {
  return `${cells.map(quoteCell).join(',')}\r\n`
}

// Spreadsheets run a cell that starts with one of these characters as a formula (CSV injection), so
// that it gets an apostrophe, which the importer removes. A cell that already starts with one gets
// another, because the importer would remove its own.
function quoteCell(cell: string): string {
  const guarded = /^'*[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell
  return /[",\r\n]|^\s|\s$/.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded
}

/** Joins names to a cell. Escapes semicolons, which separate them. */
export function joinNames(names: readonly unknown[]): string {
  return names.map((name) => String(name).replaceAll(/[\\;]/g, '\\$&')).join('; ')
}

/** Converts the fields of a talk to cells. */
export function fieldCells(fields: ItemFields): [string, string][] {
  return Object.entries(fields).flatMap(([field, value]): [string, string][] => {
    if (value === null || value === undefined) return []
    return [[field, Array.isArray(value) ? joinNames(value) : String(value)]]
  })
}
