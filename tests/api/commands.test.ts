import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { freshDatabase } from '../support/database.ts'
import { call, runCommand, spawnServer } from '../support/harness.ts'
import { withDatabase } from '../support/invariants.ts'

// Commands for operators: what they print, to which stream, and with which exit status.

test('creates, lists and revokes a token, and prints its secret only once', async (t) => {
  const { url: DATABASE_URL } = await freshDatabase(t)
  const made = await runCommand(['token', 'create', '--name', 'Edith', '--role', 'editor'], {
    DATABASE_URL,
  })
  assert.equal(made.code, 0, made.stderr)
  assert.match(made.stdout, /^talkshelf_[0-9A-Za-z]{49}\n$/)
  assert.match(made.stderr, /Created token 1 for Edith \(editor\), valid until \d{4}-\d\d-\d\d/)
  const token = made.stdout.trim()

  const server = await spawnServer({ DATABASE_URL })
  const create = (title: string) =>
    call(server.url, 'POST', '/api/v2/category', { token, body: { title } })
  assert.equal((await create('First Days')).status, 201)

  const list = await runCommand(['token', 'list'], { DATABASE_URL })
  assert.match(
    list.stdout,
    /^ID +NAME +ROLE +CREATED +EXPIRES +LAST USED +REVOKED\n1 +Edith +editor +/,
  )
  assert.ok(!list.stdout.includes(token))

  assert.equal((await runCommand(['token', 'revoke', '1'], { DATABASE_URL })).code, 0)
  assert.equal((await create('Second Days')).status, 401)
  await server.stop()
})

test('reports all errors at once with a hint and exit status 1', async (t) => {
  const { url: DATABASE_URL } = await freshDatabase(t)
  const nowhere = 'postgres://nobody@127.0.0.1:1/nothing'
  const wrong: [string[], Record<string, string>, RegExp][] = [
    [
      ['serve'],
      { DATABASE_URL: '', PORT: 'many', LOG_LEVEL: 'loud' },
      /PORT must be a whole number from 0 to 65535[\s\S]*LOG_LEVEL must be fatal or error/,
    ],
    [['serve'], { DATABASE_URL: '' }, /DATABASE_URL is required/],
    [
      ['serve'],
      { DATABASE_URL: nowhere },
      /Check that PostgreSQL is running and that DATABASE_URL is correct/,
    ],
    [
      ['migrate'],
      { DATABASE_URL: nowhere },
      /Check that PostgreSQL is running and that DATABASE_URL is correct/,
    ],
    [
      ['token', 'create', '--name', 'x', '--role', 'owner'],
      { DATABASE_URL },
      /Allowed choices are editor, admin/,
    ],
    [['token', 'create', '--role', 'editor'], { DATABASE_URL }, /--name <name>' not specified/],
    [
      ['token', 'create', '--name', 'x', '--role', 'editor', '--days', '0'],
      { DATABASE_URL },
      /whole number from 1 to 3650/,
    ],
    [['token', 'revoke', '77'], { DATABASE_URL }, /There is no token 77/],
    [['publish'], { DATABASE_URL }, /unknown command 'publish'/],
  ]
  for (const [args, environment, message] of wrong) {
    const { code, stdout, stderr } = await runCommand(args, environment)
    assert.equal(code, 1, args.join(' '))
    assert.match(stderr, message)
    assert.equal(stdout, '')
    assert.doesNotMatch(stderr, /\n\s+at /, 'a stack')
  }
})

test('refuses an unmigrated database and serializes concurrent migrations', async (t) => {
  const { url: DATABASE_URL } = await freshDatabase(t)
  await withDatabase(DATABASE_URL, async (query) => {
    await query('drop schema public cascade')
    await query('create schema public')
  })
  const refused = await runCommand(['serve'], { DATABASE_URL })
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /Run 'talkshelf migrate' first/)
  const listed = await runCommand(['token', 'list'], { DATABASE_URL })
  assert.match(listed.stderr, /Run 'talkshelf migrate' first/)

  const both = await Promise.all([1, 2].map(() => runCommand(['migrate'], { DATABASE_URL })))
  assert.deepEqual(
    both.map(({ code }) => code),
    [0, 0],
    both.map(({ stderr }) => stderr).join('\n'),
  )
  assert.equal(both.filter(({ stderr }) => stderr.includes('The schema is up to date.')).length, 1)
  const server = await spawnServer({ DATABASE_URL })
  assert.equal((await call(server.url, 'GET', '/api/v2/video/1')).status, 404)
  await server.stop()
})

test('finishes running requests on SIGTERM and closes all connections', async (t) => {
  const { url: DATABASE_URL } = await freshDatabase(t)
  const { stdout } = await runCommand(['token', 'create', '--name', 'Edith', '--role', 'editor'], {
    DATABASE_URL,
  })
  const token = stdout.trim()
  const server = await spawnServer({ DATABASE_URL })
  // The lock delays the request, so that it is running when the signal arrives.
  const locker = new pg.Client({ connectionString: DATABASE_URL })
  await locker.connect()
  await locker.query('begin')
  await locker.query('lock table category in exclusive mode')
  const slow = call(server.url, 'POST', '/api/v2/category', { token, body: { title: 'Slow Days' } })
  await withDatabase(DATABASE_URL, async (query) => {
    const waiting = async () =>
      (await query("select from pg_locks where not granted and relation = 'category'::regclass"))
        .length
    while ((await waiting()) === 0);
  })
  const stopped = server.stop()
  await locker.query('commit')
  assert.equal((await slow).status, 201)
  await stopped
  assert.equal(server.process.exitCode, 0)
  const remaining = await locker.query(
    `select from pg_stat_activity
     where application_name = 'talkshelf serve' and datname = current_database()`,
  )
  assert.equal(remaining.rowCount, 0)
  await locker.end()
})
