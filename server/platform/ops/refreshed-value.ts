// A value that takes long to compute, and may be a little old.

export interface RefreshedValue<T> {
  read(): Promise<T>
}

export interface RefreshOptions {
  readonly maxAgeMs: number
  /** Called when a refresh fails and the stale value is kept. Without a value, `read` throws. */
  readonly onError?: (error: unknown) => void
}

/** After an error no refresh is tried for this time. */
const retryDelayMs = 5000

/**
 * Opens a value that is refreshed on reading, by one refresh at a time (stale-while-revalidate):
 * reads wait only until there is a first value, and a failed refresh keeps the stale value.
 */
export function openRefreshedValue<T>(
  compute: () => Promise<T>,
  { maxAgeMs, onError = () => {} }: RefreshOptions,
): RefreshedValue<T> {
  let cached: { readonly value: T } | undefined
  let freshUntilMs = 0
  let refreshing: Promise<T> | undefined
  let lastError: unknown

  async function refresh(): Promise<T> {
    let freshForMs = retryDelayMs
    try {
      const value = await compute()
      cached = { value }
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
      return cached.value
    },
  }
}
