import type { orderings } from '@talkshelf/contract'

// In which order records are listed. The id comes last in every order, so that no two records have
// the same place.

export type OrderField = (typeof orderings)[number] | 'id'

export interface OrderPart {
  readonly field: OrderField
  readonly descending: boolean
}

export const defaultOrdering = '-recorded,title'

/** A field that was named before decides nothing the second time. */
export function parseOrdering(text: string): OrderPart[] {
  const parts = `${text},id`.split(',').map((part) => ({
    field: part.replace('-', '') as OrderField,
    descending: part.startsWith('-'),
  }))
  return parts.filter(
    ({ field }, index) => parts.findIndex((other) => other.field === field) === index,
  )
}

/** The same order from the other end. */
export function reverseOrdering(order: readonly OrderPart[]): OrderPart[] {
  return order.map(({ field, descending }) => ({ field, descending: !descending }))
}
