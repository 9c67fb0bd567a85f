import {
  type listVideosEndpoint,
  Problem,
  type QueryOf,
  Slug,
  type Video,
  validationErrors,
} from '@talkshelf/contract'
import { paths, type SearchState, searchKeys } from '@talkshelf/web'
import { listRecords, parseSearchParams } from '../catalogue/catalogue.ts'
import { findPublicEntity } from '../entities/entities.ts'
import type { Markdown } from '../markdown/markdown.ts'
import type { Pool } from '../platform/db/pool.ts'
import { categoryEntry, type Entry, type Feed, talkEntry } from './entries.ts'
import { findLanguage, newestCategories, type SitemapKind } from './queries.ts'
import type { SiteInfo } from './site.ts'

// Which talks are in a feed, and what it is called.

const limit = 30

type Filter = Omit<QueryOf<typeof listVideosEndpoint>, 'page' | 'page_size' | 'cursor' | 'include'>
type Head = Pick<Feed, 'title' | 'about' | 'page'> & { readonly key: string }

export function catalogueFeed(pool: Pool, markdown: Markdown, site: SiteInfo): Promise<Feed> {
  return feedOf(
    pool,
    markdown,
    site,
    { key: '/video', title: site.name, about: 'The talks that were added last', page: paths.home },
    {},
  )
}

export async function eventsFeed(pool: Pool, markdown: Markdown, site: SiteInfo): Promise<Feed> {
  const categories = await newestCategories(pool.lists, limit)
  return {
    id: `${site.origin()}/category/feed`,
    title: `${site.name}: events`,
    about: 'The events that were added last',
    page: paths.list('category'),
    entries: await inOrder(categories, (it) => categoryEntry(it, markdown, site)),
  }
}

/**
 * The feed, or the path of the page that has it today. A speaker or tag is there when live talks
 * have it.
 */
export async function entityFeed(
  pool: Pool,
  markdown: Markdown,
  site: SiteInfo,
  kind: SitemapKind,
  id: number,
  slug: string,
): Promise<Feed | { moved: string }> {
  const it = await findPublicEntity(pool.lists, kind, id)
  if (!it) notFound()
  const page = paths.entity(kind, it)
  if (it.id !== id || it.slug !== slug) return { moved: page }
  const about = { category: 'Talks at', speaker: 'Talks by', tag: 'Talks about' }[kind]
  const head = {
    key: `/${kind}/${it.id}`,
    title: `${site.name}: ${it.name}`,
    about: `${about} ${it.name}`,
    page,
  }
  return feedOf(pool, markdown, site, head, { [kind]: it.slug })
}

export async function languageFeed(
  pool: Pool,
  markdown: Markdown,
  site: SiteInfo,
  slug: string,
): Promise<Feed> {
  const it =
    (validationErrors(Slug, slug).length === 0
      ? await findLanguage(pool.lists, slug)
      : undefined) ?? notFound()
  const page = paths.language(it.slug)
  const head = { key: page, title: `${site.name}: ${it.name}`, about: `Talks in ${it.name}`, page }
  return feedOf(pool, markdown, site, head, { language: it.slug })
}

/** A year that nothing is known of yet has a feed as well: somebody may wait for its first talk. */
export function yearFeed(
  pool: Pool,
  markdown: Markdown,
  site: SiteInfo,
  year: string,
): Promise<Feed> {
  if (!/^[1-9]\d{0,3}$/.test(year)) notFound()
  const page = paths.year(year)
  return feedOf(
    pool,
    markdown,
    site,
    { key: page, title: `${site.name}: ${year}`, about: `Talks recorded in ${year}`, page },
    { year: Number(year) },
  )
}

export async function searchFeed(
  pool: Pool,
  markdown: Markdown,
  site: SiteInfo,
  given: Readonly<Record<string, unknown>>,
): Promise<Feed> {
  const asked: Filter = parseSearchParams(
    given,
    searchKeys.filter((key) => key !== 'page' && key !== 'ordering'),
  )
  const found = await talksOf(pool, asked)
  const state = Object.fromEntries(
    Object.entries({ ...asked, ...found.today }).map(([key, value]) => [key, String(value)]),
  ) as SearchState
  const page = paths.search(state)
  const said = searchKeys.flatMap((key) =>
    state[key] ? [key === 'q' ? state[key] : `${key} ${state[key]}`] : [],
  )
  const title = `${site.name}: ${said.join(', ') || 'all talks'}`
  // What has only some of the words would stay with subscribers when talks with all of them come.
  const videos = found.isLoose ? [] : found.videos
  return {
    id: `${site.origin()}${page.replace('/search', '/search/feed')}`,
    title,
    about: 'Talks that a search finds',
    page,
    entries: await inOrder(videos, (it) => talkEntry(it, markdown, site)),
  }
}

async function feedOf(
  pool: Pool,
  markdown: Markdown,
  site: SiteInfo,
  { key, ...head }: Head,
  filter: Filter,
): Promise<Feed> {
  const { videos } = await talksOf(pool, filter)
  return {
    ...head,
    id: `${site.origin()}${key}/feed`,
    entries: await inOrder(videos, (it) => talkEntry(it, markdown, site)),
  }
}

/** One after the other: 30 texts are never rendered in one turn of the event loop. */
async function inOrder<T>(all: readonly T[], make: (one: T) => Promise<Entry>): Promise<Entry[]> {
  const entries: Entry[] = []
  for (const one of all) entries.push(await make(one))
  return entries
}

async function talksOf(pool: Pool, filter: Filter) {
  const { entries, today, extra } = await listRecords(pool, {
    ...filter,
    ordering: '-added',
    page_size: limit,
  })
  return {
    videos: entries.map((body) => JSON.parse(body) as Video),
    today,
    isLoose: extra.search?.loose ?? false,
  }
}

function notFound(): never {
  throw new Problem('not-found', 'There is no such address')
}
