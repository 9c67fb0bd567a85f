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
import { onPrimary, withReplicas } from '../db/read-context.ts'
import { withClient } from '../ops/admission.ts'
import type { Metrics } from '../ops/metrics.ts'
import { watchOverload } from '../ops/overload.ts'
import { sendCompressed } from './compression.ts'
import { missingPolicy, setEdgeHeaders } from './edge-policy.ts'
import { createFastLane, type FastLane } from './fast-lane.ts'
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
  addForm,
  addPage,
  addUpload,
  type MountForm,
  type MountPage,
  type MountUpload,
  type PageRequest,
  type PageResponse,
  pageRequest,
  parseForms,
} from './pages.ts'
import { problemDocument, problemHeaders, toProblem } from './problem.ts'
import { createRateLimit, type RateLimit, rateLimitKey } from './rate-limit.ts'
import { acceptUploads } from './uploads.ts'

// Creates the HTTP server: its limits, the headers of every response, error responses, logging and
// the routes that belong to no feature.

export interface HttpServerOptions extends Omit<MountOptions, 'count' | 'limit'> {
  /** Returns the base URL of absolute links, without a trailing slash. */
  base(): string
  readonly logger: { level: string; stream?: { write(line: string): void } } | false
  readonly metrics: Metrics
  /** The token with which /metrics is read; without one, only from this machine. */
  readonly metricsToken?: string | undefined
  /** Tells whether the database responds. */
  isReady(): Promise<boolean>
  /** Tells whether a request may read from a replica. Undefined if there are no replicas. */
  mayReadReplica?: ((request: FastifyRequest) => boolean) | undefined
  /** Returns what /healthz and /readyz report besides their status. */
  healthDetails?(): object
  /** Points per minute for each client; 0 disables the rate limit. */
  readonly pointsPerMinute: number
  /** Number of trusted reverse proxies that append to X-Forwarded-For. */
  readonly proxies: number
  /** Maximum number of concurrent requests in this process. */
  readonly maxRequests: number
  /** Removes secrets from a URL, for the log and for error pages. */
  redactUrl?(url: string): string
  /** Renders a problem for browsers, which get a page instead of a problem document. */
  problemPage?(problem: Problem, request: PageRequest, requestId: string): PageResponse
}

/** Builds absolute URLs of endpoints. */
export interface SiteUrls {
  to<E extends Endpoint>(endpoint: E, params: ParamsOf<E>): string
}

const bodyLimit = 1 << 20
const connectionLimits = {
  headersTimeout: 5000,
  requestTimeout: 10_000,
  keepAliveTimeout: 72_000,
  connectionsCheckingInterval: 1000,
  maxHeaderSize: 16_384,
  requireHostHeader: false,
}

/** Problems for the errors of Node's HTTP parser, by error code. */
const parserProblems: Record<string, ProblemName> = {
  HPE_HEADER_OVERFLOW: 'headers-too-large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request-timeout',
}

export interface HttpServer {
  readonly http: FastifyInstance
  readonly mount: Mount
  readonly mountFast: Mount
  readonly mountPage: MountPage
  readonly mountForm: MountForm
  readonly mountUpload: MountUpload
  /** For a response that `mount` does not support, such as a stream. */
  readonly routeOf: RouteFactory
  readonly links: SiteUrls
}

interface PageUrl {
  readonly pattern: RegExp
  readonly method: 'GET' | 'POST'
}

/** Returns the Allow and Vary headers of a URL, whether or not a route matches the request. */
type UrlHeaders = (request: FastifyRequest) => { allow?: string; vary?: string }

type ErrorHandler = (
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
) => Promise<FastifyReply>

/** Creates the server. Features add their routes with the functions that it returns. */
export function createHttpServer(options: HttpServerOptions): HttpServer {
  const { endpoints, base, basePath } = options
  // URLs that are not endpoints: pages and forms.
  const pages: PageUrl[] = []
  const urlHeaders = createUrlHeaders(endpoints, basePath, pages)
  const sendProblem = createErrorHandler(options)

  const state = { isStopping: false, inFlight: 0 }
  const count = (change: 1 | -1) => {
    state.inFlight += change
  }
  const overload = watchOverload(() => state.inFlight, options.maxRequests)
  const limit = options.pointsPerMinute > 0 ? createRateLimit(options.pointsPerMinute) : undefined
  // The fast lane does not charge clients, so the rate limit disables it.
  const fastLane =
    limit === undefined
      ? createFastLane({
          ...options,
          isBusy: () => state.isStopping || overload.isOver(),
          count,
          log: (entry) => http.log.info(entry, 'request completed'),
        })
      : undefined

  const http = createFastify(options, fastLane, urlHeaders, sendProblem)
  http.addHook('onRoute', ({ method, url }) => {
    if (method === 'GET' || method === 'POST')
      pages.push({ pattern: urlPattern(url, /:\w+/), method: method as PageUrl['method'] })
  })
  rejectExpectations(http, base)
  parseJsonBodies(http)
  readBinaryBodies(http, endpoints)
  parseForms(http)
  acceptUploads(http)
  http.addHook('preClose', async () => {
    state.isStopping = true
    overload.stop()
  })
  // From now on /readyz fails and everything else still works, so that a load balancer can react.
  http.decorate('drain', () => {
    state.isStopping = true
  })
  http.server.maxConnections = 10_000

  http.addHook('onRequest', (request, _reply, done) =>
    withClient(rateLimitKey(null, request.ip), done),
  )
  const { mayReadReplica } = options
  if (mayReadReplica)
    http.addHook('onRequest', (request, _reply, done) =>
      mayReadReplica(request) ? withReplicas(done) : onPrimary(done),
    )
  decorateRequests(http)
  http.setErrorHandler(sendProblem)
  http.setNotFoundHandler((request, reply) =>
    sendProblem(new Problem('not-found', 'This URL does not exist'), request, reply),
  )
  const isStopping = () => state.isStopping
  checkRequests(http, {
    urlHeaders,
    isStopping,
    isOverloaded: overload.isOver,
    limit,
    noStore: options.edge?.headers(undefined, true),
  })
  recordResponses(http, options)
  addOptionsRoutes(http, endpoints, basePath)
  healthRoutes(http, {
    basePath,
    metrics: options.metrics,
    metricsToken: options.metricsToken,
    isReady: async () => !state.isStopping && (await options.isReady()),
    details: options.healthDetails,
  })

  const mountOptions = { ...options, limit, count }
  return {
    http,
    mount: (endpoint, handle) => addRoute(http, mountOptions, endpoint, handle),
    mountFast(endpoint, handle) {
      fastLane?.add(endpoint, handle)
      addRoute(http, mountOptions, endpoint, handle)
    },
    mountPage: (...page) => addPage(http, mountOptions, ...page),
    mountForm: (...form) => addForm(http, mountOptions, ...form),
    mountUpload: (...upload) => addUpload(http, mountOptions, ...upload),
    routeOf: (endpoint) => routeFor(mountOptions, endpoint),
    links: createSiteUrls(base),
  }
}

/** Declares the properties that mount.ts sets on requests. */
function decorateRequests(http: FastifyInstance): void {
  http.decorateRequest('actor')
  http.decorateRequest('as', 'html')
  http.decorateRequest('untilMs', 0)
  http.decorateRequest('remainingMs', 0)
  http.decorateRequest('validParams')
}

/** Returns the URLs of absolute links to endpoints. */
function createSiteUrls(base: () => string): SiteUrls {
  return {
    to: ({ path }, params) =>
      base() +
      path.replaceAll(/\{(\w+)\}/g, (_, name) => String((params as Record<string, unknown>)[name])),
  }
}

function createUrlHeaders(
  endpoints: readonly Endpoint[],
  basePath: string,
  pages: readonly PageUrl[],
): UrlHeaders {
  const urls = [...new Set(endpoints.map(({ path }) => path))].map((path) => ({
    pattern: urlPattern(basePath + path, /\{\w+\}/),
    allow: allowedMethods(endpoints, path),
  }))
  return (request) => {
    const allow =
      urls.find(({ pattern }) => pattern.test(requestPath(request)))?.allow ??
      pageMethods(pages.filter(({ pattern }) => pattern.test(requestPath(request))))
    return allow ? { allow, vary: 'Accept' } : {}
  }
}

function pageMethods(urls: readonly PageUrl[]): string | undefined {
  const methods = new Set(urls.map(({ method }) => (method === 'GET' ? 'GET, HEAD' : method)))
  return methods.size > 0 ? [...methods].sort().join(', ') : undefined
}

/** Returns a handler that sends an error as a page to browsers, else as a problem document. */
function createErrorHandler({
  base,
  basePath,
  problemPage,
  redactUrl = String,
  edge,
}: HttpServerOptions): ErrorHandler {
  /** Lets an edge cache store for a moment that something is missing. */
  const setMissing = (request: FastifyRequest, reply: FastifyReply) => {
    if (!edge || (reply.statusCode !== 404 && reply.statusCode !== 410)) return
    // Browsers get a page.
    const vary = String(reply.getHeader('vary') ?? '')
    if (!/\baccept(?!-)/i.test(vary)) reply.header('vary', vary ? `Accept, ${vary}` : 'Accept')
    const path = requestPath(request).slice(basePath.length)
    setEdgeHeaders(edge, request, reply, () => missingPolicy(path))
  }
  return async (error, request, reply) => {
    const problem = toProblem(error, isWrite(request))
    const { status } = problems[problem.problem]
    if (status >= 500) request.log.error({ err: error }, problem.problem)
    // The rest of a body that was too large must not be parsed as the next request.
    if (status === 413) reply.header('connection', 'close')
    if (problemPage && isPageRequest(request, basePath))
      try {
        const { address, ...page } = pageRequest(request, basePath)
        const { body = '', headers } = problemPage(
          problem,
          { ...page, address: redactUrl(address) },
          request.id,
        )
        const { 'content-type': _, ...others } = problemHeaders(problem)
        reply.code(status).headers({ ...others, ...headers })
        setMissing(request, reply)
        return await sendCompressed(request, reply, body)
      } catch (failure) {
        // The problem document is sent instead.
        request.log.error({ err: failure }, 'cannot render the error page')
      }
    reply.code(status).headers(problemHeaders(problem))
    setMissing(request, reply)
    return reply.send(asciiBytes(toJson(problemDocument(problem, base(), request.id))))
  }
}

function createFastify(
  { base, logger, proxies }: HttpServerOptions,
  fastLane: FastLane | undefined,
  urlHeaders: UrlHeaders,
  sendProblem: ErrorHandler,
): FastifyInstance {
  return Fastify({
    logger,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: () => randomUUID(),
    trustProxy: (_, hop) => hop < proxies,
    bodyLimit,
    // The contract validates requests; by default Fastify would load two schema compilers.
    schemaController: {
      compilersFactory: { buildValidator: rejectSchema, buildSerializer: rejectSchema },
    },
    forceCloseConnections: 'idle',
    // While the server stops, requests on open connections are still answered, with
    // `Connection: close`.
    return503OnClosing: false,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 100 },
    serverFactory: (fullPath) =>
      createServer(connectionLimits, (request, response) =>
        fastLane ? fastLane.take(request, response, fullPath) : fullPath(request, response),
      )
        // While nothing is sent or received.
        .setTimeout(60_000),
    // A request target may be an absolute URL (RFC 9112, 3.2.2); only its path counts.
    rewriteUrl: (request) => (request.url ?? '').replace(/^https?:\/\/[^/?#]*/i, '') || '/',
    frameworkErrors: (error, request, reply) => {
      reply.headers({ ...securityHeaders, ...urlHeaders(request as FastifyRequest) })
      sendProblem(error, request as FastifyRequest, reply as FastifyReply)
    },
    clientErrorHandler(error, socket) {
      if (!socket.writable || error.code === 'ECONNRESET') return socket.destroy()
      const name = parserProblems[error.code ?? ''] ?? 'bad-request'
      const { status, explain } = problems[name]
      const problem = new Problem(name, explain)
      const body = toJson(problemDocument(problem, base(), randomUUID()))
      const headers = {
        ...securityHeaders,
        ...problemHeaders(problem),
        'content-length': body.length,
        connection: 'close',
      }
      const lines = Object.entries(headers).map(([key, value]) => `${key}: ${value}\r\n`)
      const statusLine = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`
      socket.end(`${statusLine}${lines.join('')}\r\n${body}`)
    },
  })
}

/** Sends a problem document for an Expect header, which Node would reject without a body. */
function rejectExpectations(http: FastifyInstance, base: () => string): void {
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
}

function parseJsonBodies(http: FastifyInstance): void {
  http.removeAllContentTypeParsers()
  for (const type of ['application/json', mergePatchType])
    http.addContentTypeParser(type, { parseAs: 'buffer' }, ({ routeOptions }, body, done) => {
      try {
        // Some clients send a Content-Type without a body, which is valid if none is required.
        done(
          null,
          body.length === 0 ? undefined : fromJson(body as Buffer, routeOptions.config.maxKeys),
        )
      } catch (error) {
        done(error as Error, undefined)
      }
    })
}

/** Reads the bodies of endpoints that take a file. */
function readBinaryBodies(http: FastifyInstance, endpoints: readonly Endpoint[]): void {
  const types = new Set(endpoints.flatMap(({ body }) => (body?.isBinary ? body.types : [])))
  for (const type of types)
    http.addContentTypeParser(type, { parseAs: 'buffer' }, ({ routeOptions }, body, done) => {
      if (routeOptions.config.takesBinary) done(null, body)
      else done(new Problem('unsupported-media-type', 'This URL does not take files'))
    })
}

interface RequestChecks {
  readonly urlHeaders: UrlHeaders
  isStopping(): boolean
  isOverloaded(): boolean
  readonly limit: RateLimit | undefined
  /** Headers of responses that an edge cache must not store. */
  readonly noStore: Readonly<Record<string, string>> | undefined
}

/** Sets the common headers and rejects what no route has to see, before the body is read. */
function checkRequests(http: FastifyInstance, checks: RequestChecks): void {
  const { urlHeaders, isStopping, isOverloaded, limit, noStore } = checks
  http.addHook('onRequest', async (request, reply) => {
    reply.headers(securityHeaders)
    // Until a route allows more.
    if (noStore) reply.headers(noStore)
    reply.header('x-request-id', request.id)
    if (isStopping()) reply.header('connection', 'close')
    if (!hasSingleHost(request.raw))
      throw new Problem('bad-request', 'The request must have exactly one Host header')
    if (isOverloaded() && !isOperatorRoute(request))
      throw new Problem(
        'unavailable',
        'The server is overloaded; try again later',
        isWrite(request) ? { outcome: 'not-applied' } : {},
      )
    if (limit && !isOperatorRoute(request))
      try {
        chargeRateLimit(limit, request, reply)
      } catch (error) {
        reply.headers(urlHeaders(request))
        throw error
      }
    if (!request.is404) return
    const { allow } = urlHeaders(request)
    if (!allow || !isPlainPath(request)) throw new Problem('not-found', 'This URL does not exist')
    reply.headers(urlHeaders(request))
    throw new Problem('method-not-allowed', `Allowed methods: ${allow}`)
  })
}

function recordResponses(
  http: FastifyInstance,
  { metrics, redactUrl = String }: Pick<HttpServerOptions, 'metrics' | 'redactUrl'>,
): void {
  http.addHook('onResponse', async (request, reply) => {
    // The fast lane may have spent time on the request before Fastify received it.
    const fastLaneResult = fastLaneResults.get(request.raw)
    const ms = fastLaneResult ? performance.now() - fastLaneResult.beganMs : reply.elapsedTime
    const route = request.routeOptions.config.route ?? 'other'
    metrics.answered(request.method, route, reply.statusCode, ms / 1000)
    // Probes come every few seconds.
    const level = isOperatorRoute(request) ? 'debug' : 'info'
    request.log[level](
      {
        method: request.method,
        url: redactUrl(request.url),
        status: reply.statusCode,
        ms: Math.round(ms * 10) / 10,
      },
      'request completed',
    )
  })
}

function addOptionsRoutes(
  http: FastifyInstance,
  endpoints: readonly Endpoint[],
  basePath: string,
): void {
  for (const path of new Set(endpoints.map((endpoint) => endpoint.path))) {
    const allow = allowedMethods(endpoints, path)
    http.options(basePath + routePath(path), async (request, reply) => {
      reply.headers({ allow, vary: 'Accept' })
      pathParams(endpoints.find((endpoint) => endpoint.path === path) as Endpoint, request)
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
}

function rejectSchema(): never {
  throw new Error('Routes must not define a schema: the contract validates requests')
}

/** Tells whether a browser requests a page, as opposed to a program that reads the API. */
function isPageRequest(request: FastifyRequest, basePath: string): boolean {
  const path = requestPath(request)
  return (
    (!isWrite(request) || request.routeOptions?.config?.takesForm === true) &&
    /\btext\/html\b/.test(request.headers.accept ?? '') &&
    path !== `${basePath}/api` &&
    !path.startsWith(`${basePath}/api/`)
  )
}

const isWrite = ({ method }: FastifyRequest) => !['GET', 'HEAD', 'OPTIONS'].includes(method)
const urlPattern = (path: string, part: RegExp) =>
  new RegExp(`^${path.split(part).map(escapePattern).join('[^/]+')}/?$`)
const escapePattern = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')

declare module 'fastify' {
  interface FastifyInstance {
    /** Makes /readyz fail while everything else still works. */
    drain(): void
  }
}
