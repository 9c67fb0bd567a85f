import Type, { type Static } from 'typebox'
import { endpoint, Id, jsonType } from './endpoint.ts'

// Scheduled publication: a draft goes live at a time.

export const PublicationInput = Type.Object(
  {
    publish_at: Type.Union([Type.String({ maxLength: 40 }), Type.Null()], {
      description:
        'When the record goes live: a time with its offset from UTC (RFC 3339). Null cancels it',
    }),
  },
  { additionalProperties: false, description: 'When to publish a draft' },
)

const Publication = Type.Object(
  {
    publish_at: Type.Union([Type.String(), Type.Null()], {
      description: 'When the record goes live, in UTC. Null: it is not scheduled',
    }),
    by: Type.Union([Type.String(), Type.Null()], { description: 'Who scheduled it' }),
  },
  { additionalProperties: false, description: 'Scheduled publication of a draft' },
)
export type Publication = Static<typeof Publication>

const path = '/api/v2/video/{id}/publication'
const access = { role: 'editor', forEventEditors: true } as const

export const readPublicationEndpoint = endpoint({
  name: 'readPublication',
  method: 'GET',
  path,
  ...access,
  summary: 'Read when a draft goes live',
  params: { id: Id },
  response: { status: 200, schema: Publication },
  problems: ['taken-down'],
})

export const schedulePublicationEndpoint = endpoint({
  name: 'schedulePublication',
  method: 'PUT',
  path,
  ...access,
  summary: 'Schedule when a draft goes live',
  description:
    'At that time `state` becomes 1, as a change by the caller. Any change of `state` before then ' +
    'cancels it. Changes of other fields do not: the record goes live as it is by then.',
  params: { id: Id },
  body: { schema: PublicationInput, types: [jsonType] },
  response: { status: 200, schema: Publication },
  problems: ['taken-down', 'wrong-state'],
})

export const publicationEndpoints = {
  readPublication: readPublicationEndpoint,
  schedulePublication: schedulePublicationEndpoint,
} as const
