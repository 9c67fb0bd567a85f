import Type from 'typebox'
import { endpoint, Id } from './endpoint.ts'
import { Video } from './videos.ts'

// Where to go on from a talk.

const some = (description: string) => Type.Array(Video, { maxItems: 6, description })

export const RelatedTalks = Type.Object(
  {
    also: some(
      'The same talk at other events: of the same title, and by at least one of its speakers',
    ),
    speakers: some('The newest other talks of its speakers'),
    event: some('Its neighbours in its category, in the order of the category'),
    similar: some(
      'Talks that have words of their title or tags in common with it, the nearest first',
    ),
  },
  { additionalProperties: false, description: 'Live records, each in one of the lists' },
)

export const readRelatedEndpoint = endpoint({
  name: 'readRelated',
  method: 'GET',
  path: '/api/v2/video/{id}/related',
  role: 'anyone',
  summary: 'Read what to see after a record',
  description: 'Up to six records in each list; none is in two of them. Nothing is like a draft.',
  params: { id: Id },
  // None; but it costs its caller as much as any list.
  query: {},
  requestHeaders: ['If-None-Match'],
  response: { status: 200, schema: RelatedTalks, etag: true },
  problems: ['taken-down'],
})
