import type { FastifyInstance, FastifyRequest } from 'fastify'
import { anyone } from '../actor.ts'
import { tracedRequest } from '../ops/trace.ts'
import { sendCompressed } from './compression.ts'
import { countInFlight, type MountOptions, withDeadline } from './mount.ts'
import { rateLimitKey, requestCosts } from './rate-limit.ts'

// Mounts pages for readers. They are not endpoints of the contract, but the same limits apply.

export interface PageRequest {
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  /** Path and query, relative to the base path of the service. */
  readonly address: string
  readonly headers: FastifyRequest['headers']
}

export interface PageResponse {
  readonly status?: 200 | 301 | 303 | 304
  readonly body?: string | Uint8Array
  readonly headers: Readonly<Record<string, string | string[]>>
}

export interface PageLimits {
  /** Cost in points of the rate limit; by default that of a list. */
  readonly cost?: number
  /** Timeout; by default that of a request. */
  readonly limitMs?: number
}

export type MountPage = (
  path: string,
  handle: (request: PageRequest) => PageResponse | Promise<PageResponse>,
  limits?: PageLimits,
) => void

/** Adds a page as a route. */
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

/** Extracts what a page needs from a request. */
export function pageRequest(request: FastifyRequest, basePath: string): PageRequest {
  const address = (request.raw.url ?? '/').slice(basePath.length) || '/'
  // A URL that cannot be decoded has no params and no query.
  const params = (request.params ?? {}) as Record<string, string>
  return {
    params,
    query: firstValues((request.query ?? {}) as object),
    address,
    headers: request.headers,
  }
}

/** Keeps the first value of repeated parameters. */
function firstValues(query: object): Record<string, string> {
  return Object.fromEntries(
    Object.entries(query).map(([name, value]) => [
      name,
      String(Array.isArray(value) ? value[0] : value),
    ]),
  )
}

/** Parses an id in a URL. Accepts only the canonical spelling, without sign and leading zeros. */
export function parseId(text: string | undefined): number | undefined {
  const id = /^[1-9]\d{0,15}$/.test(text ?? '') ? Number(text) : Number.NaN
  return Number.isSafeInteger(id) ? id : undefined
}
