import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { resolveHost } from './dns.ts'

const never = new AbortController().signal
const [typeA, typeAAAA, serverFailure, nameError] = [1, 28, 2, 3]

test('returns all addresses of a name, IPv4 first', async (t) => {
  const { servers, queries } = await nameServer(t, (_, type) =>
    type === typeA ? ['93.184.215.14', '127.0.0.1'] : ['20010db8000000000000000000000001'],
  )
  assert.deepEqual(await resolveHost('talks.example.org', never, servers), [
    '93.184.215.14',
    '127.0.0.1',
    '2001:db8::1',
  ])
  assert.deepEqual(new Set(queries), new Set(['talks.example.org']))
})

test('returns the addresses of one family if the query for the other fails', async (t) => {
  const only4 = await nameServer(t, (_, type) => (type === typeA ? ['93.184.215.14'] : []))
  assert.deepEqual(await resolveHost('talks.example.org', never, only4.servers), ['93.184.215.14'])
  const failing = await nameServer(t, (_, type) =>
    type === typeA ? serverFailure : ['20010db8000000000000000000000001'],
  )
  assert.deepEqual(await resolveHost('talks.example.org', never, failing.servers), ['2001:db8::1'])
})

test('returns no address for a name that does not exist', async (t) => {
  const { servers, queries } = await nameServer(t, (name) =>
    name.startsWith('empty') ? [] : nameError,
  )
  for (const name of [
    'nobody.example.org',
    'empty.example.org',
    `${'a'.repeat(64)}.example.org`,
    'a..example.org',
  ])
    assert.deepEqual(await resolveHost(name, never, servers), [], name)
  // Neither search domains nor /etc/hosts are used.
  assert.deepEqual(await resolveHost('nobody', never, servers), [])
  assert.deepEqual(await resolveHost('localhost', never, servers), [])
  assert.deepEqual(new Set(queries.slice(-4)), new Set(['nobody', 'localhost']))
})

test('rejects if the name server fails', async (t) => {
  const { servers } = await nameServer(t, () => serverFailure)
  await assert.rejects(resolveHost('talks.example.org', never, servers), { code: 'ESERVFAIL' })
})

test('an aborted lookup rejects', async (t) => {
  const { servers } = await nameServer(t, () => undefined)
  const start = performance.now()
  await assert.rejects(resolveHost('talks.example.org', AbortSignal.timeout(100), servers), {
    code: 'ECANCELLED',
  })
  assert.ok(performance.now() - start < 10_000)
})

/**
 * Starts a name server. `respond` returns the addresses for a name and a record type (IPv6 in
 * hexadecimal), an error code, or undefined for no response.
 */
async function nameServer(
  t: TestContext,
  respond: (name: string, type: number) => string[] | number | undefined,
) {
  const queries: string[] = []
  const socket = createSocket('udp4')
  socket.on('message', (message, { port, address }) => {
    let end = 12
    const labels: string[] = []
    for (let size = message.readUInt8(end); size > 0; size = message.readUInt8(end)) {
      labels.push(message.toString('latin1', end + 1, end + 1 + size))
      end += 1 + size
    }
    const type = message.readUInt16BE(end + 1)
    const name = labels.join('.')
    queries.push(name)
    const answers = respond(name, type)
    if (answers === undefined) return
    const addresses = typeof answers === 'number' ? [] : answers
    const head = Buffer.alloc(12)
    message.copy(head, 0, 0, 2)
    const counts = [0x8180 + (typeof answers === 'number' ? answers : 0), 1, addresses.length]
    for (const [index, value] of counts.entries()) head.writeUInt16BE(value, 2 + 2 * index)
    const records = addresses.map((ip) => {
      const data =
        type === typeAAAA ? Buffer.from(ip, 'hex') : Buffer.from(ip.split('.').map(Number))
      // The name is the one at byte 12; class IN, 60 seconds.
      return Buffer.concat([
        Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 60, 0, data.length]),
        data,
      ])
    })
    socket.send(Buffer.concat([head, message.subarray(12, end + 5), ...records]), port, address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  t.after(() => socket.close())
  return { servers: [`127.0.0.1:${socket.address().port}`], queries }
}
