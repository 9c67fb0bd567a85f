import { setTimeout as sleep } from 'node:timers/promises'
import { type BulkEdit, type ImportInput, invalidFields, Problem } from '@talkshelf/contract'
import type { Origin } from '../platform/actor.ts'
import type { Pool } from '../platform/db/pool.ts'
import { type ConcurrencyLimit, openConcurrencyLimit } from '../platform/ops/concurrency-limit.ts'
import { beginImport, findLanguageError } from './begin.ts'
import { beginEdit } from './edit/plan-edit.ts'
import { inputLimits, type OpenedInput, openInput } from './input/input.ts'
import { InputRefused } from './item.ts'

// Plans the imports of requests, with limits: those of the API and those of the desk.

/** Fetches a file from another server. */
export type FetchUrl = (address: string) => Promise<AsyncIterable<Uint8Array>>

/** What to import: either the content of a file or its URL. */
export type PlanRequest = Omit<ImportInput, 'url' | 'text'> &
  ({ readonly content: AsyncIterable<Uint8Array> } | { readonly url: string })

/** A file to open: its content or its URL. */
export type FileRequest = { readonly name?: string | undefined } & (
  | { readonly content: AsyncIterable<Uint8Array> }
  | { readonly url: string }
)

/** The new import. `refusal` is set if its file was refused at once. */
export interface StartedImport {
  readonly id: number
  readonly refusal: InputRefused | undefined
}

export interface ImportPlanner {
  /** Limits the plans of this process. Everything that plans imports shares it. */
  readonly plans: ConcurrencyLimit
  /** Starts to plan an import, and waits a moment for the plan. */
  start(request: PlanRequest, origin: Origin): Promise<StartedImport>
  /** Opens the content of a file or a URL, within the limits of requests. */
  open(file: FileRequest): Promise<OpenedInput>
  /** Runs other work on files when a slot is free. Throws `too-many-requests` if all are taken. */
  run<T>(work: () => Promise<T>): Promise<T>
  /** Starts to plan a bulk edit, and waits a moment for the plan. Returns the id of its import. */
  startEdit(edit: BulkEdit, origin: Origin): Promise<number>
}

/** How long a request waits for the plan. Most files are short, so most answers have it. */
const planWaitMs = 1000
/** Imports that a process plans at once, and that may wait: each has a batch or file in memory. */
const [maxPlans, maxWaitingPlans] = [2, 8]
/** The command has neither of these limits. */
const maxPlanMs = 15 * 60_000
/** The limits of files that are uploaded or downloaded. */
export const downloadLimits = { ...inputLimits, bytes: 256 << 20 }

/** Opens the planner of a process. */
export function openImportPlanner(
  pool: Pool,
  fetchUrl: FetchUrl,
  onError: (error: unknown) => void,
): ImportPlanner {
  const plans = openConcurrencyLimit(maxPlans, maxWaitingPlans)
  const assertFree = () => {
    if (plans.isFull())
      throw new Problem(
        'too-many-requests',
        'Too many imports are being read at the moment. Try again in a minute',
      )
  }
  const waitForPlan = () => sleep(planWaitMs, undefined, { ref: false })
  const nameOf = (file: FileRequest) => file.name ?? ('url' in file ? file.url : 'text')
  const open = async (file: FileRequest) => {
    const stream = 'url' in file ? await fetchUrl(file.url) : file.content
    return openInput({ stream, name: nameOf(file) }, downloadLimits)
  }
  return {
    plans,
    open,
    async run(work) {
      assertFree()
      return plans.run(work)
    },
    async start({ keep_titles: keepTitles, ...request }, origin) {
      assertFree()
      const languageError = await findLanguageError(pool, request.language)
      if (languageError) throw invalidFields([languageError])
      const name = nameOf(request)
      const input = { ...request, keepTitles, name, open: () => open(request), maxMs: maxPlanMs }
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
