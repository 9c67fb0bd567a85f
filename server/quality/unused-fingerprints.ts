import type { Db } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import {
  deleteFingerprints,
  deleteResolvedCandidates,
  findResolvedCandidates,
  listFingerprints,
  lockRecords,
} from './queries.ts'

// The fingerprints that detect duplicates are not deleted when a record changes or is taken down.
// This removes them later.

const keysPerBatch = 2000
const keysPerLock = 500

/**
 * Deletes fingerprints that no record has any more and duplicate candidates that are resolved.
 * Returns how many rows were deleted.
 */
export async function removeUnusedFingerprints(
  pool: Pool,
  isStopped: () => boolean,
): Promise<number> {
  const withLock = (work: (tx: Db) => Promise<number>) =>
    pool.transaction(async (tx) => {
      await lockRecords(tx)
      return work(tx)
    })
  let removed = 0
  while (!isStopped()) {
    const resolved = await findResolvedCandidates(pool, keysPerLock)
    if (resolved.length > 0)
      removed += await withLock((tx) => deleteResolvedCandidates(tx, resolved))
    if (resolved.length < keysPerLock) break
  }
  for (let after = -1; !isStopped(); ) {
    const keys = await listFingerprints(pool, after, keysPerBatch)
    const unused = keys.flatMap(({ key, unused }) => (unused ? key : []))
    for (let start = 0; start < unused.length; start += keysPerLock) {
      const batch = unused.slice(start, start + keysPerLock)
      removed += await withLock((tx) => deleteFingerprints(tx, batch))
    }
    const last = keys.at(-1)
    if (last === undefined || keys.length < keysPerBatch) break
    after = last.key
  }
  return removed
}
