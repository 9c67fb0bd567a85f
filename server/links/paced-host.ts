import type { Pool } from '../platform/db/pool.ts'
import { afterRequest, type HostPace, mayAsk, newPace, nextTurn } from './host-pace.ts'
import * as queries from './queries.ts'

// Asks hosts at their pace, whichever process asks: a request is counted in the row of its host
// before it is sent.

/** The time of the checks. Tests give a clock of their own; default: that of the database. */
export interface Clock {
  now(): number | undefined
  sleep(ms: number): Promise<void>
}

/** What the pace of hosts needs. */
export interface Pacing {
  readonly pool: Pool
  readonly clock: Clock
  /** Requests a day to each host; undefined: the default. */
  readonly budget: number | undefined
  readonly leaseSeconds: number
}

/** A host may not be asked now: it is paused, or its budget is spent. */
export class NotNow extends Error {}

/** A longer wait ends the batch, so that its lease is free for others. */
const maxWaitMs = 20_000

/** Changes the pace of a host. Returns what `change` returns. */
export function changePace<T>(
  { pool, clock, budget, leaseSeconds }: Pacing,
  host: string,
  change: (pace: HostPace, now: number) => { readonly pace: HostPace; readonly result: T },
): Promise<T> {
  return pool.transaction(async (tx) => {
    const fresh = newPace(host, budget)
    const row = await queries.lockPace(tx, host, fresh, clock.now())
    // What a release or the operator has set, and not what it was when the host was first asked.
    const before = { ...row.pace, gapMs: fresh.gapMs, budget: fresh.budget }
    const { pace, result } = change(before, row.now)
    if (pace !== before) {
      const next = { pace, nextTurn: nextTurn(pace, row.now) }
      await queries.savePace(tx, host, next, leaseSeconds, row.now)
    }
    return result
  })
}

/** Reads the pace of a host, and the time. */
export function readPace(
  pacing: Pacing,
  host: string,
): Promise<{ readonly pace: HostPace; readonly now: number }> {
  return changePace(pacing, host, (pace, now) => ({ pace, result: { pace, now } }))
}

/**
 * Waits for the turn of a request to a host and counts it. Throws `NotNow` if that is not soon.
 */
export async function takeTurn(pacing: Pacing, host: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted()
    const waitMs = await changePace(pacing, host, (pace, now) =>
      mayAsk(pace, now)
        ? { pace: afterRequest(pace, now, Math.random), result: 0 }
        : { pace, result: Math.max(1, nextTurn(pace, now) - now) },
    )
    if (waitMs === 0) return
    if (waitMs > maxWaitMs) throw new NotNow(`${host} may not be asked for ${waitMs} ms`)
    await pacing.clock.sleep(waitMs)
  }
}

/** Reads the time of the checks. */
export async function readTime({ pool, clock }: Pacing): Promise<number> {
  return clock.now() ?? (await queries.readTime(pool))
}
