import { Problem, problems } from '@talkshelf/contract'
import {
  type EntityPageKind,
  pages,
  parseTimecode,
  paths,
  renderPage,
  sourcePolicy,
} from '@talkshelf/web'
import type { StatisticsCache } from '../catalogue/catalogue.ts'
import type { Markdown } from '../markdown/markdown.ts'
import type { Pool } from '../platform/db/pool.ts'
import { runInOwnTask } from '../platform/event-loop.ts'
import {
  type MountPage,
  type PageRequest,
  type PageResponse,
  parseId,
} from '../platform/http/pages.ts'
import { requestCosts } from '../platform/http/rate-limit.ts'
import type { RecordCache } from '../videos/videos.ts'
import { entityPage, languagePage, yearPage } from './collection.ts'
import { aboutPage, directoryPage, eventsPage } from './directory.ts'
import { favicon } from './favicon.ts'
import { homePage } from './home.ts'
import { searchPage, searchState } from './search.ts'
import { embedPage, readTalk, talkPage } from './talk.ts'
import { buildView, type PageSite, pageHeaders, preferenceCookies } from './view.ts'

// The pages for readers: an address, what its page needs from the features, and the page.

export function pageRoutes(
  mountPage: MountPage,
  pool: Pool,
  recordCache: RecordCache,
  statisticsCache: StatisticsCache,
  markdown: Markdown,
  site: PageSite,
): void {
  /**
   * Where it is instead: with everything that the reader's address says behind it. A name that
   * comes back leads the other way, so nobody keeps it.
   */
  const moved = (path: string, { query }: PageRequest): PageResponse => {
    const rest = new URLSearchParams(query).toString()
    return {
      status: 301,
      headers: {
        location: `${site.basePath}${path}${rest && `?${rest}`}`,
        'cache-control': 'public, no-cache',
      },
    }
  }
  const shown = async <Data extends object>(
    page: Parameters<typeof renderPage<Data>>[0],
    data: Data,
    request: PageRequest,
  ): Promise<PageResponse> => {
    const view = buildView(site, request)
    return {
      body: await runInOwnTask(() => renderPage(page, data, view)),
      headers: pageHeaders(view),
    }
  }

  mountPage(paths.home, async (request) =>
    shown(pages.home, await homePage(pool, statisticsCache), request),
  )
  mountPage(paths.search(), async (request) =>
    shown(
      pages.search,
      await searchPage(pool, statisticsCache, searchState(request.query)),
      request,
    ),
  )
  mountPage(paths.about, async (request) =>
    shown(pages.about, await aboutPage(statisticsCache), request),
  )
  mountPage('/stats', (request) => moved(paths.about, request))

  mountPage('/video', (request) => moved(paths.search(), request))
  mountPage('/embed/:id', async (request) => {
    const data = await embedPage(
      pool,
      await readTalk(recordCache, idOf(request)),
      parseTimecode(request.query.t),
    )
    const view = buildView(site, request)
    const body = await runInOwnTask(() => renderPage(pages.embed, data, view))
    return {
      body,
      headers: pageHeaders(view, { playing: sourcePolicy(data.talk.sources), framed: true }),
    }
  })
  const talk = async (request: PageRequest) => {
    const record = await readTalk(recordCache, idOf(request))
    // An old archive may have brought a talk without a slug.
    if (record.slug !== (request.params.slug ?? '')) return moved(paths.talk(record), request)
    const data = await talkPage(pool, markdown, record, parseTimecode(request.query.t))
    const view = buildView(site, request)
    const body = await runInOwnTask(() => renderPage(pages.talk, data, view))
    return { body, headers: pageHeaders(view, { playing: sourcePolicy(data.talk.sources) }) }
  }
  mountPage('/video/:id', talk)
  mountPage('/video/:id/:slug', talk)

  mountPage(paths.list('category'), async (request) =>
    shown(pages.events, await eventsPage(statisticsCache), request),
  )
  for (const kind of ['speaker', 'tag'] as const)
    mountPage(paths.list(kind), async (request) =>
      shown(pages.names, await directoryPage(pool, statisticsCache, kind, request.query), request),
    )
  for (const kind of ['category', 'speaker', 'tag'] as const) {
    const entity = async (request: PageRequest, slug: string) => {
      const found = await entityPage(
        pool,
        markdown,
        statisticsCache,
        kind as EntityPageKind,
        { id: request.params.id ?? '', slug },
        request.query.page,
      )
      return 'moved' in found
        ? moved(found.moved, request)
        : shown(pages.collection, found, request)
    }
    mountPage(`/${kind}/:id`, (request) => entity(request, ''))
    mountPage(`/${kind}/:id/:slug`, (request) => entity(request, request.params.slug ?? ''))
  }
  mountPage('/language/:slug', async (request) =>
    shown(
      pages.collection,
      await languagePage(pool, statisticsCache, request.params.slug ?? '', request.query.page),
      request,
    ),
  )
  mountPage('/year/:year', async (request) =>
    shown(
      pages.collection,
      await yearPage(pool, statisticsCache, request.params.year ?? '', request.query.page),
      request,
    ),
  )

  mountPage(paths.prefer, ({ query }) => {
    const cookies = preferenceCookies(query, site)
    return {
      status: 303,
      headers: {
        location: backTo(site, query.to),
        'cache-control': 'private, no-store',
        ...(cookies.length > 0 && { 'set-cookie': cookies }),
      },
    }
  })
  mountPage(
    '/assets/:name',
    async ({ params, headers }) => {
      const found = await site.assets.read(params.name ?? '', headers['accept-encoding'])
      return found ?? notFound()
    },
    { cost: requestCosts.read },
  )
  mountPage(
    '/favicon.svg',
    () => ({
      body: favicon,
      headers: { 'content-type': 'image/svg+xml', 'cache-control': 'public, max-age=86400' },
    }),
    { cost: requestCosts.read },
  )
}

/**
 * A path of ours. Whatever stands in it, it leads nowhere else: dots do not climb out of where we
 * are mounted, and two slashes are no host. It is no whole address, because readers may know us by
 * another name than we do.
 */
function backTo({ basePath }: PageSite, path = ''): string {
  const home = new URL(`http://ours${basePath}/`)
  const url = path.startsWith('/') ? URL.parse(home.origin + basePath + path) : null
  const isOurs = url && url.origin === home.origin && url.pathname.startsWith(home.pathname)
  return (isOurs ? url : home).href.slice(home.origin.length).replace(/^\/+/, '/')
}

/** What a reader sees instead of a page that is not there. */
export function readerProblemPage(
  site: PageSite,
  { problem, message }: Problem,
  request: PageRequest,
  requestId: string,
): PageResponse {
  const view = buildView(site, request)
  const data = { status: problems[problem].status, problem, detail: message, requestId }
  return {
    body: renderPage(pages.problem, data, view),
    headers: { ...pageHeaders(view), 'cache-control': 'private, no-store' },
  }
}

function idOf({ params }: PageRequest): number {
  return parseId(params.id) ?? notFound()
}

function notFound(): never {
  throw new Problem('not-found', 'There is no such page')
}
