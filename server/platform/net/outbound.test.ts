import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  createServer as createTlsServer,
  getCACertificates,
  setDefaultCACertificates,
} from 'node:tls'
import { selfSigned } from '../../../tests/support/certificates.ts'
import { startRawServer } from '../../../tests/support/raw-server.ts'
import { flood, hostileServers, okResponse, redirectResponse } from './hostile-servers.ts'
import { fetchOutbound, OutboundError, type OutboundOptions } from './outbound.ts'

// Downloads from servers on this machine, which the options of the test allow.

/** For servers that are too slow. Other tests have longer timeouts, for busy machines. */
const shortTimeouts = { timeoutMs: 1500, quietMs: 500 }

test('fetches a file through redirects with a minimal set of headers', async (t) => {
  const requests: string[] = []
  const { port, options } = await startRawServer(t, (socket, head) => {
    requests.push(head)
    socket.end(
      head.startsWith('GET /old')
        ? redirectResponse('talks.csv?year=2020#first')
        : `${okResponse('Content-Length: 5\r\n')}a,b,c`,
    )
  })
  const file = await fetchOutbound(` http://127.0.0.1:${port}/old `, options)
  assert.deepEqual(
    [file.address, file.type],
    [`http://127.0.0.1:${port}/talks.csv?year=2020`, 'text/csv'],
  )
  assert.equal(await text(file.body), 'a,b,c')
  const headers = [
    'GET /talks.csv?year=2020 HTTP/1.1',
    `host: 127.0.0.1:${port}`,
    'connection: close',
    `user-agent: ${options.userAgent}`,
  ]
  assert.equal(requests[1], [...headers, 'accept: */*', 'accept-encoding: identity'].join('\r\n'))
  assert.equal(requests.length, 2)
})

test('follows five redirects but not six', async (t) => {
  const { port, options } = await startRawServer(t, (socket, head) => {
    const left = Number(/^GET \/(\d+)/.exec(head)?.[1])
    socket.end(
      left === 0 ? `${okResponse('Content-Length: 2\r\n')}ok` : redirectResponse(`/${left - 1}`),
    )
  })
  assert.equal(await text((await fetchOutbound(`http://127.0.0.1:${port}/5`, options)).body), 'ok')
  assert.equal((await failure(`http://127.0.0.1:${port}/6`, options)).code, 'bad-answer')
})

for (const [behaviour, [code, answer]] of Object.entries(hostileServers))
  test(`a server that ${behaviour} fails in time and leaves no connection`, async (t) => {
    const { port, options, allClosed, sentBytes } = await startRawServer(t, answer)
    const start = performance.now()
    const error = await failure(`http://127.0.0.1:${port}/`, {
      ...options,
      ...(code === 'too-slow' ? shortTimeouts : {}),
    })
    assert.equal(error.code, code, `${error.message} (${error.cause})`)
    assert.ok(performance.now() - start < 20_000)
    assert.ok(!/127\.0\.0\.1|UND_ERR|E[A-Z]{4,}/.test(error.message), error.message)
    await allClosed()
    if (code === 'too-large') assert.ok(sentBytes() < 2 ** 24, `${sentBytes()} bytes were sent`)
  })

test('a silent server is given up before the total timeout', async (t) => {
  for (const text of ['', 'HTTP/1.1 200 OK\r\n', `${okResponse('Content-Length: 10\r\n')}12345`]) {
    const { port, options } = await startRawServer(t, (socket) => socket.write(text))
    const start = performance.now()
    assert.equal(
      (
        await failure(`http://127.0.0.1:${port}/`, {
          ...options,
          ...shortTimeouts,
          timeoutMs: 60_000,
        })
      ).code,
      'too-slow',
    )
    assert.ok(performance.now() - start < 20_000)
  }
})

test('data after the announced length is not read', async (t) => {
  const { port, options } = await startRawServer(t, (socket) =>
    socket.end(`${okResponse('Content-Length: 5\r\n')}12345678`),
  )
  assert.equal(
    await text((await fetchOutbound(`http://127.0.0.1:${port}/`, options)).body),
    '12345',
  )
})

test('accepts a file of exactly the maximum size', async (t) => {
  const { port, options } = await startRawServer(t, (socket) => socket.end(`${okResponse()}12345`))
  assert.equal(
    await text(
      (await fetchOutbound(`http://127.0.0.1:${port}/`, { ...options, maxBytes: 5 })).body,
    ),
    '12345',
  )
  assert.equal(
    (await failure(`http://127.0.0.1:${port}/`, { ...options, maxBytes: 4 })).code,
    'too-large',
  )
})

test('an unread body is not buffered, and the timeout ends it', async (t) => {
  const { port, options, allClosed, sentBytes } = await startRawServer(t, (socket) =>
    flood(socket, okResponse(), Buffer.alloc(65536)),
  )
  const before = process.memoryUsage().arrayBuffers
  const file = await fetchOutbound(`http://127.0.0.1:${port}/`, {
    ...options,
    timeoutMs: 3000,
    maxBytes: 2 ** 40,
  })
  await allClosed()
  // The kernel buffers some megabytes on its own.
  assert.ok(sentBytes() < 2 ** 25, `${sentBytes()} bytes were sent`)
  assert.ok(process.memoryUsage().arrayBuffers - before < 2 ** 25)
  await assert.rejects(text(file.body), { name: 'OutboundError', code: 'too-slow' })
})

test('a body that is read, closed or left early leaves no timer and no connection', async (t) => {
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
  const { port, options, allClosed } = await startRawServer(t, (socket, head) =>
    head.startsWith('GET /short')
      ? socket.end(`${okResponse()}12345`)
      : flood(socket, okResponse(), Buffer.alloc(1000)),
  )
  const before = timers()
  await text((await fetchOutbound(`http://127.0.0.1:${port}/short`, options)).body)
  await allClosed()
  assert.equal(timers(), before)
  const unread = await fetchOutbound(`http://127.0.0.1:${port}/`, options)
  await unread.close()
  await allClosed()
  assert.equal(timers(), before)
  const partial = await fetchOutbound(`http://127.0.0.1:${port}/`, options)
  for await (const chunk of partial.body) if (chunk.length > 0) break
  await allClosed()
  assert.equal(timers(), before)
})

test('an aborted download rejects with the reason of the signal', async (t) => {
  const reason = new Error('The server shuts down')
  const { port, options, allClosed } = await startRawServer(
    t,
    (socket, head) => head.startsWith('GET /body') && socket.write(`${okResponse()}12345`),
  )
  await assert.rejects(
    fetchOutbound(`http://127.0.0.1:${port}/`, { ...options, signal: AbortSignal.abort(reason) }),
    reason,
  )

  const waiting = new AbortController()
  setTimeout(() => waiting.abort(reason), 50)
  await assert.rejects(
    fetchOutbound(`http://127.0.0.1:${port}/`, { ...options, signal: waiting.signal }),
    reason,
  )

  const reading = new AbortController()
  const file = await fetchOutbound(`http://127.0.0.1:${port}/body`, {
    ...options,
    signal: reading.signal,
  })
  setTimeout(() => reading.abort(reason), 50)
  await assert.rejects(text(file.body), reason)
  await allClosed()
})

test('verifies certificates, whatever the environment says', async (t) => {
  const { key, cert } = selfSigned('talks.example.org')
  const tls = createTlsServer({ key, cert })
  const plain = await startRawServer(t, (socket) => socket.end(`${okResponse()}plain`))
  const { port, options } = await startRawServer(
    t,
    (socket, head) =>
      socket.end(
        head.startsWith('GET /down')
          ? redirectResponse(`http://127.0.0.1:${plain.port}/`)
          : `${okResponse()}secure`,
      ),
    tls,
  )
  const named = {
    ...options,
    ports: [port, plain.port],
    isAllowed: () => true,
    lookup: async () => ['127.0.0.1'],
  }
  const assertUntrusted = async (host: string) => {
    const error = await failure(`https://${host}:${port}/`, named)
    assert.equal(error.code, 'unreachable')
    assert.match(error.message, /certificate/)
  }
  const variable = 'NODE_TLS_REJECT_UNAUTHORIZED'
  const [before, trusted] = [process.env[variable], getCACertificates('default')]
  t.after(() => {
    setDefaultCACertificates(trusted)
    if (before === undefined) delete process.env[variable]
    else process.env[variable] = before
  })

  await assertUntrusted('talks.example.org')
  process.env[variable] = '0'
  await assertUntrusted('talks.example.org')
  delete process.env[variable]

  setDefaultCACertificates([...trusted, cert])
  assert.equal(
    await text((await fetchOutbound(`https://talks.example.org:${port}/`, named)).body),
    'secure',
  )
  assert.equal(
    await text((await fetchOutbound(`https://talks.example.org.:${port}/`, named)).body),
    'secure',
  )
  await assertUntrusted('other.example.org')
  await assertUntrusted('127.0.0.1')

  const down = await failure(`https://talks.example.org:${port}/down`, named)
  assert.equal(down.code, 'address-refused')
  assert.match(down.message, /from https:\/\/ to http:\/\//)
})

test('a TLS handshake that never finishes times out', async (t) => {
  const { port, options, allClosed } = await startRawServer(t, () => {})
  const start = performance.now()
  assert.equal(
    (
      await failure(`https://127.0.0.1:${port}/`, {
        ...options,
        ...shortTimeouts,
        timeoutMs: 60_000,
      })
    ).code,
    'too-slow',
  )
  assert.ok(performance.now() - start < 30_000)
  assert.equal(
    (await failure(`https://127.0.0.1:${port}/`, { ...options, timeoutMs: 200 })).code,
    'too-slow',
  )
  await allClosed()
})

/** Returns the error, whether der occurs before or in the body. */
async function failure(address: string, options: OutboundOptions): Promise<OutboundError> {
  try {
    const { body } = await fetchOutbound(address, options)
    for await (const _ of body);
  } catch (error) {
    if (error instanceof OutboundError) return error
    throw error
  }
  assert.fail('The download succeeded')
}

async function text(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of body) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}
