import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createApp } from '../../server/app.ts'
import { readConfig } from '../../server/config.ts'
import { openPool } from '../../server/platform/db/pool.ts'
import { startCuttingProxy } from '../support/cutting-proxy.ts'
import { freshDatabase } from '../support/database.ts'
import { call, program, root, runCommand, spawnServer, startArchive } from '../support/harness.ts'
import { until } from '../support/until.ts'

// Health checks, metrics, logs, limits and process management.

const archive = await startArchive({ POINTS_PER_MINUTE: '1000000' })
const shortTimeoutArchive = await startArchive({ ANSWER_SECONDS: '3' })

test('serves health, readiness and metrics', async () => {
  const { id } = await archive.make()
  for (let times = 0; times < 3; times++) await archive.call('GET', `/api/v2/video/${id}`)
  assert.deepEqual((await archive.call('GET', '/healthz')).json, { status: 'alive' })
  assert.deepEqual((await archive.call('GET', '/readyz')).json, { status: 'ready' })
  const { text, headers } = await archive.call('GET', '/metrics')
  assert.match(String(headers['content-type']), /^text\/plain; version=0\.0\.4/)
  for (const metric of [
    'talkshelf_request_seconds_count{endpoint="readVideo",status="200"} 3',
    'talkshelf_request_seconds_count{endpoint="createVideo",status="201"} 1',
    'talkshelf_record_reads_total{from="memory"}',
    'talkshelf_database_connections{state="idle"}',
    'nodejs_eventloop_lag_seconds',
    'process_resident_memory_bytes',
  ])
    assert.ok(text.includes(metric), `${metric} is missing from the metrics`)
})

test('sends and logs the request id and logs no secrets', async () => {
  const lines: string[] = []
  const config = readConfig({ DATABASE_URL: archive.databaseUrl })
  const pool = openPool({ url: archive.databaseUrl, connections: 2, applicationName: 'log' })
  const app = createApp(config, pool, {
    level: 'trace',
    stream: { write: (line) => lines.push(line) },
  })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  try {
    const reply = await call(url, 'GET', '/api/v2/video/999', { token: archive.editor })
    const id = String(reply.headers['x-request-id'])
    assert.equal(reply.json.instance, `urn:uuid:${id}`)
    const logged = lines
      .map((line) => JSON.parse(line))
      .find((line) => line.reqId === id && line.msg === 'request completed')
    assert.deepEqual(
      [logged?.method, logged?.url, logged?.status],
      ['GET', '/api/v2/video/999', 404],
    )
    assert.ok(!lines.join('').includes(archive.editor), 'the token is in the log')
    for (const path of ['/healthz', '/readyz', '/metrics']) {
      await call(url, 'GET', path)
      const probe = await until(`${path} in the log`, () =>
        lines.map((line) => JSON.parse(line)).find((line) => line.url === path),
      )
      assert.equal(probe.level, 20, 'a probe is logged at debug')
    }
  } finally {
    await app.close()
    await pool.close()
  }
})

test('charges 1 point for a read, 5 for a list, 10 for a write and none for a 304', async () => {
  const limited = await startArchive({ POINTS_PER_MINUTE: '100' })
  const remaining = (headers: Record<string, unknown>) =>
    Number(/r=(\d+)/.exec(String(headers.ratelimit))?.[1])
  // Editors are counted by their token, readers by their IP address.
  const made = await limited.call('POST', '/api/v2/video', {
    token: limited.editor,
    body: { title: 'x', category: 'Example Days 2026', language: 'en', state: 1 },
  })
  assert.equal(remaining(made.headers), 80, 'two writes, the category and this')
  assert.equal(
    remaining((await limited.call('GET', '/api/v2/video?q=x', { token: limited.editor })).headers),
    75,
    'a search is five times a read',
  )
  assert.equal(made.headers['ratelimit-policy'], '"default";q=100;w=60')
  const path = `/api/v2/video/${made.json.id}`
  const first = await limited.call('GET', path)
  assert.equal(remaining(first.headers), 99)
  for (let times = 0; times < 300; times++)
    assert.equal(
      (
        await limited.call('GET', path, {
          headers: { 'if-none-match': String(first.headers.etag) },
        })
      ).status,
      304,
    )
  const statuses: number[] = []
  for (let times = 0; times < 110; times++) statuses.push((await limited.call('GET', path)).status)
  // Points are refilled continuously: on a slow machine the next request may succeed.
  let refused = await limited.call('GET', path)
  for (let tries = 0; tries < 300 && refused.status === 200; tries++)
    refused = await limited.call('GET', path)
  assert.ok(statuses.filter((status) => status === 200).length >= 95)
  assert.equal(refused.status, 429)
  assert.ok(Number(refused.headers['retry-after']) >= 1)
  assert.equal(refused.json.type, `${limited.url}/api/problems/too-many-requests`)
  assert.equal((await limited.call('GET', '/healthz')).status, 200)
})

test('answers within 3 s without the database and recovers when it is back', async () => {
  const direct = new URL(archive.databaseUrl)
  const proxy = await startCuttingProxy(direct.hostname, Number(direct.port))
  after(() => proxy.close())
  const proxied = new URL(archive.databaseUrl)
  proxied.port = String(proxy.port)
  const server = await spawnServer({ DATABASE_URL: proxied.href, ANSWER_SECONDS: '3' })
  const { id } = await archive.make()
  const path = `/api/v2/video/${id}`
  assert.equal((await call(server.url, 'GET', path)).status, 200)
  proxy.hold(true)
  // Longer than a cached record may be served, see `maxStaleMs`.
  await sleep(1100)
  assert.equal((await call(server.url, 'GET', '/healthz')).status, 200)
  const began = performance.now()
  const stalls = measureStalls(server.url)
  const replies = await Promise.all([
    ...Array.from({ length: 30 }, () => call(server.url, 'GET', path)),
    ...Array.from({ length: 30 }, () =>
      call(server.url, 'PATCH', path, { token: archive.editor, body: { summary: 'x' } }),
    ),
    call(server.url, 'GET', '/readyz'),
  ])
  const tookMs = performance.now() - began
  const stalledMs = await stalls.stop()
  assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([503]))
  assert.ok(
    tookMs - stalledMs < 3000,
    `it took ${tookMs} ms, of which the machine stalled for ${stalledMs} ms`,
  )
  for (const { json } of replies.slice(30, 60))
    assert.equal(json.outcome, 'not-applied', 'the token was not even looked up')
  proxy.hold(false)
  const restoredMs = performance.now()
  while ((await call(server.url, 'GET', '/readyz')).status !== 200)
    assert.ok(performance.now() - restoredMs < 60_000, 'not ready a minute later')
  assert.equal(
    (await call(server.url, 'PATCH', path, { token: archive.editor, body: { summary: 'y' } }))
      .status,
    200,
  )
  await server.stop()
})

test('rejects requests above the concurrency limit with Retry-After', async () => {
  const small = await spawnServer({ DATABASE_URL: archive.databaseUrl, REQUESTS_AT_ONCE: '5' })
  const refused = await until('a refused request', async () => {
    const replies = await Promise.all(
      Array.from({ length: 200 }, () =>
        call(small.url, 'GET', '/api/v2/category/example-days-2026'),
      ),
    )
    assert.ok(replies.some(({ status }) => status === 200))
    const busy = replies.filter(({ status }) => status === 503)
    return busy.length > 0 && busy
  })
  assert.ok(
    refused.every(
      ({ headers, json }) => headers['retry-after'] === '2' && json.type.endsWith('/unavailable'),
    ),
  )
  assert.equal((await call(small.url, 'GET', '/api/v2/category/example-days-2026')).status, 200)
  await small.stop()
})

test('frees the slot of a client that disconnects before the response', async () => {
  const small = await spawnServer({ DATABASE_URL: archive.databaseUrl, REQUESTS_AT_ONCE: '5' })
  const { id } = await archive.make()
  const requests = [
    `GET /api/v2/video/${id} HTTP/1.1\r\nhost: x\r\n\r\n`,
    `GET /api/v2/video/${id}?format=json HTTP/1.1\r\nhost: x\r\n\r\n`,
    `GET /api/v2/video/${id} HTTP/1.1\r\nhost: x\r\nauthorization: Token ${archive.editor}\r\n\r\n`,
    `PATCH /api/v2/video/${id} HTTP/1.1\r\nhost: x\r\nauthorization: Token ${archive.editor}\r\n` +
      'content-type: application/json\r\ncontent-length: 100\r\n\r\n{',
  ]
  for (const request of requests) {
    await Promise.all(Array.from({ length: 10 }, () => sendAndReset(small.url, request)))
    // A busy machine notices a disconnect late, but a leaked slot never comes back.
    const began = performance.now()
    while ((await call(small.url, 'GET', `/api/v2/video/${id}?format=json`)).status !== 200)
      assert.ok(performance.now() - began < 60_000, `no free slot after a minute: ${request}`)
  }
  await small.stop()
})

test('accepts a body that takes longer than the response timeout', async () => {
  const { id } = await shortTimeoutArchive.make()
  const { port } = new URL(shortTimeoutArchive.url)
  const body = JSON.stringify({ summary: 'Slowly' })
  const socket = connect(Number(port), '127.0.0.1')
  const head = [
    `PATCH /api/v2/video/${id} HTTP/1.1`,
    'host: x',
    `authorization: Token ${shortTimeoutArchive.editor}`,
    'content-type: application/json',
    `content-length: ${body.length}`,
    'connection: close',
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\n${body.slice(0, 5)}`)
  await sleep(3200)
  socket.write(body.slice(5))
  const chunks: Buffer[] = []
  for await (const chunk of socket) chunks.push(chunk)
  assert.match(Buffer.concat(chunks).toString('latin1'), /^HTTP\/1\.1 200 /)
})

async function sendAndReset(url: string, text: string): Promise<void> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  await once(socket, 'connect')
  await new Promise((resolve) => socket.write(text, resolve))
  await sleep(20)
  socket.resetAndDestroy()
}

test('shares a port, replaces a dead process, merges metrics and stops on a signal', {
  timeout: 300_000,
}, async (t) => {
  const database = await freshDatabase(t)
  const port = String(20_000 + (process.pid % 20_000))
  const child = spawn(process.execPath, [program, 'serve', '--processes', '2'], {
    cwd: root,
    env: { ...process.env, DATABASE_URL: database.url, PORT: port, DRAIN_SECONDS: '0' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  after(() => child.kill('SIGKILL'))
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data))
  const url = `http://127.0.0.1:${port}`
  const until = async (condition: () => boolean | Promise<boolean>) => {
    for (const began = performance.now(); !(await condition()); await sleep(50))
      assert.ok(performance.now() - began < 20_000, output)
  }
  const listening = () =>
    new Set([...output.matchAll(/"pid":(\d+).*Server listening/g)].map(([, pid]) => Number(pid)))
  await until(() => listening().size === 2)
  for (let times = 0; times < 40; times++)
    assert.equal(
      (await call(url, 'GET', '/api/v2/video/1', { headers: { connection: 'close' } })).status,
      404,
    )
  const { text } = await call(url, 'GET', '/metrics')
  assert.match(text, /talkshelf_request_seconds_count\{endpoint="readVideo",status="404"\} 40/)

  process.kill([...listening()][0] as number, 'SIGKILL')
  await until(() => listening().size === 3)
  assert.equal((await call(url, 'GET', '/readyz')).status, 200)
  child.kill('SIGTERM')
  const [code] = await once(child, 'exit')
  assert.equal(code, 0)
  await assert.rejects(call(url, 'GET', '/healthz'))
})

test('prints the effective settings without the password', async () => {
  const { stdout, code } = await runCommand(['config'], {
    DATABASE_URL: 'postgres://u:hunter2@db.example.org/x?password=hunter2',
    PORT: '9',
    PUBLIC_URL: '',
  })
  assert.equal(code, 0)
  assert.ok(!stdout.includes('hunter2'))
  assert.match(stdout, /^DATABASE_URL=postgres:\/\/u:\*\*\*@db\.example\.org\/x\?password=\*\*\*$/m)
  assert.match(stdout, /^PORT=9$/m)
})

/** Measures how long even trivial requests are delayed: that time is the machine's fault. */
function measureStalls(url: string) {
  let isStopped = false
  let stalledMs = 0
  const watching = (async () => {
    while (!isStopped) {
      const began = performance.now()
      await sleep(20)
      await call(url, 'GET', '/healthz')
      stalledMs += Math.max(0, performance.now() - began - 100)
    }
    return stalledMs
  })()
  return {
    stop: () => {
      isStopped = true
      return watching
    },
  }
}
