import type { FastifyInstance, FastifyRequest } from 'fastify'
import { anyone } from '../actor.ts'
import { tracedRequest } from '../ops/trace.ts'
import { sendCompressed } from './compression.ts'
import { countInFlight, type MountOptions, withDeadline } from './mount.ts'
import { rateLimitKey, requestCosts } from './rate-limit.ts'

// Pages for people. They have no place in the contract: what they say is for eyes. Limits hold for
// them as for everything else.

export interface PageRequest {
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  /** Path and query, below the path that the service is mounted under. */
  readonly address: string
  readonly headers: FastifyRequest['headers']
}

export interface PageResponse {
  readonly status?: 200 | 301 | 303 | 304
  readonly body?: string | Uint8Array
  readonly headers: Readonly<Record<string, string | string[]>>
}

export interface PageLimits {
  /** What a caller pays for it, as for an endpoint; a page is a list, or several. */
  readonly cost?: number
  /** After this long it is given up. */
  readonly limitMs?: number
}

export type MountPage = (
  path: string,
  handle: (request: PageRequest) => PageResponse | Promise<PageResponse>,
  limits?: PageLimits,
) => void

export function addPage(
  http: FastifyInstance,
  options: MountOptions,
  ...[path, handle, limits = {}]: Parameters<MountPage>
): void {
  const { cost = requestCosts.list, limitMs = options.answerMs } = limits
  http.route({
    method: 'GET',
    url: options.basePath + path,
    config: { endpoint: 'page', cost },
    onRequest: async (request) => {
      request.actor = anyone
    },
    handler: async (request, reply) => {
      const {
        status = 200,
        body = '',
        headers,
      } = await tracedRequest(`GET ${path}`, request.headers, () =>
        countInFlight(
          options,
          withDeadline(
            performance.now() + limitMs,
            handle(pageRequest(request, options.basePath)),
            'unknown',
          ),
        ),
      )
      if (status === 304) options.limit?.giveBack(rateLimitKey(null, request.ip), cost)
      reply.code(status).headers(headers)
      return sendCompressed(request, reply, body)
    },
  })
}

export function pageRequest(request: FastifyRequest, basePath: string): PageRequest {
  const address = (request.raw.url ?? '/').slice(basePath.length) || '/'
  // An address that cannot be decoded has neither.
  const params = (request.params ?? {}) as Record<string, string>
  return {
    params,
    query: firsts((request.query ?? {}) as object),
    address,
    headers: request.headers,
  }
}

/** Of what is there several times, the first. */
function firsts(query: object): Record<string, string> {
  return Object.fromEntries(
    Object.entries(query).map(([name, value]) => [
      name,
      String(Array.isArray(value) ? value[0] : value),
    ]),
  )
}

/** The number of a record or an entity, as its address has it: in one spelling. */
export function parseId(text: string | undefined): number | undefined {
  const id = /^[1-9]\d{0,15}$/.test(text ?? '') ? Number(text) : Number.NaN
  return Number.isSafeInteger(id) ? id : undefined
}
