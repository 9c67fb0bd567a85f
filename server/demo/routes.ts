import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { requestCosts } from '../platform/http/rate-limit.ts'

// Serves the recording of the example talks. An archive hosts no recordings: only the demo does, so
// that something plays without the internet.

export const clipPath = '/demo/clip.webm'

/** Adds the clip as a route. Browsers need ranges to seek. */
export function clipRoute(http: FastifyInstance, basePath: string): void {
  // In the bundle, it is in the folder of the program.
  const clip = readFileSync(join(import.meta.dirname, 'clip.webm'))
  http.get(
    basePath + clipPath,
    { config: { route: clipPath, cost: requestCosts.read } },
    async (request, reply) => {
      reply.headers({
        'content-type': 'video/webm',
        'accept-ranges': 'bytes',
        'cache-control': 'public, max-age=3600',
        // Opened on its own, it is a page that loads itself.
        'content-security-policy': "default-src 'none'; media-src 'self'; frame-ancestors 'none'",
      })
      const range = parseRange(request.headers.range, clip.length)
      if (!range) return reply.send(clip)
      const [start, end] = range
      return reply
        .code(206)
        .header('content-range', `bytes ${start}-${end}/${clip.length}`)
        .send(clip.subarray(start, end + 1))
    },
  )
}

/** Returns the first and last byte of a single range; undefined if all bytes are to be sent. */
function parseRange(header: string | undefined, length: number): [number, number] | undefined {
  const [, from, to] = /^bytes=(\d{1,15})-(\d{0,15})$/.exec(header ?? '') ?? []
  const start = Number(from)
  const end = to ? Math.min(Number(to), length - 1) : length - 1
  return from !== undefined && start <= end ? [start, end] : undefined
}
