import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { createApp } from '../../server/app.ts'
import { readConfig } from '../../server/config.ts'
import { openPool } from '../../server/platform/db/pool.ts'
import { timeoutsFor } from '../../server/platform/timeouts.ts'
import { startCuttingProxy } from '../support/cutting-proxy.ts'
import { call, category, type Reply, startArchive } from '../support/harness.ts'
import { checkInvariants, withDatabase } from '../support/invariants.ts'

// Every way to write, with the connection to PostgreSQL cut at each step in turn: the whole change
// is there or nothing of it, the answer does not lie about it, and the same request again has one
// effect.

const archive = await startArchive()
const direct = new URL(archive.databaseUrl)
const proxy = await startCuttingProxy(direct.hostname, Number(direct.port))
const url = new URL(archive.databaseUrl)
url.port = String(proxy.port)
const pool = openPool({
  url: url.href,
  connections: 1,
  applicationName: 'cut',
  times: timeoutsFor(30),
})
// Without the cache and the looks for unfinished renames: they would be one more entity that makes
// steps.
const app = createApp(
  readConfig({ DATABASE_URL: url.href, CACHE_MB: '0', RESUME_SECONDS: '0', ANSWER_SECONDS: '30' }),
  pool,
  false,
)
const address = await app.listen({ host: '127.0.0.1', port: 0 })
after(async () => {
  await app.close()
  await pool.close()
  await proxy.close()
})

const { editor: token } = archive
let number = 0
// Never due: noting the last use of a token would be a step of its own, now and then.
await withDatabase(archive.databaseUrl, (query) =>
  query("update token set last_used = now() + interval '1 day'"),
)

interface Case {
  name: string
  /** A fresh request each time; sent again as it is after the cut. */
  prepare(): Promise<() => Promise<Reply>>
  ok: number
  /** Whether the same request again must have one effect in all. */
  repeatable: boolean
  /** How many changes it makes, all of them or none. */
  changes?: number
}

const send = (method: string, path: string, options: Parameters<typeof call>[3]) => () =>
  call(address, method, path, { token, ...options })

async function patch(body: object): Promise<() => Promise<Reply>> {
  const { id } = await archive.make({ summary: 'as it was' })
  const { headers } = await archive.call('GET', `/api/v2/video/${id}`)
  return send('PATCH', `/api/v2/video/${id}`, {
    body,
    headers: { 'if-match': String(headers.etag) },
  })
}

const cases: Case[] = [
  {
    name: 'PATCH of a text',
    ok: 200,
    repeatable: true,
    prepare: () => patch({ summary: `new ${++number}` }),
  },
  {
    name: 'PATCH with new names',
    ok: 200,
    repeatable: true,
    prepare: () =>
      patch({ speakers: [`Speaker ${++number}`, `Second ${number}`], tags: [`tag ${number}`] }),
  },
  {
    name: 'PUT',
    ok: 200,
    repeatable: true,
    async prepare() {
      const { id } = await archive.make()
      const { headers } = await archive.call('GET', `/api/v2/video/${id}`)
      return send('PUT', `/api/v2/video/${id}`, {
        body: { title: `Put ${++number}`, category, language: 'French' },
        headers: { 'if-match': String(headers.etag) },
      })
    },
  },
  {
    name: 'POST with new names and a key',
    ok: 201,
    repeatable: true,
    prepare: async () =>
      send('POST', '/api/v2/video', {
        body: {
          title: `Post ${++number}`,
          category,
          language: 'English',
          speakers: [`Poster ${number}`],
          tags: [`posted ${number}`],
        },
        headers: { 'idempotency-key': `key-${number}` },
      }),
  },
  {
    name: 'POST without a key',
    ok: 201,
    repeatable: false,
    prepare: async () =>
      send('POST', '/api/v2/video', {
        body: { title: `Plain ${++number}`, category, language: 'English' },
      }),
  },
  {
    name: 'restoring',
    ok: 200,
    repeatable: true,
    async prepare() {
      const { id } = await archive.make({ summary: `first ${++number}` })
      const { headers } = await archive.call('PATCH', `/api/v2/video/${id}`, {
        token,
        body: { summary: 'second' },
      })
      return send('POST', `/api/v2/video/${id}/revisions/1/restore`, {
        headers: { 'if-match': String(headers.etag) },
      })
    },
  },
  {
    name: 'takedown',
    ok: 200,
    repeatable: false,
    async prepare() {
      const { id } = await archive.make()
      return send('POST', `/api/v2/video/${id}/takedown`, {
        token: archive.admin,
        body: { reason: 'asked for' },
      })
    },
  },
  {
    name: 'takedown with If-Match',
    ok: 200,
    repeatable: true,
    async prepare() {
      const { id } = await archive.make()
      const { headers } = await archive.call('GET', `/api/v2/video/${id}`)
      return send('POST', `/api/v2/video/${id}/takedown`, {
        token: archive.admin,
        body: { reason: 'asked for' },
        headers: { 'if-match': String(headers.etag) },
      })
    },
  },
  {
    name: 'POST of a category',
    ok: 201,
    repeatable: false,
    prepare: async () =>
      send('POST', '/api/v2/category', { body: { title: `Category ${++number}` } }),
  },
  {
    name: 'PATCH of a category',
    ok: 200,
    repeatable: true,
    async prepare() {
      const { json, headers } = await archive.call('POST', '/api/v2/category', {
        token,
        body: { title: `Patched ${++number}` },
      })
      return send('PATCH', `/api/v2/category/${json.slug}`, {
        body: { description: 'new' },
        headers: { 'if-match': String(headers.etag) },
      })
    },
  },
]

cases.push(
  {
    name: 'renaming a speaker of two records',
    ok: 200,
    repeatable: true,
    changes: 3,
    async prepare() {
      const speakers = [`Before ${++number}`]
      for (const state of [1, 2] as const) await archive.make({ speakers, state })
      const { headers } = await archive.call('GET', `/api/v2/speaker/before-${number}`)
      const body = { name: `After ${number}`, aliases: [{ name: `Beside ${number}`, shown: true }] }
      return send('PATCH', `/api/v2/speaker/before-${number}`, {
        body,
        headers: { 'if-match': String(headers.etag) },
      })
    },
  },
  {
    name: 'merging two tags of one record',
    ok: 200,
    repeatable: true,
    changes: 3,
    async prepare() {
      await archive.make({ tags: [`from ${++number}`, `into ${number}`] })
      return send('POST', `/api/v2/tag/from-${number}/merge`, { body: { into: `into-${number}` } })
    },
  },
  {
    name: 'merging two speakers with If-Match',
    ok: 200,
    repeatable: true,
    changes: 3,
    async prepare() {
      await archive.make({ speakers: [`Gone ${++number}`, `Stays ${number}`] })
      const { headers } = await archive.call('GET', `/api/v2/speaker/gone-${number}`)
      return send('POST', `/api/v2/speaker/gone-${number}/merge`, {
        body: { into: `stays-${number}` },
        headers: { 'if-match': String(headers.etag) },
      })
    },
  },
  {
    name: 'splitting a speaker',
    ok: 200,
    repeatable: true,
    async prepare() {
      const { id } = await archive.make({ speakers: [`Two ${++number}`] })
      return send('POST', `/api/v2/speaker/two-${number}/split`, {
        body: { name: `Second of two ${number}`, videos: [id] },
      })
    },
  },
)

/** Everything that a write can touch, as text: equal texts, nothing happened. */
function state(): Promise<string> {
  return withDatabase(archive.databaseUrl, async (query) =>
    JSON.stringify(
      await query(`
        select (select array_agg(v::text order by id) from video v) as videos, (select array_agg(b::text order by id) from video_body b) as bodies,
               (select array_agg(c::text order by position) from change c) as changes, (select array_agg(c::text order by id) from category c) as categories,
               (select array_agg(s::text order by id) from speaker s) as speakers, (select array_agg(t::text order by id) from tag t) as tags,
               (select array_agg(n::text order by kind, name) from entity_name n) as names,
               (select array_agg(s::text order by kind, slug) from entity_slug s) as slugs, (select array_agg(r::text order by id) from rename_job r) as renamings,
               (select array_agg(k::text order by key) from idempotency_key k) as keys`),
    ),
  )
}

/**
 * A backend whose connection was cut ends what it is doing first: only when it is gone has it done
 * all that it will do.
 */
async function quiet(): Promise<void> {
  for (let tries = 0; tries < 500; tries++) {
    const left = await withDatabase(archive.databaseUrl, (query) =>
      query(
        "select from pg_stat_activity where application_name like 'cut%' and client_port <> all ($1::integer[])",
        [proxy.ports()],
      ),
    )
    if (left.length === 0) return
    await setTimeout(10)
  }
  assert.fail('a connection that was cut is still there after 5 s')
}

const changes = () =>
  withDatabase(archive.databaseUrl, async (query) =>
    Number((await query('select count(*)::int as n from change'))[0]?.n),
  )

for (const { name, prepare, ok, repeatable, changes: all = 1 } of cases)
  for (const when of ['before', 'after'] as const)
    test(`${name}, cut ${when} each step in turn`, async (t) => {
      let step = 1
      let unknowns = 0
      for (; step < 40; step++) {
        const request = await prepare()
        const [before, countBefore] = [await state(), await changes()]
        proxy.cutAt(step, when)
        const reply = await request()
        const cut = proxy.disarm()
        if (!cut) {
          assert.equal(reply.status, ok, reply.text)
          break
        }
        assert.equal(reply.status, 503, `step ${step}: ${reply.text}`)
        assert.equal(reply.headers['retry-after'], '2')
        if (reply.json.outcome === 'unknown') unknowns++
        await quiet()
        const made = (await changes()) - countBefore
        assert.ok(made === 0 || made === all, `step ${step}: ${made} changes`)
        if (made === 0)
          assert.ok(
            (await state()) === before,
            `step ${step}: something is left of a change that was not made`,
          )
        else
          assert.equal(
            reply.json.outcome,
            'unknown',
            `step ${step}: the answer says that nothing was applied`,
          )
        await checkInvariants(archive.databaseUrl)
        if (repeatable) {
          assert.equal((await request()).status, ok, `step ${step}: repeated`)
          assert.equal(
            (await changes()) - countBefore,
            all,
            `step ${step}: the repeated request had a second effect`,
          )
        }
      }
      // Of all steps one decides: the statement that writes, or the commit around it. At every
      // other one the service knows.
      assert.equal(unknowns, 1, `the outcome was unknown at ${unknowns} steps`)
      assert.ok(step > 2 && step < 40, `it took ${step - 1} steps`)
      t.diagnostic(`${step - 1} steps`)
    })

test('POST of an import, cut after each step in turn: the answer never says that nothing was written when it was', async (t) => {
  const count = () =>
    withDatabase(archive.databaseUrl, async (query) => (await query('select from import')).length)
  let [step, unknowns] = [1, 0]
  for (; step < 10; step++) {
    const before = await count()
    proxy.cutAt(step, 'after')
    const body = {
      text: 'key,title\na,Cut\n',
      format: 'csv',
      name: 'cut.csv',
      category,
      language: 'en',
    }
    const reply = await call(address, 'POST', '/api/v2/import', { token, body })
    proxy.disarm()
    if (reply.status === 201) break
    assert.equal(reply.status, 503, reply.text)
    if (reply.json.outcome === 'unknown') unknowns++
    if ((await count()) > before) assert.equal(reply.json.outcome, 'unknown', `step ${step}`)
  }
  assert.equal(unknowns, 1, `the outcome was unknown at ${unknowns} steps`)
  t.diagnostic(`${step - 1} steps`)
})
