import { exportNdjsonEndpoint, mayAct, Problem } from '@talkshelf/contract'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { withSnapshot } from '../platform/db/snapshot.ts'
import { acceptsEncoding } from '../platform/http/compression.ts'
import { queryParams, type RouteFactory } from '../platform/http/mount.ts'
import {
  minimumRate,
  type StreamLimits,
  sendChunks,
  takeOverResponse,
} from '../platform/http/raw-response.ts'
import { tracedRequest } from '../platform/ops/trace.ts'
import { inChunks } from '../platform/streams.ts'
import * as exports from './exports.ts'

// By hand, and not through `mount`: the answer has no end that is known, and goes out as fast as it
// is read.

export interface ExportLimits extends StreamLimits {
  /**
   * Each holds a connection and a snapshot, and the database keeps what was deleted since. A
   * migration waits for it.
   */
  readonly atOnce: number
}

const usual: ExportLimits = { ...minimumRate, atOnce: 2, longestMs: 10 * 60_000 }

export function exportRoutes(
  http: FastifyInstance,
  routeOf: RouteFactory,
  databaseUrl: string,
  limits: ExportLimits = usual,
): void {
  let underWay = 0
  const closing = new AbortController()
  // Nobody waits half an hour for a server that is to stop.
  http.addHook('preClose', async () => closing.abort(new Error('The server stops')))

  http.route({
    ...routeOf(exportNdjsonEndpoint),
    handler: async (request, reply) => {
      const query = queryParams(exportNdjsonEndpoint, request) as { after?: number; up_to?: number }
      const isPacked = acceptsEncoding('gzip', request.headers['accept-encoding'])
      reply.headers({
        'content-type': exportNdjsonEndpoint.response.type,
        'content-disposition': 'attachment; filename="talkshelf.ndjson"',
        'cache-control': 'private, no-store',
        vary: 'Accept, Accept-Encoding',
        ...(isPacked && { 'content-encoding': 'gzip' }),
      })
      if (request.method === 'HEAD') return takeOverResponse(reply).end()
      if (underWay >= limits.atOnce) {
        reply.removeHeader('content-encoding')
        throw new Problem(
          'unavailable',
          `${limits.atOnce} exports are under way: wait for one of them`,
          { retry_after: 30 },
        )
      }
      underWay++
      try {
        await tracedRequest('GET /api/v2/export.ndjson', request.headers, () =>
          send(request, reply, query, isPacked),
        )
      } finally {
        underWay--
      }
    },
  })

  async function send(
    request: FastifyRequest,
    reply: FastifyReply,
    query: { after?: number; up_to?: number },
    isPacked: boolean,
  ) {
    const isEditor = mayAct(request.actor.role, 'editor')
    const options = { after: query.after, upTo: query.up_to, drafts: isEditor, takenDown: false }
    try {
      await withSnapshot(databaseUrl, 'talkshelf export', (db) =>
        sendChunks(reply, inChunks(exports.exportNdjson(db, options)), {
          isPacked,
          limits,
          signal: closing.signal,
        }),
      )
      // Not before the snapshot is closed: a reader who asks for the next part at once finds a free
      // slot.
      reply.raw.end()
    } catch (error) {
      // Half of an answer can't be taken back; the connection is cut, and the last line is missing.
      if (!reply.sent) throw error
      request.log.warn({ err: error }, 'an export was cut off')
    }
  }
}
