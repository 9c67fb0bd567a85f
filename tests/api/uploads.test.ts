import assert from 'node:assert/strict'
import { hash, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import sharp from 'sharp'
import { maintain } from '../../server/maintenance/maintenance.ts'
import { savePicture } from '../../server/pictures/queries.ts'
import { anyone } from '../../server/platform/actor.ts'
import { type Reply, startArchive } from '../support/harness.ts'
import { checkInvariants, withDatabase } from '../support/invariants.ts'
import { animated, blackPng, noise, photo } from '../support/picture-archive.ts'
import { pngOf } from '../support/picture-bombs.ts'
import { until } from '../support/until.ts'

// Logos and pictures that editors upload: what is stored, what is refused, who sees it, and when it
// is deleted.

const archive = await startArchive()
const eventPath = '/api/v2/category/example-days-2026'

const send = (file: Buffer, headers: Record<string, string> = {}) =>
  archive.call('POST', '/api/v2/picture', { token: archive.editor, body: file, headers })
const patch = async (path: string, body: object) => {
  const reply = await archive.call('PATCH', path, { token: archive.editor, body })
  assert.equal(reply.status, 200, reply.text)
  return reply
}
const query = (text: string) => withDatabase(archive.databaseUrl, (run) => run(text))
const bytesOf = ({ text }: Reply) => Buffer.from(text, 'latin1')
const problemOf = ({ json }: Reply) => json.type.split('/').at(-1)

/** Uploads a picture with the API. Returns its URL. */
async function upload(file: Buffer): Promise<string> {
  const reply = await send(file)
  assert.equal(reply.status, 201, reply.text)
  assert.match(
    reply.json.url,
    /^http:\/\/127[.]0[.]0[.]1:\d+\/picture\/uploaded\/[0-9a-f]{64}\.webp$/,
  )
  return reply.json.url
}

const get = (url: string, headers: Record<string, string> = {}) =>
  archive.call('GET', new URL(url).pathname, { headers })
/** Returns a picture as soon as it is resized. On a busy machine, initials come first. */
const resized = (path: string) =>
  until(`the picture ${path}`, async () => {
    const reply = await archive.call('GET', path)
    return reply.headers['content-type'] === 'image/svg+xml' ? undefined : reply
  })
const hashIn = (url: string) => /([0-9a-f]{64})\.webp$/.exec(url)?.[1] ?? ''

/** Makes the picture the logo of the example event, and returns its stored bytes. */
async function stored(file: Buffer): Promise<Buffer> {
  const url = await upload(file)
  await patch(eventPath, { logo_url: url })
  const reply = await get(url)
  assert.equal(reply.status, 200, reply.text)
  return bytesOf(reply)
}

const randomPicture = (width = 64, height = 64) => noise(width, height).png().toBuffer()

/** Creates a picture that is transparent outside of a circle. */
const circle = (side: number) =>
  sharp(
    Buffer.from(
      `<svg xmlns="http://www.w3.org/2000/svg" width="${side}" height="${side}">
        <circle cx="50%" cy="50%" r="30%" fill="#fc3"/></svg>`,
    ),
  )

test('serves an uploaded logo as soon as an event has it', async () => {
  const url = await upload(await circle(2000).png().toBuffer())
  assert.equal((await get(url)).status, 404, 'no profile has it yet')
  const { json } = await patch(eventPath, { logo_url: url })
  assert.equal(json.logo_url, url)
  const reply = await get(url)
  assert.equal(reply.status, 200)
  assert.deepEqual(
    [
      reply.headers['content-type'],
      reply.headers['cache-control'],
      reply.headers['x-content-type-options'],
      reply.headers['content-security-policy'],
    ],
    [
      'image/webp',
      'public, max-age=86400',
      'nosniff',
      "default-src 'none'; sandbox; frame-ancestors 'none'",
    ],
  )
  const data = bytesOf(reply)
  assert.equal(hash('sha256', data, 'hex'), hashIn(url))
  const { format, width, height, hasAlpha } = await sharp(data).metadata()
  assert.deepEqual([format, width, height, hasAlpha], ['webp', 1024, 1024, true])
  const cached = await get(url, { 'if-none-match': String(reply.headers.etag) })
  assert.equal(cached.status, 304)

  const shown = await resized(`/picture/category/${json.id}`)
  assert.deepEqual([shown.status, shown.headers['content-type']], [200, 'image/webp'])
  const logo = await sharp(bytesOf(shown)).metadata()
  assert.deepEqual([logo.width, logo.height, logo.hasAlpha], [256, 256, true])
  const page = await archive.call('GET', '/category/1/example-days-2026', {
    headers: { accept: 'text/html' },
  })
  assert.match(page.text, /<img src="\/picture\/category\/1\?v=/)
})

test('serves uploaded pictures under one spelling of the URL only', async () => {
  const url = await upload(await randomPicture())
  await patch(eventPath, { logo_url: url })
  const { pathname } = new URL(url)
  for (const path of [
    pathname.replace('.webp', ''),
    pathname.replace('.webp', '.png'),
    pathname.replace('.webp', '%2Ewebp'),
    pathname.toUpperCase().replace('/PICTURE/UPLOADED', '/picture/uploaded'),
    `/picture/uploaded/${'0'.repeat(64)}.webp`,
    '/picture/uploaded/..%2f1.webp',
    '/picture/uploaded/1',
  ])
    assert.equal((await archive.call('GET', path)).status, 404, path)
})

test('stores the same picture once, also if it is uploaded concurrently', async () => {
  const file = await randomPicture()
  const urls = await Promise.all(Array.from({ length: 8 }, () => upload(file)))
  assert.equal(new Set([...urls, await upload(file)]).size, 1)
  const rows = await query(
    `select actor, via from uploaded_picture where hash = '${hashIn(urls[0] as string)}'`,
  )
  assert.deepEqual(rows, [{ actor: 'Edith', via: 'api' }])
})

test('removes metadata and applies the orientation', async () => {
  const file = await photo(200, 100)
    .jpeg()
    .withExif({
      IFD0: { Artist: 'Secret Artist' },
      IFD3: { GPSLatitudeRef: 'N', GPSLatitude: '52/1 30/1 0/1' },
    })
    .withMetadata({ orientation: 6 })
    .toBuffer()
  const before = await sharp(file).metadata()
  assert.deepEqual([before.orientation, before.width], [6, 200])
  const withExif = await photo(200, 100)
    .withExif({ IFD0: { Artist: 'Secret Artist' }, IFD3: { GPSLatitudeRef: 'N' } })
    .jpeg()
    .toBuffer()
  assert.ok(withExif.includes('Secret Artist'))
  for (const source of [file, withExif]) {
    const data = await stored(source)
    const { exif, icc, xmp, orientation } = await sharp(data).metadata()
    assert.deepEqual([exif, icc, xmp, orientation], [undefined, undefined, undefined, undefined])
    assert.ok(!data.includes('Secret Artist'))
  }
  const { width, height } = await sharp(await stored(file)).metadata()
  assert.deepEqual([width, height], [100, 200], 'it is upright without metadata')
})

test('stores the pixels of a file and nothing else of it', async () => {
  const payload = '<script>alert(document.cookie)</script>PK\x03\x04'
  for (const format of ['jpeg', 'png', 'gif', 'webp'] as const) {
    const image = await photo(64, 64).toFormat(format).toBuffer()
    const data = await stored(Buffer.concat([image, Buffer.from(payload)]))
    assert.ok(!data.includes('<script>') && !data.includes('PK\x03\x04'), format)
  }
})

test('accepts photos of phones, and all supported formats', async () => {
  const background = '#246'
  const large = { create: { width: 8000, height: 6000, channels: 3, background } } as const
  const { width, height } = await sharp(
    await stored(await sharp(large).jpeg().toBuffer()),
  ).metadata()
  assert.deepEqual([width, height], [1024, 768])
  for (const format of ['jpeg', 'png', 'webp', 'gif', 'avif'] as const) {
    const file = await photo(40, 30).toFormat(format).toBuffer()
    const reply = await send(file, { 'content-type': `image/${format}` })
    assert.equal(reply.status, 201, format)
  }
})

const svg = '<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"><script/></svg>'
const png = await photo(640, 360).png().toBuffer()
const jpeg = await noise(640, 360).jpeg().toBuffer()
const refusedFiles: Record<string, [file: Buffer, detail: RegExp, type?: string]> = {
  'an empty file': [Buffer.alloc(0), /^The file is empty/],
  'an SVG': [Buffer.from(svg), /^SVG can contain scripts .* PNG/, 'image/png'],
  'an HTML page': [Buffer.from('<!doctype html><p>'), /^This is not a supported/, 'image/png'],
  'random bytes': [randomBytes(5000), /^This is not a supported/, 'image/jpeg'],
  'a TIFF': [await photo(64, 36).tiff().toBuffer(), /^This is not a supported/],
  'a HEIC': [Buffer.from('\0\0\0\x18ftypheic\0\0\0\0mif1heic'), /^This is not a supported/],
  'an animated GIF': [await animated('gif'), /^The picture is animated/],
  'an animated WebP': [await animated('webp'), /^The picture is animated/],
  'a truncated PNG': [png.subarray(0, png.length / 2), /^The picture is damaged/],
  'a truncated JPEG': [jpeg.subarray(0, jpeg.length / 2), /^The picture is damaged/],
  'an SVG after the first bytes of a GIF': [
    Buffer.from(`GIF89a${svg}`),
    /^The picture is damaged/,
    'image/gif',
  ],
  '400 million pixels in 50 kB': [blackPng(20_000), /^The picture is damaged or too large/],
  'a PNG that needs too much memory': [
    await pngOf(7000, { bits: 16, isInterlaced: true }),
    /^The picture is damaged or too large/,
  ],
}

for (const [name, [file, detail, type = 'application/octet-stream']] of Object.entries(
  refusedFiles,
))
  test(`refuses ${name} and says what to send instead`, async () => {
    const count = async () => (await query('select count(*)::int from uploaded_picture'))[0]
    const before = await count()
    const reply = await send(file, { 'content-type': type })
    assert.deepEqual([reply.status, problemOf(reply)], [400, 'picture-refused'], reply.text)
    assert.match(reply.json.detail, detail)
    assert.deepEqual(await count(), before)
  })

test('refuses files that are too large, and other types of bodies', async () => {
  const large = await send(Buffer.concat([png, Buffer.alloc(11_000_000 - png.length)]))
  assert.deepEqual([large.status, problemOf(large)], [413, 'too-large'])
  const body = { picture: 'x' }
  const json = await archive.call('POST', '/api/v2/picture', { token: archive.editor, body })
  assert.deepEqual([json.status, problemOf(json)], [415, 'unsupported-media-type'])
  for (const path of ['/api/v2/video', '/api/v2/import/1/apply', '/desk/sign-out']) {
    const headers = { 'content-type': 'image/png', 'sec-fetch-site': 'same-origin' }
    const reply = await archive.call('POST', path, { token: archive.editor, raw: png, headers })
    assert.equal(reply.status, 415, path)
  }
})

test('a replaced logo is no longer served, and a reverted change shows it again', async () => {
  const [first, second] = [await upload(await randomPicture()), await upload(await randomPicture())]
  await patch(eventPath, { logo_url: first })
  const before = bytesOf(await get(first))
  await patch(eventPath, { logo_url: second })
  assert.deepEqual([(await get(first)).status, (await get(second)).status], [404, 200])
  await patch(eventPath, { logo_url: null })
  assert.equal((await get(second)).status, 404)
  await patch(eventPath, { logo_url: first })
  assert.deepEqual(bytesOf(await get(first)), before)
})

test('the picture of a speaker is public while the speaker has a live talk', async () => {
  const { id } = await archive.make({ speakers: ['Pia Picture'] })
  const url = await upload(await randomPicture())
  const { json } = await patch('/api/v2/speaker/pia-picture', { picture_url: url })
  assert.equal((await get(url)).status, 200)
  assert.equal((await archive.call('GET', `/picture/speaker/${json.id}`)).status, 200)
  await patch(`/api/v2/video/${id}`, { state: 2 })
  assert.equal((await get(url)).status, 404)
  assert.equal((await archive.call('GET', `/picture/speaker/${json.id}`)).status, 404)
})

test('finds a picture by its hash, whatever the host of the URL is', async () => {
  await archive.make({ speakers: ['Moved Picture'] })
  const url = await upload(await randomPicture())
  const moved = `https://old.example.org/archive${new URL(url).pathname}`
  const { json } = await patch('/api/v2/speaker/moved-picture', { picture_url: moved })
  const reply = await resized(`/picture/speaker/${json.id}`)
  assert.equal(reply.headers['content-type'], 'image/webp')
  assert.equal((await get(url)).status, 200)
  // A picture of another archive that this one does not have is downloaded, which fails here.
  const unknown = `https://localhost/picture/uploaded/${'a'.repeat(64)}.webp`
  await patch('/api/v2/speaker/moved-picture', { picture_url: unknown })
  const initials = await archive.call('GET', `/picture/speaker/${json.id}`)
  assert.equal(initials.headers['content-type'], 'image/svg+xml')
})

test('a picture is there again at once if its URL failed before', async () => {
  await archive.make({ speakers: ['Late Picture'] })
  const file = await randomPicture()
  const url = (await upload(file)).replace(/^.*(?=\/picture)/, 'https://localhost')
  await query(`delete from uploaded_picture where hash = '${hashIn(url)}'`)
  const { json } = await patch('/api/v2/speaker/late-picture', { picture_url: url })
  const path = `/picture/speaker/${json.id}`
  const failed = await archive.call('GET', path)
  assert.equal(failed.headers['content-type'], 'image/svg+xml')
  await upload(file)
  assert.equal((await resized(path)).headers['content-type'], 'image/webp')
})

test('exports have the absolute URL', async () => {
  const url = await upload(await randomPicture())
  await patch(eventPath, { logo_url: url })
  const { text } = await archive.call('GET', '/api/v2/export.ndjson')
  assert.ok(text.includes(`"logo_url":"${url}"`))
})

/** Runs the maintenance. Returns how many pictures it removed. */
async function maintainNow(): Promise<number> {
  await query('delete from maintenance')
  let removed = -1
  await maintain(archive.pool, {
    importDays: 90,
    everyHours: 24,
    isStopped: () => false,
    onDone: (task, count) => {
      if (task === 'pictures') removed = count
    },
  })
  return removed
}

test('deletes pictures 90 days after the last profile has used them', async () => {
  const isStored = async (url: string) =>
    (await query(`select from uploaded_picture where hash = '${hashIn(url)}'`)).length === 1
  const age = (url: string, days: number) =>
    query(
      `update uploaded_picture set unused_since = unused_since - interval '${days} days'
       where hash = '${hashIn(url)}'`,
    )
  const [used, never, replaced, moved] = await Promise.all(
    Array.from({ length: 4 }, async () => upload(await randomPicture())),
  )
  assert.ok(used && never && replaced && moved)
  await archive.make({ speakers: ['Kept Picture'] })
  await patch('/api/v2/speaker/kept-picture', {
    picture_url: moved.replace(/^.*(?=\/picture)/, 'https://old.example.org'),
  })
  await patch(eventPath, { logo_url: replaced })
  await maintainNow()
  await patch(eventPath, { logo_url: used })
  for (const url of [used, never, replaced, moved]) await age(url, 91)
  assert.equal(await maintainNow(), 1, 'the one that no profile ever used')
  assert.ok(!(await isStored(never)))
  // It was used until today, so that a change of today can be reverted.
  assert.ok((await isStored(replaced)) && (await isStored(used)) && (await isStored(moved)))
  await age(replaced, 89)
  assert.equal(await maintainNow(), 0)
  // Used again, and then unused again: the 90 days begin anew.
  await patch(eventPath, { logo_url: replaced })
  await maintainNow()
  await patch(eventPath, { logo_url: used })
  await maintainNow()
  await age(replaced, 89)
  assert.equal(await maintainNow(), 0)
  await age(replaced, 2)
  assert.equal(await maintainNow(), 1)
  assert.ok(!(await isStored(replaced)))
  assert.ok((await isStored(used)) && (await isStored(moved)))
})

test('an upload of an old picture begins its 90 days anew', async () => {
  const file = await randomPicture()
  const url = await upload(file)
  await query(`update uploaded_picture set unused_since = now() - interval '91 days'
               where hash = '${hashIn(url)}'`)
  await upload(file)
  assert.equal(await maintainNow(), 0)
})

test('refuses pictures when the storage is full, but not those that are stored', async () => {
  const file = await randomPicture()
  const url = await upload(file)
  await query(`insert into uploaded_picture (hash, data, actor, via, request_id)
               select 'filler ' || n, 'x', 'test', 'api', 'test' from generate_series(1, 20000) n`)
  const full = await send(await randomPicture())
  assert.deepEqual([full.status, problemOf(full)], [507, 'storage-full'])
  assert.equal(await upload(file), url)
  await query(`delete from uploaded_picture where hash like 'filler %'`)

  const [sum] = await query('select sum(octet_length(data))::int as bytes from uploaded_picture')
  const origin = { actor: { ...anyone, name: 'test' }, via: 'api', request: 'test' } as const
  const data = await randomPicture()
  const saveWithin = (maxBytes: number) =>
    savePicture(archive.pool, hash('sha256', data, 'hex'), data, origin, {
      maxPictures: 20_000,
      maxBytes,
    })
  assert.equal(await saveWithin(Number(sum?.bytes) + data.length - 1), 0)
  assert.equal(await saveWithin(Number(sum?.bytes) + data.length), 1)
})

test('keeps the archive consistent after all tests', () => checkInvariants(archive.databaseUrl))
