import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { type FollowedSource, maxFetchFailures, maxFollowedSources } from '@talkshelf/contract'
import { createToken } from '../../server/auth/auth.ts'
import { decideTalk, PlanInUse, retirePlan } from '../../server/imports/imports.ts'
import { freshDatabase } from '../support/database.ts'
import { signIn } from '../support/desk-client.ts'
import { startForeignHost } from '../support/foreign-host.ts'
import {
  category,
  openArchive,
  type Reply,
  startArchive,
  startServer,
  type TestArchive,
} from '../support/harness.ts'
import { importClient } from '../support/import-client.ts'
import { checkInvariants, withDatabase } from '../support/invariants.ts'
import { until } from '../support/until.ts'

// Followed sources of a real server on this machine.

const host = await startForeignHost()
const other = await startForeignHost()
const settings = { RESUME_SECONDS: '1' }
const archive = await startArchive(settings, host.guard)
const imports = importClient(archive, archive.editor)

const options = { category, language: 'English', format: 'csv' as const }
const table = (...titles: string[]) => ['title', ...titles, ''].join('\n')

/** The followed sources of an archive, which may be another one than that of the file. */
function followerOf({ call, editor, databaseUrl }: Omit<TestArchive, 'app' | 'pool'>) {
  const send = async (method: string, path: string, body?: object): Promise<Reply['json']> => {
    const target = `/api/v2/followed-source${path}`
    const reply = await call(method, target, { token: editor, ...(body && { body }) })
    assert.ok(reply.status < 300, reply.text)
    return reply.json
  }
  const read = (id: number): Promise<FollowedSource> => send('GET', `/${id}`)
  /** Waits until a fetch after the given one has ended. */
  const ended = (id: number, before: string | null = null) =>
    until('the end of a fetch', async () => {
      const source = await read(id)
      return source.last_fetch !== before && source
    })
  const query = (text: string) => withDatabase(databaseUrl, (run) => run(text))
  return {
    send,
    read,
    ended,
    query,
    follow: async (url: string, more: object = {}): Promise<FollowedSource> =>
      send('POST', '', { url, options, ...more }),
    /** Makes a source due and waits for the end of its fetch. */
    async refetch(id: number): Promise<FollowedSource> {
      const { last_fetch: before } = await read(id)
      await query(`update followed_source set next_fetch = now() where id = ${id}`)
      return ended(id, before)
    },
    importsOf: async (id: number) =>
      query(`select id::int, state from import where followed_source_id = ${id} order by id`),
    /** Reads what the API does not show. */
    async internals(id: number) {
      const [row] = await query(`select attempts, lease is not null as "isLeased",
                                        requested is not null as "isRequested",
                                        extract(epoch from next_fetch - now())::float8 / 3600
                                          as hours,
                                        extract(epoch from next_fetch - last_fetch)::float8 / 3600
                                          as delay
                                 from followed_source
                                 where id = ${id}`)
      return {
        attempts: Number(row?.attempts),
        isLeased: Boolean(row?.isLeased),
        isRequested: Boolean(row?.isRequested),
        hours: Number(row?.hours),
        delay: Number(row?.delay),
      }
    },
    /** Lets the rule pass that a person can ask for a fetch a minute after the last one. */
    passMinutes: (id: number) =>
      query(`update followed_source set last_fetch = last_fetch - interval '2 minutes'
             where id = ${id}`),
  }
}

const { follow, ended, refetch, read, send, query, importsOf, internals, passMinutes } =
  followerOf(archive)
/** Makes a source due. */
const makeDue = (id: number) =>
  query(`update followed_source set next_fetch = now() where id = ${id}`)

/** Leaves requests of a path without a response. Returns the responses. */
function hold(path: string): ServerResponse[] {
  const held: ServerResponse[] = []
  host.at(path, (response) => held.push(response))
  return held
}

/** Reads who disabled a source and why, from the audit log. */
const disabledEvent = async (id: number) =>
  (
    await query(`select actor, detail->>'reason' as reason
                 from audit_event
                 where kind = 'followed-source-disabled'
                   and detail->>'followed_source' = '${id}'`)
  )[0]

const countTalks = async () => (await query('select count(*)::int as count from video'))[0]?.count

test('a new file waits as a plan, which a newer file replaces', async () => {
  const talks = await countTalks()
  let [version, body] = ['"1"', table('One')]
  const url = host.at('/etag', (response, request) => {
    if (request.headers['if-none-match'] === version) return response.writeHead(304).end()
    response.writeHead(200, { etag: version }).end(body)
  })
  const { id, state, by } = await follow(url)
  assert.deepEqual([state, by], ['active', 'Edith'])
  const first = await ended(id)
  assert.deepEqual([first.outcome, first.failures, first.message], ['planned', 0, null])
  const importId = first.waiting_import ?? assert.fail('no import waits')
  const planned = (await imports.send('GET', `import/${importId}`)).json
  assert.deepEqual(
    [planned.state, planned.by, planned.followed_source, planned.planned.new, planned.name],
    ['planned', 'Edith', id, 1, url],
  )
  assert.equal(planned.source, `followed source ${id}`)
  assert.equal(await countTalks(), talks, 'nothing is applied without a person')
  const hours = (Date.parse(`${first.next_fetch}Z`) - Date.parse(`${first.last_fetch}Z`)) / 3.6e6
  assert.ok(hours >= 23.9 && hours <= 26.5, `${hours} hours`)

  const same = await refetch(id)
  assert.deepEqual([same.outcome, same.waiting_import], ['unchanged', importId])
  assert.equal(host.requestsOf('/etag').at(-1)?.headers['if-none-match'], '"1"')

  ;[version, body] = ['"2"', table('One', 'Two')]
  const changed = await refetch(id)
  assert.equal(changed.outcome, 'planned')
  assert.notEqual(changed.waiting_import, importId)
  assert.deepEqual(await importsOf(id), [
    { id: importId, state: 'failed' },
    { id: changed.waiting_import, state: 'planned' },
  ])
  const replaced = (await imports.send('GET', `import/${importId}`)).json
  assert.equal(replaced.problem, `Replaced by import ${changed.waiting_import}`)
  assert.equal((await imports.rows(importId)).length, 0, 'its rows are deleted')

  await imports.apply(Number(changed.waiting_import))
  assert.equal(await countTalks(), Number(talks) + 2)
  version = '"3"'
  const nothing = await refetch(id)
  assert.deepEqual([nothing.outcome, nothing.waiting_import], ['unchanged', null])
  assert.equal((await importsOf(id)).length, 2, 'an empty plan is deleted')
  await send('POST', `/${id}/delete`)
})

test('Last-Modified is sent back, and a long or strange header is not', async () => {
  const date = 'Wed, 18 Nov 2026 08:00:00 GMT'
  const url = host.at('/modified', (response) =>
    response.writeHead(200, { 'last-modified': date, etag: 'x'.repeat(600) }).end(table('Dated')),
  )
  const { id } = await follow(url)
  await ended(id)
  await refetch(id)
  const { headers } = host.requestsOf('/modified').at(-1) ?? assert.fail()
  assert.deepEqual([headers['if-modified-since'], headers['if-none-match']], [date, undefined])
  await send('POST', `/${id}/delete`)
})

test('a plan that was deleted comes back only with another file, or on request', async () => {
  const url = host.at('/plain', table('Unwanted'))
  const { id } = await follow(url)
  const first = await ended(id)
  await imports.send('POST', `import/${first.waiting_import}/discard`)
  const same = await refetch(id)
  assert.deepEqual([same.outcome, same.waiting_import], ['unchanged', null])
  // Other bytes, but the same talks.
  host.at('/plain', 'title\r\n"Unwanted"\r\n')
  const written = await refetch(id)
  assert.deepEqual([written.outcome, written.waiting_import], ['unchanged', null])
  assert.equal((await importsOf(id)).length, 0)
  await passMinutes(id)
  const { last_fetch: before } = await read(id)
  await send('POST', `/${id}/fetch`)
  const requested = await ended(id, before)
  assert.equal(requested.outcome, 'planned')
  // At the earliest a minute after the last one.
  const again = await send('POST', `/${id}/fetch`)
  const seconds = Date.parse(`${again.next_fetch}Z`) - Date.parse(`${again.last_fetch}Z`)
  assert.equal(seconds, 60_000)
  await send('POST', `/${id}/delete`)
})

test('decisions are kept: a plan with one is not replaced', async () => {
  const url = host.at('/decided', table('Decided'))
  const { id } = await follow(url)
  const { waiting_import: plan } = await ended(id)
  await imports.send('PUT', `import/${plan}/talk/1`, { take: ['title'] })
  host.at('/decided', table('Decided', 'Later'))
  const asked = host.requestsOf('/decided').length
  const waiting = await refetch(id)
  assert.deepEqual([waiting.outcome, waiting.waiting_import], ['waiting', plan])
  assert.match(String(waiting.message), new RegExp(`Decisions were made in import ${plan}`))
  assert.equal(host.requestsOf('/decided').length, asked, 'nothing is fetched')
  assert.equal((await importsOf(id)).length, 1)
  await imports.apply(Number(plan))
  assert.equal((await refetch(id)).outcome, 'planned')
  await send('POST', `/${id}/delete`)
})

test('a decision that is made during a fetch is kept', async () => {
  const url = host.at('/during', table('During'))
  const { id } = await follow(url)
  const { waiting_import: plan, last_fetch: before } = await ended(id)
  const held = hold('/during')
  await query(`update followed_source set next_fetch = now() where id = ${id}`)
  await until('the request', () => held.length === 1)
  await imports.send('PUT', `import/${plan}/talk/1`, { take: ['title'] })
  held[0]?.end(table('During', 'Another'))
  const settled = await ended(id, before)
  assert.deepEqual([settled.outcome, settled.waiting_import], ['waiting', plan])
  const [row] = await query(`select decision from import_row where import_id = ${plan}`)
  assert.deepEqual(row?.decision, { take: ['title'] })
  assert.equal((await importsOf(id)).length, 1, 'the newer plan is deleted')
  await send('POST', `/${id}/delete`)
})

/** Waits until statements wait for a lock. Returns the process of the first one. */
const isBlocked = (count = 1) =>
  until('a statement to wait for a lock', async () => {
    const rows = await query(`select pid from pg_stat_activity
                              where datname = current_database() and wait_event_type = 'Lock'`)
    return rows.length === count && Number(rows[0]?.pid)
  })

test('of a decision and the replacement of its plan, the first one counts', async () => {
  const text = table('Raced')
  const { id: decided } = await imports.plan({ ...options, text, source: 'race 1' })
  const retirement = { problem: 'Replaced by import 0', isReplaced: true }
  const replace = (id: number) => archive.pool.transaction((tx) => retirePlan(tx, id, retirement))
  let refused: Promise<void> | undefined
  await archive.pool.transaction(async (tx) => {
    await decideTalk(tx, decided, 1, { take: [] })
    refused = assert.rejects(replace(decided), PlanInUse)
    await isBlocked()
  })
  await refused
  const { json } = await imports.send('GET', `import/${decided}`)
  assert.deepEqual([json.state, json.planned.new], ['planned', 1])

  const { id: replaced } = await imports.plan({ ...options, text, source: 'race 2' })
  const decide = () =>
    archive.call('PUT', `/api/v2/import/${replaced}/talk/1`, {
      token: archive.editor,
      body: { take: [] },
    })
  let decision: Promise<Reply> | undefined
  await archive.pool.transaction(async (tx) => {
    await retirePlan(tx, replaced, retirement)
    decision = decide()
    await isBlocked()
  })
  const refusal = await decision
  assert.equal(refusal?.status, 409)
  assert.match(String(refusal?.text), /was replaced or deleted/)
})

test('a fetch of what was changed or deleted meanwhile does not count', async () => {
  const held = hold('/moved')
  const { id } = await follow(`${host.url}/moved`)
  await until('the request', () => held.length === 1)
  const moved = host.at('/moved-to', table('Moved'))
  await send('PATCH', `/${id}`, { url: moved })
  assert.ok((await internals(id)).isLeased, 'its host is not asked twice at the same time')
  held[0]?.end(table('Outdated'))
  // The outdated plan exists until its fetch finds that it no longer counts.
  await until('the end of the outdated fetch', async () => !(await internals(id)).isLeased)
  const { attempts, hours } = await internals(id)
  assert.equal(attempts, 0)
  assert.ok(hours > 0 && hours <= 1 / 60, `${hours} hours`)
  assert.deepEqual([(await read(id)).outcome, await importsOf(id)], [null, []])
  await makeDue(id)
  const { waiting_import: plan } = await ended(id)
  assert.equal((await imports.send('GET', `import/${plan}`)).json.name, moved)
  const again = hold('/deleted')
  const { id: deleted } = await follow(`${host.url}/deleted`)
  await until('the request', () => again.length === 1)
  await send('POST', `/${deleted}/delete`)
  again[0]?.end(table('Orphan'))
  await until('the orphan to be deleted', async () => {
    const rows = await query(`select from import where name like '%/deleted'`)
    return rows.length === 0
  })
  await send('POST', `/${id}/delete`)
  assert.equal((await query(`select from import where id = ${plan}`)).length, 1, 'its plan stays')
})

const hostile: Record<string, [RegExp, (response: ServerResponse) => void]> = {
  'is missing': [/nothing at this URL/, (response) => response.writeHead(404).end()],
  'is too large': [
    /larger than 64 MiB/,
    (response) => response.writeHead(200, { 'content-length': 2 ** 27 }).write('title\n'),
  ],
  'has a line without end': [
    /more than 4 MB/,
    (response) => {
      const chunk = 'x'.repeat(1 << 16)
      const flood = () => {
        while (!response.destroyed && response.write(chunk));
        if (!response.destroyed) response.once('drain', flood)
      }
      response.write('title\n"')
      flood()
    },
  ],
  'stops in the middle': [/took too long/, (response) => response.write('title\nHalf')],
  'breaks off': [
    /connection was lost/,
    (response) => {
      response.writeHead(200, { 'content-length': 1000 })
      response.write('title\nHalf', () => response.destroy())
    },
  ],
  'leads to a private address': [
    /not asked/,
    (response) => response.writeHead(302, { location: `${other.url}/secret` }).end(),
  ],
  'leads to a private host': [
    /not asked|No public server/,
    (response) => response.writeHead(302, { location: `http://127.0.0.2:${host.port}/` }).end(),
  ],
  'is packed': [
    /packed/,
    (response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end('x'),
  ],
  'says unchanged without being asked': [/status 304/, (response) => response.writeHead(304).end()],
  'has too many talks': [
    /at most 20,000 talks/,
    (response) => response.end('title\n'.concat('Talk\n'.repeat(20_001))),
  ],
  'is empty': [/empty/, (response) => response.end(' ')],
}

test('a file that cannot be read is reported, and leaves no import', async (t) => {
  const database = await freshDatabase(t)
  const guard = { ...host.guard, quietMs: 2000 }
  const impatient = await openArchive(database.url, settings, guard)
  t.after(impatient.close)
  const follower = followerOf(impatient)
  for (const [name, [message, answer]] of Object.entries(hostile)) {
    const url = host.at(`/${encodeURIComponent(name)}`, answer)
    const { id } = await follower.follow(url)
    const failed = await follower.ended(id)
    assert.deepEqual(
      [failed.outcome, failed.state, failed.failures],
      ['failed', 'failing', 1],
      name,
    )
    assert.match(String(failed.message), message, name)
    assert.deepEqual(await follower.importsOf(id), [], name)
  }
  assert.equal(other.requests.length, 0, 'no private address is asked')
})

test('a source that keeps failing is disabled, and can be resumed', async () => {
  const { id } = await follow(`${host.url}/never`)
  assert.equal((await ended(id)).state, 'failing')
  // Doubled by each failure up to a week, but never shorter than the interval.
  for (const [failures, interval, hours] of [
    [0, 24, 24],
    [1, 24, 48],
    [2, 24, 96],
    [4, 24, 168],
    [8, 24, 168],
    [8, 744, 744],
  ] as const) {
    await query(`update followed_source set failures = ${failures}, interval_hours = ${interval}
                 where id = ${id}`)
    await refetch(id)
    const { delay } = await internals(id)
    assert.ok(delay >= hours && delay <= hours * 1.1, `${delay} instead of ${hours} hours`)
  }
  await query(`update followed_source set failures = ${maxFetchFailures - 1} where id = ${id}`)
  const disabled = await refetch(id)
  assert.deepEqual(
    [disabled.state, disabled.failures, disabled.next_fetch],
    ['disabled', maxFetchFailures, null],
  )
  assert.match(String(disabled.message), /nothing at this URL/)
  const reason = `${maxFetchFailures} failures in a row`
  assert.deepEqual(await disabledEvent(id), { actor: 'Talkshelf', reason })
  const refused = await archive.call('POST', `/api/v2/followed-source/${id}/fetch`, {
    token: archive.editor,
  })
  assert.equal(refused.status, 409)
  host.at('/never', table('At last'))
  const resumed = await send('PATCH', `/${id}`, { enabled: true })
  const seconds = Date.parse(`${resumed.next_fetch}Z`) - Date.parse(`${resumed.last_fetch}Z`)
  assert.ok(seconds >= 60_000, 'at the earliest a minute after the last fetch')
  assert.equal((await refetch(id)).outcome, 'planned')
  const paused = await send('PATCH', `/${id}`, { enabled: false })
  assert.deepEqual([paused.state, paused.next_fetch], ['paused', null])
  await send('POST', `/${id}/delete`)
})

test('what cannot be followed is refused', async () => {
  const post = (body: object) =>
    archive.call('POST', '/api/v2/followed-source', { token: archive.editor, body })
  for (const [body, pointer] of [
    [{ url: 'ftp://example.org/' }, '/url'],
    [{ url: 'http://example.org:22/' }, '/url'],
    [{ url: 'https://a:b@example.org/' }, '/url'],
    [{ url: host.url, interval_hours: 0 }, '/interval_hours'],
    [{ url: host.url, options: { language: 'Nolang' } }, '/options/language'],
  ] as const) {
    const { status, json } = await post(body)
    assert.deepEqual([status, json.errors[0].pointer], [400, pointer], JSON.stringify(json))
  }
  await query(`insert into followed_source (
                 url, host, options, interval_hours, actor, via, request_id, state)
               select 'https://example.org/', 'example.org', '{}', 24, 'x', 'api', '', 'paused'
               from generate_series(1, ${maxFollowedSources})`)
  assert.equal((await post({ url: host.url })).status, 409)
  const { text } = await archive.call('GET', '/metrics')
  assert.match(text, new RegExp(`talkshelf_followed_sources{state="paused"} ${maxFollowedSources}`))
  assert.match(text, /talkshelf_followed_source_fetches_total{outcome="planned"} \d/)
  await query(`delete from followed_source where actor = 'x'`)
})

test('several processes fetch a source once, and one source of a host at a time', async (t) => {
  const database = await freshDatabase(t)
  const first = await openArchive(database.url, settings, host.guard)
  t.after(first.close)
  const second = await openArchive(database.url, settings, host.guard)
  t.after(second.close)
  const follower = followerOf(first)
  const paths = [1, 2, 3, 4, 5, 6].map((number) => `/many-${number}`)
  let [atOnce, maxAtOnce] = [0, 0]
  const ids: number[] = []
  for (const path of paths) {
    const url = host.at(path, (response) => {
      maxAtOnce = Math.max(maxAtOnce, ++atOnce)
      setTimeout(() => {
        atOnce--
        response.end(table(path))
      }, 50)
    })
    ids.push((await follower.follow(url)).id)
  }
  for (const id of ids) assert.equal((await follower.ended(id)).outcome, 'planned')
  assert.deepEqual(
    paths.map((path) => host.requestsOf(path).length),
    paths.map(() => 1),
  )
  assert.equal(maxAtOnce, 1)
})

test('after a kill in the middle, another process fetches the file again', async (t) => {
  const database = await freshDatabase(t)
  const environment = { ...settings, DATABASE_URL: database.url }
  const killed = await startServer(environment, [
    'tests/support/bombs-server.ts',
    String(host.port),
  ])
  t.after(killed.stop)
  const held = hold('/killed')
  const run = (text: string) => withDatabase(database.url, (query) => query(text))
  const listImports = () => run('select id::int, state from import order by id')
  await run(`insert into followed_source (
               url, host, options, interval_hours, actor, via, request_id)
             values ('${host.url}/killed', '127.0.0.1', '${JSON.stringify(options)}', 24, 'Edith',
                     'api', 'test')`)
  const id = 1
  await until('the request', () => held.length === 1)
  held[0]?.write(table('Half'))
  await until('the import', async () => (await listImports())[0]?.state === 'reading')
  killed.process.kill('SIGKILL')
  await until('the end of the process', () => killed.process.signalCode === 'SIGKILL')

  host.at('/killed', table('Whole'))
  const next = await openArchive(database.url, settings, host.guard)
  t.after(next.close)
  const second = followerOf(next)
  // Another source shows that the process works.
  const unknown = await second.follow(`http://localhost:${host.port}/`)
  assert.match(String((await second.ended(unknown.id)).message), /No public server/)
  assert.equal(host.requestsOf('/killed').length, 1, 'the lease is valid')
  await run(`update followed_source set leased_until = now() where id = ${id}`)
  // A file that ends each process that fetches it must not be fetched again and again.
  const { attempts, hours } = await second.internals(id)
  assert.equal(attempts, 1)
  assert.ok(hours > 0.5 && hours <= 1, `${hours} hours`)
  await run(`update followed_source set next_fetch = now() where id = ${id}`)
  const settled = await second.ended(id)
  assert.equal(settled.outcome, 'planned')
  const plan = { id: settled.waiting_import, state: 'planned' }
  assert.deepEqual(await listImports(), [{ id: 1, state: 'reading' }, plan])
  // What the killed process has left is removed by the next fetch.
  await run(`update import set touched = now() - interval '1 hour' where state = 'reading'`)
  await until('the half-read import to fail', async () => {
    const [row] = await listImports()
    return row?.state === 'failed'
  })
  assert.equal((await second.refetch(id)).outcome, 'unchanged')
  assert.deepEqual(await listImports(), [plan])
})

test('a process that lost its lease cannot settle the fetch', async () => {
  const held = hold('/lost')
  const { id } = await follow(`${host.url}/lost`)
  await until('the request', () => held.length === 1)
  const other = '00000000-0000-4000-8000-000000000000'
  await query(`update followed_source set lease = '${other}' where id = ${id}`)
  const count = async () => {
    const [row] = await query(`select last_value::int as last from import_id_seq`)
    return Number(row?.last)
  }
  const before = await count()
  held[0]?.end(table('Late'))
  await until('the plan to be made and deleted', async () => {
    const isMade = (await count()) > before
    return isMade && (await importsOf(id)).length === 0
  })
  const { last_fetch: last, outcome } = await read(id)
  assert.deepEqual([last, outcome], [null, null])
  const [row] = await query(`select lease::text, etag from followed_source where id = ${id}`)
  assert.deepEqual(row, { lease: other, etag: null }, 'the lease of the other process stays')
  await send('POST', `/${id}/delete`)
})

test('a source that keeps ending the process is disabled', async () => {
  const { id } = await follow(host.at('/deadly', table('Deadly')))
  await ended(id)
  const asked = host.requestsOf('/deadly').length
  await query(`update followed_source set attempts = 5 where id = ${id}`)
  const disabled = await refetch(id)
  assert.deepEqual([disabled.state, disabled.outcome], ['disabled', 'failed'])
  assert.match(String(disabled.message), /stopped 5 times in a row/)
  assert.deepEqual(await disabledEvent(id), { actor: 'Talkshelf', reason: '5 crashes in a row' })
  assert.equal(host.requestsOf('/deadly').length, asked, 'it is not fetched')
  await send('POST', `/${id}/delete`)
})

test('an error of the database puts a source off, and a file that is too slow fails', async () => {
  for (const [end, check] of [
    [
      'pg_terminate_backend',
      async (id: number) => {
        await until('the end of the lease', async () => !(await internals(id)).isLeased)
        const { hours, attempts } = await internals(id)
        assert.ok(hours > 0.9 && hours <= 1.1, `${hours} hours`)
        const { outcome, failures } = await read(id)
        assert.deepEqual([attempts, outcome, failures], [0, null, 0])
      },
    ],
    [
      'pg_cancel_backend',
      async (id: number) => {
        const { outcome, failures, message } = await ended(id)
        assert.deepEqual([outcome, failures], ['failed', 1])
        assert.match(String(message), /takes too long/)
      },
    ],
  ] as const) {
    const held = hold(`/${end}`)
    const { id } = await follow(`${host.url}/${end}`)
    await until('the request', () => held.length === 1)
    await withDatabase(archive.databaseUrl, async (run) => {
      await run('begin')
      await run('lock table import_row in access exclusive mode')
      held[0]?.end(table('Blocked'))
      await run(`select ${end}(${await isBlocked()})`)
      await run('commit')
    })
    await check(id)
    await until('the plan to be deleted', async () => (await importsOf(id)).length === 0)
    await send('POST', `/${id}/delete`)
  }
})

test('a plan that only tells what the source says is kept, to see later changes', async () => {
  const link = 'https://example.org/known'
  const { id: video } = await archive.make({ title: 'Known', source_url: link })
  const rows = (title: string) => `title,source_url\n${title},${link}\n`
  const { id } = await follow(host.at('/known', rows('Known')))
  const first = await ended(id)
  assert.equal(first.outcome, 'planned')
  assert.match(String(first.message), /Apply the import once/)
  await imports.apply(Number(first.waiting_import))
  assert.equal((await refetch(id)).outcome, 'unchanged')
  host.at('/known', rows('Known better'))
  const { waiting_import: plan } = await refetch(id)
  const { json } = await imports.send('GET', `import/${plan}`)
  assert.deepEqual([json.planned.changed, json.planned.conflict], [1, 0])
  const [row] = await imports.rows(Number(plan))
  assert.equal(row?.video, video)
  await send('POST', `/${id}/delete`)
})

test('a plan of which every talk is refused is kept', async () => {
  const { id } = await follow(host.at('/refused', 'title,language\nBad,Nolang\n'))
  const { outcome, message, waiting_import: plan } = await ended(id)
  assert.deepEqual([outcome, message], ['planned', 'Talks that cannot be imported: 1'])
  const { json } = await imports.send('GET', `import/${plan}`)
  assert.equal(json.planned.refused, 1)
  const same = await refetch(id)
  assert.deepEqual([same.outcome, same.waiting_import], ['unchanged', plan])
  await send('POST', `/${id}/delete`)
})

test('a plan that is too old is made again, other old imports do not matter', async () => {
  const url = host.at('/old', (response, request) => {
    if (request.headers['if-none-match'] === '"1"') return response.writeHead(304).end()
    response.writeHead(200, { etag: '"1"' }).end(table('Old'))
  })
  const conditions = () => host.requestsOf('/old').map(({ headers }) => headers['if-none-match'])
  const { id } = await follow(url)
  const { waiting_import: plan } = await ended(id)
  await query(`update import set state = 'stopped', counts = '[]' where id = ${plan}`)
  const stopped = await refetch(id)
  assert.deepEqual([stopped.outcome, stopped.waiting_import], ['unchanged', null])
  assert.deepEqual(conditions(), [undefined, '"1"'])
  await query(`update import set state = 'planned' where id = ${plan}`)
  assert.equal((await read(id)).waiting_import, null, 'it can no longer be applied')
  const renewed = await refetch(id)
  assert.equal(renewed.outcome, 'planned')
  assert.deepEqual(conditions(), [undefined, '"1"', undefined])
  assert.deepEqual(await importsOf(id), [
    { id: plan, state: 'failed' },
    { id: renewed.waiting_import, state: 'planned' },
  ])
  assert.equal((await refetch(id)).outcome, 'unchanged')
  assert.equal(conditions().at(-1), '"1"')
  await send('POST', `/${id}/delete`)
})

test('what is requested or changed during a fetch is not lost', async () => {
  const held = hold('/busy')
  const { id } = await follow(`${host.url}/busy`)
  await until('the request', () => held.length === 1)
  await send('POST', `/${id}/fetch`)
  held[0]?.writeHead(200, { etag: '"1"' }).end(table('Busy'))
  const first = await ended(id)
  const after = await internals(id)
  assert.ok(after.isRequested)
  assert.ok(after.delay <= 1.01 / 60, `the next fetch follows after ${after.delay} hours`)
  await makeDue(id)
  await until('the second request', () => held.length === 2)
  const [, second] = host.requestsOf('/busy')
  assert.equal(second?.headers['if-none-match'], undefined)
  await send('PATCH', `/${id}`, { interval_hours: 100 })
  held[1]?.writeHead(200, { etag: '"1"' }).end(table('Busy'))
  const last = await ended(id, first.last_fetch)
  assert.equal(last.outcome, 'planned')
  const { delay, isRequested } = await internals(id)
  assert.ok(!isRequested)
  assert.ok(delay >= 100 && delay <= 110, `${delay} hours`)
  await send('POST', `/${id}/delete`)
})

test('of two changes at the same time none is lost', async () => {
  const { id } = await follow(host.at('/twice', table('Twice')))
  await ended(id)
  const url = host.at('/twice-moved', table('Twice'))
  let changes: Promise<unknown>[] = []
  await withDatabase(archive.databaseUrl, async (run) => {
    await run('begin')
    await run(`select from followed_source where id = ${id} for update`)
    changes = [
      send('PATCH', `/${id}`, { url }),
      send('PATCH', `/${id}`, { options: { ...options, name: 'Both' } }),
    ]
    await isBlocked(2)
    await run('commit')
  })
  await Promise.all(changes)
  const source = await read(id)
  assert.deepEqual([source.url, source.options.name], [url, 'Both'])
  await send('POST', `/${id}/delete`)
})

test('a source is paused when the right of its origin was revoked', async () => {
  const { token, id: tokenId } = await createToken(archive.pool, {
    name: 'Robot',
    role: 'editor',
    days: 1,
  })
  const url = host.at('/revoked', table('Revoked'))
  const created = await archive.call('POST', '/api/v2/followed-source', {
    token,
    body: { url, options },
  })
  const { id } = created.json
  await ended(id)
  await query(`update token set revoked = now() where id = ${tokenId}`)
  const asked = host.requestsOf('/revoked').length
  const paused = await refetch(id)
  assert.deepEqual([paused.state, paused.by], ['paused', 'Robot'])
  assert.match(String(paused.message), /Robot may no longer import/)
  assert.equal(host.requestsOf('/revoked').length, asked, 'it is not fetched')
  const resumed = await send('PATCH', `/${id}`, { enabled: true })
  assert.deepEqual([resumed.state, resumed.by], ['active', 'Edith'])
  assert.equal((await refetch(id)).outcome, 'unchanged')
  // A token that has expired changes nothing. One that no longer exists may have been revoked.
  await query(`update followed_source set token_id = ${tokenId} where id = ${id}`)
  await query(`update token set revoked = null, expires = now() - interval '1 day'
               where id = ${tokenId}`)
  assert.equal((await refetch(id)).outcome, 'unchanged')
  await query(`delete from token where id = ${tokenId}`)
  assert.equal((await refetch(id)).state, 'paused')
  await send('POST', `/${id}/delete`)
})

test('sources that are long overdue are not fetched all at once', async (t) => {
  const database = await freshDatabase(t)
  const run = (text: string) => withDatabase(database.url, (query) => query(text))
  const off = await openArchive(database.url, { ...settings, FOLLOW_SOURCES: 'off' }, host.guard)
  t.after(off.close)
  const idle = followerOf(off)
  const { id } = await idle.follow(host.at('/idle', table('Idle')))
  await run(`insert into followed_source (
               url, host, options, interval_hours, actor, via, request_id, next_fetch)
             select '${host.url}/overdue', '127.0.0.1', '{}', 24, 'x', 'api', '',
                    now() - interval '1 day'
             from generate_series(1, 40)`)
  const { client: desk } = await signIn(off, 'Edna', 'editor')
  for (const page of ['/desk/followed-sources', `/desk/followed-sources/${id}`])
    assert.match((await desk.get(page)).html, /Following is switched off/, page)
  const hasDueMetric = async ({ call }: Pick<TestArchive, 'call'>) =>
    (await call('GET', '/metrics')).text.includes('talkshelf_followed_source_due_seconds')
  assert.equal(await hasDueMetric(off), false)
  const on = await openArchive(database.url, settings, host.guard)
  t.after(on.close)
  assert.equal(await hasDueMetric(on), true)
  assert.equal((await idle.ended(id)).outcome, 'planned')
  const agents = host.requestsOf('/idle').map(({ headers }) => headers['user-agent'])
  assert.equal(agents.length, 1)
  assert.ok(agents[0]?.includes(on.url), 'the other process fetches nothing')
  const [row] = await run(`select count(*)::int as count,
                                  extract(epoch from max(next_fetch) - now())::int as last
                           from followed_source
                           where actor = 'x' and last_fetch is null and next_fetch > now()`)
  assert.ok(Number(row?.count) > 20, `${row?.count} wait`)
  assert.ok(Number(row?.last) > 3600 && Number(row?.last) <= 6 * 3600, `${row?.last} s`)
})

test('followed sources and other imports share the plans of a process', async () => {
  let reading = -1
  const url = host.at('/shared', (response) => {
    void query(`select from import where state = 'reading'`).then((rows) => {
      reading = rows.length
      response.end(table('Shared'))
    })
  })
  let id = 0
  await withDatabase(archive.databaseUrl, async (run) => {
    await run('begin')
    await run('lock table import_row in exclusive mode')
    const text = table('Slow')
    for (const source of ['slow 1', 'slow 2'])
      await imports.send('POST', 'import', { ...options, text, source })
    await isBlocked(2)
    id = (await follow(url)).id
    // Several polls of the process.
    for (let count = 0; count < 20; count++) await read(id)
    await run('commit')
  })
  assert.equal((await ended(id)).outcome, 'planned')
  assert.ok(reading < 2, `${reading} other imports were read`)
  await send('POST', `/${id}/delete`)
})

test('a process that stops gives its source back and leaves no import', async (t) => {
  const database = await freshDatabase(t)
  const archives = await openArchive(database.url, settings, host.guard)
  const stopped = followerOf(archives)
  const lines = Array.from({ length: 19_000 }, (_, number) => `Talk ${number}`)
  const { id } = await stopped.follow(host.at('/stopped', table(...lines)))
  await until(
    'the plan to begin',
    async () => (await stopped.query('select from import_row')).length,
  )
  await archives.close()
  assert.deepEqual(await stopped.importsOf(id), [])
  const { isLeased, attempts, hours } = await stopped.internals(id)
  assert.deepEqual([isLeased, attempts], [false, 0])
  assert.ok(hours <= 1.01 / 60, `${hours} hours`)
})

test('the archive is consistent', () => checkInvariants(archive.databaseUrl))
