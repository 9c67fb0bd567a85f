import { setTimeout as sleep } from 'node:timers/promises'
import { type BulkEdit, type ImportInput, invalidFields, Problem } from '@talkshelf/contract'
import type { Origin } from '../platform/actor.ts'
import type { Pool } from '../platform/db/pool.ts'
import { openConcurrencyLimit } from '../platform/ops/concurrency-limit.ts'
import { beginImport, findLanguageError } from './begin.ts'
import { beginEdit } from './edit/plan-edit.ts'
import { inputLimits, openInput } from './input/input.ts'
import { InputRefused } from './item.ts'

// Plans the imports of requests, with limits: those of the API and those of the desk.

/** Fetches a file from another server. */
export type FetchUrl = (address: string) => Promise<AsyncIterable<Uint8Array>>

/** What to import: either the content of a file or its URL. */
export type PlanRequest = Omit<ImportInput, 'url' | 'text'> &
  ({ readonly content: AsyncIterable<Uint8Array> } | { readonly url: string })

/** The new import. `refusal` is set if its file was refused at once. */
export interface StartedImport {
  readonly id: number
  readonly refusal: InputRefused | undefined
}

export interface ImportPlanner {
  /** Starts to plan an import, and waits a moment for the plan. */
  start(request: PlanRequest, origin: Origin): Promise<StartedImport>
  /** Starts to plan a bulk edit, and waits a moment for the plan. Returns the id of its import. */
  startEdit(edit: BulkEdit, origin: Origin): Promise<number>
}

/** How long a request waits for the plan. Most files are short, so most answers have it. */
const planWaitMs = 1000
/** Imports that a process plans at once, and that may wait: each has a batch or file in memory. */
const [maxPlans, maxWaitingPlans] = [2, 8]
/** The command has neither of these limits. */
const maxUnpackedBytes = 256 << 20
const maxPlanMs = 15 * 60_000

/** Opens the planner of a process. */
export function openImportPlanner(
  pool: Pool,
  fetchUrl: FetchUrl,
  onError: (error: unknown) => void,
): ImportPlanner {
  const plans = openConcurrencyLimit(maxPlans, maxWaitingPlans)
  const limits = { ...inputLimits, bytes: maxUnpackedBytes }
  const assertFree = () => {
    if (plans.isFull())
      throw new Problem(
        'too-many-requests',
        'Too many imports are being read at the moment. Try again in a minute',
      )
  }
  const waitForPlan = () => sleep(planWaitMs, undefined, { ref: false })
  return {
    async start({ keep_titles: keepTitles, ...request }, origin) {
      assertFree()
      const languageError = await findLanguageError(pool, request.language)
      if (languageError) throw invalidFields([languageError])
      const name = request.name ?? ('url' in request ? request.url : 'text')
      const open = async () => {
        const stream = 'url' in request ? await fetchUrl(request.url) : request.content
        return openInput({ stream, name }, limits)
      }
      const input = { ...request, keepTitles, name, open, maxMs: maxPlanMs }
      const { id, planned } = await beginImport(pool, input, origin, { schedule: plans.run })
      // After the wait, the problem of a refused file is read from the import.
      const refused = planned.then(
        () => undefined,
        (error: unknown) => (error instanceof InputRefused ? error : void onError(error)),
      )
      return { id, refusal: await Promise.race([refused, waitForPlan()]) }
    },
    async startEdit(edit, origin) {
      assertFree()
      const { id, planned } = await beginEdit(pool, edit, origin, plans.run)
      await Promise.race([planned.catch(onError), waitForPlan()])
      return id
    },
  }
}
