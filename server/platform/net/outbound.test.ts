import assert from 'node:assert/strict'
import { generateKeyPairSync, sign } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import {
  createServer as createTlsServer,
  getCACertificates,
  setDefaultCACertificates,
  Server as TlsServer,
} from 'node:tls'
import { flood, hostileServers, okResponse, redirectResponse } from './hostile-servers.ts'
import { fetchOutbound, OutboundError, type OutboundOptions } from './outbound.ts'

// Downloads from servers on this machine, which the options of the test allow.

/** For servers that are too slow. Other tests have longer timeouts, for busy machines. */
const shortTimeouts = { timeoutMs: 1500, quietMs: 500 }
const userAgent = 'Talkshelf/test (+https://talks.example.org)'

test('fetches a file through redirects with a minimal set of headers', async (t) => {
  const requests: string[] = []
  const { port, options } = await serve(t, (socket, head) => {
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
    `user-agent: ${userAgent}`,
  ]
  assert.equal(requests[1], [...headers, 'accept: */*', 'accept-encoding: identity'].join('\r\n'))
  assert.equal(requests.length, 2)
})

test('follows five redirects but not six', async (t) => {
  const { port, options } = await serve(t, (socket, head) => {
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
    const { port, options, allClosed, sentBytes } = await serve(t, answer)
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
    const { port, options } = await serve(t, (socket) => socket.write(text))
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
  const { port, options } = await serve(t, (socket) =>
    socket.end(`${okResponse('Content-Length: 5\r\n')}12345678`),
  )
  assert.equal(
    await text((await fetchOutbound(`http://127.0.0.1:${port}/`, options)).body),
    '12345',
  )
})

test('accepts a file of exactly the maximum size', async (t) => {
  const { port, options } = await serve(t, (socket) => socket.end(`${okResponse()}12345`))
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
  const { port, options, allClosed, sentBytes } = await serve(t, (socket) =>
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
  const { port, options, allClosed } = await serve(t, (socket, head) =>
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
  const { port, options, allClosed } = await serve(
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
  const plain = await serve(t, (socket) => socket.end(`${okResponse()}plain`))
  const { port, options } = await serve(
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
  const { port, options, allClosed } = await serve(t, () => {})
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

async function serve(
  t: TestContext,
  answer: (socket: Socket, head: string) => unknown,
  server: Server = createServer(),
) {
  const sockets = new Set<Socket>()
  let sentBytes = 0
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => {
      sentBytes += socket.bytesWritten
      sockets.delete(socket)
    })
  })
  server.on(server instanceof TlsServer ? 'secureConnection' : 'connection', (socket: Socket) => {
    let head = ''
    socket.on('error', () => {})
    socket.on('data', (data) => {
      if (head.endsWith('\r\n\r\n')) return
      head += data
      if (head.endsWith('\r\n\r\n')) answer(socket, head.slice(0, -4))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const isAllowed = (ip: string, target: number) => ip === '127.0.0.1' && target === port
  return {
    port,
    options: {
      maxBytes: 2 ** 20,
      timeoutMs: 30_000,
      quietMs: 30_000,
      userAgent,
      ports: [port],
      isAllowed,
    },
    sentBytes: () => sentBytes,
    /** Resolves when all connections are closed. */
    allClosed: async () => {
      while (sockets.size > 0) await new Promise((resolve) => setTimeout(resolve, 10))
    },
  }
}

/** Builds a self-signed X.509 certificate: a key in the repository would look like a leak. */
function selfSigned(name: string): { key: string; cert: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const der = (tag: number, ...parts: (Buffer | string)[]): Buffer => {
    const content = Buffer.concat(
      parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : part)),
    )
    const { length } = content
    const size = length < 128 ? [length] : [0x82, length >> 8, length & 255]
    return Buffer.concat([Buffer.from([tag, ...size]), content])
  }
  const oid = (hex: string) => der(0x06, Buffer.from(hex, 'hex'))
  const ecdsaWithSha256 = der(0x30, oid('2a8648ce3d040302'))
  const commonName = der(0x30, der(0x31, der(0x30, oid('550403'), der(0x0c, name))))
  const validity = der(0x30, der(0x17, '200101000000Z'), der(0x17, '491231235959Z'))
  const isAuthority = der(0x30, oid('551d13'), der(0x04, der(0x30, der(0x01, '\xff'))))
  const otherNames = der(0x30, oid('551d11'), der(0x04, der(0x30, der(0x82, name))))
  const content = der(
    0x30,
    der(0xa0, der(0x02, '\x02')),
    der(0x02, '\x01'),
    ecdsaWithSha256,
    commonName,
    validity,
    commonName,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, der(0x30, isAuthority, otherNames)),
  )
  const whole = der(
    0x30,
    content,
    ecdsaWithSha256,
    der(0x03, '\0', sign('sha256', content, privateKey)),
  )
  const base64 = whole.toString('base64').replace(/.{64}/g, '$&\n')
  const cert = `-----BEGIN CERTIFICATE-----\n${base64}\n-----END CERTIFICATE-----\n`
  return { key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), cert }
}
