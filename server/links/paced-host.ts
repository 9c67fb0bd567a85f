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

/** Where the pace of hosts is stored. */
export interface PaceStore {
  readonly pool: Pool
  readonly clock: Clock
  /** Requests a day to each host; undefined: the default. */
  readonly budget: number | undefined
}

/** What requests need to wait for their turn. */
export interface Pacing extends PaceStore {
  readonly signal: AbortSignal
  /** The host whose sources are checked. Each request extends its lease. */
  readonly lease: queries.HostLease
}

/** A host may not be asked now: it is paused, or its budget is spent. */
export class NotNow extends Error {
  readonly host: string
  /** When it may be asked, as far as is known. */
  readonly until: number

  constructor(host: string, until: number) {
    super(`${host} may not be asked before ${new Date(until).toISOString()}`)
    this.host = host
    this.until = until
  }
}

/** This server is offline: no host may be asked. */
export class Offline extends Error {}

/** Another process has leased the host, because this one was too slow. */
export class LeaseLost extends Error {}

/** A longer wait ends the batch, so that its lease is free for others. */
export const maxWaitMs = 20_000

/** Changes the pace of a host. Returns what `change` returns. */
export function changePace<T>(
  { pool, clock, budget }: PaceStore,
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
      await queries.savePace(tx, host, next)
    }
    return result
  })
}

/** Reads the pace of a host, and the time. */
export function readPace(
  store: PaceStore,
  host: string,
): Promise<{ readonly pace: HostPace; readonly now: number }> {
  return changePace(store, host, (pace, now) => ({ pace, result: { pace, now } }))
}

/**
 * Waits for the turn of a request to a host and counts it. Throws `NotNow` if that is not soon.
 */
export async function takeTurn(pacing: Pacing, host: string): Promise<void> {
  const { pool, clock, lease } = pacing
  for (;;) {
    pacing.signal.throwIfAborted()
    if (!(await queries.extendLease(pool, lease, clock.now()))) throw new LeaseLost()
    const wait = await changePace(pacing, host, (pace, now) =>
      mayAsk(pace, now)
        ? { pace: afterRequest(pace, now, Math.random), result: undefined }
        : { pace, result: { until: nextTurn(pace, now), now } },
    )
    if (wait === undefined) return
    const waitMs = Math.max(1, wait.until - wait.now)
    if (waitMs > maxWaitMs) throw new NotNow(host, wait.until)
    await clock.sleep(waitMs)
  }
}

/** Reads the time of the checks. */
export async function readTime({ pool, clock }: PaceStore): Promise<number> {
  return clock.now() ?? (await queries.readTime(pool))
}
