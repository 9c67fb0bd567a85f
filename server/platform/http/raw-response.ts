import { once } from 'node:events'
import type { OutgoingHttpHeaders } from 'node:http'
import { pipeline } from 'node:stream/promises'
import type { FastifyReply } from 'fastify'
import { gzipStream } from '../streams.ts'

// An answer that goes out while it is made.

/** What a reader of such an answer may take: it holds a place, and perhaps a transaction. */
export interface StreamLimits {
  readonly longestMs: number
  /**
   * Averaged over `windowMs` of waiting for the reader; how fast we are ourselves does not count.
   */
  readonly minBytesPerSecond: number
  readonly windowMs: number
}

/**
 * Slower than any connection that can be used for an archive. A reader who stops is cut off after
 * the 30 s.
 */
export const minimumRate = { minBytesPerSecond: 16 * 1024, windowMs: 30_000 }

export interface StreamOptions {
  readonly isPacked: boolean
  readonly limits: StreamLimits
  /** Ends it early. */
  readonly signal: AbortSignal
}

/** From now on the answer is ours to write. */
export function takeOverResponse(reply: FastifyReply) {
  reply.hijack()
  return reply.raw.writeHead(200, reply.getHeaders() as OutgoingHttpHeaders)
}

/**
 * Sends the pieces as fast as they are read, and cuts the connection of a reader who is too slow:
 * every byte that is taken allows for some waiting, up to the window. Rejects if not all of it was
 * sent. The caller ends the response, after it has given back what the response needed.
 */
export async function sendChunks(
  reply: FastifyReply,
  pieces: AsyncIterable<Buffer>,
  options: StreamOptions,
): Promise<void> {
  const { longestMs, minBytesPerSecond, windowMs } = options.limits
  const cut = new AbortController()
  const cutOff = (why: string) => cut.abort(new Error(why))
  const raw = takeOverResponse(reply).once('close', () => cutOff('The reader has gone'))
  const late = setTimeout(cutOff, longestMs, 'It takes too long')
  const signal = AbortSignal.any([options.signal, cut.signal])

  async function write(source: AsyncIterable<Buffer>): Promise<void> {
    let allowedMs = windowMs
    for await (const piece of source) {
      const beganMs = performance.now()
      if (!raw.write(piece)) {
        const slow = setTimeout(cutOff, allowedMs, 'The reader is too slow')
        await once(raw, 'drain', { signal }).finally(() => clearTimeout(slow))
      }
      const earnedMs = (piece.length / minBytesPerSecond) * 1000
      allowedMs = Math.min(windowMs, allowedMs - (performance.now() - beganMs) + earnedMs)
    }
  }

  try {
    if (options.isPacked) await pipeline(pieces, gzipStream(), write, { signal })
    else await pipeline(pieces, write, { signal })
  } catch (error) {
    // Half of an answer can't be taken back: the end of it is missing, and the reader notices.
    raw.destroy()
    throw cut.signal.aborted ? cut.signal.reason : error
  } finally {
    clearTimeout(late)
  }
}
