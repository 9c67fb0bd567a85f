import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { ProblemDocument, validatorFor } from '@talkshelf/contract'
import pg from 'pg'
import { call, category, type Reply, spawnServer, startArchive } from '../support/harness.ts'

// Inputs for which frameworks, drivers and databases have a behaviour of their own, and what the
// service does instead.

const archive = await startArchive()
const record = await archive.make({ title: 'Edges', recorded: '2026-03-29' })
const path = `/api/v2/video/${record.id}`
const { port } = new URL(archive.url)

// Started first and awaited last, because they take as long as the timeouts.
const slow = {
  headers: trickle('GET / HTTP/1.1\r\nHost: x\r\nX-Slow: '),
  body: trickle(`PATCH ${path} HTTP/1.1\r\n${headersOf({ 'content-length': '1000' })}\r\n{`),
}

const otherIds = {
  'only a zero': '0',
  'leading zeros': `00${record.id}`,
  'a plus sign': `+${record.id}`,
  'a minus sign': `-${record.id}`,
  'a fraction': `${record.id}.0`,
  'an exponent': `${record.id}e0`,
  'a full-width digit, encoded': '%EF%BC%91',
  'a semicolon': `${record.id};x`,
  'a NUL': `${record.id}%00`,
  'an encoded digit': `%3${record.id}`,
  'a leading encoded space': `%20${record.id}`,
  'a trailing encoded space': `${record.id}%20`,
  'a trailing encoded slash': `${record.id}%2F`,
  'an invalid percent-encoding': '%zz',
  'invalid UTF-8': '%ff',
  'two trailing dots': `${record.id}/..`,
  'two trailing slashes': `${record.id}//`,
  'two leading slashes': `/${record.id}`,
  'more than 2^53': '9007199254740992',
  'more than 2^63': '9223372036854775808',
  '101 digits': '1'.repeat(101),
  '8000 digits': '1'.repeat(8000),
  letters: 'latest',
  'an unassigned number': String(record.id + 1_000_000),
}
for (const [label, id] of Object.entries(otherIds))
  test(`returns 404 for an id with ${label}`, async () => {
    const reply = await exchange(`GET /api/v2/video/${id} HTTP/1.1\r\n${headersOf()}\r\n`)
    assert.equal(reply.status, 404)
    assertProblem(reply)
  })

test('rejects an id with a fragment', async () => {
  const reply = await exchange(`GET ${path}#x HTTP/1.1\r\n${headersOf()}\r\n`)
  assert.ok(reply.status === 404 || reply.status === 400)
})

test('matches paths case-sensitively and ignores one trailing slash', async () => {
  assert.equal((await archive.call('GET', path.toUpperCase())).status, 404)
  assert.equal((await archive.call('GET', path.replace('/v2/', '/v2//'))).status, 404)
  assert.equal((await archive.call('GET', `${path}/`)).text, (await archive.call('GET', path)).text)
})

const deep = (levels: number) => `{"id":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`
const mebibyte = 1 << 20
const unknownFields = JSON.stringify({
  state: 7,
  ...Object.fromEntries(Array.from({ length: 12_000 }, (_, index) => [`field${index}`, 0])),
})

const badBodies: Record<string, string | Buffer> = {
  'a duplicate key': '{"title":"a","title":"b"}',
  'a duplicate key, once escaped': '{"title":"a","\\u0074itle":"b"}',
  'a nested duplicate key': '{"id":{"a":1,"a":2}}',
  'a key named __proto__': '{"__proto__":{"state":1}}',
  'a key named __proto__, escaped': '{"\\u005f_proto__":1}',
  'a nested key named __proto__': '{"id":{"__proto__":1}}',
  'a constructor with a prototype': '{"constructor":{"prototype":{"x":1}}}',
  'a byte order mark': '\ufeff{}',
  'a lone high surrogate': '{"title":"a\\ud800"}',
  'a lone low surrogate': '{"title":"\\udc00b"}',
  'a lone surrogate in a key': '{"\\ud800":1}',
  'a NUL': '{"title":"a\\u0000b"}',
  'a NUL in a key': '{"a\\u0000":1}',
  'a NUL in a name': '{"tags":["a\\u0000b"]}',
  'a bare NUL': '{"title":"a\u0000b"}',
  'a bell': '{"summary":"\\u0007"}',
  'an overlong encoding': Buffer.from('7b227469746c65223a22c0af227d', 'hex'),
  'an encoded surrogate': Buffer.from('7b227469746c65223a22eda080227d', 'hex'),
  'a truncated character': Buffer.from('7b227469746c65223a22e282227d', 'hex'),
  'Latin-1': Buffer.from('{"title":"é"}', 'latin1'),
  'UTF-16': Buffer.from('{"title":"a"}', 'utf16le'),
  'nine levels': deep(9),
  'half a million levels': deep(500_000),
  'a number that would be rounded': '{"video_mp4_length":9007199254740993}',
  'a number beyond 2^53': '{"video_mp4_length":9007199254740992}',
  'a number that overflows': '{"duration":1e400}',
  'minus zero': '{"duration":-0}',
  'a whole number written as a fraction': '{"duration":1.0}',
  'a whole number written with an exponent': '{"duration":1e2}',
  'a fraction': '{"duration":0.1}',
  'a number with too many digits in an ignored field': '{"id":0.10000000000000000001}',
  'a list': '[]',
  null: 'null',
  'a string': '"title"',
  'a number': '1',
  'no content': '',
  'only white space': ' \n ',
  'two values': '{}{}',
  'trailing characters': '{} x',
  'a trailing comma': '{"title":"a",}',
  'a comment': '{/* */}',
  'single quotes': "{'title':'a'}",
  'a line break in a string': '{"title":"a\nb"}',
  NaN: '{"duration":NaN}',
  'a title of white space': '{"title":" \\n\\u00a0"}',
  'a lone surrogate in an ignored field': '{"slug":"a\\ud800"}',
  'a NUL in an ignored field': '{"id":"a\\u0000"}',
  '12,000 unknown fields': unknownFields,
}
for (const [label, raw] of Object.entries(badBodies))
  test(`rejects a body with ${label} and changes nothing`, async () => {
    await assertRefused(400, raw)
  })

test('accepts a body of 1 MiB and rejects one byte more', async () => {
  const padded = (size: number) => `{"title":"Edges"${' '.repeat(size - 17)}}`
  assert.equal((await patch(padded(mebibyte))).status, 200)
  await assertRefused(413, padded(mebibyte + 1))
})

test('cuts off a chunked body at 1 MiB', async () => {
  const chunk = `10000\r\n${' '.repeat(0x10000)}\r\n`
  const headers = headersOf({ 'transfer-encoding': 'chunked' })
  const reply = await exchange(`PATCH ${path} HTTP/1.1\r\n${headers}\r\n${chunk.repeat(17)}`)
  assert.equal(reply.status, 413)
  assertProblem(reply)
})

test('accepts eight levels of nesting', async () => {
  assert.equal((await patch(deep(8))).status, 200)
})

const types: [string, Record<string, string>, number][] = [
  ['application/json', { 'content-type': 'application/json' }, 200],
  ['a merge patch', { 'content-type': 'application/merge-patch+json' }, 200],
  ['a type in capitals', { 'content-type': 'Application/JSON' }, 200],
  ['charset=utf-8', { 'content-type': 'application/json; charset=utf-8' }, 200],
  ['charset=UTF-8 without a space', { 'content-type': 'application/json;charset=UTF-8' }, 200],
  ['a quoted charset', { 'content-type': 'application/json; charset="utf-8"' }, 200],
  ['charset=latin1', { 'content-type': 'application/json; charset=latin1' }, 415],
  ['charset=utf-16', { 'content-type': 'application/json; charset=utf-16' }, 415],
  ['text/plain', { 'content-type': 'text/plain' }, 415],
  ['a form', { 'content-type': 'application/x-www-form-urlencoded' }, 415],
  ['a multipart form', { 'content-type': 'multipart/form-data; boundary=x' }, 415],
  ['a JSON Patch', { 'content-type': 'application/json-patch+json' }, 415],
  ['a type with the same prefix', { 'content-type': 'application/jsonx' }, 415],
  ['an empty type', { 'content-type': '' }, 415],
  [
    'the identity encoding',
    { 'content-type': 'application/json', 'content-encoding': 'identity' },
    415,
  ],
  [
    'the deflate encoding',
    { 'content-type': 'application/json', 'content-encoding': 'deflate' },
    415,
  ],
]
for (const [label, headers, status] of types)
  test(`${status === 200 ? 'accepts' : 'rejects'} a body with ${label}`, async () => {
    assert.equal((await patch('{}', headers)).status, status)
  })

test('rejects a body without a content type', async () => {
  const reply = await exchange(
    `PATCH ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Token ${archive.editor}\r\n` +
      'Content-Length: 2\r\n\r\n{}',
  )
  assert.equal(reply.status, 415)
})

test('rejects a merge patch as the body of a PUT', async () => {
  const headers = { 'content-type': 'application/merge-patch+json' }
  assert.equal(
    (await archive.call('PUT', path, { body: record, token: archive.editor, headers })).status,
    415,
  )
})

test('rejects a compressed body without decompressing it', async () => {
  const reply = await patch(gzipSync('{"title":"Unpacked"}'), { 'content-encoding': 'gzip' })
  assert.equal(reply.status, 415)
  assert.equal(reply.headers['accept-encoding'], 'identity')
  await assertUnchanged()
})

const notDates = [
  '2026-02-30',
  '2023-02-29',
  '1900-02-29',
  '0000-01-01',
  '2026-13-01',
  '2026-00-01',
  '2026-01-00',
  '2026-1-1',
  '20260101',
  '26-01-01',
]
const postgresDates = [
  'today',
  'infinity',
  '-infinity',
  'now',
  'epoch',
  'January 8, 1999',
  '1999-Jan-08',
  '99-W01',
  '2026.001',
  'J2451187',
  '0044-03-15 BC',
]
const withTimes = [
  '2026-01-01T00:00:00',
  '2026-01-01Z',
  '2026-01-01+02:00',
  '2026-01-01 23:59:60',
  '2026-01-01 24:00:00',
  ' 2026-01-01',
  '',
]
for (const recorded of [...notDates, ...postgresDates, ...withTimes])
  test(`rejects ${recorded || 'an empty string'} as a recording date`, async () => {
    const reply = await assertRefused(400, JSON.stringify({ recorded }))
    assert.deepEqual(
      reply.json.errors.map(({ pointer }: { pointer: string }) => pointer),
      ['/recorded'],
    )
  })

for (const recorded of [
  '2024-02-29',
  '2000-02-29',
  '0001-01-01',
  '9999-12-31',
  '2026-03-29',
  '2026-09-27',
])
  test(`keeps the date ${recorded} in every time zone`, async () => {
    const { id } = await archive.make({ recorded })
    assert.equal((await archive.call('GET', `/api/v2/video/${id}`)).json.recorded, recorded)
    assert.equal(
      (await archive.call('GET', `/api/v2/video/${id}/revisions/1`, { token: archive.editor })).json
        .record.recorded,
      recorded,
    )
    const body = { title: `Days of ${recorded}`, start_date: recorded, end_date: recorded }
    const made = await archive.call('POST', '/api/v2/category', { body, token: archive.editor })
    const read = await archive.call('GET', `/api/v2/category/${made.json.slug}`)
    assert.deepEqual(
      [made.json.start_date, read.json.start_date, read.json.end_date],
      [recorded, recorded, recorded],
    )
  })

test('returns times in UTC although server and database use other time zones', async () => {
  const client = new pg.Client({ connectionString: archive.databaseUrl })
  await client.connect()
  const { rows } = await client.query("select current_setting('timezone') as zone")
  await client.end()
  assert.equal(rows[0].zone, 'Pacific/Chatham')
  assert.equal(new Date(2026, 0, 1).getTimezoneOffset(), 300, 'run with TZ=America/New_York')

  const { id, added, updated } = await archive.make()
  assert.equal(added, updated)
  assert.match(added, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}$/)
  assert.ok(Math.abs(Date.parse(`${added}Z`) - Date.now()) < 60_000, added)
  const changed = await archive.call('PATCH', `/api/v2/video/${id}`, {
    body: { summary: 'Changed' },
    token: archive.editor,
  })
  const revision = await archive.call('GET', `/api/v2/video/${id}/revisions/2`, {
    token: archive.editor,
  })
  assert.equal(revision.json.at, changed.json.updated)
  assert.equal(revision.json.record.added, added)
  // Last-Modified is sent only after its second is over.
  let modified: string | undefined
  while (modified === undefined)
    modified = (await archive.call('GET', `/api/v2/video/${id}`)).headers['last-modified']
  assert.equal(
    Date.parse(modified),
    Math.floor(Date.parse(`${changed.json.updated}Z`) / 1000) * 1000,
  )
})

test('ignores timestamps in a request, with or without a time zone', async () => {
  for (const moment of [
    '2001-01-01T00:00:00.000',
    '2001-01-01T00:00:00Z',
    '2001-01-01T00:00:00+02:00',
    'now',
    null,
    5,
  ])
    assert.equal((await patch(JSON.stringify({ added: moment, updated: moment }))).status, 200)
  await assertUnchanged()
})

test('keeps update times increasing when the clock is set back', async (t) => {
  const setClock = (moment: string) => {
    t.mock.timers.reset()
    t.mock.timers.enable({ apis: ['Date'], now: Date.parse(moment) })
  }
  setClock('2027-12-31T23:59:59.999Z')
  const { id } = await archive.make()
  const updateTimes: string[] = []
  const change = async (summary: string) => {
    const reply = await archive.call('PATCH', `/api/v2/video/${id}`, {
      body: { summary },
      token: archive.editor,
    })
    updateTimes.push(reply.json.updated)
    return reply
  }
  await change('the same millisecond')
  setClock('2027-12-31T20:59:59.999Z')
  await change('three hours back')
  await change('still back')
  const read = await archive.call('GET', `/api/v2/video/${id}`)
  assert.equal(read.headers['last-modified'], undefined, 'Last-Modified must not be in the future')
  setClock('2028-01-01T02:00:00.000Z')
  await change('two hours on')
  assert.deepEqual(updateTimes, [
    '2028-01-01T00:00:00.000',
    '2028-01-01T00:00:00.001',
    '2028-01-01T00:00:00.002',
    '2028-01-01T02:00:00.000',
  ])
  const { json } = await archive.call('GET', `/api/v2/video/${id}/revisions`, {
    token: archive.editor,
  })
  assert.deepEqual(json.results.map(({ at }: { at: string }) => at).reverse(), [
    '2027-12-31T23:59:59.999',
    ...updateTimes,
  ])
})

const get = `GET ${path} HTTP/1.1\r\n`
const post = 'POST /api/v2/video HTTP/1.1\r\nHost: x\r\n'
const badRequests: Record<string, [request: string, status: number]> = {
  'a content length and chunks': [
    `${post}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    400,
  ],
  'two lengths': [`${post}Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcd`, 400],
  'a length that is no number': [`${post}Content-Length: 4x\r\n\r\nabcd`, 400],
  'a negative length': [`${post}Content-Length: -4\r\n\r\nabcd`, 400],
  'two transfer encodings': [`${post}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`, 400],
  'an unknown transfer encoding': [`${post}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`, 400],
  'bare line feeds': [`GET ${path} HTTP/1.1\nHost: x\n\n`, 400],
  'a folded header': [`${get}Host: x\r\nX-A: b\r\n c\r\n\r\n`, 400],
  'a space before the colon': [`${get}Host: x\r\nX-A : b\r\n\r\n`, 400],
  'a NUL in a header': [`${get}Host: x\r\nX-A: a\0b\r\n\r\n`, 400],
  'a space in the URL': [`GET ${path} x HTTP/1.1\r\nHost: x\r\n\r\n`, 400],
  'an unencoded full-width digit': [`GET /api/v2/video/\uff11 HTTP/1.1\r\nHost: x\r\n\r\n`, 400],
  'an unknown method': [`FETCH ${path} HTTP/1.1\r\nHost: x\r\n\r\n`, 400],
  'another version of HTTP': [`GET ${path} HTTP/3.0\r\nHost: x\r\n\r\n`, 400],
  'the preface of HTTP/2': ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400],
  'no HTTP at all': ['\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400],
  'a header of 20 kB': [`${get}Host: x\r\nX-A: ${'a'.repeat(20_000)}\r\n\r\n`, 431],
  'a thousand headers': [
    `${get}Host: x\r\n${'X-Some-Header: with a value\r\n'.repeat(1000)}\r\n`,
    431,
  ],
  'a URL of 20 kB': [`GET ${path}?x=${'a'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 431],
}
for (const [label, [request, status]] of Object.entries(badRequests))
  test(`answers ${status} to a request with ${label} and closes the connection`, async () => {
    const reply = await exchange(request)
    assert.equal(reply.status, status)
    assertProblem(reply)
    assert.equal(reply.headers.connection, 'close')
    await assertUnchanged()
  })

test('rejects a request without a Host header with a problem document', async () => {
  const reply = await exchange(`${get}\r\n`)
  assert.equal(reply.status, 400)
  assertProblem(reply)
})

test('rejects a request with two Host headers', async () => {
  assert.equal((await exchange(`${get}Host: a\r\nHost: b\r\n\r\n`)).status, 400)
})

test('rejects an unknown expectation with a problem document', async () => {
  assertProblem(
    await exchange(`${get}Host: x\r\nExpect: the-impossible\r\nConnection: close\r\n\r\n`),
  )
})

test('accepts an absolute URL in the request line', async () => {
  assert.equal(
    (await exchange(`GET ${archive.url}${path} HTTP/1.1\r\n${headersOf()}\r\n`)).status,
    200,
  )
})

test('ignores an invalid If-Modified-Since date', async () => {
  while (!(await archive.call('GET', path)).headers['last-modified']) await sleep(100)
  assert.equal(
    (await archive.call('GET', path, { headers: { 'if-modified-since': '2099' } })).status,
    200,
  )
})

test('does not treat garbage after a valid request as a second request', async () => {
  const reply = await exchange(`${get}Host: x\r\n\r\nGARBAGE / HTTP/1.1\r\nHost: x\r\n\r\n`)
  assert.ok(reply.text.split('HTTP/1.1 ').length <= 3)
  assert.match(reply.text, /HTTP\/1\.1 400 /)
})

test('does not treat the rest of a rejected body as a request', async () => {
  const request = (length: number, body: string) =>
    `PATCH ${path} HTTP/1.1\r\n${headersOf({ 'content-length': String(length) })}\r\n${body}`
  const inner = request(20, '{"title":"Smuggled"}')
  const filling = ' '.repeat(mebibyte + 1 - inner.length)
  const reply = await exchange(request(mebibyte + 1, filling + inner))
  assert.equal(reply.status, 413)
  await assertUnchanged()
})

test('answers pipelined requests in order', async () => {
  const { text } = await exchange(
    `${get}Host: x\r\n\r\nGET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n` +
      `${get}Host: x\r\nConnection: close\r\n\r\n`,
  )
  assert.deepEqual(
    [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status),
    ['200', '404', '200'],
  )
})

test('serves two editors who create the same new names concurrently', async () => {
  const ids = await Promise.all(
    [archive.make(), archive.make()].map(async (made) => (await made).id),
  )
  for (let round = 0; round < 20; round++) {
    // Sorted by name they come in one order, sorted by slug in the other.
    const tags = [
      [`A${round}`, `b${round}!`],
      [`B${round}`, `a${round}!`],
    ]
    const replies = await Promise.all(
      ids.map((id, index) =>
        archive.call('PATCH', `/api/v2/video/${id}`, {
          body: { tags: tags[index] },
          token: archive.editor,
        }),
      ),
    )
    for (const reply of replies) assert.equal(reply.status, 200, reply.text)
  }
})

// Run in a separate process: an endless loop must not block this one.
const sameSlug: Record<string, (send: Send) => Promise<Reply>[]> = {
  'titles of records': (send) =>
    ['Loop 999999', 'Loop', 'Loop', 'Loop'].map((title) =>
      send('/api/v2/video', { title, category, language: 'en' }),
    ),
  'titles of categories': (send) =>
    ['Ring 999999', 'Ring', 'Ring!', 'Ring?'].map((title) => send('/api/v2/category', { title })),
  'names of speakers': (send) => [
    send('/api/v2/video', {
      title: 'Names',
      category,
      language: 'en',
      speakers: ['Coil 999999', 'Coil', 'Coil!', 'Coil?'],
    }),
  ],
}
type Send = (path: string, body: object) => Promise<Reply>

for (const [label, requests] of Object.entries(sameSlug))
  test(`assigns free slugs to ${label} with the same slug and a high number`, async () => {
    const server = await spawnServer({ DATABASE_URL: archive.databaseUrl })
    try {
      let previous: Promise<unknown> = Promise.resolve()
      const sendInOrder: Send = (to, body) => {
        const reply = previous.then(() =>
          call(server.url, 'POST', to, { body, token: archive.editor }),
        )
        previous = reply
        return reply
      }
      const replies = await Promise.race([
        Promise.all(requests(sendInOrder)),
        sleep(5000, undefined, { ref: false }),
      ])
      assert.ok(replies, 'no answer in 5 s')
      for (const reply of replies) assert.equal(reply.status, 201, reply.text)
    } finally {
      server.process.kill('SIGKILL')
    }
  })

test('serves everything below a base path', async () => {
  const mounted = await startArchive({ PUBLIC_URL: 'https://talks.example.org/archive' })
  const base = 'https://talks.example.org/archive'
  const body = { title: 'Under a path', category, language: 'English', state: 1 }
  const made = await mounted.call('POST', '/archive/api/v2/video', { body, token: mounted.editor })
  assert.equal(made.status, 201)
  assert.equal(made.headers.location, `${base}/api/v2/video/${made.json.id}`)
  const path = `/archive/api/v2/video/${made.json.id}`
  assert.equal((await mounted.call('GET', path)).text, made.text)
  assert.equal((await mounted.call('GET', `${path}/`)).text, made.text)
  for (const other of [
    `/api/v2/video/${made.json.id}`,
    `/archive${path}`,
    '/archive/api/v2/video/0',
    path.replace('/archive', '/Archive'),
  ]) {
    const reply = await mounted.call('GET', other)
    assert.equal(reply.status, 404, other)
    assert.equal(reply.json.type, `${base}/api/problems/not-found`)
  }
  const refused = await mounted.call('DELETE', path)
  assert.equal(refused.status, 405)
  assert.equal(refused.headers.allow, 'GET, PUT, PATCH, HEAD, OPTIONS')
  assert.equal((await mounted.call('OPTIONS', path)).status, 204)
  for (let change = 0; change < 51; change++)
    assert.equal(
      (await mounted.call('PATCH', path, { body: { summary: `${change}` }, token: mounted.editor }))
        .status,
      200,
    )
  const [first, second] = await Promise.all(
    ['', '?page=2'].map((page) =>
      mounted.call('GET', `${path}/revisions${page}`, { token: mounted.editor }),
    ),
  )
  assert.equal(first?.json.next, `${base}/api/v2/video/${made.json.id}/revisions?page=2`)
  assert.equal(second?.json.previous, `${base}/api/v2/video/${made.json.id}/revisions?page=1`)
  const newCategory = await mounted.call('POST', '/archive/api/v2/category', {
    body: { title: 'Other Days' },
    token: mounted.editor,
  })
  assert.equal(newCategory.headers.location, `${base}/api/v2/category/other-days`)
  assert.equal(
    (await mounted.call('GET', '/archive/api/v2/openapi.json')).json.servers[0].url,
    base,
  )
  assert.equal((await mounted.call('GET', '/archive/api/problems/not-found')).status, 200)
})

test('cuts off slow headers and slow bodies', async () => {
  // The timeouts are 5 s for the headers and 10 s for the whole request. Without them, those of
  // Node apply: 60 and 300 s.
  const [slowHeaders, slowBody] = await Promise.all([slow.headers, slow.body])
  assert.ok(slowHeaders.seconds < 50, `the headers timed out after ${slowHeaders.seconds} s`)
  assert.ok(slowBody.seconds < 200, `the body timed out after ${slowBody.seconds} s`)
  for (const { reply } of [slowHeaders, slowBody])
    if (reply.text !== '') assert.equal(reply.status, 408)
  await assertUnchanged()
})

function patch(raw: string | Buffer, headers: Record<string, string> = {}): Promise<Reply> {
  return archive.call('PATCH', path, { raw, token: archive.editor, headers })
}

async function assertRefused(status: number, raw: string | Buffer): Promise<Reply> {
  const reply = await patch(raw)
  assert.equal(reply.status, status, reply.text.slice(0, 500))
  assertProblem(reply)
  await assertUnchanged()
  return reply
}

async function assertUnchanged(): Promise<void> {
  assert.deepEqual((await archive.call('GET', path)).json, record)
}

function assertProblem(reply: Reply): void {
  assert.equal(reply.headers['content-type'], 'application/problem+json')
  const isProblem: boolean = validatorFor(ProblemDocument).Check(reply.json)
  assert.ok(isProblem, reply.text)
  for (const member of Object.keys(reply.json))
    assert.ok(Object.hasOwn(ProblemDocument.properties, member), `${member} is not in the contract`)
  assert.equal(reply.json.status, reply.status)
  assert.doesNotMatch(
    reply.text.slice(reply.text.indexOf('{')),
    /[^\x20-\x7e]|[<>&]|node_modules|select |insert /,
  )
}

/** Returns the headers of a valid request as text, with these added or replaced. */
function headersOf(more: Record<string, string> = {}): string {
  const headers = {
    host: 'x',
    connection: 'close',
    authorization: `Token ${archive.editor}`,
    'content-type': 'application/json',
    ...more,
  }
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')
}

/** Sends raw bytes and returns the response. */
async function exchange(request: string): Promise<Reply> {
  const socket = await open()
  const answer = readReply(socket)
  socket.write(Buffer.from(request, 'utf8'))
  return answer
}

/** Sends a start, and then a byte every 250 ms until the server closes the connection. */
async function trickle(start: string): Promise<{ reply: Reply; seconds: number }> {
  const socket = await open()
  const startMs = performance.now()
  const answer = readReply(socket)
  socket.write(start)
  const drops = setInterval(() => socket.writable && socket.write(' '), 250)
  const reply = await answer
  clearInterval(drops)
  return { reply, seconds: (performance.now() - startMs) / 1000 }
}

async function open(): Promise<Socket> {
  const socket = connect({ port: Number(port), host: '127.0.0.1' })
  await once(socket, 'connect')
  return socket
}

/** Reads until the server closes the connection or has sent nothing for 300 ms. */
function readReply(socket: Socket): Promise<Reply> {
  return new Promise((resolve) => {
    let text = ''
    let idleTimer: NodeJS.Timeout | undefined
    const done = () => {
      clearTimeout(idleTimer)
      socket.destroy()
      resolve(parseReply(text))
    }
    // A connection that is closed during a write emits an error; the data before it counts.
    socket.on('error', done).on('close', done)
    socket.on('data', (data) => {
      text += data.toString('latin1')
      clearTimeout(idleTimer)
      idleTimer = setTimeout(done, 300)
    })
  })
}

function parseReply(text: string): Reply {
  const [top = '', ...rest] = text.split('\r\n\r\n')
  const [line = '', ...lines] = top.split('\r\n')
  const headers = Object.fromEntries(
    lines.map((header) => [
      header.slice(0, header.indexOf(':')).toLowerCase(),
      header.slice(header.indexOf(':') + 1).trim(),
    ]),
  )
  const body = rest.join('\r\n\r\n')
  return {
    status: Number(line.split(' ')[1] ?? 0),
    headers,
    text,
    json: body.startsWith('{') ? parseJson(body) : undefined,
  }
}

function parseJson(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}
