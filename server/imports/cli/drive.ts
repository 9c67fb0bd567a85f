import { setTimeout as sleep } from 'node:timers/promises'
import { type ImportedTalk, Problem } from '@talkshelf/contract'
import { Unavailable } from '../../platform/db/db.ts'
import type { Pool } from '../../platform/db/pool.ts'
import { nextImportBatch } from '../engine/batches.ts'
import {
  type Decision,
  findDecisions,
  findImport,
  type ImportJob,
  type RowFilter,
} from '../engine/queries.ts'
import { listImportTalks, stopImport } from '../imports.ts'

// Drives an import to its end: runs its batches, or waits while another process does.

/** How often to look again while another process runs a batch. */
const pollMs = 200
const timeoutMs = 30_000

export interface DriveOptions {
  /** Stops the import after the current batch. */
  readonly signal: AbortSignal
  onProgress(job: ImportJob): void
}

/**
 * Runs batches until the import is no longer being applied or undone, and returns its state. An
 * aborted signal stops an import that is being applied; one that is being undone continues later.
 */
export async function driveImport(
  pool: Pool,
  id: number,
  { signal, onProgress }: DriveOptions,
): Promise<ImportJob['state']> {
  let [lastDone, lastProgressMs] = [-1, performance.now()]
  for (;;) {
    const job = await retryUnavailable(() => findImport(pool, id))
    if (!job) throw new Problem('not-found', 'There is no such import')
    onProgress(job)
    if (job.state !== 'applying' && job.state !== 'undoing') return job.state
    if (job.done !== lastDone) [lastDone, lastProgressMs] = [job.done, performance.now()]
    else if (job.problem !== null && performance.now() - lastProgressMs > timeoutMs)
      throw new Unavailable('not-applied', job.problem, true)
    if (signal.aborted) return job.state === 'undoing' ? 'undoing' : stop(pool, id)
    if ((await retryUnavailable(() => nextImportBatch(pool))) === undefined) await sleep(pollMs)
  }
}

/**
 * Retries work while the database is unavailable, for up to 30 s. Another process may have locked
 * the import for a batch, or the database may be restarting.
 */
export async function retryUnavailable<T>(work: () => Promise<T>): Promise<T> {
  for (const startMs = performance.now(); ; ) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof Unavailable) || performance.now() - startMs > timeoutMs) throw error
      await sleep(pollMs)
    }
  }
}

/** Stops an import, unless its last batch has just finished it. Returns its state. */
async function stop(pool: Pool, id: number): Promise<ImportJob['state']> {
  try {
    return (await retryUnavailable(() => stopImport(pool, id))).state
  } catch (error) {
    if (error instanceof Problem && error.problem === 'wrong-state')
      return (await findImport(pool, id))?.state ?? 'failed'
    throw error
  }
}

interface DecidedTalk {
  readonly talk: ImportedTalk
  readonly decision: Decision | null
}

const pageSize = 200

export interface TalkFilter extends RowFilter {
  /** Only talks after this position. */
  readonly after?: number | undefined
  readonly limit?: number | undefined
}

/** Reads talks with their decisions, page by page while they are consumed. */
export async function* listTalkPages(
  pool: Pool,
  id: number,
  { limit = Number.MAX_SAFE_INTEGER, after: start = 0, ...filter }: TalkFilter,
): AsyncGenerator<DecidedTalk> {
  let remaining = limit
  let after = start
  while (remaining > 0) {
    const page = { after, limit: Math.min(pageSize, remaining) }
    const talks = await listImportTalks(pool, id, { ...filter, ...page })
    const positions = talks.map(({ position }) => position)
    const decided = await findDecisions(pool, id, positions)
    const decisions = new Map(decided.map(({ position, decision }) => [position, decision]))
    for (const talk of talks) yield { talk, decision: decisions.get(talk.position) ?? null }
    remaining -= talks.length
    after = talks.at(-1)?.position ?? after
    if (talks.length < page.limit) return
  }
}

/** Counts the conflicts without a decision. */
export async function countUndecided(pool: Pool, id: number): Promise<number> {
  let count = 0
  for await (const { talk, decision } of listTalkPages(pool, id, { verdict: 'conflict' }))
    if (decision === null && talk.outcome === null) count++
  return count
}
