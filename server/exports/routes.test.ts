import assert from 'node:assert/strict'
import { once } from 'node:events'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { gunzipSync } from 'node:zlib'
import { exportNdjsonEndpoint as endpoint } from '@talkshelf/contract'
import { serveOnly } from '../../tests/support/bare-http.ts'
import { freshDatabase } from '../../tests/support/database.ts'
import { call } from '../../tests/support/harness.ts'
import { withDatabase } from '../../tests/support/invariants.ts'
import { insertRecords } from '../../tests/support/many-records.ts'
import { migrate } from '../platform/db/migrate.ts'
import { withSnapshot } from '../platform/db/snapshot.ts'
import { exportNdjson } from './exports.ts'
import { type ExportLimits, exportRoutes } from './routes.ts'

// Long exports to slow, stalled and disconnecting clients, with limits of a few seconds.

const recordCount = 20_000
const { url: databaseUrl } = await freshDatabase()
await insertRecords(databaseUrl, recordCount)

const path = endpoint.path
const generous = { maxConcurrent: 2, longestMs: 60_000, minBytesPerSecond: 1000, windowMs: 60_000 }

const serve = (limits: ExportLimits) =>
  serveOnly([endpoint], ({ http, routeOf }) =>
    exportRoutes(http, routeOf, { databaseUrls: () => [databaseUrl] }, limits),
  )

/** Starts an export and returns when its headers have arrived, without reading the body. */
async function startExport(
  url: string,
): Promise<{ outgoing: ClientRequest; response: IncomingMessage }> {
  const outgoing = httpRequest(`${url}${path}`)
  outgoing.on('error', () => {})
  outgoing.end()
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
  response.on('error', () => {})
  return { outgoing, response }
}

async function countSnapshots(): Promise<number> {
  const rows = await withDatabase(databaseUrl, (query) =>
    query(
      `select
       from pg_stat_activity
       where datname = current_database() and application_name = 'talkshelf export'`,
    ),
  )
  return rows.length
}

async function waitUntil(condition: () => Promise<boolean>): Promise<void> {
  const timeoutMs = 20_000
  const deadlineMs = performance.now() + timeoutMs
  while (!(await condition())) {
    assert.ok(performance.now() < deadlineMs, `the condition is not met after ${timeoutMs} ms`)
    await sleep(20)
  }
}

test('compresses an export without changing it if the client accepts gzip', async () => {
  const { url } = await serve(generous)
  const withoutTime = (text: string) => text.replace(/"at":"[^"]+"/, '')
  const plain = await call(url, 'GET', `${path}?after=19000`)
  for (const header of ['gzip', 'br, gzip;q=0.5', '*']) {
    const compressed = await call(url, 'GET', `${path}?after=19000`, {
      headers: { 'accept-encoding': header },
    })
    assert.deepEqual(
      [compressed.status, compressed.headers['content-encoding'], compressed.headers.vary],
      [200, 'gzip', 'Accept, Accept-Encoding'],
    )
    assert.ok(compressed.text.length < plain.text.length * 0.7)
    assert.equal(
      withoutTime(gunzipSync(Buffer.from(compressed.text, 'latin1')).toString()),
      withoutTime(plain.text),
    )
  }
  for (const header of ['', 'br', 'gzip;q=0', 'identity', '*;q=0.0'])
    assert.equal(
      (await call(url, 'HEAD', path, { headers: { 'accept-encoding': header } })).headers[
        'content-encoding'
      ],
      undefined,
      header,
    )
  // HEAD costs nothing, so that the limit does not apply to it.
  const head = await call((await serve({ ...generous, maxConcurrent: 0 })).url, 'HEAD', path)
  assert.deepEqual(
    [head.status, head.headers['content-type'], head.headers['content-length']],
    [200, 'application/x-ndjson', undefined],
  )
  assert.equal(await countSnapshots(), 0)
})

test('closes the transaction of a client that disconnects', async () => {
  const { url } = await serve({ ...generous, maxConcurrent: 1 })
  const { outgoing, response } = await startExport(url)
  await once(response, 'data')
  response.pause()
  assert.equal(await countSnapshots(), 1)
  outgoing.destroy()
  await waitUntil(async () => (await countSnapshots()) === 0)
  // It no longer counts against the limit.
  await waitUntil(async () => (await call(url, 'GET', `${path}?up_to=1`)).status === 200)
})

test('rejects exports above the limit with a retry delay', async () => {
  const { url } = await serve({ ...generous, maxConcurrent: 1 })
  const { outgoing } = await startExport(url)
  const rejected = await call(url, 'GET', path, { headers: { 'accept-encoding': 'gzip' } })
  assert.deepEqual(
    [rejected.status, rejected.headers['retry-after'], rejected.headers['content-encoding']],
    [503, '30', undefined],
  )
  assert.equal(rejected.headers['content-type'], 'application/problem+json')
  assert.match(rejected.json.detail, /exports are already running/)
  outgoing.destroy()
  await waitUntil(async () => (await call(url, 'GET', `${path}?up_to=1`)).status === 200)
})

test('cuts off a client that does not read, without buffering the export', async () => {
  const { url } = await serve({ ...generous, windowMs: 500 })
  const { outgoing, response } = await startExport(url)
  const before = process.memoryUsage().arrayBuffers
  await waitUntil(async () => (await countSnapshots()) === 0)
  assert.ok(process.memoryUsage().arrayBuffers - before < 10_000_000)
  let text = ''
  const cut = once(response, 'aborted')
  response.on('data', (chunk) => (text += chunk))
  await cut
  assert.doesNotMatch(text, /"kind":"end"/)
  assert.ok(text.length < 30_000_000, `${text.length} characters were buffered`)
  outgoing.destroy()
})

test('sends a complete export to a slow but steady client', async () => {
  const windowMs = 3000
  const { url } = await serve({ ...generous, windowMs })
  const { response } = await startExport(url)
  const startMs = performance.now()
  let end = ''
  for await (const chunk of response) {
    end = (end + chunk).slice(-100)
    await sleep(20)
  }
  assert.ok(
    performance.now() - startMs > windowMs,
    'the export was faster than the window for stalled clients',
  )
  assert.match(end, /"kind":"end","videos":20000}\n$/)
})

test('cuts off a client below the minimum rate that never stalls', async () => {
  const { url } = await serve({ ...generous, minBytesPerSecond: 100_000_000, windowMs: 4000 })
  const { response } = await startExport(url)
  const cut = once(response, 'aborted')
  const reading = (async () => {
    for await (const _ of response) await sleep(50)
  })().catch(() => {})
  await waitUntil(async () => (await countSnapshots()) === 0)
  await cut
  await reading
})

test('lets a migration wait for an export without blocking queries', async (t) => {
  const { url } = await serve(generous)
  const { outgoing } = await startExport(url)
  const folder = mkdtempSync(join(tmpdir(), 'schema-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const migrations = join(folder, 'migrations')
  cpSync(fileURLToPath(new URL('../migrations', import.meta.url)), migrations, { recursive: true })
  writeFileSync(
    join(migrations, '9999.do.extra.sql'),
    'alter table video add column extra integer;',
  )
  const messages: string[] = []
  const migrated = migrate(databaseUrl, folder, { onBlocked: (message) => messages.push(message) })
  await withDatabase(databaseUrl, async (query) => {
    await query("set lock_timeout = '30s'")
    while (messages.length === 0) await query('select count(*) from video')
  })
  assert.match(String(messages[0]), /"talkshelf export"/)
  // While a migration waits no export can start.
  const rejected = await call(url, 'GET', `${path}?up_to=1`)
  assert.deepEqual(
    [rejected.status, rejected.headers['content-type']],
    [503, 'application/problem+json'],
  )
  outgoing.destroy()
  assert.equal((await migrated).length, 1)
  assert.equal((await call(url, 'GET', `${path}?up_to=1`)).status, 200)
})

test('cuts off any client after the maximum duration', async () => {
  const { url } = await serve({ ...generous, longestMs: 1000 })
  const { response } = await startExport(url)
  const cut = once(response, 'aborted')
  const reading = (async () => {
    for await (const _ of response) await sleep(5)
  })().catch(() => {})
  await waitUntil(async () => (await countSnapshots()) === 0)
  await cut
  await reading
})

test('does not delay the shutdown of the server', async () => {
  const { url, close } = await serve(generous)
  await startExport(url)
  const startMs = performance.now()
  await close()
  assert.ok(performance.now() - startMs < generous.longestMs / 2)
  await waitUntil(async () => (await countSnapshots()) === 0)
})

test('needs no more memory for many records than for few', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  /** Returns the maximum heap size during an export. */
  const maxHeap = (upTo: number) =>
    withSnapshot(databaseUrl, 'test', async (db) => {
      let [max, lines] = [0, 0]
      for await (const line of exportNdjson(db, { upTo, drafts: true, takenDown: true })) {
        if (++lines % 500 !== 0 && !line.startsWith('{"kind":"end"')) continue
        collect()
        max = Math.max(max, process.memoryUsage().heapUsed)
      }
      return max
    })
  await maxHeap(1000)
  const [few, many] = [await maxHeap(1000), await maxHeap(recordCount)]
  assert.ok(many - few < 3_000_000, `${few} bytes for 1,000 records, ${many} for ${recordCount}`)
})

test('accepts the next range immediately after the end of the last', async (t) => {
  const { url, close } = await serve({ ...generous, maxConcurrent: 1 })
  t.after(close)
  for (let after = recordCount - 30; after < recordCount; after++) {
    const reply = await call(url, 'GET', `${path}?after=${after}`)
    assert.equal(reply.status, 200, reply.text.slice(0, 300))
    assert.match(reply.text, /"kind":"end"/)
  }
})
