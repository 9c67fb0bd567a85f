import { Problem } from '@talkshelf/contract'
import { type Cursor, type CursorKey, readCursor, writeCursor } from './cursor.ts'
import { rejectParameter } from './problem.ts'

// Pages of any list: by page number up to a maximum offset, by cursor without a limit.

/** The requested page. */
export interface PagePosition {
  readonly ordering: string
  readonly byCursor: boolean
  readonly page: number
  readonly size: number
  readonly offset: number
  readonly way: Cursor['way']
  /** The sort keys of the entry before the page, in the direction of `way`. */
  readonly after: readonly string[] | undefined
}

export interface ListPage<T = string> {
  readonly count: number
  readonly isExact: boolean
  readonly entries: readonly T[]
  /** The query parameters of the neighbouring pages; undefined if there is none. */
  readonly next: PageParams | undefined
  readonly previous: PageParams | undefined
  /** Filters whose slug was outdated, with the current slug. */
  readonly currentSlugs?: Readonly<Record<string, string>>
}

type PageParams = { readonly page: number } | { readonly cursor: string }

/** The detail of the problem if a list has fewer pages. */
export const pageOutOfRange = 'Page out of range'

/** Counts are exact up to this number. */
export const maxExactCount = 10_000

/** The cost of an offset grows with it, so that deeper pages need a cursor. */
const maxOffset = 10_000

/** Validates the paging parameters of a query. */
export function pagePosition(
  query: { page?: number; page_size?: number; cursor?: string },
  ordering: string,
  order: readonly { readonly field: CursorKey }[],
  defaultSize: number,
): PagePosition {
  const { page = 1, page_size: size = defaultSize } = query
  const byCursor = query.cursor !== undefined
  const cursor = query.cursor
    ? (readCursor(query.cursor, ordering, order) ??
      rejectParameter('cursor', 'is not a cursor of this list; take it from next or previous'))
    : undefined
  if (byCursor && query.page !== undefined)
    rejectParameter('page', 'cannot be combined with cursor')
  const offset = (page - 1) * size
  if (offset >= maxOffset)
    rejectParameter('page', `reaches only the first ${maxOffset} entries; follow next from there`)
  return { ordering, byCursor, page, size, offset, way: cursor?.way ?? 'next', after: cursor?.keys }
}

/**
 * Builds a page from `rows`, which come in the direction of the position: one row more than the
 * page size shows that there is another page.
 */
export function buildPage<T extends { readonly keys: readonly string[] }, E>(
  position: PagePosition,
  rows: readonly T[],
  counted: { count: number; isExact: boolean },
  toEntry: (row: T) => E,
): ListPage<E> {
  const { ordering, byCursor, page, size, offset, way, after } = position
  const visible = rows.slice(0, size)
  // A cursor page may be empty: the records after it can disappear while a client pages through.
  if (visible.length === 0 && page > 1) throw new Problem('not-found', pageOutOfRange)
  const hasMore = rows.length > size
  const isBackward = way === 'previous'
  if (isBackward) visible.reverse()
  const hasNext = isBackward || hasMore
  const hasPrevious = after ? !isBackward || hasMore : page > 1
  const pageParams = (to: Cursor['way'], row: T | undefined, target: number) => {
    if (!byCursor && (to === 'previous' || offset + size < maxOffset)) return { page: target }
    return row && { cursor: writeCursor({ ordering, way: to, keys: [...row.keys] }) }
  }
  return {
    ...counted,
    entries: visible.map(toEntry),
    next: hasNext ? pageParams('next', visible.at(-1), page + 1) : undefined,
    previous: hasPrevious ? pageParams('previous', visible[0], page - 1) : undefined,
  }
}

/** Returns the URL of the page after a position, or null if there is none. */
export function nextUrl(url: string, query: object, position: object | undefined): string | null {
  if (!position) return null
  const params = Object.entries({ ...query, ...position }).map(([name, value]) => [
    name,
    String(value),
  ])
  return `${url}?${new URLSearchParams(params)}`
}
