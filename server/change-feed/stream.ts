import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Db } from '../platform/db/db.ts'
import type { FeedFollower } from './follow.ts'
import { type FeedFilter, formatCursor, matches, toEntry } from './page.ts'
import { type EntryRow, listEntries, type Position } from './queries.ts'
import { openSharedReads } from './shared-reads.ts'

// Server-Sent Events. New entries are read once for all connections of the process.

export interface StreamLimits {
  /** Interval of comments, which keep proxies from closing the connection. */
  readonly keepAliveMs: number
  /** After this time the connection is closed and the client reconnects; ± a fifth. */
  readonly longestMs: number
  /** A client that reads nothing for this time is disconnected. */
  readonly stalledMs: number
}

const defaultStreamLimits: StreamLimits = {
  keepAliveMs: 15_000,
  longestMs: 600_000,
  stalledMs: 30_000,
}

export interface FeedStreams {
  /** Sends entries until the client or the server ends it. The headers must have been sent. */
  send(raw: ServerResponse, since: Position, filter: FeedFilter): void
  stop(): void
}

const maxRecent = 1000
const chunkSize = 500
/** Streams that are written to without a pause. Other requests are answered in the pauses. */
const streamsAtOnce = 10
const pauseMs = 1

/** Opens the streams of a process. */
export function openFeedStreams(
  db: Db,
  follower: FeedFollower,
  limits: StreamLimits = defaultStreamLimits,
): FeedStreams {
  const streams = new Set<Stream>()
  const readRecent = openRecentEntries(db)

  async function advance(stream: Stream): Promise<void> {
    if (stream.isBusy) return
    stream.isBusy = true
    try {
      while (!stream.raw.destroyed && stream.position.seq < (follower.head()?.seq ?? 0)) {
        const rows = await readRecent(stream.position.seq)
        if (rows.length === 0) break
        const text = rows.flatMap((row) => (stream.isWanted(row) ? eventOf(row) : [])).join('')
        stream.position = rows.at(-1) as EntryRow
        if (text === '' || stream.raw.write(text)) continue
        // Rejects after that time; then the connection is closed.
        await once(stream.raw, 'drain', { signal: AbortSignal.timeout(limits.stalledMs) })
      }
    } catch {
      // The client reconnects and continues where it was.
      stream.raw.destroy()
    } finally {
      stream.isBusy = false
    }
  }

  /** Writes the new entries to all streams, with pauses. */
  async function advanceAll(): Promise<void> {
    if (isAdvancing) {
      hasNewEntries = true
      return
    }
    isAdvancing = true
    do {
      hasNewEntries = false
      let written = 0
      for (const stream of [...streams]) {
        void advance(stream)
        if (++written % streamsAtOnce === 0) await sleep(pauseMs)
      }
    } while (hasNewEntries)
    isAdvancing = false
  }
  let [isAdvancing, hasNewEntries] = [false, false]

  const stopListening = follower.onEntries(() => void advanceAll())
  const timer = setInterval(() => {
    const now = performance.now()
    for (const { raw, endMs } of streams)
      if (now > endMs) raw.end()
      else if (!raw.writableNeedDrain) raw.write(':\n\n')
  }, limits.keepAliveMs).unref()

  return {
    send(raw, since, filter) {
      const endMs = performance.now() + limits.longestMs * (0.8 + 0.4 * Math.random())
      const stream = { raw, position: since, isWanted: matches(filter), isBusy: false, endMs }
      streams.add(stream)
      raw.once('close', () => streams.delete(stream))
      // The cursor, so that a client that gets no entry before it reconnects continues here.
      raw.write(`retry: 3000\nid: ${formatCursor(since)}\n\n`)
      void advance(stream)
    },
    stop() {
      stopListening()
      clearInterval(timer)
      for (const { raw } of streams) raw.end()
    },
  }
}

interface Stream {
  readonly raw: ServerResponse
  position: Position
  isBusy: boolean
  readonly endMs: number
  isWanted(row: EntryRow): boolean
}

/** Returns a function that reads entries after a number, from memory if they are recent. */
function openRecentEntries(db: Db): (seq: number) => Promise<readonly EntryRow[]> {
  let recent: readonly EntryRow[] = []
  const shared = openSharedReads<number, readonly EntryRow[]>()

  async function read(seq: number): Promise<readonly EntryRow[]> {
    const rows = await listEntries(db, seq, chunkSize)
    // Others may have been read in the meantime.
    const last = recent.at(-1)?.seq
    if (last === undefined || seq > last) recent = rows
    else if (seq === last) recent = [...recent, ...rows].slice(-maxRecent)
    return rows
  }

  return (seq) => {
    const [first, last] = [recent[0]?.seq, recent.at(-1)?.seq]
    if (first !== undefined && last !== undefined && seq >= first - 1 && seq < last)
      return Promise.resolve(recent.slice(seq - first + 1))
    return shared(seq, () => read(seq))
  }
}

const events = new WeakMap<EntryRow, string>()

function eventOf(row: EntryRow): string {
  let event = events.get(row)
  if (event === undefined) {
    event = `id: ${formatCursor(row)}\ndata: ${JSON.stringify(toEntry(row))}\n\n`
    events.set(row, event)
  }
  return event
}
