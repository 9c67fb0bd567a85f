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
  addresses,
  afterPatch,
  afterPut,
  anyBytes,
  anyJson,
  categories,
  fieldOrder,
  lists,
  texts,
  validPatch,
  validRecord,
  wrongField,
} from './arbitraries.ts'
import { type CallOptions, category, type Reply, type TestArchive } from './harness.ts'
import { hostilePayloads } from './payloads.ts'

// What holds for every input, tried with inputs that nobody would think of. Each function runs that
// many generated cases and returns how many it ran; a case that fails is made as small as possible
// and told together with the seed that brings it back.

export type PropertyTarget = Pick<TestArchive, 'call' | 'editor'>
export type Property = (archive: PropertyTarget, runs: number, seed?: number) => Promise<number>

/** a. What was sent is what is read, up to the trimming that is documented. */
const keepsWhatWasSent: Property = (archive, runs, seed) =>
  inLanes(archive, runs, seed, (lane) =>
    fc.asyncProperty(validRecord, fc.boolean(), async (sent, asJson) => {
      const before = lane.known
      const put = await lane.send('PUT', lane.path, { body: sent })
      assertRecord(put, 200)
      lane.known = put
      assertMoved(before, put, afterPut(before.json, sent))
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

/**
 * b. A patch is the plain merge of RFC 7396; sent twice it is sent once, and an empty one is
 * nothing.
 */
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
 * c. Whatever comes as a body, the answer is one that the contract names, and a refused write
 * changes nothing.
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
    // New categories are rare, because each one has to be looked through for the nearest titles
    // from then on.
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
      { weight: 1, arbitrary: anyBytes.map((raw) => ({ value: parsed(raw), raw })) },
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
        const sent = value as ArbitraryJson
        const after =
          endpoint.method === 'PUT' ? afterPut(before.json, sent) : afterPatch(before.json, sent)
        // Any code of a language may come up by chance; then the answer knows the name, and we
        // don't.
        assertMoved(before, reply, {
          ...after,
          ...('language' in sent && { language: reply.json.language }),
        })
      }
    })
  })

/**
 * c. Of a record with one wrong field, exactly this field is named, its value is not repeated, and
 * nothing changes.
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

/** d. No answer is a page, whatever is in the record and whatever was refused. */
const neverBecomesAPage: Property = (archive, runs, seed) =>
  inLanes(archive, runs, seed, (lane) => {
    const part = fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom(...hostilePayloads) },
      { weight: 1, arbitrary: fc.string({ unit: 'binary' }) },
    )
    const hostile = fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => parts.join(''))
    // An address that the service takes has the payload behind it; a bare payload gives an error.
    const url = fc.oneof(
      { weight: 6, arbitrary: hostile.map((it) => `https://example.org/${it}`) },
      { weight: 1, arbitrary: hostile },
    )
    const name = hostile.map((it) => it.slice(0, 200))
    const target = fc.oneof(
      { weight: 4, arbitrary: fc.tuple(fc.constantFrom('title', ...Object.keys(texts)), hostile) },
      { weight: 2, arbitrary: fc.tuple(fc.constantFrom(...addresses), url) },
      {
        weight: 1,
        arbitrary: fc.tuple(
          fc.constantFrom(...lists),
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
        // A record with a long history would make the reading of it the whole cost.
        if (revision > 40) await lane.startOver()
      },
    )
  })

/**
 * e. Junk in headers, ids and parameters is refused as documented, or ignored; it never breaks
 * anything.
 */
const withstandsJunk: Property = (archive, runs, seed) =>
  inLanes(archive, runs, seed, (lane) => fc.asyncProperty(junkCase, (it) => tryJunk(lane, it)))

type JunkCase =
  | { accept: readonly { type: string; q: string | undefined }[]; isWrite: boolean }
  | { ifNoneMatch: readonly TagKind[]; isHead: boolean }
  | { ifMatch: readonly TagKind[] }
  | { ifModifiedSince: Date }
  | { header: string; junk: string }
  | { format: string; isWrite: boolean }
  | { page: string }
  | { query: string }
  | { id: string; method: string }

const tagKinds = ['current', 'json', 'weak', 'stale', 'other', 'empty'] as const
type TagKind = (typeof tagKinds)[number]

const junk = fc.string({
  unit: fc
    .oneof(fc.integer({ min: 0x20, max: 0x7e }), fc.integer({ min: 0xa0, max: 0xff }))
    .map((code) => String.fromCharCode(code)),
  maxLength: 40,
})
const someTags = fc.uniqueArray(fc.constantFrom(...tagKinds), { minLength: 1 })
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
  weighed(10, fc.record({ ifNoneMatch: someTags, isHead: fc.boolean() })),
  weighed(10, fc.record({ ifMatch: someTags })),
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

async function tryJunk(lane: Lane, it: JunkCase): Promise<void> {
  const get = (headers: Record<string, string>, method = 'GET') =>
    lane.send(method, lane.path, { headers })
  const patch = (headers: Record<string, string>) =>
    lane.send('PATCH', lane.path, { body: {}, headers })
  if ('accept' in it) {
    const accept = it.accept
      .map(({ type, q }) => (q === undefined ? type : `${type};q=${q}`))
      .join(', ')
    const form = wantedForm(it.accept)
    const reply = await (it.isWrite ? patch({ accept }) : get({ accept }))
    assert.equal(reply.status, form === undefined ? 406 : 200)
    if (form)
      assert.equal(
        reply.headers['content-type'],
        form === 'json' ? 'application/json' : 'text/html; charset=utf-8',
      )
  } else if ('ifNoneMatch' in it) {
    const reply = await get(
      { 'if-none-match': it.ifNoneMatch.map((kind) => tagOf(lane, kind)).join(',') },
      it.isHead ? 'HEAD' : 'GET',
    )
    assert.equal(
      reply.status,
      it.ifNoneMatch.includes('current') || it.ifNoneMatch.includes('weak') ? 304 : 200,
    )
    if (reply.status === 304) assert.equal(reply.text, '')
  } else if ('ifMatch' in it) {
    const reply = await patch({
      'if-match': it.ifMatch.map((kind) => tagOf(lane, kind)).join(', '),
    })
    assert.equal(
      reply.status,
      it.ifMatch.includes('current') || it.ifMatch.includes('json') ? 200 : 412,
    )
    assertDocumented(endpoints.patchVideo, reply)
  } else if ('ifModifiedSince' in it) {
    const reply = await get({ 'if-modified-since': it.ifModifiedSince.toUTCString() })
    // A date from before the change must not hide it. Within the second of the change, no date is
    // an answer.
    if (it.ifModifiedSince.getTime() < Date.parse(`${lane.known.json.updated}Z`) - 1000)
      assert.equal(reply.status, 200)
    else assertOneOf(reply, [200, 304])
  } else if ('header' in it) {
    await tryHeader(lane, it.header, it.junk)
  } else if ('format' in it) {
    const path = `${lane.path}?format=${encodeURIComponent(it.format)}`
    const reply = it.isWrite
      ? await lane.send('PATCH', path, { body: {} })
      : await lane.send('GET', path)
    assert.equal(reply.status, it.format === 'json' ? 200 : 406)
  } else if ('page' in it) {
    const reply = await lane.send(
      'GET',
      `${lane.path}/revisions?page=${encodeURIComponent(it.page)}`,
    )
    const isPage = /^[1-9]\d{0,6}$/.test(it.page) && Number(it.page) <= 1_000_000
    assert.equal(reply.status, isPage ? (it.page === '1' ? 200 : 404) : 400, reply.text)
  } else if ('query' in it) {
    assertOneOf(await lane.send('GET', `${lane.path}/revisions?${it.query}`), [200, 400, 404, 406])
  } else {
    // The client itself refuses to send some characters; encoded, they are another spelling of an
    // id all the same.
    const spelled = it.id.replaceAll(/[^\x21-\x7e]/g, encodeURIComponent)
    const reply = await lane.send(
      it.method,
      `/api/v2/video/${spelled}`,
      it.method.startsWith('P') ? { body: {} } : {},
    )
    // With these, the address may be another one altogether; so it is when nothing is left of the
    // id.
    const isElsewhere = /^$|[/?#]/.test(spelled)
    if (isElsewhere || /^[1-9]\d{0,15}$/.test(spelled))
      assertOneOf(reply, [200, 204, 400, 404, 405, 406])
    else assert.equal(reply.status, it.method === 'DELETE' && reply.status === 405 ? 405 : 404)
  }
}

async function tryHeader(lane: Lane, header: string, value: string): Promise<void> {
  const get = () => lane.send('GET', lane.path, { headers: { [header]: value } })
  const patch = () =>
    lane.send('PATCH', lane.path, {
      body: {},
      headers: { 'content-type': 'application/json', [header]: value },
    })
  // On the way, white space around the value is lost.
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
      // With wrong credentials nothing is answered, not even what everybody may read.
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

function tagOf(lane: Lane, kind: TagKind): string {
  const etag = lane.known.headers.etag as string
  const [id, revision] = etag.slice(1, -1).split('.')
  const tags: Record<TagKind, string> = {
    current: etag,
    json: etag.replace(/"$/, '.json"'),
    weak: `W/${etag}`,
    stale: `"${id}.${Number(revision) - 1}.AAAAAAAA"`,
    other: '"x"',
    empty: '""',
  }
  return tags[kind]
}

type Step = { put: ArbitraryJson } | { patch: ArbitraryJson } | { restore: number }

/**
 * f. The history has one entry for each real change, and each is the answer that was given then,
 * byte for byte.
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
      for (const it of steps) {
        const before = versions.at(-1) as Reply
        const back = 'restore' in it ? (it.restore % versions.length) + 1 : 0
        const reply =
          'put' in it
            ? await lane.send('PUT', path, { body: it.put })
            : 'patch' in it
              ? await lane.send('PATCH', path, { body: it.patch })
              : await lane.send('POST', `${path}/revisions/${back}/restore`)
        assertRecord(reply, 200)
        const after =
          'put' in it
            ? afterPut(before.json, it.put)
            : 'patch' in it
              ? afterPatch(before.json, it.patch)
              : (versions[back - 1] as Reply).json
        assertMoved(before, reply, after)
        if (reply.text === before.text) continue
        versions.push(reply)
        kinds.push('restore' in it ? 'restored' : 'updated')
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
 * g. Whatever is written, renamed, merged and split in any order: records show their people by the
 * names of now, and every name leads to one.
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
    const some = fc.record({
      record: fc.nat(1),
      names: fc.array(name, { minLength: 2, maxLength: 4 }),
    })
    return fc.asyncProperty(some, fc.array(step, { maxLength: 15 }), async (first, others) => {
      const steps: NameStep[] = [first, ...others]
      const known = new Map<string, Person>()
      const records: { path: string; people: Person[] }[] = []
      for (const state of [1, 2]) {
        const made = await lane.send('POST', '/api/v2/video', {
          body: { title: 'Names', category, language: 'en', state },
        })
        records.push({ path: `/api/v2/video/${made.json.id}`, people: [] })
      }
      // People of this case alone.
      const nameOf = (number: number) => `Person ${number} of ${records[0]?.path.split('/').at(-1)}`
      const called = (given: string): Person => {
        const person = known.get(given) ?? {
          name: given,
          slug: given.toLowerCase().replaceAll(' ', '-'),
        }
        known.set(given, person)
        return person
      }
      const exchange = (people: readonly Person[], from: Person, to: Person) => [
        ...new Set(people.map((person) => (person === from ? to : person))),
      ]
      for (const it of steps) {
        if ('names' in it) {
          const speakers = it.names.map(nameOf)
          const record = records[it.record] as (typeof records)[number]
          assertRecord(await lane.send('PATCH', record.path, { body: { speakers } }), 200)
          record.people = [...new Set(speakers.map(called))]
        } else if ('rename' in it) {
          const person = known.get(nameOf(it.rename))
          if (!person) continue
          const other = known.get(nameOf(it.to))
          const reply = await lane.send('PATCH', `/api/v2/speaker/${person.slug}`, {
            body: { name: nameOf(it.to) },
          })
          assert.equal(reply.status, other && other !== person ? 409 : 200, reply.text)
          if (reply.status === 409) continue
          known.set(nameOf(it.to), person)
          Object.assign(person, { name: reply.json.name, slug: reply.json.slug })
          assert.equal(person.name, nameOf(it.to))
        } else if ('merge' in it) {
          const [from, into] = [known.get(nameOf(it.merge)), known.get(nameOf(it.into))]
          if (!from || !into) continue
          const reply = await lane.send('POST', `/api/v2/speaker/${from.slug}/merge`, {
            body: { into: into.slug },
          })
          assert.equal(reply.status, from === into ? 400 : 200, reply.text)
          for (const [given, person] of known) if (person === from) known.set(given, into)
          for (const record of records) record.people = exchange(record.people, from, into)
        } else {
          const from = known.get(nameOf(it.split))
          const record = records[it.record] as (typeof records)[number]
          if (!from) continue
          const there = known.get(nameOf(it.to))
          const to = there && there !== from ? there : { name: nameOf(it.to), slug: '' }
          const isWrong =
            to.name === from.name || !(record.people.includes(from) || record.people.includes(to))
          const id = Number(record.path.split('/').at(-1))
          const reply = await lane.send('POST', `/api/v2/speaker/${from.slug}/split`, {
            body: { name: nameOf(it.to), videos: [id] },
          })
          assert.equal(reply.status, isWrong ? 400 : 200, reply.text)
          if (isWrong) continue
          to.slug = reply.json.slug
          known.set(nameOf(it.to), to)
          record.people = exchange(record.people, from, to)
        }
        for (const { path, people } of records)
          assert.deepEqual(
            (await lane.send('GET', path)).json.speakers,
            people.map((person) => person.name),
          )
      }
    })
  })

/**
 * Everything above, and how much of it makes a balanced mix: the cheap ones find most, so they run
 * most.
 */
export const properties: { name: string; property: Property; share: number }[] = [
  { name: 'any valid record is read back as it was sent', property: keepsWhatWasSent, share: 0.04 },
  {
    name: 'a patch is the plain merge, and the same patch twice is once',
    property: patchMerges,
    share: 0.03,
  },
  {
    name: 'patches of different fields can come in any order',
    property: disjointPatchesCommute,
    share: 0.01,
  },
  {
    name: 'any body at all gets an answer that the contract names',
    property: refusesCleanly,
    share: 0.25,
  },
  {
    name: 'a wrong field is named, and nothing is changed',
    property: namesTheWrongField,
    share: 0.12,
  },
  { name: 'no answer ever becomes a page', property: neverBecomesAPage, share: 0.08 },
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
    name: 'names that change in any order are right in every record',
    property: followsNames,
    share: 0.005,
  },
]

/**
 * One record that one case at a time works on. Several of these run side by side, as editors do.
 */
interface Lane {
  path: string
  categoryPath: string
  /** The last answer that had the whole record. */
  known: Reply
  /** As an editor, unless the headers say who. What holds for every answer is checked here. */
  send(method: string, path: string, options?: CallOptions): Promise<Reply>
  read(): Promise<Reply>
  assertUnchanged(): Promise<void>
  /** Goes on with a new record. */
  startOver(): Promise<void>
}

const lanes = 8

// biome-ignore lint/suspicious/noExplicitAny: each property has its own tuple of inputs, and nothing here looks at them
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
  for (const it of [...categories, title])
    await archive.call('POST', '/api/v2/category', { body: { title: it }, token: archive.editor })
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

/** Holds for every answer to every request. */
function assertAnswer(reply: Reply, what: string): void {
  assert.ok(reply.status < 500, `${what} was answered ${reply.status}: ${reply.text}`)
  assert.match(reply.text, /^[\x20-\x7e]*$/, `${what} was answered with more than ASCII`)
  assert.doesNotMatch(reply.text, /[<>&]/, `${what} was answered with markup`)
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
    (it) => problems[it].status === reply.status && type.endsWith(`/api/problems/${it}`),
  )
  assert.ok(name, `${endpoint.name} does not document ${reply.status}: ${reply.text}`)
}

/**
 * The answer has exactly these fields; where that is a change, it is a new version, and otherwise
 * nothing moved at all.
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
    `${reply.status} is none of ${statuses}: ${reply.text}`,
  )
}

function revisionOf(reply: Reply): number {
  return Number((reply.headers.etag as string).split('.')[1])
}

/**
 * Nothing of what was sent comes back in an error: it may be a secret, or meant for the eyes of
 * whoever reads the error.
 */
function assertNoEcho(sent: unknown, { json }: Reply): void {
  const keys = new Set<string>()
  const values = new Set<string>()
  const collect = (value: unknown): void => {
    if (typeof value === 'string' && value.length >= 8) values.add(value)
    if (typeof value !== 'object' || value === null) return
    if (!Array.isArray(value)) for (const key of Object.keys(value)) keys.add(key)
    for (const part of Object.values(value)) collect(part)
  }
  collect(sent)
  const errors: { pointer: string; detail: string }[] = json.errors ?? []
  // The nearest titles are documented to be named, and what was sent may well be a part of one.
  const details = [
    json.detail,
    ...errors.map(({ detail }) => detail.replace(/; the nearest are: .*$/s, '')),
  ]
  for (const value of values) {
    for (const detail of details)
      assert.ok(!detail.includes(value), `The value comes back: ${detail}`)
    if (![...keys].some((key) => key.includes(value)))
      for (const { pointer } of errors)
        assert.ok(!pointer.includes(value), `The value comes back in a pointer: ${pointer}`)
  }
}

/** A browser that takes the answer for HTML, as it is declared, sees one text and nothing else. */
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

/** RFC 9110, 12.5.1, and of two equals the one that the interface says. */
function wantedForm(
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

function parsed(raw: Buffer): unknown {
  try {
    return JSON.parse(raw.toString())
  } catch {
    return undefined
  }
}
