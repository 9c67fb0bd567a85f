import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { category, startArchive } from '../tests/support/harness.ts'
import { ApiProblem, type Client, createClient, UnexpectedResponse } from './client.ts'

// Timeouts and repeated requests, against a server whose failures the test chooses, and against an
// archive behind a connection that breaks.

const archive = await startArchive()

/** A machine that stalls for seconds must not end the attempts. */
const patient = { timeoutMs: Number.POSITIVE_INFINITY, maxRetryMs: 600_000 }

type Answer = (request: IncomingMessage, response: ServerResponse) => unknown

/** Starts a server that ends with the test. Its last answer is the one to all further requests. */
async function serve(t: TestContext, ...answers: Answer[]) {
  const timesMs: number[] = []
  const server = createServer((request, response) => {
    const answer = answers[Math.min(timesMs.length, answers.length - 1)]
    timesMs.push(performance.now())
    answer?.(request, response)
  }).listen(0, '127.0.0.1')
  // A connection that is closed while it is used again would be another failure.
  server.keepAliveTimeout = 600_000
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, timesMs }
}

const record: Answer = (_, response) =>
  response.writeHead(200, { 'content-type': 'application/json' }).end('{"id": 3}')

const problem =
  (status: number, more: object = {}, headers: Record<string, string> = {}): Answer =>
  (_, response) => {
    const document = { type: '/api/problems/unavailable', title: '', detail: 'Busy', instance: '' }
    response
      .writeHead(status, { 'content-type': 'application/problem+json', ...headers })
      .end(JSON.stringify({ ...document, status, ...more }))
  }
const busy = (retryAfter: string) => problem(503, {}, { 'retry-after': retryAfter })
const proxyError: Answer = (_, response) =>
  response.writeHead(503, { 'content-type': 'text/html' }).end('<h1>503</h1>')
const cut: Answer = (request) => request.socket.destroy()
const cutInBody: Answer = (request, response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '9' })
  response.write('{"id"', () => request.socket.destroy())
}
const silence: Answer = () => {}
const halfAnswer: Answer = (_, response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '9' })
  response.write('{"id"')
}

/** Sends the request to the archive, and loses the response. */
const applyAndCut: Answer = async (request, response) => {
  await forward(request)
  response.destroy()
}
const pass: Answer = async (request, response) => {
  const reply = await forward(request)
  response.writeHead(reply.status, Object.fromEntries(reply.headers)).end(await reply.text())
}
async function forward(request: IncomingMessage) {
  const { method = '', url = '', headers } = request
  const { authorization = '', 'content-type': type = '' } = headers
  const conditions = ['if-match', 'idempotency-key', 'accept'].flatMap((name) => {
    const value = headers[name]
    return typeof value === 'string' ? [[name, value] as const] : []
  })
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return fetch(archive.url + url, {
    method,
    headers: { ...Object.fromEntries(conditions), authorization, 'content-type': type },
    body: Buffer.concat(chunks),
  })
}

test('waits as long as Retry-After asks for', async (t) => {
  const inFourSeconds = () => new Date(Date.now() + 4000).toUTCString()
  const limited = problem(429, { retry_after: 3 })
  const dated: Answer = (...args) => busy(inFourSeconds())(...args)
  await Promise.all(
    [busy('3'), limited, dated].map(async (answer) => {
      const { url, timesMs } = await serve(t, answer, record)
      const { data } = await createClient({ baseUrl: url, ...patient }).readVideo({ id: 3 })
      assert.equal(data.id, 3)
      const [first = 0, second = 0] = timesMs
      // A date has no milliseconds.
      assert.ok(second - first >= 2990, String(second - first))
      assert.equal(timesMs.length, 2)
    }),
  )
})

test('repeats a request a limited number of times', async (t) => {
  await Promise.all(
    (
      [
        [{}, {}, 3],
        [{}, { retries: 0 }, 1],
        [{ retries: 1 }, {}, 2],
        [{ retries: 0 }, { retries: 1 }, 2],
      ] as const
    ).map(async ([options, input, expected]) => {
      const { url, timesMs } = await serve(t, busy('0'))
      const client = createClient({ baseUrl: url, ...patient, ...options })
      await assert.rejects(client.readVideo({ id: 3, ...input }), { status: 503 })
      assert.equal(timesMs.length, expected)
    }),
  )
})

test('does not wait longer than the total time allows', async (t) => {
  for (const [retryAfter, options] of [
    ['3600', {}],
    ['1', { maxRetryMs: 900 }],
  ] as const) {
    const { url, timesMs } = await serve(t, busy(retryAfter))
    await assert.rejects(
      createClient({ baseUrl: url, ...options }).readVideo({ id: 3 }),
      (error) => {
        assert.ok(error instanceof ApiProblem)
        return error.retryAfterMs === Number(retryAfter) * 1000
      },
    )
    assert.equal(timesMs.length, 1)
  }
})

test('repeats a write only if it was not applied or has one effect', async (t) => {
  const body = { title: 'A talk', category, language: 'English' }
  const patch = (more: object) => (client: Client) =>
    client.patchVideo({ id: 3, body: { title: 'B' }, ...more })
  const read = (client: Client) => client.readVideo({ id: 3 })
  const create = (more: object) => (client: Client) => client.createVideo({ body, ...more })
  const unknown = problem(503, { outcome: 'unknown' })
  const notApplied = problem(503, { outcome: 'not-applied' })
  const cases: [string, (client: Client) => Promise<unknown>, Answer, number][] = [
    ['a read, 503 of a proxy', read, proxyError, 2],
    ['a read, connection cut', read, cut, 2],
    ['a read, response cut', read, cutInBody, 2],
    ['a read, 500', read, problem(500), 1],
    ['a read, 404', read, problem(404), 1],
    ['a write, 503 unknown', patch({}), unknown, 1],
    ['a write, 503 not applied', patch({}), notApplied, 2],
    ['a write, 503 without an outcome', patch({}), problem(503), 1],
    ['a write, 503 of a proxy', patch({}), proxyError, 1],
    ['a write, connection cut', patch({}), cut, 1],
    ['a write, 429', patch({}), problem(429), 2],
    ['If-Match, 503 unknown', patch({ ifMatch: '"3-1"' }), unknown, 2],
    ['If-Match, 503 of a proxy', patch({ ifMatch: '"3-1"' }), proxyError, 2],
    ['If-Match, connection cut', patch({ ifMatch: '"3-1"' }), cut, 2],
    ['any version, 503 unknown', patch({ ifMatch: '*' }), unknown, 1],
    ['any version, connection cut', patch({ ifMatch: '*' }), cut, 1],
    ['If-Match undefined, 503 unknown', patch({ ifMatch: undefined }), unknown, 1],
    ['a creation, 503 unknown', create({}), unknown, 1],
    ['Idempotency-Key, 503 unknown', create({ idempotencyKey: 'a' }), unknown, 2],
    ['Idempotency-Key, connection cut', create({ idempotencyKey: 'a' }), cut, 2],
  ]
  await Promise.all(
    cases.map(async ([name, call, answer, expected]) => {
      const { url, timesMs } = await serve(t, answer)
      await assert.rejects(call(createClient({ baseUrl: url, ...patient, retries: 1 })))
      assert.equal(timesMs.length, expected, name)
    }),
  )
})

test('a write whose response was lost has one effect', async (t) => {
  const { id } = await archive.make()
  const options = { ...patient, token: archive.editor }
  const { etag } = await createClient({ baseUrl: archive.url, ...options }).readVideo({ id })
  const lossy = async () => {
    const { url, timesMs } = await serve(t, applyAndCut, pass)
    return { client: createClient({ baseUrl: url, ...options }), timesMs }
  }

  const first = await lossy()
  const { data } = await first.client.patchVideo({ id, body: { title: 'Once' }, ifMatch: etag })
  assert.deepEqual([data.title, first.timesMs.length], ['Once', 2])
  const revisions = await archive.call('GET', `/api/v2/video/${id}/revisions`, options)
  assert.equal(revisions.json.count, 2)

  const titled = async (title: string) =>
    (await archive.call('GET', `/api/v2/video?q=${title}`)).json.count
  const talk = (title: string) => ({ title, category, language: 'English', state: 1 as const })
  const second = await lossy()
  await second.client.createVideo({ body: talk('Nightingale'), idempotencyKey: 'nightingale' })
  assert.deepEqual([await titled('Nightingale'), second.timesMs.length], [1, 2])

  const third = await lossy()
  await assert.rejects(third.client.createVideo({ body: talk('Woodpecker') }), TypeError)
  assert.deepEqual([await titled('Woodpecker'), third.timesMs.length], [1, 1])
})

test('a request times out, also in the middle of a response', async (t) => {
  const expected = { name: 'TimeoutError', message: 'No response within 200 ms' }
  await Promise.all(
    [silence, halfAnswer].map(async (answer) => {
      const { url, timesMs } = await serve(t, answer)
      const client = createClient({ baseUrl: url, timeoutMs: 200 })
      await assert.rejects(client.readVideo({ id: 3 }), expected)
      const other = createClient({ baseUrl: url })
      await assert.rejects(other.readVideo({ id: 3, timeoutMs: 200 }), expected)
      // A timeout is not repeated. On a slow machine it can fire before the request was sent.
      assert.ok(timesMs.length <= 2)
    }),
  )
})

test('the timeout of a client includes the time for which the server waits', async (t) => {
  const page: Answer = (_, response) => setTimeout(() => record(_, response), 1000)
  const { url } = await serve(t, page)
  const client = createClient({ baseUrl: url, timeoutMs: 900 })
  await client.listChanges({ wait: 20 })
  await createClient({ baseUrl: url, timeoutMs: Number.POSITIVE_INFINITY }).readVideo({ id: 3 })
  await assert.rejects(client.listChanges({ wait: 20, timeoutMs: 900 }), { name: 'TimeoutError' })
})

test('a call can be aborted while it waits to be repeated', async (t) => {
  const stop = new AbortController()
  const reason = new Error('Enough')
  const { url, timesMs } = await serve(t, (...args) => {
    busy('300')(...args)
    setTimeout(() => stop.abort(reason), 100)
  })
  const client = createClient({ baseUrl: url, ...patient })
  await assert.rejects(
    client.readVideo({ id: 3, signal: stop.signal }),
    (error) => error === reason,
  )
  assert.equal(timesMs.length, 1)
})

test('an unexpected response says how long to wait', () => {
  const response = new Response('', { status: 429, headers: { 'retry-after': '7' } })
  assert.equal(new UnexpectedResponse(response).retryAfterMs, 7000)
  assert.equal(new UnexpectedResponse(new Response('', { status: 503 })).retryAfterMs, undefined)
})
