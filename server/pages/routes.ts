import { type AtRiskReport, Problem, problems } from '@talkshelf/contract'
import {
  bannerStyle,
  type CollectionData,
  type EntityPageKind,
  type FollowData,
  feedFormats,
  type ProblemData,
  pages,
  parseTimecode,
  paths,
  renderPage,
  searchKeys,
  sourcePolicy,
} from '@talkshelf/web'
import type { StatisticsCache } from '../catalogue/catalogue.ts'
import type { Markdown } from '../markdown/markdown.ts'
import type { Pool } from '../platform/db/pool.ts'
import { runInOwnTask } from '../platform/event-loop.ts'
import {
  assetPolicy,
  type EdgePolicy,
  edgeKey,
  listPolicy,
  pagePolicy,
  recordPolicy,
} from '../platform/http/edge-policy.ts'
import { picturePolicy } from '../platform/http/headers.ts'
import {
  type MountForm,
  type MountPage,
  type PageRequest,
  type PageResponse,
  parseId,
} from '../platform/http/pages.ts'
import { pageOutOfRange } from '../platform/http/pagination.ts'
import { requestCosts } from '../platform/http/rate-limit.ts'
import type { RefreshedValue } from '../platform/ops/refreshed-value.ts'
import type { RecordCache } from '../videos/videos.ts'
import { atRiskPage } from './at-risk.ts'
import { entityPage, languagePage, yearPage } from './collection.ts'
import { aboutPage, directoryPage, eventsPage } from './directory.ts'
import { favicon, faviconIco, icoOf } from './favicon.ts'
import { followEntity, followLanguage, followSearch, followYear } from './follow.ts'
import { homePage } from './home.ts'
import { schedulePage } from './schedule.ts'
import { searchPage, searchState } from './search.ts'
import { speakerLinkRoutes } from './speaker-link.ts'
import { suggestRoutes } from './suggest.ts'
import { embedPage, readTalk, talkPage } from './talk.ts'
import { buildView, localPath, type PageSite, pageHeaders, preferenceCookies } from './view.ts'

// Mounts the public pages: loads the data of a page and renders it.

interface PageContext {
  readonly mountPage: MountPage
  readonly pool: Pool
  readonly recordCache: RecordCache
  readonly statisticsCache: StatisticsCache
  readonly markdown: Markdown
  readonly site: PageSite
}

/** Mounts all public pages and their assets. */
export function pageRoutes(
  { mountPage, mountForm }: { readonly mountPage: MountPage; readonly mountForm: MountForm },
  pool: Pool,
  recordCache: RecordCache,
  statisticsCache: StatisticsCache,
  atRisk: RefreshedValue<AtRiskReport>,
  markdown: Markdown,
  site: PageSite,
): void {
  const context = { mountPage, pool, recordCache, statisticsCache, markdown, site }
  mountPage(paths.home, async (request) =>
    render(site, pages.home, await homePage(pool, statisticsCache), request),
  )
  mountPage(paths.search(), async (request) =>
    render(
      site,
      pages.search,
      await searchPage(pool, statisticsCache, searchState(request.query)),
      request,
    ),
  )
  mountPage(paths.about, async (request) =>
    render(
      site,
      pages.about,
      {
        ...(await aboutPage(statisticsCache)),
        text: site.content.text('about', buildView(site, request).locale),
      },
      request,
    ),
  )
  mountPage(paths.atRisk, atRiskPage(site, atRisk))
  siteTextRoutes(context)
  mountPage(paths.myTalks, (request) => render(site, pages.myTalks, {}, request))
  for (const [from, to] of Object.entries(guessedPaths))
    mountPage(from, (request) => redirect(site, to, request), { cost: requestCosts.read })
  followRoutes(context)
  scheduleRoutes(context)
  talkRoutes(context)
  directoryRoutes(context)
  collectionRoutes(context)
  suggestRoutes({ mountPage, mountForm, pool, site })
  speakerLinkRoutes({ mountPage, mountForm, pool, site })
  preferenceRoute(context)
  assetRoutes(context)
}

/** Addresses that people and programs guess, and what they mean. */
const guessedPaths: Readonly<Record<string, string>> = {
  '/index.html': paths.home,
  '/stats': paths.about,
  '/talk': paths.search(),
  '/talks': paths.search(),
  '/videos': paths.search(),
  '/event': paths.list('category'),
  '/events': paths.list('category'),
  '/categories': paths.list('category'),
  '/speakers': paths.list('speaker'),
  '/tags': paths.list('tag'),
  '/language': paths.browse,
  '/languages': paths.browse,
  '/year': paths.browse,
  '/years': paths.browse,
  // The page links to its feeds, so that feed readers find them too.
  '/feed': paths.follow(paths.home),
  '/feeds': paths.follow(paths.home),
  '/rss': paths.feed(paths.home, 'rss'),
  '/rss.xml': paths.feed(paths.home, 'rss'),
  '/feed.xml': paths.feed(paths.home, 'rss'),
  '/atom': paths.feed(paths.home, 'atom'),
  '/atom.xml': paths.feed(paths.home, 'atom'),
  '/feed.json': paths.feed(paths.home, 'json'),
}

/** Folders that people guess: /events/<slug>. */
const guessedFolders: Readonly<Record<EntityPageKind, readonly string[]>> = {
  category: ['categories', 'event', 'events'],
  speaker: ['speakers'],
  tag: ['tags'],
}

/** Mounts the pages that have a text of the operator. */
function siteTextRoutes({ mountPage, site }: PageContext): void {
  for (const page of site.content.pages)
    if (page !== 'about')
      mountPage(paths.sitePage(page), (request) => {
        const text = site.content.text(page, buildView(site, request).locale)
        return text ? render(site, pages.siteText, { page, text }, request) : notFound()
      })
}

/** Mounts the schedules of events. */
function scheduleRoutes({ mountPage, pool, site }: PageContext): void {
  mountPage(paths.schedule('/category/:id/:slug'), async (request) => {
    const data = await schedulePage(pool, request.params)
    return 'moved' in data
      ? redirect(site, paths.schedule(data.moved), request)
      : // A change of a draft purges nothing, so it is not served after its time.
        render(site, pages.schedule, data, request, undefined, () => listPolicy())
  })
}

/** Mounts the pages that offer feeds. */
function followRoutes({ mountPage, pool, statisticsCache, site }: PageContext): void {
  const mountFollow = (
    page: string,
    load: (request: PageRequest) => FollowData | Promise<FollowData>,
  ) =>
    mountPage(paths.follow(page), async (request) =>
      render(site, pages.follow, await load(request), request),
    )
  mountFollow(paths.home, () => ({ kind: 'home', name: '', page: paths.home }))
  mountFollow(paths.list('category'), () => ({
    kind: 'events',
    name: '',
    page: paths.list('category'),
  }))
  mountFollow('/language/:slug', ({ params }) => followLanguage(statisticsCache, params.slug ?? ''))
  mountFollow('/year/:year', ({ params }) => followYear(params.year ?? ''))
  mountFollow(paths.search(), ({ query }) => followSearch(searchState(query)))
  for (const kind of ['category', 'speaker', 'tag'] as const)
    mountPage(paths.follow(`/${kind}/:id/:slug`), async (request) => {
      const data = await followEntity(pool, kind, request.params)
      return 'moved' in data
        ? redirect(site, paths.follow(data.moved), request)
        : render(site, pages.follow, data, request)
    })
}

function talkRoutes({ mountPage, pool, recordCache, markdown, site }: PageContext): void {
  mountPage('/video', (request) => redirect(site, paths.search(), request))
  mountPage('/embed/:id', async (request) => {
    const record = await readTalk(recordCache, idOf(request))
    const data = await embedPage(pool, record, parseTimecode(request.query.t), site.origin())
    const view = buildView(site, request)
    const body = await runInOwnTask(() => renderPage(pages.embed, data, view))
    return {
      body,
      headers: pageHeaders(view, { playing: sourcePolicy(data.talk.sources), framed: true }),
      edge: () => recordPolicy(idOf(request), record.id),
    }
  })
  const talk = async (request: PageRequest) => {
    const record = await readTalk(recordCache, idOf(request))
    // A talk imported from an old archive may have an empty slug.
    if (record.id !== idOf(request) || record.slug !== (request.params.slug ?? ''))
      return redirect(site, paths.talk(record), request)
    const at = parseTimecode(request.query.t)
    const data = await talkPage(pool, markdown, record, at, site.origin())
    const view = buildView(site, request)
    const body = await runInOwnTask(() => renderPage(pages.talk, data, view))
    return {
      body,
      headers: pageHeaders(view, { playing: sourcePolicy(data.talk.sources) }),
      edge: () =>
        pagePolicy(body, {
          // While the database is overloaded, a page has no similar talks.
          seconds: data.similar.length === 0 ? 60 : 3600,
          keys: [edgeKey('video', record.id)],
          isComplete: true,
        }),
    }
  }
  mountPage('/video/:id', talk)
  mountPage('/video/:id/:slug', talk)
}

function directoryRoutes({ mountPage, pool, statisticsCache, site }: PageContext): void {
  mountPage(paths.list('category'), async (request) =>
    render(site, pages.events, await eventsPage(statisticsCache), request),
  )
  for (const kind of ['speaker', 'tag'] as const)
    mountPage(paths.list(kind), async (request) => {
      const data = await directoryPage(pool, statisticsCache, kind, request.query)
      return render(site, pages.directory, data, request)
    })
}

function collectionRoutes({ mountPage, pool, statisticsCache, markdown, site }: PageContext): void {
  for (const kind of ['category', 'speaker', 'tag'] as const) {
    const entity = async (request: PageRequest, slug: string) => {
      const data = await entityPage(
        pool,
        markdown,
        statisticsCache,
        kind as EntityPageKind,
        { id: request.params.id ?? '', slug },
        request.query.page,
      )
      if (!('moved' in data))
        return render(site, pages.collection, data, request, bannerStyle(data.profile), (html) =>
          pagePolicy(html, {
            // Statistics are up to a minute old, other events of a series have other keys, and
            // facets are missing while the database is busy.
            seconds: data.hasStatistics || data.hasSeries || !hasFacets(data) ? 60 : 86_400,
            keys: [edgeKey(kind, data.entity.id)],
          }),
        )
      // The address of a feed without the slug, such as /tag/1/rss.
      const format = feedFormats.find((format) => format === slug)
      return redirect(site, format ? paths.feed(data.moved, format) : data.moved, request)
    }
    for (const folder of [kind, ...guessedFolders[kind]])
      mountPage(`/${folder}/:id`, (request) => entity(request, ''))
    mountPage(`/${kind}/:id/:slug`, (request) => entity(request, request.params.slug ?? ''))
  }
  const language = ({ params, query }: PageRequest) =>
    languagePage(pool, statisticsCache, params.slug ?? '', query.page)
  mountPage('/language/:slug', async (request) => {
    const data = await language(request)
    return 'moved' in data
      ? redirect(site, data.moved, request)
      : render(site, pages.collection, data, request)
  })
  mountPage('/languages/:slug', async (request) => {
    const data = await language(request)
    return redirect(site, 'moved' in data ? data.moved : data.path, request)
  })
  const year = ({ params, query }: PageRequest) =>
    yearPage(pool, statisticsCache, params.year ?? '', query.page)
  mountPage('/year/:year', async (request) =>
    render(site, pages.collection, await year(request), request),
  )
  mountPage('/years/:year', async (request) => redirect(site, (await year(request)).path, request))
}

function preferenceRoute({ mountPage, site }: PageContext): void {
  mountPage(paths.prefer, ({ query }) => {
    const cookies = preferenceCookies(query, site)
    return {
      status: 303,
      headers: {
        location: localPath(site, query.to),
        'cache-control': 'private, no-store',
        ...(cookies.length > 0 && { 'set-cookie': cookies }),
      },
    }
  })
}

function assetRoutes({ mountPage, site }: PageContext): void {
  mountPage(
    '/assets/:name',
    async ({ params, headers }) => {
      const asset = await site.assets.read(params.name ?? '', headers['accept-encoding'])
      return asset ? { ...asset, edge: () => assetPolicy(31_536_000) } : notFound()
    },
    { cost: requestCosts.read },
  )
  const { icon } = site.content
  const icons = [
    // The operator's icon may be a PNG only.
    ...(!icon || icon.svg
      ? [['/favicon.svg', icon?.svg?.body ?? favicon, 'image/svg+xml'] as const]
      : []),
    ['/favicon.ico', icon ? icoOf(icon.small) : faviconIco, 'image/x-icon'] as const,
  ]
  for (const [path, body, type] of icons)
    mountPage(
      path,
      () => ({
        body,
        headers: {
          'content-type': type,
          'content-security-policy': picturePolicy,
          'cache-control': 'public, max-age=86400',
        },
        edge: () => assetPolicy(86_400),
      }),
      { cost: requestCosts.read },
    )
}

async function render<Data extends object>(
  site: PageSite,
  page: Parameters<typeof renderPage<Data>>[0],
  data: Data,
  request: PageRequest,
  style?: string,
  edge: (html: string) => EdgePolicy = (html) => pagePolicy(html),
): Promise<PageResponse> {
  const view = buildView(site, request)
  const body = await runInOwnTask(() => renderPage(page, data, view))
  return {
    body,
    headers: pageHeaders(view, { style }),
    edge: () => edge(body),
  }
}

/**
 * Redirects to another path with the query of the request. The response is revalidated each time,
 * because a rename can be reverted and then redirects the other way.
 */
function redirect({ basePath }: PageSite, path: string, { query }: PageRequest): PageResponse {
  const search = new URLSearchParams(query).toString()
  const [page, fragment] = path.split('#')
  return {
    status: 301,
    headers: {
      location: `${basePath}${page}${search && `?${search}`}${fragment ? `#${fragment}` : ''}`,
      'cache-control': 'public, no-cache',
    },
    edge: listPolicy,
  }
}

/** Renders a problem as a page for readers. */
export function readerProblemPage(
  site: PageSite,
  problem: Problem,
  request: PageRequest,
  requestId: string,
): PageResponse {
  const view = buildView(site, request)
  const { status } = problems[problem.problem]
  // Other sites embed these addresses: the reader would see an empty frame.
  const framed = request.address.startsWith('/embed/')
  const data: ProblemData = {
    status,
    problem: problem.problem,
    detail: problem.message,
    requestId,
    ...(isPageMissing(problem)
      ? { missingPage: missingPage(site, request) }
      : invalidSearch(problem, request)),
  }
  return {
    body: framed
      ? renderPage(pages.embedProblem, { status }, view)
      : renderPage(pages.problem, data, view),
    headers: { ...pageHeaders(view, { framed }), 'cache-control': 'private, no-store' },
  }
}

/** Tells whether a list has fewer pages than the request asks for. */
function isPageMissing({ problem, message, more }: Problem): boolean {
  if (problem === 'not-found') return message === pageOutOfRange
  const errors = Array.isArray(more.errors) ? (more.errors as { pointer?: string }[]) : []
  return problem === 'invalid-query' && errors.length === 1 && errors[0]?.pointer === '/page'
}

function missingPage(
  site: PageSite,
  { address, query }: PageRequest,
): NonNullable<ProblemData['missingPage']> {
  const { page: _, ...rest } = query
  const [path = ''] = address.split('?')
  const isSearch = path === paths.search()
  const search = new URLSearchParams(rest).toString()
  return {
    ...(isSearch && { search: searchState(rest) }),
    firstPage: localPath(site, path + (search && `?${search}`)),
  }
}

/** Returns the filters of a search that have invalid values, and the search without them. */
function invalidSearch(
  { problem, more }: Problem,
  { address, query }: PageRequest,
): Pick<ProblemData, 'invalidSearch'> {
  if (problem !== 'invalid-query' || address.split('?')[0] !== paths.search()) return {}
  const errors = Array.isArray(more.errors) ? (more.errors as { pointer?: string }[]) : []
  const filters = searchKeys.filter((key) => errors.some(({ pointer }) => pointer === `/${key}`))
  if (filters.length === 0 || filters.includes('q')) return {}
  const rest = Object.entries(searchState(query)).filter(
    ([key]) => !filters.some((filter) => filter === key),
  )
  return { invalidSearch: { filters, rest: Object.fromEntries(rest) } }
}

function idOf({ params }: PageRequest): number {
  return parseId(params.id) ?? notFound()
}

function notFound(): never {
  throw new Problem('not-found', 'This page does not exist')
}

const hasFacets = ({ facets }: CollectionData) => Object.keys(facets).length > 0
