import type { OutgoingHttpHeaders } from 'node:http'
import type { FastifyReply } from 'fastify'

// An answer that goes out while it is made.

/** From now on the answer is ours to write. */
export function begun(reply: FastifyReply) {
  reply.hijack()
  return reply.raw.writeHead(200, reply.getHeaders() as OutgoingHttpHeaders)
}
