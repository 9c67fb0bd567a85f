import type { Db } from '../../platform/db/db.ts'
import { closeOldImports, deleteRows, findClosedImport } from './queries.ts'

// Rows of imports are about twice as large as the files, and hold what was read: names, texts and
// notes. They are needed to look at an import and to undo it, so they are kept for some time only.

const rowsPerBatch = 500

/**
 * Removes a batch of rows of imports that did not move for this many days. Returns how many were
 * removed: 0 when none is left. The summary of an import stays.
 */
export async function removeOldRows(db: Db, days: number): Promise<number> {
  const closed = await closeOldImports(db, days, 1)
  const old = await findClosedImport(db)
  return old ? deleteRows(db, old.id, rowsPerBatch) : closed
}
