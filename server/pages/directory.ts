import { PageNumber, Problem, SearchText, validationErrors } from '@talkshelf/contract'
import type { AboutData, DirectoryData, EventsData } from '@talkshelf/web'
import type { StatisticsCache } from '../catalogue/catalogue.ts'
import { listEntities } from '../directory/directory.ts'
import type { Pool } from '../platform/db/pool.ts'
import { isPlaceholderName, jumpList } from './initials.ts'
import { buildPager } from './pager.ts'

const pageSize = 100

/** Loads the page of all events, by year. */
export async function eventsPage(statisticsCache: StatisticsCache): Promise<EventsData> {
  const { events } = await statisticsCache.read()
  // A series of several years is listed in its last one.
  const years = Map.groupBy(events, ({ last }) => last?.slice(0, 4) ?? null)
  return { count: events.length, years: [...years].map(([year, events]) => ({ year, events })) }
}

/** Loads a page of the list of all speakers or tags. */
export async function directoryPage(
  pool: Pool,
  statisticsCache: StatisticsCache,
  kind: 'speaker' | 'tag',
  query: Readonly<Record<string, string>>,
): Promise<DirectoryData> {
  const page = Number(query.page || 1)
  const character = (query.character ?? '').slice(0, 20)
  if (
    validationErrors(PageNumber, page).length > 0 ||
    validationErrors(SearchText, character).length > 0
  )
    throw new Problem('not-found', 'This page does not exist')
  const [list, { tags, speakers, statistics, initials }] = await Promise.all([
    listEntities(pool.lists, kind, { page, page_size: pageSize }, { from: character }),
    statisticsCache.read(),
  ])
  const isFirstPage = page === 1 && character === ''
  const mostUsed = kind === 'tag' ? tags : speakers.filter(({ name }) => !isPlaceholderName(name))
  return {
    kind,
    names: list.entries,
    common: isFirstPage ? mostUsed : [],
    count: kind === 'tag' ? statistics.tags : statistics.speakers,
    character,
    initials: jumpList(initials[kind]),
    pager: buildPager(page, list, pageSize),
  }
}

/** Loads the statistics of the archive. */
export async function aboutPage(statisticsCache: StatisticsCache): Promise<AboutData> {
  const { statistics } = await statisticsCache.read()
  const { talks, seconds, events, speakers, languages, ...plots } = statistics
  return { totals: { talks, seconds, events, speakers, languages }, ...plots }
}
