// Bounds how much is done at once. What comes on top waits, and what comes on top of that is
// refused at once.

/** Thrown when as many calls are waiting as may wait. */
export class LimitReached extends Error {}

export interface ConcurrencyLimit {
  run<T>(work: () => Promise<T>): Promise<T>
  /** Whether `run` would refuse. */
  isFull(): boolean
}

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
        // A call that ends hands its slot on, so that no later call can take it in between.
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
