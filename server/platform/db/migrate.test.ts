import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { freshDatabase } from '../../../tests/support/database.ts'
import { withDatabase } from '../../../tests/support/invariants.ts'
import { Unavailable } from './db.ts'
import { MigrationBlocked, migrate, schemaVersion } from './migrate.ts'
import { withSnapshot } from './snapshot.ts'

// A migration that meets open transactions: readers go on, and the operator learns who holds it up.

const folder = mkdtempSync(join(tmpdir(), 'migrations-'))
after(() => rmSync(folder, { recursive: true }))
cpSync(fileURLToPath(new URL('../../migrations', import.meta.url)), folder, { recursive: true })
writeFileSync(
  join(folder, '9998.do.first.sql'),
  'create table first_one (id integer); alter table tag add column extra integer;',
)
writeFileSync(join(folder, '9999.do.second.sql'), 'alter table video add column extra integer;')

/**
 * A reader that has looked at all records and has not ended its transaction, as a slow export does.
 */
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

/** Starts a migration, and tells when it was held up for the first time. */
function begin(url: string, giveUpMs?: number) {
  const messages: string[] = []
  let heldUp: (message: string) => void
  const blocked = new Promise<string>((resolve) => {
    heldUp = resolve
  })
  const onBlocked = (message: string) => {
    messages.push(message)
    heldUp(message)
  }
  return { done: migrate(url, folder, { onBlocked, giveUpMs }), blocked, messages }
}

const extraColumns =
  "select table_name from information_schema.columns where column_name = 'extra' order by 1"

test('a migration that waits for a reader keeps nobody else waiting, and is applied once the reader has gone', {
  timeout: 60_000,
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

  // Without a limit for the lock, these would wait behind the migration until the reader ends.
  await withDatabase(url, async (query) => {
    await query("set lock_timeout = '30s'")
    for (const held = messages.length; messages.length <= held; ) {
      await query('select count(*) from video')
      await query(
        'insert into tag (slug, name) values (gen_random_uuid()::text, gen_random_uuid()::text)',
      )
    }
    assert.deepEqual(await query(extraColumns), [], 'half of a migration is there')
  })
  await assert.rejects(
    withSnapshot(url, 'test', async () => {}),
    (error) => error instanceof Unavailable && /migrat/.test(error.message),
    'a long reader begins although a migration waits',
  )

  await reader.query('commit')
  assert.deepEqual(
    (await done).map(({ version }) => version),
    [9998, 9999],
  )
  await withDatabase(url, async (query) => {
    assert.deepEqual(await query(extraColumns), [{ table_name: 'tag' }, { table_name: 'video' }])
  })
  assert.deepEqual(await schemaVersion(url, folder), { is: 9999, wants: 9999 })
  await withSnapshot(url, 'test', async () => {})
})

test('a migration that is held up for too long gives up with the reason, and leaves nothing behind', {
  timeout: 60_000,
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

test('two migrations at once do it once', async (t) => {
  const { url } = await freshDatabase(t)
  const both = await Promise.all([begin(url).done, begin(url).done])
  assert.deepEqual(both.map(({ length }) => length).sort(), [0, 2])
})
