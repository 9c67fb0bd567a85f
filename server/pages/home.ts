import type { HomeData } from '@talkshelf/web'
import { listRecords, type StatisticsCache } from '../catalogue/catalogue.ts'
import type { Pool } from '../platform/db/pool.ts'
import { buildCards, parseRecords } from './cards.ts'

const shelves = 4
const onShelf = 6
const newest = 8
const chips = 24

export async function homePage(pool: Pool, statisticsCache: StatisticsCache): Promise<HomeData> {
  const { statistics, events, tags } = await statisticsCache.read()
  // What is to come has no recordings yet that anybody could watch.
  const today = new Date().toISOString().slice(0, 10)
  const latest = events
    .filter(({ last, talks }) => last !== null && last <= today && talks > 2)
    .slice(0, shelves)
  const lists = await Promise.all([
    listRecords(pool, { ordering: '-added', page_size: newest }),
    ...latest.map(({ slug }) => listRecords(pool, { category: slug, page_size: onShelf })),
  ])
  const records = lists.map(({ entries }) => parseRecords(entries))
  const cards = await buildCards(pool.lookups, records.flat())
  const [added = [], ...shelved] = records.map((list) =>
    list.flatMap(({ id }) => cards.get(id) ?? []),
  )
  const { talks, seconds, speakers, languages } = statistics
  return {
    totals: { talks, seconds, speakers, languages, events: statistics.events },
    newest: added,
    events: latest.map((event, at) => ({ ...event, cards: shelved[at] ?? [] })),
    years: statistics.byYear
      .toSorted((a, b) => b.year - a.year)
      .slice(0, 20)
      .map(({ year, talks }) => ({ value: String(year), name: String(year), talks })),
    languages: statistics.byLanguage.slice(0, chips),
    tags: tags.slice(0, chips),
  }
}
