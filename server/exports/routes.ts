import { exportNdjsonEndpoint, mayAct, Problem } from '@talkshelf/contract'
import { type DataLicence, licenceId, paths } from '@talkshelf/web'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Pool } from '../platform/db/pool.ts'
import { withSnapshot } from '../platform/db/snapshot.ts'
import { acceptsEncoding } from '../platform/http/compression.ts'
import { queryParams, type RouteFactory } from '../platform/http/mount.ts'
import { requestCosts } from '../platform/http/rate-limit.ts'
import {
  minimumRate,
  type StreamLimits,
  type StreamOptions,
  sendChunks,
  takeOverResponse,
} from '../platform/http/raw-response.ts'
import { tracedRequest } from '../platform/ops/trace.ts'
import { inChunks } from '../platform/streams.ts'
import * as exports from './exports.ts'

// The export has a route of its own instead of `mount`, because it streams a response of unknown
// length.

export interface ExportLimits extends StreamLimits {
  /**
   * Each export holds a connection and a snapshot, which keeps the database from removing deleted
   * rows and blocks migrations.
   */
  readonly maxConcurrent: number
}

const defaultLimits: ExportLimits = { ...minimumRate, maxConcurrent: 2, longestMs: 10 * 60_000 }

export interface ExportSource {
  /** Returns the servers that this request may read from, in the order in which to try them. */
  databaseUrls(): readonly string[]
  /** The licence of the data. */
  readonly licence?: DataLicence | undefined
}

/** Mounts the NDJSON export. */
export function exportRoutes(
  http: FastifyInstance,
  routeOf: RouteFactory,
  source: ExportSource,
  limits: ExportLimits = defaultLimits,
): void {
  const { licence } = source
  let running = 0
  const closing = new AbortController()
  // A shutdown must not wait for an export.
  http.addHook('preClose', async () => closing.abort(new Error('The server stops')))

  http.route({
    ...routeOf(exportNdjsonEndpoint),
    handler: async (request, reply) => {
      const query = queryParams(exportNdjsonEndpoint, request) as ExportQuery
      const isPacked = acceptsEncoding('gzip', request.headers['accept-encoding'])
      reply.headers({
        'content-type': exportNdjsonEndpoint.response.type,
        'content-disposition': 'attachment; filename="talkshelf.ndjson"',
        'cache-control': 'private, no-store',
        vary: 'Accept, Accept-Encoding',
        ...(licence && { link: `<${licence.url}>; rel="license"` }),
        ...(isPacked && { 'content-encoding': 'gzip' }),
      })
      if (request.method === 'HEAD') return takeOverResponse(reply).end()
      if (running >= limits.maxConcurrent) {
        reply.removeHeader('content-encoding')
        throw new Problem(
          'unavailable',
          `${limits.maxConcurrent} exports are already running; try again later`,
          { retry_after: 30 },
        )
      }
      running++
      try {
        const options = { isPacked, limits, signal: closing.signal }
        await tracedRequest('GET /api/v2/export.ndjson', request.headers, () =>
          sendExport(source, request, reply, query, options),
        )
      } finally {
        running--
      }
    },
  })
}

/** Each walks over all talks, with the connections of the lists. */
const maxConcurrentTables = 2

/** Mounts the table of all talks with who has their recordings. */
export function atRiskRoute(
  http: FastifyInstance,
  pool: Pick<Pool, 'lists'>,
  site: TableSite,
  limits: StreamLimits = { ...minimumRate, longestMs: 10 * 60_000 },
): void {
  let running = 0
  const closing = new AbortController()
  http.addHook('preClose', async () => closing.abort(new Error('The server stops')))

  http.get(
    site.basePath + paths.atRiskCsv,
    { config: { route: paths.atRiskCsv, cost: requestCosts.list } },
    async (request, reply) => {
      if (running >= maxConcurrentTables)
        throw new Problem(
          'unavailable',
          `${maxConcurrentTables} tables are already being sent; try again later`,
          { retry_after: 5 },
        )
      running++
      try {
        const lines = await exports.atRiskCsv(pool.lists, site.origin())
        const isPacked = acceptsEncoding('gzip', request.headers['accept-encoding'])
        reply.headers({
          'content-type': 'text/csv; charset=utf-8',
          'content-disposition': 'attachment; filename="at-risk.csv"',
          'cache-control': 'private, no-store',
          vary: 'Accept-Encoding',
          ...(site.licence && { link: `<${site.licence.url}>; rel="license"` }),
          ...(isPacked && { 'content-encoding': 'gzip' }),
        })
        if (request.method === 'HEAD') return takeOverResponse(reply).end()
        await sendChunks(reply, inChunks(lines), { isPacked, limits, signal: closing.signal })
        reply.raw.end()
      } catch (error) {
        // Once the response has begun, an error can only cut the connection: the end is missing.
        if (!reply.sent) throw error
        request.log.warn({ err: error }, 'a table was cut off')
      } finally {
        running--
      }
    },
  )
}

interface TableSite {
  readonly basePath: string
  origin(): string
  /** The licence of the data. */
  readonly licence?: DataLicence | undefined
}

interface ExportQuery {
  readonly after?: number
  readonly up_to?: number
}

async function sendExport(
  { databaseUrls, licence }: ExportSource,
  request: FastifyRequest,
  reply: FastifyReply,
  query: ExportQuery,
  options: StreamOptions,
): Promise<void> {
  const isEditor = mayAct(request.actor.role, 'editor')
  const scope = {
    after: query.after,
    upTo: query.up_to,
    drafts: isEditor,
    takenDown: false,
    license: licence && licenceId(licence),
  }
  const sendFrom = (databaseUrl: string) =>
    withSnapshot(databaseUrl, 'talkshelf export', (db) =>
      sendChunks(reply, inChunks(exports.exportNdjson(db, scope)), options),
    )
  const [first = '', ...others] = databaseUrls()
  try {
    await sendFrom(first).catch((error: unknown) => {
      if (reply.sent || others[0] === undefined) throw error
      return sendFrom(others[0])
    })
    // After the snapshot is closed, so that a client that requests the next range at once does not
    // exceed the limit.
    reply.raw.end()
  } catch (error) {
    // Once the response has begun, an error can only cut the connection: the last line is missing.
    if (!reply.sent) throw error
    request.log.warn({ err: error }, 'an export was cut off')
  }
}
