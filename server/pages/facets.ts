import type { Counted, FacetKind } from '@talkshelf/web'
import type { KeptAlmanac } from '../catalogue/catalogue.ts'
import type { Facets } from '../search/search.ts'

/** With the codes of languages, by which pages call them in the language of the reader. */
export async function codedFacets(facets: Facets, almanac: KeptAlmanac): Promise<Record<FacetKind, readonly Counted[]>> {
  const { statistics } = await almanac.read()
  const codes = new Map(statistics.byLanguage.map((it) => [it.slug, it.code]))
  const coded = (it: Counted): Counted => ({ ...it, ...(codes.has(it.value) && { code: codes.get(it.value) as string }) })
  return { ...facets, language: facets.language.map(coded) }
}
