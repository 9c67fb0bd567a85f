import {
  type BodyOf,
  type Endpoint,
  type endpoints,
  invalidFields,
  Problem,
  type ProblemName,
  problems,
  type VideoInput,
  videoDefaults,
  videoFields,
} from '@talkshelf/contract'
import { toJson } from '../platform/http/json.ts'
import { problemDocument } from '../platform/http/problem.ts'

// The examples of the reference. Run from the first to the last, the commands tell one story: a
// category, a talk in it, and what becomes of the talk. A test does run them.

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
type Taking = {
  [Name in keyof Endpoints]: Endpoints[Name] extends { body: object } ? Name : never
}[keyof Endpoints]

const bodies: { readonly [Name in Taking]: BodyOf<Endpoints[Name]> } = {
  createCategory: { title: talk.category },
  patchCategory: { start_date: '2026-03-01', end_date: '2026-03-03' },
  createVideo: { ...talk, ...lists } satisfies VideoInput,
  replaceVideo: { ...talk, ...lists, summary: 'Forty years of talks, one shelf.' },
  patchVideo: { duration: 1815, tags: ['archives', 'memory', 'shelves'] },
  replaceFacts: {
    facts: [{ kind: 'related', url: 'https://slides.example.org/shelf', label: 'Slides' }],
  },
  createImport: {
    text: 'title,speakers,language\nWhat the shelf remembers,Zoë Example,en\n',
    name: 'talks.csv',
    category: talk.category,
  },
  decideTalk: { take: ['title'] },
  takeDownVideo: { reason: 'The speaker asked for it' },
  mergeCategory: { into: 'example-conference-2026' },
  patchSpeaker: { aliases: [{ name: 'Z. Example', shown: true }] },
  splitSpeaker: { name: 'Zoë Example (Lisbon)', videos: [1] },
  mergeSpeaker: { into: 'zoe-example' },
  patchTag: { name: 'Archives', aliases: [{ name: 'archiving' }] },
  mergeTag: { into: 'archives' },
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
  readSpeaker: 'zoe-example',
  patchSpeaker: 'zoe-example',
  splitSpeaker: 'zoe-example',
  mergeSpeaker: 'zoe-example-lisbon',
  readTag: 'archives',
  patchTag: 'archives',
  mergeTag: 'memory',
}

/** A command to be pasted into a shell. */
export function curlExample(it: Endpoint, base: string, query = ''): string {
  const values: typeof params = {
    ...params,
    slug: slugs[it.name as keyof Endpoints] ?? params.slug ?? '',
  }
  const address = base + it.path.replaceAll(/\{(\w+)\}/g, (_, name) => String(values[name])) + query
  const body =
    it.body &&
    lines(Object.entries(bodies[it.name as Taking]), JSON.stringify).replaceAll('\n', '\n  ')
  return [
    it.method === 'GET' ? 'curl' : `curl -X ${it.method}`,
    quoted(address),
    // In double quotes, the shell puts the token in.
    ...(it.role === 'anyone' ? [] : ['-H "Authorization: Token $TOKEN"']),
    ...(query === '' ? [`-H ${quoted('Accept: application/json')}`] : []),
    ...(it.body ? [`-H ${quoted(`Content-Type: ${it.body.types[0]}`)}`] : []),
    ...(body === undefined ? [] : [`-d ${quoted(body)}`]),
  ].join(' \\\n  ')
}

export function videoExample(): string {
  const moment = '2026-03-01T09:30:00.000'
  const video = {
    ...videoDefaults,
    ...talk,
    id: 1,
    slug: 'what-the-shelf-remembers',
    added: moment,
    updated: moment,
  }
  return lines(videoFields.map((name) => [name, video[name]]))
}

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

const thrown: { readonly [Name in ProblemName]?: Problem } = {
  'invalid-fields': invalidFields([
    { pointer: '/title', code: 'required', detail: 'is required' },
    {
      pointer: '/duration',
      code: 'out-of-range',
      detail: 'must be a whole number from 0 to 2147483647, or null',
    },
  ]),
  'invalid-query': new Problem('invalid-query', 'The parameter page is wrong', {
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
    'The record has changed since the version in If-Match; nothing was written',
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
  unavailable: new Problem('unavailable', 'The database could not be reached in time', {
    outcome: 'not-applied',
  }),
}

export function problemExample(name: ProblemName, base: string): string {
  const problem = thrown[name] ?? new Problem(name, problems[name].title)
  return JSON.stringify(
    problemDocument(problem, base, '0f8fad5b-d9cb-469f-a165-70867728950e'),
    null,
    2,
  )
}

/** JSON with one field a line. */
function lines(
  entries: readonly (readonly [string, unknown])[],
  text: (value: unknown) => string = toJson,
): string {
  return `{\n${entries.map(([name, value]) => `  ${text(name)}: ${text(value)}`).join(',\n')}\n}`
}

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`
