import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import { after, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { freshDatabase } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { call, runCommand, startServer } from '../support/harness.ts'
import { until } from '../support/until.ts'
import { edgeToken, startVarnish, varnishMissing } from '../support/varnish.ts'

// The archive behind a real Varnish, with the configuration in deploy/edge.

const skip = varnishMissing()
const script = fileURLToPath(new URL('../../../shared/conformance/v2.mjs', import.meta.url))

const stage = skip ? undefined : await startStage()

async function startStage() {
  const database = await freshDatabase()
  const [port, originPort] = [await freePort(), await freePort()]
  const environment = {
    DATABASE_URL: database.url,
    PORT: String(originPort),
    EDGE: `varnish:http://127.0.0.1:${port}`,
    EDGE_TOKEN: edgeToken,
    EDGE_URL: `http://127.0.0.1:${port}`,
  }
  const varnish = await startVarnish(port, originPort)
  let origin = await startServer(environment)
  const createToken = async (role: string) => {
    const args = ['token', 'create', '--name', role, '--role', role]
    return (await runCommand(args, { DATABASE_URL: database.url })).stdout.trim()
  }
  const [editor, admin] = [await createToken('editor'), await createToken('admin')]
  after(async () => {
    await origin.stop()
    await varnish.stop()
    await database.drop()
  })
  await until(
    'Varnish to see the archive',
    async () => (await call(varnish.url, 'GET', '/api/v2/video')).status === 200,
  )
  await call(origin.url, 'POST', '/api/v2/category', { body: { title: 'Days' }, token: editor })
  return {
    varnish,
    editor,
    admin,
    originUrl: origin.url,
    read: (path: string, headers: Record<string, string> = {}) =>
      call(varnish.url, 'GET', path, { headers }),
    write: (method: string, path: string, body: object, token = editor) =>
      call(varnish.url, method, path, { body, token }),
    async make(title: string) {
      const body = { title, category: 'Days', language: 'English', state: 1 }
      const reply = await call(varnish.url, 'POST', '/api/v2/video', { body, token: editor })
      assert.equal(reply.status, 201, reply.text)
      return reply.json as { id: number; slug: string }
    },
    async kill() {
      origin.process.kill('SIGKILL')
      await once(origin.process, 'exit')
    },
    async restart() {
      origin = await startServer(environment)
    },
  }
}

const opened = () => stage ?? assert.fail('no Varnish')

/** Waits until Varnish answers from its cache. */
const cached = (path: string, headers: Record<string, string> = {}) =>
  until(`${path} to be cached`, async () => {
    const reply = await opened().read(path, headers)
    return reply.headers['x-cache'] === 'hit' && reply
  })

test('answers records from the cache, and changed ones anew', { skip }, async () => {
  const { make, read } = opened()
  const { id } = await make('One')
  const path = `/api/v2/video/${id}`
  const reply = await cached(path)
  assert.equal(reply.json.title, 'One')
  for (const name of ['xkey', 'cdn-cache-control', 'via', 'x-varnish'])
    assert.equal(reply.headers[name], undefined)
  assert.equal(reply.headers['cache-control'], 'public, no-cache')
  // The ETag is as strong as that of the archive: a write with it is accepted through the edge.
  const etag = String(reply.headers.etag)
  const patched = await call(opened().varnish.url, 'PATCH', path, {
    body: { title: 'Two' },
    token: opened().editor,
    headers: { 'if-match': etag, 'accept-encoding': 'gzip' },
  })
  assert.equal(patched.status, 200, patched.text)
  await until('the new version', async () => (await read(path)).json.title === 'Two')
  const again = await cached(path)
  assert.equal(again.json.title, 'Two')
  assert.equal((await read(path, { 'if-none-match': String(again.headers.etag) })).status, 304)
})

test('keeps pages by language, and none of readers with cookies', { skip }, async () => {
  const { make, read } = opened()
  const { id, slug } = await make('Pages')
  const path = `/video/${id}/${slug}`
  const html = { accept: 'text/html' }
  const english = await cached(path, { ...html, 'accept-language': 'de-DE,de;q=0.9,en;q=0.5' })
  assert.match(english.text, /<html lang="en"/)
  await cached(path, { ...html, cookie: 'tracker=1' })
  const spanish = await cached(path, { ...html, 'accept-language': 'es-MX,es;q=0.9,en;q=0.8' })
  assert.match(spanish.text, /<html lang="es"/)
  for (const cookie of ['theme=dark', 'a=1; locale=es', 'desk=x', '__Host-desk=x'])
    for (let count = 0; count < 2; count++)
      assert.equal((await read(path, { ...html, cookie })).headers['x-cache'], 'miss', cookie)
})

test('keeps both representations of a record apart', { skip }, async () => {
  const { make, read } = opened()
  const { id } = await make('Types')
  const path = `/api/v2/video/${id}`
  for (let count = 0; count < 2; count++)
    for (const [accept, type] of [
      ['application/json', 'application/json'],
      ['application/json, text/plain, */*', 'application/json'],
      ['*/*', 'text/html; charset=utf-8'],
      ['text/html,application/xhtml+xml,*/*;q=0.8', 'text/html; charset=utf-8'],
      ['text/html;q=0.5,application/json', 'application/json'],
    ] as const)
      assert.equal((await read(path, { accept })).headers['content-type'], type, accept)
  assert.equal((await read(path, { accept: 'image/png' })).status, 406)
})

/** Starts Varnish in front of a server that never purges, so a test knows of each purge. */
async function startWithoutPurger(t: TestContext, respond: RequestListener) {
  const [port, originPort] = [await freePort(), await freePort()]
  const origin = createServer(respond).listen(originPort, '127.0.0.1')
  await once(origin, 'listening')
  const varnish = await startVarnish(port, originPort)
  t.after(async () => {
    await varnish.stop()
    origin.close()
    origin.closeAllConnections()
  })
  return (method: string, path: string, headers: Record<string, string> = {}) =>
    call(varnish.url, method, path, { headers })
}

test('purges nothing without the token', { skip }, async (t) => {
  const send = await startWithoutPurger(t, (_request, response) => {
    response.writeHead(200, { 'cdn-cache-control': 'max-age=600', xkey: 'all v1' }).end('kept')
  })
  const path = '/api/v2/video/1'
  const cacheOf = async () => (await send('GET', path)).headers['x-cache']
  await until('the object', async () => (await cacheOf()) === 'hit')
  for (const headers of [
    { 'xkey-purge': 'all' },
    { 'xkey-purge': 'all', 'x-purge-token': 'wrong' },
    { 'xkey-softpurge': 'all', 'x-purge-token': '' },
  ] as Record<string, string>[]) {
    assert.equal((await send('PURGE', '/', headers)).status, 403)
    assert.equal(await cacheOf(), 'hit', JSON.stringify(headers))
  }
  for (const [method, url] of [
    ['OPTIONS', path],
    ['POST', `/prefer?to=${path}`],
    ['PATCH', path],
  ] as const) {
    assert.equal((await send(method, url)).status, 200)
    assert.equal(await cacheOf(), 'hit', `${method} ${url}`)
  }
  const headers = { 'xkey-purge': 'all', 'x-purge-token': edgeToken }
  assert.equal((await send('PURGE', '/', headers)).status, 200)
  assert.equal(await cacheOf(), 'miss')
})

test('answers from the cache while the archive answers 503 or closes connections', {
  skip,
}, async (t) => {
  let failure: 'none' | '503' | 'reset' = 'none'
  const send = await startWithoutPurger(t, (request, response) => {
    if (request.url === '/readyz' || failure === 'none') {
      const control = 'max-age=1, stale-if-error=600'
      response.writeHead(200, { 'cdn-cache-control': control, xkey: 'all v1' }).end('kept')
    } else if (failure === '503') response.writeHead(503).end('failed')
    else request.socket.destroy()
  })
  for (const kind of ['503', 'reset'] as const) {
    failure = 'none'
    const path = `/${kind}`
    const read = () => send('GET', path)
    await until('the object', async () => (await read()).headers['x-cache'] === 'hit')
    const headers = { 'xkey-softpurge': 'all', 'x-purge-token': edgeToken }
    assert.equal((await send('PURGE', '/', headers)).status, 200)
    failure = kind
    for (let round = 0; round < 3; round++) {
      const replies = await Promise.all(Array.from({ length: 8 }, read))
      for (const { status, text } of replies) assert.deepEqual([status, text], [200, 'kept'], kind)
    }
    assert.equal((await send('GET', `/unknown-${kind}`)).status, 503)
  }
})

test('answers while the archive is dead, but not what was taken down', { skip }, async () => {
  const { make, write, read, admin, kill, restart } = opened()
  const [kept, changed, gone, hidden] = await Promise.all(
    ['Kept', 'Changed', 'Gone', 'Hidden'].map(make),
  )
  const path = (talk: { id: number } | undefined) => `/api/v2/video/${talk?.id}`
  const page = `/video/${kept?.id}/${kept?.slug}`
  for (const talk of [kept, changed, gone, hidden]) await cached(path(talk))
  // Purged softly: it stays for such a case.
  await write('PATCH', path(changed), { title: 'Changed twice' })
  await write('POST', `${path(gone)}/takedown`, { reason: 'Asked' }, admin)
  await write('PATCH', path(hidden), { state: 2 })
  await until('410', async () => (await read(path(gone))).status === 410)
  await until('404', async () => (await read(path(hidden))).status === 404)
  await until('the change', async () => (await read(path(changed))).json.title === 'Changed twice')
  // Not earlier: a page that lists a talk is removed with it.
  await cached(page, { accept: 'text/html' })
  await kill()
  for (let count = 0; count < 50; count++) {
    assert.equal((await read(path(kept))).json.title, 'Kept')
    assert.equal((await read(path(changed))).json.title, 'Changed twice')
    for (const talk of [gone, hidden]) {
      const { status, text } = await read(path(talk))
      assert.ok([404, 410, 503].includes(status), text)
    }
  }
  // Also after a soft purge of everything, without the archive.
  const headers = { 'xkey-softpurge': 'all', 'x-purge-token': edgeToken }
  assert.equal((await call(opened().varnish.url, 'PURGE', '/', { headers })).status, 200)
  for (let count = 0; count < 10; count++) {
    assert.equal((await read(path(kept))).json.title, 'Kept')
    assert.equal((await read(page, { accept: 'text/html' })).status, 200)
  }
  const missing = await read('/api/v2/video/987654')
  assert.deepEqual(
    [missing.status, missing.headers['content-type']],
    [503, 'application/problem+json'],
  )
  await restart()
  await until('the archive', async () => (await read('/api/v2/video/987654')).status === 404)
})

test('lets clients wait for changes, and streams them', { skip }, async () => {
  const { make, read, varnish } = opened()
  const { cursor } = (await read('/api/v2/changes?since=now')).json
  const waiting = read(`/api/v2/changes?since=${cursor}&wait=50`)
  const { id } = await make('Waited for')
  const { results } = (await waiting).json
  assert.ok(results.length > 0)
  await until('the entry', async () => {
    const page = (await read(`/api/v2/changes?since=${cursor}`)).json
    return page.results.some(
      (entry: { kind: string; id: number }) => entry.kind === 'video' && entry.id === id,
    )
  })
  const stream = await call(varnish.url, 'GET', '/api/v2/changes/stream')
  assert.match(stream.text, /^retry: 3000\nid: /)
})

test('the canary is current when it is read through Varnish', { skip }, async () => {
  const { read, originUrl } = opened()
  const current = async () => (await call(originUrl, 'GET', '/edge/canary')).text
  const first = await current()
  await until('the next canary', async () => (await current()) !== first)
  await until(
    'the same through Varnish',
    async () => (await read('/edge/canary')).text === (await current()),
  )
})

test('passes the conformance check through Varnish', {
  skip: skip || (existsSync(script) ? false : 'the conformance check is not available'),
  timeout: 240_000,
}, async (t) => {
  const { varnish, editor } = opened()
  const check = spawn(process.execPath, [script, varnish.url, editor])
  let output = ''
  for (const stream of [check.stdout, check.stderr]) stream.on('data', (data) => (output += data))
  const [code] = await once(check, 'close')
  const failures = output.split('\n').filter((line) => !line.startsWith('ok '))
  assert.equal(code, 0, failures.join('\n'))
  assert.match(output, /^\d{2,} passed, 0 failed$/m)
  t.diagnostic(output.trim().split('\n').at(-1) ?? '')
})
