import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import pg from 'pg'
import { freshDatabase } from '../support/database.ts'
import { feedIsComplete, readFeed } from '../support/feed-replay.ts'
import { call, program, root, runCommand, spawnServer, startArchive } from '../support/harness.ts'
import { withDatabase } from '../support/invariants.ts'
import { assertSameResponses } from '../support/mirror-responses.ts'
import { until } from '../support/until.ts'

// `talkshelf mirror --database`: a read-only copy of an archive that can be served.

const archive = await startArchive()
const { admin: token } = archive
const send = async (method: string, path: string, body: object) => {
  const reply = await archive.call(method, `/api/v2/${path}`, { token, body })
  assert.ok(reply.status < 300, reply.text)
  return reply.json
}

const database = await freshDatabase()
const DATABASE_URL = database.url
const mirrorOnce = () =>
  runCommand(['mirror', archive.url, '--database', '--once'], { DATABASE_URL })
const compare = (mirrorUrl: string) =>
  assertSameResponses({ url: archive.url, databaseUrl: archive.databaseUrl, mirrorUrl })

const first = await archive.make({ title: 'Dams', speakers: ['Ann', 'Bea'], tags: ['water'] })
const second = await archive.make({ title: 'Rivers', speakers: ['Cid'], tags: ['water', 'fish'] })
const third = await archive.make({ title: 'Removed later', speakers: ['Dan'] })
const draft = await archive.make({ title: 'A draft', state: 2, speakers: ['Hidden Person'] })
await send('PUT', `video/${first.id}/facts`, {
  facts: [
    { kind: 'said', source: 'a', field: 'b', value: 'Only for editors' },
    { kind: 'address', path: 'old/1' },
  ],
})
await feedIsComplete(archive)
const copied = await mirrorOnce()
assert.equal(copied.code, 0, copied.stderr)
const mirror = await spawnServer({ DATABASE_URL })
/** Waits until the feed has all changes, also of renames, and copies them. */
async function copyChanges(): Promise<string> {
  await until('renames to be done', async () => {
    const jobs = await withDatabase(archive.databaseUrl, (query) => query('table rename_job'))
    return jobs.length === 0
  })
  await feedIsComplete(archive)
  const { code, stderr } = await mirrorOnce()
  assert.equal(code, 0, stderr)
  return stderr
}

test('a mirror answers as the archive does, and links to it', async () => {
  await compare(mirror.url)
  const page = await call(mirror.url, 'GET', `/video/${first.id}/dams`)
  const { text } =
    page.status === 301 ? await call(mirror.url, 'GET', String(page.headers.location)) : page
  assert.match(text, new RegExp(`rel="canonical" href="${archive.url}/`))
  assert.match(text, /This is a read-only copy of/)
})

test('a mirror refuses changes, and says where to make them', async () => {
  const { code, stdout } = await runCommand(
    ['token', 'create', '--name', 'Eve', '--role', 'admin'],
    { DATABASE_URL },
  )
  assert.equal(code, 0)
  const attempts = [
    ['PATCH', `/api/v2/video/${first.id}`, { title: 'Changed' }],
    ['POST', '/api/v2/video', { title: 'New' }],
  ] as const
  for (const [method, path, body] of attempts) {
    const { status, json } = await call(mirror.url, method, path, { body, token: stdout.trim() })
    assert.equal(status, 403)
    assert.match(json.type, /read-only$/)
    assert.match(json.detail, new RegExp(archive.url))
  }
  // A program that does not ask the server is refused by the database.
  await assert.rejects(
    withDatabase(DATABASE_URL, (query) =>
      query(`insert into change (subject, subject_id, revision, kind, before, after, ids, at,
                                 actor, via, request_id, request_hash)
             values ('video', 1, 99, 'updated', '{}', '{}', '{}', now(), 'x', 'api', 'x', '')`),
    ),
    /This is a copy of/,
  )
})

test('changes, renames, merges, hiding and takedowns are copied', async () => {
  await send('PATCH', `video/${first.id}`, { title: 'Dams again', speakers: ['Bea', 'Eva'] })
  await send('PATCH', 'speaker/cid', { name: 'Cid Young' })
  await send('POST', `video/${third.id}/takedown`, { reason: 'asked' })
  await send('PATCH', `video/${draft.id}`, { state: 1 })
  const same = await archive.make({ title: 'Rivers', speakers: ['Cid Young'] })
  await send('POST', `video/${same.id}/merge`, { into: second.id })
  await send('POST', 'tag/fish/merge', { into: 'water' })
  await copyChanges()
  await compare(mirror.url)
  await send('PATCH', `video/${draft.id}`, { state: 2 })
  await copyChanges()
  await compare(mirror.url)
  const rows = await withDatabase(DATABASE_URL, async (query) =>
    JSON.stringify([
      await query('select * from video'),
      await query('select * from video_body'),
      await query('select * from change'),
      await query('select * from entity_name'),
      await query('select * from entity_slug'),
      await query('select * from speaker'),
      await query('select * from video_search'),
    ]),
  )
  // What was withdrawn is nowhere in the copy.
  assert.doesNotMatch(
    rows,
    /Only for editors|Removed later|removed-later|A draft|Hidden Person|hidden-person/,
  )
})

test('names and slugs that two records or speakers exchange are copied', async () => {
  const [one, two] = [
    await archive.make({ title: 'Swap one', speakers: ['Uma Left'] }),
    await archive.make({ title: 'Swap two', speakers: ['Uma Right'] }),
  ]
  await copyChanges()
  await send('PATCH', 'speaker/uma-left', { name: 'Uma Between' })
  await until('the first rename', async () => {
    const { json } = await archive.call('GET', `/api/v2/video/${one.id}`)
    return json.speakers[0] === 'Uma Between'
  })
  // The old name of the other speaker is free when it is no alias any more.
  await send('PATCH', 'speaker/uma-between', { aliases: [] })
  await send('PATCH', 'speaker/uma-right', { name: 'Uma Left' })
  await send('PATCH', `video/${two.id}`, { title: 'Swap one' })
  await copyChanges()
  await compare(mirror.url)
})

test('follows an archive that was restored from a backup, from the common point', async () => {
  const kept = await archive.make({ title: 'Before the backup' })
  await copyChanges()
  const before = await readFeed(archive)
  const lost = await archive.make({ title: 'Lost', speakers: ['Lost Person'] })
  await copyChanges()
  await send('PATCH', `video/${kept.id}`, { title: 'Lost title' })
  await copyChanges()
  // The state of the backup, and other changes since.
  await withDatabase(archive.databaseUrl, async (query) => {
    await query('begin')
    await query("select pg_advisory_xact_lock(hashtext('change feed'))")
    await query(`delete from feed_entry where seq > ${before.entries.length}`)
    await query(`update video set state = 2 where id = ${lost.id}`)
    await query(`update video_body set live = false where id = ${lost.id}`)
    await query(`update feed_head
                 set (seq, digest) = (select seq, digest from feed_entry order by seq desc limit 1)`)
    await query('commit')
  })
  await send('PATCH', `video/${kept.id}`, { title: 'After the restore' })
  const output = await copyChanges()
  assert.match(output, new RegExp(`Going back to entry ${before.entries.length} of the feed`))
  assert.doesNotMatch(output, /whole archive/)
  await compare(mirror.url)
})

test('is exact after it was killed at any moment, while others write', async () => {
  let isWriting = true
  const writing = (async () => {
    for (let number = 0; isWriting; number++) {
      const { id } = await archive.make({ speakers: [`Speaker ${number % 7}`], tags: ['kills'] })
      if (number % 3 === 0) await send('PATCH', `video/${id}`, { state: 2 })
    }
  })()
  const cursorNow = async () => {
    const [row] = await withDatabase(DATABASE_URL, (query) => query('select cursor from mirror'))
    return row?.cursor
  }
  for (let kill = 0; kill < 5; kill++) {
    const cursor = await cursorNow()
    const child = startMirror()
    await until('the mirror to write', async () => (await cursorNow()) !== cursor)
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  isWriting = false
  await writing
  await copyChanges()
  await compare(mirror.url)
})

function startMirror(): ChildProcess {
  const child = spawn(process.execPath, [program, 'mirror', archive.url, '--database'], {
    cwd: root,
    env: { ...process.env, DATABASE_URL },
  })
  after(() => child.kill('SIGKILL'))
  return child
}

test('a rename that is taken back while it is applied leaves no trace', async () => {
  const ids: number[] = []
  for (let number = 0; number < 3; number++)
    ids.push((await archive.make({ speakers: ['Original Name'] })).id)
  await copyChanges()
  // The last talk is locked, so that the rename cannot reach it.
  const client = new pg.Client({ connectionString: archive.databaseUrl })
  await client.connect()
  await client.query('begin')
  await client.query(`select from video where id = ${ids.at(-1)} for update`)
  const renaming = send('PATCH', 'speaker/original-name', { name: 'Wrong Name' }).catch(() => {})
  await until('the rename to wait for the lock', async () => {
    const rows = await withDatabase(archive.databaseUrl, (query) =>
      query("select from pg_stat_activity where wait_event_type = 'Lock'"),
    )
    return rows.length > 0
  })
  await feedIsComplete(archive)
  const { code, stderr } = await mirrorOnce()
  assert.equal(code, 0, stderr)
  await client.query('rollback')
  await client.end()
  await renaming
  const { json } = await archive.call('GET', `/api/v2/video/${ids[0]}`)
  if (json.speakers[0] === 'Wrong Name')
    await send('PATCH', 'speaker/wrong-name', { name: 'Original Name' })
  await copyChanges()
  await compare(mirror.url)
})

test('a speaker that comes after their talk is found by their name', async () => {
  const { id } = await archive.make({ speakers: ['Zyxwvutina'] })
  await feedIsComplete(archive)
  // As if the page with the talk had come before the one with the speaker.
  const server = createServer((request, response) => {
    const { pathname, search } = new URL(request.url ?? '', archive.url)
    const isOfSpeakers = search.includes('kind=speaker')
    call(archive.url, 'GET', pathname + search).then(({ status, headers, json, text }) => {
      const page = isOfSpeakers ? { ...json, results: [] } : json
      response.writeHead(status, { 'content-type': headers['content-type'] })
      response.end(page?.results ? JSON.stringify(page) : text)
    })
  }).listen(0, '127.0.0.1')
  after(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const other = await freshDatabase()
  const copyFrom = () =>
    runCommand(['mirror', `http://127.0.0.1:${port}`, '--database', '--once'], {
      DATABASE_URL: other.url,
    })
  const { stderr } = await copyFrom()
  assert.match(stderr, /differ/, 'the speakers are missing')
  server.removeAllListeners('request')
  server.on('request', (request, response) => {
    call(archive.url, 'GET', request.url ?? '').then(({ status, headers, text }) => {
      response.writeHead(status, { 'content-type': headers['content-type'] })
      response.end(Buffer.from(text, 'latin1'))
    })
  })
  const again = await copyFrom()
  assert.equal(again.code, 0, again.stderr)
  const rows = await withDatabase(other.url, (query) =>
    query(`select head::text from video_search where id = ${id}`),
  )
  assert.match(String(rows[0]?.head), /zyxwvutina/)
})

test('a source that sends impossible entries cannot make the mirror hang', async () => {
  const cursor = (seq: number) => `${seq}.${'0'.repeat(16)}`
  const merged = (seq: number, id: number, into: number) => ({
    seq,
    at: '2026-11-15T10:52:01.100',
    kind: 'video',
    id,
    state: 'merged',
    merged_into: into,
  })
  const { entries } = await readFeed(archive, '0', '&include=record&kind=category')
  const category = entries.slice(0, 1).map((entry) => ({ ...entry, seq: 1 }))
  /** Returns what the server sends: entries, the number in the cursor, and `more`. */
  const pageFor = (query: URLSearchParams): [object[], number, boolean] => {
    const since = query.get('since') ?? ''
    if (query.get('kind') === 'category') return [category, 1, false]
    if (query.get('kind') === 'video') return [[merged(2, 7, 8), merged(3, 8, 7)], 3, false]
    if (since.startsWith('3.')) return [[merged(4, 7, 8)], 4, true]
    if (since.startsWith('4.')) return [[merged(5, 8, 7), merged(6, 9, 9)], 6, false]
    return [[], 3, false]
  }
  const server = createServer((request, response) => {
    const { searchParams } = new URL(request.url ?? '', archive.url)
    const [results, seq, more] = pageFor(searchParams)
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ results, cursor: cursor(seq), more }))
  }).listen(0, '127.0.0.1')
  after(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const other = await freshDatabase()
  const { code, stderr } = await runCommand(
    ['mirror', `http://127.0.0.1:${port}`, '--database', '--once'],
    { DATABASE_URL: other.url },
  )
  assert.equal(code, 1, stderr)
  assert.doesNotMatch(stderr, /\n {4}at /, 'a stack trace')
  const rows = await withDatabase(other.url, (query) =>
    query(`select own.id, own.merged_into, target.merged_into as further
           from video as own left join video as target on target.id = own.merged_into
           order by 1`),
  )
  assert.deepEqual(
    rows.map(({ id }) => Number(id)),
    [7, 8, 9],
  )
  for (const { further } of rows) assert.equal(further, null, 'a record redirects twice')
})

test('the newest of two processes copies', async () => {
  const older = startMirror()
  let output = ''
  older.stderr?.on('data', (data) => (output += data))
  await until('the older process to follow', () => output.includes('Continuing'))
  assert.equal((await mirrorOnce()).code, 0)
  await archive.make()
  if (older.exitCode === null) await once(older, 'exit')
  assert.equal(older.exitCode, 1)
  assert.match(output, /Another process has begun/)
})

test('says what to do about a database that cannot be a mirror', async () => {
  const into = (url: string, ...args: string[]) =>
    runCommand(['mirror', url, ...args], { DATABASE_URL: archive.databaseUrl })
  const full = await into(archive.url, '--database', '--once')
  assert.equal(full.code, 1)
  assert.match(full.stderr, /not empty/)
  const other = await runCommand(['mirror', 'http://127.0.0.1:9', '--database', '--once'], {
    DATABASE_URL,
  })
  assert.equal(other.code, 1)
  assert.match(other.stderr, /is a copy of/)
  const neither = await into(archive.url)
  assert.equal(neither.code, 2)
  assert.match(neither.stderr, /--database/)
})
