// Runs background jobs in batches. Jobs are rows in the database that any process can claim;
// polling finds jobs whose process was killed.

export interface JobRunner {
  /** Starts to work at once, because a job was created. */
  wake(): void
  /** Stops after the current batch. */
  stop(): Promise<void>
}

export interface JobRunnerOptions {
  /** Polling interval; 0 disables polling. */
  readonly everyMs: number
  /** Receives the ids of the records that a batch has changed. */
  onChanged(ids: readonly number[]): void
  onError(error: unknown): void
}

/**
 * Starts a job runner. `next` runs one batch and returns the ids of the changed records, or
 * undefined if there is nothing to do.
 */
export function startJobRunner(
  next: () => Promise<readonly number[] | undefined>,
  { everyMs, onChanged, onError }: JobRunnerOptions,
): JobRunner {
  let stopped = false
  let timer: NodeJS.Timeout | undefined
  let working: Promise<void> | undefined
  let hasNewWork = false

  async function work() {
    try {
      // A job may be created, and wake() called, after `next` has found none.
      while (hasNewWork && !stopped) {
        hasNewWork = false
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
    hasNewWork = true
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
