import { LRUCache } from 'lru-cache'
import { startTail, type Tail } from '../changes/changes.ts'
import type { Db } from '../platform/db/db.ts'
import { type BodyRow, findBodies } from './queries.ts'

// The hot read path: rendered bodies by id. Lookups of one turn of the event loop are sent to the
// database as one query, and the most recently used bodies are cached in memory. A cached body is
// at most `maxStaleMs` old, whichever process changed the record.

export const maxStaleMs = 1000
const pollIntervalMs = 100
const maxBatchSize = 100
/** Longer than any lookup can take, whatever ANSWER_SECONDS is. */
const maxLookupMs = 120_000

/** A row with values that are the same in every response. */
export interface CachedBody extends BodyRow {
  /** The time of the last change in the format of HTTP headers. */
  readonly lastModifiedHeader: string
}

export interface RecordCache {
  /** Reads the current row from the database. */
  read(id: number): Promise<CachedBody | undefined>
  /** Returns a cached row that is at most `maxStaleMs` old, synchronously, or reads it. */
  readRecent(id: number): CachedBody | Promise<CachedBody | undefined>
  /** Drops a record that this process changed. */
  forget(id: number): void
  stop(): void
}

/** Opens the cache. With a size of 0 it only batches lookups. */
export function openRecordCache(
  lookups: Db,
  cacheBytes: number,
  onRead: (from: 'memory' | 'database') => void,
): RecordCache {
  const cache =
    cacheBytes > 0
      ? new LRUCache<number, CachedBody>({
          maxSize: cacheBytes,
          sizeCalculation: ({ body }) => body.length + 500,
        })
      : undefined
  // When a change of an id was last reported. A lookup that started before may return the old body,
  // which must not be cached.
  const changedMs = new Map<number, number>()
  let sweptMs = 0
  function onChanged(ids: readonly number[]) {
    const nowMs = performance.now()
    for (const id of ids) {
      cache?.delete(id)
      changedMs.set(id, nowMs)
    }
    if (nowMs < sweptMs + 1000) return
    sweptMs = nowMs
    for (const [id, atMs] of changedMs) if (atMs < nowMs - maxLookupMs) changedMs.delete(id)
  }

  let lostMs = 0
  function onLost() {
    cache?.clear()
    lostMs = performance.now()
  }

  const tail: Tail | undefined =
    cache &&
    startTail(lookups, {
      subject: 'video',
      intervalMs: pollIntervalMs,
      boundMs: maxStaleMs,
      onChanged,
      onLost,
    })

  const read = batchById(async (ids) => {
    const startedMs = performance.now()
    const bodies = (await findBodies(lookups, ids)).map(withDate)
    for (const body of bodies)
      if (body.live && startedMs > Math.max(lostMs, changedMs.get(body.id) ?? 0))
        cache?.set(body.id, body)
    return bodies
  })

  return {
    read,
    readRecent(id) {
      const cached = tail?.isFresh() ? cache?.get(id) : undefined
      onRead(cached ? 'memory' : 'database')
      return cached ?? read(id)
    },
    forget: (id) => onChanged([id]),
    stop: () => tail?.stop(),
  }
}

function withDate(row: BodyRow): CachedBody {
  return { ...row, lastModifiedHeader: new Date(row.updated_ms).toUTCString() }
}

/** Groups the ids that are read in one turn of the event loop into one lookup. */
function batchById<T extends { readonly id: number }>(
  findRows: (ids: number[]) => Promise<T[]>,
): (id: number) => Promise<T | undefined> {
  let pending = new Map<number, PromiseWithResolvers<T | undefined>>()

  async function flush() {
    const batch = pending
    if (batch.size === 0) return
    pending = new Map()
    try {
      for (const row of await findRows([...batch.keys()])) {
        batch.get(row.id)?.resolve(row)
        batch.delete(row.id)
      }
      for (const { resolve } of batch.values()) resolve(undefined)
    } catch (error) {
      for (const { reject } of batch.values()) reject(error)
    }
  }

  return (id) => {
    let lookup = pending.get(id)
    if (!lookup) {
      if (pending.size === 0) setImmediate(flush)
      lookup = Promise.withResolvers()
      pending.set(id, lookup)
      if (pending.size >= maxBatchSize) flush()
    }
    return lookup.promise
  }
}
