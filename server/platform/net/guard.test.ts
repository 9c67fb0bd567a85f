import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { parseOutboundUrl } from './guard.ts'
import { hostileAddresses } from './hostile-addresses.ts'
import { fetchOutbound, OutboundError, type OutboundOptions, postOutbound } from './outbound.ts'

const limits = {
  maxBytes: 1000,
  timeoutMs: 30_000,
  quietMs: 5000,
  userAgent: 'Talkshelf/test (+https://talks.example.org)',
}
const lookupInternal = async () => ['127.0.0.1', '::1']

test('no URL reaches an internal server', async (t) => {
  const internal = await listenInternal(t)
  let tried = 0
  for (const [kind, addresses] of Object.entries(hostileAddresses))
    for (const address of addresses) {
      tried++
      // The port is allowed, so that only the address can be the reason; except in tests of ports.
      const ports = kind === 'other ports' ? {} : { ports: [80, 443, internal.port] }
      const refusal = await fetchError(withPort(address, internal.port), {
        ...limits,
        ...ports,
        lookup: lookupInternal,
      })
      assert.equal(
        refusal.code,
        'address-refused',
        `${kind}: ${JSON.stringify(address)}: ${refusal.message}`,
      )
    }
  assert.ok(tried >= 150, `${tried} addresses`)
  assert.equal(internal.visits(), 0)
})

test('the same URLs reach the internal server if its addresses are allowed', async (t) => {
  const internal = await listenInternal(t)
  const isAllowed = (ip: string) => ip === '127.0.0.1' || ip === '::1' || ip === '::ffff:7f00:1'
  const options = { ...limits, ports: [internal.port], isAllowed, lookup: lookupInternal }
  for (const address of Object.values(hostileAddresses).flat())
    await fetchOutbound(withPort(address, internal.port), options).then(
      (file) => file.close(),
      () => {},
    )
  assert.ok(internal.visits() >= 50, `${internal.visits()} visits`)
})

test('no URL is posted to an internal server, also if another network is opened', async (t) => {
  const internal = await listenInternal(t)
  const options = {
    headers: {},
    body: Buffer.from('{}'),
    maxBytes: 1000,
    timeoutMs: 30_000,
    userAgent: limits.userAgent,
    lookup: lookupInternal,
  }
  let tried = 0
  for (const isOpened of [undefined, (ip: string) => ip.startsWith('10.77.')])
    for (const address of Object.values(hostileAddresses).flat()) {
      tried++
      await assert.rejects(
        postOutbound(withPort(address, internal.port), { ...options, isOpened }),
        { code: 'address-refused' },
        address,
      )
    }
  assert.ok(tried >= 300, `${tried} addresses`)
  assert.equal(internal.visits(), 0)
  const isOpened = (ip: string) => ip === '127.0.0.1' || ip === '::1'
  const opened = { ...options, isOpened }
  const address = `http://hooks.internal:${internal.port}/`
  assert.equal((await postOutbound(address, opened)).status, 200)
  assert.equal(internal.visits(), 1)
})

test('posts to public servers use https and port 443', async () => {
  const isOpened = (ip: string) => ip === '127.0.0.1'
  const options = { headers: {}, body: Buffer.from('{}'), maxBytes: 1, timeoutMs: 5000 }
  const lookup = async () => ['93.184.215.14']
  for (const address of [
    'http://hooks.example.org/',
    'http://hooks.example.org:443/',
    'https://hooks.example.org:8443/',
    'http://93.184.215.14/',
  ])
    for (const networks of [undefined, isOpened])
      await assert.rejects(
        postOutbound(address, {
          ...options,
          userAgent: limits.userAgent,
          lookup,
          isOpened: networks,
        }),
        { code: 'address-refused' },
        address,
      )
})

test('no redirect reaches an internal server', async (t) => {
  const internal = await listenInternal(t)
  let location = ''
  const external = await listen(t, '127.0.0.1', 0, (socket) =>
    socket.end(`HTTP/1.1 302 Found\r\nLocation: ${location}\r\n\r\n`),
  )
  const options = {
    ...limits,
    ports: [80, 443, external.port, internal.port],
    isAllowed: (_: string, port: number) => port === external.port,
    lookup: lookupInternal,
  }
  const targets = Object.values(hostileAddresses)
    .flat()
    .filter((address) => !/[\r\n\0]/.test(address))
  for (const target of targets) {
    location = withPort(target, internal.port)
    const before = external.visits()
    await fetchError(`http://127.0.0.1:${external.port}/`, options)
    assert.ok(external.visits() > before)
  }
  assert.equal(internal.visits(), 0)
})

test('DNS rebinding does not reach an internal server', async (t) => {
  const internal = await listenInternal(t)
  if (!internal.hasIPv6) return t.skip('there is no IPv6 on this machine')
  // Here 127.0.0.1 counts as external and ::1 as internal. Both listen on the same port.
  const lookups: string[][] = []
  const options = {
    ...limits,
    ports: [internal.port],
    isAllowed: (ip: string) => ip === '127.0.0.1',
    lookup: async () => {
      lookups.push(lookups.length === 0 ? ['127.0.0.1'] : ['::1'])
      return lookups.at(-1) ?? []
    },
  }
  const address = `http://rebinding.example.org:${internal.port}/`
  internal.answer = (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nexternal')
  const file = await fetchOutbound(address, options)
  assert.equal(await text(file.body), 'external')
  assert.equal(lookups.length, 1, 'one lookup for one connection')

  for (const [name, answer] of Object.entries<(socket: Socket) => void>({
    'by a redirect to itself': (socket) =>
      socket.end(`HTTP/1.1 302 Found\r\nLocation: ${address}\r\n\r\n`),
    'by closing the connection': (socket) => socket.destroy(),
    'by requesting a retry': (socket) =>
      socket.end('HTTP/1.1 503 No\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n'),
    'by a redirect to another name': (socket) =>
      socket.end(
        `HTTP/1.1 307 Found\r\nLocation: http://other.example.org:${internal.port}/\r\n\r\n`,
      ),
  })) {
    lookups.length = 0
    internal.answer = answer
    await fetchError(address, options)
    assert.equal(internal.visitsV6(), 0, name)
  }
})

test('rejects a name with an external and an internal address', async (t) => {
  const internal = await listenInternal(t)
  const options = { ...limits, ports: [internal.port] }
  for (const answer of [
    ['93.184.215.14', '127.0.0.1'],
    ['127.0.0.1', '93.184.215.14'],
    ['2606:4700::1111', '::1'],
    ['93.184.215.14', '8.8.8.8', '1.1.1.1', '8.8.4.4', '9.9.9.9', '::ffff:127.0.0.1'],
    ['93.184.215.14', 'localhost'],
    ['93.184.215.14', ''],
    ['2606:4700::1111%lo'],
    [],
  ])
    assert.equal(
      (
        await fetchError(`http://both.example.org:${internal.port}/`, {
          ...options,
          lookup: async () => answer,
        })
      ).code,
      'address-refused',
    )
  assert.equal(internal.visits(), 0)
})

test('rejects a lookup result that is not an IP address', async (t) => {
  const internal = await listenInternal(t)
  const options = {
    ...limits,
    ports: [internal.port],
    isAllowed: () => true,
    lookup: async () => ['localhost'],
  }
  assert.equal(
    (await fetchError(`http://talks.example.org:${internal.port}/`, options)).code,
    'address-refused',
  )
  assert.equal(internal.visits(), 0)
})

test('the error for an invalid URL says what is wrong', () => {
  for (const [address, message] of [
    ['ftp://example.org/', /starts with https:\/\//],
    ['talks.csv', /starts with https:\/\//],
    ['http://', /starts with https:\/\//],
    ['http://ada:secret@example.org/', /user name or password/],
    ['http://ada@example.org/', /user name or password/],
    ['http://:secret@example.org/', /user name or password/],
    ['http://example.org:8080/', /Port 8080 is not allowed, only 80 and 443/],
    ['https://example.org/a\tb', /a space, a line break or a backslash/],
    ['https://example.org\\a', /a space, a line break or a backslash/],
    ['https://example.org/a b', /a space, a line break or a backslash/],
    [`https://example.org/${'a'.repeat(2048)}`, /longer than 2048 characters/],
  ] as const)
    assert.throws(
      () => parseOutboundUrl(address, {}),
      { name: 'OutboundError', code: 'address-refused', message },
      address,
    )
  for (const [address, expected] of [
    [' https://example.org ', 'https://example.org/'],
    ['http://example.org:80/a%20b?c#d', 'http://example.org/a%20b?c'],
    ['https://example.org.:443/', 'https://example.org/'],
    ['https://bücher.example/', 'https://xn--bcher-kva.example/'],
  ] as const)
    assert.equal(parseOutboundUrl(address, {}).href, expected)
})

test('internal names are not looked up', async () => {
  const lookups: string[] = []
  const lookup = async (name: string) => {
    lookups.push(name)
    return []
  }
  for (const host of [
    'localhost',
    'LOCALHOST.',
    'a.localhost',
    'database',
    'printer.local',
    'metadata.google.internal.',
    '10.0.0.1',
    '[::1]',
  ])
    assert.equal(
      (await fetchError(`http://${host}/`, { ...limits, lookup })).code,
      'address-refused',
    )
  await fetchError('http://talks.example.org./', { ...limits, lookup })
  assert.deepEqual(lookups, ['talks.example.org'])
})

test('the error does not reveal whether an internal name exists', async () => {
  const existing = await fetchError('http://internal.example.org/', {
    ...limits,
    lookup: async () => ['10.1.2.3'],
  })
  const missing = await fetchError('http://internal.example.org/', {
    ...limits,
    lookup: async () => [],
  })
  assert.equal(existing.message, missing.message)
  assert.equal(existing.code, missing.code)
  assert.ok(!existing.message.includes('10.1.2.3') && existing.cause === undefined)
})

test('tries the next address of a name if one does not respond', async (t) => {
  const external = await listen(t, '127.0.0.1', 0, (socket) =>
    socket.end('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhere'),
  )
  const options = { ...limits, ports: [external.port], isAllowed: () => true }
  const file = await fetchOutbound(`http://talks.example.org:${external.port}/`, {
    ...options,
    lookup: async () => ['127.0.0.9', '127.0.0.1'],
  })
  assert.equal(await text(file.body), 'here')
  const unreachable = await fetchError(`http://talks.example.org:${external.port}/`, {
    ...options,
    lookup: async () => ['127.0.0.9', '127.0.0.8'],
  })
  assert.equal(unreachable.code, 'unreachable')
})

test('a lookup that takes too long or fails is reported as a transient error', async () => {
  for (const limit of [{ quietMs: 100 }, { timeoutMs: 100 }]) {
    let lookupSignal: AbortSignal | undefined
    const lookup = (_: string, signal: AbortSignal) => {
      lookupSignal = signal
      return new Promise<string[]>(() => {})
    }
    const start = performance.now()
    const silent = await fetchError('http://talks.example.org/', {
      ...limits,
      timeoutMs: 60_000,
      quietMs: 60_000,
      lookup,
      ...limit,
    })
    assert.equal(silent.code, 'too-slow')
    assert.ok(lookupSignal?.aborted && performance.now() - start < 30_000)
  }
  const failure = Object.assign(new Error('queryA ESERVFAIL'), { code: 'ESERVFAIL' })
  const failing = await fetchError('http://talks.example.org/', {
    ...limits,
    lookup: () => Promise.reject(failure),
  })
  assert.equal(failing.code, 'unreachable')
})

test('proxy variables of the environment are ignored', async (t) => {
  const proxy = await listen(t, '127.0.0.1', 0, (socket) => socket.destroy())
  const external = await listen(t, '127.0.0.1', 0, (socket) =>
    socket.end('HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\ndirect'),
  )
  const names = [
    'http_proxy',
    'HTTP_PROXY',
    'https_proxy',
    'HTTPS_PROXY',
    'all_proxy',
    'ALL_PROXY',
    'NODE_USE_ENV_PROXY',
  ]
  const before = names.map((name) => [name, process.env[name]] as const)
  t.after(() => {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
  })
  for (const name of names)
    process.env[name] = name.endsWith('ENV_PROXY') ? '1' : `http://127.0.0.1:${proxy.port}`
  const isAllowed = (_: string, port: number) => port === external.port
  const file = await fetchOutbound(`http://127.0.0.1:${external.port}/`, {
    ...limits,
    ports: [external.port],
    isAllowed,
  })
  assert.equal(await text(file.body), 'direct')
  assert.equal(proxy.visits(), 0)
})

async function fetchError(address: string, options: OutboundOptions): Promise<OutboundError> {
  try {
    const file = await fetchOutbound(address, options)
    await file.close()
  } catch (error) {
    if (error instanceof OutboundError) return error
    throw error
  }
  assert.fail(`${JSON.stringify(address)} was fetched`)
}

async function text(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of body) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

function withPort(address: string, port: number): string {
  return address.replaceAll('PORT', `${port}`)
}

/** Starts a server on this machine, on IPv4 and, if available, on the same port of IPv6. */
async function listenInternal(t: TestContext) {
  const internal = {
    answer: (socket: Socket): unknown =>
      socket.end('HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\ninternal'),
  }
  const answer = (socket: Socket) => internal.answer(socket)
  const v4 = await listen(t, '127.0.0.1', 0, answer)
  const v6 = await listen(t, '::1', v4.port, answer).catch(() => undefined)
  const visitsV6 = () => v6?.visits() ?? 0
  return Object.assign(internal, {
    port: v4.port,
    hasIPv6: v6 !== undefined,
    visitsV6,
    visits: () => v4.visits() + visitsV6(),
  })
}

async function listen(
  t: TestContext,
  host: string,
  port: number,
  answer: (socket: Socket) => unknown,
) {
  let visits = 0
  const server: Server = createServer((socket) => {
    visits++
    socket.on('error', () => {}).once('data', () => answer(socket))
  })
  server.listen({ host, port, ipv6Only: true })
  await once(server, 'listening')
  t.after(() => server.close())
  return { port: (server.address() as AddressInfo).port, visits: () => visits }
}
