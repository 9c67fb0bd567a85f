import { check, type listVideos, Problem, type QueryOf, Slug, type Video } from '@talkshelf/contract'
import { paths, type SearchState, searchKeys } from '@talkshelf/web'
import { listRecords, readSearch } from '../catalogue/catalogue.ts'
import type { Pool } from '../platform/db/pool.ts'
import { findThingById } from '../vocabulary/vocabulary.ts'
import { categoryEntry, type Feed, talkEntry } from './entries.ts'
import { findLanguage, type Kind, newestCategories } from './queries.ts'
import type { Site } from './site.ts'

// Which talks are in a feed, and what it is called.

const most = 30

type Filter = Omit<QueryOf<typeof listVideos>, 'page' | 'page_size' | 'cursor' | 'include'>
type Head = Pick<Feed, 'title' | 'about' | 'page'> & { readonly key: string }

export function catalogueFeed(pool: Pool, site: Site): Promise<Feed> {
  return feedOf(pool, site, { key: '/video', title: site.name, about: 'The talks that were added last', page: paths.home }, {})
}

export async function eventsFeed(pool: Pool, site: Site): Promise<Feed> {
  const categories = await newestCategories(pool.lists, most)
  return {
    id: `${site.origin()}/category/feed`,
    title: `${site.name}: events`,
    about: 'The events that were added last',
    page: paths.list('category'),
    entries: categories.map((it) => categoryEntry(it, site)),
  }
}

/** The feed, or the path of the page that has it today. A speaker or tag is there when live talks have it. */
export async function thingFeed(pool: Pool, site: Site, kind: Kind, id: number, slug: string): Promise<Feed | { moved: string }> {
  const it = await findThingById(pool.lists, kind, id)
  if (!it) notFound()
  const page = paths.thing(kind, it)
  if (it.id !== id || it.slug !== slug) return { moved: page }
  const about = { category: 'Talks at', speaker: 'Talks by', tag: 'Talks about' }[kind]
  const head = { key: `/${kind}/${it.id}`, title: `${site.name}: ${it.name}`, about: `${about} ${it.name}`, page }
  return feedOf(pool, site, head, { [kind]: it.slug })
}

export async function languageFeed(pool: Pool, site: Site, slug: string): Promise<Feed> {
  const it = (check(Slug, slug).length === 0 ? await findLanguage(pool.lists, slug) : undefined) ?? notFound()
  const page = paths.language(it.slug)
  const head = { key: page, title: `${site.name}: ${it.name}`, about: `Talks in ${it.name}`, page }
  return feedOf(pool, site, head, { language: it.slug })
}

/** A year that nothing is known of yet has a feed as well: somebody may wait for its first talk. */
export function yearFeed(pool: Pool, site: Site, year: string): Promise<Feed> {
  if (!/^[1-9]\d{0,3}$/.test(year)) notFound()
  const page = paths.year(year)
  return feedOf(pool, site, { key: page, title: `${site.name}: ${year}`, about: `Talks recorded in ${year}`, page }, { year: Number(year) })
}

export async function searchFeed(pool: Pool, site: Site, given: Readonly<Record<string, unknown>>): Promise<Feed> {
  const asked: Filter = readSearch(
    given,
    searchKeys.filter((key) => key !== 'page' && key !== 'ordering'),
  )
  const found = await talksOf(pool, asked)
  const state = Object.fromEntries(Object.entries({ ...asked, ...found.today }).map(([key, value]) => [key, String(value)])) as SearchState
  const page = paths.search(state)
  const said = searchKeys.flatMap((key) => (state[key] ? [key === 'q' ? state[key] : `${key} ${state[key]}`] : []))
  const title = `${site.name}: ${said.join(', ') || 'all talks'}`
  // What has only some of the words would stay with subscribers when talks with all of them come.
  const videos = found.isLoose ? [] : found.videos
  return {
    id: `${site.origin()}${page.replace('/search', '/search/feed')}`,
    title,
    about: 'Talks that a search finds',
    page,
    entries: videos.map((it) => talkEntry(it, site)),
  }
}

async function feedOf(pool: Pool, site: Site, { key, ...head }: Head, filter: Filter): Promise<Feed> {
  const { videos } = await talksOf(pool, filter)
  return { ...head, id: `${site.origin()}${key}/feed`, entries: videos.map((it) => talkEntry(it, site)) }
}

async function talksOf(pool: Pool, filter: Filter) {
  const { entries, today, extra } = await listRecords(pool, { ...filter, ordering: '-added', page_size: most })
  return { videos: entries.map((body) => JSON.parse(body) as Video), today, isLoose: extra.search?.loose ?? false }
}

function notFound(): never {
  throw new Problem('not-found', 'There is no such address')
}
