import Type from 'typebox'
import { endpoint, Id, Slug } from './endpoint.ts'
import { commaSeparated } from './formats.ts'

// Search parameters, and what a search returns besides the records.

export const SearchText = Type.String({
  maxLength: 300,
  format: 'text',
  description:
    'Search text: words, "a phrase", -excluded, or. Case, accents and word endings are ignored. ' +
    'Empty: no search',
})

export const Spelling = Type.Literal('exact', {
  description: '`exact`: searches for the words as they are, without corrected spelling',
})

/** Ranges of the length filter, with their labels. */
export const durationRanges = {
  unknown: 'unknown',
  'under-10': 'under 10 minutes',
  '10-to-30': '10 to 30 minutes',
  '30-to-60': '30 to 60 minutes',
  'over-60': '60 minutes or more',
} as const

const rangeNames = Object.keys(durationRanges) as (keyof typeof durationRanges)[]

export const DurationRange = Type.Union(
  rangeNames.map((name) => Type.Literal(name)),
  { description: 'Length of the talk in minutes' },
)

export const Include = commaSeparated(
  ['facets', 'snippets'],
  { maxItems: 2 },
  'What to include besides the records, comma-separated: facets, snippets',
)

export const SearchInterpretation = Type.Object(
  {
    corrected: Type.Array(
      Type.Object({ from: Type.String(), to: Type.String() }, { additionalProperties: false }),
      {
        description: 'Words that are probably misspelled, and the words searched for instead',
      },
    ),
    loose: Type.Boolean({
      description:
        'Whether the results contain only some of the words, because no talk contains all',
    }),
    all_words: Type.Integer({
      minimum: 0,
      description:
        'How many of the results contain all of the words. They come first; if they are few, ' +
        'others with some of the words follow. An estimate if `count` is one',
    }),
  },
  { additionalProperties: false, description: 'How the query was interpreted' },
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
    title: pieces('The title in pieces; matching words have `hit`'),
    excerpt: pieces('An excerpt of the summary or description, in the same way'),
  },
  {
    additionalProperties: false,
    description: 'Where the record matches. Plain text without markup',
  },
)

const values = Type.Array(
  Type.Object(
    {
      value: Type.String({ description: 'Value for the query parameter of the same name' }),
      name: Type.String(),
      talks: Type.Integer({ minimum: 1 }),
    },
    { additionalProperties: false },
  ),
)

export const facetKinds = ['category', 'language', 'year', 'speaker', 'tag', 'duration'] as const

export const Facets = Type.Object(
  {
    exact: Type.Boolean({
      description: 'Whether all numbers are exact: always up to 10,000 matching records',
    }),
    estimated: Type.Optional(
      Type.Array(Type.Union(facetKinds.map((kind) => Type.Literal(kind))), {
        description: 'Only present if `exact` is false: the facets whose numbers are estimates',
      }),
    ),
    category: values,
    language: values,
    year: values,
    speaker: values,
    tag: values,
    duration: values,
  },
  {
    additionalProperties: false,
    description:
      'Number of matching records by value: the 20 most frequent values each. Years are counted ' +
      'without the filter `year`, so that others can be chosen. Missing without q while the ' +
      'archive is busy',
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
  summary: 'Autocomplete',
  description:
    'Up to five talks, speakers, categories and tags each. The words of a name may be in any ' +
    'order and unfinished; if there is none with them, each may have a typo. Categories are also found by their city, country and series.',
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

export const searchEndpoints = { suggest: suggestEndpoint } as const
