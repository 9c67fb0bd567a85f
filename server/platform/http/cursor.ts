import { type orderings, validationErrors } from '@talkshelf/contract'
import Type, { type Static } from 'typebox'

// A position in a list as text for a URL: the sort keys of the last visible record, and the
// direction to go on in. Cursors are not signed: the keys are validated and select nothing that
// filters could not select.

const Cursor = Type.Object(
  {
    ordering: Type.String({ maxLength: 100 }),
    way: Type.Union([Type.Literal('next'), Type.Literal('previous')]),
    keys: Type.Array(Type.String({ maxLength: 1500, format: 'text' }), { maxItems: 6 }),
  },
  { additionalProperties: false },
)
export type Cursor = Static<typeof Cursor>

/** A sort key of a list. Entities have no other keys than `title` and `id`. */
export type CursorKey = (typeof orderings)[number] | 'day' | 'programme' | 'id' | 'relevance'

/** Encodes a cursor for the query string. */
export function writeCursor(cursor: Cursor): string {
  return Buffer.from(JSON.stringify(cursor)).toString('base64url')
}

/** Decodes a cursor. Returns undefined if it is malformed or belongs to another ordering. */
export function readCursor(
  text: string,
  ordering: string,
  order: readonly { readonly field: CursorKey }[],
): Cursor | undefined {
  try {
    const cursor = JSON.parse(Buffer.from(text, 'base64url').toString()) as Cursor
    const isForOrdering =
      validationErrors(Cursor, cursor).length === 0 &&
      cursor.ordering === ordering &&
      cursor.keys.length === order.length
    const hasValidKeys = () =>
      order.every(({ field }, index) => isValidKey[field](cursor.keys[index] ?? ''))
    return isForOrdering && hasValidKeys() ? cursor : undefined
  } catch {
    return undefined
  }
}

const DateText = Type.String({ format: 'date' })

/** Tells whether a text is a date of the calendar, YYYY-MM-DD. */
export const isDate = (text: string) => validationErrors(DateText, text).length === 0

const isTimestamp = (text: string) =>
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(text) &&
  isDate(text.slice(0, 10)) &&
  !Number.isNaN(Date.parse(text))
const isIntegerUpTo = (max: number) => (text: string) =>
  /^(-1|\d{1,16})$/.test(text) && Number(text) <= max

/** Accepts exactly the texts that PostgreSQL can cast to the type of each key. */
const isValidKey: Record<CursorKey, (text: string) => boolean> = {
  recorded: (text) => text === '-infinity' || isDate(text),
  day: (text) => text === 'infinity' || isDate(text),
  title: () => true,
  added: isTimestamp,
  updated: isTimestamp,
  duration: isIntegerUpTo(2_147_483_647),
  programme: isIntegerUpTo(2_147_483_647),
  id: isIntegerUpTo(Number.MAX_SAFE_INTEGER),
  relevance: (text) => /^-?\d{1,4}(\.\d{1,20})?(e-\d{1,2})?$/.test(text),
}
