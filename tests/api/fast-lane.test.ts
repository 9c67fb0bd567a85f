import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { type Reply, startArchive } from '../support/harness.ts'

// Anonymous reads of a record take a fast lane. Its responses must be those of the full stack,
// which a trailing slash selects.

const archive = await startArchive()
const { id } = await archive.make({ summary: 'Lanes' })
const draft = await archive.make({ state: 2 })
const gone = await archive.make()
await archive.call('POST', `/api/v2/video/${gone.id}/takedown`, {
  token: archive.admin,
  body: { reason: 'asked for' },
})
// Last-Modified is sent only after the second of the change is over.
await setTimeout(1100)
const first = await archive.call('GET', `/api/v2/video/${id}`)
const etag = String(first.headers.etag)

const cases: [string, number, number, Record<string, string>][] = [
  ['a record', id, 200, {}],
  ['for a browser', id, 200, { accept: 'text/html,application/xhtml+xml;q=0.9,*/*;q=0.8' }],
  ['as JSON', id, 200, { accept: 'application/json' }],
  ['in an unsupported format', id, 406, { accept: 'image/png' }],
  ['unchanged', id, 304, { 'if-none-match': etag }],
  ['unchanged, weakly', id, 304, { 'if-none-match': `"x", W/${etag}` }],
  [
    'unchanged as JSON',
    id,
    304,
    { 'if-none-match': etag.replace(/"$/, '.json"'), accept: 'application/json' },
  ],
  ['any version', id, 304, { 'if-none-match': '*' }],
  ['another version', id, 200, { 'if-none-match': '"1.9.xxxxxxxx"' }],
  ['not modified since', id, 304, { 'if-modified-since': 'Fri, 01 Jan 2100 00:00:00 GMT' }],
  ['modified since', id, 200, { 'if-modified-since': 'Thu, 01 Jan 1970 00:00:00 GMT' }],
  ['from another origin', id, 200, { origin: 'https://elsewhere.example' }],
  ['a draft', draft.id, 404, {}],
  ['a missing record', 999_999, 404, {}],
  ['a taken-down record', gone.id, 410, {}],
]

for (const [name, number, status, headers] of cases)
  test(`answers the same in the fast lane and the full stack: ${name}`, async () => {
    const fast = await archive.call('GET', `/api/v2/video/${number}`, { headers })
    const full = await archive.call('GET', `/api/v2/video/${number}/`, { headers })
    assert.equal(fast.status, status)
    assert.deepEqual(comparable(fast), comparable(full))
    assert.match(String(fast.headers['x-request-id']), /^[0-9a-f-]{36}$/)
    // Only the fast lane sends X-Request-Id first. Without this check the test might compare the
    // full stack with itself.
    if (status < 400) assert.deepEqual([isFastLane(fast), isFastLane(full)], [true, false])
  })

test('does not look up a missing record a second time', async () => {
  const countLookups = async () => {
    const { text } = await archive.call('GET', '/metrics')
    return Number(/talkshelf_record_reads_total\{from="database"\} (\d+)/.exec(text)?.[1] ?? 0)
  }
  const before = await countLookups()
  assert.equal((await archive.call('GET', '/api/v2/video/999998')).status, 404)
  assert.equal((await countLookups()) - before, 1)
})

test('uses the full stack for a token, a query string or an unusual id', async () => {
  assert.ok(
    !isFastLane(await archive.call('GET', `/api/v2/video/${id}`, { token: archive.editor })),
  )
  assert.equal((await archive.call('GET', `/api/v2/video/0${id}`)).status, 404)
  assert.equal(
    (await archive.call('GET', `/api/v2/video/${id}?format=json`)).headers['content-type'],
    'application/json',
  )
  assert.equal((await archive.call('HEAD', `/api/v2/video/${id}`)).text, '')
})

function comparable({ status, headers, text }: Reply) {
  const { 'x-request-id': id, date: _, ...others } = headers
  return {
    status,
    headers: others,
    text: text.replaceAll(String(id), 'ID').replaceAll(/(video\/\d+)\//g, '$1'),
  }
}

const isFastLane = ({ headers }: Reply) => Object.keys(headers)[0] === 'x-request-id'
