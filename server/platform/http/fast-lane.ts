import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { allowedMethods, type Endpoint } from '@talkshelf/contract'
import { anyone } from '../actor.ts'
import type { Metrics } from '../ops/metrics.ts'
import { tracedRequest } from '../ops/trace.ts'
import { representationEtag } from './conditional.ts'
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

// Nearly all requests are alike: a reader without a token wants one record by its id. For these
// the way through the framework costs more than the answer, so they take a shorter one. It only
// gives good answers: whatever is unusual about a request, and whatever comes out other than 200 or
// 304, goes the long way (mount.ts). tests/api/fast-lane.test.ts compares the two.

type Listener = (request: IncomingMessage, response: ServerResponse) => void

export interface FastLane {
  add<E extends Endpoint>(endpoint: E, handle: Handler<E>): void
  /** Answers, or leaves it to the long way. */
  take(request: IncomingMessage, response: ServerResponse, longWay: Listener): void
}

export interface FastLaneOptions {
  readonly endpoints: readonly Endpoint[]
  readonly basePath: string
  readonly metrics: Metrics
  readonly answerMs: number
  /** Whether there is a reason to look closer at everybody. */
  isBusy(): boolean
  /** A request begins (1) or ends (-1). */
  count(change: 1 | -1): void
  log(entry: object): void
}

interface Lane {
  readonly endpoint: Endpoint
  readonly name: string
  readonly headers: readonly string[]
  readonly handle: Handler<Endpoint>
}

const number = /^[1-9]\d{0,14}$/

export function createFastLane({
  endpoints,
  basePath,
  metrics,
  answerMs,
  isBusy,
  count,
  log,
}: FastLaneOptions): FastLane {
  const lanes = new Map<string, Lane>()

  function send(
    request: IncomingMessage,
    response: ServerResponse,
    lane: Lane,
    answer: RouteResponse,
    call: Call<Endpoint>,
    beganMs: number,
  ) {
    const status = answer.status ?? lane.endpoint.response.status
    const own = ['x-request-id', call.origin.request, 'content-type', representationTypes[call.as]]
    if (answer.tag) own.push('etag', representationEtag(answer.tag, call.as))
    for (const name in answer.headers) own.push(name, answer.headers[name] as string)
    if (status !== 304) own.push('content-length', String(answer.body.length))
    response.writeHead(status, own.concat(lane.headers))
    // As one string with the headers, which is one write: the body is ASCII.
    if (status === 304) response.end()
    else response.end(answer.body, 'latin1')
    const ms = performance.now() - beganMs
    metrics.answered(lane.endpoint.name, status, ms / 1000)
    log({
      reqId: call.origin.request,
      method: 'GET',
      url: request.url,
      status,
      ms: Math.round(ms * 10) / 10,
    })
  }

  return {
    add(endpoint, handle) {
      const [, path] = /^(.*\/)\{\w+\}$/.exec(endpoint.path) ?? []
      if (path === undefined || endpoint.method !== 'GET')
        throw new Error(`${endpoint.name} reads nothing by its number`)
      const headers = [
        ...Object.entries(securityHeaders),
        ['allow', allowedMethods(endpoints, endpoint.path)],
        ['vary', 'Accept'],
      ].flat()
      lanes.set(basePath + path, {
        endpoint,
        name: `GET ${endpoint.path}`,
        headers,
        handle: handle as Handler<Endpoint>,
      })
    },

    take(request, response, longWay) {
      const { method, url = '' } = request
      const cut = url.lastIndexOf('/') + 1
      const lane = lanes.get(url.slice(0, cut))
      const id = url.slice(cut)
      if (!lane || method !== 'GET' || !number.test(id)) return longWay(request, response)
      const { headers } = request
      if (headers.authorization !== undefined || !hasSingleHost(request) || isBusy())
        return longWay(request, response)

      const beganMs = performance.now()
      const refused = (error: unknown) => {
        fastLaneResults.set(request, { error, beganMs })
        longWay(request, response)
      }
      let call: Call<Endpoint>
      let answer: RouteResponse | Promise<RouteResponse>
      try {
        call = {
          params: { id: Number(id) },
          query: {},
          body: undefined,
          actor: anyone,
          untilMs: beganMs + answerMs,
          origin: { actor: anyone, via: 'api', request: randomUUID() },
          as: chooseRepresentation(headers.accept, undefined),
          headers,
          format: undefined,
        }
        answer = tracedRequest(lane.name, headers, () => lane.handle(call))
      } catch (error) {
        return refused(error)
      }
      const sendIt = (it: RouteResponse) => {
        try {
          send(request, response, lane, it, call, beganMs)
        } catch (error) {
          // Half of an answer can't be taken back, and nobody above listens for this.
          response.destroy(error as Error)
        }
      }
      if (!(answer instanceof Promise)) return sendIt(answer)
      countInFlight({ count }, withDeadline(call.untilMs, answer, 'not-applied')).then(
        sendIt,
        refused,
      )
    },
  }
}
