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

// Every night an export for everybody, whoever is up.

const archive = await startArchive()
await archive.make({ title: 'For everybody' })
await archive.make({ title: 'For editors', state: 2 })

function freshFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'talkshelf-snapshots-'))
  t.after(() => rmSync(folder, { recursive: true }))
  return folder
}

const at = (moment: string) => new Date(`${moment}Z`)
const options = (folder: string, keep = 14) => ({ url: archive.databaseUrl, folder, keep })

test('a snapshot is what everybody may read, and its manifest tells how to check it', async (t) => {
  const folder = freshFolder(t)
  const written = await writeDueSnapshot(
    archive.pool,
    options(folder),
    3,
    at('2026-03-01T03:00:00'),
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
  const { text: sent } = await archive.call('GET', '/api/v2/export.ndjson')
  assert.equal(text.replace(/"at":"[^"]+"/, ''), sent.replace(/"at":"[^"]+"/, ''))
  for (const file of readdirSync(folder))
    assert.equal(statSync(join(folder, file)).mode & 0o777, 0o644)
})

test('each night has one, whoever looks and however often; whoever was off at that hour catches up', async (t) => {
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
  for (const [moment, hour, file] of nights)
    assert.equal(
      (await writeDueSnapshot(archive.pool, options(folder), hour, at(moment)))?.file,
      file,
      moment,
    )
  const together = await Promise.all(
    Array.from({ length: 6 }, () =>
      writeDueSnapshot(archive.pool, options(folder), 3, at('2026-04-01T05:00:00')),
    ),
  )
  assert.equal(together.filter((it) => it !== undefined).length, 1)
})

test('the newest stay, and nothing else in the folder is touched', async (t) => {
  const folder = freshFolder(t)
  for (const other of ['talkshelf.ndjson.gz', 'talkshelf-2020-01-01.txt', 'notes.json'])
    writeFileSync(join(folder, other), 'mine')
  // Somebody was killed once.
  writeFileSync(join(folder, 'talkshelf-2020-02-02.ndjson.gz.part'), 'half')
  for (const day of ['01', '02', '03', '04'])
    await writeDueSnapshot(archive.pool, options(folder, 2), 3, at(`2026-03-${day}T04:00:00`))
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

test('whoever is killed half way leaves a part and nothing that looks whole; the next one cleans up', async (t) => {
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
  assert.match(stderr, /talkshelf-[\d-]{10}\.ndjson\.gz has 5000 records/)
  assert.deepEqual(
    readdirSync(folder).map((name) => name.replace(/\d{4}-\d\d-\d\d/, 'DAY')),
    ['talkshelf-DAY.json', 'talkshelf-DAY.ndjson.gz'],
  )
})

test('whoever is told to stop leaves nothing', async (t) => {
  const folder = freshFolder(t)
  const stop = AbortSignal.abort()
  await assert.rejects(
    writeDueSnapshot(
      archive.pool,
      { ...options(folder), signal: stop },
      3,
      at('2026-03-01T04:00:00'),
    ),
    {
      name: 'AbortError',
    },
  )
  assert.deepEqual(readdirSync(folder), [])
})

test('what is withdrawn goes from all snapshots: a new one is written within an hour, the others are removed', async (t) => {
  const { editor: token, admin, call } = archive
  const folder = freshFolder(t)
  const talk = await archive.make({
    title: 'Wanda to withdraw',
    speakers: ['Dora Withdrawn', 'Ida Hidden'],
    tags: ['doras'],
  })
  const shown = [{ name: 'Hidden Ida', shown: true }]
  await call('PATCH', '/api/v2/speaker/ida-hidden', { token, body: { aliases: shown } })
  const began = Date.now()
  const hour = (new Date(began).getUTCHours() + 12) % 24
  const look = (minutes: number, days = 0) =>
    writeDueSnapshot(
      archive.pool,
      options(folder),
      hour,
      new Date(began + (days * 1440 + minutes) * 60_000),
    )
  const holds = (word: string) =>
    readdirSync(folder).filter(
      (name) => name.endsWith('.gz') && gunzipSync(readFileSync(join(folder, name))).includes(word),
    ).length
  /** Two nights, and both manifests say that they are from before. */
  const twoNights = async () => {
    for (const name of readdirSync(folder)) rmSync(join(folder, name))
    for (const days of [-1, 0]) {
      const { file } = (await look(0, days)) as SnapshotManifest
      const manifest = join(folder, file.replace('ndjson.gz', 'json'))
      const old = {
        ...JSON.parse(readFileSync(manifest, 'utf8')),
        at: new Date(began - 600_000).toISOString(),
      }
      writeFileSync(manifest, JSON.stringify(old))
    }
  }
  await withDatabase(archive.databaseUrl, (query) =>
    query(`update change set at = at - interval '1 day'`),
  )
  await twoNights()
  await call('PATCH', `/api/v2/video/${talk.id}`, {
    token,
    body: { summary: 'An ordinary change' },
  })
  assert.equal(await look(120), undefined)

  const withdrawals: [string, string, object, string][] = [
    ['PATCH', 'speaker/ida-hidden', { aliases: [] }, 'Hidden Ida'],
    ['PATCH', 'speaker/dora-withdrawn', { name: 'Nora Withdrawn' }, 'Dora Withdrawn'],
    ['POST', 'tag/doras/merge', { into: 'others' }, 'doras'],
    ['PATCH', `video/${talk.id}`, { state: 2 }, 'Wanda to withdraw'],
    ['PATCH', `video/${talk.id}`, { state: 1 }, ''],
    ['POST', `video/${talk.id}/takedown`, { reason: 'asked' }, 'Wanda to withdraw'],
  ]
  await archive.make({ tags: ['others'] })
  for (const [method, path, body, word] of withdrawals) {
    await withDatabase(archive.databaseUrl, (query) =>
      query(`update change set at = at - interval '1 day'`),
    )
    await twoNights()
    if (word !== '') assert.equal(holds(word), 2, path)
    const { status } = await call(method, `/api/v2/${path}`, { token: admin, body })
    assert.equal(status, 200, path)
    // At most one an hour, however much is withdrawn.
    assert.equal(await look(49), undefined)
    const written = await look(51)
    if (word === '') assert.equal(written, undefined)
    else {
      assert.ok(written, path)
      assert.deepEqual([holds(word), readdirSync(folder).length], [0, 2], path)
      // What is new enough stays.
      await withDatabase(archive.databaseUrl, (query) =>
        query(`update change set at = at - interval '6 minutes'`),
      )
      assert.equal(await look(120), undefined)
    }
  }
})

test('a server writes it by itself where it is told a folder', async (t) => {
  const folder = join(freshFolder(t), 'made', 'here')
  const server = await spawnServer({ DATABASE_URL: archive.databaseUrl, SNAPSHOT_DIR: folder })
  const isThere = () =>
    existsSync(folder) && readdirSync(folder).some((name) => name.endsWith('.json'))
  for (let tries = 0; !isThere(); tries++) {
    assert.ok(tries < 1500)
    await sleep(20)
  }
  await server.stop()
  assert.equal(readdirSync(folder).length, 2)
})
