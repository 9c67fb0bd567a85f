import { setTimeout as sleep } from 'node:timers/promises'
import { inspect } from 'node:util'

// The one polling loop of the tests: a test waits for a fact, never for a fixed duration.

type NotYet = false | null | undefined

export interface UntilOptions {
  /** Only guards against hanging forever, so it is generous: the machine may be busy. */
  readonly limitMs?: number
  readonly pauseMs?: number
}

/**
 * Polls `check` until it returns something other than false, null or undefined, and returns that.
 * A check that throws is retried too, so it may be written with assertions; it must then return
 * true at its end. After `limitMs` throws an error that names what was waited for (`fact`, which
 * completes "Waited for ...") and shows the last value or, as its cause, the last error.
 */
export async function until<T>(
  fact: string,
  check: () => T | Promise<T>,
  { limitMs = 60_000, pauseMs = 20 }: UntilOptions = {},
): Promise<Exclude<T, NotYet>> {
  for (const deadline = performance.now() + limitMs; ; await sleep(pauseMs)) {
    let outcome: string
    let cause: unknown
    try {
      const value = await check()
      if (value !== false && value !== null && value !== undefined)
        return value as Exclude<T, NotYet>
      outcome = `the last value was ${inspect(value)}`
    } catch (error) {
      outcome = `the last error was: ${error instanceof Error ? error.message : inspect(error)}`
      cause = error
    }
    if (performance.now() > deadline)
      throw new Error(`Waited for ${fact} for ${limitMs / 1000} s, but ${outcome}`, { cause })
  }
}
