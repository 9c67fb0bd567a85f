import Type, { type Static } from 'typebox'
import { endpoint, Id, jsonType } from './endpoint.ts'
import { oneOf } from './formats.ts'
import { Import } from './imports.ts'
import { listVideosEndpoint, states } from './videos.ts'

// Bulk edits: operations on all records that a search finds. A bulk edit is planned, applied and
// undone as an import of the format `edit`.

/** Format of the imports that are bulk edits. */
export const editFormat = 'edit'
/** The highest number of records of one bulk edit. */
export const maxEditedRecords = 10_000
export const maxOperations = 10
export const maxEditedIds = 1000
const maxTextLength = 20_000

export const operationKinds = ['set', 'add', 'remove', 'replace'] as const
const listFields = ['speakers', 'tags'] as const

/** The fields that each kind of operation can change. */
export const fieldsOfOperation = {
  set: [
    'category',
    'language',
    'state',
    'recorded',
    'copyright_text',
    'quality_notes',
    'whiteboard',
  ],
  add: listFields,
  remove: listFields,
  replace: [
    ...listFields,
    'title',
    'summary',
    'description',
    'copyright_text',
    'quality_notes',
    'whiteboard',
    'embed',
    'source_url',
    'thumbnail_url',
    'video_ogv_url',
    'video_mp4_url',
    'video_webm_url',
    'video_flv_url',
  ],
} as const
export type EditedField = (typeof fieldsOfOperation)[keyof typeof fieldsOfOperation][number]

export const editedFields: readonly EditedField[] = [
  ...new Set(Object.values(fieldsOfOperation).flat()),
]

const exact = { additionalProperties: false }

const Operation = Type.Object(
  {
    op: oneOf(
      operationKinds,
      '`set` replaces the value; `add` and `remove` change one element of a list; `replace` ' +
        'replaces a text literally wherever it occurs, or an element of a list',
    ),
    field: oneOf(
      editedFields,
      Object.entries(fieldsOfOperation)
        .map(([op, fields]) => `With \`${op}\`: ${fields.join(', ')}`)
        .join('. '),
    ),
    value: Type.Union(
      [
        Type.String({ maxLength: maxTextLength }),
        Type.Integer({ minimum: states.live, maximum: states.draft }),
        Type.Null(),
      ],
      { description: 'The new value, the element, or the text that is replaced' },
    ),
    with: Type.Optional(
      Type.String({
        maxLength: maxTextLength,
        description: 'Only with `replace`: the new text or element',
      }),
    ),
  },
  { ...exact, description: 'A change of one field' },
)
export type EditOperation = Static<typeof Operation>

const { q, category, speaker, tag, language, year, duration } = listVideosEndpoint.query
const { recorded_after, recorded_before, source_url } = listVideosEndpoint.query

const Filter = Type.Partial(
  Type.Object({
    ids: Type.Array(Id, {
      minItems: 1,
      maxItems: maxEditedIds,
      description: 'Ids of the records, instead of a search',
    }),
    state: Type.Union([Type.Literal(states.live), Type.Literal(states.draft)], {
      description: '1: only live records; 2: only drafts. Default: both',
    }),
    q,
    category,
    speaker,
    tag,
    language,
    year,
    duration,
    recorded_after,
    recorded_before,
    source_url,
  }),
  {
    ...exact,
    description:
      'Which records: the parameters of `GET /api/v2/video`, or `ids`. `q` finds drafts by the ' +
      'text of their title. Words are not corrected and none is left out',
  },
)
export type EditFilter = Static<typeof Filter>

export const BulkEdit = Type.Object(
  {
    filter: Filter,
    operations: Type.Array(Operation, {
      minItems: 1,
      maxItems: maxOperations,
      description: 'Applied in this order',
    }),
    name: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 255,
        format: 'text',
        description: 'Name of the edit in the list of imports. Default: its operations',
      }),
    ),
  },
  { ...exact, description: 'A bulk edit' },
)
export type BulkEdit = Static<typeof BulkEdit>

export const createEditEndpoint = endpoint({
  name: 'createEdit',
  method: 'POST',
  path: '/api/v2/edit',
  role: 'editor',
  forEventEditors: true,
  summary: 'Plan a bulk edit',
  description:
    'Plans the same change of many records, at most 10,000. No record is changed. The result is ' +
    'an import of the format `edit`: read its talks, then apply it, stop it and undo it with the ' +
    'endpoints of imports. Applying repeats the operations on the current version of each record. ' +
    'A record in which one of the planned fields was changed since the plan is left alone: it ' +
    'has the verdict `conflict` and the outcome `kept`.',
  body: { schema: BulkEdit, types: [jsonType] },
  response: { status: 201, schema: Import, location: true },
  // A search can take too long.
  problems: ['invalid-query'],
})

export const bulkEditEndpoints = { createEdit: createEditEndpoint } as const
