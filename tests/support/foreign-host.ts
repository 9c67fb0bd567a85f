import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after } from 'node:test'
import type { GuardOptions } from '../../server/platform/net/guard.ts'

// The server of a playlist or schedule, on this machine, which answers as a test wants.

export type Answer = (response: ServerResponse, request: IncomingMessage) => void

export interface ForeignHost {
  readonly port: number
  readonly url: string
  /** All requests, in the order in which they arrived. */
  readonly requests: IncomingMessage[]
  /** Lets an archive fetch from this server, and from no other one. */
  readonly guard: GuardOptions
  requestsOf(path: string): IncomingMessage[]
  /** Sets the answer for a path. Returns its URL. */
  at(path: string, answer: Answer | string): string
  /** How many requests were answered at the same time at most. */
  maxAtOnce(): number
}

/** Starts a server that ends with the test file. */
export async function startForeignHost(): Promise<ForeignHost> {
  const answers = new Map<string, Answer | string>()
  const requests: IncomingMessage[] = []
  let [atOnce, maxAtOnce] = [0, 0]
  const server = createServer((request, response) => {
    requests.push(request)
    maxAtOnce = Math.max(maxAtOnce, ++atOnce)
    response.on('close', () => atOnce--)
    response.on('error', () => {})
    const answer = answers.get(request.url ?? '')
    if (answer === undefined) response.writeHead(404).end()
    else if (typeof answer === 'string') response.end(answer)
    else answer(response, request)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  return {
    port,
    url,
    requests,
    guard: { ports: [port], isAllowed: (ip, to) => ip === '127.0.0.1' && to === port },
    requestsOf: (path) => requests.filter((request) => request.url === path),
    at(path, answer) {
      answers.set(path, answer)
      return url + path
    },
    maxAtOnce: () => maxAtOnce,
  }
}
