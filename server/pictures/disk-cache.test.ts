import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type Reply, startArchive } from '../../tests/support/harness.ts'
import {
  noise,
  photo,
  startImageServer,
  startPictures,
} from '../../tests/support/picture-archive.ts'
import { openDiskCache } from './disk-cache.ts'

const archive = await startArchive()
const images = await startImageServer()
const type = ({ headers }: Reply) => headers['content-type']

function freshFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'talkshelf-pictures-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

test('processes share the directory, and a restart keeps it', async (t) => {
  const folder = join(freshFolder(t), 'made when needed')
  const { id } = await archive.make({
    thumbnail_url: images.at('/shared.png', await photo(640, 360).png().toBuffer()),
  })
  const one = await startPictures(archive, images, { folder, cacheBytes: 0 })
  const made = await one.get(`/picture/${id}/320`)
  await one.stop()
  assert.match(readdirSync(folder).join(), /^[0-9a-f]{64}$/)
  const [two, three] = [
    await startPictures(archive, images, { folder }),
    await startPictures(archive, images, { folder, cacheBytes: 0 }),
  ]
  for (const other of [two, three])
    assert.equal((await other.get(`/picture/${id}/320`)).text, made.text)
  assert.equal(images.countOf('/shared.png'), 1)
})

test('link previews of covers are cached too', async (t) => {
  const folder = freshFolder(t)
  const { id } = await archive.make()
  const one = await startPictures(archive, images, { folder })
  const made = await one.get(`/picture/${id}/preview`)
  await one.stop()
  const two = await startPictures(archive, images, {
    folder,
    decoderPath: join(folder, 'not needed'),
  })
  const found = await two.get(`/picture/${id}/preview`)
  assert.deepEqual([type(found), found.text === made.text, two.warnings], ['image/jpeg', true, []])
})

test('a truncated file is generated again', async (t) => {
  const folder = freshFolder(t)
  const { id } = await archive.make({
    thumbnail_url: images.at('/cut.png', await photo(640, 360).png().toBuffer()),
  })
  const paths = [`/picture/${id}/320`, `/picture/${id}/preview`]
  const one = await startPictures(archive, images, { folder })
  const made = [(await one.get(paths[0] as string)).text, (await one.get(paths[1] as string)).text]
  await one.stop()
  for (const bytes of [0, 1, 11, 500]) {
    for (const name of readdirSync(folder)) truncateSync(join(folder, name), bytes)
    const two = await startPictures(archive, images, { folder })
    assert.deepEqual(
      [(await two.get(paths[0] as string)).text, (await two.get(paths[1] as string)).text],
      made,
    )
    await two.stop()
  }
})

test('a directory that cannot be written is logged once and breaks nothing', async (t) => {
  const folder = freshFolder(t)
  const file = join(folder, 'file')
  writeFileSync(file, '')
  const readOnly = join(folder, 'read-only')
  // All but the last fail even for root.
  for (const bad of [
    file,
    join(file, 'below'),
    '/proc/talkshelf',
    '/dev/full',
    ...(process.getuid?.() === 0 ? [] : [readOnly]),
  ]) {
    if (bad === readOnly) chmodSync(folder, 0o500)
    const pictureServer = await startPictures(archive, images, { folder: bad })
    for (const index of [1, 2, 3]) {
      const { id } = await archive.make({
        thumbnail_url: images.at(`/${index}.png`, await photo(64, 36).png().toBuffer()),
      })
      assert.equal(type(await pictureServer.get(`/picture/${id}/320`)), 'image/webp')
    }
    await pictureServer.stop()
    assert.equal(pictureServer.warnings.length, 1, bad)
  }
  chmodSync(folder, 0o700)
})

test('deletes the oldest pictures above the size limit, and no other files', async (t) => {
  const path = freshFolder(t)
  const [maxBytes, each] = [1_000_000, 40_000]
  writeFileSync(join(path, 'notes.txt'), 'Not a picture')
  const killed = join(path, '.killed.part')
  writeFileSync(killed, 'x')
  utimesSync(killed, 0, 0)
  const errors: unknown[] = []
  // Two processes, which do not know the writes of each other.
  const folders = [1, 2].map(() =>
    openDiskCache({ path, maxBytes, onError: (error) => errors.push(error) }),
  )
  for (let index = 0; index < 100; index++) {
    const name = index.toString(16).padStart(64, '0')
    const folder = folders[index % 2]
    folder?.keep(name, randomBytes(each))
    await folder?.settled()
    // Makes the order of the files unambiguous.
    const second = 1_700_000_000 + index
    utimesSync(join(path, name), second, second)
    const bytes = pictures(path).reduce((sum, name) => sum + statSync(join(path, name)).size, 0)
    assert.ok(bytes <= maxBytes * 1.1 + each, `${bytes} bytes`)
  }
  const left = pictures(path).map((name) => Number.parseInt(name, 16))
  assert.ok(left.length >= 20 && left.every((index) => index >= 100 - left.length), left.join())
  assert.equal(readFileSync(join(path, 'notes.txt'), 'utf8'), 'Not a picture')
  assert.ok(!readdirSync(path).some((name) => name.endsWith('.part')))
  assert.deepEqual(errors, [])
})

test('a file above the limit is not written, and the memory cache has a limit', async (t) => {
  const path = freshFolder(t)
  const folder = openDiskCache({ path, maxBytes: 100, onError: assert.fail })
  folder.keep('a'.repeat(64), Buffer.alloc(101))
  await folder.settled()
  assert.deepEqual(readdirSync(path), [])

  const server = await startImageServer()
  const pictureServer = await startPictures(archive, server, { cacheBytes: 60_000 })
  const ids: number[] = []
  for (let index = 0; index < 6; index++) {
    const thumbnail_url = server.at(`/${index}.jpg`, await noise(320, 180).jpeg().toBuffer())
    ids.push((await archive.make({ thumbnail_url })).id)
    assert.equal(type(await pictureServer.get(`/picture/${ids[index]}/320`)), 'image/webp')
  }
  await pictureServer.get(`/picture/${ids[5]}/320`)
  assert.equal(server.countOf('/5.jpg'), 1)
  await pictureServer.get(`/picture/${ids[0]}/320`)
  assert.equal(server.countOf('/0.jpg'), 2)
})

const pictures = (path: string) => readdirSync(path).filter((name) => /^[0-9a-f]{64}$/.test(name))
