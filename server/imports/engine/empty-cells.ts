import { type Fact, type Video, videoDefaults } from '@talkshelf/contract'
import type { ImportItem, ImportNote, ItemFields } from '../item.ts'
import type { RecordFields } from './merge.ts'

// Decides what the empty cells of a table mean. Spreadsheets of organisers are full of them, so a
// field keeps its value. In a table that was exported from here, the export had written every
// value: a cell that is empty now was emptied, and clears its field. No I/O.

export interface EmptyCells {
  /** The fields to clear, with their empty values. */
  readonly cleared: RecordFields
  /** How many cells are ignored although the record has a value. */
  readonly ignored: number
  readonly notes: readonly ImportNote[]
}

/**
 * Reads the empty cells of a row. `exported` is the version that the table was exported with, and
 * `facts` are those that the record will have.
 */
export function readEmptyCells(
  { emptyColumns = [], fields }: Pick<ImportItem, 'emptyColumns' | 'fields'>,
  exported: ItemFields | undefined,
  record: Video,
  facts: readonly Fact[],
): EmptyCells {
  const cleared: RecordFields = {}
  const notes: ImportNote[] = []
  let ignored = 0
  // A value for all talks, such as --category, is in the fields.
  for (const column of emptyColumns.filter((name) => !(name in fields))) {
    if (column === 'related' || column === 'media') {
      // The version of a record does not say which facts it had.
      if (facts.some(({ kind }) => kind === column)) ignored++
      continue
    }
    const field = column as keyof Video
    if (!exported) {
      if (hasValue(field, record[field])) ignored++
    } else if (isBlankCell(exported[field as keyof ItemFields])) continue
    else if (isClearable(field)) cleared[field] = videoDefaults[field]
    else notes.push({ kind: 'dropped', field, detail: cannotBeCleared })
  }
  return { cleared, ignored, notes }
}

const cannotBeCleared = 'is empty in the file, but every talk needs it: the value here stays'

const isClearable = (field: keyof Video): field is keyof typeof videoDefaults =>
  field in videoDefaults

function hasValue(field: keyof Video, value: unknown): boolean {
  const isDefault = isClearable(field) && isSame(value, videoDefaults[field])
  return !isDefault && !isBlankCell(value)
}

/** Returns whether an export writes a value as an empty cell, or one with white space only. */
function isBlankCell(value: unknown): boolean {
  return Array.isArray(value) ? value.length === 0 : String(value ?? '').trim() === ''
}

const isSame = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b)
