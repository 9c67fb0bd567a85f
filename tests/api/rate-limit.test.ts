import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createToken } from '../../server/auth/auth.ts'
import { type CallOptions, startArchive } from '../support/harness.ts'

// Rate limit: every route costs points, also with an invalid token.

const points = 20
const archive = await startArchive({ POINTS_PER_MINUTE: String(points), PROXIES: '1' })
const { token: writer } = await createToken(archive.pool, {
  name: 'Wanda',
  role: 'editor',
  days: 1,
})
const { token: reader } = await createToken(archive.pool, { name: 'Rita', role: 'editor', days: 1 })
const body = { title: 'A talk', category: 'Example Days 2026', language: 'English', state: 1 }
const { json: video } = await archive.call('POST', '/api/v2/video', { token: writer, body })

let addresses = 0
/** Returns a new IP address, which has all its points. */
const freshAddress = () => `192.0.2.${++addresses}`
const callFrom = (address: string, method: string, path: string, options: CallOptions = {}) =>
  archive.call(method, path, {
    ...options,
    headers: { 'x-forwarded-for': address, ...options.headers },
  })
const remaining = ({ headers }: { headers: Record<string, unknown> }) =>
  Number(/r=(\d+)/.exec(String(headers.ratelimit))?.[1])

const style =
  /href="([^"]+\.css)"/.exec(
    (await callFrom(freshAddress(), 'GET', '/about', { headers: { accept: 'text/html' } })).text,
  )?.[1] ?? ''

const routes: [
  label: string,
  cost: number,
  status: number,
  method: string,
  path: string,
  options?: CallOptions,
][] = [
  ['a record', 1, 200, 'GET', `/api/v2/video/${video.id}`],
  ['a list', 5, 200, 'GET', '/api/v2/video'],
  ['an export', 5, 200, 'GET', '/api/v2/export.ndjson'],
  ['a made-up token', 1, 401, 'GET', `/api/v2/video/${video.id}`, { token: 'made-up' }],
  ['a made-up token for a write', 1, 401, 'POST', '/api/v2/video', { token: 'made-up', body }],
  ['a write without a token', 10, 401, 'POST', '/api/v2/video', { body }],
  ['a sitemap', 5, 200, 'GET', '/sitemap/video-1.xml'],
  ['a sitemap with an ignored token', 5, 200, 'GET', '/sitemap/video-1.xml', { token: 'made-up' }],
  ['the sitemap index', 5, 200, 'GET', '/sitemap.xml'],
  ['a feed', 5, 200, 'GET', '/video/rss'],
  ['a page', 5, 200, 'GET', '/about', { headers: { accept: 'text/html' } }],
  [
    'a page with an ignored token',
    5,
    200,
    'GET',
    '/about',
    { token: 'made-up', headers: { accept: 'text/html' } },
  ],
  ['a picture', 1, 200, 'GET', `/picture/${video.id}/320`],
  ['a style sheet', 1, 200, 'GET', style],
  ['the API reference', 1, 200, 'GET', '/api'],
  ['an unknown path', 1, 404, 'GET', '/nothing-here'],
  ['an unsupported method', 1, 405, 'DELETE', '/api/v2/video'],
  [
    'an unsupported representation',
    1,
    406,
    'GET',
    `/api/v2/video/${video.id}`,
    { headers: { accept: 'image/png' } },
  ],
  ['an OPTIONS request', 1, 204, 'OPTIONS', '/api/v2/video'],
]

for (const [label, cost, status, method, path, options] of routes)
  test(`charges ${cost} of ${points} points for ${label}`, async () => {
    const address = freshAddress()
    const statuses: number[] = []
    for (let times = 0; times < points / cost; times++)
      statuses.push((await callFrom(address, method, path, options)).status)
    assert.deepEqual(new Set(statuses), new Set([status]))
    // A stalled machine refills points meanwhile.
    let refused = await callFrom(address, method, path, options)
    for (let times = 0; times < 100 && refused.status === status; times++)
      refused = await callFrom(address, method, path, options)
    assert.equal(refused.status, 429)
    assert.ok(Number(refused.headers['retry-after']) >= 1)
  })

test('charges nothing for health and metrics', async () => {
  const address = freshAddress()
  for (let times = 0; times < 2 * points; times++)
    assert.equal((await callFrom(address, 'GET', '/healthz')).status, 200)
  assert.equal(remaining(await callFrom(address, 'GET', `/api/v2/video/${video.id}`)), points - 1)
})

test('charges a valid token instead of its IP address', async () => {
  const address = freshAddress()
  const path = `/api/v2/video/${video.id}`
  const first = await callFrom(address, 'GET', path, { token: reader })
  assert.deepEqual([first.status, remaining(first)], [200, points - 1])
  for (let times = 0; times < points - 1; times++)
    await callFrom(address, 'GET', path, { token: reader })
  assert.equal(remaining(await callFrom(address, 'GET', path)), points - 1)
  const other = await callFrom(address, 'GET', path, { token: archive.admin })
  assert.equal(other.status, 200)
})

test('shares the points of a token across IP addresses', async () => {
  const { token } = await createToken(archive.pool, { name: 'Tom', role: 'editor', days: 1 })
  const search = () => callFrom(freshAddress(), 'GET', '/api/v2/video?q=x', { token })
  const [first, second] = [remaining(await search()), remaining(await search())]
  assert.equal(first, points - 5)
  assert.ok(second < first, `${second} of ${first}`)
})
