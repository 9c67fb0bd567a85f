import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { blackPng, photo } from '../../tests/support/picture-archive.ts'
import { descendantsOf } from '../../tests/support/process-metrics.ts'
import { DecoderUnavailable, InvalidImage, imageFormatOf, openImages } from './images.ts'

const u32 = (value: number) =>
  String.fromCharCode(...[24, 16, 8, 0].map((shift) => (value >>> shift) & 255))
const bytes = (text: string) => Buffer.from(text, 'latin1')
const ftyp = (size: number, brands: string) => bytes(`${u32(size)}ftyp${brands}${'\0'.repeat(300)}`)

test('recognises a format by its magic bytes at their exact offset', async () => {
  for (const format of ['jpeg', 'png', 'webp', 'gif', 'avif'] as const) {
    const image = await photo(64, 36).toFormat(format).toBuffer()
    assert.equal(imageFormatOf(image), format)
    assert.equal(imageFormatOf(Buffer.concat([bytes(' '), image])), undefined)
    for (const length of [0, 1, 2])
      assert.equal(imageFormatOf(image.subarray(0, length)), undefined)
  }
  assert.equal(imageFormatOf(ftyp(24, 'mif1\0\0\0\0mif1avis')), 'avif')
  const others = [
    '<svg/>',
    'GIF88a',
    'GIF89',
    'RIFF1234WEBPVP9 ',
    'RIFF1234WAVEVP8 ',
    '\xff\xd8',
    '\x89PNG\n\x1a\n',
    '<!--ftyp avif -->',
  ]
  for (const text of others) assert.equal(imageFormatOf(bytes(text)), undefined, text)
})

test('recognises an AVIF by a file type box of plausible size that lists it', () => {
  const brands = 'avif\0\0\0\0avif'
  assert.equal(imageFormatOf(ftyp(20, brands)), 'avif')
  for (const size of [0, 1, 16, 19, 21, 22, 260, 400, 0x3c212d2d, 0xffffffff])
    assert.equal(imageFormatOf(ftyp(size, brands)), undefined, `${size}`)
  assert.equal(imageFormatOf(ftyp(20, brands).subarray(0, 19)), undefined)
  assert.equal(imageFormatOf(ftyp(24, brands).subarray(0, 22)), undefined)
  // The brand before the list, across two brands, after the end of the list, or another brand.
  for (const other of [
    'avif\0\0\0\0mif1',
    'heic\0\0\0\0\0\0avif\0\0',
    'heic\0\0\0\0heicmiafavif',
    'heic\0\0\0\0heic',
  ])
    assert.equal(imageFormatOf(ftyp(24, other)), undefined, other)
})

test('rejects images of more than 12 million pixels', async (t) => {
  const images = openImages()
  t.after(images.stop)
  assert.equal(imageFormatOf(await images.resize(blackPng(3464), 320)), 'webp')
  await assert.rejects(images.resize(blackPng(3465), 320), InvalidImage)
})

for (const [failure, reason] of Object.entries({
  dies: /ended with SIGKILL/,
  hangs: /Not decoded after/,
}))
  test(`if the decoder ${failure}, one image fails and a new decoder is started`, async (t) => {
    const images = openImages()
    t.after(images.stop)
    const png = await photo(640, 360).png().toBuffer()
    await images.ready()
    const [decoder = 0, ...others] = descendantsOf(process.pid)
    assert.ok(decoder > 0 && others.length === 0)
    process.kill(decoder, 'SIGSTOP')
    const [first, second] = [images.resize(png, 320), images.resize(png, 640)]
    await nextTurn()
    if (failure === 'dies') process.kill(decoder, 'SIGKILL')
    await assert.rejects(
      first,
      (error: Error) => error instanceof InvalidImage && reason.test(error.message),
    )
    assert.equal(imageFormatOf(await second), 'webp')
    assert.ok(!descendantsOf(process.pid).includes(decoder))
  })

test('the decoder ends with its server and gets no secrets', async () => {
  process.env.DATABASE_URL ??= 'postgres://secret'
  const images = openImages()
  await images.ready()
  const [decoder = 0] = descendantsOf(process.pid)
  assert.doesNotMatch(readFileSync(`/proc/${decoder}/environ`, 'latin1'), /DATABASE|postgres:/)
  images.stop()
  while (descendantsOf(process.pid).includes(decoder)) await nextTurn()
  await assert.rejects(images.ready(), DecoderUnavailable)
  assert.deepEqual(descendantsOf(process.pid), [])
})
