import { Problem, type ProblemDocument, type ProblemName, problems } from '@talkshelf/contract'
import type { FastifyError } from 'fastify'
import { Unavailable } from '../db/db.ts'
import { NotAdmitted } from '../ops/admission.ts'

// Converts every error to a problem of the contract.

/** Problems for the errors of Fastify, by error code. */
const fastifyProblems: Record<string, ProblemName> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'too-large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported-media-type',
  FST_ERR_CTP_EMPTY_TYPE: 'unsupported-media-type',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'bad-request',
  FST_ERR_BAD_URL: 'not-found',
  FST_ERR_MAX_PARAM_LENGTH: 'not-found',
}

/**
 * Converts an error to a Problem. Unexpected errors become `internal` with a static message; their
 * details are only logged.
 */
export function toProblem(error: unknown, isWrite: boolean): Problem {
  if (error instanceof Problem) return error
  if (error instanceof Unavailable)
    return new Problem(
      'unavailable',
      error.cause instanceof NotAdmitted
        ? 'Too many searches are running; try again in a moment'
        : 'The database did not respond in time; try again later',
      isWrite ? { outcome: error.outcome } : {},
    )
  const { code = '', statusCode } = error as Partial<FastifyError>
  const name = fastifyProblems[code] ?? (statusCode === 400 ? 'bad-request' : undefined)
  if (name) return new Problem(name, problems[name].explain)
  return new Problem('internal', 'Unexpected error; include the instance when you report it')
}

/** Throws the problem of an invalid query parameter. */
export function rejectParameter(name: string, detail: string): never {
  throw new Problem('invalid-query', `Invalid query parameter: ${name}`, {
    errors: [{ pointer: `/${name}`, code: 'invalid', detail }],
  })
}

/** Builds the problem document (RFC 9457) of a response. */
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

/** Returns the headers of a response with a problem document. */
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
