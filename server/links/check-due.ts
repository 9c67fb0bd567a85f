import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Verdict } from '@talkshelf/contract'
import type { Pool } from '../platform/db/pool.ts'
import type { GuardOptions } from '../platform/net/guard.ts'
import { type JobRunner, startJobRunner } from '../platform/ops/job-runner.ts'
import { type Checker, openAsk } from './ask.ts'
import { apiHost, checkSource } from './check-source.ts'
import { afterAnswer, afterRefusal, newPace, nextTurn } from './host-pace.ts'
import {
  type Clock,
  changePace,
  LeaseLost,
  maxWaitMs,
  NotNow,
  Offline,
  readPace,
  readTime,
} from './paced-host.ts'
import { HostRefused, identify, lookAtMany, type ProbeResult } from './probes/probes.ts'
import {
  type CheckedSource,
  claimHost,
  type HostLease,
  listDueHosts,
  listDueSources,
  putOff,
  releaseHost,
} from './queries.ts'

// Checks the sources that are due, in every process. A host is leased, and its sources are asked
// one after the other at its pace, without a transaction. A process that is killed loses the check
// that is running: the source is still due.

/** Renewed with each request: a process that was killed delays the checks of its hosts by this. */
const defaultLeaseSeconds = 120
/** Hosts that a process checks at the same time. */
const maxHosts = 6
/** Checks of a batch. Other hosts are looked for after it. */
const batchSize = 50
/** For checks that are running when the process stops. */
const stopMs = 5000
/** Sources that no talk has are looked at again after this, without asking their host. */
const unusedMs = 90 * 24 * 3_600_000
/** A source that alone has to wait for a host waits at least this long. */
const minWaitMs = 3_600_000
const youtubeHost = 'www.youtube.com'
/** Sources that are due within this time fill the calls of the API of YouTube. */
const apiAheadMs = 24 * 3_600_000

export interface CheckOptions {
  /** Polling interval; 0 disables polling. */
  readonly everyMs: number
  userAgent(): string
  /** Key for the API of YouTube. Without it, oEmbed is asked. */
  readonly youtubeKey: string | undefined
  /** Lets tests ask a server of their own. */
  readonly guard?: GuardOptions | undefined
  /** Requests a day to each host; default: 10,000. */
  readonly budget?: number | undefined
  readonly leaseSeconds?: number | undefined
  readonly clock?: Clock | undefined
  onChecked(host: string, verdict: Verdict): void
  /** Called when no host answers, which stops all checks for some minutes. */
  onOffline?(): void
  onError(error: unknown): void
}

const realClock: Clock = {
  now: () => undefined,
  sleep: (ms) => sleep(ms, undefined, { ref: false }),
}

export interface LinkChecks extends JobRunner {
  /** Checks all that is due and may be asked now. */
  drain(): Promise<void>
}

/** Starts to check sources that are due. `wake` tells that there may be some. */
export function startLinkChecks(pool: Pool, options: CheckOptions): LinkChecks {
  const stopping = new AbortController()
  const running = new Map<string, Promise<void>>()
  const clock = options.clock ?? realClock
  const { userAgent, youtubeKey, guard, budget, leaseSeconds = defaultLeaseSeconds } = options
  let stoppedUntil = 0
  const shared: Omit<Checker, 'lease'> = {
    ...{ pool, clock, budget, signal: stopping.signal, userAgent, youtubeKey, guard },
    stop(until) {
      stoppedUntil = until
      options.onOffline?.()
    },
    isStopped: (now) => now < stoppedUntil,
  }

  async function startBatches(): Promise<undefined> {
    if (stoppedUntil > 0 && shared.isStopped(await readTime(shared))) return
    const always = (await mayAskApi(shared, youtubeHost)) ? [youtubeHost] : []
    const hosts = await listDueHosts(pool.lookups, { limit: maxHosts * 2, always }, clock.now())
    for (const host of hosts) {
      if (running.size >= maxHosts || stopping.signal.aborted) return
      if (running.has(host)) continue
      const lease = { host, id: randomUUID(), seconds: leaseSeconds }
      if (!(await claimHost(pool, lease, newPace(host, budget), clock.now()))) continue
      running.set(host, runBatch(lease))
    }
  }

  async function runBatch(lease: HostLease): Promise<void> {
    const { host } = lease
    try {
      await checkHost({ ...shared, lease }, options.onChecked).finally(() =>
        releaseHost(pool, lease),
      )
      // There may be more. After an error, the next poll tries again.
      running.delete(host)
      runner.wake()
    } catch (error) {
      running.delete(host)
      if (!stopping.signal.aborted) options.onError(error)
    }
  }

  const runner = startJobRunner(startBatches, {
    everyMs: options.everyMs,
    onChanged: () => {},
    onError: options.onError,
  })
  return {
    wake: runner.wake,
    async drain() {
      do await startBatches()
      while (running.size > 0 && (await Promise.all(running.values())))
    },
    async stop() {
      stopping.abort()
      await runner.stop()
      await Promise.race([Promise.all(running.values()), sleep(stopMs, undefined, { ref: false })])
    },
  }
}

/** Checks the sources of a host that are due, until it may not be asked any more. */
async function checkHost(checker: Checker, onChecked: CheckOptions['onChecked']): Promise<void> {
  const { pool, clock, signal } = checker
  const { host } = checker.lease
  const hasApi = await mayAskApi(checker, host)
  const aheadMs = hasApi ? apiAheadMs : 0
  const due = await listDueSources(pool, host, { limit: batchSize, aheadMs }, clock.now())
  const unused = due.filter(({ isUsed }) => !isUsed).map(({ id }) => id)
  if (unused.length > 0) await putOff(pool, unused, (await readTime(checker)) + unusedMs, null)
  const used = due.filter(({ isUsed }) => isUsed)
  try {
    const known = hasApi ? await askApi(checker, used) : new Map<number, ProbeResult>()
    // What is known is saved first: the others may have to wait for their host.
    for (const source of used.toSorted((a, b) => +known.has(b.id) - +known.has(a.id))) {
      signal.throwIfAborted()
      const verdict = await checkSource(checker, source, known.get(source.id)).catch((error) => {
        // The others are checked meanwhile: they may not lead to the host that must wait.
        const isAlone = error instanceof NotNow && (hasApi || error.host !== host)
        if (!isAlone) throw error
        return letWait(checker, source, error)
      })
      if (verdict !== undefined) onChecked(host, verdict)
    }
  } catch (error) {
    const isExpected =
      error instanceof NotNow || error instanceof Offline || error instanceof LeaseLost
    if (!isExpected) throw error
  }
}

/** Lets a source wait until a host may be asked. */
async function letWait(checker: Checker, { id }: CheckedSource, error: NotNow): Promise<undefined> {
  const until = Math.max(error.until, (await readTime(checker)) + minWaitMs)
  await putOff(checker.pool, [id], until, null)
}

/** Tells whether the API of YouTube may be asked about the sources of a host. */
async function mayAskApi(checker: Omit<Checker, 'lease'>, host: string): Promise<boolean> {
  if (checker.youtubeKey === undefined || host !== youtubeHost) return false
  const { pace, now } = await readPace(checker, apiHost)
  return nextTurn(pace, now) - now <= maxWaitMs
}

/** Asks the API of YouTube about many videos at once. Returns what it knows of them, by id. */
async function askApi(
  checker: Checker,
  sources: readonly CheckedSource[],
): Promise<ReadonlyMap<number, ProbeResult>> {
  const probed = sources.flatMap(({ id, url, owner }) => {
    const found = identify(url)
    return found ? [{ id, source: { ...found, owner: owner ?? undefined } }] : []
  })
  const ask = openAsk(checker, 'youtube', apiHost)
  const { results, refusal } = await lookAtMany(
    // Otherwise what the API said of the others would be lost.
    (request) =>
      ask(request).catch((error) => {
        throw error instanceof NotNow ? new HostRefused(error.message, undefined) : error
      }),
    probed.map(({ source }) => source),
    checker.youtubeKey ?? '',
  )
  await changePace(checker, apiHost, (before, at) => {
    const wasAsked = nextTurn(before, at) - at <= maxWaitMs
    if (refusal && !wasAsked) return { pace: before, result: undefined }
    const pace = refusal
      ? afterRefusal(before, at, refusal.retryAfterSeconds)
      : afterAnswer(before, at)
    return { pace, result: undefined }
  })
  // What the API refuses to say is asked of oEmbed.
  return new Map(
    results.flatMap((result, index) =>
      result.verdict === 'refused' ? [] : [[probed[index]?.id ?? 0, result] as const],
    ),
  )
}
