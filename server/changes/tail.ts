import type { Db } from '../platform/db/db.ts'
import { findChangedSince, type Subject } from './queries.ts'

export interface Tail {
  /** Whether all changes that were committed more than `boundMs` ago have been reported. */
  isFresh(): boolean
  stop(): void
}

export interface TailOptions {
  subject: Subject
  intervalMs: number
  boundMs: number
  /** Reports ids that this or another process changed. */
  onChanged(ids: readonly number[]): void
  /** Changes may have been missed: drop everything that is cached. */
  onLost(): void
}

/**
 * Reports the changes of all processes by polling. LISTEN/NOTIFY would serialise all writers at
 * commit; a poll costs one lookup, whatever the number of writes.
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

  async function poll() {
    const startedMs = performance.now()
    try {
      const changes = await findChangedSince(db, subject, snapshot)
      // After a failover, the transaction ids of the new server need not continue the old ones.
      if (snapshot === undefined || changes.server !== server) onLost()
      onChanged(changes.ids)
      ;({ server, snapshot } = changes)
      freshUntilMs = startedMs + boundMs
    } catch {
      snapshot = undefined
      freshUntilMs = 0
      onLost()
    }
    if (!stopped) timer = setTimeout(poll, intervalMs).unref()
  }
  poll()

  return {
    isFresh: () => performance.now() < freshUntilMs,
    stop() {
      stopped = true
      clearTimeout(timer)
    },
  }
}
