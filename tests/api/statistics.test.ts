import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Video } from '@talkshelf/contract'
import { randomFrom } from '../../bench/records.ts'
import {
  openStatisticsCache,
  readCommonTags,
  readEvents,
  readStatistics,
} from '../../server/catalogue/catalogue.ts'
import { type Db, Unavailable } from '../../server/platform/db/db.ts'
import { startArchive } from '../support/harness.ts'
import { checkInvariants } from '../support/invariants.ts'

// The archive in numbers, and how long they are kept.

const archive = await startArchive()
const { editor: token, pool } = archive
const patch = (id: number, body: object) =>
  archive.call('PATCH', `/api/v2/video/${id}`, { token, body })
const takeDown = (id: number) =>
  archive.call('POST', `/api/v2/video/${id}/takedown`, {
    token: archive.admin,
    body: { reason: 'asked' },
  })

test('an archive without talks has numbers too', async () => {
  const having = {
    speakers: 0,
    description: 0,
    duration: 0,
    recorded: 0,
    tags: 0,
    licence: 0,
    source: 0,
  }
  const none = {
    talks: 0,
    seconds: 0,
    events: 0,
    speakers: 0,
    tags: 0,
    languages: 0,
    byYear: [],
    byLanguage: [],
    added: [],
    having,
    hosts: [],
  }
  assert.deepEqual(await readStatistics(pool.lists), none)
  assert.deepEqual([await readEvents(pool.lists), await readCommonTags(pool.lists, 5)], [[], []])
})

test('an event has the days that it says, and else those of its talks; the newest come first, and what has no day last', async () => {
  const days: Record<string, [string | null, string | null, (string | null)[]]> = {
    'Says both': ['2020-05-01', '2020-05-03', ['2019-01-01', '2021-01-01']],
    'Says the first': ['2020-06-01', null, ['2020-05-30', '2020-06-02', null]],
    'Says the first, its talks nothing': ['2018-01-01', null, [null]],
    'Says the last': [null, '2017-03-03', ['2017-03-01']],
    'Says the last, its talks are later': [null, '2016-03-03', ['2016-04-01']],
    'Says nothing': [null, null, ['2021-02-01', '2021-02-02', '2020-12-12', null]],
    'Nobody knows': [null, null, [null]],
    'Has drafts only': ['2022-01-01', '2022-01-02', []],
  }
  for (const [title, [start_date, end_date, recorded]] of Object.entries(days)) {
    await archive.call('POST', '/api/v2/category', { token, body: { title, start_date, end_date } })
    for (const day of recorded) await archive.make({ category: title, recorded: day })
  }
  await archive.make({ category: 'Has drafts only', state: 2 })
  await archive.make({ category: 'Says nothing', state: 2, recorded: '2023-01-01' })
  await takeDown((await archive.make({ category: 'Says nothing', recorded: '1990-01-01' })).id)
  assert.deepEqual(
    (await readEvents(pool.lists)).map(({ name, slug, talks, first, last }) => [
      name,
      slug,
      talks,
      first,
      last,
    ]),
    [
      ['Says nothing', 'says-nothing', 4, '2020-12-12', '2021-02-02'],
      ['Says the first', 'says-the-first', 3, '2020-06-01', '2020-06-02'],
      ['Says both', 'says-both', 2, '2020-05-01', '2020-05-03'],
      [
        'Says the first, its talks nothing',
        'says-the-first-its-talks-nothing',
        1,
        '2018-01-01',
        '2018-01-01',
      ],
      ['Says the last', 'says-the-last', 1, '2017-03-01', '2017-03-03'],
      [
        'Says the last, its talks are later',
        'says-the-last-its-talks-are-later',
        1,
        '2016-03-03',
        '2016-03-03',
      ],
      ['Nobody knows', 'nobody-knows', 1, null, null],
    ],
  )
})

/** All live records, as readers get them. */
async function liveRecords(): Promise<Video[]> {
  const all: Video[] = []
  for (let path: string | undefined = '/api/v2/video?page_size=100&cursor='; path; ) {
    const { json } = await archive.call('GET', path)
    all.push(...json.results)
    path = json.next?.slice(archive.url.length)
  }
  return all
}

function counted(values: readonly string[]): [string, number][] {
  const counts = new Map<string, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return [...counts]
}
const byName = (a: [string, number], b: [string, number]) => (a[0] < b[0] ? -1 : 1)
const commonFirst = (a: [string, number], b: [string, number]) => b[1] - a[1] || byName(a, b)
const hostOf = (address: string) =>
  new URL(address).hostname.replace(/^www\./, '').replace(/\.$/, '')

test('after any sequence of writes, the numbers are what a plain scan of the records gives', async () => {
  const random = randomFrom(20261116)
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T
  const some = (word: string) => [
    ...new Set(
      Array.from({ length: Math.floor(random() * 4) }, () => `${word} ${Math.floor(random() * 9)}`),
    ),
  ]
  const addresses = Array.from(
    { length: 15 },
    (_, number) => `https://host-${number}.example.org/watch?v=${number}`,
  )
  addresses.push(
    'http://WWW.Example.org:8080/a',
    'https://example.org?x=/y/',
    'https://example.org#top',
    'https://somebody@example.org/',
    'https://example.org./',
  )
  const fields = () => ({
    speakers: some('speaker'),
    tags: some('tag'),
    language: pick(['English', 'French', 'German']),
    category: pick(['Says both', 'Says nothing', 'Nobody knows']),
    duration: pick([null, 0, 60, 3600, 2_147_483_647]),
    recorded: pick([null, '0999-12-31', '2019-12-31', '2020-01-01']),
    summary: pick(['', ' ', 'Short']),
    description: pick(['', '\n', 'Long']),
    copyright_text: pick(['', 'CC BY']),
    source_url: pick([null, '', ...addresses]),
    video_mp4_url: pick([null, '', 'https://media.example.org/a.mp4']),
    video_flv_url: pick([null, '', 'https://media.example.org/a.flv']),
  })
  const made: Video[] = []
  for (let round = 0; round < 12; round++) {
    await Promise.all(
      Array.from({ length: 12 }, async () => {
        const chance = random()
        if (made.length < 10 || chance < 0.6)
          made.push(await archive.make({ ...fields(), state: pick([1, 1, 2]) } as Partial<Video>))
        else if (chance < 0.9)
          await patch(pick(made).id, pick([fields(), { state: 1 }, { state: 2 }]))
        else await takeDown(pick(made).id)
      }),
    )
    if (round % 4 !== 3) continue
    const all = await liveRecords()
    const has = (test: (it: Video) => unknown) => all.filter(test).length
    const { byLanguage, ...rest } = await readStatistics(pool.lists, pick([1, 7, 1000]))
    assert.deepEqual(rest, {
      talks: all.length,
      seconds: all.reduce((sum, { duration }) => sum + (duration ?? 0), 0),
      events: new Set(all.map(({ category }) => category)).size,
      speakers: new Set(all.flatMap(({ speakers }) => speakers)).size,
      tags: new Set(all.flatMap(({ tags }) => tags)).size,
      languages: new Set(all.map(({ language }) => language)).size,
      byYear: counted(all.flatMap(({ recorded }) => recorded?.slice(0, 4) ?? []))
        .sort(byName)
        .map(([year, talks]) => ({ year: Number(year), talks })),
      added: counted(all.map(({ added }) => added.slice(0, 7)))
        .sort(byName)
        .map(([month, talks]) => ({ month, talks })),
      having: {
        speakers: has(({ speakers }) => speakers.length > 0),
        description: has(({ summary, description }) => (summary + description).trim()),
        duration: has(({ duration }) => duration),
        recorded: has(({ recorded }) => recorded),
        tags: has(({ tags }) => tags.length > 0),
        licence: has(({ copyright_text }) => copyright_text.trim()),
        source: has(
          (it) =>
            it.source_url ||
            it.video_ogv_url ||
            it.video_mp4_url ||
            it.video_webm_url ||
            it.video_flv_url,
        ),
      },
      hosts: counted(all.flatMap(({ source_url }) => (source_url ? hostOf(source_url) : [])))
        .sort(commonFirst)
        .slice(0, 12)
        .map(([host, talks]) => ({ host, talks })),
    })
    assert.deepEqual(
      byLanguage.map(({ name, code, slug, talks }) => [name, talks, code === slug.slice(0, 2)]),
      counted(all.map(({ language }) => language))
        .sort(commonFirst)
        .map(([name, talks]) => [name, talks, name !== 'German']),
    )
    assert.deepEqual(
      (await readCommonTags(pool.lists, 4)).map(({ name, talks }) => [name, talks]),
      counted(all.flatMap(({ tags }) => tags))
        .sort(commonFirst)
        .slice(0, 4),
    )
    assert.deepEqual(
      (await readEvents(pool.lists))
        .map(({ name, talks }): [string, number] => [name, talks])
        .sort(byName),
      counted(all.map(({ category }) => category)).sort(byName),
    )
  }
  await checkInvariants(archive.databaseUrl)
})

/** The real entity, which can be held up or broken, and counts what it is asked. */
function guarded() {
  const state = { asked: 0, isBroken: false, wait: Promise.resolve() as Promise<unknown> }
  const db: Db = {
    async run(statement) {
      state.asked++
      await state.wait
      if (state.isBroken) throw new Unavailable('not-applied', new Error('broken on purpose'))
      return pool.lists.run(statement)
    },
  }
  return { state, db }
}

test('however many ask at once, it is made once, and kept', async () => {
  const { state, db } = guarded()
  const statisticsCache = openStatisticsCache(db)
  const [first, ...others] = await Promise.all(
    Array.from({ length: 20 }, () => statisticsCache.read()),
  )
  const { asked } = state
  for (const other of others) assert.equal(other, first)
  assert.equal(await statisticsCache.read(), first)
  assert.equal(state.asked, asked)
  assert.ok(asked < 10, `${asked} statements are too many for one`)
  const { statistics: numbers, tags, speakers, events: all } = await statisticsCache.read()
  assert.deepEqual([numbers, all], [await readStatistics(pool.lists), await readEvents(pool.lists)])
  assert.deepEqual(tags, await readCommonTags(pool.lists, 60))
  assert.equal(speakers.length, numbers.speakers)
})

test('while it is made anew, readers are given what is there at once', async () => {
  const { state, db } = guarded()
  const statisticsCache = openStatisticsCache(db, { keptMs: 0 })
  const old = await statisticsCache.read()
  const { promise, resolve } = Promise.withResolvers<void>()
  state.wait = promise
  state.asked = 0
  await archive.make({ tags: ['new'] })
  for (let reader = 0; reader < 20; reader++) assert.equal(await statisticsCache.read(), old)
  assert.equal(state.asked, 1)
  resolve()
  let now = old
  for (let tries = 0; tries < 500 && now === old; tries++) {
    await sleep(10)
    now = await statisticsCache.read()
  }
  assert.equal(now.statistics.talks, old.statistics.talks + 1)
})

test('when it cannot be made anew, what is there stays, and somebody is told once', async () => {
  const { state, db } = guarded()
  const told: unknown[] = []
  const statisticsCache = openStatisticsCache(db, {
    keptMs: 0,
    onError: (error) => told.push(error),
  })
  state.isBroken = true
  const first = openStatisticsCache(db, { keptMs: 0 })
  await assert.rejects(first.read(), Unavailable)
  const { asked } = state
  await assert.rejects(first.read(), Unavailable)
  assert.equal(state.asked, asked, 'after an error nobody asks again at once')
  state.isBroken = false
  const old = await statisticsCache.read()
  state.isBroken = true
  state.asked = 0
  for (let reader = 0; reader < 20; reader++) {
    assert.equal(await statisticsCache.read(), old)
    await sleep(1)
  }
  assert.deepEqual([state.asked, told.length], [1, 1])
})
