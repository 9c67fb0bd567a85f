import Type, { type Static } from 'typebox'
import { endpoint, Id, jsonType } from './endpoint.ts'
import { oneOf } from './formats.ts'

// Facts about a talk that the record has no field for. The 32 fields of the record are fixed.

const address = Type.String({ minLength: 1, maxLength: 4096, format: 'text' })
const exact = { additionalProperties: false }
/** Recordings of a whole event may have several days. */
const seconds = { minimum: 0, maximum: 1_000_000 }

export const recordingStatuses = ['expected', 'not-recorded', 'not-published', 'opted-out'] as const

export const RecordingStatus = oneOf(
  recordingStatuses,
  '`expected`: not published yet. `not-recorded`: there is none. `not-published`: it is not ' +
    'available. `opted-out`: the speakers did not want one',
)
export type RecordingStatus = Static<typeof RecordingStatus>

export const Fact = Type.Union(
  [
    Type.Object(
      {
        kind: Type.Literal('media'),
        url: address,
        type: Type.String({
          maxLength: 100,
          format: 'text',
          description: 'Format such as mp4, or name of the host',
        }),
        size: Type.Union(
          [Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }), Type.Null()],
          { description: 'Size in bytes' },
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
      { ...exact, description: 'Related material: slides, code, a paper' },
    ),
    Type.Object(
      {
        kind: Type.Literal('address'),
        path: Type.String({ minLength: 1, maxLength: 1000, format: 'text' }),
      },
      {
        ...exact,
        description: 'Path of the talk in the previous archive',
      },
    ),
    Type.Object(
      {
        kind: Type.Literal('programme'),
        position: Type.Integer({ minimum: 1, maximum: 2_147_483_647 }),
      },
      {
        ...exact,
        description:
          'Position of the talk in the programme of its event. The page of the event sorts the ' +
          'talks of a day by it',
      },
    ),
    Type.Object(
      {
        kind: Type.Literal('part'),
        url: address,
        start: Type.Integer({ ...seconds, description: 'Where the talk starts, in seconds' }),
        end: Type.Union([Type.Integer(seconds), Type.Null()], {
          description: 'Where the talk ends, in seconds. Null if it is the last one',
        }),
      },
      {
        ...exact,
        description:
          'The talk is a part of this recording, which holds several. It is played from its start ' +
          'to its end',
      },
    ),
    Type.Object(
      {
        kind: Type.Literal('slot'),
        start: Type.String({
          maxLength: 40,
          format: 'date-time',
          description: 'When the talk starts, with its offset from UTC (RFC 3339)',
        }),
        minutes: Type.Union([Type.Integer({ minimum: 1, maximum: 10_000 }), Type.Null()], {
          description: 'Planned length',
        }),
        room: Type.String({ maxLength: 200, format: 'text', description: 'Empty if unknown' }),
      },
      { ...exact, description: 'When and where the talk is in the schedule of its event' },
    ),
    Type.Object(
      { kind: Type.Literal('recording'), status: RecordingStatus },
      {
        ...exact,
        description:
          'Why there is no recording. A draft with this fact is in the public schedule of its ' +
          'event, and nowhere else',
      },
    ),
    Type.Object(
      {
        kind: Type.Literal('said'),
        source: Type.String({
          minLength: 1,
          maxLength: 100,
          format: 'text',
          description: 'Import source of the record',
        }),
        field: Type.String({ minLength: 1, maxLength: 100, format: 'text' }),
        value: Type.Unknown(),
      },
      {
        ...exact,
        description:
          'Raw value from a source for which the record has no field, or which it stores in ' +
          'another form. Only for editors: a raw value can contain a name that is no longer shown',
      },
    ),
  ],
  { description: 'A fact about a talk' },
)
export type Fact = Static<typeof Fact>

export const Facts = Type.Object(
  { facts: Type.Array(Fact, { maxItems: 1000 }) },
  { ...exact, description: 'All facts of a record' },
)
export type Facts = Static<typeof Facts>

const params = { id: Id }

export const readFactsEndpoint = endpoint({
  name: 'readFacts',
  method: 'GET',
  path: '/api/v2/video/{id}/facts',
  role: 'anyone',
  summary: 'Read the facts of a record',
  description:
    'Other copies, parts of recordings, related links and former paths. Editors also get raw ' +
    'source values (`said`), which can contain names that are no longer shown.',
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
  forEventEditors: true,
  summary: 'Replace the facts of a record',
  description:
    'Replaces the whole list. Facts have an ETag of their own: that of the record does not change.',
  params,
  requestHeaders: ['If-Match'],
  // Four keys each, and raw source values can have more.
  body: { schema: Facts, types: [jsonType], maxKeys: 10_000 },
  response: { status: 200, schema: Facts, etag: true },
  problems: ['taken-down', 'merged'],
})

export const factsEndpoints = {
  readFacts: readFactsEndpoint,
  replaceFacts: replaceFactsEndpoint,
} as const
