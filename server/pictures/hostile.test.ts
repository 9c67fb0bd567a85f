import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { type Reply, startArchive } from '../../tests/support/harness.ts'
import {
  blackPng,
  noise,
  type PictureReply,
  photo,
  startImageServer,
  startPictures,
} from '../../tests/support/picture-archive.ts'

// Invalid and malicious thumbnails: the reader gets a cover, and the failed download is not
// repeated.

const archive = await startArchive()
const images = await startImageServer()
const internal = await startImageServer()
const pictures = await startPictures(archive, images)
const cover = 'image/svg+xml'

const png = await photo(640, 360).png().toBuffer()
const script = '<script>fetch("http://127.0.0.1/")</script>'
const svg =
  `<svg xmlns="http://www.w3.org/2000/svg" width="64" height="36">${script}` +
  '<image href="file:///etc/passwd" width="64" height="36"/></svg>'
const redirect = (location: string): PictureReply => {
  return (response) => response.writeHead(302, { location }).end()
}
const typed = (type: string, body: string | Buffer): PictureReply => {
  return (response) => response.writeHead(200, { 'content-type': type }).end(body)
}
const secret = internal.at('/secret.png', png)

const hostile: Record<string, PictureReply | Buffer> = {
  'does not exist': (response) => response.writeHead(404).end(),
  'is forbidden': (response) => response.writeHead(403).end(png),
  'is a server error': (response) => response.writeHead(500).end(),
  'closes the connection': (response) => response.destroy(),
  'is cut off': (response) => {
    response.writeHead(200, { 'content-length': png.length })
    response.write(png.subarray(0, 100), () => response.destroy())
  },
  'is truncated': png.subarray(0, Math.floor(png.length / 2)),
  'is empty': Buffer.alloc(0),
  'is an HTML page': typed('image/png', '<!doctype html><title>Login</title>'),
  'is not an image although its type says so': typed('image/jpeg', randomBytes(5000)),
  'has the first bytes of an image only': typed(
    'image/jpeg',
    Buffer.concat([Buffer.from('ffd8ffe000104a464946', 'hex'), randomBytes(5000)]),
  ),
  'is an SVG with a script': typed('image/svg+xml', svg),
  'is an SVG with the type of a PNG': typed('image/png', svg),
  'is an SVG after the first bytes of a GIF': typed('image/gif', `GIF89a${svg}`),
  'is an SVG disguised as an AVIF': typed('image/avif', `\0\0\0 ftypavif<!-- ${svg} -->`),
  'is a TIFF': typed('image/tiff', await photo(64, 36).tiff().toBuffer()),
  'is a PDF': typed('application/pdf', '%PDF-1.4\n1 0 obj\n<<>>\nendobj\n'),
  'has 400 million pixels in 50 kB': typed('image/png', blackPng(20_000)),
  'has more than 8 MB': typed('image/png', Buffer.concat([png, Buffer.alloc(9 << 20)])),
  'announces more than 8 MB': (response) =>
    response.writeHead(200, { 'content-length': 9 << 20 }).write(png),
  'has no end': (response) => {
    const more = () => {
      while (!response.destroyed && response.write(Buffer.alloc(1 << 16)));
    }
    response.on('drain', more)
    more()
  },
  'redirects to an internal address': redirect(secret),
  'redirects to an internal name': redirect(secret.replace('127.0.0.1', 'localhost')),
  'redirects to a file': redirect('file:///etc/passwd'),
  'redirects to itself': redirect('?'),
}

for (const [index, [problem, answer]] of Object.entries(hostile).entries())
  test(`a thumbnail that ${problem} is replaced by a cover`, async () => {
    const path = `/hostile-${index}`
    const { id } = await archive.make({ thumbnail_url: images.at(path, answer) })
    const reply = await pictures.get(`/picture/${id}/320`)
    assert.deepEqual(summary(reply), [200, cover, 'public, max-age=300'])
    assert.doesNotMatch(reply.text, /script|passwd/)
    const requests = images.countOf(path)
    assert.ok(requests > 0)
    // The failure is remembered, and the download is not repeated.
    for (const form of ['320', '640'])
      assert.deepEqual(summary(await pictures.get(`/picture/${id}/${form}`)), [
        200,
        cover,
        'public, max-age=300',
      ])
    assert.equal(images.countOf(path), requests)
    assert.equal(internal.requests.length, 0)
  })

test('never fetches URLs of internal hosts, with a password or of another protocol', async () => {
  const invalid = [
    secret,
    secret.replace('http', 'https'),
    `http://[::1]:${internal.port}/`,
    `http://a:b@127.0.0.1:${images.port}/secret.png`,
  ]
  for (const thumbnail_url of [
    ...invalid,
    'http://169.254.169.254/latest/meta-data',
    'http://10.0.0.1/a.png',
    'http://localhost/a.png',
  ]) {
    const { id } = await archive.make({ thumbnail_url })
    assert.deepEqual(summary(await pictures.get(`/picture/${id}/320`)), [
      200,
      cover,
      'public, max-age=300',
    ])
  }
  assert.equal(internal.requests.length, 0)
  assert.equal(images.countOf('/secret.png'), 0)
})

test('a download times out after five seconds', async () => {
  const closed = Promise.withResolvers<number>()
  const start = performance.now()
  const thumbnail_url = images.at('/never', (response) =>
    response.on('close', () => closed.resolve(performance.now() - start)),
  )
  const { id } = await archive.make({ thumbnail_url })
  assert.deepEqual(summary(await pictures.get(`/picture/${id}/320`)), [
    200,
    cover,
    'public, max-age=300',
  ])
  const tookMs = await closed.promise
  assert.ok(tookMs > 4500 && tookMs < 60_000, `${tookMs} ms`)
  assert.deepEqual(summary(await pictures.get(`/picture/${id}/320`)), [
    200,
    cover,
    'public, max-age=300',
  ])
  assert.equal(images.countOf('/never'), 1)
})

test('a failed download is repeated after some time', async () => {
  const pictures = await startPictures(archive, images, {
    limits: { failedMs: 300, patienceMs: 15_000 },
  })
  const { id } = await archive.make({
    thumbnail_url: images.at('/later', (response) => response.writeHead(500).end()),
  })
  assert.deepEqual(summary(await pictures.get(`/picture/${id}/320`)), [
    200,
    cover,
    'public, max-age=300',
  ])
  images.at('/later', png)
  const untilMs = performance.now() + 10_000
  while ((await pictures.get(`/picture/${id}/320`)).headers['content-type'] !== 'image/webp')
    assert.ok(performance.now() < untilMs)
  assert.equal(images.countOf('/later'), 2)
})

test('a large picture below the limits is shown', async () => {
  const large = await noise(1800, 1200).jpeg({ quality: 95 }).toBuffer()
  assert.ok(large.length > 1 << 20)
  const { id } = await archive.make({ thumbnail_url: images.at('/large.jpg', large) })
  assert.equal(summary(await pictures.get(`/picture/${id}/640`))[1], 'image/webp')
})

function summary({ status, headers }: Reply) {
  return [status, headers['content-type'], headers['cache-control']]
}
