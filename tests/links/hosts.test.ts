import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startLinkChecks } from '../../server/links/links.ts'
import { openPool } from '../../server/platform/db/pool.ts'
import { freshDatabase } from '../support/database.ts'
import { type Query, withDatabase } from '../support/invariants.ts'
import { insertSources } from './play-through-world.ts'
import { startWorld, type World } from './world.ts'

// What the faults of some hosts do to the sources of others, with the real checker.

const dayMs = 24 * 3_600_000
const defaultStepMs = dayMs / 4
const fiveMinutesMs = 300_000

interface Days {
  readonly world: World
  readonly query: Query
  /** How often all checks were stopped. */
  stops(): number
  /** Called before each wait for a host. */
  onWait: () => Promise<void>
  /** Adds the sources and checks what is due, four times a day. */
  play(urls: readonly string[], days: number): Promise<void>
  /** Plays on. */
  playOn(days: number, stepMs?: number): Promise<void>
  /** Returns the states of sources in the order of their URLs, and in the history. */
  states(): Promise<readonly { url: string; state: string; shown: string[] }[]>
}

/** Runs a test with a fake world, a database and a checker. */
async function withDays(
  t: TestContext,
  { key, budget }: { readonly key?: string; readonly budget?: number },
  run: (days: Days) => Promise<void>,
): Promise<void> {
  const { url: databaseUrl } = await freshDatabase(t)
  let nowMs = Date.UTC(2026, 0, 1)
  let days: Days | undefined
  const world = await startWorld(() => nowMs)
  t.after(() => world.close())
  const pool = openPool({ url: databaseUrl, connections: 10, applicationName: 'links' })
  const errors: unknown[] = []
  let stops = 0
  const checks = startLinkChecks(pool, {
    everyMs: 0,
    userAgent: () => 'Talkshelf/0 (+https://talks.example)',
    youtubeKey: key,
    guard: world.guard,
    budget,
    clock: {
      now: () => nowMs,
      async sleep(ms) {
        await days?.onWait()
        nowMs += ms
      },
    },
    onChecked() {},
    onOffline: () => stops++,
    onError: (error) => errors.push(error),
  })
  t.after(async () => {
    await checks.stop()
    await pool.close()
  })
  await withDatabase(databaseUrl, async (query) => {
    async function playOn(days: number, stepMs = defaultStepMs) {
      const end = nowMs + days * dayMs
      while (nowMs < end) {
        nowMs += stepMs
        await checks.drain()
        if (errors.length > 0) throw errors[0]
      }
    }
    days = {
      world,
      query,
      stops: () => stops,
      onWait: async () => {},
      async play(urls, days) {
        await insertSources(
          query,
          urls.map((url) => ({ url })),
          nowMs,
        )
        await playOn(days)
      },
      playOn,
      states: async () =>
        (await query(
          `select url, state,
                  array(select after ->> 'state'
                        from change
                        where subject = 'source' and subject_id = source.id
                        order by revision) as shown
           from source
           order by url`,
        )) as never,
    }
    await run(days)
  })
}

const fileAt = (world: World, host: string, number = 1, days = [fine]) =>
  world.script({ kind: 'file', id: `talk${number}`, host }, days)
const fine = { fromDay: 0, answer: 'file: 200' }
const videoOf = (world: World, number: number, answer = 'youtube: 200') =>
  world.script({ kind: 'youtube', id: `V${String(number).padStart(10, '0')}` }, [
    { fromDay: 0, answer },
  ])
const requestsTo = (world: World, host: string) =>
  world.requests.filter((request) => request.host === host)

test('hosts that died do not stop the checks of others', (t) =>
  withDays(t, {}, async ({ world, query, play, playOn, states, stops }) => {
    const dead = Array.from({ length: 8 }, (_, index) => `dead${index}.example.org`)
    for (const host of dead) world.hostDays(host, [{ fromDay: 0, fault: 'refuses-connections' }])
    const urls = [
      ...dead.map((host) => fileAt(world, host)),
      ...Array.from({ length: 60 }, (_, number) => videoOf(world, number)),
    ]
    await play(urls, 0)
    // A video each minute, and all others after three minutes.
    await query(
      `update source
       set next_check = timestamptz '2026-01-01 00:00Z' + interval '1 minute'
                        * case when host = 'www.youtube.com' then id % 60 else 3 end`,
    )
    await playOn(1 / 24, 60_000)
    assert.ok(stops() <= 2, `the checks were stopped ${stops()} times`)
    await playOn(40)
    for (const { url, state } of await states())
      assert.equal(state, url.includes('dead') ? 'unreachable' : 'ok', url)
  }))

test('without a network nothing is marked, and the checks go on after it', (t) =>
  withDays(t, {}, async ({ world, query, play, playOn, states, stops }) => {
    world.hostDays('*', [{ fromDay: 30, toDay: 32, fault: 'refuses-connections' }])
    const urls = [
      ...Array.from({ length: 8 }, (_, index) => fileAt(world, `host${index}.example.org`)),
      ...Array.from({ length: 8 }, (_, number) => videoOf(world, number)),
    ]
    await play(urls, 31)
    await query(`update source set next_check = '2026-01-31'`)
    await playOn(1, fiveMinutesMs)
    assert.ok(stops() > 100, 'the checks were not stopped')
    const refused = await query(
      `select url from source where health -> 'looks' -> -1 ->> 'verdict' = 'refused'`,
    )
    assert.ok(refused.length <= 2, 'only those before the third refusal')
    const before = world.requests.length
    await playOn(30)
    assert.ok(world.requests.length >= before + urls.length)
    for (const { url, shown } of await states()) assert.deepEqual(shown, ['ok'], url)
  }))

test('of a host that finds nothing any more, editors see every source', (t) =>
  withDays(t, {}, async ({ world, play, states }) => {
    const gone = { fromDay: 30, answer: 'file: 404' }
    const urls = Array.from({ length: 30 }, (_, number) =>
      fileAt(world, 'files.example.org', number, [fine, gone]),
    )
    await play(urls, 100)
    for (const { url, state, shown } of await states()) {
      assert.equal(state, 'suspect', url)
      assert.deepEqual(shown, ['ok'], url)
    }
  }))

test('of a host that loses a third of its files, these are marked', (t) =>
  withDays(t, {}, async ({ world, play, states }) => {
    const gone = { fromDay: 30, answer: 'file: 404' }
    const urls = Array.from({ length: 60 }, (_, number) =>
      fileAt(world, 'files.example.org', number, number < 20 ? [fine, gone] : [fine]),
    )
    await play(urls, 150)
    const marked = (await states()).filter(({ state }) => state === 'gone')
    assert.deepEqual(
      marked.map(({ url }) => url),
      urls.slice(0, 20).sort(),
    )
  }))

test('a host that refuses its robots.txt is not reachable, and not forbidden', (t) =>
  withDays(t, {}, async ({ world, play, states }) => {
    const headers = { 'retry-after': '7200' }
    const reply = { status: 503, headers, body: 'Overloaded' }
    world.hostDays('files.example.org', [{ fromDay: 30, reply }])
    const urls = [fileAt(world, 'files.example.org'), videoOf(world, 1)]
    await play(urls, 100)
    const [file, video] = await states()
    assert.deepEqual(file?.shown, ['ok', 'unreachable'])
    assert.deepEqual(video?.shown, ['ok'])
    const times = requestsTo(world, 'files.example.org')
      .map(({ virtualMs }) => virtualMs)
      .filter((time) => time >= Date.UTC(2026, 0, 31))
    for (const [index, time] of times.entries())
      assert.ok(index === 0 || time - (times[index - 1] ?? 0) >= 7_200_000, 'Retry-After')
  }))

test('a file that leads to a host that must wait holds up no others', (t) =>
  withDays(t, { budget: 40 }, async ({ world, play, states }) => {
    const elsewhere = { fromDay: 0, answer: 'file: moved to another host' }
    const urls = Array.from({ length: 60 }, (_, number) =>
      fileAt(world, 'files.example.org', number, [number % 2 === 0 ? elsewhere : fine]),
    )
    const target = 'cdn.example.org'
    world.hostDays(target, [{ fromDay: 0, reply: { status: 429, headers: {}, body: '' } }])
    await play(urls, 20)
    for (const { url, state } of await states())
      if (urls.indexOf(url) % 2 === 1) assert.equal(state, 'ok', url)
    const days = Map.groupBy(requestsTo(world, 'files.example.org'), ({ virtualMs }) =>
      Math.floor(virtualMs / dayMs),
    )
    for (const requests of days.values()) assert.ok(requests.length <= 40)
  }))

test('with a key, YouTube that refuses oEmbed is still checked', (t) =>
  withDays(t, { key: 'key' }, async ({ world, play, states, query }) => {
    const urls = [
      ...Array.from({ length: 120 }, (_, number) => videoOf(world, number, 'videos.list: found')),
      videoOf(world, 1000, 'videos.list: missing, gone'),
    ]
    world.hostDays('www.youtube.com', [
      { fromDay: 0, reply: { status: 429, headers: {}, body: '' } },
    ])
    await play(urls, 60)
    for (const { url, shown } of await states())
      if (!url.includes('1000')) assert.deepEqual(shown, ['ok'], url)
    const [api] = await query(
      `select pace ->> 'pausedUntil' as paused from link_host where host = 'www.googleapis.com'`,
    )
    assert.equal(api?.paused, '0', 'the API did not refuse')
    const old = await query(
      `select url from source where last_good < '2026-01-31' and url not like '%1000'`,
    )
    assert.deepEqual(old, [], 'they are checked every month')
    const calls = requestsTo(world, 'www.googleapis.com').length
    // 121 videos three times, with calls of up to 50, and a few for the one that is missing.
    assert.ok(calls <= 60, `${calls} calls`)
  }))

test('with a key whose quota is used up, oEmbed is asked', (t) =>
  withDays(t, { key: 'key', budget: 30 }, async ({ world, play, states }) => {
    const urls = Array.from({ length: 60 }, (_, number) =>
      videoOf(world, number, 'videos.list: quota exceeded'),
    )
    await play(urls, 10)
    for (const { url, shown } of await states()) assert.deepEqual(shown, ['ok'], url)
    // A refusal pauses the API, so it is asked rarely.
    assert.ok(requestsTo(world, 'www.googleapis.com').length < 30)
  }))

test('a batch ends if another process has leased its host', (t) =>
  withDays(t, {}, async (days) => {
    const { world, query } = days
    const urls = Array.from({ length: 10 }, (_, number) => videoOf(world, number))
    let asked = 0
    days.onWait = async () => {
      days.onWait = async () => {}
      asked = world.requests.length
      await query(
        `update link_host
         set lease = gen_random_uuid(), leased_until = '2026-01-02'
         where host = 'www.youtube.com'`,
      )
    }
    await days.play(urls, 0.25)
    assert.equal(world.requests.length, asked)
    await days.playOn(2)
    assert.equal((await days.states()).filter(({ state }) => state === 'ok').length, 10)
  }))
