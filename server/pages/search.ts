import { type SearchData, type SearchState, searchKeys } from '@talkshelf/web'
import { listRecords, parseSearchParams, type StatisticsCache } from '../catalogue/catalogue.ts'
import { Unavailable } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import { correctText, findNamed, hasOnlyExclusions, maxRanked } from '../search/search.ts'
import { buildCards, parseRecords } from './cards.ts'
import { addLanguageCodes } from './facets.ts'
import { buildPager, openEndedPager } from './pager.ts'

const pageSize = 20

/** Picks the search parameters of a URL. Ignores others, which links from other sites can have. */
export function searchState(query: Readonly<Record<string, string>>): SearchState {
  return Object.fromEntries(
    searchKeys.flatMap((key) => (query[key]?.trim() ? [[key, query[key].trim()]] : [])),
  )
}

/** Loads the search page. */
export async function searchPage(
  pool: Pool,
  statisticsCache: StatisticsCache,
  state: SearchState,
): Promise<SearchData> {
  const searchParams = parseSearchParams(state, searchKeys)
  const number = searchParams.page ?? 1
  const page = await listRecords(pool, {
    ...searchParams,
    page: number,
    page_size: pageSize,
    include: 'facets,snippets',
  })
  // Of more matches only the newest are ranked, and how many is not known on the first pages.
  const isPartlyRanked = Boolean(state.q?.trim()) && !state.ordering && page.count > maxRanked
  const { search, snippets, facets } = page.extra
  const correctedQuery =
    search && search.corrected.length > 0
      ? await correctText(pool.lists, state.q ?? '', search.corrected)
      : undefined
  const records = parseRecords(page.entries)
  const cards = await buildCards(pool.lookups, records)
  const foundCards = records.flatMap((record, index) => {
    const card = cards.get(record.id)
    const snippet = snippets?.[index]
    return card
      ? [{ ...card, ...(snippet && { titlePieces: snippet.title, excerpt: snippet.excerpt }) }]
      : []
  })
  return {
    state: { ...state, ...page.currentSlugs },
    named: await namedEntities(pool, { ...state, ...(correctedQuery && { q: correctedQuery }) }),
    cards: foundCards,
    count: page.count,
    isExact: page.isExact,
    pager: isPartlyRanked ? openEndedPager(number, page) : buildPager(number, page, pageSize),
    correctedQuery,
    allWords: search?.all_words ?? page.count,
    hasOnlyExclusions: hasOnlyExclusions(state.q ?? ''),
    facets: facets && (await addLanguageCodes(facets, statisticsCache)),
    estimatedFacets: facets?.estimated ?? [],
    filters: {
      ...(await languageFilter(statisticsCache, state.language)),
      ...Object.fromEntries(
        Object.entries(page.filterNames).map(([kind, name]) => [
          kind,
          { value: page.currentSlugs?.[kind] ?? '', name },
        ]),
      ),
    },
  }
}

/** Finds the speakers, events and tags that the query names, for the first page without filters. */
async function namedEntities({ lists }: Pool, state: SearchState): Promise<SearchData['named']> {
  const { q, spelling: _, ordering: __, ...others } = state
  if (!q || Object.keys(others).length > 0) return []
  try {
    return await findNamed(lists, q)
  } catch (error) {
    // The results are there already, and worth more.
    if (error instanceof Unavailable) return []
    throw error
  }
}

/** Finds the name and code of a language that is a filter. */
async function languageFilter(
  statisticsCache: StatisticsCache,
  value: string | undefined,
): Promise<SearchData['filters']> {
  if (value === undefined) return {}
  const { statistics } = await statisticsCache.read()
  const language = statistics.byLanguage.find(({ slug }) => slug === value)
  return language ? { language: { value, name: language.name, code: language.code } } : {}
}
