import { mayAct, Problem } from '@talkshelf/contract'
import type { Actor } from '../platform/actor.ts'
import type { Db } from '../platform/db/db.ts'
import { type BodyRow, findBody, lockVideo } from './queries.ts'
import type { CachedBody, RecordCache } from './record-cache.ts'

/**
 * The record for this reader. A draft is only there for editors, and editors always see what is
 * there now.
 */
export function readVideo(
  recordCache: RecordCache,
  actor: Actor,
  id: number,
): CachedBody | Promise<CachedBody> {
  if (mayAct(actor.role, 'editor')) return recordCache.read(id).then((row) => assertPresent(row))
  const found = recordCache.readRecent(id)
  return found instanceof Promise ? found.then(published) : published(found)
}

function published(row: CachedBody | undefined): CachedBody {
  const it = assertPresent(row)
  if (!it.live) notFound()
  return it
}

/** The record whoever asks, as long as it is there. */
export async function readCurrent(db: Db, id: number): Promise<BodyRow> {
  return assertPresent(await findBody(db, id))
}

/** The same, and nobody changes it until the end of the transaction. */
export async function lockCurrent(tx: Db, id: number): Promise<BodyRow> {
  await lockVideo(tx, id)
  return readCurrent(tx, id)
}

/** The row, as long as the record is there: otherwise 404 or 410. */
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

function notFound(): never {
  throw new Problem('not-found', 'There is no such record')
}
