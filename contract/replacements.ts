import Type, { type Static } from 'typebox'
import { endpoint, Id } from './endpoint.ts'
import { oneOf } from './formats.ts'
import { CursorText, PageNumber, PageOf, PageSize } from './page.ts'
import { Source } from './sources.ts'

// Replacements: other copies of videos that are gone or at one place only. They are found by
// programs, and editors decide.

export const replacementFinders = ['archive.org', 'wayback', 'import'] as const
export type ReplacementFinder = (typeof replacementFinders)[number]

export const replacementStates = ['open', 'accepted', 'refused'] as const
export type ReplacementState = (typeof replacementStates)[number]

/** What accepting a replacement does to the record as it is now. */
export const replacementEffects = ['replaces', 'adds', 'nothing'] as const
export type ReplacementEffect = (typeof replacementEffects)[number]

const exact = { additionalProperties: false }
const id = Type.Integer({ ...Id, description: 'Id of the replacement' })
const maybeText = (description: string) =>
  Type.Union([Type.String(), Type.Null()], { description: `${description}, or null` })

export const Replacement = Type.Object(
  {
    id,
    video: Type.Integer({
      ...Id,
      description: 'Id of the record. A merged record is replaced by its target',
    }),
    title: Type.String({ description: 'Title of the record' }),
    source: Source,
    url: Type.String({ description: 'URL of the copy' }),
    finder: oneOf(
      replacementFinders,
      'What found it: `archive.org` and `wayback` were asked for a copy, and an `import` had ' +
        'another URL for the talk',
    ),
    evidence: maybeText('Why it may be the same video'),
    state: oneOf(replacementStates, 'State of the decision'),
    effect: oneOf(
      replacementEffects,
      'What accepting it does now. `replaces`: it becomes `source_url`, because the video is not ' +
        'there any more. `adds`: it becomes a further copy, a fact. `nothing`: the record has it',
    ),
    created: Type.String({ description: 'When it was proposed (UTC)' }),
    decided: maybeText('When it was decided (UTC)'),
    decided_by: maybeText('Name of the editor who decided it'),
  },
  { ...exact, description: 'A copy of a video that may replace it' },
)
export type Replacement = Static<typeof Replacement>

const path = '/api/v2/replacement'
const access = { role: 'editor', forEventEditors: true } as const

export const listReplacementsEndpoint = endpoint({
  name: 'listReplacements',
  method: 'GET',
  path,
  ...access,
  summary: 'List replacements',
  description:
    'Open ones by default, oldest first. An open one disappears when the record no longer has the ' +
    'source. Editors of single events see those of talks of their events.',
  query: {
    state: oneOf(replacementStates, 'Only replacements in this state. Default: open'),
    video: Type.Integer({ ...Id, description: 'Only those of this record' }),
    page: PageNumber,
    page_size: PageSize,
    cursor: CursorText,
  },
  requestHeaders: ['If-None-Match'],
  response: { status: 200, schema: PageOf(Replacement, 'A page of replacements'), etag: true },
  problems: [],
})

export const acceptReplacementEndpoint = endpoint({
  name: 'acceptReplacement',
  method: 'POST',
  path: `${path}/{id}/accept`,
  ...access,
  summary: 'Accept a replacement',
  description:
    'Changes the record: `effect` says how. A URL that was replaced can be reverted in the history ' +
    'of the record; a copy that was added is removed from its facts. Accepting it again ' +
    'changes nothing.',
  params: { id },
  response: { status: 200, schema: Replacement },
  problems: ['wrong-state', 'taken-down', 'merged'],
})

export const refuseReplacementEndpoint = endpoint({
  name: 'refuseReplacement',
  method: 'POST',
  path: `${path}/{id}/refuse`,
  ...access,
  summary: 'Refuse a replacement',
  description: 'The same copy is not proposed for the record again.',
  params: { id },
  response: { status: 200, schema: Replacement },
  problems: ['wrong-state'],
})

export const replacementEndpoints = {
  listReplacements: listReplacementsEndpoint,
  acceptReplacement: acceptReplacementEndpoint,
  refuseReplacement: refuseReplacementEndpoint,
} as const
