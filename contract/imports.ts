import Type, { type Static } from 'typebox'
import { endpoint, Id, jsonType } from './endpoint.ts'
import { oneOf } from './formats.ts'
import { PageSize } from './page.ts'

// The endpoints of imports and their schemas. An import is read, planned, applied, and optionally
// undone. The plan has a verdict for every talk before anything is written.

export const importStates = [
  'reading',
  'failed',
  'planned',
  'applying',
  'stopped',
  'applied',
  'undoing',
  'undone',
] as const
export const importVerdicts = ['new', 'changed', 'unchanged', 'conflict', 'refused'] as const
/** What a warning about a talk is about. */
export const warningCodes = [
  'missing-date',
  'guessed-date',
  'future-date',
  'old-date',
  'long-duration',
  'short-duration',
  'several-names',
  'similar-name',
] as const
export type WarningCode = (typeof warningCodes)[number]
export const importFormats = ['v2', 'pyvideo', 'yt-dlp', 'schedule', 'voctoweb', 'csv'] as const

const exact = { additionalProperties: false }
const text = (maxLength: number, description: string) =>
  Type.String({ minLength: 1, maxLength, format: 'text', description })
const count = Type.Integer({ minimum: 0 })
const counts = (names: readonly string[], description: string) =>
  Type.Object(
    Object.fromEntries(names.map((name) => [name, count])) as Record<string, typeof count>,
    { ...exact, description },
  )

const addedNames = Type.Object(
  {
    count: Type.Integer({ minimum: 0, description: 'Counting stops at 100,000' }),
    names: Type.Array(Type.String(), {
      description: 'The first 200. Empty once IMPORT_DAYS have passed',
    }),
  },
  exact,
)

/** Names that do not exist yet. */
const ImportAdditions = Type.Object(
  { categories: addedNames, speakers: addedNames, tags: addedNames },
  {
    ...exact,
    description: 'Events, people and tags that did not exist when the import was planned',
  },
)
export type ImportAdditions = Static<typeof ImportAdditions>

/** The rows of old imports are removed (IMPORT_DAYS); the import keeps these counts. */
export const Import = Type.Object(
  {
    id: Id,
    state: oneOf(importStates, 'State of the import'),
    name: Type.String({ description: 'File name or URL' }),
    format: Type.String({ description: 'Format of the file; `edit` for a bulk edit' }),
    source: Type.String({
      description:
        'Namespace of the talk keys: a later import with the same source finds the same records',
    }),
    created: Type.String({ description: 'UTC' }),
    // The name of the token, or of the user of the command line.
    by: Type.String(),
    followed_source: Type.Union([Id, Type.Null()], {
      description: 'Id of the followed source that it comes from, or null',
    }),
    rows: Type.Integer({
      minimum: 0,
      description: 'Number of entries in the file: talks and others',
    }),
    done: Type.Integer({ minimum: 0, description: 'Number of entries applied so far' }),
    problem: Type.Union([Type.String(), Type.Null()], { description: 'Reason for the failure' }),
    planned: counts(importVerdicts, 'Talks by planned verdict'),
    creates: ImportAdditions,
    warnings: counts(warningCodes, 'Warnings about implausible values, by code'),
    ignored_cells: Type.Integer({
      minimum: 0,
      description:
        'Empty cells of a table that are ignored although the record has a value. To clear a ' +
        'field, empty its cell in a table that was exported from here',
    }),
    // `kept`: a conflict without a decision, and no other change, so the record stays as it is.
    outcome: counts(['created', 'changed', 'unchanged', 'kept', 'refused'], 'Talks by outcome'),
    undone: counts(
      ['undone', 'touched'],
      'Talks that were undone, and talks left alone because they had changed since',
    ),
  },
  { ...exact, description: 'An import' },
)
export type Import = Static<typeof Import>

const noteKinds = ['dropped', 'guessed', 'repaired', 'refused', 'question', 'warning'] as const

// A `question` asks whether the talk is the same as a similar record. `TalkDecision.same` is the
// answer.
const Note = Type.Object(
  {
    kind: oneOf(noteKinds, 'Kind of note'),
    code: Type.Optional(oneOf(warningCodes, 'What a warning is about')),
    field: Type.String(),
    detail: Type.String(),
  },
  exact,
)

export const ImportedTalk = Type.Object(
  {
    position: Type.Integer({ minimum: 1 }),
    place: Type.String({ description: 'Location in the file' }),
    verdict: oneOf(importVerdicts, 'Planned verdict'),
    title: Type.Union([Type.String(), Type.Null()]),
    category: Type.Union([Type.String(), Type.Null()]),
    speakers: Type.Array(Type.String()),
    recorded: Type.Union([Type.String(), Type.Null()]),
    duration: Type.Union([Type.Integer(), Type.Null()], { description: 'Seconds' }),
    video: Type.Union([Id, Type.Null()], { description: 'Id of the matching record' }),
    changes: Type.Record(
      Type.String(),
      Type.Object(
        {
          old: Type.Unknown(),
          new: Type.Unknown(),
          conflict: Type.Optional(Type.Literal(true)),
          imported: Type.Optional(Type.Literal(true)),
        },
        exact,
      ),
      {
        description:
          'Changes by field. With `conflict`, the file and the record both changed: the record ' +
          'stays as it is unless you decide otherwise. With `imported`, an earlier import wrote ' +
          'the value of the record, and not a person',
      },
    ),
    notes: Type.Array(Note),
    outcome: Type.Union([Type.String(), Type.Null()]),
    undone: Type.Union([Type.String(), Type.Null()]),
  },
  { ...exact, description: 'A talk of an import' },
)
export type ImportedTalk = Static<typeof ImportedTalk>

const list = <T extends typeof Import | typeof ImportedTalk>(schema: T, description: string) =>
  Type.Object(
    {
      results: Type.Array(schema),
      next: Type.Union([Type.String({ description: 'URL of the next page' }), Type.Null()]),
    },
    { ...exact, description },
  )

export const ImportInput = Type.Object(
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
      text(
        100,
        'Namespace of the talk keys. Default: the format; for CSV, `csv` and the file name',
      ),
    ),
    category: Type.Optional(text(255, 'Category of talks that have none in the file')),
    language: Type.Optional(text(100, 'Language of talks that have none in the file')),
    recorded: Type.Optional(
      Type.String({
        format: 'date',
        description:
          'Day of the recording of talks that have none in the file. Replaces the day of upload',
      }),
    ),
    keep_titles: Type.Optional(
      Type.Boolean({
        description: 'Whether not to look for speakers in the titles of a playlist. Default: false',
      }),
    ),
    draft: Type.Optional(
      Type.Boolean({ description: 'Whether new records are drafts. Default: false' }),
    ),
  },
  { ...exact, description: 'What to import: either url or text' },
)
export type ImportInput = Static<typeof ImportInput>

const params = { id: Id }
const position = Type.Integer({
  minimum: 0,
  maximum: 2_147_483_647,
  description: 'Only talks after this position',
})

export const createImportEndpoint = endpoint({
  name: 'createImport',
  method: 'POST',
  path: '/api/v2/import',
  role: 'editor',
  summary: 'Plan an import',
  description:
    'Reads a file and plans its import. No record is changed. For large files, use the command ' +
    '`talkshelf import`.',
  body: { schema: ImportInput, types: [jsonType], maxBytes: 4_500_000 },
  response: { status: 201, schema: Import, location: true },
  problems: ['import-refused'],
})

export const listImportsEndpoint = endpoint({
  name: 'listImports',
  method: 'GET',
  path: '/api/v2/import',
  role: 'editor',
  summary: 'List imports, newest first',
  query: { before: Id, page_size: PageSize },
  response: { status: 200, schema: list(Import, 'A page of imports') },
  problems: [],
})

export const readImportEndpoint = endpoint({
  name: 'readImport',
  method: 'GET',
  path: '/api/v2/import/{id}',
  role: 'editor',
  forEventEditors: true,
  summary: 'Read an import',
  params,
  response: { status: 200, schema: Import },
  problems: [],
})

export const listImportedTalksEndpoint = endpoint({
  name: 'listImportedTalks',
  method: 'GET',
  path: '/api/v2/import/{id}/talk',
  role: 'editor',
  forEventEditors: true,
  summary: 'List the talks of an import',
  params,
  query: {
    verdict: oneOf(importVerdicts, 'Only talks with this verdict'),
    undone: oneOf(['undone', 'touched'] as const, 'Only talks with this result of an undo'),
    note: oneOf(noteKinds, 'Only talks with a note of this kind'),
    after: position,
    page_size: PageSize,
  },
  response: { status: 200, schema: list(ImportedTalk, 'A page of talks') },
  problems: [],
})

const RefusedRows = Type.Object(
  {
    csv: Type.String({ description: 'A table of the refused talks, with the reasons' }),
    rows: count,
    omitted: Type.Array(
      Type.Object(
        {
          position: Type.Integer({ minimum: 1 }),
          place: Type.String({ description: 'Location in the file' }),
          reason: Type.String(),
        },
        exact,
      ),
      { description: 'Refused talks that are not in the table: correct them in the file' },
    ),
    next_after: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
      description: 'Value of `after` for the talks that did not fit',
    }),
  },
  { ...exact, description: 'Refused talks as CSV' },
)
export type RefusedRows = Static<typeof RefusedRows>

export const readRefusedEndpoint = endpoint({
  name: 'readRefused',
  method: 'GET',
  path: '/api/v2/import/{id}/refused',
  role: 'editor',
  summary: 'Read the refused talks as CSV',
  description:
    'Correct the table and import it as `text`, with the same `source`. Duplicates, taken-down ' +
    'talks and rows without readable cells are not in the table, but in `omitted`.',
  params,
  query: { after: position },
  response: { status: 200, schema: RefusedRows },
  problems: [],
})

export const TalkDecision = Type.Object(
  {
    take: Type.Optional(
      Type.Array(text(50, 'Name of a field'), {
        maxItems: 50,
        description: 'Fields to take from the file, overwriting the manual edit',
      }),
    ),
    same: Type.Optional(
      Type.Boolean({ description: 'Whether the talk is the same as the suggested record' }),
    ),
    record: Type.Optional(
      Type.Unsafe<number>({
        ...Id,
        description:
          'With `same`: the record that the talk is, instead of the suggested one. Also for talks ' +
          'that are planned as new',
      }),
    ),
  },
  { ...exact, description: 'Decision of an editor about a talk' },
)
export type TalkDecision = Static<typeof TalkDecision>

export const decideTalkEndpoint = endpoint({
  name: 'decideTalk',
  method: 'PUT',
  path: '/api/v2/import/{id}/talk/{position}',
  role: 'editor',
  summary: 'Resolve a conflict or answer a question',
  description:
    'Possible until the talk is applied. If it says which record the talk is, the talk then has ' +
    'the changes of that record.',
  params: { ...params, position: Type.Integer({ minimum: 1, maximum: 2_147_483_647 }) },
  body: { schema: TalkDecision, types: [jsonType] },
  response: { status: 200, schema: ImportedTalk },
  problems: ['wrong-state'],
})

const action = <N extends string>(name: N, verb: string, summary: string, description: string) =>
  endpoint({
    name,
    method: 'POST',
    path: `/api/v2/import/{id}/${verb}`,
    role: 'editor',
    // Only for their own bulk edits.
    forEventEditors: true,
    summary,
    description,
    params,
    response: { status: 200, schema: Import },
    problems: ['wrong-state'],
  })

export const applyImportEndpoint = action(
  'applyImport',
  'apply',
  'Apply an import',
  'Runs in the background, in batches. A stopped import continues where it stopped.',
)
export const stopImportEndpoint = action(
  'stopImport',
  'stop',
  'Stop an import',
  'Stops after the current batch.',
)
export const undoImportEndpoint = {
  ...action(
    'undoImport',
    'undo',
    'Undo an import',
    'Restores the fields that the import wrote; records that it created become drafts. A record ' +
      'in which one of them changed since is left alone: to list these, use `undone=touched`. If ' +
      'a later import changed them, undo that one, then this one again.',
  ),
  warning:
    'Readers no longer see the records that the import created. An undo can be neither stopped ' +
    'nor undone, except by importing the file again.',
}

export const redoImportEndpoint = action(
  'redoImport',
  'redo',
  'Redo an undone import',
  'Applies an undone import again: its drafts become live under the same ids. Records that the ' +
    'undo left alone, or that changed since, stay as they are, with the outcome `kept`.',
)
export const discardImportEndpoint = endpoint({
  name: 'discardImport',
  method: 'POST',
  path: '/api/v2/import/{id}/discard',
  role: 'editor',
  forEventEditors: true,
  summary: 'Delete a plan',
  description:
    'Deletes an import that was never applied, with its talks. Applied imports stay in the history.',
  params,
  response: {
    status: 200,
    schema: Type.Object({ id: Id }, { ...exact, description: 'The deleted import' }),
  },
  problems: ['wrong-state'],
})

export const FieldDecision = Type.Object(
  {
    take: oneOf(
      ['theirs', 'mine'] as const,
      'Whose value: that of the file, or that of the record',
    ),
    fields: Type.Optional(
      Type.Array(text(50, 'Name of a field'), {
        minItems: 1,
        maxItems: 50,
        description: 'Fields to decide. Default: all fields in conflict',
      }),
    ),
  },
  { ...exact, description: 'Decision about all conflicts in some fields' },
)
export type FieldDecision = Static<typeof FieldDecision>

export const decideFieldsEndpoint = endpoint({
  name: 'decideFields',
  method: 'POST',
  path: '/api/v2/import/{id}/decide',
  role: 'editor',
  summary: 'Resolve all conflicts in some fields',
  description:
    'Decides all talks in conflict that were not applied yet. Decisions on other fields stay. ' +
    'Talks that resemble a record need a decision of their own.',
  params,
  body: { schema: FieldDecision, types: [jsonType] },
  response: {
    status: 200,
    schema: Type.Object(
      { decided: Type.Integer({ minimum: 0, description: 'Number of talks' }) },
      { ...exact, description: 'Result of the decision' },
    ),
  },
  problems: ['wrong-state'],
})

export const importEndpoints = {
  createImport: createImportEndpoint,
  listImports: listImportsEndpoint,
  readImport: readImportEndpoint,
  listImportedTalks: listImportedTalksEndpoint,
  readRefused: readRefusedEndpoint,
  decideTalk: decideTalkEndpoint,
  applyImport: applyImportEndpoint,
  stopImport: stopImportEndpoint,
  undoImport: undoImportEndpoint,
  redoImport: redoImportEndpoint,
  discardImport: discardImportEndpoint,
  decideFields: decideFieldsEndpoint,
} as const
