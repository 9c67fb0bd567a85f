import Type, { type Static } from 'typebox'
import { endpoint, Id, jsonType, mergePatchType } from './endpoint.ts'
import { oneOf } from './formats.ts'
import { ImportInput } from './imports.ts'

// Followed sources: URLs of playlists and schedules that are fetched again on a schedule. What is
// new becomes a planned import. All endpoints are for editors of the whole archive, as imports are.

export const followedSourceStates = ['active', 'failing', 'paused', 'disabled'] as const
export const fetchOutcomes = ['planned', 'unchanged', 'waiting', 'failed'] as const

/** The highest number of followed sources of an archive. */
export const maxFollowedSources = 200
/** The bounds and the default of the interval in hours. The longest one is a month. */
export const fetchInterval = { min: 1, max: 744, default: 24 } as const
/** A followed source is disabled after this many failures in a row. */
export const maxFetchFailures = 10

const exact = { additionalProperties: false }
const id = Type.Integer({ ...Id, description: 'Id of the followed source' })
const url = Type.String({
  minLength: 1,
  maxLength: 2048,
  format: 'web-url',
  description: 'Public http or https URL of the file, on port 80 or 443',
})
const intervalHours = Type.Integer({
  minimum: fetchInterval.min,
  maximum: fetchInterval.max,
  description: 'Hours between two fetches',
})
const { url: _url, text: _text, ...importOptions } = ImportInput.properties

/** What the imports of a followed source are given: the options of an import. */
export const FollowedSourceOptions = Type.Object(importOptions, {
  ...exact,
  description: 'Options of its imports, as in `POST /api/v2/import`',
})
export type FollowedSourceOptions = Static<typeof FollowedSourceOptions>

const maybeTime = (description: string) =>
  Type.Union([Type.String(), Type.Null()], { description: `${description}, or null` })

export const FollowedSource = Type.Object(
  {
    id,
    url,
    options: FollowedSourceOptions,
    interval_hours: intervalHours,
    state: oneOf(
      followedSourceStates,
      '`active`: it is fetched on its schedule. `failing`: the last fetch failed and is ' +
        `repeated, less and less often. \`paused\`: by an editor, or because who set it up may ` +
        `no longer import. \`disabled\`: after ${maxFetchFailures} failures in a row`,
    ),
    by: Type.String({
      description: 'Who set it up, changed or resumed it last. Its imports have this name',
    }),
    created: Type.String({ description: 'When it was created (UTC)' }),
    last_fetch: maybeTime('When the last fetch ended (UTC)'),
    outcome: Type.Union([oneOf(fetchOutcomes, ''), Type.Null()], {
      description:
        'How the last fetch ended. `planned`: an import waits. `unchanged`: nothing is new. ' +
        '`waiting`: nothing was planned, because its last import is in use. `failed`: `message` ' +
        'says why. Null before the first fetch',
    }),
    message: Type.Union([Type.String(), Type.Null()], {
      description: 'Details of the outcome, or null',
    }),
    waiting_import: Type.Union([Id, Type.Null()], {
      description: 'Id of its import that was planned and can still be applied, or null',
    }),
    failures: Type.Integer({ minimum: 0, description: 'How many fetches in a row have failed' }),
    next_fetch: maybeTime('When it is fetched next (UTC)'),
  },
  { ...exact, description: 'A followed source' },
)
export type FollowedSource = Static<typeof FollowedSource>

export const FollowedSourceInput = Type.Object(
  {
    url,
    options: Type.Optional(FollowedSourceOptions),
    interval_hours: Type.Optional(
      Type.Unsafe<number>({
        ...intervalHours,
        description: `Hours between two fetches. Default: ${fetchInterval.default}`,
      }),
    ),
  },
  { ...exact, description: 'A source to follow' },
)

export const FollowedSourcePatch = Type.Object(
  {
    url: Type.Optional(url),
    options: Type.Optional(FollowedSourceOptions),
    interval_hours: Type.Optional(intervalHours),
    enabled: Type.Optional(
      Type.Boolean({ description: 'Whether it is fetched: false pauses it, true resumes it' }),
    ),
  },
  {
    ...exact,
    description:
      'Fields of a followed source to change. Options replace those before. With another URL or ' +
      'other options it is fetched anew, at the earliest a minute after the last fetch',
  },
)

const path = '/api/v2/followed-source'
const onePath = '/api/v2/followed-source/{id}'

export const listFollowedSourcesEndpoint = endpoint({
  name: 'listFollowedSources',
  method: 'GET',
  path,
  role: 'editor',
  summary: 'List followed sources',
  response: {
    status: 200,
    schema: Type.Object(
      { results: Type.Array(FollowedSource) },
      { ...exact, description: `All followed sources, at most ${maxFollowedSources}` },
    ),
  },
  problems: [],
})

export const createFollowedSourceEndpoint = endpoint({
  name: 'createFollowedSource',
  method: 'POST',
  path,
  role: 'editor',
  summary: 'Follow a source',
  description:
    'The URL of a playlist or schedule is fetched at once, and then on its schedule. What is new ' +
    'or changed becomes a planned import. It changes nothing until a person applies it.',
  body: { schema: FollowedSourceInput, types: [jsonType] },
  response: { status: 201, schema: FollowedSource, location: true },
  problems: ['wrong-state'],
})

export const readFollowedSourceEndpoint = endpoint({
  name: 'readFollowedSource',
  method: 'GET',
  path: onePath,
  role: 'editor',
  summary: 'Read a followed source',
  params: { id },
  response: { status: 200, schema: FollowedSource },
  problems: [],
})

export const patchFollowedSourceEndpoint = endpoint({
  name: 'patchFollowedSource',
  method: 'PATCH',
  path: onePath,
  role: 'editor',
  summary: 'Change, pause or resume a followed source',
  params: { id },
  body: { schema: FollowedSourcePatch, types: [mergePatchType, jsonType] },
  response: { status: 200, schema: FollowedSource },
  problems: [],
})

export const fetchFollowedSourceEndpoint = endpoint({
  name: 'fetchFollowedSource',
  method: 'POST',
  path: `${onePath}/fetch`,
  role: 'editor',
  summary: 'Fetch a followed source now',
  description:
    'Fetches and plans it in the background, even if the file has not changed, and at the ' +
    'earliest a minute after the last fetch. If it is being fetched, it is fetched once more.',
  params: { id },
  response: { status: 200, schema: FollowedSource },
  problems: ['wrong-state'],
})

export const deleteFollowedSourceEndpoint = endpoint({
  name: 'deleteFollowedSource',
  method: 'POST',
  path: `${onePath}/delete`,
  role: 'editor',
  summary: 'Stop following a source',
  description: 'Its imports are kept, including those that were not applied yet.',
  params: { id },
  response: { status: 200, schema: FollowedSource },
  problems: [],
})

export const followedSourceEndpoints = {
  listFollowedSources: listFollowedSourcesEndpoint,
  createFollowedSource: createFollowedSourceEndpoint,
  readFollowedSource: readFollowedSourceEndpoint,
  patchFollowedSource: patchFollowedSourceEndpoint,
  fetchFollowedSource: fetchFollowedSourceEndpoint,
  deleteFollowedSource: deleteFollowedSourceEndpoint,
} as const
