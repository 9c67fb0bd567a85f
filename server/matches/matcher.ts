import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { Problem } from '@talkshelf/contract'
import type { MatchInput, MatchResult } from '../matching/matching.ts'
import { LimitReached, openConcurrencyLimit } from '../platform/ops/concurrency-limit.ts'

// Runs the matcher in a thread of its own: large files take seconds, in which the server must go on
// to answer.

const maxMegabytes = 512
const maxWaiting = 16

/** matcher-thread.ts in the sources; in a package, matcher-thread.js beside the bundle. */
const threadUrl = new URL(
  `./matcher-thread.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`,
  import.meta.url,
)

export type Matcher = (input: MatchInput) => Promise<MatchResult>

/**
 * Opens a matcher that pairs one match at a time, in at most `maxMs`. It throws `import-refused`
 * if a match takes longer or too much memory, and `unavailable` if too many wait.
 */
export function openMatcher(maxMs = 60_000): Matcher {
  const limit = openConcurrencyLimit(1, maxWaiting)
  let thread: { readonly worker: Worker; readonly ended: AbortSignal } | undefined

  const start = () => {
    const worker = new Worker(threadUrl, {
      resourceLimits: { maxOldGenerationSizeMb: maxMegabytes },
    })
    const ended = new AbortController()
    // A thread that has ended is replaced with the next match.
    worker.on('error', () => {})
    worker.once('exit', () => {
      thread = undefined
      ended.abort()
    })
    return { worker, ended: ended.signal }
  }

  const pair = async (input: MatchInput): Promise<MatchResult> => {
    thread ??= start()
    const { worker, ended } = thread
    const timeout = AbortSignal.timeout(maxMs)
    // An idle thread does not keep the process running.
    worker.ref()
    worker.postMessage(input)
    try {
      const signal = AbortSignal.any([timeout, ended])
      const [result] = await once(worker, 'message', { signal })
      return result as MatchResult
    } catch (error) {
      await worker.terminate()
      if (!timeout.aborted && !isOutOfMemory(error)) throw error
      throw new Problem('import-refused', 'The files are too large to be matched. Use smaller ones')
    } finally {
      worker.unref()
    }
  }

  return async (input) => {
    try {
      return await limit.run(() => pair(input))
    } catch (error) {
      if (!(error instanceof LimitReached)) throw error
      throw new Problem('unavailable', 'Too many matches are waiting. Try again later')
    }
  }
}

const isOutOfMemory = (error: unknown) =>
  error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
