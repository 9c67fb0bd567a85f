import Type, { type Static } from 'typebox'
import { endpoint, Id, jsonType } from './endpoint.ts'
import './formats.ts'

// What is known about a talk and has no field in its record: the record has 32 fields and never
// gets another one.

const address = Type.String({ minLength: 1, maxLength: 4096, format: 'text' })
const exact = { additionalProperties: false }

export const Fact = Type.Union(
  [
    Type.Object(
      {
        kind: Type.Literal('media'),
        url: address,
        type: Type.String({
          maxLength: 100,
          format: 'text',
          description: 'A format such as mp4, or the name of the host',
        }),
        size: Type.Union(
          [Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }), Type.Null()],
          { description: 'Bytes' },
        ),
      },
      { ...exact, description: 'Another copy of the recording' },
    ),
    Type.Object(
      {
        kind: Type.Literal('related'),
        url: address,
        label: Type.Union([Type.String({ maxLength: 1000, format: 'text' }), Type.Null()]),
      },
      { ...exact, description: 'Something that belongs to the talk: slides, code, a paper' },
    ),
    Type.Object(
      {
        kind: Type.Literal('address'),
        path: Type.String({ minLength: 1, maxLength: 1000, format: 'text' }),
      },
      {
        ...exact,
        description: 'A path under which the talk was found in the archive before this one',
      },
    ),
    Type.Object(
      {
        kind: Type.Literal('said'),
        source: Type.String({
          minLength: 1,
          maxLength: 100,
          format: 'text',
          description: 'Where the record was imported from',
        }),
        field: Type.String({ minLength: 1, maxLength: 100, format: 'text' }),
        value: Type.Unknown(),
      },
      {
        ...exact,
        description:
          'What a source says where the record has no field for it, or keeps it in another form. ' +
          'Only editors get these: a raw value may hold a name that is no longer shown',
      },
    ),
  ],
  { description: 'Something that is known about a talk' },
)
export type Fact = Static<typeof Fact>

export const Facts = Type.Object(
  { facts: Type.Array(Fact, { maxItems: 1000 }) },
  { ...exact, description: 'All that is attached to a record' },
)
export type Facts = Static<typeof Facts>

const params = { id: Id }

export const readFactsEndpoint = endpoint({
  name: 'readFacts',
  method: 'GET',
  path: '/api/v2/video/{id}/facts',
  role: 'anyone',
  summary: 'Read what is attached to a record',
  description:
    'Other copies, related addresses and former paths. Editors also get the raw values of sources ' +
    '(`said`), which may hold names that are no longer shown.',
  params,
  requestHeaders: ['If-None-Match'],
  response: { status: 200, schema: Facts, etag: true },
  problems: ['taken-down'],
})

export const replaceFactsEndpoint = endpoint({
  name: 'replaceFacts',
  method: 'PUT',
  path: '/api/v2/video/{id}/facts',
  role: 'editor',
  summary: 'Replace what is attached to a record',
  description:
    'The whole list. It has versions of its own: the record and its ETag stay as they are.',
  params,
  requestHeaders: ['If-Match'],
  // Four for each, and what sources said may have keys of its own.
  body: { schema: Facts, types: [jsonType], maxKeys: 10_000 },
  response: { status: 200, schema: Facts, etag: true },
  problems: ['taken-down'],
})
