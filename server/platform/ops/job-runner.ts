// Work that is a row: whichever server comes first does a batch of it, and another, until none is
// left. What a killed server left is found by looking now and then.

export interface JobRunner {
  /** There is something to do now. */
  wake(): void
  /** Waits for the batch that is under way. */
  stop(): Promise<void>
}

export interface JobRunnerOptions {
  /** How often to look for what other servers left; 0 for never. */
  readonly everyMs: number
  onChanged(ids: readonly number[]): void
  onError(error: unknown): void
}

/**
 * `next` does one batch and tells which records changed, or undefined when there is nothing to do.
 */
export function startJobRunner(
  next: () => Promise<readonly number[] | undefined>,
  { everyMs, onChanged, onError }: JobRunnerOptions,
): JobRunner {
  let stopped = false
  let timer: NodeJS.Timeout | undefined
  let working: Promise<void> | undefined
  let isWanted = false

  async function work() {
    try {
      // Who wakes us while we find nothing left may have left something.
      while (isWanted && !stopped) {
        isWanted = false
        for (let done = await next(); done; done = stopped ? undefined : await next())
          onChanged(done)
      }
    } catch (error) {
      onError(error)
    }
    working = undefined
    if (!stopped && everyMs > 0) timer = setTimeout(wake, everyMs).unref()
  }

  function wake() {
    clearTimeout(timer)
    isWanted = true
    if (!stopped) working ??= work()
  }
  if (everyMs > 0) wake()

  return {
    wake,
    async stop() {
      stopped = true
      clearTimeout(timer)
      await working
    },
  }
}
