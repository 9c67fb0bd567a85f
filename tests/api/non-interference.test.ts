import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mock, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { type Endpoint, endpoints, streamEndpoints } from '@talkshelf/contract'
import { writeSnapshot } from '../../server/exports/exports.ts'
import { feedIsComplete, readFeed, replay } from '../support/feed-replay.ts'
import { type Reply, startArchive, type TestArchive } from '../support/harness.ts'
import { checkInvariants, withDatabase } from '../support/invariants.ts'
import { fill, pyvideoTitle, retired, type Secrets, secrets, unlisted } from '../support/secrets.ts'
import { until } from '../support/until.ts'

// Two archives with the same public content and different secrets: drafts, hidden names, retired
// slugs, taken-down records, raw values of sources, imports. They answer every request of a reader
// with the same bytes, so no response depends on the secrets. Endpoints come from the contract and
// pages from the routes of the server, so new ones are covered automatically.
//
// Values that are random or depend on the time of the request are not compared: the request id, the
// challenge of the sign-in page, the Date header, and the time in the first
// line of an export.

mock.timers.enable({ apis: ['Date'], now: Date.parse('2026-01-01T00:00:00Z') })

const PUBLIC_URL = 'https://talks.example'
const [one, other] = [await startArchive({ PUBLIC_URL }), await startArchive({ PUBLIC_URL })]
await fill(one, secrets[0])
await fill(other, secrets[1])
mock.timers.setTime(Date.parse('2026-01-10T00:00:00Z'))

interface ReaderRequest {
  readonly method?: string
  readonly path: string
  readonly headers?: Record<string, string>
  /** Of a write; an empty object by default. */
  readonly body?: object
}

/** Returns a reply as text, without what is random or depends on the time. */
function comparable({ status, headers, text }: Reply): string {
  const { date: _, 'x-request-id': id = '', 'keep-alive': __, ...others } = headers
  const masked = (value: unknown) =>
    String(value)
      .replaceAll(/(challenge&quot;:&quot;)[\w-]{43}/g, '$1CHALLENGE')
      .replaceAll(/(name="form" value=")[\w.-]+/g, '$1FORM')
      .replaceAll(String(id || 'no id'), 'REQUEST')
  const body = masked(text)
    .replaceAll(/urn:uuid:[0-9a-f-]{36}/g, 'REQUEST')
    .replace(/^(\{"kind":"talkshelf","version":1,"at":)"[^"]+"/, '$1"MOMENT"')
    .replace(/(\/suggestion\/\d+\/)[\w-]{43}"/, '$1SECRET"')
  const lines = Object.entries(others).map(([name, value]) => `${name}: ${masked(value)}`)
  return [status, ...lines, '', body].join('\n')
}

/** Returns the text of both responses around their first difference. */
function difference(a: string, b: string): string {
  let index = 0
  while (a[index] === b[index]) index++
  return [a, b]
    .map((text) => JSON.stringify(text.slice(Math.max(0, index - 100), index + 100)))
    .join(' and ')
}

let comparedCount = 0
const statuses = new Map<number, number>()

async function assertSame(request: ReaderRequest): Promise<Reply> {
  // While a picture takes longer than usual, readers get the cover of the talk.
  const reply = request.path.startsWith('/picture/')
    ? await until('both pictures to be ready', () => compare(request))
    : await compare(request)
  comparedCount++
  statuses.set(reply.status, (statuses.get(reply.status) ?? 0) + 1)
  return reply
}

async function compare({
  method = 'GET',
  path,
  headers = {},
  body = {},
}: ReaderRequest): Promise<Reply> {
  const write = method === 'GET' || method === 'HEAD' || method === 'OPTIONS' ? {} : { body }
  const [first, second] = await Promise.all(
    [one, other].map((archive) => archive.call(method, path, { headers, ...write })),
  )
  const [a, b] = [first, second] as [Reply, Reply]
  if (comparable(a) !== comparable(b))
    assert.fail(
      `${method} ${path} ${JSON.stringify(headers)}: ${difference(comparable(a), comparable(b))}`,
    )
  assert.ok(a.status < 500 || a.status === 501, `${path}: ${a.text}`)
  return a
}

const ofBoth = <T>(valuesOf: (secret: Secrets) => readonly T[]): T[] =>
  secrets.flatMap((secret) => [...valuesOf(secret)])
const words = ofBoth(({ word }) => [word.toLowerCase()])

const videoIds = await withDatabase(one.databaseUrl, async (query) => {
  const [row] = await query('select max(id)::int as last from video')
  return Array.from({ length: Number(row?.last) + 1 }, (_, index) => String(index + 1))
})
/** Ids of public and secret entities, and one that does not exist. */
const entityIds = [
  '1',
  '2',
  '300',
  ...Array.from({ length: 8 }, (_, index) => String(301 + index)),
  '9999',
]

const slugs: Record<string, string[]> = {
  video: [
    'gardens-of-the-moon',
    'imported-from-elsewhere',
    'wrong',
    ...ofBoth(({ word }) => [`${word.toLowerCase()}-crowd-1`]),
  ],
  category: [
    'example-days-2026',
    'new-days',
    'wrong',
    ...ofBoth((secret) => [...unlisted(secret), ...retired(secret).category]),
  ],
  speaker: [
    'nora-public',
    'nell-now',
    'mara-stays',
    'wrong',
    ...ofBoth((secret) => [...unlisted(secret), ...retired(secret).speaker]),
  ],
  tag: [
    'gardens',
    'label',
    'wrong',
    ...ofBoth((secret) => [...unlisted(secret), ...retired(secret).tag]),
  ],
  language: ['english', 'german', ...ofBoth(({ language }) => [language.toLowerCase()])],
}
const isRetired = (kind: string, slug: string) =>
  ofBoth((secret) => (retired(secret) as Record<string, string[]>)[kind] ?? []).includes(slug)

const years = ['2024', '2025', '1900', ...ofBoth(({ recorded }) => [recorded.slice(0, 4)])]
const queries = [
  'gardens',
  'gardenesr',
  'gardeend',
  'nora',
  'nor',
  'former',
  'label',
  'days',
  'moon -gardens',
  '"gardens of"',
  'och men den att',
  'ja ei se on',
  pyvideoTitle,
  ...ofBoth(({ word, inflected, language }) => [
    word,
    `${word}s`,
    word.slice(0, 4),
    `${word.slice(0, -1)}x`,
    `${word} Former`,
    inflected,
    language,
  ]),
]
const parameters: Record<string, string[]> = {
  q: queries,
  page: ['1', '2', '99', '0'],
  page_size: ['1', '3'],
  cursor: ['', 'wrong'],
  category: slugs.category as string[],
  speaker: slugs.speaker as string[],
  tag: slugs.tag as string[],
  language: ['English', 'sv', 'fi', ...(slugs.language as string[])],
  year: years,
  duration: ['unknown', 'under-10', '10-to-30', '30-to-60', 'over-60'],
  recorded_after: ['1990-01-01', '2025-01-01'],
  recorded_before: ['2004-01-01', '2025-01-01'],
  updated_since: ['2026-01-01T00:00:05Z', '2026-01-01T00:00:30Z'],
  source_url: ofBoth(({ word }) => [`https://example.org/${word}`]),
  state: ['ok', 'suspect', 'gone', 'private', 'region'],
  host: ['example.org', 'videos.example.org', 'www.youtube.com'],
  ordering: ['title', '-added', 'updated', 'duration,-id', '-recorded'],
  spelling: ['exact', 'other'],
  fields: ['id,title', 'speakers,tags,category', 'wrong'],
  include: ['facets', 'snippets', 'facets,snippets'],
  after: ['1', '3', '9'],
  up_to: ['3', '9', '99'],
  before: ['5'],
  limit: ['5'],
}

function idsOf(kind: string, route: string): readonly string[] {
  if (['video', 'embed', 'picture'].includes(kind)) return videoIds
  if (route.startsWith('/desk/talk/')) return videoIds
  if (kind === 'import') return ['1', '2', '3']
  // /speaker/<slug> and /speakers/<slug> redirect to the page of the speaker.
  return [...entityIds, '-', ...(route.endsWith('/:id') ? (slugs[kind] ?? []) : [])]
}

const guessedFolders: Record<string, string> = {
  categories: 'category',
  event: 'category',
  events: 'category',
  languages: 'language',
  speakers: 'speaker',
  tags: 'tag',
}
const kindOf = (path: string) => {
  const folder = path.replace(/^\/api\/v2/, '').split('/')[1] ?? ''
  return guessedFolders[folder] ?? folder
}

/** Returns all paths of a route with parameters, such as /speaker/:id/:slug. */
function pathsFor(route: string): string[] {
  const kind = kindOf(route)
  const values: Record<string, readonly string[] | undefined> = {
    id: idsOf(kind, route),
    slug: route.includes('/:id/')
      ? slugs[kind]?.filter((slug, index) => index < 4 || /-(former|label|days|draft)$/.test(slug))
      : slugs[kind],
    form: ['320', 'preview', 'wrong'],
    year: years,
    revision: ['1', '2'],
    rule: ['no-licence', 'same-source'],
    position: ['1'],
    name: ['wrong.css'],
    secret: ['wrong', 'x'.repeat(43)],
    file: ['wrong.xml', 'video-1.xml'],
  }
  let paths = ['']
  for (const part of route.split(/(?=[:/])/)) {
    const [, name] = /^:(\w+)$/.exec(part) ?? []
    if (name === undefined) paths = paths.map((path) => path + part)
    else {
      const candidates = values[name]
      assert.ok(candidates, `${route} has :${name} in its path: add values for it`)
      paths = paths.flatMap((path) => candidates.map((value) => path + value))
    }
  }
  // That a slug is retired is public; whose it was is not, which is compared below.
  return paths.filter((path) => {
    const parts = path.replace(/^\/api\/v2/, '').split('/')
    const isById = parts.length > 3 && parts[2] !== '-' && !path.startsWith('/api')
    return isById || !parts.some((part) => isRetired(kindOf(path), part))
  })
}

/** Parses the routes of the server from the tree that its framework prints. */
async function routesOf({ app }: TestArchive): Promise<{ path: string; methods: string[] }[]> {
  const parents: string[] = []
  return app
    .printRoutes({ commonPrefix: false })
    .split('\n')
    .flatMap((line) => {
      const [, indent = '', part = '', methods] =
        /^([\s│]*)[├└]── (\S+)(?: \((.+)\))?/.exec(line) ?? []
      if (part === '') return []
      const depth = indent.length / 4
      parents[depth] = (depth === 0 ? '' : (parents[depth - 1] ?? '')) + part
      return methods === undefined
        ? []
        : [{ path: parents[depth] as string, methods: methods.split(', ') }]
    })
}

// The change feed depends on the time of each change, and is compared below.
const { listChanges: _, ...otherEndpoints } = endpoints
const { streamChanges: __, ...otherStreams } = streamEndpoints
const allEndpoints: readonly Endpoint[] = [
  ...Object.values(otherEndpoints),
  ...Object.values(otherStreams),
]

test('has two consistent archives that differ for editors', async () => {
  for (const archive of [one, other]) await checkInvariants(archive.databaseUrl)
  const lists = await Promise.all(
    [one, other].map((archive) =>
      archive.call('GET', '/api/v2/export.ndjson', { token: archive.editor }),
    ),
  )
  for (const [index, { text }] of lists.entries()) {
    const [mine, others] = [secrets[index], secrets[1 - index]] as [Secrets, Secrets]
    for (const kind of ['draft', 'Former', 'Merged', 'Alias', 'label', 'Days'])
      assert.ok(text.includes(`${mine.word} ${kind}`), kind)
    assert.ok(!text.includes(others.word))
  }
})

test('answers readers the same on every endpoint, URL and method', async () => {
  for (const endpoint of allEndpoints)
    for (const path of pathsFor(endpoint.path.replaceAll(/\{(\w+)\}/g, ':$1'))) {
      const methods = endpoint.method === 'GET' ? ['GET', 'HEAD', 'OPTIONS'] : [endpoint.method]
      for (const method of methods) await assertSame({ method, path })
    }
})

test('answers readers the same with every parameter on every page', async () => {
  const reading = allEndpoints.filter(
    ({ method, role, query }) => method === 'GET' && role === 'anyone' && query,
  )
  for (const endpoint of reading) {
    for (const name of Object.keys(endpoint.query ?? {})) {
      assert.ok(parameters[name], `${endpoint.name} has the parameter ${name}: add values for it`)
      for (const value of parameters[name] ?? [])
        await assertSame({ path: `${endpoint.path}?${name}=${encodeURIComponent(value)}` })
    }
    if (endpoint.query && 'include' in endpoint.query)
      for (const q of queries)
        await assertSame({
          path: `${endpoint.path}?include=facets,snippets&q=${encodeURIComponent(q)}`,
        })
    if (!endpoint.query || !('cursor' in endpoint.query)) continue
    for (const query of ['?page_size=2', '?page_size=2&cursor=', '?page_size=1&q=gardens'])
      for (
        let path: string | undefined =
          endpoint.path + (query.includes('q=') && !('q' in endpoint.query) ? '' : query);
        path;
      ) {
        const { json } = await assertSame({ path })
        path = json.next?.slice(PUBLIC_URL.length)
      }
  }
})

test('answers suggestions of readers the same', async () => {
  const names = [
    'Wrong',
    'Nora Public',
    'gardens',
    ...ofBoth(({ word }) =>
      ['Draft', 'draft', 'Down', 'Former', 'Merged', 'Alias', 'label', 'Days', 'crowd 1'].map(
        (name) => `${word} ${name}`,
      ),
    ),
  ]
  const fields = names.flatMap((name) => [
    { category: name },
    { speakers: [name] },
    { tags: [name] },
    { category: name, recorded: 'soon' },
  ])
  const titles = ofBoth(({ word, inflected }) => [
    `${word} ${inflected} draft`,
    `${word} unpublished`,
  ])
  const counts = new Map<number, number>()
  /** Sends a suggestion, and deletes what is stored, so that no limit is reached. */
  const send = async (body: object) => {
    const { status } = await assertSame({ method: 'POST', path: '/api/v2/suggestion', body })
    counts.set(status, (counts.get(status) ?? 0) + 1)
    if (status !== 201) return
    await Promise.all(
      [one, other].map(({ databaseUrl }) =>
        withDatabase(databaseUrl, (query) => query('delete from suggestion')),
      ),
    )
  }
  const live = await one.call('GET', '/api/v2/video?page_size=100')
  const [talk] = live.json.results as { id: number }[]
  for (const changed of fields) {
    await send({ kind: 'correction', video: talk?.id, fields: changed })
    await send({ kind: 'missing', fields: { title: 'Missing', ...changed } })
  }
  for (const id of videoIds.map(Number)) {
    const video = { kind: 'correction', video: id }
    for (const base of [{}, { base_revision: 1 }, { base_revision: 2 }])
      for (const title of titles) await send({ ...video, ...base, fields: { title } })
    for (const kind of ['removal', 'dead-link']) await send({ kind, video: id, comment: 'Please' })
    await send({ kind: 'duplicate', video: talk?.id, duplicate_of: id })
  }
  for (const status of [201, 400, 404, 410])
    assert.ok((counts.get(status) ?? 0) > 1, `hardly any ${status}`)
})

test('serves readers the same pages, feeds, sitemaps and pictures', async () => {
  const html = { accept: 'text/html' }
  // Metrics count requests and seconds.
  const operators = ['/metrics']
  const routes = (await routesOf(one)).filter(
    ({ path }) => !path.startsWith('/api/v2') && !operators.includes(path),
  )
  assert.ok(routes.length > 50, `only ${routes.length} routes`)
  for (const { path: route, methods } of routes)
    for (const path of pathsFor(route))
      for (const method of route.includes(':slug') ? ['GET'] : methods)
        await assertSame({ method, path, headers: html })
  const searchQueries = [
    'q',
    'category',
    'speaker',
    'tag',
    'language',
    'year',
    'duration',
    'spelling',
    'page',
    'ordering',
  ].flatMap((name) =>
    (parameters[name] ?? []).map((value) => `${name}=${encodeURIComponent(value)}`),
  )
  for (const query of searchQueries)
    for (const path of ['/search', '/search/rss', '/search/json'])
      await assertSame({ path: `${path}?${query}`, headers: html })
  for (const q of queries)
    await assertSame({ path: `/search/suggestions?q=${encodeURIComponent(q)}` })
  for (const letter of ['a', 'n', 'q', 'w', 'z'])
    for (const kind of ['speaker', 'tag'])
      await assertSame({ path: `/${kind}?character=${letter}`, headers: html })
  for (const id of videoIds)
    await assertSame({ path: `/oembed?url=${encodeURIComponent(`${PUBLIC_URL}/video/${id}/x`)}` })
  const { text } = await assertSame({ path: '/sitemap.xml' })
  for (const [, address = ''] of text.matchAll(/<loc>([^<]+)<\/loc>/g))
    await assertSame({ path: address.slice(PUBLIC_URL.length) })
})

test('follows the same changes to the same state', async () => {
  const [mine, theirs] = await Promise.all(
    [one, other].map(async (archive) => {
      await feedIsComplete(archive)
      const { entries, cursor } = await readFeed(archive, '0', '&include=record')
      const states = [...replay(entries).values()]
        .filter(({ state }) => state !== 'hidden')
        .map(({ seq: _, at: __, belonged_to: ___, ...state }) => state)
      const keyOf = ({ kind, id }: (typeof states)[number]) => `${kind}:${id}`
      return {
        states: states.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1)),
        digest: cursor.split('.')[1],
      }
    }),
  )
  assert.ok((mine?.states.length ?? 0) > 10)
  assert.deepEqual(mine, theirs)
})

test('answers conditional and negotiated requests the same', async () => {
  const paths = [
    ...videoIds.map((id) => `/api/v2/video/${id}`),
    ...videoIds.map((id) => `/api/v2/video/${id}/facts`),
    '/api/v2/video',
  ]
  for (const path of paths) {
    const { headers } = await one.call('GET', path)
    const conditions = [
      { 'if-none-match': '*' },
      { 'if-none-match': String(headers.etag) },
      { 'if-modified-since': String(headers['last-modified']) },
    ]
    for (const headers of [
      ...conditions,
      { accept: 'application/json' },
      { accept: 'image/png' },
      { 'accept-encoding': 'gzip' },
    ])
      await assertSame({ path, headers: headers as Record<string, string> })
  }
  for (const path of ['/', '/search?q=gardens', '/about', '/speaker'])
    await assertSame({ path, headers: { accept: 'text/html', 'accept-language': 'es' } })
})

test('answers the same for every retired slug', async () => {
  const masked = (reply: Reply, slug: string) =>
    comparable(reply)
      .replaceAll(slug, 'SLUG')
      .replaceAll(/content-length: \d+/g, '')
  for (const kind of ['speaker', 'tag', 'category'] as const)
    for (const path of [`/api/v2/${kind}/SLUG`, `/${kind}/-/SLUG`]) {
      const answers = await Promise.all(
        secrets.flatMap((secret, index) =>
          retired(secret)[kind].map(async (slug) => {
            const headers: Record<string, string> = path.startsWith('/api')
              ? {}
              : { accept: 'text/html' }
            const reply = await ([one, other][index] as TestArchive).call(
              'GET',
              path.replace('SLUG', slug),
              { headers },
            )
            assert.equal(reply.status, 410, path)
            return masked(reply, slug)
          }),
        ),
      )
      assert.equal(new Set(answers).size, 1, path)
    }
})

test('writes the same snapshots', async (t) => {
  const texts = await Promise.all(
    [one, other].map(async ({ databaseUrl }) => {
      const folder = mkdtempSync(join(tmpdir(), 'talkshelf-non-interference-'))
      t.after(() => rmSync(folder, { recursive: true }))
      await writeSnapshot({ url: databaseUrl, folder, keep: 1 }, new Date())
      const [file] = readdirSync(folder).filter((name) => name.endsWith('.gz'))
      return gunzipSync(readFileSync(join(folder, file as string)))
        .toString()
        .replace(/"at":"[^"]+"/, '')
    }),
  )
  assert.equal(texts[0], texts[1])
  for (const word of words) assert.ok(!texts[0]?.toLowerCase().includes(word))
})

test('compared enough responses', (t) => {
  t.diagnostic(
    `${comparedCount} responses: ${[...statuses]
      .sort()
      .map(([status, count]) => `${count} x ${status}`)
      .join(', ')}`,
  )
  for (const status of [200, 204, 301, 304, 400, 401, 404, 410])
    assert.ok((statuses.get(status) ?? 0) > 5, `hardly any ${status}`)
})
