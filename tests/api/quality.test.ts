import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import {
  isPlausibleDuration,
  type QualityFinding,
  sourceStates,
  type Video,
} from '@talkshelf/contract'
import { randomFrom } from '../../bench/records.ts'
import { proposeReplacement } from '../../server/links/links.ts'
import type { Db } from '../../server/platform/db/db.ts'
import { readFindings, readRules } from '../../server/quality/quality.ts'
import { ruleColumn } from '../../server/quality/rule.ts'
import { rules } from '../../server/quality/rules.ts'
import { category, type Reply, startArchive, type TestArchive } from '../support/harness.ts'
import { insertTalks } from '../support/insert-talks.ts'
import { checkInvariants, withDatabase } from '../support/invariants.ts'
import { untilWaiting } from '../support/writer.ts'

// Data-quality rules: the findings of each are those of a full scan of the records.

const archive = await startArchive()
const { editor: token } = archive
const get = (path: string) => archive.call('GET', path, { token })
const patch = (id: number, body: object) =>
  archive.call('PATCH', `/api/v2/video/${id}`, { token, body })
const makeCategory = (title: string, target = archive) =>
  target.call('POST', '/api/v2/category', { token: target.editor, body: { title } })
await makeCategory('Other Days')

let made = 0
/** Creates a record that breaks no rule, except by the given fields. */
function make(fields: Partial<Video> = {}): Promise<Video> {
  const number = ++made
  const rest = {
    summary: 'About it',
    copyright_text: 'CC BY 4.0',
    thumbnail_url: 'https://example.org/a.jpg',
    duration: 1815,
    recorded: '2026-05-01',
  }
  const unique = {
    title: `Talk ${number}`,
    speakers: [`Speaker ${number}`],
    source_url: `https://videos.example/${number}`,
  }
  return archive.make({ ...rest, ...unique, ...fields })
}

/** Returns the ids of the records of a finding, or its names. */
const subjectsOf = ({ records, names }: QualityFinding) =>
  (records.length > 0 ? records.map(({ id }) => id) : names.map(({ name }) => name)).sort()

async function pagesOf(
  start: string,
  direction: 'next' | 'previous',
  { url, call, editor }: TestArchive = archive,
) {
  const pages: QualityFinding[][] = []
  let last = start
  for (let path: string | undefined = start; path; ) {
    const { status, json, text }: Reply = await call('GET', path, { token: editor })
    assert.equal(status, 200, text)
    pages.push(json.results)
    last = path
    path = json[direction]?.slice(url.length)
  }
  return { pages, last }
}

async function findingsOf(rule: string, target = archive): Promise<QualityFinding[]> {
  return (await pagesOf(`/api/v2/quality/${rule}?cursor=`, 'next', target)).pages.flat()
}

// A second, plain implementation of the rules.
const fold = (text: string) => text.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase()
const personKey = (name: string) =>
  fold(name)
    .replace(/^((dr|prof|professor)(\. *| +))+/, '')
    .replaceAll(/[\p{P}\p{S}\s]/gu, '')
const tagKey = (name: string) => fold(name).replaceAll(/^#|[\s.,:;/'"()!?_-]/g, '')
const isBlank = (text: string | null) => (text ?? '').trim() === ''
const inMinutes = (duration: number) =>
  duration > 0 && duration <= 200 && (duration <= 30 || duration % 5 === 0)

function groups<T>(items: readonly T[], key: (item: T) => string): T[][] {
  return [...Map.groupBy(items, key)].flatMap(([key, group]) =>
    key !== '' && group.length > 1 ? [group] : [],
  )
}
const idsOf = (videos: readonly Video[]) => videos.map(({ id }) => id)
const oneEach = (videos: readonly Video[]) => idsOf(videos).map((id) => [id])

interface ScannedLink {
  readonly video: number
  readonly source: number
  readonly state: string
  readonly operator: string
}
interface Scanned {
  readonly links: readonly ScannedLink[]
  /** Ids of the records of open replacements. */
  readonly copies: readonly number[]
}
const idsByKey = <T extends { video: number }>(items: readonly T[], key: (item: T) => unknown) =>
  [...Map.groupBy(items, key).values()].map((group) => group.map(({ video }) => video))
const isMissing = ({ state }: ScannedLink) =>
  ['gone', 'private', 'removed', 'closed', 'unreachable'].includes(state)
const inState = ({ links }: Scanned, states: readonly string[]) =>
  idsByKey(
    links.filter(({ state }) => states.includes(state)),
    ({ source }) => source,
  )

const scans: Record<string, (videos: readonly Video[], scanned: Scanned) => (number | string)[][]> =
  {
    'no-speaker': (all) => oneEach(all.filter(({ speakers }) => speakers.length === 0)),
    'no-licence': (all) => oneEach(all.filter(({ copyright_text }) => isBlank(copyright_text))),
    'no-duration': (all) => oneEach(all.filter(({ duration }) => !duration)),
    'duration-in-minutes': (all) => oneEach(all.filter(({ duration }) => inMinutes(duration ?? 0))),
    'duration-too-long': (all) =>
      oneEach(all.filter(({ duration }) => !isPlausibleDuration(duration ?? 0))),
    'no-date': (all) => oneEach(all.filter(({ recorded }) => recorded === null)),
    'no-description': (all) =>
      oneEach(all.filter(({ summary, description }) => isBlank(summary) && isBlank(description))),
    'no-thumbnail': (all) => oneEach(all.filter(({ thumbnail_url }) => isBlank(thumbnail_url))),
    'speaker-spellings': (all) =>
      groups([...new Set(all.flatMap(({ speakers }) => speakers))], personKey),
    'tag-spellings': (all) => groups([...new Set(all.flatMap(({ tags }) => tags))], tagKey),
    'same-source': (all) => groups(all, ({ source_url }) => source_url ?? '').map(idsOf),
    'same-talk': (all) =>
      groups(
        all.filter(({ speakers }) => speakers.length > 0),
        ({ title, speakers }) => JSON.stringify([fold(title), [...speakers].sort()]),
      )
        .filter((group) => new Set(group.map(({ category }) => category)).size > 1)
        .map(idsOf),
    'source-away': (_, scanned) => inState(scanned, ['gone', 'private', 'removed', 'closed']),
    'source-suspect': (_, scanned) => inState(scanned, ['suspect']),
    'one-host': (all, { links }) =>
      oneEach(
        all.filter(({ id, state }) => {
          const own = links.filter((link) => link.video === id && !isMissing(link))
          return state === 1 && new Set(own.map(({ operator }) => operator)).size === 1
        }),
      ),
    'replacement-open': (_, { copies }) => copies.map((id) => [id]),
  }

async function scanLinks({ databaseUrl }: TestArchive): Promise<Scanned> {
  return withDatabase(databaseUrl, async (query) => ({
    links: (await query(
      `select video_id::int as video, source_id::int as source, source.state, operator
       from video_source, source, video
       where source.id = source_id and video.id = video_id and taken_down is null`,
    )) as unknown as ScannedLink[],
    copies: (await query(`select video_id::int as id from replacement where state = 'open'`)).map(
      ({ id }) => Number(id),
    ),
  }))
}

async function everyRecord({ databaseUrl, call, editor }: TestArchive): Promise<Video[]> {
  const rows = await withDatabase(databaseUrl, (query) =>
    query('select id from video where taken_down is null'),
  )
  return Promise.all(
    rows.map(async ({ id }) => (await call('GET', `/api/v2/video/${id}`, { token: editor })).json),
  )
}

/** Asserts that every rule finds what a scan finds. Returns the number of findings by rule. */
async function compare(target = archive): Promise<Record<string, number>> {
  const all = await everyRecord(target)
  const links = await scanLinks(target)
  const { json } = await target.call('GET', '/api/v2/quality', { token: target.editor })
  const counts: Record<string, number> = {}
  for (const { rule, count, records } of json.results) {
    assert.equal(records, `${target.url}/api/v2/quality/${rule}`)
    const findings = await findingsOf(rule, target)
    const text = (findings: (number | string)[][]) =>
      findings.map((subjects) => JSON.stringify([...subjects].sort())).sort()
    assert.deepEqual(text(findings.map(subjectsOf)), text(scans[rule]?.(all, links) ?? []), rule)
    assert.equal(count, findings.length, rule)
    counts[rule] = count
  }
  assert.deepEqual(Object.keys(counts), Object.keys(scans))
  return counts
}

interface Case {
  readonly broken: Partial<Video>[]
  /** The change that fixes the broken records. */
  readonly fixed: Partial<Video>
  /** Records that the rule must not report. */
  readonly fine?: Partial<Video>[]
  readonly value?: string | number | null
}

const cases: Record<string, Case> = {
  'no-speaker': { broken: [{ speakers: [] }], fixed: { speakers: ['Ada'] } },
  'no-licence': { broken: [{ copyright_text: ' \n\t' }], fixed: { copyright_text: 'CC0' } },
  'no-duration': { broken: [{ duration: 0 }], fixed: { duration: 201 }, value: 0 },
  'duration-in-minutes': {
    broken: [{ duration: 45 }],
    fixed: { duration: 2700 },
    fine: [{ duration: 31 }, { duration: 199 }, { duration: 205 }],
    value: 45,
  },
  'duration-too-long': {
    broken: [{ duration: 3_060_760 }],
    fixed: { duration: 3061 },
    fine: [{ duration: 21_600 }],
    value: 3_060_760,
  },
  'no-date': { broken: [{ recorded: null }], fixed: { recorded: '2026-05-01' } },
  'no-description': {
    broken: [{ summary: ' ', description: '\r\n' }],
    fixed: { description: 'Words' },
    fine: [{ summary: '', description: 'Words' }],
  },
  'no-thumbnail': {
    broken: [{ thumbnail_url: '' }],
    fixed: { thumbnail_url: 'https://example.org/b.jpg' },
  },
  'speaker-spellings': {
    broken: [{ speakers: ['Dr. Zoë  Ångström-Li'] }, { speakers: ['zoe angstrom li'] }],
    fixed: { speakers: ['zoe angstrom li'] },
    fine: [
      { speakers: ['Zoe Angstrom'] },
      { speakers: ['Драгомир'] },
      { speakers: ['Dragan'] },
      { speakers: ['!'] },
      { speakers: ['?'] },
    ],
    value: 'zoeangstromli',
  },
  'tag-spellings': {
    broken: [
      { tags: ['Machine-Learning'] },
      { tags: ['machine learning'] },
      { tags: ['#machinelearning'] },
    ],
    fixed: { tags: [] },
    fine: [{ tags: ['c', 'c++', 'c#', 'go'] }],
    value: 'machinelearning',
  },
  'same-source': {
    broken: [
      { source_url: 'https://videos.example/same?a=1' },
      { source_url: 'https://videos.example/same?a=1' },
    ],
    fixed: { source_url: null },
    fine: [
      { source_url: '' },
      { source_url: '' },
      { source_url: 'https://videos.example/same?a=2' },
    ],
    value: 'https://videos.example/same?a=1',
  },
  'same-talk': {
    broken: [
      { title: 'Café talk', speakers: ['Bo', 'Cy'] },
      { title: 'CAFE TALK', speakers: ['Cy', 'Bo'], category: 'Other Days' },
    ],
    fixed: { category: 'Other Days' },
    fine: [
      { title: 'Café talk', speakers: ['Bo'] },
      { title: 'Opening', speakers: [] },
      { title: 'Opening', speakers: [], category: 'Other Days' },
    ],
    value: 'Café talk',
  },
}

for (const [rule, { broken, fixed, fine = [], value = null }] of Object.entries(cases))
  test(`reports ${rule} exactly for the records that break it`, async () => {
    const videos: Video[] = []
    for (const fields of broken) videos.push(await make(fields))
    for (const fields of fine) videos.push(await make(fields))
    const [finding, ...more] = await findingsOf(rule)
    assert.ok(finding, 'no finding')
    assert.equal(finding.value, value)
    assert.equal(finding.count, broken.length)
    if (finding.records.length > 0) {
      const expected = videos.slice(0, broken.length).map(({ id, title, category, state }) => {
        return { id, title, category, state, address: `${archive.url}/api/v2/video/${id}` }
      })
      assert.deepEqual(finding.records, expected)
    } else
      assert.deepEqual(
        subjectsOf(finding),
        broken.flatMap(({ speakers, tags }) => speakers ?? tags ?? []).sort(),
      )
    assert.deepEqual(more, [])
    await compare()
    for (const { id } of videos.slice(0, broken.length)) await patch(id, fixed)
    for (const { id } of videos.slice(broken.length))
      await patch(id, { speakers: [`Speaker of ${id}`] })
    assert.deepEqual(await findingsOf(rule), [])
    await compare()
  })

test('lists the most used spelling first with its talks', async () => {
  await make({ tags: ['data base'] })
  await make({ tags: ['database'] })
  await make({ tags: ['database'] })
  const [finding] = await findingsOf('tag-spellings')
  assert.deepEqual(
    finding?.names.map(({ name, slug, talks }) => [name, slug, talks]),
    [
      ['database', 'database', 2],
      ['data base', 'data-base', 1],
    ],
  )
})

test('reports drafts but no taken-down records', async () => {
  const fields = {
    copyright_text: '',
    source_url: 'https://videos.example/draft',
    tags: ['draft'],
    title: 'Twice',
    speakers: ['Eve'],
  }
  const draft = await make({ ...fields, state: 2 })
  const other = await make({ ...fields, tags: ['Draft'], state: 2, category: 'Other Days' })
  for (const rule of ['no-licence', 'same-source', 'same-talk']) {
    const drafts = (await findingsOf(rule))
      .flatMap(({ records }) => records)
      .filter(({ id }) => id === draft.id)
    assert.equal(drafts[0]?.state, 2, rule)
  }
  const spellings = (await findingsOf('tag-spellings')).map(({ names }) =>
    names.map(({ name, talks }) => [name, talks]),
  )
  assert.deepEqual(spellings[1], [
    ['draft', 0],
    ['Draft', 0],
  ])
  await compare()
  await archive.call('POST', `/api/v2/video/${other.id}/takedown`, {
    token: archive.admin,
    body: { reason: 'asked for' },
  })
  for (const rule of rules)
    assert.ok(
      !(await findingsOf(rule.rule)).some(({ records }) =>
        records.some(({ id }) => id === other.id),
      ),
    )
  assert.equal((await findingsOf('tag-spellings')).length, 1)
  await compare()
})

test('requires a token and returns 404 for an unknown rule', async () => {
  for (const path of ['/api/v2/quality', '/api/v2/quality/no-licence']) {
    assert.equal((await archive.call('GET', path)).status, 401)
    const { headers } = await get(path)
    assert.equal(headers['cache-control'], 'private, no-store')
    assert.equal(
      (
        await archive.call('GET', path, {
          token,
          headers: { 'if-none-match': String(headers.etag) },
        })
      ).status,
      304,
    )
  }
  for (const rule of ['no-such-rule', 'constructor'])
    assert.equal((await get(`/api/v2/quality/${rule}`)).status, 404)
})

test('paginates findings by page and by cursor in both directions', async () => {
  for (let number = 0; number < 11; number++) {
    await make({
      thumbnail_url: null,
      tags: [`page-${number}`],
      source_url: `https://pages.example/${number}`,
    })
    await make({ tags: [`page ${number}`], source_url: `https://pages.example/${number}` })
  }
  for (const rule of ['no-thumbnail', 'tag-spellings', 'same-source']) {
    const all = (await get(`/api/v2/quality/${rule}?page_size=100`)).json
    assert.ok(all.count >= 11 && all.results.length === all.count)
    const path = `/api/v2/quality/${rule}?page_size=4`
    assert.deepEqual((await pagesOf(path, 'next')).pages.flat(), all.results)
    const forth = await pagesOf(`${path}&cursor=`, 'next')
    assert.deepEqual(forth.pages.flat(), all.results)
    assert.deepEqual((await pagesOf(forth.last, 'previous')).pages.reverse().flat(), all.results)
    assert.equal((await get(`${path}&page=40`)).status, 404)
    const wrong = [
      'page=0',
      'page=9999',
      'q=x',
      'cursor=xyz',
      `cursor=${cursor('no-licence', '1')}`,
    ]
    if (rule !== 'tag-spellings')
      wrong.push(`cursor=${cursor(rule, 'x')}`, `cursor=${cursor(rule, '9007199254740992')}`)
    for (const query of wrong)
      assert.equal((await get(`/api/v2/quality/${rule}?${query}`)).status, 400, query)
  }
})

function cursor(ordering: string, key: string): string {
  return Buffer.from(JSON.stringify({ ordering, way: 'next', keys: [key] })).toString('base64url')
}

test('visits every finding once while an editor fixes them page by page', async () => {
  for (const rule of ['no-thumbnail', 'same-source']) {
    const all = (await findingsOf(rule)).map(subjectsOf)
    const visited: ReturnType<typeof subjectsOf>[] = []
    for (let path: string | undefined = `/api/v2/quality/${rule}?page_size=3&cursor=`; path; ) {
      const { json }: Reply = await get(path)
      for (const { records } of json.results as QualityFinding[])
        for (const { id } of records)
          await patch(id, { thumbnail_url: 'https://example.org/c.jpg', source_url: null })
      visited.push(...json.results.map(subjectsOf))
      path = json.next?.slice(archive.url.length)
    }
    assert.deepEqual(visited, all)
    assert.deepEqual(await findingsOf(rule), [])
  }
})

test('detects two records with the same source that are written concurrently', async () => {
  const [one, two] = [await make(), await make()]
  const source_url = 'https://videos.example/at-once'
  const set = (video: Video, to = source_url) =>
    `update video set source_url = '${to}' where id = ${video.id}`
  const { databaseUrl } = archive
  await withDatabase(databaseUrl, (first) =>
    withDatabase(databaseUrl, async (second) => {
      for (const query of [first, second]) await query('begin')
      await first(set(one))
      const write = second(set(two))
      await untilWaiting(first, 1, [write])
      await first('commit')
      await write
      await second('commit')
    }),
  )
  const findings = (await findingsOf('same-source')).filter(({ value }) => value === source_url)
  assert.deepEqual(findings.map(subjectsOf), [[one.id, two.id]])
  await withDatabase(databaseUrl, async (query) => {
    for (const video of [one, two]) await query(set(video, String(video.source_url)))
  })
})

test('rebuilds the same duplicate candidates without the fixed ones', async () => {
  const before = await compare()
  await withDatabase(archive.databaseUrl, async (query) => {
    const candidates = (await query('select from duplicate_candidate')).length
    await query('select rebuild_fingerprints()')
    assert.ok((await query('select from duplicate_candidate')).length < candidates)
  })
  assert.deepEqual(await compare(), before)
  await checkInvariants(archive.databaseUrl)
})

test('reports the same as a full scan after random writes', async () => {
  const random = randomFrom(20261116)
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T
  const randomSubset = <T>(from: readonly T[]): T[] => from.filter(() => random() < 0.3)
  const fields = (): Partial<Video> => ({
    title: pick(['One', 'Öne', 'Two', 'Three', 'Four']),
    category: pick([category, 'Other Days']),
    speakers: randomSubset(['Ann Li', 'ann-li', 'Prof. Dr. Ann Li', 'Ben', 'BEN']),
    tags: randomSubset(['web', 'Web', 'we-b', 'x.y', 'xy']),
    summary: pick(['', 'Words']),
    description: pick(['', ' ', 'Words']),
    copyright_text: pick(['', 'CC0']),
    thumbnail_url: pick([null, '', 'https://example.org/d.jpg']),
    duration: pick([null, 0, 1, 29, 30, 31, 90, 91, 200, 201, 1800, 21_600, 21_601]),
    recorded: pick([null, '2026-05-01']),
    source_url: pick([
      null,
      '',
      'https://videos.example/x',
      'https://videos.example/y',
      'https://videos.example/X',
    ]),
    state: pick([1, 2]),
  })
  const ids: number[] = []
  const violatedRules = new Set<string>()
  for (let round = 0; round < 6; round++) {
    await Promise.all(
      Array.from({ length: 20 }, async () => {
        if (ids.length < 20 || random() < 0.3) ids.push((await archive.make(fields())).id)
        else if (random() < 0.9)
          await patch(pick(ids), Object.fromEntries(randomSubset(Object.entries(fields()))))
        else
          await archive.call('POST', `/api/v2/video/${pick(ids)}/takedown`, {
            token: archive.admin,
            body: { reason: 'asked' },
          })
      }),
    )
    await withDatabase(archive.databaseUrl, async (query) => {
      await query('update source set state = $1 where id % 3 = $2', [pick(sourceStates), round % 3])
      await query(`update source set state = 'private' where id % 7 = $1`, [round])
    })
    for (const source of [1, 2, 3])
      await proposeReplacement(archive.pool, {
        source,
        url: `https://copies.example/${round}`,
        finder: 'wayback',
        evidence: null,
      })
    for (const [rule, count] of Object.entries(await compare()))
      if (count > 0) violatedRules.add(rule)
  }
  assert.deepEqual(
    [...violatedRules].sort(),
    Object.keys(scans).sort(),
    'every rule found something',
  )
  await checkInvariants(archive.databaseUrl)
})

test('uses an index for every rule and writes no index if no rule is affected', async () => {
  const statements: { text: string; values: unknown[] }[] = []
  const { searches } = archive.pool
  const recordingDb: Db = {
    run: ({ text, values }) => {
      statements.push({ text, values })
      return searches.run({ text, values } as Parameters<Db['run']>[0])
    },
  }
  await readRules(recordingDb)
  for (const { rule } of rules)
    for (const direction of ['next', 'previous'] as const) {
      const from = Buffer.from(
        JSON.stringify({ ordering: rule, way: direction, keys: ['5'] }),
      ).toString('base64url')
      await readFindings(recordingDb, rule, { cursor: from }, String)
    }
  const { id } = await make()
  const recordIndexes = rules.flatMap((rule) =>
    rule.finds === 'records' ? `video_${ruleColumn(rule)}\\b` : [],
  )
  const usesRuleIndex = new RegExp(
    [
      ...recordIndexes,
      'video_same_\\w+.*duplicate_candidate_pkey',
      'duplicate_candidate_pkey.*video_same_',
      '(speaker|tag)_by_spelling',
      'source_by_state',
      'video_source_pkey',
      'replacement_open',
      // The number of talks, of which the statistics are asked.
      '"Plan Rows"',
    ].join('|'),
  )
  await withDatabase(archive.databaseUrl, async (query) => {
    // PostgreSQL scans small tables sequentially; without that it shows whether an index would do.
    await query('set enable_seqscan = off')
    for (const { text, values } of statements) {
      const plan = JSON.stringify(await query(`explain ${text}`, values))
      assert.doesNotMatch(plan, /Seq Scan/, text)
      assert.match(plan, usesRuleIndex, text)
    }
    const updates = async () => {
      await query('select pg_stat_force_next_flush()')
      await query('select pg_stat_clear_snapshot()')
      const [row] = await query(
        `select n_tup_upd - n_tup_hot_upd as written
         from pg_stat_user_tables
         where relname = 'video'`,
      )
      return Number(row?.written)
    }
    const change = (set: string) => query(`update video set ${set} where id = ${id}`)
    await query('vacuum full video')
    const before = await updates()
    await change(
      `summary = 'Other words', description = 'More', copyright_text = 'CC0',
       thumbnail_url = 'https://example.org/e.jpg'`,
    )
    assert.equal(await updates(), before)
    await change(`copyright_text = ''`)
    assert.equal(await updates(), before + 1)
    await change(
      `summary = 'About it', description = '', copyright_text = 'CC BY 4.0',
       thumbnail_url = 'https://example.org/a.jpg'`,
    )
  })
})

test('reports sources and copies with their records, and follows each change', async () => {
  const source_url = 'https://lost.example/shared.mp4'
  const [first, draft] = [await make({ source_url }), await make({ source_url, state: 2 })]
  const setState = (state: string) =>
    withDatabase(archive.databaseUrl, (query) =>
      query('update source set state = $1 where url = $2', [state, source_url]),
    )
  const found = async (rule: string) =>
    (await findingsOf(rule)).filter(({ value }) => value === source_url)
  for (const [state, rule] of [
    ['gone', 'source-away'],
    ['suspect', 'source-suspect'],
  ] as const) {
    await setState(state)
    const [finding, ...more] = await found(rule)
    assert.deepEqual(more, [])
    assert.equal(finding?.count, 2)
    assert.deepEqual(subjectsOf(finding), [first.id, draft.id])
    await setState('ok')
    assert.deepEqual(await found(rule), [])
  }
  const single = async () =>
    (await findingsOf('one-host')).find(({ records }) => records[0]?.id === first.id)
  for (const state of ['ok', 'embed-off', 'region']) {
    await setState(state)
    assert.equal((await single())?.value, 'lost.example', state)
  }
  for (const state of ['private', 'unreachable']) {
    await setState(state)
    assert.equal(await single(), undefined, 'no operator has it')
  }
  await setState('private')
  const { id: source } = (await get(`/api/v2/video/${first.id}/sources`)).json.results[0]
  const url = 'https://copies.example/shared.mp4'
  await proposeReplacement(archive.pool, { source, url, finder: 'wayback', evidence: null })
  const copies = (await findingsOf('replacement-open')).filter(({ value }) => value === url)
  assert.deepEqual(
    copies.map(({ records }) => records[0]?.id),
    [first.id, draft.id],
  )
  for (const video of [first, draft]) await patch(video.id, { source_url: url })
  assert.equal((await single())?.value, 'copies.example')
  assert.deepEqual(
    (await findingsOf('replacement-open')).filter(({ value }) => value === url),
    [],
  )
  await compare()
})

test('scans talks in batches for those at one host', async () => {
  const large = await startArchive()
  await withDatabase(large.databaseUrl, async (query) => {
    await insertTalks(query, 900, `'Talk ' || n`)
    await query(`update video set source_url = 'https://one.example/' || id where id % 40 = 0`)
  })
  const before = await findingsOf('one-host', large)
  assert.ok(before.length > 15 && before.length < 30, String(before.length))
  const path = '/api/v2/quality/one-host?page_size=7'
  for (const start of [path, `${path}&cursor=`])
    assert.deepEqual((await pagesOf(start, 'next', large)).pages.flat(), before)
  const { last } = await pagesOf(`${path}&cursor=`, 'next', large)
  assert.deepEqual((await pagesOf(last, 'previous', large)).pages.reverse().flat(), before)
  assert.equal((await get('/api/v2/quality/one-host')).status, 200)
})

test('lists the first 100 records of a large group and counts all', async () => {
  const source_url = 'https://videos.example/many'
  const ids: number[] = []
  for (let number = 0; number < 103; number++) ids.push((await make({ source_url })).id)
  const finding = (await findingsOf('same-source')).find(({ value }) => value === source_url)
  assert.equal(finding?.count, 103)
  assert.deepEqual(
    finding.records.map(({ id }) => id),
    ids.slice(0, 100),
  )
})

const file = fileURLToPath(new URL('../../../shared/data/pyvideo-sample.ndjson', import.meta.url))
const skip = existsSync(file) ? false : 'the records are not at hand'

test('reports the same as a full scan for 200 real records', {
  skip,
  timeout: 300_000,
}, async (t) => {
  const real = await startArchive()
  const lines = readFileSync(file, 'utf8').trim().split('\n')
  assert.equal(lines.length, 200)
  const records = lines.map((line) => JSON.parse(line))
  for (const title of new Set(records.map((record) => record.category_title)))
    await makeCategory(title, real)
  for (const record of records)
    await real.make({
      title: record.title,
      category: record.category_title,
      language: record.language || 'eng',
      speakers: record.speakers.filter((name: string) => name.trim() !== ''),
      tags: record.tags ?? [],
      summary: record.summary ?? '',
      description: record.description ?? '',
      copyright_text: record.copyright_text ?? '',
      duration: typeof record.duration === 'number' ? Math.round(record.duration) : null,
      thumbnail_url: record.thumbnail_url ?? null,
      source_url: record.videos[0].url ?? null,
    })
  for (const [rule, count] of Object.entries(await compare(real))) t.diagnostic(`${rule}: ${count}`)
})
