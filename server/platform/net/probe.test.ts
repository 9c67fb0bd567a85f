import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createServer as createTlsServer } from 'node:tls'
import { createAuthority, selfSigned } from '../../../tests/support/certificates.ts'
import { startRawServer } from '../../../tests/support/raw-server.ts'
import { hostileAddresses } from './hostile-addresses.ts'
import { flood, hostileServers, okResponse, redirectResponse } from './hostile-servers.ts'
import { OutboundError } from './outbound.ts'
import { maxProbeBytes, type ProbeAnswer, type ProbeOptions, probeOutbound } from './probe.ts'

/** For servers that are too slow. Other tests have longer timeouts, for busy machines. */
const shortTimeouts = { timeoutMs: 1500, quietMs: 500 }

test('returns status, headers and body of any answer', async (t) => {
  const { port, options } = await startRawServer(t, (socket) =>
    socket.end(
      'HTTP/1.1 429 Slow down\r\nContent-Type: application/json\r\nRetry-After: 120\r\n' +
        'Date: Thu, 19 Nov 2026 10:00:00 GMT\r\nSet-Cookie: a=b\r\nContent-Length: 2\r\n\r\n{}',
    ),
  )
  const url = `http://127.0.0.1:${port}/a?b=c`
  assert.deepEqual(await probeOutbound({ url: `${url}#d` }, options), {
    status: 429,
    headers: {
      'content-type': 'application/json',
      'content-length': '2',
      'retry-after': '120',
      date: 'Thu, 19 Nov 2026 10:00:00 GMT',
    },
    finalUrl: url,
    redirects: [],
    body: '{}',
    isCut: false,
  })
})

test('sends the method and the headers of the request', async (t) => {
  const heads: string[] = []
  const { port, options } = await startRawServer(t, (socket, head) => {
    heads.push(head)
    socket.end(`${okResponse(`Content-Length: ${head.startsWith('HEAD') ? 5_000_000 : 2}\r\n`)}ok`)
  })
  const url = `http://127.0.0.1:${port}/`
  const head = await probeOutbound({ url, method: 'HEAD' }, options)
  assert.deepEqual([head.body, head.isCut, head.headers['content-length']], ['', false, '5000000'])
  await probeOutbound({ url, headers: { range: 'bytes=0-1', accept: 'text/html' } }, options)
  const common = [
    `host: 127.0.0.1:${port}`,
    'connection: close',
    `user-agent: ${options.userAgent}`,
  ]
  assert.deepEqual(heads, [
    ['HEAD / HTTP/1.1', ...common, 'accept: */*', 'accept-encoding: identity'].join('\r\n'),
    [
      'GET / HTTP/1.1',
      ...common,
      'accept: text/html',
      'accept-encoding: identity',
      'range: bytes=0-1',
    ].join('\r\n'),
  ])
})

test('lists the redirects, and keeps headers of the request from other hosts', async (t) => {
  const heads: string[] = []
  const { port, options } = await startRawServer(t, (socket, head) => {
    heads.push(head)
    if (head.startsWith('GET /first')) socket.end(redirectResponse('/second'))
    else if (head.startsWith('GET /second'))
      socket.end(redirectResponse(`http://localhost.example.org:${port}/third`))
    else socket.end(`${okResponse('Content-Length: 2\r\n')}ok`)
  })
  const answer = await probeOutbound(
    {
      url: `http://127.0.0.1:${port}/first`,
      headers: { accept: 'text/html', 'x-goog-api-key': 'secret' },
    },
    { ...options, lookup: async () => ['127.0.0.1'] },
  )
  assert.deepEqual(
    [answer.status, answer.finalUrl, answer.body, answer.stopped],
    [200, `http://localhost.example.org:${port}/third`, 'ok', undefined],
  )
  assert.deepEqual(answer.redirects, [
    { status: 302, url: `http://127.0.0.1:${port}/second` },
    { status: 302, url: `http://localhost.example.org:${port}/third` },
  ])
  assert.deepEqual(
    heads.map((head) => [/secret/.test(head), /text\/html/.test(head)]),
    [
      [true, true],
      [true, true],
      [false, true],
    ],
  )
})

test('follows five redirects, or fewer; the next one is the answer', async (t) => {
  const { port, options } = await startRawServer(t, (socket, head) => {
    const left = Number(/^GET \/(\d+)/.exec(head)?.[1])
    socket.end(
      left === 0 ? `${okResponse('Content-Length: 2\r\n')}ok` : redirectResponse(`/${left - 1}`),
    )
  })
  const probe = (path: string, more: { maxRedirects?: number } = {}) =>
    probeOutbound({ url: `http://127.0.0.1:${port}${path}`, ...more }, options)
  assert.equal((await probe('/5')).body, 'ok')
  const six = await probe('/6')
  assert.deepEqual(
    [six.status, six.headers.location, six.redirects.length, six.stopped?.code],
    [302, '/0', 5, 'bad-answer'],
  )
  const none = await probe('/1', { maxRedirects: 0 })
  assert.deepEqual(
    [none.status, none.headers.location, none.redirects, none.stopped],
    [302, '/0', [], undefined],
  )
  assert.equal((await probe('/9', { maxRedirects: 100 })).redirects.length, 5)
})

test('the caller can refuse a redirect', async (t) => {
  const { port, options } = await startRawServer(t, (socket, head) =>
    socket.end(head.startsWith('GET /a') ? redirectResponse('/b') : okResponse()),
  )
  const asked: string[] = []
  const { status, finalUrl, stopped } = await probeOutbound(
    { url: `http://127.0.0.1:${port}/a` },
    {
      ...options,
      mayFollow: async ({ pathname }) => {
        asked.push(pathname)
        return false
      },
    },
  )
  assert.deepEqual([status, finalUrl, stopped], [302, `http://127.0.0.1:${port}/a`, undefined])
  assert.deepEqual(asked, ['/b'])
})

test('an error of mayFollow reaches the caller, and its time does not count', async (t) => {
  const { port, options } = await startRawServer(t, (socket, head) =>
    socket.end(head.startsWith('GET /a') ? redirectResponse('/b') : okResponse()),
  )
  const request = { url: `http://127.0.0.1:${port}/a` }
  const ownError = new Error('not now')
  const refused = probeOutbound(request, { ...options, mayFollow: () => Promise.reject(ownError) })
  await assert.rejects(refused, ownError)
  const timeoutMs = 3000
  const { status } = await probeOutbound(request, {
    ...options,
    timeoutMs,
    async mayFollow() {
      await sleep(timeoutMs + 100)
      return true
    },
  })
  assert.equal(status, 200)
})

/**
 * What a probe makes of each hostile server: the code of an error where there is no answer, the
 * status where there is one.
 */
const outcomes: Record<string, OutboundError['code'] | Partial<ProbeAnswer>> = {
  'never answers': 'too-slow',
  'hangs up': 'unreachable',
  'resets the connection': 'unreachable',
  'speaks another protocol': 'bad-answer',
  'sends its headers a byte at a time': 'too-slow',
  'sends its body a byte at a time': { status: 200, isCut: true },
  'stops within the body': { status: 200, body: '12345', isCut: true },
  'sends without end': { status: 200, isCut: true },
  'sends chunks without end': { status: 200, isCut: true },
  'sends a chunk header without end': { status: 200, isCut: true, body: '' },
  'announces a length above the limit': { status: 200, isCut: true, body: '' },
  'sends ten thousand headers': 'bad-answer',
  'sends a huge header': 'bad-answer',
  'sends headers without end': 'bad-answer',
  'sends trailers without end': { status: 200, isCut: true, body: '' },
  'sends a status line without end': 'too-large',
  'sends interim responses without end': 'too-large',
  'redirects to itself': { status: 302, body: '' },
  'redirects without a location': { status: 302, body: '' },
  'redirects to two locations': { status: 302, body: '' },
  'redirects to another port': { status: 302, body: '' },
  'redirects with a body without end': { status: 302, body: '' },
  'sends a gzip bomb': { status: 200, body: '' },
  'compresses with brotli': { status: 200, body: '' },
  'compresses the transfer encoding': { status: 200, body: '' },
  'sends less than it announced': { status: 200, isCut: true, body: '12345' },
  'ends before the last chunk': { status: 200, isCut: true, body: '12345' },
  'sends two lengths': 'unreachable',
  'sends a negative length': 'bad-answer',
  'sends a length and chunks': 'unreachable',
  'resets the connection within the body': { status: 200, isCut: true },
  'switches to another protocol': 'unreachable',
  'answers 404': { status: 404, isCut: false },
  'answers 410': { status: 410, isCut: true },
  'answers 401': { status: 401 },
  'answers 206': { status: 206, body: 'a', isCut: false },
  'answers 204': { status: 204, body: '', isCut: false },
  'answers 503': { status: 503 },
}

test('has an outcome for every hostile server', () => {
  assert.deepEqual(Object.keys(outcomes), Object.keys(hostileServers))
})

for (const [behaviour, [, answer]] of Object.entries(hostileServers))
  test(`a server that ${behaviour} has an outcome and no connection left`, async (t) => {
    const { port, options, allClosed, sentBytes } = await startRawServer(t, answer)
    const expected = outcomes[behaviour]
    const isSlow =
      expected === 'too-slow' || (typeof expected === 'object' && expected.isCut === true)
    const outcome = await outcomeOf(`http://127.0.0.1:${port}/`, {
      ...options,
      maxBytes: maxProbeBytes,
      ...(isSlow ? shortTimeouts : {}),
    })
    if (outcome instanceof OutboundError) assert.equal(outcome.code, expected)
    else {
      assert.ok(typeof expected === 'object', `It answers ${outcome.status}`)
      assert.deepEqual({ ...outcome, ...expected }, outcome)
      assert.ok(outcome.body.length <= maxProbeBytes)
    }
    await allClosed()
    // The kernel buffers some megabytes on its own, for each of up to six connections.
    assert.ok(sentBytes() < 2 ** 26, `${sentBytes()} bytes were sent`)
  })

test('reads no more than the limit of the caller', async (t) => {
  const { port, options, allClosed } = await startRawServer(t, (socket, head) =>
    head.startsWith('GET /exact')
      ? socket.end(`${okResponse()}12345`)
      : flood(socket, okResponse(), '12345'),
  )
  const probe = (path: string) =>
    probeOutbound({ url: `http://127.0.0.1:${port}${path}` }, { ...options, maxBytes: 5 })
  const [exact, more] = [await probe('/exact'), await probe('/more')]
  assert.deepEqual(
    [exact.body, exact.isCut, more.body, more.isCut],
    ['12345', false, '12345', true],
  )
  await allClosed()
})

test('broken UTF-8 is replaced', async (t) => {
  const { port, options } = await startRawServer(t, (socket) =>
    socket.end(Buffer.concat([Buffer.from(okResponse()), Buffer.from([0x61, 0xff, 0xc3, 0x28])])),
  )
  assert.equal(
    (await probeOutbound({ url: `http://127.0.0.1:${port}/` }, options)).body,
    'a\ufffd\ufffd(',
  )
})

test('no URL and no redirect reaches an internal server', async (t) => {
  const internal = await startRawServer(t, (socket) => socket.end(okResponse()))
  let reached = 0
  const lookup = async () => ['127.0.0.1', '::1']
  const guard = { timeoutMs: 30_000, userAgent: 'test', lookup, ports: 'any' as const }
  for (const address of Object.values(hostileAddresses).flat()) {
    const url = address.replace('PORT', `${internal.port}`)
    const outcome = await outcomeOf(url, guard)
    if (!(outcome instanceof OutboundError)) reached++
    else assert.equal(outcome.code, 'address-refused', `${url}: ${outcome.message}`)
  }
  assert.equal(reached, 0)

  // The server that redirects is allowed; the targets are not.
  const targets = ['http://169.254.169.254/latest/', `http://[::1]:${internal.port}/`]
  for (const target of [...targets, `http://127.0.0.2:${internal.port}/`, 'ftp://127.0.0.1/']) {
    const { port, options } = await startRawServer(t, (socket) =>
      socket.end(redirectResponse(target)),
    )
    const { status, stopped } = await probeOutbound(
      { url: `http://127.0.0.1:${port}/` },
      { ...options, ports: 'any' },
    )
    assert.deepEqual([status, stopped?.code], [302, 'address-refused'], target)
  }
})

test('trusts a further authority only where it is given, and never leaves https', async (t) => {
  const authority = createAuthority()
  const host = 'www.example.org'
  const servers = await Promise.all(
    [
      authority.issue(host),
      authority.issue(host, { isExpired: true }),
      authority.issue('other.example.org'),
      selfSigned(host),
    ].map((certificate) =>
      startRawServer(
        t,
        (socket, head) =>
          socket.end(
            head.startsWith('GET /down')
              ? redirectResponse(`http://${host}/`)
              : `${okResponse('Content-Length: 2\r\n')}ok`,
          ),
        createTlsServer(certificate),
      ),
    ),
  )
  const outcomeAt = (index: number, path: string, ca?: string) =>
    outcomeOf(`https://${host}${path}`, {
      timeoutMs: 30_000,
      userAgent: 'test',
      lookup: async () => ['127.0.0.1'],
      isAllowed: (_, port) => port === 443,
      connectPort: () => servers[index]?.port ?? 0,
      ...(ca !== undefined && { ca }),
    })
  const trusted = await outcomeAt(0, '/', authority.ca)
  assert.ok(!(trusted instanceof OutboundError) && trusted.body === 'ok')
  const down = await outcomeAt(0, '/down', authority.ca)
  assert.ok(!(down instanceof OutboundError))
  assert.equal(down.stopped?.code, 'address-refused')
  assert.match(down.stopped?.message ?? '', /from https:\/\/ to http:\/\//)
  for (const [index, ca] of [
    [0, undefined],
    [0, createAuthority().ca],
    [1, authority.ca],
    [2, authority.ca],
    [3, authority.ca],
  ] as const) {
    const error = await outcomeAt(index, '/', ca)
    assert.ok(error instanceof OutboundError && /certificate/.test(error.message), `${index}`)
  }
})

test('an aborted probe rejects with the reason of the signal', async (t) => {
  const reason = new Error('The server shuts down')
  const { port, options, allClosed } = await startRawServer(t, (socket, head) => {
    if (head.startsWith('GET /body')) socket.write(`${okResponse()}12345`)
    if (head.startsWith('GET /moved')) socket.end(redirectResponse('/'))
  })
  for (const path of ['/', '/body', '/moved']) {
    const stopping = new AbortController()
    setTimeout(() => stopping.abort(reason), 100)
    const url = `http://127.0.0.1:${port}${path}`
    await assert.rejects(probeOutbound({ url }, { ...options, signal: stopping.signal }), reason)
  }
  const signal = AbortSignal.abort(reason)
  const url = `http://127.0.0.1:${port}/`
  await assert.rejects(probeOutbound({ url }, { ...options, signal }), reason)
  await allClosed()
})

async function outcomeOf(url: string, options: ProbeOptions): Promise<ProbeAnswer | OutboundError> {
  try {
    return await probeOutbound({ url }, options)
  } catch (error) {
    if (error instanceof OutboundError) return error
    throw error
  }
}
