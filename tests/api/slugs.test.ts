import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { retryOnConflict } from '../../server/changes/changes.ts'
import { createMissingEntities } from '../../server/entities/entities.ts'
import { type Db, Unavailable } from '../../server/platform/db/db.ts'
import { category, startArchive } from '../support/harness.ts'
import { checkInvariants, withDatabase } from '../support/invariants.ts'
import { until } from '../support/until.ts'

// The search for a free slug always ends, whatever is taken.

const archive = await startArchive()
const { editor: token } = archive
const send = (method: string, path: string, body: object) =>
  archive.call(method, path, { token, body })

/** The numbers that a search by doubling probes; 0 is the slug itself. */
const powers = [0, ...Array.from({ length: 30 }, (_, power) => 2 ** power)]
const numbered = (name: string) =>
  powers.map((number) => (number === 0 ? name : `${name} ${number}`))

/** Returns a database that counts its statements. */
function countStatements(db: Db): Db & { count: number } {
  const counter = {
    count: 0,
    run(...statement: Parameters<Db['run']>) {
      counter.count++
      return db.run(...statement)
    },
  }
  return counter
}

test('finds a free slug when titles occupy every probed number', {
  timeout: 300_000,
}, async () => {
  for (const title of numbered('Foo')) await archive.make({ title, state: 2 })
  const slugs = new Set<string>()
  for (let count = 0; count < 3; count++) {
    const made = await send('POST', '/api/v2/video', {
      title: 'Foo',
      category,
      language: 'English',
    })
    assert.equal(made.status, 201, made.text)
    slugs.add(made.json.slug)
  }
  assert.equal(slugs.size, 3)
  for (const slug of slugs) assert.match(slug, /^foo-\d+$/)
})

test('finds free slugs for names of speakers, tags and categories', {
  timeout: 300_000,
}, async () => {
  const body = { title: 'Bar', category, language: 'English' }
  for (const field of ['speakers', 'tags']) {
    const first = await send('POST', '/api/v2/video', { ...body, [field]: numbered('Bar') })
    assert.equal(first.status, 201, first.text)
    const next = await send('POST', '/api/v2/video', { ...body, [field]: ['Bar!', 'Bar?'] })
    assert.equal(next.status, 201, next.text)
    assert.deepEqual(next.json[field], ['Bar!', 'Bar?'])
  }
  for (const title of numbered('Baz'))
    assert.equal((await send('POST', '/api/v2/category', { title })).status, 201)
  const made = await send('POST', '/api/v2/category', { title: 'Baz!' })
  assert.equal(made.status, 201, made.text)
  const renamed = await send('PATCH', `/api/v2/category/${made.json.slug}`, { title: 'Qux' })
  assert.equal(renamed.status, 200, renamed.text)
  const back = await send('PATCH', '/api/v2/category/qux', { title: 'Baz?' })
  assert.equal(back.status, 200, back.text)
})

test('finds free slugs in an import', { timeout: 60_000 }, async () => {
  for (const title of numbered('Imported')) await archive.make({ title, state: 2 })
  const text = 'key,title\na,Imported\nb,Imported!\n'
  const planned = await send('POST', '/api/v2/import', {
    text,
    format: 'csv',
    name: 'two.csv',
    category,
    language: 'en',
  })
  assert.equal(planned.status, 201, planned.text)
  const path = `/api/v2/import/${planned.json.id}`
  const state = async () => (await archive.call('GET', path, { token })).json.state
  while ((await state()) === 'planning') await setTimeout(20)
  assert.equal((await send('POST', `${path}/apply`, {})).status, 200)
  while ((await state()) === 'applying') await setTimeout(20)
  assert.equal(await state(), 'applied')
  const slugs = await withDatabase(archive.databaseUrl, (query) =>
    query("select slug from video where title in ('Imported', 'Imported!')"),
  )
  assert.equal(slugs.length, 3)
})

test('retries conflicts until the deadline and at most 20 times', async () => {
  let attempts = 0
  const conflicting = async (attempt: number) => {
    attempts = attempt
    return undefined
  }
  const refused = (error: unknown) =>
    error instanceof Unavailable && error.outcome === 'not-applied' && error.connected
  await assert.rejects(retryOnConflict({}, conflicting), refused)
  assert.equal(attempts, 20)
  attempts = 0
  await assert.rejects(retryOnConflict({ untilMs: performance.now() - 1 }, conflicting), refused)
  assert.equal(attempts, 0)
  const db = countStatements(archive.pool)
  const late = createMissingEntities(db, 'tag', ['Foo!'], [null], {
    untilMs: performance.now() - 1,
  })
  await assert.rejects(late, refused)
  assert.equal(db.count, 0)
})

test('creates a speaker for an alias that is removed between two statements', {
  timeout: 300_000,
}, async () => {
  await archive.make({ speakers: ['Dora'] })
  assert.equal(
    (await send('PATCH', '/api/v2/speaker/dora', { aliases: [{ name: 'Nora' }] })).status,
    200,
  )
  const speaker = await archive.pool.transaction(async (tx) => {
    let wasRemoved = false
    const db: Db = {
      async run(statement, ifLost) {
        // After the name was found to be taken, and before it is looked up.
        if (!wasRemoved && statement.text.includes('from entity_name join')) {
          wasRemoved = true
          assert.equal((await send('PATCH', '/api/v2/speaker/dora', { aliases: [] })).status, 200)
        }
        return tx.run(statement, ifLost)
      },
    }
    const [made] = await createMissingEntities(db, 'speaker', ['Nora'], [null])
    assert.ok(wasRemoved)
    return made
  })
  const [row] = await withDatabase(archive.databaseUrl, (query) =>
    query('select name, merged_into from speaker where id = $1', [speaker?.id]),
  )
  assert.deepEqual(row, { name: 'Nora', merged_into: null })
})

test('keeps records and names consistent after all tests', async () => {
  await checkInvariants(archive.databaseUrl)
  await withDatabase(archive.databaseUrl, (query) =>
    // A background job may be between two statements.
    until('all transactions to end', async () => {
      const open = await query(
        "select from pg_stat_activity where datname = current_database() and state like 'idle in%'",
      )
      return open.length === 0
    }),
  )
})
