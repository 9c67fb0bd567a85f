/** Waits for a result for a limited time. Returns undefined after it; the work goes on. */
export async function withinMs<T>(result: Promise<T>, limitMs: number): Promise<T | undefined> {
  const { promise: timeout, resolve } = Promise.withResolvers<undefined>()
  const timer = setTimeout(resolve, limitMs)
  try {
    return await Promise.race([result, timeout])
  } finally {
    clearTimeout(timer)
  }
}
