import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Feed } from '../../server/syndication/entries.ts'
import { type SiteInfo, serializeFeed } from '../../server/syndication/syndication.ts'
import { assertJson, assertXml } from '../support/schema-validators.ts'

// The judges are judged: each of these documents is wrong in one place, and must not pass.

const site: SiteInfo = { name: 'T', origin: () => 'http://a', basePath: '' }
const file = (name: string) => ({ url: `http://a/${name}`, type: 'video/mp4', bytes: 5 })
const feed: Feed = {
  id: 'http://a/feed',
  title: 'T',
  about: 'A',
  page: '/search?q=a&tag=b',
  entries: [
    {
      id: 'http://a/video/1',
      title: 'One',
      link: 'http://a/1',
      authors: ['A'],
      published: new Date(0),
      updated: new Date(0),
      recorded: '2024-05-01',
      summary: 'S',
      html: '<p>x</p>',
      tags: ['t'],
      rights: 'R',
      seconds: 5,
      files: [file('a'), file('b')],
      player: 'http://a/e',
      picture: 'http://a/p',
    },
  ],
}

/** What is taken out, and what stands in its place. */
type Breakage = readonly [RegExp, string]

function refused(
  good: string,
  breakages: readonly Breakage[],
  judge: (text: string) => void,
): void {
  judge(good)
  for (const [found, replaced] of breakages) {
    const bad = good.replace(found, replaced)
    assert.notEqual(bad, good, String(found))
    assert.throws(() => judge(bad), `passed: ${found} -> ${replaced}`)
  }
}

const everywhere: Breakage[] = [
  [/<\/title>/, ''],
  [/One/, 'O\u0001ne'],
  [/One/, '&nbsp;'],
  [/One/, '&#xFFFE;'],
  [/One/, 'a & b'],
  [/<title>One<\/title>/, ''],
  [/<title>One<\/title>/, '<title>One</title><title>Two</title>'],
  [/<title>One</, '<title>\n  One<'],
  [/fileSize="5"/, 'fileSize="None"'],
  [/duration="5"/, 'duration=""'],
  [/<dcterms:created>2024-05-01T/, '<dcterms:created>2024-05-01 '],
  [/<media:player/, '<media:other/><media:player'],
  [/<media:thumbnail url="[^"]*"/, '<media:thumbnail'],
  [/medium="video"/, 'medium="film"'],
]

test('rejects an RSS feed with one mistake', () => {
  const breakages: Breakage[] = [
    ...everywhere,
    [/length="5"/, 'length="None"'],
    [/ length="5"/, ''],
    [/<link>/, '<link>\n '],
    [/isPermaLink="true"/, ''],
    [/Thu, 01/, '01'],
    [/<atom:link [^>]*>/, ''],
    [/<description>A<\/description>/, ''],
    [/version="2.0"/, 'version="0.91"'],
  ]
  refused(serializeFeed(feed, 'rss', site), breakages, (text) => assertXml('rss', text))
})

test('rejects an Atom feed with one mistake', () => {
  const breakages: Breakage[] = [
    ...everywhere,
    [/ length="5"/, ' length="0"'],
    [/<id>http:\/\/a\/video\/1<\/id>/, ''],
    [/<id>http:\/\/a\/feed/, '<id>feed'],
    [/<updated>[^<]*<\/updated>/, ''],
    [/<updated>1970-01-01T/, '<updated>1970-01-01 '],
    [/<link [^>]*rel="self"[^>]*>/, ''],
    [/<link [^>]*rel="alternate"[^>]*>/, ''],
    [/<name>A<\/name>/, '<name/>'],
    [/type="html"/, 'type="markdown"'],
    [/<author>\s*<name>T<\/name>[\s\S]*?<\/author>/, ''],
    [/http:\/\/www.w3.org\/2005\/Atom/, 'http://purl.org/atom/ns#'],
  ]
  refused(serializeFeed(feed, 'atom', site), breakages, (text) => assertXml('atom', text))
})

test('rejects a JSON Feed with one mistake', () => {
  const breakages: Breakage[] = [
    [/"version":"[^"]*",/, ''],
    [/"title":"T",/, ''],
    [/"items":\[/, '"entries":['],
    [/"content_html":"[^"]*",/, ''],
    [/"size_in_bytes":5/, '"size_in_bytes":"None"'],
    [/"size_in_bytes":5/, '"size_in_bytes":0'],
    [/"mime_type":"video\/mp4",/, ''],
    [/"authors":\[[^\]]*\]/, '"authors":[]'],
    [/"date_published":"1970-01-01T/, '"date_published":"1970-01-01 '],
    [/"recorded":"2024-05-01"/, '"recorded":"May 2024"'],
    [/"url":"http:/, '"url":"'],
  ]
  refused(serializeFeed(feed, 'json', site), breakages, (text) => assertJson('jsonfeed', text))
})

test('rejects a sitemap, an OpenSearch description and an oEmbed answer with one mistake', () => {
  const video =
    '<video:video><video:thumbnail_loc>http://a/p</video:thumbnail_loc>' +
    '<video:title>One</video:title><video:description>D</video:description>' +
    '<video:player_loc>http://a/e</video:player_loc>' +
    '<video:duration>5</video:duration></video:video>'
  const list =
    '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" ' +
    'xmlns:video="http://www.google.com/schemas/sitemap-video/1.1">' +
    `<url><loc>http://a/1</loc><lastmod>2026-01-01T00:00:00.000Z</lastmod>${video}</url></urlset>`
  const breakages: Breakage[] = [
    [/<url>[\s\S]*<\/url>/, ''],
    [/<loc>[^<]*<\/loc>/, ''],
    [/http:\/\/a\/1/, '/1'],
    [/http:\/\/a\/1/, `http://a/${'1'.repeat(2048)}`],
    [/2026-01-01T/, '2026-01-01 '],
    [/<video:player_loc>[^<]*<\/video:player_loc>/, ''],
    [/<video:description>D/, '<video:description>'],
    [/<video:duration>5/, '<video:duration>90000'],
    [/<video:title>One/, '<video:title>One\n'],
  ]
  refused(list, breakages, (text) => assertXml('sitemap', text))
  const description =
    '<OpenSearchDescription xmlns="http://a9.com/-/spec/opensearch/1.1/">' +
    '<ShortName>T</ShortName><Description>D</Description>' +
    '<Url type="text/html" template="http://a/?q={searchTerms}"/></OpenSearchDescription>'
  refused(
    description,
    [
      [/<ShortName>T/, `<ShortName>${'T'.repeat(17)}`],
      [/<Description>D<\/Description>/, ''],
      [/<Url [^>]*>/, ''],
      [/searchTerms/, 'words'],
    ],
    (text) => assertXml('opensearch', text),
  )
  const frame = {
    type: 'video',
    version: '1.0',
    html: '<iframe src="x"></iframe>',
    width: 16,
    height: 9,
    thumbnail_url: 'http://a',
    thumbnail_width: 1,
    thumbnail_height: 1,
  }
  const answer = JSON.stringify(frame)
  const wrong: Breakage[] = [
    [/"width":16,/, ''],
    [/"width":16/, '"width":"16"'],
    [/,"thumbnail_width":1/, ''],
    [/"video"/, '"rich"'],
    [/<iframe/, '<script></script><iframe'],
  ]
  refused(answer, wrong, (text) => assertJson('oembed', text))
  const xml = `<oembed>${Object.entries(frame)
    .map(([name, value]) => `<${name}>${String(value).replaceAll('<', '&lt;')}</${name}>`)
    .join('')}</oembed>`
  refused(
    xml,
    [
      [/<width>16<\/width>/, ''],
      [/<width>16/, '<width>0'],
      [/<thumbnail_width>1<\/thumbnail_width>/, ''],
    ],
    (text) => assertXml('oembed', text),
  )
})
