import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { Video } from '@talkshelf/contract'
import { feedFormats } from '@talkshelf/web'
import fc from 'fast-check'
import { parse } from 'parse5'
import type { Feed } from '../../server/syndication/entries.ts'
import {
  oEmbed,
  oEmbedXml,
  openSearch,
  type SiteInfo,
  serializeFeed,
} from '../../server/syndication/syndication.ts'
import { xmlText } from '../../server/syndication/xml.ts'
import { category, type Reply, startArchive } from '../support/harness.ts'
import { withDatabase } from '../support/invariants.ts'
import { hostilePayloads } from '../support/payloads.ts'
import { assertJson, assertXml } from '../support/schema-validators.ts'

// Feeds, sitemaps, OpenSearch and oEmbed stay well-formed and valid for any text in a record.

const archive = await startArchive()
const text = (reply: Reply) => Buffer.from(reply.text, 'latin1').toString('utf8')

const between = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, n) => String.fromCharCode(first + n))
const controls = [...between(0, 8), '\u000b', '\u000c', ...between(0x0e, 0x1f)]
/**
 * All characters that XML 1.0 does not allow. Spaces separate the surrogates, or two of them would
 * be a character.
 */
const forbidden = [
  ...controls,
  '\ufffe',
  '\uffff',
  ...between(0xd800, 0xdfff).map((half) => `${half} `),
].join('')

const hostile = [
  ']]>',
  '<![CDATA[ x ]]>',
  ']]]]><![CDATA[>',
  '<!-- -->',
  '--> <!--',
  '<?xml version="1.0"?>',
  '<!DOCTYPE x [<!ENTITY e "e">]>&e;',
  '&lt;b&gt; &amp;amp; &#0; &#xFFFE; &nbsp; & &;',
  '"\'`{searchTerms}%s',
  '\u0085\u009d\u200b\u202e\ufeff\ufdd0',
  'é👩‍🚀𝕏日本',
  '\t tab\r\nline\rline',
  // Characters that the API rejects are tested below.
  ...hostilePayloads
    .map((payload) => payload.replaceAll(/(?![\t\r\n])\p{Cc}/gu, '').trim())
    .filter((payload) => payload !== ''),
]

/** Creates records from texts that the API accepts, which include U+FFFE and U+FFFF. */
before(async () => {
  for (const word of [...hostile, '\ufffe', '\uffff', 'a\ufffeb', 'x'.repeat(255)]) {
    const name = word.slice(0, 200)
    const made = await archive.call('POST', '/api/v2/category', {
      token: archive.editor,
      body: { title: `Event ${name}`.trim(), description: word },
    })
    assert.ok([201, 409].includes(made.status), made.text)
    await archive.make({
      title: word,
      category: made.status === 201 ? made.json.title : category,
      speakers: [name, `Speaker ${name}`],
      tags: [name],
      summary: word,
      // One text is very long. It has no words, which would be slow to index.
      description: word.repeat(word === ']]>' ? 30_000 : 3),
      copyright_text: word,
      video_mp4_url: `http://files.example.org/${word.replaceAll(/\s/g, '_')}`,
    })
  }
})

/** Reads and validates every feed, sitemap and oEmbed response. Returns all texts. */
async function validateAll(): Promise<string> {
  const all: string[] = []
  const get = async (path: string) => {
    const reply = await archive.call('GET', path)
    assert.equal(reply.status, 200, `${path}: ${reply.text.slice(0, 500)}`)
    all.push(text(reply))
    return text(reply)
  }
  const records = (await archive.call('GET', '/api/v2/video?page_size=100&ordering=-added')).json
    .results as Video[]
  const searches = records
    .filter(({ title }) => !title.includes('\0'))
    .map(({ title }) => `/search/FORM?q=${encodeURIComponent(title.toWellFormed().slice(0, 200))}`)
  for (const page of ['/video/FORM', '/category/FORM', ...searches.slice(0, 20)])
    for (const form of feedFormats) {
      const body = await get(page.replace('FORM', form))
      if (form === 'json') assertJson('jsonfeed', body, page)
      else assertXml(form, body, page)
    }
  for (const path of [
    '/sitemap.xml',
    '/sitemap/page.xml',
    '/sitemap/video-1.xml',
    '/sitemap/category.xml',
    '/sitemap/speaker.xml',
    '/sitemap/tag.xml',
  ])
    assertXml('sitemap', await get(path), path)
  assertXml('opensearch', await get('/search/xml'))
  for (const { id } of records.slice(0, 100)) {
    const url = encodeURIComponent(`${archive.url}/video/${id}/x`)
    assertXml('oembed', await get(`/oembed?format=xml&url=${url}`))
    const body = await get(`/oembed?url=${url}`)
    assertJson('oembed', body)
    // The HTML for other sites is a single frame, whatever the title is.
    const children = (
      parse(JSON.parse(body).html) as never as {
        childNodes: { childNodes: { nodeName: string; childNodes: unknown[] }[] }[]
      }
    ).childNodes[0]?.childNodes[1]
    assert.deepEqual(
      (children as { childNodes: { nodeName: string }[] }).childNodes.map((node) => node.nodeName),
      ['iframe'],
    )
  }
  return all.join('\n')
}

test('keeps feeds and sitemaps valid for any input that the API accepts', async () => {
  await validateAll()
})

test('keeps feeds and sitemaps valid for legacy rows with invalid characters', async () => {
  // A stored body is JSON and can contain lone surrogates and NUL; other columns contain only what
  // PostgreSQL accepts.
  const inRow = forbidden.replaceAll(/[\0\ud800-\udfff]/g, '')
  await withDatabase(archive.databaseUrl, async (query) => {
    const escaped = JSON.stringify(forbidden).slice(1, -1).replaceAll("'", "''")
    await query(
      `update video_body set body = replace(body::text, '"title":"', '"title":"${escaped}')`,
    )
    for (const field of ['summary', 'description', 'copyright_text'])
      await query(
        `update video_body set body = replace(body, '"${field}":"', '"${field}":"${escaped}')`,
      )
    for (const field of ['speakers', 'tags'])
      await query(
        `update video_body
         set body = replace(body, '"${field}":["', '"${field}":["${escaped}","${escaped}')`,
      )
    await query(
      `update video
       set title = '${inRow}' || title, summary = '${inRow}',
           description = '${inRow}' || description`,
    )
    await query(
      `update category set title = '${inRow}' || title, description = '${inRow}' || description`,
    )
  })
  // Records are cached for up to a second.
  await new Promise((done) => setTimeout(done, 1500))
  const all = await validateAll()
  assert.equal(xmlText(all), all)
  assert.doesNotMatch(all, /\\u(0000|d[89a-f]|fff[ef])/i)
})

const site: SiteInfo = {
  name: 'Talkshelf',
  origin: () => 'http://127.0.0.1',
  basePath: '',
}

const anyText = fc.oneof(
  fc.string({
    unit: fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)),
    maxLength: 20,
  }),
  fc.string({
    unit: fc.constantFrom(...'<>&"\'[]!-?/ \n\r\t', ']]>', '<![CDATA[', '\ufffe', '\ud800'),
    maxLength: 20,
  }),
)

test('serializes any text anywhere in a feed', () => {
  const entry = fc.record({
    title: anyText,
    html: anyText,
    summary: anyText,
    rights: anyText.map((text) => xmlText(text).trim()),
    tag: anyText,
    author: anyText,
  })
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 3 }), anyText, (entries, title) => {
      const names = (name: string) => (xmlText(name).trim() === '' ? [] : [name])
      const feed: Feed = {
        id: 'http://127.0.0.1/feed',
        title,
        about: 'About',
        page: `/search?${new URLSearchParams({ q: title.toWellFormed(), tag: 'x' })}`,
        entries: entries.map(({ tag, author, summary, html, ...fields }, n) => ({
          ...fields,
          ...(xmlText(summary).trim() && { summary }),
          html: `<p>${html}</p>`,
          id: `http://127.0.0.1/video/${n}`,
          link: 'http://127.0.0.1/',
          authors: names(author),
          tags: names(tag),
          published: new Date(0),
          updated: new Date(0),
          files: [],
        })),
      }
      for (const form of ['rss', 'atom'] as const) assertXml(form, serializeFeed(feed, form, site))
      assertJson('jsonfeed', serializeFeed(feed, 'json', site))
    }),
    { numRuns: 300 },
  )
})

test('serializes long runs of white space in linear time', () => {
  const gap = `a${' '.repeat(20_000)}b`
  const entry = {
    id: 'http://127.0.0.1/1',
    title: gap,
    link: 'http://127.0.0.1/',
    authors: [gap],
    tags: [gap],
    rights: gap,
    html: gap,
    files: [],
  }
  const entries = Array.from({ length: 30 }, () => ({
    ...entry,
    published: new Date(0),
    updated: new Date(0),
  }))
  const before = process.cpuUsage()
  for (const form of feedFormats)
    serializeFeed(
      { id: 'http://127.0.0.1/f', title: 'T', about: 'A', page: '/', entries },
      form,
      site,
    )
  // A regular expression that was quadratic in the length of the run once took three seconds for
  // one entry.
  assert.ok(process.cpuUsage(before).user < 5_000_000)
})

test('serializes any archive name and title for OpenSearch and oEmbed', () => {
  fc.assert(
    fc.property(
      anyText,
      anyText,
      fc.option(fc.integer({ min: 1, max: 5000 }), { nil: undefined }),
      (name, title, maxwidth) => {
        const named = { ...site, name: `T${name}` }
        assertXml('opensearch', openSearch(named))
        const talk = {
          id: 1,
          title: `T${title}`,
          speakers: [`T${title}`],
          thumbnail_url: null,
        } as unknown as Video
        const embed = oEmbed(talk, false, named, { maxwidth })
        assertXml('oembed', oEmbedXml(embed))
        assertJson('oembed', JSON.stringify(embed))
        const { width = 0, height = 0 } = embed
        assert.ok(width > 0 && width <= (maxwidth ?? 640) && height <= width)
      },
    ),
    { numRuns: 300 },
  )
})
