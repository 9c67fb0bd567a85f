import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import sql from 'sql-template-tag'
import { createApp } from '../../server/app.ts'
import { readConfig } from '../../server/config.ts'
import { openPool } from '../../server/platform/db/pool.ts'
import { startCuttingProxy } from '../support/cutting-proxy.ts'
import { freshDatabase } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
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
    'http_request_duration_seconds_count{method="GET",route="/api/v2/video/{id}",status="200"} 3',
    'http_request_duration_seconds_count{method="POST",route="/api/v2/video",status="201"} 1',
    'talkshelf_record_reads_total{from="memory"}',
    'talkshelf_database_connections{pool="main",state="idle"}',
    'talkshelf_database_connections_max{pool="searches"} 2',
    'talkshelf_database_requests_waiting{pool="lookups"} 0',
    'talkshelf_database_up 1',
    'talkshelf_jobs_pending{queue="imports"} 0',
    'talkshelf_job_failures_total{queue="publications"} 0',
    'talkshelf_webhook_attempts_total{outcome="delivered"} 0',
    'talkshelf_build_info{version="',
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
  const metricsBegan = performance.now()
  const metricsStalls = measureStalls(server.url)
  const metrics = await call(server.url, 'GET', '/metrics')
  const metricsMs = performance.now() - metricsBegan - (await metricsStalls.stop())
  assert.equal(metrics.status, 200)
  assert.match(metrics.text, /^talkshelf_database_up 0$/m)
  // Prometheus waits for 10 s, and the primary process for 5 s.
  assert.ok(metricsMs < 5000, `the metrics took ${metricsMs} ms`)
  proxy.hold(false)
  const restoredMs = performance.now()
  while ((await call(server.url, 'GET', '/readyz')).status !== 200)
    assert.ok(performance.now() - restoredMs < 60_000, 'not ready a minute later')
  assert.equal(
    (await call(server.url, 'PATCH', path, { token: archive.editor, body: { summary: 'y' } }))
      .status,
    200,
  )
  assert.match((await call(server.url, 'GET', '/metrics')).text, /^talkshelf_database_up 1$/m)
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

test('refuses searches of a client that sends too many, and runs those of others', async () => {
  const server = await spawnServer({
    DATABASE_URL: archive.databaseUrl,
    ANSWER_SECONDS: '3',
    PROXIES: '1',
  })
  const search = (client: string) =>
    call(server.url, 'GET', '/api/v2/video?q=talk', { headers: { 'x-forwarded-for': client } })
  // While the searched table is locked, the first search has the turn until its deadline.
  const { other, replies } = await archive.pool.transaction(async (tx) => {
    await tx.run(sql`lock table video_search in access exclusive mode`)
    const searches = Array.from({ length: 8 }, () => search('192.0.2.1'))
    return { other: await search('192.0.2.2'), replies: await Promise.all(searches) }
  })
  assert.equal(other.json.errors[0].code, 'too-expensive', 'it was not refused')
  const refused = replies.filter(({ status }) => status === 503)
  assert.ok(refused.length >= 5, `${refused.length} of 8 searches were refused`)
  for (const { headers, json } of refused) {
    assert.equal(headers['retry-after'], '2')
    assert.equal(json.detail, 'Too many searches are running; try again in a moment')
  }
  const { text } = await call(server.url, 'GET', '/metrics')
  assert.match(text, new RegExp(`talkshelf_searches_refused_total ${refused.length}\\b`))
  await until('the turn to end', async () => (await search('192.0.2.1')).status === 200)
  await server.stop()
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
  const port = String(await freePort())
  const child = spawn(process.execPath, [program, 'serve', '--processes', '2'], {
    cwd: root,
    env: {
      ...process.env,
      DATABASE_URL: database.url,
      PORT: port,
      DRAIN_SECONDS: '0',
      ANSWER_SECONDS: '30',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  after(() => child.kill('SIGKILL'))
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data))
  const url = `http://127.0.0.1:${port}`
  const listening = () =>
    new Set([...output.matchAll(/"pid":(\d+).*Server listening/g)].map(([, pid]) => Number(pid)))
  const untilListening = (count: number) =>
    until(`${count} processes to have listened`, () => {
      assert.equal(listening().size, count, output)
      return true
    })
  await untilListening(2)
  for (let times = 0; times < 40; times++)
    assert.equal(
      (await call(url, 'GET', '/api/v2/video/1', { headers: { connection: 'close' } })).status,
      404,
    )
  const { text } = await call(url, 'GET', '/metrics')
  const labels = 'method="GET",route="/api/v2/video/{id}",status="404"'
  assert.ok(text.includes(`http_request_duration_seconds_count{${labels}} 40`), text)

  process.kill([...listening()][0] as number, 'SIGKILL')
  await untilListening(3)
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

test('metrics are for the same machine, or for those who have the token', async () => {
  const forwarded = { headers: { 'x-forwarded-for': '203.0.113.7' } }
  assert.equal((await archive.call('GET', '/metrics', forwarded)).status, 403)
  const metricsToken = 'a-token-of-metrics'
  const server = await spawnServer({
    DATABASE_URL: archive.databaseUrl,
    METRICS_TOKEN: metricsToken,
  })
  const read = (authorization?: string) =>
    call(server.url, 'GET', '/metrics', { headers: { ...(authorization && { authorization }) } })
  assert.equal((await read()).status, 401)
  assert.equal((await read(`Bearer ${metricsToken}x`)).status, 401)
  assert.equal((await read(`Bearer ${metricsToken}`)).status, 200)
})

test('reads secrets from files, and writes the log as text', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'talkshelf-secrets-'))
  after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'database')
  writeFileSync(file, `${archive.databaseUrl}\n`)
  const settings = { DATABASE_URL: '', DATABASE_URL_FILE: file }
  const listed = await runCommand(['token', 'list'], settings)
  assert.equal(listed.code, 0, listed.stderr)
  const both = await runCommand(['token', 'list'], { ...settings, DATABASE_URL: 'postgres://x/y' })
  assert.match(both.stderr, /DATABASE_URL and DATABASE_URL_FILE are both set/)
  const missing = await runCommand(['token', 'list'], {
    ...settings,
    DATABASE_URL_FILE: join(folder, 'missing'),
  })
  assert.match(missing.stderr, /DATABASE_URL_FILE cannot be read: ENOENT/)
  const server = await spawnServer({ DATABASE_URL: archive.databaseUrl, LOG_FORMAT: 'text' })
  let output = ''
  server.process.stdout?.on('data', (data) => (output += data))
  await call(server.url, 'GET', '/api/v2/video/999999')
  await until('the line of the request', async () =>
    /^\S+Z INFO request completed .*method=GET url=\/api\/v2\/video\/999999 status=404/m.test(
      output,
    ),
  )
})
