import { hash } from 'node:crypto'
import { Problem, SearchText, type Video, validationErrors } from '@talkshelf/contract'
import { type FeedFormat, feedFormats, paths } from '@talkshelf/web'
import type { FastifyInstance } from 'fastify'
import { findPublicEntity } from '../entities/entities.ts'
import { findSourceStates } from '../links/links.ts'
import type { Markdown } from '../markdown/markdown.ts'
import { anyone } from '../platform/actor.ts'
import type { Pool } from '../platform/db/pool.ts'
import { runInOwnTask } from '../platform/event-loop.ts'
import { acceptsEncoding } from '../platform/http/compression.ts'
import { lastModified, matchesIfNoneMatch } from '../platform/http/conditional.ts'
import { type LazyPolicy, listPolicy, recordPolicy } from '../platform/http/edge-policy.ts'
import {
  type MountPage,
  type PageRequest,
  type PageResponse,
  parseId,
} from '../platform/http/pages.ts'
import { rejectParameter } from '../platform/http/problem.ts'
import { requestCosts } from '../platform/http/rate-limit.ts'
import {
  minimumRate,
  type StreamLimits,
  sendChunks,
  takeOverResponse,
} from '../platform/http/raw-response.ts'
import { inChunks } from '../platform/streams.ts'
import { calendar, calendarType, readSchedule } from '../schedules/schedules.ts'
import { type RecordCache, readVideo } from '../videos/videos.ts'
import * as feeds from './syndication.ts'

// Routes outside of the API, at the URLs that the conventions of the web expect.

interface DocumentBody {
  readonly body: string
  readonly type: string
  readonly changed?: Date
  readonly edge?: LazyPolicy
}
type DocumentResponse = DocumentBody | { readonly moved: string }
type Params = PageRequest['params']
type Get = (
  path: string,
  handler: (params: Params, query: Params) => Promise<DocumentResponse>,
) => void

/** Mounts feeds, sitemaps, robots.txt, OpenSearch and oEmbed. */
export function syndicationRoutes(
  http: FastifyInstance,
  mountPage: MountPage,
  pool: Pool,
  recordCache: RecordCache,
  markdown: Markdown,
  site: feeds.SiteInfo,
): void {
  const get: Get = (path, handler) =>
    mountPage(path, async ({ params, query, headers }) =>
      conditionalResponse(await handler(params, query), headers),
    )

  for (const format of feedFormats) feedRoutes(get, format, pool, markdown, site)

  get('/robots.txt', async () => ({
    body: feeds.robotsTxt(site),
    type: 'text/plain; charset=utf-8',
  }))
  get(paths.openSearch, async () => ({ body: feeds.openSearch(site), type: feeds.openSearchType }))
  get(feeds.suggestionsPath, async (_, { q = '' }) => {
    const errors = validationErrors(SearchText, q).map((error) => ({ ...error, pointer: '/q' }))
    if (errors.length > 0)
      throw new Problem('invalid-query', 'Invalid query parameter: q', { errors })
    return {
      body: JSON.stringify(await feeds.suggestionsFor(pool.searches, site, String(q))),
      type: feeds.suggestionsType,
    }
  })

  get(paths.oEmbed, async (_, { url, format = 'json', maxwidth, maxheight }) => {
    if (typeof url !== 'string' || url === '') rejectParameter('url', 'must be the URL of a talk')
    if (format !== 'json' && format !== 'xml')
      throw new Problem('not-implemented', 'Supported formats: json, xml')
    const id = feeds.talkIdInUrl(url, site)
    if (id === undefined) throw new Problem('not-found', 'There is no talk at this URL')
    const { body } = await readVideo(recordCache, anyone, id)
    const maxSize = {
      maxwidth: parsePixels('maxwidth', maxwidth),
      maxheight: parsePixels('maxheight', maxheight),
    }
    const record: Video = JSON.parse(body)
    const states = await findSourceStates(pool.lookups, [record.id])
    const response = feeds.oEmbed(record, states.get(record.id)?.isLost ?? false, site, maxSize)
    const edge = () => recordPolicy(id, record.id)
    return format === 'xml'
      ? { body: feeds.oEmbedXml(response), type: 'text/xml; charset=utf-8', edge }
      : { body: JSON.stringify(response), type: 'application/json; charset=utf-8', edge }
  })

  get(paths.calendar('/category/:id/:slug'), async ({ id = '', slug = '' }) => {
    const event = await findPublicEntity(pool.lookups, 'category', requireId(id))
    if (!event) throw new Problem('not-found', 'This URL does not exist')
    const page = paths.entity('category', event)
    if (String(event.id) !== id || event.slug !== slug)
      return { moved: site.origin() + paths.calendar(page) }
    const talks = await readSchedule(pool.lists, event.id)
    const body = await runInOwnTask(() => calendar(event, talks, site.origin()))
    return { body, type: calendarType }
  })

  get('/sitemap.xml', async () => ({
    body: await feeds.sitemapIndex(pool.lists, site),
    type: 'application/xml; charset=utf-8',
  }))
  get(`/sitemap/${feeds.pagesFile}`, async () => ({
    body: await feeds.pagesSitemap(pool.lists, site),
    type: 'application/xml; charset=utf-8',
  }))
  sitemapRoute(http, pool, site)
}

function feedRoutes(
  get: Get,
  format: FeedFormat,
  pool: Pool,
  markdown: Markdown,
  site: feeds.SiteInfo,
): void {
  const serialize = async (
    feed: Parameters<typeof feeds.serializeFeed>[0],
  ): Promise<DocumentBody> => ({
    body: await runInOwnTask(() => feeds.serializeFeed(feed, format, site)),
    type: feeds.feedTypes[format],
    changed: feeds.feedUpdated(feed),
    edge: () =>
      listPolicy(
        feed.entries.flatMap(({ id }) => /\/video\/(\d+)$/.exec(id)?.[1] ?? []).map(Number),
      ),
  })
  get(paths.feed(paths.home, format), async () =>
    serialize(await feeds.catalogueFeed(pool, markdown, site)),
  )
  get(paths.feed(paths.list('category'), format), async () =>
    serialize(await feeds.eventsFeed(pool, markdown, site)),
  )
  for (const kind of ['category', 'speaker', 'tag'] as const)
    get(paths.feed(`/${kind}/:id/:slug`, format), async ({ id = '', slug = '' }) => {
      const feed = await feeds.entityFeed(pool, markdown, site, kind, requireId(id), slug)
      return 'moved' in feed
        ? { moved: site.origin() + paths.feed(feed.moved, format) }
        : serialize(feed)
    })
  get(paths.feed('/language/:slug', format), async ({ slug = '' }) =>
    serialize(await feeds.languageFeed(pool, markdown, site, slug)),
  )
  get(paths.feed('/year/:year', format), async ({ year = '' }) =>
    serialize(await feeds.yearFeed(pool, markdown, site, year)),
  )
  get(paths.feed(paths.search(), format), async (_, query) =>
    serialize(await feeds.searchFeed(pool, markdown, site, query)),
  )
}

/** Each sitemap reads thousands of records, with the connections of the lists. */
const maxConcurrent = 2

const defaultLimits: StreamLimits = { ...minimumRate, longestMs: 5 * 60_000 }

/** Mounts the sitemaps of talks and entities, which are streamed. */
export function sitemapRoute(
  http: FastifyInstance,
  pool: Pick<Pool, 'lists'>,
  site: feeds.SiteInfo,
  limits = defaultLimits,
): void {
  let running = 0
  const closing = new AbortController()
  http.addHook('preClose', async () => closing.abort(new Error('The server stops')))

  http.get(
    `${site.basePath}/sitemap/:file`,
    { config: { cost: requestCosts.list } },
    async (request, reply) => {
      const sitemap = feeds.parseSitemapName((request.params as Params).file ?? '')
      const lines = sitemap && (await feeds.writeSitemap(pool.lists, site, sitemap))
      if (!lines) throw new Problem('not-found', 'This URL does not exist')
      if (running >= maxConcurrent)
        throw new Problem(
          'unavailable',
          `${maxConcurrent} sitemaps are already being sent; try again later`,
          {
            retry_after: 5,
          },
        )
      const isPacked = acceptsEncoding('gzip', request.headers['accept-encoding'])
      reply.headers({
        'content-type': 'application/xml; charset=utf-8',
        'cache-control': 'public, max-age=3600',
        vary: 'Accept-Encoding',
        ...(isPacked && { 'content-encoding': 'gzip' }),
      })
      if (request.method === 'HEAD') return takeOverResponse(reply).end()
      running++
      try {
        await sendChunks(reply, inChunks(lines), { isPacked, limits, signal: closing.signal })
        reply.raw.end()
      } catch (error) {
        // Once the response has begun, an error can only cut the connection: the end is missing.
        request.log.warn({ err: error }, 'a sitemap was cut off')
      } finally {
        running--
      }
    },
  )
}

/** Builds a response with an ETag and a date, or 304 if the client has the document already. */
function conditionalResponse(
  response: DocumentResponse,
  { 'if-none-match': ifNoneMatch, 'if-modified-since': ifModifiedSince }: PageRequest['headers'],
): PageResponse {
  if ('moved' in response) {
    const headers = { 'cache-control': 'public, no-cache', location: response.moved }
    return { status: 301, headers, edge: listPolicy }
  }
  const { body, type, changed, edge = listPolicy } = response
  const etag = `"${hash('sha256', body, 'base64url').slice(0, 22)}"`
  const dateMs = changed && lastModified(changed.getTime(), Date.now())
  const date = dateMs ? new Date(dateMs).toUTCString() : undefined
  const headers = {
    'cache-control': 'public, max-age=300',
    'content-type': type,
    etag,
    ...(date && { 'last-modified': date }),
  }
  // Only the exact date counts as unchanged, not a later one: after a takedown the rest of a feed
  // can be older than the feed was before.
  const isUnchanged =
    ifNoneMatch === undefined
      ? date !== undefined && ifModifiedSince === date
      : matchesIfNoneMatch(ifNoneMatch, etag)
  return isUnchanged ? { status: 304, headers, edge } : { body, headers, edge }
}

function requireId(text: string): number {
  const id = parseId(text)
  if (id === undefined) throw new Problem('not-found', 'This URL does not exist')
  return id
}

function parsePixels(name: string, value: unknown): number | undefined {
  if (value === undefined || value === '') return undefined
  return /^[1-9]\d{0,5}$/.test(String(value))
    ? Number(value)
    : rejectParameter(name, 'must be a number of pixels')
}
