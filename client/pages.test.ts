import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import {
  type Endpoint,
  endpoints,
  type FeedEntry,
  type SparseVideo,
  type Video,
} from '@talkshelf/contract'
import { prepareCall } from '../tests/support/endpoint-calls.ts'
import { feedIsComplete } from '../tests/support/feed-replay.ts'
import { startArchive } from '../tests/support/harness.ts'
import { type Client, createClient } from './client.ts'

const archive = await startArchive()

async function collect<T>(entries: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = []
  for await (const entry of entries) collected.push(entry)
  return collected
}

/** Returns a client and the paths that it requests. */
function recordingClient(token = archive.admin) {
  const paths: string[] = []
  const client = createClient({
    baseUrl: archive.url,
    token,
    fetch: (url, init) => {
      paths.push(String(url).slice(archive.url.length))
      return fetch(url, init)
    },
  })
  return { client, paths }
}

// The type checker compares these names with the types of the client.
const listNames: { readonly [Name in keyof Client['all']]: true } = {
  listVideos: true,
  listRevisions: true,
  listCategories: true,
  listSpeakers: true,
  listTags: true,
  listLanguages: true,
  listImports: true,
  listImportedTalks: true,
  listSuggestions: true,
  listChanges: true,
  listWebhookDeliveries: true,
  listSources: true,
  listReplacements: true,
  listRules: true,
  listFindings: true,
  listPeople: true,
  listAuditEvents: true,
}

test('all has a function for every list with pages', async () => {
  const { client } = recordingClient()
  assert.deepEqual(Object.keys(client.all).sort(), Object.keys(listNames).sort())
  const lists = client.all as unknown as Record<string, (input: object) => AsyncIterable<unknown>>
  const single = client as unknown as Record<
    string,
    (input: object) => Promise<{ data: { results: unknown[] } }>
  >
  for (const endpoint of Object.values<Endpoint>(endpoints)) {
    if (!(endpoint.name in listNames)) continue
    const { params } = await prepareCall(archive, endpoint)
    // Otherwise, changes of earlier calls can be appended to the feed between both requests.
    await feedIsComplete(archive)
    const entries = await collect(lists[endpoint.name]?.(params) ?? assert.fail(endpoint.name))
    const page = await single[endpoint.name]?.({
      ...params,
      ...(endpoint.query?.page_size && { page_size: 100 }),
      ...(endpoint.query?.cursor && { cursor: '' }),
    })
    assert.deepEqual(entries, page?.data.results, endpoint.name)
  }
})

test('yields each record once while others are added and removed', async () => {
  const { client, paths } = recordingClient()
  const made: number[] = []
  for (let count = 0; count < 5; count++)
    made.push((await archive.make({ tags: ['paged'], recorded: `2020-01-0${count + 1}` })).id)
  const found: number[] = []
  for await (const { id } of client.all.listVideos({ tag: 'paged', page_size: 2 })) {
    found.push(id)
    if (found.length !== 2) continue
    // One before the position, which shifts the pages after it; the last one disappears.
    await archive.make({ tags: ['paged'], recorded: '2021-01-01' })
    await client.patchVideo({ id: made[0] ?? 0, body: { state: 2 } })
  }
  assert.deepEqual(found, made.slice(1).reverse())
  const lists = paths.filter((path) => path.startsWith('/api/v2/video?'))
  assert.equal(lists.length, 2)
  for (const path of lists) assert.match(path, /[?&]page_size=2&.*tag=paged/)
})

test('requests a page only when those before it were consumed', async () => {
  for (let count = 0; count < 4; count++) await archive.make({ tags: ['lazy'] })
  const { client, paths } = recordingClient()
  const records = client.all.listVideos({ tag: 'lazy', page_size: 2 })
  assert.equal(paths.length, 0)
  await records.next()
  await records.next()
  assert.equal(paths.length, 1)
  await records.next()
  assert.equal(paths.length, 2)
  await records.return()
  assert.equal(paths.length, 2)
})

test('pages by number and in searches', async () => {
  for (let count = 0; count < 3; count++) await archive.make({ title: `Pelican ${count}` })
  const { client, paths } = recordingClient()
  const titles = async (input: Parameters<typeof client.all.listVideos>[0]) =>
    (await collect(client.all.listVideos(input))).map(({ title }) => title).sort()
  const all = ['Pelican 0', 'Pelican 1', 'Pelican 2']
  assert.deepEqual(await titles({ q: 'pelican', page_size: 1 }), all)
  assert.deepEqual(await titles({ q: 'pelican', page_size: 1, page: 1 }), all)
  assert.equal((await titles({ q: 'pelican', page_size: 1, page: 2 })).length, 2)
  assert.equal(paths.filter((path) => path.includes('page=')).length, 3 + 2)
})

test('follows the cursor of the change feed to its end', async () => {
  const { client } = recordingClient()
  await feedIsComplete(archive)
  const entries = await collect(client.all.listChanges({ limit: 3, kind: 'video' }))
  const { data } = await client.listChanges({ limit: 1000, kind: 'video' })
  assert.ok(entries.length > 3)
  assert.deepEqual(entries, data.results)
})

async function serve(t: TestContext, answer: (url: string) => object) {
  const requests: IncomingMessage[] = []
  const server = createServer((request, response) => {
    requests.push(request)
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(answer(request.url ?? '')))
  }).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests }
}

test('sends no request to another origin', async (t) => {
  const other = await serve(t, () => ({ results: [], next: null }))
  const { url, requests } = await serve(t, (path) => ({
    results: [{ id: 1 }],
    next: path.includes('page=2') ? null : `${other.url}/elsewhere?page=2&token=x`,
  }))
  const client = createClient({ baseUrl: `${url}/base`, token: 'secret' })
  const entries = await collect(client.all.listRevisions({ id: 7 }))
  assert.equal(entries.length, 2)
  assert.deepEqual(
    requests.map((request) => request.url),
    ['/base/api/v2/video/7/revisions', '/base/api/v2/video/7/revisions?page=2'],
  )
  assert.equal(other.requests.length, 0)
})

test('rejects a list that does not end', async (t) => {
  const { url, requests } = await serve(t, () => ({ results: [], next: '/api/v2/tag?page=2' }))
  await assert.rejects(collect(createClient({ baseUrl: url }).all.listTags()), /earlier page/)
  assert.equal(requests.length, 2)
})

// Never runs; the type checker is the test.
export async function types({ all }: Client): Promise<void> {
  for await (const video of all.listVideos({ language: 'German' })) video satisfies Video
  for await (const video of all.listVideos({ fields: 'id,title' })) {
    video satisfies SparseVideo
    // @ts-expect-error: the record has only the fields that were named
    video satisfies Video
  }
  for await (const entry of all.listChanges()) entry satisfies FeedEntry
  for await (const { revision } of all.listRevisions({ id: 3 })) revision satisfies number
  // @ts-expect-error: the id is missing
  all.listRevisions()
  // @ts-expect-error: no such parameter
  all.listVideos({ colour: 'red' })
  // @ts-expect-error: pages have no condition
  all.listVideos({ ifNoneMatch: '"a"' })
  // @ts-expect-error: a single record has no pages
  all.readVideo({ id: 3 })
  // @ts-expect-error: this list has one page
  all.listWebhooks()
}
