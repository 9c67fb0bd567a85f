import type { listTags, QueryOf } from '@talkshelf/contract'
import type { Db } from '../platform/db/db.ts'
import { toJson } from '../platform/http/json.ts'
import type { OrderPart } from './ordering.ts'
import { mostCounted, type Page, pageOf, placeOf } from './page.ts'
import { countThingsUpTo, type Kind, listThings } from './queries.ts'

// Categories, speakers, tags and languages, in the order of their names, with how many live talks they have.

const order: OrderPart[] = [
  { field: 'title', descending: false },
  { field: 'id', descending: false },
]

/** `from`: the list begins at the names that come at or behind it, without accents and case; a letter leads to where it begins. */
export async function listThingsOf(db: Db, kind: Kind, asked: QueryOf<typeof listTags>, { from }: { from?: string } = {}): Promise<Page> {
  const place = placeOf(asked, 'name', order, 50)
  const [rows, counted] = await Promise.all([
    listThings(db, kind, place.way, { after: place.after, offset: place.offset, limit: place.size + 1 }, from),
    countThingsUpTo(db, kind, mostCounted + 1, from),
  ])
  return pageOf(place, rows, { count: counted, isExact: counted <= mostCounted }, ({ keys: _, ...thing }) => toJson(thing))
}
