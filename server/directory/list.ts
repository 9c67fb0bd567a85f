import type { listTagsEndpoint, QueryOf } from '@talkshelf/contract'
import { fullProfile } from '../entities/entities.ts'
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
): Promise<ListPage<Listed<K>>> {
  const position = pagePosition(query, 'name', order, 50)
  const { way, after, offset, size } = position
  const [rows, count] = await Promise.all([
    selectEntities(db, kind, way, { after, offset, limit: size + 1 }, from),
    countEntitiesUpTo(db, kind, maxExactCount + 1, from),
  ])
  return buildPage(position, rows, { count, isExact: count <= maxExactCount }, listed)
}

type Listed<K extends ListedKind> = Omit<ListedEntity<K>, 'keys' | 'profile'>

/** Returns an entity as it is listed: without its sort keys, and with its profile as fields. */
function listed<K extends ListedKind>({ keys: _, ...entity }: ListedEntity<K>): Listed<K> {
  const { profile, ...others } = entity as Partial<ListedEntity<'category'>>
  return { ...others, ...(profile && fullProfile('category', profile)) } as Listed<K>
}
