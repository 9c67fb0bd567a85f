import type { FeedPage } from '@talkshelf/contract'
import { ApiProblem, type Client, UnexpectedResponse } from './client.ts'
import { pause, retryAfterMs } from './retry.ts'

// Follows the change feed of an archive:
//
//   for await (const { results, cursor } of followChanges(archive, { since: storedCursor })) {
//     await store(results, cursor) // both in one transaction, so that nothing is missed
//   }

export interface FollowOptions {
  /** The cursor to continue from, `0` for everything, or `now`. Default: `0`. */
  since?: string
  kind?: 'video' | 'category' | 'speaker' | 'tag'
  /** Ids, as in the `id` of an entry. */
  category?: number
  speaker?: number
  tag?: number
  /** Adds the record or entity to each entry, as it is now. */
  include?: 'record'
  compact?: 'true'
  /** Highest number of entries of a page. */
  limit?: number
  /** Seconds for which a request waits for changes; 0 ends at the last entry. Default: 50. */
  wait?: number
  signal?: AbortSignal
  /** Receives errors after which the request is repeated. */
  onRetry?(error: unknown): void
}

const firstRetryMs = 1000
const longestRetryMs = 60_000

/**
 * Yields pages of the change feed, and waits for the next changes at its end. Repeats requests that
 * fail because the archive cannot be reached, is overloaded or restarts. Throws other problems,
 * such as `other-history`.
 */
export async function* followChanges(
  archive: Pick<Client, 'listChanges'>,
  { since = '0', wait = 50, onRetry, signal, ...query }: FollowOptions = {},
): AsyncGenerator<FeedPage> {
  let cursor = since
  let retryMs = firstRetryMs
  while (!signal?.aborted) {
    let page: FeedPage
    const startedMs = performance.now()
    try {
      const input = { ...query, since: cursor, wait, retries: 0, ...(signal && { signal }) }
      page = (await archive.listChanges(input)).data
    } catch (error) {
      if (signal?.aborted) return
      if (!isTemporary(error)) throw error
      onRetry?.(error)
      const askedMs = Math.min(longestRetryMs, retryAfterMs(error))
      await pause(Math.max(retryMs, askedMs) * (1 + 0.4 * Math.random()), signal)
      retryMs = Math.min(longestRetryMs, retryMs * 2)
      continue
    }
    retryMs = firstRetryMs
    // A server that stops does not wait.
    const isEarly = performance.now() - startedMs < firstRetryMs
    const isSame = page.cursor === cursor && page.results.length === 0
    if (!isSame) yield page
    cursor = page.cursor
    if (wait === 0 && !page.more) return
    const hasEnded = !page.more && page.results.length === 0
    if (isEarly && (isSame || hasEnded)) await pause(firstRetryMs, signal)
  }
}

/** Tells whether a request may succeed when it is repeated. */
function isTemporary(error: unknown): boolean {
  if (error instanceof ApiProblem || error instanceof UnexpectedResponse)
    return error.status >= 500 || error.status === 429
  return true
}
