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

// Sitemaps on their way to readers who do not read: with limits that don't take minutes to reach.

const { url: databaseUrl } = await freshDatabase()
await insertRecords(databaseUrl, 10_000)
// A file that a connection does not take at once.
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

async function begin(url: string): Promise<ClientRequest> {
  const outgoing = httpRequest(`${url}${path}`)
  outgoing.on('error', () => {})
  outgoing.end()
  const [response] = await once(outgoing, 'response')
  response.on('error', () => {})
  return outgoing
}

test('a sitemap that is not read is cut off, and its place is free again', async () => {
  const limits = { longestMs: 600_000, minBytesPerSecond: 1000, windowMs: 5000 }
  const { url } = await serveOnly([], ({ http }) => sitemapRoute(http, pool, site, limits))
  const whole = await call(url, 'GET', path)
  assert.ok(
    whole.status === 200 && whole.text.endsWith('</urlset>\n'),
    `${whole.text.length} characters`,
  )
  const stalled = await Promise.all([begin(url), begin(url)])
  assert.equal((await call(url, 'GET', path)).status, 503)
  // Without a limit of our own, Node cuts them after a minute.
  const beganMs = performance.now()
  while (
    (await call(url, 'HEAD', path)).status !== 200 ||
    (await call(url, 'GET', path)).status !== 200
  ) {
    assert.ok(performance.now() - beganMs < 30_000, 'those who do not read still have their places')
    await sleep(100)
  }
  for (const outgoing of stalled) outgoing.destroy()
})
