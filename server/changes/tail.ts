import type { Db } from '../platform/db/db.ts'
import { findChangedSince, type Subject } from './queries.ts'

export interface Tail {
  /** Whether everything that was committed more than `boundMs` ago has been told. */
  isFresh(): boolean
  stop(): void
}

export interface TailOptions {
  subject: Subject
  intervalMs: number
  boundMs: number
  /** These changed, by whichever process. */
  onChanged(ids: readonly number[]): void
  /** Nobody knows what changed: forget everything. */
  onLost(): void
}

/**
 * Follows the changes of all processes by asking every few milliseconds. A notification inside each
 * write would serialise all writers; this costs one lookup, whatever the number of writes.
 */
export function startTail(
  db: Db,
  { subject, intervalMs, boundMs, onChanged, onLost }: TailOptions,
): Tail {
  let snapshot: string | undefined
  let server: string | undefined
  let freshUntilMs = 0
  let stopped = false
  let timer: NodeJS.Timeout | undefined

  async function look() {
    const startedMs = performance.now()
    try {
      const seen = await findChangedSince(db, subject, snapshot)
      // Another server, after a failover: its transaction numbers need not go on from the old
      // one's.
      if (snapshot === undefined || seen.server !== server) onLost()
      onChanged(seen.ids)
      ;({ server, snapshot } = seen)
      freshUntilMs = startedMs + boundMs
    } catch {
      snapshot = undefined
      freshUntilMs = 0
      onLost()
    }
    if (!stopped) timer = setTimeout(look, intervalMs).unref()
  }
  look()

  return {
    isFresh: () => performance.now() < freshUntilMs,
    stop() {
      stopped = true
      clearTimeout(timer)
    },
  }
}
