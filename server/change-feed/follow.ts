import { EventEmitter, once } from 'node:events'
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

/** After an error. */
const retryMs = 1000

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

  async function poll(): Promise<void> {
    let nextMs = intervalMs
    try {
      let current = await readHead(pool.lookups)
      if (current.isBehind && !stopping.signal.aborted) {
        while (!stopping.signal.aborted && (await appendNextEntries(pool)));
        current = await readHead(pool.lookups)
      }
      const isNew = current.seq !== head?.seq || current.isReady !== head.isReady
      head = current
      isFailing = false
      if (!current.isBehind) completeMs = performance.now()
      if (isNew) events.emit('entries')
    } catch (error) {
      head = undefined
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
