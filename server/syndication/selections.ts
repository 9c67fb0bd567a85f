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
import { type EntityKind, findPublicEntity } from '../entities/entities.ts'
import { findSourceStates, noSourceStates } from '../links/links.ts'
import type { Markdown } from '../markdown/markdown.ts'
import type { Pool } from '../platform/db/pool.ts'
import { categoryEntry, type Entry, type Feed, talkEntry } from './entries.ts'
import { findLanguage, newestCategories } from './queries.ts'
import type { SiteInfo } from './site.ts'

// Builds the feeds: each selects its entries. The newest come first: those that were added last.

const maxEntries = 30

type Filter = Omit<
  QueryOf<typeof listVideosEndpoint>,
  'page' | 'page_size' | 'cursor' | 'include' | 'fields'
>
/** A feed without its entries; its id is made from `key`. */
type FeedHead = Pick<Feed, 'title' | 'about' | 'page'> & { readonly key: string }

/** Builds the feed of the newest talks. */
export function catalogueFeed(pool: Pool, markdown: Markdown, site: SiteInfo): Promise<Feed> {
  return talkFeed(
    pool,
    markdown,
    site,
    { key: '/video', title: site.name, about: 'The talks that were added last', page: paths.home },
    {},
  )
}

/** Builds the feed of the newest events, which are the categories. */
export async function eventsFeed(pool: Pool, markdown: Markdown, site: SiteInfo): Promise<Feed> {
  const categories = await newestCategories(pool.lists, maxEntries)
  return {
    id: `${site.origin()}/category/feed`,
    title: `${site.name}: events`,
    about: 'The events that were added last',
    page: paths.list('category'),
    entries: await mapSequentially(categories, (category) =>
      categoryEntry(category, markdown, site),
    ),
  }
}

/**
 * Builds the feed of an entity, or returns the path of its current page if the id or slug is
 * outdated. Throws 404 for speakers and tags without live talks, as they are not public.
 */
export async function entityFeed(
  pool: Pool,
  markdown: Markdown,
  site: SiteInfo,
  kind: EntityKind,
  id: number,
  slug: string,
): Promise<Feed | { moved: string }> {
  const entity = await findPublicEntity(pool.lists, kind, id)
  if (!entity) notFound()
  const page = paths.entity(kind, entity)
  if (entity.id !== id || entity.slug !== slug) return { moved: page }
  const about = { category: 'Talks at', speaker: 'Talks by', tag: 'Talks about' }[kind]
  const head = {
    key: `/${kind}/${entity.id}`,
    title: `${site.name}: ${entity.name}`,
    about: `${about} ${entity.name}`,
    page,
  }
  return talkFeed(pool, markdown, site, head, { [kind]: entity.slug })
}

/** Builds the feed of a language. */
export async function languageFeed(
  pool: Pool,
  markdown: Markdown,
  site: SiteInfo,
  slug: string,
): Promise<Feed> {
  const isValid = validationErrors(Slug, slug).length === 0
  const language = (isValid ? await findLanguage(pool.lists, slug) : undefined) ?? notFound()
  const { name } = language
  const page = paths.language(language.slug)
  const head = { key: page, title: `${site.name}: ${name}`, about: `Talks in ${name}`, page }
  return talkFeed(pool, markdown, site, head, { language: language.slug })
}

/** Builds the feed of a year, also of one without talks: a subscriber may wait for the first. */
export function yearFeed(
  pool: Pool,
  markdown: Markdown,
  site: SiteInfo,
  year: string,
): Promise<Feed> {
  if (!/^[1-9]\d{0,3}$/.test(year)) notFound()
  const page = paths.year(year)
  return talkFeed(
    pool,
    markdown,
    site,
    { key: page, title: `${site.name}: ${year}`, about: `Talks recorded in ${year}`, page },
    { year },
  )
}

/** Builds the feed of a search. */
export async function searchFeed(
  pool: Pool,
  markdown: Markdown,
  site: SiteInfo,
  params: Readonly<Record<string, unknown>>,
): Promise<Feed> {
  const filter: Filter = parseSearchParams(
    params,
    searchKeys.filter((key) => key !== 'page' && key !== 'ordering'),
  )
  // Words that get their first talk would replace the corrected ones, and all entries with them.
  const result = await newestTalks(pool, { ...filter, spelling: 'exact' })
  const state = Object.fromEntries(
    Object.entries({ ...filter, ...result.currentSlugs }).map(([key, value]) => [
      key,
      String(value),
    ]),
  ) as SearchState
  const page = paths.search(state)
  const terms = searchKeys.flatMap((key) =>
    state[key] && key !== 'spelling' ? [key === 'q' ? state[key] : `${key} ${state[key]}`] : [],
  )
  const title = `${site.name}: ${terms.join(', ') || 'all talks'}`
  // Feed readers keep entries: talks with only some of the words would stay when better ones come.
  const videos = result.isLoose ? [] : result.videos
  return {
    id: `${site.origin()}${page.replace('/search', '/search/feed')}`,
    title,
    about: 'Talks that a search finds',
    page,
    entries: await talkEntries(pool, videos, markdown, site),
  }
}

async function talkFeed(
  pool: Pool,
  markdown: Markdown,
  site: SiteInfo,
  { key, ...head }: FeedHead,
  filter: Filter,
): Promise<Feed> {
  const { videos } = await newestTalks(pool, filter)
  return {
    ...head,
    id: `${site.origin()}${key}/feed`,
    entries: await talkEntries(pool, videos, markdown, site),
  }
}

async function talkEntries(
  pool: Pool,
  videos: readonly Video[],
  markdown: Markdown,
  site: SiteInfo,
): Promise<Entry[]> {
  const states = await findSourceStates(
    pool.lists,
    videos.map(({ id }) => id),
  )
  return mapSequentially(videos, (video) =>
    talkEntry(video, states.get(video.id) ?? noSourceStates, markdown, site),
  )
}

/** Builds one entry at a time, so that 30 texts do not block the event loop. */
async function mapSequentially<T>(
  items: readonly T[],
  build: (item: T) => Promise<Entry>,
): Promise<Entry[]> {
  const entries: Entry[] = []
  for (const item of items) entries.push(await build(item))
  return entries
}

async function newestTalks(pool: Pool, filter: Filter) {
  const { entries, currentSlugs, extra } = await listRecords(pool, {
    ...filter,
    ordering: '-added',
    page_size: maxEntries,
  })
  return {
    videos: entries.map((body) => JSON.parse(body) as Video),
    currentSlugs,
    isLoose: extra.search?.loose ?? false,
  }
}

function notFound(): never {
  throw new Problem('not-found', 'This URL does not exist')
}
