import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createToken, invitePerson } from '../../server/auth/auth.ts'
import {
  type MaintenanceOptions,
  maintain,
  maintenanceTasks,
} from '../../server/maintenance/maintenance.ts'
import { call, category, type Reply, spawnServer, startArchive } from '../support/harness.ts'
import { checkInvariants, withDatabase } from '../support/invariants.ts'
import { until } from '../support/until.ts'

// Maintenance removes data that is no longer needed, and nothing else.

const archive = await startArchive()
const { editor: token } = archive
const query = (text: string) => withDatabase(archive.databaseUrl, (run) => run(text))
const send = async (method: string, path: string, body: object = {}): Promise<Reply> => {
  const reply = await archive.call(method, `/api/v2/${path}`, { token: archive.admin, body })
  assert.ok(reply.status < 300, reply.text)
  return reply
}

/** Runs all tasks now. Returns the number of rows that each removed. */
async function maintainNow(
  options: Partial<MaintenanceOptions> = {},
): Promise<Record<string, number>> {
  await query(`update maintenance set began = '-infinity', finished = '-infinity'`)
  const removed: Record<string, number> = {}
  await maintain(archive.pool, {
    importDays: 90,
    everyHours: 24,
    isStopped: () => false,
    onDone: (task, count) => {
      removed[task] = count
    },
    ...options,
  })
  return removed
}

async function importTalks(
  count: number,
  after: 'applied' | 'planned' | 'applying' = 'applied',
): Promise<number> {
  const lines = Array.from({ length: count }, (_, number) => `Imported ${Math.random()} ${number}`)
  const rows = lines.map((title) => `${title},Speaker ${count}`)
  const body = {
    text: `title,speakers\n${rows.join('\n')}\n`,
    format: 'csv',
    category,
    language: 'en',
  }
  const { json } = await send('POST', 'import', body)
  const waitForState = async (state: string) => {
    for (let tries = 0; (await send('GET', `import/${json.id}`)).json.state !== state; tries++) {
      assert.ok(tries < 3000)
      await new Promise((done) => setTimeout(done, 20))
    }
  }
  await waitForState('planned')
  if (after === 'applied') {
    await send('POST', `import/${json.id}/apply`)
    await waitForState('applied')
  } else await query(`update import set state = '${after}' where id = ${json.id}`)
  return json.id
}

const rowsOf = async (id: number) =>
  Number((await query(`select count(*) as rows from import_row where import_id = ${id}`))[0]?.rows)

test('removes the rows of old imports, keeps their summary and refuses to undo them', async () => {
  const old = await importTalks(1200)
  const planned = await importTalks(3, 'planned')
  const recent = await importTalks(2)
  const { json: before } = await send('GET', `import/${old}`)
  await query(`update import set touched = now() - interval '91 days' where id <= ${planned}`)
  await query(`update import set touched = now() - interval '89 days' where id = ${recent}`)
  const removed = await maintainNow()
  assert.ok((removed.imports ?? 0) >= 1203, JSON.stringify(removed))
  assert.deepEqual([await rowsOf(old), await rowsOf(planned), await rowsOf(recent)], [0, 0, 2])
  const { json: after } = await send('GET', `import/${old}`)
  const withoutNames = ({ count }: { count: number }) => ({ count, names: [] })
  const { categories, speakers, tags } = before.creates
  assert.deepEqual(speakers, { count: 1, names: ['Speaker 1200'] })
  assert.deepEqual(after, {
    ...before,
    creates: {
      categories: withoutNames(categories),
      speakers: withoutNames(speakers),
      tags: withoutNames(tags),
    },
  })
  assert.equal(before.outcome.created, 1200)
  assert.deepEqual((await send('GET', `import/${old}/talk`)).json.results, [])
  for (const [id, verb] of [
    [old, 'undo'],
    [planned, 'apply'],
  ]) {
    const { status, json } = await archive.call('POST', `/api/v2/import/${id}/${verb}`, {
      token,
      body: {},
    })
    assert.equal(status, 409)
    assert.match(json.detail, /too old to be changed/)
  }
  const listed = (await send('GET', 'import')).json.results
  assert.ok(listed.some((job: { id: number }) => job.id === old))

  await query(
    `update import
     set touched = now() - interval '91 days', state = 'undoing', done = 0
     where id = ${recent}`,
  )
  await withDatabase(archive.databaseUrl, async (run) => {
    // Locked, so that no batch changes it meanwhile.
    await run('begin')
    await run(`select from import where id = ${recent} for update`)
    await maintainNow()
    assert.equal(await rowsOf(recent), 2)
    await run('commit')
  })
  await query(`update import set touched = now() - interval '1000 days' where id = ${recent}`)
  await maintainNow({ importDays: 0 })
  assert.equal(await rowsOf(recent), 2)
})

test('removes unused search words and restores missing ones', async () => {
  const stays = await archive.make({ title: 'Zebrafish in common', speakers: ['Quagga Example'] })
  const takenDown = await archive.make({ title: 'Zebrafish and wombatwords' })
  await archive.make({ title: 'Neverpublished', state: 2 })
  const words = async () => {
    const candidates = ['zebrafish', 'wombatwords', 'quagga', 'okapi', 'neverpublished']
    const rows = await query(
      `select word from search_word where word = any ('{${candidates}}') order by 1`,
    )
    return rows.map(({ word }) => word)
  }
  assert.deepEqual(await words(), ['quagga', 'wombatwords', 'zebrafish'])
  await send('POST', `video/${takenDown.id}/takedown`, { reason: 'asked' })
  await send('PATCH', 'speaker/quagga-example', { name: 'Okapi Example' })
  await query(`delete from search_word where word = 'zebrafish'`)
  await maintainNow()
  assert.deepEqual(await words(), ['okapi', 'zebrafish'])
  assert.equal((await send('GET', 'video?q=zebrafihs')).json.results[0].id, stays.id)
})

test('removes unused fingerprints and still detects duplicates', async () => {
  const source_url = 'https://example.org/same-source'
  const counts = async () => {
    const [row] = await query(`
      with used as (select same_source as key from video where taken_down is null
                    union all
                    select same_talk from video where taken_down is null)
      select (select count(*) from fingerprint)::int as fingerprints,
             (select count(*) from duplicate_candidate)::int as candidates,
             (select count(distinct key) from used where key is not null)::int as used`)
    return row as unknown as { fingerprints: number; candidates: number; used: number }
  }
  const [one, two] = [await archive.make({ source_url }), await archive.make({ source_url })]
  const before = await counts()
  assert.ok(before.candidates >= 1)
  await send('PATCH', `video/${one.id}`, { source_url: 'https://example.org/another' })
  await send('POST', `video/${two.id}/takedown`, { reason: 'asked' })
  await maintainNow()
  const after = await counts()
  assert.equal(after.fingerprints, after.used)
  assert.equal(after.candidates, before.candidates - 1)
  const [three, four] = [await archive.make({ source_url }), await archive.make({ source_url })]
  const { json } = await send('GET', 'quality/same-source')
  const duplicateIds = json.results.flatMap((finding: { records: { id: number }[] }) =>
    finding.records.map(({ id }) => id),
  )
  assert.ok(
    duplicateIds.includes(three.id) &&
      duplicateIds.includes(four.id) &&
      !duplicateIds.includes(two.id),
  )
})

test('detects a duplicate that is written while its fingerprint is removed', async () => {
  const source_url = 'https://example.org/raced'
  const first = await archive.make({ source_url })
  await send('PATCH', `video/${first.id}`, { source_url: null })
  await withDatabase(archive.databaseUrl, async (run) => {
    await run('begin')
    await run(`update video set source_url = '${source_url}' where id = ${first.id}`)
    // The task waits for the lock only briefly and is retried later.
    await assert.rejects(maintainNow(), AggregateError)
    await run('commit')
  })
  await maintainNow()
  const second = await archive.make({ source_url })
  const { json } = await send('GET', 'quality/same-source?page_size=100')
  const pairs = json.results.map((finding: { records: { id: number }[] }) =>
    finding.records.map(({ id }) => id),
  )
  assert.ok(pairs.some((ids: number[]) => ids.includes(first.id) && ids.includes(second.id)))
  // The statement above wrote only the row and not the stored body.
  await send('PATCH', `video/${first.id}`, { source_url })
})

test('removes tokens 90 days after they expired or were revoked', async () => {
  const made = await Promise.all(
    ['expired', 'revoked', 'ended lately', 'valid', 'following'].map((name) =>
      createToken(archive.pool, { name, role: 'editor', days: 1 }),
    ),
  )
  const [expired, revoked, recent, valid, following] = made.map(({ id }) => id)
  await query(
    `update token set expires = now() - interval '91 days' where id in (${expired}, ${following})`,
  )
  // Whether it was revoked decides whether the source is still fetched.
  await query(
    `insert into followed_source (url, host, options, interval_hours, actor, token_id, via,
                                  request_id, state)
     values ('https://a.example/', 'a.example', '{}', 24, 'x', ${following}, 'api', '', 'paused')`,
  )
  await query(
    `update token
     set revoked = now() - interval '91 days', expires = now() + interval '1 day'
     where id = ${revoked}`,
  )
  await query(`update token set expires = now() - interval '89 days' where id = ${recent}`)
  const { tokens } = await maintainNow()
  assert.equal(tokens, 2)
  const left = await query(
    `select id::int from token where id in (${made.map(({ id }) => id)}) order by id`,
  )
  assert.deepEqual(new Set(left.map(({ id }) => id)), new Set([recent, valid, following]))
  await query(`delete from followed_source where actor = 'x'`)
})

test('deletes expired sessions, links and challenges, and old audit events', async () => {
  const { id } = await invitePerson(
    archive.pool,
    { name: 'Ada', mail: null, role: 'editor' },
    { actor: 'test', person: null, request: 'test' },
  )
  await query(
    `insert into session (hash, person_id, method, expires, last_seen, strong_until, user_agent)
     select sha256(name::bytea), ${id}, 'link', now() + expires, now() - idle, now(), name
     from (values ('valid', interval '1 day', interval '29 days'),
                  ('expired', interval '-1 s', interval '0'),
                  ('idle', interval '1 day', interval '31 days')) as session (name, expires, idle)`,
  )
  await query(
    `insert into one_time_token (hash, purpose, expires)
     values (sha256('old'), 'challenge', now() - interval '1 s'),
            (sha256('new'), 'challenge', now() + interval '1 minute')`,
  )
  await query(
    `insert into audit_event (actor, kind, request_id, at)
     values ('old', 'signed-in', 'x', now() - interval '731 days'),
            ('new', 'signed-in', 'x', now() - interval '729 days')`,
  )
  assert.equal((await maintainNow()).sessions, 4)
  const sessions = await query('select user_agent from session')
  assert.deepEqual(sessions, [{ user_agent: 'valid' }])
  const actors = await query(`select actor from audit_event where kind = 'signed-in'`)
  assert.deepEqual(actors, [{ actor: 'new' }])
})

test('deletes networks of suggestions after a week, and declined ones after a year', async () => {
  await query(
    `insert into suggestion (kind, fields, comment, show_name, secret_hash, content_hash,
                             low_priority, state, reason, closed)
     select 'missing', '{}', name, false, sha256(name::bytea), sha256(name::bytea), false, state,
            case when state = 'declined' then 'unclear' end, now() - closed
     from (values ('old', 'declined', interval '366 days'),
                  ('kept', 'declined', interval '364 days'),
                  ('withdrawn', 'withdrawn', interval '366 days'),
                  ('accepted', 'accepted', interval '3660 days'),
                  ('open', 'open', null)) as suggestion (name, state, closed)`,
  )
  await query(
    `insert into suggestion_sender (suggestion_id, network, at)
     select id, sha256('network'),
            now() - case comment when 'open' then interval '8 days' else interval '6 days' end
     from suggestion where comment in ('open', 'kept')`,
  )
  await query(
    `insert into suggestion_key (day, key)
     select (now() at time zone 'UTC')::date - days, 'key' from unnest('{0,7,8}'::integer[]) days`,
  )
  // Two that changed a talk: they are part of its history.
  const { id: talk } = await archive.make()
  await query(
    `insert into suggestion (kind, video_id, base_revision, fields, comment, name, reply, show_name,
                             secret_hash, content_hash, low_priority, state, closed,
                             decided_video_id, revision)
     select kind, ${talk}, 1, '{}', kind, 'Zoë', 'Private', false, sha256(kind::bytea),
            sha256(kind::bytea), false, 'accepted', now() - interval '366 days', ${talk},
            2
     from unnest('{correction,removal}'::text[]) as kind`,
  )
  // One whose change was undone: the history names it.
  const undone = { kind: 'correction', video: talk, fields: { title: 'Undone' }, comment: 'Undone' }
  const { id } = (await send('POST', 'suggestion', undone)).json
  await send('POST', `suggestion/${id}/accept`)
  await send('POST', `suggestion/${id}/reopen`)
  await send('POST', `suggestion/${id}/decline`, { reason: 'unclear' })
  await query(`update suggestion set closed = now() - interval '366 days' where id = ${id}`)
  assert.equal((await maintainNow()).suggestions, 7)
  const left = await query('select comment, name, reply from suggestion order by id')
  const [name, reply] = ['Zoë', 'Private']
  assert.deepEqual(left, [
    { comment: 'kept', name: null, reply: null },
    { comment: 'open', name: null, reply: null },
    { comment: 'correction', name, reply },
    { comment: '', name: null, reply: null },
    { comment: '', name: null, reply: null },
  ])
  const named = await query('select suggestion_id::int from change where suggestion_id is not null')
  assert.deepEqual(named, [{ suggestion_id: id }])
  assert.equal((await send('GET', `suggestion/${id}`)).status, 200, 'its link in the history')
  assert.equal((await maintainNow()).suggestions ?? 0, 0)
  const senders = await query(
    'select comment from suggestion_sender join suggestion on id = suggestion_id',
  )
  assert.deepEqual(senders, [{ comment: 'kept' }])
  assert.equal((await query('select day from suggestion_key')).length, 2)
})

test('runs each task once per interval across processes and resumes abandoned ones', async () => {
  const runTasks = async () => {
    const tasks: string[] = []
    const options = {
      importDays: 90,
      everyHours: 24,
      isStopped: () => false,
      onDone: (task: string) => tasks.push(task),
    }
    await Promise.all([maintain(archive.pool, options), maintain(archive.pool, options)])
    return tasks.sort()
  }
  const all = [
    'copies',
    'counts',
    'frequencies',
    'imports',
    'keys',
    'matches',
    'names',
    'pictures',
    'sessions',
    'suggestions',
    'tokens',
    'words',
  ]
  await query('delete from maintenance')
  assert.deepEqual(await runTasks(), all)
  assert.deepEqual(await runTasks(), [])
  await query(
    `update maintenance
     set began = now() - interval '25 hours', finished = now() - interval '25 hours'`,
  )
  assert.deepEqual(await runTasks(), all)
  // Simulates a process that was killed during the task.
  await query(
    `update maintenance
     set began = now() - interval '59 minutes', finished = now() - interval '2 days'
     where task = 'words'`,
  )
  assert.deepEqual(await runTasks(), [])
  await query(`update maintenance set began = now() - interval '61 minutes' where task = 'words'`)
  assert.deepEqual(await runTasks(), ['words'])
})

test('runs maintenance in a server on its own', async () => {
  await query('delete from maintenance')
  const server = await spawnServer({ DATABASE_URL: archive.databaseUrl, MAINTENANCE_HOURS: '24' })
  await until('all tasks are finished', async () => {
    const done = await query(`select task from maintenance where finished > '-infinity'`)
    return done.length === maintenanceTasks.length
  })
  assert.equal((await call(server.url, 'GET', '/healthz')).status, 200)
  await server.stop()
})

test('keeps the archive consistent after all tests', () => checkInvariants(archive.databaseUrl))
