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
import { representationEtag } from './conditional.ts'
import { asciiBytes } from './json.ts'
import { chooseRepresentation, type Representation, representationTypes } from './negotiate.ts'
import { type RateLimit, rateLimitKey, requestCosts } from './rate-limit.ts'

// Turns an endpoint of the contract into a route: address, form of the answer, role and type of the
// body are settled here, in this order and before the body is read; then the feature is asked.

export interface Call<E extends Endpoint> {
  readonly params: ParamsOf<E>
  readonly query: QueryOf<E>
  /**
   * The JSON object that was sent. It is unknown until the feature has checked it against the
   * schema of the endpoint.
   */
  readonly body: unknown
  readonly actor: Actor
  readonly origin: Origin
  readonly as: Representation
  /** When the caller is answered in any case, on the clock of performance.now(). */
  readonly untilMs: number
  readonly headers: FastifyRequest['headers']
  /** The form that the address names, if it does: links to the same entity name it too. */
  readonly format: string | undefined
}

export interface RouteResponse {
  readonly status?: 200 | 201 | 301 | 304
  /** JSON text, all ASCII. Of 301 and 304 there is none. */
  readonly body: string
  /** The version that is sent, for the ETag. */
  readonly tag?: string
  readonly headers?: Readonly<Record<string, string>>
}

export type Handler<E extends Endpoint> = (call: Call<E>) => RouteResponse | Promise<RouteResponse>

export type Mount = <E extends Endpoint>(endpoint: E, handle: Handler<E>) => void

export interface MountOptions {
  readonly endpoints: readonly Endpoint[]
  /** The path that the service is mounted under, without a slash at its end. */
  readonly basePath: string
  /** Who sent this Authorization header; undefined if nobody that we know. */
  authenticate(authorization: string): Promise<Actor | undefined>
  readonly limit?: RateLimit | undefined
  /** After this long a request is answered whatever happens behind. */
  readonly answerMs: number
  /** Work on a request begins (1) or ends (-1). */
  count(change: 1 | -1): void
}

/**
 * What the fast lane found out about a request that it had to leave to the long way: nothing is
 * asked twice.
 */
export const fastLaneResults = new WeakMap<IncomingMessage, { error: unknown; beganMs: number }>()

export type RouteFactory = (endpoint: Endpoint) => ReturnType<typeof routeFor>

/** What an endpoint of the contract is as a route; its handler is all that is missing. */
export function routeFor(options: MountOptions, endpoint: Endpoint) {
  const headers = { allow: allowedMethods(options.endpoints, endpoint.path), vary: 'Accept' }
  return {
    method: endpoint.method,
    config: {
      endpoint: endpoint.name,
      cost: costOf(endpoint),
      takesToken: true,
      ...(endpoint.body?.maxKeys !== undefined && { maxKeys: endpoint.body.maxKeys }),
    },
    url: options.basePath + routePath(endpoint.path),
    ...(endpoint.body?.maxBytes !== undefined && { bodyLimit: endpoint.body.maxBytes }),
    onRequest: async (request: FastifyRequest, reply: FastifyReply) => {
      request.untilMs = performance.now() + options.answerMs
      reply.headers(headers)
      // Another spelling of an address is another address: one record has one, for caches and for
      // access rules alike.
      request.known = pathParams(endpoint, request)
      const { format } = request.query as Record<string, string>
      request.as = isNegotiated(endpoint)
        ? chooseRepresentation(request.headers.accept, format)
        : 'json'
      const { authorization } = request.headers
      request.actor =
        authorization === undefined
          ? anyone
          : await countInFlight(
              options,
              withDeadline(request.untilMs, actorOf(authorization, options), 'not-applied'),
            )
      if (options.limit) chargeToken(options.limit, request, reply)
      allow(endpoint, request.actor)
      refuseBodyType(endpoint, request)
      request.leftMs = request.untilMs - performance.now()
    },
  }
}

const costOf = (endpoint: Endpoint) =>
  endpoint.method !== 'GET'
    ? requestCosts.write
    : endpoint.query
      ? requestCosts.list
      : requestCosts.read

export function addRoute<E extends Endpoint>(
  http: FastifyInstance,
  options: MountOptions,
  endpoint: E,
  handle: Handler<E>,
): void {
  http.route({
    ...routeFor(options, endpoint),
    handler: async (request, reply) => {
      // How long the body took to come was up to the caller.
      request.untilMs = performance.now() + request.leftMs
      const verdict = fastLaneResults.get(request.raw)
      if (verdict) throw verdict.error
      if (endpoint.body && request.body === undefined)
        throw new Problem('malformed-body', 'The body is empty')
      const asked = {
        params: request.known,
        query: queryParams(endpoint, request),
        body: request.body,
        actor: request.actor,
        untilMs: request.untilMs,
        origin: { actor: request.actor, via: 'api' as const, request: request.id },
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
            withDeadline(request.untilMs, handle(asked as Call<E>), 'unknown'),
          ),
      )
      if (answer.status === 304)
        options.limit?.giveBack(rateLimitKey(request.actor.token, request.ip), costOf(endpoint))
      const isEmpty = answer.status === 301 || answer.status === 304
      reply.code(answer.status ?? endpoint.response.status)
      if (answer.status !== 301) reply.header('content-type', representationTypes[request.as])
      if (answer.tag) reply.header('etag', representationEtag(answer.tag, request.as))
      reply.header('cache-control', 'private, no-store')
      if (answer.headers) reply.headers(answer.headers)
      return reply.send(isEmpty ? undefined : asciiBytes(answer.body))
    },
  })
}

/**
 * Charges the address of a request before anything is done for it. If the route takes tokens and
 * one was sent, it costs the address as much as a read: the lookup is all that an unknown token
 * gets.
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

/**
 * Charges a token that turned out to be valid, and gives the points of its lookup back to the
 * address.
 */
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

function spend(limit: RateLimit, caller: string, cost: number, reply: FastifyReply): void {
  const { left, waitSeconds } = limit.take(caller, cost)
  reply.headers(limit.headers(left))
  if (waitSeconds > 0)
    throw new Problem('too-many-requests', `Wait ${waitSeconds} seconds`, {
      retry_after: waitSeconds,
    })
}

// Work is counted, not connections: who sends or reads slowly, or goes away half way, takes
// nobody's place.
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
 * A statement that was sent cannot be taken back; it only is waited for no longer. No other one
 * follows it (`assertBeforeDeadline`).
 */
export async function withDeadline<T>(
  untilMs: number,
  work: Promise<T> | T,
  outcome: Unavailable['outcome'],
): Promise<T> {
  let late: NodeJS.Timeout | undefined
  const tooLate = new Promise<never>((_, reject) => {
    late = setTimeout(
      () => reject(new Unavailable(outcome, new Error('It took too long'))),
      untilMs - performance.now(),
    )
  })
  try {
    return await Promise.race([work, tooLate])
  } finally {
    clearTimeout(late)
  }
}

/** The one place that decides who may call what. */
function allow(endpoint: Endpoint, actor: Actor): void {
  if (mayAct(actor.role, endpoint.role)) return
  if (actor.role === 'anyone')
    throw new Problem('unauthenticated', `This call needs the token of an ${endpoint.role}`)
  throw new Problem(
    'forbidden',
    `This call needs the role ${endpoint.role}; the token has the role ${actor.role}`,
  )
}

async function actorOf(authorization: string, options: MountOptions): Promise<Actor> {
  const actor = await options.authenticate(authorization)
  if (!actor)
    throw new Problem('unauthenticated', 'The token is not known, has expired or was revoked')
  return actor
}

function refuseBodyType(endpoint: Endpoint, { headers }: FastifyRequest): void {
  if (!endpoint.body) return
  const refuse = (why: string) => new Problem('unsupported-media-type', why)
  if (headers['content-encoding'] !== undefined)
    throw refuse('A body with a Content-Encoding is not taken')
  const [type = '', ...parameters] = (headers['content-type'] ?? '')
    .split(';')
    .map((part) => part.trim().toLowerCase())
  if (!endpoint.body.types.includes(type))
    throw refuse(`This call takes ${endpoint.body.types.join(' or ')}`)
  const charset = parameters.find((parameter) => parameter.startsWith('charset='))?.slice(8)
  if (charset !== undefined && !['utf-8', '"utf-8"', 'utf8'].includes(charset))
    throw refuse('The only charset taken is UTF-8')
}

export const routePath = (path: string) => path.replaceAll(/\{(\w+)\}/g, ':$1')
export const requestPath = (request: FastifyRequest) => request.raw.url?.split('?', 1)[0] ?? ''
export const isPlainPath = (request: FastifyRequest) => !/%|#|\/\//.test(requestPath(request))

export function pathParams(endpoint: Endpoint, request: FastifyRequest): Record<string, unknown> {
  const params: Record<string, unknown> = {}
  let known = isPlainPath(request)
  for (const [name, schema] of Object.entries(endpoint.params ?? {})) {
    params[name] = integerOr((request.params as Record<string, string>)[name], schema)
    known &&= validationErrors(schema, params[name]).length === 0
  }
  if (!known) throw new Problem('not-found', 'There is no such address')
  return params
}

export function queryParams(endpoint: Endpoint, request: FastifyRequest): Record<string, unknown> {
  const query: Record<string, unknown> = {}
  const errors: FieldError[] = []
  // A filter that is misspelt must not look like one that lets everything through.
  const unknown = endpoint.query
    ? Object.keys(request.query as object).filter(
        (name) => name !== 'format' && !Object.hasOwn(endpoint.query ?? {}, name),
      )
    : []
  errors.push(
    ...unknown.map((name) => ({
      pointer: `/${name}`,
      code: 'unknown',
      detail: 'is no parameter of this call',
    })),
  )
  for (const [name, schema] of Object.entries(endpoint.query ?? {})) {
    const given = (request.query as Record<string, string>)[name]
    if (given === undefined) continue
    query[name] = integerOr(given, schema)
    errors.push(
      ...validationErrors(schema, query[name]).map((error) => ({ ...error, pointer: `/${name}` })),
    )
  }
  if (errors.length > 0)
    throw new Problem(
      'invalid-query',
      `The parameter ${errors.map(({ pointer }) => pointer.slice(1)).join(', ')} is wrong`,
      { errors },
    )
  return query
}

// Addresses carry text. A number has one canonical spelling, without sign, leading zero or
// exponent.
function integerOr(value: unknown, schema: object): unknown {
  const isNumber =
    'type' in schema &&
    schema.type === 'integer' &&
    typeof value === 'string' &&
    /^(0|[1-9]\d{0,15})$/.test(value)
  return isNumber ? Number(value) : value
}

declare module 'fastify' {
  interface FastifyContextConfig {
    endpoint?: string
    maxKeys?: number
    /** What the rate limit charges; a read where nothing is said. */
    cost?: number
    takesToken?: boolean
  }
  interface FastifyRequest {
    actor: Actor
    as: Representation
    untilMs: number
    /** What was left of the time when the body began. */
    leftMs: number
    /** The parameters of the address, checked. */
    known: Record<string, unknown>
  }
}
