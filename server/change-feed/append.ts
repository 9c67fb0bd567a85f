import { feedKinds } from '@talkshelf/contract'
import { takeLock, tryLock } from '../platform/db/advisory-lock.ts'
import type { Db } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import {
  appendEntries,
  appendTakedownAgain,
  type FeedKind,
  type FeedSubject,
  finishChanges,
  finishComparison,
  listDependents,
  listIds,
  listNextChanges,
  listVideosWith,
  startWindow,
} from './queries.ts'

/**
 * Appends the entries of the next changes. Returns whether there may be more; undefined if another
 * process is appending entries, so that nothing was done.
 *
 * An entry is written if, and only if, the public state differs from that in the newest entry.
 * It is the state of now and not of the change: a later change may already be in it, and then adds
 * no entry itself.
 */
export function appendNextEntries(pool: Pool, batchSize: number): Promise<boolean | undefined> {
  return pool.transaction(async (tx) => {
    if (!(await tryLock(tx, 'change feed'))) return undefined
    const window = await startWindow(tx)
    const { comparing, compared } = window
    const changes = await listNextChanges(tx, window, batchSize)
    const videoIds = changes.filter(({ kind }) => kind === 'video').map(({ id }) => id)
    const sourceIds = changes.filter(({ kind }) => kind === 'source').map(({ id }) => id)
    if (sourceIds.length > 0) videoIds.push(...(await listVideosWith(tx, sourceIds)))
    const entities = changes.flatMap(({ kind, id }): FeedSubject[] =>
      kind === 'video' || kind === 'source' ? [] : [{ kind, id }],
    )
    const ids = comparing === null ? [] : await listIds(tx, comparing, compared, batchSize)
    if (comparing === 'video') videoIds.push(...ids)
    else if (comparing !== null) entities.push(...ids.map((id) => ({ kind: comparing, id })))
    if (videoIds.length + entities.length > 0) {
      const dependents = await listDependents(tx, [...new Set(videoIds)], entities)
      await appendEntries(tx, inOrderOf(videoIds, dependents))
    }
    const isWindowRead = changes.length < batchSize
    await finishChanges(tx, isWindowRead ? undefined : changes.at(-1)?.position)
    if (comparing !== null) await finishComparison(tx, ...nextComparison(comparing, ids, batchSize))
    return comparing !== null || !isWindowRead
  })
}

/** Tells followers that the reason of a takedown has changed. Waits for others that append. */
export async function announceTakedown(tx: Db, id: number): Promise<void> {
  await takeLock(tx, 'change feed')
  await appendTakedownAgain(tx, id)
}

/** Sorts records by their first change. */
function inOrderOf(videoIds: readonly number[], subjects: readonly FeedSubject[]): FeedSubject[] {
  const order = new Map([...videoIds].reverse().map((id, index) => [id, -index]))
  const orderOf = ({ kind, id }: FeedSubject) => (kind === 'video' ? (order.get(id) ?? 1) : 1)
  return [...subjects].sort((a, b) => orderOf(a) - orderOf(b))
}

/** Returns what to compare after these ids of a kind. */
function nextComparison(
  kind: FeedKind,
  ids: readonly number[],
  batchSize: number,
): [FeedKind | null, number] {
  const last = ids.at(-1)
  if (last !== undefined && ids.length === batchSize) return [kind, last]
  return [feedKinds[feedKinds.indexOf(kind) + 1] ?? null, 0]
}
