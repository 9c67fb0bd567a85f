// Detects overload, so that the server can answer 503 at once instead of becoming slow for all.

export interface Overload {
  /** Tells whether new requests should be rejected. */
  isOver(): boolean
  stop(): void
}

const sampleMs = 50
const maxDelayMs = 250

/** Measures the delay of the event loop. `inFlight` returns the number of running requests. */
export function watchOverload(inFlight: () => number, maxRequests: number): Overload {
  let delayMs = 0
  let expectedMs = performance.now() + sampleMs
  const timer = setInterval(() => {
    // A late timer shows how long the event loop was blocked. The value decays, so that a single
    // delay has a short effect.
    const nowMs = performance.now()
    delayMs = Math.max(nowMs - expectedMs, delayMs / 2)
    expectedMs = nowMs + sampleMs
  }, sampleMs).unref()
  // A delay alone may come from startup or a busy machine; with many requests in flight it is
  // overload.
  const isOver = () =>
    inFlight() > maxRequests || (delayMs > maxDelayMs && inFlight() > maxRequests / 10)
  return { isOver, stop: () => clearInterval(timer) }
}
