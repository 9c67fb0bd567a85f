import assert from 'node:assert/strict'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { freshDatabase } from '../../../tests/support/database.ts'
import { withDatabase } from '../../../tests/support/invariants.ts'
import { Unavailable } from './db.ts'
import { MigrationBlocked, migrate, schemaStatus } from './migrate.ts'
import { withSnapshot } from './snapshot.ts'

// Migrations that meet open transactions: readers are not blocked, and the message names the
// blocking sessions.

const folder = mkdtempSync(join(tmpdir(), 'schema-'))
after(() => rmSync(folder, { recursive: true }))
cpSync(fileURLToPath(new URL('../../migrations', import.meta.url)), join(folder, 'migrations'), {
  recursive: true,
})
writeFileSync(
  join(folder, 'migrations', '9998.do.first.sql'),
  'create table first_one (id integer); alter table tag add column extra integer;',
)
writeFileSync(
  join(folder, 'migrations', '9999.do.second.sql'),
  'alter table video add column extra integer;',
)

/** Opens a transaction that has read all records, as a slow export does. */
async function openReader(
  t: { after(done: () => unknown): void },
  url: string,
): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, application_name: 'a slow reader' })
  await client.connect()
  t.after(() => client.end())
  await client.query('begin; select count(*) from video')
  return client
}

/** Starts a migration; `blocked` resolves when it is blocked for the first time. */
function begin(url: string, giveUpMs?: number) {
  const messages: string[] = []
  const { promise: blocked, resolve } = Promise.withResolvers<string>()
  const onBlocked = (message: string) => {
    messages.push(message)
    resolve(message)
  }
  return { done: migrate(url, folder, { onBlocked, giveUpMs }), blocked, messages }
}

const extraColumns =
  "select table_name from information_schema.columns where column_name = 'extra' order by 1"

test('a migration waits for an open reader without blocking other queries', {
  timeout: 300_000,
}, async (t) => {
  const { url } = await freshDatabase(t)
  const reader = await openReader(t, url)
  const { done, blocked, messages } = begin(url)
  const first = await Promise.race([blocked, done])
  assert.match(
    String(first),
    /"a slow reader" \(pid \d+, role talkshelf, idle in transaction, open for \d+ s\)/,
  )
  assert.match(String(first), /video/)

  // Without a lock timeout, these would wait behind the migration until the reader ends.
  await withDatabase(url, async (query) => {
    await query("set lock_timeout = '30s'")
    for (const before = messages.length; messages.length <= before; ) {
      await query('select count(*) from video')
      await query(
        'insert into tag (slug, name) values (gen_random_uuid()::text, gen_random_uuid()::text)',
      )
    }
    assert.deepEqual(await query(extraColumns), [], 'a migration was applied partially')
  })
  await assert.rejects(
    withSnapshot(url, 'test', async () => {}),
    (error) => error instanceof Unavailable && /migrat/.test(error.message),
    'a snapshot was opened although a migration is waiting',
  )

  await reader.query('commit')
  assert.deepEqual(await done, ['9998 first', '9999 second'])
  await withDatabase(url, async (query) => {
    assert.deepEqual(await query(extraColumns), [{ table_name: 'tag' }, { table_name: 'video' }])
  })
  assert.deepEqual(await schemaStatus(url, folder), {
    current: 9999,
    expected: 9999,
    isPending: false,
  })
  await withSnapshot(url, 'test', async () => {})
})

test('a migration that stays blocked fails with the reason and applies nothing', {
  timeout: 300_000,
}, async (t) => {
  const { url } = await freshDatabase(t)
  const reader = await openReader(t, url)
  await assert.rejects(begin(url, 1).done, (error) => {
    assert.ok(error instanceof MigrationBlocked)
    assert.match(error.message, /"a slow reader"/)
    assert.match(error.message, /pg_terminate_backend/)
    return true
  })
  await reader.query('commit')
  await withDatabase(url, async (query) => assert.deepEqual(await query(extraColumns), []))
  assert.equal((await begin(url).done).length, 2)
})

test('two concurrent migrations are applied once', async (t) => {
  const { url } = await freshDatabase(t)
  const both = await Promise.all([begin(url).done, begin(url).done])
  assert.deepEqual(both.map(({ length }) => length).sort(), [0, 2])
})

test('a trigger file is applied when it changes, and only then', async (t) => {
  const { url } = await freshDatabase(t)
  const schema = mkdtempSync(join(tmpdir(), 'schema-'))
  t.after(() => rmSync(schema, { recursive: true }))
  const [migrations, feature] = [join(schema, 'migrations'), join(schema, 'feature')]
  cpSync(fileURLToPath(new URL('../../migrations', import.meta.url)), migrations, {
    recursive: true,
  })
  mkdirSync(feature)
  const write = (answer: number) =>
    writeFileSync(
      join(feature, 'triggers.sql'),
      `create or replace function answer() returns integer language sql return ${answer};`,
    )
  const isPending = async () => (await schemaStatus(url, schema)).isPending
  for (const answer of [41, 42]) {
    write(answer)
    assert.ok(await isPending())
    assert.deepEqual(await migrate(url, schema), ['feature/triggers.sql'])
    assert.ok(!(await isPending()))
    assert.deepEqual(await migrate(url, schema), [])
    await withDatabase(url, async (query) =>
      assert.deepEqual(await query('select answer()'), [{ answer }]),
    )
  }

  writeFileSync(join(feature, 'triggers.sql'), 'create table half (id integer); select 1 / 0;')
  await assert.rejects(migrate(url, schema), /division by zero/)
  assert.ok(await isPending())
  await withDatabase(url, async (query) =>
    assert.deepEqual(await query("select to_regclass('half') as half"), [{ half: null }]),
  )
})

test('the triggers of a newer release are not pending', async (t) => {
  const { url } = await freshDatabase(t)
  await migrate(url, folder)
  const { current, expected, isPending } = await schemaStatus(
    url,
    fileURLToPath(new URL('../..', import.meta.url)),
  )
  assert.ok(current > expected)
  assert.ok(!isPending)
})
