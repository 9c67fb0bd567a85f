import type { AddressInfo } from 'node:net'
import { after } from 'node:test'
import type { Endpoint } from '@talkshelf/contract'
import { createHttpServer, type HttpServer } from '../../server/platform/http/server.ts'
import { createMetrics } from '../../server/platform/ops/metrics.ts'

/**
 * Starts our HTTP server with some of the routes, for tests that set limits of their own. It ends
 * with the test file.
 */
export async function serveOnly(
  endpoints: readonly Endpoint[],
  mount: (http: HttpServer) => void,
): Promise<{ url: string; close(): Promise<void> }> {
  const parts = createHttpServer({
    endpoints,
    basePath: '',
    base: () => 'http://test',
    authenticate: async () => undefined,
    durably: async (work) => work(),
    logger: false,
    metrics: createMetrics('0.0.0', () => ({})),
    isReady: async () => true,
    pointsPerMinute: 0,
    proxies: 0,
    // A busy machine is no overload.
    maxRequests: 10_000,
    answerMs: 30_000,
  })
  mount(parts)
  await parts.http.listen({ host: '127.0.0.1', port: 0 })
  const close = async () => void (await parts.http.close())
  after(close)
  return { url: `http://127.0.0.1:${(parts.http.server.address() as AddressInfo).port}`, close }
}
