import { once } from 'node:events'
import type { OutgoingHttpHeaders } from 'node:http'
import { pipeline } from 'node:stream/promises'
import type { FastifyReply } from 'fastify'
import { gzipStream } from '../streams.ts'

// Streams a response while it is generated.

/** Limits for the client of a stream, because each stream occupies a slot and a transaction. */
export interface StreamLimits {
  readonly longestMs: number
  /** Averaged over `windowMs` of waiting for the client; the time to generate does not count. */
  readonly minBytesPerSecond: number
  readonly windowMs: number
}

/** A client that stops reading is disconnected after 30 s. */
export const minimumRate = { minBytesPerSecond: 16 * 1024, windowMs: 30_000 }

export interface StreamOptions {
  readonly isPacked: boolean
  readonly limits: StreamLimits
  /** Aborts the stream. */
  readonly signal: AbortSignal
}

/** Sends the headers and takes the response over from Fastify. */
export function takeOverResponse(reply: FastifyReply) {
  reply.hijack()
  return reply.raw.writeHead(200, reply.getHeaders() as OutgoingHttpHeaders)
}

/**
 * Sends chunks as fast as the client reads them and disconnects a client that is too slow: each
 * byte that it reads extends its deadline, up to the window. Rejects if not everything was sent.
 * The caller ends the response, after it has released its resources.
 */
export async function sendChunks(
  reply: FastifyReply,
  chunks: AsyncIterable<Buffer>,
  options: StreamOptions,
): Promise<void> {
  const { longestMs, minBytesPerSecond, windowMs } = options.limits
  const abort = new AbortController()
  const disconnect = (reason: string) => abort.abort(new Error(reason))
  const raw = takeOverResponse(reply).once('close', () => disconnect('The client disconnected'))
  const totalTimer = setTimeout(disconnect, longestMs, 'The response took too long')
  const signal = AbortSignal.any([options.signal, abort.signal])

  async function write(source: AsyncIterable<Buffer>): Promise<void> {
    let allowedMs = windowMs
    for await (const chunk of source) {
      const beganMs = performance.now()
      if (!raw.write(chunk)) {
        const drainTimer = setTimeout(disconnect, allowedMs, 'The client reads too slowly')
        await once(raw, 'drain', { signal }).finally(() => clearTimeout(drainTimer))
      }
      const earnedMs = (chunk.length / minBytesPerSecond) * 1000
      allowedMs = Math.min(windowMs, allowedMs - (performance.now() - beganMs) + earnedMs)
    }
  }

  try {
    if (options.isPacked) await pipeline(chunks, gzipStream(), write, { signal })
    else await pipeline(chunks, write, { signal })
  } catch (error) {
    // Without its last chunk, the client recognizes the response as incomplete.
    raw.destroy()
    throw abort.signal.aborted ? abort.signal.reason : error
  } finally {
    clearTimeout(totalTimer)
  }
}
