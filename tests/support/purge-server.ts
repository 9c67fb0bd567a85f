import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'

// A server that gets the purges of an archive and remembers them.

export interface PurgeRequest {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  readonly atMs: number
}

export interface PurgeServer {
  readonly url: string
  readonly requests: PurgeRequest[]
  /** Status of the next responses. */
  answer(status: number): void
  /** Returns the keys that were purged with `post:`, in order. */
  purged(kind: 'soft' | 'hard'): string[]
  stop(): Promise<void>
}

/** Starts the server on a loopback address. */
export async function startPurgeServer(): Promise<PurgeServer> {
  const requests: PurgeRequest[] = []
  let status = 200
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (data) => (body += data))
    request.on('end', () => {
      const { method = '', url: path = '', headers } = request
      requests.push({ method, path, headers, body, atMs: performance.now() })
      response.writeHead(status, { 'content-type': 'application/json' }).end('{"status":"ok"}')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    answer: (next) => (status = next),
    purged: (kind) =>
      requests.flatMap(({ body }) => {
        const { keys, soft } = JSON.parse(body || '{}') as { keys?: string[]; soft?: boolean }
        return soft === (kind === 'soft') ? (keys ?? []) : []
      }),
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
