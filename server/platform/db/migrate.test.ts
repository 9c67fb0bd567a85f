import assert from 'node:assert/strict'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { freshDatabase } from '../../../tests/support/database.ts'
import { withDatabase } from '../../../tests/support/invariants.ts'
import { until } from '../../../tests/support/until.ts'
import { Unavailable } from './db.ts'
import {
  isOlder,
  lockTimeoutMs,
  MigrationBlocked,
  MigrationRefused,
  migrate,
  schemaStatus,
} from './migrate.ts'
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
function begin(url: string, attempts?: number) {
  const messages: string[] = []
  const { promise: blocked, resolve } = Promise.withResolvers<string>()
  const onBlocked = (message: string) => {
    messages.push(message)
    resolve(message)
  }
  return { done: migrate(url, folder, { onBlocked, attempts }), blocked, messages }
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
    // Each migration is a step of its own; this one was not blocked.
    assert.deepEqual(await query(extraColumns), [{ table_name: 'tag' }])
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

test('a migration that stays blocked fails with the reason and can be continued', {
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
  await withDatabase(url, async (query) =>
    assert.deepEqual(await query(extraColumns), [{ table_name: 'tag' }]),
  )
  assert.deepEqual(await begin(url).done, ['9999 second'])
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

test('a folder with brackets in its name is migrated, and a changed migration is refused', async (t) => {
  const { url } = await freshDatabase(t)
  await withDatabase(url, (query) => query('drop schema public cascade; create schema public'))
  const odd = join(folder, 'release [1] {x} *')
  mkdirSync(join(odd, 'migrations'), { recursive: true })
  const first = join(odd, 'migrations', '0001.do.first.sql')
  writeFileSync(first, 'create table odd_one (id integer);')
  assert.deepEqual(await schemaStatus(url, odd), { current: 0, expected: 1, isPending: true })
  assert.deepEqual(await migrate(url, odd), ['1 first'])
  assert.deepEqual(await schemaStatus(url, odd), { current: 1, expected: 1, isPending: false })
  writeFileSync(first, 'create table other_one (id integer);')
  await assert.rejects(migrate(url, odd), /Migration 1 \(first\) was changed/)
  writeFileSync(join(odd, 'migrations', '0001.do.again.sql'), '')
  await assert.rejects(migrate(url, odd), /Two migrations have the version 1/)
  writeFileSync(join(odd, 'migrations', 'second.sql'), '')
  await assert.rejects(migrate(url, odd), /second[.]sql is not named like a migration/)
  await assert.rejects(schemaStatus(url, join(odd, 'nowhere')), /ENOENT/)
})

/** Writes a folder with the migrations of this release and these files. */
function withMigrations(t: { after(done: () => void): void }, files: Record<string, string>) {
  const schema = mkdtempSync(join(tmpdir(), 'schema-'))
  t.after(() => rmSync(schema, { recursive: true }))
  const migrations = join(schema, 'migrations')
  cpSync(fileURLToPath(new URL('../../migrations', import.meta.url)), migrations, {
    recursive: true,
  })
  for (const [file, text] of Object.entries(files)) writeFileSync(join(migrations, file), text)
  return schema
}

const filling = {
  '9990.do.column.sql': 'alter table tag add column length integer',
  '9991.index.length.sql':
    '-- For a test.\ncreate index concurrently if not exists tag_length on tag (length);',
  '9992.fill.length.sql': `update tag set length = length(name) where id in (
      select id from tag where length is null limit 10 for update)`,
}
const isFilled = `
  select count(*)::integer as tags, count(length)::integer as filled, indisvalid
  from tag, pg_index where indexrelid = 'tag_length'::regclass group by indisvalid`
const addTags = `insert into tag (slug, name)
  select 'tag-' || number, 'tag ' || number from generate_series(1, 25) as number`

test('indexes are built beside transactions, and rows are filled by batches', async (t) => {
  const { url } = await freshDatabase(t)
  const column = { '9990.do.column.sql': filling['9990.do.column.sql'] }
  assert.deepEqual(await migrate(url, withMigrations(t, column)), ['9990 column'])
  const writer = new pg.Client({ connectionString: url })
  await writer.connect()
  t.after(() => writer.end())
  await writer.query(addTags)
  // The index waits for this writer, and others go on.
  await writer.query("begin; insert into tag (slug, name) values ('open', 'open')")
  const done = migrate(url, withMigrations(t, filling))
  await withDatabase(url, async (query) => {
    await until('the index to be built', async () => {
      const rows = await query(
        `select from pg_stat_activity
         where query like '%create index concurrently%' and wait_event_type = 'Lock'
           and datname = current_database()`,
      )
      return rows.length > 0
    })
    await query("insert into tag (slug, name) values ('other', 'other')")
    // Exports are not kept from starting, because none can block an index for ever.
    await withSnapshot(url, 'test', async () => {})
  })
  await writer.query('commit')
  assert.deepEqual(await done, ['9991 length', '9992 length'])
  await withDatabase(url, async (query) =>
    assert.deepEqual(await query(isFilled), [{ tags: 27, filled: 27, indisvalid: true }]),
  )
})

test('an index that an earlier attempt left invalid is built again', async (t) => {
  const { url } = await freshDatabase(t)
  const schema = withMigrations(t, filling)
  const half = withMigrations(t, { '9990.do.column.sql': filling['9990.do.column.sql'] })
  await migrate(url, half)
  await withDatabase(url, async (query) => {
    await query(addTags)
    await query('update tag set length = 1')
    // Fails, because the values are not unique, and leaves the index behind.
    await assert.rejects(query('create unique index concurrently tag_length on tag (length)'))
    await query('update tag set length = null')
  })
  assert.deepEqual(await migrate(url, schema), ['9991 length', '9992 length'])
  await withDatabase(url, async (query) =>
    assert.deepEqual(await query(isFilled), [{ tags: 25, filled: 25, indisvalid: true }]),
  )
})

test('an empty database gets indexes and fills in one transaction', async (t) => {
  const { url } = await freshDatabase(t)
  await withDatabase(url, (query) => query('drop schema public cascade; create schema public'))
  const schema = withMigrations(t, { ...filling, '9993.do.wrong.sql': 'select 1 / 0' })
  await assert.rejects(migrate(url, schema), /division by zero/)
  assert.equal((await schemaStatus(url, schema)).current, 0)
  const right = withMigrations(t, filling)
  assert.deepEqual((await migrate(url, right)).slice(-3), [
    '9990 column',
    '9991 length',
    '9992 length',
  ])
})

test('a contract migration is refused while an older server is connected', async (t) => {
  const { url } = await freshDatabase(t)
  const schema = withMigrations(t, {
    '9990.contract.gone.sql': '-- needs: 2.0.0\ndrop table gone',
  })
  await withDatabase(url, (query) => query('create table gone (id integer)'))
  const servers = await Promise.all(
    ['talkshelf serve lists', 'talkshelf/1.9.9 serve', 'talkshelf/2.0.0 serve', 'psql'].map(
      async (name) => {
        const client = new pg.Client({ connectionString: url, application_name: name })
        await client.connect()
        return client
      },
    ),
  )
  const [first, second, ...others] = servers
  t.after(() => Promise.all(others.map((client) => client.end())))
  await assert.rejects(migrate(url, schema), (error) => {
    assert.ok(error instanceof MigrationRefused)
    assert.match(
      error.message,
      /before 2[.]0[.]0 need.*: (1[.]9[.]9, an early|an early release, 1)/,
    )
    return true
  })
  await first?.end()
  await assert.rejects(migrate(url, schema), /are running: 1[.]9[.]9[.]/)
  await second?.end()
  await until('the old server to be disconnected', async () => {
    const applied = await migrate(url, schema).catch((error: unknown) => {
      assert.ok(error instanceof MigrationRefused)
    })
    return applied?.includes('9990 gone')
  })
})

test('releases are compared by their numbers', () => {
  assert.ok(isOlder('1.9.9', '1.10.0'))
  assert.ok(isOlder('0.1.0-beta', '0.2.0'))
  assert.ok(isOlder('an early release', '0.0.1'))
  assert.ok(!isOlder('1.10.0', '1.10.0'))
  assert.ok(!isOlder('2.0.0', '1.10.0'))
})

test('a migration makes no reader wait for longer than a second', () => {
  assert.ok(lockTimeoutMs <= 1000)
})
