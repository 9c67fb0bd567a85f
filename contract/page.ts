import Type, { type TSchema } from 'typebox'

/** The envelope of every collection. */
export function PageOf<T extends TSchema>(items: T, about: string) {
  return Type.Object(
    {
      count: Type.Integer({ minimum: 0, description: 'How many there are in all' }),
      count_exact: Type.Optional(
        Type.Literal(false, {
          description:
            'Only there when the count is an estimate: above 10,000, unless it is of all records or of one category, speaker, tag or language; or above 1,000 found by q',
        }),
      ),
      next: Type.Union([Type.String(), Type.Null()], {
        description: 'The address of the next page',
      }),
      previous: Type.Union([Type.String(), Type.Null()], {
        description: 'The address of the page before',
      }),
      results: Type.Array(items),
    },
    { additionalProperties: false, description: about },
  )
}

export const PageNumber = Type.Integer({
  minimum: 1,
  maximum: 1_000_000,
  description: 'Which page, counted from 1. Past the last one: 404',
})

export const PageSize = Type.Integer({
  minimum: 1,
  maximum: 100,
  description: 'How many on a page',
})

export const CursorText = Type.String({
  pattern: '^[A-Za-z0-9_-]{0,8000}$',
  description:
    'A place in the collection, from an address in next or previous; it stays right while records come and go. Empty: the beginning',
})
