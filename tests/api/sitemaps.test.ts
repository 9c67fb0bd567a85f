import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { gunzipSync } from 'node:zlib'
import { type SiteInfo, writeSitemap } from '../../server/syndication/syndication.ts'
import { indexedPaths } from '../../web/paths.ts'
import { type Reply, startArchive, type TestArchive } from '../support/harness.ts'
import { withDatabase } from '../support/invariants.ts'
import { insertRecords } from '../support/many-records.ts'
import { assertJson, assertXml } from '../support/schema-validators.ts'

// Sitemaps, robots.txt, OpenSearch and oEmbed.

const archive = await startArchive()
const large = await startArchive()
const count = 10_500
let first = 0

before(async () => {
  const videoFields = {
    video_mp4_url: 'http://files.example.org/a.mp4',
    duration: 1800,
    recorded: '2024-05-01',
  }
  first = (
    await archive.make({
      title: 'First',
      speakers: ['Ada Lovelace'],
      tags: ['queues'],
      summary: 'About\n queues',
      ...videoFields,
    })
  ).id
  await archive.make({
    title: 'Second',
    source_url: 'https://vimeo.com/1',
    duration: 90_000,
    recorded: '2022-05-01',
  })
  await archive.make({ title: 'Third', language: 'Spanish' })
  await archive.make({ title: 'Draft', state: 2, speakers: ['Bob'], tags: ['drafts'] })
  await insertRecords(large.databaseUrl, count)
  await withDatabase(large.databaseUrl, async (query) => {
    await query('alter table video disable trigger user')
    await query(`update video set source_url = 'https://vimeo.com/' || id`)
    await query('alter table video enable trigger user')
    // Sitemaps read only the update time of the stored bodies.
    await query(
      `insert into video_body (id, revision, etag, live, updated, body)
       select id, 1, 'x', true, updated, '{}'
       from video`,
    )
  })
})

const text = (reply: Reply) => Buffer.from(reply.text, 'latin1').toString('utf8')
const locations = (xml: string) =>
  [...xml.matchAll(/<loc>([^<]+)<\/loc>/g)].map(([, address = '']) => address)

async function sitemap(path: string, from: TestArchive = archive): Promise<string> {
  const reply = await from.call('GET', path)
  assert.deepEqual(
    [reply.status, reply.headers['content-type']],
    [200, 'application/xml; charset=utf-8'],
    path,
  )
  assertXml('sitemap', text(reply), path)
  return text(reply)
}

test('lists every public page in the sitemaps and no other', async () => {
  const index = locations(await sitemap('/sitemap.xml'))
  assert.deepEqual(
    index.map((url) => url.slice(archive.url.length)),
    ['page', 'video-1', 'category', 'speaker', 'tag'].map((name) => `/sitemap/${name}.xml`),
  )
  const pages = (
    await Promise.all(index.map((url) => sitemap(url.slice(archive.url.length))))
  ).flatMap(locations)
  const expected = [
    ...indexedPaths,
    '/language/english',
    '/language/spanish',
    '/year/2024',
    '/year/2022',
  ]
  const entities = [
    '/video/1/first',
    '/video/2/second',
    '/video/3/third',
    '/category/1/example-days-2026',
    '/speaker/1/ada-lovelace',
    '/tag/1/queues',
  ]
  assert.deepEqual(
    pages,
    [...expected, ...entities].map((path) => archive.url + path),
  )
})

test('describes a playable talk as a video', async () => {
  const [, one = '', two = '', three = ''] = (await sitemap('/sitemap/video-1.xml')).split('<url>')
  const elementText = (xml: string, name: string) =>
    new RegExp(`<video:${name}>([^<]*)<`).exec(xml)?.[1]
  assert.deepEqual(
    ['title', 'description', 'content_loc', 'player_loc', 'duration'].map((name) =>
      elementText(one, name),
    ),
    [
      'First',
      'About queues',
      'http://files.example.org/a.mp4',
      `${archive.url}/embed/${first}`,
      '1800',
    ],
  )
  assert.match(one, /<lastmod>20\d\d-\d\d-\d\dT[\d:.]+Z<\/lastmod>/)
  // Crawlers reject a duration of more than eight hours.
  assert.deepEqual(
    [
      elementText(two, 'description'),
      elementText(two, 'content_loc'),
      elementText(two, 'duration'),
    ],
    ['Second', undefined, undefined],
  )
  assert.doesNotMatch(three, /video:/)
})

test('serves a valid sitemap for an empty archive', async () => {
  const empty = await startArchive()
  assert.deepEqual(locations(await sitemap('/sitemap.xml', empty)), [
    `${empty.url}/sitemap/page.xml`,
  ])
  assert.deepEqual(
    locations(await sitemap('/sitemap/page.xml', empty)),
    indexedPaths.map((path) => empty.url + path),
  )
})

test('splits more than 10,000 talks into several sitemaps', async () => {
  const index = locations(await sitemap('/sitemap.xml', large)).map((url) =>
    url.slice(large.url.length),
  )
  assert.deepEqual(
    index.filter((url) => url.includes('video')),
    ['/sitemap/video-1.xml', '/sitemap/video-2.xml'],
  )
  const allUrls = new Set<string>()
  for (const path of ['/sitemap/video-1.xml', '/sitemap/video-2.xml']) {
    const urls = locations(await sitemap(path, large))
    assert.ok(urls.length <= 10_000)
    for (const url of urls) allUrls.add(url)
  }
  assert.equal(allUrls.size, count)
  await withDatabase(large.databaseUrl, async (query) => {
    await query("insert into speaker (id, name, slug) values (10001, 'Last', 'last')")
    await query("insert into talk_count (kind, entity_id, talks) values ('speaker', 10001, 1)")
  })
  assert.match(
    await sitemap('/sitemap.xml', large),
    /\/sitemap\/speaker\.xml<.*\/sitemap\/speaker-2\.xml</s,
  )
  assert.deepEqual(locations(await sitemap('/sitemap/speaker-2.xml', large)), [
    `${large.url}/speaker/10001/last`,
  ])
})

test('compresses sitemaps as accepted and returns 404 for unknown ones', async () => {
  const plain = await sitemap('/sitemap/video-1.xml')
  const packed = await archive.call('GET', '/sitemap/video-1.xml', {
    headers: { 'accept-encoding': 'gzip' },
  })
  assert.deepEqual(
    [packed.headers['content-encoding'], packed.headers.vary],
    ['gzip', 'Accept-Encoding'],
  )
  assert.equal(gunzipSync(Buffer.from(packed.text, 'latin1')).toString(), plain)
  const head = await archive.call('HEAD', '/sitemap/video-1.xml')
  assert.deepEqual(
    [head.status, head.text, head.headers['content-type']],
    [200, '', 'application/xml; charset=utf-8'],
  )
  for (const name of [
    'video',
    'video-0',
    'video-2',
    'video-01',
    'category-1',
    'category-2',
    'nothing',
    'video-99999999999',
    '../x',
  ])
    assert.equal((await archive.call('GET', `/sitemap/${name}.xml`)).status, 404, name)
})

test('streams a sitemap in constant memory', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const site: SiteInfo = { name: '', origin: () => large.url, basePath: '' }
  /** Returns the peak size of the heap and the number of characters written. */
  const measure = async (part: number) => {
    let [peak, length] = [0, 0]
    for await (const piece of (await writeSitemap(large.pool.lists, site, {
      section: 'video',
      part,
    })) ?? []) {
      length += piece.length
      collect()
      peak = Math.max(peak, process.memoryUsage().heapUsed)
    }
    return { peak, length }
  }
  await measure(2)
  const [few, many] = [await measure(2), await measure(1)]
  assert.ok(
    many.length > 8_000_000 && many.length > 15 * few.length,
    `${few.length}, ${many.length}`,
  )
  assert.ok(
    many.peak - few.peak < 2_000_000,
    `${few.peak} bytes for 500 talks, ${many.peak} for 10,000`,
  )
})

test('serves robots.txt with the excluded paths and the sitemap', async () => {
  const { headers, text: robots } = await archive.call('GET', '/robots.txt')
  assert.equal(headers['content-type'], 'text/plain; charset=utf-8')
  for (const line of [
    'User-agent: *',
    'Disallow: /search?',
    'Disallow: /search/rss',
    'Disallow: /prefer',
    'Allow: /picture',
    `Sitemap: ${archive.url}/sitemap.xml`,
  ])
    assert.ok(robots.split('\n').includes(line), line)
  const mounted = await startArchive({ PUBLIC_URL: 'https://talks.example.org/archive' })
  const mountedRobots = (await mounted.call('GET', '/archive/robots.txt')).text
  assert.match(
    mountedRobots,
    /^Disallow: \/archive\/prefer$.*^Sitemap: https:\/\/talks\.example\.org\/archive\/sitemap\.xml$/ms,
  )
})

test('serves an OpenSearch description and suggestions', async () => {
  const reply = await archive.call('GET', '/search/xml')
  assert.equal(
    reply.headers['content-type'],
    'application/opensearchdescription+xml; charset=utf-8',
  )
  assertXml('opensearch', text(reply))
  assert.ok(text(reply).includes(`template="${archive.url}/search?q={searchTerms}"`))
  const suggested = await archive.call('GET', '/search/suggestions?q=ad')
  assert.equal(suggested.headers['content-type'], 'application/x-suggestions+json; charset=utf-8')
  assert.deepEqual(suggested.json, [
    'ad',
    ['Ada Lovelace', 'First'],
    ['Speaker', 'Talk'],
    [`${archive.url}/search?speaker=ada-lovelace`, `${archive.url}/video/1/first`],
  ])
  assert.deepEqual((await archive.call('GET', '/search/suggestions')).json, ['', [], [], []])
  assert.equal((await archive.call('GET', `/search/suggestions?q=${'x'.repeat(301)}`)).status, 400)
})

test('serves oEmbed for a talk', async () => {
  const embed = (url: string, more = '') =>
    archive.call('GET', `/oembed?url=${encodeURIComponent(url)}${more}`)
  const talk = `${archive.url}/video/${first}/first`
  const { json, headers, text: body } = await embed(`${talk}?t=60`)
  assert.equal(headers['content-type'], 'application/json; charset=utf-8')
  assertJson('oembed', body)
  assert.deepEqual(
    [json.type, json.title, json.author_name, json.width, json.height],
    ['video', 'First', 'Ada Lovelace', 640, 360],
  )
  assert.match(json.thumbnail_url, new RegExp(`^${archive.url}/picture/${first}/preview\\?v=`))
  assert.match(
    json.html,
    new RegExp(
      `^<iframe src="${archive.url}/embed/${first}" .*` +
        'sandbox="allow-scripts allow-same-origin allow-presentation allow-popups ' +
        'allow-popups-to-escape-sandbox".* allowfullscreen',
    ),
  )
  const xml = await embed(talk, '&format=xml')
  assert.equal(xml.headers['content-type'], 'text/xml; charset=utf-8')
  assertXml('oembed', text(xml))
  for (const [more, size] of [
    ['&maxwidth=320', [320, 180, false]],
    ['&maxheight=90', [160, 90, false]],
    ['&maxwidth=1280&maxheight=1000', [1280, 720, true]],
    ['&maxwidth=1&maxheight=1', [1, 1, false]],
  ] as const) {
    const response = (await embed(talk, more)).json
    assert.deepEqual([response.width, response.height, 'thumbnail_url' in response], size, more)
  }
  for (const other of [
    'https://example.org/video/1/first',
    `${archive.url}/speaker/1/ada`,
    `${archive.url}/video/99/x`,
    'x',
    `${archive.url}/video/4/draft`,
  ])
    assert.equal((await embed(other)).status, 404, other)
  assert.equal((await embed(`${archive.url}/embed/${first}`)).status, 200)
  assert.deepEqual(
    [
      (await archive.call('GET', '/oembed')).status,
      (await embed(talk, '&format=yaml')).status,
      (await embed(talk, '&maxwidth=0')).status,
    ],
    [400, 501, 400],
  )
})
