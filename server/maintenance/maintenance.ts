// Entry point of maintenance: removes data that is no longer needed, once a day, in small batches.
// docs/operations.md lists what bounds each table and folder.
import { deleteExpired, deleteOldTokens } from '../auth/auth.ts'
import { compactCube } from '../catalogue/catalogue.ts'
import { deleteOldCopies } from '../desk/desk.ts'
import { removeOldRows } from '../imports/imports.ts'
import { deleteOldMatches, deleteReplacedDecisions } from '../matches/matches.ts'
import { discardOldPlans } from '../name-changes/name-changes.ts'
import { removeUnusedPictures } from '../pictures/pictures.ts'
import type { Db } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import { removeUnusedFingerprints } from '../quality/quality.ts'
import { refreshFrequencies, removeUnusedWords } from '../search/search.ts'
import { deleteOldLinks } from '../speaker-links/speaker-links.ts'
import { deleteOldNetworks, deleteOldSuggestions } from '../suggestions/suggestions.ts'
import { claimTask, finishTask, listFinished } from './queries.ts'

export interface MaintenanceOptions {
  /**
   * Rows of an import are deleted after this many days without a change to the import, which can
   * then no longer be applied or undone. 0 keeps them forever.
   */
  readonly importDays: number
  /** The interval of each task. */
  readonly everyHours: number
  /** Checked between batches. A task that was stopped is continued after an hour. */
  isStopped(): boolean
  /** Called for each completed task; `removed` is for the log. */
  onDone(task: string, removed: number): void
}

type Task = (pool: Pool, options: MaintenanceOptions) => Promise<number>

const decisionsPerBatch = 1000

const tasks: Readonly<Record<string, Task>> = {
  imports: async (pool, { importDays, isStopped }) => {
    if (importDays === 0) return 0
    let removed = 0
    for (let count = -1; count !== 0 && !isStopped(); ) {
      count = await removeOldRows(pool, importDays)
      removed += count
    }
    return removed
  },
  matches: async (pool, { importDays, isStopped }) => {
    if (importDays === 0) return 0
    let removed = 0
    for (let count = -1; count !== 0 && !isStopped(); ) {
      count = await deleteOldMatches(pool, importDays)
      removed += count
    }
    for (let count = -1; count !== 0 && !isStopped(); ) {
      count = await deleteReplacedDecisions(pool, decisionsPerBatch)
      removed += count
    }
    return removed
  },
  words: (pool, { isStopped }) => removeUnusedWords(pool, isStopped),
  frequencies: (pool, { isStopped }) => refreshFrequencies(pool, isStopped),
  counts: (pool) => compactCube(pool),
  keys: (pool, { isStopped }) => removeUnusedFingerprints(pool, isStopped),
  tokens: (pool) => deleteOldTokens(pool),
  sessions: (pool) => deleteExpired(pool),
  copies: (pool) => deleteOldCopies(pool),
  suggestions: async (pool) => (await deleteOldNetworks(pool)) + (await deleteOldSuggestions(pool)),
  names: async (pool) => (await discardOldPlans(pool)) + (await deleteOldLinks(pool)),
  pictures: (pool, { isStopped }) => removeUnusedPictures(pool, isStopped),
}

export const maintenanceTasks: readonly string[] = Object.keys(tasks)

/** Returns when each task was last finished, in seconds since 1970; 0 if it never was. */
export async function readFinished(db: Db): Promise<ReadonlyMap<string, number>> {
  const rows = await listFinished(db)
  // A task of another release is never finished again.
  const current = rows.filter(({ task }) => Object.hasOwn(tasks, task))
  return new Map(current.map(({ task, finished }) => [task, finished]))
}

/**
 * Runs the tasks that are due and not claimed by another process. Must be called repeatedly. A task
 * that fails does not stop the others and is retried after an hour; all errors are thrown at the
 * end as one `AggregateError`.
 */
export async function maintain(pool: Pool, options: MaintenanceOptions): Promise<void> {
  const failures: unknown[] = []
  for (const [task, run] of Object.entries(tasks)) {
    if (options.isStopped()) return
    try {
      if ((await claimTask(pool, task, options.everyHours)) === 0) continue
      const removed = await run(pool, options)
      if (options.isStopped()) return
      await finishTask(pool, task)
      options.onDone(task, removed)
    } catch (error) {
      failures.push(error)
    }
  }
  if (failures.length > 0) throw new AggregateError(failures, 'Some maintenance was not done')
}
