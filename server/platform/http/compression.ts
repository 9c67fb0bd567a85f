import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'

// Compresses responses with an encoding that the client accepts.

/** In order of preference. */
export const encodings = ['br', 'gzip'] as const

const minBytes = 1000

const compressors = {
  br: (bytes: Uint8Array) =>
    promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }),
  gzip: (bytes: Uint8Array) => promisify(gzip)(bytes, { level: 6 }),
}

export type Encoding = (typeof encodings)[number]

/** Sends a body, compressed if it has at least 1000 bytes and is not compressed already. */
export async function sendCompressed(
  request: FastifyRequest,
  reply: FastifyReply,
  body: string | Uint8Array,
): Promise<FastifyReply> {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  const isCompressed =
    reply.hasHeader('content-encoding') ||
    /^image\/(?!svg)/.test(String(reply.getHeader('content-type')))
  if (isCompressed) return reply.send(bytes)
  return sendEncoded(reply, bytes, chooseEncoding(request, reply, bytes.length))
}

/**
 * Returns the encoding for a body of this length, or undefined if it is sent as it is. Adds
 * Accept-Encoding to Vary where the header matters.
 */
export function chooseEncoding(
  request: FastifyRequest,
  reply: FastifyReply,
  length: number,
): Encoding | undefined {
  if (length < minBytes) return undefined
  reply.header('vary', [reply.getHeader('vary'), 'Accept-Encoding'].filter(Boolean).join(', '))
  const accepted = request.headers['accept-encoding']
  return encodings.find((name) => acceptsEncoding(name, accepted))
}

/** Sends a body in an encoding. */
export async function sendEncoded(
  reply: FastifyReply,
  bytes: Uint8Array,
  encoding: Encoding | undefined,
): Promise<FastifyReply> {
  if (!encoding) return reply.send(bytes)
  return reply.header('content-encoding', encoding).send(await compressors[encoding](bytes))
}

/** Tells whether an Accept-Encoding header accepts an encoding. */
export function acceptsEncoding(encoding: string, header: string | string[] | undefined): boolean {
  const items = String(header ?? '')
    .toLowerCase()
    .split(',')
    .map((item) => item.split(';').map((part) => part.trim()))
  const [, quality = 'q=1'] = items.find(([name]) => name === encoding) ??
    items.find(([name]) => name === '*') ?? ['', 'q=0']
  return !/^q=0(\.0*)?$/.test(quality)
}
