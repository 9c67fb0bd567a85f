import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { recordEvent } from '../auth/auth.ts'
import { type EntryRow, listEntries, matches, toEntry } from '../change-feed/change-feed.ts'
import { type Db, Unavailable } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import { type JobRunner, startJobRunner } from '../platform/ops/job-runner.ts'
import { type Attempt, retryDelayMs, type SendOptions, sendMessage } from './attempt.ts'
import { type Batch, changesMessage, type Message } from './message.ts'
import {
  hasDueWebhook,
  knownFilter,
  leaseWebhook,
  lockDueWebhook,
  putOff,
  releaseLease,
  type SendingWebhook,
  settleDelivered,
  settleFailed,
  skipEntries,
} from './queries.ts'

// Sends batches of entries, in every process. A batch is leased and fixed in one transaction, sent
// without any, and settled by the holder of the lease. A process that is killed in between leaves
// the batch as it is: the next one sends the same message.

/** Longer than a claim and an attempt take. */
const leaseSeconds = 30
/** A batch whose claim took longer is not sent: its lease could expire before an answer. */
const maxClaimMs = 10_000
const maxEntries = 100
const maxBytes = 20_000
/** Entries that are read at once; a filter may match none of them. */
const chunkSize = 1000
const maxAtOnce = 8
/** Of those at once, so that receivers that do not respond cannot delay the others. */
const maxFailingAtOnce = 4
const maxFailingDays = 5
/** For attempts that are running when the process stops. */
const stopMs = 5000

export interface DeliveryOptions extends SendOptions {
  /** Polling interval; 0 disables polling. */
  readonly everyMs: number
  /** How long a claim may take; default: 10 s. */
  readonly maxClaimMs?: number
  onAttempt(attempt: Attempt): void
  onDisabled(webhookId: number): void
  onError(error: unknown): void
}

/** Starts to send what is new. `wake` tells that there may be something. */
export function startDeliveries(pool: Pool, options: DeliveryOptions): JobRunner {
  const running = new Map<Promise<void>, Delivery>()
  const retryTimers = new Map<number, NodeJS.Timeout>()
  const stopping = new AbortController()

  async function startNext(): Promise<[] | undefined> {
    if (running.size >= maxAtOnce) return undefined
    const failing = [...running.values()].filter(({ webhook }) => webhook.isFailing).length
    const claimed = await claimBatch(pool, failing < maxFailingAtOnce, options)
    if (claimed === undefined) return undefined
    if (claimed === 'skipped') return []
    const work: Promise<void> = deliver(claimed)
      .catch(options.onError)
      .finally(() => {
        running.delete(work)
        runner.wake()
      })
    running.set(work, claimed)
    return []
  }

  async function deliver(delivery: Delivery): Promise<void> {
    const { webhook, lease, message, startedMs } = delivery
    if (performance.now() - startedMs > (options.maxClaimMs ?? maxClaimMs)) {
      await releaseLease(pool, webhook.id, lease)
      return
    }
    let attempt: Attempt
    try {
      attempt = await sendMessage(webhook, message, options, stopping.signal)
    } catch (error) {
      // Otherwise the lease expires, so that an error that is always there is not a busy loop.
      if (!stopping.signal.aborted) throw error
      await releaseLease(pool, webhook.id, lease)
      return
    }
    options.onAttempt(attempt)
    if (attempt.isDelivered)
      await whileLeased(() => settleDelivered(pool, webhook.id, lease, attempt.delivery))
    else await fail(delivery, attempt)
  }

  async function fail({ webhook, lease }: Delivery, attempt: Attempt): Promise<void> {
    const delayMs = retryDelayMs(webhook.attempt + 1, attempt.retryAfterMs)
    const { delivery, isGone } = attempt
    const settled = await whileLeased(() =>
      pool.transaction(async (tx) => {
        const failure = { delivery, delayMs, isGone, maxFailingDays }
        const result = await settleFailed(tx, webhook.id, lease, failure)
        if (result?.isDisabled) await recordDisabled(tx, webhook.id, delivery.status)
        return result
      }),
    )
    if (settled?.isDisabled) options.onDisabled(webhook.id)
    if (settled === undefined || settled.isDisabled || stopping.signal.aborted) return
    clearTimeout(retryTimers.get(webhook.id))
    // Another process finds it by polling if this one ends. The longest delay fits into a timer.
    const timer = setTimeout(() => {
      retryTimers.delete(webhook.id)
      runner.wake()
    }, delayMs + 10).unref()
    retryTimers.set(webhook.id, timer)
  }

  const runner = startJobRunner(startNext, {
    everyMs: options.everyMs,
    onChanged: () => {},
    onError: options.onError,
  })
  return {
    wake: runner.wake,
    async stop() {
      for (const timer of retryTimers.values()) clearTimeout(timer)
      await runner.stop()
      const done = Promise.all(running.keys())
      await Promise.race([done, sleep(stopMs, undefined, { ref: false })])
      stopping.abort(new Error('The process stops'))
      await done
    },
  }
}

interface Delivery {
  readonly webhook: SendingWebhook
  readonly lease: string
  readonly message: Message
  /** When the claim began, by performance.now(). */
  readonly startedMs: number
}

/**
 * Claims the next batch of a webhook. Returns `skipped` if there is none to send, because the
 * filter matched no entry or the webhook was put off, and undefined if no webhook is due, or other
 * processes send to it.
 */
async function claimBatch(
  pool: Pool,
  withFailing: boolean,
  { archive, onError }: DeliveryOptions,
): Promise<Delivery | 'skipped' | undefined> {
  const startedMs = performance.now()
  // Cheaper than a transaction, and there is often none.
  if (!(await hasDueWebhook(pool.lookups, withFailing))) return undefined
  let id: number | undefined
  try {
    const claimed = await pool.transaction(async (tx) => {
      const webhook = await lockDueWebhook(tx, withFailing)
      id = webhook?.id
      if (!webhook) return undefined
      const batch = await readBatch(tx, webhook)
      if (!batch) return 'empty'
      if (batch.rows.length === 0) {
        await skipEntries(tx, webhook, batch.end.seq)
        return 'skipped'
      }
      const lease = randomUUID()
      const { seq: batchEnd } = batch.end
      await leaseWebhook(tx, webhook, { lease, batchEnd, seconds: leaseSeconds })
      return { webhook, lease, message: changesMessage(webhook, batch, archive), startedMs }
    })
    if (claimed !== 'empty') return claimed
    if (id !== undefined) await putOff(pool, id, false)
  } catch (error) {
    // Not because of this webhook.
    if (id === undefined || (error instanceof Unavailable && !error.isTooSlow)) throw error
    onError(error)
    await putOff(pool, id, true)
  }
  return 'skipped'
}

/** Reads the next batch of a webhook; the same one as before if it has been sent already. */
export async function readBatch(
  tx: Db,
  { id, seq, batchEnd, filter: stored }: Pick<SendingWebhook, 'id' | 'seq' | 'batchEnd' | 'filter'>,
): Promise<Batch | undefined> {
  const filter = knownFilter(stored)
  if (!filter) throw new Error(`The filter of webhook ${id} has a field that is not known`)
  const isWanted = matches(filter)
  // One more than fits shows that a batch is full.
  const size = Object.keys(filter).length === 0 ? maxEntries + 1 : chunkSize
  const limit = batchEnd === null ? size : Math.min(chunkSize, batchEnd - seq)
  const found = await listEntries(tx, seq, limit)
  const rows: EntryRow[] = []
  let end: EntryRow | undefined
  let bytes = 0
  for (const row of found) {
    if (isWanted(row)) {
      bytes += JSON.stringify(toEntry(row)).length
      const isFull = rows.length === maxEntries || (rows.length > 0 && bytes > maxBytes)
      if (isFull && batchEnd === null) break
      rows.push(row)
    }
    end = row
  }
  return end && { rows, end }
}

/** Adds to the audit log that a webhook was disabled because of its receiver. */
async function recordDisabled(tx: Db, webhook: number, status: number | null): Promise<void> {
  const origin = { actor: 'Talkshelf', person: null, request: '' }
  const reason = status === 410 ? 'status 410' : `failing for ${maxFailingDays} days`
  await recordEvent(tx, 'webhook-disabled', origin, null, { webhook, reason })
}

/**
 * Runs the statement that settles an attempt; again if the database was not available, as long as
 * the lease is valid. Otherwise the receiver would get the batch twice.
 */
async function whileLeased<T>(settle: () => Promise<T>): Promise<T> {
  const untilMs = performance.now() + 10_000
  for (;;) {
    try {
      return await settle()
    } catch (error) {
      if (performance.now() > untilMs) throw error
      await sleep(200)
    }
  }
}
