import type { IncomingMessage } from 'node:http'
import {
  allowedMethods,
  type Endpoint,
  type FieldError,
  isNegotiated,
  mayAct,
  type ParamsOf,
  Problem,
  type QueryOf,
  validationErrors,
} from '@talkshelf/contract'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Actor, anyone, type Origin } from '../actor.ts'
import { Unavailable } from '../db/db.ts'
import { tracedRequest } from '../ops/trace.ts'
import { chooseEncoding, sendEncoded } from './compression.ts'
import { representationEtag } from './conditional.ts'
import { type EdgeHeaders, type LazyPolicy, setEdgeHeaders } from './edge-policy.ts'
import { asciiBytes } from './json.ts'
import { chooseRepresentation, type Representation, representationTypes } from './negotiate.ts'
import { type RateLimit, rateLimitKey, requestCosts } from './rate-limit.ts'

// Turns an endpoint of the contract into a route. Checks the URL, the representation, the role and
// the type of the body in this order, before the body is read; then calls the handler.

export interface Call<E extends Endpoint> {
  readonly params: ParamsOf<E>
  readonly query: QueryOf<E>
  /**
   * The JSON object in the body, which the feature validates with the schema of the endpoint; a
   * Buffer if the endpoint takes a file.
   */
  readonly body: unknown
  readonly actor: Actor
  readonly origin: Origin
  /** Key of the network for rate limits. */
  readonly network: string
  readonly as: Representation
  /** Deadline of the response, on the clock of performance.now(). */
  readonly untilMs: number
  readonly headers: FastifyRequest['headers']
  /** The query parameter `format`; links to the same resource repeat it. */
  readonly format: string | undefined
}

export interface RouteResponse {
  readonly status?: 200 | 201 | 301 | 304
  /** ASCII JSON. Ignored for 301 and 304. */
  readonly body: string
  /** The version in the body, for the ETag. */
  readonly etag?: string
  readonly headers?: Readonly<Record<string, string>>
  /** What an edge cache may do with the response to an anonymous reader. */
  readonly edge?: LazyPolicy
}

export type Handler<E extends Endpoint> = (call: Call<E>) => RouteResponse | Promise<RouteResponse>

export type Mount = <E extends Endpoint>(endpoint: E, handle: Handler<E>) => void

export interface MountOptions {
  readonly endpoints: readonly Endpoint[]
  /** Path of the base URL, without a trailing slash. */
  readonly basePath: string
  /** Origin of PUBLIC_URL, if it is set. Forms of other origins are refused. */
  readonly publicOrigin?: string | undefined
  /** Returns the owner of an Authorization header, or undefined if it is not valid. */
  authenticate(authorization: string): Promise<Actor | undefined>
  readonly limit?: RateLimit | undefined
  /** Timeout of a request. */
  readonly answerMs: number
  /** Returns the headers for an edge cache, if there is one. */
  readonly edge?: EdgeHeaders | undefined
  /** Runs a request that may write. Its result is durable, even if it had nothing to write. */
  durably<T>(work: () => T | Promise<T>): Promise<T>
  /** Counts work on a request that begins (1) or ends (-1). */
  count(change: 1 | -1): void
}

/** Errors of requests that the fast lane passed on, so that no query runs twice. */
export const fastLaneResults = new WeakMap<IncomingMessage, { error: unknown; beganMs: number }>()

export type RouteFactory = (endpoint: Endpoint) => ReturnType<typeof routeFor>

/** Returns the options of the Fastify route for an endpoint, without its handler. */
export function routeFor(options: MountOptions, endpoint: Endpoint) {
  const headers = { allow: allowedMethods(options.endpoints, endpoint.path), vary: 'Accept' }
  return {
    method: endpoint.method,
    config: {
      route: endpoint.path,
      cost: costOf(endpoint),
      takesToken: true,
      ...(endpoint.body?.maxKeys !== undefined && { maxKeys: endpoint.body.maxKeys }),
      ...(endpoint.body?.isBinary && { takesBinary: true }),
    },
    url: options.basePath + routePath(endpoint.path),
    ...(endpoint.body?.maxBytes !== undefined && { bodyLimit: endpoint.body.maxBytes }),
    onRequest: async (request: FastifyRequest, reply: FastifyReply) => {
      request.untilMs = performance.now() + Math.max(options.answerMs, endpoint.timeoutMs ?? 0)
      reply.headers(headers)
      // Only the canonical spelling of a URL is accepted: caches and access rules of proxies must
      // not see several URLs for one record.
      request.validParams = pathParams(endpoint, request)
      const { format } = request.query as Record<string, string>
      request.as = isNegotiated(endpoint)
        ? chooseRepresentation(request.headers.accept, format)
        : 'json'
      request.actor = await authenticate(request, options)
      if (options.limit) chargeToken(options.limit, request, reply)
      checkRole(endpoint, request.actor)
      checkBodyType(endpoint, request)
      request.remainingMs = request.untilMs - performance.now()
    },
  }
}

function costOf(endpoint: Endpoint): number {
  if (endpoint.method !== 'GET') return requestCosts.write
  return endpoint.query ? requestCosts.list : requestCosts.read
}

/** Adds an endpoint as a route. */
export function addRoute<E extends Endpoint>(
  http: FastifyInstance,
  options: MountOptions,
  endpoint: E,
  handle: Handler<E>,
): void {
  const isCompressible = canCompress(options.endpoints, endpoint)
  const answerCall: Handler<E> =
    endpoint.method === 'GET' ? handle : (call) => options.durably(() => handle(call))
  http.route({
    ...routeFor(options, endpoint),
    handler: async (request, reply) => {
      // The time in which the client sent the body does not count.
      request.untilMs = performance.now() + request.remainingMs
      const fastLaneResult = fastLaneResults.get(request.raw)
      if (fastLaneResult) throw fastLaneResult.error
      if (endpoint.body && request.body === undefined)
        throw new Problem('malformed-body', 'The body is empty')
      const call = {
        params: request.validParams,
        query: queryParams(endpoint, request),
        body: request.body,
        actor: request.actor,
        untilMs: request.untilMs,
        origin: { actor: request.actor, via: 'api' as const, request: request.id },
        network: rateLimitKey(null, request.ip),
        as: request.as,
        headers: request.headers,
        format: (request.query as Record<string, string>).format,
      }
      const answer = await tracedRequest(
        `${endpoint.method} ${endpoint.path}`,
        request.headers,
        () =>
          countInFlight(
            options,
            withDeadline(request.untilMs, answerCall(call as Call<E>), 'unknown'),
          ),
      )
      if (answer.status === 304)
        options.limit?.giveBack(rateLimitKey(request.actor.token, request.ip), costOf(endpoint))
      const isEmpty = answer.status === 301 || answer.status === 304
      reply.code(answer.status ?? endpoint.response.status)
      if (answer.status !== 301) reply.header('content-type', representationTypes[request.as])
      const bytes = asciiBytes(answer.body)
      const encoding = isCompressible ? chooseEncoding(request, reply, bytes.length) : undefined
      if (answer.etag) {
        const etag = representationEtag(answer.etag, request.as)
        // Compressed bytes are not those that a strong ETag stands for.
        reply.header('etag', encoding ? `W/${etag}` : etag)
      }
      reply.header('cache-control', 'private, no-store')
      if (answer.headers) reply.headers(answer.headers)
      setEdgeHeaders(options.edge, request, reply, answer.edge)
      return isEmpty ? reply.send() : sendEncoded(reply, bytes, encoding)
    },
  })
}

/**
 * Tells whether the responses of an endpoint may be compressed. Those below a record never are:
 * their headers are part of the documented API. Others keep a strong ETag if If-Match takes it.
 */
function canCompress(endpoints: readonly Endpoint[], { method, path }: Endpoint): boolean {
  const isOfRecord = path.startsWith('/api/v2/video/{id}')
  const hasConditionalWrite = endpoints.some(
    (other) => other.path === path && other.requestHeaders?.includes('If-Match'),
  )
  return method === 'GET' && !isOfRecord && !hasConditionalWrite
}

/**
 * Charges the IP address of a request before any work is done. A request with a token costs the
 * address only as much as a read, because looking the token up is the only work for an invalid one.
 */
export function chargeRateLimit(
  limit: RateLimit,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const { cost = requestCosts.read, takesToken } = request.routeOptions.config
  const hasToken = takesToken && request.headers.authorization !== undefined
  spend(limit, rateLimitKey(null, request.ip), hasToken ? requestCosts.read : cost, reply)
}

/** Charges a valid token and refunds the points of its lookup to the IP address. */
function chargeToken(limit: RateLimit, request: FastifyRequest, reply: FastifyReply): void {
  const { token } = request.actor
  if (token === null) return
  limit.giveBack(rateLimitKey(null, request.ip), requestCosts.read)
  spend(
    limit,
    rateLimitKey(token, request.ip),
    request.routeOptions.config.cost ?? requestCosts.read,
    reply,
  )
}

function spend(limit: RateLimit, client: string, cost: number, reply: FastifyReply): void {
  const { left, waitSeconds } = limit.take(client, cost)
  reply.headers(limit.headers(left))
  if (waitSeconds > 0)
    throw new Problem('too-many-requests', `Rate limit reached; retry in ${waitSeconds} s`, {
      retry_after: waitSeconds,
    })
}

/**
 * Counts the work as a request in flight while it runs. Connections are not counted, so slow and
 * aborted ones do not use up the concurrency limit.
 */
export async function countInFlight<T>(
  { count }: Pick<MountOptions, 'count'>,
  work: Promise<T>,
): Promise<T> {
  count(1)
  try {
    return await work
  } finally {
    count(-1)
  }
}

/**
 * Rejects with Unavailable if the work is not done at the deadline. The work itself is not
 * cancelled, because a sent statement cannot be; `assertBeforeDeadline` stops it before the next
 * statement.
 */
export async function withDeadline<T>(
  untilMs: number,
  work: Promise<T> | T,
  outcome: Unavailable['outcome'],
): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Unavailable(outcome, new Error('The request timed out'))),
      untilMs - performance.now(),
    )
  })
  try {
    return await Promise.race([work, timeout])
  } finally {
    clearTimeout(timer)
  }
}

/** Throws a Problem if the caller lacks the role of the endpoint. */
function checkRole(endpoint: Endpoint, actor: Actor): void {
  if (mayAct(actor.role, endpoint.role)) {
    if (!actor.events || endpoint.forEventEditors || !mayAct(endpoint.role, 'editor')) return
    throw new Problem('forbidden', 'This endpoint requires a role for the whole archive')
  }
  if (actor.role === 'anyone')
    throw new Problem('unauthenticated', `This endpoint requires an ${endpoint.role} token`)
  throw new Problem(
    'forbidden',
    `This endpoint requires the role ${endpoint.role}; your token has the role ${actor.role}`,
  )
}

async function authenticate(request: FastifyRequest, options: MountOptions): Promise<Actor> {
  const { authorization } = request.headers
  if (authorization === undefined) return anyone
  const lookup = options.authenticate(authorization)
  const actor = await countInFlight(options, withDeadline(request.untilMs, lookup, 'not-applied'))
  if (!actor) throw new Problem('unauthenticated', 'The token is unknown, expired or revoked')
  return actor
}

function checkBodyType(endpoint: Endpoint, { headers }: FastifyRequest): void {
  if (!endpoint.body) return
  const unsupported = (reason: string) => new Problem('unsupported-media-type', reason)
  if (headers['content-encoding'] !== undefined)
    throw unsupported('Content-Encoding is not supported; send the body uncompressed')
  const [type = '', ...parameters] = (headers['content-type'] ?? '')
    .split(';')
    .map((part) => part.trim().toLowerCase())
  if (!endpoint.body.types.includes(type))
    throw unsupported(`Content-Type must be ${endpoint.body.types.join(' or ')}`)
  const charset = parameters.find((parameter) => parameter.startsWith('charset='))?.slice(8)
  if (charset !== undefined && !['utf-8', '"utf-8"', 'utf8'].includes(charset))
    throw unsupported('The charset must be UTF-8')
}

/** Converts a path template of the contract to one of Fastify. */
export const routePath = (path: string) => path.replaceAll(/\{(\w+)\}/g, ':$1')
/** Returns the path of a request as it was sent, without the query. */
export const requestPath = (request: FastifyRequest) => request.raw.url?.split('?', 1)[0] ?? ''
/** Tells whether the path of a request is spelt without escapes and empty segments. */
export const isPlainPath = (request: FastifyRequest) => !/%|#|\/\//.test(requestPath(request))

/** Parses and validates the parameters in the path. Throws `not-found` if one is invalid. */
export function pathParams(endpoint: Endpoint, request: FastifyRequest): Record<string, unknown> {
  const params: Record<string, unknown> = {}
  let isValid = isPlainPath(request)
  for (const [name, schema] of Object.entries(endpoint.params ?? {})) {
    params[name] = parseInteger((request.params as Record<string, string>)[name], schema)
    isValid &&= validationErrors(schema, params[name]).length === 0
  }
  if (!isValid) throw new Problem('not-found', 'This URL does not exist')
  return params
}

/** Parses and validates the query parameters. Throws one Problem that lists all invalid ones. */
export function queryParams(endpoint: Endpoint, request: FastifyRequest): Record<string, unknown> {
  const query: Record<string, unknown> = {}
  const errors: FieldError[] = []
  // Unknown parameters are errors: a misspelt filter would otherwise return everything.
  const unknown = endpoint.query
    ? Object.keys(request.query as object).filter(
        (name) => name !== 'format' && !Object.hasOwn(endpoint.query ?? {}, name),
      )
    : []
  errors.push(
    ...unknown.map((name) => ({
      pointer: `/${name}`,
      code: 'unknown',
      detail: 'is not a parameter of this endpoint',
    })),
  )
  for (const [name, schema] of Object.entries(endpoint.query ?? {})) {
    const value = (request.query as Record<string, string>)[name]
    if (value === undefined) continue
    query[name] = parseInteger(value, schema)
    errors.push(
      ...validationErrors(schema, query[name]).map((error) => ({ ...error, pointer: `/${name}` })),
    )
  }
  if (errors.length > 0) {
    const invalid = errors.map(({ pointer }) => pointer.slice(1)).join(', ')
    const known = Object.keys(endpoint.query ?? {}).join(', ')
    // Once, and not for each unknown parameter: a URL can have thousands.
    const help = unknown.length > 0 && known ? `. Known parameters: ${known}` : ''
    throw new Problem('invalid-query', `Invalid query parameter: ${invalid}${help}`, { errors })
  }
  return query
}

// Parses a value in a URL if its schema is an integer. Leaves other values and non-canonical
// spellings (sign, leading zero, exponent) as they are, to be rejected by the validation.
function parseInteger(value: unknown, schema: object): unknown {
  const isNumber =
    'type' in schema &&
    schema.type === 'integer' &&
    typeof value === 'string' &&
    /^(0|[1-9]\d{0,15})$/.test(value)
  return isNumber ? Number(value) : value
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The path with the names of its parameters. */
    route?: string
    maxKeys?: number
    /** The body is a file instead of JSON. */
    takesBinary?: boolean
    /** Cost in points of the rate limit; by default that of a read. */
    cost?: number
    takesToken?: boolean
  }
  interface FastifyRequest {
    actor: Actor
    as: Representation
    untilMs: number
    /** Time until the deadline when the headers were processed, before the body was read. */
    remainingMs: number
    /** Validated parameters of the path. */
    validParams: Record<string, unknown>
  }
}
