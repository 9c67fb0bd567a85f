import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { type Reply, startArchive } from '../support/harness.ts'

// A reader without a token is answered by a shorter way than everybody else. Whoever asks must not
// be able to tell: here the same is asked both ways (a slash at the end is unusual, and goes the
// long way).

const archive = await startArchive()
const { id } = await archive.make({ summary: 'Lanes' })
const draft = await archive.make({ state: 2 })
const gone = await archive.make()
await archive.call('POST', `/api/v2/video/${gone.id}/takedown`, {
  token: archive.admin,
  body: { reason: 'asked for' },
})
await setTimeout(1100) // A record has a date when the second is over in which it was changed.
const first = await archive.call('GET', `/api/v2/video/${id}`)
const etag = String(first.headers.etag)

const asked: [string, number, number, Record<string, string>][] = [
  ['a record', id, 200, {}],
  ['for a browser', id, 200, { accept: 'text/html,application/xhtml+xml;q=0.9,*/*;q=0.8' }],
  ['as JSON', id, 200, { accept: 'application/json' }],
  ['in no form that there is', id, 406, { accept: 'image/png' }],
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
  ['what is not there', 999_999, 404, {}],
  ['what was taken down', gone.id, 410, {}],
]

for (const [name, number, status, headers] of asked)
  test(`both ways give the same: ${name}`, async () => {
    const short = await archive.call('GET', `/api/v2/video/${number}`, { headers })
    const long = await archive.call('GET', `/api/v2/video/${number}/`, { headers })
    assert.equal(short.status, status)
    assert.deepEqual(comparable(short), comparable(long))
    assert.match(String(short.headers['x-request-id']), /^[0-9a-f-]{36}$/)
    // Only the short way names the request first: were it not taken, this would compare the long
    // way with itself.
    if (status < 400) assert.deepEqual([isShort(short), isShort(long)], [true, false])
  })

test('what the short way found missing is not looked up again', async () => {
  const lookups = async () => {
    const { text } = await archive.call('GET', '/metrics')
    return Number(/talkshelf_record_reads_total\{from="database"\} (\d+)/.exec(text)?.[1] ?? 0)
  }
  const before = await lookups()
  assert.equal((await archive.call('GET', '/api/v2/video/999998')).status, 404)
  assert.equal((await lookups()) - before, 1)
})

test('whoever has a token, two hosts or another spelling of the number goes the long way', async () => {
  assert.ok(!isShort(await archive.call('GET', `/api/v2/video/${id}`, { token: archive.editor })))
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

const isShort = ({ headers }: Reply) => Object.keys(headers)[0] === 'x-request-id'
