/**
 * Timeouts of a request and of the work behind it. All scale with the timeout of the request; the
 * inner ones expire first, so that the response can state the reason.
 */
export interface Timeouts {
  /** A request is answered after this time, even if its work is still running. */
  readonly answerMs: number
  /** All statements of one search together. */
  readonly searchMs: number
  /** After this time a search does not try another, looser form of the query. */
  readonly patienceMs: number
  /** A statement that only reads. */
  readonly readMs: number
  /**
   * A statement that writes. It may take longer than the request, because a sent write cannot be
   * cancelled safely; no further statement is started after the request has timed out.
   */
  readonly writeMs: number
  /** Waiting for a lock or for a connection. */
  readonly waitMs: number
}

/** Returns all timeouts for a request timeout (ANSWER_SECONDS). */
export function timeoutsFor(answerSeconds: number): Timeouts {
  const scaled = (msOfThreeSeconds: number) => Math.round((msOfThreeSeconds * answerSeconds) / 3)
  return {
    answerMs: scaled(2800),
    searchMs: scaled(2400),
    patienceMs: scaled(800),
    readMs: scaled(2000),
    writeMs: scaled(4000),
    waitMs: scaled(2000),
  }
}

export const defaultTimeouts = timeoutsFor(3)
