import { Problem } from '@talkshelf/contract'
import { Unavailable } from '../platform/db/db.ts'
import { type ReadPool, withStatementsUntil } from '../platform/db/read-pool.ts'

/**
 * Runs a search when it is its turn, and limits the time to wait for it. After that no further
 * statement of it begins; a running one ends by its own timeout. Either timeout is reported as an
 * error of the query, not of the service: phrases of common words are expensive. A search whose
 * turn does not come is one of the service.
 */
export async function withSearchDeadline<T>(
  { longestMs, admit }: ReadPool,
  search: () => Promise<T>,
): Promise<T> {
  const { promise: timeout, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(tooExpensive()), longestMs)
  const untilMs = performance.now() + longestMs
  // The turn ends with the last statement, which may be after the timeout.
  const results = admit(() => withStatementsUntil(untilMs, search))
  try {
    return await Promise.race([results, timeout])
  } catch (error) {
    const isLate = error instanceof Unavailable && performance.now() >= untilMs
    throw isLate || (error instanceof Unavailable && error.isTooSlow) ? tooExpensive() : error
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
