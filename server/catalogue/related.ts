import type { Video } from '@talkshelf/contract'
import type { Pool } from '../platform/db/pool.ts'
import { findSimilar } from '../search/search.ts'
import { findListedBodies, findRelatedRecords, findRelationKeys } from './queries.ts'

// Talks related to one: the same talk at other events, other talks of its speakers, of its event,
// and on the same subject. Each talk is in the first of these lists that it belongs to.

const lists = ['also', 'speakers', 'event', 'similar'] as const
type List = (typeof lists)[number]

/** The records as JSON texts, at most six in each list. */
export type RelatedBodies = Readonly<Record<List, readonly string[]>>

const maxPerList = 6

/**
 * Finds the live records related to one, which need not be live. All lists are empty if it does not
 * exist. `hasTexts` can be false where the long texts are not shown: 24 records can have 3 MB of
 * them. Then the text fields of large records are empty.
 */
export async function findRelated(
  pool: Pool,
  record: Pick<Video, 'id' | 'recorded'>,
  hasTexts = true,
): Promise<RelatedBodies> {
  const keys = await findRelationKeys(pool.lookups, record.id)
  if (!keys) return { also: [], speakers: [], event: [], similar: [] }
  // More than are visible, because those that are in an earlier list are dropped.
  const [related, similar] = await Promise.all([
    findRelatedRecords(pool.searches, record.id, keys, 2 * maxPerList),
    findSimilar(pool, record),
  ])
  const ids = uniqueIds(related, similar)
  const bodies = await findListedBodies(
    pool.lookups,
    lists.flatMap((list) => ids[list]),
    hasTexts,
  )
  const bodyById = new Map(bodies.map((row) => [row.id, row.body]))
  const bodiesOf = (list: List) => ids[list].flatMap((id) => bodyById.get(id) ?? [])
  return {
    also: bodiesOf('also'),
    speakers: bodiesOf('speakers'),
    event: bodiesOf('event'),
    similar: bodiesOf('similar'),
  }
}

/** Puts each record into the first list that it belongs to. */
function uniqueIds(
  related: readonly { readonly list: string; readonly id: number }[],
  similar: readonly number[],
): Record<List, number[]> {
  const taken = new Set<number>()
  const free = (list: string) =>
    related.filter((row) => row.list === list && !taken.has(row.id)).map((row) => row.id)
  const take = (candidates: readonly number[]) => {
    const ids = candidates.filter((id) => !taken.has(id)).slice(0, maxPerList)
    for (const id of ids) taken.add(id)
    return ids
  }
  const also = take(free('also'))
  const speakers = take(free('speakers'))
  const event = take(neighbours(free('before'), free('after')))
  return { also, speakers, event, similar: take(similar) }
}

/**
 * Returns the nearest talks in the order of the event, as many from before as from after where
 * there are enough on both sides. Both inputs have the nearest first.
 */
function neighbours(before: readonly number[], after: readonly number[]): number[] {
  const half = maxPerList / 2
  const maxBefore = Math.max(half, maxPerList - after.length)
  const preceding = before.slice(0, maxBefore)
  return [...preceding.reverse(), ...after.slice(0, maxPerList - preceding.length)]
}
