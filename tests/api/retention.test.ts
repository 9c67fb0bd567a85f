import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createToken } from '../../server/auth/auth.ts'
import { type MaintenanceOptions, maintain } from '../../server/maintenance/maintenance.ts'
import { call, category, type Reply, spawnServer, startArchive } from '../support/harness.ts'
import { checkInvariants, withDatabase } from '../support/invariants.ts'

// What is removed when it is no longer needed, and what stays.

const archive = await startArchive()
const { editor: token } = archive
const query = (text: string) => withDatabase(archive.databaseUrl, (run) => run(text))
const send = async (method: string, path: string, body: object = {}): Promise<Reply> => {
  const reply = await archive.call(method, `/api/v2/${path}`, { token: archive.admin, body })
  assert.ok(reply.status < 300, reply.text)
  return reply
}

/** Does all tasks now; tells what each removed. */
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
  const body = { text: `title\n${lines.join('\n')}\n`, format: 'csv', category, language: 'en' }
  const { json } = await send('POST', 'import', body)
  const arrives = async (state: string) => {
    for (let tries = 0; (await send('GET', `import/${json.id}`)).json.state !== state; tries++) {
      assert.ok(tries < 3000)
      await new Promise((done) => setTimeout(done, 20))
    }
  }
  await arrives('planned')
  if (after === 'applied') {
    await send('POST', `import/${json.id}/apply`)
    await arrives('applied')
  } else await query(`update import set state = '${after}' where id = ${json.id}`)
  return json.id
}

const rowsOf = async (id: number) =>
  Number((await query(`select count(*) as rows from import_row where import_id = ${id}`))[0]?.rows)

test('rows of old imports go, the summary stays, and undoing is refused; what is under way or new stays whole', async () => {
  const old = await importTalks(1200)
  const planned = await importTalks(3, 'planned')
  const recent = await importTalks(2)
  const { json: before } = await send('GET', `import/${old}`)
  await query(`update import set touched = now() - interval '91 days' where id <= ${planned}`)
  await query(`update import set touched = now() - interval '89 days' where id = ${recent}`)
  const removed = await maintainNow()
  assert.ok((removed.imports ?? 0) >= 1203, JSON.stringify(removed))
  assert.deepEqual([await rowsOf(old), await rowsOf(planned), await rowsOf(recent)], [0, 0, 2])
  assert.deepEqual((await send('GET', `import/${old}`)).json, before)
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
    assert.match(json.detail, /removed for their age/)
  }
  const listed = (await send('GET', 'import')).json.results
  assert.ok(listed.some((it: { id: number }) => it.id === old))

  await query(
    `update import set touched = now() - interval '91 days', state = 'undoing', done = 0 where id = ${recent}`,
  )
  await withDatabase(archive.databaseUrl, async (run) => {
    // Held, so that no batch moves it on meanwhile.
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

test('words that no live talk has any more go, and those that are missing come back', async () => {
  const stays = await archive.make({ title: 'Zebrafish in common', speakers: ['Quagga Example'] })
  const down = await archive.make({ title: 'Zebrafish and wombatwords' })
  await archive.make({ title: 'Neverpublished', state: 2 })
  const words = async () => {
    const asked = ['zebrafish', 'wombatwords', 'quagga', 'okapi', 'neverpublished']
    const rows = await query(
      `select word from search_word where word = any ('{${asked}}') order by 1`,
    )
    return rows.map(({ word }) => word)
  }
  assert.deepEqual(await words(), ['quagga', 'wombatwords', 'zebrafish'])
  await send('POST', `video/${down.id}/takedown`, { reason: 'asked' })
  await send('PATCH', 'speaker/quagga-example', { name: 'Okapi Example' })
  await query(`delete from search_word where word = 'zebrafish'`)
  await maintainNow()
  assert.deepEqual(await words(), ['okapi', 'zebrafish'])
  assert.equal((await send('GET', 'video?q=zebrafihs')).json.results[0].id, stays.id)
})

test('keys of records that are gone go, and duplicates are still noticed', async () => {
  const source_url = 'https://example.org/same-source'
  const counts = async () => {
    const [row] =
      await query(`select (select count(*) from fingerprint)::int as seen, (select count(*) from duplicate_candidate)::int as suspects,
      (select count(distinct key) from (select same_source as key from video where taken_down is null
         union all select same_talk from video where taken_down is null) as used where key is not null)::int as used`)
    return row as unknown as { seen: number; suspects: number; used: number }
  }
  const [one, two] = [await archive.make({ source_url }), await archive.make({ source_url })]
  const before = await counts()
  assert.ok(before.suspects >= 1)
  await send('PATCH', `video/${one.id}`, { source_url: 'https://example.org/another' })
  await send('POST', `video/${two.id}/takedown`, { reason: 'asked' })
  await maintainNow()
  const after = await counts()
  assert.equal(after.seen, after.used)
  assert.equal(after.suspects, before.suspects - 1)
  const [three, four] = [await archive.make({ source_url }), await archive.make({ source_url })]
  const { json } = await send('GET', 'quality/same-source')
  const found = json.results.flatMap((it: { records: { id: number }[] }) =>
    it.records.map(({ id }) => id),
  )
  assert.ok(found.includes(three.id) && found.includes(four.id) && !found.includes(two.id))
})

test('a duplicate of a record that is written while its key is being removed is noticed', async () => {
  const source_url = 'https://example.org/raced'
  const first = await archive.make({ source_url })
  await send('PATCH', `video/${first.id}`, { source_url: null })
  await withDatabase(archive.databaseUrl, async (run) => {
    await run('begin')
    await run(`update video set source_url = '${source_url}' where id = ${first.id}`)
    // It waits for a moment only, and is tried again later.
    await assert.rejects(maintainNow(), AggregateError)
    await run('commit')
  })
  await maintainNow()
  const second = await archive.make({ source_url })
  const { json } = await send('GET', 'quality/same-source?page_size=100')
  const pairs = json.results.map((it: { records: { id: number }[] }) =>
    it.records.map(({ id }) => id),
  )
  assert.ok(pairs.some((ids: number[]) => ids.includes(first.id) && ids.includes(second.id)))
  // The statement above wrote the row alone.
  await send('PATCH', `video/${first.id}`, { source_url })
})

test('tokens go 90 days after their end', async () => {
  const made = await Promise.all(
    ['expired', 'revoked', 'ended lately', 'valid'].map((name) =>
      createToken(archive.pool, { name, role: 'editor', days: 1 }),
    ),
  )
  const [expired, revoked, lately, valid] = made.map(({ id }) => id)
  await query(`update token set expires = now() - interval '91 days' where id = ${expired}`)
  await query(
    `update token set revoked = now() - interval '91 days', expires = now() + interval '1 day' where id = ${revoked}`,
  )
  await query(`update token set expires = now() - interval '89 days' where id = ${lately}`)
  const { tokens } = await maintainNow()
  assert.equal(tokens, 2)
  const left = await query(
    `select id::int from token where id in (${made.map(({ id }) => id)}) order by id`,
  )
  assert.deepEqual(new Set(left.map(({ id }) => id)), new Set([lately, valid]))
})

test('of several processes one does a task, once in its time, and another takes up what was left half way', async () => {
  const removed = async () => {
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
  const all = ['imports', 'keys', 'tokens', 'words']
  await query('delete from maintenance')
  assert.deepEqual(await removed(), all)
  assert.deepEqual(await removed(), [])
  await query(
    `update maintenance set began = now() - interval '25 hours', finished = now() - interval '25 hours'`,
  )
  assert.deepEqual(await removed(), all)
  // Killed after it began.
  await query(
    `update maintenance set began = now() - interval '59 minutes', finished = now() - interval '2 days' where task = 'words'`,
  )
  assert.deepEqual(await removed(), [])
  await query(`update maintenance set began = now() - interval '61 minutes' where task = 'words'`)
  assert.deepEqual(await removed(), ['words'])
})

test('a server does it by itself', async () => {
  await query('delete from maintenance')
  const server = await spawnServer({ DATABASE_URL: archive.databaseUrl, MAINTENANCE_HOURS: '24' })
  for (let tries = 0; ; tries++) {
    const done = await query(`select task from maintenance where finished > '-infinity'`)
    if (done.length === 4) break
    assert.ok(tries < 3000)
    await new Promise((wait) => setTimeout(wait, 20))
  }
  assert.equal((await call(server.url, 'GET', '/healthz')).status, 200)
  await server.stop()
})

test('the archive is sound afterwards', () => checkInvariants(archive.databaseUrl))
