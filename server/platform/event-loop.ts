import { setImmediate as nextTurn } from 'node:timers/promises'

// Synchronous work of some milliseconds, such as rendering a page. When the data of many requests
// arrives at once, their work would run in one go, and everything else would wait for all of it.

let queue: Promise<unknown> = Promise.resolve()

/** Runs the work in a turn of the event loop of its own, after what was asked for before. */
export function runInOwnTask<T>(work: () => T): Promise<T> {
  const done = queue.then(async () => {
    await nextTurn()
    return work()
  })
  queue = done.catch(() => {})
  return done
}
