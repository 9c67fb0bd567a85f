import { hash } from 'node:crypto'
import { Problem, SearchText, type Video, validationErrors } from '@talkshelf/contract'
import { feedFormats, paths } from '@talkshelf/web'
import type { FastifyInstance } from 'fastify'
import type { Markdown } from '../markdown/markdown.ts'
import { anyone } from '../platform/actor.ts'
import type { Pool } from '../platform/db/pool.ts'
import { runInOwnTask } from '../platform/event-loop.ts'
import { acceptsEncoding } from '../platform/http/compression.ts'
import { lastModified, matchesIfNoneMatch } from '../platform/http/conditional.ts'
import {
  type MountPage,
  type PageRequest,
  type PageResponse,
  parseId,
} from '../platform/http/pages.ts'
import { requestCosts } from '../platform/http/rate-limit.ts'
import {
  minimumRate,
  type StreamLimits,
  sendChunks,
  takeOverResponse,
} from '../platform/http/raw-response.ts'
import { inChunks } from '../platform/streams.ts'
import { type RecordCache, readVideo } from '../videos/videos.ts'
import * as feeds from './syndication.ts'

// No endpoints of the interface: these are addresses that the web knows by its own conventions.

interface Sent {
  readonly body: string
  readonly type: string
  readonly changed?: Date
}
type Answer = Sent | { readonly moved: string }
type Given = PageRequest['params']

export function syndicationRoutes(
  http: FastifyInstance,
  mountPage: MountPage,
  pool: Pool,
  recordCache: RecordCache,
  markdown: Markdown,
  site: feeds.SiteInfo,
): void {
  const get = (path: string, answer: (params: Given, query: Given) => Promise<Answer>) =>
    mountPage(path, async ({ params, query, headers }) =>
      sent(await answer(params, query), headers),
    )

  for (const form of feedFormats) {
    const written = async (feed: Parameters<typeof feeds.serializeFeed>[0]): Promise<Answer> => ({
      body: await runInOwnTask(() => feeds.serializeFeed(feed, form, site)),
      type: feeds.feedTypes[form],
      changed: feeds.feedUpdated(feed),
    })
    get(paths.feed(paths.home, form), async () =>
      written(await feeds.catalogueFeed(pool, markdown, site)),
    )
    get(paths.feed(paths.list('category'), form), async () =>
      written(await feeds.eventsFeed(pool, markdown, site)),
    )
    for (const kind of ['category', 'speaker', 'tag'] as const)
      get(paths.feed(`/${kind}/:id/:slug`, form), async ({ id = '', slug = '' }) => {
        const feed = await feeds.entityFeed(pool, markdown, site, kind, idOf(id), slug)
        return 'moved' in feed
          ? { moved: site.origin() + paths.feed(feed.moved, form) }
          : written(feed)
      })
    get(paths.feed('/language/:slug', form), async ({ slug = '' }) =>
      written(await feeds.languageFeed(pool, markdown, site, slug)),
    )
    get(paths.feed('/year/:year', form), async ({ year = '' }) =>
      written(await feeds.yearFeed(pool, markdown, site, year)),
    )
    get(paths.feed(paths.search(), form), async (_, query) =>
      written(await feeds.searchFeed(pool, markdown, site, query)),
    )
  }

  get('/robots.txt', async () => ({
    body: feeds.robotsTxt(site),
    type: 'text/plain; charset=utf-8',
  }))
  get(paths.openSearch, async () => ({ body: feeds.openSearch(site), type: feeds.openSearchType }))
  get(feeds.suggestionsPath, async (_, { q = '' }) => {
    const errors = validationErrors(SearchText, q).map((error) => ({ ...error, pointer: '/q' }))
    if (errors.length > 0)
      throw new Problem('invalid-query', 'The parameter q is wrong', { errors })
    return {
      body: JSON.stringify(await feeds.suggestionsFor(pool.searches, site, String(q))),
      type: feeds.suggestionsType,
    }
  })

  get(paths.oEmbed, async (_, { url, format = 'json', maxwidth, maxheight }) => {
    if (typeof url !== 'string' || url === '') refuse('url', 'must be the address of a talk')
    if (format !== 'json' && format !== 'xml')
      throw new Problem('not-implemented', 'The formats are json and xml')
    const id = feeds.talkIdInUrl(url, site)
    if (id === undefined) throw new Problem('not-found', 'There is no talk at this address')
    const { body } = await readVideo(recordCache, anyone, id)
    const largest = {
      maxwidth: pixels('maxwidth', maxwidth),
      maxheight: pixels('maxheight', maxheight),
    }
    const it = feeds.oEmbed(JSON.parse(body) as Video, site, largest)
    return format === 'xml'
      ? { body: feeds.oEmbedXml(it), type: 'text/xml; charset=utf-8' }
      : { body: JSON.stringify(it), type: 'application/json; charset=utf-8' }
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

/** Each walks through thousands of records, on the connections that lists need. */
const atOnce = 2

const usual: StreamLimits = { ...minimumRate, longestMs: 5 * 60_000 }

export function sitemapRoute(
  http: FastifyInstance,
  pool: Pick<Pool, 'lists'>,
  site: feeds.SiteInfo,
  limits = usual,
): void {
  let underWay = 0
  const closing = new AbortController()
  http.addHook('preClose', async () => closing.abort(new Error('The server stops')))

  http.get(
    `${site.basePath}/sitemap/:file`,
    { config: { cost: requestCosts.list } },
    async (request, reply) => {
      const named = feeds.parseSitemapName((request.params as Given).file ?? '')
      const pieces = named && (await feeds.writeSitemap(pool.lists, site, named))
      if (!pieces) throw new Problem('not-found', 'There is no such address')
      if (underWay >= atOnce)
        throw new Problem('unavailable', `${atOnce} sitemaps are under way: wait for one of them`, {
          retry_after: 5,
        })
      const isPacked = acceptsEncoding('gzip', request.headers['accept-encoding'])
      reply.headers({
        'content-type': 'application/xml; charset=utf-8',
        'cache-control': 'public, max-age=3600',
        vary: 'Accept-Encoding',
        ...(isPacked && { 'content-encoding': 'gzip' }),
      })
      if (request.method === 'HEAD') return takeOverResponse(reply).end()
      underWay++
      try {
        await sendChunks(reply, inChunks(pieces), { isPacked, limits, signal: closing.signal })
        reply.raw.end()
      } catch (error) {
        // Half of an answer can't be taken back; the connection is cut, and the end of the document
        // is missing.
        request.log.warn({ err: error }, 'a sitemap was cut off')
      } finally {
        underWay--
      }
    },
  )
}

function sent(
  answer: Answer,
  { 'if-none-match': ifNoneMatch, 'if-modified-since': ifModifiedSince }: PageRequest['headers'],
): PageResponse {
  const cached = { 'cache-control': 'public, max-age=300' }
  if ('moved' in answer)
    return { status: 301, headers: { 'cache-control': 'public, no-cache', location: answer.moved } }
  const { body, type, changed } = answer
  const tag = `"${hash('sha256', body, 'base64url').slice(0, 22)}"`
  const dateMs = changed && lastModified(changed.getTime(), Date.now())
  const date = dateMs ? new Date(dateMs).toUTCString() : undefined
  const headers = {
    ...cached,
    'content-type': type,
    etag: tag,
    ...(date && { 'last-modified': date }),
  }
  // The very date that we gave, and no later one: where a talk was taken down, what is left may be
  // older than what was there before.
  const isSame =
    ifNoneMatch === undefined
      ? date !== undefined && ifModifiedSince === date
      : matchesIfNoneMatch(ifNoneMatch, tag)
  return isSame ? { status: 304, headers } : { body, headers }
}

function idOf(text: string): number {
  const id = parseId(text)
  if (id === undefined) throw new Problem('not-found', 'There is no such address')
  return id
}

function pixels(name: string, value: unknown): number | undefined {
  if (value === undefined || value === '') return undefined
  return /^[1-9]\d{0,5}$/.test(String(value))
    ? Number(value)
    : refuse(name, 'must be a number of pixels')
}

function refuse(name: string, detail: string): never {
  throw new Problem('invalid-query', `The parameter ${name} is wrong`, {
    errors: [{ pointer: `/${name}`, code: 'invalid', detail }],
  })
}
