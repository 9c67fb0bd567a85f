import { ApiProblem, UnexpectedResponse } from './errors.ts'

// Timeouts, and repeated requests.

/** The longest timer of the platform; a longer one would fire at once. */
const longestTimerMs = 2 ** 31 - 1

/**
 * Runs one attempt of a request with a signal that aborts after `timeoutMs`, or when `signal` does.
 * The timeout includes reading the response.
 */
export async function withTimeout<T>(
  timeoutMs: number,
  signal: AbortSignal | undefined,
  attempt: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController()
  const abort = () => controller.abort(signal?.reason)
  const expire = () =>
    controller.abort(new DOMException(`No response within ${timeoutMs} ms`, 'TimeoutError'))
  const timer = timeoutMs <= longestTimerMs ? setTimeout(expire, timeoutMs) : undefined
  if (signal?.aborted) abort()
  signal?.addEventListener('abort', abort)
  try {
    return await attempt(controller.signal)
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
  }
}

export interface RetryOptions {
  /** How often a request is repeated at most. */
  readonly retries: number
  /** No attempt starts later than this after the first one. */
  readonly maxRetryMs: number
  /** Whether the request has one effect, however often it is sent. */
  readonly isIdempotent: boolean
  readonly signal: AbortSignal | undefined
}

const firstPauseMs = 500

/** Repeats a request that failed temporarily. Waits at least as long as Retry-After asks for. */
export async function withRetries<T>(
  { retries, maxRetryMs, isIdempotent, signal }: RetryOptions,
  send: () => Promise<T>,
): Promise<T> {
  const lastMs = performance.now() + maxRetryMs
  for (let repeats = 0; ; repeats++) {
    try {
      return await send()
    } catch (error) {
      if (repeats >= retries || signal?.aborted || !mayRepeat(error, isIdempotent)) throw error
      const pauseMs =
        Math.max(firstPauseMs * 2 ** repeats, retryAfterMs(error)) * (1 + 0.2 * Math.random())
      if (performance.now() + pauseMs > lastMs) throw error
      await pause(pauseMs, signal)
    }
  }
}

/** Returns how long a failed response asks to wait, or 0. */
export function retryAfterMs(error: unknown): number {
  const isResponse = error instanceof ApiProblem || error instanceof UnexpectedResponse
  return (isResponse && error.retryAfterMs) || 0
}

/**
 * Tells whether a failed request can be sent again. A write that may have been applied must be
 * idempotent, because a second one could overwrite what others wrote in between.
 */
function mayRepeat(error: unknown, isIdempotent: boolean): boolean {
  if (error instanceof ApiProblem || error instanceof UnexpectedResponse) {
    if (error.status === 429) return true
    if (error.status !== 503) return false
    return isIdempotent || (error instanceof ApiProblem && error.document.outcome === 'not-applied')
  }
  // What fetch throws if the network fails, also in the middle of a response.
  return isIdempotent && error instanceof TypeError
}

/** Waits. Ends early if the signal is aborted. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms)
    function done() {
      clearTimeout(timer)
      signal?.removeEventListener('abort', done)
      resolve()
    }
    signal?.addEventListener('abort', done)
    if (signal?.aborted) done()
  })
}
