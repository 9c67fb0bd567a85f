import Type, { type TSchema } from 'typebox'
import { matching } from './formats.ts'

/** Returns the schema of a page of a collection. */
export function PageOf<T extends TSchema>(items: T, description: string) {
  return Type.Object(
    {
      count: Type.Integer({ minimum: 0, description: 'Total number of results' }),
      count_exact: Type.Optional(
        Type.Literal(false, {
          description:
            'Only present if the count is an estimate: above 10,000, except for all records, ' +
            'those of one category, speaker, tag or language, and those of years, a language and ' +
            'a duration; or above 1,000 with q. It is never above the number of records of a ' +
            'category, speaker, tag, language or duration in the filter, nor of its years',
        }),
      ),
      next: Type.Union([Type.String(), Type.Null()], {
        description: 'URL of the next page',
      }),
      previous: Type.Union([Type.String(), Type.Null()], {
        description: 'URL of the previous page',
      }),
      results: Type.Array(items),
    },
    { additionalProperties: false, description },
  )
}

export const PageNumber = Type.Integer({
  minimum: 1,
  maximum: 1_000_000,
  description: 'Page number, from 1. A page out of range returns 404',
})

export const PageSize = Type.Integer({
  minimum: 1,
  maximum: 100,
  description: 'Results per page. Default: 20, or 50 for categories, speakers, tags and languages',
})

export const CursorText = matching(
  '^[A-Za-z0-9_-]{0,8000}$',
  'must be the cursor in the URL of next or previous, or empty',
  {
    description:
      'Position in the collection, taken from the URL in next or previous; it stays valid while ' +
      'records are added or removed. Empty: the beginning',
  },
)
