/**
 * Returns a function that reads, or shares the result of the same read that is under way: all
 * followers ask for the same entries at the same time.
 */
export function openSharedReads<Key, T>(): (key: Key, read: () => Promise<T>) => Promise<T> {
  const reading = new Map<Key, Promise<T>>()
  return (key, read) => {
    const current = reading.get(key) ?? read().finally(() => reading.delete(key))
    reading.set(key, current)
    return current
  }
}
