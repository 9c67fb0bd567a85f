import { mayAct, Problem, type Video } from '@talkshelf/contract'
import type { Actor } from '../platform/actor.ts'
import type { Db } from '../platform/db/db.ts'
import { type BodyRow, findBody, findDrafts, lockVideo } from './queries.ts'
import type { CachedBody, RecordCache } from './record-cache.ts'

// Reads single records and decides who may see them.

/**
 * Reads a record for an actor. Only editors see drafts, and editors always get the current version;
 * other readers may get a cached one. For a record that was merged, returns the one into which it
 * was merged, which has another id.
 */
export function readVideo(
  recordCache: RecordCache,
  actor: Actor,
  id: number,
): CachedBody | Promise<CachedBody> {
  if (mayAct(actor.role, 'editor')) return readMerged(recordCache, id).then(assertPresent)
  const recent = recordCache.readRecent(id)
  // A cached record is live, and a live record was not merged.
  if (!(recent instanceof Promise)) return assertPublished(recent)
  return recent
    .then((row) => (row?.merged_into ? readMerged(recordCache, row.merged_into) : row))
    .then(assertPublished)
}

/** Reads a record, or the one into which it was merged. */
async function readMerged(recordCache: RecordCache, id: number): Promise<CachedBody | undefined> {
  const row = await recordCache.read(id)
  return row?.merged_into ? readMerged(recordCache, row.merged_into) : row
}

/** Returns the row of a live record. Throws 404 for drafts as well. */
function assertPublished(row: CachedBody | undefined): CachedBody {
  const present = assertPresent(row)
  if (!present.live) notFound()
  return present
}

/**
 * Reads the current version of a record, also of a draft. Throws 404 or 410 as `assertPresent`, and
 * 409 if the record was merged into another one.
 */
export async function readCurrent(db: Db, id: number): Promise<BodyRow> {
  return assertNotMerged(await readPresent(db, id))
}

/** Reads the current version of a record as `readCurrent`, also of one that was merged. */
export async function readPresent(db: Db, id: number): Promise<BodyRow> {
  return assertPresent(await findBody(db, id))
}

/** Reads the current version of a record, also of a draft, with its revision. */
export async function readCurrentVideo(
  db: Db,
  id: number,
): Promise<{ video: Video; revision: number }> {
  const { body, revision } = await readCurrent(db, id)
  return { video: JSON.parse(body) as Video, revision }
}

/** Lists drafts with this text in their title, or all; the latest change first. */
export async function listDrafts(
  db: Db,
  text: string,
  limit: number,
  offset: number,
): Promise<Video[]> {
  const rows = await findDrafts(db, text.trim(), limit, offset)
  return rows.map(({ body }) => JSON.parse(body) as Video)
}

/** Locks a record until the end of the transaction and reads its current version, or throws. */
export async function lockCurrent(tx: Db, id: number): Promise<BodyRow> {
  await lockVideo(tx, id)
  return readCurrent(tx, id)
}

/** Returns the row. Throws 404 if there is none, 410 if the record was taken down. */
export function assertPresent<T extends BodyRow>(row: T | undefined): T {
  if (!row) notFound()
  if (row.taken_down)
    throw new Problem(
      'taken-down',
      `This record was taken down on ${row.taken_down.taken_down}`,
      row.taken_down,
    )
  return row
}

/** Returns the row. Throws 409 if the record was merged into another one. */
export function assertNotMerged(row: BodyRow): BodyRow {
  const { merged_into } = row
  if (merged_into === null) return row
  throw new Problem(
    'merged',
    `This record was merged into record ${merged_into}. Nothing was changed`,
    { merged_into },
  )
}

function notFound(): never {
  throw new Problem('not-found', 'This record does not exist')
}
