import { hash, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { isEditorRevoked, recordEvent } from '../auth/auth.ts'
import * as imports from '../imports/imports.ts'
import type { Origin } from '../platform/actor.ts'
import { tryLock } from '../platform/db/advisory-lock.ts'
import { type Db, Unavailable } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import { canonicalJson } from '../platform/http/json.ts'
import type { GuardOptions } from '../platform/net/guard.ts'
import type { ConcurrencyLimit } from '../platform/ops/concurrency-limit.ts'
import { type JobRunner, startJobRunner } from '../platform/ops/job-runner.ts'
import {
  type ClaimedSource,
  claimSource,
  type FetchOutcome,
  type HeldLease,
  hasDueSource,
  knownOptions,
  lockLease,
  type PlannedVersion,
  releaseLease,
  renewLease,
  type Settlement,
  settleFetch,
  spreadOverdue,
} from './queries.ts'

// Fetches and plans followed sources that are due, in every process. A source is leased in one
// transaction, fetched and planned without any, and settled by the holder of the lease in the
// transaction that ends the plan. A process that is killed in between leaves a half-read import,
// which the next fetch deletes.

/** Renewed while a file is fetched and planned: a process that was killed delays it by this. */
const defaultLeaseSeconds = 120
/** Fewer than the plans that a process makes at once, so that people need not wait for them. */
const maxAtOnce = 1
/** As for imports of requests. */
const maxPlanMs = 15 * 60_000
/** A plan is reviewed by a person. */
const maxRows = 20_000
const maxMessageLength = 1000
/** A source is disabled after so many fetches in a row that ended with their process. */
const maxAttempts = 5
/** After an error of this server. */
const putOffSeconds = 3600
/** After a fetch that no longer counts, or that the end of the process has aborted. */
const repeatSeconds = 60
/** For fetches that are running when the process stops. */
const stopMs = 5000

export interface FollowOptions {
  /** Polling interval; 0 disables polling. */
  readonly everyMs: number
  userAgent(): string
  /** Lets tests fetch from a server of their own. */
  readonly guard?: GuardOptions | undefined
  readonly leaseSeconds?: number | undefined
  /** Limits the plans of this process, together with the imports of requests. */
  readonly plans: ConcurrencyLimit
  onFetched(outcome: FetchOutcome): void
  onDisabled(followedSourceId: number): void
  onError(error: unknown): void
}

/** Starts to fetch sources that are due. `wake` tells that there may be one. */
export function startFollowing(pool: Pool, options: FollowOptions): JobRunner {
  const running = new Set<Promise<void>>()
  const stopping = new AbortController()
  let isSpread = false
  /** Resolves when a source was claimed, or none is due. */
  let claimed = Promise.withResolvers<boolean>()

  async function startNext(): Promise<[] | undefined> {
    if (!isSpread) await spreadOverdue(pool)
    isSpread = true
    // Cheaper than a transaction, and there is often none.
    if (running.size >= maxAtOnce || !(await hasDueSource(pool.lookups))) return undefined
    if (options.plans.isFull() || stopping.signal.aborted) return undefined
    claimed = Promise.withResolvers()
    options.plans.run(fetchNext).catch(claimed.reject)
    return (await claimed.promise) ? [] : undefined
  }

  /** Claims a source when a plan may be made, not before: others may fetch it meanwhile. */
  async function fetchNext(): Promise<void> {
    const { resolve } = claimed
    const claim = stopping.signal.aborted ? undefined : await claimDueSource(pool, options)
    if (!claim) return resolve(false)
    const work = fetchClaimed(pool, claim, options, stopping.signal).catch(options.onError)
    running.add(work)
    resolve(true)
    await work
    running.delete(work)
    runner.wake()
  }

  const runner = startJobRunner(startNext, {
    everyMs: options.everyMs,
    onChanged: () => {},
    onError: options.onError,
  })
  return {
    wake: runner.wake,
    async stop() {
      stopping.abort()
      claimed.resolve(false)
      await runner.stop()
      await Promise.race([Promise.all(running), sleep(stopMs, undefined, { ref: false })])
    },
  }
}

interface Claim {
  readonly source: ClaimedSource
  readonly held: HeldLease
}

async function claimDueSource(
  pool: Pool,
  { leaseSeconds = defaultLeaseSeconds }: FollowOptions,
): Promise<Claim | undefined> {
  return pool.transaction(async (tx) => {
    // One claim at a time: two processes must not claim two sources of the same host.
    if (!(await tryLock(tx, 'followed sources'))) return undefined
    const lease = randomUUID()
    const source = await claimSource(tx, lease, leaseSeconds)
    return source && { source, held: { id: source.id, lease, revision: source.revision } }
  })
}

/** Another process has the lease, or what is fetched was changed or deleted meanwhile. */
class LeaseLost extends Error {}

/** Fetches and plans a claimed source, and records how that ended. */
async function fetchClaimed(
  pool: Pool,
  claim: Claim,
  options: FollowOptions,
  stopSignal: AbortSignal,
): Promise<void> {
  const holder = holdLease(pool, claim, options)
  const signal = AbortSignal.any([stopSignal, holder.signal])
  let result: Result
  try {
    result = await fetchAndPlan(pool, claim, options, signal)
  } catch (error) {
    if (error instanceof LeaseLost || signal.aborted) {
      await releaseLease(pool, claim.held, repeatSeconds)
      return
    }
    // An error of this server is not one of the source.
    await releaseLease(pool, claim.held, putOffSeconds).catch(options.onError)
    throw error
  } finally {
    await holder.stop()
  }
  options.onFetched(result.outcome)
  if (result.isDisabled) options.onDisabled(claim.source.id)
}

/** Renews a lease until it is stopped. The signal is aborted when the fetch no longer counts. */
function holdLease(pool: Pool, { held }: Claim, options: FollowOptions) {
  const seconds = options.leaseSeconds ?? defaultLeaseSeconds
  const lost = new AbortController()
  let renewal: Promise<void> | undefined
  const renew = async () => {
    try {
      if (!(await renewLease(pool, held, seconds))) lost.abort(new LeaseLost())
    } catch (error) {
      options.onError(error)
    }
  }
  const timer = setInterval(() => (renewal = renew()), (seconds * 1000) / 3).unref()
  return {
    signal: lost.signal,
    async stop() {
      clearInterval(timer)
      await renewal
    },
  }
}

interface Result {
  readonly outcome: FetchOutcome
  readonly isDisabled: boolean
}

/** Fetches and plans a source and settles it. Throws `LeaseLost` if the result no longer counts. */
async function fetchAndPlan(
  pool: Pool,
  claim: Claim,
  options: FollowOptions,
  signal: AbortSignal,
): Promise<Result> {
  const { source } = claim
  const refusal = await findRefusal(pool, source)
  if (refusal) return settle(pool, claim, { outcome: 'failed', ...refusal })
  await imports.deleteLeftovers(pool, source.id)
  const earlier = await imports.findFollowedImports(pool, source.id)
  const inUse = earlier.find(isInUse)
  if (inUse) return settle(pool, claim, { outcome: 'waiting', message: waitingMessage(inUse.id) })
  // A plan that is too old to be applied is made again.
  const isOutdated = earlier.some(({ state, isClosed }) => state === 'planned' && isClosed)
  const isConditional = source.requested === null && !isOutdated
  try {
    return await planFile(pool, claim, isConditional, options, signal)
  } catch (error) {
    if (error instanceof imports.PlanInUse)
      return settle(pool, claim, { outcome: 'waiting', message: waitingMessage(undefined) })
    if (error instanceof LeaseLost || signal.aborted) throw error
    // A statement that takes too long does so because of the file, and would do it again.
    if (error instanceof Unavailable && !error.isTooSlow) throw error
    const result = await settle(pool, claim, { outcome: 'failed', message: failureMessage(error) })
    // Not reported if the lease was lost: a source that was deleted can have no import.
    if (!(error instanceof imports.InputRefused)) options.onError(error)
    return result
  }
}

/** Finds out why a source must not be fetched any more. */
async function findRefusal(
  pool: Pool,
  { attempts, actor, tokenId, personId }: ClaimedSource,
): Promise<Pick<Settlement, 'message' | 'stop' | 'reason'> | undefined> {
  if (attempts > maxAttempts) {
    const message = `This server stopped ${maxAttempts} times in a row while it fetched the file`
    return { message, stop: 'disabled', reason: `${maxAttempts} crashes in a row` }
  }
  if (!(await isEditorRevoked(pool, { token: tokenId, person: personId }))) return undefined
  return { message: `${actor} may no longer import. Resume to take over`, stop: 'paused' }
}

type FollowedImport = Awaited<ReturnType<typeof imports.findFollowedImports>>[number]

/** Tells whether a person works on an import: a newer plan must neither replace nor repeat it. */
function isInUse({ state, hasDecisions, isClosed }: FollowedImport): boolean {
  if (isClosed) return false
  return ['applying', 'stopped', 'undoing'].includes(state) || (state === 'planned' && hasDecisions)
}

function waitingMessage(importId: number | undefined): string {
  const which = importId === undefined ? 'the last import' : `import ${importId}`
  return `Decisions were made in ${which}, or it is being applied. Finish or delete it first`
}

function failureMessage(error: unknown): string {
  const message = error instanceof imports.InputRefused ? error.message : serverMessage(error)
  return message
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .slice(0, maxMessageLength)
    .toWellFormed()
}

function serverMessage(error: unknown): string {
  return error instanceof Unavailable
    ? 'The file takes too long to plan. Split it'
    : 'The file could not be planned because of an error of this server. The log has the details'
}

/** Fetches a file, plans and settles it. */
async function planFile(
  pool: Pool,
  claim: Claim,
  isConditional: boolean,
  options: FollowOptions,
  signal: AbortSignal,
): Promise<Result> {
  const { source } = claim
  const { url, etag, lastModified } = source
  const importOptions = knownOptions(source.options)
  if (!importOptions)
    throw new imports.InputRefused('Its options are not known in this version. Save others')
  const known = { etag: etag ?? undefined, lastModified: lastModified ?? undefined }
  const hasValidators = known.etag !== undefined || known.lastModified !== undefined
  const file = await imports.fetchVersion(url, {
    ...options.guard,
    userAgent: options.userAgent(),
    signal,
    ...(isConditional && hasValidators && { unless: known }),
  })
  try {
    if (file.isUnchanged) return await settle(pool, claim, { outcome: 'unchanged', message: null })
    const { name = url, keep_titles: keepTitles, ...others } = importOptions
    const items = openItemsHash()
    const settled: { result?: Result } = {}
    const input = {
      ...others,
      name,
      keepTitles,
      open: () => imports.openInput({ stream: file.body, name }, imports.downloadLimits),
      maxMs: maxPlanMs,
      maxRows,
      followedSource: source.id,
      signal,
      onItem: items.add,
      onRead: async (plan: imports.ReadPlan) => {
        const { etag: newEtag, lastModified: newDate } = file.validators
        const version = { etag: newEtag, lastModified: newDate, itemsHash: items.digest() }
        settled.result = await settlePlan(pool, claim, plan, version, isConditional)
      },
    }
    const { id, planned } = await imports.beginImport(pool, input, originOf(source))
    try {
      await planned
    } finally {
      await deleteFailed(pool, source.id, id, options)
    }
    return settled.result as Result
  } finally {
    await file.close()
  }
}

/** Returns the origin of the imports of a source: the request that set it up. */
function originOf({ actor, tokenId, personId, via, requestId }: ClaimedSource): Origin {
  return {
    actor: { role: 'editor', name: actor, token: tokenId, person: personId },
    via,
    request: requestId,
  }
}

/**
 * Computes a hash of the items of a file. Their order, their location and what is not imported do
 * not count: some hosts write the time into each response.
 */
function openItemsHash() {
  const hashes: string[] = []
  return {
    add(item: imports.ParsedItem): void {
      const {
        place: _,
        notes: _notes,
        cells: _cells,
        ...content
      } = {
        place: undefined,
        notes: undefined,
        cells: undefined,
        ...item,
      }
      hashes.push(hash('sha256', canonicalJson(content), 'base64'))
    },
    digest: () => hash('sha256', hashes.toSorted().join('\n'), 'hex'),
  }
}

/**
 * Settles a plan. It replaces the earlier plan of the source if the file has other items, and is
 * dropped if it has nothing to do. Throws `PlanInUse` if decisions were made in the earlier plan
 * meanwhile.
 */
async function settlePlan(
  pool: Pool,
  claim: Claim,
  { id, counts, finish }: imports.ReadPlan,
  version: PlannedVersion,
  isConditional: boolean,
): Promise<Result> {
  const { source, held } = claim
  const isSameVersion = isConditional && version.itemsHash === source.itemsHash
  return pool.transaction(async (tx) => {
    if (!(await lockLease(tx, held))) throw new LeaseLost()
    const work = isSameVersion ? undefined : await findWork(tx, id, counts)
    for (const earlier of await imports.findFollowedImports(tx, source.id)) {
      if (earlier.id === id || isSameVersion) continue
      if (isInUse(earlier)) throw new imports.PlanInUse()
      const problem = work
        ? `Replaced by import ${id}`
        : 'Replaced by a newer version of the file, which has nothing new'
      if (earlier.state === 'planned')
        await imports.retirePlan(tx, earlier.id, { problem, isReplaced: true })
    }
    if (work) await finish(tx)
    else await imports.retirePlan(tx, id, { problem: 'Nothing to do', isReplaced: false })
    const outcome = work ? 'planned' : 'unchanged'
    return settleIn(tx, claim, { outcome, message: work?.message ?? null, version })
  })
}

/** Finds out what a plan has for a person. Returns undefined if there is nothing. */
async function findWork(
  tx: Db,
  importId: number,
  counts: imports.ReadPlan['counts'],
): Promise<Pick<Settlement, 'message'> | undefined> {
  if (counts.refused > 0) return { message: `Talks that cannot be imported: ${counts.refused}` }
  if (counts.new + counts.changed + counts.conflict > 0) return { message: null }
  // Without it, a later change at the source would look like a conflict.
  if (await imports.hasNewSourceStates(tx, importId))
    return { message: 'No talk changes. Apply the import once, to recognize later changes' }
  return undefined
}

const settle = (pool: Pool, claim: Claim, ending: Settlement) =>
  pool.transaction((tx) => settleIn(tx, claim, ending))

async function settleIn(tx: Db, { source, held }: Claim, ending: Settlement): Promise<Result> {
  const settled = await settleFetch(tx, held, source.requested, ending)
  if (!settled) throw new LeaseLost()
  const origin = { actor: 'Talkshelf', person: null, request: '' }
  const isDisabled = settled.state === 'disabled'
  if (isDisabled) {
    const reason = ending.reason ?? `${settled.failures} failures in a row`
    const detail = { followed_source: source.id, reason }
    await recordEvent(tx, 'followed-source-disabled', origin, null, detail)
  } else if (ending.stop === 'paused') {
    const detail = { followed_source: source.id, enabled: false }
    await recordEvent(tx, 'followed-source-changed', origin, null, detail)
  }
  return { outcome: ending.outcome, isDisabled }
}

/** Deletes an import of this module that has failed or was dropped, and what it has replaced. */
async function deleteFailed(
  pool: Pool,
  sourceId: number,
  importId: number,
  { onError }: FollowOptions,
): Promise<void> {
  try {
    await imports.deleteFailedImport(pool, importId)
    await imports.deleteLeftovers(pool, sourceId)
  } catch (error) {
    // The next fetch deletes them.
    onError(error)
  }
}
