import type { Static, TProperties, TSchema } from 'typebox'
import Type from 'typebox'
import { type ProblemName, problems } from './problems.ts'

// One endpoint is one object. The router, the validation, the access check and its test, the
// OpenAPI description and the typed client all read it, so none of them can say something else than
// the others.

/**
 * Who may call: everyone, people who edit the archive, people who run it. Each can do what the one
 * before can.
 */
export const roles = ['anyone', 'editor', 'admin'] as const
export type Role = (typeof roles)[number]

export function mayAct(as: Role, needed: Role): boolean {
  return roles.indexOf(as) >= roles.indexOf(needed)
}

export const mergePatchType = 'application/merge-patch+json'
export const jsonType = 'application/json'

/** Request headers that an endpoint listens to, beside Accept and Authorization. */
export const requestHeaders = {
  'If-Match': 'Only change the record if this is still its ETag; otherwise 412.',
  'If-None-Match': 'Answer 304 without a body if the ETag is still one of these.',
  'If-Modified-Since':
    'Answer 304 without a body if nothing changed since. Ignored beside If-None-Match.',
  'Idempotency-Key':
    'Any 1 to 255 visible ASCII characters. The same key and body within 24 hours gives the first answer again.',
} as const
export type RequestHeader = keyof typeof requestHeaders

export const Id = Type.Integer({
  minimum: 1,
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'The id of the record',
})
export const RevisionNumber = Type.Integer({
  minimum: 1,
  maximum: 2_147_483_647,
  description: 'Revisions of a record count from 1',
})
export const Slug = Type.String({
  pattern: '^[a-z0-9]+(-[a-z0-9]+)*$',
  maxLength: 50,
  description: 'Lowercase words joined by hyphens',
})

/**
 * How many keys a body may have: a record has 32. Reporting what is wrong with thousands of keys
 * takes seconds.
 */
export const defaultMaxKeys = 256

export interface Endpoint {
  readonly name: string
  readonly method: 'GET' | 'PUT' | 'PATCH' | 'POST'
  /** In OpenAPI's spelling: /api/v2/video/{id} */
  readonly path: string
  readonly role: Role
  readonly summary: string
  readonly description?: string
  readonly params?: Readonly<Record<string, TSchema>>
  readonly query?: Readonly<Record<string, TSchema>>
  readonly requestHeaders?: readonly RequestHeader[]
  readonly body?: {
    readonly schema: TSchema
    readonly types: readonly string[]
    /** In bytes, where it may be more than usual. */
    readonly maxBytes?: number
    /**
     * How many keys the body may have in all, where `defaultMaxKeys` is not enough for its schema.
     */
    readonly maxKeys?: number
  }
  readonly response: {
    readonly status: 200 | 201
    readonly schema: TSchema
    /** Where the answer is no JSON document: then the schema is of each line. */
    readonly type?: string
    readonly etag?: true
    readonly location?: true
    /** An address that was given out once and is another one today is answered 301. */
    readonly redirects?: true
  }
  /**
   * The ways to fail that are this endpoint's own; those that any endpoint has are in `problemsOf`.
   */
  readonly problems: readonly ProblemName[]
}

export function endpoint<const E extends Endpoint>(it: E): E {
  return it
}

/**
 * Whether the answer is text/html or application/json as the client likes; a file by its name is
 * what its name says.
 */
export function isNegotiated(it: Endpoint): boolean {
  return !it.path.endsWith('.json') && it.response.type === undefined
}

/** Every way in which a call of this endpoint can fail. */
export function problemsOf(it: Endpoint): ProblemName[] {
  const names = new Set<ProblemName>([
    'unauthenticated',
    'not-found',
    'too-many-requests',
    'internal',
    'unavailable',
    ...it.problems,
  ])
  if (isNegotiated(it)) names.add('not-acceptable')
  if (it.role !== 'anyone') names.add('forbidden')
  // Also where no body is taken: one that is sent is read before it is ignored.
  if (it.method !== 'GET')
    for (const name of ['malformed-body', 'too-large', 'unsupported-media-type'] as const)
      names.add(name)
  if (it.body) names.add('invalid-fields')
  if (it.query) names.add('invalid-query')
  if (it.requestHeaders?.includes('If-Match')) names.add('stale-revision')
  if (it.requestHeaders?.includes('Idempotency-Key'))
    for (const name of ['invalid-header', 'key-reused'] as const) names.add(name)
  return [...names].sort((a, b) => problems[a].status - problems[b].status || (a < b ? -1 : 1))
}

/**
 * The methods that the Allow header of each path lists, in the order that the interface document
 * gives.
 */
export function allowedMethods(endpoints: readonly Endpoint[], path: string): string {
  const own = new Set<string>(endpoints.filter((it) => it.path === path).map((it) => it.method))
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
