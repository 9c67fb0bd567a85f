import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { Server as TlsServer } from 'node:tls'

// A server on this machine for tests of outbound requests. It speaks no HTTP by itself, so that it
// can break every rule of it.

const userAgent = 'Talkshelf/test (+https://talks.example.org)'

/**
 * Starts a server that ends with the test. `answer` gets the connection and the head of the
 * request. Returns options for requests that reach this server and no other one.
 */
export async function startRawServer(
  t: TestContext,
  answer: (socket: Socket, head: string) => unknown,
  server: Server = createServer(),
) {
  const sockets = new Set<Socket>()
  let sentBytes = 0
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => {
      sentBytes += socket.bytesWritten
      sockets.delete(socket)
    })
  })
  server.on(server instanceof TlsServer ? 'secureConnection' : 'connection', (socket: Socket) => {
    let head = ''
    socket.on('error', () => {})
    socket.on('data', (data) => {
      if (head.endsWith('\r\n\r\n')) return
      head += data
      if (head.endsWith('\r\n\r\n')) answer(socket, head.slice(0, -4))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const isAllowed = (ip: string, target: number) => ip === '127.0.0.1' && target === port
  return {
    port,
    options: {
      maxBytes: 2 ** 20,
      timeoutMs: 30_000,
      quietMs: 30_000,
      userAgent,
      ports: [port],
      isAllowed,
    },
    sentBytes: () => sentBytes,
    /** Resolves when all connections are closed. */
    allClosed: async () => {
      while (sockets.size > 0) await new Promise((resolve) => setTimeout(resolve, 10))
    },
  }
}
