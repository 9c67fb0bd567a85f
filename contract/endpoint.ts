import type { Static, TProperties, TSchema } from 'typebox'
import Type from 'typebox'
import { matching } from './formats.ts'
import { type ProblemName, problems } from './problems.ts'

// An endpoint is one object. The router, the validation, the access check and its test, the OpenAPI
// document and the typed client are all derived from it, so they cannot contradict each other.

/** Roles in ascending order: each one includes the permissions of those before it. */
export const roles = ['anyone', 'suggester', 'editor', 'admin'] as const
export type Role = (typeof roles)[number]

/** Tells whether a role includes the permissions of the required one. */
export function mayAct(role: Role, required: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(required)
}

export const mergePatchType = 'application/merge-patch+json'
export const jsonType = 'application/json'

/** Request headers that an endpoint can support, besides Accept and Authorization. */
export const requestHeaders = {
  'If-Match': 'Change the record only if this is still its ETag; otherwise 412.',
  'If-None-Match': 'Respond 304 without a body if the current ETag is one of these.',
  'If-Modified-Since':
    'Respond 304 without a body if nothing changed since then. Ignored if If-None-Match is sent.',
  'Idempotency-Key':
    '1 to 255 visible ASCII characters. The same key and body within 24 hours return the first ' +
    'response again.',
} as const
export type RequestHeader = keyof typeof requestHeaders

export const Id = Type.Integer({
  minimum: 1,
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'Id of the record',
})
export const RevisionNumber = Type.Integer({
  minimum: 1,
  maximum: 2_147_483_647,
  description: 'Revision number, counted from 1',
})
const slug = (description: string) =>
  matching(
    '^[a-z0-9]+(-[a-z0-9]+)*$',
    'must be a slug: lowercase words joined by hyphens. ' +
      'GET /api/v2/suggest?q=NAME finds the slug of a name',
    { maxLength: 50, description },
  )
export const Slug = slug('Lowercase words joined by hyphens')

/** Returns the schema of a filter that takes the slug of an entity. */
export function slugOf(kind: 'category' | 'speaker' | 'tag') {
  return slug(`Slug of a ${kind}, as /api/v2/${kind} lists it: lowercase words joined by hyphens`)
}

/**
 * Default limit of keys in a body. A record has 32; reporting errors for thousands of keys would
 * take seconds.
 */
export const defaultMaxKeys = 256

export interface Endpoint {
  readonly name: string
  readonly method: 'GET' | 'PUT' | 'PATCH' | 'POST'
  /** In OpenAPI syntax: /api/v2/video/{id} */
  readonly path: string
  readonly role: Role
  /** Also for editors of single events: the feature checks the event of each record. */
  readonly forEventEditors?: true
  readonly summary: string
  readonly description?: string
  /** What cannot be undone. The reference and OpenAPI show it before the description. */
  readonly warning?: string
  readonly params?: Readonly<Record<string, TSchema>>
  readonly query?: Readonly<Record<string, TSchema>>
  readonly requestHeaders?: readonly RequestHeader[]
  readonly body?: {
    readonly schema: TSchema
    readonly types: readonly string[]
    /** Replaces the default limit of the server. */
    readonly maxBytes?: number
    /** Replaces `defaultMaxKeys`. Keys are counted on all levels. */
    readonly maxKeys?: number
    /** The body is a file instead of JSON. */
    readonly isBinary?: true
  }
  /** Timeout of a request, if it may take longer than others (ANSWER_SECONDS). */
  readonly timeoutMs?: number
  readonly response: {
    readonly status: 200 | 201
    readonly schema: TSchema
    /** Media type of a stream; the schema then describes a line. Default: a JSON document. */
    readonly type?: string
    readonly etag?: true
    readonly location?: true
    /** Whether a former URL redirects to the current one with 301. */
    readonly redirects?: true
  }
  /** Problems specific to this endpoint. `problemsOf` adds the common ones. */
  readonly problems: readonly ProblemName[]
}

/** Returns the definition itself, with its literal types inferred. */
export function endpoint<const E extends Endpoint>(definition: E): E {
  return definition
}

/**
 * Tells whether the Accept header chooses between text/html and application/json. Streams and URLs
 * with a file extension have a fixed type.
 */
export function isNegotiated({ path, response }: Endpoint): boolean {
  return !path.endsWith('.json') && response.type === undefined
}

/** Returns every problem that a call of the endpoint can result in, by status. */
export function problemsOf(endpoint: Endpoint): ProblemName[] {
  const names = new Set<ProblemName>([
    'unauthenticated',
    'not-found',
    'too-many-requests',
    'internal',
    'unavailable',
    ...endpoint.problems,
  ])
  if (isNegotiated(endpoint)) names.add('not-acceptable')
  if (endpoint.role !== 'anyone') names.add('forbidden')
  // Endpoints without a body also parse one that is sent, before they ignore it.
  if (endpoint.method !== 'GET')
    for (const name of ['malformed-body', 'too-large', 'unsupported-media-type'] as const)
      names.add(name)
  if (endpoint.body && !endpoint.body.isBinary) names.add('invalid-fields')
  if (endpoint.query) names.add('invalid-query')
  if (endpoint.requestHeaders?.includes('If-Match')) names.add('stale-revision')
  if (endpoint.requestHeaders?.includes('Idempotency-Key'))
    for (const name of ['invalid-header', 'key-reused'] as const) names.add(name)
  return [...names].sort((a, b) => problems[a].status - problems[b].status || (a < b ? -1 : 1))
}

/** Returns the value of the Allow header of a path. The order is part of the documented API. */
export function allowedMethods(endpoints: readonly Endpoint[], path: string): string {
  const own = new Set<string>(
    endpoints.filter((endpoint) => endpoint.path === path).map(({ method }) => method),
  )
  const order = ['GET', 'POST', 'PUT', 'PATCH', 'HEAD', 'OPTIONS']
  return order
    .filter((method) => method === 'OPTIONS' || own.has(method === 'HEAD' ? 'GET' : method))
    .join(', ')
}

export type ParamsOf<E extends Endpoint> = E extends { params: infer P extends TProperties }
  ? { [K in keyof P]: Static<P[K]> }
  : object
export type QueryOf<E extends Endpoint> = E extends { query: infer Q extends TProperties }
  ? { [K in keyof Q]?: Static<Q[K]> }
  : object
export type BodyOf<E extends Endpoint> = E extends { body: { schema: infer S extends TSchema } }
  ? Static<S>
  : undefined
export type ResultOf<E extends Endpoint> = Static<E['response']['schema']>
