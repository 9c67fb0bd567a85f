import Type, { type Static } from 'typebox'
import { endpoint, Id, jsonType } from './endpoint.ts'
import { RecordingStatus } from './facts.ts'
import { oneOf } from './formats.ts'
import { Import, importFormats } from './imports.ts'

// Matches: the talks of a schedule and the recordings of a playlist are paired, people decide what
// is not sure, and the result becomes the plan of an import.

const exact = { additionalProperties: false }
const text = (maxLength: number, description: string) =>
  Type.String({ minLength: 1, maxLength, format: 'text', description })
const nullable = <T extends ReturnType<typeof Type.String | typeof Type.Integer>>(
  schema: T,
  description: string,
) => Type.Union([schema, Type.Null()], { description })
const seconds = Type.Integer({ minimum: 0, maximum: 1_000_000 })
const key = (description: string) => text(1000, description)

/**
 * What can be decided.
 *
 * - `pair`: the recording is that of the talk.
 * - `copy`: it is a further recording of the talk.
 * - `part`: it contains the talk, among others.
 * - `not`: it is not that of the talk.
 * - `no-recording`: the talk has none.
 * - `no-talk`: the recording is none of a talk, and is left out.
 * - `own-talk`: the recording is that of a talk which is not in the schedule.
 */
export const matchVerdicts = [
  'pair',
  'copy',
  'part',
  'not',
  'no-recording',
  'no-talk',
  'own-talk',
] as const
export type MatchVerdict = (typeof matchVerdicts)[number]
/** How much a pair can be relied on. */
export const matchBands = ['sure', 'likely', 'unsure', 'none'] as const

const file = (description: string) =>
  Type.Object(
    {
      url: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 2048,
          format: 'address',
          description: 'Public http or https URL of the file',
        }),
      ),
      text: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 4_000_000,
          description: 'Content of the file, instead of `url`',
        }),
      ),
      name: Type.Optional(text(255, 'File name')),
      format: Type.Optional(
        oneOf(importFormats, 'Format of the file. Default: detected from its content'),
      ),
      source: Type.Optional(
        text(100, 'Namespace of the keys. Default: the format; for CSV, `csv` and the file name'),
      ),
    },
    { ...exact, description },
  )

export const MatchInput = Type.Object(
  {
    schedule: file('The talks: a schedule, or any other file that can be imported'),
    playlist: file('The recordings: the playlist of an event'),
    category: Type.Optional(text(255, 'Title of the event. Default: that of the schedule')),
    language: Type.Optional(text(100, 'Language of talks that have none in the schedule')),
  },
  { ...exact, description: 'Two files to match' },
)
export type MatchInput = Static<typeof MatchInput>

export const MatchDecision = Type.Object(
  {
    verdict: oneOf(
      matchVerdicts,
      '`pair`: the recording is that of the talk. `copy`: it is a further one. `part`: it contains ' +
        'the talk, among others. `not`: it is another one. `no-recording`: the talk has none. ' +
        '`no-talk`: the recording is left out. `own-talk`: it becomes a draft of its own',
    ),
    talk: Type.Optional(key('Key of the talk. Required unless the verdict is about a recording')),
    recording: Type.Optional(
      key('Key of the recording. Required unless the verdict is `no-recording`'),
    ),
    status: Type.Optional(
      Type.Unsafe<RecordingStatus>({
        ...RecordingStatus,
        description: 'With `no-recording`: why there is none. Default: `not-recorded`',
      }),
    ),
    start: Type.Optional(Type.Integer({ ...seconds, description: 'With `part`, in seconds' })),
    end: Type.Optional(nullable(seconds, 'With `part`, in seconds. Null if it is the last one')),
  },
  { ...exact, description: 'A decision about a talk or a recording' },
)
export type MatchDecision = Static<typeof MatchDecision>

const Part = Type.Object(
  {
    start: nullable(seconds, 'In seconds. Null if unknown'),
    end: nullable(seconds, 'In seconds. Null if unknown or the end of the recording'),
  },
  exact,
)

const ranges = (description: string) =>
  Type.Array(Type.Array(Type.Integer(), { minItems: 2, maxItems: 2 }), { description })

const Proposal = Type.Object(
  {
    recording: Type.String({ description: 'Key of the recording' }),
    score: Type.Number({ minimum: 0, maximum: 1 }),
    talk_words: ranges('Start and end of the common words in the title of the talk'),
    recording_words: ranges('Start and end of the common words in the title of the recording'),
    speakers_found: Type.Array(Type.String(), {
      description: 'Speakers whose whole name the title of the recording has',
    }),
    against: Type.Array(Type.String(), { description: 'What speaks against the pair' }),
  },
  exact,
)

const MatchedTalk = Type.Object(
  {
    key: Type.String(),
    title: Type.String(),
    speakers: Type.Array(Type.String()),
    start: Type.Union([Type.String(), Type.Null()], { description: 'Day, or day and local time' }),
    room: Type.String(),
    minutes: Type.Union([Type.Integer(), Type.Null()], { description: 'Planned length' }),
    band: oneOf(matchBands, 'How much the pair can be relied on'),
    share: Type.Number({ description: 'Measured share of right pairs in this band' }),
    decided: Type.Boolean(),
    recording: Type.Union([Type.String(), Type.Null()], { description: 'Key of the recording' }),
    copies: Type.Array(Type.String(), { description: 'Keys of further recordings' }),
    part: Type.Union([Part, Type.Null()], { description: 'Where the recording has the talk' }),
    status: Type.Union([RecordingStatus, Type.Null()], {
      description: 'Why there is no recording, if that was decided',
    }),
    proposals: Type.Array(Proposal, { description: 'Up to three recordings, the best first' }),
  },
  exact,
)
export type MatchedTalk = Static<typeof MatchedTalk>

const MatchedRecording = Type.Object(
  {
    key: Type.String(),
    title: Type.String(),
    url: Type.String(),
    seconds: Type.Union([Type.Integer(), Type.Null()]),
    talk: Type.Union([Type.String(), Type.Null()], {
      description: 'Key of its talk, if the pair is sure or was decided. Null for parts',
    }),
    decided: Type.Boolean(),
    own_talk: Type.Boolean({ description: 'Whether it becomes a draft of its own' }),
    parts: Type.Array(
      Type.Object({ ...Part.properties, talk: Type.String({ description: 'Key' }) }, exact),
      { description: 'The talks that it seems to contain' },
    ),
  },
  exact,
)
export type MatchedRecording = Static<typeof MatchedRecording>

export const Match = Type.Object(
  {
    id: Type.Integer({ minimum: 1 }),
    name: Type.String(),
    event: Type.String({ description: 'Title of the event' }),
    created: Type.String({ description: 'UTC' }),
    by: Type.String(),
    import: Type.Union([Type.Integer(), Type.Null()], {
      description: 'The last import that was planned from it',
    }),
    pattern: Type.Union([Type.String(), Type.Null()], {
      description: 'How the titles of the playlist are written, such as `{speaker}: {title}`',
    }),
    questions: Type.Integer({
      minimum: 0,
      description: 'Talks whose pair is likely or unsure, and not decided',
    }),
    talks: Type.Array(MatchedTalk, { description: 'In the order of the schedule' }),
    recordings: Type.Array(MatchedRecording, { description: 'In the order of the playlist' }),
    left_out: Type.Array(
      Type.Object(
        {
          file: oneOf(['schedule', 'playlist'], 'The file that has the entry'),
          place: Type.String({ description: 'Where it is in the file' }),
          reason: Type.String(),
        },
        exact,
      ),
      { description: 'Entries that can not be read or repeat another one, the first 100' },
    ),
    left_out_count: Type.Integer({ minimum: 0, description: 'How many entries are left out' }),
  },
  { ...exact, description: 'The talks of a schedule and the recordings of a playlist' },
)
export type Match = Static<typeof Match>

/** Returns whether an editor is asked about the pair of a talk. */
export const isMatchQuestion = ({ band, decided }: MatchedTalk): boolean =>
  !decided && (band === 'likely' || band === 'unsure')

const params = { id: Id }

export const createMatchEndpoint = endpoint({
  name: 'createMatch',
  method: 'POST',
  path: '/api/v2/match',
  role: 'editor',
  summary: 'Match a schedule with a playlist',
  description:
    'Reads both files and pairs their talks and recordings. No record is changed. At most 1,000 ' +
    'talks and 3,000 recordings.',
  body: { schema: MatchInput, types: [jsonType], maxBytes: 9_000_000 },
  response: { status: 201, schema: Match, location: true },
  problems: ['import-refused'],
})

export const readMatchEndpoint = endpoint({
  name: 'readMatch',
  method: 'GET',
  path: '/api/v2/match/{id}',
  role: 'editor',
  summary: 'Read a match',
  params,
  response: { status: 200, schema: Match },
  problems: [],
})

export const decideMatchEndpoint = endpoint({
  name: 'decideMatch',
  method: 'POST',
  path: '/api/v2/match/{id}/decision',
  role: 'editor',
  summary: 'Decide about a talk or a recording',
  description:
    'Decisions belong to the keys of both sources: they hold in every later match of these ' +
    'sources, until a title changes.',
  params,
  body: { schema: MatchDecision, types: [jsonType] },
  response: { status: 200, schema: Match },
  problems: [],
})

export const undoMatchDecisionEndpoint = endpoint({
  name: 'undoMatchDecision',
  method: 'POST',
  path: '/api/v2/match/{id}/undo',
  role: 'editor',
  summary: 'Undo the last decision of a match',
  params,
  response: { status: 200, schema: Match },
  problems: ['wrong-state'],
})

export const planMatchEndpoint = endpoint({
  name: 'planMatch',
  method: 'POST',
  path: '/api/v2/match/{id}/plan',
  role: 'editor',
  summary: 'Plan the import of a match',
  description:
    'The result is an import: read its talks, then apply and undo it with the endpoints of ' +
    'imports. Talks without a recording are planned as drafts, and recordings without a talk are ' +
    'left out.',
  params,
  response: { status: 201, schema: Import, location: true },
  problems: [],
})

export const matchEndpoints = {
  createMatch: createMatchEndpoint,
  readMatch: readMatchEndpoint,
  decideMatch: decideMatchEndpoint,
  undoMatchDecision: undoMatchDecisionEndpoint,
  planMatch: planMatchEndpoint,
} as const
