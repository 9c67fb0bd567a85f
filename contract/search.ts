import Type from 'typebox'
import { endpoint, Id, Slug } from './endpoint.ts'
import './formats.ts'

// What comes with a search, besides the records.

export const SearchText = Type.String({
  maxLength: 300,
  format: 'text',
  description:
    'Words to look for; "a phrase"; -not; or. Case, accents and endings do not matter. Empty: nothing is looked for',
})

/** Steps of lengths that people think in, and what they are called. */
export const durationRanges = {
  unknown: 'not known',
  'under-10': 'under 10 minutes',
  '10-to-30': '10 to 30 minutes',
  '30-to-60': '30 to 60 minutes',
  'over-60': 'an hour and more',
} as const

const lengthNames = Object.keys(durationRanges) as (keyof typeof durationRanges)[]

export const DurationRange = Type.Union(
  lengthNames.map((name) => Type.Literal(name)),
  { description: 'How long the talk is, in minutes' },
)

export const Include = Type.String({
  pattern: '^(facets|snippets)(,(facets|snippets))?$',
  description: 'What to send besides the records, comma separated: facets, snippets',
})

export const SearchInterpretation = Type.Object(
  {
    corrected: Type.Array(
      Type.Object({ from: Type.String(), to: Type.String() }, { additionalProperties: false }),
      {
        description: 'Words that hardly any talk has, and what was looked for instead',
      },
    ),
    loose: Type.Boolean({ description: 'No talk has all the words: these have some of them' }),
  },
  { additionalProperties: false, description: 'What became of the question' },
)

const pieces = (description: string) =>
  Type.Array(
    Type.Object(
      { text: Type.String(), hit: Type.Optional(Type.Literal(true)) },
      { additionalProperties: false },
    ),
    { description },
  )

export const Snippet = Type.Object(
  {
    id: Id,
    title: pieces('The title in pieces; the words that were found are marked'),
    excerpt: pieces('A piece of the summary or the description in the same way'),
  },
  {
    additionalProperties: false,
    description: 'Why a record was found. Plain text: nothing in it is markup',
  },
)

const values = Type.Array(
  Type.Object(
    {
      value: Type.String({ description: 'For the parameter of the same name' }),
      name: Type.String(),
      talks: Type.Integer({ minimum: 1 }),
    },
    { additionalProperties: false },
  ),
)

export const Facets = Type.Object(
  {
    exact: Type.Boolean({
      description:
        'False where more than 10,000 records match: then the newest 10,000 were counted',
    }),
    category: values,
    language: values,
    year: values,
    speaker: values,
    tag: values,
    duration: values,
  },
  {
    additionalProperties: false,
    description: 'How many of the records there are of each: the twenty commonest',
  },
)

const named = Type.Array(
  Type.Object(
    { name: Type.String(), slug: Slug, talks: Type.Integer({ minimum: 1 }) },
    { additionalProperties: false },
  ),
)

export const suggestEndpoint = endpoint({
  name: 'suggest',
  method: 'GET',
  path: '/api/v2/suggest',
  role: 'anyone',
  summary: 'Suggest while somebody types',
  description:
    'Up to five talks, speakers, categories and tags that begin so, or that were probably meant.',
  query: { q: SearchText },
  requestHeaders: ['If-None-Match'],
  response: {
    status: 200,
    schema: Type.Object(
      {
        talks: Type.Array(
          Type.Object(
            { id: Id, title: Type.String(), slug: Slug },
            { additionalProperties: false },
          ),
        ),
        speakers: named,
        categories: named,
        tags: named,
      },
      { additionalProperties: false, description: 'Suggestions' },
    ),
    etag: true,
  },
  problems: [],
})
