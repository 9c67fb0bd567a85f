import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { Video } from '@talkshelf/contract'
import { type Reply, startArchive } from '../support/harness.ts'
import { withDatabase } from '../support/invariants.ts'
import { insertRecords } from '../support/many-records.ts'

// Lists of records: filters, orderings, pages and cursors, compared with a plain implementation.

const archive = await startArchive()
const { editor: token } = archive
const largeArchive = await startArchive()

const titles = [
  'Zebra',
  'apple',
  'Äpfel',
  'banana',
  'Éclair',
  'Über alles',
  'a b',
  'A B',
  '日本語',
  'Привет',
]
const made: Video[] = []
for (let number = 0; number < 60; number++)
  made.push(
    await archive.make({
      title: `${titles[number % titles.length]} ${number % 7}`,
      speakers: [`Speaker ${number % 5}`, ...(number % 3 === 0 ? ['Second Voice'] : [])],
      tags: [`tag ${number % 4}`],
      language: number % 6 === 0 ? 'French' : 'English',
      recorded: number % 8 === 0 ? null : `20${10 + (number % 5)}-0${1 + (number % 9)}-15`,
      duration: number % 9 === 0 ? null : (number * 37) % 1000,
      source_url: `https://videos.example/${number % 50}`,
    }),
  )
const draft = await archive.make({ title: 'A draft', state: 2 })
const gone = await archive.make({ title: 'Gone' })
await archive.call('POST', `/api/v2/video/${gone.id}/takedown`, {
  token: archive.admin,
  body: { reason: 'asked for' },
})
await archive.call('POST', '/api/v2/category', { token, body: { title: 'Other Days' } })
made.push(await archive.make({ title: 'Elsewhere', category: 'Other Days', language: 'German' }))

const list = (query = '', headers: Record<string, string> = {}) =>
  archive.call('GET', `/api/v2/video${query}`, { headers })
const idsOf = ({ json }: Reply): number[] => json.results.map(({ id }: Video) => id)
const pathOf = (url: string) => url.slice(archive.url.length)

/** Reads all pages from a query on. Returns the ids of each. */
async function walk(query: string, direction: 'next' | 'previous' = 'next'): Promise<number[][]> {
  const pages: number[][] = []
  for (let path: string | null = `/api/v2/video${query}`; path; ) {
    const reply: Reply = await archive.call('GET', path)
    assert.equal(reply.status, 200, reply.text)
    pages.push(idsOf(reply))
    assert.ok(pages.length < 200)
    path = reply.json[direction] && pathOf(reply.json[direction])
  }
  return pages
}

test('lists 20 full records per page, newest recordings first', async () => {
  const { json, headers, status } = await list()
  assert.equal(status, 200)
  assert.deepEqual(Object.keys(json), ['count', 'next', 'previous', 'results'])
  assert.equal(json.count, made.length)
  assert.equal(json.results.length, 20)
  assert.equal(json.next, `${archive.url}/api/v2/video?page=2`)
  assert.equal(json.previous, null)
  assert.equal(headers.link, `<${json.next}>; rel="next"`)
  assert.equal(headers['content-type'], 'text/html; charset=utf-8')
  const [first] = json.results
  assert.deepEqual(first, (await archive.call('GET', `/api/v2/video/${first.id}`)).json)
})

test('lists no drafts and no taken-down records', async () => {
  const all = (await walk('?page_size=50')).flat()
  assert.ok(!all.includes(draft.id) && !all.includes(gone.id))
  assert.equal(new Set(all).size, made.length)
})

const filters: [string, (video: Video) => boolean][] = [
  ['category=other-days', ({ category }) => category === 'Other Days'],
  ['category=nowhere', () => false],
  ['speaker=speaker-2', ({ speakers }) => speakers.includes('Speaker 2')],
  [
    'speaker=second-voice&tag=tag-3',
    ({ speakers, tags }) => speakers.includes('Second Voice') && tags.includes('tag 3'),
  ],
  ['language=fr', ({ language }) => language === 'French'],
  ['language=French', ({ language }) => language === 'French'],
  ['language=german', ({ language }) => language === 'German'],
  ['recorded_after=2012-03-15', ({ recorded }) => recorded !== null && recorded >= '2012-03-15'],
  ['recorded_before=2012-03-15', ({ recorded }) => recorded !== null && recorded <= '2012-03-15'],
  [
    'recorded_after=2011-01-01&recorded_before=2012-12-31&language=en',
    ({ recorded, language }) =>
      recorded !== null && recorded >= '2011' && recorded < '2013' && language === 'English',
  ],
  [
    'source_url=https://videos.example/3',
    ({ source_url }) => source_url === 'https://videos.example/3',
  ],
]

for (const [filter, matches] of filters)
  test(`filters by ${filter}`, async () => {
    const expected = made.filter(matches).map(({ id }) => id)
    const { json } = await list(`?${filter}&page_size=100`)
    assert.equal(json.count, expected.length)
    assert.deepEqual(json.results.map(({ id }: Video) => id).sort(), expected.sort())
    // The links to the other pages keep the filter.
    assert.equal((await walk(`?${filter}&page_size=1`)).flat().length, expected.length)
  })

test('filters by updated_since', async () => {
  const { id } = made[7] as Video
  const before = (
    await archive.call('PATCH', `/api/v2/video/${id}`, { token, body: { summary: 'changed' } })
  ).json.updated
  assert.deepEqual(idsOf(await list(`?updated_since=${before}`)), [id])
  assert.deepEqual(idsOf(await list(`?updated_since=${before}Z`)), [id])
  assert.deepEqual(idsOf(await list('?updated_since=2099-01-01T00:00:00')), [])
})

const fold = (text: string) => text.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase()
const bytes = (text: string) => Buffer.from(text)
type Key = Buffer | string | number
const keys: Record<string, (video: Video) => Key> = {
  added: ({ added }) => added,
  recorded: ({ recorded }) => recorded ?? '',
  title: ({ title }) => bytes(fold(title)),
  updated: ({ updated }) => updated,
  duration: ({ duration }) => duration ?? -1,
}

function compareKeys(a: Key, b: Key): number {
  if (a instanceof Buffer) return a.compare(b as Buffer)
  if (a === b) return 0
  return a < b ? -1 : 1
}

for (const ordering of [
  '',
  'added',
  '-added',
  'recorded',
  '-recorded',
  'title',
  '-title',
  'updated',
  '-updated',
  'duration',
  '-duration',
  'duration,-title',
  '-recorded,-title',
  'title,recorded,duration',
  'title,title',
])
  test(`orders by ${ordering || 'default'} across pages and cursors`, async () => {
    const current: Video[] = []
    for (const { id } of made) current.push((await archive.call('GET', `/api/v2/video/${id}`)).json)
    const parts = (ordering || '-recorded,title').split(',')
    const expected = current
      .sort((a, b) => {
        for (const part of parts) {
          const key = keys[part.replace('-', '')] as (video: Video) => Key
          const compared = compareKeys(key(a), key(b))
          if (compared !== 0) return part.startsWith('-') ? -compared : compared
        }
        return a.id - b.id
      })
      .map(({ id }) => id)
    const query = ordering && `&ordering=${ordering}`
    assert.deepEqual((await walk(`?page_size=7${query}`)).flat(), expected)
    // By cursor, to the end and back.
    assert.deepEqual((await walk(`?page_size=7${query}&cursor=`)).flat(), expected)
    const back = await walk(await lastPage(`?page_size=7${query}&cursor=`), 'previous')
    assert.deepEqual(back.reverse().flat(), expected)
  })

function cursorOf(ordering: string, way: 'next' | 'previous', keys: readonly string[]): string {
  return Buffer.from(JSON.stringify({ ordering, way, keys })).toString('base64url')
}

async function firstCursor(query: string): Promise<string> {
  const { json } = await list(`?cursor=${query}`)
  return String(new URL(json.next).searchParams.get('cursor'))
}

async function lastPage(query: string): Promise<string> {
  let path = `/api/v2/video${query}`
  for (;;) {
    const { json } = await archive.call('GET', path)
    if (!json.next) return path.slice('/api/v2/video'.length)
    path = pathOf(json.next)
  }
}

test('returns 404 for a page past the end', async () => {
  assert.equal((await list('?page=5')).status, 404)
  assert.equal((await list('?page=2&category=other-days')).status, 404)
  assert.equal((await list('?page=1&category=nowhere')).status, 200)
  assert.equal((await list('?page=2&category=nowhere')).status, 404)
})

test('returns an empty last page for a cursor past the end', async () => {
  const keys = ['-infinity', '\u{10ffff}', String(Number.MAX_SAFE_INTEGER)]
  for (const [direction, next] of [
    ['next', null],
    ['previous', 'string'],
  ] as const) {
    const cursor = cursorOf('-recorded,title', direction, keys)
    const { status, json } = await list(`?cursor=${cursor}`)
    assert.equal(status, 200)
    assert.equal(json.results.length, direction === 'next' ? 0 : 20)
    assert.equal(json.next === null ? null : typeof json.next, next)
  }
})

test('keeps the format parameter in the links to other pages', async () => {
  const { json } = await list('?page_size=5&format=json')
  assert.equal(json.next, `${archive.url}/api/v2/video?page_size=5&page=2&format=json`)
  assert.equal(
    (await archive.call('GET', pathOf(json.next))).headers['content-type'],
    'application/json',
  )
})

test('names each invalid parameter', async () => {
  const tooLargeId = ['2026-02-03T00:00:00.000Z', '99999999999999999']
  const wrong: [string, string][] = [
    ['page=0', 'page'],
    ['page=x', 'page'],
    ['page=501', 'page'],
    ['page_size=101', 'page_size'],
    ['ordering=id', 'ordering'],
    ['ordering=-', 'ordering'],
    ['recorded_after=2012-02-30', 'recorded_after'],
    ['updated_since=yesterday', 'updated_since'],
    ['updated_since=2012-02-20T25:00:00', 'updated_since'],
    ['updated_since=2012-02-30T00:00:00', 'updated_since'],
    ['updated_since=0000-01-01T00:00:00', 'updated_since'],
    ['speakr=ada', 'speakr'],
    ['category=A%20B', 'category'],
    ['cursor=xyz', 'cursor'],
    [`cursor=${await firstCursor('&ordering=title')}`, 'cursor'],
    [`cursor=${await firstCursor('')}&page=2`, 'page'],
    ['cursor=&page=1', 'page'],
    [`ordering=added&cursor=${cursorOf('added', 'next', ['x', '1'])}`, 'cursor'],
    [
      `ordering=added&cursor=${cursorOf('added', 'next', ['2026-02-30T00:00:00.000Z', '1'])}`,
      'cursor',
    ],
    [`ordering=added&cursor=${cursorOf('added', 'next', tooLargeId)}`, 'cursor'],
    ['tag=a&tag=b', 'tag'],
  ]
  for (const [query, name] of wrong) {
    const { status, json } = await list(`?${query}`)
    assert.equal(status, 400, query)
    assert.deepEqual(
      json.errors.map(({ pointer }: { pointer: string }) => pointer),
      [`/${name}`],
      query,
    )
  }
})

test('lists the parameters of an endpoint if a parameter is unknown', async () => {
  const { json } = await archive.call('GET', '/api/v2/speaker?limit=5&offset=5')
  assert.equal(
    json.detail,
    'Invalid query parameter: limit, offset. Known parameters: page, page_size, cursor',
  )
  assert.deepEqual(
    (await list('?page=0')).json.detail,
    'Invalid query parameter: page',
    'known, with an invalid value',
  )
})

test('says where slugs are found if a name is sent instead', async () => {
  await archive.make({ speakers: ['Tamsin Orrel'] })
  const { json } = await list('?speaker=Tamsin+Orrel')
  const { detail } = json.errors[0]
  const path = /GET (\S+)NAME/.exec(detail)?.[1]
  assert.ok(path, detail)
  const suggested = await archive.call('GET', `${path}Tamsin+Orrel`)
  assert.equal(suggested.json.speakers[0].slug, 'tamsin-orrel')
})

test('returns 304 for an unchanged page only', async () => {
  const { headers } = await list('?language=fr')
  const again = await list('?language=fr', { 'if-none-match': String(headers.etag) })
  assert.equal(again.status, 304)
  assert.equal(again.text, '')
  const french = made.find(({ language }) => language === 'French') as Video
  await archive.call('PATCH', `/api/v2/video/${french.id}`, { token, body: { summary: 'neuf' } })
  assert.equal((await list('?language=fr', { 'if-none-match': String(headers.etag) })).status, 200)
})

test('returns each stable record exactly once to a cursor walk during writes', async () => {
  const category = 'Busy Days'
  await archive.call('POST', '/api/v2/category', { token, body: { title: category } })
  const stable = new Set<number>()
  for (let number = 0; number < 40; number++)
    stable.add(
      (await archive.make({ title: `Stays ${number}`, category, recorded: '2015-05-05' })).id,
    )
  let isWalking = true
  const writers = Promise.all(
    [1, 2].map(async (writer) => {
      for (let number = 0; isWalking; number++) {
        const title = ['Aaa', 'Stays 2', 'Zzz'][number % 3]
        const { id } = await archive.make({
          title: `${title} ${writer} ${number}`,
          category,
          recorded: `2015-05-0${4 + (number % 3)}`,
        })
        // Hides it again: as a draft, or by a takedown.
        if (number % 2 === 0)
          await archive.call('PATCH', `/api/v2/video/${id}`, { token, body: { state: 2 } })
        else
          await archive.call('POST', `/api/v2/video/${id}/takedown`, {
            token: archive.admin,
            body: { reason: 'busy' },
          })
      }
    }),
  )
  try {
    for (let times = 0; times < 5; times++) {
      const walkedIds: number[] = []
      let path: string | null = '/api/v2/video?category=busy-days&page_size=3&cursor='
      while (path) {
        const { json }: Reply = await archive.call('GET', path)
        if (!json.results) break
        walkedIds.push(...json.results.map(({ id }: Video) => id))
        path = json.next && pathOf(json.next)
        await setTimeout(2)
      }
      const stayed = walkedIds.filter((id) => stable.has(id))
      assert.deepEqual([...stayed].sort(), [...stable].sort(), `round ${times}`)
    }
  } finally {
    isWalking = false
    await writers
  }
})

test('uses an index for every ordering', async () => {
  // PostgreSQL scans small tables sequentially; without that it shows whether an index would do.
  await withDatabase(archive.databaseUrl, async (query) => {
    await query('set enable_seqscan = off')
    for (const order of [
      'coalesce(recorded, \'-infinity\'::date) desc, fold(title) collate "C", id',
      'fold(title) collate "C", id',
      'added, id',
      'coalesce(duration, -1), id',
    ]) {
      const plan = JSON.stringify(
        await query(
          `explain
           select id
           from live_video
           order by ${order}
           limit 20`,
        ),
      )
      assert.match(plan, /Index (Only )?Scan/, plan)
      assert.doesNotMatch(plan, /Sort/, plan)
    }
  })
})

test('counts records of one entity exactly and estimates others above 10,000', async () => {
  const count = 10_200
  await insertRecords(largeArchive.databaseUrl, count)
  const countOf = async (query: string) => {
    const { json } = await largeArchive.call('GET', `/api/v2/video?page_size=1&${query}`)
    return [json.count, json.count_exact]
  }
  for (const query of ['', 'category=many', 'language=english', 'ordering=title'])
    assert.deepEqual(await countOf(query), [count, undefined], query)
  const [{ n } = {}] = await withDatabase(largeArchive.databaseUrl, (query) =>
    query(
      `select count(*)::int as n
       from video
       where tag_ids @> array[(select id from tag where slug = 'tag-1')]`,
    ),
  )
  assert.deepEqual(await countOf('tag=tag-1'), [n, undefined])
  assert.ok(Number(n) > 100)
  const [estimate, isExact] = await countOf('category=many&language=english')
  assert.equal(isExact, false)
  assert.ok(estimate > count / 2 && estimate < count * 2, String(estimate))
})
