import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import { freshDatabase } from '../../tests/support/database.ts'
import {
  program,
  root,
  runCommand,
  spawnServer,
  startArchive,
} from '../../tests/support/harness.ts'
import { withDatabase } from '../../tests/support/invariants.ts'
import { insertRecords } from '../../tests/support/many-records.ts'
import { type SnapshotManifest, writeDueSnapshot } from './snapshots.ts'

// Nightly snapshots of the public data.

const archive = await startArchive()
await archive.make({ title: 'For everybody' })
await archive.make({ title: 'For editors', state: 2 })

function freshFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'talkshelf-snapshots-'))
  t.after(() => rmSync(folder, { recursive: true }))
  return folder
}

const utc = (time: string) => new Date(`${time}Z`)
const ageChanges = (interval: string) =>
  withDatabase(archive.databaseUrl, (query) =>
    query(`update change set at = at - interval '${interval}'`),
  )
const options = (folder: string, keep = 14) => ({ url: archive.databaseUrl, folder, keep })

test('writes the public export with a manifest of its checksum', async (t) => {
  const folder = freshFolder(t)
  const written = await writeDueSnapshot(
    archive.pool,
    options(folder),
    3,
    utc('2026-03-01T03:00:00'),
  )
  assert.deepEqual(readdirSync(folder), [
    'talkshelf-2026-03-01.json',
    'talkshelf-2026-03-01.ndjson.gz',
  ])
  const manifest = JSON.parse(
    readFileSync(join(folder, 'talkshelf-2026-03-01.json'), 'utf8'),
  ) as SnapshotManifest
  assert.deepEqual(manifest, written)
  const bytes = readFileSync(join(folder, manifest.file))
  assert.deepEqual([manifest.bytes, manifest.videos], [bytes.length, 1])
  assert.equal(manifest.sha256, createHash('sha256').update(bytes).digest('hex'))
  const text = gunzipSync(bytes).toString()
  assert.equal(JSON.parse(text.split('\n', 1)[0] as string).at, manifest.at.slice(0, -1))
  const { text: exported } = await archive.call('GET', '/api/v2/export.ndjson')
  assert.equal(text.replace(/"at":"[^"]+"/, ''), exported.replace(/"at":"[^"]+"/, ''))
  for (const file of readdirSync(folder))
    assert.equal(statSync(join(folder, file)).mode & 0o777, 0o644)
})

test('writes one snapshot a night, also with several processes or after a downtime', async (t) => {
  const folder = freshFolder(t)
  const nights: [string, number, string | undefined][] = [
    ['2026-03-01T02:59:59', 3, 'talkshelf-2026-02-28.ndjson.gz'],
    ['2026-03-01T02:59:59', 3, undefined],
    ['2026-03-01T03:00:00', 3, 'talkshelf-2026-03-01.ndjson.gz'],
    ['2026-03-01T23:59:59', 3, undefined],
    ['2026-03-02T02:00:00', 3, undefined],
    // Days later.
    ['2026-03-07T12:00:00', 3, 'talkshelf-2026-03-07.ndjson.gz'],
    ['2026-03-08T00:00:00', 0, 'talkshelf-2026-03-08.ndjson.gz'],
  ]
  for (const [time, hour, file] of nights)
    assert.equal(
      (await writeDueSnapshot(archive.pool, options(folder), hour, utc(time)))?.file,
      file,
      time,
    )
  const concurrent = await Promise.all(
    Array.from({ length: 6 }, () =>
      writeDueSnapshot(archive.pool, options(folder), 3, utc('2026-04-01T05:00:00')),
    ),
  )
  assert.equal(concurrent.filter((manifest) => manifest !== undefined).length, 1)
})

test('retains the newest snapshots and leaves other files alone', async (t) => {
  const folder = freshFolder(t)
  for (const other of ['talkshelf.ndjson.gz', 'talkshelf-2020-01-01.txt', 'notes.json'])
    writeFileSync(join(folder, other), 'mine')
  // The rest of a killed process.
  writeFileSync(join(folder, 'talkshelf-2020-02-02.ndjson.gz.part'), 'half')
  for (const day of ['01', '02', '03', '04'])
    await writeDueSnapshot(archive.pool, options(folder, 2), 3, utc(`2026-03-${day}T04:00:00`))
  assert.deepEqual(readdirSync(folder), [
    'notes.json',
    'talkshelf-2020-01-01.txt',
    'talkshelf-2026-03-03.json',
    'talkshelf-2026-03-03.ndjson.gz',
    'talkshelf-2026-03-04.json',
    'talkshelf-2026-03-04.ndjson.gz',
    'talkshelf.ndjson.gz',
  ])
})

test('leaves only a partial file when killed, which the next snapshot removes', async (t) => {
  const folder = freshFolder(t)
  const { url: DATABASE_URL } = await freshDatabase(t)
  await insertRecords(DATABASE_URL, 5000)
  const child = spawn(process.execPath, [program, 'snapshot', folder], {
    cwd: root,
    env: { ...process.env, DATABASE_URL },
  })
  const hasPart = () => readdirSync(folder).some((name) => name.endsWith('.ndjson.gz.part'))
  while (!hasPart()) {
    assert.equal(child.exitCode, null)
    await sleep(2)
  }
  child.kill('SIGKILL')
  await once(child, 'exit')
  assert.deepEqual(
    readdirSync(folder).map((name) => name.replace(/\d{4}-\d\d-\d\d/, 'DAY')),
    ['talkshelf-DAY.ndjson.gz.part'],
  )
  const { code, stderr } = await runCommand(['snapshot', folder], { DATABASE_URL })
  assert.equal(code, 0, stderr)
  assert.match(stderr, /^Wrote 5000 records \(\d+ bytes\) to talkshelf-[\d-]{10}\.ndjson\.gz\.$/m)
  assert.deepEqual(
    readdirSync(folder).map((name) => name.replace(/\d{4}-\d\d-\d\d/, 'DAY')),
    ['talkshelf-DAY.json', 'talkshelf-DAY.ndjson.gz'],
  )
})

test('leaves no files when aborted', async (t) => {
  const folder = freshFolder(t)
  const signal = AbortSignal.abort()
  await assert.rejects(
    writeDueSnapshot(archive.pool, { ...options(folder), signal }, 3, utc('2026-03-01T04:00:00')),
    {
      name: 'AbortError',
    },
  )
  assert.deepEqual(readdirSync(folder), [])
})

/** Writes snapshots at times relative to now. The nights start 12 hours from now. */
function snapshotSeries(folder: string) {
  const startMs = Date.now()
  const hour = (new Date(startMs).getUTCHours() + 12) % 24
  const writeAfter = (minutes: number, days = 0) =>
    writeDueSnapshot(
      archive.pool,
      options(folder),
      hour,
      new Date(startMs + (days * 1440 + minutes) * 60_000),
    )
  /** Writes the snapshots of two nights, with manifests from before the withdrawals. */
  const writeTwoNights = async () => {
    for (const name of readdirSync(folder)) rmSync(join(folder, name))
    for (const days of [-1, 0]) {
      const { file } = (await writeAfter(0, days)) as SnapshotManifest
      const manifest = join(folder, file.replace('ndjson.gz', 'json'))
      const old = {
        ...JSON.parse(readFileSync(manifest, 'utf8')),
        at: new Date(startMs - 600_000).toISOString(),
      }
      writeFileSync(manifest, JSON.stringify(old))
    }
  }
  const countWith = (word: string) =>
    readdirSync(folder).filter(
      (name) => name.endsWith('.gz') && gunzipSync(readFileSync(join(folder, name))).includes(word),
    ).length
  return { writeAfter, writeTwoNights, countWith }
}

test('replaces all snapshots within an hour after data was withdrawn', async (t) => {
  const { editor: token, admin, call } = archive
  const folder = freshFolder(t)
  const talk = await archive.make({
    title: 'Wanda to withdraw',
    speakers: ['Dora Withdrawn', 'Ida Hidden'],
    tags: ['doras'],
  })
  const aliases = [{ name: 'Hidden Ida', shown: true }]
  await call('PATCH', '/api/v2/speaker/ida-hidden', {
    token,
    body: { aliases, pronouns: 'ida/idas', description: 'A private matter' },
  })
  const { writeAfter, writeTwoNights, countWith } = snapshotSeries(folder)
  await ageChanges('1 day')
  await writeTwoNights()
  await call('PATCH', `/api/v2/video/${talk.id}`, {
    token,
    body: { summary: 'An ordinary change' },
  })
  assert.equal(await writeAfter(120), undefined)

  const withdrawals: [string, string, object, string][] = [
    ['PATCH', 'speaker/ida-hidden', { aliases: [] }, 'Hidden Ida'],
    ['PATCH', 'speaker/ida-hidden', { pronouns: null }, 'ida/idas'],
    ['PATCH', 'speaker/ida-hidden', { description: '' }, 'A private matter'],
    ['PATCH', 'speaker/ida-hidden', { description: 'Nothing was there' }, ''],
    ['PATCH', 'speaker/dora-withdrawn', { name: 'Nora Withdrawn' }, 'Dora Withdrawn'],
    ['POST', 'tag/doras/merge', { into: 'others' }, 'doras'],
    ['PATCH', `video/${talk.id}`, { state: 2 }, 'Wanda to withdraw'],
    ['PATCH', `video/${talk.id}`, { state: 1 }, ''],
    ['POST', `video/${talk.id}/takedown`, { reason: 'asked' }, 'Wanda to withdraw'],
  ]
  await archive.make({ tags: ['others'] })
  for (const [method, path, body, word] of withdrawals) {
    await ageChanges('1 day')
    await writeTwoNights()
    if (word !== '') assert.equal(countWith(word), 2, path)
    const { status } = await call(method, `/api/v2/${path}`, { token: admin, body })
    assert.equal(status, 200, path)
    // At most one snapshot an hour is written.
    assert.equal(await writeAfter(49), undefined)
    const written = await writeAfter(51)
    if (word === '') assert.equal(written, undefined)
    else {
      assert.ok(written, path)
      assert.deepEqual([countWith(word), readdirSync(folder).length], [0, 2], path)
      // A snapshot that is newer than the withdrawal stays.
      await ageChanges('6 minutes')
      assert.equal(await writeAfter(120), undefined)
    }
  }
})

test('writes snapshots from the server if a folder is configured', async (t) => {
  const folder = join(freshFolder(t), 'made', 'here')
  const server = await spawnServer({ DATABASE_URL: archive.databaseUrl, SNAPSHOT_DIR: folder })
  const hasManifest = () =>
    existsSync(folder) && readdirSync(folder).some((name) => name.endsWith('.json'))
  for (let tries = 0; !hasManifest(); tries++) {
    assert.ok(tries < 1500)
    await sleep(20)
  }
  await server.stop()
  assert.equal(readdirSync(folder).length, 2)
})
