import type { listTagsEndpoint, QueryOf } from '@talkshelf/contract'
import type { Db } from '../platform/db/db.ts'
import {
  buildPage,
  type ListPage,
  maxExactCount,
  pagePosition,
} from '../platform/http/pagination.ts'
import { countEntitiesUpTo, type ListedEntity, type ListedKind, selectEntities } from './queries.ts'

// Categories, speakers, tags and languages, sorted by name, each with its number of live talks.

const order = [{ field: 'title' }, { field: 'id' }] as const

/**
 * Lists a page of the entities of a kind. With `from` the list starts at the first name that sorts
 * at or after it, without accents and case: a single letter jumps to its section.
 */
export async function listEntities<K extends ListedKind>(
  db: Db,
  kind: K,
  query: QueryOf<typeof listTagsEndpoint>,
  { from }: { from?: string } = {},
): Promise<ListPage<Omit<ListedEntity<K>, 'keys'>>> {
  const position = pagePosition(query, 'name', order, 50)
  const { way, after, offset, size } = position
  const [rows, count] = await Promise.all([
    selectEntities(db, kind, way, { after, offset, limit: size + 1 }, from),
    countEntitiesUpTo(db, kind, maxExactCount + 1, from),
  ])
  return buildPage(
    position,
    rows,
    { count, isExact: count <= maxExactCount },
    ({ keys: _, ...entity }) => entity,
  )
}
