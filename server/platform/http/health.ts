import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Metrics } from '../ops/metrics.ts'
import { asciiBytes, toJson } from './json.ts'

// Endpoints for monitoring. They respond even if the server is overloaded.

/**
 * Adds /healthz (the process is running), /readyz (the database responds and the server is not
 * stopping) and /metrics (for Prometheus). `details` are added to the first two.
 */
export function healthRoutes(
  http: FastifyInstance,
  basePath: string,
  metrics: Metrics,
  isReady: () => Promise<boolean>,
  details: () => object = () => ({}),
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
  http.get(`${basePath}/metrics`, async (_, reply) => {
    const { type, body } = await metrics.text()
    return reply.headers({ 'content-type': type, 'cache-control': 'no-store' }).send(body)
  })
}

/** Tells whether a request is for one of the monitoring endpoints. */
export function isOperatorRoute({ routeOptions }: FastifyRequest): boolean {
  return /\/(healthz|readyz|metrics)$/.test(routeOptions.url ?? '')
}
