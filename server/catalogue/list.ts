import {
  durationRanges,
  type listVideosEndpoint,
  type QueryOf,
  type Video,
} from '@talkshelf/contract'
import type { Db } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import {
  buildSnippets,
  type FacetCounts,
  findNewestMatches,
  type Hit,
  maxResults,
  type RecordSnippet,
  readFacets,
  type SearchResult,
  search,
  withSearchDeadline,
} from '../search/search.ts'
import { isDate } from './cursor.ts'
import { defaultOrdering, parseOrdering, reverseOrdering } from './ordering.ts'
import {
  buildPage,
  type ListPage,
  maxExactCount,
  type PagePosition,
  pagePosition,
  rejectParameter,
} from './page.ts'
import {
  countUpTo,
  estimateCount,
  type Filter,
  type FilterNames,
  findFilterIds,
  findListedBodies,
  findStoredCount,
  listBodies,
} from './queries.ts'

// The collection of records. What a page costs follows from the page, not from the archive: indexes
// have every order, a place is found by its keys, and counting ends at 10,000.

type Asked = QueryOf<typeof listVideosEndpoint>

/** What is sent besides the records. */
interface Extra {
  readonly search?: { readonly corrected: SearchResult['corrected']; readonly loose: boolean }
  readonly snippets?: readonly RecordSnippet[]
  readonly facets?: FacetCounts & { readonly exact: boolean }
}

export async function listRecords(pool: Pool, asked: Asked): Promise<ListPage & { extra: Extra }> {
  const { filter, today } = await filterOf(pool.lists, asked)
  if (asked.q?.trim())
    return {
      ...(await withSearchDeadline(pool.searches, listFound(pool, asked, asked.q, filter))),
      today,
    }
  const page = await listInOrder(pool.lists, asked, filter)
  const { facets } = filter ? await facetsFor(pool.searches, asked, undefined, filter) : {}
  return { ...page, today, extra: facets ? { facets } : {} }
}

async function listInOrder(
  db: Db,
  asked: Asked,
  filter: Filter | undefined,
  known?: Counted,
): Promise<ListPage> {
  const { ordering = defaultOrdering } = asked
  const order = parseOrdering(ordering)
  const place = pagePosition(asked, ordering, order, 20)
  if (!filter) return buildPage(place, [], { count: 0, isExact: true }, () => '')
  const { after, offset, size } = place
  const [rows, counted] = await Promise.all([
    listBodies(db, filter, place.way === 'previous' ? reverseOrdering(order) : order, {
      after,
      offset,
      limit: size + 1,
    }),
    known ?? count(db, filter),
  ])
  return buildPage(place, rows, counted, ({ body }) => body)
}

const bestFirst = [{ field: 'relevance' }, { field: 'id' }] as const

/** The best first; or the newest that match, in the order that was asked for. */
async function listFound(
  { searches, lists }: Pool,
  asked: Asked,
  q: string,
  filter: Filter | undefined,
): Promise<ListPage & { extra: Extra }> {
  const place =
    asked.ordering === undefined ? pagePosition(asked, 'relevance', bestFirst, 20) : undefined
  if (!filter)
    return {
      ...buildPage(
        place ?? pagePosition(asked, '', [], 20),
        [],
        { count: 0, isExact: true },
        () => '',
      ),
      extra: {},
    }
  const found = await search(
    searches,
    q,
    filter,
    !place ? 1 : place.byCursor ? maxResults : place.offset + place.size + 1,
  )
  const page = place
    ? await pageOfHits(lists, place, found)
    : await listInOrder(
        lists,
        asked,
        { ids: await findNewestMatches(searches, found.meaning, filter, maxExactCount) },
        found,
      )
  const { facets, seen } = await facetsFor(searches, asked, found.meaning, filter)
  const records = () => page.entries.map((body) => JSON.parse(body) as Video)
  const extra: Extra = {
    search: { corrected: found.corrected, loose: found.isLoose },
    ...(wants(asked, 'snippets') && {
      snippets: await buildSnippets(searches, records(), found.meaning),
    }),
    ...(facets && { facets }),
  }
  // Facets look further than the search does, and perhaps at all that match.
  return { ...page, ...(facets?.exact && { count: seen, isExact: true }), extra }
}

async function pageOfHits(
  db: Db,
  position: PagePosition,
  { hits, count, isExact }: SearchResult,
): Promise<ListPage> {
  const rows = hits.map(({ id, score }) => ({ id, keys: [String(score), String(id)] }))
  const [score = 0, id = 0] = position.after?.map(Number) ?? []
  const isBehind = (it: { readonly id: number; readonly score: number }) =>
    it.score < score || (it.score === score && it.id < id)
  const isBefore = (it: { readonly id: number; readonly score: number }) =>
    it.score > score || (it.score === score && it.id > id)
  const onTheWay = !position.after
    ? rows.slice(position.offset)
    : position.way === 'next'
      ? rows.filter((_, at) => isBehind(hits[at] as Hit))
      : rows.filter((_, at) => isBefore(hits[at] as Hit)).reverse()
  const shown = onTheWay.slice(0, position.size + 1)
  const bodies = await findListedBodies(
    db,
    shown.map((row) => row.id),
  )
  const bodyOf = new Map(bodies.map((row) => [row.id, row.body]))
  return buildPage(
    position,
    shown.filter((row) => bodyOf.has(row.id)),
    { count, isExact },
    (row) => bodyOf.get(row.id) as string,
  )
}

async function facetsFor(
  db: Db,
  asked: Asked,
  tsquery: SearchResult['meaning'] | undefined,
  filter: Filter,
): Promise<{ facets?: Extra['facets']; seen?: number }> {
  // A question that means nothing has no results to count.
  if (!wants(asked, 'facets') || (tsquery && tsquery.match === undefined)) return {}
  const { facets, seen } = await readFacets(db, tsquery?.match, filter, maxExactCount)
  return { facets: { exact: seen < maxExactCount, ...facets }, seen }
}

const wants = ({ include = '' }: Asked, what: string) => include.split(',').includes(what)

type Counted = { readonly count: number; readonly isExact: boolean }

async function count(db: Db, filter: Filter): Promise<Counted> {
  const kept = await findStoredCount(db, filter)
  if (kept !== undefined) return { count: kept, isExact: true }
  const expected = await estimateCount(db, filter)
  // Far above what is counted anyway, nobody has to walk there to find out.
  if (expected > 3 * maxExactCount) return { count: expected, isExact: false }
  const counted = await countUpTo(db, filter, maxExactCount + 1)
  return counted <= maxExactCount
    ? { count: counted, isExact: true }
    : { count: Math.max(expected, counted), isExact: false }
}

/** No filter where something is asked for that there is none of. */
async function filterOf(
  db: Db,
  asked: Asked,
): Promise<{ filter?: Filter; today: Record<string, string> }> {
  const { category, speaker, tag, language } = asked
  const named: FilterNames = { category, speaker, tag, language }
  const isNamed = Object.values(named).some((it) => it !== undefined)
  const ids = isNamed ? await findFilterIds(db, named) : undefined
  for (const [name, given] of Object.entries(named))
    if (given !== undefined && ids?.[name as keyof FilterNames] === null) return { today: {} }
  const slugs = Object.entries({
    category: ids?.category_slug,
    speaker: ids?.speaker_slug,
    tag: ids?.tag_slug,
  })
  const today = Object.fromEntries(
    slugs.filter((it): it is [string, string] => typeof it[1] === 'string'),
  )
  const filter = {
    category: ids?.category ?? undefined,
    speaker: ids?.speaker ?? undefined,
    tag: ids?.tag ?? undefined,
    language: ids?.language ?? undefined,
    recordedAfter: latest(asked.recorded_after, asked.year && `${year(asked.year)}-01-01`),
    recordedBefore: earliest(asked.recorded_before, asked.year && `${year(asked.year)}-12-31`),
    duration: asked.duration && Object.keys(durationRanges).indexOf(asked.duration),
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
const earliest = (...days: (string | 0 | undefined)[]) =>
  days.filter((day) => typeof day === 'string').sort()[0]

function momentOf(text: string): string {
  const moment = text.endsWith('Z') ? text : `${text}Z`
  // JavaScript takes the 30th of February for a day in March; PostgreSQL does not.
  return isDate(moment.slice(0, 10)) && !Number.isNaN(Date.parse(moment))
    ? moment
    : rejectParameter('updated_since', 'is no moment')
}
