import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import pg from 'pg'
import { asSuperuser, emptyDatabase, freshDatabase } from '../support/database.ts'
import { call, program, root, runCommand, spawnServer } from '../support/harness.ts'
import { withDatabase } from '../support/invariants.ts'
import { until } from '../support/until.ts'

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
    /^ID +NAME +ROLE +EVENT +CREATED +CREATED BY +EXPIRES +LAST USED +REVOKED\n1 +Edith +editor +/,
  )
  assert.ok(!list.stdout.includes(token))

  assert.equal((await runCommand(['token', 'revoke', '1'], { DATABASE_URL })).code, 0)
  assert.equal((await create('Second Days')).status, 401)
  await server.stop()
})

test('reports all errors at once with a hint and an exit status', async (t) => {
  const { url: DATABASE_URL } = await freshDatabase(t)
  const nowhere = 'postgres://nobody@127.0.0.1:1/nothing'
  const wrong: [string[], Record<string, string>, RegExp, number?][] = [
    [
      ['serve'],
      { DATABASE_URL: '', PORT: 'many', LOG_LEVEL: 'loud' },
      /PORT must be a whole number from 0 to 65535[\s\S]*LOG_LEVEL must be fatal or error/,
    ],
    [['serve'], { DATABASE_URL: '' }, /DATABASE_URL is required/],
    [
      ['migrate'],
      { DATABASE_URL: 'postgres://talkshelf:a#b/c@127.0.0.1/talkshelf' },
      /DATABASE_URL must be a URL\. In a password, write # as %23/,
    ],
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
      2,
    ],
    [['token', 'create', '--role', 'editor'], { DATABASE_URL }, /--name <name>' not specified/, 2],
    [
      ['token', 'create', '--name', 'x', '--role', 'editor', '--days', '0'],
      { DATABASE_URL },
      /whole number from 1 to 3650/,
      2,
    ],
    [['token', 'revoke', '77'], { DATABASE_URL }, /There is no token 77/],
    [['publish'], { DATABASE_URL }, /unknown command 'publish'/, 2],
    [['serve', '--processes', '0'], { DATABASE_URL }, /whole number from 1 to 256/, 2],
    [['backup'], { DATABASE_URL }, /missing required argument 'file'/, 2],
    [['token'], { DATABASE_URL }, /Usage: talkshelf token/, 2],
    [
      ['export', '--format', 'pyvideo', '--out', 'folder', '--gzip'],
      { DATABASE_URL },
      /--gzip cannot compress a folder/,
      2,
    ],
    [
      ['migrate'],
      { DATABASE_URL: DATABASE_URL.replace('//talkshelf@', '//missing_role@') },
      /role "missing_role" does not exist\nCheck/,
    ],
  ]
  for (const [args, environment, message, expectedCode = 1] of wrong) {
    const { code, stdout, stderr } = await runCommand(args, environment)
    assert.equal(code, expectedCode, args.join(' '))
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

test('a port in use ends the server with exit status 1 and a hint', async (t) => {
  const { url: DATABASE_URL } = await freshDatabase(t)
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  t.after(() => other.close())
  const PORT = String((other.address() as AddressInfo).port)
  for (const processes of ['1', '2']) {
    const { code, stderr } = await runCommand(['serve', '--processes', processes], {
      DATABASE_URL,
      PORT,
    })
    assert.equal(code, 1, stderr)
    assert.match(stderr, /EADDRINUSE[\s\S]*Another program uses this port/)
    assert.doesNotMatch(stderr, /\n\s+at /, 'a stack')
    assert.doesNotMatch(stderr, /starting another one/)
  }
})

test('a HOST that is no address of this machine is not reported as a database error', async (t) => {
  const { url: DATABASE_URL } = await freshDatabase(t)
  for (const HOST of ['999.1.1.1', '192.0.2.1', 'host.invalid'])
    for (const processes of ['1', '2']) {
      const { code, stderr } = await runCommand(['serve', '--processes', processes], {
        DATABASE_URL,
        HOST,
        PORT: '0',
        LOG_LEVEL: 'silent',
      })
      assert.equal(code, 1, stderr)
      assert.match(stderr, /The server cannot listen there\. Check HOST/)
      assert.doesNotMatch(stderr, /database|\n\s+at /)
    }
})

test('a server without TLS is reported in one line with advice', async (t) => {
  const { url } = await freshDatabase(t)
  for (const mode of ['prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'])
    for (const args of [['serve'], ['token', 'list']]) {
      const { code, stderr } = await runCommand(args, { DATABASE_URL: `${url}?sslmode=${mode}` })
      assert.equal(code, 1, stderr)
      assert.match(
        stderr,
        /^Cannot connect to the database: the server does not support TLS[^\n]*\n[^\n]*\n$/,
      )
      assert.match(stderr, /sslmode=disable/)
    }
})

test('migrate tells a role that is not the owner what to do', async (t) => {
  const empty = await emptyDatabase(t)
  const denied = await runCommand(['migrate'], { DATABASE_URL: empty.url })
  assert.equal(denied.code, 1)
  assert.match(
    denied.stderr,
    new RegExp(`must own the database\\. As a superuser:\n  alter database ${empty.name} owner to`),
  )

  const { url, name } = await freshDatabase(t)
  const stranger = `stranger_${name}`
  await asSuperuser((client) => client.query(`create role ${stranger} login`))
  t.after(() => asSuperuser((client) => client.query(`drop role ${stranger}`)))
  const DATABASE_URL = url.replace('//talkshelf@', `//${stranger}@`)
  const foreign = await runCommand(['migrate'], { DATABASE_URL })
  assert.equal(foreign.code, 1)
  assert.match(
    foreign.stderr,
    new RegExp(`belong to the role talkshelf\\.[^]*reassign owned by talkshelf to ${stranger};\n$`),
  )
  const list = await runCommand(['token', 'list'], { DATABASE_URL })
  assert.equal(list.code, 1)
  assert.match(list.stderr, /Use the role that ran 'talkshelf migrate'/)
  for (const { stderr } of [denied, foreign, list]) assert.doesNotMatch(stderr, /\n\s+at /)
})

test('migrate leaves a newer schema as it is and says so', async (t) => {
  const { url: DATABASE_URL } = await freshDatabase(t)
  await withDatabase(DATABASE_URL, async (query) => {
    await query(
      "insert into schema_version (version, name, md5, run_at) values (9000, 'a', 'b', now())",
    )
    await query("update trigger_file set checksum = 'newer'")
  })
  const { code, stderr } = await runCommand(['migrate'], { DATABASE_URL })
  assert.equal(code, 0)
  assert.match(stderr, /^Nothing was applied: the database is at schema 9000, .* knows only \d+\./)
  assert.doesNotMatch(stderr, /up to date/)
  await withDatabase(DATABASE_URL, async (query) => {
    const checksums = await query('select distinct checksum from trigger_file')
    assert.deepEqual(checksums, [{ checksum: 'newer' }])
  })
})

test('migrate refuses a database that cannot store all characters', async (t) => {
  const { url: DATABASE_URL } = await emptyDatabase(
    t,
    "owner talkshelf locale 'C' encoding 'LATIN1'",
  )
  const { code, stderr } = await runCommand(['migrate'], { DATABASE_URL })
  assert.equal(code, 1)
  assert.match(
    stderr,
    /^The encoding of the database is LATIN1[^\n]*\n {2}createdb .*UTF8[^\n]*\n$/,
  )
})

test('a reader that closes the pipe is no error', async (t) => {
  const { url: DATABASE_URL } = await freshDatabase(t)
  const { stdout, stderr } = await promisify(execFile)(
    'sh',
    ['-c', `${process.execPath} ${program} config | exec true <&-`],
    { cwd: root, env: { ...process.env, DATABASE_URL } },
  )
  assert.deepEqual([stdout, stderr], ['', ''])
})

test('migrate warns about a locale without upper and lower case of all scripts', async (t) => {
  const { url: DATABASE_URL } = await emptyDatabase(t, "owner talkshelf locale 'C' encoding 'UTF8'")
  const { code, stderr } = await runCommand(['migrate'], { DATABASE_URL })
  assert.equal(code, 0, stderr)
  assert.match(stderr, /The schema is up to date\.\n\nWarning: the locale[\s\S]*--locale=C\.UTF-8/)
  const { url } = await freshDatabase(t)
  assert.doesNotMatch((await runCommand(['migrate'], { DATABASE_URL: url })).stderr, /Warning/)
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
     where application_name like 'talkshelf/% serve' and datname = current_database()`,
  )
  assert.equal(remaining.rowCount, 0)
  await locker.end()
})

test('reports folders that cannot be written in one line, serves and stops', async (t) => {
  const { url: DATABASE_URL } = await freshDatabase(t)
  const file = import.meta.filename
  for (const command of [['serve'], ['serve', '--processes', '2']]) {
    const server = await spawnServer(
      { DATABASE_URL, SNAPSHOT_DIR: '/proc/nope', PICTURE_DIR: file },
      [program, ...command],
    )
    const lines = [
      /^SNAPSHOT_DIR: Cannot write \/proc\/nope: ENOENT.+ No snapshots are written until then\.$/gm,
      /^PICTURE_DIR: Cannot write .+EEXIST.+ cached in memory only until then\.$/gm,
    ]
    await until('one line for each', () => {
      assert.deepEqual(
        lines.map((line) => server.output().match(line)?.length),
        [1, 1],
      )
      return true
    })
    assert.doesNotMatch(server.output(), /\bat \S+ \(/, 'a stack')
    assert.equal((await call(server.url, 'GET', '/api/v2/video/1')).status, 404)
    await server.stop()
    assert.equal(server.process.exitCode, 0)
  }
})

test('exits on SIGTERM although a background job hangs', async (t) => {
  const { url: DATABASE_URL } = await freshDatabase(t)
  const folder = mkdtempSync(join(tmpdir(), 'talkshelf-hang-'))
  t.after(() => rmSync(folder, { recursive: true }))
  // Reading a pipe without a writer blocks a thread: the job looks for an outdated snapshot.
  const day = (time: number) => new Date(time).toISOString().slice(0, 10)
  writeFileSync(join(folder, 'talkshelf-2020-01-01.ndjson.gz'), '')
  for (const name of [day(Date.now()), day(Date.now() + 86_400_000), '2020-01-01'])
    await promisify(execFile)('mkfifo', [join(folder, `talkshelf-${name}.json`)])
  const server = await spawnServer({ DATABASE_URL, SNAPSHOT_DIR: folder, SNAPSHOT_HOUR: '0' })
  await server.stop()
  assert.equal(server.process.signalCode, 'SIGKILL')
})
