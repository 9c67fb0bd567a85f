import { Problem } from '@talkshelf/contract'
import { Unavailable } from '../platform/db/db.ts'
import type { ReadPool } from '../platform/db/read-pool.ts'

/**
 * A question that could not be answered in time is the question's fault, and no failure of the
 * service: phrases of common words are dear.
 */
export async function withSearchDeadline<T>({ longestMs }: ReadPool, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(tooExpensive()), longestMs)
  try {
    return await Promise.race([work, promise])
  } catch (error) {
    throw error instanceof Unavailable && error.isTooSlow ? tooExpensive() : error
  } finally {
    clearTimeout(timer)
  }
}

function tooExpensive(): Problem {
  const detail = 'takes too long to answer; ask for fewer or for rarer words, and for fewer phrases'
  return new Problem('invalid-query', 'The question takes too long to answer', {
    errors: [{ pointer: '/q', code: 'too-expensive', detail }],
  })
}
