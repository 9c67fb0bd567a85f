import { randomUUID } from 'node:crypto'
import {
  allowedMethods,
  type Endpoint,
  mergePatchType,
  type ParamsOf,
  Problem,
  type ProblemName,
  problems,
} from '@talkshelf/contract'
import Fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify'
import type { Metrics } from '../ops/metrics.ts'
import { watchOverload } from '../ops/overload.ts'
import { sendCompressed } from './compression.ts'
import { createFastLane } from './fast-lane.ts'
import { hasSingleHost, securityHeaders } from './headers.ts'
import { healthRoutes, isOperatorRoute } from './health.ts'
import { asciiBytes, fromJson, toJson } from './json.ts'
import {
  addRoute,
  chargeRateLimit,
  fastLaneResults,
  isPlainPath,
  type Mount,
  type MountOptions,
  pathParams,
  type RouteFactory,
  requestPath,
  routeFor,
  routePath,
} from './mount.ts'
import { createServer, STATUS_CODES } from './node-http.ts'
import {
  addPage,
  type MountPage,
  type PageRequest,
  type PageResponse,
  pageRequest,
} from './pages.ts'
import { problemDocument, problemHeaders, toProblem } from './problem.ts'
import { createRateLimit } from './rate-limit.ts'

// The HTTP server: limits, the headers that every answer has, and everything that is refused.

export interface HttpServerOptions extends Omit<MountOptions, 'count' | 'limit'> {
  /** The address that absolute links start with, without a slash at its end. */
  base(): string
  readonly logger: { level: string; stream?: { write(line: string): void } } | false
  readonly metrics: Metrics
  /** Whether the database answers. */
  isReady(): Promise<boolean>
  /** Points a minute for each caller; 0 for no limit. */
  readonly pointsPerMinute: number
  /** How many proxies stand before us, whose X-Forwarded-For is believed. */
  readonly proxies: number
  /** How many requests may be under way in this process. */
  readonly maxRequests: number
  /** What somebody who looks at pages is shown instead of a problem document. */
  problemPage?(problem: Problem, request: PageRequest, requestId: string): PageResponse
}

/** Absolute addresses of our own. */
export interface SiteUrls {
  to<E extends Endpoint>(endpoint: E, params: ParamsOf<E>): string
}

const bodyLimit = 1 << 20
const limits = {
  headersTimeout: 5000,
  requestTimeout: 10_000,
  keepAliveTimeout: 72_000,
  connectionsCheckingInterval: 1000,
  maxHeaderSize: 16_384,
  requireHostHeader: false,
}

/** What Node's own parser refuses before there is a request. */
const ofParser: Record<string, ProblemName> = {
  HPE_HEADER_OVERFLOW: 'headers-too-large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request-timeout',
}

export interface HttpServer {
  readonly http: FastifyInstance
  readonly mount: Mount
  readonly mountFast: Mount
  readonly mountPage: MountPage
  /** For an answer that `mount` can't give. */
  readonly routeOf: RouteFactory
  readonly links: SiteUrls
}

export function createHttpServer(options: HttpServerOptions): HttpServer {
  const { endpoints, base, basePath } = options
  const addresses = [...new Set(endpoints.map((it) => it.path))].map((path) => ({
    pattern: patternOf(basePath + path, /\{\w+\}/),
    allow: allowedMethods(endpoints, path),
  }))

  /**
   * The headers that every answer of an address has, also where no route is found for the request.
   */
  function documented(request: FastifyRequest): { allow?: string; vary?: string } {
    const allow =
      addresses.find(({ pattern }) => pattern.test(requestPath(request)))?.allow ??
      (pages.some((it) => it.test(requestPath(request))) ? 'GET, HEAD' : undefined)
    return allow ? { allow, vary: 'Accept' } : {}
  }

  async function refuse(error: unknown, request: FastifyRequest, reply: FastifyReply) {
    const problem = toProblem(error, isWrite(request))
    const { status } = problems[problem.problem]
    if (status >= 500) request.log.error({ err: error }, problem.problem)
    // Nobody reads on when the body was refused half way, and the rest of it must not be taken for
    // a request.
    if (status === 413) reply.header('connection', 'close')
    if (options.problemPage && isForEyes(request, basePath))
      try {
        const { body = '', headers } = options.problemPage(
          problem,
          pageRequest(request, basePath),
          request.id,
        )
        const { 'content-type': _, ...others } = problemHeaders(problem)
        return await sendCompressed(
          request,
          reply.code(status).headers({ ...others, ...headers }),
          body,
        )
      } catch (failed) {
        // Who cannot be shown a page is told all the same.
        request.log.error({ err: failed }, 'a page for a problem could not be made')
      }
    return reply
      .code(status)
      .headers(problemHeaders(problem))
      .send(asciiBytes(toJson(problemDocument(problem, base(), request.id))))
  }

  let stopping = false
  let underWay = 0
  const count = (change: 1 | -1) => {
    underWay += change
  }
  const overload = watchOverload(() => underWay, options.maxRequests)
  const limit = options.pointsPerMinute > 0 ? createRateLimit(options.pointsPerMinute) : undefined
  // Where callers are counted, all go the long way.
  const lane =
    limit === undefined
      ? createFastLane({
          ...options,
          isBusy: () => stopping || overload.isOver(),
          count,
          log: (entry) => http.log.info(entry, 'answered'),
        })
      : undefined

  const http: FastifyInstance = Fastify({
    logger: options.logger,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: () => randomUUID(),
    trustProxy: (_, hop) => hop < options.proxies,
    bodyLimit,
    // We check by the contract ourselves; without this, two compilers of schemas would be loaded
    // that nobody asks.
    schemaController: {
      compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas },
    },
    forceCloseConnections: 'idle',
    // Whoever still has a connection while we stop is answered, and told to open another one
    // elsewhere.
    return503OnClosing: false,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 100 },
    serverFactory: (longWay) =>
      createServer(limits, (request, response) =>
        lane ? lane.take(request, response, longWay) : longWay(request, response),
      )
        // While nothing is sent or received.
        .setTimeout(60_000),
    // A request may name its target as a whole address (RFC 9112, 3.2.2); the path is what counts.
    rewriteUrl: (request) => (request.url ?? '').replace(/^https?:\/\/[^/?#]*/i, '') || '/',
    frameworkErrors: (error, request, reply) => {
      reply.headers({ ...securityHeaders, ...documented(request as FastifyRequest) })
      refuse(error, request as FastifyRequest, reply as FastifyReply)
    },
    clientErrorHandler(error, socket) {
      if (!socket.writable || error.code === 'ECONNRESET') return socket.destroy()
      const name = ofParser[error.code ?? ''] ?? 'bad-request'
      const problem = new Problem(name, problems[name].explain)
      const body = toJson(problemDocument(problem, base(), randomUUID()))
      const headers = {
        ...securityHeaders,
        ...problemHeaders(problem),
        'content-length': body.length,
        connection: 'close',
      }
      const lines = Object.entries(headers).map(([key, value]) => `${key}: ${value}\r\n`)
      socket.end(
        `HTTP/1.1 ${problems[name].status} ${STATUS_CODES[problems[name].status]}\r\n${lines.join('')}\r\n${body}`,
      )
    },
  })

  // Addresses that are no endpoints: pages for people.
  const pages: RegExp[] = []
  http.addHook('onRoute', ({ method, url }) => {
    if (method === 'GET') pages.push(patternOf(url, /:\w+/))
  })

  // Node would answer this by itself, without a body.
  http.server.on('checkExpectation', (_, response) => {
    const problem = new Problem('expectation-failed', problems['expectation-failed'].explain)
    const body = asciiBytes(toJson(problemDocument(problem, base(), randomUUID())))
    response
      .writeHead(417, {
        ...securityHeaders,
        ...problemHeaders(problem),
        'content-length': body.length,
      })
      .end(body)
  })

  http.removeAllContentTypeParsers()
  for (const type of ['application/json', mergePatchType])
    http.addContentTypeParser(type, { parseAs: 'buffer' }, ({ routeOptions }, body, done) => {
      try {
        // No body is no mistake where none is taken: some clients always name a type.
        done(
          null,
          body.length === 0 ? undefined : fromJson(body as Buffer, routeOptions.config.maxKeys),
        )
      } catch (error) {
        done(error as Error, undefined)
      }
    })

  http.addHook('preClose', async () => {
    stopping = true
    overload.stop()
  })
  // /readyz says no from now on, everything else goes on: a load balancer has time to notice.
  http.decorate('drain', () => {
    stopping = true
  })
  http.server.maxConnections = 10_000

  http.decorateRequest('actor')
  http.decorateRequest('as', 'html')
  http.decorateRequest('untilMs', 0)
  http.decorateRequest('leftMs', 0)
  http.decorateRequest('known')
  http.setErrorHandler(refuse)
  http.setNotFoundHandler((request, reply) =>
    refuse(new Problem('not-found', 'There is no such address'), request, reply),
  )

  http.addHook('onRequest', async (request, reply) => {
    reply.headers(securityHeaders)
    reply.header('x-request-id', request.id)
    if (stopping) reply.header('connection', 'close')
    if (!hasSingleHost(request.raw))
      throw new Problem('bad-request', 'A request has exactly one Host header')
    if (overload.isOver() && !isOperatorRoute(request))
      throw new Problem('unavailable', 'The service has too much to do now', overloaded(request))
    if (limit && !isOperatorRoute(request))
      try {
        chargeRateLimit(limit, request, reply)
      } catch (error) {
        reply.headers(documented(request))
        throw error
      }
    if (!request.is404) return
    // Before the body is read: nobody will look at it.
    const { allow } = documented(request)
    if (!allow || !isPlainPath(request)) throw new Problem('not-found', 'There is no such address')
    reply.headers(documented(request))
    throw new Problem('method-not-allowed', `This address takes ${allow}`)
  })
  http.addHook('onResponse', async (request, reply) => {
    // What began on the short way took longer than the framework knows.
    const verdict = fastLaneResults.get(request.raw)
    const ms = verdict ? performance.now() - verdict.beganMs : reply.elapsedTime
    options.metrics.answered(
      request.routeOptions.config.endpoint ?? 'other',
      reply.statusCode,
      ms / 1000,
    )
    request.log.info(
      {
        method: request.method,
        url: request.url,
        status: reply.statusCode,
        ms: Math.round(ms * 10) / 10,
      },
      'answered',
    )
  })

  for (const path of new Set(endpoints.map((it) => it.path))) {
    const allow = allowedMethods(endpoints, path)
    http.options(basePath + routePath(path), async (request, reply) => {
      reply.headers({ allow, vary: 'Accept' })
      pathParams(endpoints.find((it) => it.path === path) as Endpoint, request)
      if (allow.includes('PATCH'))
        reply.header('accept-patch', `${mergePatchType}, application/json`)
      if (request.headers['access-control-request-method'])
        reply.headers({
          'access-control-allow-methods': 'GET, HEAD',
          'access-control-allow-headers': 'If-None-Match, If-Modified-Since',
          'access-control-max-age': '86400',
        })
      return reply.code(204).send()
    })
  }
  healthRoutes(http, basePath, options.metrics, async () => !stopping && (await options.isReady()))
  return {
    http,
    mount: (endpoint, handle) => addRoute(http, { ...options, limit, count }, endpoint, handle),
    mountFast(endpoint, handle) {
      lane?.add(endpoint, handle)
      addRoute(http, { ...options, limit, count }, endpoint, handle)
    },
    mountPage: (...page) => addPage(http, { ...options, limit, count }, ...page),
    routeOf: (endpoint) => routeFor({ ...options, limit, count }, endpoint),
    links: {
      to: ({ path }, params) =>
        base() +
        path.replaceAll(/\{(\w+)\}/g, (_, name) =>
          String((params as Record<string, unknown>)[name]),
        ),
    },
  }
}

function noSchemas(): never {
  throw new Error('A route has no schema here: the contract has it')
}

/** A browser that shows a page, and not a program that reads the API. */
function isForEyes(request: FastifyRequest, basePath: string): boolean {
  const path = requestPath(request)
  return (
    !isWrite(request) &&
    /\btext\/html\b/.test(request.headers.accept ?? '') &&
    path !== `${basePath}/api` &&
    !path.startsWith(`${basePath}/api/`)
  )
}

const isWrite = ({ method }: FastifyRequest) => !['GET', 'HEAD', 'OPTIONS'].includes(method)
const overloaded = (request: FastifyRequest) => (isWrite(request) ? { outcome: 'not-applied' } : {})
const patternOf = (path: string, part: RegExp) =>
  new RegExp(`^${path.split(part).map(literal).join('[^/]+')}/?$`)
const literal = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')

declare module 'fastify' {
  interface FastifyInstance {
    drain(): void
  }
}
