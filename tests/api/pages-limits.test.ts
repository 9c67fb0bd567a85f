import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startArchive } from '../support/harness.ts'

// Rate limits of pages, and URLs with NUL bytes.

const archive = await startArchive({ POINTS_PER_MINUTE: '60' })
const other = await startArchive()
const get = (path: string) => archive.call('GET', path, { headers: { accept: 'text/html' } })

test('charges a page like a list and shows an HTML page above the limit', async () => {
  const first = await get('/about')
  assert.equal(first.status, 200)
  assert.ok(first.headers.ratelimit)
  const style = /href="([^"]+\.css)"/.exec(first.text)?.[1] ?? ''
  assert.equal((await get(style)).status, 200)
  const statuses: number[] = []
  for (let times = 0; times < 12; times++) statuses.push((await get('/about')).status)
  assert.ok(statuses.includes(200) && statuses.at(-1) === 429, statuses.join())
  const refused = await get('/about')
  assert.match(String(refused.headers['content-type']), /^text\/html/)
  assert.ok(Number(refused.headers['retry-after']) > 0)
})

test('returns 404 for NUL bytes in the URL of a page', async () => {
  for (const path of [
    '/speaker?character=%00',
    '/category/-/%00',
    '/tag/-/%00',
    '/language/%00',
    '/language/%00/rss',
    '/speaker/%00/x',
    '/year/%00',
  ])
    assert.equal(
      (await other.call('GET', path, { headers: { accept: 'text/html' } })).status,
      404,
      path,
    )
})
