import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { createToken } from '../../server/auth/auth.ts'
import { publishDue } from '../../server/publication/publication.ts'
import { category, type OpenArchive, openArchive, startArchive } from '../support/harness.ts'
import { checkInvariants, withDatabase } from '../support/invariants.ts'
import { until } from '../support/until.ts'
import { untilWaiting } from '../support/writer.ts'

// RESUME_SECONDS 0: the tests publish by hand.
const archive = await startArchive({ RESUME_SECONDS: '0' })
const { editor: token, pool } = archive

const year = new Date().getUTCFullYear() + 2
const later = `${year}-03-01T09:00:00+01:00`
const schedule = (id: number, publish_at: string | null, by = token) =>
  archive.call('PUT', `/api/v2/video/${id}/publication`, { body: { publish_at }, token: by })
const read = async (id: number) =>
  (await archive.call('GET', `/api/v2/video/${id}/publication`, { token })).json
const stateOf = async (id: number) =>
  (await archive.call('GET', `/api/v2/video/${id}`, { token })).json.state
const draft = (fields = {}) => archive.make({ state: 2, ...fields })
const fail = (error: unknown) => assert.fail(String(error))
const publish = () => publishDue(pool, fail)

/** Schedules a draft for a time that has passed, as if the archive had been stopped meanwhile. */
async function scheduleForNow(id: number): Promise<void> {
  assert.equal((await schedule(id, later)).status, 200)
  await withDatabase(archive.databaseUrl, (query) =>
    query(`update scheduled_publication set publish_at = now() where video_id = ${id}`),
  )
}

test('keeps the time in UTC, changes and cancels it', async () => {
  const { id } = await draft()
  assert.deepEqual(await read(id), { publish_at: null, by: null })
  const { status, json } = await schedule(id, later)
  assert.deepEqual([status, json], [200, { publish_at: `${year}-03-01T08:00:00Z`, by: 'Edith' }])
  assert.deepEqual(await read(id), json)
  await schedule(id, `${year}-04-01T00:00Z`)
  assert.equal((await read(id)).publish_at, `${year}-04-01T00:00:00Z`)
  assert.equal((await schedule(id, null)).status, 200)
  assert.deepEqual(await read(id), { publish_at: null, by: null })
})

test('publishes a draft when its time has come, as a change by the editor', async () => {
  const [one, other] = [await draft({ title: 'On time' }), await draft()]
  await scheduleForNow(one.id)
  await schedule(other.id, later)
  // Changes of other fields do not cancel it.
  await archive.call('PATCH', `/api/v2/video/${one.id}`, { body: { summary: 'New' }, token })
  assert.deepEqual(await publish(), [one.id])
  assert.equal(await publish(), undefined)
  assert.deepEqual([await stateOf(one.id), await stateOf(other.id)], [1, 2])
  assert.equal((await read(one.id)).publish_at, null)
  const { json } = await archive.call('GET', `/api/v2/video/${one.id}/revisions`, { token })
  const [{ kind, by, via, fields }] = json.results
  assert.deepEqual([kind, by, via, fields], ['updated', 'Edith', 'api', ['state']])
  assert.match((await archive.call('GET', '/api/v2/video?q=on+time')).text, /On time/)
})

test('any change of the state cancels it', async () => {
  for (const change of [
    (id: number) => archive.call('PATCH', `/api/v2/video/${id}`, { body: { state: 1 }, token }),
    (id: number) =>
      archive.call('POST', `/api/v2/video/${id}/takedown`, {
        body: { reason: 'Asked' },
        token: archive.admin,
      }),
    async (id: number) =>
      archive.call('POST', `/api/v2/video/${id}/merge`, {
        body: { into: (await archive.make()).id },
        token,
      }),
  ]) {
    const { id } = await draft()
    await scheduleForNow(id)
    assert.equal((await change(id)).status, 200)
    // A talk that is hidden again stays hidden.
    await archive.call('PATCH', `/api/v2/video/${id}`, { body: { state: 2 }, token })
    assert.equal(await publish(), undefined)
    await withDatabase(archive.databaseUrl, async (query) =>
      assert.deepEqual(await query(`select from scheduled_publication where video_id = ${id}`), []),
    )
  }
})

test('refuses wrong times, live talks and talks of other events', async () => {
  const { id } = await draft()
  const errorOf = async (publish_at: unknown) => {
    const { status, json } = await schedule(id, publish_at as string)
    assert.equal(status, 400, JSON.stringify(publish_at))
    return json.errors[0].detail
  }
  const form = /^must be a time with its offset from UTC/
  for (const wrong of ['', 'tomorrow', '2030-01-01', '2030-01-01T09:00', '2030-01-01T09:00:00+1'])
    assert.match(await errorOf(wrong), form)
  for (const wrong of ['2030-02-30T09:00Z', '2030-13-01T09:00Z', '2030-01-01T25:00Z'])
    assert.match(await errorOf(wrong), form)
  assert.match(await errorOf('2020-01-01T09:00Z'), /^must be in the future/)
  assert.equal(await errorOf('2999-01-01T09:00Z'), 'must be within 5 years')
  for (const wrong of [1, {}, undefined]) await errorOf(wrong)
  assert.equal((await schedule(999_999, later)).status, 404)

  const live = await archive.make()
  const refused = await schedule(live.id, later)
  assert.deepEqual([refused.status, refused.json.title], [409, 'Not possible in the current state'])

  await archive.call('POST', '/api/v2/category', { body: { title: 'Other Days' }, token })
  const [event] = await withDatabase(archive.databaseUrl, (query) =>
    query(`select id from category where title = 'Other Days'`),
  )
  const options = { name: 'Olga', role: 'editor', days: 1, eventId: Number(event?.id) } as const
  const { token: foreign } = await createToken(pool, options)
  assert.equal((await schedule(id, later, foreign)).status, 403)
  const own = await draft({ category: 'Other Days' })
  assert.equal((await schedule(own.id, later, foreign)).status, 200)
})

test('a cancellation that was confirmed wins over the job', async () => {
  const { id } = await draft()
  await scheduleForNow(id)
  await withDatabase(archive.databaseUrl, async (query) => {
    await query('begin')
    await query(`select from video where id = ${id} for no key update`)
    await query(`delete from scheduled_publication where video_id = ${id}`)
    const published = publish()
    await untilWaiting(query, 1, [published])
    await query('commit')
    assert.equal(await published, undefined)
  })
  assert.equal(await stateOf(id), 2)
})

test('two processes publish each draft once', async () => {
  const made = []
  for (let number = 0; number < 20; number++) made.push(await draft())
  for (const { id } of made) await scheduleForNow(id)
  const published = (await Promise.all([publish(), publish(), publish()])).flatMap(
    (ids) => ids ?? [],
  )
  assert.deepEqual(
    published.sort((a, b) => a - b),
    made.map(({ id }) => id),
  )
  for (const { id } of made) {
    const { json } = await archive.call('GET', `/api/v2/video/${id}/revisions`, { token })
    assert.equal(json.count, 2)
  }
})

test('one draft that cannot be published does not stop the others', async () => {
  const [bad, good] = [await draft(), await draft()]
  for (const { id } of [bad, good]) await scheduleForNow(id)
  await withDatabase(archive.databaseUrl, (query) =>
    query(`alter table video add constraint refused check (id <> ${bad.id} or state = 2)`),
  )
  const failed: number[] = []
  assert.deepEqual(await publishDue(pool, (_, id) => failed.push(id)), [good.id])
  assert.deepEqual(failed, [bad.id])
  await withDatabase(archive.databaseUrl, (query) =>
    query('alter table video drop constraint refused'),
  )
  assert.deepEqual(await publish(), [bad.id])
})

test('the server publishes what became due while it was stopped', async () => {
  const { id } = await draft({ category })
  await scheduleForNow(id)
  const restarted: OpenArchive = await openArchive(archive.databaseUrl, { RESUME_SECONDS: '1' })
  after(() => restarted.close())
  await until('the draft to be live', async () => {
    const { status } = await restarted.call('GET', `/api/v2/video/${id}`)
    return status === 200
  })
})

test('keeps the archive consistent', () => checkInvariants(archive.databaseUrl))
