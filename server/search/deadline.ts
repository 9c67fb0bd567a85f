import { Problem } from '@talkshelf/contract'
import { Unavailable } from '../platform/db/db.ts'
import type { ReadPool } from '../platform/db/read-pool.ts'

/**
 * Limits the time to wait for a search; its statements end by their own timeout. Either timeout is
 * reported as an error of the query, not of the service: phrases of common words are expensive.
 */
export async function withSearchDeadline<T>(
  { longestMs }: ReadPool,
  results: Promise<T>,
): Promise<T> {
  const { promise: timeout, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(tooExpensive()), longestMs)
  try {
    return await Promise.race([results, timeout])
  } catch (error) {
    throw error instanceof Unavailable && error.isTooSlow ? tooExpensive() : error
  } finally {
    clearTimeout(timer)
  }
}

function tooExpensive(): Problem {
  const detail = 'takes too long to search; use fewer or rarer words, and fewer phrases'
  return new Problem('invalid-query', 'The search takes too long; use fewer or rarer words', {
    errors: [{ pointer: '/q', code: 'too-expensive', detail }],
  })
}
