import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { parseOutboundUrl } from './guard.ts'
import { hostileAddresses } from './hostile-addresses.ts'
import { fetchOutbound, OutboundError, type OutboundOptions } from './outbound.ts'

const limits = {
  maxBytes: 1000,
  timeoutMs: 30_000,
  quietMs: 5000,
  userAgent: 'Talkshelf/test (+https://talks.example.org)',
}
const everywhereInside = async () => ['127.0.0.1', '::1']

test('no address that leads inside is visited', async (t) => {
  const inside = await listenInside(t)
  let tried = 0
  for (const [kind, addresses] of Object.entries(hostileAddresses))
    for (const address of addresses) {
      tried++
      // With the port open, the address alone has to give it away; but for those that are about the
      // port.
      const ports = kind === 'other ports' ? {} : { ports: [80, 443, inside.port] }
      const refusal = await refused(withPort(address, inside.port), {
        ...limits,
        ...ports,
        lookup: everywhereInside,
      })
      assert.equal(
        refusal.code,
        'address-refused',
        `${kind}: ${JSON.stringify(address)}: ${refusal.message}`,
      )
    }
  assert.ok(tried >= 150, `${tried} addresses`)
  assert.equal(inside.visits(), 0)
})

test('the same addresses would lead inside if the wall were open', async (t) => {
  const inside = await listenInside(t)
  const isAllowed = (ip: string) => ip === '127.0.0.1' || ip === '::1' || ip === '::ffff:7f00:1'
  const options = { ...limits, ports: [inside.port], isAllowed, lookup: everywhereInside }
  for (const address of Object.values(hostileAddresses).flat())
    await fetchOutbound(withPort(address, inside.port), options).then(
      (file) => file.close(),
      () => {},
    )
  assert.ok(inside.visits() >= 50, `${inside.visits()} visits`)
})

test('no redirect leads inside', async (t) => {
  const inside = await listenInside(t)
  let location = ''
  const outside = await listen(t, '127.0.0.1', 0, (socket) =>
    socket.end(`HTTP/1.1 302 Found\r\nLocation: ${location}\r\n\r\n`),
  )
  const options = {
    ...limits,
    ports: [80, 443, outside.port, inside.port],
    isAllowed: (_: string, port: number) => port === outside.port,
    lookup: everywhereInside,
  }
  const targets = Object.values(hostileAddresses)
    .flat()
    .filter((address) => !/[\r\n\0]/.test(address))
  for (const target of targets) {
    location = withPort(target, inside.port)
    const before = outside.visits()
    await refused(`http://127.0.0.1:${outside.port}/`, options)
    assert.ok(outside.visits() > before)
  }
  assert.equal(inside.visits(), 0)
})

test('a name that stands for something inside the second time leads nowhere', async (t) => {
  const inside = await listenInside(t)
  if (!inside.hasIPv6) return t.skip('there is no IPv6 on this machine')
  // To the rule, 127.0.0.1 is outside here, and ::1 is inside. Both listen on the same port.
  const lookups: string[][] = []
  const options = {
    ...limits,
    ports: [inside.port],
    isAllowed: (ip: string) => ip === '127.0.0.1',
    lookup: async () => {
      lookups.push(lookups.length === 0 ? ['127.0.0.1'] : ['::1'])
      return lookups.at(-1) ?? []
    },
  }
  const address = `http://rebinding.example.org:${inside.port}/`
  inside.answer = (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\noutside')
  const file = await fetchOutbound(address, options)
  assert.equal(await text(file.body), 'outside')
  assert.equal(lookups.length, 1, 'one connection, one look at the name')

  for (const [how, answer] of Object.entries<(socket: Socket) => void>({
    'by a redirect to itself': (socket) =>
      socket.end(`HTTP/1.1 302 Found\r\nLocation: ${address}\r\n\r\n`),
    'by hanging up': (socket) => socket.destroy(),
    'by asking to try again': (socket) =>
      socket.end('HTTP/1.1 503 No\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n'),
    'by a redirect to a neighbour': (socket) =>
      socket.end(
        `HTTP/1.1 307 Found\r\nLocation: http://other.example.org:${inside.port}/\r\n\r\n`,
      ),
  })) {
    lookups.length = 0
    inside.answer = answer
    await refused(address, options)
    assert.equal(inside.visitsV6(), 0, how)
  }
})

test('a name with one address outside and one inside is refused as a whole', async (t) => {
  const inside = await listenInside(t)
  const options = { ...limits, ports: [inside.port] }
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
        await refused(`http://both.example.org:${inside.port}/`, {
          ...options,
          lookup: async () => answer,
        })
      ).code,
      'address-refused',
    )
  assert.equal(inside.visits(), 0)
})

test('an answer of the name server that is no address is never looked up again, whatever the rule says', async (t) => {
  const inside = await listenInside(t)
  const options = {
    ...limits,
    ports: [inside.port],
    isAllowed: () => true,
    lookup: async () => ['localhost'],
  }
  assert.equal(
    (await refused(`http://talks.example.org:${inside.port}/`, options)).code,
    'address-refused',
  )
  assert.equal(inside.visits(), 0)
})

test('a refusal says what is wrong with the address', () => {
  for (const [address, words] of [
    ['ftp://example.org/', /starts with https:\/\//],
    ['talks.csv', /starts with https:\/\//],
    ['http://', /starts with https:\/\//],
    ['http://ada:secret@example.org/', /user name or a password/],
    ['http://ada@example.org/', /user name or a password/],
    ['http://:secret@example.org/', /user name or a password/],
    ['http://example.org:8080/', /Port 8080 is not asked, only 80 and 443/],
    ['https://example.org/a\tb', /a space, a line end or a backslash/],
    ['https://example.org\\a', /a space, a line end or a backslash/],
    ['https://example.org/a b', /a space, a line end or a backslash/],
    [`https://example.org/${'a'.repeat(2048)}`, /more than 2048 characters/],
  ] as const)
    assert.throws(
      () => parseOutboundUrl(address, {}),
      { name: 'OutsideError', code: 'address-refused', message: words },
      address,
    )
  for (const [address, read] of [
    [' https://example.org ', 'https://example.org/'],
    ['http://example.org:80/a%20b?c#d', 'http://example.org/a%20b?c'],
    ['https://example.org.:443/', 'https://example.org/'],
    ['https://bücher.example/', 'https://xn--bcher-kva.example/'],
  ] as const)
    assert.equal(parseOutboundUrl(address, {}).href, read)
})

test('nobody is asked for a name that can only mean something inside', async () => {
  const asked: string[] = []
  const lookup = async (name: string) => {
    asked.push(name)
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
    assert.equal((await refused(`http://${host}/`, { ...limits, lookup })).code, 'address-refused')
  await refused('http://talks.example.org./', { ...limits, lookup })
  assert.deepEqual(asked, ['talks.example.org'])
})

test('a refusal does not tell what is inside', async () => {
  const there = await refused('http://inside.example.org/', {
    ...limits,
    lookup: async () => ['10.1.2.3'],
  })
  const notThere = await refused('http://inside.example.org/', {
    ...limits,
    lookup: async () => [],
  })
  assert.equal(there.message, notThere.message)
  assert.equal(there.code, notThere.code)
  assert.ok(!there.message.includes('10.1.2.3') && there.cause === undefined)
})

test('when one address of a name does not answer, the next is asked', async (t) => {
  const outside = await listen(t, '127.0.0.1', 0, (socket) =>
    socket.end('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhere'),
  )
  const options = { ...limits, ports: [outside.port], isAllowed: () => true }
  const file = await fetchOutbound(`http://talks.example.org:${outside.port}/`, {
    ...options,
    lookup: async () => ['127.0.0.9', '127.0.0.1'],
  })
  assert.equal(await text(file.body), 'here')
  const nobody = await refused(`http://talks.example.org:${outside.port}/`, {
    ...options,
    lookup: async () => ['127.0.0.9', '127.0.0.8'],
  })
  assert.equal(nobody.code, 'unreachable')
})

test('a name server that does not answer is not waited for, and one that fails may be asked later', async () => {
  for (const limit of [{ quietMs: 100 }, { timeoutMs: 100 }]) {
    let asking: AbortSignal | undefined
    const lookup = (_: string, signal: AbortSignal) => {
      asking = signal
      return new Promise<string[]>(() => {})
    }
    const start = performance.now()
    const silent = await refused('http://talks.example.org/', {
      ...limits,
      timeoutMs: 60_000,
      quietMs: 60_000,
      lookup,
      ...limit,
    })
    assert.equal(silent.code, 'too-slow')
    assert.ok(asking?.aborted && performance.now() - start < 30_000)
  }
  const failure = Object.assign(new Error('queryA ESERVFAIL'), { code: 'ESERVFAIL' })
  const failing = await refused('http://talks.example.org/', {
    ...limits,
    lookup: () => Promise.reject(failure),
  })
  assert.equal(failing.code, 'unreachable')
})

test('a proxy that the environment names is not asked', async (t) => {
  const proxy = await listen(t, '127.0.0.1', 0, (socket) => socket.destroy())
  const outside = await listen(t, '127.0.0.1', 0, (socket) =>
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
  const isAllowed = (_: string, port: number) => port === outside.port
  const file = await fetchOutbound(`http://127.0.0.1:${outside.port}/`, {
    ...limits,
    ports: [outside.port],
    isAllowed,
  })
  assert.equal(await text(file.body), 'direct')
  assert.equal(proxy.visits(), 0)
})

async function refused(address: string, options: OutboundOptions): Promise<OutboundError> {
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

/**
 * Somebody who listens on this machine, on IPv4 and, where there is one, on the same port of IPv6.
 */
async function listenInside(t: TestContext) {
  const inside = {
    answer: (socket: Socket): unknown =>
      socket.end('HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\ninside'),
  }
  const answer = (socket: Socket) => inside.answer(socket)
  const v4 = await listen(t, '127.0.0.1', 0, answer)
  const v6 = await listen(t, '::1', v4.port, answer).catch(() => undefined)
  const visitsV6 = () => v6?.visits() ?? 0
  return Object.assign(inside, {
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
