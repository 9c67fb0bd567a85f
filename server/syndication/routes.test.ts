import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type ClientRequest, request as httpRequest } from 'node:http'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { serveOnly } from '../../tests/support/bare-http.ts'
import { freshDatabase } from '../../tests/support/database.ts'
import { call } from '../../tests/support/harness.ts'
import { withDatabase } from '../../tests/support/invariants.ts'
import { insertRecords } from '../../tests/support/many-records.ts'
import { openPool } from '../platform/db/pool.ts'
import { timeoutsFor } from '../platform/timeouts.ts'
import { sitemapRoute } from './routes.ts'

// Sitemaps to clients that do not read, with limits of a few seconds.

const { url: databaseUrl } = await freshDatabase()
await insertRecords(databaseUrl, 10_000)
// The file must be larger than the buffers of a connection.
await withDatabase(databaseUrl, (query) =>
  query("update video set source_url = 'https://example.org/' || id"),
)
const pool = openPool({
  url: databaseUrl,
  connections: 1,
  applicationName: 'sitemaps',
  times: timeoutsFor(30),
})
after(() => pool.close())

const site = {
  name: 'Test',
  basePath: '',
  origin: () => 'http://test',
  assets: { style: '', script: '', read: async () => undefined },
}
const path = '/sitemap/video-1.xml'

/** Starts a request and returns when its headers have arrived, without reading the body. */
async function startRequest(url: string): Promise<ClientRequest> {
  const outgoing = httpRequest(`${url}${path}`)
  outgoing.on('error', () => {})
  outgoing.end()
  const [response] = await once(outgoing, 'response')
  response.on('error', () => {})
  return outgoing
}

test('cuts off stalled clients, which then no longer count against the limit', async () => {
  const limits = { longestMs: 600_000, minBytesPerSecond: 1000, windowMs: 5000 }
  const { url } = await serveOnly([], ({ http }) => sitemapRoute(http, pool, site, limits))
  const complete = await call(url, 'GET', path)
  assert.ok(
    complete.status === 200 && complete.text.endsWith('</urlset>\n'),
    `${complete.text.length} characters`,
  )
  const stalled = await Promise.all([startRequest(url), startRequest(url)])
  assert.equal((await call(url, 'GET', path)).status, 503)
  // Without this limit, Node would cut the connections after a minute.
  const startMs = performance.now()
  while (
    (await call(url, 'HEAD', path)).status !== 200 ||
    (await call(url, 'GET', path)).status !== 200
  ) {
    assert.ok(performance.now() - startMs < 30_000, 'the stalled clients still count')
    await sleep(100)
  }
  for (const outgoing of stalled) outgoing.destroy()
})
