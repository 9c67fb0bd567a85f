import {
  type FeedPage,
  listChangesEndpoint,
  maxFeedEntries,
  Problem,
  type QueryOf,
  streamChangesEndpoint,
} from '@talkshelf/contract'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Db } from '../platform/db/db.ts'
import { currentReadContext, onPrimary } from '../platform/db/read-context.ts'
import { type EdgeHeaders, fixedPagePolicy, setEdgeHeaders } from '../platform/http/edge-policy.ts'
import { asciiBytes, toJson } from '../platform/http/json.ts'
import { queryParams, type RouteFactory } from '../platform/http/mount.ts'
import { rateLimitKey } from '../platform/http/rate-limit.ts'
import { takeOverResponse } from '../platform/http/raw-response.ts'
import { tracedRequest } from '../platform/ops/trace.ts'
import type { FeedFollower } from './follow.ts'
import { findSince, formatCursor, type PageWithPosition, readNewest, readPage } from './page.ts'
import { openSharedReads } from './shared-reads.ts'
import { openFeedStreams, type StreamLimits } from './stream.ts'

// The routes do not use `mount`, because a request may wait for longer than its timeout, and
// waiting requests do not count as requests in flight.

type ChangesQuery = QueryOf<typeof listChangesEndpoint>

export interface FeedLimits {
  /** Requests that wait, and streams, of this process. A client can have a tenth of them. */
  readonly maxFollowers: number
  /** Returns the headers for an edge cache, if there is one. */
  readonly edge?: EdgeHeaders | undefined
  readonly stream?: StreamLimits
}

/** Mounts the change feed, as pages and as a stream. */
export function changeFeedRoutes(
  http: FastifyInstance,
  routeOf: RouteFactory,
  db: Db,
  follower: FeedFollower,
  limits: FeedLimits,
): void {
  const slots = openSlots(limits.maxFollowers)
  const streams = openFeedStreams(db, follower, limits.stream)
  const shared = openSharedReads<string, PageWithPosition>()
  const sharedOld = openSharedReads<string, PageWithPosition>()
  const closing = new AbortController()
  http.addHook('preClose', async () => {
    closing.abort()
    streams.stop()
  })

  http.route({
    ...routeOf(listChangesEndpoint),
    handler: async (request, reply) => {
      const query = queryParams(listChangesEndpoint, request) as ChangesQuery
      const page = await tracedRequest(
        'GET /api/v2/changes',
        request.headers,
        async () =>
          (await readOldPage(query)) ?? onPrimary(() => readWhenChanged(request, reply, query)),
      )
      const isFixed = isFixedPage(query, page)
      reply.headers({
        'content-type': listChangesEndpoint.response.type,
        'cache-control': isFixed ? 'public, max-age=3600' : 'no-store',
      })
      const policy = isFixed && query.wait === undefined ? () => fixedPagePolicy : undefined
      setEdgeHeaders(limits.edge, request, reply, policy)
      return reply.send(asciiBytes(toJson(page)))
    },
  })

  /**
   * Reads a page that lies well before the end of the feed, from a replica if the request may. Such
   * a page is the same on all servers. Returns undefined for others: a replica may not know their
   * cursor yet, and must not report another history.
   */
  async function readOldPage(query: ChangesQuery): Promise<FeedPage | undefined> {
    const { since = '0', wait: _, id, ...filter } = query
    const seq = Number(/^(\d+)(?:\.[0-9a-f]{16})?$/.exec(since)?.[1])
    const end = seq + (filter.limit ?? maxFeedEntries)
    const isOld = end < (follower.head()?.seq ?? 0)
    if (!currentReadContext() || id !== undefined || !isOld) return undefined
    try {
      const { page } = await sharedOld(`${since} ${JSON.stringify(filter)}`, async () =>
        readPage(db, await findSince(db, since), filter),
      )
      return page.more ? page : undefined
    } catch (error) {
      if (error instanceof Problem && ['other-history', 'unavailable'].includes(error.problem))
        return undefined
      throw error
    }
  }

  /** Reads a page, and waits for the next entries if there are none. */
  async function readWhenChanged(
    request: FastifyRequest,
    reply: FastifyReply,
    query: ChangesQuery,
  ): Promise<FeedPage> {
    const { since = '0', wait, id, ...filter } = query
    if (id !== undefined) return (await readNewest(db, { ...filter, id })).page
    let read = await shared(`${since} ${JSON.stringify(filter)}`, async () =>
      readPage(db, await findSince(db, since), filter),
    )
    if (!wait || read.page.more || read.page.results.length > 0) return read.page
    assertServing()
    if (reply.raw.destroyed) return read.page
    const release = slots.take(request)
    const timeout = AbortSignal.timeout(wait * 1000)
    const disconnected = new AbortController()
    const onClose = () => disconnected.abort()
    reply.raw.once('close', onClose)
    const ended = AbortSignal.any([timeout, closing.signal, disconnected.signal])
    try {
      while (!ended.aborted && read.page.results.length === 0 && !read.page.more) {
        const { position } = read
        await follower.whenAfter(position.seq, ended)
        read = await shared(`${formatCursor(position)} ${JSON.stringify(filter)}`, () =>
          readPage(db, position, filter),
        )
      }
      return read.page
    } finally {
      reply.raw.off('close', onClose)
      release()
    }
  }

  function assertServing(): void {
    if (closing.signal.aborted)
      throw new Problem('unavailable', 'The server stops; try again', { retry_after: 1 })
  }

  http.route({
    ...routeOf(streamChangesEndpoint),
    handler: async (request, reply) => {
      const { since = 'now', ...filter } = queryParams(streamChangesEndpoint, request) as QueryOf<
        typeof streamChangesEndpoint
      >
      const lastId = request.headers['last-event-id']
      const isCursor = typeof lastId === 'string' && /^\d{1,15}\.[0-9a-f]{16}$/.test(lastId)
      const position = await onPrimary(() => findSince(db, isCursor ? lastId : since))
      reply.headers({
        'content-type': streamChangesEndpoint.response.type,
        'cache-control': 'no-store',
        'x-accel-buffering': 'no',
      })
      if (request.method === 'HEAD') return takeOverResponse(reply).end()
      assertServing()
      // The client may have gone in the meantime: then it closes no response that has a slot.
      if (reply.raw.destroyed) return reply.hijack()
      const release = slots.take(request)
      const raw = takeOverResponse(reply).once('close', release)
      onPrimary(() => streams.send(raw, position, filter))
    },
  })
}

/** A full page never changes, unless it has records. */
function isFixedPage({ include, since }: ChangesQuery, { more }: FeedPage): boolean {
  return more && include === undefined && since !== 'now'
}

/** Limits how many followers a process has, and how many of them one client. */
function openSlots(max: number) {
  const maxOfClient = Math.ceil(max / 10)
  const clients = new Map<string, number>()
  let taken = 0
  return {
    /** Takes a slot and returns a function that releases it. Throws if all are taken. */
    take(request: FastifyRequest): () => void {
      const client = rateLimitKey(request.actor.token, request.ip)
      const ofClient = clients.get(client) ?? 0
      if (taken >= max || ofClient >= maxOfClient)
        throw new Problem(
          'unavailable',
          'Too many clients are waiting for changes; try again later, or without `wait`',
          { retry_after: 30 },
        )
      taken++
      clients.set(client, ofClient + 1)
      return () => {
        taken--
        const left = (clients.get(client) ?? 1) - 1
        if (left === 0) clients.delete(client)
        else clients.set(client, left)
      }
    },
  }
}
