import { pipeline } from 'node:stream/promises'
import { exportNdjson, mayAct, Problem } from '@talkshelf/contract'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { withSnapshot } from '../platform/db/snapshot.ts'
import { queryOf, type RouteOf } from '../platform/http/mount.ts'
import { takes } from '../platform/http/packing.ts'
import { begun } from '../platform/http/streamed.ts'
import { tracedRequest } from '../platform/ops/trace.ts'
import { inPieces, packing } from '../platform/streams.ts'
import * as exports from './exports.ts'

// By hand, and not through `mount`: the answer has no end that is known, and goes out as fast as it is read.

export interface ExportLimits {
  /** Each holds a connection and a snapshot, and the database keeps what was deleted since. */
  readonly atOnce: number
  readonly longestMs: number
  /** Without any progress. */
  readonly stalledMs: number
}

const usual: ExportLimits = { atOnce: 2, longestMs: 30 * 60_000, stalledMs: 60_000 }

export function exportRoutes(http: FastifyInstance, routeOf: RouteOf, databaseUrl: string, limits: ExportLimits = usual): void {
  let underWay = 0
  const closing = new AbortController()
  // Nobody waits half an hour for a server that is to stop.
  http.addHook('preClose', async () => closing.abort(new Error('The server stops')))

  http.route({
    ...routeOf(exportNdjson),
    handler: async (request, reply) => {
      const query = queryOf(exportNdjson, request) as { after?: number; up_to?: number }
      const isPacked = takes('gzip', request.headers['accept-encoding'])
      reply.headers({
        'content-type': exportNdjson.gives.type,
        'content-disposition': 'attachment; filename="talkshelf.ndjson"',
        'cache-control': 'private, no-store',
        vary: 'Accept, Accept-Encoding',
        ...(isPacked && { 'content-encoding': 'gzip' }),
      })
      if (request.method === 'HEAD') return begun(reply).end()
      if (underWay >= limits.atOnce) {
        reply.removeHeader('content-encoding')
        throw new Problem('unavailable', `${limits.atOnce} exports are under way: wait for one of them`, { retry_after: 30 })
      }
      underWay++
      try {
        await tracedRequest('GET /api/v2/export.ndjson', request.headers, () => send(request, reply, query, isPacked))
      } finally {
        underWay--
      }
    },
  })

  async function send(request: FastifyRequest, reply: FastifyReply, query: { after?: number; up_to?: number }, isPacked: boolean) {
    const isEditor = mayAct(request.actor.role, 'editor')
    const stalled = new AbortController()
    const timer = setTimeout(() => stalled.abort(new Error('Nobody reads it')), limits.stalledMs)
    const signal = AbortSignal.any([closing.signal, stalled.signal, AbortSignal.timeout(limits.longestMs)])
    const options = { after: query.after, upTo: query.up_to, drafts: isEditor, takenDown: false }
    async function* read(lines: AsyncIterable<string>) {
      for await (const piece of inPieces(lines)) {
        yield piece
        timer.refresh()
      }
    }
    try {
      await withSnapshot(databaseUrl, 'talkshelf export', async (db) => {
        const pieces = read(exports.exportNdjson(db, options))
        const raw = begun(reply)
        if (isPacked) await pipeline(pieces, packing(), raw, { signal })
        else await pipeline(pieces, raw, { signal })
      })
    } catch (error) {
      // Half of an answer can't be taken back; the connection is cut, and the last line is missing.
      if (!reply.sent) throw error
      request.log.warn({ err: error }, 'an export was cut off')
    } finally {
      clearTimeout(timer)
    }
  }
}
