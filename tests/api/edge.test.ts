import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { type Endpoint, endpoints, listChangesEndpoint, streamEndpoints } from '@talkshelf/contract'
import { createAdapter } from '../../server/edge/adapters.ts'
import { maxBehind, startPurger } from '../../server/edge/purger.ts'
import { createEdgeHeaders, parseEdgeTarget } from '../../server/edge/target.ts'
import { recordPolicy } from '../../server/platform/http/edge-policy.ts'
import { freshDatabase } from '../support/database.ts'
import { openArchive, type Reply, startArchive } from '../support/harness.ts'
import { withDatabase } from '../support/invariants.ts'
import { type PurgeServer, startPurgeServer } from '../support/purge-server.ts'
import { until } from '../support/until.ts'

// The headers for an edge cache, and the purges that follow changes.

const receiver = await startPurgeServer()
after(() => receiver.stop())
const settings = {
  EDGE: `post:${receiver.url}/purge`,
  EDGE_TOKEN: 'token of the tests'.replaceAll(' ', '-'),
  // The last repetition is two seconds later.
  ANSWER_SECONDS: '5',
}
const archive = await startArchive(settings)
const plain = await startArchive()
const { editor, admin } = archive

const talk = await archive.make({
  title: 'Shelves',
  speakers: ['Ada Example'],
  tags: ['wood'],
  source_url: 'https://www.youtube.com/watch?v=dQw4w9WgXcQ',
})
const other = await archive.make({ title: 'Drawers', speakers: ['Bo Example'] })
const draft = await archive.make({ title: 'Secret', state: 2 })

const html = { accept: 'text/html,application/xhtml+xml' }
const read = (path: string, headers: Record<string, string> = {}) =>
  archive.call('GET', path, { headers })

/** Returns what an edge cache sees: max-age, stale-if-error, and keys without the common ones. */
function policyOf({ headers }: Reply) {
  const control = String(headers['cdn-cache-control'])
  if (control === 'no-store') {
    assert.equal(headers.xkey, undefined)
    return 'no-store'
  }
  const [, seconds, , stale] = /^max-age=(\d+)(, stale-if-error=(\d+))?$/.exec(control) ?? []
  const keys = String(headers.xkey).split(' ')
  assert.equal(keys[0], 'all')
  assert.match(String(keys[1]), /^r-[0-9a-f]{8}$/)
  return { seconds: Number(seconds), stale: Number(stale ?? 0), keys: keys.slice(2).sort() }
}

const idOf = async (kind: string, slug: string) =>
  (await read(`/api/v2/${kind}/${slug}`)).json.id as number
const category = await idOf('category', 'example-days-2026')
const speaker = await idOf('speaker', 'ada-example')
const tag = await idOf('tag', 'wood')
const [day, week] = [86_400, 604_800]

test('tells the edge how long it may keep each kind of response, and by which keys', async () => {
  const v = `v${talk.id}`
  const path = `/video/${talk.id}/${talk.slug}`
  for (const [url, expected] of Object.entries({
    [`/api/v2/video/${talk.id}`]: { seconds: day, stale: week, keys: [v] },
    [`/api/v2/video/${talk.id}?format=json`]: { seconds: day, stale: week, keys: [v] },
    '/api/v2/speaker/ada-example': { seconds: day, stale: week, keys: [`s${speaker}`] },
    '/api/v2/tag/wood': { seconds: day, stale: week, keys: [`t${tag}`] },
    '/api/v2/category/example-days-2026': { seconds: day, stale: week, keys: [`c${category}`] },
    '/api/v2/video?speaker=ada-example': { seconds: day, stale: week, keys: [`s${speaker}`, v] },
    '/api/v2/video?speaker=ada-example&page_size=5&ordering=title': {
      seconds: day,
      stale: week,
      keys: [`s${speaker}`, v],
    },
    '/api/v2/video?speaker=ada-example&year=2020': { seconds: 10, stale: 0, keys: [] },
    '/api/v2/video?q=shelves': { seconds: 10, stale: week, keys: [v] },
    '/api/v2/video?tag=nothing': { seconds: 10, stale: 0, keys: [] },
    '/api/v2/speaker': { seconds: 10, stale: 0, keys: [] },
    '/api/v2/suggest?q=sh': { seconds: 10, stale: 0, keys: [] },
    '/api/v2/video/999': { seconds: 10, stale: 0, keys: ['v999'] },
    [`/api/v2/video/${draft.id}`]: { seconds: 10, stale: 0, keys: [`v${draft.id}`] },
    '/video/999/x': { seconds: 10, stale: 0, keys: ['v999'] },
    '/speaker/999/x': { seconds: 10, stale: 0, keys: ['s999'] },
    '/nowhere': { seconds: 10, stale: 0, keys: [] },
    '/search/rss?q=shelves': { seconds: 10, stale: week, keys: [v] },
    [`/picture/${talk.id}/320`]: { seconds: 300, stale: 0, keys: [v] },
    [`/embed/${talk.id}`]: { seconds: day, stale: week, keys: [v, v] },
    '/edge/canary': { seconds: day, stale: 0, keys: ['canary'] },
  })) {
    const reply = await read(url)
    const policy = policyOf(reply)
    // A cover that was generated at once may be kept longer.
    if (url.startsWith('/picture') && policy !== 'no-store')
      assert.deepEqual(policy.keys, expected.keys)
    else assert.deepEqual(policy, { ...expected, keys: expected.keys.sort() }, url)
  }
  const facts = policyOf(await read(`/api/v2/video/${talk.id}/facts`))
  assert.deepEqual(facts, { seconds: day, stale: week, keys: [v, v] })

  const page = policyOf(await read(path, html))
  // It has no similar talks, as while the database is overloaded.
  assert.ok(page !== 'no-store' && page.seconds === 60 && page.stale === week)
  for (const key of [v, `v${other.id}`, `c${category}`, `s${speaker}`, `t${tag}`])
    assert.ok(page.keys.includes(key), `${key} is not in ${page.keys}`)
  const search = policyOf(await read('/search?q=shelves', html))
  assert.ok(search !== 'no-store' && search.seconds === 10 && search.keys.includes(v))
  const home = policyOf(await read('/', html))
  assert.ok(home !== 'no-store' && home.seconds === 10)
  const ofSpeaker = policyOf(await read(`/speaker/${speaker}/ada-example`, html))
  assert.ok(ofSpeaker !== 'no-store' && ofSpeaker.seconds === day)
  assert.ok(ofSpeaker.keys.includes(`s${speaker}`) && ofSpeaker.keys.includes(v))
  // Dates of an event without its own ones are a minute old.
  const event = policyOf(await read(`/category/${category}/example-days-2026`, html))
  assert.ok(event !== 'no-store' && event.seconds === 60 && event.keys.includes(`c${category}`))
})

test('lets the edge keep full pages of the change feed, and no others', async () => {
  await until('the feed', async () => (await read('/api/v2/changes')).json.results.length > 4)
  const fixed = policyOf(await read('/api/v2/changes?since=0&limit=2'))
  assert.deepEqual(fixed, { seconds: 3600, stale: 0, keys: ['changes'] })
  for (const query of ['since=now', 'since=0&limit=2&wait=1', 'since=0&limit=2&include=record', ''])
    assert.equal(policyOf(await read(`/api/v2/changes?${query}`)), 'no-store', query)
  assert.equal(policyOf(await read('/api/v2/changes/stream')), 'no-store')
})

test('lets the edge keep nothing that is for one reader', async () => {
  const paths = [
    `/api/v2/video/${talk.id}`,
    `/api/v2/video/${draft.id}`,
    '/api/v2/video',
    '/api/v2/video/999',
    '/api/v2/changes?since=0&limit=2',
    `/video/${talk.id}/${talk.slug}`,
    '/',
    '/nowhere',
  ]
  for (const path of paths)
    for (const headers of [
      { authorization: `Token ${editor}` },
      { authorization: 'Token wrong' },
      { cookie: 'theme=dark' },
      { cookie: 'locale=es' },
      { cookie: 'desk=secret' },
      { cookie: 'tracker=1' },
    ] as Record<string, string>[])
      assert.equal(
        policyOf(await read(path, headers)),
        'no-store',
        `${path} ${Object.keys(headers)}`,
      )
  for (const path of ['/desk', '/desk/sign-in', '/desk/talk/1', '/prefer?theme=dark'])
    assert.equal(policyOf(await read(path, html)), 'no-store', path)
  const streams = Object.values(streamEndpoints).map(({ path }) => path)
  for (const path of [...streams, '/healthz', '/readyz', '/metrics'])
    if (path !== listChangesEndpoint.path)
      assert.equal(policyOf(await read(path)), 'no-store', path)
})

test('lets the edge keep no response to a write, and none that needs a role', async () => {
  const all: readonly Endpoint[] = Object.values(endpoints)
  for (const { method, path, role } of all) {
    if (method === 'GET' && role === 'anyone') continue
    const url = path.replaceAll(/\{\w+\}/g, '1')
    const reply = await archive.call(method, url, method === 'GET' ? {} : { body: {} })
    assert.ok(reply.status >= 400, `${method} ${url}`)
    // A missing resource is the same for all.
    if (method === 'GET' && reply.status === 404) continue
    assert.equal(policyOf(reply), 'no-store', `${method} ${url}`)
  }
})

test('sends no header for an edge without EDGE', async () => {
  const { id, slug } = await plain.make({ title: 'Plain' })
  for (const path of [
    `/api/v2/video/${id}`,
    '/api/v2/video',
    `/video/${id}/${slug}`,
    '/',
    '/nowhere',
  ])
    for (const [name] of Object.entries((await plain.call('GET', path, { headers: html })).headers))
      assert.doesNotMatch(name, /cdn|xkey|surrogate|cache-tag/, path)
  assert.equal((await plain.call('GET', '/edge/canary')).status, 404)
})

test('sends the same headers to browsers with and without EDGE', async () => {
  const { id } = await plain.make({ title: talk.title })
  const pairs = [
    [`/api/v2/video/${talk.id}`, `/api/v2/video/${id}`, 'public, no-cache'],
    ['/', '/', 'private, no-cache'],
    ['/nowhere', '/nowhere', 'private, no-store'],
  ] as const
  for (const [path, plainPath, expected] of pairs) {
    const headers = path.startsWith('/api') ? {} : html
    const reply = await plain.call('GET', plainPath, { headers })
    assert.equal((await read(path, headers)).headers['cache-control'], expected)
    assert.equal(reply.headers['cache-control'], expected)
  }
})

test('a server that does not answer keeps no other from being purged', async () => {
  const [one, two] = [await startPurgeServer(), await startPurgeServer()]
  const adapter = createAdapter(target(`varnish:${one.url}/,${two.url}/`), { token: 'x' })
  const keysOf = (server: typeof one) =>
    server.requests.map(({ headers }) => headers['xkey-purge'] ?? headers['xkey-softpurge'])
  two.answer(503)
  await adapter.purge({ keys: ['v1'], isHard: true })
  await adapter.purge({ keys: ['v2'], isHard: false })
  assert.deepEqual(keysOf(one), ['v1', 'v2'])
  assert.equal(adapter.hasMissed?.(), true)
  await assert.rejects(async () => adapter.recover?.(), /503/)
  two.answer(200)
  const before = two.requests.length
  for (let count = 0; adapter.hasMissed?.() && count < 20; count++) await adapter.recover?.()
  assert.equal(adapter.hasMissed?.(), false)
  assert.deepEqual(new Set(keysOf(two).slice(before)), new Set(['all']))
  assert.ok(two.requests.slice(before).every(({ headers }) => headers['xkey-purge'] === 'all'))
  assert.equal(one.requests.length, 2, 'the other one is not purged again')
  // If none answers, the purge has failed.
  for (const server of [one, two]) server.answer(503)
  await assert.rejects(adapter.purge({ keys: ['v3'], isHard: true }), /503/)
  for (const server of [one, two]) await server.stop()
})

/** Waits until nothing was purged for longer than the last repetition takes. */
const settled = () =>
  until('the last repetition', () => {
    const last = receiver.requests.at(-1)?.atMs ?? 0
    return performance.now() - last > 7000
  })

test('purges what has changed, softly, and again', async () => {
  await settled()
  receiver.requests.length = 0
  const reply = await archive.call('PATCH', `/api/v2/video/${talk.id}`, {
    token: editor,
    body: { title: 'Better shelves', tags: ['oak'] },
  })
  assert.equal(reply.status, 200)
  const v = `v${talk.id}`
  const times = () =>
    receiver.requests
      .filter(({ body }) => JSON.parse(body).keys.includes(v))
      .map(({ atMs }) => atMs)
  await until('four purges', () => times().length >= 4)
  const [first = 0, ...repeated] = times()
  for (const [index, ms] of [500, 1500, 5000].entries())
    assert.ok((repeated[index] ?? 0) - first > ms - 50, `${index}: ${times()}`)
  // What it belongs to now, and what it belonged to before.
  for (const key of [v, `c${category}`, `s${speaker}`, `t${await idOf('tag', 'oak')}`])
    assert.ok(receiver.purged('soft').includes(key), key)
  // The tag that no talk has any more.
  assert.deepEqual([...new Set(receiver.purged('hard'))], [`t${tag}`])
  const [request] = receiver.requests
  assert.equal(request?.headers.authorization, `Bearer ${settings.EDGE_TOKEN}`)
})

test('purges hard what was hidden or taken down', async () => {
  const [hidden, gone] = [await archive.make(), await archive.make()]
  for (const { id } of [hidden, gone])
    await until('it to be public', () => receiver.purged('soft').includes(`v${id}`))
  await archive.call('PATCH', `/api/v2/video/${hidden.id}`, { token: editor, body: { state: 2 } })
  await archive.call('POST', `/api/v2/video/${gone.id}/takedown`, {
    token: admin,
    body: { reason: 'Asked' },
  })
  for (const { id } of [hidden, gone])
    await until(
      'hard purges',
      () => receiver.purged('hard').filter((key) => key === `v${id}`).length >= 4,
    )
})

test('reads records from the database, so that no old version is fetched after a purge', async () => {
  const metrics = async () => (await read('/metrics')).text
  for (let count = 0; count < 20; count++) await read(`/api/v2/video/${talk.id}`)
  assert.match(await metrics(), /talkshelf_record_reads_total\{from="memory"\} 0\n/)
  for (const name of ['edge_behind_seconds', 'edge_canary_age_seconds', 'edge_purged_keys_total'])
    assert.match(await metrics(), new RegExp(`^talkshelf_${name} \\d`, 'm'))
  assert.deepEqual((await read('/readyz')).json, { status: 'ready', edge: 'purged' })
})

test('retries purges that fail, and loses none', async () => {
  await settled()
  receiver.answer(503)
  receiver.requests.length = 0
  const { id } = await archive.make()
  await until('a failed purge', () => receiver.requests.length > 2)
  receiver.requests.length = 0
  receiver.answer(200)
  await until(
    'the purge',
    () => receiver.purged('soft').filter((key) => key === `v${id}`).length >= 4,
  )
})

test('another process goes on where a killed one stopped, and repeats what may be missing', async (t) => {
  const database = await freshDatabase(t)
  const server = await startPurgeServer()
  const environment = { ...settings, EDGE: `post:${server.url}/` }
  const first = await openArchive(database.url, environment)
  await purgerStarts(database.url)
  const { id } = await first.make()
  await until('the purge', () => isPurged(server, id))
  // Its repetitions are pending. Without a lease that it gives up, as after a kill.
  await first.close()
  await withDatabase(database.url, (query) =>
    query(`update edge_purge set holder = 'killed', leased_until = now() + interval '3 s'`),
  )
  server.requests.length = 0
  const second = await openArchive(database.url, environment)
  await until(
    'all repetitions',
    () => server.purged('soft').filter((key) => key === `v${id}`).length >= 4,
  )
  await until('the position', () =>
    withDatabase(database.url, async (query) => {
      const [row] = await query(
        'select edge_purge.seq = feed_head.seq as is_same from edge_purge, feed_head',
      )
      return row?.is_same === true
    }),
  )
  await second.close()
  await server.stop()
})

test('only one of several processes purges', async (t) => {
  const database = await freshDatabase(t)
  const server = await startPurgeServer()
  const environment = { ...settings, EDGE: `post:${server.url}/` }
  const processes = [
    await openArchive(database.url, environment),
    await openArchive(database.url, environment),
  ]
  await purgerStarts(database.url)
  const { id } = await (processes[0] as (typeof processes)[0]).make()
  const count = () => server.purged('soft').filter((key) => key === `v${id}`).length
  await until('four purges', () => count() >= 4)
  await until(
    'no further one',
    () => performance.now() - (server.requests.at(-1)?.atMs ?? 0) > 2000,
  )
  // Both would send each purge.
  assert.ok(count() < 9, String(count()))
  for (const { close } of processes) await close()
  await server.stop()
})

test('purges everything if it is too far behind, and hard what was removed', async (t) => {
  const database = await freshDatabase(t)
  const server = await startPurgeServer()
  const environment = { ...settings, EDGE: `post:${server.url}/` }
  const started = await openArchive(database.url, environment)
  await purgerStarts(database.url)
  const { id } = await started.make()
  await until('the first purges', () => isPurged(server, id))
  await started.close()
  const change = (sql: string) => withDatabase(database.url, (query) => query(sql))
  const addEntries = (state: string, firstId: number, count: number) =>
    change(`with added as (
              insert into feed_entry (seq, kind, id, state, version, belongs_to, belonged_to, at, digest)
              select head.seq + number, 'video', ${firstId} + number, '${state}',
                     case '${state}' when 'live' then '1.1.x' end, '{}', '{}', now(), head.digest
              from feed_head as head, generate_series(1, ${count}) as number
              returning seq)
            update feed_head set seq = (select max(seq) from added)`)
  await addEntries('live', 10_000, maxBehind)
  await addEntries('taken-down', 90_000, 3)
  server.requests.length = 0
  const behind = await openArchive(database.url, environment)
  await until('everything', () => server.purged('soft').includes('all'))
  assert.deepEqual(
    server.requests.length > 0 && server.purged('soft').filter((key) => key.startsWith('v10')),
    [],
  )
  for (const gone of ['v90001', 'v90002', 'v90003'])
    assert.ok(server.purged('hard').includes(gone), gone)
  await behind.close()

  await addEntries('hidden', 200_000, maxBehind + 1)
  server.requests.length = 0
  const far = await openArchive(database.url, environment)
  await until('everything, hard', () => server.purged('hard').includes('all'))
  await far.close()
  await server.stop()
})

test('purges everything hard after a restore, and softly for a new release', async (t) => {
  const database = await freshDatabase(t)
  const server = await startPurgeServer()
  const environment = { ...settings, EDGE: `post:${server.url}/` }
  const change = (sql: string) => withDatabase(database.url, (query) => query(sql))
  const restarted = async (more: Record<string, string> = {}) => {
    server.requests.length = 0
    return openArchive(database.url, { ...environment, ...more })
  }
  const first = await restarted()
  await purgerStarts(database.url)
  const { id } = await first.make()
  await until('the purges', () => isPurged(server, id))
  assert.deepEqual(server.purged('hard'), [])
  await first.close()

  const renamed = await restarted({ SITE_NAME: 'Other Talks' })
  await until('everything', () => server.purged('soft').filter((key) => key === 'all').length >= 5)
  assert.deepEqual(server.purged('hard'), [])
  await renamed.close()
  const [row] = await change('select previous_release from edge_purge')
  const next = await restarted({ SITE_NAME: 'Other Talks' })
  await until('pages of the release before', () =>
    server.purged('soft').includes(`r-${row?.previous_release}`),
  )
  assert.ok(!server.purged('soft').includes('all'))
  await next.close()

  for (const [name, sql] of Object.entries({
    'another database': `update edge_purge set database = 'restored'`,
    'another history': `update edge_purge set digest = '00000000000000ff'`,
    'a position after the end': 'update edge_purge set seq = seq + 100',
    'another edge': `update edge_purge set target = 'fastly:x'`,
  })) {
    await change(sql)
    const restored = await restarted({ SITE_NAME: 'Other Talks' })
    await until(
      `everything, hard: ${name}`,
      () => server.purged('hard').filter((key) => key === 'all').length >= 4,
    )
    await restored.close()
  }
  await server.stop()
})

test('notices a history that changes while it runs', async (t) => {
  const database = await freshDatabase(t)
  const server = await startPurgeServer()
  const running = await openArchive(database.url, {
    EDGE: `post:${server.url}/`,
    EDGE_TOKEN: settings.EDGE_TOKEN,
    ANSWER_SECONDS: settings.ANSWER_SECONDS,
  })
  await purgerStarts(database.url)
  const { id } = await running.make()
  await until('the purge', () => isPurged(server, id))
  await withDatabase(database.url, async (query) => {
    await query('update feed_entry set digest = digest + 1')
    await query('update feed_head set digest = digest + 1')
  })
  await until('everything', () => server.purged('hard').includes('all'))
  await running.close()
  await server.stop()
})

test('refuses invalid settings', async () => {
  for (const text of ['varnish:', 'varnish:ftp://x', 'fastly:a/b', 'cloudflare:', 'other:x', 'x'])
    assert.equal(parseEdgeTarget(text), undefined, text)
  assert.deepEqual(parseEdgeTarget('varnish:http://a:1,http://b'), {
    kind: 'varnish',
    urls: ['http://a:1', 'http://b'],
  })
})

/** Tells whether a record was purged. */
const isPurged = ({ purged }: PurgeServer, id: number) => purged('soft').includes(`v${id}`)

const target = (text: string) => parseEdgeTarget(text) ?? assert.fail(text)

test('sends the headers and requests that Fastly documents', async () => {
  const headers = createEdgeHeaders(target('fastly:SU1Z0isxPaozGVKXdv0eY'), 'abc').headers
  assert.deepEqual(headers(recordPolicy(17), true), {
    'surrogate-control': 'max-age=86400, stale-if-error=604800',
    'surrogate-key': 'all r-abc v17',
  })
  // Fastly does not know no-store in this header.
  assert.deepEqual(headers(undefined, true), {
    'surrogate-control': 'max-age=0',
    'surrogate-key': 'all r-abc',
  })
  const server = await startPurgeServer()
  const adapter = createAdapter(target('fastly:SU1Z0isxPaozGVKXdv0eY'), {
    token: 'secret-token',
    fastlyUrl: server.url,
  })
  assert.equal(adapter.maxKeys, 256)
  await adapter.purge({ keys: ['v1', 'c2'], isHard: false })
  await adapter.purge({ keys: ['v3'], isHard: true })
  assert.deepEqual(
    server.requests.map(({ method, path, headers }) => [
      method,
      path,
      headers['fastly-key'],
      headers['surrogate-key'],
      headers['fastly-soft-purge'],
    ]),
    [
      ['POST', '/service/SU1Z0isxPaozGVKXdv0eY/purge', 'secret-token', 'v1 c2', '1'],
      ['POST', '/service/SU1Z0isxPaozGVKXdv0eY/purge', 'secret-token', 'v3', undefined],
    ],
  )
  server.answer(429)
  await assert.rejects(adapter.purge({ keys: ['v1'], isHard: true }), /429/)
  await server.stop()
})

test('sends the headers and requests that Cloudflare documents, few and without Vary', async () => {
  const headers = createEdgeHeaders(
    target('cloudflare:023e105f4ecef8ad9ca31a8372d0c353'),
    'abc',
  ).headers
  assert.deepEqual(headers(recordPolicy(17), false), {
    'cdn-cache-control': 'max-age=86400, stale-if-error=604800',
    'cache-tag': 'all,r-abc,v17',
  })
  assert.deepEqual(headers(recordPolicy(17), true), { 'cdn-cache-control': 'no-store' })
  const server = await startPurgeServer()
  const adapter = createAdapter(target('cloudflare:023e105f4ecef8ad9ca31a8372d0c353'), {
    token: 'secret-token',
    cloudflareUrl: `${server.url}/client/v4`,
  })
  await adapter.purge({ keys: ['v1', 'c2'], isHard: false })
  const [request] = server.requests
  assert.deepEqual(
    [request?.method, request?.path, request?.headers.authorization, request?.body],
    [
      'POST',
      '/client/v4/zones/023e105f4ecef8ad9ca31a8372d0c353/purge_cache',
      'Bearer secret-token',
      '{"tags":["v1","c2"]}',
    ],
  )
  // Five requests of 100 tags a minute.
  assert.deepEqual([adapter.maxKeys, adapter.maxRequests, adapter.minIntervalMs], [100, 1, 12_000])
  await server.stop()
})

test('aggregates purges for an edge that allows few', async (t) => {
  const database = await freshDatabase(t)
  const server = await startPurgeServer()
  const running = await openArchive(database.url)
  const follower = {
    ...silentFollower,
    head: () => head,
  }
  let head = await readPosition(database.url)
  const purger = startPurger({
    pool: running.pool,
    follower,
    target: 'cloudflare:x',
    release: 'abc',
    adapter: {
      ...createAdapter(target('cloudflare:x'), {
        token: 'secret-token',
        cloudflareUrl: server.url,
      }),
      minIntervalMs: 1500,
    },
    onState: () => {},
  })
  await until('the beginning', () =>
    withDatabase(database.url, async (query) => {
      const [row] = await query('select target from edge_purge')
      return row?.target === 'cloudflare:x'
    }),
  )
  for (let count = 0; count < 30; count++) {
    await running.make({ tags: [`one ${count}`, `two ${count}`, `three ${count}`] })
    if (count === 2) head = await untilFeed(database.url)
  }
  await until('the first purge', () => server.requests.length > 0)
  head = await untilFeed(database.url)
  await until('everything', () => server.requests.some(({ body }) => body === '{"tags":["all"]}'))
  await purger.stop()
  // Less than the interval, because requests may be delayed differently.
  for (const [index, { atMs }] of server.requests.entries())
    if (index > 0) assert.ok(atMs - (server.requests[index - 1]?.atMs ?? 0) > 500)
  await running.close()
  await server.stop()
})

/** Waits until a process has begun, and has purged everything for the first time. */
const purgerStarts = (url: string) =>
  until('a process to begin', () =>
    withDatabase(url, async (query) => {
      const [row] = await query('select target, soft_keys from edge_purge')
      return row?.target !== '' && String(row?.soft_keys) === ''
    }),
  )

const silentFollower = {
  behindSeconds: () => 0,
  whenAfter: async () => {},
  onEntries: () => () => {},
  stop: async () => {},
}

async function readPosition(url: string) {
  const [row] = await withDatabase(url, (query) =>
    query(`select seq, lpad(to_hex(digest), 16, '0') as digest from feed_head`),
  )
  return { seq: Number(row?.seq), digest: String(row?.digest), isReady: true, isBehind: false }
}

/** Waits until the feed has all records, and returns its end. */
async function untilFeed(url: string) {
  await until('the feed to have all records', () =>
    withDatabase(url, async (query) => {
      const [row] = await query(`select count(*)::int as missing from video
        where not exists (select from feed_entry where kind = 'video' and id = video.id)`)
      return row?.missing === 0
    }),
  )
  return readPosition(url)
}
