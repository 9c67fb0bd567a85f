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

// A long export on its way: who reads slowly, goes away or comes too late. Here with limits that
// don't take minutes to reach.

const count = 20_000
const { url: databaseUrl } = await freshDatabase()
await insertRecords(databaseUrl, count)

const path = endpoint.path
const plenty = { atOnce: 2, longestMs: 60_000, minBytesPerSecond: 1000, windowMs: 60_000 }

const serve = (limits: ExportLimits) =>
  serveOnly([endpoint], ({ http, routeOf }) => exportRoutes(http, routeOf, databaseUrl, limits))

/** The answer as it begins; nothing of the rest is read. */
async function begin(url: string): Promise<{ outgoing: ClientRequest; response: IncomingMessage }> {
  const outgoing = httpRequest(`${url}${path}`)
  outgoing.on('error', () => {})
  outgoing.end()
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
  response.on('error', () => {})
  return { outgoing, response }
}

async function snapshots(): Promise<number> {
  return withDatabase(
    databaseUrl,
    async (query) =>
      (
        await query(
          "select from pg_stat_activity where datname = current_database() and application_name = 'talkshelf export'",
        )
      ).length,
  )
}

async function until(is: () => Promise<boolean>): Promise<void> {
  const withinMs = 20_000
  const untilMs = performance.now() + withinMs
  while (!(await is())) {
    assert.ok(performance.now() < untilMs, `not so after ${withinMs} ms`)
    await sleep(20)
  }
}

test('an export is packed for whoever takes it packed, and the same', async () => {
  const { url } = await serve(plenty)
  const withoutTime = (text: string) => text.replace(/"at":"[^"]+"/, '')
  const plain = await call(url, 'GET', `${path}?after=19000`)
  for (const header of ['gzip', 'br, gzip;q=0.5', '*']) {
    const packed = await call(url, 'GET', `${path}?after=19000`, {
      headers: { 'accept-encoding': header },
    })
    assert.deepEqual(
      [packed.status, packed.headers['content-encoding'], packed.headers.vary],
      [200, 'gzip', 'Accept, Accept-Encoding'],
    )
    assert.ok(packed.text.length < plain.text.length * 0.7)
    assert.equal(
      withoutTime(gunzipSync(Buffer.from(packed.text, 'latin1')).toString()),
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
  // Where there is room for none, the headers are still told: they cost nothing.
  const head = await call((await serve({ ...plenty, atOnce: 0 })).url, 'HEAD', path)
  assert.deepEqual(
    [head.status, head.headers['content-type'], head.headers['content-length']],
    [200, 'application/x-ndjson', undefined],
  )
  assert.equal(await snapshots(), 0)
})

test('whoever goes away half way leaves no transaction behind', async () => {
  const { url } = await serve({ ...plenty, atOnce: 1 })
  const { outgoing, response } = await begin(url)
  await once(response, 'data')
  response.pause()
  assert.equal(await snapshots(), 1)
  outgoing.destroy()
  await until(async () => (await snapshots()) === 0)
  // And takes nobody's place.
  assert.equal((await call(url, 'GET', `${path}?up_to=1`)).status, 200)
})

test('of more exports than there is room for, the last is told to wait', async () => {
  const { url } = await serve({ ...plenty, atOnce: 1 })
  const { outgoing } = await begin(url)
  const refused = await call(url, 'GET', path, { headers: { 'accept-encoding': 'gzip' } })
  assert.deepEqual(
    [refused.status, refused.headers['retry-after'], refused.headers['content-encoding']],
    [503, '30', undefined],
  )
  assert.equal(refused.headers['content-type'], 'application/problem+json')
  assert.match(refused.json.detail, /exports are under way/)
  outgoing.destroy()
  await until(async () => (await call(url, 'GET', `${path}?up_to=1`)).status === 200)
})

test('whoever does not read is cut off, and nothing piles up meanwhile', async () => {
  const { url } = await serve({ ...plenty, windowMs: 500 })
  const { outgoing, response } = await begin(url)
  const before = process.memoryUsage().arrayBuffers
  await until(async () => (await snapshots()) === 0)
  assert.ok(process.memoryUsage().arrayBuffers - before < 10_000_000)
  let text = ''
  const cut = once(response, 'aborted')
  response.on('data', (piece) => (text += piece))
  await cut
  assert.doesNotMatch(text, /"kind":"end"/)
  assert.ok(
    text.length < 30_000_000,
    `${text.length} characters were sent to somebody who did not read`,
  )
  outgoing.destroy()
})

test('whoever reads slowly but steadily gets all of it', async () => {
  const windowMs = 3000
  const { url } = await serve({ ...plenty, windowMs })
  const { response } = await begin(url)
  const beganMs = performance.now()
  let end = ''
  for await (const piece of response) {
    end = (end + piece).slice(-100)
    await sleep(20)
  }
  assert.ok(
    performance.now() - beganMs > windowMs,
    'it did not take longer than a reader may stand still',
  )
  assert.match(end, /"kind":"end","videos":20000}\n$/)
})

test('whoever reads a little now and then is cut off, although never for standing still', async () => {
  const { url } = await serve({ ...plenty, minBytesPerSecond: 100_000_000, windowMs: 4000 })
  const { response } = await begin(url)
  const cut = once(response, 'aborted')
  const reading = (async () => {
    for await (const _ of response) await sleep(50)
  })().catch(() => {})
  await until(async () => (await snapshots()) === 0)
  await cut
  await reading
})

test('a migration waits for an export without keeping others waiting, and no export begins meanwhile', async (t) => {
  const { url } = await serve(plenty)
  const { outgoing } = await begin(url)
  const folder = mkdtempSync(join(tmpdir(), 'migrations-'))
  t.after(() => rmSync(folder, { recursive: true }))
  cpSync(fileURLToPath(new URL('../migrations', import.meta.url)), folder, { recursive: true })
  writeFileSync(join(folder, '9999.do.extra.sql'), 'alter table video add column extra integer;')
  const messages: string[] = []
  const migrated = migrate(databaseUrl, folder, { onBlocked: (message) => messages.push(message) })
  await withDatabase(databaseUrl, async (query) => {
    await query("set lock_timeout = '30s'")
    while (messages.length === 0) await query('select count(*) from video')
  })
  assert.match(String(messages[0]), /"talkshelf export"/)
  const refused = await call(url, 'GET', `${path}?up_to=1`)
  assert.deepEqual(
    [refused.status, refused.headers['content-type']],
    [503, 'application/problem+json'],
  )
  outgoing.destroy()
  assert.equal((await migrated).length, 1)
  assert.equal((await call(url, 'GET', `${path}?up_to=1`)).status, 200)
})

test('nobody holds a snapshot for ever, however steadily they read', async () => {
  const { url } = await serve({ ...plenty, longestMs: 1000 })
  const { response } = await begin(url)
  const cut = once(response, 'aborted')
  const reading = (async () => {
    for await (const _ of response) await sleep(5)
  })().catch(() => {})
  await until(async () => (await snapshots()) === 0)
  await cut
  await reading
})

test('a server that is told to stop does not wait for an export', async () => {
  const { url, close } = await serve(plenty)
  await begin(url)
  const beganMs = performance.now()
  await close()
  assert.ok(performance.now() - beganMs < plenty.longestMs / 2)
  await until(async () => (await snapshots()) === 0)
})

test('an export takes no more memory for many records than for few', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  /** The most that is held at any time. */
  const held = (upTo: number) =>
    withSnapshot(databaseUrl, 'test', async (db) => {
      let [max, lines] = [0, 0]
      for await (const line of exportNdjson(db, { upTo, drafts: true, takenDown: true })) {
        if (++lines % 500 !== 0 && !line.startsWith('{"kind":"end"')) continue
        collect()
        max = Math.max(max, process.memoryUsage().heapUsed)
      }
      return max
    })
  await held(1000)
  const [few, many] = [await held(1000), await held(count)]
  assert.ok(many - few < 3_000_000, `${few} bytes for 1,000 records, ${many} for ${count}`)
})

test('a reader who asks for part after part always finds a free slot', async (t) => {
  const { url, close } = await serve({ ...plenty, atOnce: 1 })
  t.after(close)
  for (let after = count - 30; after < count; after++) {
    const reply = await call(url, 'GET', `${path}?after=${after}`)
    assert.equal(reply.status, 200, reply.text.slice(0, 300))
    assert.match(reply.text, /"kind":"end"/)
  }
})
