import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { ExportHead, type Video, validationErrors } from '@talkshelf/contract'
import { parseAtomFeed, parseRssFeed } from 'feedsmith'
import { runCommand, startArchive, type TestArchive } from '../support/harness.ts'
import { assertJson, assertXml } from '../support/schema-validators.ts'

// The licence of the data is claimed where DATA_LICENSE is set, and nowhere else.

const settings = { DATA_LICENSE: 'cc-by-sa-4.0' }
const url = 'https://creativecommons.org/licenses/by-sa/4.0/'
const notice = `Titles, descriptions and other data: CC BY-SA 4.0 (${url}). Each recording has its own licence.`

const licensed = await startArchive(settings)
const plain = await startArchive()
const talk = await licensed.make({ copyright_text: 'CC BY 3.0' })
const plainTalk = await plain.make({ copyright_text: 'CC BY 3.0' })

const html = { headers: { accept: 'text/html' } }

/** Returns the structured data of a type on a page. */
async function structuredData(archive: TestArchive, path: string, type: string) {
  const { text } = await archive.call('GET', path, html)
  const blocks = [...text.matchAll(/<script type="application\/ld\+json">(.*?)<\/script>/g)]
  return blocks.map(([, json]) => JSON.parse(json ?? '')).find((it) => it['@type'] === type)
}
const pathOf = ({ id, slug }: Video) => `/video/${id}/${slug}`

test('pages name the licence of the data in the footer and for search engines', async () => {
  for (const [locale, words] of [
    ['en', 'Titles, descriptions and other data:'],
    ['es', 'Títulos, descripciones y demás datos:'],
  ] as const) {
    const headers = { accept: 'text/html', 'accept-language': locale }
    const reply = await licensed.call('GET', '/', { headers })
    const text = Buffer.from(reply.text, 'latin1').toString()
    assert.ok(text.includes(`<p>${words} <a href="${url}">CC BY-SA 4.0</a>.`), text.slice(-3000))
  }
  const video = await structuredData(licensed, pathOf(talk), 'VideoObject')
  assert.equal(video.sdLicense, url)
  assert.equal(video.license, 'https://creativecommons.org/licenses/by/3.0/', 'of the recording')
  const dataset = await structuredData(licensed, '/about', 'Dataset')
  assert.equal(dataset.license, url)
  assert.equal(dataset.distribution.contentUrl, `${licensed.url}/api/v2/export.ndjson`)
})

test('feeds have the licence of the data, and entries that of the recording', async () => {
  const rss = (await licensed.call('GET', '/video/rss')).text
  assertXml('rss', rss)
  assert.equal(parseRssFeed(rss).copyright, notice)
  const atom = (await licensed.call('GET', '/video/atom')).text
  assertXml('atom', atom)
  const { rights, entries = [] } = parseAtomFeed(atom)
  assert.equal(rights?.value, notice)
  assert.deepEqual(
    entries.map((entry) => entry.rights?.value),
    ['CC BY 3.0'],
  )
  const { json, text } = await licensed.call('GET', '/video/json')
  assertJson('jsonfeed', text)
  assert.deepEqual(json._talkshelf, { license: 'CC-BY-SA-4.0' })
})

test('exports and snapshots have the licence of the data', async (t) => {
  const reply = await licensed.call('GET', '/api/v2/export.ndjson')
  assert.equal(reply.headers.link, `<${url}>; rel="license"`)
  const environment = { DATABASE_URL: licensed.databaseUrl, ...settings }
  const command = await runCommand(['export'], environment)
  assert.equal(command.code, 0, command.stderr)
  for (const text of [reply.text, command.stdout]) {
    const head = JSON.parse(text.split('\n', 1)[0] ?? '')
    assert.deepEqual(validationErrors(ExportHead, head), [])
    assert.equal(head.license, 'CC-BY-SA-4.0')
  }
  const folder = mkdtempSync(join(tmpdir(), 'talkshelf-licence-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const { code, stderr } = await runCommand(['snapshot', folder], environment)
  assert.equal(code, 0, stderr)
  const [manifest = '', data = ''] = readdirSync(folder).map((name) => join(folder, name))
  assert.equal(JSON.parse(readFileSync(manifest, 'utf8')).license, 'CC-BY-SA-4.0')
  assert.match(gunzipSync(readFileSync(data)).toString(), /^[^\n]*"license":"CC-BY-SA-4.0"/)

  const imported = await runCommand(['import', data, '--apply'], {
    DATABASE_URL: plain.databaseUrl,
  })
  assert.equal(imported.code, 0, imported.stdout + imported.stderr)
})

test('the description of the API has the licence of the data', async () => {
  const { json } = await licensed.call('GET', '/api/v2/openapi.json')
  assert.equal(json.info['x-data-license'].spdx, 'CC-BY-SA-4.0')
  assert.equal(json.info.license.identifier, 'Apache-2.0')
})

test('an archive without the setting claims nothing', async () => {
  const about = (await plain.call('GET', '/about', html)).text
  assert.doesNotMatch(about, /CC BY|open data|other data/)
  assert.equal(await structuredData(plain, '/about', 'Dataset'), undefined)
  const video = await structuredData(plain, pathOf(plainTalk), 'VideoObject')
  assert.equal('sdLicense' in video, false)
  assert.equal(parseRssFeed((await plain.call('GET', '/video/rss')).text).copyright, undefined)
  assert.equal(parseAtomFeed((await plain.call('GET', '/video/atom')).text).rights, undefined)
  assert.equal('_talkshelf' in (await plain.call('GET', '/video/json')).json, false)
  const exported = await plain.call('GET', '/api/v2/export.ndjson')
  assert.equal(exported.headers.link, undefined)
  assert.equal('license' in JSON.parse(exported.text.split('\n', 1)[0] ?? ''), false)
  const { json } = await plain.call('GET', '/api/v2/openapi.json')
  assert.equal('x-data-license' in json.info, false)
})

test('a licence with a typing error stops the server', async () => {
  const { code, stderr } = await runCommand(['serve'], {
    DATABASE_URL: plain.databaseUrl,
    DATA_LICENSE: 'CC-BY-4',
  })
  assert.equal(code, 1)
  assert.match(stderr, /DATA_LICENSE must be the SPDX identifier/)
})
