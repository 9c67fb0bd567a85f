import { PageNumber, Problem, SearchText, validationErrors } from '@talkshelf/contract'
import type { AboutData, DirectoryData, EventsData } from '@talkshelf/web'
import { listEntities, type StatisticsCache } from '../catalogue/catalogue.ts'
import type { Pool } from '../platform/db/pool.ts'
import { buildPager } from './pager.ts'

const pageSize = 100

export async function eventsPage(statisticsCache: StatisticsCache): Promise<EventsData> {
  const { events } = await statisticsCache.read()
  // A series that goes on stands where it was last.
  const years = Map.groupBy(events, ({ last }) => last?.slice(0, 4) ?? null)
  return { count: events.length, years: [...years].map(([year, events]) => ({ year, events })) }
}

type Listed = DirectoryData['names'][number]

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
    throw new Problem('not-found', 'There is no such page')
  const [list, { tags, speakers, statistics }] = await Promise.all([
    listEntities(pool.lists, kind, { page, page_size: pageSize }, { from: character }),
    statisticsCache.read(),
  ])
  const isBeginning = page === 1 && character === ''
  return {
    kind,
    names: list.entries.map((entry) => JSON.parse(entry) as Listed),
    common: isBeginning ? (kind === 'tag' ? tags : speakers) : [],
    count: kind === 'tag' ? statistics.tags : statistics.speakers,
    character,
    pager: buildPager(page, list, pageSize),
  }
}

export async function aboutPage(statisticsCache: StatisticsCache): Promise<AboutData> {
  const { statistics } = await statisticsCache.read()
  const { talks, seconds, events, speakers, languages, ...plots } = statistics
  return { totals: { talks, seconds, events, speakers, languages }, ...plots }
}
