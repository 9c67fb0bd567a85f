import { hash } from 'node:crypto'
import { Problem } from '@talkshelf/contract'
import type { WriteContext } from '../../changes/changes.ts'
import { type Db, Unavailable } from '../../platform/db/db.ts'
import type { Pool } from '../../platform/db/pool.ts'
import { applyBatch, maxBatchRows, refuseNext } from './apply.ts'
import {
  analyzeGrownTables,
  claimImport,
  claimImportAt,
  failAbandonedImports,
  hasRunnableImports,
  type ImportJob,
  lockSource,
  type Postponement,
  postponeImport,
} from './queries.ts'
import { skipNext, undoBatch } from './undo.ts'

// What is planned is written batch by batch, each in one transaction together with how far it is: a
// server that is killed half way has done its batches, the next one goes on from there, and no talk
// is ever written twice. A batch that fails is halved until the failing row is alone; that row is
// refused with the reason, and the import goes on behind it. So every import ends, whatever is in
// it.

/** Called for each attempt that failed, for the log. */
export type OnBatchFailure = (error: unknown, it: ImportJob) => void

/**
 * Does one batch of the import that has waited longest. Returns the ids of the records that
 * changed, or undefined when there is nothing to do now. A batch that fails is no error of this
 * function: the import is postponed, and the next call takes another one. Throws if the database is
 * not available.
 */
export async function nextImportBatch(
  pool: Pool,
  onFailure: OnBatchFailure = () => {},
): Promise<number[] | undefined> {
  // Nearly always there is nothing, and one lookup tells.
  if (!(await hasRunnableImports(pool.lookups))) return undefined
  await failAbandonedImports(pool)
  let claimed: ImportJob | undefined
  try {
    const changed = await pool.transaction(async (tx) => {
      claimed = await claimImport(tx)
      return claimed && runBatch(tx, claimed)
    })
    // Without it the next batches are slow, and no more than that.
    if (claimed && isCheckpoint(claimed.done))
      await analyzeGrownTables(pool, claimed.done + maxBatchRows).catch(() => {})
    return changed
  } catch (error) {
    // An error before a claim, or a lost connection, is not the fault of an import.
    if (!claimed || (error instanceof Unavailable && !error.connected)) throw error
    onFailure(error, claimed)
    await recover(pool, claimed, error)
    return []
  }
}

async function runBatch(tx: Db, it: ImportJob): Promise<number[]> {
  if (!(await lockSource(tx, it.source))) {
    await postponeImport(tx, it, {
      batchSize: it.batch_size,
      failures: it.failures,
      delayMs: 500,
      problem: null,
    })
    return []
  }
  return it.state === 'undoing'
    ? undoBatch(tx, it, requestOf(it))
    : applyBatch(tx, it, requestOf(it))
}

/**
 * Decides how an import goes on after a failure: with a pause, with half as many rows, or without
 * the row that fails by itself.
 */
async function recover(pool: Pool, it: ImportJob, error: unknown): Promise<void> {
  const { maxAttempts, delayMs, problem } = retryPolicy(error, it.failures)
  const next: Postponement = {
    batchSize: it.batch_size,
    failures: it.failures + 1,
    delayMs,
    problem,
  }
  if (next.failures < maxAttempts) await postponeImport(pool, it, next)
  else if (it.batch_size > 1)
    await postponeImport(pool, it, {
      ...next,
      batchSize: Math.floor(it.batch_size / 2),
      failures: 0,
      delayMs: 0,
    })
  else await pool.transaction((tx) => giveUpNext(tx, it, reasonOf(error)))
}

async function giveUpNext(tx: Db, seen: ImportJob, reason: string): Promise<void> {
  const it = await claimImportAt(tx, seen)
  if (!it) return
  await (it.state === 'undoing' ? skipNext(tx, it, reason) : refuseNext(tx, it, reason))
}

interface RetryPolicy {
  /** After so many failures the batch is halved, or its only row refused. */
  readonly maxAttempts: number
  readonly delayMs: number
  /** Shown with the import while it waits. */
  readonly problem: string | null
}

function retryPolicy(error: unknown, failures: number): RetryPolicy {
  const backoffMs = Math.min(60_000, 250 * 2 ** failures)
  // The rows themselves, or a race with another writer that took an id or a slug: the second
  // attempt sees that it is taken.
  if (!(error instanceof Unavailable)) return { maxAttempts: 2, delayMs: 0, problem: null }
  if (error.isTooSlow) return { maxAttempts: 2, delayMs: backoffMs, problem: null }
  if (error.isConflict) return { maxAttempts: 6, delayMs: backoffMs, problem: null }
  // A full disk, or no memory: nothing is refused for it.
  return { maxAttempts: Number.POSITIVE_INFINITY, delayMs: backoffMs, problem: reasonOf(error) }
}

function reasonOf(error: unknown): string {
  if (error instanceof Problem) return error.message
  if (error instanceof Unavailable && error.isTooSlow)
    return 'Writing it takes longer than the time limit of the database'
  return `It could not be written: ${error instanceof Error ? error.message : error}`.slice(0, 500)
}

/** Whether a batch that begins here may have outgrown the statistics of PostgreSQL. */
function isCheckpoint(done: number): boolean {
  return [0, 4, 24, 124, 624].includes(Math.floor(done / maxBatchRows))
}

/** Who did it: the history of a record says the same, whichever batch it was in. */
function requestOf(it: ImportJob): WriteContext {
  const actor = { role: 'editor' as const, name: it.actor, token: it.token_id }
  const request = `import ${it.id}`
  return {
    origin: { actor, via: 'import', request },
    ifMatch: undefined,
    hash: hash('sha256', request, 'buffer'),
  }
}
