import { EventEmitter, once } from 'node:events'
import { Unavailable } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import { appendNextEntries } from './append.ts'
import { type Head, readHead } from './queries.ts'

export interface FeedFollower {
  /** Returns how far the feed is, or undefined if that is unknown. */
  head(): Head | undefined
  /** Returns for how many seconds the feed has not had all changes. */
  behindSeconds(): number
  /** Resolves when the feed has an entry after this one, or the signal aborts. */
  whenAfter(seq: number, signal: AbortSignal): Promise<void>
  /** Calls the listener whenever there are new entries. Returns a function that stops that. */
  onEntries(listener: () => void): () => void
  stop(): Promise<void>
}

export interface FollowOptions {
  /** Polling interval; 0 disables polling. */
  readonly intervalMs: number
  /** Reports that the feed cannot be read or extended; once until it works again. */
  onError(error: unknown): void
}

/** While another process appends entries: it is usually done sooner than the next poll. */
const soonMs = 20
/** After an error. */
const retryMs = 1000
/** Small enough that a batch usually takes a fraction of the statement timeout. */
const maxBatchSize = 500

/**
 * Keeps the feed up to date and reports new entries, by polling: a poll costs one lookup. Every
 * process does this; one of them appends at a time.
 */
export function followFeed(pool: Pool, { intervalMs, onError }: FollowOptions): FeedFollower {
  const events = new EventEmitter().setMaxListeners(0)
  const stopping = new AbortController()
  let head: Head | undefined
  let timer: NodeJS.Timeout | undefined
  let isFailing = false
  let completeMs = performance.now()
  let batchSize = maxBatchSize

  function show(current: Head): void {
    const isNew = current.seq !== head?.seq || current.isReady !== head.isReady
    head = current
    if (!current.isBehind) completeMs = performance.now()
    if (isNew) events.emit('entries')
  }

  /**
   * Appends a batch; a smaller one after one that took too long. Returns whether there is more, or
   * undefined if another process is appending entries.
   */
  async function append(): Promise<boolean | undefined> {
    try {
      const hasMore = await appendNextEntries(pool, batchSize)
      batchSize = Math.min(maxBatchSize, batchSize * 2)
      return hasMore
    } catch (error) {
      if (error instanceof Unavailable && error.isTooSlow)
        batchSize = Math.max(1, Math.floor(batchSize / 4))
      throw error
    }
  }

  async function poll(): Promise<void> {
    let nextMs = intervalMs
    try {
      let current = await readHead(pool.lookups)
      show(current)
      // Shown after each batch: a large import has many of them.
      let hasMore: boolean | undefined = current.isBehind
      while (hasMore && !stopping.signal.aborted) {
        hasMore = await append()
        current = await readHead(pool.lookups)
        show(current)
      }
      if (hasMore === undefined) nextMs = Math.min(soonMs, intervalMs)
      isFailing = false
    } catch (error) {
      nextMs = retryMs
      if (!isFailing && !stopping.signal.aborted) onError(error)
      isFailing = true
    }
    if (stopping.signal.aborted) return
    timer = setTimeout(() => {
      polling = poll()
    }, nextMs).unref()
  }
  let polling = intervalMs > 0 ? poll() : Promise.resolve()

  return {
    head: () => head,
    behindSeconds: () => Math.max(0, performance.now() - completeMs - intervalMs) / 1000,
    async whenAfter(seq, signal) {
      const ended = AbortSignal.any([signal, stopping.signal])
      while (!ended.aborted && (head?.seq ?? 0) <= seq)
        await once(events, 'entries', { signal: ended }).catch(() => {})
    },
    onEntries(listener) {
      events.on('entries', listener)
      return () => events.off('entries', listener)
    },
    async stop() {
      stopping.abort()
      clearTimeout(timer)
      await polling
    },
  }
}
