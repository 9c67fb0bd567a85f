import { Problem } from '@talkshelf/contract'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { anyone } from '../actor.ts'
import { onPrimary } from '../db/read-context.ts'
import { tracedRequest } from '../ops/trace.ts'
import { sendCompressed } from './compression.ts'
import { type LazyPolicy, setEdgeHeaders } from './edge-policy.ts'
import { countInFlight, type MountOptions, withDeadline } from './mount.ts'
import { rateLimitKey, requestCosts } from './rate-limit.ts'
import { assertSameOrigin } from './same-origin.ts'
import {
  type CheckFields,
  readUpload,
  type Upload,
  type UploadLimits,
  uploadMs,
} from './uploads.ts'

// Mounts pages and forms. They are not endpoints of the contract, but the same limits apply.

export interface PageRequest {
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  /** Path and query, relative to the base path of the service. */
  readonly address: string
  readonly headers: FastifyRequest['headers']
  readonly requestId: string
  /** Key of the network for rate limits. */
  readonly network: string
}

/** A form that a browser sent. */
export interface FormRequest extends PageRequest {
  readonly form: URLSearchParams
  /** Deadline of the response, on the clock of performance.now(). */
  readonly untilMs: number
}

/** A form with a file, whose body has not been read yet. */
export interface UploadRequest extends PageRequest {
  /** Deadline of the response, on the clock of performance.now(). */
  readonly untilMs: number
  readUpload(check: CheckFields): Promise<Upload>
}

export interface PageResponse {
  readonly status?: 200 | 301 | 303 | 304 | 400 | 403 | 409 | 429
  readonly body?: string | Uint8Array
  readonly headers: Readonly<Record<string, string | string[]>>
  /** What an edge cache may do with the response to a reader without cookies. */
  readonly edge?: LazyPolicy
}

export interface PageLimits {
  /** Cost in points of the rate limit; by default that of a list. */
  readonly cost?: number
  /** Timeout; by default that of a request. */
  readonly limitMs?: number
  /** The page is for one person: other sites get no permission to read it. */
  readonly isPrivate?: boolean
  /** Limit of the body of a form. */
  readonly formBytes?: number
}

export type MountPage = (
  path: string,
  handle: (request: PageRequest) => PageResponse | Promise<PageResponse>,
  limits?: PageLimits,
) => void

export type MountForm = (
  path: string,
  handle: (request: FormRequest) => PageResponse | Promise<PageResponse>,
  limits?: PageLimits,
) => void

export type MountUpload = (
  path: string,
  handle: (request: UploadRequest) => PageResponse | Promise<PageResponse>,
  limits: PageLimits & UploadLimits,
) => void

/** Adds a page as a route. */
export function addPage(
  http: FastifyInstance,
  options: MountOptions,
  ...[path, handle, limits = {}]: Parameters<MountPage>
): void {
  addPageRoute(http, options, 'GET', path, { cost: requestCosts.list, ...limits }, (request) =>
    handle(pageRequest(request, options.basePath)),
  )
}

/** Adds the target of a form as a route. */
export function addForm(
  http: FastifyInstance,
  options: MountOptions,
  ...[path, handle, limits = {}]: Parameters<MountForm>
): void {
  addPageRoute(
    http,
    options,
    'POST',
    path,
    { cost: requestCosts.write, ...limits },
    (request, untilMs) => {
      // Fastify calls no parser for a request without a body.
      const form = request.body instanceof URLSearchParams ? request.body : new URLSearchParams()
      return handle({ ...pageRequest(request, options.basePath), form, untilMs })
    },
  )
}

/** Adds the target of a form with a file as a route. */
export function addUpload(
  http: FastifyInstance,
  options: MountOptions,
  ...[path, handle, limits]: Parameters<MountUpload>
): void {
  const uploadLimits = {
    cost: requestCosts.write,
    limitMs: uploadMs + options.answerMs,
    takesUpload: true,
    ...limits,
  }
  addPageRoute(http, options, 'POST', path, uploadLimits, (request, untilMs) =>
    handle({
      ...pageRequest(request, options.basePath),
      untilMs,
      readUpload: (check) => readUpload(request, limits, check),
    }),
  )
}

function addPageRoute(
  http: FastifyInstance,
  options: MountOptions,
  method: 'GET' | 'POST',
  path: string,
  limits: PageLimits & { readonly cost: number; readonly takesUpload?: boolean },
  handle: (request: FastifyRequest, untilMs: number) => PageResponse | Promise<PageResponse>,
): void {
  const { cost, limitMs = options.answerMs, isPrivate = false, formBytes = maxFormBytes } = limits
  const { takesUpload = false } = limits
  const durable: typeof handle =
    method === 'GET' ? handle : (...request) => options.durably(() => handle(...request))
  // People see at once what they have changed on a private page, also without a session.
  const answer: typeof handle = isPrivate
    ? (...request) => onPrimary(() => durable(...request))
    : durable
  http.route({
    method,
    url: options.basePath + path,
    ...(method === 'POST' && { bodyLimit: formBytes }),
    config: { route: path, cost, takesForm: method === 'POST', takesUpload },
    onRequest: async (request, reply) => {
      request.actor = anyone
      if (isPrivate) markPrivate(reply)
      if (method === 'POST') assertSameOrigin(request.headers, options.publicOrigin)
    },
    handler: async (request, reply) => {
      const untilMs = performance.now() + limitMs
      const {
        status = 200,
        body = '',
        headers,
        edge,
      } = await tracedRequest(`${method} ${path}`, request.headers, () =>
        countInFlight(options, withDeadline(untilMs, answer(request, untilMs), 'unknown')),
      )
      if (status === 304) options.limit?.giveBack(rateLimitKey(null, request.ip), cost)
      reply.code(status).headers(headers)
      setEdgeHeaders(options.edge, request, reply, edge)
      return sendCompressed(request, reply, body)
    },
  })
}

/** Sets headers that also apply to error pages. */
function markPrivate(reply: FastifyReply): void {
  reply.removeHeader('access-control-allow-origin')
  reply.removeHeader('access-control-expose-headers')
  reply.header('cross-origin-resource-policy', 'same-origin')
}

/** A credential of a passkey has about 2 kB. */
const maxFormBytes = 65_536
const maxFormFields = 200

/** Parses the bodies of forms, for the routes that `addForm` adds. */
export function parseForms(http: FastifyInstance): void {
  http.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string' },
    ({ routeOptions }, body, done) => {
      if (!routeOptions.config.takesForm)
        return done(new Problem('unsupported-media-type', 'This URL does not take forms'))
      // Counted before, because parsing many fields takes time that grows with their square.
      if ((body as string).split('&', maxFormFields + 1).length > maxFormFields)
        return done(new Problem('too-large', `A form has at most ${maxFormFields} fields`))
      done(null, new URLSearchParams(body as string))
    },
  )
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
    requestId: request.id,
    network: rateLimitKey(null, request.ip),
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

declare module 'fastify' {
  interface FastifyContextConfig {
    takesForm?: boolean
  }
}
