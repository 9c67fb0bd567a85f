import type { HomeData } from '@talkshelf/web'
import { findListedBodies, listRecords, type StatisticsCache } from '../catalogue/catalogue.ts'
import type { Pool } from '../platform/db/pool.ts'
import { buildCards, parseRecords } from './cards.ts'

const eventCount = 4
/** Events with fewer talks are left out. */
const minTalks = 3
const talksPerEvent = 6
const yearCount = 20
const chipCount = 24

/**
 * Loads the data of the home page: totals, the talks that were added last, the latest events with
 * some of their talks, and the years, languages and tags to browse by.
 */
export async function homePage(pool: Pool, statisticsCache: StatisticsCache): Promise<HomeData> {
  const { statistics, events, tags, additions } = await statisticsCache.read()
  // The newest come first. Future events have no recordings yet.
  const today = new Date().toISOString().slice(0, 10)
  const latest = events
    .filter(({ last, talks }) => last !== null && last <= today && talks >= minTalks)
    .slice(0, eventCount)
  const addedIds = additions.flatMap(({ ids }) => ids)
  const [addedBodies, ...lists] = await Promise.all([
    findListedBodies(pool.lists, addedIds, false),
    ...latest.map(({ slug }) => listRecords(pool, { category: slug, page_size: talksPerEvent })),
  ])
  const records = lists.map(({ entries }) => parseRecords(entries))
  const addedRecords = parseRecords(addedBodies.map(({ body }) => body))
  const cards = await buildCards(pool.lookups, [...addedRecords, ...records.flat()])
  const cardsOf = (ids: readonly number[]) => ids.flatMap((id) => cards.get(id) ?? [])
  const { talks, seconds, speakers, languages } = statistics
  return {
    totals: { talks, seconds, speakers, languages, events: statistics.events },
    additions: additions
      .map(({ ids, ...addition }) => ({ ...addition, cards: cardsOf(ids) }))
      .filter(({ cards }) => cards.length > 0),
    events: latest.map((event, index) => ({
      ...event,
      cards: cardsOf((records[index] ?? []).map(({ id }) => id)),
    })),
    years: statistics.byYear
      .toSorted((a, b) => b.year - a.year)
      .slice(0, yearCount)
      .map(({ year, talks }) => ({ value: String(year), name: String(year), talks })),
    languages: statistics.byLanguage.slice(0, chipCount),
    tags: tags.slice(0, chipCount),
  }
}
