import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startArchive } from '../support/harness.ts'

// Pages where callers are counted, and addresses that nobody has.

const archive = await startArchive({ POINTS_PER_MINUTE: '60' })
const other = await startArchive()
const get = (path: string) => archive.call('GET', path, { headers: { accept: 'text/html' } })

test('a page costs as much as a list, and whoever asked too often is told so on a page', async () => {
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

test('what no name can have is nowhere, and no fault of ours', async () => {
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
