import assert from 'node:assert/strict'
import { test } from 'node:test'
import { durationRanges } from '@talkshelf/contract'
import { randomFrom } from '../../bench/records.ts'
import { readFacets } from '../../server/search/search.ts'
import { openArchive, startArchive } from '../support/harness.ts'
import { withDatabase } from '../support/invariants.ts'
import { until } from '../support/until.ts'

// Counts and facets against a plain scan of the records, in an archive with more talks than are
// counted one by one.

const seed = Number(process.env.COUNTS_SEED ?? 15)
const filtersPerRound = 40

const random = randomFrom(seed)
const pick = <T>(from: readonly T[]) => from[Math.floor(random() * from.length)] as T
const isChosen = (share: number) => random() < share
const some = <T>(from: readonly T[], limit: number) => [
  ...new Set(Array.from({ length: Math.floor(random() * (limit + 1)) }, () => pick(from))),
]

const archive = await startArchive()
const { editor: token, admin } = archive

/** Words that are spelled so differently that none is corrected to another. */
const words = ['amber', 'birch', 'fjord', 'quokka', 'zephyr']
const languages = ['English', 'German', 'Spanish', 'Japanese']
const bulkTalks = 12_000

/** The values of a record by the parameter that filters by them, with the ids of entities. */
interface Scanned {
  readonly id: number
  readonly category: readonly Entity[]
  readonly language: readonly Entity[]
  readonly speaker: readonly Entity[]
  readonly tag: readonly Entity[]
  readonly year: readonly Entity[]
  readonly duration: readonly Entity[]
  readonly recorded: string | null
  readonly title: string
}
interface Entity {
  readonly id: number
  readonly value: string
}
const kinds = ['category', 'language', 'year', 'speaker', 'tag', 'duration'] as const
type Kind = (typeof kinds)[number]
type Params = Partial<Record<Kind | 'recorded_after' | 'recorded_before' | 'q', string>>

test(`equals a plain scan for 200 random filters (COUNTS_SEED=${seed})`, async () => {
  console.log(`COUNTS_SEED=${seed}`)
  await insertTalks(bulkTalks)
  const made = await makeTalks(150)
  const changes: (() => Promise<void>)[] = [
    async () => {},
    () => editTalks(made),
    () => hideTalks(made),
    renameEntities,
    mergeEntities,
  ]
  const seen = { exact: 0, estimated: 0, matching: 0 }
  for (const change of changes) {
    await change()
    const records = await scan()
    assert.ok(records.length > 10_000)
    await check({}, records, seen)
    await check({ language: 'english' }, records, seen)
    await check({ recorded_after: '2001-01-01' }, records, seen)
    for (let index = 0; index < filtersPerRound; index++)
      await check(randomParams(records), records, seen)
  }
  // The filters reach every way of counting.
  assert.ok(seen.exact > 100 && seen.estimated > 2 && seen.matching > 100, JSON.stringify(seen))
})

test('shows estimates as such on the page, and exact numbers of all talks', async () => {
  const { text: all } = await archive.call('GET', '/search')
  assert.doesNotMatch(all, /class="count">about/)
  const { text: years } = await archive.call('GET', '/search?year=2001,2002,2003,2004,2005')
  assert.doesNotMatch(years, /class="count">about/)
  const { text: common } = await archive.call('GET', '/search?q=everywhere')
  assert.match(common, /class="count">about [\d,]+</)
})

test('counts facets exactly up to the limit, and estimates them beyond', async () => {
  const [row] = (await withDatabase(archive.databaseUrl, (query) =>
    query(`select category_id::integer as category, count(*)::integer as talks
           from video
           where state = 1 and taken_down is null
           group by 1
           order by 2 desc
           limit 1`),
  )) as unknown as [{ category: number; talks: number }]
  const { category, talks } = row
  const count = (limit: number) => readFacets(archive.pool.searches, undefined, { category }, limit)
  const exact = await count(talks)
  assert.deepEqual([exact.estimated, exact.count, exact.isExact], [[], talks, true])
  const estimate = await count(talks - 1)
  // The number of talks of a category is stored.
  assert.deepEqual([estimate.count, estimate.isExact], [talks, true])
  assert.deepEqual(estimate.estimated.toSorted(), [...kinds].sort())
})

test('lists talks without facets while these cannot be counted', async () => {
  const busy = await openArchive(archive.databaseUrl, { ANSWER_SECONDS: '15' })
  try {
    await withDatabase(archive.databaseUrl, async (query) => {
      await query('begin')
      await query('lock table video_search')
      const { status, json } = await busy.call(
        'GET',
        '/api/v2/video?category=bulk-1&year=2010&include=facets',
      )
      assert.deepEqual([status, json.facets, json.results.length > 0], [200, undefined, true])
      const page = await busy.call('GET', '/search?year=2010&tag=bulk-1')
      assert.equal(page.status, 200, page.text)
      assert.match(page.text, /Everywhere amber/)
    })
  } finally {
    await busy.close()
  }
})

/** Inserts live talks into the tables: the API would take minutes. They have minimal bodies. */
async function insertTalks(count: number): Promise<void> {
  await withDatabase(archive.databaseUrl, async (query) => {
    for (const [kind, name, number] of [
      ['category', 'title', 25],
      ['speaker', 'name', 400],
      ['tag', 'name', 30],
    ])
      await query(
        `insert into ${kind} (${name}, slug)
         select 'Bulk ' || n, 'bulk-' || n from generate_series(1, ${number}) as n`,
      )
    for (const [kind, name] of [
      ['category', 'title'],
      ['speaker', 'name'],
      ['tag', 'name'],
    ]) {
      await query(
        `insert into entity_name (kind, name, entity_id, shown)
         select '${kind}', ${name}, id, true from ${kind} where slug like 'bulk-%'`,
      )
      await query(
        `insert into entity_slug (kind, slug, entity_id)
         select '${kind}', slug, id from ${kind} where slug like 'bulk-%'`,
      )
    }
    await query('alter table video disable trigger user')
    await query(
      `insert into video (
         revision, slug, state, category_id, language_id, speaker_ids, tag_ids, title, summary,
         description, quality_notes, copyright_text, embed, video_ogv_download_only,
         video_mp4_download_only, video_webm_download_only, video_flv_download_only, whiteboard,
         recorded, duration, added, updated
       )
       select 1, 'talk-' || n, 1,
              (select id from category where slug = 'bulk-' || 1 + n % 25),
              (select id from language
               where name = case when n % 10 = 0
                                 then (array['German', 'Spanish', 'Japanese'])[1 + n / 10 % 3]
                                 else 'English' end),
              array[(select id from speaker where slug = 'bulk-' || 1 + n * n % 400)],
              array[(select id from tag where slug = 'bulk-' || 1 + n % 30),
                    (select id from tag where slug = 'bulk-' || 1 + (n / 7 + 1 + n % 30) % 30)],
              'Everywhere ' || ($1::text[])[1 + n % 7], '', '', '', '', '', false, false, false,
              false, '', case when n % 23 > 0 then date '1999-03-04' + n * 37 % 9900 end,
              case when n % 11 > 0 then n * 13 % 5000 end, now(), now()
       from generate_series(1, ${count}) as n`,
      [[...words, 'amber birch', 'nothing']],
    )
    await query('update video set tag_ids = tag_ids[1:1] where tag_ids[1] = tag_ids[2]')
    await query(
      `insert into video_body (id, revision, etag, live, updated, body)
       select id, 1, 'x', true, updated,
              json_build_object('id', id, 'title', title, 'slug', slug, 'category', 'Bulk 1',
                                'speakers', '[]'::json, 'tags', '[]'::json, 'language', 'English',
                                'recorded', recorded, 'duration', duration, 'summary', '',
                                'description', '', 'thumbnail_url', null)::text
       from video
       where slug like 'talk-%'`,
    )
    await query('alter table video enable trigger user')
    await query('select recount_talks()')
    await query('call rebuild_search()')
    await query('analyze')
  })
}

const categories = ['First Days', 'Second Days', 'Third Days']
const speakers = Array.from({ length: 9 }, (_, index) => `Speaker ${index}`)
const tags = Array.from({ length: 9 }, (_, index) => `tag ${index}`)

const randomFields = () => ({
  title: `Written ${pick(words)}`,
  category: pick(categories),
  language: pick(languages),
  speakers: some(speakers, 3),
  tags: some(tags, 3),
  recorded: pick([null, '1998-05-06', '2004-12-31', '2005-01-01', '2016-02-29', '2016-12-31']),
  duration: pick([null, 0, 599, 600, 1799, 1800, 3599, 3600]),
})

async function makeTalks(count: number): Promise<number[]> {
  for (const title of categories)
    await archive.call('POST', '/api/v2/category', { token, body: { title } })
  const ids: number[] = []
  for (let index = 0; index < count; index++)
    ids.push((await archive.make({ ...randomFields(), state: isChosen(0.9) ? 1 : 2 })).id)
  return ids
}

async function editTalks(ids: readonly number[]): Promise<void> {
  for (const id of some(ids, 60)) {
    const { title, recorded, duration, language, ...names } = randomFields()
    const body = pick([{ title, recorded }, { duration }, { language }, names])
    const { status } = await archive.call('PATCH', `/api/v2/video/${id}`, { token, body })
    assert.equal(status, 200)
  }
}

async function hideTalks(ids: readonly number[]): Promise<void> {
  for (const id of some(ids, 40))
    await archive.call('PATCH', `/api/v2/video/${id}`, { token, body: { state: pick([1, 2]) } })
  const body = { reason: 'asked' }
  for (const id of some(ids, 20))
    await archive.call('POST', `/api/v2/video/${id}/takedown`, { token: admin, body })
}

async function renameEntities(): Promise<void> {
  for (const [path, body] of [
    ['tag/tag-1', { name: 'quokka' }],
    ['tag/tag-2', { name: 'renamed tag' }],
    ['speaker/speaker-3', { name: 'Renamed Speaker' }],
    ['category/first-days', { title: 'Renamed Days' }],
  ] as const)
    await succeeds('PATCH', path, body)
}

async function mergeEntities(): Promise<void> {
  for (const [path, into] of [
    ['tag/tag-4/merge', 'tag-5'],
    ['speaker/speaker-6/merge', 'speaker-7'],
    ['category/second-days/merge', 'third-days'],
  ] as const)
    await succeeds('POST', path, { into })
}

async function succeeds(method: string, path: string, body: object): Promise<void> {
  const { status, text } = await archive.call(method, `/api/v2/${path}`, { token, body })
  assert.ok(status === 200 || status === 202, text)
  await until('all records to have the new name', () =>
    withDatabase(
      archive.databaseUrl,
      async (query) => (await query('select 1 from rename_job')).length === 0,
    ),
  )
}

/** Reads all live records, with SQL that shares nothing with the server. */
async function scan(): Promise<Scanned[]> {
  const rows = await withDatabase(archive.databaseUrl, (query) =>
    query(`
      select video.id::integer, video.title, recorded::text, duration,
             category.id::integer as category_id, category.slug as category,
             language.id as language_id, language.slug as language,
             array(select json_build_object('id', speaker.id, 'value', slug)
                   from speaker where speaker.id = any (speaker_ids)) as speaker,
             array(select json_build_object('id', tag.id, 'value', slug)
                   from tag where tag.id = any (tag_ids)) as tag,
             array(select name from tag where tag.id = any (tag_ids)) as tag_names
      from video
      join category on category.id = category_id
      join language on language.id = language_id
      where state = 1 and taken_down is null
      order by video.id`),
  )
  const lengths = Object.keys(durationRanges)
  // biome-ignore lint/suspicious/noExplicitAny: rows of a query
  return rows.map((row: any) => {
    const length = [600, 1800, 3600].filter((seconds) => row.duration >= seconds).length + 1
    const range = row.duration ? length : 0
    const year = row.recorded && Number(row.recorded.slice(0, 4))
    return {
      id: row.id,
      category: [{ id: row.category_id, value: row.category }],
      language: [{ id: row.language_id, value: row.language }],
      speaker: row.speaker,
      tag: row.tag,
      year: year ? [{ id: year, value: String(year) }] : [],
      duration: [{ id: range, value: lengths[range] as string }],
      recorded: row.recorded,
      title: [row.title, ...row.tag_names].join(' ').toLowerCase(),
    }
  })
}

function randomParams(records: readonly Scanned[]): Params {
  // Values of one record, so that combinations match something, and sometimes those of another.
  const record = pick(records)
  const valueFor = (kind: Kind) =>
    pick((isChosen(0.85) ? record : pick(records))[kind].map(({ value }) => value))
  const day = () => pick(['2001-01-01', '2004-12-31', '2010-06-15', '2016-01-01', '2024-12-31'])
  const params: Params = {
    ...(isChosen(0.15) && { category: valueFor('category') }),
    ...(isChosen(0.15) && { speaker: valueFor('speaker') }),
    ...(isChosen(0.2) && { tag: valueFor('tag') }),
    ...(isChosen(0.35) && { language: valueFor('language') }),
    ...(isChosen(0.25) && { duration: valueFor('duration') }),
    ...(isChosen(0.25) && { year: [valueFor('year'), ...some(['2004', '2016'], 2)].join(',') }),
    ...(isChosen(0.15) && { recorded_after: day() }),
    ...(isChosen(0.15) && { recorded_before: day() }),
    // The space says that the word is finished.
    ...(isChosen(0.4) && { q: `${pick([...words, 'everywhere'])} ` }),
  }
  const { year } = params
  // A record without a day has no year.
  if (year !== undefined)
    params.year = [...new Set(year.split(','))].filter(Boolean).join(',') || '2016'
  return Object.fromEntries(Object.entries(params).filter(([, value]) => value !== undefined))
}

const conditions: Record<keyof Params, (record: Scanned, value: string) => boolean> = {
  category: hasValue('category'),
  speaker: hasValue('speaker'),
  tag: hasValue('tag'),
  language: hasValue('language'),
  duration: hasValue('duration'),
  year: (record, value) => value.split(',').some((year) => hasValue('year')(record, year)),
  recorded_after: ({ recorded }, day) => recorded !== null && recorded >= day,
  recorded_before: ({ recorded }, day) => recorded !== null && recorded <= day,
  q: ({ title }, word) => title.includes(word.trim()),
}

function hasValue(kind: Kind) {
  return (record: Scanned, value: string) => record[kind].some((entity) => entity.value === value)
}

function matching(records: readonly Scanned[], params: Params): Scanned[] {
  const given = Object.entries(params) as [keyof Params, string][]
  return records.filter((record) => given.every(([name, value]) => conditions[name](record, value)))
}

/** Returns the twenty most frequent values of a facet; the newest entity first if equal. */
function scannedFacet(records: readonly Scanned[], kind: Kind): [value: string, talks: number][] {
  const counted = new Map<number, { value: string; talks: number }>()
  for (const { id, value } of records.flatMap((record) => record[kind]))
    counted.set(id, { value, talks: (counted.get(id)?.talks ?? 0) + 1 })
  return [...counted]
    .sort(([id, a], [otherId, b]) => b.talks - a.talks || otherId - id)
    .slice(0, 20)
    .map(([, { value, talks }]) => [value, talks])
}

function wholeYears(name: string, value: string): string {
  if (name === 'recorded_after') return `${value.slice(0, 4)}-01-01`
  return name === 'recorded_before' ? `${value.slice(0, 4)}-12-31` : value
}

async function check(
  params: Params,
  records: readonly Scanned[],
  seen: { exact: number; estimated: number; matching: number },
): Promise<void> {
  const search = new URLSearchParams(params)
  const message = decodeURIComponent(search.toString())
  const [plain, withFacets] = await Promise.all(
    ['', 'include=facets&'].map((include) =>
      archive.call('GET', `/api/v2/video?page_size=1&${include}${search}`),
    ),
  )
  assert.deepEqual([plain?.status, withFacets?.status], [200, 200], message)
  const expected = matching(records, params)
  if (expected.length > 0) seen.matching++
  const { q, year: _, ...others } = params
  for (const { count, count_exact } of [plain?.json, withFacets?.json]) {
    if (count_exact !== false) assert.equal(count, expected.length, message)
    else assert.ok(expected.length > (q ? 1000 : 10_000), `${message}: could be counted`)
    // An estimate, too, is not above what a single filter matches, of days those of whole years.
    for (const [name, value] of Object.entries(params)) {
      if (name === 'q') continue
      const own = matching(records, { [name]: wholeYears(name, value) }).length
      assert.ok(count <= own, `${message}: ${count} of ${own}`)
    }
  }
  const { facets } = withFacets?.json ?? {}
  const estimated: Kind[] = facets.estimated ?? []
  assert.equal(facets.exact, estimated.length === 0, message)
  const { count: total } = withFacets?.json ?? {}
  if (estimated.length === kinds.length)
    assert.ok(total > 10_000, `${message}: ${total}, but more were seen`)
  const hasStoredNumbers = q === undefined && !others.category && !others.speaker && !others.tag
  const isAll = Object.keys(params).length === 0
  for (const kind of kinds) {
    // Years are counted without the filter by year, so that others can be chosen.
    const counted = kind === 'year' ? matching(records, q ? { q, ...others } : others) : expected
    const found = facets[kind].map(({ value, talks }: { value: string; talks: number }) => [
      value,
      talks,
    ])
    if (!estimated.includes(kind)) {
      seen.exact++
      assert.deepEqual(found, scannedFacet(counted, kind), `${message}: ${kind}`)
      continue
    }
    seen.estimated++
    assert.ok(counted.length > 10_000 && !isAll, `${message}: ${kind} could be counted`)
    const isWhole = !/-(06|12)-/.test(`${others.recorded_after}`) && !others.recorded_before
    assert.ok(
      !(hasStoredNumbers && isWhole && ['year', 'language', 'duration'].includes(kind)),
      `${message}: ${kind} is stored`,
    )
    for (const [value, talks] of found) {
      const own = matching(records, { [kind]: value }).length
      assert.ok(talks > 0 && talks <= own, `${message}: ${kind} ${value} ${talks} of ${own}`)
      // Years are counted without the filter by year.
      if (kind !== 'year' || !params.year)
        assert.ok(talks <= total, `${message}: ${kind} ${value} ${talks} of ${total}`)
    }
  }
}
