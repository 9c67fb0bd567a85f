/** A host that does not respond within this time is treated as unavailable. */
const timeoutMs = 10_000

/** Rejects if the work takes too long. */
export function withTimeout<T>(work: Promise<T>): Promise<T> {
  return Promise.race([work, new Promise<never>((_, reject) => setTimeout(reject, timeoutMs))])
}
