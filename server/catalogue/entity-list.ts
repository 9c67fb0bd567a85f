import type { listTagsEndpoint, QueryOf } from '@talkshelf/contract'
import type { Db } from '../platform/db/db.ts'
import { toJson } from '../platform/http/json.ts'
import type { OrderPart } from './ordering.ts'
import { buildPage, type ListPage, maxExactCount, pagePosition } from './page.ts'
import { countEntitiesUpTo, type ListedKind, selectEntities } from './queries.ts'

// Categories, speakers, tags and languages, in the order of their names, with how many live talks
// they have.

const order: OrderPart[] = [
  { field: 'title', descending: false },
  { field: 'id', descending: false },
]

/**
 * `from`: the list begins at the names that come at or behind it, without accents and case; a
 * letter leads to where it begins.
 */
export async function listEntities(
  db: Db,
  kind: ListedKind,
  asked: QueryOf<typeof listTagsEndpoint>,
  { from }: { from?: string } = {},
): Promise<ListPage> {
  const place = pagePosition(asked, 'name', order, 50)
  const [rows, counted] = await Promise.all([
    selectEntities(
      db,
      kind,
      place.way,
      { after: place.after, offset: place.offset, limit: place.size + 1 },
      from,
    ),
    countEntitiesUpTo(db, kind, maxExactCount + 1, from),
  ])
  return buildPage(
    place,
    rows,
    { count: counted, isExact: counted <= maxExactCount },
    ({ keys: _, ...entity }) => toJson(entity),
  )
}
