import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { resolveHost } from './dns.ts'

const never = new AbortController().signal
const [v4, v6, failed, missing] = [1, 28, 2, 3]

test('a name has all the addresses that its servers give, IPv4 first', async (t) => {
  const { servers, asked } = await nameServer(t, (_, type) =>
    type === v4 ? ['93.184.215.14', '127.0.0.1'] : ['20010db8000000000000000000000001'],
  )
  assert.deepEqual(await resolveHost('talks.example.org', never, servers), [
    '93.184.215.14',
    '127.0.0.1',
    '2001:db8::1',
  ])
  assert.deepEqual(new Set(asked), new Set(['talks.example.org']))
})

test('a name with addresses of one kind is as good, even when the server fails at the other', async (t) => {
  const only4 = await nameServer(t, (_, type) => (type === v4 ? ['93.184.215.14'] : []))
  assert.deepEqual(await resolveHost('talks.example.org', never, only4.servers), ['93.184.215.14'])
  const failing = await nameServer(t, (_, type) =>
    type === v4 ? failed : ['20010db8000000000000000000000001'],
  )
  assert.deepEqual(await resolveHost('talks.example.org', never, failing.servers), ['2001:db8::1'])
})

test('a name that nobody has, has no address', async (t) => {
  const { servers, asked } = await nameServer(t, (name) =>
    name.startsWith('empty') ? [] : missing,
  )
  for (const name of [
    'nobody.example.org',
    'empty.example.org',
    `${'a'.repeat(64)}.example.org`,
    'a..example.org',
  ])
    assert.deepEqual(await resolveHost(name, never, servers), [], name)
  // With a domain of our own added, it would be another name; and the file of hosts would have
  // known the last one.
  assert.deepEqual(await resolveHost('nobody', never, servers), [])
  assert.deepEqual(await resolveHost('localhost', never, servers), [])
  assert.deepEqual(new Set(asked.slice(-4)), new Set(['nobody', 'localhost']))
})

test('a name server that fails is a failure, and no missing name', async (t) => {
  const { servers } = await nameServer(t, () => failed)
  await assert.rejects(resolveHost('talks.example.org', never, servers), { code: 'ESERVFAIL' })
})

test('whoever waits for a name server can stop', async (t) => {
  const { servers } = await nameServer(t, () => undefined)
  const start = performance.now()
  await assert.rejects(resolveHost('talks.example.org', AbortSignal.timeout(100), servers), {
    code: 'ECANCELLED',
  })
  assert.ok(performance.now() - start < 10_000)
})

/**
 * Answers by the name and the type that is asked for: addresses (of IPv6 in hexadecimal), a kind of
 * failure, or nothing at all.
 */
async function nameServer(
  t: TestContext,
  answer: (name: string, type: number) => string[] | number | undefined,
) {
  const asked: string[] = []
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
    asked.push(name)
    const answers = answer(name, type)
    if (answers === undefined) return
    const addresses = typeof answers === 'number' ? [] : answers
    const head = Buffer.alloc(12)
    message.copy(head, 0, 0, 2)
    const counts = [0x8180 + (typeof answers === 'number' ? answers : 0), 1, addresses.length]
    for (const [index, value] of counts.entries()) head.writeUInt16BE(value, 2 + 2 * index)
    const records = addresses.map((ip) => {
      const data = type === v6 ? Buffer.from(ip, 'hex') : Buffer.from(ip.split('.').map(Number))
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
  return { servers: [`127.0.0.1:${socket.address().port}`], asked }
}
