import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import pg from 'pg'
import { createApp } from '../../server/app.ts'
import { readConfig } from '../../server/config.ts'
import { nextImportBatch } from '../../server/imports/imports.ts'
import { proposeReplacement } from '../../server/links/links.ts'
import { openPool } from '../../server/platform/db/pool.ts'
import { timeoutsFor } from '../../server/platform/timeouts.ts'
import { publishDue } from '../../server/publication/publication.ts'
import { startCuttingProxy } from '../support/cutting-proxy.ts'
import { call, category, type Reply, startArchive } from '../support/harness.ts'
import { checkInvariants } from '../support/invariants.ts'
import { until } from '../support/until.ts'

// Every kind of write with the connection to PostgreSQL cut at each step: the change is applied as
// a whole or not at all, the response reports that correctly, and a repeated request has no second
// effect.

// RESUME_SECONDS 0: the jobs are run by the tests.
const archive = await startArchive({ RESUME_SECONDS: '0' })
const database = new pg.Client({ connectionString: archive.databaseUrl })
// The archive drops its database first when the tests end.
database.on('error', () => {})
await database.connect()
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
// Without the cache, polling for jobs and maintenance, which would add steps of their own.
const app = createApp(
  readConfig({
    DATABASE_URL: url.href,
    CACHE_MB: '0',
    RESUME_SECONDS: '0',
    MAINTENANCE_HOURS: '0',
    ANSWER_SECONDS: '30',
  }),
  pool,
  false,
)
const address = await app.listen({ host: '127.0.0.1', port: 0 })
after(async () => {
  await app.close()
  await pool.close()
  await proxy.close()
  await database.end()
})

const { editor: token } = archive
let number = 0
const nextYear = `${new Date().getUTCFullYear() + 1}-03-01T09:00:00Z`
// Keeps the server from storing the last use of a token, which would be a step of its own.
await database.query("update token set last_used = now() + interval '1 day'")

interface Case {
  name: string
  /** Returns a new request, which is also repeated unchanged after the cut. */
  prepare(): Promise<() => Promise<Reply>>
  ok: number
  /** Whether a repeated request must have no second effect. */
  repeatable: boolean
  /** The number of changes, of which all are made or none. */
  changes?: number
  /** The table that gets a row for each change. */
  table?: ChangedTable
}

type ChangedTable = 'audit_event' | 'change' | 'import' | 'scheduled_publication' | 'suggestion'

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
    name: 'undoing a merge of two tags of one record',
    ok: 200,
    repeatable: true,
    changes: 3,
    async prepare() {
      await archive.make({ tags: [`undone ${++number}`, `target ${number}`] })
      await archive.call('POST', `/api/v2/tag/undone-${number}/merge`, {
        token: archive.editor,
        body: { into: `target-${number}` },
      })
      return send('POST', `/api/v2/tag/undone-${number}/unmerge`, {})
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
  {
    name: 'merging two talks with facts',
    ok: 200,
    repeatable: true,
    changes: 3,
    async prepare() {
      const [kept, merged] = await makeSameTalks()
      return send('POST', `/api/v2/video/${merged}/merge`, { body: { into: kept } })
    },
  },
  {
    name: 'undoing a merge of two talks',
    ok: 200,
    repeatable: true,
    async prepare() {
      const [kept, merged] = await makeSameTalks()
      const reply = await archive.call('POST', `/api/v2/video/${merged}/merge`, {
        token,
        body: { into: kept },
      })
      assert.equal(reply.status, 200, reply.text)
      return send('POST', `/api/v2/video/${merged}/revisions/1/restore`, {})
    },
  },
  {
    name: 'scheduling the publication of a draft',
    ok: 200,
    repeatable: true,
    table: 'scheduled_publication',
    async prepare() {
      const { id } = await archive.make({ state: 2 })
      return send('PUT', `/api/v2/video/${id}/publication`, { body: { publish_at: nextYear } })
    },
  },
  {
    name: 'a suggestion',
    ok: 201,
    repeatable: true,
    table: 'suggestion',
    async prepare() {
      const { id: video } = await archive.make()
      const body = { kind: 'correction', video, fields: { title: 'Corrected' } }
      return send('POST', '/api/v2/suggestion', { body })
    },
  },
  {
    name: 'accepting a suggestion',
    ok: 200,
    repeatable: true,
    prepare: async () =>
      send('POST', `/api/v2/suggestion/${await makeSuggestion()}/accept`, { body: {} }),
  },
  {
    name: 'accepting a replacement of a video that is gone',
    ok: 200,
    repeatable: true,
    prepare: async () =>
      send('POST', `/api/v2/replacement/${await makeReplacement('gone')}/accept`, {}),
  },
  {
    name: 'accepting a further copy',
    ok: 200,
    repeatable: true,
    prepare: async () =>
      send('POST', `/api/v2/replacement/${await makeReplacement('ok')}/accept`, {}),
  },
  {
    name: 'pinning a source',
    ok: 200,
    repeatable: true,
    prepare: async () =>
      send('PATCH', `/api/v2/source/${await makeSource('ok')}`, {
        body: { pin: { state: 'gone', until: '2999-12-31' } },
      }),
  },
  {
    name: 'declining a suggestion',
    ok: 200,
    repeatable: true,
    table: 'audit_event',
    prepare: async () =>
      send('POST', `/api/v2/suggestion/${await makeSuggestion()}/decline`, {
        body: { reason: 'unclear' },
      }),
  },
  {
    name: 'undoing the decision about a suggestion',
    ok: 200,
    repeatable: true,
    async prepare() {
      const id = await makeSuggestion()
      await archive.call('POST', `/api/v2/suggestion/${id}/accept`, { token, body: {} })
      return send('POST', `/api/v2/suggestion/${id}/reopen`, {})
    },
  },
)

/** Creates a suggestion with a new speaker. */
async function makeSuggestion(): Promise<number> {
  const { id: video } = await archive.make({ speakers: ['Ada'] })
  const body = { kind: 'correction', video, fields: { speakers: ['Ada', `New ${++number}`] } }
  const { json } = await archive.call('POST', '/api/v2/suggestion', { token, body })
  return json.id
}

/** Creates a record whose video is in a state. Returns the id of its source. */
async function makeSource(state: string): Promise<number> {
  const { id } = await archive.make({ source_url: `https://videos.example/${++number}` })
  const { json } = await archive.call('GET', `/api/v2/video/${id}/sources`)
  const [source] = json.results
  await database.query('update source set state = $1 where id = $2', [state, source.id])
  return source.id
}

/** Proposes a copy of a video that is in a state. */
async function makeReplacement(state: string): Promise<number> {
  const source = await makeSource(state)
  const url = `https://copies.example/${number}`
  await proposeReplacement(archive.pool, { source, url, finder: 'wayback', evidence: null })
  const { rows } = await database.query('select max(id)::int as id from replacement')
  return rows[0].id
}

/** Creates two records of the same talk. The one to merge has a summary and another video. */
async function makeSameTalks(): Promise<[kept: number, merged: number]> {
  const video = (host: string) => `https://${host}.example/${++number}`
  const kept = await archive.make({ source_url: video('kept') })
  const merged = await archive.make({ source_url: video('merged'), summary: 'Of the merged one' })
  return [kept.id, merged.id]
}

/** Reads everything that a write can change, as a text to compare. */
async function readState(): Promise<string> {
  const { rows } = await database.query(`
    select (select array_agg(v::text order by id) from video v) as videos,
           (select array_agg(b::text order by id) from video_body b) as bodies,
           (select array_agg(c::text order by position) from change c) as changes,
           (select array_agg(c::text order by id) from category c) as categories,
           (select array_agg(s::text order by id) from speaker s) as speakers,
           (select array_agg(t::text order by id) from tag t) as tags,
           (select array_agg(n::text order by kind, name) from entity_name n) as names,
           (select array_agg(s::text order by kind, slug) from entity_slug s) as slugs,
           (select array_agg(r::text order by id) from rename_job r) as rename_jobs,
           (select array_agg(f::text order by id) from video_facts f) as facts,
           (select array_agg(p::text order by video_id)
            from scheduled_publication p) as publications,
           (select array_agg(s::text order by id) from suggestion s) as suggestions,
           (select array_agg(e::text order by id) from audit_event e) as events,
           (select array_agg(k::text order by key) from idempotency_key k) as keys`)
  return JSON.stringify(rows)
}

/** Waits until the backends of cut connections are gone: each finishes its statement first. */
async function waitForBackends(): Promise<void> {
  await until('the backends of cut connections to end', async () => {
    const { rowCount } = await database.query(
      `select from pg_stat_activity
       where application_name like 'cut%' and client_port <> all ($1::integer[])`,
      [proxy.ports()],
    )
    return rowCount === 0
  })
}

async function countRows(table: ChangedTable): Promise<number> {
  const { rows } = await database.query(`select count(*)::integer as count from ${table}`)
  return rows[0].count
}

// Each step is cut once, half of them before and half of them after the database has executed it.
// With CUTS=all, as in npm run nightly, each step is cut both before and after.
const ways = process.env.CUTS === 'all' ? (['before', 'after'] as const) : (['at'] as const)

function cutOf(step: number, way: (typeof ways)[number]): 'before' | 'after' {
  if (way !== 'at') return way
  return step % 2 === 0 ? 'before' : 'after'
}

for (const { name, prepare, ok, repeatable, changes: changeCount = 1, table = 'change' } of cases)
  for (const way of ways)
    test(`${name} is atomic if the connection is cut ${way} any step`, async (t) => {
      let step = 1
      let unknowns = 0
      for (; step < 40; step++) {
        const request = await prepare()
        const [before, countBefore] = [await readState(), await countRows(table)]
        proxy.cutAt(step, cutOf(step, way))
        const reply = await request()
        const cut = proxy.disarm()
        if (!cut) {
          assert.equal(reply.status, ok, reply.text)
          break
        }
        assert.equal(reply.status, 503, `step ${step}: ${reply.text}`)
        assert.equal(reply.headers['retry-after'], '2')
        if (reply.json.outcome === 'unknown') unknowns++
        await waitForBackends()
        const applied = (await countRows(table)) - countBefore
        assert.ok(applied === 0 || applied === changeCount, `step ${step}: ${applied} changes`)
        if (applied === 0)
          assert.ok((await readState()) === before, `step ${step}: part of a change was applied`)
        else
          assert.equal(
            reply.json.outcome,
            'unknown',
            `step ${step}: the response says that nothing was applied`,
          )
        if (repeatable) {
          assert.equal((await request()).status, ok, `step ${step}: repeated`)
          assert.equal(
            (await countRows(table)) - countBefore,
            changeCount,
            `step ${step}: the repeated request had a second effect`,
          )
        }
      }
      await checkInvariants(archive.databaseUrl)
      // Exactly one step decides, the writing statement or its commit. At every other one the
      // outcome is known.
      assert.equal(unknowns, 1, `the outcome was unknown at ${unknowns} steps`)
      assert.ok(step > 2 && step < 40, `it took ${step - 1} steps`)
      t.diagnostic(`${step - 1} steps`)
    })

const editedTag = (tag: string) => ({
  filter: { tag },
  operations: [{ op: 'set', field: 'copyright_text', value: `CC BY, ${tag}` }],
})

/** Creates two records with a tag of their own. Returns its slug. */
async function makeTagged(): Promise<string> {
  const tag = `edited-${++number}`
  for (const title of ['One', 'Two']) await archive.make({ title, tags: [tag] })
  return tag
}

interface Job {
  name: string
  /** Creates work for the job. */
  prepare(): Promise<void>
  /** Runs the job once, through the proxy. */
  run(): Promise<unknown>
  changes: number
}

const jobs: Job[] = [
  {
    name: 'a batch of a bulk edit',
    changes: 2,
    async prepare() {
      const { json } = await archive.call('POST', '/api/v2/edit', {
        token,
        body: editedTag(await makeTagged()),
      })
      assert.equal(json.state, 'planned')
      // The request would also wake the job of the archive.
      await database.query("update import set state = 'applying' where id = $1", [json.id])
    },
    run: () => nextImportBatch(pool),
  },
  {
    name: 'the publication of a scheduled draft',
    changes: 1,
    async prepare() {
      const { id } = await archive.make({ state: 2 })
      await archive.call('PUT', `/api/v2/video/${id}/publication`, {
        token,
        body: { publish_at: nextYear },
      })
      await database.query(
        'update scheduled_publication set publish_at = now() where video_id = $1',
        [id],
      )
    },
    run: () => publishDue(pool, () => {}),
  },
]

for (const { name, prepare, run, changes: changeCount } of jobs)
  for (const way of ways)
    test(`${name} is done once if the connection is cut ${way} any step`, async (t) => {
      let step = 1
      for (; step < 60; step++) {
        await prepare()
        const [before, countBefore] = [await readState(), await countRows('change')]
        const countChanges = async () => (await countRows('change')) - countBefore
        proxy.cutAt(step, cutOf(step, way))
        await run().catch(() => {})
        const cut = proxy.disarm()
        await waitForBackends()
        const applied = await countChanges()
        assert.ok(applied === 0 || applied === changeCount, `step ${step}: ${applied} changes`)
        if (applied === 0)
          assert.ok((await readState()) === before, `step ${step}: part of a change was applied`)
        // Another process, or the same one later, continues.
        await until(`the job after step ${step}`, async () => {
          await run()
          return (await countChanges()) === changeCount
        })
        await run()
        assert.equal(await countChanges(), changeCount, `step ${step}: done twice`)
        if (!cut) break
      }
      await checkInvariants(archive.databaseUrl)
      assert.ok(step > 4 && step < 60, `it took ${step - 1} steps`)
      t.diagnostic(`${step - 1} steps`)
    })

const started: Record<string, () => Promise<() => Promise<Reply>>> = {
  'an import': async () =>
    send('POST', '/api/v2/import', {
      body: {
        text: 'key,title\na,Cut\n',
        format: 'csv',
        name: 'cut.csv',
        category,
        language: 'en',
      },
    }),
  'a bulk edit': async () => send('POST', '/api/v2/edit', { body: editedTag(await makeTagged()) }),
}

for (const [name, prepare] of Object.entries(started))
  test(`never reports ${name} as not applied after its row was written`, async (t) => {
    let [step, unknowns] = [1, 0]
    for (; step < 20; step++) {
      const request = await prepare()
      const before = await countRows('import')
      proxy.cutAt(step, 'after')
      const reply = await request()
      proxy.disarm()
      if (reply.status === 201) break
      assert.equal(reply.status, 503, reply.text)
      if (reply.json.outcome === 'unknown') unknowns++
      if ((await countRows('import')) > before)
        assert.equal(reply.json.outcome, 'unknown', `step ${step}`)
    }
    assert.equal(unknowns, 1, `the outcome was unknown at ${unknowns} steps`)
    t.diagnostic(`${step - 1} steps`)
  })
