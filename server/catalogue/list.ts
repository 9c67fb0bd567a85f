import type { listVideos, QueryOf } from '@talkshelf/contract'
import type { Db } from '../platform/db/db.ts'
import { isDay } from './cursor.ts'
import { readOrdering, reversed, usualOrdering } from './ordering.ts'
import { mostCounted, type Page, pageOf, placeOf, refuse } from './page.ts'
import { countUpTo, estimate, type Filter, findFilterIds, listBodies, type Named } from './queries.ts'

// The collection of records. What a page costs follows from the page, not from the archive: indexes have every order, a place is found by
// its keys, and counting ends at 10,000.

type Asked = QueryOf<typeof listVideos>

export async function listRecords(db: Db, asked: Asked): Promise<Page> {
  const { ordering = usualOrdering } = asked
  const order = readOrdering(ordering)
  const place = placeOf(asked, ordering, order, 20)
  const { filter, today } = await filterOf(db, asked)
  if (!filter) return pageOf(place, [], { count: 0, isExact: true }, () => '')
  const { after, offset, size } = place
  const [rows, counted] = await Promise.all([
    listBodies(db, filter, place.way === 'previous' ? reversed(order) : order, { after, offset, limit: size + 1 }),
    count(db, filter),
  ])
  return { ...pageOf(place, rows, counted, ({ body }) => body), today }
}

async function count(db: Db, filter: Filter): Promise<{ count: number; isExact: boolean }> {
  const expected = await estimate(db, filter)
  // Far above what is counted anyway, nobody has to walk there to find out.
  if (expected > 3 * mostCounted) return { count: expected, isExact: false }
  const counted = await countUpTo(db, filter, mostCounted + 1)
  return counted <= mostCounted ? { count: counted, isExact: true } : { count: Math.max(expected, counted), isExact: false }
}

/** No filter where something is asked for that there is none of. */
async function filterOf(db: Db, asked: Asked): Promise<{ filter?: Filter; today: Record<string, string> }> {
  const { category, speaker, tag, language } = asked
  const named: Named = { category, speaker, tag, language }
  const isNamed = Object.values(named).some((it) => it !== undefined)
  const ids = isNamed ? await findFilterIds(db, named) : undefined
  for (const [name, given] of Object.entries(named)) if (given !== undefined && ids?.[name as keyof Named] === null) return { today: {} }
  const slugs = Object.entries({ category: ids?.category_slug, speaker: ids?.speaker_slug, tag: ids?.tag_slug })
  const today = Object.fromEntries(slugs.filter((it): it is [string, string] => typeof it[1] === 'string'))
  const filter = {
    category: ids?.category ?? undefined,
    speaker: ids?.speaker ?? undefined,
    tag: ids?.tag ?? undefined,
    language: ids?.language ?? undefined,
    recordedAfter: asked.recorded_after,
    recordedBefore: asked.recorded_before,
    updatedSince: asked.updated_since === undefined ? undefined : momentOf(asked.updated_since),
    sourceUrl: asked.source_url,
  }
  return { filter, today }
}

function momentOf(text: string): string {
  const moment = text.endsWith('Z') ? text : `${text}Z`
  // JavaScript takes the 30th of February for a day in March; PostgreSQL does not.
  return isDay(moment.slice(0, 10)) && !Number.isNaN(Date.parse(moment)) ? moment : refuse('updated_since', 'is no moment')
}
