import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { FeedEntry } from '@talkshelf/contract'

// A receiver of webhooks on this machine, which answers as a test wants.

export interface ReceivedMessage {
  readonly headers: IncomingHttpHeaders
  readonly id: string
  readonly body: string
  readonly type: string
  readonly changes: readonly FeedEntry[]
}

export interface Receiver {
  readonly url: string
  /** All messages in the order in which they arrived, whatever the answer was. */
  readonly messages: ReceivedMessage[]
  /** Answers a message; by default with 204. */
  answer: (response: ServerResponse, message: ReceivedMessage) => void
  /** Returns the entries of messages of the feed, in the order in which they arrived. */
  entries(): FeedEntry[]
  close(): Promise<void>
}

/** Answers with a status, and nothing else. */
export const withStatus =
  (status: number, headers: Record<string, string> = {}) =>
  (response: ServerResponse): void => {
    response.writeHead(status, headers).end()
  }

/** Starts a receiver that the caller must close. */
export async function startReceiver(): Promise<Receiver> {
  const messages: ReceivedMessage[] = []
  const server = createServer(async (request, response) => {
    response.on('error', () => {})
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks).toString()
    const { type, data } = JSON.parse(body)
    const { headers } = request
    const id = String(headers['webhook-id'])
    const message = { headers, id, body, type, changes: data.changes ?? [] }
    messages.push(message)
    receiver.answer(response, message)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const receiver: Receiver = {
    url: `http://127.0.0.1:${port}/hook`,
    messages,
    answer: withStatus(204),
    entries: () => messages.flatMap(({ changes }) => changes),
    async close() {
      server.closeAllConnections()
      server.close()
    },
  }
  return receiver
}
