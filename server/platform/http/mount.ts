import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import {
  allowedMethods,
  check,
  type Endpoint,
  type FieldError,
  mayAct,
  mergePatch,
  type ParamsOf,
  Problem,
  problems,
  type QueryOf,
} from '@talkshelf/contract'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest, LogController } from 'fastify'
import { type Actor, anyone, type Origin } from '../actor.ts'
import { etag } from './conditional.ts'
import { fromJson, toJson } from './json.ts'
import { contentTypes, type Representation, representation } from './negotiate.ts'
import { problemDocument, problemHeaders, toProblem } from './problem.ts'

// Turns the endpoints of the contract into routes: address, role, form of the answer and body are settled here, before a
// feature sees the request.

export interface Asked<E extends Endpoint> {
  readonly params: ParamsOf<E>
  readonly query: QueryOf<E>
  /** The JSON object that was sent. It is unknown until the feature has checked it against the schema of the endpoint. */
  readonly body: unknown
  readonly actor: Actor
  readonly origin: Origin
  readonly as: Representation
  readonly headers: FastifyRequest['headers']
}

export interface Answer {
  readonly status?: 200 | 201 | 304
  /** JSON text. */
  readonly body: string
  /** The version that is sent, for the ETag. */
  readonly tag?: string
  readonly headers?: Readonly<Record<string, string>>
}

export type Handler<E extends Endpoint> = (asked: Asked<E>) => Answer | Promise<Answer>

export interface HttpOptions {
  endpoints: readonly Endpoint[]
  /** The path that the service is mounted under, without a slash at its end. */
  basePath: string
  /** The address that absolute links start with, without a slash at its end. */
  base(): string
  authenticate(authorization: string): Promise<Actor | undefined>
  logger: { level: string; stream?: { write(line: string): void } } | false
}

const bodyLimit = 1 << 20

// On every answer. A JSON body is declared text/html for old clients: even so it must never act as a page.
const always = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; sandbox; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'ETag, Link, Location, Retry-After',
}

/** Absolute addresses of our own. */
export interface Links {
  to<E extends Endpoint>(endpoint: E, params: ParamsOf<E>): string
}

export type Mount = <E extends Endpoint>(endpoint: E, handle: Handler<E>) => void

export function createHttp(options: HttpOptions): { http: FastifyInstance; mount: Mount; links: Links } {
  const { endpoints, base, basePath } = options
  const addresses = [...new Set(endpoints.map((it) => it.path))].map((path) => ({
    pattern: new RegExp(
      `^${(basePath + path)
        .split(/\{\w+\}/)
        .map(literal)
        .join('[^/]+')}/?$`,
    ),
    allow: allowedMethods(endpoints, path),
  }))

  function refuse(error: unknown, request: FastifyRequest, reply: FastifyReply) {
    const problem = toProblem(error, !['GET', 'HEAD', 'OPTIONS'].includes(request.method))
    const { status } = problems[problem.problem]
    if (status >= 500) request.log.error({ err: error }, problem.problem)
    // Nobody reads on when the body was refused half way, and the rest of it must not be taken for a request.
    if (status === 413) reply.header('connection', 'close')
    reply
      .code(status)
      .headers(problemHeaders(problem))
      .send(ascii(toJson(problemDocument(problem, base(), request.id))))
  }

  const http = Fastify({
    logger: options.logger,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: () => randomUUID(),
    bodyLimit,
    requestTimeout: 10_000,
    connectionTimeout: 60_000,
    keepAliveTimeout: 72_000,
    forceCloseConnections: 'idle',
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 100 },
    http: { headersTimeout: 5000, connectionsCheckingInterval: 1000, maxHeaderSize: 16_384 },
    frameworkErrors: (error, request, reply) => {
      reply.headers(always)
      refuse(error, request as FastifyRequest, reply as FastifyReply)
    },
    clientErrorHandler(error, socket) {
      const name =
        error.code === 'HPE_HEADER_OVERFLOW'
          ? 'headers-too-large'
          : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
            ? 'request-timeout'
            : 'bad-request'
      if (!socket.writable || error.code === 'ECONNRESET') return socket.destroy()
      const problem = new Problem(name, problems[name].explain)
      const body = toJson(problemDocument(problem, base(), randomUUID()))
      const headers = { ...always, ...problemHeaders(problem), 'content-length': body.length, connection: 'close' }
      const lines = Object.entries(headers).map(([key, value]) => `${key}: ${value}\r\n`)
      socket.end(`HTTP/1.1 ${problems[name].status} ${STATUS_CODES[problems[name].status]}\r\n${lines.join('')}\r\n${body}`)
    },
  })

  http.removeAllContentTypeParsers()
  for (const type of ['application/json', mergePatch])
    http.addContentTypeParser(type, { parseAs: 'buffer' }, (request, body, done) => {
      try {
        done(null, fromJson(body as Buffer))
      } catch (error) {
        request.log.debug(error)
        done(error as Error, undefined)
      }
    })

  http.decorateRequest('actor')
  http.decorateRequest('as', 'html')
  http.setErrorHandler(refuse)
  http.setNotFoundHandler((request, reply) => refuse(new Problem('not-found', 'There is no such address'), request, reply))

  http.addHook('onRequest', async (request, reply) => {
    reply.headers(always)
    if (!request.is404) return
    // Before the body is read: nobody will look at it.
    const address = addresses.find(({ pattern }) => pattern.test(pathOf(request)))
    if (!address || !isPlain(request)) throw new Problem('not-found', 'There is no such address')
    reply.headers({ allow: address.allow, vary: 'Accept' })
    throw new Problem('method-not-allowed', `This address takes ${address.allow}`)
  })
  http.addHook('onResponse', async (request, reply) => {
    request.log.info(
      { method: request.method, url: request.url, status: reply.statusCode, ms: Math.round(reply.elapsedTime * 10) / 10 },
      'answered',
    )
  })

  for (const path of new Set(endpoints.map((it) => it.path))) {
    const allow = allowedMethods(endpoints, path)
    http.options(basePath + routePath(path), async (request, reply) => {
      reply.headers({ allow, vary: 'Accept' })
      pathParams(endpoints.find((it) => it.path === path) as Endpoint, request)
      if (allow.includes('PATCH')) reply.header('accept-patch', `${mergePatch}, application/json`)
      if (request.headers['access-control-request-method'])
        reply.headers({ 'access-control-allow-methods': 'GET, HEAD', 'access-control-max-age': '86400' })
      return reply.code(204).send()
    })
  }
  return {
    http,
    mount: (endpoint, handle) => addRoute(http, options, endpoint, handle),
    links: {
      to: ({ path }, params) => base() + path.replaceAll(/\{(\w+)\}/g, (_, name) => String((params as Record<string, unknown>)[name])),
    },
  }
}

function addRoute<E extends Endpoint>(http: FastifyInstance, options: HttpOptions, endpoint: E, handle: Handler<E>): void {
  const headers = { allow: allowedMethods(options.endpoints, endpoint.path), vary: 'Accept' }
  const alwaysJson = endpoint.path.endsWith('.json')

  http.route({
    method: endpoint.method,
    url: options.basePath + routePath(endpoint.path),
    onRequest: async (request, reply) => {
      reply.headers(headers)
      // Another spelling of an address is another address: one record has one, for caches and for access rules alike.
      pathParams(endpoint, request)
      const { format } = request.query as Record<string, string>
      request.as = alwaysJson ? 'json' : representation(request.headers.accept, format)
      request.actor = await actorOf(request, options)
      allow(endpoint, request.actor)
      refuseBodyType(endpoint, request)
    },
    handler: async (request, reply) => {
      const asked = {
        params: pathParams(endpoint, request),
        query: queryOf(endpoint, request),
        body: request.body,
        actor: request.actor,
        origin: { actor: request.actor, via: 'api' as const, request: request.id },
        as: request.as,
        headers: request.headers,
      }
      const answer = await handle(asked as Asked<E>)
      reply.code(answer.status ?? endpoint.gives.status).header('content-type', contentTypes[request.as])
      if (answer.tag) reply.header('etag', etag(answer.tag, request.as))
      reply.header('cache-control', 'private, no-store')
      if (answer.headers) reply.headers(answer.headers)
      return reply.send(answer.status === 304 ? undefined : ascii(answer.body))
    },
  })
}

/** The one place that decides who may call what. */
function allow(endpoint: Endpoint, actor: Actor): void {
  if (mayAct(actor.role, endpoint.role)) return
  if (actor.role === 'anyone') throw new Problem('unauthenticated', `This call needs the token of an ${endpoint.role}`)
  throw new Problem('forbidden', `This call needs the role ${endpoint.role}; the token has the role ${actor.role}`)
}

async function actorOf(request: FastifyRequest, options: HttpOptions): Promise<Actor> {
  const { authorization } = request.headers
  if (authorization === undefined) return anyone
  const actor = await options.authenticate(authorization)
  if (!actor) throw new Problem('unauthenticated', 'The token is not known, has expired or was revoked')
  return actor
}

function refuseBodyType(endpoint: Endpoint, { headers }: FastifyRequest): void {
  if (!endpoint.takes) return
  const refuse = (why: string) => new Problem('unsupported-media-type', why)
  if (headers['content-encoding'] !== undefined) throw refuse('A body with a Content-Encoding is not taken')
  const [type = '', ...parameters] = (headers['content-type'] ?? '').split(';').map((part) => part.trim().toLowerCase())
  if (!endpoint.takes.types.includes(type)) throw refuse(`This call takes ${endpoint.takes.types.join(' or ')}`)
  const charset = parameters.find((parameter) => parameter.startsWith('charset='))?.slice(8)
  if (charset !== undefined && !['utf-8', '"utf-8"', 'utf8'].includes(charset)) throw refuse('The only charset taken is UTF-8')
}

// As bytes: to a string that is declared JSON, Fastify would add a charset that JSON does not have.
const ascii = (json: string) => Buffer.from(json, 'latin1')

const literal = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
const routePath = (path: string) => path.replaceAll(/\{(\w+)\}/g, ':$1')
const pathOf = (request: FastifyRequest) => request.raw.url?.split('?', 1)[0] ?? ''
const isPlain = (request: FastifyRequest) => !pathOf(request).includes('%') && !pathOf(request).includes('//')

function pathParams(endpoint: Endpoint, request: FastifyRequest): Record<string, unknown> {
  const params: Record<string, unknown> = {}
  for (const [name, schema] of Object.entries(endpoint.params ?? {})) {
    const value = integerOr((request.params as Record<string, string>)[name], schema)
    if (!isPlain(request) || check(schema, value).length > 0) throw new Problem('not-found', 'There is no such address')
    params[name] = value
  }
  return params
}

function queryOf(endpoint: Endpoint, request: FastifyRequest): Record<string, unknown> {
  const query: Record<string, unknown> = {}
  const errors: FieldError[] = []
  for (const [name, schema] of Object.entries(endpoint.query ?? {})) {
    const given = (request.query as Record<string, string>)[name]
    if (given === undefined) continue
    query[name] = integerOr(given, schema)
    errors.push(...check(schema, query[name]).map((error) => ({ ...error, pointer: `/${name}` })))
  }
  if (errors.length > 0)
    throw new Problem('invalid-query', `The parameter ${errors.map(({ pointer }) => pointer.slice(1)).join(', ')} is wrong`, { errors })
  return query
}

// Addresses carry text. A number has one canonical spelling, without sign, leading zero or exponent.
function integerOr(value: unknown, schema: object): unknown {
  const isNumber = 'type' in schema && schema.type === 'integer' && typeof value === 'string' && /^(0|[1-9]\d{0,15})$/.test(value)
  return isNumber ? Number(value) : value
}

declare module 'fastify' {
  interface FastifyRequest {
    actor: Actor
    as: Representation
  }
}
