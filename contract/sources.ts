import Type, { type Static, type TSchema } from 'typebox'
import { endpoint, Id, jsonType, mergePatchType, slugOf } from './endpoint.ts'
import { oneOf } from './formats.ts'
import { CursorText, PageNumber, PageOf, PageSize } from './page.ts'

// Sources: the places where the videos of talks are, and whether they are still there.

export const sourceKinds = [
  'youtube',
  'vimeo',
  'peertube',
  'voctoweb',
  'archive.org',
  'file',
  'page',
] as const
export type SourceKind = (typeof sourceKinds)[number]

/** The video is there, but cannot be played here by everybody. */
export const limitedStates = ['embed-off', 'region', 'age', 'moved'] as const
/** The video is not there any more. */
export const awayStates = ['gone', 'private', 'removed', 'closed'] as const

/** The video cannot be reached: it is not there, or its host does not answer. */
export const missingStates = ['unreachable', ...awayStates] as const

/** What readers are told about: the video cannot be watched here, or its host does not answer. */
export const unavailableStates = ['unreachable', ...limitedStates, ...awayStates] as const
export type UnavailableState = (typeof unavailableStates)[number]

export const sourceStates = ['new', 'ok', 'suspect', ...unavailableStates] as const
export const SourceState = oneOf(
  sourceStates,
  '`new`: not checked yet. `ok`: it is there. `suspect`: the last check was bad, editors only. ' +
    '`unreachable`: its host has not answered for weeks. `embed-off`: it plays only at its host. ' +
    '`region`: not in all countries. `age`: only for adults. `moved`: at another URL. `gone`: it ' +
    'does not exist. `private`: it is no longer public. `removed`: its owner or host removed it. ' +
    '`closed`: the account of its owner is gone',
)
export type SourceState = Static<typeof SourceState>

/** How a check of a source can end: `odd` and `refused` say nothing about the video. */
export const verdicts = ['ok', ...limitedStates, ...awayStates, 'odd', 'refused'] as const
export type Verdict = (typeof verdicts)[number]

const exact = { additionalProperties: false }
const id = Type.Integer({ ...Id, description: 'Id of the source' })
const nullable = <T extends TSchema>(schema: T, description: string) =>
  Type.Union([schema, Type.Null()], { description })
const time = (description: string) => nullable(Type.String(), `${description} (UTC), or null`)

const SourcePin = Type.Object(
  {
    state: oneOf(
      ['ok', ...unavailableStates],
      'The state that the source has until the pin ends, whatever its checks find',
    ),
    until: Type.String({ format: 'date', description: 'The last day of the pin' }),
  },
  exact,
)
export type SourcePin = Static<typeof SourcePin>

const publicSource = {
  id,
  url: Type.String({ description: 'URL of the video, as the first talk has it' }),
  host: Type.String({ description: 'Host that is asked' }),
  state: SourceState,
  since: time('Since when it has this state, if it ever changed'),
  available: Type.Boolean({ description: 'Whether it can be watched, as far as is known' }),
  last_check: time('When its host was asked last'),
  last_good: time('When the video was there last'),
  pinned_until: time('Until when an editor has set the state'),
}

export const Source = Type.Object(publicSource, {
  ...exact,
  description: 'A source: a place where a video is',
})
export type Source = Static<typeof Source>

const ListedSource = Type.Object(
  {
    ...publicSource,
    videos: Type.Array(
      Type.Object({ id: Id, title: Type.String() }, { ...exact, description: 'A talk' }),
      { description: 'Live talks that have it, at most 10' },
    ),
  },
  { ...exact, description: 'A source with its talks' },
)
export type ListedSource = Static<typeof ListedSource>

const SourceChange = Type.Object(
  {
    at: Type.String({ description: 'When the state changed (UTC)' }),
    from: SourceState,
    to: SourceState,
    evidence: nullable(Type.String(), 'What the host answered, or null'),
    by: Type.String({
      description: 'Who changed it: the link checker, or an editor, whose name only editors see',
    }),
  },
  { ...exact, description: 'A change of the state of a source' },
)
export type SourceChange = Static<typeof SourceChange>

const talks = (description: string) => Type.Integer({ minimum: 0, description })

/** Operators and events that the report of what is at risk lists, each. */
export const maxAtRiskRows = 50

export const AtRiskReport = Type.Object(
  {
    talks: talks('Live talks'),
    sources: talks('Sources of live talks'),
    checked: talks('Sources that were checked at least once'),
    unavailable: talks('Live talks whose sources are all away or unreachable'),
    by_operators: Type.Array(
      Type.Object({ operators: Type.Integer({ minimum: 0 }), talks: talks('Live talks') }, exact),
      {
        description:
          'Live talks by the number of independent operators that have them; sources that are away ' +
          'or unreachable are not counted; 4 means 4 or more',
      },
    ),
    hosts: Type.Array(
      Type.Object(
        {
          operator: Type.String({ description: 'Domain of who runs the host' }),
          talks: talks('Live talks with a source there'),
          only: talks('Live talks that have no other operator'),
          unavailable: talks('Live talks whose sources there are all away or unreachable'),
        },
        exact,
      ),
      {
        description:
          `The ${maxAtRiskRows} operators with the most talks that no other has, then with the ` +
          'most talks',
      },
    ),
    events: Type.Array(
      Type.Object(
        {
          category: Type.Object({ id: Id, title: Type.String(), slug: Type.String() }, exact),
          talks: talks('Live talks'),
          single: talks('Live talks with one operator or none'),
          unavailable: talks('Live talks whose sources are all away or unreachable'),
        },
        exact,
      ),
      {
        description:
          `The ${maxAtRiskRows} events with the most unavailable talks, ` +
          'then with the most at risk',
      },
    ),
    losses: Type.Array(
      Type.Object(
        {
          month: Type.String({ description: 'YYYY-MM' }),
          lost: talks('Sources of live talks that went away'),
          returned: talks('Sources that came back'),
        },
        exact,
      ),
      { description: 'The last 24 months with changes, oldest first' },
    ),
  },
  { ...exact, description: 'How safe the recordings are' },
)
export type AtRiskReport = Static<typeof AtRiskReport>

export const SourcePatch = Type.Object(
  { pin: nullable(SourcePin, 'Pins the state, or null to end the pin') },
  { ...exact, description: 'What an editor changes about a source' },
)

export const listVideoSourcesEndpoint = endpoint({
  name: 'listVideoSources',
  method: 'GET',
  path: '/api/v2/video/{id}/sources',
  role: 'anyone',
  summary: 'List the sources of a record',
  description: 'Where the video of a talk is, and whether it was there at the last check.',
  params: { id: Id },
  response: {
    status: 200,
    schema: Type.Object(
      { results: Type.Array(Source) },
      { ...exact, description: 'The sources of a record' },
    ),
  },
  problems: ['taken-down'],
})

export const listSourcesEndpoint = endpoint({
  name: 'listSources',
  method: 'GET',
  path: '/api/v2/source',
  role: 'anyone',
  summary: 'List sources',
  description:
    'Sources of live talks, by their id. Sources whose last check was bad have the state `suspect` ' +
    'for editors; for others they are `ok` until that is certain.',
  query: {
    state: SourceState,
    host: Type.String({ minLength: 1, maxLength: 253, description: 'Only of this host' }),
    category: slugOf('category'),
    page: PageNumber,
    page_size: PageSize,
    cursor: CursorText,
  },
  requestHeaders: ['If-None-Match'],
  response: { status: 200, schema: PageOf(ListedSource, 'A page of sources'), etag: true },
  problems: [],
})

export const readAtRiskEndpoint = endpoint({
  name: 'readAtRisk',
  method: 'GET',
  path: '/api/v2/source/report',
  role: 'anyone',
  summary: 'Read which talks are at risk',
  description:
    'How many talks are at one operator only, or at none that can be reached. At most an hour old.',
  response: { status: 200, schema: AtRiskReport },
  problems: [],
})

export const listSourceHistoryEndpoint = endpoint({
  name: 'listSourceHistory',
  method: 'GET',
  path: '/api/v2/source/{id}/history',
  role: 'anyone',
  summary: 'List the changes of the state of a source',
  description: 'Newest first, at most 100.',
  params: { id },
  response: {
    status: 200,
    schema: Type.Object(
      { results: Type.Array(SourceChange) },
      { ...exact, description: 'The history of a source' },
    ),
  },
  problems: [],
})

export const checkSourceEndpoint = endpoint({
  name: 'checkSource',
  method: 'POST',
  path: '/api/v2/source/{id}/check',
  role: 'editor',
  summary: 'Check a source soon',
  description:
    'It is checked as soon as the rate limit for its host allows, by a process that checks links ' +
    '(`CHECK_LINKS`).',
  params: { id },
  response: { status: 200, schema: Source },
  problems: [],
})

export const patchSourceEndpoint = endpoint({
  name: 'patchSource',
  method: 'PATCH',
  path: '/api/v2/source/{id}',
  role: 'editor',
  summary: 'Pin the state of a source',
  params: { id },
  body: { schema: SourcePatch, types: [mergePatchType, jsonType] },
  response: { status: 200, schema: Source },
  problems: [],
})

export const sourceEndpoints = {
  listVideoSources: listVideoSourcesEndpoint,
  listSources: listSourcesEndpoint,
  readAtRisk: readAtRiskEndpoint,
  listSourceHistory: listSourceHistoryEndpoint,
  checkSource: checkSourceEndpoint,
  patchSource: patchSourceEndpoint,
} as const
