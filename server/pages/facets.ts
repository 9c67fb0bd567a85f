import type { CountedValue, FacetKind } from '@talkshelf/web'
import type { StatisticsCache } from '../catalogue/catalogue.ts'
import type { FacetCounts } from '../search/search.ts'

/** Adds language codes to facets, so that pages can show language names in any locale. */
export async function addLanguageCodes(
  facets: FacetCounts,
  statisticsCache: StatisticsCache,
): Promise<Record<FacetKind, readonly CountedValue[]>> {
  const { statistics } = await statisticsCache.read()
  const codes = new Map(statistics.byLanguage.map(({ slug, code }) => [slug, code]))
  const withCode = (language: CountedValue): CountedValue => ({
    ...language,
    ...(codes.has(language.value) && { code: codes.get(language.value) as string }),
  })
  return { ...facets, language: facets.language.map(withCode) }
}
