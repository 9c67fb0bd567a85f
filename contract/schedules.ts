import Type, { type Static } from 'typebox'
import { endpoint, Slug } from './endpoint.ts'
import { RecordingStatus } from './facts.ts'

// Schedules of events.

const ScheduledTalk = Type.Object(
  {
    id: Type.Integer(),
    title: Type.String(),
    speakers: Type.Array(Type.String()),
    start: Type.Union([Type.String(), Type.Null()], {
      description: 'When it starts, with its offset from UTC. Null if unknown',
    }),
    minutes: Type.Union([Type.Integer(), Type.Null()], { description: 'Planned length' }),
    room: Type.String(),
    recording: Type.Union([RecordingStatus, Type.Literal('published'), Type.Null()], {
      description: 'Whether there is a recording, or why not. Null if unknown',
    }),
    url: Type.Union([Type.String(), Type.Null()], {
      description: 'Page of the talk. Null if it is not public',
    }),
  },
  { additionalProperties: false, description: 'A talk of a schedule' },
)

export const Schedule = Type.Object(
  { talks: Type.Array(ScheduledTalk) },
  { additionalProperties: false, description: 'The schedule of an event' },
)
export type Schedule = Static<typeof Schedule>

export const readScheduleEndpoint = endpoint({
  name: 'readSchedule',
  method: 'GET',
  path: '/api/v2/category/{slug}/schedule',
  role: 'anyone',
  summary: 'Read the schedule of an event',
  description:
    'Live talks with a slot, and talks without a recording whose fact `recording` says why. Sorted ' +
    'by start and room. The page of the event also offers it as an iCalendar file.',
  params: { slug: Slug },
  // Empty, but present: it makes the request cost as much as a list.
  query: {},
  requestHeaders: ['If-None-Match'],
  response: { status: 200, schema: Schedule, etag: true, redirects: true },
  problems: ['slug-retired'],
})

export const scheduleEndpoints = { readSchedule: readScheduleEndpoint } as const
