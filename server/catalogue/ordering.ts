import type { orderings } from '@talkshelf/contract'

// In which order records are listed. The id comes last in every order, so that no two records have the same place.

export type Field = (typeof orderings)[number] | 'id'

export interface OrderPart {
  readonly field: Field
  readonly descending: boolean
}

export const usualOrdering = '-recorded,title'

/** A field that was named before decides nothing the second time. */
export function readOrdering(text: string): OrderPart[] {
  const parts = `${text},id`.split(',').map((part) => ({ field: part.replace('-', '') as Field, descending: part.startsWith('-') }))
  return parts.filter(({ field }, place) => parts.findIndex((other) => other.field === field) === place)
}

/** The same order from the other end. */
export function reversed(order: readonly OrderPart[]): OrderPart[] {
  return order.map(({ field, descending }) => ({ field, descending: !descending }))
}
