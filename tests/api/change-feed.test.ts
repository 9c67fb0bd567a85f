import assert from 'node:assert/strict'
import { get as httpGet } from 'node:http'
import { test } from 'node:test'
import type { FeedEntry, FeedPage, FeedVideo } from '@talkshelf/contract'
import sql from 'sql-template-tag'
import { appendNextEntries } from '../../server/change-feed/append.ts'
import { listNextChanges, readHead, startWindow } from '../../server/change-feed/queries.ts'
import { type SeededRandom, seededRandom } from '../../server/pictures/seeded-random.ts'
import { execute } from '../../server/platform/db/db.ts'
import { openPool } from '../../server/platform/db/pool.ts'
import { freshDatabase } from '../support/database.ts'
import {
  assertPublicState,
  digestOf,
  feedIsComplete,
  readFeed,
  replay,
} from '../support/feed-replay.ts'
import { category, type Reply, startArchive } from '../support/harness.ts'
import { withDatabase } from '../support/invariants.ts'
import { until } from '../support/until.ts'

// The change feed: what is in it, in which order, and what never is.

const archive = await startArchive()
const { admin } = archive

const send = (method: string, path: string, body?: object) =>
  archive.call(method, `/api/v2/${path}`, { token: admin, ...(body && { body }) })
async function ok(reply: Promise<Reply>): Promise<Reply> {
  const response = await reply
  assert.ok(response.status < 300, response.text)
  return response
}
const now = async () => {
  await feedIsComplete(archive)
  return (await archive.call('GET', '/api/v2/changes?since=now')).json.cursor as string
}
/** Runs the work and returns the entries that it adds to the feed. */
async function entriesOf(work: () => Promise<unknown>, query = ''): Promise<FeedEntry[]> {
  const since = await now()
  await work()
  await feedIsComplete(archive)
  return (await readFeed(archive, since, query)).entries
}
const summary = (entries: readonly FeedEntry[]) =>
  entries.map(({ kind, id, state }) => `${kind} ${id} ${state}`)

test('a new record comes after its speakers and tags', async () => {
  const made: number[] = []
  const entries = await entriesOf(async () => {
    made.push((await archive.make({ speakers: ['Ann'], tags: ['dams'] })).id)
  })
  const [speaker, tag, video] = entries
  assert.deepEqual(
    entries.map(({ kind, state }) => [kind, state]),
    [
      ['speaker', 'live'],
      ['tag', 'live'],
      ['video', 'live'],
    ],
  )
  assert.equal(video?.id, made[0])
  assert.deepEqual(video?.belongs_to, [
    'category:1',
    `speaker:${speaker?.id}`,
    `tag:${tag?.id}`,
    'language:en',
  ])
  const { headers } = await archive.call('GET', `/api/v2/video/${video?.id}`)
  assert.match(video?.version ?? '', new RegExp(`^${video?.id}[.]1[.][0-9a-f]{16}$`))
  assert.ok(headers.etag?.startsWith(`"${video?.id}.1.`))
})

test('what only editors see is not in the feed', async () => {
  const { id } = await archive.make({ title: 'Secret draft', state: 2, speakers: ['Not Public'] })
  const { id: live } = await archive.make({ speakers: ['Bea'] })
  const entries = await entriesOf(async () => {
    await ok(send('PATCH', `video/${id}`, { title: 'Still secret', tags: ['hush'] }))
    await ok(send('PUT', `video/${id}/facts`, { facts: [{ kind: 'address', path: 'x' }] }))
    await ok(
      send('PUT', `video/${live}/facts`, {
        facts: [{ kind: 'said', source: 'a', field: 'b', value: 'c' }],
      }),
    )
    await ok(send('PATCH', 'speaker/bea', { aliases: [{ name: 'Former Name' }] }))
  })
  assert.deepEqual(entries, [])
})

test('publishing, hiding, changing facts and taking down are entries', async () => {
  const { id } = await archive.make({ title: 'A draft', state: 2, speakers: ['Cleo'] })
  const publish = await entriesOf(() => ok(send('PATCH', `video/${id}`, { state: 1 })))
  assert.deepEqual(summary(publish).at(-1), `video ${id} live`)
  assert.equal(publish.length, 2)
  const facts = await entriesOf(() =>
    ok(send('PUT', `video/${id}/facts`, { facts: [{ kind: 'address', path: 'old/1' }] })),
  )
  assert.deepEqual(summary(facts), [`video ${id} live`])
  assert.notEqual(facts[0]?.version, publish.at(-1)?.version)
  const hide = await entriesOf(() => ok(send('PATCH', `video/${id}`, { state: 2 })))
  assert.deepEqual(
    hide.map(({ kind, state }) => `${kind} ${state}`),
    ['video hidden', 'speaker hidden'],
  )
  assert.equal(hide[0]?.belongs_to, undefined)
  assert.ok(hide[0]?.belonged_to?.includes('category:1'))
  const gone = await entriesOf(() => ok(send('POST', `video/${id}/takedown`, { reason: 'asked' })))
  assert.deepEqual(summary(gone), [`video ${id} taken-down`])
  // Also for those who follow the category, though it was hidden before.
  assert.ok(gone[0]?.belonged_to?.includes('category:1'))
})

test('a merged record redirects, and follows the record that it was merged into', async () => {
  const [kept, merged] = [await archive.make(), await archive.make()]
  const merge = await entriesOf(() =>
    ok(send('POST', `video/${merged.id}/merge`, { into: kept.id })),
  )
  const entry = merge.find(({ id }) => id === merged.id)
  assert.deepEqual([entry?.state, entry?.merged_into], ['merged', kept.id])
  const hide = await entriesOf(() => ok(send('PATCH', `video/${kept.id}`, { state: 2 })))
  assert.deepEqual(summary(hide).sort(), [`video ${kept.id} hidden`, `video ${merged.id} hidden`])
  const show = await entriesOf(() => ok(send('PATCH', `video/${kept.id}`, { state: 1 })))
  assert.deepEqual(summary(show).sort(), [`video ${kept.id} live`, `video ${merged.id} merged`])
})

test('renames and merges of speakers are entries of the speaker and of the records', async () => {
  const { id } = await archive.make({ speakers: ['Dora D'] })
  await archive.make({ speakers: ['Dora Dee'] })
  const rename = await entriesOf(() => ok(send('PATCH', 'speaker/dora-d', { name: 'Dora Day' })))
  assert.deepEqual(
    rename.map(({ kind }) => kind),
    ['speaker', 'video'],
  )
  const merge = await entriesOf(() =>
    ok(send('POST', 'speaker/dora-day/merge', { into: 'dora-dee' })),
  )
  assert.equal(merge.at(-1)?.state, 'merged')
  const video = merge.find((entry) => entry.kind === 'video' && entry.id === id)
  assert.deepEqual(video?.belonged_to, [`speaker:${rename[0]?.id}`])
  const retired = await entriesOf(() =>
    ok(send('PATCH', 'speaker/dora-dee', { retired_slugs: ['dora-d'] })),
  )
  assert.deepEqual(
    retired.map(({ kind, state }) => `${kind} ${state}`),
    ['speaker live'],
  )
})

test('a filter also returns what has left', async () => {
  await ok(send('POST', 'category', { title: 'Other Days' }))
  const { json: other } = await archive.call('GET', '/api/v2/category/other-days')
  const { id } = await archive.make()
  const query = `&category=${other.id}`
  const enter = await entriesOf(
    () => ok(send('PATCH', `video/${id}`, { category: 'Other Days' })),
    query,
  )
  assert.deepEqual(summary(enter), [`video ${id} live`])
  const leave = await entriesOf(() => ok(send('PATCH', `video/${id}`, { category })), query)
  assert.deepEqual(leave[0]?.belonged_to, [`category:${other.id}`])
  const unrelated = await entriesOf(() => ok(send('PATCH', `video/${id}`, { title: 'X' })), query)
  assert.deepEqual(unrelated, [])
  const kinds = await readFeed(archive, '0', '&kind=category')
  assert.ok(kinds.entries.every(({ kind }) => kind === 'category'))
  assert.ok(kinds.entries.length >= 2)
})

test('pages have the limit, a cursor that continues, and records if asked', async () => {
  await feedIsComplete(archive)
  const all = (await readFeed(archive)).entries
  const paged = (await readFeed(archive, '0', '&limit=7')).entries
  assert.deepEqual(paged, all)
  const compact = (await readFeed(archive, '0', '&compact=true&limit=5')).entries
  const newest = [...replay(all).values()].sort((a, b) => a.seq - b.seq)
  assert.deepEqual(compact, newest)
  const withRecords = (await readFeed(archive, '0', '&include=record')).entries
  assert.deepEqual(
    withRecords.map(({ record: _, ...entry }) => entry),
    all,
  )
  for (const { kind, id, record } of withRecords) {
    const isPublic = ['live'].includes(
      newest.find((entry) => entry.kind === kind && entry.id === id)?.state ?? '',
    )
    assert.equal(record !== null, isPublic, `${kind} ${id}`)
  }
  const first = await archive.call('GET', '/api/v2/changes?limit=2')
  assert.equal(first.headers['cache-control'], 'public, max-age=3600')
  const last = await archive.call('GET', `/api/v2/changes?since=${await now()}`)
  assert.deepEqual([last.json.results, last.json.more], [[], false])
  assert.equal(last.headers['cache-control'], 'no-store')
})

test('ids return the newest entry of each, and no other', async () => {
  const { id: first } = await archive.make({ title: 'First version' })
  const { id: second } = await archive.make()
  await feedIsComplete(archive)
  await send('PATCH', `video/${first}`, { title: 'Second version' })
  await feedIsComplete(archive)
  const { json } = await archive.call(
    'GET',
    `/api/v2/changes?kind=video&id=${second},${first},${first},999999&include=record`,
  )
  const page = json as FeedPage
  assert.deepEqual(
    page.results.map(({ id }) => id),
    [second, first],
  )
  assert.equal(page.results[1]?.version?.split('.')[1], '2')
  const { record } = page.results[1] as { record: FeedVideo }
  assert.equal(record.record.title, 'Second version')
  assert.deepEqual(Object.keys(record.ids), ['category', 'speakers', 'tags'])
  const { cursor } = await readFeed(archive)
  assert.equal(page.cursor, cursor)
  for (const query of ['id=1', 'kind=video&id=1,', `kind=video&id=${'1,'.repeat(100)}1`]) {
    const { status } = await archive.call('GET', `/api/v2/changes?${query}`)
    assert.equal(status, 400, query)
  }
})

test('a time, now and 0 are accepted as since; other values are refused', async () => {
  await feedIsComplete(archive)
  const all = (await readFeed(archive)).entries
  const at = all[5]?.at ?? ''
  const after = (await readFeed(archive, `${at}Z`)).entries
  assert.deepEqual(after, all.slice(all.findLastIndex((entry) => entry.at <= at) + 1))
  assert.deepEqual((await readFeed(archive, '2000-01-01')).entries, all)
  for (const since of ['x', '-1', '5', '1.zz', '2026-99-99', `1.${'0'.repeat(17)}`, '2026-11-15T'])
    assert.equal((await archive.call('GET', `/api/v2/changes?since=${since}`)).status, 400, since)
  for (const query of [
    'limit=0',
    'limit=1001',
    'wait=56',
    'kind=x',
    'include=x',
    'category=x',
    'compact=true&tag=1',
  ])
    assert.equal((await archive.call('GET', `/api/v2/changes?${query}`)).status, 400, query)
})

test('a cursor of another history is recognized', async () => {
  const cursor = await now()
  const [seq, digest = ''] = cursor.split('.')
  const other = digest.replace(/.$/, (digit) => (digit === '0' ? '1' : '0'))
  for (const since of [`${seq}.${other}`, `999999999.${digest}`, `0.${digest}`]) {
    const { status, json } = await archive.call('GET', `/api/v2/changes?since=${since}`)
    assert.equal(status, 410, since)
    assert.match(json.type, /other-history$/)
  }
})

test('a request can wait for the next entry', async () => {
  const since = await now()
  const waiting = archive.call('GET', `/api/v2/changes?since=${since}&wait=50`)
  const { id } = await archive.make()
  const { json } = await waiting
  assert.deepEqual(summary(json.results), [`video ${id} live`])
  const empty = await archive.call('GET', `/api/v2/changes?since=${json.cursor}&wait=1`)
  assert.deepEqual(empty.json, { results: [], cursor: json.cursor, more: false })
})

test('a request that waits with a filter gets a further cursor', async () => {
  const since = await now()
  const waiting = archive.call('GET', `/api/v2/changes?since=${since}&wait=2&kind=tag`)
  await archive.make()
  const { json } = await waiting
  assert.deepEqual(json.results, [])
  assert.ok(Number.parseInt(json.cursor, 10) > Number.parseInt(since, 10))
})

/** Opens a stream of events and collects them. */
function openStream(path: string, headers: Record<string, string> = {}) {
  const events: { id: string; entry?: FeedEntry }[] = []
  const request = httpGet(archive.url + path, { headers }, (response) => {
    let text = ''
    response.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
      const blocks = text.split('\n\n')
      text = blocks.pop() ?? ''
      for (const block of blocks) {
        const id = /^id: (.*)$/m.exec(block)?.[1]
        const data = /^data: (.*)$/m.exec(block)?.[1]
        if (id !== undefined) events.push({ id, ...(data && { entry: JSON.parse(data) }) })
      }
    })
    response.on('error', () => {})
  })
  request.on('error', () => {})
  return { events, close: () => request.destroy() }
}

test('a stream sends entries as they come, and continues after a reconnect', async () => {
  await now()
  const stream = openStream('/api/v2/changes/stream')
  await until('the stream is open', () => stream.events.length > 0)
  const first = await archive.make()
  await until('the entry arrives', () => stream.events.at(-1)?.entry?.id === first.id)
  stream.close()
  const second = await archive.make()
  const third = await archive.make()
  const lastId = stream.events.at(-1)?.id ?? ''
  const again = openStream('/api/v2/changes/stream', { 'last-event-id': lastId })
  await until('both arrive', () => again.events.filter(({ entry }) => entry).length === 2)
  assert.deepEqual(
    again.events.flatMap(({ entry }) => entry?.id ?? []),
    [second.id, third.id],
  )
  again.close()
  const all = openStream('/api/v2/changes/stream?since=0')
  const { entries } = await readFeed(archive)
  await until('all entries arrive', () => all.events.length > entries.length)
  assert.deepEqual(
    all.events.flatMap(({ entry }) => entry ?? []),
    entries,
  )
  all.close()
})

test('concurrent writers and appenders: no gap, no duplicate, versions in order', async () => {
  const records = await Promise.all(Array.from({ length: 8 }, () => archive.make()))
  const since = await now()
  const first = Number.parseInt(since, 10) + 1
  await withDatabase(archive.databaseUrl, async (query) => {
    // A transaction that is open all the time, and has an id.
    await query('begin')
    await query('select pg_current_xact_id()')
    const writers = records.map(async ({ id }, writer) => {
      for (let round = 0; round < 15; round++)
        await ok(send('PATCH', `video/${id}`, { title: `Title ${writer} ${round}` }))
    })
    let isWriting = true
    const appenders = [1, 2, 3].map(async () => {
      // Small batches: a window has several.
      while (isWriting) await appendNextEntries(archive.pool, 3)
    })
    await Promise.all(writers)
    isWriting = false
    await Promise.all(appenders)
    await query('commit')
  })
  await feedIsComplete(archive)
  const { entries } = await readFeed(archive, since)
  replay(entries, first)
  const lastRevision = new Map<number, number>()
  for (const { id, version = '' } of entries) {
    const revision = Number(version.split('.')[1])
    assert.ok(revision > (lastRevision.get(id) ?? 0), `${id}: ${revision}`)
    lastRevision.set(id, revision)
  }
  for (const { id } of records) assert.equal(lastRevision.get(id), 16)
})

test('a change that commits late is not missed', async () => {
  const { id } = await archive.make({ title: 'Late' })
  const since = await now()
  const other = await archive.make()
  await withDatabase(archive.databaseUrl, async (query) => {
    await query('begin')
    await query(`insert into change (subject, subject_id, revision, kind, before, after, ids, at,
                                     actor, via, request_id, request_hash)
                 select subject, subject_id, revision + 1, 'updated', '{}', '{}', '{}', at,
                        actor, via, request_id, request_hash
                 from change where subject = 'video' and subject_id = ${id} and revision = 1`)
    await query(`update video_body set etag = '${id}.2.late1234', revision = 2 where id = ${id}`)
    await query(`update video set revision = 2 where id = ${id}`)
    // Changes after it become public before it.
    await ok(send('PATCH', `video/${other.id}`, { title: 'Before the late one' }))
    await until('the other change is in the feed', async () =>
      (await readFeed(archive, since)).entries.some(({ version }) =>
        version?.startsWith(`${other.id}.2.`),
      ),
    )
    await query('commit')
  })
  await feedIsComplete(archive)
  const { entries } = await readFeed(archive, since)
  assert.match(entries.at(-1)?.version ?? '', new RegExp(`^${id}[.]2[.]`))
})

test('a copy of the database compares everything with the feed', async () => {
  await feedIsComplete(archive)
  const before = await readFeed(archive)
  const { id } = await archive.make()
  await feedIsComplete(archive)
  await withDatabase(archive.databaseUrl, async (query) => {
    // As in a restored dump: the snapshots are of another server, and an entry is missing.
    await query('begin')
    await query("select pg_advisory_xact_lock(hashtext('change feed'))")
    await query(`delete from feed_entry where kind = 'video' and id = ${id}`)
    await query(`update feed_head
                 set database = 'other', read = '900000000:900000000:', reading = null,
                     seq = (select max(seq) from feed_entry),
                     digest = (select digest from feed_entry order by seq desc limit 1)`)
    await query('commit')
  })
  await until('the feed is compared', async () => {
    const { entries } = await readFeed(archive, before.cursor)
    return entries.some((entry) => entry.kind === 'video' && entry.id === id)
  })
  await feedIsComplete(archive)
  const { entries, cursor } = await readFeed(archive)
  assert.deepEqual(entries.slice(0, before.entries.length), before.entries)
  assert.equal(cursor.split('.')[1], digestOf(replay(entries)))
})

const seed = Number(process.env.PROPERTY_SEED ?? Date.now() % 1_000_000)

test(`replaying the feed gives what anyone can read (${seed})`, async () => {
  const random = seededRandom('feed', `${seed}`)
  const names = ['Eve E', 'Fay F', 'Gus G', 'Hal H', 'Ida I']
  const records: number[] = []
  for (let step = 0; step < 120; step++) await playStep(random, names, records)
  await until('all records are updated', async () => {
    const jobs = await withDatabase(archive.databaseUrl, (query) => query('select from rename_job'))
    return jobs.length === 0
  })
  await feedIsComplete(archive)
  const { entries, cursor } = await readFeed(archive)
  const state = replay(entries)
  assert.equal(cursor.split('.')[1], digestOf(state))
  await assertPublicState(archive, state)
  assert.doesNotMatch(
    JSON.stringify((await readFeed(archive, '0', '&include=record')).entries),
    /HUSH/,
  )
})

async function playStep(random: SeededRandom, names: readonly string[], records: number[]) {
  const some = () => random.shuffled(names).filter(() => random.next() < 0.4)
  const id = random.pick([...records, 0])
  const slug = () => random.pick(names).toLowerCase().replaceAll(' ', '-')
  const kind = random.pick(['speaker', 'tag'])
  const steps: (() => Promise<unknown>)[] = [
    async () => records.push((await archive.make({ speakers: some(), tags: some() })).id),
    async () => {
      const draft = { title: 'HUSH', state: 2 as const, speakers: ['HUSH person'], tags: some() }
      await archive.make(draft)
    },
    () => send('PATCH', `video/${id}`, { title: `Title ${random.next()}` }),
    () => send('PATCH', `video/${id}`, { speakers: some(), tags: some() }),
    () => send('PATCH', `video/${id}`, { state: random.pick([1, 2]) }),
    () => send('POST', `video/${id}/merge`, { into: random.pick([...records, 0]) }),
    () => send('POST', `video/${id}/revisions/1/restore`),
    () => send('POST', `${kind}/${slug()}/merge`, { into: slug() }),
    () => send('POST', `${kind}/${slug()}/unmerge`),
    () => send('PATCH', `${kind}/${slug()}`, { aliases: [{ name: `HUSH ${random.next()}` }] }),
    () => send('PATCH', 'speaker/eve-e', { pronouns: random.pick(['she', 'they']) }),
    async () => {
      if (random.next() < 0.2) await send('POST', `video/${id}/takedown`, { reason: 'asked' })
    },
    () =>
      send('PUT', `video/${id}/facts`, { facts: [{ kind: 'address', path: `${random.next()}` }] }),
    () =>
      send('PUT', `video/${id}/facts`, {
        facts: [{ kind: 'said', source: 'x', field: 'y', value: 'HUSH' }],
      }),
  ]
  await random.pick(steps)()
}

test('reads no old changes to find new ones, however many there are', async () => {
  const database = await freshDatabase()
  const pool = openPool({ url: database.url, connections: 2, applicationName: 'tests' })
  try {
    await execute(
      pool,
      sql`insert into change (subject, subject_id, revision, kind, before, after, ids, at, actor,
                              via, request_id, request_hash)
          select 'video', n, 1, 'created', '{}', '{}', '{}', now(), 'Edith', 'api', '', ''
          from generate_series(1, 20000) as n`,
    )
    await execute(pool, sql`analyze change`)
    // Snapshots contain the open transactions of other databases too.
    await until('all older transactions to have ended', () =>
      withDatabase(database.url, async (query) => {
        const [row] = await query(
          'select max(xid) < pg_snapshot_xmin(pg_current_snapshot()) as ended from change',
        )
        return row?.ended === true
      }),
    )
    // The entries of the public state, of which there is none.
    while (await appendNextEntries(pool, 5000));
    const read = await pool.transaction(async (tx) => {
      assert.equal((await readHead(tx)).isBehind, false)
      assert.deepEqual(await listNextChanges(tx, await startWindow(tx), 1000), [])
      const statistics = sql`
        select (seq_tup_read + idx_tup_fetch)::integer as read
        from pg_stat_xact_user_tables
        where relname = 'change'`
      return ((await tx.run(statistics)).rows[0] as { read: number }).read
    })
    assert.ok(read < 100, `${read} changes were read`)
  } finally {
    await pool.close()
    await database.drop()
  }
})
