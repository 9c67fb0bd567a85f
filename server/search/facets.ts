import { durationRanges } from '@talkshelf/contract'
import type { Db } from '../platform/db/db.ts'
import { countFacets, countYears, type SearchFilter } from './queries.ts'

// Facets of search results: the number of talks by category, language, year, speaker, tag and
// duration.

interface FacetValue {
  readonly value: string
  readonly name: string
  readonly talks: number
}

export type FacetCounts = Readonly<
  Record<'category' | 'language' | 'year' | 'speaker' | 'tag' | 'duration', readonly FacetValue[]>
>

const maxValuesPerFacet = 20

/** Counts the facets over the newest matches, up to a limit; `scanned` is their number. */
export async function readFacets(
  db: Db,
  match: string | undefined,
  filter: SearchFilter,
  limit: number,
): Promise<{ facets: FacetCounts; scanned: number }> {
  const rows = await countFacets(db, match, filter, limit, maxValuesPerFacet)
  const valuesOf = (kind: string) =>
    rows
      .filter((row) => row.kind === kind)
      .map(({ value, name, talks }) =>
        kind === 'duration' ? { ...durationRange(value), talks } : { value, name, talks },
      )
  const facets: FacetCounts = {
    category: valuesOf('category'),
    language: valuesOf('language'),
    year: valuesOf('year'),
    speaker: valuesOf('speaker'),
    tag: valuesOf('tag'),
    duration: valuesOf('duration'),
  }
  return { facets, scanned: rows[0]?.scanned ?? 0 }
}

/** Counts the years of the newest matches, up to a limit; `scanned` is their number. */
export async function readYearFacet(
  db: Db,
  match: string | undefined,
  filter: SearchFilter,
  limit: number,
): Promise<{ years: readonly FacetValue[]; scanned: number }> {
  const rows = await countYears(db, match, filter, limit, maxValuesPerFacet)
  const years = rows.map(({ year, talks }) => ({ value: year, name: year, talks }))
  return { years, scanned: rows[0]?.scanned ?? 0 }
}

function durationRange(index: string): { value: string; name: string } {
  const [value, name] = Object.entries(durationRanges)[Number(index)] as [string, string]
  return { value, name }
}
