import type { CursorKey } from '../platform/http/cursor.ts'

// Sort orders of records. Every order ends with the id, so that it is total.

/** Sort keys that PostgreSQL computes; relevance comes from the search. */
export type OrderField = Exclude<CursorKey, 'relevance'>

export interface OrderPart {
  readonly field: OrderField
  readonly descending: boolean
}

export const defaultOrdering = '-recorded,title'

/**
 * The order of an event: by day, by the position that an import found, by title. It has no index,
 * and is only for the talks of one category.
 */
export const programmeOrdering = 'day,programme,title'

/**
 * Parses the `ordering` parameter, whose field names were validated before. A repeated field is
 * ignored: only its first use sorts.
 */
export function parseOrdering(text: string): OrderPart[] {
  const parts = `${text},id`.split(',').map((part) => ({
    field: part.replace('-', '') as OrderField,
    descending: part.startsWith('-'),
  }))
  return parts.filter(
    ({ field }, index) => parts.findIndex((other) => other.field === field) === index,
  )
}

/** Returns the opposite order, in which the previous page is read. */
export function reverseOrdering(order: readonly OrderPart[]): OrderPart[] {
  return order.map(({ field, descending }) => ({ field, descending: !descending }))
}
