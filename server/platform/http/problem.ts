import { Problem, type ProblemDocument, type ProblemName, problems } from '@talkshelf/contract'
import type { FastifyError } from 'fastify'
import { Unavailable } from '../db/db.ts'

// Everything that goes wrong becomes one of the problems of the contract here, and nowhere else.

/** What Fastify itself refuses, by its own codes. */
const ofFastify: Record<string, ProblemName> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'too-large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported-media-type',
  FST_ERR_CTP_EMPTY_TYPE: 'unsupported-media-type',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'bad-request',
  FST_ERR_BAD_URL: 'not-found',
  FST_ERR_MAX_PARAM_LENGTH: 'not-found',
}

/**
 * Anything that is not a Problem by now is our own fault: fixed words outside, the whole story in
 * the log.
 */
export function toProblem(error: unknown, isWrite: boolean): Problem {
  if (error instanceof Problem) return error
  if (error instanceof Unavailable)
    return new Problem(
      'unavailable',
      'The database could not be reached in time',
      isWrite ? { outcome: error.outcome } : {},
    )
  const { code = '', statusCode } = error as Partial<FastifyError>
  const name = ofFastify[code] ?? (statusCode === 400 ? 'bad-request' : undefined)
  if (name) return new Problem(name, problems[name].explain)
  return new Problem('internal', 'The operators can find this request in their log')
}

export function problemDocument(
  { problem, message, more }: Problem,
  base: string,
  requestId: string,
): ProblemDocument {
  const { status, title } = problems[problem]
  return {
    type: `${base}/api/problems/${problem}`,
    title,
    status,
    detail: message,
    instance: `urn:uuid:${requestId}`,
    ...more,
  }
}

export function problemHeaders({ problem, more }: Problem): Record<string, string> {
  const headers: Record<string, string> = {
    'content-type': 'application/problem+json',
    'cache-control': 'private, no-store',
  }
  if (problem === 'unauthenticated')
    headers['www-authenticate'] = 'Token realm="talkshelf", Bearer realm="talkshelf"'
  if (problem === 'unavailable') headers['retry-after'] = String(more.retry_after ?? 2)
  if (problem === 'too-many-requests') headers['retry-after'] = String(more.retry_after)
  if (problem === 'unsupported-media-type') headers['accept-encoding'] = 'identity'
  return headers
}
