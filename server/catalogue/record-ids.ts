import { type EditFilter, states } from '@talkshelf/contract'
import type { Pool } from '../platform/db/pool.ts'
import { findNewestMatches, search, withSearchDeadline } from '../search/search.ts'
import { resolveFilter } from './list.ts'
import { type Filter, findDraftIds, findLiveIds } from './queries.ts'

/**
 * Finds the ids of all records that match a search, drafts included, in ascending order and at most
 * `limit`. Live records match as in the list of records, but with all words: a search whose words
 * would be corrected or left out finds none. Drafts match by the text of their title.
 */
export async function findRecordIds(
  pool: Pool,
  { ids: _, state, ...query }: EditFilter,
  limit: number,
): Promise<number[]> {
  const { filter } = await resolveFilter(pool.lists, query, { hasDrafts: true })
  if (!filter) return []
  const q = query.q?.trim() ?? ''
  const live = state === states.draft ? [] : await findLive(pool, filter, q, limit)
  const drafts = state === states.live ? [] : await findDraftIds(pool.lists, filter, q, limit)
  return [...live, ...drafts].sort((a, b) => a - b).slice(0, limit)
}

function findLive(pool: Pool, filter: Filter, q: string, limit: number): Promise<number[]> {
  if (q === '') return findLiveIds(pool.lists, filter, limit)
  return withSearchDeadline(pool.searches, () => findMatches(pool, filter, q, limit))
}

async function findMatches(
  { searches }: Pool,
  filter: Filter,
  q: string,
  limit: number,
): Promise<number[]> {
  const options = { spelling: 'exact', partial: 'if none' } as const
  const { tsquery, allWords } = await search(searches, q, filter, 1, options)
  return allWords > 0 ? findNewestMatches(searches, tsquery, filter, limit) : []
}
