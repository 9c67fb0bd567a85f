import { Problem } from '@talkshelf/contract'
import { type EntityPageKind, type FollowData, paths, type SearchState } from '@talkshelf/web'
import { parseSearchParams, type StatisticsCache } from '../catalogue/catalogue.ts'
import { findPublicEntity } from '../entities/entities.ts'
import type { Pool } from '../platform/db/pool.ts'
import { parseId } from '../platform/http/pages.ts'

// The pages that offer the feeds of other pages.

/** Loads the page for the feeds of an entity, or returns the path of its current page. */
export async function followEntity(
  pool: Pool,
  kind: EntityPageKind,
  params: Readonly<Record<string, string>>,
): Promise<FollowData | { moved: string }> {
  const id = parseId(params.id)
  const entity = id === undefined ? undefined : await findPublicEntity(pool.lookups, kind, id)
  if (!entity) notFound()
  const page = paths.entity(kind, entity)
  return entity.id === id && entity.slug === params.slug
    ? { kind, name: entity.name, page }
    : { moved: page }
}

/** Loads the page for the feeds of a language. */
export async function followLanguage(
  statisticsCache: StatisticsCache,
  slug: string,
): Promise<FollowData> {
  const { statistics } = await statisticsCache.read()
  const language = statistics.byLanguage.find((language) => language.slug === slug) ?? notFound()
  const { name, code } = language
  return { kind: 'language', name, code, page: paths.language(slug) }
}

/** Loads the page for the feeds of a year. */
export function followYear(year: string): FollowData {
  if (!/^[1-9]\d{0,3}$/.test(year)) notFound()
  return { kind: 'year', name: year, page: paths.year(year) }
}

/** Loads the page for the feeds of a search. Throws 400 for invalid parameters. */
export function followSearch({ page: _, ordering: __, ...state }: SearchState): FollowData {
  parseSearchParams(state, Object.keys(state) as (keyof typeof state)[])
  const terms = Object.values(state).join(', ')
  return { kind: 'search', name: terms, page: paths.search(state) }
}

function notFound(): never {
  throw new Problem('not-found', 'This page does not exist')
}
