import { hash, timingSafeEqual } from 'node:crypto'
import { Problem } from '@talkshelf/contract'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Metrics } from '../ops/metrics.ts'
import { asciiBytes, toJson } from './json.ts'

// Endpoints for monitoring. They respond even if the server is overloaded.

export interface HealthOptions {
  readonly basePath: string
  readonly metrics: Metrics
  /** The token with which /metrics is read; without one, only from this machine. */
  readonly metricsToken?: string | undefined
  isReady(): Promise<boolean>
  details?: (() => object) | undefined
}

/**
 * Adds /healthz (the process is running), /readyz (the database responds and the server is not
 * stopping) and /metrics (for Prometheus). `details` are added to the first two.
 */
export function healthRoutes(
  http: FastifyInstance,
  { basePath, metrics, metricsToken = '', isReady, details = () => ({}) }: HealthOptions,
): void {
  const statusBody = (status: string) => asciiBytes(toJson({ status, ...details() }))
  const headers = { 'content-type': 'application/json', 'cache-control': 'no-store' }
  http.get(`${basePath}/healthz`, (_, reply) => reply.headers(headers).send(statusBody('alive')))
  http.get(`${basePath}/readyz`, async (_, reply) => {
    const isUp = await isReady()
    return reply
      .code(isUp ? 200 : 503)
      .headers(headers)
      .send(statusBody(isUp ? 'ready' : 'not ready'))
  })
  http.get(`${basePath}/metrics`, async (request, reply) => {
    assertMayReadMetrics(request, metricsToken)
    const { type, body } = await metrics.text()
    return reply.headers({ 'content-type': type, 'cache-control': 'no-store' }).send(body)
  })
}

/** Throws unless the request has the token or, if there is none, comes from this machine. */
function assertMayReadMetrics({ headers, raw }: FastifyRequest, token: string): void {
  if (token !== '') {
    if (isSameText(headers.authorization ?? '', `Bearer ${token}`)) return
    throw new Problem('unauthenticated', 'Metrics need the METRICS_TOKEN as a Bearer token')
  }
  const isForwarded = ['forwarded', 'x-forwarded-for', 'via'].some((name) => name in headers)
  const isLocal = isLoopback(raw.socket.remoteAddress ?? '')
  if (isLocal && !isForwarded) return
  throw new Problem('forbidden', 'Metrics are for this machine only, unless METRICS_TOKEN is set')
}

const isLoopback = (address: string) => /^(::ffff:)?127\.|^::1$/.test(address)

/** Compares two texts in a time that does not depend on where they differ. */
function isSameText(sent: string, expected: string): boolean {
  const [a, b] = [sent, expected].map((text) => hash('sha256', text, 'buffer')) as [Buffer, Buffer]
  return timingSafeEqual(a, b)
}

/** Tells whether a request is for one of the monitoring endpoints. */
export function isOperatorRoute({ routeOptions }: FastifyRequest): boolean {
  return /\/(healthz|readyz|metrics)$/.test(routeOptions.url ?? '')
}
