import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Verdict } from '@talkshelf/contract'
import type { Pool } from '../platform/db/pool.ts'
import type { GuardOptions } from '../platform/net/guard.ts'
import { type JobRunner, startJobRunner } from '../platform/ops/job-runner.ts'
import { type Checker, openAsk } from './ask.ts'
import { checkSource } from './check-source.ts'
import { afterAnswer, afterRefusal, newPace } from './host-pace.ts'
import { type Clock, changePace, NotNow, readPace, readTime } from './paced-host.ts'
import { identify, lookAtMany, type ProbeResult } from './probes/probes.ts'
import {
  type CheckedSource,
  claimHost,
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
/** The API that answers about many videos of YouTube at once. */
const apiHost = 'www.googleapis.com'

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
  const checker: Checker = {
    ...{ pool, clock, budget, leaseSeconds, signal: stopping.signal, userAgent, youtubeKey, guard },
    stop: (until) => (stoppedUntil = until),
    isStopped: (now) => now < stoppedUntil,
  }

  async function startBatches(): Promise<undefined> {
    if (stoppedUntil > 0 && checker.isStopped(await readTime(checker))) return
    const hosts = await listDueHosts(pool.lookups, maxHosts * 2, clock.now())
    for (const host of hosts) {
      if (running.size >= maxHosts || stopping.signal.aborted) return
      if (running.has(host)) continue
      const lease = randomUUID()
      const claim = { lease, seconds: leaseSeconds, pace: newPace(host, budget) }
      if (!(await claimHost(pool, host, claim, clock.now()))) continue
      running.set(host, runBatch(host, lease))
    }
  }

  async function runBatch(host: string, lease: string): Promise<void> {
    try {
      await checkHost(checker, host, options.onChecked).finally(() =>
        releaseHost(pool, host, lease),
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
async function checkHost(
  checker: Checker,
  host: string,
  onChecked: CheckOptions['onChecked'],
): Promise<void> {
  const { pool, clock, signal } = checker
  const due = await listDueSources(pool, host, batchSize, clock.now())
  const unused = due.filter(({ isUsed }) => !isUsed).map(({ id }) => id)
  if (unused.length > 0) await putOff(pool, unused, (await readTime(checker)) + unusedMs, null)
  const used = due.filter(({ isUsed }) => isUsed)
  try {
    const known = await askApi(checker, host, used)
    for (const source of used) {
      signal.throwIfAborted()
      const verdict = await checkSource(checker, source, known.get(source.id))
      if (verdict !== undefined) onChecked(host, verdict)
    }
  } catch (error) {
    if (!(error instanceof NotNow)) throw error
  }
}

/** Asks the API of YouTube about many videos at once, if there is a key and it answers. */
async function askApi(
  checker: Checker,
  host: string,
  sources: readonly CheckedSource[],
): Promise<ReadonlyMap<number, ProbeResult>> {
  const { youtubeKey } = checker
  const known = new Map<number, ProbeResult>()
  if (youtubeKey === undefined || host !== 'www.youtube.com') return known
  const { pace, now } = await readPace(checker, apiHost)
  if (pace.pausedUntil > now) return known
  const probed = sources.flatMap(({ id, url, owner }) => {
    const found = identify(url)
    return found ? [{ id, source: { ...found, owner: owner ?? undefined } }] : []
  })
  const results = await lookAtMany(
    openAsk(checker, 'youtube'),
    probed.map(({ source }) => source),
    youtubeKey,
  )
  const refusal = results.find(({ verdict }) => verdict === 'refused')
  await changePace(checker, apiHost, (before, at) => ({
    pace: refusal ? afterRefusal(before, at, refusal.retryAfterSeconds) : afterAnswer(before, at),
    result: undefined,
  }))
  // What the API refuses to say is asked of oEmbed.
  for (const [index, result] of results.entries())
    if (result.verdict !== 'refused') known.set(probed[index]?.id ?? 0, result)
  return known
}
