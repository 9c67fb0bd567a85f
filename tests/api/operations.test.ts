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

// What the people and machines that run an archive rely on.

const archive = await startArchive({ POINTS_PER_MINUTE: '1000000' })
const hurried = await startArchive({ ANSWER_SECONDS: '3' })

test('health, readiness and figures are there', async () => {
  const { id } = await archive.make()
  for (let times = 0; times < 3; times++) await archive.call('GET', `/api/v2/video/${id}`)
  assert.deepEqual((await archive.call('GET', '/healthz')).json, { status: 'alive' })
  assert.deepEqual((await archive.call('GET', '/readyz')).json, { status: 'ready' })
  const { text, headers } = await archive.call('GET', '/metrics')
  assert.match(String(headers['content-type']), /^text\/plain; version=0\.0\.4/)
  for (const figure of [
    'talkshelf_request_seconds_count{endpoint="readVideo",status="200"} 3',
    'talkshelf_request_seconds_count{endpoint="createVideo",status="201"} 1',
    'talkshelf_record_reads_total{from="memory"}',
    'talkshelf_database_connections{state="idle"}',
    'nodejs_eventloop_lag_seconds',
    'process_resident_memory_bytes',
  ])
    assert.ok(text.includes(figure), `${figure} is not among the figures`)
})

test('every answer has the id of its request, and the log has it too, with no secret', async () => {
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
      .find((line) => line.reqId === id && line.msg === 'answered')
    assert.deepEqual(
      [logged?.method, logged?.url, logged?.status],
      ['GET', '/api/v2/video/999', 404],
    )
    assert.ok(!lines.join('').includes(archive.editor), 'the token is in the log')
  } finally {
    await app.close()
    await pool.close()
  }
})

test('a caller has a share a minute: a list costs five times and writing ten times as much, an answer that nothing changed is free', async () => {
  const limited = await startArchive({ POINTS_PER_MINUTE: '100' })
  const left = (headers: Record<string, unknown>) =>
    Number(/r=(\d+)/.exec(String(headers.ratelimit))?.[1])
  // Editors are counted by their token, readers by their address.
  const made = await limited.call('POST', '/api/v2/video', {
    token: limited.editor,
    body: { title: 'x', category: 'Example Days 2026', language: 'en', state: 1 },
  })
  assert.equal(left(made.headers), 80, 'two writes, the category and this')
  assert.equal(
    left((await limited.call('GET', '/api/v2/video?q=x', { token: limited.editor })).headers),
    75,
    'a search is five times a read',
  )
  assert.equal(made.headers['ratelimit-policy'], '"default";q=100;w=60')
  const path = `/api/v2/video/${made.json.id}`
  const first = await limited.call('GET', path)
  assert.equal(left(first.headers), 99)
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
  // Points come back all the time: on a slow machine the next request may have one.
  let refused = await limited.call('GET', path)
  for (let tries = 0; tries < 300 && refused.status === 200; tries++)
    refused = await limited.call('GET', path)
  assert.ok(statuses.filter((status) => status === 200).length >= 95)
  assert.equal(refused.status, 429)
  assert.ok(Number(refused.headers['retry-after']) >= 1)
  assert.equal(refused.json.type, `${limited.url}/api/problems/too-many-requests`)
  assert.equal((await limited.call('GET', '/healthz')).status, 200)
})

test('with the database away every request is answered within 3 s; with it back, all is well by itself', async () => {
  const direct = new URL(archive.databaseUrl)
  const proxy = await startCuttingProxy(direct.hostname, Number(direct.port))
  after(() => proxy.close())
  const through = new URL(archive.databaseUrl)
  through.port = String(proxy.port)
  const server = await spawnServer({ DATABASE_URL: through.href, ANSWER_SECONDS: '3' })
  const { id } = await archive.make()
  const path = `/api/v2/video/${id}`
  assert.equal((await call(server.url, 'GET', path)).status, 200)
  proxy.hold(true)
  await sleep(1100)
  assert.equal((await call(server.url, 'GET', '/healthz')).status, 200)
  const began = performance.now()
  const machine = watchMachine(server.url)
  const replies = await Promise.all([
    ...Array.from({ length: 30 }, () => call(server.url, 'GET', path)),
    ...Array.from({ length: 30 }, () =>
      call(server.url, 'PATCH', path, { token: archive.editor, body: { summary: 'x' } }),
    ),
    call(server.url, 'GET', '/readyz'),
  ])
  const tookMs = performance.now() - began
  const stoodMs = await machine.stop()
  assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([503]))
  assert.ok(
    tookMs - stoodMs < 3000,
    `it took ${tookMs} ms, of which the machine stood still for ${stoodMs} ms`,
  )
  for (const { json } of replies.slice(30, 60))
    assert.equal(json.outcome, 'not-applied', 'the token was not even looked up')
  proxy.hold(false)
  const healed = performance.now()
  while ((await call(server.url, 'GET', '/readyz')).status !== 200)
    assert.ok(performance.now() - healed < 8000, 'not ready 8 s later')
  assert.equal(
    (await call(server.url, 'PATCH', path, { token: archive.editor, body: { summary: 'y' } }))
      .status,
    200,
  )
  await server.stop()
})

test('more requests than it can work on are refused at once, with when to come back', async () => {
  const small = await spawnServer({ DATABASE_URL: archive.databaseUrl, REQUESTS_AT_ONCE: '5' })
  const replies = await Promise.all(
    Array.from({ length: 200 }, () => call(small.url, 'GET', '/api/v2/category/example-days-2026')),
  )
  const refused = replies.filter(({ status }) => status === 503)
  assert.ok(refused.length > 0 && replies.some(({ status }) => status === 200))
  assert.ok(
    refused.every(
      ({ headers, json }) => headers['retry-after'] === '2' && json.type.endsWith('/unavailable'),
    ),
  )
  assert.equal((await call(small.url, 'GET', '/api/v2/category/example-days-2026')).status, 200)
  await small.stop()
})

test('whoever goes away before the answer takes nobody’s place', async () => {
  const small = await spawnServer({ DATABASE_URL: archive.databaseUrl, REQUESTS_AT_ONCE: '5' })
  const { id } = await archive.make()
  const ways = [
    `GET /api/v2/video/${id} HTTP/1.1\r\nhost: x\r\n\r\n`,
    `GET /api/v2/video/${id}?format=json HTTP/1.1\r\nhost: x\r\n\r\n`,
    `GET /api/v2/video/${id} HTTP/1.1\r\nhost: x\r\nauthorization: Token ${archive.editor}\r\n\r\n`,
    `PATCH /api/v2/video/${id} HTTP/1.1\r\nhost: x\r\nauthorization: Token ${archive.editor}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{`,
  ]
  for (const sent of ways) {
    await Promise.all(Array.from({ length: 10 }, () => sendAndReset(small.url, sent)))
    // A busy machine sees late that they have gone; a place that was lost never comes back.
    const began = performance.now()
    while ((await call(small.url, 'GET', `/api/v2/video/${id}?format=json`)).status !== 200)
      assert.ok(performance.now() - began < 10_000, `no place 10 s later: ${sent}`)
  }
  await small.stop()
})

test('a body may take longer to come than an answer may take', async () => {
  const { id } = await hurried.make()
  const { port } = new URL(hurried.url)
  const body = JSON.stringify({ summary: 'Slowly' })
  const socket = connect(Number(port), '127.0.0.1')
  const head = [
    `PATCH /api/v2/video/${id} HTTP/1.1`,
    'host: x',
    `authorization: Token ${hurried.editor}`,
    'content-type: application/json',
  ]
  socket.write(
    `${head.join('\r\n')}\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body.slice(0, 5)}`,
  )
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

test('several processes share a port; one that dies is replaced; the figures are those of all; a signal ends all of them', {
  timeout: 60_000,
}, async (t) => {
  const database = await freshDatabase(t)
  const port = String(20_000 + (process.pid % 20_000))
  const child = spawn(process.execPath, [program, 'serve', '--processes', '2'], {
    cwd: root,
    env: { ...process.env, DATABASE_URL: database.url, PORT: port, DRAIN_SECONDS: '0' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  after(() => child.kill('SIGKILL'))
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (said += data))
  const url = `http://127.0.0.1:${port}`
  const until = async (fact: () => boolean | Promise<boolean>) => {
    for (const began = performance.now(); !(await fact()); await sleep(50))
      assert.ok(performance.now() - began < 20_000, said)
  }
  const listening = () =>
    new Set([...said.matchAll(/"pid":(\d+).*Server listening/g)].map(([, pid]) => Number(pid)))
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

test('the settings in force are shown without the password', async () => {
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

// How long this machine kept waiting even a request that needs nothing: such time is not the
// server's.
function watchMachine(url: string) {
  let over = false
  let stoodMs = 0
  const watching = (async () => {
    while (!over) {
      const began = performance.now()
      await sleep(20)
      await call(url, 'GET', '/healthz')
      stoodMs += Math.max(0, performance.now() - began - 100)
    }
    return stoodMs
  })()
  return {
    stop: () => {
      over = true
      return watching
    },
  }
}
