import {
  durationRanges,
  type listVideosEndpoint,
  type QueryOf,
  type Video,
} from '@talkshelf/contract'
import { type Db, Unavailable } from '../platform/db/db.ts'
import type { Pool } from '../platform/db/pool.ts'
import { type ReadPool, withStatementsUntil } from '../platform/db/read-pool.ts'
import { isDate } from '../platform/http/cursor.ts'
import {
  buildPage,
  type ListPage,
  maxExactCount,
  type PagePosition,
  pagePosition,
} from '../platform/http/pagination.ts'
import { rejectParameter } from '../platform/http/problem.ts'
import {
  buildSnippets,
  type FacetCounts,
  type FacetKind,
  findNewestMatches,
  type Hit,
  maxResults,
  type RecordSnippet,
  readFacets,
  readStoredCount,
  readYearFacet,
  type SearchOptions,
  type SearchResult,
  search,
  withinMs,
  withSearchDeadline,
} from '../search/search.ts'
import { defaultOrdering, parseOrdering, reverseOrdering } from './ordering.ts'
import {
  countUpTo,
  estimateCount,
  type Filter,
  type FilterNames,
  type FilterOptions,
  findFilterIds,
  findListedBodies,
  listBodies,
} from './queries.ts'

// The list of records. The cost of a page does not grow with the archive: every order has an index,
// cursors start at their keys in it, and counting stops at 10,000.

type ListQuery = QueryOf<typeof listVideosEndpoint>

/** Fields of the response besides the records. */
interface Extra {
  readonly search?: {
    readonly corrected: SearchResult['corrected']
    readonly loose: boolean
    readonly all_words: number
  }
  readonly snippets?: readonly RecordSnippet[]
  readonly facets?: FacetCounts & {
    readonly exact: boolean
    readonly estimated?: readonly FacetKind[]
  }
}

export interface RecordPage extends ListPage {
  readonly extra: Extra
  /** Names of the entities in the filters, by kind. */
  readonly filterNames: Readonly<Record<string, string>>
  /** Undefined if a filter names an entity that does not exist. */
  readonly filter: Filter | undefined
}

type ResultCount = { readonly count: number; readonly isExact: boolean }

const noResults: ResultCount = { count: 0, isExact: true }

/**
 * Lists a page of live records: those that match `q`, by relevance unless an ordering is given, or
 * all that match the filters. By relevance, records with some of the words follow after a few with
 * all of them, unless `partial` says otherwise.
 */
export async function listRecords(
  pool: Pool,
  query: ListQuery,
  partial: SearchOptions['partial'] = query.ordering === undefined ? 'if few' : 'if none',
): Promise<RecordPage> {
  const startMs = performance.now()
  const { filter, ...current } = await resolveFilter(pool.lists, query)
  if (query.q?.trim()) {
    const { q, spelling = 'corrected' } = query
    const matches = () => listMatches(pool, query, q, filter, { spelling, partial })
    return { ...(await withSearchDeadline(pool.searches, matches)), ...current, filter }
  }
  const page = await listInOrder(pool.lists, query, filter)
  const leftMs = pool.searches.longestMs - (performance.now() - startMs)
  const counted = filter && (await facetsOrNone(pool.searches, query, filter, leftMs))
  const facets = counted?.facets
  const count = page.isExact ? page : (counted?.count ?? page)
  return { ...page, ...pickCount(count), ...current, filter, extra: facets ? { facets } : {} }
}

const pickCount = ({ count, isExact }: ResultCount): ResultCount => ({ count, isExact })

/** Counts the facets of a list that is read already. Returns undefined if that is not possible. */
async function facetsOrNone(
  searches: ReadPool,
  query: ListQuery,
  filter: Filter,
  limitMs: number,
): Promise<RequestedFacets | undefined> {
  if (!includes(query, 'facets')) return undefined
  try {
    const untilMs = performance.now() + limitMs
    const counted = searches.admit(() =>
      withStatementsUntil(untilMs, () => requestedFacets(searches, query, undefined, filter)),
    )
    return await withinMs(counted, limitMs)
  } catch (error) {
    if (error instanceof Unavailable) return undefined
    throw error
  }
}

async function listInOrder(
  db: Db,
  query: ListQuery,
  filter: Filter | undefined,
  knownCount?: ResultCount,
): Promise<ListPage> {
  const { ordering = defaultOrdering } = query
  const order = parseOrdering(ordering)
  const position = pagePosition(query, ordering, order, 20)
  if (!filter) return buildPage(position, [], noResults, () => '')
  const { after, offset, size, way } = position
  const [rows, counted] = await Promise.all([
    listBodies(db, filter, way === 'previous' ? reverseOrdering(order) : order, {
      after,
      offset,
      limit: size + 1,
    }),
    knownCount ?? countRecords(db, filter),
  ])
  return buildPage(position, rows, counted, ({ body }) => body)
}

const relevanceOrder = [{ field: 'relevance' }, { field: 'id' }] as const

/** Lists the best matches first; or, in a requested order, up to 10,000 of the newest. */
async function listMatches(
  { searches, lists }: Pool,
  query: ListQuery,
  q: string,
  filter: Filter | undefined,
  options: SearchOptions,
): Promise<ListPage & { extra: Extra }> {
  const position =
    query.ordering === undefined ? pagePosition(query, 'relevance', relevanceOrder, 20) : undefined
  if (!filter) {
    const emptyPosition = position ?? pagePosition(query, '', [], 20)
    return { ...buildPage(emptyPosition, [], noResults, () => ''), extra: {} }
  }
  const result = await limitCount(
    lists,
    filter,
    await search(searches, q, filter, searchLimit(position), options),
  )
  const page = position
    ? await pageOfHits(lists, position, result)
    : await listInOrder(
        lists,
        query,
        { ids: await findNewestMatches(searches, result.tsquery, filter, maxExactCount) },
        result,
      )
  const { facets, count } = await requestedFacets(searches, query, result.tsquery, filter)
  // Facets are counted over more records than a search ranks, often over all that match.
  const total = count ?? pickCount(result)
  const records = () => page.entries.map((body) => JSON.parse(body) as Video)
  const extra: Extra = {
    search: {
      corrected: result.corrected,
      loose: result.allWords === 0 && result.count > 0,
      all_words:
        result.allWords === result.count ? total.count : Math.min(result.allWords, total.count),
    },
    ...(includes(query, 'snippets') && {
      snippets: await buildSnippets(searches, records(), result.tsquery),
    }),
    ...(facets && { facets }),
  }
  return { ...page, ...total, extra }
}

/** Limits an estimate to the stored number of talks that match the filter, or a part of it. */
async function limitCount(db: Db, filter: Filter, result: SearchResult): Promise<SearchResult> {
  if (result.isExact) return result
  const { count } = await readStoredCount(db, filter)
  const limited = (value: number) => Math.min(value, count)
  return { ...result, count: limited(result.count), allWords: limited(result.allWords) }
}

function searchLimit(position: PagePosition | undefined): number {
  // In another order only the interpretation of the query is used, not its hits.
  if (!position) return 1
  return position.byCursor ? maxResults : position.offset + position.size + 1
}

async function pageOfHits(
  db: Db,
  position: PagePosition,
  { hits, count, isExact }: SearchResult,
): Promise<ListPage> {
  const rows = hitsFrom(position, hits)
    .slice(0, position.size + 1)
    .map(({ id, score }) => ({ id, keys: [String(score), String(id)] }))
  const bodies = await findListedBodies(
    db,
    rows.map((row) => row.id),
  )
  const bodyById = new Map(bodies.map((row) => [row.id, row.body]))
  return buildPage(
    position,
    rows.filter((row) => bodyById.has(row.id)),
    { count, isExact },
    (row) => bodyById.get(row.id) as string,
  )
}

/** Returns the hits after a position, in its direction. */
function hitsFrom({ after, offset, way }: PagePosition, hits: readonly Hit[]): Hit[] {
  if (!after) return hits.slice(offset)
  const [score = 0, id = 0] = after.map(Number)
  if (way === 'next')
    return hits.filter((hit) => hit.score < score || (hit.score === score && hit.id < id))
  return hits.filter((hit) => hit.score > score || (hit.score === score && hit.id > id)).reverse()
}

interface RequestedFacets {
  readonly facets?: Extra['facets']
  readonly count?: ResultCount
}

async function requestedFacets(
  db: Db,
  query: ListQuery,
  tsquery: SearchResult['tsquery'] | undefined,
  filter: Filter,
): Promise<RequestedFacets> {
  // A query without any searchable word has no results to count.
  if (!includes(query, 'facets') || (tsquery && tsquery.match === undefined)) return {}
  const match = tsquery?.match
  const result = await readFacets(db, match, filter, maxExactCount)
  const { facets, estimated } = result
  const count = pickCount(result)
  if (query.year === undefined) return { facets: withEstimates(facets, estimated), count }
  const ofAllYears = await readYearFacet(db, match, withoutYears(query, filter), maxExactCount)
  const kinds = estimated.filter((kind) => kind !== 'year')
  return {
    facets: withEstimates(
      { ...facets, year: ofAllYears.years },
      ofAllYears.isExact ? kinds : [...kinds, 'year'],
    ),
    count,
  }
}

function withEstimates(facets: FacetCounts, estimated: readonly FacetKind[]): Extra['facets'] {
  return { exact: estimated.length === 0, ...(estimated.length > 0 && { estimated }), ...facets }
}

/** Returns the filter of a query without its years. */
const withoutYears = (query: ListQuery, filter: Filter): Filter => ({
  ...filter,
  years: undefined,
  recordedAfter: query.recorded_after,
  recordedBefore: query.recorded_before,
})

const includes = ({ include = '' }: ListQuery, part: string) => include.split(',').includes(part)

async function countRecords(db: Db, filter: Filter): Promise<ResultCount> {
  const stored = await readStoredCount(db, filter)
  if (stored.isExact) return stored
  // The planner may expect more records than there are.
  const estimate = Math.min(await estimateCount(db, filter), stored.count)
  // Counting would only find that there are more than the limit.
  if (estimate > 3 * maxExactCount) return { count: estimate, isExact: false }
  const count = await countUpTo(db, filter, maxExactCount + 1)
  return count <= maxExactCount
    ? { count, isExact: true }
    : { count: Math.max(estimate, count), isExact: false }
}

/**
 * Resolves the filters of a query to ids. Returns no filter if it names an entity that does not
 * exist, so that nothing matches.
 */
export async function resolveFilter(
  db: Db,
  query: ListQuery,
  options?: FilterOptions,
): Promise<{
  filter?: Filter
  currentSlugs: Record<string, string>
  filterNames: Record<string, string>
}> {
  const { category, speaker, tag, language } = query
  const names: FilterNames = { category, speaker, tag, language }
  const hasNames = Object.values(names).some((name) => name !== undefined)
  const ids = hasNames ? await findFilterIds(db, names, options) : undefined
  const currentSlugs = withValue({
    category: ids?.category_slug,
    speaker: ids?.speaker_slug,
    tag: ids?.tag_slug,
  })
  const filterNames = withValue({
    category: ids?.category_name,
    speaker: ids?.speaker_name,
    tag: ids?.tag_name,
  })
  for (const [kind, name] of Object.entries(names))
    if (name !== undefined && ids?.[kind as keyof FilterNames] === null)
      return { currentSlugs: {}, filterNames }
  const years = query.year
    ?.split(',')
    .map(Number)
    .sort((a, b) => a - b)
  const firstDay = years && `${String(years[0]).padStart(4, '0')}-01-01`
  const lastDay = years && `${String(years.at(-1)).padStart(4, '0')}-12-31`
  const filter = {
    category: ids?.category ?? undefined,
    speaker: ids?.speaker ?? undefined,
    tag: ids?.tag ?? undefined,
    language: ids?.language ?? undefined,
    years: years && years.length > 1 ? years : undefined,
    recordedAfter: latest(query.recorded_after, firstDay),
    recordedBefore: earliest(query.recorded_before, lastDay),
    duration: query.duration && Object.keys(durationRanges).indexOf(query.duration),
    updatedSince: query.updated_since === undefined ? undefined : timestamp(query.updated_since),
    sourceUrl: query.source_url,
  }
  return { filter, currentSlugs, filterNames }
}

/** Leaves out what has no value. */
function withValue(values: Record<string, string | null | undefined>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).filter((entry): entry is [string, string] => Boolean(entry[1])),
  )
}

const latest = (...days: (string | undefined)[]) =>
  days
    .filter((day) => typeof day === 'string')
    .sort()
    .at(-1)
const earliest = (...days: (string | undefined)[]) =>
  days.filter((day) => typeof day === 'string').sort()[0]

function timestamp(text: string): string {
  const utc = text.endsWith('Z') ? text : `${text}Z`
  // Date.parse() takes the 30th of February for a day in March; PostgreSQL rejects it.
  return isDate(utc.slice(0, 10)) && !Number.isNaN(Date.parse(utc))
    ? utc
    : rejectParameter('updated_since', 'must be a valid date and time')
}
