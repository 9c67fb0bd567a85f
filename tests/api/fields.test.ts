import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type SparseVideo,
  SparseVideo as SparseVideoSchema,
  type Video,
  validationErrors,
  videoFields,
} from '@talkshelf/contract'
import fc from 'fast-check'
import { startArchive } from '../support/harness.ts'

// The query parameter `fields`: lists and searches whose records have only some of their fields.

const archive = await startArchive()
const { call, editor: token } = archive
await call('POST', '/api/v2/category', { token, body: { title: 'Field Days' } })
for (let number = 1; number <= 7; number++) {
  const body = {
    title: `Fields <${number}> é`,
    category: 'Field Days',
    language: 'en',
    speakers: number % 2 === 0 ? ['Ada Example', 'Zoë'] : [],
    summary: number === 3 ? '' : 'A & B \\ "C" 🤖',
    recorded: number === 4 ? null : `2026-05-0${number}`,
    duration: number * 60,
    state: 1,
  }
  assert.equal((await call('POST', '/api/v2/video', { token, body })).status, 201)
}

const read = (query: string, headers: Record<string, string> = {}) =>
  call('GET', `/api/v2/video?${query}`, { headers })

/** Returns a record with some of its fields, in its own order. */
const pick = (record: Video, names: readonly string[]) =>
  Object.fromEntries(Object.entries(record).filter(([name]) => names.includes(name)))

/** A URL without the parameter `fields`. */
function withoutFields(text: string | null): string | null {
  if (text === null) return null
  const url = new URL(text)
  url.searchParams.delete('fields')
  return url.href
}

const queries = [
  'page_size=100',
  'page_size=2&page=2',
  'cursor=&page_size=3&ordering=title',
  'category=field-days&ordering=-updated',
  'speaker=zoe',
  'category=nowhere',
  'q=fields&include=facets,snippets',
  'q=fields&ordering=added&format=json',
]

test('a list with fields is the list with these fields of each record', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...queries),
      fc.array(fc.constantFrom(...videoFields), { minLength: 1, maxLength: videoFields.length }),
      async (query, names) => {
        const [full, sparse] = [await read(query), await read(`${query}&fields=${names.join(',')}`)]
        assert.deepEqual([full.status, sparse.status], [200, 200], sparse.text)
        const { results, next, previous, ...others } = full.json
        assert.deepEqual(
          { ...sparse.json, next: null, previous: null },
          {
            ...others,
            results: results.map((record: Video) => pick(record, names)),
            next: null,
            previous: null,
          },
        )
        // Also the order of the fields and the escapes.
        const texts = results.map((record: Video) => JSON.stringify(pick(record, names)))
        assert.equal(JSON.stringify(sparse.json.results), `[${texts.join(',')}]`)
        assert.match(sparse.text, /^[\x20-\x7e]*$/)
        assert.doesNotMatch(sparse.text, /[<>&]/)
        for (const [name, link] of Object.entries({ next, previous }))
          assert.equal(withoutFields(sparse.json[name]), link)
        for (const record of sparse.json.results as SparseVideo[])
          assert.deepEqual(validationErrors(SparseVideoSchema, record), [])
      },
    ),
    { numRuns: Number(process.env.FIELD_CASES ?? 60), endOnFailure: true },
  )
})

test('links to other pages keep the fields', async () => {
  let url: string | null = `${archive.url}/api/v2/video?fields=title,id&page_size=3&cursor=`
  const ids: number[] = []
  while (url !== null) {
    const { json } = await call('GET', url.slice(archive.url.length))
    for (const record of json.results) {
      assert.deepEqual(Object.keys(record), ['id', 'title'])
      ids.push(record.id)
    }
    url = json.next
  }
  assert.equal(new Set(ids).size, 7)
})

test('the ETag is that of what is shown', async () => {
  const { headers } = await read('fields=id,title')
  const etag = headers.etag ?? assert.fail('no ETag')
  assert.notEqual((await read('')).headers.etag, etag)
  assert.notEqual((await read('fields=id')).headers.etag, etag)
  const isUnchanged = async () => {
    const { status } = await call('GET', '/api/v2/video?fields=id,title', {
      token,
      headers: { 'if-none-match': etag },
    })
    return status === 304
  }
  assert.ok(await isUnchanged())
  const change = (body: object) => call('PATCH', '/api/v2/video/1', { token, body })
  await change({ summary: 'Another one' })
  assert.ok(await isUnchanged(), 'a field that is not shown')
  await change({ title: 'Fields, renamed' })
  assert.ok(!(await isUnchanged()), 'a field that is shown')
})

test('unknown fields are refused with the names of all fields', async () => {
  for (const fields of [
    '',
    'name',
    'id,',
    ',id',
    'id,,title',
    'id,name',
    'ID',
    'id title',
    'id;x',
  ]) {
    const { status, json } = await read(`fields=${encodeURIComponent(fields)}`)
    assert.equal(status, 400, fields)
    assert.equal(json.errors.length, 1)
    assert.equal(json.errors[0].pointer, '/fields')
    for (const name of videoFields) assert.ok(json.errors[0].detail.includes(name), name)
  }
})

test('a single record is always complete', async () => {
  const [plain, withFields] = await Promise.all(
    ['', '?fields=id'].map((query) => call('GET', `/api/v2/video/2${query}`)),
  )
  assert.equal(withFields?.text, plain?.text)
  assert.equal(withFields?.headers.etag, plain?.headers.etag)
})
