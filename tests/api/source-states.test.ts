import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Fact, Video } from '@talkshelf/contract'
import { openMarkdown } from '../../server/markdown/markdown.ts'
import type { Db } from '../../server/platform/db/db.ts'
import { catalogueFeed } from '../../server/syndication/syndication.ts'
import { startArchive } from '../support/harness.ts'
import { checkInvariants, withDatabase } from '../support/invariants.ts'
import { assertJson, assertXml } from '../support/schema-validators.ts'
import { type FoundState, setSourceState } from '../support/source-states.ts'
import { until } from '../support/until.ts'

// What readers, search engines and feed readers get of recordings that are not simply there.

const archive = await startArchive()
const { call, databaseUrl, editor: token } = archive

const event = 'Days of Sources'
await call('POST', '/api/v2/category', { token, body: { title: event } })
let made = 0

interface MadeTalk {
  readonly id: number
  readonly path: string
  readonly video: Video
}

async function make(fields: Partial<Video>, facts: readonly Fact[] = []): Promise<MadeTalk> {
  made++
  const video = await archive.make({ title: `Talk ${made}`, category: event, ...fields })
  if (facts.length > 0) {
    const reply = await call('PUT', `/api/v2/video/${video.id}/facts`, { token, body: { facts } })
    assert.equal(reply.status, 200, reply.text)
  }
  return { id: video.id, path: `/video/${video.id}/${video.slug}`, video }
}

const mark = (url: string, state: Parameters<typeof setSourceState>[2], found?: FoundState) =>
  setSourceState(databaseUrl, url, state, found)

async function get(path: string, headers: Record<string, string> = {}): Promise<string> {
  const reply = await call('GET', path, { headers: { accept: 'text/html', ...headers } })
  assert.equal(reply.status, 200, `${path}: ${reply.text}`)
  return Buffer.from(reply.text, 'latin1').toString()
}

async function policyOf(path: string): Promise<string> {
  const { headers } = await call('GET', path, { headers: { accept: 'text/html' } })
  return String(headers['content-security-policy'])
}

const decode = (html: string) =>
  html.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&')

/** Returns what the script of the player gets; undefined if there is nothing to play. */
function playerData(html: string): { sources: { label: string; src: string }[] } | undefined {
  const [, data] = /data-player="([^"]+)"/.exec(html) ?? []
  return data === undefined ? undefined : JSON.parse(decode(data))
}

const playedLabels = (html: string) => playerData(html)?.sources.map(({ label }) => label)

/** Returns the text of the player without tags. */
function playerText(html: string): string {
  const [player = ''] = /<section class="player".*?<\/section>/s.exec(html) ?? []
  return decode(player.replaceAll(/<svg.*?<\/svg>/gs, '').replaceAll(/<[^>]+>/g, ' '))
    .replaceAll(/\s+/g, ' ')
    .trim()
}

const struck = (html: string) => Array.from(html.matchAll(/<s>(.*?)<\/s>/g), ([, text]) => text)

function structuredVideo(html: string): Record<string, unknown> {
  const blocks = html.matchAll(/<script type="application\/ld\+json">(.*?)<\/script>/gs)
  const all = Array.from(blocks, ([, text = '']) => JSON.parse(text))
  return all.find((block) => String(block['@type']).includes('VideoObject'))
}

const oEmbed = (talk: MadeTalk, format = 'json') =>
  get(`/oembed?url=${encodeURIComponent(archive.url + talk.path)}&format=${format}`)

let page: string | undefined
/** Returns the path of the feed of the event. */
async function eventPage(): Promise<string> {
  const { json } = await call('GET', '/api/v2/category/days-of-sources')
  page ??= `/category/${json.id}/${json.slug}`
  return page
}

/** Returns the entry of a talk in each feed. */
async function entriesOf({ id }: MadeTalk) {
  const feed = await eventPage()
  const rss = await get(`${feed}/rss`)
  const atom = await get(`${feed}/atom`)
  const json = await get(`${feed}/json`)
  assertXml('rss', rss)
  assertXml('atom', atom)
  assertJson('jsonfeed', json)
  const own = (parts: readonly string[]) =>
    parts.find((part) => part.includes(`>${archive.url}/video/${id}<`)) ?? ''
  return {
    rss: own(rss.split('<item>')),
    atom: own(atom.split('<entry>')),
    json: JSON.parse(json).items.find(
      (item: { id: string }) => item.id === `${archive.url}/video/${id}`,
    ),
  }
}

async function sitemapEntry({ path }: MadeTalk): Promise<string> {
  const text = await get('/sitemap/video-1.xml')
  assertXml('sitemap', text)
  return text.split('<url>').find((part) => part.includes(`${path}<`)) ?? ''
}

const media = (url: string): Fact => ({ kind: 'media', url, type: '', size: null })

test('plays what is there first, what is limited next, and nothing that is away', async () => {
  const youtube = 'https://www.youtube.com/watch?v=ORDERorder1'
  const talk = await make(
    { source_url: youtube, video_mp4_url: 'https://files.example/order.mp4' },
    [
      media('https://vimeo.com/1001'),
      media('https://tube.example/w/kkGMgK9ZtnKfYAgnEtQxbv'),
      media('https://other.example/order.webm'),
      media('https://pages.example/order'),
    ],
  )
  assert.deepEqual(playedLabels(await get(talk.path)), [
    'YouTube',
    'Vimeo',
    'tube.example',
    'MP4',
    'WEBM',
  ])
  // Another spelling of the URL is the same source.
  const lastGood = '2025-11-01T00:00:00Z'
  await mark('https://youtu.be/ORDERorder1?t=5', 'private', { lastGood })
  await mark('https://vimeo.com/1001', 'region')
  await mark('https://tube.example/w/kkGMgK9ZtnKfYAgnEtQxbv', 'unreachable', { lastGood })
  await mark('https://files.example/order.mp4', 'removed', {
    since: '2025-12-31T23:59:00Z',
    lastGood,
  })
  const html = await get(talk.path)
  assert.deepEqual(playedLabels(html), ['WEBM', 'Vimeo', 'tube.example'])
  assert.match(html, /class="player-facade" href="https:\/\/other\.example\/order\.webm"/)
  assert.deepEqual(struck(html), ['YouTube', 'files.example (MP4)'])
  const text = playerText(html)
  for (const words of [
    'Watch on Vimeo not available in every country',
    'Watch on tube.example not reachable since about March 2026',
    'YouTube no longer public since about March 2026',
    'files.example (MP4) removed about December 2025',
  ])
    assert.ok(text.includes(words), `${words} is not in ${text}`)
  assert.doesNotMatch(text, /owner/)
  // Nothing of the page leads to what is away, and no frame may.
  assert.doesNotMatch(html, /youtube\.com|youtube-nocookie|youtu\.be|files\.example\/order/)
  const policy = await policyOf(talk.path)
  assert.doesNotMatch(policy, /youtube/)
  assert.match(policy, /frame-src https:\/\/player\.vimeo\.com https:\/\/tube\.example/)
  const spanish = playerText(await get(talk.path, { 'accept-language': 'es' }))
  assert.match(spanish, /YouTube ya no es pública desde alrededor de marzo de 2026/)

  const { contentUrl, embedUrl } = structuredVideo(html)
  assert.deepEqual(
    [contentUrl, embedUrl],
    ['https://other.example/order.webm', `${archive.url}/embed/${talk.id}`],
  )
  const embed = await get(`/embed/${talk.id}`)
  assert.deepEqual(playedLabels(embed), ['WEBM', 'Vimeo', 'tube.example'])
  assert.doesNotMatch(embed, /youtube\.com/)

  const entries = await entriesOf(talk)
  for (const entry of [entries.rss, entries.atom])
    assert.doesNotMatch(entry, /files\.example|enclosure/)
  assert.equal(entries.json.attachments, undefined)
  assert.match(entries.rss, /media:player/, 'a copy that only the facts have is played')
  const entry = await sitemapEntry(talk)
  assert.match(entry, /video:player_loc/)
  assert.doesNotMatch(entry, /content_loc/)
  assert.equal(JSON.parse(await oEmbed(talk)).type, 'video')
})

test('links to a video that plays only at its host, without a frame', async () => {
  const youtube = 'https://www.youtube.com/watch?v=EMBEDembed1'
  const talk = await make({ source_url: youtube }, [media('https://files.example/embed.webm')])
  await mark(youtube, 'embed-off')
  const html = await get(talk.path)
  assert.deepEqual(playedLabels(html), ['WEBM'])
  assert.ok(playerText(html).includes('Watch on YouTube plays only there'), playerText(html))
  assert.doesNotMatch(await policyOf(talk.path), /youtube/)

  const alone = await make({ source_url: youtube })
  const panel = await get(alone.path)
  assert.equal(playerData(panel), undefined)
  assert.match(playerText(panel), /This recording cannot be played here\. .*YouTube/)
  assert.ok(panel.includes(`<a class="player-link" href="${youtube}"`))
  assert.deepEqual(struck(panel), [])
  assert.equal(structuredVideo(panel).embedUrl, undefined)
  assert.doesNotMatch(await policyOf(alone.path), /youtube/)
  assert.match(await sitemapEntry(alone), /video:player_loc/, 'it is still there')

  const many = Array.from({ length: 4 }, (_, index) => `https://vimeo.com/200${index}`)
  const [first = '', ...others] = many
  const several = await make({ source_url: first }, others.map(media))
  for (const url of many) await mark(url, 'embed-off')
  const [, details = ''] =
    /<section class="details">(.*?)<\/section>/s.exec(await get(several.path)) ?? []
  for (const url of many) assert.ok(details.includes(`href="${url}"`), url)
  assert.match(details, /Vimeo<\/a> \(plays only there\)/)
})

test('says of a limited page or file what is known, and does not link to a lost one', async () => {
  const talk = await make(
    {
      source_url: 'https://pages.example/talks/1',
      video_flv_url: 'https://files.example/1.flv',
      video_mp4_url: 'https://files.example/1.mp4',
      video_mp4_download_only: true,
    },
    [{ kind: 'related', url: 'https://slides.example/1', label: 'Slides' }],
  )
  await mark('https://pages.example/talks/1', 'moved')
  await mark('https://files.example/1.flv', 'gone')
  const html = decode(await get(talk.path))
  assert.match(html, /pages\.example<\/a> \(moved to another address\)/)
  assert.match(html, />MP4<\/a>/)
  assert.doesNotMatch(html, /href="https:\/\/files\.example\/1\.flv/)
  assert.match(html, /Slides/)
  assert.ok(html.includes('https://web.archive.org/web/2/https://files.example/1.flv'))
})

test('says what was where if nothing is left, and asks for another copy', async () => {
  const youtube = 'https://www.youtube.com/watch?v=LOSTlost_-1'
  const file = 'https://files.example/lost%20talk.mp4?a=1&b=2'
  const talk = await make(
    { source_url: youtube, video_mp4_url: file, recorded: '2020-01-02', duration: 60 },
    [
      media('https://youtu.be/LOSTlost_-1'),
      { kind: 'part', url: 'https://vimeo.com/5050', start: 60, end: null },
      { kind: 'related', url: 'https://slides.example/2', label: 'Slides' },
    ],
  )
  await mark(youtube, 'closed', { lastGood: '2026-02-12T08:00:00Z' })
  await mark(file, 'gone')
  await mark('https://vimeo.com/5050', 'removed')
  const html = await get(talk.path)
  assert.equal(playerData(html), undefined)
  const text = playerText(html)
  assert.equal(
    text,
    'This recording is not available any more, as far as we know. ' +
      'Do you know another copy? ' +
      'YouTube account closed about March 2026 . We last saw it on February 12, 2026. ' +
      'Search the Wayback Machine ' +
      'files.example (MP4) gone, noticed in March 2026 . Search the Wayback Machine ' +
      'Vimeo removed, noticed in March 2026 . Search the Wayback Machine ' +
      text.slice(text.indexOf('Playing all talks of')),
  )
  assert.deepEqual(struck(html), ['YouTube', 'files.example (MP4)', 'Vimeo'])
  const links = Array.from(
    decode(html).matchAll(/href="(https:\/\/web\.archive\.org\/[^"]+)"/g),
    ([, link]) => link,
  )
  assert.deepEqual(
    links,
    [youtube, file, 'https://vimeo.com/5050'].map((url) => `https://web.archive.org/web/2/${url}`),
  )
  const [, suggest = ''] =
    /href="([^"]+)"[^>]*>Do you know another copy\?</.exec(decode(html)) ?? []
  assert.equal(suggest, `${talk.path}/suggest?kind=dead-link`)
  assert.match(await get(suggest), /<input type="hidden" name="kind" value="dead-link"/)
  assert.match(
    playerText(await get(talk.path, { 'accept-language': 'es' })),
    /ya no está disponible.*cuenta cerrada hacia marzo de 2026/,
  )
  assert.match(html, /og:type" content="website"/)
  assert.doesNotMatch(await policyOf(talk.path), /frame-src|media-src/)

  const described = structuredVideo(html)
  for (const name of ['embedUrl', 'contentUrl', 'potentialAction'])
    assert.equal(described[name], undefined, name)
  assert.equal(described.name, talk.video.title)

  const embed = await get(`/embed/${talk.id}`)
  assert.equal(playerData(embed), undefined)
  assert.match(playerText(embed), /not available any more.*Do you know another copy\?/)
  assert.ok(embed.includes(`href="${archive.url}${talk.path}/suggest?kind=dead-link"`))
  assert.doesNotMatch(embed, /web\.archive/)

  const { rss, atom, json } = await entriesOf(talk)
  assert.ok(rss.includes(talk.video.title) && atom.includes(talk.video.title))
  for (const entry of [rss, atom])
    assert.doesNotMatch(entry, /enclosure|media:content|media:player|youtube|files\.example/)
  assert.equal(json.title, talk.video.title)
  assert.equal(json.attachments, undefined)
  const entry = await sitemapEntry(talk)
  assert.match(entry, /<loc>/)
  assert.doesNotMatch(entry, /video:/)
  const [answer, xml] = [await oEmbed(talk), await oEmbed(talk, 'xml')]
  assertJson('oembed', answer)
  assertXml('oembed', xml)
  assert.equal(JSON.parse(answer).type, 'link')
  assert.doesNotMatch(answer + xml, /embed\/|iframe|youtube/)
  const { count } = (await call('GET', `/api/v2/video?q=${encodeURIComponent(talk.video.title)}`))
    .json
  assert.ok(count > 0, 'it stays listed')
})

test('shows everything again as soon as a source is back', async () => {
  const file = 'https://files.example/back.mp4'
  const talk = await make({ video_mp4_url: file })
  const read = async () => [
    await get(talk.path),
    await get(`/embed/${talk.id}`),
    await entriesOf(talk),
    await sitemapEntry(talk),
    await oEmbed(talk),
  ]
  const before = await read()
  await mark(file, 'gone')
  const lost = await read()
  for (const [index, text] of lost.entries()) assert.notDeepEqual(text, before[index])
  await mark(file, 'ok')
  assert.deepEqual(await read(), before)
  await checkInvariants(databaseUrl)
})

test('a suspicion changes nothing that readers get', async () => {
  const file = 'https://files.example/suspect.mp4'
  const talk = await make({ video_mp4_url: file })
  const sourceId = (await call('GET', `/api/v2/video/${talk.id}/sources`)).json.results[0].id
  const paths = [
    talk.path,
    `/embed/${talk.id}`,
    `${await eventPage()}/rss`,
    `${await eventPage()}/atom`,
    `${await eventPage()}/json`,
    '/sitemap/video-1.xml',
    `/oembed?url=${encodeURIComponent(archive.url + talk.path)}`,
    `/api/v2/video/${talk.id}/sources`,
    `/api/v2/source/${sourceId}/history`,
    '/api/v2/source?page_size=100',
    '/at-risk.csv',
  ]
  const read = () =>
    Promise.all(
      paths.map(async (path) => {
        const { status, text } = await call('GET', path, { headers: { accept: '*/*' } })
        return [path, status, text]
      }),
    )
  for (const lastGood of [null, '2026-02-01T00:00:00Z']) {
    const since = '2026-02-01T00:00:00Z'
    await mark(file, lastGood === null ? 'new' : 'ok', { since, lastGood })
    if (lastGood === null) await forgetCheck(file)
    const before = await read()
    await mark(file, 'suspect', { since: '2026-03-01T00:00:00Z', lastGood })
    assert.deepEqual(await read(), before, String(lastGood))
  }
})

/** Makes a source one that was never checked. */
async function forgetCheck(url: string): Promise<void> {
  await withDatabase(databaseUrl, (query) =>
    query('update source set last_check = null where key = source_key($1)', [url]),
  )
}

test('a feed says when a recording was lost, also to clients that compare dates', async () => {
  const file = 'https://files.example/dated.mp4'
  await make({ video_mp4_url: file })
  const path = `${await eventPage()}/atom`
  const read = (headers: Record<string, string> = {}) => call('GET', path, { headers })
  // Within the second of the last change there is no date.
  const before = await until(
    'the date of the feed',
    async () => (await read()).headers['last-modified'],
  )
  assert.equal((await read({ 'if-modified-since': before })).status, 304)
  const since = new Date(Date.parse(before) + 3_600_000)
  await mark(file, 'gone', { since: since.toISOString() })
  const lost = await read({ 'if-modified-since': before })
  assert.equal(lost.status, 200)
  assert.match(lost.text, new RegExp(`<updated>${since.toISOString()}</updated>`))
  await mark(file, 'ok')
  const back = await read()
  assert.equal(back.headers['last-modified'], before)
})

test('reads the states of all talks of a feed with one statement', async () => {
  const statements: string[] = []
  const counting = (db: Db): Db =>
    new Proxy(db, {
      get(target, name) {
        const value = Reflect.get(target, name)
        if (name !== 'run') return typeof value === 'function' ? value.bind(target) : value
        return (statement: { text: string }) => {
          if (statement.text.includes('video_source')) statements.push(statement.text)
          return value.call(target, statement)
        }
      },
    })
  const { pool } = archive
  const counted = { ...pool, lists: counting(pool.lists), lookups: counting(pool.lookups) }
  const site = { name: 'Talks', origin: () => archive.url, basePath: '' }
  const { entries } = await catalogueFeed(counted as typeof pool, openMarkdown(), site)
  assert.ok(entries.length > 5)
  assert.equal(statements.length, 1)
})
