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

// Runs imports batch by batch. Each batch and the progress of the import are written in one
// transaction, so that an import continues after a crash and no talk is written twice. A batch that
// fails is halved until the failing row is alone. That row is refused with the reason, and the
// import continues after it, so every import ends.

/** Called for each failed attempt, for the log. */
export type OnBatchFailure = (error: unknown, job: ImportJob) => void

/**
 * Runs one batch of the import that has waited longest. Returns the ids of the records that
 * changed, or undefined if nothing is due. A failing batch does not throw: the import is postponed,
 * and the next call takes another one. Throws if the database is not available.
 */
export async function nextImportBatch(
  pool: Pool,
  onFailure: OnBatchFailure = () => {},
): Promise<number[] | undefined> {
  // Nearly always nothing is due, so one cheap query comes first.
  if (!(await hasRunnableImports(pool.lookups))) return undefined
  await failAbandonedImports(pool)
  let claimed: ImportJob | undefined
  try {
    const changed = await pool.transaction(async (tx) => {
      claimed = await claimImport(tx)
      return claimed && runBatch(tx, claimed)
    })
    // A failure is ignored: without statistics the next batches are only slower.
    if (claimed && isCheckpoint(claimed.done))
      await analyzeGrownTables(pool, claimed.done + maxBatchRows).catch(() => {})
    return changed
  } catch (error) {
    // An error before a claim, or a lost connection, was not caused by the import.
    if (!claimed || (error instanceof Unavailable && !error.connected)) throw error
    onFailure(error, claimed)
    await recover(pool, claimed, error)
    return []
  }
}

/** Locks the sources of an import, so that no other import writes their keys meanwhile. */
async function lockSources(tx: Db, { source, options }: ImportJob): Promise<boolean> {
  for (const name of [source, ...(options.otherSources ?? [])].sort())
    if (!(await lockSource(tx, name))) return false
  return true
}

async function runBatch(tx: Db, job: ImportJob): Promise<number[]> {
  if (!(await lockSources(tx, job))) {
    await postponeImport(tx, job, {
      batchSize: job.batch_size,
      failures: job.failures,
      delayMs: 500,
      problem: null,
    })
    return []
  }
  const context = writeContextOf(job)
  return job.state === 'undoing' ? undoBatch(tx, job, context) : applyBatch(tx, job, context)
}

/** Retries a failed batch after a delay, then with half as many rows, then without the one row. */
async function recover(pool: Pool, job: ImportJob, error: unknown): Promise<void> {
  const { maxAttempts, delayMs, problem } = retryPolicy(error, job.failures)
  const next: Postponement = {
    batchSize: job.batch_size,
    failures: job.failures + 1,
    delayMs,
    problem,
  }
  if (next.failures < maxAttempts) await postponeImport(pool, job, next)
  else if (job.batch_size > 1)
    await postponeImport(pool, job, {
      ...next,
      batchSize: Math.floor(job.batch_size / 2),
      failures: 0,
      delayMs: 0,
    })
  else await pool.transaction((tx) => giveUpNext(tx, job, reasonOf(error)))
}

async function giveUpNext(tx: Db, failed: ImportJob, reason: string): Promise<void> {
  const job = await claimImportAt(tx, failed)
  if (!job) return
  await (job.state === 'undoing' ? skipNext(tx, job, reason) : refuseNext(tx, job, reason))
}

interface RetryPolicy {
  /** After this many failures the batch is halved, or its only row refused. */
  readonly maxAttempts: number
  readonly delayMs: number
  /** Shown with the import while it waits. */
  readonly problem: string | null
}

function retryPolicy(error: unknown, failures: number): RetryPolicy {
  const backoffMs = Math.min(60_000, 250 * 2 ** failures)
  // Either the rows are at fault, or a concurrent writer took an id or a slug, which the second
  // attempt sees.
  if (!(error instanceof Unavailable)) return { maxAttempts: 2, delayMs: 0, problem: null }
  if (error.isTooSlow) return { maxAttempts: 2, delayMs: backoffMs, problem: null }
  if (error.isConflict) return { maxAttempts: 6, delayMs: backoffMs, problem: null }
  // A full disk or no memory: retried until it works, and no row is refused.
  return { maxAttempts: Number.POSITIVE_INFINITY, delayMs: backoffMs, problem: reasonOf(error) }
}

function reasonOf(error: unknown): string {
  if (error instanceof Problem) return error.message
  if (error instanceof Unavailable && error.isTooSlow)
    return 'Writing this talk exceeds the statement timeout of the database'
  return `Could not be written: ${error instanceof Error ? error.message : error}`.slice(0, 500)
}

/** Returns whether the archive may have outgrown the statistics of PostgreSQL at this point. */
function isCheckpoint(done: number): boolean {
  return [0, 4, 24, 124, 624].includes(Math.floor(done / maxBatchRows))
}

/** Builds the same context for all batches, so that every revision names the same import. */
function writeContextOf(job: ImportJob): WriteContext {
  const { actor: name, token_id: token, person_id: person } = job
  const { operations, events } = job.options
  const actor = { role: 'editor' as const, name, token, person, events }
  const request = `import ${job.id}`
  return {
    // What a bulk edit writes is the decision of a person, which later imports keep.
    origin: { actor, via: operations ? job.via : 'import', request },
    ifMatch: undefined,
    hash: hash('sha256', request, 'buffer'),
  }
}
