import Type, { type Static } from 'typebox'
import { endpoint, Id, jsonType } from './endpoint.ts'
import { PageSize } from './page.ts'
import './formats.ts'

// An import is read, planned, applied, and perhaps undone. The plan says for every talk what shall
// become of it, before anything is written.

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
export const importFormats = ['v2', 'pyvideo', 'yt-dlp', 'schedule', 'voctoweb', 'csv'] as const

const exact = { additionalProperties: false }
const text = (maxLength: number, description: string) =>
  Type.String({ minLength: 1, maxLength, format: 'text', description })
const one = <T extends string>(all: readonly T[], description: string) =>
  Type.Union(
    all.map((it) => Type.Literal(it)),
    { description },
  ) as unknown as ReturnType<typeof Type.Unsafe<T>>
const count = Type.Integer({ minimum: 0 })
const counts = (names: readonly string[], description: string) =>
  Type.Object(
    Object.fromEntries(names.map((name) => [name, count])) as Record<string, typeof count>,
    { ...exact, description },
  )

/** Rows of old imports are removed (IMPORT_DAYS); the import itself stays, with these counts. */
export const Import = Type.Object(
  {
    id: Id,
    state: one(importStates, 'How far it is'),
    name: Type.String({ description: 'The file or the address' }),
    format: Type.String({ description: 'How it was read' }),
    source: Type.String({
      description:
        'What the keys of its talks belong to: the next import of the same source finds the same records',
    }),
    created: Type.String({ description: 'UTC' }),
    by: Type.String(),
    rows: Type.Integer({ minimum: 0, description: 'Talks, and what else the file describes' }),
    done: Type.Integer({ minimum: 0, description: 'How many of them were applied' }),
    problem: Type.Union([Type.String(), Type.Null()], { description: 'Why it failed' }),
    planned: counts(importVerdicts, 'Talks by what shall become of them'),
    outcome: counts(
      ['created', 'changed', 'unchanged', 'kept', 'refused'],
      'Talks by what became of them',
    ),
    undone: counts(
      ['undone', 'touched'],
      'Talks that were taken back, and talks that somebody had touched since',
    ),
  },
  { ...exact, description: 'An import' },
)
export type Import = Static<typeof Import>

const Note = Type.Object(
  {
    kind: one(['dropped', 'guessed', 'repaired', 'refused', 'question'] as const, 'What was done'),
    field: Type.String(),
    detail: Type.String(),
  },
  exact,
)

export const ImportedTalk = Type.Object(
  {
    position: Type.Integer({ minimum: 1 }),
    place: Type.String({ description: 'Where it is in the file' }),
    verdict: one(importVerdicts, 'What shall become of it'),
    title: Type.Union([Type.String(), Type.Null()]),
    video: Type.Union([Id, Type.Null()], { description: 'The record that it is' }),
    changes: Type.Record(
      Type.String(),
      Type.Object(
        { old: Type.Unknown(), new: Type.Unknown(), conflict: Type.Optional(Type.Literal(true)) },
        exact,
      ),
      {
        description:
          'Field by field. With `conflict` both sides changed it, and the record stays as it is unless you decide otherwise',
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
      next: Type.Union([Type.String({ description: 'The address of the next page' }), Type.Null()]),
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
        description: 'Where to fetch it: http or https, a public address',
      }),
    ),
    text: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 4_000_000,
        description: 'Or the text of the file itself',
      }),
    ),
    name: Type.Optional(text(255, 'What the file is called')),
    format: Type.Optional(
      one(importFormats, 'How to read it. Without it, it is recognised by its content'),
    ),
    source: Type.Optional(
      text(100, 'What the keys of its talks belong to. Without it: the format'),
    ),
    category: Type.Optional(text(255, 'The category of talks for which the file names none')),
    language: Type.Optional(text(100, 'The language of talks for which the file names none')),
    draft: Type.Optional(
      Type.Boolean({ description: 'Whether new records are drafts. Without it they are live' }),
    ),
  },
  { ...exact, description: 'What to import: url or text' },
)
export type ImportInput = Static<typeof ImportInput>

const params = { id: Id }

export const createImportEndpoint = endpoint({
  name: 'createImport',
  method: 'POST',
  path: '/api/v2/import',
  role: 'editor',
  summary: 'Read a file and plan its import',
  description:
    'Nothing is written to any record. Large files go through the command: `talkshelf import`.',
  body: { schema: ImportInput, types: [jsonType], maxBytes: 4_500_000 },
  response: { status: 201, schema: Import, location: true },
  problems: ['import-refused'],
})

export const listImportsEndpoint = endpoint({
  name: 'listImports',
  method: 'GET',
  path: '/api/v2/import',
  role: 'editor',
  summary: 'List imports, the newest first',
  query: { before: Id, page_size: PageSize },
  response: { status: 200, schema: list(Import, 'A page of imports') },
  problems: [],
})

export const readImportEndpoint = endpoint({
  name: 'readImport',
  method: 'GET',
  path: '/api/v2/import/{id}',
  role: 'editor',
  summary: 'See how far an import is',
  params,
  response: { status: 200, schema: Import },
  problems: [],
})

export const listImportedTalksEndpoint = endpoint({
  name: 'listImportedTalks',
  method: 'GET',
  path: '/api/v2/import/{id}/talk',
  role: 'editor',
  summary: 'See what shall become of each talk, and what became of it',
  params,
  query: {
    verdict: one(importVerdicts, 'Only those'),
    undone: one(['undone', 'touched'] as const, 'Only those'),
    after: Type.Integer({
      minimum: 0,
      maximum: 2_147_483_647,
      description: 'From behind this position on',
    }),
    page_size: PageSize,
  },
  response: { status: 200, schema: list(ImportedTalk, 'A page of talks') },
  problems: [],
})

export const TalkDecision = Type.Object(
  {
    take: Type.Optional(
      Type.Array(text(50, 'A field'), {
        maxItems: 50,
        description: 'Fields in which the file is right and the hand edit goes',
      }),
    ),
    same: Type.Optional(
      Type.Boolean({ description: 'Whether the talk is the record that it looks like' }),
    ),
  },
  { ...exact, description: 'What an editor decides about a talk' },
)
export type TalkDecision = Static<typeof TalkDecision>

export const decideTalkEndpoint = endpoint({
  name: 'decideTalk',
  method: 'PUT',
  path: '/api/v2/import/{id}/talk/{position}',
  role: 'editor',
  summary: 'Decide a conflict',
  description: 'Before the talk is applied.',
  params: { ...params, position: Type.Integer({ minimum: 1, maximum: 2_147_483_647 }) },
  body: { schema: TalkDecision, types: [jsonType] },
  response: { status: 200, schema: ImportedTalk },
  problems: ['wrong-state'],
})

const action = <N extends string>(name: N, verb: string, summary: string, about: string) =>
  endpoint({
    name,
    method: 'POST',
    path: `/api/v2/import/{id}/${verb}`,
    role: 'editor',
    summary,
    description: about,
    params,
    response: { status: 200, schema: Import },
    problems: ['wrong-state'],
  })

export const applyImportEndpoint = action(
  'applyImport',
  'apply',
  'Apply an import',
  'It goes on by itself, batch by batch. One that was stopped goes on where it was.',
)
export const stopImportEndpoint = action(
  'stopImport',
  'stop',
  'Stop an import',
  'After the batch that is under way.',
)
export const undoImportEndpoint = action(
  'undoImport',
  'undo',
  'Take an import back',
  'Every record that nobody has touched since is as it was before; records that the import made become drafts. The others are listed with `undone=touched`.',
)
