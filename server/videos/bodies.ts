import { LRUCache } from 'lru-cache'
import { startTail, type Tail } from '../changes/changes.ts'
import type { Db } from '../platform/db/db.ts'
import { type BodyRow, findBodies } from './queries.ts'

// The hot path: ready bodies by id. Lookups of one turn of the event loop go to the database as one; the most wanted bodies stay in
// memory, for a storm on one record. What is served from memory is at most `staleMs` old, whichever process changed the record.

export const staleMs = 1000
const lookEveryMs = 100
const mostAtOnce = 100

export interface Bodies {
  /** As the database has it now. */
  read(id: number): Promise<BodyRow | undefined>
  /** The same, or what it was at most `staleMs` ago: then it is there at once. */
  readRecent(id: number): BodyRow | Promise<BodyRow | undefined>
  /** This process changed the record. */
  forget(id: number): void
  stop(): void
}

export function openBodies(lookups: Db, cacheBytes: number, onRead: (from: 'memory' | 'database') => void): Bodies {
  const kept =
    cacheBytes > 0 ? new LRUCache<number, BodyRow>({ maxSize: cacheBytes, sizeCalculation: ({ body }) => body.length + 500 }) : undefined
  // When an id was last told to have changed. A lookup that began before that may bring the old body, which must not be kept.
  const changed = new Map<number, number>()
  const tail: Tail | undefined =
    kept && startTail(lookups, { subject: 'video', intervalMs: lookEveryMs, boundMs: staleMs, onChanged, onLost })

  function onChanged(ids: readonly number[]) {
    const nowMs = performance.now()
    for (const id of ids) {
      kept?.delete(id)
      changed.set(id, nowMs)
    }
    // Longer than any lookup can take.
    for (const [id, atMs] of changed) if (atMs < nowMs - 10_000) changed.delete(id)
  }

  let lostMs = 0
  function onLost() {
    kept?.clear()
    lostMs = performance.now()
  }

  let waiting = new Map<number, PromiseWithResolvers<BodyRow | undefined>>()
  function read(id: number): Promise<BodyRow | undefined> {
    let one = waiting.get(id)
    if (!one) {
      if (waiting.size === 0) setImmediate(ask)
      one = Promise.withResolvers()
      waiting.set(id, one)
      if (waiting.size >= mostAtOnce) ask()
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
        if (row.live && beganMs > Math.max(lostMs, changed.get(row.id) ?? 0)) kept?.set(row.id, row)
        asked.get(row.id)?.resolve(row)
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
