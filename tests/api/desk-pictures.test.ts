import assert from 'node:assert/strict'
import { test } from 'node:test'
import sharp from 'sharp'
import { type DeskReply, formTo, multipart, signIn } from '../support/desk-client.ts'
import { startArchive } from '../support/harness.ts'
import { checkInvariants, withDatabase } from '../support/invariants.ts'
import { animated, noise, photo } from '../support/picture-archive.ts'
import { until } from '../support/until.ts'

// Uploads of logos and pictures in the profile forms of the desk, as a browser without scripts sends
// them.

const archive = await startArchive()
const { client } = await signIn(archive, 'Grace', 'editor')
const eventPath = '/api/v2/category/example-days-2026'

const patch = async (path: string, body: object) => {
  const reply = await archive.call('PATCH', path, { token: archive.editor, body })
  assert.equal(reply.status, 200, reply.text)
}
const query = (text: string) => withDatabase(archive.databaseUrl, (run) => run(text))
const get = (url: string) => archive.call('GET', new URL(url).pathname)
const hashIn = (url: string) => /([0-9a-f]{64})\.webp$/.exec(url)?.[1] ?? ''
const randomPicture = (width = 64, height = 64) => noise(width, height).png().toBuffer()

/** Returns a picture of the desk as soon as it is resized. On a busy machine, initials come first. */
const resized = (path: string) =>
  until(`the picture ${path}`, async () => {
    const reply = await client.get(path)
    return reply.headers['content-type'] === 'image/svg+xml' ? undefined : reply
  })

const eventPage = '/desk/event/example-days-2026'
const profilePath = `${eventPage}/profile`

/** Fills in the form of a profile with a file, and sends it as a browser without scripts does. */
async function save(
  page: DeskReply,
  file: Buffer,
  fields: Record<string, string> = {},
  path = profilePath,
): Promise<DeskReply> {
  const form = formTo(page, path)
  assert.equal(form.attributes.enctype, 'multipart/form-data')
  const content = file.toString('latin1')
  const parts = multipart([
    { ...form.fields, ...fields },
    { name: 'picture.png', content },
  ])
  return client.postBody(path, Buffer.from(parts, 'latin1'))
}

const readEvent = async () =>
  (await archive.call('GET', eventPath, { token: archive.editor })).json as {
    logo_url: string | null
    city: string | null
  }

test('uploads, replaces and removes a logo together with other fields', async () => {
  await patch(eventPath, { logo_url: null })
  const empty = await client.get(eventPage)
  assert.doesNotMatch(empty.html, /Current logo|Remove the logo/)
  const saved = await save(empty, await randomPicture(), { city: 'Lisbon' })
  const page = await client.follow(saved)
  assert.match(page.html, /Saved\./)
  assert.match(page.html, /<img src="\/desk\/event\/example-days-2026\/picture" alt="Current logo"/)
  const first = await readEvent()
  assert.equal(first.city, 'Lisbon')
  assert.equal((await get(first.logo_url ?? '')).status, 200)
  const [uploaded] = await query(
    `select actor, via from uploaded_picture where hash = '${hashIn(first.logo_url ?? '')}'`,
  )
  assert.deepEqual(uploaded, { actor: 'Grace', via: 'page' })

  await client.follow(await save(page, await randomPicture()))
  const second = await readEvent()
  assert.notEqual(second.logo_url, first.logo_url)
  const again = await client.get(eventPage)
  const removed = await client.submit(again, profilePath, { remove_picture: '1' })
  assert.doesNotMatch((await client.follow(removed)).html, /Current logo/)
  assert.equal((await readEvent()).logo_url, null)
})

test('a form without a file keeps the picture', async () => {
  await client.follow(await save(await client.get(eventPage), await randomPicture()))
  const { logo_url } = await readEvent()
  const page = await client.get(eventPage)
  const form = formTo(page, profilePath)
  // Browsers send an empty file without a name if none was chosen.
  const parts = multipart([
    { ...form.fields, city: 'Porto' },
    { name: '', content: '' },
  ])
  await client.follow(await client.postBody(profilePath, parts))
  const event = await readEvent()
  assert.deepEqual([event.city, event.logo_url], ['Porto', logo_url])
})

const svg = '<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"><script/></svg>'
const png = await photo(640, 360).png().toBuffer()

test('says at the field why a picture was refused, and keeps what was typed', async () => {
  const page = await client.get(eventPage)
  const before = await readEvent()
  const texts: [file: Buffer, text: RegExp][] = [
    [Buffer.alloc(0), /This file is empty/],
    [Buffer.from(svg), /Export the picture as PNG/],
    [Buffer.from('<!doctype html>'), /not a picture of a known format/],
    [await animated('gif'), /This picture is animated/],
    [png.subarray(0, png.length / 2), /Save it again as JPEG or PNG/],
    [Buffer.alloc(11_000_000), /more than 10 MB/],
  ]
  for (const [file, text] of texts) {
    const refused = await save(page, file, { city: 'Typed', description: 'Long text' })
    assert.equal(refused.status, 400, String(text))
    const [, error = ''] = /id="file-error"[^>]*>([^<]*)/.exec(refused.html) ?? []
    assert.match(error, text)
    const { city, description } = formTo(refused, profilePath).fields
    assert.deepEqual([city, description], ['Typed', 'Long text'])
    assert.match(refused.html, /type="file"[^>]* aria-invalid="true"/)
  }
  assert.deepEqual(await readEvent(), before)
  const form = formTo(page, profilePath)
  const parts = multipart([form.fields, { name: 'a.svg', content: svg }])
  client.cookie = `${client.cookie}; locale=es`
  assert.match((await client.postBody(profilePath, parts)).html, /Exporta la imagen como PNG/)
  client.cookie = client.cookie.replace('; locale=es', '')
})

test('a picture need not be uploaded again if another field is refused', async () => {
  const page = await client.get(eventPage)
  const refused = await save(page, await randomPicture(), { country: 'Portugal' })
  assert.equal(refused.status, 400)
  const { logo_url = '' } = formTo(refused, profilePath).fields
  assert.match(logo_url, /\/picture\/uploaded\/[0-9a-f]{64}\.webp$/)
  await client.follow(await client.submit(refused, profilePath, { country: 'PT' }))
  assert.equal((await readEvent()).logo_url, logo_url)
  assert.equal((await get(logo_url)).status, 200)
})

test('shows that the event changed meanwhile, with the picture in the form', async () => {
  const page = await client.get(eventPage)
  await patch(eventPath, { city: 'Elsewhere' })
  const stale = await save(page, await randomPicture())
  assert.equal(stale.status, 409)
  assert.match(stale.html, /It was changed meanwhile/)
  const { logo_url = '' } = formTo(stale, profilePath).fields
  await client.follow(await client.submit(stale, profilePath))
  assert.equal((await readEvent()).logo_url, logo_url)
})

test('long texts fit into the form, and huge ones are refused', async () => {
  const page = await client.get(eventPage)
  const description = 'x'.repeat(100_000)
  await client.follow(await save(page, await randomPicture(), { description }))
  const { json } = await archive.call('GET', eventPath)
  assert.equal(json.description.length, 100_000)
  const again = await client.get(eventPage)
  const huge = await save(again, png, { description: 'x'.repeat(1_100_000) })
  assert.equal(huge.status, 400)
  assert.equal((await save(again, Buffer.alloc(51_000_000))).status, 413)
  await patch(eventPath, { description: '' })
})

test('uploads the picture of a speaker', async () => {
  await archive.make({ speakers: ['Desk Portrait'] })
  const path = '/desk/speaker/desk-portrait'
  const page = await client.get(path)
  assert.equal((await client.get(`${path}/picture`)).status, 404)
  const saved = await save(page, await randomPicture(300, 200), {}, `${path}/profile`)
  assert.match((await client.follow(saved)).html, /alt="Current picture"/)
  const picture = await resized(`${path}/picture`)
  const { width, height } = await sharp(Buffer.from(picture.text, 'latin1')).metadata()
  assert.deepEqual([width, height], [256, 256])
})

test('shows editors the picture of a speaker who is not public', async () => {
  await archive.make({ speakers: ['Draft Only'], state: 2 })
  const path = '/desk/speaker/draft-only'
  await client.follow(
    await save(await client.get(path), await randomPicture(), {}, `${path}/profile`),
  )
  const { headers } = await resized(`${path}/picture`)
  assert.deepEqual(
    [headers['content-type'], headers['cache-control']],
    ['image/webp', 'private, no-store'],
  )
  const { json } = await archive.call('GET', '/api/v2/speaker/draft-only', {
    token: archive.editor,
  })
  assert.equal((await get(json.picture_url)).status, 404)
})

test('keeps no picture of a form without its token', async () => {
  const count = async () => (await query('select count(*)::int from uploaded_picture'))[0]
  const before = await count()
  for (const form_token of ['', 'x']) {
    const file = await randomPicture()
    const reply = await save(await client.get(eventPage), file, { form_token })
    assert.equal(reply.status, 403)
  }
  assert.deepEqual(await count(), before)
})

test('says that the storage is full', async () => {
  await query(`insert into uploaded_picture (hash, data, actor, via, request_id)
               select 'filler ' || n, 'x', 'test', 'api', 'test' from generate_series(1, 20000) n`)
  const refused = await save(await client.get(eventPage), await randomPicture())
  assert.equal(refused.status, 400)
  assert.match(refused.html, /There is no space for more pictures/)
  await query(`delete from uploaded_picture where hash like 'filler %'`)
})

test('keeps the archive consistent after all tests', () => checkInvariants(archive.databaseUrl))
