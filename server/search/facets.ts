import { durationRanges } from '@talkshelf/contract'
import type { Db } from '../platform/db/db.ts'
import { countFacets, type SearchFilter } from './queries.ts'

// What the results have in common: how many talks by category, language, year, speaker, tag and
// length. Counted over the newest that match, up to as many as any list counts.

interface FacetValue {
  readonly value: string
  readonly name: string
  readonly talks: number
}

export type FacetCounts = Readonly<
  Record<'category' | 'language' | 'year' | 'speaker' | 'tag' | 'duration', readonly FacetValue[]>
>

const each = 20

export async function readFacets(
  db: Db,
  match: string | undefined,
  filter: SearchFilter,
  limit: number,
): Promise<{ facets: FacetCounts; seen: number }> {
  const rows = await countFacets(db, match, filter, limit, each)
  const of = (kind: string) =>
    rows
      .filter((row) => row.kind === kind)
      .map(({ value, name, talks }) =>
        kind === 'duration' ? { ...lengthOf(value), talks } : { value, name, talks },
      )
  const facets: FacetCounts = {
    category: of('category'),
    language: of('language'),
    year: of('year'),
    speaker: of('speaker'),
    tag: of('tag'),
    duration: of('duration'),
  }
  return { facets, seen: rows[0]?.seen ?? 0 }
}

function lengthOf(number: string): { value: string; name: string } {
  const [value, name] = Object.entries(durationRanges)[Number(number)] as [string, string]
  return { value, name }
}
