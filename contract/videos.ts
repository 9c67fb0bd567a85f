import Type, { type Static, type TSchema } from 'typebox'
import { endpoint, Id, jsonType, mergePatchType, RevisionNumber, slugOf } from './endpoint.ts'
import { commaSeparated, matching } from './formats.ts'
import { CursorText, PageNumber, PageOf, PageSize } from './page.ts'
import {
  DurationRange,
  Facets,
  Include,
  SearchInterpretation,
  SearchText,
  Snippet,
  Spelling,
} from './search.ts'

// The video record as documented: 32 fields, always all of them, in this order. No field is ever
// added, because old clients reject unknown keys.

export const states = { live: 1, draft: 2 } as const
/** The formats of files that a record has fields for. */
export const mediaFormats = ['mp4', 'webm', 'ogv', 'flv'] as const

const text = (maxLength: number, description: string) =>
  Type.String({ maxLength, format: 'text', description })
const nullable = <T extends TSchema>(schema: T, description: string) =>
  Type.Union([schema, Type.Null()], { description })
const address = (description: string) =>
  nullable(Type.String({ maxLength: 2048, format: 'address' }), description)
/** Highest number of speakers or tags of a record. */
export const maxNames = 100
const names = (description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: 255, format: 'text' }), {
    maxItems: maxNames,
    description,
  })
const bytes = (format: string) =>
  nullable(
    Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
    `Size of the ${format} file in bytes`,
  )
const moment = (description: string) =>
  Type.String({
    pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}$',
    readOnly: true,
    description,
  })

const media = <F extends string>(format: F) =>
  ({
    [`video_${format}_length`]: bytes(format),
    [`video_${format}_url`]: address(
      `URL of the ${format} file; empty string or null if there is none`,
    ),
    [`video_${format}_download_only`]: Type.Boolean({
      description: `Whether the ${format} file is for download only`,
    }),
  }) as Record<`video_${F}_length`, ReturnType<typeof bytes>> &
    Record<`video_${F}_url`, ReturnType<typeof address>> &
    Record<`video_${F}_download_only`, ReturnType<typeof Type.Boolean>>

const fields = {
  category: Type.String({
    minLength: 1,
    maxLength: 255,
    format: 'text',
    description:
      'Title of the category: the group or event that the talk belongs to. An alias is replaced ' +
      'by the title',
  }),
  language: Type.String({
    minLength: 1,
    maxLength: 255,
    format: 'text',
    description: 'English name of the language. A BCP 47 or ISO 639 code is replaced by the name',
  }),
  slug: Type.String({
    readOnly: true,
    maxLength: 50,
    description: 'Derived from the title when the record is created; never changes',
  }),
  speakers: names(
    'Display names of the speakers, in the given order. An alias is replaced by the main name',
  ),
  tags: names('Tags, in the given order. An alias is replaced by the main name'),
  id: Type.Integer({ minimum: 1, readOnly: true, description: 'Id of the record' }),
  state: Type.Union([Type.Literal(states.live), Type.Literal(states.draft)], {
    description: '1: live; 2: draft, visible to editors only',
  }),
  title: Type.String({
    minLength: 1,
    maxLength: 255,
    format: 'text',
    description: 'Title of the talk',
  }),
  summary: text(20_000, 'Short text in Markdown'),
  description: text(100_000, 'Long text in Markdown'),
  quality_notes: text(20_000, 'Known problems of the recording'),
  copyright_text: text(20_000, 'Licence text'),
  embed: text(
    20_000,
    'HTML of an embeddable player, as older clients expect it. If omitted on create, derived from ' +
      'source_url. For a current player use /embed/{id} or oEmbed',
  ),
  thumbnail_url: address('URL of a thumbnail image'),
  duration: nullable(
    Type.Integer({ minimum: 0, maximum: 2_147_483_647 }),
    'Length of the talk in seconds',
  ),
  ...media('ogv'),
  ...media('mp4'),
  ...media('webm'),
  ...media('flv'),
  source_url: address('URL of the original video'),
  whiteboard: text(
    20_000,
    'Notes of the editors. Public: visible to everyone who can read the record',
  ),
  recorded: nullable(Type.String({ format: 'date' }), 'Day of the recording, YYYY-MM-DD'),
  added: moment('Time of creation: UTC with milliseconds, without Z'),
  updated: moment('Time of the last change: UTC with milliseconds, without Z. Strictly increasing'),
}

export const Video = Type.Object(fields, {
  additionalProperties: false,
  description: 'A video record',
})
export type Video = Static<typeof Video>

export const SparseVideo = Type.Partial(Video, {
  additionalProperties: false,
  description: 'A record with the fields that the query parameter `fields` names',
})
export type SparseVideo = Static<typeof SparseVideo>

export const videoFields = Object.keys(fields) as (keyof Video)[]
export const readOnlyFields = ['id', 'slug', 'added', 'updated'] as const satisfies (keyof Video)[]

/**
 * Values of fields that a PUT or POST omits. An omitted `state` stays unchanged on PUT and is draft
 * on POST. An omitted `embed` is derived from `source_url` on POST.
 */
export const videoDefaults = {
  speakers: [],
  tags: [],
  summary: '',
  description: '',
  quality_notes: '',
  copyright_text: '',
  embed: '',
  thumbnail_url: null,
  duration: null,
  video_ogv_length: null,
  video_ogv_url: null,
  video_ogv_download_only: false,
  video_mp4_length: null,
  video_mp4_url: null,
  video_mp4_download_only: false,
  video_webm_length: null,
  video_webm_url: null,
  video_webm_download_only: false,
  video_flv_length: null,
  video_flv_url: null,
  video_flv_download_only: false,
  source_url: null,
  whiteboard: '',
  recorded: null,
} as const satisfies Partial<Video>

// Clients send back what they read, so read-only fields are accepted with any value and ignored.
const ignored = Type.Unknown({ readOnly: true, description: 'Read-only: accepted and ignored' })
const writable = { ...fields, id: ignored, slug: ignored, added: ignored, updated: ignored }
const { title, category, language, ...others } = writable

export const VideoPatch = Type.Partial(Type.Object(writable), {
  additionalProperties: false,
  description:
    'Omitted fields stay unchanged; a list replaces the whole list; null is allowed only where ' +
    'the field can be null (RFC 7396)',
})
export type VideoPatch = Static<typeof VideoPatch>

export const VideoInput = Type.Object(
  { title, category, language, ...Type.Partial(Type.Object(others)).properties },
  {
    additionalProperties: false,
    description: 'A complete record; omitted fields get their defaults',
  },
)
export type VideoInput = Static<typeof VideoInput>

const params = { id: Id }

/** Sort keys of a collection of records. A minus sign in front reverses the order. */
export const orderings = ['added', 'recorded', 'title', 'updated', 'duration'] as const
const oneYear = '[1-9]\\d{0,3}'

const day = (description: string) => Type.String({ format: 'date', description })

const VideoPage = Type.Object(
  {
    // Records are complete unless `fields` is used, so that is their type here.
    ...PageOf(Type.Unsafe<Video>(Type.Union([Video, SparseVideo])), '').properties,
    search: Type.Optional(SearchInterpretation),
    snippets: Type.Optional(
      Type.Array(Snippet, { description: 'One per result, in the same order' }),
    ),
    facets: Type.Optional(Facets),
  },
  { additionalProperties: false, description: 'A page of records' },
)

export const listVideosEndpoint = endpoint({
  name: 'listVideos',
  method: 'GET',
  path: '/api/v2/video',
  role: 'anyone',
  summary: 'List live records',
  description:
    'Filters can be combined. `count` is exact for all records and for those of one category, ' +
    'speaker, tag or language; with other filters up to 10,000, with `q` up to 1,000, and with ' +
    'facets up to 10,000 again. `page` reaches the first 10,000 records; follow `next` from ' +
    'there. To see every record exactly once while others are added or removed, start with an ' +
    'empty `cursor` and follow `next`. An unknown date sorts as the oldest, an unknown length as ' +
    'the shortest. With `q`, results are ranked by relevance: title, speakers, tags, category, ' +
    'summary and description count in this order; for very common words, only the newest are ' +
    'ranked. If few records contain all words, those with some of them follow, and rare words ' +
    'that are probably misspelled are corrected. With an `ordering`, the newest 10,000 matches ' +
    'are sorted. With `fields`, records have only these fields.',
  query: {
    q: SearchText,
    spelling: Spelling,
    page: PageNumber,
    page_size: PageSize,
    cursor: CursorText,
    category: slugOf('category'),
    speaker: slugOf('speaker'),
    tag: slugOf('tag'),
    language: Type.String({
      minLength: 1,
      maxLength: 100,
      format: 'text',
      description: 'English name or code of a language',
    }),
    year: matching(
      `^${oneYear}(,${oneYear}){0,19}$`,
      'must be a year, or up to 20 years separated by commas',
      { description: 'Recorded in this year, or in one of several: 2017,2018' },
    ),
    duration: DurationRange,
    recorded_after: day('Recorded on or after this day'),
    recorded_before: day('Recorded on or before this day'),
    updated_since: matching(
      '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d{1,3})?Z?$',
      'must be a date and time in UTC, written YYYY-MM-DDTHH:MM:SS.mmm',
      { description: 'Changed at or after this time, in UTC, in the format of `updated`' },
    ),
    source_url: Type.String({
      minLength: 1,
      maxLength: 2048,
      format: 'text',
      description: 'URL of the original video, exactly as in the record',
    }),
    ordering: commaSeparated(
      orderings,
      { maxItems: 5, isReversible: true },
      `Comma-separated: ${orderings.join(', ')}; a minus sign reverses one. ` +
        'Default: -recorded,title; with q by relevance',
    ),
    include: Include,
    fields: commaSeparated(
      videoFields,
      { maxItems: videoFields.length },
      'Comma-separated fields of the records, such as id,title,speakers. The others are left out ' +
        'of each record. Default: all 32',
    ),
  },
  requestHeaders: ['If-None-Match'],
  response: { status: 200, schema: VideoPage, etag: true },
  problems: [],
})

export const readVideoEndpoint = endpoint({
  name: 'readVideo',
  method: 'GET',
  path: '/api/v2/video/{id}',
  role: 'anyone',
  summary: 'Read a record',
  description:
    'Drafts return 404 without an editor token. A record that was merged into another one redirects ' +
    'to it (301).',
  params,
  requestHeaders: ['If-None-Match', 'If-Modified-Since'],
  response: { status: 200, schema: Video, etag: true, redirects: true },
  problems: ['taken-down'],
})

export const replaceVideoEndpoint = endpoint({
  name: 'replaceVideo',
  method: 'PUT',
  path: '/api/v2/video/{id}',
  role: 'editor',
  forEventEditors: true,
  summary: 'Replace a record',
  description: 'Never creates a record. A write that changes nothing adds no revision.',
  params,
  requestHeaders: ['If-Match'],
  body: { schema: VideoInput, types: [jsonType] },
  response: { status: 200, schema: Video, etag: true },
  problems: ['taken-down', 'merged'],
})

export const patchVideoEndpoint = endpoint({
  name: 'patchVideo',
  method: 'PATCH',
  path: '/api/v2/video/{id}',
  role: 'editor',
  forEventEditors: true,
  summary: 'Change some fields of a record',
  description: 'JSON Merge Patch (RFC 7396).',
  params,
  requestHeaders: ['If-Match'],
  body: { schema: VideoPatch, types: [jsonType, mergePatchType] },
  response: { status: 200, schema: Video, etag: true },
  problems: ['taken-down', 'merged'],
})

export const createVideoEndpoint = endpoint({
  name: 'createVideo',
  method: 'POST',
  path: '/api/v2/video',
  role: 'editor',
  forEventEditors: true,
  summary: 'Create a record',
  requestHeaders: ['Idempotency-Key'],
  body: { schema: VideoInput, types: [jsonType] },
  response: { status: 201, schema: Video, etag: true, location: true },
  problems: [],
})

export const Takedown = Type.Object(
  {
    reason: Type.String({
      minLength: 1,
      maxLength: 1000,
      format: 'text',
      description: 'Shown to everyone who requests the record',
    }),
  },
  { additionalProperties: false },
)

export const takeDownVideoEndpoint = endpoint({
  name: 'takeDownVideo',
  method: 'POST',
  path: '/api/v2/video/{id}/takedown',
  role: 'admin',
  summary: 'Take a record down permanently',
  warning: 'A takedown cannot be undone.',
  description:
    'From now on the record returns 410 with the date and the reason, and so do all records that ' +
    'were merged into it. Repeating the request with the same `If-Match` returns the first ' +
    'response again; without it, it returns 410.',
  params,
  requestHeaders: ['If-Match'],
  body: { schema: Takedown, types: [jsonType] },
  response: {
    status: 200,
    schema: Type.Object(
      { id: Id, taken_down: Type.String({ format: 'date' }), reason: Type.String() },
      { additionalProperties: false },
    ),
  },
  problems: ['taken-down'],
})

export const MergeVideo = Type.Object(
  {
    into: Type.Integer({
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'Id of the record to keep',
    }),
    into_revision: Type.Optional(
      Type.Integer({
        ...RevisionNumber,
        description: 'Merge only if this is still the revision of the record to keep',
      }),
    ),
    fields: Type.Optional(VideoPatch),
  },
  { additionalProperties: false, description: 'The record to keep, and what it gets' },
)
export type MergeVideo = Static<typeof MergeVideo>

export const mergeVideoEndpoint = endpoint({
  name: 'mergeVideo',
  method: 'POST',
  path: '/api/v2/video/{id}/merge',
  role: 'editor',
  forEventEditors: true,
  summary: 'Merge a record into another one of the same talk',
  description:
    'The record in `into` gets the values in `fields`. Each of its other fields stays, unless it ' +
    'is empty and the merged record has a value; `speakers`, `tags` and facts of both are united, ' +
    'and it is live if one of both is. The merged record redirects to it from now on, and imports ' +
    'that contain the merged record change the other one. `If-Match` takes the ETag of the record ' +
    'that is merged. Repeating the request has no effect. To undo a merge, restore a revision of ' +
    'the merged record.',
  params,
  requestHeaders: ['If-Match'],
  body: { schema: MergeVideo, types: [jsonType] },
  response: { status: 200, schema: Video, etag: true },
  problems: ['taken-down', 'merged'],
})

const revision = {
  revision: RevisionNumber,
  kind: Type.String({ description: 'created, updated, restored or merged' }),
  at: Type.String({ description: 'Time in UTC; the same as `updated` of that version' }),
  by: Type.String({ description: 'Name of the token, or of the user of the command line' }),
  via: Type.String({ description: 'Origin: api, import, page or command' }),
  request: Type.String({ description: 'Id of the request, or of the import' }),
  fields: Type.Array(Type.String(), { description: 'Names of the changed fields' }),
}

export const RevisionSummary = Type.Object(revision, { additionalProperties: false })
export const Revision = Type.Object(
  { ...revision, record: Video },
  { additionalProperties: false, description: 'A version of a record' },
)

export const listRevisionsEndpoint = endpoint({
  name: 'listRevisions',
  method: 'GET',
  path: '/api/v2/video/{id}/revisions',
  role: 'editor',
  forEventEditors: true,
  summary: 'List the revisions of a record, newest first',
  description: '50 per page.',
  params,
  query: { page: PageNumber },
  response: { status: 200, schema: PageOf(RevisionSummary, 'Revisions, newest first') },
  problems: ['taken-down'],
})

export const readRevisionEndpoint = endpoint({
  name: 'readRevision',
  method: 'GET',
  path: '/api/v2/video/{id}/revisions/{revision}',
  role: 'editor',
  forEventEditors: true,
  summary: 'Read a revision of a record',
  params: { id: Id, revision: RevisionNumber },
  response: { status: 200, schema: Revision },
  problems: ['taken-down'],
})

export const restoreRevisionEndpoint = endpoint({
  name: 'restoreRevision',
  method: 'POST',
  path: '/api/v2/video/{id}/revisions/{revision}/restore',
  role: 'editor',
  forEventEditors: true,
  summary: 'Restore a revision',
  description:
    'Makes an earlier version the current one, as a new revision. If the record was merged into ' +
    'another one, this undoes the merge: the record no longer redirects. The other record keeps ' +
    'what it got; revert that revision of it.',
  params: { id: Id, revision: RevisionNumber },
  requestHeaders: ['If-Match'],
  response: { status: 200, schema: Video, etag: true },
  problems: ['taken-down', 'invalid-fields'],
})

export const Revert = Type.Object(
  {
    fields: Type.Optional(
      Type.Array(text(50, 'Name of a field'), {
        minItems: 1,
        maxItems: 50,
        description: 'Fields to revert. Default: all fields that the revision changed',
      }),
    ),
  },
  { additionalProperties: false, description: 'What to revert' },
)
export type Revert = Static<typeof Revert>

export const revertRevisionEndpoint = endpoint({
  name: 'revertRevision',
  method: 'POST',
  path: '/api/v2/video/{id}/revisions/{revision}/revert',
  role: 'editor',
  forEventEditors: true,
  summary: 'Revert a revision',
  description:
    'Takes back what one revision changed, as a new revision; later changes of other fields ' +
    'stay. If a field has another value today than the revision gave it, the response is 409 ' +
    'with the names of these fields, and nothing is written. In `speakers` and `tags`, added ' +
    'names are removed and removed names return; other names stay. A revert that changes ' +
    'nothing adds no revision.',
  params: { id: Id, revision: RevisionNumber },
  requestHeaders: ['If-Match'],
  body: { schema: Revert, types: [jsonType] },
  response: { status: 200, schema: Video, etag: true },
  problems: ['taken-down', 'merged', 'fields-changed', 'not-revertible'],
})

export const videoEndpoints = {
  listVideos: listVideosEndpoint,
  readVideo: readVideoEndpoint,
  replaceVideo: replaceVideoEndpoint,
  patchVideo: patchVideoEndpoint,
  createVideo: createVideoEndpoint,
  takeDownVideo: takeDownVideoEndpoint,
  mergeVideo: mergeVideoEndpoint,
  listRevisions: listRevisionsEndpoint,
  readRevision: readRevisionEndpoint,
  restoreRevision: restoreRevisionEndpoint,
  revertRevision: revertRevisionEndpoint,
} as const
