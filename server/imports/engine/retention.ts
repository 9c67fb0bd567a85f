import type { Db } from '../../platform/db/db.ts'
import { closeOldImports, deleteRows, findClosedImport } from './queries.ts'

// The rows of an import are about twice as large as its file. They are needed only to review and to
// undo it, so they are deleted after some time.

const rowsPerBatch = 500

/**
 * Deletes a batch of rows of imports that did not change for this many days. Returns 0 when none is
 * left. The summary of an import stays.
 */
export async function removeOldRows(db: Db, days: number): Promise<number> {
  const closed = await closeOldImports(db, days, 1)
  const old = await findClosedImport(db)
  return old ? deleteRows(db, old.id, rowsPerBatch) : closed
}
