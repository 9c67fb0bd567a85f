import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Metrics } from '../ops/metrics.ts'
import { asciiBytes, toJson } from './json.ts'

// For the machines that look after this one. They get an answer also when there is too much to do
// for others.

/**
 * /healthz: the process runs. /readyz: it can do its work, and is not about to stop. /metrics:
 * figures for Prometheus.
 */
export function healthRoutes(
  http: FastifyInstance,
  basePath: string,
  metrics: Metrics,
  isReady: () => Promise<boolean>,
): void {
  const say = (status: string) => asciiBytes(toJson({ status }))
  const headers = { 'content-type': 'application/json', 'cache-control': 'no-store' }
  http.get(`${basePath}/healthz`, (_, reply) => reply.headers(headers).send(say('alive')))
  http.get(`${basePath}/readyz`, async (_, reply) => {
    const ready = await isReady()
    return reply
      .code(ready ? 200 : 503)
      .headers(headers)
      .send(say(ready ? 'ready' : 'not ready'))
  })
  http.get(`${basePath}/metrics`, async (_, reply) => {
    const { type, body } = await metrics.text()
    return reply.headers({ 'content-type': type, 'cache-control': 'no-store' }).send(body)
  })
}

export function isOperatorRoute({ routeOptions }: FastifyRequest): boolean {
  return /\/(healthz|readyz|metrics)$/.test(routeOptions.url ?? '')
}
