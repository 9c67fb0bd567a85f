/** What says nothing for so long is taken to be away. */
const patienceMs = 10_000

export function withTimeout<T>(work: Promise<T>): Promise<T> {
  return Promise.race([work, new Promise<never>((_, reject) => setTimeout(reject, patienceMs))])
}
