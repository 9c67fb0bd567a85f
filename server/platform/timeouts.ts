/**
 * How long we wait for what a caller waits for. They stand in one proportion: whatever is behind
 * gives up first, so that the answer can say why.
 */
export interface Timeouts {
  /**
   * A request is answered after this long whatever happens behind: a caller that waits longer has
   * gone away.
   */
  readonly answerMs: number
  /** A whole search, however many statements it is. */
  readonly searchMs: number
  /** A question that has taken so long is not asked in yet another way. */
  readonly patienceMs: number
  /** A statement that only reads. */
  readonly readMs: number
  /**
   * A statement that writes. It may outlive its caller, for it can't be taken back; what follows it
   * is not begun.
   */
  readonly writeMs: number
  /** For a lock, or for a connection. */
  readonly waitMs: number
}

export function timeoutsFor(answerSeconds: number): Timeouts {
  const part = (ofThreeSeconds: number) => Math.round((ofThreeSeconds * answerSeconds) / 3)
  return {
    answerMs: part(2800),
    searchMs: part(2400),
    patienceMs: part(800),
    readMs: part(2000),
    writeMs: part(4000),
    waitMs: part(2000),
  }
}

export const defaultTimeouts = timeoutsFor(3)
