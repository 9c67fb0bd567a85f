import type { Db } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import {
  deleteFingerprints,
  deleteResolvedCandidates,
  findResolvedCandidates,
  listFingerprints,
  lockRecords,
} from './queries.ts'

// Keys by which duplicates are noticed stay when a record changes or is taken down.

const keysPerBatch = 2000
const keysPerLock = 500

/** Removes keys that no record has any more, and suspects that are resolved. Returns how many. */
export async function removeUnusedFingerprints(
  pool: Pool,
  isStopped: () => boolean,
): Promise<number> {
  const locked = (remove: (tx: Db) => Promise<number>) =>
    pool.transaction(async (tx) => {
      await lockRecords(tx)
      return remove(tx)
    })
  let removed = 0
  while (!isStopped()) {
    const resolved = await findResolvedCandidates(pool, keysPerLock)
    if (resolved.length > 0) removed += await locked((tx) => deleteResolvedCandidates(tx, resolved))
    if (resolved.length < keysPerLock) break
  }
  for (let after = -1; !isStopped(); ) {
    const keys = await listFingerprints(pool, after, keysPerBatch)
    const unused = keys.flatMap(({ key, unused }) => (unused ? key : []))
    for (let at = 0; at < unused.length; at += keysPerLock)
      removed += await locked((tx) => deleteFingerprints(tx, unused.slice(at, at + keysPerLock)))
    const last = keys.at(-1)
    if (last === undefined || keys.length < keysPerBatch) break
    after = last.key
  }
  return removed
}
