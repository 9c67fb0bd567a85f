import Type, { type Static } from 'typebox'
import { endpoint, Id, jsonType, RevisionNumber } from './endpoint.ts'
import { oneOf } from './formats.ts'
import { PageSize } from './page.ts'
import { type Video, VideoPatch } from './videos.ts'

// Suggestions: readers correct talks without an account, and editors decide.

export const suggestionKinds = [
  'correction',
  'dead-link',
  'duplicate',
  'missing',
  'removal',
] as const
export type SuggestionKind = (typeof suggestionKinds)[number]

export const suggestionStates = ['open', 'accepted', 'declined', 'withdrawn', 'done'] as const
export type SuggestionState = (typeof suggestionStates)[number]

/** Reasons to decline that readers see in their own language. Others are words of the editor. */
export const declineReasons = [
  'not-verified',
  'already-right',
  'unclear',
  'not-ours',
  'already-suggested',
  'abuse',
] as const

/** The fields that readers can correct. */
export const suggestedFields = [
  'title',
  'speakers',
  'category',
  'language',
  'recorded',
  'duration',
  'tags',
  'summary',
  'description',
  'source_url',
  'copyright_text',
  'quality_notes',
] as const satisfies (keyof Video)[]
export type SuggestedField = (typeof suggestedFields)[number]

/** The highest size of the fields of a suggestion as JSON, in bytes. */
export const maxSuggestedBytes = 65_536

const exact = { additionalProperties: false }
const id = Type.Integer({ ...Id, description: 'Id of the suggestion' })
const text = (maxLength: number, description: string) =>
  Type.String({ maxLength, format: 'text', description })
const fieldName = oneOf([...suggestedFields, 'state'] as const, 'Field of the record')

export const SuggestedFields = Type.Pick(VideoPatch, suggestedFields, {
  ...exact,
  description: 'New values of fields; a list replaces the whole list',
})
export type SuggestedFields = Static<typeof SuggestedFields>

export const SuggestionInput = Type.Object(
  {
    kind: oneOf(
      suggestionKinds,
      '`correction`: fields are wrong. `dead-link`: the video is gone. `duplicate`: two records ' +
        'are the same talk. `missing`: a talk is not in the archive. `removal`: please remove it',
    ),
    video: Type.Optional(
      Type.Integer({ ...Id, description: 'Id of the record; not for a missing talk' }),
    ),
    base_revision: Type.Optional(
      Type.Integer({
        ...RevisionNumber,
        description:
          'Revision that the fields were changed in. Default: the current one. Without a token ' +
          'of an editor, it must be one that was live and has no speaker or tag that is not ' +
          'public any more. Not used if the record was merged meanwhile',
      }),
    ),
    fields: Type.Optional(SuggestedFields),
    duplicate_of: Type.Optional(
      Type.Integer({ ...Id, description: 'Id of the other record of the same talk' }),
    ),
    comment: Type.Optional(text(2000, 'What else to correct, or why')),
    name: Type.Optional(text(100, 'Name of the author, on one line, for credit')),
    show_name: Type.Optional(
      Type.Boolean({
        description:
          'Whether readers see the name once it is accepted; only for corrections and dead links',
      }),
    ),
  },
  { ...exact, description: 'A suggestion' },
)
export type SuggestionInput = Static<typeof SuggestionInput>

const CreatedSuggestion = Type.Object(
  {
    id,
    url: Type.Union([Type.String(), Type.Null()], {
      description:
        'Page with the outcome, for the author only: it has a secret and is not shown again. ' +
        'Null if the same suggestion is open already',
    }),
  },
  { ...exact, description: 'A suggestion that was received' },
)

const ComparedField = Type.Object(
  {
    field: fieldName,
    state: oneOf(
      ['open', 'already-applied', 'conflict'] as const,
      '`open`: can be accepted. `already-applied`: the record has this value. `conflict`: the ' +
        'record has a third value, because it was changed since',
    ),
    suggested: Type.Unknown({
      description: 'The value after accepting. Lists are merged with what changed since',
    }),
    base: Type.Optional(Type.Unknown({ description: 'The value that the author saw' })),
    current: Type.Optional(Type.Unknown({ description: 'The value of the record' })),
  },
  { ...exact, description: 'A suggested field, compared with the record as it is now' },
)

const maybeText = (description: string) =>
  Type.Union([Type.String(), Type.Null()], { description: `${description}, or null` })
const maybeNumber = (description: string) =>
  Type.Union([Type.Integer(), Type.Null()], { description: `${description}, or null` })

export const Suggestion = Type.Object(
  {
    id,
    kind: oneOf(suggestionKinds, 'What it is about'),
    state: oneOf(
      suggestionStates,
      '`withdrawn`: by its author. `done`: others made the same change, or the record was taken ' +
        'down',
    ),
    created: Type.String({ description: 'When it was sent (UTC)' }),
    low_priority: Type.Boolean({
      description:
        'Whether it is behind all others in the queue: it has three links or more, or ' +
        'resembles abuse in another way',
    }),
    video: maybeNumber('Id of the record. A merged record is replaced by its target'),
    title: maybeText('Title of the record'),
    base_revision: maybeNumber('Revision that the author saw'),
    current_revision: maybeNumber('Revision of the record with which the fields were compared'),
    fields: Type.Array(ComparedField, {
      description: '`base` and `current` are only in the response for a single suggestion',
    }),
    duplicate_of: maybeNumber('Id of the other record of the same talk'),
    comment: Type.String({ description: 'Comment of the author' }),
    name: maybeText('Name of the author'),
    show_name: Type.Boolean({ description: 'Whether readers see the name once it is accepted' }),
    reply: maybeText('What the author replied'),
    reason: maybeText('Why it was declined: one of six codes, `taken-down`, or words'),
    taken: Type.Array(fieldName, { description: 'Fields that were accepted' }),
    revision: maybeNumber('Revision of the record that accepting it created'),
    closed: maybeText('When it was decided (UTC)'),
    closed_by: maybeText('Name of the editor who decided it'),
  },
  { ...exact, description: 'A suggestion of a reader' },
)
export type Suggestion = Static<typeof Suggestion>

export const Acceptance = Type.Object(
  {
    fields: Type.Optional(
      Type.Array(fieldName, {
        maxItems: suggestedFields.length + 1,
        description: 'Fields to take. Default: all that are suggested and not in conflict',
      }),
    ),
    edits: Type.Optional(
      Type.Pick(VideoPatch, suggestedFields, {
        ...exact,
        description:
          'Values that replace suggested ones, and further fields to change; not for a missing ' +
          'talk',
      }),
    ),
    revision: Type.Optional(
      Type.Integer({
        ...RevisionNumber,
        description:
          'Revision of the record in which the edits were made. Default: the current one, also ' +
          'if it changed after you read it',
      }),
    ),
  },
  { ...exact, description: 'What to accept' },
)
export type Acceptance = Static<typeof Acceptance>

const declineCodes = declineReasons.map((code) => `\`${code}\``).join(', ')

export const Refusal = Type.Object(
  {
    reason: Type.String({
      minLength: 1,
      maxLength: 500,
      format: 'text',
      description: `The author reads it. ${declineCodes}, or words`,
    }),
  },
  { ...exact, description: 'Why a suggestion is declined' },
)

const path = '/api/v2/suggestion'
const onePath = '/api/v2/suggestion/{id}'
const access = { role: 'editor', forEventEditors: true } as const

export const createSuggestionEndpoint = endpoint({
  name: 'createSuggestion',
  method: 'POST',
  path,
  role: 'anyone',
  summary: 'Suggest a correction',
  description:
    'For everyone, without a token. Without one of an editor, a network may send 5 in an hour ' +
    'and 20 in a day, and the suggestion is behind those of the form of the site in the queue. ' +
    'A record has at most 20 open suggestions, the archive 500, of which 300 may have a low ' +
    'priority.',
  body: { schema: SuggestionInput, types: [jsonType], maxBytes: 262_144 },
  response: { status: 201, schema: CreatedSuggestion },
  problems: ['taken-down', 'queue-full'],
})

export const listSuggestionsEndpoint = endpoint({
  name: 'listSuggestions',
  method: 'GET',
  path,
  ...access,
  summary: 'List suggestions, oldest first',
  description:
    'Open ones by default, in the order of the queue. Editors of single events see those about ' +
    'talks of their events.',
  query: {
    state: oneOf(suggestionStates, 'Only suggestions in this state. Default: open'),
    after: Type.Integer({ ...Id, description: 'Only those after this suggestion' }),
    page_size: PageSize,
  },
  response: {
    status: 200,
    schema: Type.Object(
      {
        count: Type.Integer({ minimum: 0, description: 'Number of suggestions in this state' }),
        oldest: maybeText('When the oldest of them was sent (UTC)'),
        results: Type.Array(Suggestion),
        next: Type.Union([Type.String({ description: 'URL of the next page' }), Type.Null()]),
      },
      { ...exact, description: 'A page of suggestions' },
    ),
  },
  problems: [],
})

export const readSuggestionEndpoint = endpoint({
  name: 'readSuggestion',
  method: 'GET',
  path: onePath,
  ...access,
  summary: 'Read a suggestion',
  description: 'Its fields are compared with the record as it is now.',
  params: { id },
  response: { status: 200, schema: Suggestion },
  problems: [],
})

export const acceptSuggestionEndpoint = endpoint({
  name: 'acceptSuggestion',
  method: 'POST',
  path: `${onePath}/accept`,
  ...access,
  summary: 'Accept a suggestion',
  description:
    'Changes the record with the accepted fields, all or some, edited if needed. A request for ' +
    'removal makes the record a draft; a suggestion without fields changes nothing. A field in ' +
    'conflict is taken only from `edits`: it is left out, or the request is refused if it is ' +
    'named or no other field is left. Each suggestion is decided once.',
  params: { id },
  body: { schema: Acceptance, types: [jsonType] },
  response: { status: 200, schema: Suggestion },
  problems: ['wrong-state', 'fields-changed', 'taken-down', 'merged'],
})

export const declineSuggestionEndpoint = endpoint({
  name: 'declineSuggestion',
  method: 'POST',
  path: `${onePath}/decline`,
  ...access,
  summary: 'Decline a suggestion',
  params: { id },
  body: { schema: Refusal, types: [jsonType] },
  response: { status: 200, schema: Suggestion },
  problems: ['wrong-state'],
})

export const reopenSuggestionEndpoint = endpoint({
  name: 'reopenSuggestion',
  method: 'POST',
  path: `${onePath}/reopen`,
  ...access,
  summary: 'Undo a decision',
  description:
    'The suggestion is open again. If accepting it changed the record, that change is reverted, ' +
    'unless its fields were changed since.',
  params: { id },
  response: { status: 200, schema: Suggestion },
  problems: ['wrong-state', 'fields-changed', 'taken-down', 'merged'],
})

export const suggestionEndpoints = {
  createSuggestion: createSuggestionEndpoint,
  listSuggestions: listSuggestionsEndpoint,
  readSuggestion: readSuggestionEndpoint,
  acceptSuggestion: acceptSuggestionEndpoint,
  declineSuggestion: declineSuggestionEndpoint,
  reopenSuggestion: reopenSuggestionEndpoint,
} as const
