import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Video } from '@talkshelf/contract'
import sharp from 'sharp'
import { type Reply, startArchive } from '../support/harness.ts'
import { csvOf, importClient } from '../support/import-client.ts'

// What readers see on the home page, on the page of an event and of a talk.

const archive = await startArchive()
const { editor: token } = archive
const get = async (path: string): Promise<Reply> => {
  const reply = await archive.call('GET', path, { headers: { accept: 'text/html' } })
  return { ...reply, text: Buffer.from(reply.text, 'latin1').toString() }
}
const text = async (path: string) => (await get(path)).text
const pageOf = (talk: Video) => text(`/video/${talk.id}/${talk.slug}`)
const titlesIn = (html: string) =>
  [...html.matchAll(/class="card-title"[^>]*>([^<]*)</g)].map(([, title]) => title)

// Two talks of before, then an import of many. All are created before the first page is read,
// because pages use cached statistics.
const old = await archive.make({ title: 'An old talk', speakers: ['Ada'], recorded: '2011-01-01' })
await archive.make({ title: 'Another old talk', speakers: ['Ada', 'Bo'], recorded: '2011-01-02' })
const client = importClient(archive, token)
const talks = Array.from({ length: 30 }, (_, number) => ({
  key: `talk-${number}`,
  title: `Imported ${String(number).padStart(2, '0')}`,
  category: `Event ${number % 6}`,
  recorded: `20${10 + (number % 6)}-05-${String(1 + number).padStart(2, '0')}`,
}))
const planned = await client.plan({
  text: csvOf(talks),
  format: 'csv',
  name: 'talks.csv',
  source: 'many',
  language: 'en',
})
await client.apply(planned.id)
const long = await archive.make({ title: 'Far too long', duration: 3_060_760 })

test('shows an import as one addition, with the newest recording of each event', async () => {
  const html = await text('/')
  const additions = [...html.matchAll(/<div class="addition">.*?<\/ul><\/div>/gs)].map(([it]) => it)
  const [after = '', imported = '', before = ''] = additions
  assert.equal(additions.length, 3)
  assert.deepEqual(titlesIn(after), ['Far too long'])
  assert.match(imported, />30 talks from 6 events, added [^<]+<\/p>/)
  assert.deepEqual(titlesIn(imported), ['Imported 29', 'Imported 28', 'Imported 27', 'Imported 26'])
  assert.match(before, />2 talks from 1 event, added [^<]+<\/p>/)
  assert.deepEqual(titlesIn(before), ['Another old talk'])
})

test('shows the talks of an event by day, with headings, and the last day last', async () => {
  const category = 'Three Days'
  await archive.call('POST', '/api/v2/category', { token, body: { title: category } })
  const days: [string, string | null][] = [
    ['Opening', '2024-03-01'],
    ['Closing', '2024-03-03'],
    ['Between', '2024-03-02'],
    ['Also between', '2024-03-02'],
    ['Again on the first day', '2024-03-01'],
    ['Farewell', '2024-03-03'],
    ['Somewhen', null],
    ['Some other time', null],
  ]
  for (const [title, recorded] of days) await archive.make({ title, recorded, category })
  const html = await categoryPage('three-days')
  assert.deepEqual(
    [...html.matchAll(/<section class="programme-day"><h2>([^<]*)</g)].map(([, day]) => day),
    ['March 1, 2024', 'March 2, 2024', 'March 3, 2024', 'Unknown date'],
  )
  assert.deepEqual(titlesIn(html), [
    'Again on the first day',
    'Opening',
    'Also between',
    'Between',
    'Closing',
    'Farewell',
    'Some other time',
    'Somewhen',
  ])
})

test('shows no headings for a series with a day for each talk', async () => {
  const html = await categoryPage('event-3')
  assert.ok(!html.includes('programme-day'))
  assert.deepEqual(titlesIn(html), [
    'Imported 03',
    'Imported 09',
    'Imported 15',
    'Imported 21',
    'Imported 27',
  ])
})

test('flags a length that is not plausible', async () => {
  const html = await pageOf(long)
  assert.match(html, /850 h 13 min \(length not plausible\)/)
  assert.ok(!html.includes('"duration":"PT'))
  assert.match(await text('/search?ordering=-added'), /card-length">length not plausible</)
  const short = await archive.make({ title: 'Minutes as seconds', duration: 30 })
  assert.match(await pageOf(short), /1 min \(length not plausible\)/)
  const usual = await archive.make({ title: 'An hour', duration: 3600 })
  assert.match(await pageOf(usual), /<dd>1 h 0 min<\/dd>/)
})

test('names the speaker of other talks if there is one', async () => {
  assert.match(await pageOf(old), /<h2>More by Ada<\/h2>/)
  const { json } = await archive.call('GET', '/api/v2/video?q=another+old+talk&format=json')
  assert.match(await pageOf(json.results[0]), /<h2>More by these speakers<\/h2>/)
})

test('estimates never exceed the number of talks', async () => {
  const total = (await archive.call('GET', '/api/v2/video?page_size=1')).json.count
  const since = '/api/v2/video?page_size=1&updated_since=2000-01-01T00:00:00Z'
  assert.equal((await archive.call('GET', since)).json.count, total)
})

test('offers the feeds of a page on a page of its own', async () => {
  const category = await categoryPath('event-3')
  const follow: [string, string][] = [
    ['/', '/video/follow'],
    ['/category', '/category/follow'],
    [category, `${category}/follow`],
    ['/language/english', '/language/english/follow'],
    ['/year/2011', '/year/2011/follow'],
    ['/search?q=imported', '/search/follow?q=imported'],
    ['/search?q=imported&ordering=title&page=2', '/search/follow?q=imported'],
  ]
  for (const [page, path] of follow) {
    assert.ok((await text(page)).includes(`href="${path}"`), `${page} links to ${path}`)
    const html = await text(path)
    assert.match(html, /<h1>Follow: /)
    assert.match(html, /<meta name="robots" content="noindex, follow"/)
    const feeds = [...html.matchAll(/<a id="feed-(\w+)" href="([^"]+)"/g)]
    assert.deepEqual(
      feeds.map(([, format]) => format),
      ['atom', 'rss', 'json'],
    )
    for (const [, , feed = ''] of feeds)
      assert.equal((await get(feed.replaceAll('&amp;', '&'))).status, 200, feed)
  }
  const { status, headers } = await get(`${category.slice(0, -1)}x/follow`)
  assert.deepEqual([status, pathOf(headers.location)], [301, `${category}/follow`])
  for (const path of ['/category/999/x/follow', '/language/none/follow', '/year/x/follow'])
    assert.equal((await get(path)).status, 404, path)
  assert.equal((await get('/search/follow?year=x')).status, 400)
})

test('redirects addresses that people guess', async () => {
  const guessed: [string, string][] = [
    ['/events', '/category'],
    ['/speakers', '/speaker'],
    ['/tags', '/tag'],
    ['/talks?q=a', '/search?q=a'],
    ['/language', '/#browse'],
    ['/year?utm_source=x', '/?utm_source=x#browse'],
    ['/feed', '/video/follow'],
    ['/rss', '/video/rss'],
    ['/atom.xml', '/video/atom'],
  ]
  for (const [from, to] of guessed) {
    const { status, headers } = await get(from)
    assert.deepEqual([status, pathOf(headers.location)], [301, to], from)
    assert.equal((await get(to.replace(/#.*/, ''))).status, 200, to)
  }
})

test('redirects guessed addresses of events, speakers, tags, languages and years', async () => {
  const tagged = await archive.make({ title: 'Tagged', tags: ['Field notes'], speakers: ['Cy'] })
  const html = await pageOf(tagged)
  const linkTo = (kind: string) => new RegExp(`href="(/${kind}/[^"]+)"`).exec(html)?.[1] ?? ''
  const [tag, speaker] = [linkTo('tag'), linkTo('speaker')]
  const event = await categoryPath('event-3')
  const guessed: [string, string][] = [
    ['/tag/field-notes', tag],
    ['/tags/field-notes?page=1', `${tag}?page=1`],
    [`/tags/${tag.split('/')[2]}`, tag],
    ['/speaker/cy', speaker],
    ['/speakers/cy', speaker],
    ['/category/event-3', event],
    ['/events/event-3', event],
    ['/language/en', '/language/english'],
    ['/languages/en', '/language/english'],
    ['/languages/english', '/language/english'],
    ['/years/2011', '/year/2011'],
    // Feeds without the slug
    ...['rss', 'atom', 'json'].flatMap((format): [string, string][] => [
      [`/tag/${tag.split('/')[2]}/${format}`, `${tag}/${format}`],
      [`/category/${event.split('/')[2]}/${format}`, `${event}/${format}`],
    ]),
  ]
  for (const [from, to] of guessed) {
    const { status, headers } = await get(from)
    assert.deepEqual([status, pathOf(headers.location)], [301, to], from)
    assert.equal((await get(to)).status, 200, to)
  }
  for (const path of ['/tags/none', '/speaker/none', '/events/x%2Fy', '/languages/xx', '/years/1'])
    assert.equal((await get(path)).status, 404, path)
})

test('says that a search or list has fewer pages, and keeps the search', async () => {
  const search = await get('/search?q=imported&language=english&page=9')
  assert.equal(search.status, 404)
  assert.match(search.text, /This search has fewer pages\./)
  assert.match(
    search.text,
    /<a href="\/search\?q=imported&amp;language=english">Go to the first page/,
  )
  assert.match(search.text, /<input id="q"[^>]* value="imported"/)
  const list: [string, number][] = [
    ['/speaker?page=50', 404],
    ['/speaker?page=101', 400],
    ['/year/2011?page=7', 404],
  ]
  for (const [path, expected] of list) {
    const { status, text } = await get(path)
    assert.equal(status, expected, path)
    assert.match(text, /This list has fewer pages\./, path)
    assert.ok(text.includes(`<a href="${path.split('?')[0]}">Go to the first page`), path)
  }
  assert.doesNotMatch(await text('/search?year=x&page=2'), /fewer pages/)
})

test('names the invalid filter of a search, and keeps the rest', async () => {
  const { status, text } = await get('/search?q=imported&language=english&year=abc')
  assert.equal(status, 400)
  assert.match(text, /This search has an invalid value for: Year\./)
  assert.match(text, /<a href="\/search\?q=imported&amp;language=english">Search without it/)
  assert.match(text, /<input id="q"[^>]* value="imported"/)
})

test('shows the names of filters that no talk matches', async () => {
  const page = await text('/search?q=xqzvkj&category=example-days-2026&language=english')
  assert.match(page, /<bdi>Example Days 2026<\/bdi>/)
  assert.match(page, /<bdi>English<\/bdi>/)
  assert.doesNotMatch(page, /name="ordering"/)
})

test('names the query and the filters of a search in its title', async () => {
  const titles: [string, string][] = [
    ['/search', 'All talks'],
    ['/search?page=1&ordering=title', 'All talks'],
    ['/search?q=imported', '“imported” – Search'],
    ['/search?language=english', 'Language: English – Search'],
    [
      '/search?q=imported&category=example-days-2026&year=2025,2026',
      '“imported”, Event: Example Days 2026, Year: 2025, 2026 – Search',
    ],
  ]
  for (const [path, title] of titles) {
    const page = await text(path)
    assert.ok(
      page.includes(`<title>${title} · `),
      `${path}: ${/<title>.*<\/title>/.exec(page)?.[0]}`,
    )
    assert.match(page, new RegExp(`<h1[^>]*>${title}</h1>`), path)
  }
})

test('offers the event or the speaker that a search names', async () => {
  const offered = async (path: string) =>
    [...(await text(path)).matchAll(/<ul class="plain named">.*?<\/ul>/gs)]
      .flatMap(([list]) => [...list.matchAll(/<span>(\w+)<\/span> <bdi>([^<]*)</g)])
      .map(([, kind, name]) => `${kind} ${name}`)
  assert.deepEqual(await offered('/search?q=event+3'), ['Event Event 3'])
  assert.deepEqual(await offered('/search?q=3%20"EVENT"&ordering=title'), ['Event Event 3'])
  assert.deepEqual(await offered('/search?q=ada'), ['Speaker Ada'])
  assert.deepEqual(await offered('/search?q=three+dasy'), ['Event Three Days'])
  const others = [
    'event',
    'event+e',
    'event+3+imported',
    '%25',
    '_da',
    'event+3&year=2013',
    'event+3&page=1',
  ]
  for (const query of others) assert.deepEqual(await offered(`/search?q=${query}`), [], query)
})

test('gives advice that fits a search without results', async () => {
  const advice: [string, RegExp][] = [
    ['/search?q=xqzvkj', /<p>Check the spelling, or try fewer or different words\.</],
    ['/search?language=xx', /<p>Remove a filter, or choose another one\.</],
    ['/search?q=xqzvkj&year=2011', /<p>Remove a filter, or try fewer or different words\.</],
    ['/search?q=-imported', /<p>Add a word to search for: this search only excludes words\.</],
    ['/search?q=-"an+import"+-talk&year=2011', /<p>Add a word to search for/],
    ['/search?q=xqzvkj+-imported', /<p>Check the spelling/],
    ['/search?q=-', /<p>Check the spelling/],
  ]
  for (const [path, expected] of advice) assert.match(await text(path), expected, path)
})

test('shows a page in a frame for a talk that does not exist or was taken down', async () => {
  const gone = await archive.make({ title: 'Gone' })
  const body = { reason: 'a request' }
  await archive.call('POST', `/api/v2/video/${gone.id}/takedown`, { token: archive.admin, body })
  const expected: [string, number, string][] = [
    ['/embed/999999', 404, 'There is no such talk'],
    [`/embed/${gone.id}`, 410, 'This talk is no longer available'],
  ]
  for (const [path, code, message] of expected) {
    const { status, headers, text } = await get(path)
    assert.equal(status, code)
    assert.match(String(headers['content-security-policy']), /frame-ancestors \*/)
    assert.ok(text.includes(`<h1>${message}</h1>`), path)
    assert.match(text, /<a class="player-link" href="http[^"]+\/" target="_blank" rel="noopener">/)
  }
  const { headers } = await get('/video/999999')
  assert.match(String(headers['content-security-policy']), /frame-ancestors 'none'/)
})

test('describes a talk by its summary, with separate list items', async () => {
  const description = 'Within a year.\n\n- what broke\n- what we *measured*'
  const meta = async (talk: Video) => {
    const html = await pageOf(talk)
    const [, content] = /<meta name="description" content="([^"]*)"/.exec(html) ?? []
    assert.ok(html.includes(`<meta property="og:description" content="${content}"`))
    return content
  }
  const both = await archive.make({ title: 'Both texts', summary: 'In *short*.', description })
  assert.equal(await meta(both), 'In short.')
  const one = await archive.make({ title: 'One text', description })
  assert.equal(await meta(one), 'Within a year. what broke; what we measured')
})

test('says that no recording is linked, also if there are slides', async () => {
  const talk = await archive.make({ title: 'Not recorded', source_url: null })
  assert.match(await pageOf(talk), /<p>No recording is linked yet\.<\/p>/)
  const facts = [{ kind: 'related', url: 'https://slides.example/1', label: 'Slides' }]
  const saved = await archive.call('PUT', `/api/v2/video/${talk.id}/facts`, {
    token,
    body: { facts },
  })
  assert.ok(saved.status < 300, saved.text)
  const html = await pageOf(talk)
  assert.match(html, /<p>No recording is linked yet\.<\/p><\/div>/)
  assert.match(html, /href="https:\/\/slides\.example\/1"/)
})

test('lists the speakers of an event by name, with all of them below', async () => {
  const category = 'Many Voices'
  await archive.call('POST', '/api/v2/category', { token, body: { title: category } })
  const names = Array.from(
    { length: 30 },
    (_, number) => `Voice ${String(number).padStart(2, '0')}`,
  )
  for (const [index, name] of names.entries())
    await archive.make({
      title: `Said by ${name}`,
      category,
      speakers: [name, names[29 - index] ?? ''],
    })
  const [, section = ''] =
    /<h2>Speaker<\/h2>(.*?)<\/section>/s.exec(await categoryPage('many-voices')) ?? []
  const [first = '', all = ''] = section.split('<summary>All 30 speakers</summary>')
  const namesIn = (html: string) => [...html.matchAll(/dir="auto">([^<]+)</g)].map(([, it]) => it)
  assert.equal(namesIn(first).length, 12)
  assert.deepEqual(namesIn(first), namesIn(first).toSorted())
  assert.deepEqual(namesIn(all), names)
})

test('has My talks in the menu', async () => {
  const [menu = ''] = /<nav id="menu".*?<\/nav>/s.exec(await text('/')) ?? []
  assert.match(menu, /<a href="\/my-talks"/)
})

test('has an icon at the address that browsers guess', async () => {
  const { status, headers, text } = await archive.call('GET', '/favicon.ico')
  assert.deepEqual([status, headers['content-type']], [200, 'image/x-icon'])
  const bytes = Buffer.from(text, 'latin1')
  assert.deepEqual([...bytes.subarray(0, 6)], [0, 0, 1, 0, 1, 0])
  const [length, offset] = [bytes.readUInt32LE(14), bytes.readUInt32LE(18)]
  assert.equal(offset + length, bytes.length)
  const picture = await sharp(bytes.subarray(offset)).metadata()
  assert.deepEqual([picture.format, picture.width, picture.height], ['png', 32, 32])
})

test('links the totals to their lists', async () => {
  for (const page of ['/', '/about']) {
    const html = await text(page)
    for (const [path, name] of [
      ['/search', 'talks'],
      ['/category', 'events'],
      ['/speaker', 'speakers'],
      ['/#browse', 'language'],
    ])
      assert.match(html, new RegExp(`<li><a href="${path}">(<strong>)?\\d+(</strong>)? ${name}`))
  }
})

const pathOf = (location: string | undefined) => location?.replace(archive.url, '')

async function categoryPath(slug: string): Promise<string> {
  const { headers } = await get(`/category/-/${slug}`)
  return String(pathOf(headers.location))
}

async function categoryPage(slug: string): Promise<string> {
  return text(await categoryPath(slug))
}
