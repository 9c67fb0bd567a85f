import assert from 'node:assert/strict'
import type { ImportedTalk } from '@talkshelf/contract'
import { type SeededRandom, seededRandom } from '../../server/pictures/seeded-random.ts'
import {
  assertImported,
  type ExportedJson,
  exportLines,
  namesOfExport,
  recordOf,
} from './exported-lines.ts'
import { type OpenArchive, openArchive } from './harness.ts'
import { exportAll, importClient } from './import-client.ts'
import { checkInvariants, type Query, withDatabase } from './invariants.ts'
import { fillArchive } from './random-archive.ts'
import { openSavedStates, type SavedStates } from './saved-states.ts'

// Imports exports with hostile mutations. For any file, the import ends, its valid lines are
// applied, and the archive stays usable.

type Path = readonly (string | number)[]

const integers: unknown[] = [
  ...[0, -1, 1, 2 ** 31 - 1, 2 ** 31, 2 ** 32, 2 ** 53 - 1, 2 ** 53, -(2 ** 53), 1e308, 1.5, 0.1],
  ...[999_999, 1_000_000, 1_000_001, 999_999_999, 1_000_000_000, 1_000_000_001, 65_536, 32_768],
  ...['1', '007', '2147483648', '9'.repeat(400), '', '1e3', '0x10', 'NaN'],
]
const days: unknown[] = [
  ...[
    '2020-02-30',
    '2021-02-29',
    '0000-00-00',
    '0000-01-01',
    '0001-01-01',
    '9999-12-31',
    '10000-01-01',
  ],
  ...[
    '-0001-01-01',
    '2020-13-01',
    '2020-00-10',
    '2020-1-1',
    '9999-99-99',
    'about yesterday',
    'infinity',
  ],
  ...[
    '-infinity',
    'now',
    'epoch',
    'today',
    '',
    '2020-01-01T00:00:00',
    '1582-10-10',
    '2999-01-01',
    20200101,
  ],
]
const timestamps: unknown[] = [
  ...[
    '9999-12-31T23:59:59.999',
    '0000-00-00T00:00:00.000',
    '0001-01-01T00:00:00.000',
    '2020-02-30T00:00:00.000',
  ],
  ...[
    '2020-01-01T24:00:00.000',
    '2020-01-01T23:59:60.000',
    '2020-01-01T25:61:61.000',
    '9999-99-99T99:99:99.999',
  ],
  ...[
    '2020-01-01T00:00:00.000Z',
    '2020-01-01',
    '2999-01-01T00:00:00.000',
    'infinity',
    '',
    1577836800000,
  ],
]
const slugs: unknown[] = [
  ...[
    '../',
    '../../../../x/pwned',
    '..',
    '.',
    'a/b',
    '/',
    'a?b',
    'a#b',
    '%2f',
    '%2e%2e',
    'a%00b',
    '',
    ' ',
    '-',
  ],
  ...[
    'rss',
    'atom',
    'facts',
    'revisions',
    'new',
    'export',
    '1',
    '-a',
    'a-',
    'a--b',
    'A',
    'ÅÄÖ',
    '日本語',
    '🦊',
    'a b',
  ],
  ...[
    'a\nb',
    'a\\b',
    'con',
    '<b>',
    "'; drop table video; --",
    'x'.repeat(50),
    'x'.repeat(51),
    'x'.repeat(10_000),
  ],
]
const urls: unknown[] = [
  ...[
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    ' javascript:alert(1)',
    'java\nscript:alert(1)',
    'data:text/html,x',
  ],
  ...[
    'file:///etc/passwd',
    'ftp://example.org/',
    '//example.org',
    '/etc',
    'example.org',
    'http://',
    'https://a b/',
  ],
  ...[
    'https://user:secret@example.org/',
    'http://例え.jp/',
    'http://xn--r8jz45g.jp/',
    'http://127.0.0.1/',
    'http://[::1]/',
  ],
  ...[
    'https://example.org/two words',
    'https://example.org/\u0000',
    'https://example.org/\t',
    '',
    'blob:https://x.org/1',
  ],
  ...[
    `https://example.org/${'x'.repeat(2028)}`,
    `https://example.org/${'x'.repeat(10_000)}`,
    'vbscript:x',
    'about:blank',
  ],
]
const texts: unknown[] = [
  ...[
    '',
    ' ',
    '\u0000',
    'a\u0000b',
    '\ud800',
    'a\udc00b',
    '\u0007',
    '\u202e',
    '\ufeff',
    '\uffff',
    'e\u0301',
    'ﬁ',
  ],
  ...[
    'x'.repeat(255),
    'x'.repeat(256),
    '🦊'.repeat(255),
    'x'.repeat(10_000),
    'y'.repeat(300_000),
    '<script>alert(1)</script>',
  ],
  ...["'; drop table video; --", '%s%n', '{{7*7}}', '\\', '"', 'null', '__proto__', 'constructor'],
]
/** JSON that JSON.stringify never writes, which is inserted into the line unescaped. */
const rawValues = [
  '1e400',
  '-1e400',
  '-0',
  '1.0',
  '9007199254740993',
  '1E2',
  '{"__proto__":{"a":1}}',
  'NaN',
  '01',
  '"\\u0000"',
]
const nested = Array.from({ length: 200 }).reduce<unknown>((inner) => [inner], 1)
const wrongTypes: unknown[] = [
  null,
  true,
  false,
  0,
  1,
  -1,
  'x',
  [],
  {},
  [null],
  [[]],
  { a: 1 },
  nested,
]

const pools = { integers, days, timestamps, slugs, urls, texts, wrongTypes }

/** Returns the most hostile values for a field of this name. */
function poolOf(name: string): unknown[] {
  if (/^(id|revision|size|duration|state|after|up_to|version|videos)$|_length$/.test(name))
    return pools.integers
  if (/date$|^day$|^recorded$/.test(name)) return pools.days
  if (/^(added|updated|at)$/.test(name)) return pools.timestamps
  if (/slug/.test(name)) return pools.slugs
  if (/url$/.test(name)) return pools.urls
  return pools.texts
}

/** A mutated line, with its value if it can still be parsed. */
interface Mutation {
  readonly kind: string
  readonly text: string
  readonly value: ExportedJson | undefined
  readonly description: string
}

const marker = '@@raw@@'

/** Returns the paths of all values in a line, up to four levels deep. */
function pathsIn(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null || path.length > 3) return [path]
  const inside = Object.entries(value).flatMap(([key, child]) =>
    pathsIn(child, [...path, Array.isArray(value) ? Number(key) : key]),
  )
  return path.length === 0 ? inside : [path, ...inside]
}

/** Returns a copy with the value at a path changed; removes it if the change is undefined. */
function withValue(
  value: unknown,
  [head, ...rest]: Path,
  change: (value: unknown) => unknown,
): unknown {
  if (head === undefined) return change(value)
  if (Array.isArray(value))
    return value.map((item, index) => (index === head ? withValue(item, rest, change) : item))
  const object = value as ExportedJson
  const changed = withValue(object[head], rest, change)
  const { [head]: _old, ...others } = object
  return changed === undefined ? others : { ...object, [head]: changed }
}

/** Returns a copy of a line with ids, names and slugs that no other line has. */
function copyAsNew(line: ExportedJson, number: number): ExportedJson {
  const prefix = `m${number}`
  const copy = structuredClone(line)
  const record = recordOf(copy)
  record.id = Number(record.id) + number * 1000
  record.slug = `${prefix}-${record.slug}`.slice(0, 40).replace(/-+$/, '')
  if (line.kind === 'video') {
    record.title = `${prefix} ${record.title}`
    if (record.source_url) record.source_url = `${record.source_url}?${prefix}`
    return copy
  }
  record.name = `${prefix} ${record.name}`
  record.old_slugs = (record.old_slugs as string[]).map((slug) =>
    `${prefix}-${slug}`.slice(0, 40).replace(/-+$/, ''),
  )
  record.aliases = (record.aliases as ExportedJson[]).map((alias) => ({
    ...alias,
    name: `${prefix} ${alias.name}`,
  }))
  return copy
}

/** Returns a random line with a random mutation. */
function randomMutation(
  random: SeededRandom,
  lines: readonly ExportedJson[],
  number: number,
): Mutation {
  // Videos are mutated more often: they have more fields.
  const kind = random.pick(['speaker', 'tag', 'category', 'video', 'video', 'video'])
  const sameKind = lines.filter((line) => line.kind === kind)
  const line = copyAsNew(random.pick(sameKind.length > 0 ? sameKind : lines), number)
  const other = random.pick(lines)
  const record = recordOf(line)
  const as = (value: ExportedJson, description: string): Mutation => ({
    kind: String(line.kind),
    text: JSON.stringify(value),
    value,
    description,
  })
  const set = (path: Path, value: unknown): Mutation =>
    as(
      withValue(line, path, () => value) as ExportedJson,
      `${path.join('.')} = ${JSON.stringify(value)?.slice(0, 60)}`,
    )
  const base: Path = line.kind === 'video' ? ['record'] : []
  const path = random.pick(pathsIn(line).filter(([head]) => head !== 'kind'))
  const name = String(path.findLast((step) => typeof step === 'string'))
  const structural: (() => Mutation)[] = [
    () => as(withValue(line, path, () => undefined) as ExportedJson, `without ${path.join('.')}`),
    () => as({ ...line, extra: random.pick(wrongTypes) }, 'extra field'),
    () =>
      set(
        [...base, random.pick(['related_urls', 'merged_into', 'taken_down', 'embed2'])],
        random.pick(wrongTypes),
      ),
    () => set([...base, 'id'], recordOf(other).id),
    () => set([...base, 'slug'], recordOf(other).slug),
    () => set([...base, random.pick(['title', 'name'])], recordOf(other).title ?? other.name),
    () => as(other, 'duplicate line'),
    () =>
      set(['kind'], random.pick(['speaker', 'tag', 'category', 'video', 'entity', '', null, 7])),
    () =>
      as(
        { ...line, taken_down: { day: random.pick(days), reason: random.pick(texts) } },
        'taken_down',
      ),
    () => as({ ...line, taken_down: { day: '2020-01-01', reason: 'Requested' } }, 'taken down'),
    () =>
      as(
        {
          ...line,
          facts: Array.from({ length: 1001 }, (_, index) => ({
            kind: 'address',
            path: `p${index}`,
          })),
        },
        '1001 facts',
      ),
    () =>
      as(
        {
          ...line,
          facts: [{ kind: 'related', url: random.pick(urls), label: random.pick(texts) }],
        },
        'facts',
      ),
    () =>
      as(
        { ...line, aliases: [{ name: String(other.name ?? 'x'), shown: true }] },
        'alias of another entity',
      ),
    () => as({ ...line, aliases: [{ name: record.name, shown: true }] }, 'alias equal to its name'),
    () =>
      as(
        { ...line, old_slugs: [record.slug, record.slug, String(recordOf(other).slug)] },
        'old slugs of another entity',
      ),
    () => ({
      ...as(line, 'truncated'),
      text: JSON.stringify(line).slice(0, 1 + Math.floor(random.next() * 200)),
      value: undefined,
    }),
    () => ({
      ...as(line, 'duplicate key'),
      text: JSON.stringify(line).replace('{', '{"revision":2147483647,"id":9007199254740991,'),
    }),
    () => ({
      ...as(line, 'not an object'),
      text: random.pick(['[]', '7', 'null', '"x"', '{', '}', 'x', '[[[[']),
      value: undefined,
    }),
    () => {
      const raw = random.pick(rawValues)
      const { text } = set(path, marker)
      return {
        ...as(line, `${path.join('.')} = raw ${raw}`),
        text: text.replace(`"${marker}"`, raw),
      }
    },
  ]
  const dice = random.next()
  if (dice < 0.6) return set(path, random.pick(poolOf(name)))
  if (dice < 0.72) return set(path, random.pick(random.pick(Object.values(pools))))
  return random.pick(structural)()
}

/** An archive to import into, and the exports to import. */
export interface ImportEnvironment {
  readonly archive: OpenArchive
  readonly states: SavedStates
  readonly exports: readonly string[]
  close(): Promise<void>
}

/** Opens an archive, and creates the exports that are mutated. */
export async function openImportEnvironment(
  databaseUrl: string,
  seed: number,
): Promise<ImportEnvironment> {
  const states = await openSavedStates(databaseUrl)
  await states.save('empty')
  const archive = await openArchive(databaseUrl, { CACHE_MB: '0', RESUME_SECONDS: '1' })
  const exports: string[] = []
  for (const word of ['alpha', 'beta', 'gamma']) {
    await states.restore('empty')
    await fillArchive(archive, seededRandom('export', String(seed), word), { word, videos: 10 })
    exports.push(await exportAll(databaseUrl))
  }
  await states.restore('empty')
  await fillArchive(archive, seededRandom('base', String(seed)), { word: 'base', videos: 10 })
  await states.save('base')
  return {
    archive,
    states,
    exports,
    async close() {
      await archive.close()
      await states.close()
    },
  }
}

interface TestCase {
  readonly target: 'empty' | 'base'
  readonly role: 'editor' | 'admin'
  readonly lines: readonly ExportedJson[]
  readonly mutations: readonly Mutation[]
  /** The mutation of the file itself. */
  readonly order: 'as exported' | 'shuffled' | 'wrong count' | 'no end' | 'end twice'
}

/** Imports a file with this many mutations, and checks the archive. Minimizes a failing file. */
export async function runFile(
  environment: ImportEnvironment,
  seed: number,
  number: number,
  count: number,
): Promise<void> {
  const random = seededRandom('mutations', String(seed), String(number))
  const lines = exportLines(random.pick(environment.exports))
  const testCase: TestCase = {
    target: number % 3 === 0 ? 'empty' : 'base',
    role: number % 2 === 0 ? 'editor' : 'admin',
    lines,
    mutations: Array.from({ length: count }, (_, index) =>
      randomMutation(random, lines, index + 1),
    ),
    order: random.pick([
      'as exported',
      'as exported',
      'shuffled',
      'wrong count',
      'no end',
      'end twice',
    ]),
  }
  const error = await failureOf(environment, testCase, number)
  if (error === undefined) return
  const smallest = await shrink(environment, testCase, number)
  const mutations = smallest.mutations.map(
    ({ description, text }) => `${description}: ${text.slice(0, 1500)}`,
  )
  throw new Error(
    `File ${number} of --seed ${seed} ` +
      `(${testCase.target}, ${testCase.role}, ${testCase.order}): ` +
      `${mutations.length} mutations fail\n${mutations.join('\n')}`,
    { cause: (await failureOf(environment, smallest, number)) ?? error },
  )
}

async function failureOf(
  environment: ImportEnvironment,
  testCase: TestCase,
  number: number,
): Promise<unknown> {
  try {
    await environment.states.restore(testCase.target)
    await importAndCheck(environment.archive, testCase, seededRandom('order', String(number)))
    return undefined
  } catch (error) {
    return error
  }
}

/** Removes half of the mutations as long as the other half still fails. */
async function shrink(
  environment: ImportEnvironment,
  testCase: TestCase,
  number: number,
): Promise<TestCase> {
  for (let smallest = testCase; ; ) {
    const middle = Math.ceil(smallest.mutations.length / 2)
    if (smallest.mutations.length < 2) return smallest
    const halves = [smallest.mutations.slice(0, middle), smallest.mutations.slice(middle)].map(
      (mutations) => ({ ...testCase, mutations }),
    )
    let failing: TestCase | undefined
    for (const half of halves)
      if (!failing && (await failureOf(environment, half, number))) failing = half
    if (!failing) return smallest
    smallest = failing
  }
}

const kinds = ['category', 'speaker', 'tag', 'video']

async function importAndCheck(
  archive: OpenArchive,
  testCase: TestCase,
  random: SeededRandom,
): Promise<void> {
  const good = testCase.lines.map((line) => ({
    kind: String(line.kind),
    text: JSON.stringify(line),
    good: line,
  }))
  const mixed = random.shuffled([
    ...good,
    ...testCase.mutations.map((mutation) => ({ ...mutation, good: undefined })),
  ])
  if (testCase.order !== 'shuffled')
    mixed.sort((a, b) => kinds.indexOf(a.kind) - kinds.indexOf(b.kind))
  const videos = mixed.filter(({ text }) => isVideo(text)).length
  const end = JSON.stringify({
    kind: 'end',
    videos: testCase.order === 'wrong count' ? videos + 1 : videos,
  })
  const ends = { 'no end': [], 'end twice': [end, end] }[testCase.order as string] ?? [end]
  const head = '{"kind":"talkshelf","version":1,"at":"2026-01-01T00:00:00.000"}'
  const text = [head, ...mixed.map((line) => line.text), ...ends].join('\n')

  const client = importClient(archive, archive[testCase.role])
  const before = await withDatabase(archive.databaseUrl, bodiesOf)
  const { id } = await client.plan({ text, format: 'v2', name: 'mutated.ndjson' })
  await client.apply(id)
  const rows = new Map((await client.rows(id)).map((row) => [row.position, row]))
  for (const row of rows.values()) assert.ok(row.outcome, `row ${row.position} has no outcome`)

  await withDatabase(archive.databaseUrl, async (query) => {
    const known = await namesOfExport(query)
    // Records with the same id and title are the same, also if the archive had them before. One that
    // was taken down has an empty body and is refused.
    const existed = (row: ImportedTalk | undefined, line: ExportedJson) =>
      before.has(row?.video ?? 0) || (!row?.video && before.get(Number(recordOf(line).id)) === '')
    for (const [index, { good: line }] of mixed.entries()) {
      const row = rows.get(index + 1)
      if (line && !existed(row, line) && isUnclaimed(testCase, line))
        await assertImported(archive, line, row, {
          known,
          as: testCase.role,
          isEmpty: testCase.target === 'empty',
        })
    }
    const touched = new Set([...rows.values()].map(({ video }) => video))
    const after = await bodiesOf(query)
    for (const [video, body] of before)
      assert.ok(
        touched.has(video) || after.get(video) === body,
        `record ${video} existed before, and changed`,
      )
    await assertClean(query)
  })
  if (testCase.target === 'empty' && testCase.order === 'as exported')
    await assertVerbatim(archive, testCase)
  await checkInvariants(archive.databaseUrl)
  await assertUsable(archive)
  await checkInvariants(archive.databaseUrl)
}

function isVideo(text: string): boolean {
  try {
    return JSON.parse(text)?.kind === 'video'
  } catch {
    return false
  }
}

/** Tells whether no mutation has the identity of the line. */
function isUnclaimed({ mutations }: TestCase, line: ExportedJson): boolean {
  const { id, slug, source_url: url } = recordOf(line)
  if (line.kind !== 'video') return true
  return !mutations.some(({ value, text }) => {
    const record = value && (recordOf(value) as ExportedJson | null | undefined)
    return (
      (url && text.includes(JSON.stringify(url))) || (record?.id === id && record?.slug === slug)
    )
  })
}

async function bodiesOf(query: Query): Promise<Map<number, string>> {
  const rows = await query('select id, body from video_body')
  return new Map(rows.map(({ id, body }) => [Number(id), String(body)]))
}

const slugPattern = '^[a-z0-9]+(-[a-z0-9]+)*$'

/** Asserts that all slugs and URLs are valid. */
async function assertClean(query: Query): Promise<void> {
  const columns = [
    'thumbnail_url',
    'source_url',
    ...['ogv', 'mp4', 'webm', 'flv'].map((format) => `video_${format}_url`),
  ]
  const invalidUrls = columns.map(
    (column) => `
    union all
    select 'video', id, ${column}
    from video
    where ${column} <> '' and ${column} !~* '^https?://'`,
  )
  const wrong = await query(`
    select 'video' as kind, id, slug as value
    from video
    where slug !~ '${slugPattern}' or length(slug) > 50
    union all
    select kind, entity_id, slug
    from entity_slug
    where slug !~ '${slugPattern}' or length(slug) > 50
    union all
    select 'category', id, url
    from category
    where url <> '' and url !~* '^https?://'
    ${invalidUrls.join('')}`)
  assert.deepEqual(wrong, [], 'invalid slugs or URLs')
}

/**
 * Asserts that an export has the lines of entities as they were imported, except for those whose
 * identity a mutation has.
 */
async function assertVerbatim(archive: OpenArchive, testCase: TestCase): Promise<void> {
  const exported = new Set(
    (await exportAll(archive.databaseUrl))
      .split('\n')
      .map((line) => line && canonical(JSON.parse(line))),
  )
  const mutatedText = testCase.mutations.map(({ text }) => text).join('\n')
  const isMutated = (name: unknown) => mutatedText.includes(JSON.stringify(name).slice(1, -1))
  for (const line of testCase.lines) {
    const {
      id,
      slug,
      name,
      old_slugs: slugs = [],
      aliases = [],
    } = recordOf(line) as ExportedJson & { old_slugs?: string[]; aliases?: ExportedJson[] }
    const words = [name, ...slugs, ...aliases.map((alias) => alias.name)].filter(
      (word) => word !== undefined,
    )
    const isClaimed = testCase.mutations.some(({ value, text }) => {
      const record =
        value &&
        (typeof value.record === 'object' && value.record ? (value.record as ExportedJson) : value)
      return record?.id === id || record?.slug === slug || text.includes('"id":9007199254740991')
    })
    if (line.kind === 'video' || isClaimed || words.some(isMutated) || isMutated(slug)) continue
    assert.ok(exported.has(canonical(line)), `not exported verbatim: ${JSON.stringify(line)}`)
  }
}

/** Serializes with sorted keys. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, item) => {
    if (typeof item !== 'object' || item === null || Array.isArray(item)) return item
    return Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)))
  })
}

/**
 * Asserts that all records can be read, changed and taken down, and that new ones can be created.
 */
async function assertUsable(archive: OpenArchive): Promise<void> {
  const { call, editor, admin, databaseUrl } = archive
  async function expect(
    status: number,
    method: string,
    path: string,
    body?: object,
  ): Promise<void> {
    const reply = await call(method, path, { token: admin, ...(body && { body }) })
    assert.equal(reply.status, status, `${method} ${path}: ${reply.text.slice(0, 500)}`)
  }
  for (const path of ['video', 'speaker', 'tag', 'category'])
    await expect(200, 'GET', `/api/v2/${path}?page_size=100`)
  for (const path of ['/', '/video/rss', '/api/v2/export.ndjson', '/sitemap.xml']) {
    const { status } = await call('GET', path)
    assert.equal(status, 200, path)
  }
  const entities = await withDatabase(databaseUrl, (query) =>
    query(`
      select 'speaker' as kind, id, slug from speaker where merged_into is null
      union all select 'tag', id, slug from tag where merged_into is null
      union all select 'category', id, slug from category where merged_into is null`),
  )
  const videos = await withDatabase(databaseUrl, (query) =>
    query('select id from video where taken_down is null'),
  )
  await inParallel(videos, ({ id }) =>
    expect(200, 'PATCH', `/api/v2/video/${id}`, { whiteboard: 'Changed' }),
  )
  await inParallel(entities, ({ kind, id, slug }) => {
    const aliases = [{ name: `Alias of ${kind} ${id}` }]
    const renamed = { [kind === 'category' ? 'title' : 'name']: `Renamed ${kind} ${id}` }
    return expect(
      200,
      'PATCH',
      `/api/v2/${kind}/${encodeURIComponent(String(slug))}`,
      Number(id) % 4 === 0 ? renamed : { aliases },
    )
  })
  const category = 'After the import'
  await expect(201, 'POST', '/api/v2/category', { title: category })
  const names = { speakers: ['Brand New Speaker'], tags: ['brand new tag'] }
  const created = await call('POST', '/api/v2/video', {
    token: editor,
    body: { title: 'New', category, language: 'en', ...names },
  })
  assert.equal(created.status, 201, created.text)
  await inParallel([...videos, { id: created.json.id }], ({ id }) =>
    expect(200, 'POST', `/api/v2/video/${id}/takedown`, { reason: 'Requested' }),
  )
}

async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items]
  const worker = async () => {
    for (let item = queue.pop(); item !== undefined; item = queue.pop()) await work(item)
  }
  await Promise.all([worker(), worker(), worker(), worker()])
}
