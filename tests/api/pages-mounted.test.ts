import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startArchive } from '../support/harness.ts'

// Pages below a base path: no link leads out of it.

const site = 'https://talks.example/archive'
const archive = await startArchive({ PUBLIC_URL: `${site}/` })
const get = (path: string, headers: Record<string, string> = {}) =>
  archive.call('GET', path, { headers: { accept: 'text/html', ...headers } })
const talk = await archive.make({
  title: 'Somewhere below',
  speakers: ['Ada Example'],
  tags: ['paths'],
  recorded: '2024-05-06',
})
const path = `/archive/video/${talk.id}/${talk.slug}`

test('keeps all links of all pages below the base path', async () => {
  const { text } = await get(path)
  const entities = [
    ...text.matchAll(/href="(\/archive\/(?:category|speaker|tag|language)\/[^"]+)"/g),
  ].map(([, url]) => url ?? '')
  assert.ok(entities.length >= 4)
  const pages = [
    '/archive/',
    '/archive/search?q=below',
    '/archive/category',
    '/archive/speaker',
    '/archive/tag',
    '/archive/about',
    '/archive/year/2024',
  ]
  for (const url of [
    ...pages,
    path,
    `/archive/embed/${talk.id}`,
    ...entities,
    '/archive/nowhere',
  ]) {
    const { text, status } = await get(url)
    assert.equal(status, url.endsWith('nowhere') ? 404 : 200, url)
    const addresses = [...text.matchAll(/\s(?:href|src|action|srcset)="([^"]*)"/g)].map(
      ([, address]) => address ?? '',
    )
    assert.ok(addresses.length > 3)
    for (const address of addresses)
      assert.ok(
        /^(\/archive(\/|$)|https:\/\/talks\.example\/archive(\/|$)|#)/.test(address),
        `${url}: ${address}`,
      )
    assert.match(text, /data-base="\/archive"/)
  }
})

test('keeps redirects below the base path', async () => {
  const redirects: [string, number, string][] = [
    [`/archive/video/${talk.id}`, 301, `${site}/video/${talk.id}/${talk.slug}`],
    [`/archive/video/${talk.id}/wrong`, 301, `${site}/video/${talk.id}/${talk.slug}`],
    ['/archive/stats', 301, `${site}/about`],
    ['/archive/prefer?theme=dark&to=/about', 303, `${site}/about`],
    ['/archive/prefer?theme=dark&to=https://evil.example', 303, `${site}/`],
    ['/archive/prefer?theme=dark&to=/../../x', 303, `${site}/`],
    ['/archive/prefer?theme=dark&to=/%252e%252e/x', 303, `${site}/`],
  ]
  for (const [from, status, to] of redirects) {
    const reply = await get(from)
    assert.equal(reply.status, status, from)
    const { href } = new URL(String(reply.headers.location), site)
    assert.ok(href.startsWith(`${site}/`), `${from}: ${href}`)
    if (!to.endsWith('/')) assert.equal(href, to, from)
  }
})

test('limits cookies to the base path and to HTTPS', async () => {
  const { headers } = await get('/archive/prefer?theme=dark')
  assert.deepEqual(headers['set-cookie'], [
    'theme=dark; Path=/archive; Max-Age=31536000; SameSite=Lax; HttpOnly; Secure',
  ])
})

test('returns 404 outside the base path', async () => {
  for (const url of [
    '/',
    '/search',
    '/about',
    `/video/${talk.id}/${talk.slug}`,
    '/archives',
    '/archive/archive/about',
  ])
    assert.equal((await get(url)).status, 404, url)
})

test('serves assets below the base path', async () => {
  const { text } = await get('/archive/')
  const [, file = ''] = /href="(\/archive\/assets\/[^"]+\.css)"/.exec(text) ?? []
  assert.equal((await get(file)).status, 200)
})
