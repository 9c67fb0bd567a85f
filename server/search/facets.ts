import { durationRanges, facetKinds } from '@talkshelf/contract'
import type { Db } from '../platform/db/db.ts'
import {
  countFacets,
  countOtherEntities,
  countStoredFacets,
  countYears,
  estimateMatches,
  type FacetRow,
  maxRanked,
  readSnapshot,
  type SearchFilter,
} from './queries.ts'
import { isGroupFilter, readStoredCount } from './stored-counts.ts'
import { filterKey } from './tsquery.ts'

// Facets of search results: the number of talks by category, language, year, speaker, tag and
// duration. Up to a limit of matches they are counted one by one. Beyond it they are exact where
// triggers maintain the numbers, and estimates elsewhere.

interface FacetValue {
  readonly value: string
  readonly name: string
  readonly talks: number
}

export type FacetKind = (typeof facetKinds)[number]

export type FacetCounts = Readonly<Record<FacetKind, readonly FacetValue[]>>

export interface FacetResult {
  readonly facets: FacetCounts
  /** The facets whose numbers are estimates. */
  readonly estimated: readonly FacetKind[]
  /** The number of matches: an estimate unless `isExact`, but at least that of any facet value. */
  readonly count: number
  readonly isExact: boolean
}

const maxValuesPerFacet = 20
/** More than there are years, languages and durations. */
const allValues = 10_000

/**
 * Counts the facets of the records that match a query and a filter. All numbers are exact for up to
 * `limit` matches.
 */
export async function readFacets(
  db: Db,
  match: string | undefined,
  filter: SearchFilter,
  limit: number,
): Promise<FacetResult> {
  if (match === undefined && isGroupFilter(filter)) {
    const stored = await readStoredFacets(db, filter, limit)
    if (stored) return stored
  }
  const rows = await countFacets(db, match, filter, limit + 1, maxValuesPerFacet)
  const scanned = rows[0]?.scanned ?? 0
  if (scanned <= limit)
    return { facets: facetsOf(rows), estimated: [], count: scanned, isExact: true }
  const total = await estimateTotal(db, match, filter, scanned)
  return {
    facets: facetsOf(await estimateFacets(db, filter, rows, total.count)),
    estimated: facetKinds,
    ...total,
  }
}

/** Counts the years of the records that match a query and a filter. */
export async function readYearFacet(
  db: Db,
  match: string | undefined,
  filter: SearchFilter,
  limit: number,
): Promise<{ years: readonly FacetValue[]; isExact: boolean }> {
  const yearsOf = (rows: readonly FacetRow[]) => facetsOf(rows).year
  if (match === undefined && isGroupFilter(filter))
    return { years: yearsOf(await countStoredFacets(db, filter, maxValuesPerFacet)), isExact: true }
  const rows = await countYears(db, match, filter, limit + 1, maxValuesPerFacet)
  const scanned = rows[0]?.scanned ?? 0
  if (scanned <= limit) return { years: yearsOf(rows), isExact: true }
  const total = await estimateTotal(db, match, filter, scanned)
  return { years: yearsOf(await estimateFacets(db, filter, rows, total.count)), isExact: false }
}

/**
 * Reads the facets of years, a language or a duration from the stored numbers. Returns undefined if
 * so few talks match that they can be counted. Categories, speakers and tags have stored numbers
 * for the whole archive only. If few talks do not match, these are subtracted; otherwise the
 * numbers are estimates.
 */
async function readStoredFacets(
  db: Db,
  filter: SearchFilter,
  limit: number,
): Promise<FacetResult | undefined> {
  const stored = await countStoredFacets(db, filter, maxValuesPerFacet)
  const count = stored[0]?.scanned ?? 0
  if (count <= limit) return undefined
  const ofAll = await countStoredFacets(db, {}, allValues)
  const otherCount = (ofAll[0]?.scanned ?? 0) - count
  const others = otherCount > 0 ? matchOthers(filter, ofAll) : undefined
  if (otherCount === 0 || (others !== undefined && otherCount <= limit)) {
    const entities = others
      ? await countOtherEntities(db, others, maxValuesPerFacet)
      : await countAllEntities(db)
    return { facets: facetsOf([...stored, ...entities]), estimated: [], count, isExact: true }
  }
  const newest = await countFacets(db, undefined, filter, limit, maxValuesPerFacet)
  const entities = newest
    .filter(({ kind }) => kind === 'category' || kind === 'speaker' || kind === 'tag')
    .map((row) => ({ ...row, talks: extrapolate(row, count) }))
  return {
    facets: facetsOf([...stored, ...entities]),
    estimated: ['category', 'speaker', 'tag'],
    count,
    isExact: true,
  }
}

const entitiesOfAll = new WeakMap<Db, { snapshot: string; rows: Promise<FacetRow[]> }>()

/**
 * Counts the categories, speakers and tags of all talks. Their number grows with the archive, so
 * that the result is cached until the next write, and stays exact.
 */
async function countAllEntities(db: Db): Promise<FacetRow[]> {
  const snapshot = await readSnapshot(db)
  const cached = entitiesOfAll.get(db)
  if (cached?.snapshot === snapshot) return cached.rows
  const rows = countOtherEntities(db, undefined, maxValuesPerFacet)
  entitiesOfAll.set(db, { snapshot, rows })
  rows.catch(() => entitiesOfAll.get(db)?.rows === rows && entitiesOfAll.delete(db))
  return rows
}

/**
 * Builds a tsquery for the talks that do not match a filter by language or duration. Returns
 * undefined for a filter by years, which are no words of the index.
 */
function matchOthers(filter: SearchFilter, ofAll: readonly FacetRow[]): string | undefined {
  const { years, recordedAfter, recordedBefore, language, duration } = filter
  if (years !== undefined || recordedAfter !== undefined || recordedBefore !== undefined)
    return undefined
  const keysExcept = (kind: 'language' | 'duration', chosen: number | undefined) =>
    ofAll
      .filter((row) => row.kind === kind && chosen !== undefined && row.entity !== chosen)
      .map(({ entity }) => filterKey(kind, entity))
  return [...keysExcept('language', language), ...keysExcept('duration', duration)].join(' | ')
}

/** Estimates the facets of all matches from those of the newest. */
async function estimateFacets(
  db: Db,
  filter: SearchFilter,
  newest: readonly FacetRow[],
  total: number,
): Promise<FacetRow[]> {
  const stored = await countStoredFacets(db, filter, allValues)
  const storedTalks = new Map(stored.map((row) => [`${row.kind} ${row.entity}`, row.talks]))
  const others = newest
    .filter(({ kind }) => kind !== 'year')
    .map((row) => {
      const own = storedTalks.get(`${row.kind} ${row.entity}`) ?? Number.POSITIVE_INFINITY
      return { ...row, talks: Math.min(extrapolate(row, total), own) }
    })
  return [...others, ...estimateYears(newest, stored, total)]
}

/** Estimates the number of matches, which are at least `scanned`. */
async function estimateTotal(
  db: Db,
  match: string | undefined,
  filter: SearchFilter,
  scanned: number,
): Promise<{ count: number; isExact: boolean }> {
  const stored = await readStoredCount(db, filter)
  if (match === undefined && stored.isExact) return stored
  const { expected } = await estimateMatches(db, match, filter, maxRanked + 1)
  const count = Math.max(Math.min(Math.round(expected), stored.count), scanned)
  return { count, isExact: false }
}

/** Extrapolates a number of the newest matches to all, up to the number of talks of the entity. */
function extrapolate({ talks, scanned, own }: FacetRow, total: number): number {
  return Math.min(Math.round((talks * total) / scanned), own ?? total)
}

/** The first year that has a partition of its own; PostgreSQL scans partitions by year. */
const firstYear = 2005

/**
 * Estimates the matches of each year. The years after the oldest scanned one were counted
 * completely; the other matches are distributed over the other years by their numbers of talks.
 */
function estimateYears(
  newest: readonly FacetRow[],
  stored: readonly FacetRow[],
  total: number,
): FacetRow[] {
  const counted = new Map(
    newest.filter(({ kind }) => kind === 'year').map(({ entity, talks }) => [entity, talks]),
  )
  const lastComplete = Math.max(Math.min(...counted.keys()) + 1, firstYear)
  const isComplete = (year: number) => year >= lastComplete
  const years = stored.filter(({ kind }) => kind === 'year')
  const sum = (numbers: readonly number[]) => numbers.reduce((a, b) => a + b, 0)
  const completeYears = years.filter(({ entity }) => isComplete(entity))
  const matchesLeft = total - sum(completeYears.map(({ entity }) => counted.get(entity) ?? 0))
  const talksLeft = (stored[0]?.scanned ?? 0) - sum(completeYears.map(({ talks }) => talks))
  const share = Math.min(1, Math.max(0, matchesLeft) / Math.max(1, talksLeft))
  return years
    .map((row) => {
      const seen = counted.get(row.entity) ?? 0
      const estimate = Math.max(seen, Math.round(row.talks * share))
      return { ...row, talks: isComplete(row.entity) ? seen : estimate }
    })
    .filter(({ talks }) => talks > 0)
    .sort((a, b) => b.talks - a.talks || b.entity - a.entity)
    .slice(0, maxValuesPerFacet)
}

function facetsOf(rows: readonly FacetRow[]): FacetCounts {
  const valuesOf = (kind: FacetKind) =>
    rows
      .filter((row) => row.kind === kind)
      .map(({ value, name, talks }) =>
        kind === 'duration' ? { ...durationRange(value), talks } : { value, name, talks },
      )
  return {
    category: valuesOf('category'),
    language: valuesOf('language'),
    year: valuesOf('year'),
    speaker: valuesOf('speaker'),
    tag: valuesOf('tag'),
    duration: valuesOf('duration'),
  }
}

function durationRange(index: string): { value: string; name: string } {
  const [value, name] = Object.entries(durationRanges)[Number(index)] as [string, string]
  return { value, name }
}
