import type { Video } from '@talkshelf/contract'
import { Unavailable } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import { findSimilar } from '../search/search.ts'
import { findListedBodies, findRelatedRecords, findRelationKeys } from './queries.ts'

// Where to go on from a talk: the same talk at other events, other talks of its speakers, of its
// event, and about the same. Each talk is in one of the lists, the first that it belongs to.

const lists = ['also', 'speakers', 'event', 'similar'] as const
type List = (typeof lists)[number]

/** JSON texts of the records. */
export type RelatedBodies = Readonly<Record<List, readonly string[]>>

const limit = 6

/** Without texts where they are not shown: 24 records can have 3 MB of them. */
export async function findRelated(
  pool: Pool,
  record: Pick<Video, 'id' | 'recorded'>,
  hasTexts = true,
): Promise<RelatedBodies> {
  const { id } = record
  const place = await findRelationKeys(pool.lookups, id)
  if (!place) return { also: [], speakers: [], event: [], similar: [] }
  // More than are shown, because each talk is shown once.
  const [beside, alike] = await Promise.all([
    findRelatedRecords(pool.searches, id, place, 2 * limit),
    unlessTooSlow(findSimilar(pool.searches, record, lists.length * limit)),
  ])
  const taken = new Set<number>()
  const of = (list: string) =>
    beside.filter((it) => it.list === list && !taken.has(it.id)).map((it) => it.id)
  const take = (found: readonly number[]) => {
    const shown = found.filter((other) => !taken.has(other)).slice(0, limit)
    for (const other of shown) taken.add(other)
    return shown
  }
  const ids: Record<List, number[]> = {
    also: take(of('also')),
    speakers: take(of('speakers')),
    event: [],
    similar: [],
  }
  ids.event = take(neighbours(of('before'), of('after')))
  ids.similar = take(alike)
  const bodies = new Map(
    (
      await findListedBodies(
        pool.lookups,
        lists.flatMap((list) => ids[list]),
        hasTexts,
      )
    ).map((row) => [row.id, row.body]),
  )
  const shown = (list: List) => ids[list].flatMap((other) => bodies.get(other) ?? [])
  return {
    also: shown('also'),
    speakers: shown('speakers'),
    event: shown('event'),
    similar: shown('similar'),
  }
}

/**
 * In the order of the event, as many from before as from behind where there are enough on both
 * sides. Both come the nearest first.
 */
function neighbours(before: readonly number[], after: readonly number[]): number[] {
  const half = limit / 2
  const fromBefore = Math.max(half, limit - after.length)
  const shown = before.slice(0, fromBefore)
  return [...shown.reverse(), ...after.slice(0, limit - shown.length)]
}

/** Words that are too common cost the list of what is like the talk, and not all the others. */
async function unlessTooSlow(work: Promise<number[]>): Promise<number[]> {
  try {
    return await work
  } catch (error) {
    if (error instanceof Unavailable && error.isTooSlow) return []
    throw error
  }
}
