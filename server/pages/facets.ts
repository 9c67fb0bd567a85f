import type { CountedValue, FacetKind } from '@talkshelf/web'
import type { StatisticsCache } from '../catalogue/catalogue.ts'
import type { FacetCounts } from '../search/search.ts'

/** With the codes of languages, by which pages call them in the language of the reader. */
export async function codedFacets(
  facets: FacetCounts,
  statisticsCache: StatisticsCache,
): Promise<Record<FacetKind, readonly CountedValue[]>> {
  const { statistics } = await statisticsCache.read()
  const codes = new Map(statistics.byLanguage.map((it) => [it.slug, it.code]))
  const coded = (it: CountedValue): CountedValue => ({
    ...it,
    ...(codes.has(it.value) && { code: codes.get(it.value) as string }),
  })
  return { ...facets, language: facets.language.map(coded) }
}
