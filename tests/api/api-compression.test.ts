import assert from 'node:assert/strict'
import { test } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { type Reply, startArchive } from '../support/harness.ts'

// Lists, search and documents of the API are compressed; records and what is below them are not.

const archive = await startArchive()
const talk = await archive.make({ title: 'Shelves', tags: ['wood'] })
for (let number = 1; number < 20; number++)
  await archive.make({ title: `Shelves, part ${number}`, tags: ['wood'] })

const unpack = { br: brotliDecompressSync, gzip: gunzipSync }
const bytesOf = (reply: Reply) => Buffer.from(reply.text, 'latin1')
const get = (path: string, headers: Record<string, string> = {}) =>
  archive.call('GET', path, { headers })

const compressed = [
  '/api/v2/video',
  '/api/v2/video?q=shelves&include=facets,snippets',
  '/api/v2/video?format=json',
  '/api/v2/openapi.json',
  '/api',
  '/api/problems/not-found',
]
for (const path of compressed)
  test(`compresses ${path} with an encoding that the client accepts`, async () => {
    const plain = await get(path)
    assert.equal(plain.status, 200)
    assert.equal(plain.headers['content-encoding'], undefined)
    assert.match(String(plain.headers.vary), /Accept-Encoding/)
    for (const [header, coding] of [
      ['gzip, deflate, br', 'br'],
      ['gzip', 'gzip'],
    ] as const) {
      const packed = await get(path, { 'accept-encoding': header })
      assert.equal(packed.headers['content-encoding'], coding)
      assert.equal(packed.headers.vary, plain.headers.vary)
      assert.deepEqual(unpack[coding](bytesOf(packed)), bytesOf(plain))
      assert.ok(packed.text.length < plain.text.length / 2)
      assert.equal(packed.headers['content-length'], String(packed.text.length))
      const head = await archive.call('HEAD', path, { headers: { 'accept-encoding': header } })
      assert.equal(head.headers['content-encoding'], coding)
      // Both have one version, and a strong ETag stands for the bytes of one of them only.
      if (plain.headers.etag) assert.equal(packed.headers.etag, `W/${plain.headers.etag}`)
    }
  })

test('a list is revalidated in every encoding', async () => {
  const packed = await get('/api/v2/video', { 'accept-encoding': 'br' })
  for (const encoding of ['br', 'gzip', 'identity']) {
    const { status, headers, text } = await get('/api/v2/video', {
      'accept-encoding': encoding,
      'if-none-match': String(packed.headers.etag),
    })
    assert.equal(status, 304, encoding)
    assert.equal(text, '')
    assert.equal(headers['content-encoding'], undefined)
    assert.equal(headers.vary, packed.headers.vary)
    assert.equal(String(headers.etag).startsWith('W/'), encoding !== 'identity')
  }
})

test('a record and what is below it has the same bytes and headers for every encoding', async () => {
  const volatile = ['x-request-id', 'date', 'ratelimit']
  for (const path of ['', '/facts', '/related'].map((end) => `/api/v2/video/${talk.id}${end}`))
    for (const query of ['', '?format=json']) {
      const plain = await get(path + query)
      const accepting = await get(path + query, { 'accept-encoding': 'gzip, br' })
      for (const { headers } of [plain, accepting])
        for (const name of volatile) delete headers[name]
      assert.deepEqual(accepting, plain)
      assert.equal(plain.headers.vary, 'Accept')
      if (plain.headers.etag) assert.match(plain.headers.etag, /^"/)
    }
})

test('an entity keeps the strong ETag that If-Match takes', async () => {
  const description = 'x'.repeat(2000)
  const category = '/api/v2/category/example-days-2026'
  await archive.call('PATCH', category, { token: archive.editor, body: { description } })
  const { headers: read } = await get(category, { 'accept-encoding': 'br' })
  assert.equal(read['content-encoding'], undefined)
  const { status } = await archive.call('PATCH', category, {
    token: archive.editor,
    body: { description: '' },
    headers: { 'if-match': String(read.etag) },
  })
  assert.equal(status, 200)
})
