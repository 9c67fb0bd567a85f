import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Endpoint, endpoints, requestHeaders, type Video } from '@talkshelf/contract'
import { prepareCall } from '../tests/support/endpoint-calls.ts'
import { category, type Reply, startArchive } from '../tests/support/harness.ts'
import { emptyPersonProfile } from '../tests/support/profiles.ts'
import {
  ApiProblem,
  type Client,
  createClient,
  type NotModified,
  UnexpectedResponse,
} from './client.ts'

const archive = await startArchive()
const reader = createClient({ baseUrl: archive.url })
const editor = createClient({ baseUrl: archive.url, token: archive.editor })

async function problemOf(call: Promise<unknown>): Promise<ApiProblem> {
  const error = await call.then(
    () => assert.fail('The call succeeded'),
    (error: unknown) => error,
  )
  assert.ok(error instanceof ApiProblem, String(error))
  return error
}

test('the client has a function for every endpoint', async () => {
  const called = new Set<string>()
  const client = new Proxy(createClient({ baseUrl: archive.url, token: archive.admin }), {
    get(target, name: keyof Client) {
      called.add(name)
      return target[name]
    },
  })

  const made = await client.createCategory({ body: { title: 'Client Days' } })
  assert.equal(made.status, 201)
  assert.equal(made.location, `${archive.url}/api/v2/category/client-days`)
  const described = await client.patchCategory({
    slug: 'client-days',
    body: { description: 'Days' },
    ifMatch: made.etag,
  })
  const { data: event } = await client.readCategory({ slug: 'client-days' })
  assert.deepEqual(described.data, { ...event, records_left: 0 })

  const body = {
    title: 'Grüße & <Küsse>',
    category: 'Client Days',
    language: 'de',
    speakers: ['Zoë 🦊'],
  }
  const created = await client.createVideo({ body, idempotencyKey: 'once' })
  assert.equal(created.status, 201)
  assert.deepEqual(await client.createVideo({ body, idempotencyKey: 'once' }), created)
  const { id } = created.data
  assert.equal(created.location, `${archive.url}/api/v2/video/${id}`)
  assert.equal(created.data.title, 'Grüße & <Küsse>')

  const replaced = await client.replaceVideo({
    id,
    body: { ...created.data, summary: 'Short' },
    ifMatch: created.etag,
  })
  const patched = await client.patchVideo({
    id,
    body: { tags: ['one', 'two'] },
    ifMatch: replaced.etag,
  })
  assert.deepEqual([patched.data.summary, patched.data.tags], ['Short', ['one', 'two']])
  const read = await client.readVideo({ id })
  assert.deepEqual(read, {
    data: patched.data,
    status: 200,
    etag: patched.etag,
    location: undefined,
    notModified: false,
  })

  await client.patchVideo({ id, body: { state: 1 } })
  const { data: listed } = await client.listVideos({ category: 'client-days', ordering: '-added' })
  assert.deepEqual(
    listed.results.map(({ title }) => title),
    ['Grüße & <Küsse>'],
  )
  for (const list of ['listCategories', 'listSpeakers', 'listTags', 'listLanguages'] as const)
    assert.ok((await client[list]({ page_size: 100 })).data.results.some(({ talks }) => talks > 0))
  const { data: found } = await client.listVideos({ q: 'gruss kusse', include: 'facets,snippets' })
  assert.deepEqual(
    [found.results[0]?.id, found.snippets?.[0]?.id, found.facets?.exact],
    [id, id, true],
  )
  assert.deepEqual((await client.suggest({ q: 'grüße' })).data.talks, [
    { id, title: 'Grüße & <Küsse>', slug: created.data.slug },
  ])
  const second = await archive.make({ title: 'Grüße & <Küsse>', speakers: ['Zoë 🦊'] })
  assert.deepEqual((await client.readRelated({ id })).data, {
    also: [second],
    speakers: [],
    event: [],
    similar: [],
  })
  await archive.call('POST', `/api/v2/video/${second.id}/takedown`, {
    token: archive.admin,
    body: { reason: 'Enough' },
  })
  const [speaker] = (await client.listSpeakers({})).data.results
  const { data: rules } = await client.listRules()
  for (const { rule, count } of rules.results)
    assert.equal((await client.listFindings({ rule })).data.count, count)
  const { data: unlicensed } = await client.listFindings({ rule: 'no-licence', page_size: 100 })
  assert.ok(unlicensed.results.some(({ records }) => records[0]?.title === 'Grüße & <Küsse>'))
  const zoe = await client.readSpeaker({ slug: speaker?.slug ?? '' })
  assert.deepEqual(zoe.data, {
    ...speaker,
    ...emptyPersonProfile,
    aliases: [],
  })
  const renamed = await client.patchSpeaker({
    slug: 'zoe',
    body: { name: 'Zoë Fox' },
    ifMatch: zoe.etag,
  })
  assert.deepEqual([renamed.data.slug, renamed.data.records_left], ['zoe-fox', 0])
  // The redirect from the old URL is followed.
  assert.equal((await client.readSpeaker({ slug: 'zoe' })).data.name, 'Zoë Fox')
  const split = await client.splitSpeaker({
    slug: 'zoe-fox',
    body: { name: 'Zoë Wolf', videos: [id] },
  })
  assert.equal(
    (await client.mergeSpeaker({ slug: split.data.slug, body: { into: 'zoe-fox' } })).data.talks,
    1,
  )
  await client.patchTag({ slug: 'one', body: { aliases: [{ name: 'first', shown: true }] } })
  await client.mergeTag({ slug: 'two', body: { into: 'one' } })
  assert.deepEqual(
    (await client.readTag({ slug: 'one' })).data.aliases.map(({ name }) => name),
    ['first', 'two'],
  )
  await client.createCategory({ body: { title: 'Client Days again' } })
  assert.equal(
    (await client.mergeCategory({ slug: 'client-days-again', body: { into: 'client-days' } })).data
      .talks,
    1,
  )
  const attached = [{ kind: 'related' as const, url: 'https://slides.example.org/', label: null }]
  const facts = await client.replaceFacts({ id, body: { facts: attached } })
  assert.deepEqual((await client.readFacts({ id })).data, facts.data)
  const importInput = {
    text: 'title\nLoaded by the client\n',
    format: 'csv' as const,
    category: 'Client Days',
    language: 'en',
  }
  const { data: planned } = await client.createImport({ body: importInput })
  assert.deepEqual([planned.state, planned.planned.new], ['planned', 1])
  await client.decideTalk({ id: planned.id, position: 1, body: { same: false } })
  assert.equal(
    (await client.listImportedTalks({ id: planned.id, verdict: 'new' })).data.results[0]?.title,
    'Loaded by the client',
  )
  assert.equal((await problemOf(client.stopImport({ id: planned.id }))).name, 'wrong-state')
  assert.equal((await problemOf(client.undoImport({ id: planned.id }))).name, 'wrong-state')
  await client.applyImport({ id: planned.id })
  for (
    let tries = 0;
    tries < 500 && (await client.readImport({ id: planned.id })).data.state !== 'applied';
    tries++
  )
    await sleep(20)
  assert.equal((await client.listImports({})).data.results[0]?.outcome.created, 1)
  const back = await client.patchVideo({ id, body: { state: 2 } })

  const { data: revisions } = await client.listRevisions({ id, page: 1 })
  assert.deepEqual([revisions.count, revisions.results[6]?.fields], [9, ['tags']])
  const { data: first } = await client.readRevision({ id, revision: 1 })
  assert.deepEqual([first.by, first.record], ['Ada', { ...created.data, speakers: ['Zoë Fox'] }])
  const restored = await client.restoreRevision({ id, revision: 1, ifMatch: back.etag })
  assert.deepEqual(restored.data.tags, [])

  const { data: gone } = await client.takeDownVideo({
    id,
    body: { reason: 'The speaker asked for it' },
  })
  assert.equal(gone.reason, 'The speaker asked for it')
  assert.equal((await problemOf(client.readVideo({ id }))).name, 'taken-down')

  const { data: description } = await client.readOpenapi()
  assert.ok('paths' in description)

  // Endpoints that have no call above.
  const functions = client as unknown as Record<string, (input: object) => Promise<Reply>>
  for (const endpoint of Object.values<Endpoint>(endpoints)) {
    if (called.has(endpoint.name)) continue
    const { params, body } = await prepareCall(archive, endpoint)
    const reply = await functions[endpoint.name]?.({ ...params, ...(body && { body }) })
    assert.equal(reply?.status, endpoint.response.status, endpoint.name)
  }
})

test('a problem becomes an error with its name, status, detail and invalid fields', async () => {
  const problem = await problemOf(
    editor.createVideo({ body: { title: '', category, language: 'Klingonese' } }),
  )
  assert.equal(problem.name, 'invalid-fields')
  assert.equal(problem.status, 400)
  assert.equal(problem.message, problem.detail)
  assert.deepEqual(
    problem.errors.map(({ pointer }) => pointer),
    ['/title', '/language'],
  )
  assert.equal(problem.document.type, `${archive.url}/api/problems/invalid-fields`)

  const missing = await problemOf(reader.readVideo({ id: 999_999 }))
  assert.deepEqual([missing.name, missing.status, missing.errors], ['not-found', 404, []])
  assert.equal(
    (await problemOf(reader.createCategory({ body: { title: 'No' } }))).name,
    'unauthenticated',
  )
})

test('a stale If-Match is rejected with the fields that have changed', async () => {
  const { id } = await archive.make()
  const { etag } = await editor.readVideo({ id })
  await editor.patchVideo({ id, body: { title: 'First' }, ifMatch: etag })
  const problem = await problemOf(
    editor.patchVideo({ id, body: { summary: 'Second' }, ifMatch: etag }),
  )
  assert.equal(problem.name, 'stale-revision')
  assert.deepEqual((problem.document.current as { fields: string[] }).fields, ['title'])
})

test('a matching If-None-Match returns NotModified without the record', async () => {
  const { id } = await archive.make()
  const { etag } = await reader.readVideo({ id })
  const again = await reader.readVideo({ id, ifNoneMatch: etag })
  assert.deepEqual(again, {
    data: undefined,
    status: 304,
    etag,
    location: undefined,
    notModified: true,
  })
  const other = await reader.readVideo({ id, ifNoneMatch: '"another"' })
  assert.equal(other.notModified ? undefined : other.data.id, id)
})

test('the base URL may have a path', async () => {
  const calls: string[] = []
  const client = createClient({
    baseUrl: 'https://talks.example.org/archive/',
    token: 'secret',
    fetch: async (url, init) => {
      calls.push(`${init?.method} ${url} ${new Headers(init?.headers).get('authorization')}`)
      return Response.json({ count: 0, next: null, previous: null, results: [] })
    },
  })
  await client.listRevisions({ id: 7, page: 2 })
  await client.listRevisions({ id: 7 })
  await client.readCategory({ slug: 'a/b?c' })
  assert.deepEqual(calls, [
    'GET https://talks.example.org/archive/api/v2/video/7/revisions?page=2 Bearer secret',
    'GET https://talks.example.org/archive/api/v2/video/7/revisions Bearer secret',
    'GET https://talks.example.org/archive/api/v2/category/a%2Fb%3Fc Bearer secret',
  ])
})

test('rejects responses that do not come from an archive', async (t) => {
  const answers = {
    ok: { status: 200, type: 'text/html' },
    bad: { status: 502, type: 'text/html' },
    other: { status: 404, type: 'application/json' },
  }
  const server = createServer(({ url = '' }, response) => {
    const { status, type } = answers[url.split('/')[1] as keyof typeof answers]
    response.writeHead(status, { 'content-type': type }).end('{"id": 1}')
  }).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  for (const [path, { status }] of Object.entries(answers)) {
    const client = createClient({
      baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/${path}`,
    })
    await assert.rejects(
      client.readVideo({ id: 1 }),
      (error) => error instanceof UnexpectedResponse && error.status === status,
    )
  }
})

test('a call can be aborted', async () => {
  await assert.rejects(reader.readVideo({ id: 1, signal: AbortSignal.abort() }), {
    name: 'AbortError',
  })
})

test('no parameter of an endpoint has the name of another input', () => {
  const reserved = [
    'body',
    'signal',
    'timeoutMs',
    'retries',
    ...Object.keys(requestHeaders).map((name) => name.replaceAll('-', '').toLowerCase()),
  ]
  for (const { name, params = {}, query = {} } of Object.values(endpoints) as Endpoint[]) {
    const names = [...Object.keys(params), ...Object.keys(query), ...reserved].map((name) =>
      name.toLowerCase(),
    )
    assert.equal(new Set(names).size, names.length, name)
    assert.notEqual(name, 'all')
  }
})

// Never runs; the type checker is the test. An unused @ts-expect-error is an error too.
export async function types(client: Client): Promise<void> {
  const { data, etag, status } = await client.readVideo({ id: 3 })
  const video: Video = data
  const duration: number | null = data.duration
  const etagText: string = etag
  const ok: 200 = status
  const made: { status: 201; location: string } = await client.createVideo({
    body: { title: 'A', category: 'B', language: 'C' },
  })
  // A record that was read can be sent back.
  await client.replaceVideo({ id: 3, body: video, ifMatch: etagText })
  await client.readOpenapi()

  const maybe = await client.readVideo({ id: 3, ifNoneMatch: etagText })
  if (maybe.notModified) maybe satisfies NotModified
  else maybe.data satisfies Video
  // @ts-expect-error: data may be undefined
  maybe.data.title

  // @ts-expect-error: the id is missing
  await client.readVideo()
  // @ts-expect-error: the id is missing
  await client.readVideo({})
  // @ts-expect-error: an id is a number
  await client.readVideo({ id: '3' })
  // @ts-expect-error: no such parameter
  await client.readVideo({ id: 3, ids: 3 })
  // @ts-expect-error: reading takes no body
  await client.readVideo({ id: 3, body: {} })
  // @ts-expect-error: reading has no If-Match
  await client.readVideo({ id: 3, ifMatch: etagText })
  // @ts-expect-error: the body is missing
  await client.patchVideo({ id: 3 })
  // @ts-expect-error: a title is a string
  await client.patchVideo({ id: 3, body: { title: 3 } })
  // @ts-expect-error: no such field
  await client.patchVideo({ id: 3, body: { titel: 'A' } })
  // @ts-expect-error: a state is 1 or 2
  await client.patchVideo({ id: 3, body: { state: 3 } })
  // @ts-expect-error: category and language are missing
  await client.createVideo({ body: { title: 'A' } })
  // @ts-expect-error: no such endpoint
  await client.deleteVideo({ id: 3 })
  // @ts-expect-error: a takedown has no ETag
  const none: string = (await client.takeDownVideo({ id: 3, body: { reason: 'A' } })).etag

  const problem = new ApiProblem({
    type: '/forbidden',
    title: '',
    status: 403,
    detail: '',
    instance: '',
  })
  if (problem.name === 'forbidden') return
  // @ts-expect-error: no such problem
  if (problem.name === 'forbiden') return
  void [duration, ok, made, none]
}
