import { Asked, check, PageNumber, Problem } from '@talkshelf/contract'
import type { AboutData, EventsData, NamesData } from '@talkshelf/web'
import { type KeptAlmanac, listThingsOf } from '../catalogue/catalogue.ts'
import type { Pool } from '../platform/db/pool.ts'
import { pagerOf } from './pager.ts'

const pageSize = 100

export async function eventsPage(almanac: KeptAlmanac): Promise<EventsData> {
  const { events } = await almanac.read()
  // A series that goes on stands where it was last.
  const years = Map.groupBy(events, ({ last }) => last?.slice(0, 4) ?? null)
  return { count: events.length, years: [...years].map(([year, events]) => ({ year, events })) }
}

type Listed = NamesData['names'][number]

export async function namesPage(
  pool: Pool,
  almanac: KeptAlmanac,
  kind: 'speaker' | 'tag',
  query: Readonly<Record<string, string>>,
): Promise<NamesData> {
  const page = Number(query.page || 1)
  const character = (query.character ?? '').slice(0, 20)
  if (check(PageNumber, page).length > 0 || check(Asked, character).length > 0) throw new Problem('not-found', 'There is no such page')
  const [list, { tags, speakers, statistics }] = await Promise.all([
    listThingsOf(pool.lists, kind, { page, page_size: pageSize }, { from: character }),
    almanac.read(),
  ])
  const isBeginning = page === 1 && character === ''
  return {
    kind,
    names: list.entries.map((entry) => JSON.parse(entry) as Listed),
    common: isBeginning ? (kind === 'tag' ? tags : speakers) : [],
    count: kind === 'tag' ? statistics.tags : statistics.speakers,
    character,
    pager: pagerOf(page, list, pageSize),
  }
}

export async function aboutPage(almanac: KeptAlmanac): Promise<AboutData> {
  const { statistics } = await almanac.read()
  const { talks, seconds, events, speakers, languages, ...plots } = statistics
  return { totals: { talks, seconds, events, speakers, languages }, ...plots }
}
