import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createToken } from '../../server/auth/auth.ts'
import { type CallOptions, startArchive } from '../support/harness.ts'

// Points a minute: every route costs some, and a token is no way around it.

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
/** An address of its own for each test: nobody else has used its points. */
const freshAddress = () => `192.0.2.${++addresses}`
const callFrom = (address: string, method: string, path: string, options: CallOptions = {}) =>
  archive.call(method, path, {
    ...options,
    headers: { 'x-forwarded-for': address, ...options.headers },
  })
const left = ({ headers }: { headers: Record<string, unknown> }) =>
  Number(/r=(\d+)/.exec(String(headers.ratelimit))?.[1])

const style =
  /href="([^"]+\.css)"/.exec(
    (await callFrom(freshAddress(), 'GET', '/about', { headers: { accept: 'text/html' } })).text,
  )?.[1] ?? ''

const routes: [
  what: string,
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
  [
    'a sitemap with a token that it ignores',
    5,
    200,
    'GET',
    '/sitemap/video-1.xml',
    { token: 'made-up' },
  ],
  ['the list of sitemaps', 5, 200, 'GET', '/sitemap.xml'],
  ['a feed', 5, 200, 'GET', '/video/rss'],
  ['a page', 5, 200, 'GET', '/about', { headers: { accept: 'text/html' } }],
  [
    'a page with a token that it ignores',
    5,
    200,
    'GET',
    '/about',
    { token: 'made-up', headers: { accept: 'text/html' } },
  ],
  ['a picture', 1, 200, 'GET', `/picture/${video.id}/320`],
  ['a style sheet', 1, 200, 'GET', style],
  ['the reference', 1, 200, 'GET', '/api'],
  ['an address that is not there', 1, 404, 'GET', '/nothing-here'],
  ['a method that is not there', 1, 405, 'DELETE', '/api/v2/video'],
  [
    'a representation that is not there',
    1,
    406,
    'GET',
    `/api/v2/video/${video.id}`,
    { headers: { accept: 'image/png' } },
  ],
  ['what may be asked for', 1, 204, 'OPTIONS', '/api/v2/video'],
]

for (const [what, cost, status, method, path, options] of routes)
  test(`${what} costs its address ${cost} of ${points} points`, async () => {
    const address = freshAddress()
    const seen: number[] = []
    for (let times = 0; times < points / cost; times++)
      seen.push((await callFrom(address, method, path, options)).status)
    assert.deepEqual(new Set(seen), new Set([status]))
    // A machine that stands still for seconds gives points back meanwhile.
    let refused = await callFrom(address, method, path, options)
    for (let times = 0; times < 100 && refused.status === status; times++)
      refused = await callFrom(address, method, path, options)
    assert.equal(refused.status, 429)
    assert.ok(Number(refused.headers['retry-after']) >= 1)
  })

test('health and figures are free', async () => {
  const address = freshAddress()
  for (let times = 0; times < 2 * points; times++)
    assert.equal((await callFrom(address, 'GET', '/healthz')).status, 200)
  assert.equal(left(await callFrom(address, 'GET', `/api/v2/video/${video.id}`)), points - 1)
})

test('a valid token has points of its own, and costs its address none', async () => {
  const address = freshAddress()
  const path = `/api/v2/video/${video.id}`
  const first = await callFrom(address, 'GET', path, { token: reader })
  assert.deepEqual([first.status, left(first)], [200, points - 1])
  for (let times = 0; times < points - 1; times++)
    await callFrom(address, 'GET', path, { token: reader })
  assert.equal(left(await callFrom(address, 'GET', path)), points - 1)
  const other = await callFrom(address, 'GET', path, { token: archive.admin })
  assert.equal(other.status, 200)
})

test('the points of a token are the same from every address', async () => {
  const { token } = await createToken(archive.pool, { name: 'Tom', role: 'editor', days: 1 })
  const search = () => callFrom(freshAddress(), 'GET', '/api/v2/video?q=x', { token })
  const [first, second] = [left(await search()), left(await search())]
  assert.equal(first, points - 5)
  assert.ok(second < first, `${second} of ${first}`)
})
