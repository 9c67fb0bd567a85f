// Says no before everything becomes slow: an answer of 503 in a millisecond helps more than a good
// one in a minute.

export interface Overload {
  /** Whether another request would be too much now. */
  isOver(): boolean
  stop(): void
}

const lookEveryMs = 50
const longestDelayMs = 250

/** `underWay` counts the requests that are being answered. */
export function watchOverload(underWay: () => number, maxRequests: number): Overload {
  let delayMs = 0
  let expectedMs = performance.now() + lookEveryMs
  const timer = setInterval(() => {
    // A timer that comes late shows how long the event loop was held up. The old figure fades, so
    // that one hiccup is soon over.
    const nowMs = performance.now()
    delayMs = Math.max(nowMs - expectedMs, delayMs / 2)
    expectedMs = nowMs + lookEveryMs
  }, lookEveryMs).unref()
  // A late event loop alone may be a slow start or a busy machine; with many requests under way it
  // is too much work.
  const isOver = () =>
    underWay() > maxRequests || (delayMs > longestDelayMs && underWay() > maxRequests / 10)
  return { isOver, stop: () => clearInterval(timer) }
}
