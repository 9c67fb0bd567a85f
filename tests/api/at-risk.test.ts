import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type AtRiskReport,
  type Fact,
  maxAtRiskRows,
  type SourceState,
  type Video,
} from '@talkshelf/contract'
import { randomFrom } from '../../bench/records.ts'
import { atRiskCsv } from '../../server/exports/exports.ts'
import { readAtRisk } from '../../server/links/at-risk.ts'
import { listTalkRisks, openAtRiskReport } from '../../server/links/links.ts'
import { isLost, scanAtRisk, scanTalks } from '../support/at-risk-scan.ts'
import { startArchive } from '../support/harness.ts'
import { checkInvariants, withDatabase } from '../support/invariants.ts'
import { setSourceState } from '../support/source-states.ts'

// The report of what is at risk, its page and its table, compared with a plain scan of the records
// and facts.

const archive = await startArchive()
const { call, databaseUrl, editor: token, pool } = archive
const query = (text: string, values: unknown[] = []) =>
  withDatabase(databaseUrl, (run) => run(text, values))
const write = async (method: string, path: string, body: object, as = token) => {
  const reply = await call(method, `/api/v2/${path}`, { token: as, body })
  assert.ok(reply.status < 300, `${method} ${path}: ${reply.text}`)
  return reply.json
}
const readReport = () => openAtRiskReport(pool, () => assert.fail()).read()

/** Titles that spreadsheets would run as formulas, and a title that breaks a table. */
const events = ['Days 1', '=cmd|"/c calc"!A1', '+1 Days, with a comma', '"Quoted"\nlines', 'Days 5']
const random = randomFrom(20_261_119)
const draw = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T
const youtubeId = () =>
  Array.from({ length: 11 }, () => draw([...'abcdefghijklmnopqrstuvwxyz'])).join('')

/** URLs and who operates their host. Several are of one operator. */
const hosts: readonly (readonly [operator: string, url: (number: number) => string])[] = [
  ['youtube.com', () => `https://www.youtube.com/watch?v=${youtubeId()}`],
  ['youtube.com', () => `https://youtu.be/${youtubeId()}?t=3`],
  ['vimeo.com', (number) => `https://player.vimeo.com/video/${number}`],
  ['archive.org', (number) => `https://archive.org/details/item-${number}`],
  ['archive.org', (number) => `https://ia601.us.archive.org/3/items/x${number}/a.mp4`],
  ['example.org', (number) => `https://files.example.org/${number}.webm`],
  ['example.org', (number) => `http://EXAMPLE.org:8080/${number}.mp4`],
  ['example.ac.uk', (number) => `https://media.example.ac.uk/w/${number}`],
  ['team.github.io', (number) => `https://team.github.io/${number}.mp4`],
]
/** What can be no source. */
const nowhere = ['http://[::1]/a', 'https://localhost/a.mp4']

const used: { url: string; operator: string }[] = []
let drawn = 0
function drawUrl(): string {
  drawn++
  const number = drawn
  if (random() < 0.1) return draw(nowhere)
  // Some talks share a source.
  if (random() < 0.15 && used.length > 0) return draw(used).url
  const [operator, urlOf] = draw(hosts)
  const url = urlOf(number)
  used.push({ url, operator })
  return url
}

async function writeRandomTalk(number: number): Promise<number> {
  const url = (share: number) => (random() < share ? drawUrl() : null)
  const fields: Partial<Video> = {
    title: `Talk ${number}`,
    category: draw(events),
    state: random() < 0.15 ? 2 : 1,
    source_url: url(0.8),
    video_mp4_url: url(0.2),
    video_webm_url: url(0.1),
    video_ogv_url: url(0.1),
    video_flv_url: url(0.1),
  }
  const { id } = await archive.make(fields)
  const facts: Fact[] = []
  if (random() < 0.3) facts.push({ kind: 'media', url: drawUrl(), type: '', size: null })
  if (random() < 0.15) facts.push({ kind: 'part', url: drawUrl(), start: 5, end: null })
  if (random() < 0.2) facts.push({ kind: 'related', url: drawUrl(), label: 'Slides' })
  if (facts.length > 0) await write('PUT', `video/${id}/facts`, { facts })
  if (random() < 0.08)
    await write('POST', `video/${id}/takedown`, { reason: 'asked' }, archive.admin)
  return id
}

const states: readonly SourceState[] = [
  ...(['new', 'ok', 'ok', 'ok', 'suspect', 'unreachable', 'embed-off', 'region'] as const),
  ...(['age', 'moved', 'gone', 'private', 'removed', 'closed'] as const),
]

test('counts nothing in an empty archive', async () => {
  const report = await readReport()
  assert.deepEqual(report, {
    talks: 0,
    sources: 0,
    checked: 0,
    unavailable: 0,
    by_operators: [0, 1, 2, 3, 4].map((operators) => ({ operators, talks: 0 })),
    hosts: [],
    events: [],
    losses: [],
  })
})

test('is the same as a plain scan of random talks', async () => {
  for (const title of events) await write('POST', 'category', { title })
  const ids: number[] = []
  for (let number = 0; number < 180; number++) ids.push(await writeRandomTalk(number))
  const live = await query('select id::int from video where state = 1 and taken_down is null')
  for (let merges = 0; merges < 6; merges++) {
    const [kept, merged] = [live[merges * 2]?.id, live[merges * 2 + 1]?.id]
    await write('POST', `video/${merged}/merge`, { into: kept })
  }
  for (const { url } of used)
    await setSourceState(databaseUrl, url, draw(states), {
      since: `2026-0${1 + Math.floor(random() * 6)}-15T00:00:00Z`,
      lastGood: random() < 0.5 ? '2026-01-01T00:00:00Z' : null,
    }).catch((error: Error) => assert.match(error.message, /No talk has/))
  await query(`update source set last_check = null where state = 'new'`)
  await writeLosses()
  await writeManyOperators()
  const expected = await scanAtRisk(query)
  assert.equal(expected.hosts.length, maxAtRiskRows)
  assert.ok(expected.hosts.some(({ operator }) => operator === 'alone.example'))
  assert.ok(expected.unavailable > 5 && expected.losses.length > 3)
  for (const { operators, talks } of expected.by_operators.slice(0, 4))
    assert.ok(talks > 0, `no talk has ${operators} operators`)
  assert.deepEqual(await readReport(), expected)
  for (const batchSize of [1, 7, 100])
    assert.deepEqual(await readAtRisk(pool.lists, batchSize), expected)
  await checkInvariants(databaseUrl)
})

/** Lets sources of live talks, of drafts and of no talk go away and come back, in several months. */
async function writeLosses(): Promise<void> {
  const urlOf = (name: string) => `https://losses.example.net/${name}.mp4`
  await archive.make({ title: 'Lost', source_url: urlOf('shared') })
  await archive.make({ title: 'Draft of lost', source_url: urlOf('shared'), state: 2 })
  await archive.make({ title: 'Lost draft', source_url: urlOf('draft'), state: 2 })
  const replaced = await archive.make({ title: 'Replaced', source_url: urlOf('old') })
  const changes: [string, string, SourceState][] = [
    ['shared', '2024-11-30T23:59:59Z', 'gone'],
    ['shared', '2024-12-05T00:00:00Z', 'private'],
    ['shared', '2025-01-01T00:00:00Z', 'ok'],
    ['shared', '2025-02-01T00:00:00Z', 'region'],
    ['shared', '2025-03-01T00:00:00Z', 'removed'],
    ['draft', '2025-04-01T00:00:00Z', 'gone'],
    ['draft', '2025-05-01T00:00:00Z', 'ok'],
    ['old', '2025-03-02T00:00:00Z', 'closed'],
    ['shared', '2025-06-01T00:00:00Z', 'unreachable'],
  ]
  for (const [name, since, state] of changes)
    await setSourceState(databaseUrl, urlOf(name), state, { since })
  await write('PATCH', `video/${replaced.id}`, { source_url: urlOf('new') })
  const { losses } = await readReport()
  assert.deepEqual(
    losses.filter(({ month }) => month < '2026'),
    [
      { month: '2024-11', lost: 1, returned: 0 },
      { month: '2025-01', lost: 0, returned: 1 },
      { month: '2025-03', lost: 2, returned: 0 },
      { month: '2025-06', lost: 0, returned: 1 },
    ],
  )
}

/** Writes two talks that more operators have than are listed, and one that has its own. */
async function writeManyOperators(): Promise<void> {
  const facts = Array.from({ length: maxAtRiskRows }, (_, index) => ({
    kind: 'media',
    url: `https://operator${index}.example/a.mp4`,
    type: '',
    size: null,
  }))
  for (let copies = 0; copies < 2; copies++) {
    const { id } = await archive.make({ title: `At many operators ${copies}` })
    await write('PUT', `video/${id}/facts`, { facts })
  }
  await archive.make({ title: 'At its own', source_url: 'https://alone.example/a.mp4' })
}

/** Parses a table as RFC 4180 describes it. */
function parseTable(text: string): string[][] {
  const cells = text.matchAll(/("(?:[^"]|"")*"|[^",\r\n]*)(,|\r\n)/g)
  const rows: string[][] = [[]]
  for (const [, cell = '', end] of cells) {
    rows.at(-1)?.push(cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell)
    if (end !== ',') rows.push([])
  }
  return rows.slice(0, -1)
}

test('the table has one line for each live talk, and no formulas', async () => {
  const reply = await call('GET', '/at-risk.csv')
  assert.equal(reply.status, 200)
  assert.equal(reply.headers['content-type'], 'text/csv; charset=utf-8')
  const [head, ...rows] = parseTable(Buffer.from(reply.text, 'latin1').toString())
  assert.deepEqual(head, ['id', 'url', 'event', 'operators', 'unavailable_operators', 'state'])
  const talks = await scanTalks(query)
  const slugs = new Map(
    (await query('select id::int, slug from video')).map(({ id, slug }) => [id, slug]),
  )
  const sorted = (values: Iterable<string>) => [...values].sort().join(' ')
  assert.deepEqual(
    rows,
    talks.map((talk) => {
      const { id, event, available, unavailable } = talk
      const size = Math.min(available.size, 2)
      return [
        String(id),
        `${archive.url}/video/${id}/${slugs.get(id as never)}`,
        /^[=+]/.test(event) ? `'${event}` : event,
        sorted(available),
        sorted([...unavailable].filter((operator) => !available.has(operator))),
        [isLost(talk) ? 'unavailable' : 'no-source', 'one-operator', 'several-operators'][size],
      ]
    }),
  )
  const packed = await fetch(`${archive.url}/at-risk.csv`, {
    headers: { 'accept-encoding': 'gzip' },
  })
  assert.equal(packed.headers.get('content-encoding'), 'gzip')
  assert.equal(await packed.text(), Buffer.from(reply.text, 'latin1').toString())
  const head1 = await call('HEAD', '/at-risk.csv')
  assert.deepEqual([head1.status, head1.text], [200, ''])
})

test('the table is read in batches', async () => {
  const all = (await scanTalks(query)).map(({ id }) => id)
  const whole = await (await fetch(`${archive.url}/at-risk.csv`)).text()
  for (const size of [1, 10, all.length, 1000]) {
    const batches: number[][] = []
    for await (const batch of listTalkRisks(pool.lists, size))
      batches.push(batch.map(({ id }) => id))
    assert.deepEqual(batches.flat(), all)
    assert.equal(batches.length, Math.ceil(all.length / size))
    let text = ''
    for await (const lines of await atRiskCsv(pool.lists, archive.url, size)) text += lines
    assert.equal(text, whole)
  }
})

const decode = (html: string) =>
  Buffer.from(html, 'latin1').toString().replaceAll('&quot;', '"').replaceAll('&amp;', '&')

test('the page shows the figures of the report, and links to events and to the table', async () => {
  // The report of the server may be older.
  const { json: report } = await call('GET', '/api/v2/source/report')
  const { status, text } = await call('GET', '/at-risk', { headers: { accept: 'text/html' } })
  assert.equal(status, 200)
  const html = decode(text)
  const numbers = Array.from(
    html.matchAll(/<li><strong>([^<]+)<\/strong>/g),
    ([, number]) => number,
  )
  assert.deepEqual(
    numbers,
    [report.talks, report.by_operators[1].talks, report.unavailable, report.checked].map((value) =>
      value.toLocaleString('en'),
    ),
  )
  const rows = Array.from(html.matchAll(/<tr><th scope="row">(.*?)<\/tr>/gs), ([, row = '']) =>
    row
      .replaceAll(/<[^>]+>/g, ' ')
      .trim()
      .split(/ {2,}/),
  )
  assert.deepEqual(rows, [
    ...report.hosts.map(({ operator, talks, only, unavailable }: AtRiskReport['hosts'][0]) =>
      [operator, talks, only, unavailable].map(String),
    ),
    ...report.events.map(({ category, talks, single, unavailable }: AtRiskReport['events'][0]) =>
      [category.title, talks, single, unavailable].map(String),
    ),
    ...report.losses.map(({ month, lost, returned }: AtRiskReport['losses'][0]) =>
      [month, lost, returned].map(String),
    ),
  ])
  assert.equal(html.split('The table lists the first 50.').length, 2, 'of operators only')
  for (const { category } of report.events)
    assert.ok(html.includes(`href="/category/${category.id}/${category.slug}"`), category.title)
  assert.ok(html.includes('href="/at-risk.csv"'))
  const about = await call('GET', '/about', { headers: { accept: 'text/html' } })
  assert.ok(about.text.includes('<p class="facts"><a href="/at-risk">'))
  const spanish = await call('GET', '/at-risk', { headers: { 'accept-language': 'es' } })
  assert.match(decode(spanish.text), /Grabaciones en riesgo.*en un solo operador/s)
})
