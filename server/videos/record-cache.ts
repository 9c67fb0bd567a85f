import { LRUCache } from 'lru-cache'
import { startTail, type Tail } from '../changes/changes.ts'
import type { Db } from '../platform/db/db.ts'
import { type BodyRow, findBodies } from './queries.ts'

// The hot path: ready bodies by id. Lookups of one turn of the event loop go to the database as
// one; the most wanted bodies stay in memory, for a storm on one record. What is served from memory
// is at most `staleMs` old, whichever process changed the record.

export const maxStaleMs = 1000
const lookEveryMs = 100
const maxAtOnce = 100

/** A row as it is kept: with what would be the same for every answer. */
export interface CachedBody extends BodyRow {
  /** The second of the last change, as HTTP writes it. */
  readonly dated: string
}

export interface RecordCache {
  /** As the database has it now. */
  read(id: number): Promise<CachedBody | undefined>
  /** The same, or what it was at most `staleMs` ago: then it is there at once. */
  readRecent(id: number): CachedBody | Promise<CachedBody | undefined>
  /** This process changed the record. */
  forget(id: number): void
  stop(): void
}

export function openRecordCache(
  lookups: Db,
  cacheBytes: number,
  onRead: (from: 'memory' | 'database') => void,
): RecordCache {
  const kept =
    cacheBytes > 0
      ? new LRUCache<number, CachedBody>({
          maxSize: cacheBytes,
          sizeCalculation: ({ body }) => body.length + 500,
        })
      : undefined
  // When an id was last told to have changed. A lookup that began before that may bring the old
  // body, which must not be kept.
  const changed = new Map<number, number>()
  const tail: Tail | undefined =
    kept &&
    startTail(lookups, {
      subject: 'video',
      intervalMs: lookEveryMs,
      boundMs: maxStaleMs,
      onChanged,
      onLost,
    })

  let sweptMs = 0
  function onChanged(ids: readonly number[]) {
    const nowMs = performance.now()
    for (const id of ids) {
      kept?.delete(id)
      changed.set(id, nowMs)
    }
    if (nowMs < sweptMs + 1000) return
    sweptMs = nowMs
    // Longer than any lookup can take, whatever ANSWER_SECONDS is.
    for (const [id, atMs] of changed) if (atMs < nowMs - 120_000) changed.delete(id)
  }

  let lostMs = 0
  function onLost() {
    kept?.clear()
    lostMs = performance.now()
  }

  let waiting = new Map<number, PromiseWithResolvers<CachedBody | undefined>>()
  function read(id: number): Promise<CachedBody | undefined> {
    let one = waiting.get(id)
    if (!one) {
      if (waiting.size === 0) setImmediate(ask)
      one = Promise.withResolvers()
      waiting.set(id, one)
      if (waiting.size >= maxAtOnce) ask()
    }
    return one.promise
  }

  async function ask() {
    const asked = waiting
    if (asked.size === 0) return
    waiting = new Map()
    const beganMs = performance.now()
    try {
      const rows = await findBodies(lookups, [...asked.keys()])
      for (const row of rows) {
        const body = { ...row, dated: new Date(row.updated_ms).toUTCString() }
        if (row.live && beganMs > Math.max(lostMs, changed.get(row.id) ?? 0))
          kept?.set(row.id, body)
        asked.get(row.id)?.resolve(body)
        asked.delete(row.id)
      }
      for (const { resolve } of asked.values()) resolve(undefined)
    } catch (error) {
      for (const { reject } of asked.values()) reject(error)
    }
  }

  return {
    read,
    readRecent(id) {
      const found = tail?.isFresh() ? kept?.get(id) : undefined
      onRead(found ? 'memory' : 'database')
      return found ?? read(id)
    },
    forget: (id) => onChanged([id]),
    stop: () => tail?.stop(),
  }
}
