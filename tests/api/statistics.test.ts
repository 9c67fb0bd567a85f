import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { isPlausibleDuration, type Video } from '@talkshelf/contract'
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

// Statistics of the archive, and their cache.

const archive = await startArchive()
const { editor: token, pool } = archive
const patch = (id: number, body: object) =>
  archive.call('PATCH', `/api/v2/video/${id}`, { token, body })
const takeDown = (id: number) =>
  archive.call('POST', `/api/v2/video/${id}/takedown`, {
    token: archive.admin,
    body: { reason: 'asked' },
  })

test('returns statistics for an empty archive', async () => {
  const having = {
    speakers: 0,
    description: 0,
    duration: 0,
    recorded: 0,
    tags: 0,
    licence: 0,
    source: 0,
  }
  const empty = {
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
  assert.deepEqual(await readStatistics(pool.lists), empty)
  assert.deepEqual([await readEvents(pool.lists), await readCommonTags(pool.lists, 5)], [[], []])
})

test('derives the dates of an event from its talks and lists the newest first', async () => {
  const days: Record<string, [string | null, string | null, (string | null)[]]> = {
    'Says both': ['2020-05-01', '2020-05-03', ['2019-01-01', '2021-01-01']],
    'Says the first': ['2020-06-01', null, ['2020-05-30', '2020-06-02', null]],
    'Says the first, its talks nothing': ['2018-01-01', null, [null]],
    'Says the last': [null, '2017-03-03', ['2017-03-01']],
    'Says the last, its talks are later': [null, '2016-03-03', ['2016-04-01']],
    'Says nothing': [null, null, ['2021-02-01', '2021-02-02', '2020-12-12', null]],
    'Has a year and days': [null, null, ['2015-01-01', '2015-06-11', '2015-06-10']],
    'Has only a year': [null, null, ['2014-01-01']],
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
      ['Has a year and days', 'has-a-year-and-days', 3, '2015-06-10', '2015-06-11'],
      ['Has only a year', 'has-only-a-year', 1, '2014-01-01', '2014-01-01'],
      ['Nobody knows', 'nobody-knows', 1, null, null],
    ],
  )
})

/** Reads all live records as readers get them. */
async function liveRecords(): Promise<Video[]> {
  const all: Video[] = []
  for (let path: string | undefined = '/api/v2/video?page_size=100&cursor='; path; ) {
    const { json } = await archive.call('GET', path)
    all.push(...json.results)
    path = json.next?.slice(archive.url.length)
  }
  return all
}

function countValues(values: readonly string[]): [string, number][] {
  const counts = new Map<string, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return [...counts]
}
const byName = (a: [string, number], b: [string, number]) => (a[0] < b[0] ? -1 : 1)
const byCount = (a: [string, number], b: [string, number]) => b[1] - a[1] || byName(a, b)
const hostOf = (url: string) =>
  new URL(url).hostname
    .replace(/^www\./, '')
    .replace(/\.$/, '')
    .replace(/^(youtu\.be|m\.youtube\.com)$/, 'youtube.com')

/** Computes the statistics of these records, except for the languages. */
function expectedStatistics(all: readonly Video[]) {
  const countOf = (test: (video: Video) => unknown) => all.filter(test).length
  return {
    talks: all.length,
    seconds: all
      .map(({ duration }) => duration ?? 0)
      .filter(isPlausibleDuration)
      .reduce((sum, duration) => sum + duration, 0),
    events: new Set(all.map(({ category }) => category)).size,
    speakers: new Set(all.flatMap(({ speakers }) => speakers)).size,
    tags: new Set(all.flatMap(({ tags }) => tags)).size,
    languages: new Set(all.map(({ language }) => language)).size,
    byYear: countValues(all.flatMap(({ recorded }) => recorded?.slice(0, 4) ?? []))
      .sort(byName)
      .map(([year, talks]) => ({ year: Number(year), talks })),
    added: countValues(all.map(({ added }) => added.slice(0, 7)))
      .sort(byName)
      .map(([month, talks]) => ({ month, talks })),
    having: {
      speakers: countOf(({ speakers }) => speakers.length > 0),
      description: countOf(({ summary, description }) => (summary + description).trim()),
      duration: countOf(({ duration }) => duration),
      recorded: countOf(({ recorded }) => recorded),
      tags: countOf(({ tags }) => tags.length > 0),
      licence: countOf(({ copyright_text }) => copyright_text.trim()),
      source: countOf(
        (video) =>
          video.source_url ||
          video.video_ogv_url ||
          video.video_mp4_url ||
          video.video_webm_url ||
          video.video_flv_url,
      ),
    },
    hosts: countValues(all.flatMap(({ source_url }) => (source_url ? hostOf(source_url) : [])))
      .sort(byCount)
      .slice(0, 12)
      .map(([host, talks]) => ({ host, talks })),
  }
}

/** Asserts that the statistics of the archive are those of these records. */
async function assertMatchesScan(all: readonly Video[], pieceSize: number): Promise<void> {
  const { byLanguage, ...rest } = await readStatistics(pool.lists, pieceSize)
  assert.deepEqual(rest, expectedStatistics(all))
  assert.deepEqual(
    byLanguage.map(({ name, code, slug, talks }) => [name, talks, code === slug.slice(0, 2)]),
    countValues(all.map(({ language }) => language))
      .sort(byCount)
      .map(([name, talks]) => [name, talks, name !== 'German']),
  )
  assert.deepEqual(
    (await readCommonTags(pool.lists, 4)).map(({ name, talks }) => [name, talks]),
    countValues(all.flatMap(({ tags }) => tags))
      .sort(byCount)
      .slice(0, 4),
  )
  assert.deepEqual(
    (await readEvents(pool.lists))
      .map(({ name, talks }): [string, number] => [name, talks])
      .sort(byName),
    countValues(all.map(({ category }) => category)).sort(byName),
  )
}

test('matches a full scan after random writes', async () => {
  const random = randomFrom(20261116)
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T
  const randomNames = (word: string) => [
    ...new Set(
      Array.from({ length: Math.floor(random() * 4) }, () => `${word} ${Math.floor(random() * 9)}`),
    ),
  ]
  const urls = Array.from(
    { length: 15 },
    (_, number) => `https://host-${number}.example.org/watch?v=${number}`,
  )
  urls.push(
    'http://WWW.Example.org:8080/a',
    'https://example.org?x=/y/',
    'https://example.org#top',
    'https://somebody@example.org/',
    'https://example.org./',
    'https://youtu.be/dQw4w9WgXcQ',
    'https://www.youtube.com/watch?v=dQw4w9WgXcQ',
    'https://m.youtube.com/watch?v=dQw4w9WgXcQ',
  )
  const fields = () => ({
    speakers: randomNames('speaker'),
    tags: randomNames('tag'),
    language: pick(['English', 'French', 'German']),
    category: pick(['Says both', 'Says nothing', 'Nobody knows']),
    duration: pick([null, 0, 60, 3600, 21_600, 21_601, 2_147_483_647]),
    recorded: pick([null, '0999-12-31', '2019-12-31', '2020-01-01']),
    summary: pick(['', ' ', 'Short']),
    description: pick(['', '\n', 'Long']),
    copyright_text: pick(['', 'CC BY']),
    source_url: pick([null, '', ...urls]),
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
    if (round % 4 === 3) await assertMatchesScan(await liveRecords(), pick([1, 7, 1000]))
  }
  await checkInvariants(archive.databaseUrl)
})

/** Wraps the database: counts the statements, and can delay or fail them. */
function controlledDb() {
  const state = { statements: 0, isBroken: false, wait: Promise.resolve() as Promise<unknown> }
  const db: Db = {
    async run(statement) {
      state.statements++
      await state.wait
      if (state.isBroken) throw new Unavailable('not-applied', new Error('broken on purpose'))
      return pool.lists.run(statement)
    },
  }
  return { state, db }
}

test('computes once for concurrent readers and caches the result', async () => {
  const { state, db } = controlledDb()
  const statisticsCache = openStatisticsCache(db)
  const [first, ...others] = await Promise.all(
    Array.from({ length: 20 }, () => statisticsCache.read()),
  )
  const { statements } = state
  for (const other of others) assert.equal(other, first)
  assert.equal(await statisticsCache.read(), first)
  assert.equal(state.statements, statements)
  assert.ok(statements < 15, `${statements} statements are too many for one refresh`)
  const { statistics: numbers, tags, speakers, events: all } = await statisticsCache.read()
  assert.deepEqual([numbers, all], [await readStatistics(pool.lists), await readEvents(pool.lists)])
  assert.deepEqual(tags, await readCommonTags(pool.lists, 60))
  assert.equal(speakers.length, numbers.speakers)
})

test('serves stale statistics while it refreshes', async () => {
  const { state, db } = controlledDb()
  const statisticsCache = openStatisticsCache(db, { maxAgeMs: 0 })
  const old = await statisticsCache.read()
  const { promise, resolve } = Promise.withResolvers<void>()
  state.wait = promise
  state.statements = 0
  await archive.make({ tags: ['new'] })
  for (let reader = 0; reader < 20; reader++) assert.equal(await statisticsCache.read(), old)
  assert.equal(state.statements, 1)
  resolve()
  let now = old
  for (let tries = 0; tries < 500 && now === old; tries++) {
    await sleep(10)
    now = await statisticsCache.read()
  }
  assert.equal(now.statistics.talks, old.statistics.talks + 1)
})

test('keeps stale statistics after a failed refresh and reports the error once', async () => {
  const { state, db } = controlledDb()
  const errors: unknown[] = []
  const statisticsCache = openStatisticsCache(db, {
    maxAgeMs: 0,
    onError: (error) => errors.push(error),
  })
  state.isBroken = true
  const first = openStatisticsCache(db, { maxAgeMs: 0 })
  await assert.rejects(first.read(), Unavailable)
  const { statements } = state
  await assert.rejects(first.read(), Unavailable)
  assert.equal(state.statements, statements, 'a failed refresh is not retried at once')
  state.isBroken = false
  const old = await statisticsCache.read()
  state.isBroken = true
  state.statements = 0
  for (let reader = 0; reader < 20; reader++) {
    assert.equal(await statisticsCache.read(), old)
    await sleep(1)
  }
  assert.deepEqual([state.statements, errors.length], [1, 1])
})
