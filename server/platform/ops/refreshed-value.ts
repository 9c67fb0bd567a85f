// A value that takes long to compute, and may be a little old.

export interface RefreshedValue<T> {
  read(): Promise<T>
}

export interface RefreshOptions {
  readonly maxAgeMs: number
  /** Reads of an older value wait for the refresh, and get the stale one only if it fails. */
  readonly maxStaleMs?: number
  /** Called when a refresh fails and the stale value is kept. Without a value, `read` throws. */
  readonly onError?: (error: unknown) => void
}

/** After an error no refresh is tried for this time. */
const retryDelayMs = 5000

/**
 * Opens a value that is refreshed on reading, by one refresh at a time (stale-while-revalidate):
 * reads wait only if there is no value yet, or a very old one. A failed refresh keeps the stale
 * value.
 */
export function openRefreshedValue<T>(
  compute: () => Promise<T>,
  { maxAgeMs, maxStaleMs = Number.POSITIVE_INFINITY, onError = () => {} }: RefreshOptions,
): RefreshedValue<T> {
  let cached: { readonly value: T; readonly atMs: number } | undefined
  let freshUntilMs = 0
  let refreshing: Promise<T> | undefined
  let lastError: unknown

  async function refresh(): Promise<T> {
    let freshForMs = retryDelayMs
    try {
      const value = await compute()
      cached = { value, atMs: performance.now() }
      freshForMs = maxAgeMs
      return value
    } catch (error) {
      lastError = error
      throw error
    } finally {
      freshUntilMs = performance.now() + freshForMs
      refreshing = undefined
    }
  }

  return {
    async read() {
      if (performance.now() < freshUntilMs) {
        if (cached) return cached.value
        throw lastError
      }
      const isFirst = !refreshing
      refreshing ??= refresh()
      if (!cached) return refreshing
      if (isFirst) refreshing.catch(onError)
      const { value, atMs } = cached
      return performance.now() - atMs < maxStaleMs ? value : refreshing.catch(() => value)
    },
  }
}
