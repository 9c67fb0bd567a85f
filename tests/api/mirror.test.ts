import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { feedIsComplete, readFeed, replay } from '../support/feed-replay.ts'
import { program, root, runCommand, startArchive } from '../support/harness.ts'
import { withDatabase } from '../support/invariants.ts'
import { until } from '../support/until.ts'

// `talkshelf mirror`: a copy of the public data of an archive in a folder.

const archive = await startArchive()
const { admin: token } = archive
const send = (method: string, path: string, body: object) =>
  archive.call(method, `/api/v2/${path}`, { token, body })

function freshFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'talkshelf-mirror-'))
  after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const mirrorOnce = (folder: string, url = archive.url) =>
  runCommand(['mirror', url, folder, '--once'], {})

interface MirroredFile {
  readonly state: string
  readonly version?: string
  readonly record?: unknown
}

/** Reads all files of a copy, by `kind:id`. */
function filesOf(folder: string): Map<string, MirroredFile> {
  return new Map(
    ['category', 'speaker', 'tag', 'video'].flatMap((kind) =>
      readdirSync(join(folder, kind)).map((name) => [
        `${kind}:${name.replace('.json', '')}`,
        JSON.parse(readFileSync(join(folder, kind, name), 'utf8')) as MirroredFile,
      ]),
    ),
  )
}

/** Checks that the copy is what the feed leads to, with the current records. */
async function assertEqualsArchive(folder: string): Promise<void> {
  await feedIsComplete(archive)
  const { entries, cursor } = await readFeed(archive, '0', '&include=record')
  const expected = new Map<string, MirroredFile>()
  for (const [key, entry] of replay(entries)) {
    if (entry.state === 'hidden') continue
    const { at: _, belongs_to: __, belonged_to: ___, record, ...stored } = entry
    expected.set(key, { ...stored, ...(entry.state === 'live' && { record }) })
  }
  assert.deepEqual(filesOf(folder), expected)
  const { cursor: stored } = JSON.parse(readFileSync(join(folder, 'mirror.json'), 'utf8'))
  assert.equal(stored, cursor)
}

test('copies everything, and then only what has changed', async () => {
  const folder = freshFolder()
  const first = await archive.make({ speakers: ['Ann'], tags: ['dams'] })
  const gone = await archive.make({ title: 'Removed later' })
  await archive.make({ title: 'A draft', state: 2 })
  await feedIsComplete(archive)
  const { code, stderr } = await mirrorOnce(folder)
  assert.equal(code, 0, stderr)
  await assertEqualsArchive(folder)
  await send('PATCH', `video/${first.id}`, { title: 'Corrected', speakers: ['Bea'] })
  await send('POST', `video/${gone.id}/takedown`, { reason: 'asked' })
  await feedIsComplete(archive)
  const again = await mirrorOnce(folder)
  assert.equal(again.code, 0, again.stderr)
  assert.match(again.stderr, /Continuing the copy/)
  assert.doesNotMatch(again.stderr, /whole archive again/)
  await assertEqualsArchive(folder)
  assert.doesNotMatch(
    readFileSync(join(folder, 'video', `${gone.id}.json`), 'utf8'),
    /Removed later/,
  )
})

test('repairs a copy with a file that is damaged, missing or too many', async () => {
  const folder = freshFolder()
  const { id } = await archive.make()
  await feedIsComplete(archive)
  await mirrorOnce(folder)
  const file = join(folder, 'video', `${id}.json`)
  const damages = {
    damaged: () => writeFileSync(file, '{"kind":'),
    missing: () => rmSync(file),
    outdated: () => writeFileSync(file, '{"state":"live","version":"1.1.x","record":null}'),
    'too many': () => writeFileSync(join(folder, 'tag', '999.json'), '{"state":"live"}'),
  }
  for (const [name, damage] of Object.entries(damages)) {
    damage()
    const { code, stderr } = await mirrorOnce(folder)
    assert.equal(code, 0, `${name}: ${stderr}`)
    await assertEqualsArchive(folder)
  }
})

test('follows an archive that was restored from a backup', async () => {
  const folder = freshFolder()
  const kept = await archive.make({ title: 'Before the backup' })
  await feedIsComplete(archive)
  const before = await readFeed(archive)
  const lost = await archive.make({ title: 'Lost', speakers: ['Lost Person'] })
  await send('PATCH', `video/${kept.id}`, { title: 'Lost title' })
  await feedIsComplete(archive)
  await mirrorOnce(folder)
  await assertEqualsArchive(folder)
  // The state of the backup, and other changes since.
  await withDatabase(archive.databaseUrl, async (query) => {
    await query('begin')
    await query("select pg_advisory_xact_lock(hashtext('change feed'))")
    await query(`delete from feed_entry where seq > ${before.entries.length}`)
    await query(`update video_body set live = false where id = ${lost.id}`)
    await query(`update feed_head
                 set (seq, digest) = (select seq, digest from feed_entry order by seq desc limit 1)`)
    await query('commit')
  })
  await send('PATCH', `video/${kept.id}`, { title: 'After the restore' })
  await feedIsComplete(archive)
  const { code, stderr } = await mirrorOnce(folder)
  assert.equal(code, 0, stderr)
  assert.match(stderr, /restored from a backup/)
  await assertEqualsArchive(folder)
})

test('is exact after it was killed at any moment, while others write', async () => {
  const folder = freshFolder()
  let isWriting = true
  const writing = (async () => {
    for (let number = 0; isWriting; number++) {
      const { id } = await archive.make({ speakers: [`Speaker ${number % 7}`] })
      if (number % 3 === 0) await send('PATCH', `video/${id}`, { state: 2 })
    }
  })()
  for (let kill = 0; kill < 6; kill++) {
    const child = spawn(process.execPath, [program, 'mirror', archive.url, folder], { cwd: root })
    const count = kill * 7
    await until('the mirror to write files', () => {
      try {
        return readdirSync(join(folder, 'video')).length > count
      } catch {
        return false
      }
    })
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  isWriting = false
  await writing
  await feedIsComplete(archive)
  const { code, stderr } = await mirrorOnce(folder)
  assert.equal(code, 0, stderr)
  await assertEqualsArchive(folder)
})

test('follows changes until it is stopped', async () => {
  const folder = freshFolder()
  const child = spawn(process.execPath, [program, 'mirror', archive.url, folder], { cwd: root })
  const { id } = await archive.make({ title: 'While it follows' })
  await until('the file', () =>
    readFileSync(join(folder, 'video', `${id}.json`), 'utf8').includes('While it follows'),
  )
  child.kill('SIGTERM')
  const [code] = await once(child, 'exit')
  assert.equal(code, 0)
})

test('says what to do about a wrong URL or folder', async () => {
  const folder = freshFolder()
  await mirrorOnce(folder)
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end('{"results":[{"seq":1,"kind":"video","id":"../x"}],"cursor":"1","more":false}')
  }).listen(0, '127.0.0.1')
  after(() => server.close())
  await once(server, 'listening')
  const hostile = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const cases: [string[], number, RegExp][] = [
    [['not a url', folder], 2, /Expected the URL of an archive/],
    [[hostile, folder], 1, /is a copy of http.*Choose another folder/],
    [[hostile, freshFolder()], 1, /does not answer as an archive/],
  ]
  for (const [args, expected, message] of cases) {
    const { code, stderr } = await runCommand(['mirror', ...args, '--once'], {})
    assert.equal(code, expected, stderr)
    assert.match(stderr, message)
    assert.doesNotMatch(stderr, /\n +at /)
  }
})
