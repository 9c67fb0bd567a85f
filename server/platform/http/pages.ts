import type { FastifyInstance, FastifyRequest } from 'fastify'
import { anyone } from '../actor.ts'
import { tracedRequest } from '../ops/trace.ts'
import { counted, inTime, type MountOptions, spend } from './mount.ts'
import { sendPacked } from './packing.ts'
import { callerOf, costs } from './rate-limit.ts'

// Pages for people. They have no place in the contract: what they say is for eyes. Limits hold for them as for everything else.

export interface AskedPage {
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  /** Path and query, below the path that the service is mounted under. */
  readonly address: string
  readonly headers: FastifyRequest['headers']
}

export interface PageAnswer {
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

export type MountPage = (path: string, handle: (asked: AskedPage) => PageAnswer | Promise<PageAnswer>, limits?: PageLimits) => void

export function addPage(http: FastifyInstance, options: MountOptions, ...[path, handle, limits = {}]: Parameters<MountPage>): void {
  const { cost = costs.list, limitMs = options.answerMs } = limits
  http.route({
    method: 'GET',
    url: options.basePath + path,
    config: { endpoint: 'page' },
    onRequest: async (request, reply) => {
      request.actor = anyone
      if (options.limit) spend(options.limit, request, reply, cost)
    },
    handler: async (request, reply) => {
      const {
        status = 200,
        body = '',
        headers,
      } = await tracedRequest(`GET ${path}`, request.headers, () =>
        counted(options, inTime(performance.now() + limitMs, handle(askedPage(request, options.basePath)), 'unknown')),
      )
      if (status === 304) options.limit?.giveBack(callerOf(null, request.ip), cost)
      reply.code(status).headers(headers)
      return sendPacked(request, reply, body)
    },
  })
}

export function askedPage(request: FastifyRequest, basePath: string): AskedPage {
  const address = (request.raw.url ?? '/').slice(basePath.length) || '/'
  // An address that cannot be decoded has neither.
  const params = (request.params ?? {}) as Record<string, string>
  return { params, query: firsts((request.query ?? {}) as object), address, headers: request.headers }
}

/** Of what is there several times, the first. */
function firsts(query: object): Record<string, string> {
  return Object.fromEntries(Object.entries(query).map(([name, value]) => [name, String(Array.isArray(value) ? value[0] : value)]))
}

/** The number of a record or a thing, as its address has it: in one spelling. */
export function idIn(text: string | undefined): number | undefined {
  const id = /^[1-9]\d{0,15}$/.test(text ?? '') ? Number(text) : Number.NaN
  return Number.isSafeInteger(id) ? id : undefined
}
