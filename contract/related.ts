import Type from 'typebox'
import { endpoint, Id } from './endpoint.ts'
import { Video } from './videos.ts'

// Related talks.

const talkList = (description: string) => Type.Array(Video, { maxItems: 6, description })

export const RelatedTalks = Type.Object(
  {
    also: talkList('The same talk at other events: same title, and at least one speaker in common'),
    speakers: talkList('Newest other talks by its speakers'),
    event: talkList('Talks before and after it in its category'),
    similar: talkList(
      'Talks on the same subject of other events and speakers, by title, tags and description, ' +
        'most similar first. New talks may be missing for a week',
    ),
  },
  { additionalProperties: false, description: 'Live records, each in one list only' },
)

export const readRelatedEndpoint = endpoint({
  name: 'readRelated',
  method: 'GET',
  path: '/api/v2/video/{id}/related',
  role: 'anyone',
  summary: 'List related talks',
  description: 'Up to six live records per list; no record is in two lists.',
  params: { id: Id },
  // Empty, but present: it makes the request cost as much as a list.
  query: {},
  requestHeaders: ['If-None-Match'],
  response: { status: 200, schema: RelatedTalks, etag: true },
  problems: ['taken-down'],
})

export const relatedEndpoints = { readRelated: readRelatedEndpoint } as const
