import { Problem } from '@talkshelf/contract'
import { type Cursor, type CursorKey, readCursor, writeCursor } from './cursor.ts'

// Pages of any list: by number near the beginning, by cursor everywhere.

/** Which page was asked for. */
export interface PagePosition {
  readonly ordering: string
  readonly byCursor: boolean
  readonly page: number
  readonly size: number
  readonly offset: number
  readonly way: Cursor['way']
  /** The keys of the entry that the page comes after, on the way. */
  readonly after: readonly string[] | undefined
}

export interface ListPage {
  readonly count: number
  readonly isExact: boolean
  /** JSON texts of the entries. */
  readonly entries: readonly string[]
  /**
   * What is different in the address of the next page, and of the one before; undefined where there
   * is none.
   */
  readonly next: Differs | undefined
  readonly previous: Differs | undefined
  /** Parameters that are to be said in another way today: a slug may be an old one. */
  readonly today?: Readonly<Record<string, string>>
}

type Differs = { readonly page: number } | { readonly cursor: string }

/** A count is exact up to here. */
export const maxExactCount = 10_000

/** `page` counts from the beginning: so far, and then a cursor goes on. */
const deepest = 10_000

export function pagePosition(
  asked: { page?: number; page_size?: number; cursor?: string },
  ordering: string,
  order: readonly { readonly field: CursorKey }[],
  defaultSize: number,
): PagePosition {
  const { page = 1, page_size: size = defaultSize } = asked
  const byCursor = asked.cursor !== undefined
  const cursor = asked.cursor
    ? (readCursor(asked.cursor, ordering, order) ??
      rejectParameter('cursor', 'is not a place in this list'))
    : undefined
  if (byCursor && asked.page !== undefined)
    rejectParameter('page', 'does not go together with cursor')
  const offset = (page - 1) * size
  if (offset >= deepest)
    rejectParameter('page', `goes to the first ${deepest}; follow next from there`)
  return { ordering, byCursor, page, size, offset, way: cursor?.way ?? 'next', after: cursor?.keys }
}

/** `rows` as they come on the way, one more than the page has if there are more. */
export function buildPage<T extends { readonly keys: readonly string[] }>(
  position: PagePosition,
  rows: readonly T[],
  counted: { count: number; isExact: boolean },
  write: (row: T) => string,
): ListPage {
  const { ordering, byCursor, page, size, offset, way, after } = position
  const shown = rows.slice(0, size)
  // Behind a cursor everything may have gone meanwhile; whoever walks by it comes to an end, not to
  // an error.
  if (shown.length === 0 && page > 1) throw new Problem('not-found', 'There is no such page')
  const isMore = rows.length > size
  const isBack = way === 'previous'
  if (isBack) shown.reverse()
  const cursorTo = (to: Cursor['way'], row: T | undefined) =>
    row && { cursor: writeCursor({ ordering, way: to, keys: [...row.keys] }) }
  const hasNext = isBack || isMore
  const hasPrevious = after ? !isBack || isMore : page > 1
  return {
    ...counted,
    entries: shown.map(write),
    next: !hasNext
      ? undefined
      : byCursor || offset + size >= deepest
        ? cursorTo('next', shown.at(-1))
        : { page: page + 1 },
    previous: !hasPrevious
      ? undefined
      : byCursor
        ? cursorTo('previous', shown[0])
        : { page: page - 1 },
  }
}

export function rejectParameter(name: string, detail: string): never {
  throw new Problem('invalid-query', `The parameter ${name} is wrong`, {
    errors: [{ pointer: `/${name}`, code: 'invalid', detail }],
  })
}
