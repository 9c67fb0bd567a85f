import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { indexedPaths } from '../../web/paths.ts'
import { type CallOptions, type Reply, startArchive } from '../support/harness.ts'
import { emptyEventProfile, eventProfile, personProfile } from '../support/profiles.ts'

// Pages over HTTP: status codes, headers, redirects, and what readers see.

const archive = await startArchive()
const { editor: token, admin } = archive
const browserHeaders = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }
const get = (path: string, headers: Record<string, string> = {}) =>
  archive.call('GET', path, { headers: { ...browserHeaders, ...headers } })
const post = (path: string, options: CallOptions) =>
  archive.call('POST', path, { token, ...options })
const utf8 = ({ text }: Reply) => Buffer.from(text, 'latin1').toString()
const readHtml = async (path: string, headers: Record<string, string> = {}) =>
  utf8(await get(path, headers))
const pathOf = (location: string | undefined) => location?.replace(archive.url, '')

const talk = await archive.make({
  title: 'Queues that stay small',
  speakers: ['Ada Example', 'Bo Example'],
  tags: ['queues', 'calm'],
  description: 'A *long* story about [queues](https://example.org/queues).',
  recorded: '2024-05-06',
  source_url: 'https://www.youtube.com/watch?v=dQw4w9WgXcQ',
})
// Created before the first page is read: pages use cached statistics.
for (const name of ['Дора Пример', '강민', 'Various speakers', 'Zoe Example'])
  await archive.make({ title: `By ${name}`, speakers: [name] })
const path = `/video/${talk.id}/${talk.slug}`
const linkOf = async (kind: string) =>
  new RegExp(`href="(/${kind}/[^"]+)"`).exec((await get(path)).text)?.[1] ?? ''

test('serves every page as private HTML', async () => {
  const entities = await Promise.all(['category', 'speaker', 'tag', 'language'].map(linkOf))
  const all = [
    ...indexedPaths,
    '/search',
    '/search?q=queues',
    path,
    `/embed/${talk.id}`,
    '/my-talks',
    '/year/2024',
  ]
  for (const url of [...all, ...entities]) {
    const { status, headers, text } = await get(url)
    assert.equal(status, 200, url)
    assert.equal(headers['content-type'], 'text/html; charset=utf-8', url)
    assert.equal(headers['cache-control'], 'private, no-cache', url)
    assert.equal(headers['x-content-type-options'], 'nosniff', url)
    assert.match(text, /^<!doctype html><html lang="en"/, url)
  }
})

/** Returns the source expression that allows an inline script or style. */
const hashSource = (text: string) => `'sha256-${hash('sha256', text, 'base64')}'`

test('sends a strict Content-Security-Policy with the hash of its script', async () => {
  for (const url of ['/', '/search?q=queues', '/about', '/nowhere', '/search?year=next']) {
    const { headers, text } = await get(url)
    const scripts = [...text.matchAll(/<script([^>]*)>(.*?)<\/script>/g)]
    const run = scripts.filter(([, attributes]) => attributes !== ' type="application/ld+json"')
    assert.deepEqual(
      run.map(([, attributes]) => attributes),
      [''],
      `${url} has one inline script`,
    )
    assert.equal(
      headers['content-security-policy'],
      [
        "default-src 'none'",
        `script-src ${hashSource(run[0]?.[2] ?? '')} 'strict-dynamic'`,
        "style-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "manifest-src 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
      ].join('; '),
      url,
    )
    assert.match(run[0]?.[2] ?? '', /"\/assets\/main-[\w-]+\.js"/, url)
  }
})

test('sends the same page to all readers of a language', async () => {
  const read = async (headers: Record<string, string>) => {
    const reply = await archive.call('GET', path, { headers })
    return [reply.text, reply.headers['content-security-policy'], reply.headers.vary]
  }
  const spanish = await read({ 'accept-language': 'es' })
  assert.deepEqual(await read({ 'accept-language': 'es-MX, en;q=0.5' }), spanish)
  assert.notDeepEqual(await read({ 'accept-language': 'en' }), spanish)
  assert.notDeepEqual(await read({ 'accept-language': 'es', cookie: 'theme=dark' }), spanish)
})

test('allows only the hosts of its talk on a page with a player', async () => {
  const plain = await archive.make({ title: 'Nothing to see' })
  for (const url of [path, `/embed/${talk.id}`, `/video/${plain.id}/${plain.slug}`]) {
    const policy = String((await get(url)).headers['content-security-policy'])
    assert.ok(!policy.includes('unsafe'), policy)
    assert.ok(
      !/(script|style|frame|object|default)-src[^;]*(\*|https:(?!\/\/)|data:)/.test(policy),
      policy,
    )
    assert.match(policy, /base-uri 'none'/)
    const frames = /frame-src ([^;]+)/.exec(policy)?.[1] ?? "'none'"
    assert.equal(frames, url.includes(plain.slug) ? "'none'" : 'https://www.youtube-nocookie.com')
    assert.match(
      policy,
      url.startsWith('/embed/') ? /frame-ancestors \*/ : /frame-ancestors 'none'/,
    )
  }
})

test('redirects old URLs to current ones and keeps the query', async () => {
  const [category, speaker, tag] = await Promise.all(['category', 'speaker', 'tag'].map(linkOf))
  const moved: [string, string | undefined][] = [
    [`/video/${talk.id}`, path],
    [`/video/${talk.id}?t=1m`, `${path}?t=1m`],
    [`/video/${talk.id}/other`, path],
    [`${category?.split('/').slice(0, 3).join('/')}/wrong`, category],
    [`${category?.split('/').slice(0, 3).join('/')}`, category],
    [`/speaker/-/${speaker?.split('/')[3]}`, speaker],
    [`/tag/-/${tag?.split('/')[3]}`, tag],
    ['/stats', '/about'],
    ['/video', '/search'],
    ['/video?q=a+b', '/search?q=a+b'],
  ]
  for (const [from, to] of moved) {
    const { status, headers } = await get(from)
    assert.deepEqual([status, pathOf(headers.location)], [301, to], from)
  }
})

test('lists speakers of all scripts, and people before placeholders', async () => {
  const initialsOf = (text: string) =>
    [...text.matchAll(/<a href="\/speaker\?character=([^"]+)"/g)].map(([, initial]) =>
      decodeURIComponent(initial ?? ''),
    )
  const text = utf8(await get('/speaker'))
  assert.deepEqual(initialsOf(text), ['a', 'b', 'v', 'z', 'д', '강'])
  const [, mostTalks = ''] = /id="common".*?<ul[^>]*>(.*?)<\/ul>/s.exec(text) ?? []
  assert.ok(mostTalks.includes('Zoe Example') && !mostTalks.includes('Various speakers'))
  assert.ok(utf8(await get('/speaker?character=%EA%B0%95')).includes('강민'))
})

test('gives a card one direction, and isolates names in it', async () => {
  const arabic = await archive.make({ title: 'مقدمة إلى Python', speakers: ['محمد', 'Ada'] })
  const card = /<article class="card" dir="rtl">(?:(?!<\/article>).)*مقدمة.*?<\/article>/s
  const [html = ''] = card.exec(utf8(await get('/search?ordering=-added'))) ?? []
  assert.match(html, /<h3 class="card-title">مقدمة/)
  assert.match(html, /<a href="\/speaker\/[^"]+" dir="auto">محمد<\/a>/)
  const page = utf8(await get(`/video/${arabic.id}/${arabic.slug}`))
  assert.match(utf8(await get(path)), /<article class="card" dir="ltr">/)
  assert.match(page, /<header dir="auto"><h1[^>]*>مقدمة/)
  const [, citation = ''] = /<pre[^>]*id="cite-0" dir="ltr">(.*?)<\/pre>/s.exec(page) ?? []
  assert.match(citation, /^<bdi>محمد<\/bdi> &amp; <bdi>Ada<\/bdi> \(n\.d\.\)\. <bdi>مقدمة/)
  assert.match(utf8(await get('/search')), /<input id="q"[^>]* dir="auto"/)
})

test('returns 404 or 400 as HTML for browsers and as a problem for programs', async () => {
  const wrong: [string, number][] = [
    ...[
      '/nowhere',
      '/video/0',
      '/video/999999',
      '/video/x',
      '/video/1e3',
      '/video/-1/x',
      '/category/999/x',
      '/speaker/-/nobody',
    ].map((url): [string, number] => [url, 404]),
    ...[
      '/tag/0/x',
      '/language/none',
      '/year/99',
      '/year/1234',
      '/year/20245',
      '/speaker?page=0',
      '/speaker?page=x',
      '/assets/none.css',
    ].map((url): [string, number] => [url, 404]),
    ...[
      '/search?year=x',
      '/search?page=0',
      '/search?page=1.5',
      '/search?ordering=x',
      '/search?duration=x',
      `/search?q=${'x'.repeat(301)}`,
    ].map((url): [string, number] => [url, 400]),
  ]
  for (const [url, expected] of wrong) {
    const forBrowsers = await get(url)
    assert.equal(forBrowsers.status, expected, url)
    assert.equal(forBrowsers.headers['content-type'], 'text/html; charset=utf-8', url)
    assert.equal(forBrowsers.headers['cache-control'], 'private, no-store', url)
    assert.ok(forBrowsers.text.includes('<meta name="robots" content="noindex, follow"'), url)
    const forPrograms = await archive.call('GET', url, { headers: { accept: 'application/json' } })
    assert.equal(forPrograms.status, expected, url)
    assert.equal(forPrograms.headers['content-type'], 'application/problem+json', url)
    assert.equal(forPrograms.json.status, expected, url)
  }
  const api = await get('/api/v2/video/999999')
  assert.equal(
    api.headers['content-type'],
    'application/problem+json',
    'the API always answers with a problem document',
  )
})

test('shows a draft on no page', async () => {
  const secret = 'Zanzibarium'
  const draft = await archive.make({
    title: `${secret} one`,
    state: 2,
    speakers: [`${secret} Speaker`],
    tags: [`${secret} tag`],
    recorded: '1999-01-01',
  })
  const { json: category } = await post('/api/v2/category', { body: { title: `${secret} Days` } })
  const unpublished = await archive.make({
    title: `${secret} two`,
    category: category.title,
    tags: [`${secret} tag`],
  })
  await archive.call('PATCH', `/api/v2/video/${unpublished.id}`, { token, body: { state: 2 } })
  assert.equal((await get(`/video/${draft.id}`)).status, 404)
  assert.equal((await get(`/video/${draft.id}/${draft.slug}`)).status, 404)
  assert.equal((await get(`/embed/${draft.id}`)).status, 404)
  assert.equal((await get('/year/1999')).status, 404)
  const pages = [
    '/',
    '/search',
    `/search?q=${secret}&ordering=title`,
    '/category',
    '/speaker',
    `/speaker?character=z`,
    '/tag',
    '/tag?character=z',
    '/about',
    path,
  ]
  for (const url of pages) {
    const { text } = await get(url)
    const visibleText = text.replaceAll(
      /<title>.*?<\/title>|<h1.*?<\/h1>|<input[^>]*>|href="[^"]*"|content="[^"]*"|title="[^"]*"/g,
      '',
    )
    assert.ok(!visibleText.includes(`${secret} `), url)
  }
  const asEditor = await archive.call('GET', `/video/${draft.id}/${draft.slug}`, {
    token,
    headers: browserHeaders,
  })
  assert.equal(asEditor.status, 404, 'pages ignore tokens')
})

test('returns 410 for a taken-down talk without its content', async () => {
  const gone = await archive.make({ title: 'Regrettable words', description: 'Regrettable' })
  await post(`/api/v2/video/${gone.id}/takedown`, {
    token: admin,
    body: { reason: 'secret reason' },
  })
  for (const url of [`/video/${gone.id}`, `/video/${gone.id}/${gone.slug}`, `/embed/${gone.id}`]) {
    const { status, text, headers } = await get(url)
    assert.equal(status, 410, url)
    assert.equal(headers['content-type'], 'text/html; charset=utf-8')
    const visibleText = text.replaceAll(gone.slug, '')
    assert.ok(!/regrettable|secret reason/i.test(visibleText), url)
  }
  assert.ok(!(await get('/search?ordering=-added')).text.includes('Regrettable'))
})

test('redirects from merged speakers and renamed categories', async () => {
  await archive.make({ title: 'One', speakers: ['Dora Twice'] })
  await archive.make({ title: 'Two', speakers: ['Dora T.'] })
  const idOf = async (slug: string) =>
    (await archive.call('GET', `/api/v2/speaker/${slug}`)).json.id
  const [stays, goes] = [await idOf('dora-twice'), await idOf('dora-t')]
  await post('/api/v2/speaker/dora-t/merge', { body: { into: 'dora-twice' } })
  for (const url of [`/speaker/${goes}/dora-t`, '/speaker/-/dora-t', `/speaker/${stays}/dora-t`])
    assert.deepEqual(
      [(await get(url)).status, pathOf((await get(url)).headers.location)],
      [301, `/speaker/${stays}/dora-twice`],
      url,
    )

  const { json: before } = await post('/api/v2/category', { body: { title: 'Old Name 2020' } })
  await archive.make({ title: 'Three', category: 'Old Name 2020' })
  const { json: after } = await archive.call('PATCH', `/api/v2/category/${before.slug}`, {
    token,
    body: { title: 'New Name 2020' },
  })
  for (const url of [
    `/category/${before.id}/${before.slug}`,
    `/category/-/${before.slug}`,
    `/category/${before.id}`,
  ])
    assert.deepEqual(
      [(await get(url)).status, pathOf((await get(url)).headers.location)],
      [301, `/category/${before.id}/${after.slug}`],
      url,
    )
})

test('stores preferences in HttpOnly cookies', async () => {
  const { status, headers } = await get('/prefer?locale=es&theme=dark&to=%2Fsearch%3Fq%3Da')
  assert.equal(status, 303)
  assert.equal(pathOf(headers.location), '/search?q=a')
  assert.equal(headers['cache-control'], 'private, no-store')
  assert.deepEqual(headers['set-cookie'], [
    'locale=es; Path=/; Max-Age=31536000; SameSite=Lax; HttpOnly',
    'theme=dark; Path=/; Max-Age=31536000; SameSite=Lax; HttpOnly',
  ])
  assert.equal((await get('/prefer?locale=xx&theme=<b>')).headers['set-cookie'], undefined)
  const chosen = await get('/', { cookie: 'locale=es; theme=dark' })
  assert.match(chosen.text, /^<!doctype html><html lang="es" dir="ltr" data-theme="dark"/)
  const invalid = await get('/', { cookie: 'locale="><script>; theme=__proto__; =; ;;;' })
  assert.match(invalid.text, /^<!doctype html><html lang="en" dir="ltr">/)
})

const hostile = [
  ...[
    'https://evil.example/',
    '//evil.example/',
    '///evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    '/\\/evil.example',
    'evil.example',
  ],
  ...[
    'javascript:ran(1)',
    'data:text/html,x',
    ' /x',
    '/ x',
    '/\tx',
    '/\r\nset-cookie: a=b',
    '/\nlocation: x',
    '/x\u0000',
    '/\u2028x',
    '@evil.example',
  ],
  ...[
    '.evil.example',
    ':80@evil.example',
    '',
    '?',
    '#',
    '/..//evil.example',
    '/%0d%0aset-cookie:a=b',
    '/%2f%2fevil.example',
    '/x\u0085y',
  ],
  ...[
    '//evil.example@x',
    '/@evil.example',
    '//[::1]/',
    'http:evil.example',
    'HTTP://evil.example',
    '/ü',
    '/<script>ran(1)</script>',
    '/.evil.example',
  ],
]
test(`never redirects to another site: ${hostile.length} hostile values of "to"`, async () => {
  for (const to of hostile) {
    const { status, headers } = await get(`/prefer?locale=en&to=${encodeURIComponent(to)}`)
    assert.equal(status, 303, to)
    assert.equal(new URL(String(headers.location), archive.url).origin, archive.url, to)
    assert.match(String(headers.location), /^\/(?![/\\])/, to)
    assert.equal((headers['set-cookie'] as string[]).length, 1, to)
    assert.deepEqual((headers['set-cookie'] as string[])[0]?.startsWith('locale=en;'), true, to)
  }
})

test('negotiates the language of a page', async () => {
  // qaa and qab are reserved for private use: the interface will never have them.
  const cases: [string, string][] = [
    ['es', 'es'],
    ['es-MX,es;q=0.9,en;q=0.8', 'es'],
    ['en;q=0.8, es;q=0.9', 'es'],
    ['qaa, qab;q=0.9, es;q=0.1', 'es'],
    ['qaa, *;q=0.5, es;q=0.1', 'en'],
    ['es;q=0, en;q=0.1', 'en'],
    ['es;q=0', 'en'],
    ['ES-419', 'es'],
    ['qaa', 'en'],
    ['', 'en'],
    ['*', 'en'],
    [';;;,,,q=1', 'en'],
    ['es;q=x', 'es'],
    [`${'x,'.repeat(60)}es`, 'en'],
    ['__proto__, constructor, es', 'es'],
  ]
  for (const [header, locale] of cases) {
    const { text, headers } = await get('/about', { 'accept-language': header })
    assert.ok(text.startsWith(`<!doctype html><html lang="${locale}"`), header)
    assert.match(String(headers.vary), /Accept-Language/)
    assert.match(String(headers.vary), /Cookie/)
  }
  const preferred = await get('/about', { 'accept-language': 'es', cookie: 'locale=en' })
  assert.match(preferred.text, /^<!doctype html><html lang="en"/)
})

test('compresses a page with brotli or gzip as accepted', async () => {
  const plain = await get('/about', { 'accept-encoding': 'identity' })
  assert.equal(plain.headers['content-encoding'], undefined)
  const unpack = { br: brotliDecompressSync, gzip: gunzipSync }
  const bytesOf = (reply: Reply) => Buffer.from(reply.text, 'latin1')
  for (const [header, coding] of [
    ['gzip, deflate, br, zstd', 'br'],
    ['br;q=0, gzip', 'gzip'],
    ['gzip', 'gzip'],
    ['*', 'br'],
  ] as const) {
    const packed = await get('/about', { 'accept-encoding': header })
    assert.equal(packed.headers['content-encoding'], coding, header)
    assert.match(String(packed.headers.vary), /Accept-Encoding/)
    assert.match(unpack[coding](bytesOf(packed)).toString(), /^<!doctype html>/)
    assert.ok(packed.text.length < plain.text.length / 2)
  }
  assert.equal(
    (await get('/about', { 'accept-encoding': 'br;q=0, gzip;q=0' })).headers['content-encoding'],
    undefined,
  )
})

test('answers HEAD like GET without a body', async () => {
  for (const url of ['/', path, '/nowhere', `/video/${talk.id}`, '/favicon.svg']) {
    const expected = await get(url)
    const { status, headers, text } = await archive.call('HEAD', url, { headers: browserHeaders })
    assert.equal(status, expected.status, url)
    assert.equal(text, '')
    assert.equal(headers['content-type'], expected.headers['content-type'], url)
    assert.equal(headers.location, expected.headers.location, url)
  }
})

test('serves assets with content hashes and immutable caching', async () => {
  const { text } = await get('/')
  const files = [...text.matchAll(/"(\/assets\/[^"]+)"/g)].map(([, url]) => url ?? '')
  assert.ok(files.length >= 2)
  for (const url of files) {
    const { status, headers } = await get(url, { 'accept-encoding': 'br' })
    assert.equal(status, 200)
    assert.equal(headers['cache-control'], 'public, max-age=31536000, immutable')
    assert.equal(headers['content-encoding'], 'br')
    assert.equal(headers['x-content-type-options'], 'nosniff')
    assert.equal(headers['cross-origin-resource-policy'], 'same-origin')
    assert.match(
      String(headers['content-type']),
      url.endsWith('.css') ? /^text\/css/ : /^text\/javascript/,
    )
    assert.equal(
      (await get(url, { 'accept-encoding': 'identity' })).headers['content-encoding'],
      undefined,
    )
  }
})

test('prevents path traversal out of the assets folder', async () => {
  const [name = ''] = /[\w-]+\.css/.exec((await get('/')).text) ?? []
  const traversals = [
    ...[
      '../manifest.json',
      '..%2fmanifest.json',
      '%2e%2e/manifest.json',
      '%2e%2e%2fmanifest.json',
      '..%5cmanifest.json',
      '..\\manifest.json',
    ],
    ...[
      '../../server/web.js',
      '..%2f..%2fserver%2fweb.js',
      '%252e%252e%252fmanifest.json',
      '/etc/passwd',
      '%2fetc%2fpasswd',
      '.',
      '..',
      '',
    ],
    ...[
      `${name}.br`,
      `${name}.gz`,
      `${name}%00`,
      `${name}%00.js`,
      `./${name}/../${name}`,
      `${name}?/../x.js/..`.replace('?', '%3f'),
    ],
    ...[
      'manifest.json',
      '.css',
      'x.css%0a',
      '....//manifest.json',
      'C:manifest.css',
      'con.css',
      '%c0%ae%c0%ae/x.css',
      'a'.repeat(3000),
    ],
  ]
  for (const url of traversals) {
    const { status, text } = await get(`/assets/${url}`)
    assert.ok(status === 404 || status === 400, `${url}: ${status}`)
    assert.ok(!text.includes('islands/main.ts') && !text.includes('root:'), url)
  }
})

test('shows the profile of an event in the language of the reader', async () => {
  const patch = (slug: string, body: object) =>
    archive.call('PATCH', `/api/v2/category/${slug}`, { token, body })
  for (const year of [2024, 2025])
    await post('/api/v2/category', {
      body: { title: `Bridge Days ${year}`, series: 'Bridge Days', start_date: `${year}-05-01` },
    })
  const { id } = (await patch('bridge-days-2025', { ...eventProfile, series: 'BRIDGE DÁYS' })).json
  const address = `/category/${id}/bridge-days-2025`
  const text = await readHtml(address)
  assert.match(text, /Łódź, Poland · Online · 0 talks/)
  assert.match(text, /<img src="\/picture\/category\/\d+\?v=[\w-]{8}" alt\/>/)
  assert.doesNotMatch(text, /media\.example\.org/)
  const style = '.banner{--banner:#1A2b3c;--banner-ink:#fff}'
  assert.ok(text.includes(`<style>${style}</style>`))
  const policy = String((await get(address)).headers['content-security-policy'])
  assert.ok(policy.includes(`style-src 'self' ${hashSource(style)};`), policy)
  assert.match(text, /href="https:\/\/social\.example\.org\/@bridges"[^>]*>Mastodon</)
  // A link of another kind is labelled with its host.
  assert.match(text, /href="https:\/\/example\.org\/%F0%9F%A6%8A"[^>]*>example\.org</)
  // Other years, newest first; the series is compared without case and accents.
  assert.match(text, /aria-current="page">Bridge Days 2025<.*>Bridge Days 2024</s)
  assert.match(text, /"addressLocality":"Łódź","addressCountry":"PL"/)
  const spanish = await readHtml(address, { 'accept-language': 'es' })
  assert.match(spanish, /Łódź, Polonia · En línea · 0 charlas/)
  // Nothing of it is left when the fields are empty again.
  await patch('bridge-days-2025', emptyEventProfile)
  const empty = await readHtml(address)
  assert.doesNotMatch(
    empty,
    /Poland|\/picture\/category|banner|social\.example|aria-current="page">B/,
  )
})

test('shows the profile of a speaker, and none of it without live talks', async () => {
  const given = await archive.make({ speakers: ['Ze Builder'] })
  const aliases = [{ name: 'Z. B.', shown: true }]
  const body = { ...personProfile, aliases }
  const { json } = await archive.call('PATCH', '/api/v2/speaker/ze-builder', { token, body })
  const address = `/speaker/${json.id}/ze-builder`
  const text = await readHtml(address)
  assert.match(text, />ze\/hir<\/bdi> · 1 talk</)
  assert.match(text, /Builds <em>bridges<\/em>/)
  assert.match(text, /Also known as: <bdi>Z\. B\.<\/bdi>/)
  assert.match(text, /&lt;b&gt;tunnels&lt;\/b&gt;/)
  assert.match(text, /<img src="\/picture\/speaker\/\d+\?v=[\w-]{8}" alt\/>/)
  assert.match(text, /href="https:\/\/ze\.example\.org\/"[^>]*>Website</)
  assert.match(text, /"@type":"Person"[^<]*"description":"Builds bridges\./)
  await archive.call('PATCH', `/api/v2/video/${given.id}`, { token, body: { state: 2 } })
  const hidden = await get(address)
  assert.equal(hidden.status, 404)
  assert.doesNotMatch(hidden.text, /ze\/hir|bridges/)
})
