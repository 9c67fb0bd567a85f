import { lengths, type listVideos, type QueryOf, type Video } from '@talkshelf/contract'
import type { Db } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import {
  answered,
  type Facets,
  type Found,
  facetsOf,
  type Hit,
  mostFound,
  newest,
  type Snippet,
  search,
  snippetsOf,
} from '../search/search.ts'
import { isDay } from './cursor.ts'
import { readOrdering, reversed, usualOrdering } from './ordering.ts'
import { mostCounted, type Page, type Place, pageOf, placeOf, refuse } from './page.ts'
import { countKept, countUpTo, estimate, type Filter, findBodies, findFilterIds, listBodies, type Named } from './queries.ts'

// The collection of records. What a page costs follows from the page, not from the archive: indexes have every order, a place is found by
// its keys, and counting ends at 10,000.

type Asked = QueryOf<typeof listVideos>

/** What is sent besides the records. */
interface Extra {
  readonly search?: { readonly corrected: Found['corrected']; readonly loose: boolean }
  readonly snippets?: readonly Snippet[]
  readonly facets?: Facets & { readonly exact: boolean }
}

export async function listRecords(pool: Pool, asked: Asked): Promise<Page & { extra: Extra }> {
  const { filter, today } = await filterOf(pool.lists, asked)
  if (asked.q?.trim()) return { ...(await answered(pool.searches, listFound(pool, asked, asked.q, filter))), today }
  const page = await listInOrder(pool.lists, asked, filter)
  const { facets } = filter ? await facetsFor(pool.searches, asked, undefined, filter) : {}
  return { ...page, today, extra: facets ? { facets } : {} }
}

async function listInOrder(db: Db, asked: Asked, filter: Filter | undefined, known?: Counted): Promise<Page> {
  const { ordering = usualOrdering } = asked
  const order = readOrdering(ordering)
  const place = placeOf(asked, ordering, order, 20)
  if (!filter) return pageOf(place, [], { count: 0, isExact: true }, () => '')
  const { after, offset, size } = place
  const [rows, counted] = await Promise.all([
    listBodies(db, filter, place.way === 'previous' ? reversed(order) : order, { after, offset, limit: size + 1 }),
    known ?? count(db, filter),
  ])
  return pageOf(place, rows, counted, ({ body }) => body)
}

const bestFirst = [{ field: 'relevance' }, { field: 'id' }] as const

/** The best first; or the newest that match, in the order that was asked for. */
async function listFound({ searches, lists }: Pool, asked: Asked, q: string, filter: Filter | undefined): Promise<Page & { extra: Extra }> {
  const place = asked.ordering === undefined ? placeOf(asked, 'relevance', bestFirst, 20) : undefined
  if (!filter) return { ...pageOf(place ?? placeOf(asked, '', [], 20), [], { count: 0, isExact: true }, () => ''), extra: {} }
  const found = await search(searches, q, filter, !place ? 1 : place.byCursor ? mostFound : place.offset + place.size + 1)
  const page = place
    ? await pageOfHits(lists, place, found)
    : await listInOrder(lists, asked, { ids: await newest(searches, found.meaning, filter, mostCounted) }, found)
  const { facets, seen } = await facetsFor(searches, asked, found.meaning, filter)
  const records = () => page.entries.map((body) => JSON.parse(body) as Video)
  const extra: Extra = {
    search: { corrected: found.corrected, loose: found.isLoose },
    ...(wants(asked, 'snippets') && { snippets: await snippetsOf(searches, records(), found.meaning) }),
    ...(facets && { facets }),
  }
  // Facets look further than the search does, and perhaps at all that match.
  return { ...page, ...(facets?.exact && { count: seen, isExact: true }), extra }
}

async function pageOfHits(db: Db, place: Place, { hits, count, isExact }: Found): Promise<Page> {
  const rows = hits.map(({ id, score }) => ({ id, keys: [String(score), String(id)] }))
  const [score = 0, id = 0] = place.after?.map(Number) ?? []
  const isBehind = (it: { readonly id: number; readonly score: number }) => it.score < score || (it.score === score && it.id < id)
  const isBefore = (it: { readonly id: number; readonly score: number }) => it.score > score || (it.score === score && it.id > id)
  const onTheWay = !place.after
    ? rows.slice(place.offset)
    : place.way === 'next'
      ? rows.filter((_, at) => isBehind(hits[at] as Hit))
      : rows.filter((_, at) => isBefore(hits[at] as Hit)).reverse()
  const shown = onTheWay.slice(0, place.size + 1)
  const bodies = await findBodies(
    db,
    shown.map((row) => row.id),
  )
  const bodyOf = new Map(bodies.map((row) => [row.id, row.body]))
  return pageOf(
    place,
    shown.filter((row) => bodyOf.has(row.id)),
    { count, isExact },
    (row) => bodyOf.get(row.id) as string,
  )
}

async function facetsFor(
  db: Db,
  asked: Asked,
  meaning: Found['meaning'] | undefined,
  filter: Filter,
): Promise<{ facets?: Extra['facets']; seen?: number }> {
  // A question that means nothing has no results to count.
  if (!wants(asked, 'facets') || (meaning && meaning.match === undefined)) return {}
  const { facets, seen } = await facetsOf(db, meaning?.match, filter, mostCounted)
  return { facets: { exact: seen < mostCounted, ...facets }, seen }
}

const wants = ({ include = '' }: Asked, what: string) => include.split(',').includes(what)

type Counted = { readonly count: number; readonly isExact: boolean }

async function count(db: Db, filter: Filter): Promise<Counted> {
  const kept = await countKept(db, filter)
  if (kept !== undefined) return { count: kept, isExact: true }
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
    recordedAfter: latest(asked.recorded_after, asked.year && `${year(asked.year)}-01-01`),
    recordedBefore: earliest(asked.recorded_before, asked.year && `${year(asked.year)}-12-31`),
    duration: asked.duration && Object.keys(lengths).indexOf(asked.duration),
    updatedSince: asked.updated_since === undefined ? undefined : momentOf(asked.updated_since),
    sourceUrl: asked.source_url,
  }
  return { filter, today }
}

const year = (number: number) => String(number).padStart(4, '0')
const latest = (...days: (string | 0 | undefined)[]) =>
  days
    .filter((day) => typeof day === 'string')
    .sort()
    .at(-1)
const earliest = (...days: (string | 0 | undefined)[]) => days.filter((day) => typeof day === 'string').sort()[0]

function momentOf(text: string): string {
  const moment = text.endsWith('Z') ? text : `${text}Z`
  // JavaScript takes the 30th of February for a day in March; PostgreSQL does not.
  return isDay(moment.slice(0, 10)) && !Number.isNaN(Date.parse(moment)) ? moment : refuse('updated_since', 'is no moment')
}
