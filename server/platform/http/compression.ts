import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'

// Answers that are packed on the way, as the reader takes them.

/** The best first. */
export const encodings = ['br', 'gzip'] as const

const packers = {
  br: (bytes: Uint8Array) =>
    promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }),
  gzip: (bytes: Uint8Array) => promisify(gzip)(bytes, { level: 6 }),
}

/** Below a kilobyte it is not worth it. */
export async function sendCompressed(
  request: FastifyRequest,
  reply: FastifyReply,
  body: string | Uint8Array,
): Promise<FastifyReply> {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  const isPacked =
    reply.hasHeader('content-encoding') ||
    /^image\/(?!svg)/.test(String(reply.getHeader('content-type')))
  if (bytes.length < 1000 || isPacked) return reply.send(bytes)
  reply.header('vary', [reply.getHeader('vary'), 'Accept-Encoding'].filter(Boolean).join(', '))
  const coding = encodings.find((it) => acceptsEncoding(it, request.headers['accept-encoding']))
  if (!coding) return reply.send(bytes)
  return reply.header('content-encoding', coding).send(await packers[coding](bytes))
}

/** Whether an Accept-Encoding header takes this. */
export function acceptsEncoding(coding: string, header: string | string[] | undefined): boolean {
  const given = String(header ?? '')
    .toLowerCase()
    .split(',')
    .map((one) => one.split(';').map((part) => part.trim()))
  const [, quality = 'q=1'] = given.find(([name]) => name === coding) ??
    given.find(([name]) => name === '*') ?? ['', 'q=0']
  return !/^q=0(\.0*)?$/.test(quality)
}
