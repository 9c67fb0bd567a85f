import { type SearchData, type SearchState, searchKeys } from '@talkshelf/web'
import { listRecords, parseSearchParams, type StatisticsCache } from '../catalogue/catalogue.ts'
import type { Pool } from '../platform/db/pool.ts'
import { buildCards, parseRecords } from './cards.ts'
import { codedFacets } from './facets.ts'
import { buildPager } from './pager.ts'

const pageSize = 20

/**
 * What a search asks for, of all that an address has. Links from elsewhere bring parameters of
 * their own.
 */
export function searchState(query: Readonly<Record<string, string>>): SearchState {
  return Object.fromEntries(
    searchKeys.flatMap((key) => (query[key]?.trim() ? [[key, query[key].trim()]] : [])),
  )
}

export async function searchPage(
  pool: Pool,
  statisticsCache: StatisticsCache,
  state: SearchState,
): Promise<SearchData> {
  const asked = parseSearchParams(state, searchKeys)
  const page = await listRecords(pool, {
    ...asked,
    page: asked.page ?? 1,
    page_size: pageSize,
    include: 'facets,snippets',
  })
  const { search, snippets, facets } = page.extra
  const records = parseRecords(page.entries)
  const cards = await buildCards(pool.lookups, records)
  const found = records.flatMap((record, at) => {
    const card = cards.get(record.id)
    const snippet = snippets?.[at]
    return card
      ? [{ ...card, ...(snippet && { titlePieces: snippet.title, excerpt: snippet.excerpt }) }]
      : []
  })
  return {
    state: { ...state, ...page.today },
    cards: found,
    count: page.count,
    isExact: page.isExact,
    pager: buildPager(asked.page ?? 1, page, pageSize),
    corrected: search?.corrected ?? [],
    isLoose: search?.loose ?? false,
    facets: facets && (await codedFacets(facets, statisticsCache)),
  }
}
