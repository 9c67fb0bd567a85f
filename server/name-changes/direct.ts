import { replaceTitleHash } from '../matches/matches.ts'
import { type Db, UniqueViolation } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import type { OwnerResult } from './owned.ts'
import { type FoundRow, listIndexColumns, updateRow } from './queries.ts'
import { type ColumnChange, withSuffix } from './replace.ts'
import type { SearchedTable } from './tables.ts'

// Replaces a name in a row directly, whichever feature owns it.

const nameColumns: Readonly<Record<string, string>> = {
  speaker: 'name',
  tag: 'name',
  category: 'title',
}

/** Changes columns of a row. A column whose new text is refused stays; the others are changed. */
export async function changeDirectly(
  pool: Pool,
  table: SearchedTable,
  row: FoundRow,
  found: readonly ColumnChange[],
): Promise<OwnerResult> {
  const changes = found.map((change) => ofMerged(table, row, change))
  try {
    return resultOf(await update(pool, table, row, changes), [])
  } catch (error) {
    if (error instanceof UniqueViolation) {
      const columns = await listIndexColumns(pool, error.index)
      const isUnique = ({ column }: ColumnChange) => columns.includes(column)
      const [unique, others] = [changes.filter(isUnique), changes.filter((it) => !isUnique(it))]
      const isSlug = unique.every(({ column }) => column === 'slug')
      // A key that another row has stays as it is: with another key it would be of another source.
      if (unique.length > 0)
        return isSlug
          ? changeOneByOne(pool, table, row, [...unique.map(withSuffix), ...others], [])
          : changeOneByOne(pool, table, row, others, unique)
    }
    if (!isRefusal(error)) throw error
    return changeOneByOne(pool, table, row, changes, [])
  }
}

/**
 * Returns the change of a column. A merged entity gets a name and a slug of its own, so that its
 * merge can be undone.
 */
function ofMerged(table: SearchedTable, { id }: FoundRow, change: ColumnChange): ColumnChange {
  if (!(table.name in nameColumns)) return change
  if (change.column === 'slug') return withSuffix(change)
  if (change.column !== nameColumns[table.name]) return change
  return { ...change, after: `${String(change.after).slice(0, 230)} (${id})` }
}

async function changeOneByOne(
  pool: Pool,
  table: SearchedTable,
  row: FoundRow,
  changes: readonly ColumnChange[],
  refusedBefore: readonly ColumnChange[],
): Promise<OwnerResult> {
  const refused = [...refusedBefore]
  let count = 0
  let { ctid } = row
  for (const change of changes)
    try {
      const changed = await update(pool, table, { ...row, ctid }, [change])
      // The new version of the row is at another place.
      if (changed) ({ ctid } = changed)
      if (changed) count++
    } catch (error) {
      if (!isRefusal(error)) throw error
      refused.push(change)
    }
  return resultOf(
    count > 0,
    refused.map(({ column }) => column),
  )
}

/** Updates a row, and what depends on it. Returns undefined if it was changed meanwhile. */
function update(
  pool: Pool,
  table: SearchedTable,
  row: FoundRow,
  changes: readonly ColumnChange[],
): Promise<{ ctid: string } | undefined> {
  if (changes.length === 0) return Promise.resolve(undefined)
  if (table.name !== 'match_item') return updateRow(pool, table, row.ctid, changes)
  return pool.transaction(async (tx) => {
    const changed = await updateRow(tx, table, row.ctid, changes)
    if (changed) await changeTitleHash(tx, row, changes)
    return changed
  })
}

/** Decisions about matches know titles by their hash. */
async function changeTitleHash(
  tx: Db,
  { data }: FoundRow,
  changes: readonly ColumnChange[],
): Promise<void> {
  const item = changes.find(({ column }) => column === 'item')
  if (!item) return
  const key = changes.find(({ column }) => column === 'key')
  const keys = [data.key, key?.after].filter((text) => typeof text === 'string')
  await replaceTitleHash(tx, keys, item.before, item.after)
}

/** Tells whether a constraint refuses the new text: usually it is too long, or taken. */
function isRefusal(error: unknown): boolean {
  if (error instanceof UniqueViolation) return true
  const { code } = error as { code?: unknown }
  return typeof code === 'string' && /^(22|23|54)/.test(code)
}

function resultOf(changed: unknown, refused: readonly string[]): OwnerResult {
  return { isChanged: Boolean(changed), records: [], refused }
}
