import assert from 'node:assert/strict'
import { copyFileSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import sharp from 'sharp'
import { type Reply, startArchive } from '../../tests/support/harness.ts'
import { photo, startImageServer, startPictures } from '../../tests/support/picture-archive.ts'
import { drawCover } from './cover.ts'
import { pictureVersion, profilePictureVersion } from './pictures.ts'

const archive = await startArchive()
const mounted = await startArchive({
  PUBLIC_URL: 'https://talks.example.org/archive',
  PICTURE_CACHE_MB: '0',
})
const images = await startImageServer()
const pictures = await startPictures(archive, images)

const formatOf = async ({ text }: Reply) => {
  const { format, width, height } = await sharp(Buffer.from(text, 'latin1')).metadata()
  return [format, width, height]
}
const type = ({ headers }: Reply) => headers['content-type']
const cacheControl = ({ headers }: Reply) => headers['cache-control']
const cover = 'image/svg+xml'

async function until(condition: () => Promise<boolean> | boolean): Promise<void> {
  const deadline = performance.now() + 60_000
  while (!(await condition())) {
    assert.ok(performance.now() < deadline, 'not true after a minute')
    await sleep(20)
  }
}

test('a thumbnail of any raster format is cropped to 16:9 in each width', async () => {
  const source = photo(1400, 1050)
  for (const format of ['jpeg', 'png', 'webp', 'gif', 'avif'] as const) {
    const thumbnail_url = images.at(
      `/large.${format}`,
      await source.clone().toFormat(format, { effort: 1 }).toBuffer(),
    )
    const { id } = await archive.make({ thumbnail_url })
    for (const [width, height] of [
      [320, 180],
      [640, 360],
      [1280, 720],
    ]) {
      const reply = await pictures.get(`/picture/${id}/${width}`)
      assert.deepEqual(
        [reply.status, type(reply), await formatOf(reply)],
        [200, 'image/webp', ['webp', width, height]],
        format,
      )
    }
    assert.equal(images.countOf(`/large.${format}`), 1)
  }
})

test('a small thumbnail is not enlarged, and the orientation is applied', async () => {
  // The hqdefault.jpg of YouTube has black bars above and below, which are cropped.
  const small = await archive.make({
    thumbnail_url: images.at('/small.jpg', await photo(480, 360).jpeg().toBuffer()),
  })
  assert.deepEqual(await formatOf(await pictures.get(`/picture/${small.id}/1280`)), [
    'webp',
    480,
    270,
  ])
  assert.deepEqual(await formatOf(await pictures.get(`/picture/${small.id}/320`)), [
    'webp',
    320,
    180,
  ])
  const broad = await archive.make({
    thumbnail_url: images.at('/broad.png', await photo(800, 200).png().toBuffer()),
  })
  assert.deepEqual(await formatOf(await pictures.get(`/picture/${broad.id}/1280`)), [
    'webp',
    355,
    200,
  ])
  const turned = await photo(900, 1600).jpeg().withMetadata({ orientation: 6 }).toBuffer()
  const { id } = await archive.make({ thumbnail_url: images.at('/turned.jpg', turned) })
  assert.deepEqual(await formatOf(await pictures.get(`/picture/${id}/1280`)), ['webp', 1280, 720])
})

test('a link preview is a JPEG of 1200 by 630, with or without a thumbnail', async () => {
  const thumbnail_url = images.at('/preview.png', await photo(640, 480).png().toBuffer())
  for (const fields of [{ thumbnail_url }, { title: 'A talk without any' }]) {
    const { id } = await archive.make(fields)
    const reply = await pictures.get(`/picture/${id}/preview`)
    assert.deepEqual(
      [reply.status, type(reply), await formatOf(reply)],
      [200, 'image/jpeg', ['jpeg', 1200, 630]],
    )
    assert.equal(cacheControl(reply), 'public, max-age=3600')
  }
})

test('a talk without a thumbnail has an SVG cover', async () => {
  const talk = await archive.make({
    title: 'R&D with <b>bold</b> words',
    speakers: ['Ada Lovelace'],
  })
  const reply = await pictures.get(`/picture/${talk.id}/640`)
  assert.deepEqual([reply.status, type(reply)], [200, cover])
  assert.equal(Buffer.from(reply.text, 'latin1').toString(), drawCover(talk).svg)
})

test('an untitled picture is the thumbnail, or a cover without text', async () => {
  const talk = await archive.make({ title: 'R&D with <b>bold</b> words' })
  const plain = await pictures.get(`/picture/${talk.id}/1280-untitled`)
  assert.deepEqual([plain.status, type(plain)], [200, cover])
  assert.doesNotMatch(plain.text, /<text|bold|<g font/)
  assert.match((await pictures.get(`/picture/${talk.id}/1280`)).text, /<text/)
  assert.equal((await pictures.get(`/picture/${talk.id}/preview-untitled`)).status, 404)
  const { id } = await archive.make({
    thumbnail_url: images.at('/untitled.png', await photo(640, 360).png().toBuffer()),
  })
  const [titled, untitled] = [
    await pictures.get(`/picture/${id}/640`),
    await pictures.get(`/picture/${id}/640-untitled`),
  ]
  assert.deepEqual([type(untitled), untitled.text], ['image/webp', titled.text])
})

test('a picture is cached for a day with its version, else for an hour', async () => {
  for (const thumbnail_url of [
    images.at('/kept.png', await photo(640, 360).png().toBuffer()),
    null,
  ]) {
    const record = await archive.make({ thumbnail_url, speakers: ['Ada Lovelace'] })
    const version = pictureVersion(record)
    assert.match(version, /^[\w-]{8}$/)
    const path = `/picture/${record.id}/640`
    const reply = await pictures.get(`${path}?v=${version}`)
    assert.equal(cacheControl(reply), 'public, max-age=86400')
    assert.equal(cacheControl(await pictures.get(path)), 'public, max-age=3600')
    // The URL may come from a page that is newer than the record that this process has: the old
    // picture must not be cached under the new URL for a day.
    for (const other of ['?v=another1', '?v='])
      assert.equal(cacheControl(await pictures.get(path + other)), 'public, max-age=3600')
    const { etag = '' } = reply.headers
    assert.match(etag, /^"[\w-]{22}"$/)
    for (const tag of [etag, `W/${etag}`, '*', `"other", ${etag}`]) {
      const same = await pictures.get(`${path}?v=${version}`, { 'if-none-match': tag })
      assert.deepEqual(
        [same.status, same.text, same.headers.etag, cacheControl(same)],
        [304, '', etag, cacheControl(reply)],
      )
    }
    assert.equal((await pictures.get(path, { 'if-none-match': '"other"' })).status, 200)
    assert.equal(reply.headers['x-content-type-options'], 'nosniff')
    assert.equal(
      reply.headers['content-security-policy'],
      "default-src 'none'; sandbox; frame-ancestors 'none'",
    )
  }
})

test('every visible change changes the version', async () => {
  const record = { thumbnail_url: null, title: 'A', category: 'B', speakers: ['C'] }
  const others = [
    { title: 'X' },
    { category: 'X' },
    { speakers: ['X'] },
    { speakers: [] },
    { thumbnail_url: 'https://example.org/a.png' },
  ]
  assert.equal(
    new Set([{}, ...others].map((other) => pictureVersion({ ...record, ...other }))).size,
    6,
  )
  assert.equal(pictureVersion(record), pictureVersion({ ...record, thumbnail_url: '' }))
})

test('answers 404 for unknown talks, drafts and other URLs, 410 after a takedown', async () => {
  const { id } = await archive.make()
  const draft = await archive.make({ state: 2 })
  const gone = await archive.make()
  await archive.call('POST', `/api/v2/video/${gone.id}/takedown`, {
    token: archive.admin,
    body: { reason: 'The speaker asked for it' },
  })
  const invalid = [
    `${draft.id}/320`,
    '999999/320',
    '0/320',
    '-1/320',
    `0${id}/320`,
    'x/320',
    '9007199254740993/320',
    '99999999999999999/320',
  ]
  for (const path of [
    ...invalid,
    `${id}/321`,
    `${id}/0320`,
    `${id}/`,
    `${id}/Preview`,
    `${id}/32%30`,
    `${id}/320/1`,
  ]) {
    const reply = await pictures.get(`/picture/${path}`)
    assert.deepEqual([reply.status, type(reply)], [404, 'application/problem+json'], path)
  }
  assert.equal((await pictures.get(`/picture/${gone.id}/320`)).status, 410)
})

test('a cached picture is not shown after a takedown or of a draft', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'talkshelf-pictures-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const own = await startPictures(archive, images, { folder })
  const thumbnail_url = images.at('/taken-down.png', await photo(640, 360).png().toBuffer())
  const [gone, draft] = [
    await archive.make({ thumbnail_url }),
    await archive.make({ thumbnail_url }),
  ]
  const statuses = async () => {
    const paths = [gone, draft].flatMap((talk) =>
      ['320', 'preview'].map((form) => `/picture/${talk.id}/${form}?v=${pictureVersion(talk)}`),
    )
    return Promise.all(paths.map(async (path) => (await own.get(path)).status))
  }
  assert.deepEqual(await statuses(), [200, 200, 200, 200])
  await until(() => readdirSync(folder).length === 2)
  const { admin, editor } = archive
  await archive.call('POST', `/api/v2/video/${gone.id}/takedown`, {
    token: admin,
    body: { reason: 'The speaker asked for it' },
  })
  await archive.call('PATCH', `/api/v2/video/${draft.id}`, { token: editor, body: { state: 2 } })
  assert.deepEqual(await statuses(), [410, 410, 404, 404])
})

test('a download contains no data of the reader', async () => {
  const { id } = await archive.make({
    thumbnail_url: images.at('/private.png', await photo(64, 36).png().toBuffer()),
  })
  const headers = {
    'user-agent': 'Mozilla/5.0',
    referer: 'https://talks.example.org/',
    cookie: 'a=b',
    'x-forwarded-for': '203.0.113.7',
    dnt: '1',
  }
  assert.equal(type(await pictures.get(`/picture/${id}/320`, headers)), 'image/webp')
  const request = images.requests.find(({ url }) => url === '/private.png')
  const expected = {
    host: `127.0.0.1:${images.port}`,
    connection: 'close',
    'user-agent': 'Talkshelf/test',
    accept: '*/*',
    'accept-encoding': 'identity',
  }
  assert.deepEqual({ ...request?.headers }, expected)
})

test('fifty concurrent requests in different sizes cause one download', async () => {
  const png = await photo(1280, 720).png().toBuffer()
  const thumbnail_url = images.at('/wanted.png', (response) =>
    setTimeout(() => response.end(png), 200),
  )
  const { id } = await archive.make({ thumbnail_url })
  const forms = ['320', '640', '1280', 'preview']
  const replies = await Promise.all(
    Array.from({ length: 50 }, (_, index) => pictures.get(`/picture/${id}/${forms[index % 4]}`)),
  )
  assert.deepEqual([...new Set(replies.map(type))].sort(), ['image/jpeg', 'image/webp'])
  assert.equal(images.countOf('/wanted.png'), 1)
})

test('a slow download first returns the cover and later the picture', async () => {
  const own = await startPictures(archive, images, { limits: {} })
  const png = await photo(640, 360).png().toBuffer()
  const { promise, resolve } = Promise.withResolvers<void>()
  const thumbnail_url = images.at('/slow.png', (response) => promise.then(() => response.end(png)))
  const { id } = await archive.make({ thumbnail_url })
  const start = performance.now()
  const first = await own.get(`/picture/${id}/640`)
  const tookMs = performance.now() - start
  assert.ok(tookMs > 1400 && tookMs < 60_000, `${tookMs} ms`)
  assert.deepEqual(
    [first.status, type(first), cacheControl(first)],
    [200, cover, 'public, max-age=300'],
  )
  await until(async () => {
    const preview = await own.get(`/picture/${id}/preview`)
    assert.equal(cacheControl(preview), 'public, max-age=300')
    return type(preview) === 'image/jpeg'
  })
  resolve()
  await until(async () => type(await own.get(`/picture/${id}/640`)) === 'image/webp')
  assert.equal(images.countOf('/slow.png'), 1)
})

test('limits concurrent downloads to four and sends the cover if the queue is full', async () => {
  const server = await startImageServer()
  const own = await startPictures(archive, server, {
    limits: { fetchesWaiting: 2, patienceMs: 15_000 },
  })
  const png = await photo(64, 36).png().toBuffer()
  const { promise, resolve } = Promise.withResolvers<void>()
  const talks = await Promise.all(
    Array.from({ length: 8 }, (_, index) =>
      archive.make({
        thumbnail_url: server.at(`/${index}.png`, (response) =>
          promise.then(() => response.end(png)),
        ),
      }),
    ),
  )
  const replies = talks.slice(0, 6).map(({ id }) => own.get(`/picture/${id}/320`))
  await until(() => server.requests.length === 4)
  await until(async () => {
    const start = performance.now()
    const types = await Promise.all(
      talks.slice(6).map(async ({ id }) => type(await own.get(`/picture/${id}/320`))),
    )
    assert.deepEqual(types, [cover, cover])
    return performance.now() - start < 1000
  })
  resolve()
  assert.deepEqual([...new Set((await Promise.all(replies)).map(type))], ['image/webp'])
  assert.equal(type(await own.get(`/picture/${talks[7]?.id}/320`)), 'image/webp')
  assert.equal(server.maxAtOnce(), 4)
})

test('without sharp every talk has a cover, and one warning is logged', async (t) => {
  const server = await startImageServer()
  // A folder from which no package can be imported.
  const folder = mkdtempSync(join(tmpdir(), 'talkshelf-decoder-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const decoderPath = join(folder, 'decoder.ts')
  copyFileSync(join(import.meta.dirname, 'decoder.ts'), decoderPath)
  const own = await startPictures(archive, server, { decoderPath })
  const { id } = await archive.make({
    thumbnail_url: server.at('/a.png', await photo(64, 36).png().toBuffer()),
  })
  for (const form of ['320', '640', 'preview', '320']) {
    const reply = await own.get(`/picture/${id}/${form}`)
    assert.deepEqual(
      [reply.status, type(reply), cacheControl(reply)],
      [200, cover, 'public, max-age=300'],
    )
  }
  assert.deepEqual([server.requests.length, own.warnings.length], [0, 1])
})

test('the archive serves pictures below its path, but none of internal hosts', async () => {
  const { id } = await mounted.make({
    thumbnail_url: images.at('/inside.png', await photo(64, 36).png().toBuffer()),
  })
  const reply = await mounted.call('GET', `/archive/picture/${id}/320`)
  assert.deepEqual(
    [reply.status, type(reply), cacheControl(reply)],
    [200, cover, 'public, max-age=300'],
  )
  assert.equal(images.countOf('/inside.png'), 0)
  const head = await mounted.call('HEAD', `/archive/picture/${id}/320`)
  assert.deepEqual([head.status, head.text, head.headers.etag], [200, '', reply.headers.etag])
  assert.equal((await mounted.call('GET', `/picture/${id}/320`)).status, 404)
})

test('serves the logo of an event and the picture of a speaker', async () => {
  const { editor: token } = archive
  await archive.call('POST', '/api/v2/category', { token, body: { title: 'Logo Days' } })
  const talk = await archive.make({ speakers: ['Portrait Person'], category: 'Logo Days' })
  const url = images.at('/wide.png', await photo(1200, 300).png().toBuffer())
  const patch = (path: string, body: object) =>
    archive.call('PATCH', `/api/v2/${path}`, { token, body })
  const { id: event } = (await patch('category/logo-days', { logo_url: url })).json
  const { id: person } = (await patch('speaker/portrait-person', { picture_url: url })).json
  const logo = await pictures.get(`/picture/category/${event}?v=${profilePictureVersion(url)}`)
  assert.deepEqual(
    [logo.status, type(logo), await formatOf(logo), cacheControl(logo)],
    [200, 'image/webp', ['webp', 512, 128], 'public, max-age=86400'],
  )
  const portrait = await pictures.get(`/picture/speaker/${person}?v=older`)
  assert.deepEqual(
    [portrait.status, type(portrait), await formatOf(portrait), cacheControl(portrait)],
    [200, 'image/webp', ['webp', 256, 256], 'public, max-age=3600'],
  )
  const etag = String(portrait.headers.etag)
  const again = await pictures.get(`/picture/speaker/${person}`, { 'if-none-match': etag })
  assert.equal(again.status, 304)
  assert.equal(images.countOf('/wide.png'), 1)

  // Initials stand in for a picture that is missing, no picture, or an SVG that is not our own.
  const svg = images.at('/own.svg', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'))
  for (const picture_url of [`${images.url}/missing.png`, svg]) {
    await patch('speaker/portrait-person', { picture_url })
    const reply = await pictures.get(`/picture/speaker/${person}`)
    assert.deepEqual(
      [reply.status, type(reply), cacheControl(reply), />PP</.test(reply.text)],
      [200, cover, 'public, max-age=300', true],
    )
  }

  // Nothing is shown of a profile without a picture or of a speaker who is not public.
  const statuses = async () => [
    (await pictures.get(`/picture/speaker/${person}`)).status,
    (await pictures.get(`/picture/category/${event}`)).status,
  ]
  await patch('category/logo-days', { logo_url: null })
  assert.deepEqual(await statuses(), [200, 404])
  await patch(`video/${talk.id}`, { state: 2 })
  assert.deepEqual(await statuses(), [404, 404])
  for (const path of ['tag/1', 'speaker/0', 'speaker/x', 'speaker/%31', 'category/99999'])
    assert.equal((await pictures.get(`/picture/${path}`)).status, 404, path)
})
