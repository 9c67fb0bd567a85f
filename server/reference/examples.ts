import {
  type BodyOf,
  type Endpoint,
  type endpoints,
  invalidFields,
  type OpenapiExamples,
  Problem,
  type ProblemName,
  problems,
  type VideoInput,
  videoDefaults,
  videoFields,
} from '@talkshelf/contract'
import { toJson } from '../platform/http/json.ts'
import { problemDocument } from '../platform/http/problem.ts'
import responses from './responses.json' with { type: 'json' }

// The examples of the reference. The commands build on each other: a category, a talk in it, and
// changes of the talk. A test runs them. Readers paste them into shells with a real token, so a
// command that writes takes the id of the record, import, webhook or followed source from a
// variable.

const talk = {
  title: 'What the shelf remembers',
  category: 'Example Conference 2026',
  language: 'English',
  speakers: ['Zoë Example'],
  tags: ['archives', 'memory'],
  state: 1,
} as const
const lists = { speakers: [...talk.speakers], tags: [...talk.tags] }

type Endpoints = typeof endpoints
type EndpointWithFile = {
  [Name in keyof Endpoints]: Endpoints[Name] extends { body: { isBinary: true } } ? Name : never
}[keyof Endpoints]
type EndpointWithBody = {
  [Name in keyof Endpoints]: Endpoints[Name] extends { body: object } ? Name : never
}[keyof Endpoints]
type EndpointWithJson = Exclude<EndpointWithBody, EndpointWithFile>

/** The names of the files that the commands send. */
const files: { readonly [Name in EndpointWithFile]: string } = { uploadPicture: 'logo.png' }

const bodies: { readonly [Name in EndpointWithJson]: BodyOf<Endpoints[Name]> } = {
  createCategory: { title: talk.category },
  patchCategory: {
    start_date: '2026-03-01',
    end_date: '2026-03-03',
    city: 'Lisbon',
    country: 'PT',
    series: 'Example Conference',
    colour: '#14532d',
    links: [{ kind: 'schedule', url: 'https://example.org/2026/schedule' }],
  },
  createVideo: { ...talk, ...lists } satisfies VideoInput,
  replaceVideo: { ...talk, ...lists, summary: 'Forty years of talks, one shelf.' },
  patchVideo: { duration: 1815, tags: ['archives', 'memory', 'shelves'] },
  revertRevision: { fields: ['summary'] },
  schedulePublication: { publish_at: '2027-03-01T09:00:00+01:00' },
  replaceFacts: {
    facts: [{ kind: 'related', url: 'https://slides.example.org/shelf', label: 'Slides' }],
  },
  replaceSynonyms: {
    groups: [
      ['k8s', 'kubernetes'],
      ['ml', 'machine learning'],
    ],
  },
  createSuggestion: {
    kind: 'correction',
    video: 1,
    fields: { speakers: ['Zoë B. Example'] },
    comment: 'Her name is on the first slide.',
  },
  acceptSuggestion: { fields: ['speakers'] },
  declineSuggestion: { reason: 'not-verified' },
  createImport: {
    text: 'title,speakers,language\nWhat the shelf remembers,Zoë Example,en\n',
    name: 'talks.csv',
    category: talk.category,
  },
  createFollowedSource: {
    url: 'https://schedule.example.org/2026.json',
    options: { category: talk.category, draft: true },
    interval_hours: 24,
  },
  patchFollowedSource: { interval_hours: 12 },
  patchSource: { pin: { state: 'gone', until: '2027-03-01' } },
  createEdit: {
    filter: { category: 'example-conference-2026' },
    operations: [{ op: 'set', field: 'copyright_text', value: 'CC BY 4.0' }],
  },
  createMatch: {
    schedule: {
      text: 'key,title,speakers\n7f3a,What the shelf remembers,Zoë Example\n',
      name: 'talks.csv',
    },
    playlist: {
      text: 'key,title,url\nv1,Zoë Example: What the shelf remembers,https://v.example.org/1\n',
      name: 'videos.csv',
    },
    category: talk.category,
  },
  decideMatch: { verdict: 'pair', talk: '7f3a', recording: 'v1' },
  decideTalk: { take: ['title'] },
  decideFields: { take: 'theirs', fields: ['summary'] },
  takeDownVideo: { reason: 'The speaker asked for it' },
  mergeVideo: { into: 1 },
  mergeCategory: { into: 'example-conference-2026' },
  patchSpeaker: {
    description: 'Zoë writes about *archives*.',
    pronouns: 'she/her',
    links: [{ kind: 'website', url: 'https://zoe.example.org/' }],
    aliases: [{ name: 'Z. Example', shown: true }],
  },
  splitSpeaker: { name: 'Zoë Example (Lisbon)', videos: [1] },
  mergeSpeaker: { into: 'zoe-example' },
  patchTag: { name: 'Archives', aliases: [{ name: 'archiving' }] },
  mergeTag: { into: 'archives' },
  invitePerson: { name: 'Ada Admin', mail: 'ada@example.org', role: 'editor' },
  patchPerson: { role: 'admin' },
  createWebhook: { url: 'https://hooks.example.org/talks', filter: { kind: 'video' } },
  patchWebhook: { filter: {} },
  replayWebhook: { since: '2026-11-15T10:00:00Z' },
  enableWebhook: { from: 'cursor' },
}

const params: Record<string, string | number> = {
  id: 1,
  revision: 1,
  slug: 'example-conference-2026',
  rule: 'no-licence',
  position: 1,
}
const slugs: { readonly [Name in keyof Endpoints]?: string } = {
  mergeCategory: 'example-days-2026',
  unmergeCategory: 'example-days-2026',
  readSpeaker: 'zoe-example',
  patchSpeaker: 'zoe-example',
  splitSpeaker: 'zoe-example',
  mergeSpeaker: 'zoe-example-lisbon',
  unmergeSpeaker: 'zoe-example-lisbon',
  readTag: 'archives',
  patchTag: 'archives',
  mergeTag: 'memory',
  unmergeTag: 'memory',
}

const revisions: { readonly [Name in keyof Endpoints]?: number } = { revertRevision: 2 }

/** Returns the shell variable for the id in the path of an endpoint that writes. */
export function idVariable({ method, path }: Endpoint): string | undefined {
  if (method === 'GET' || !path.includes('{id}')) return undefined
  if (path.startsWith('/api/v2/webhook/')) return 'WEBHOOK_ID'
  if (path.startsWith('/api/v2/followed-source/')) return 'FOLLOWED_SOURCE_ID'
  if (path.startsWith('/api/v2/suggestion/')) return 'SUGGESTION_ID'
  if (path.startsWith('/api/v2/source/')) return 'SOURCE_ID'
  if (path.startsWith('/api/v2/replacement/')) return 'REPLACEMENT_ID'
  if (path.startsWith('/api/v2/match/')) return 'MATCH_ID'
  return path.startsWith('/api/v2/import/') ? 'IMPORT_ID' : 'VIDEO_ID'
}

/** Returns the URL of a command as a word of the shell. */
function urlWord(endpoint: Endpoint, base: string, query: string): string {
  const slug = slugs[endpoint.name as keyof Endpoints] ?? params.slug ?? ''
  const revision = revisions[endpoint.name as keyof Endpoints] ?? params.revision ?? ''
  const values: typeof params = { ...params, slug, revision }
  const variable = idVariable(endpoint)
  const fill = (name: string) =>
    // The shell refuses the command if the variable is not set.
    name === 'id' && variable ? `\${${variable}:?}` : String(values[name])
  const path = endpoint.path.replaceAll(/\{(\w+)\}/g, (_, name) => fill(name))
  return variable
    ? `"${base.replaceAll(/[\\"$`]/g, '\\$&')}${path}${query}"`
    : quoted(base + path + query)
}

/** Returns a curl command for an endpoint, to paste into a shell. */
export function curlExample(endpoint: Endpoint, base: string, query = ''): string {
  return [
    endpoint.method === 'GET' ? 'curl' : `curl -X ${endpoint.method}`,
    urlWord(endpoint, base, query),
    // Double quotes: the shell expands the variable.
    ...(endpoint.role === 'anyone' ? [] : ['-H "Authorization: Token $TOKEN"']),
    ...(query === '' ? [`-H ${quoted('Accept: application/json')}`] : []),
    ...(endpoint.body ? [`-H ${quoted(`Content-Type: ${endpoint.body.types[0]}`)}`] : []),
    ...(endpoint.body ? [bodyOption(endpoint)] : []),
  ].join(' \\\n  ')
}

/** Returns the option of curl with the body of an endpoint. */
function bodyOption({ name, body }: Endpoint): string {
  if (body?.isBinary) return `--data-binary @${files[name as EndpointWithFile]}`
  const fields = Object.entries(bodies[name as EndpointWithJson])
  return `-d ${quoted(lines(fields, JSON.stringify).replaceAll('\n', '\n  '))}`
}

/** Returns a video record as JSON, with the fields in their order. */
export function videoExample(): string {
  const time = '2026-03-01T09:30:00.000'
  const video = {
    ...videoDefaults,
    ...talk,
    id: 1,
    slug: 'what-the-shelf-remembers',
    added: time,
    updated: time,
  }
  return lines(videoFields.map((name) => [name, video[name]]))
}

/** Returns JSON that shows how characters are escaped. */
export function escapingExample(): string {
  return lines([
    ['speakers', ['Zoë']],
    ['title', '<b> and Q&A'],
  ])
}

export const conversationExample = `GET /api/v2/video/1

    200 OK
    ETag: "1.4.pL2cZx0Q.json"

PATCH /api/v2/video/1
If-Match: "1.4.pL2cZx0Q.json"

    200 OK
    ETag: "1.5.Xk2vQ9aE.json"`

const exampleProblems: { readonly [Name in ProblemName]?: Problem } = {
  'invalid-fields': invalidFields([
    { pointer: '/title', code: 'required', detail: 'is required' },
    {
      pointer: '/duration',
      code: 'out-of-range',
      detail: 'must be a whole number from 0 to 2147483647, or null',
    },
  ]),
  'invalid-query': new Problem('invalid-query', 'Invalid query parameter: page', {
    errors: [
      { pointer: '/page', code: 'type', detail: 'must be a whole number from 1 to 1000000' },
    ],
  }),
  'taken-down': new Problem('taken-down', 'This record was taken down on 2026-03-01', {
    taken_down: '2026-03-01',
    reason: 'The speaker asked for it',
  }),
  'stale-revision': new Problem(
    'stale-revision',
    'The record has changed since the version in If-Match. Nothing was written; read it again',
    {
      current: {
        revision: 5,
        etag: '"1.5.Xk2vQ9aE"',
        updated: '2026-03-01T09:30:00.000',
        by: 'Edith',
        fields: ['title', 'tags'],
      },
    },
  ),
  unavailable: new Problem('unavailable', 'The database did not respond in time; try again later', {
    outcome: 'not-applied',
  }),
}

/** Returns a problem document as JSON. */
export function problemExample(name: ProblemName, base: string): string {
  const problem = exampleProblems[name] ?? new Problem(name, problems[name].title)
  return JSON.stringify(
    problemDocument(problem, base, '0f8fad5b-d9cb-469f-a165-70867728950e'),
    null,
    2,
  )
}

/** The examples of the OpenAPI document. Those of responses are golden responses. */
export const openapiExamples: OpenapiExamples = {
  requests: bodies,
  responses,
  problems: Object.fromEntries(
    (Object.keys(exampleProblems) as ProblemName[]).map((name) => [
      name,
      JSON.parse(problemExample(name, 'https://talks.example.org')),
    ]),
  ),
}

/** Formats JSON with one field per line. */
function lines(
  entries: readonly (readonly [string, unknown])[],
  stringify: (value: unknown) => string = toJson,
): string {
  const fields = entries.map(([name, value]) => `  ${stringify(name)}: ${stringify(value)}`)
  return `{\n${fields.join(',\n')}\n}`
}

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`
