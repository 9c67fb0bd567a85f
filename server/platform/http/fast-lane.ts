import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { allowedMethods, type Endpoint } from '@talkshelf/contract'
import { anyone } from '../actor.ts'
import type { Metrics } from '../ops/metrics.ts'
import { tracedRequest } from '../ops/trace.ts'
import { representationEtag } from './conditional.ts'
import { dependsOnHeaders, type EdgeHeaders, isAnonymousRequest } from './edge-policy.ts'
import { hasSingleHost, securityHeaders } from './headers.ts'
import {
  type Call,
  countInFlight,
  fastLaneResults,
  type Handler,
  type RouteResponse,
  withDeadline,
} from './mount.ts'
import { chooseRepresentation, representationTypes } from './negotiate.ts'

// A shortcut for the most frequent request: an anonymous client reads one record by its id. The
// framework would cost more than the response. The shortcut only sends 200 and 304: every unusual
// request and every error takes the full path (mount.ts). tests/api/fast-lane.test.ts compares the
// two.

type Listener = (request: IncomingMessage, response: ServerResponse) => void

export interface FastLane {
  add<E extends Endpoint>(endpoint: E, handle: Handler<E>): void
  /** Answers the request, or passes it on to the full path. */
  take(request: IncomingMessage, response: ServerResponse, fullPath: Listener): void
}

export interface FastLaneOptions {
  readonly endpoints: readonly Endpoint[]
  readonly basePath: string
  readonly metrics: Metrics
  /** Returns the headers for an edge cache, if there is one. */
  readonly edge?: EdgeHeaders | undefined
  readonly answerMs: number
  /** Tells whether all requests must take the full path: the server is overloaded or stopping. */
  isBusy(): boolean
  /** Counts a request that begins (1) or ends (-1). */
  count(change: 1 | -1): void
  log(entry: object): void
}

interface Lane {
  readonly endpoint: Endpoint
  /** The method and the path, for traces. */
  readonly name: `GET ${string}`
  readonly headers: readonly string[]
  readonly handle: Handler<Endpoint>
}

interface FastRequest {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly lane: Lane
  readonly call: Call<Endpoint>
  readonly beganMs: number
}

const idPattern = /^[1-9]\d{0,14}$/

/** Creates the fast lane. It handles the endpoints that are added to it. */
export function createFastLane(options: FastLaneOptions): FastLane {
  const { basePath, answerMs, isBusy, count } = options
  const lanes = new Map<string, Lane>()

  return {
    add(endpoint, handle) {
      const [, path] = /^(.*\/)\{\w+\}$/.exec(endpoint.path) ?? []
      if (path === undefined || endpoint.method !== 'GET')
        throw new Error(`${endpoint.name} is not a GET endpoint with an id at the end of its path`)
      lanes.set(basePath + path, {
        endpoint,
        name: `GET ${endpoint.path}`,
        headers: laneHeaders(endpoint, options),
        handle: handle as Handler<Endpoint>,
      })
    },

    take(request, response, fullPath) {
      const { method, url = '' } = request
      const idOffset = url.lastIndexOf('/') + 1
      const lane = lanes.get(url.slice(0, idOffset))
      const id = url.slice(idOffset)
      if (!lane || method !== 'GET' || !idPattern.test(id)) return fullPath(request, response)
      const { headers } = request
      if (headers.authorization !== undefined || !hasSingleHost(request) || isBusy())
        return fullPath(request, response)

      const beganMs = performance.now()
      const passOn = (error: unknown) => {
        fastLaneResults.set(request, { error, beganMs })
        fullPath(request, response)
      }
      let call: Call<Endpoint>
      let result: RouteResponse | Promise<RouteResponse>
      try {
        call = anonymousCall(Number(id), headers, beganMs + answerMs)
        result = tracedRequest(lane.name, headers, () => lane.handle(call))
      } catch (error) {
        return passOn(error)
      }
      const send = (answer: RouteResponse) =>
        sendResponse({ request, response, lane, call, beganMs }, answer, options)
      if (!(result instanceof Promise)) return send(result)
      countInFlight({ count }, withDeadline(call.untilMs, result, 'not-applied')).then(send, passOn)
    },
  }
}

function laneHeaders(endpoint: Endpoint, { endpoints }: FastLaneOptions): string[] {
  return [
    ...Object.entries(securityHeaders),
    ['allow', allowedMethods(endpoints, endpoint.path)],
    ['vary', 'Accept'],
  ].flat()
}

function anonymousCall(
  id: number,
  headers: IncomingMessage['headers'],
  untilMs: number,
): Call<Endpoint> {
  return {
    params: { id },
    query: {},
    body: undefined,
    actor: anyone,
    untilMs,
    origin: { actor: anyone, via: 'api', request: randomUUID() },
    // Reading a record has no limits of its own.
    network: '',
    as: chooseRepresentation(headers.accept, undefined),
    headers,
    format: undefined,
  }
}

function sendResponse(
  { request, response, lane, call, beganMs }: FastRequest,
  answer: RouteResponse,
  { metrics, log, edge }: FastLaneOptions,
): void {
  try {
    const status = answer.status ?? lane.endpoint.response.status
    const edgeHeaders = edge?.headers(
      isAnonymousRequest(request) ? answer.edge?.() : undefined,
      dependsOnHeaders('Accept'),
    )
    writeResponse(
      response,
      lane,
      call,
      { ...answer, headers: { ...answer.headers, ...edgeHeaders } },
      status,
    )
    const ms = performance.now() - beganMs
    metrics.answered('GET', lane.endpoint.path, status, ms / 1000)
    log({
      reqId: call.origin.request,
      method: 'GET',
      url: request.url,
      status,
      ms: Math.round(ms * 10) / 10,
    })
  } catch (error) {
    // The headers may already be sent, so the only way to report the error is to disconnect.
    response.destroy(error as Error)
  }
}

function writeResponse(
  response: ServerResponse,
  lane: Lane,
  call: Call<Endpoint>,
  answer: RouteResponse,
  status: number,
): void {
  const headers = [
    'x-request-id',
    call.origin.request,
    'content-type',
    representationTypes[call.as],
  ]
  if (answer.etag) headers.push('etag', representationEtag(answer.etag, call.as))
  for (const name in answer.headers) headers.push(name, answer.headers[name] as string)
  if (status !== 304) headers.push('content-length', String(answer.body.length))
  response.writeHead(status, headers.concat(lane.headers))
  // A latin1 string is sent in one write with the headers. The body is ASCII.
  if (status === 304) response.end()
  else response.end(answer.body, 'latin1')
}
