import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { Video } from '@talkshelf/contract'
import { parseAtomFeed, parseJsonFeed, parseRssFeed } from 'feedsmith'
import { type FeedFormat, feedFormats } from '../../web/paths.ts'
import { category, type Reply, startArchive } from '../support/harness.ts'
import { assertJson, assertXml } from '../support/schema-validators.ts'

const archive = await startArchive()
const mounted = await startArchive({ PUBLIC_URL: 'https://talks.example.org/archive' })
const talks: Video[] = []

before(async () => {
  const files = {
    video_mp4_url: 'http://files.example.org/a.mp4?x=1&y="2"',
    video_mp4_length: 1234,
    video_webm_url: 'http://files.example.org/a.webm',
    video_ogv_url: '',
  }
  talks.push(
    await archive.make({
      title: 'First & foremost',
      speakers: ['Ada Lovelace', 'Bob <b>'],
      tags: ['queues', 'R&D'],
      recorded: '2024-05-01',
    }),
    await archive.make({
      title: 'Second',
      speakers: ['Ada Lovelace'],
      tags: ['queues'],
      summary: 'Short',
      description: 'Long',
      duration: 61,
      ...files,
    }),
    await archive.make({
      title: 'Third',
      language: 'Spanish',
      recorded: '2024-06-01',
      copyright_text: 'CC BY',
      video_ogv_url: 'http://files.example.org/c.ogv',
    }),
    await archive.make({
      title: 'Fourth',
      source_url: 'https://www.youtube.com/watch?v=abcdefghijk',
    }),
  )
  await archive.make({ title: 'A draft', state: 2, speakers: ['Ada Lovelace'] })
  const gone = await archive.make({ title: 'Gone', speakers: ['Ada Lovelace'] })
  await archive.call('POST', `/api/v2/video/${gone.id}/takedown`, {
    token: archive.admin,
    body: { reason: 'Asked for' },
  })
})

const types = {
  rss: 'application/rss+xml',
  atom: 'application/atom+xml',
  json: 'application/feed+json',
}
/** Decodes a body as UTF-8: `Reply.text` has one character for each byte. */
const text = (reply: Reply) => Buffer.from(reply.text, 'latin1').toString('utf8')

interface ParsedEntry {
  readonly id: string
  readonly title: string
}

interface JsonItem {
  readonly date_published: string
  readonly _talkshelf?: { readonly recorded: string }
}

/** Reads and validates the feed of a page. Returns its entries as another parser sees them. */
async function read(page: string, format: FeedFormat, from = archive): Promise<ParsedEntry[]> {
  const path = page.replace(/(\?|$)/, `/${format}$1`)
  const reply = await from.call('GET', path)
  assert.equal(reply.status, 200, `${path}: ${reply.text}`)
  assert.equal(reply.headers['content-type'], `${types[format]}; charset=utf-8`)
  assert.equal(reply.headers['cache-control'], 'public, max-age=300')
  const body = text(reply)
  if (format === 'json') {
    assertJson('jsonfeed', body, path)
    return (parseJsonFeed(body).items ?? []).map(({ id = '', title = '' }) => ({ id, title }))
  }
  assertXml(format, body, path)
  if (format === 'rss')
    return (parseRssFeed(body).items ?? []).map(({ guid, title = '' }) => ({
      id: guid?.value ?? '',
      title,
    }))
  return (parseAtomFeed(body).entries ?? []).map(({ id = '', title }) => ({
    id,
    title: title?.value ?? '',
  }))
}

const titles = async (path: string, format: FeedFormat = 'atom') =>
  (await read(path, format)).map(({ title }) => title)

/** Looks up the id of an entity: URLs of pages contain it, URLs of the API do not. */
async function idOf(kind: 'category' | 'speaker' | 'tag', slug: string): Promise<number> {
  return (await archive.call('GET', `/api/v2/${kind}/${slug}`)).json.id
}

test('serves feeds of talks, events, speakers, tags, languages, years and searches', async () => {
  const [event, ada, queues] = await Promise.all([
    idOf('category', 'example-days-2026'),
    idOf('speaker', 'ada-lovelace'),
    idOf('tag', 'queues'),
  ])
  const expected: [string, string[]][] = [
    ['/video', ['Fourth', 'Third', 'Second', 'First & foremost']],
    ['/category', [category]],
    [`/category/${event}/example-days-2026`, ['Fourth', 'Third', 'Second', 'First & foremost']],
    [`/speaker/${ada}/ada-lovelace`, ['Second', 'First & foremost']],
    [`/tag/${queues}/queues`, ['Second', 'First & foremost']],
    ['/language/spanish', ['Third']],
    ['/year/2024', ['Third', 'First & foremost']],
    ['/year/2031', []],
    ['/search', ['Fourth', 'Third', 'Second', 'First & foremost']],
    ['/search?speaker=ada-lovelace&tag=queues', ['Second', 'First & foremost']],
    ['/search?q=second&utm_source=a%26b&language=', ['Second']],
    ['/search?year=2024&ordering=added', ['Third', 'First & foremost']],
    ['/search?q=lovelace+second+nowhere', []],
  ]
  for (const [path, expectedTitles] of expected)
    for (const format of feedFormats)
      assert.deepEqual(await titles(path, format), expectedTitles, `${path} ${format}`)
  for (const path of [
    '/speaker/999/x',
    '/speaker/x/x',
    '/speaker/01/x',
    '/language/nowhere',
    '/year/0',
    '/year/02024',
  ])
    assert.equal((await archive.call('GET', `${path}/rss`)).status, 404, path)
})

test('includes all known data of a talk in its RSS item', async () => {
  const [, second = talks[0]] = talks
  const link = `${archive.url}/video/${second?.id}/second`
  const rss = parseRssFeed(text(await archive.call('GET', '/video/rss')))
  const [fourth, third, item] = rss.items ?? []
  assert.equal(rss.atom?.links?.[0]?.href, `${archive.url}/video/rss`)
  assert.deepEqual(
    [item?.link, item?.description, item?.dc?.creators],
    [link, '<p>Short</p>\n<p>Long</p>', ['Ada Lovelace']],
  )
  assert.deepEqual(item?.enclosures, [
    { url: 'http://files.example.org/a.mp4?x=1&y=%222%22', length: 1234, type: 'video/mp4' },
  ])
  const [mp4, webm, ...others] = item?.media?.groups?.[0]?.contents ?? []
  assert.deepEqual(
    [mp4?.fileSize, mp4?.duration, webm?.type, webm?.fileSize, others],
    [1234, 61, 'video/webm', undefined, []],
  )
  assert.equal(item?.media?.player?.url, `${archive.url}/embed/${second?.id}`)
  assert.match(
    item?.media?.thumbnails?.[0]?.url ?? '',
    new RegExp(`^${archive.url}/picture/${second?.id}/640\\?v=`),
  )
  assert.deepEqual(
    [third?.enclosures?.[0]?.length, third?.media?.contents?.[0]?.type, third?.dc?.rights],
    [0, 'video/ogg', ['CC BY']],
  )
  assert.deepEqual(
    [fourth?.enclosures, fourth?.media?.contents, !!fourth?.media?.player],
    [undefined, undefined, true],
  )
})

test('includes all known data of a talk in its Atom entry', async () => {
  const [, second = talks[0]] = talks
  const atom = parseAtomFeed(text(await archive.call('GET', '/video/atom')))
  const entry = atom.entries?.[2]
  assert.deepEqual([entry?.published, entry?.updated], [`${second?.added}Z`, `${second?.updated}Z`])
  assert.deepEqual(
    [entry?.summary?.value, entry?.content?.value],
    ['<p>Short</p>', '<p>Short</p>\n<p>Long</p>'],
  )
  assert.deepEqual(
    entry?.links?.map(({ rel, length }) => [rel, length]),
    [
      ['alternate', undefined],
      ['enclosure', 1234],
      ['enclosure', undefined],
    ],
  )
  assert.deepEqual(atom.entries?.[3]?.authors, [{ name: 'Ada Lovelace' }, { name: 'Bob <b>' }])
  assert.deepEqual(atom.entries?.[3]?.categories, [{ term: 'queues' }, { term: 'R&D' }])
  assert.equal(
    atom.updated,
    `${talks
      .map(({ updated }) => updated)
      .sort()
      .at(-1)}Z`,
  )
})

test('lists the files of a talk in a JSON feed and writes no placeholders', async () => {
  const { json } = await archive.call('GET', '/video/json')
  assert.deepEqual(json.items[2].attachments, [
    {
      url: 'http://files.example.org/a.mp4?x=1&y=%222%22',
      mime_type: 'video/mp4',
      size_in_bytes: 1234,
      duration_in_seconds: 61,
    },
    { url: 'http://files.example.org/a.webm', mime_type: 'video/webm', duration_in_seconds: 61 },
  ])
  assert.doesNotMatch(
    (await Promise.all(feedFormats.map((format) => archive.call('GET', `/video/${format}`))))
      .map(text)
      .join(),
    /None|undefined|null|NaN/,
  )
})

test('dates entries by when their talk was added, with the day of the recording besides', async () => {
  const [rss, atom, json] = await Promise.all(
    feedFormats.map(async (format) => text(await archive.call('GET', `/year/2024/${format}`))),
  )
  // The feed is ordered by the date of its entries, the newest first.
  const [first, , third] = talks
  const added = [third?.added, first?.added].map((time) => `${time}Z`)
  const recorded = ['2024-06-01', '2024-05-01']
  const midnights = recorded.map((day) => [`${day}T00:00:00.000Z`])
  const rssItems = parseRssFeed(rss ?? '').items ?? []
  assert.deepEqual(
    rssItems.map(({ pubDate }) => pubDate),
    added.map((time) => new Date(time).toUTCString()),
  )
  assert.deepEqual(
    rssItems.map(({ dcterms }) => dcterms?.created),
    midnights,
  )
  const atomEntries = parseAtomFeed(atom ?? '').entries ?? []
  assert.deepEqual(
    atomEntries.map(({ published }) => published),
    added,
  )
  assert.deepEqual(
    atomEntries.map(({ dcterms }) => dcterms?.created),
    midnights,
  )
  const items: JsonItem[] = JSON.parse(json ?? '').items
  assert.deepEqual(
    items.map(({ date_published }) => date_published),
    added,
  )
  assert.deepEqual(
    items.map(({ _talkshelf }) => _talkshelf),
    recorded.map((day) => ({ recorded: day })),
  )
  const [, , undated] = (await archive.call('GET', '/video/json')).json.items
  assert.ok(!('_talkshelf' in undated), 'without the day of the recording')
})

test('limits a feed to 30 entries', async () => {
  const largeArchive = await startArchive()
  for (let n = 1; n <= 32; n++) await largeArchive.make({ title: `Talk ${n}` })
  const entries = await read('/video', 'rss', largeArchive)
  assert.deepEqual(
    [entries.length, entries[0]?.title, entries[29]?.title],
    [30, 'Talk 32', 'Talk 3'],
  )
})

test('keeps the id of an entry when its talk or speaker is renamed', async () => {
  const talk = await archive.make({ title: 'Before', speakers: ['Dora'] })
  const ids = async () =>
    (await Promise.all(feedFormats.map((format) => read('/video', format)))).map(
      ([newest]) => newest,
    )
  const expected = { id: `${archive.url}/video/${talk.id}`, title: 'Before' }
  assert.deepEqual(await ids(), [expected, expected, expected])
  await archive.call('PATCH', `/api/v2/video/${talk.id}`, {
    token: archive.editor,
    body: { title: 'After' },
  })
  await archive.call('PATCH', '/api/v2/speaker/dora', {
    token: archive.editor,
    body: { name: 'Nora' },
  })
  assert.deepEqual((await ids())[0], { ...expected, title: 'After' })
})

test('redirects a feed with an old or wrong slug, also after a merge', async () => {
  await archive.make({ speakers: ['Grace'] })
  await archive.make({ speakers: ['G. Hopper'] })
  const [grace, hopper] = [await idOf('speaker', 'grace'), await idOf('speaker', 'g-hopper')]
  const moved = await archive.call('GET', `/speaker/${grace}/wrong/atom`)
  assert.deepEqual(
    [moved.status, moved.headers.location],
    [301, `${archive.url}/speaker/${grace}/grace/atom`],
  )
  await archive.call('POST', '/api/v2/speaker/g-hopper/merge', {
    token: archive.editor,
    body: { into: 'grace' },
  })
  const merged = await archive.call('GET', `/speaker/${hopper}/g-hopper/json`)
  assert.deepEqual(
    [merged.status, merged.headers.location],
    [301, `${archive.url}/speaker/${grace}/grace/json`],
  )
  assert.equal((await titles(`/speaker/${grace}/grace`)).length, 2)
  // The feed of a search links to itself with the current slug.
  assert.match(
    text(await archive.call('GET', '/search/atom?speaker=g-hopper')),
    /\/search\/atom\?speaker=grace"/,
  )
})

test('returns 304 only for the current version of a feed', async () => {
  for (const format of feedFormats) {
    const path = `/language/spanish/${format}`
    // Last-Modified is sent only after the second of the last change is over.
    let first = await archive.call('GET', path)
    while (first.headers['last-modified'] === undefined) first = await archive.call('GET', path)
    const { etag = '', 'last-modified': date = '' } = first.headers
    const status = async (headers: Record<string, string>) =>
      (await archive.call('GET', path, { headers })).status
    assert.equal(new Date(date).toISOString().slice(0, 19), talks[2]?.updated.slice(0, 19))
    assert.deepEqual(
      [
        await status({ 'if-none-match': etag }),
        await status({ 'if-none-match': `W/${etag}` }),
        await status({ 'if-modified-since': date }),
      ],
      [304, 304, 304],
    )
    assert.equal(await status({ 'if-none-match': '"other"', 'if-modified-since': date }), 200)
    // A takedown can make the date earlier, so only the exact date counts as unchanged.
    assert.equal(
      await status({ 'if-modified-since': new Date(Date.parse(date) + 60_000).toUTCString() }),
      200,
    )
    const head = await archive.call('HEAD', path)
    assert.deepEqual(
      [head.status, head.text, head.headers.etag, head.headers['content-length']],
      [200, '', etag, first.headers['content-length']],
    )
  }
})

test('rejects an invalid search with the parameter, like the API', async () => {
  for (const [query, pointer] of [
    ['year=x', '/year'],
    ['duration=1', '/duration'],
    ['q=%00', '/q'],
  ]) {
    const { status, json } = await archive.call('GET', `/search/rss?${query}`)
    assert.deepEqual([status, json.errors?.[0]?.pointer], [400, pointer], query)
  }
})

test('prefixes all URLs in a feed with the base path', async () => {
  const { id } = await mounted.make({ title: 'Here' })
  const base = 'https://talks.example.org/archive'
  for (const format of feedFormats) {
    const path = `/archive/video/${format}`
    const reply = await mounted.call('GET', path)
    const urls = text(reply).match(/https?:\/\/[^\s"<]+/g) ?? []
    const ownUrls = urls.filter(
      (url) => !/^https?:\/\/(www\.w3\.org|purl\.org|search\.yahoo\.com|jsonfeed\.org)\//.test(url),
    )
    assert.ok(
      ownUrls.length >= 4 && ownUrls.every((url) => url.startsWith(`${base}/`)),
      ownUrls.join('\n'),
    )
    assert.ok(ownUrls.includes(`${base}/video/${id}`), format)
    assert.equal((await mounted.call('GET', `/video/${format}`)).status, 404)
  }
})

test('the feed of events shows where each was and its series', async () => {
  const body = { city: 'Łódź <&>', country: 'PL', online: true, series: 'Example Days' }
  const path = '/api/v2/category/example-days-2026'
  const { status } = await archive.call('PATCH', path, { token: archive.editor, body })
  assert.equal(status, 200)
  const { text } = await archive.call('GET', '/category/json')
  const feed = JSON.parse(Buffer.from(text, 'latin1').toString())
  assert.match(
    feed.items[0].content_html,
    /<p>([\d –-]+ · )?Łódź &lt;&amp;&gt;, Poland · Online · Example Days<\/p>/,
  )
})
