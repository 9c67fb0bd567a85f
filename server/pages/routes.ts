import { Problem, problems } from '@talkshelf/contract'
import { pages, paths, policyOf, renderPage, secondsOf, type ThingKind } from '@talkshelf/web'
import type { KeptAlmanac } from '../catalogue/catalogue.ts'
import type { Pool } from '../platform/db/pool.ts'
import { type AskedPage, idIn, type MountPage, type PageAnswer } from '../platform/http/pages.ts'
import { costs } from '../platform/http/rate-limit.ts'
import type { Bodies } from '../videos/videos.ts'
import { languagePage, thingPage, yearPage } from './collection.ts'
import { favicon } from './favicon.ts'
import { homePage } from './home.ts'
import { aboutPage, eventsPage, namesPage } from './lists.ts'
import { searchPage, searchState } from './search.ts'
import { embedPage, readTalk, talkPage } from './talk.ts'
import { pageHeaders, preferred, type Site, viewOf } from './view.ts'

// The pages for readers: an address, what its page needs from the features, and the page.

export function pageRoutes(mountPage: MountPage, pool: Pool, bodies: Bodies, almanac: KeptAlmanac, site: Site): void {
  /** Where it is instead: with everything that the reader's address says behind it. A name that comes back leads the other way, so nobody keeps it. */
  const moved = (path: string, { query }: AskedPage): PageAnswer => {
    const rest = new URLSearchParams(query).toString()
    return { status: 301, headers: { location: `${site.basePath}${path}${rest && `?${rest}`}`, 'cache-control': 'public, no-cache' } }
  }
  const shown = <Data extends object>(page: Parameters<typeof renderPage<Data>>[0], data: Data, asked: AskedPage): PageAnswer => {
    const view = viewOf(site, asked)
    return { body: renderPage(page, data, view), headers: pageHeaders(view) }
  }

  mountPage(paths.home, async (asked) => shown(pages.home, await homePage(pool, almanac), asked))
  mountPage(paths.search(), async (asked) => shown(pages.search, await searchPage(pool, almanac, searchState(asked.query)), asked))
  mountPage(paths.about, async (asked) => shown(pages.about, await aboutPage(almanac), asked))
  mountPage('/stats', (asked) => moved(paths.about, asked))

  mountPage('/video', (asked) => moved(paths.search(), asked))
  mountPage('/embed/:id', async (asked) => {
    const data = await embedPage(pool, await readTalk(bodies, idOf(asked)), secondsOf(asked.query.t))
    const view = viewOf(site, asked)
    return { body: renderPage(pages.embed, data, view), headers: pageHeaders(view, { playing: policyOf(data.talk.sources), framed: true }) }
  })
  const talk = async (asked: AskedPage) => {
    const record = await readTalk(bodies, idOf(asked))
    // An old archive may have brought a talk without a slug.
    if (record.slug !== (asked.params.slug ?? '')) return moved(paths.talk(record), asked)
    const data = await talkPage(pool, record, secondsOf(asked.query.t))
    const view = viewOf(site, asked)
    return { body: renderPage(pages.talk, data, view), headers: pageHeaders(view, { playing: policyOf(data.talk.sources) }) }
  }
  mountPage('/video/:id', talk)
  mountPage('/video/:id/:slug', talk)

  mountPage(paths.list('category'), async (asked) => shown(pages.events, await eventsPage(almanac), asked))
  for (const kind of ['speaker', 'tag'] as const)
    mountPage(paths.list(kind), async (asked) => shown(pages.names, await namesPage(pool, almanac, kind, asked.query), asked))
  for (const kind of ['category', 'speaker', 'tag'] as const) {
    const thing = async (asked: AskedPage, slug: string) => {
      const found = await thingPage(pool, almanac, kind as ThingKind, { id: asked.params.id ?? '', slug }, asked.query.page)
      return 'moved' in found ? moved(found.moved, asked) : shown(pages.collection, found, asked)
    }
    mountPage(`/${kind}/:id`, (asked) => thing(asked, ''))
    mountPage(`/${kind}/:id/:slug`, (asked) => thing(asked, asked.params.slug ?? ''))
  }
  mountPage('/language/:slug', async (asked) =>
    shown(pages.collection, await languagePage(pool, almanac, asked.params.slug ?? '', asked.query.page), asked),
  )
  mountPage('/year/:year', async (asked) =>
    shown(pages.collection, await yearPage(pool, almanac, asked.params.year ?? '', asked.query.page), asked),
  )

  mountPage(paths.prefer, ({ query }) => {
    const cookies = preferred(query, site)
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
    { cost: costs.read },
  )
  mountPage(
    '/favicon.svg',
    () => ({
      body: favicon,
      headers: { 'content-type': 'image/svg+xml', 'cache-control': 'public, max-age=86400' },
    }),
    { cost: costs.read },
  )
}

/**
 * A path of ours. Whatever stands in it, it leads nowhere else: dots do not climb out of where we are mounted, and two slashes are no host. It
 * is no whole address, because readers may know us by another name than we do.
 */
function backTo({ basePath }: Site, path = ''): string {
  const home = new URL(`http://ours${basePath}/`)
  const url = path.startsWith('/') ? URL.parse(home.origin + basePath + path) : null
  const isOurs = url && url.origin === home.origin && url.pathname.startsWith(home.pathname)
  return (isOurs ? url : home).href.slice(home.origin.length).replace(/^\/+/, '/')
}

/** What a reader sees instead of a page that is not there. */
export function problemPage(site: Site, { problem, message }: Problem, asked: AskedPage, requestId: string): PageAnswer {
  const view = viewOf(site, asked)
  const data = { status: problems[problem].status, problem, detail: message, requestId }
  return { body: renderPage(pages.problem, data, view), headers: { ...pageHeaders(view), 'cache-control': 'private, no-store' } }
}

function idOf({ params }: AskedPage): number {
  return idIn(params.id) ?? notFound()
}

function notFound(): never {
  throw new Problem('not-found', 'There is no such page')
}
