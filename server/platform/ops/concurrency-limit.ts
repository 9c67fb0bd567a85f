// Limits how many calls run concurrently. Further calls wait in a queue of limited length.

/** The queue is full. */
export class LimitReached extends Error {}

export interface ConcurrencyLimit {
  run<T>(work: () => Promise<T>): Promise<T>
  /** Tells whether `run` would throw LimitReached. */
  isFull(): boolean
}

/** Creates a limit of `maxRunning` concurrent and `maxWaiting` queued calls. */
export function openConcurrencyLimit(maxRunning: number, maxWaiting: number): ConcurrencyLimit {
  let running = 0
  const waiting: (() => void)[] = []
  const isFull = () => running >= maxRunning && waiting.length >= maxWaiting
  return {
    isFull,
    async run(work) {
      if (running < maxRunning) running++
      else {
        if (isFull()) throw new LimitReached('Too many calls are waiting')
        // A finished call passes its slot on, so that no new call can take it in between.
        await new Promise<void>((resolve) => waiting.push(resolve))
      }
      try {
        return await work()
      } finally {
        const next = waiting.shift()
        if (next) next()
        else running--
      }
    },
  }
}
