import { setTimeout as sleep } from 'node:timers/promises'
import { type ImportedTalk, Problem } from '@talkshelf/contract'
import { Unavailable } from '../../platform/db/db.ts'
import type { Pool } from '../../platform/db/pool.ts'
import { nextImportBatch } from '../engine/batches.ts'
import { type Decision, findImport, type ImportJob, listRows } from '../engine/queries.ts'
import { listImportTalks, stopImport } from '../imports.ts'

// Sees an import to its end from the outside: does its batches, or waits for whoever is at it.

/** Where somebody else is at a batch, or at another import, there is nothing to do for so long. */
const lookMs = 200
const patienceMs = 30_000

export interface DriveOptions {
  /** Told to stop: after the batch under way. */
  readonly signal: AbortSignal
  onProgress(it: ImportJob): void
}

/**
 * Until nothing of it is left to be applied or undone. What was told to stop is stopped, as far as
 * it can be.
 */
export async function driveImport(
  pool: Pool,
  id: number,
  { signal, onProgress }: DriveOptions,
): Promise<ImportJob['state']> {
  let [lastDone, lastProgressMs] = [-1, performance.now()]
  for (;;) {
    const it = await retryUnavailable(() => findImport(pool, id))
    if (!it) throw new Problem('not-found', 'There is no such import')
    onProgress(it)
    if (it.state !== 'applying' && it.state !== 'undoing') return it.state
    if (it.done !== lastDone) [lastDone, lastProgressMs] = [it.done, performance.now()]
    else if (it.problem !== null && performance.now() - lastProgressMs > patienceMs)
      throw new Unavailable('not-applied', it.problem, true)
    if (signal.aborted) return it.state === 'undoing' ? 'undoing' : stopped(pool, id)
    if ((await retryUnavailable(() => nextImportBatch(pool))) === undefined) await sleep(lookMs)
  }
}

/**
 * Whoever is at a batch holds the import, and the database may be away for a moment: nothing is
 * lost by trying again.
 */
export async function retryUnavailable<T>(work: () => Promise<T>): Promise<T> {
  for (const begun = performance.now(); ; ) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof Unavailable) || performance.now() - begun > patienceMs) throw error
      await sleep(lookMs)
    }
  }
}

/** The last batch may have been the end of it. */
async function stopped(pool: Pool, id: number): Promise<ImportJob['state']> {
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

export interface TalkFilter {
  readonly verdict?: string | undefined
  readonly undone?: string | undefined
  readonly most?: number | undefined
}

/** Page by page, as long as anybody reads on. */
export async function* listTalkPages(
  pool: Pool,
  id: number,
  { verdict, undone, most: limit = Number.MAX_SAFE_INTEGER }: TalkFilter,
): AsyncGenerator<DecidedTalk> {
  let [left, last] = [limit, 0]
  while (left > 0) {
    const limit = Math.min(pageSize, left)
    const talks = await listImportTalks(pool, id, { verdict, undone, after: last, limit })
    const conflicts = talks.some((talk) => talk.verdict === 'conflict')
      ? await listRows(pool, id, { verdict: 'conflict', undone, after: last, limit })
      : []
    const decisions = new Map(conflicts.map(({ position, decision }) => [position, decision]))
    for (const talk of talks) yield { talk, decision: decisions.get(talk.position) ?? null }
    left -= talks.length
    last = talks.at(-1)?.position ?? last
    if (talks.length < limit) return
  }
}

/** Talks about which nobody has decided yet. */
export async function countUndecided(pool: Pool, id: number): Promise<number> {
  let count = 0
  for await (const { talk, decision } of listTalkPages(pool, id, { verdict: 'conflict' }))
    if (decision === null && talk.outcome === null) count++
  return count
}
