import { setImmediate as nextTurn } from 'node:timers/promises'

// Spreads synchronous work of some milliseconds, such as rendering a page, over turns of the event
// loop. When the data of many requests arrives at once, their work would otherwise run in one go
// and block everything else.

let queue: Promise<unknown> = Promise.resolve()

/** Runs the work in its own turn of the event loop, after all work queued before it. */
export function runInOwnTask<T>(work: () => T): Promise<T> {
  const done = queue.then(async () => {
    await nextTurn()
    return work()
  })
  queue = done.catch(() => {})
  return done
}
