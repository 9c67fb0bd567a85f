import { validationErrors } from '@talkshelf/contract'
import Type, { type Static } from 'typebox'
import type { OrderField } from './ordering.ts'

// A place in a list: the keys of the record that was shown last, and which way to go on. It is text
// for an address. Nothing in it is believed: it can only ask for what anybody may ask for.

const Cursor = Type.Object(
  {
    ordering: Type.String({ maxLength: 100 }),
    way: Type.Union([Type.Literal('next'), Type.Literal('previous')]),
    keys: Type.Array(Type.String({ maxLength: 1500, format: 'text' }), { maxItems: 6 }),
  },
  { additionalProperties: false },
)
export type Cursor = Static<typeof Cursor>

/** A search puts records in order by how well they match. */
export type CursorKey = OrderField | 'relevance'

export function writeCursor(cursor: Cursor): string {
  return Buffer.from(JSON.stringify(cursor)).toString('base64url')
}

/** Undefined where it is no cursor of ours, or one of a list in another order. */
export function readCursor(
  text: string,
  ordering: string,
  order: readonly { readonly field: CursorKey }[],
): Cursor | undefined {
  try {
    const cursor = JSON.parse(Buffer.from(text, 'base64url').toString()) as Cursor
    const isOurs =
      validationErrors(Cursor, cursor).length === 0 &&
      cursor.ordering === ordering &&
      cursor.keys.length === order.length
    return isOurs && order.every(({ field }, index) => kinds[field](cursor.keys[index] ?? ''))
      ? cursor
      : undefined
  } catch {
    return undefined
  }
}

export const isDate = (text: string) => validationErrors(Day, text).length === 0
const Day = Type.String({ format: 'date' })
const isMoment = (text: string) =>
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(text) &&
  isDate(text.slice(0, 10)) &&
  !Number.isNaN(Date.parse(text))
const isWhole = (limit: number) => (text: string) =>
  /^(-1|\d{1,16})$/.test(text) && Number(text) <= limit

/** What PostgreSQL can make a key of each field of. */
const kinds: Record<CursorKey, (text: string) => boolean> = {
  recorded: (text) => text === '-infinity' || isDate(text),
  title: () => true,
  added: isMoment,
  updated: isMoment,
  duration: isWhole(2_147_483_647),
  id: isWhole(Number.MAX_SAFE_INTEGER),
  relevance: (text) => /^\d{1,3}(\.\d{1,20})?(e-\d{1,2})?$/.test(text),
}
