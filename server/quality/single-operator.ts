import type { Db } from '../platform/db/db.ts'
import {
  estimateLiveRecords,
  type FindingRow,
  type FindingSlice,
  findWithOperator,
  scanSingleOperator,
} from './queries.ts'

// Finds live talks that one operator has: most of an archive. There is no index of them, so the
// talks are scanned by their ids, in batches that grow while few are found.

const firstBatch = 200
const maxBatch = 50_000
/** Talks that are scanned for the count: a few more than findings are counted. */
const sampleSize = 12_000

/** Finds talks that one operator has, ordered by id. */
export async function findSingleOperator(
  db: Db,
  { way, after: start, offset, limit }: FindingSlice,
): Promise<FindingRow[]> {
  const ids: number[] = []
  let after = start
  for (let size = firstBatch; ids.length < offset + limit; size = Math.min(size * 4, maxBatch)) {
    const batch = await scanSingleOperator(db, { way, after, size })
    ids.push(...batch.ids)
    if (batch.scanned < size) break
    after = String(batch.last_id)
  }
  return findWithOperator(db, ids.slice(offset, offset + limit), way)
}

/**
 * Counts talks that one operator has. In an archive of more than 12,000 talks the count is an
 * estimate: their share in the first talks.
 */
export async function countSingleOperator(
  db: Db,
  maxCount: number,
): Promise<{ readonly count: number; readonly isExact: boolean }> {
  const { scanned, ids } = await scanSingleOperator(db, {
    way: 'next',
    after: undefined,
    size: sampleSize,
  })
  if (scanned < sampleSize && ids.length <= maxCount) return { count: ids.length, isExact: true }
  const talks = Math.max(scanned, await estimateLiveRecords(db))
  return { count: Math.round((ids.length / scanned) * talks), isExact: false }
}
