import assert from 'node:assert/strict'
import {
  type Endpoint,
  endpoints,
  ProblemDocument,
  problems,
  problemsOf,
  validatorFor,
} from '@talkshelf/contract'
import fc from 'fast-check'
import { type DefaultTreeAdapterTypes, parse } from 'parse5'
import {
  type ArbitraryJson,
  afterPatch,
  afterPut,
  anyBytes,
  anyJson,
  categories,
  fieldOrder,
  listFields,
  textFields,
  urlFields,
  validPatch,
  validRecord,
  wrongField,
} from './arbitraries.ts'
import { type CallOptions, category, type Reply, type TestArchive } from './harness.ts'
import { hostilePayloads } from './payloads.ts'

// Properties that hold for every input, tested with generated inputs. Each function runs this many
// cases and returns how many it ran; a case that fails is minimized and reported with the seed that
// reproduces it.

export type PropertyTarget = Pick<TestArchive, 'call' | 'editor'>
export type Property = (archive: PropertyTarget, runs: number, seed?: number) => Promise<number>

/** a. A record is read as it was sent, apart from the documented trimming. */
const keepsWhatWasSent: Property = (archive, runs, seed) =>
  inLanes(archive, runs, seed, (lane) =>
    fc.asyncProperty(validRecord, fc.boolean(), async (input, asJson) => {
      const before = lane.known
      const put = await lane.send('PUT', lane.path, { body: input })
      assertRecord(put, 200)
      lane.known = put
      assertMoved(before, put, afterPut(before.json, input))
      const read = await lane.send(
        'GET',
        lane.path,
        asJson ? { headers: { accept: 'application/json' } } : {},
      )
      assert.equal(
        read.headers['content-type'],
        asJson ? 'application/json' : 'text/html; charset=utf-8',
      )
      assert.equal(read.text, put.text)
    }),
  )

/** b. A patch is the merge of RFC 7396; repeating it or sending an empty one changes nothing. */
const patchMerges: Property = (archive, runs, seed) =>
  inLanes(archive, runs, seed, (lane) =>
    fc.asyncProperty(
      validPatch,
      fc.constantFrom('application/json', 'application/merge-patch+json'),
      async (patch, type) => {
        const headers = { 'content-type': type }
        const before = lane.known
        const first = await lane.send('PATCH', lane.path, { body: patch, headers })
        assertRecord(first, 200)
        lane.known = first
        assertMoved(before, first, afterPatch(before.json, patch))
        for (const body of [patch, {}])
          assertSame(first, await lane.send('PATCH', lane.path, { body, headers }))
        assertSame(first, await lane.read())
      },
    ),
  )

/** b. Patches of different fields can be sent in any order, or as one. */
const disjointPatchesCommute: Property = (archive, runs, seed) =>
  inLanes(archive, runs, seed, (lane) =>
    fc.asyncProperty(validRecord, validPatch, validPatch, async (base, a, both) => {
      const b = Object.fromEntries(Object.entries(both).filter(([field]) => !(field in a)))
      const results: ArbitraryJson[] = []
      for (const patches of [[a, b], [b, a], [{ ...a, ...b }]]) {
        assertRecord(await lane.send('PUT', lane.path, { body: { state: 1, ...base } }), 200)
        for (const body of patches) assertRecord(await lane.send('PATCH', lane.path, { body }), 200)
        results.push({ ...(await lane.read()).json, updated: '' })
      }
      assert.deepEqual(results[1], results[0])
      assert.deepEqual(results[2], results[0])
    }),
  )

/**
 * c. For any body, the response is one that the contract documents, and a refused write changes
 * nothing.
 */
const refusesCleanly: Property = (archive, runs, seed) =>
  inLanes(archive, runs, seed, (lane) => {
    const paths = {
      patchVideo: lane.path,
      replaceVideo: lane.path,
      createVideo: '/api/v2/video',
      patchCategory: lane.categoryPath,
      createCategory: '/api/v2/category',
      patchSpeaker: '/api/v2/speaker/nobody-at-all',
      splitSpeaker: '/api/v2/speaker/nobody-at-all/split',
      mergeTag: '/api/v2/tag/nothing-at-all/merge',
    }
    // New categories are rare, because every later lookup of similar titles has to scan them.
    const entities = ['patchCategory', 'patchSpeaker', 'splitSpeaker', 'mergeTag'] as const
    const names = [
      'patchVideo',
      'patchVideo',
      'patchVideo',
      'replaceVideo',
      'replaceVideo',
      'createVideo',
      ...entities,
    ] as const
    const write = fc.oneof(
      { weight: 10, arbitrary: fc.constantFrom(...names) },
      { weight: 1, arbitrary: fc.constant('createCategory' as const) },
    )
    const body = fc.oneof(
      {
        weight: 4,
        arbitrary: anyJson.map((value) => ({ value, raw: Buffer.from(JSON.stringify(value)) })),
      },
      { weight: 1, arbitrary: anyBytes.map((raw) => ({ value: parseJson(raw), raw })) },
    )
    return fc.asyncProperty(write, body, async (name, { value, raw }) => {
      const endpoint: Endpoint = endpoints[name]
      const path = paths[name]
      const reply = await lane.send(endpoint.method, path, { raw })
      assertDocumented(endpoint, reply)
      if (reply.status >= 400) {
        assertNoEcho(value, reply)
        if (path === lane.path) await lane.assertUnchanged()
      } else if (path === lane.path) {
        const before = lane.known
        lane.known = reply
        const input = value as ArbitraryJson
        const after =
          endpoint.method === 'PUT' ? afterPut(before.json, input) : afterPatch(before.json, input)
        // A random text may be the code of a language whose name the test does not know.
        assertMoved(before, reply, {
          ...after,
          ...('language' in input && { language: reply.json.language }),
        })
      }
    })
  })

/**
 * c. For a record with one invalid field, the problem names exactly this field, does not repeat its
 * value, and nothing changes.
 */
const namesTheWrongField: Property = (archive, runs, seed) =>
  inLanes(archive, runs, seed, (lane) =>
    fc.asyncProperty(
      fc.constantFrom('POST', 'PUT', 'PATCH'),
      validPatch,
      wrongField,
      async (method, some, { field, value }) => {
        const { [field]: _, ...others }: ArbitraryJson = {
          title: 'A talk',
          category,
          language: 'en',
          ...some,
        }
        const isMissing = value === undefined
        const endpoint = {
          POST: endpoints.createVideo,
          PUT: endpoints.replaceVideo,
          PATCH: endpoints.patchVideo,
        }[method] as Endpoint
        const body = isMissing ? others : { ...others, [field]: value }
        const reply = await lane.send(method, method === 'POST' ? '/api/v2/video' : lane.path, {
          body,
        })
        assertDocumented(endpoint, reply)
        if (isMissing && method === 'PATCH') {
          lane.known = reply
          return
        }
        assert.equal(reply.status, 400, reply.text)
        assert.match(reply.json.type, /\/invalid-fields$/)
        const pointer = `/${field.replaceAll('~', '~0').replaceAll('/', '~1')}`
        for (const error of reply.json.errors)
          assert.ok(
            error.pointer === pointer || error.pointer.startsWith(`${pointer}/`),
            reply.text,
          )
        assert.ok(reply.json.errors.length > 0)
        assertNoEcho(body, reply)
        if (method !== 'POST') await lane.assertUnchanged()
      },
    ),
  )

/** d. No response is interpreted as a page, for any record and any refused body. */
const neverBecomesAPage: Property = (archive, runs, seed) =>
  inLanes(archive, runs, seed, (lane) => {
    const part = fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom(...hostilePayloads) },
      { weight: 1, arbitrary: fc.string({ unit: 'binary' }) },
    )
    const hostile = fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => parts.join(''))
    // The service accepts a URL that ends with the payload, and refuses the payload alone.
    const url = fc.oneof(
      { weight: 6, arbitrary: hostile.map((payload) => `https://example.org/${payload}`) },
      { weight: 1, arbitrary: hostile },
    )
    const name = hostile.map((payload) => payload.slice(0, 200))
    const target = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.tuple(fc.constantFrom('title', ...Object.keys(textFields)), hostile),
      },
      { weight: 2, arbitrary: fc.tuple(fc.constantFrom(...urlFields), url) },
      {
        weight: 1,
        arbitrary: fc.tuple(
          fc.constantFrom(...listFields),
          fc.array(name, { minLength: 1, maxLength: 2 }),
        ),
      },
      {
        weight: 1,
        arbitrary: fc.tuple(fc.constantFrom('category', 'language', 'recorded', 'state'), hostile),
      },
      { weight: 1, arbitrary: fc.tuple(hostile, hostile) },
    )
    return fc.asyncProperty(
      fc.array(target, { minLength: 1, maxLength: 4 }),
      fc.integer({ min: 0, max: 9 }),
      async (chosen, die) => {
        const written = await lane.send('PATCH', lane.path, { body: Object.fromEntries(chosen) })
        assert.ok([200, 400].includes(written.status), written.text)
        assertNoPage(written)
        if (written.status !== 200) return
        assertNoPage(await lane.send('GET', lane.path))
        const revision = revisionOf(written)
        if (die === 0) assertNoPage(await lane.send('GET', `${lane.path}/revisions/${revision}`))
        if (die === 1) assertNoPage(await lane.send('GET', `${lane.path}/revisions`))
        // Reading a long history would take most of the time.
        if (revision > 40) await lane.startOver()
      },
    )
  })

/**
 * e. Junk in headers, ids and parameters is refused as documented, or ignored.
 */
const withstandsJunk: Property = (archive, runs, seed) =>
  inLanes(archive, runs, seed, (lane) =>
    fc.asyncProperty(junkCase, (junkCase) => tryJunk(lane, junkCase)),
  )

type JunkCase =
  | { accept: readonly { type: string; q: string | undefined }[]; isWrite: boolean }
  | { ifNoneMatch: readonly EtagKind[]; isHead: boolean }
  | { ifMatch: readonly EtagKind[] }
  | { ifModifiedSince: Date }
  | { header: string; junk: string }
  | { format: string; isWrite: boolean }
  | { page: string }
  | { query: string }
  | { id: string; method: string }

const etagKinds = ['current', 'json', 'weak', 'stale', 'other', 'empty'] as const
type EtagKind = (typeof etagKinds)[number]

const junk = fc.string({
  unit: fc
    .oneof(fc.integer({ min: 0x20, max: 0x7e }), fc.integer({ min: 0xa0, max: 0xff }))
    .map((code) => String.fromCharCode(code)),
  maxLength: 40,
})
const someEtags = fc.uniqueArray(fc.constantFrom(...etagKinds), { minLength: 1 })
const strangeIds = [
  '',
  '0',
  '00',
  '007',
  '+1',
  '-1',
  '1.0',
  '1e3',
  '\uff11',
  '1;x',
  '%31',
  '1%00',
  ' 1',
  '1%20',
  '%',
  '%ff',
  '%2e%2e',
  '..',
].concat(
  '9007199254740992',
  '9223372036854775808',
  '1'.repeat(100),
  '1'.repeat(101),
  'a'.repeat(5000),
)
const methods = ['GET', 'HEAD', 'PUT', 'PATCH', 'OPTIONS', 'DELETE']
const pages = ['1', '01', '1.0', '1e0', '', '1000000', '1000001', '2']
const junkHeaders = [
  'accept',
  'if-match',
  'if-none-match',
  'if-modified-since',
  'authorization',
  'content-type',
  'content-encoding',
]
const mediaTypes = [
  'text/html',
  'application/json',
  'text/*',
  'application/*',
  '*/*',
  'image/png',
  'TEXT/HTML',
]
const qualities = ['0', '0.0', '0.001', '0.5', '0.999', '1', '1.000']

const weighed = (weight: number, arbitrary: fc.Arbitrary<JunkCase>) => ({ weight, arbitrary })

const junkCase = fc.oneof(
  weighed(
    20,
    fc.record({
      accept: fc.uniqueArray(
        fc.record({
          type: fc.constantFrom(...mediaTypes),
          q: fc.option(fc.constantFrom(...qualities), { nil: undefined }),
        }),
        { minLength: 1, maxLength: 4, selector: ({ type }) => type.toLowerCase() },
      ),
      isWrite: fc.boolean(),
    }),
  ),
  weighed(10, fc.record({ ifNoneMatch: someEtags, isHead: fc.boolean() })),
  weighed(10, fc.record({ ifMatch: someEtags })),
  weighed(
    10,
    fc.record({
      ifModifiedSince: fc.date({
        noInvalidDate: true,
        min: new Date(0),
        max: new Date('2099-01-01'),
      }),
    }),
  ),
  weighed(50, fc.record({ header: fc.constantFrom(...junkHeaders), junk })),
  weighed(2, fc.record({ header: fc.constant('idempotency-key'), junk })),
  weighed(
    10,
    fc.record({
      format: fc.oneof(junk, fc.constantFrom('json', 'JSON', 'html', 'json ', '')),
      isWrite: fc.boolean(),
    }),
  ),
  weighed(
    10,
    fc.record({ page: fc.oneof(junk, fc.integer().map(String), fc.constantFrom(...pages)) }),
  ),
  weighed(5, fc.record({ query: fc.webQueryParameters() })),
  weighed(
    30,
    fc.record({
      id: fc.oneof(fc.constantFrom(...strangeIds), junk),
      method: fc.constantFrom(...methods),
    }),
  ),
)

async function tryJunk(lane: Lane, junk: JunkCase): Promise<void> {
  if ('accept' in junk) return tryAccept(lane, junk)
  if ('ifNoneMatch' in junk || 'ifMatch' in junk || 'ifModifiedSince' in junk)
    return tryCondition(lane, junk)
  if ('header' in junk) return tryHeader(lane, junk.header, junk.junk)
  if ('id' in junk) return tryId(lane, junk)
  return tryParameter(lane, junk)
}

async function tryAccept(
  lane: Lane,
  { accept: ranges, isWrite }: Extract<JunkCase, { accept: unknown }>,
): Promise<void> {
  const accept = ranges.map(({ type, q }) => (q === undefined ? type : `${type};q=${q}`)).join(', ')
  const form = preferredForm(ranges)
  const reply = await (isWrite ? patchWith(lane, { accept }) : getWith(lane, { accept }))
  assert.equal(reply.status, form === undefined ? 406 : 200)
  if (form)
    assert.equal(
      reply.headers['content-type'],
      form === 'json' ? 'application/json' : 'text/html; charset=utf-8',
    )
}

async function tryCondition(
  lane: Lane,
  junk: Extract<
    JunkCase,
    { ifNoneMatch: unknown } | { ifMatch: unknown } | { ifModifiedSince: Date }
  >,
): Promise<void> {
  const etags = (kinds: readonly EtagKind[], separator: string) =>
    kinds.map((kind) => etagOf(lane, kind)).join(separator)
  if ('ifNoneMatch' in junk) {
    const { ifNoneMatch: kinds } = junk
    const headers = { 'if-none-match': etags(kinds, ',') }
    const reply = await getWith(lane, headers, junk.isHead ? 'HEAD' : 'GET')
    assert.equal(reply.status, kinds.includes('current') || kinds.includes('weak') ? 304 : 200)
    if (reply.status === 304) assert.equal(reply.text, '')
  } else if ('ifMatch' in junk) {
    const { ifMatch: kinds } = junk
    const reply = await patchWith(lane, { 'if-match': etags(kinds, ', ') })
    assert.equal(reply.status, kinds.includes('current') || kinds.includes('json') ? 200 : 412)
    assertDocumented(endpoints.patchVideo, reply)
  } else {
    const since = junk.ifModifiedSince
    const reply = await getWith(lane, { 'if-modified-since': since.toUTCString() })
    // A date before the change must not hide it. Within the second of the change, both are allowed.
    if (since.getTime() < Date.parse(`${lane.known.json.updated}Z`) - 1000)
      assert.equal(reply.status, 200)
    else assertOneOf(reply, [200, 304])
  }
}

async function tryParameter(
  lane: Lane,
  junk: Extract<JunkCase, { format: string } | { page: string } | { query: string }>,
): Promise<void> {
  if ('format' in junk) {
    const path = `${lane.path}?format=${encodeURIComponent(junk.format)}`
    const reply = junk.isWrite
      ? await lane.send('PATCH', path, { body: {} })
      : await lane.send('GET', path)
    assert.equal(reply.status, junk.format === 'json' ? 200 : 406)
  } else if ('page' in junk) {
    const { page } = junk
    const path = `${lane.path}/revisions?page=${encodeURIComponent(page)}`
    const reply = await lane.send('GET', path)
    const isPage = /^[1-9]\d{0,6}$/.test(page) && Number(page) <= 1_000_000
    const expected = page === '1' ? 200 : 404
    assert.equal(reply.status, isPage ? expected : 400, reply.text)
  } else {
    const reply = await lane.send('GET', `${lane.path}/revisions?${junk.query}`)
    assertOneOf(reply, [200, 400, 404, 406])
  }
}

async function tryId(lane: Lane, { id, method }: Extract<JunkCase, { id: string }>): Promise<void> {
  // The HTTP client refuses some characters; encoded, they are still another spelling of an id.
  const spelled = id.replaceAll(/[^\x21-\x7e]/g, encodeURIComponent)
  const reply = await lane.send(
    method,
    `/api/v2/video/${spelled}`,
    method.startsWith('P') ? { body: {} } : {},
  )
  // With these characters, or without an id, it is the URL of something else.
  const isElsewhere = /^$|[/?#]/.test(spelled)
  if (isElsewhere || /^[1-9]\d{0,15}$/.test(spelled))
    assertOneOf(reply, [200, 204, 400, 404, 405, 406])
  else assert.equal(reply.status, method === 'DELETE' && reply.status === 405 ? 405 : 404)
}

const getWith = (lane: Lane, headers: Record<string, string>, method = 'GET') =>
  lane.send(method, lane.path, { headers })

const patchWith = (lane: Lane, headers: Record<string, string>) =>
  lane.send('PATCH', lane.path, { body: {}, headers })

async function tryHeader(lane: Lane, header: string, value: string): Promise<void> {
  const get = () => getWith(lane, { [header]: value })
  const patch = () => patchWith(lane, { 'content-type': 'application/json', [header]: value })
  // HTTP removes white space around the value.
  const received = value.replaceAll(/^[ \t]+|[ \t]+$/g, '')
  switch (header) {
    case 'accept':
      return assertOneOf(await get(), [200, 406])
    case 'if-none-match':
      return assert.equal((await get()).status, received === '*' ? 304 : 200)
    case 'if-modified-since':
      return assertOneOf(await get(), [200, 304])
    case 'if-match':
      return assert.equal((await patch()).status, received === '*' ? 200 : 412)
    case 'authorization':
      // With wrong credentials every request is refused, even for public resources.
      return assert.equal((await get()).status, 401)
    case 'idempotency-key': {
      const post = () =>
        lane.send('POST', '/api/v2/video', {
          body: { title: 'The same', category, language: 'en' },
          headers: { [header]: value },
        })
      const first = await post()
      assert.equal(first.status, /^[\x21-\x7e]{1,255}$/.test(received) ? 201 : 400, first.text)
      if (first.status === 201) assert.equal((await post()).text, first.text)
      return
    }
    default:
      return assert.equal((await patch()).status, 415)
  }
}

function etagOf(lane: Lane, kind: EtagKind): string {
  const etag = lane.known.headers.etag as string
  const [id, revision] = etag.slice(1, -1).split('.')
  const etags: Record<EtagKind, string> = {
    current: etag,
    json: etag.replace(/"$/, '.json"'),
    weak: `W/${etag}`,
    stale: `"${id}.${Number(revision) - 1}.AAAAAAAA"`,
    other: '"x"',
    empty: '""',
  }
  return etags[kind]
}

type Step = { put: ArbitraryJson } | { patch: ArbitraryJson } | { restore: number }

/**
 * f. The history has one entry for each actual change, and each is the response of the write, byte
 * for byte.
 */
const remembersEverything: Property = (archive, runs, seed) =>
  inLanes(archive, runs, seed, (lane) => {
    const step = fc.oneof<fc.Arbitrary<Step>[]>(
      fc.record({ put: validRecord }),
      fc.record({ patch: validPatch }),
      fc.record({ restore: fc.nat(20) }),
    )
    return fc.asyncProperty(validRecord, fc.array(step, { maxLength: 6 }), async (first, steps) => {
      const created = await lane.send('POST', '/api/v2/video', { body: first })
      assertRecord(created, 201)
      const path = `/api/v2/video/${created.json.id}`
      const versions = [created]
      const kinds = ['created']
      for (const step of steps) {
        const before = versions.at(-1) as Reply
        const { reply, after } = await writeStep(lane, path, step, versions)
        assertRecord(reply, 200)
        assertMoved(before, reply, after)
        if (reply.text === before.text) continue
        versions.push(reply)
        kinds.push('restore' in step ? 'restored' : 'updated')
      }
      const list = await lane.send('GET', `${path}/revisions`)
      assert.equal(list.json.count, versions.length)
      assert.deepEqual(list.json.results.map(({ kind }: { kind: string }) => kind).reverse(), kinds)
      for (const [index, version] of versions.entries()) {
        const revision = await lane.send('GET', `${path}/revisions/${index + 1}`)
        assert.ok(revision.text.endsWith(`"record":${version.text}}`), revision.text)
        assert.equal(revision.json.at, version.json.updated)
        if (index === 0) continue
        const before = (versions[index - 1] as Reply).json
        const changed = Object.keys(before).filter(
          (field) =>
            field !== 'updated' &&
            JSON.stringify(before[field]) !== JSON.stringify(version.json[field]),
        )
        assert.deepEqual(revision.json.fields.toSorted(), changed.sort())
      }
    })
  })

/** Sends a write, and returns the reply and the expected record. */
async function writeStep(
  lane: Lane,
  path: string,
  step: Step,
  versions: readonly Reply[],
): Promise<{ reply: Reply; after: ArbitraryJson }> {
  const before = (versions.at(-1) as Reply).json
  if ('put' in step) {
    const reply = await lane.send('PUT', path, { body: step.put })
    return { reply, after: afterPut(before, step.put) }
  }
  if ('patch' in step) {
    const reply = await lane.send('PATCH', path, { body: step.patch })
    return { reply, after: afterPatch(before, step.patch) }
  }
  const revision = (step.restore % versions.length) + 1
  const reply = await lane.send('POST', `${path}/revisions/${revision}/restore`)
  return { reply, after: (versions[revision - 1] as Reply).json }
}

type NameStep =
  | { record: number; names: readonly number[] }
  | { rename: number; to: number }
  | { merge: number; into: number }
  | { split: number; to: number; record: number }

interface Person {
  name: string
  slug: string
}

/**
 * g. After writes, renames, merges and splits in any order, records have the current names of their
 * people, and every name resolves to one person.
 */
const followsNames: Property = (archive, runs, seed) =>
  inLanes(archive, runs, seed, (lane) => {
    const name = fc.nat(5)
    const step = fc.oneof<fc.Arbitrary<NameStep>[]>(
      fc.record({ record: fc.nat(1), names: fc.array(name, { maxLength: 4 }) }),
      fc.record({ rename: name, to: name }),
      fc.record({ merge: name, into: name }),
      fc.record({ split: name, to: name, record: fc.nat(1) }),
    )
    const firstStep = fc.record({
      record: fc.nat(1),
      names: fc.array(name, { minLength: 2, maxLength: 4 }),
    })
    return fc.asyncProperty(firstStep, fc.array(step, { maxLength: 15 }), async (first, others) => {
      const model = new NameModel(lane)
      await model.createRecords()
      for (const step of [first, ...others]) {
        await model.run(step)
        await model.check()
      }
    })
  })

/** A model of two records and their people, which sends each step to the service as well. */
class NameModel {
  private readonly lane: Lane
  private readonly people = new Map<string, Person>()
  private readonly records: { id: number; people: Person[] }[] = []

  constructor(lane: Lane) {
    this.lane = lane
  }

  async createRecords(): Promise<void> {
    for (const state of [1, 2]) {
      const body = { title: 'Names', category, language: 'en', state }
      const { json } = await this.lane.send('POST', '/api/v2/video', { body })
      this.records.push({ id: json.id, people: [] })
    }
  }

  run(step: NameStep): Promise<void> {
    if ('names' in step) return this.setSpeakers(step)
    if ('rename' in step) return this.rename(step)
    if ('merge' in step) return this.merge(step)
    return this.split(step)
  }

  async check(): Promise<void> {
    for (const { id, people } of this.records)
      assert.deepEqual(
        (await this.lane.send('GET', `/api/v2/video/${id}`)).json.speakers,
        people.map((person) => person.name),
      )
  }

  /** Returns a name that no other case uses. */
  private nameOf(number: number): string {
    return `Person ${number} of ${this.records[0]?.id}`
  }

  private personOf(name: string): Person {
    const slug = name.toLowerCase().replaceAll(' ', '-')
    const person = this.people.get(name) ?? { name, slug }
    this.people.set(name, person)
    return person
  }

  private async setSpeakers(step: Extract<NameStep, { names: unknown }>): Promise<void> {
    const speakers = step.names.map((number) => this.nameOf(number))
    const record = this.records[step.record] as NameModel['records'][number]
    const path = `/api/v2/video/${record.id}`
    assertRecord(await this.lane.send('PATCH', path, { body: { speakers } }), 200)
    record.people = [...new Set(speakers.map((name) => this.personOf(name)))]
  }

  private async rename(step: Extract<NameStep, { rename: number }>): Promise<void> {
    const person = this.people.get(this.nameOf(step.rename))
    if (!person) return
    const name = this.nameOf(step.to)
    const other = this.people.get(name)
    const path = `/api/v2/speaker/${person.slug}`
    const reply = await this.lane.send('PATCH', path, { body: { name } })
    assert.equal(reply.status, other && other !== person ? 409 : 200, reply.text)
    if (reply.status === 409) return
    this.people.set(name, person)
    Object.assign(person, { name: reply.json.name, slug: reply.json.slug })
    assert.equal(person.name, name)
  }

  private async merge(step: Extract<NameStep, { merge: number }>): Promise<void> {
    const from = this.people.get(this.nameOf(step.merge))
    const into = this.people.get(this.nameOf(step.into))
    if (!from || !into) return
    const path = `/api/v2/speaker/${from.slug}/merge`
    const reply = await this.lane.send('POST', path, { body: { into: into.slug } })
    assert.equal(reply.status, from === into ? 400 : 200, reply.text)
    for (const [name, person] of this.people) if (person === from) this.people.set(name, into)
    for (const record of this.records) record.people = replaced(record.people, from, into)
  }

  private async split(step: Extract<NameStep, { split: number }>): Promise<void> {
    const from = this.people.get(this.nameOf(step.split))
    const record = this.records[step.record] as NameModel['records'][number]
    if (!from) return
    const name = this.nameOf(step.to)
    const existing = this.people.get(name)
    const to = existing && existing !== from ? existing : { name, slug: '' }
    const isInvalid =
      to.name === from.name || !(record.people.includes(from) || record.people.includes(to))
    const path = `/api/v2/speaker/${from.slug}/split`
    const reply = await this.lane.send('POST', path, { body: { name, videos: [record.id] } })
    assert.equal(reply.status, isInvalid ? 400 : 200, reply.text)
    if (isInvalid) return
    to.slug = reply.json.slug
    this.people.set(name, to)
    record.people = replaced(record.people, from, to)
  }
}

const replaced = (people: readonly Person[], from: Person, to: Person) => [
  ...new Set(people.map((person) => (person === from ? to : person))),
]

/**
 * All properties, with their share of a balanced run: the cheap ones find most, so they run most
 * often.
 */
export const properties: { name: string; property: Property; share: number }[] = [
  { name: 'any valid record is read back as it was sent', property: keepsWhatWasSent, share: 0.04 },
  {
    name: 'a patch is a plain merge, and repeating it changes nothing',
    property: patchMerges,
    share: 0.03,
  },
  {
    name: 'patches of different fields commute',
    property: disjointPatchesCommute,
    share: 0.01,
  },
  {
    name: 'any body gets a response that the contract documents',
    property: refusesCleanly,
    share: 0.25,
  },
  {
    name: 'a problem names the invalid field, and nothing changes',
    property: namesTheWrongField,
    share: 0.12,
  },
  { name: 'no response is interpreted as a page', property: neverBecomesAPage, share: 0.08 },
  {
    name: 'junk in headers, ids and parameters breaks nothing',
    property: withstandsJunk,
    share: 0.46,
  },
  {
    name: 'the history has every version, byte for byte',
    property: remembersEverything,
    share: 0.01,
  },
  {
    name: 'records have the current names after any sequence of changes',
    property: followsNames,
    share: 0.005,
  },
]

/**
 * One record that one case at a time uses. Several lanes run in parallel, like several editors.
 */
interface Lane {
  path: string
  categoryPath: string
  /** The last response that contained the whole record. */
  known: Reply
  /** Sends a request, as an editor unless the headers have credentials, and checks the response. */
  send(method: string, path: string, options?: CallOptions): Promise<Reply>
  read(): Promise<Reply>
  assertUnchanged(): Promise<void>
  /** Continues with a new record. */
  startOver(): Promise<void>
}

const lanes = 8

// biome-ignore lint/suspicious/noExplicitAny: each property has its own tuple of inputs
type Cases = fc.IAsyncProperty<any>

async function inLanes(
  archive: PropertyTarget,
  runs: number,
  seed = Date.now() % 2 ** 31,
  cases: (lane: Lane) => Cases,
): Promise<number> {
  const opened = await Promise.all(
    Array.from({ length: Math.min(lanes, runs) }, (_, number) => openLane(archive, number)),
  )
  const done = await Promise.all(
    opened.map((lane, number) => {
      const numRuns = Math.floor(runs / opened.length) + (number < runs % opened.length ? 1 : 0)
      return fc.check(cases(lane), { seed: seed + number, numRuns })
    }),
  )
  for (const details of done)
    if (details.failed)
      throw new Error(`With seed ${seed}: ${fc.defaultReportMessage(details)}`, {
        cause: details.errorInstance,
      })
  return done.reduce((sum, { numRuns }) => sum + numRuns, 0)
}

async function openLane(archive: PropertyTarget, number: number): Promise<Lane> {
  const title = `Lane ${number}`
  for (const name of [...categories, title])
    await archive.call('POST', '/api/v2/category', {
      body: { title: name },
      token: archive.editor,
    })
  const lane: Lane = {
    path: '',
    categoryPath: `/api/v2/category/lane-${number}`,
    known: undefined as unknown as Reply,
    async send(method, path, options = {}) {
      const reply = await archive.call(
        method,
        path,
        options.headers?.authorization === undefined
          ? { ...options, token: archive.editor }
          : options,
      )
      assertAnswer(reply, `${method} ${path}`)
      return reply
    },
    async read() {
      lane.known = await lane.send('GET', lane.path)
      assertRecord(lane.known, 200)
      return lane.known
    },
    async assertUnchanged() {
      const reply = await lane.send('GET', lane.path, {
        headers: { 'if-none-match': lane.known.headers.etag as string },
      })
      assert.equal(reply.status, 304, `The record has changed: ${reply.text}`)
    },
    async startOver() {
      const reply = await lane.send('POST', '/api/v2/video', {
        body: { title, category, language: 'English', state: 1 },
      })
      assertRecord(reply, 201)
      lane.path = `/api/v2/video/${reply.json.id}`
      await lane.read()
    },
  }
  await lane.startOver()
  return lane
}

/** Asserts what holds for every response. */
function assertAnswer(reply: Reply, request: string): void {
  assert.ok(reply.status < 500, `${request}: status ${reply.status}: ${reply.text}`)
  assert.match(reply.text, /^[\x20-\x7e]*$/, `${request}: the response is not ASCII`)
  assert.doesNotMatch(reply.text, /[<>&]/, `${request}: the response has markup`)
  assert.equal(reply.headers['x-content-type-options'], 'nosniff')
  if (reply.status < 400 || reply.text === '') return
  assert.equal(reply.headers['content-type'], 'application/problem+json')
  const isProblem: boolean = validatorFor(ProblemDocument).Check(reply.json)
  assert.ok(isProblem, reply.text)
  assert.equal(reply.json.status, reply.status)
}

function assertRecord(reply: Reply, status: number): void {
  assert.equal(reply.status, status, reply.text)
  assert.equal(Object.keys(reply.json).join(' '), fieldOrder)
}

function assertDocumented(endpoint: Endpoint, reply: Reply): void {
  if (reply.status === endpoint.response.status) {
    assert.ok(validatorFor(endpoint.response.schema).Check(reply.json), reply.text)
    return
  }
  const type = String((reply.json as ArbitraryJson | undefined)?.type)
  const name = problemsOf(endpoint).find(
    (problem) =>
      problems[problem].status === reply.status && type.endsWith(`/api/problems/${problem}`),
  )
  assert.ok(name, `${endpoint.name} does not document ${reply.status}: ${reply.text}`)
}

/**
 * Asserts that the response has exactly these fields. If they differ from before, it must be a new
 * revision; otherwise nothing may have changed.
 */
function assertMoved(before: Reply, reply: Reply, expected: ArbitraryJson): void {
  const own = { id: before.json.id, slug: before.json.slug, added: before.json.added }
  assert.deepEqual(reply.json, { ...expected, ...own, updated: reply.json.updated })
  if (
    JSON.stringify({ ...reply.json, updated: before.json.updated }) === JSON.stringify(before.json)
  ) {
    assertSame(before, reply)
    return
  }
  assert.ok(reply.json.updated > before.json.updated, 'The time of the change did not move')
  assert.equal(revisionOf(reply), revisionOf(before) + 1)
}

function assertSame(before: Reply, reply: Reply): void {
  assert.equal(reply.text, before.text)
  assert.equal(reply.headers.etag, before.headers.etag)
}

function assertOneOf(reply: Reply, statuses: readonly number[]): void {
  assert.ok(
    statuses.includes(reply.status),
    `${reply.status} is not one of ${statuses}: ${reply.text}`,
  )
}

function revisionOf(reply: Reply): number {
  return Number((reply.headers.etag as string).split('.')[1])
}

/**
 * Asserts that an error repeats nothing of the input, which may be a secret, or an attack on the
 * reader of the error.
 */
function assertNoEcho(input: unknown, { json }: Reply): void {
  const keys = new Set<string>()
  const values = new Set<string>()
  const collect = (value: unknown): void => {
    if (typeof value === 'string' && value.length >= 8) values.add(value)
    if (typeof value !== 'object' || value === null) return
    if (!Array.isArray(value)) for (const key of Object.keys(value)) keys.add(key)
    for (const part of Object.values(value)) collect(part)
  }
  collect(input)
  const errors: { pointer: string; detail: string }[] = json.errors ?? []
  // The most similar titles are listed on purpose, and the input may be a part of one.
  const details = [
    json.detail,
    ...errors.map(({ detail }) => detail.replace(/; closest matches: .*$/s, '')),
  ]
  for (const value of values) {
    for (const detail of details)
      assert.ok(!detail.includes(value), `The error repeats the value: ${detail}`)
    if (![...keys].some((key) => key.includes(value)))
      for (const { pointer } of errors)
        assert.ok(!pointer.includes(value), `The pointer repeats the value: ${pointer}`)
  }
}

/** Asserts that a browser that parses the response as HTML finds text only. */
function assertNoPage(reply: Reply): void {
  const visit = (node: DefaultTreeAdapterTypes.Node): void => {
    assert.ok(
      ['#document', '#text', 'html', 'head', 'body'].includes(node.nodeName),
      `${node.nodeName} in ${reply.text}`,
    )
    if ('attrs' in node) assert.deepEqual(node.attrs, [])
    if ('childNodes' in node) for (const child of node.childNodes) visit(child)
  }
  visit(parse(reply.text))
}

/** Negotiates the form: RFC 9110, 12.5.1, and for equal preferences the documented one. */
function preferredForm(
  ranges: readonly { type: string; q: string | undefined }[],
): 'html' | 'json' | undefined {
  const q = (...types: string[]) => {
    for (const type of types)
      for (const range of ranges) if (range.type.toLowerCase() === type) return Number(range.q ?? 1)
    return 0
  }
  const html = q('text/html', 'text/*', '*/*')
  const json = q('application/json', 'application/*', '*/*')
  const isNamed = ranges.some(({ type }) => type === 'application/json')
  if (json > html || (json === html && json > 0 && isNamed)) return 'json'
  return html > 0 ? 'html' : undefined
}

function parseJson(raw: Buffer): unknown {
  try {
    return JSON.parse(raw.toString())
  } catch {
    return undefined
  }
}
