import Type, { type TSchema } from 'typebox'

/** The envelope of every collection. */
export function Page<T extends TSchema>(items: T, about: string) {
  return Type.Object(
    {
      count: Type.Integer({ minimum: 0, description: 'How many there are in all' }),
      next: Type.Union([Type.String(), Type.Null()], { description: 'The address of the next page' }),
      previous: Type.Union([Type.String(), Type.Null()], { description: 'The address of the page before' }),
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
