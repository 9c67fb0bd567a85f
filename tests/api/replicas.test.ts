import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import sql from 'sql-template-tag'
import Type from 'typebox'
import { one, Unavailable } from '../../server/platform/db/db.ts'
import { openPool, type Pool } from '../../server/platform/db/pool.ts'
import { withReplicas } from '../../server/platform/db/read-context.ts'
import { maxLagMs } from '../../server/platform/db/replicas.ts'
import { withSnapshot } from '../../server/platform/db/snapshot.ts'
import { timeoutsFor } from '../../server/platform/timeouts.ts'
import { freezeWorker, queryOnce, startPrimary, startReplica } from '../support/cluster.ts'
import { openArchive, runCommand } from '../support/harness.ts'
import { migratedDatabase } from '../support/postgres.ts'
import { until } from '../support/until.ts'

// Read replicas, with a real one that streams from a primary: who reads from it, how old its
// answers can be, and that readers get answers while it is stopped, frozen, killed or promoted.

const primary = await startPrimary()
const databaseUrl = await migratedDatabase(primary, 'archive')
const replica = await startReplica(primary, { max_standby_streaming_delay: '100ms' })
const archive = await openArchive(databaseUrl, {
  REPLICA_URLS: replica.url('archive', 'talkshelf'),
})
after(async () => {
  await archive.close()
  await replica.kill()
  await primary.stop()
})
const { call, editor, make, pool } = archive

const figures = () => [...(pool.replicas?.figures().values() ?? [])][0]
const inUse = () => until('the replica to be used', () => figures()?.isUsed === true)
const notUsed = () => until('the replica to be left out', () => figures()?.isUsed === false)

/** Runs work as a request that may read from a replica. */
const asReader = <T>(work: () => Promise<T>): Promise<T> =>
  new Promise((resolve, reject) => withReplicas(() => void work().then(resolve, reject)))

const Place = Type.Object({ is_replica: Type.Boolean() })
/** Tells whether a reader of lists reads from the replica now. */
const readsReplica = async (from: Pool = pool) =>
  (await asReader(() => one(from.lists, Place, sql`select pg_is_in_recovery() as is_replica`)))
    .is_replica

const titles = (reply: { json: { results: { title: string }[] } }) =>
  reply.json.results.map(({ title }) => title)

await make({ title: 'Replication for everybody', speakers: ['Ada Lovelace'], tags: ['databases'] })
await make({ title: 'Logs of databases', speakers: ['Grace Hopper'], tags: ['databases'] })

test('anonymous lists are read from the replica, all else from the primary', async () => {
  await inUse()
  assert.equal(await readsReplica(), true)
  const { is_replica: isReplica } = await one(
    pool.lists,
    Place,
    sql`select pg_is_in_recovery() as is_replica`,
  )
  assert.equal(isReplica, false, 'work without a request reads from a replica')
  const countsOf = async () => {
    const rows = await replica.query(
      `select count(*)::integer as count from pg_stat_activity
       where application_name in ('tests lists', 'tests searches')`,
    )
    return rows[0]?.count
  }
  assert.equal((await call('GET', '/api/v2/video?q=replication')).status, 200)
  assert.ok(Number(await countsOf()) > 0, 'no connection to the replica')
  const ofExport = await withSnapshot(replica.url('archive', 'talkshelf'), 'test', (db) =>
    one(db, Place, sql`select pg_is_in_recovery() as is_replica`),
  )
  assert.equal(ofExport.is_replica, true)
})

test('the answers of the replica are those of the primary', async () => {
  await inUse()
  const { json: all } = await call('GET', '/api/v2/video?page_size=1')
  const { id, slug } = all.results[0]
  const paths = [
    '/api/v2/video',
    '/api/v2/video?ordering=title&page_size=1',
    '/api/v2/video?q=databases&include=facets,snippets',
    '/api/v2/video?speaker=ada-lovelace',
    '/api/v2/video?include=facets',
    '/api/v2/category',
    '/api/v2/speaker',
    '/api/v2/tag',
    '/api/v2/language',
    '/api/v2/suggest?q=rep',
    `/api/v2/video/${id}/related`,
    '/api/v2/category/example-days-2026/schedule',
    '/api/v2/changes',
    '/api/v2/changes?limit=1&include=record',
    '/api/v2/export.ndjson',
    '/',
    '/search?q=databases',
    '/speaker',
    '/category',
    '/tag',
    `/video/${id}/${slug}`,
    '/feed.atom',
    '/feed.rss',
    '/feed.json',
    '/sitemap.xml',
    '/sitemap/pages.xml',
    '/sitemap/video-1.xml',
    '/opensearch/suggestions?q=rep',
  ]
  for (const path of paths) {
    // Related talks and statistics are stored or cached when they are read for the first time.
    await call('GET', path)
    const { fromReplica, fromPrimary } = await until(`${path} from both servers`, async () => {
      const before = pool.replicas?.fallbacks()
      const fromReplica = await call('GET', path)
      const fromPrimary = await call('GET', path, { headers: { cookie: 'desk=none' } })
      return pool.replicas?.fallbacks() === before && { fromReplica, fromPrimary }
    })
    assert.equal(fromReplica.status, fromPrimary.status, path)
    assert.equal(withoutTimes(fromReplica.text), withoutTimes(fromPrimary.text), path)
  }
})

/** Removes what differs between two requests to the same server. */
const withoutTimes = (text: string) => text.replaceAll(/"(instance|at)":"[^"]*"/g, '')

test('a client with a token sees its own writes, also while replay is stopped', async () => {
  await inUse()
  await replica.pause()
  try {
    for (let number = 0; number < 20; number++) {
      const talk = await make({ title: `Own talk ${number}` })
      for (const path of ['/api/v2/video?page_size=100', `/api/v2/video?q="own talk ${number}"`]) {
        const reply = await call('GET', encodeURI(path), { token: editor })
        assert.ok(titles(reply).includes(talk.title), `${path} does not show ${talk.title}`)
      }
      assert.equal((await call('GET', `/api/v2/video/${talk.id}`)).json.title, talk.title)
    }
    await make({ title: 'Another talk', tags: ['brand new'] })
    assert.equal((await call('GET', '/api/v2/tag/brand-new')).status, 200)
  } finally {
    await replica.resume()
  }
})

test('while replay stops at random, no answer is older than the bound', {
  timeout: 300_000,
}, async () => {
  await inUse()
  const { id } = await make({ title: 'Version 0' })
  /** When each version was acknowledged. */
  const acknowledged = [performance.now()]
  let oldestMs = 0
  let fromReplica = 0
  let isDone = false
  const write = async () => {
    while (!isDone) {
      const title = `Version ${acknowledged.length}`
      const reply = await call('PATCH', `/api/v2/video/${id}`, { body: { title }, token: editor })
      assert.equal(reply.status, 200, reply.text)
      acknowledged.push(performance.now())
    }
  }
  const read = async () => {
    const beganMs = performance.now()
    const reply = await call('GET', '/api/v2/video?page_size=100')
    assert.equal(reply.status, 200, reply.text)
    const title = titles(reply).find((text) => text.startsWith('Version ')) ?? ''
    const version = Number(/^Version (\d+)$/.exec(title)?.[1])
    // The next version hid this one, unless it was acknowledged after the request began.
    const hiddenMs = acknowledged[version + 1] ?? Number.POSITIVE_INFINITY
    oldestMs = Math.max(oldestMs, beganMs - hiddenMs)
    if (hiddenMs < beganMs) fromReplica++
  }
  const writing = write()
  try {
    for (let round = 0; round < 8; round++) {
      await replica.pause()
      // Until it is left out, and for some time more.
      await until('the replica to be left out', async () => {
        await read()
        return figures()?.isUsed === false
      })
      for (let reads = 0; reads < 5; reads++) await read()
      await replica.resume()
      await until('the replica to be used again', async () => {
        await read()
        return figures()?.isUsed === true
      })
      await sleep(Math.random() * 300)
    }
  } finally {
    await replica.resume()
    isDone = true
    await writing
  }
  console.log(`oldest answer ${Math.round(oldestMs)} ms, ${fromReplica} behind the primary`)
  assert.ok(fromReplica > 0, 'no answer came from a server that was behind')
  assert.ok(oldestMs <= maxLagMs, `an answer was ${Math.round(oldestMs)} ms old`)
})

test('a replica that is killed is left out, and comes back', async () => {
  await inUse()
  await replica.kill()
  const talk = await make({ title: 'After the kill' })
  const reply = await call('GET', '/api/v2/video?page_size=100')
  assert.equal(reply.status, 200)
  await notUsed()
  assert.ok(titles(await call('GET', '/api/v2/video?page_size=100')).includes(talk.title))
  assert.equal((await call('GET', '/readyz')).status, 200)
  await replica.start()
  await inUse()
  assert.equal(await readsReplica(), true)
})

test('a replica that freezes with open connections delays no answer until a timeout', async (t) => {
  await inUse()
  // Connections to it are open, and a statement is sent before it is known to be frozen.
  await readsReplica()
  const client = new pg.Client({
    connectionString: replica.url('archive'),
    query_timeout: timeoutsFor(3).readMs + 500,
  })
  client.on('error', () => {})
  await client.connect()
  t.after(() => client.end())
  replica.freeze()
  try {
    const timeout = client.query('select 1').then(
      () => 'an answer',
      () => 'the timeout of a statement',
    )
    const reading = Promise.all(
      Array.from({ length: 8 }, () => call('GET', '/api/v2/video?page_size=1')),
    )
    const first = await Promise.race([reading.then(() => 'the primary'), timeout])
    assert.equal(first, 'the primary')
    const replies = await reading
    for (const { status, text } of replies) assert.equal(status, 200, text)
    await notUsed()
    assert.equal(await readsReplica(), false)
  } finally {
    replica.thaw()
  }
  await inUse()
  assert.equal(await readsReplica(), true)
})

test('a statement that replay cancels runs on the primary', async () => {
  await inUse()
  const fallbacks = pool.replicas?.fallbacks() ?? 0
  const reading = asReader(() =>
    one(
      pool.lists,
      Place,
      sql`select pg_is_in_recovery() as is_replica
          from (select count(*) from video) as video,
               pg_sleep(case when pg_is_in_recovery() then 60 else 0 end)`,
    ),
  )
  await until('the statement to run on the replica', async () => {
    const rows = await replica.query(
      "select from pg_stat_activity where wait_event = 'PgSleep' and state = 'active'",
    )
    return rows.length > 0
  })
  await queryOnce(databaseUrl, 'begin; lock table video in access exclusive mode; commit')
  const { is_replica: isReplica } = await reading
  assert.equal(isReplica, false)
  assert.equal(pool.replicas?.fallbacks(), fallbacks + 1)
  await inUse()
})

test('a statement that takes too long is not repeated on the primary', async (t) => {
  const other = openPool({
    url: databaseUrl,
    replicaUrls: [replica.url('archive', 'talkshelf')],
    connections: 1,
    applicationName: 'slow',
    times: timeoutsFor(3),
  })
  t.after(() => other.close())
  await until('the replica to be used', () => readsReplica(other))
  const fallbacks = other.replicas?.fallbacks()
  const slow = asReader(() => other.lists.run(sql`select pg_sleep(60)`))
  await assert.rejects(slow, (error) => error instanceof Unavailable && error.isTooSlow)
  assert.equal(other.replicas?.fallbacks(), fallbacks)
})

test('servers that are no replica of this database are refused', async (t) => {
  const strangers = [
    [databaseUrl, /not a replica/],
    [replica.url('postgres'), /another database/],
    ['postgres://talkshelf@127.0.0.1:1/archive', /does not answer/],
  ] as const
  const other = openPool({
    url: databaseUrl,
    replicaUrls: strangers.map(([url]) => url),
    connections: 1,
    applicationName: 'strangers',
  })
  t.after(() => other.close())
  const reasons: (string | undefined)[] = []
  other.replicas?.watch((_, reason) => reasons.push(reason))
  await until('all to be refused', () =>
    strangers.every(([, pattern]) => reasons.some((reason) => pattern.test(reason ?? ''))),
  )
  assert.equal(await readsReplica(other), false)
  assert.ok(!reasons.includes(undefined), reasons.join(', '))
})

// A second cluster, which nothing but these tests uses.
const otherPrimary = await startPrimary()
await otherPrimary.createDatabase('archive', 'talkshelf')
const behind = await startReplica(otherPrimary)
const ahead = await startReplica(otherPrimary)
after(async () => {
  await Promise.all([behind.kill(), ahead.kill()])
  await otherPrimary.stop()
})

/** Opens a pool with one replica, and returns why it is left out, or that it is used. */
async function openWith(
  t: { after(done: () => unknown): void },
  url: string,
  replicaUrl: string,
  pattern: RegExp,
) {
  const other = openPool({
    ...{ url, replicaUrls: [replicaUrl], connections: 1, applicationName: 'strangers' },
  })
  t.after(() => other.close())
  const reasons: string[] = []
  other.replicas?.watch((_, reason = 'it is used') => reasons.push(reason))
  const reason = await until(`a reason like ${pattern}`, () =>
    reasons.find((each) => pattern.test(each)),
  )
  return { other, reason }
}

test('a replica of another cluster is refused', async (t) => {
  const url = ahead.url('archive', 'talkshelf')
  const { other, reason } = await openWith(t, databaseUrl, url, /database|used/)
  assert.match(reason, /another database/)
  assert.equal(await readsReplica(other), false)
})

test('a transaction that stays open does not make a replica look behind', async (t) => {
  // Both would write the end of the log within a quarter of a minute.
  const workers = ['background writer', 'checkpointer'].map((title) =>
    freezeWorker(otherPrimary, title),
  )
  t.after(() => {
    for (const { thaw } of workers) thaw()
  })
  const client = new pg.Client({ connectionString: otherPrimary.url('archive') })
  await client.connect()
  t.after(() => client.end())
  await client.query("begin; select pg_logical_emit_message(false, 'test', 'a record of the log')")
  const [row] = (await client.query('select pg_current_wal_insert_lsn() as position')).rows
  const url = ahead.url('archive', 'talkshelf')
  const { other } = await openWith(t, otherPrimary.url('archive', 'talkshelf'), url, /used/)
  assert.ok(other.replicas)
  const [replayed] = await ahead.query(
    `select pg_last_wal_replay_lsn() >= '${row.position}' as is_there`,
  )
  assert.equal(replayed?.is_there, true)
})

test('a replica that missed a failover is refused', { timeout: 300_000 }, async (t) => {
  // The new primary has less of the log than a replica that did not notice the failover.
  behind.freeze()
  const otherUrl = otherPrimary.url('postgres')
  await queryOnce(otherUrl, 'create table lost as select from generate_series(1, 9999)')
  const [{ position } = {}] = await queryOnce(otherUrl, 'select pg_current_wal_lsn() as position')
  await until('the other replica to be ahead', async () => {
    const [row] = await ahead.query(`select pg_last_wal_replay_lsn() >= '${position}' as is_there`)
    return row?.is_there === true
  })
  await otherPrimary.crash()
  behind.thaw()
  await behind.query('select pg_promote()')
  const urls = [behind, ahead].map((server) => server.url('archive', 'talkshelf'))
  const [promoted = '', stale = ''] = urls
  const { other, reason } = await openWith(t, promoted, stale, /timeline|used/)
  assert.match(reason, /timeline 1, .* on 2$/)
  assert.equal(await readsReplica(other), false)
})

test('doctor says whether each replica can be used', async () => {
  const lineFor = async (url: string) => {
    const settings = { DATABASE_URL: databaseUrl, REPLICA_URLS: url }
    const { stdout } = await runCommand(['doctor'], settings)
    return stdout.split('\n').find((line) => / Replica /.test(line)) ?? stdout
  }
  const url = replica.url('archive', 'talkshelf')
  await inUse()
  assert.match(await lineFor(url), /^WARNING .* grant pg_read_all_stats/)
  await queryOnce(primary.url('postgres'), 'grant pg_read_all_stats to talkshelf')
  await inUse()
  assert.match(await lineFor(url), /^ok +Replica +127.0.0.1:\d+, \d+ ms behind$/)
  await replica.pause()
  await make()
  assert.match(await lineFor(url), /^WARNING .* more than 2 s behind/)
  await replica.resume()
  assert.match(await lineFor(databaseUrl), /^WARNING .* not a replica/)
  assert.match(await lineFor(replica.url('postgres')), /^WARNING .* another database/)
  assert.match(await lineFor('postgres://talkshelf@127.0.0.1:1/archive'), /^WARNING .* not reached/)
})

test('a replica that was promoted is not used any more', async () => {
  await inUse()
  await replica.query('select pg_promote()')
  await notUsed()
  const talk = await make({ title: 'After the promotion' })
  await until('the primary to be ahead of the promoted server', async () => {
    await make()
    const [[own], [other]] = await Promise.all([
      queryOnce(primary.url('postgres'), "select pg_current_wal_lsn() - '0/0' as position"),
      replica.query("select pg_current_wal_lsn() - '0/0' as position"),
    ])
    return Number(own?.position) > Number(other?.position)
  })
  assert.equal(figures()?.isUsed, false)
  assert.ok(titles(await call('GET', '/api/v2/video?page_size=100')).includes(talk.title))
})
