import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { BackupError, backup, restore } from '../../server/backup/backup.ts'
import { Unavailable } from '../../server/platform/db/db.ts'
import { packagedPostgres } from '../../server/platform/db/private-postgres.ts'
import { findPrograms, programEnvironment } from '../../server/platform/db/programs.ts'
import { freshDatabase } from '../support/database.ts'
import {
  call,
  root,
  type Server,
  spawnServer,
  startArchive,
  type TestArchive,
} from '../support/harness.ts'
import { checkInvariants, withDatabase } from '../support/invariants.ts'
import { startPostgres } from '../support/postgres.ts'

// What was saved comes back to the last byte, or the person is told what is wrong and what to do.

// Absolute links are the same whoever serves.
const PUBLIC_URL = 'https://talks.example.org'
const archive = await startArchive({ PUBLIC_URL })
const folder = mkdtempSync(join(tmpdir(), 'talkshelf-backup-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const migrations = join(root, 'server/migrations')
const serverMajor = await withDatabase(archive.databaseUrl, async (query) =>
  Number(
    (await query(`select current_setting('server_version_num')::integer / 10000 as major`))[0]
      ?.major,
  ),
)
const newest = findPrograms('pg_dump', process.env)[0]?.major ?? 0
const options = {
  skip:
    newest < serverMajor &&
    `needs a pg_dump of PostgreSQL ${serverMajor}; the newest here is ${newest}`,
}

let told: string[] = []
const surroundings = {
  environment: process.env,
  migrations,
  say: (line: string) => void told.push(line),
}
let files = 0

async function save(url = archive.databaseUrl): Promise<string> {
  const file = join(folder, `${++files}.dump`)
  await backup(url, file, surroundings)
  return file
}

async function emptyDatabase(t: { after(done: () => unknown): void }): Promise<string> {
  const name = `empty_${process.pid}_${randomBytes(6).toString('hex')}`
  const admin = process.env.TEST_DATABASE_URL as string
  await withDatabase(admin, (query) =>
    query(`create database ${name} template template0 owner talkshelf`),
  )
  t.after(() =>
    withDatabase(admin, (query) => query(`drop database if exists ${name} with (force)`)),
  )
  return Object.assign(new URL(archive.databaseUrl), { pathname: `/${name}` }).href
}

const tables = (url: string) =>
  withDatabase(url, (query) => query("select from pg_tables where schemaname = 'public'")).then(
    (rows) => rows.length,
  )

/** An archive in which everything has happened that can happen to a record. */
async function fill({ make, call, editor: token, admin }: TestArchive): Promise<number[]> {
  const ok = async (reply: ReturnType<TestArchive['call']>) =>
    assert.ok((await reply).status < 300, (await reply).text)
  const talks = await Promise.all([
    make({
      title: 'Привет, wörld',
      speakers: ['Zoë Straße', 'Ann Archer'],
      tags: ['café', 'c++'],
      recorded: '2024-05-01',
      duration: 1800,
    }),
    make({
      title: 'Zeppelins "and" \\ backslashes',
      speakers: ['Ann Archer'],
      summary: 'Line one\nline two\ttabbed',
      source_url: 'https://example.org/z',
    }),
    make({
      title: 'A draft',
      state: 2,
      speakers: ['Nobody Yet'],
      source_url: 'https://example.org/z',
    }),
    make({ title: 'To be taken down', speakers: ['Ann Archer'] }),
  ])
  const [first, , , gone] = talks
  for (const whiteboard of ['once', 'twice'])
    await ok(call('PATCH', `/api/v2/video/${first?.id}`, { token, body: { whiteboard } }))
  await ok(
    call('POST', `/api/v2/video/${gone?.id}/takedown`, { token: admin, body: { reason: 'asked' } }),
  )
  await ok(
    call('PATCH', '/api/v2/speaker/ann-archer', {
      token,
      body: { name: 'Ann Bowman' },
      headers: { 'if-match': '*' },
    }),
  )
  return talks.map(({ id }) => id)
}

/** Everything that readers see, with the tags that caches keep. */
async function seen(url: string, ids: number[], token: string): Promise<unknown[]> {
  const lists = [
    'video',
    'video?q=zeppelins',
    'video?q=bowman',
    'speaker',
    'tag',
    'category',
    'quality/same-source',
  ]
  const paths = [...ids.flatMap((id) => [`video/${id}`, `video/${id}/revisions`]), ...lists]
  return Promise.all(
    paths.map(async (path) => {
      const { status, headers, text } = await call(url, 'GET', `/api/v2/${path}`, { token })
      return { path, status, etag: headers.etag, text: text.replace(/urn:uuid:[\w-]+/, '') }
    }),
  )
}

test(
  'what was saved comes back: the same bytes and tags for every record, searches find, writing goes on, and every process hears of it',
  options,
  async (t) => {
    const ids = await fill(archive)
    const before = await seen(archive.url, ids, archive.editor)
    // As if it came from a server that has seen more than this one ever will.
    await withDatabase(archive.databaseUrl, (query) =>
      query("update change set xid = '99999999999'"),
    )
    const file = await save()
    assert.equal(statSync(file).mode & 0o777, 0o600)
    assert.equal(statSync(`${file}.json`).mode & 0o777, 0o600)
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.endsWith('.part')),
      [],
    )

    const url = await emptyDatabase(t)
    await restore(url, file, surroundings)
    assert.match(
      told.at(-2) ?? '',
      /^All \d+ tables are as they were when the backup was made, row for row/,
    )
    assert.match(told.at(-1) ?? '', /tokens that were revoked since work again.*taken down/)
    await checkInvariants(url)
    const [one, other] = (await Promise.all(
      [1, 2].map(() => spawnServer({ DATABASE_URL: url, PUBLIC_URL })),
    )) as [Server, Server]
    assert.deepEqual(await seen(one.url, ids, archive.editor), before)

    // What came back is old for everybody; only what is written now is new.
    const late = await withDatabase(url, (query) =>
      query('select from change where xid >= pg_snapshot_xmin(pg_current_snapshot())'),
    )
    assert.equal(late.length, 0)
    const { editor: token } = archive
    const path = `/api/v2/video/${ids[0]}`
    await call(other.url, 'GET', path)
    assert.equal(
      (
        await call(one.url, 'PATCH', path, {
          token,
          body: { summary: 'Written after the restore' },
        })
      ).status,
      200,
    )
    const made = await call(one.url, 'POST', '/api/v2/video', {
      token,
      body: {
        title: 'New',
        category: 'Example Days 2026',
        language: 'English',
        state: 1,
        speakers: ['Nova'],
      },
    })
    assert.equal(made.status, 201, made.text)
    assert.ok(made.json.id > Math.max(...ids))
    for (
      let tries = 0;
      (await call(other.url, 'GET', path)).json.summary !== 'Written after the restore';
      tries++
    ) {
      assert.ok(tries < 100, 'the other process never heard of it')
      await sleep(20)
    }
    await checkInvariants(url)
  },
)

test('a backup while everybody writes is of one moment', options, async (t) => {
  let isDone = false
  const write = async (worker: number) => {
    for (let number = 0; !isDone; number++) {
      const { id } = await archive.make({
        title: `Busy ${worker} ${number}`,
        speakers: [`Busy ${number % 5}`],
        tags: ['busy'],
      })
      await archive.call('PATCH', `/api/v2/video/${id}`, {
        token: archive.editor,
        body: { whiteboard: 'changed' },
      })
    }
    return worker
  }
  const writers = Promise.all([1, 2, 3, 4].map(write))
  await sleep(300)
  const file = await save().finally(() => {
    isDone = true
  })
  await writers
  const url = await emptyDatabase(t)
  await restore(url, file, surroundings)
  await checkInvariants(url)
  const count = (url: string) =>
    withDatabase(url, (query) => query('select count(*)::integer from video')).then((rows) =>
      Number(rows[0]?.count),
    )
  const [then, now] = [await count(url), await count(archive.databaseUrl)]
  assert.ok(then > 4 && then < now, `${then} of ${now} records`)
})

test(
  'the sums of a backup tell one other letter in one row, and nothing else',
  options,
  async () => {
    const sums = async () =>
      (await backup(archive.databaseUrl, join(folder, `${++files}.dump`), surroundings)).tables
    const change = (statement: string) =>
      withDatabase(archive.databaseUrl, (query) => query(statement))
    const before = await sums()
    // Every row lies elsewhere now.
    await change('update video set whiteboard = whiteboard')
    assert.deepEqual(await sums(), before)
    await change(
      "update video set whiteboard = whiteboard || '.' where id = (select min(id) from video)",
    )
    const { video, ...others } = await sums()
    const { video: videoBefore, ...othersBefore } = before
    assert.deepEqual(others, othersBefore)
    assert.equal(video?.rows, videoBefore?.rows)
    assert.notEqual(video?.sum, videoBefore?.sum)
    await change(
      'update video set whiteboard = left(whiteboard, -1) where id = (select min(id) from video)',
    )
    assert.deepEqual(await sums(), before)
  },
)

test('an archive moves from PostgreSQL 15 to 18, to a role with a password', {
  ...options,
  skip:
    options.skip ||
    ((!packagedPostgres() || serverMajor === 18) && 'needs an older PostgreSQL and 18'),
}, async (t) => {
  const file = await save()
  const postgres = await startPostgres({ version: 18 })
  t.after(() => postgres.stop())
  await postgres.createDatabase('moved', 'keeper')
  await withDatabase(postgres.url('postgres'), async (query) => {
    await query(`alter role keeper password 'a ''secret'' @:/ word'`)
    const hba = join(postgres.dir, 'data/pg_hba.conf')
    writeFileSync(hba, `host all keeper 127.0.0.1/32 scram-sha-256\n${readFileSync(hba, 'utf8')}`)
    await query('select pg_reload_conf()')
  })
  const at = (password: string) =>
    Object.assign(new URL(postgres.url('moved', 'keeper')), {
      password: encodeURIComponent(password),
    }).href
  await assert.rejects(
    restore(at('wrong'), file, surroundings),
    (error) => error instanceof Unavailable && /password authentication failed/.test(error.message),
  )
  await assert.rejects(backup(at('wrong'), join(folder, 'never'), surroundings), Unavailable)
  const url = at("a 'secret' @:/ word")
  await restore(url, file, surroundings)
  assert.match(told.at(-1) ?? '', /another version of PostgreSQL/)
  await checkInvariants(url)
  // And a backup of it needs programs that are as new.
  const needs = backup(url, join(folder, 'never'), surroundings)
  if (newest < 18)
    await assert.rejects(
      needs,
      /The server is PostgreSQL 18, and the newest pg_dump on this machine is .*\n.*postgresql-client-18/,
    )
  else await needs
})

test('a password is handed over where nobody else can read it', () => {
  const url = `postgres://someone:se%40cret@db.example.org:6000/shelf?sslmode=verify-full&sslrootcert=${import.meta.filename}`
  const {
    PGPASSWORD,
    PGHOST,
    PGPORT,
    PGUSER,
    PGDATABASE,
    PGSSLMODE,
    PGSSLROOTCERT,
    PGSERVICE,
    DATABASE_URL,
  } = programEnvironment(url, {
    PGSERVICE: 'elsewhere',
    DATABASE_URL: url,
  })
  assert.deepEqual(
    [PGPASSWORD, PGHOST, PGPORT, PGUSER, PGDATABASE],
    ['se@cret', 'db.example.org', '6000', 'someone', 'shelf'],
  )
  assert.deepEqual(
    [PGSSLMODE, PGSSLROOTCERT, PGSERVICE, DATABASE_URL],
    ['verify-full', import.meta.filename, undefined, undefined],
  )
})

test(
  'what cannot be restored is refused before anything is written, and the person is told what to do',
  options,
  async (t) => {
    const file = await save()
    const url = await emptyDatabase(t)
    const copy = (change: (dump: string) => void) => {
      const dump = join(folder, `${++files}.dump`)
      copyFileSync(file, dump)
      copyFileSync(`${file}.json`, `${dump}.json`)
      change(dump)
      return dump
    }
    const manifest =
      (change: (manifest: Record<string, Record<string, unknown>>) => void) => (dump: string) => {
        const json = JSON.parse(readFileSync(`${dump}.json`, 'utf8'))
        change(json)
        writeFileSync(`${dump}.json`, JSON.stringify(json))
      }
    const tampered = (dump: string) => {
      const bytes = readFileSync(dump)
      bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1
      writeFileSync(dump, bytes)
    }
    const wrong: [(dump: string) => void, RegExp][] = [
      [tampered, /SHA-256 is another than in .*\nTake another copy/],
      [
        (dump) => truncateSync(dump, 1000),
        /has 1000 bytes, and .* says \d+: it is not whole.*\nTake another copy/,
      ],
      [(dump) => rmSync(dump), /dump cannot be read/],
      [(dump) => rmSync(`${dump}.json`), /json cannot be read: .*\n.*copy both/],
      [
        (dump) => truncateSync(`${dump}.json`, 100),
        /json is not what a backup of this release has beside it.*\n.*copy both/,
      ],
      [(dump) => writeFileSync(`${dump}.json`, ' '.repeat(2_000_000)), /json is larger/],
      [manifest((json) => Object.assign(json, { format: 2 })), /format/],
      [
        manifest((json) => Object.assign(json, { schema: 9999, talkshelf: '77.1.0' })),
        /schema 9999, made by Talkshelf 77\.1\.0; this release knows \d+\.\nRestore it with that release/,
      ],
      [manifest((json) => Object.assign(json.dump ?? {}, { sha256: '0'.repeat(64) })), /SHA-256/],
      [
        manifest((json) => Object.assign(json, { extensions: ['pg_nothing'] })),
        /has no extension pg_nothing\.\n.*postgresql-contrib/,
      ],
      [
        manifest((json) => Object.assign(json, { extensions: ['file_fdw'] })),
        /may not create the extension file_fdw\.\n.*create extension file_fdw/,
      ],
      [
        manifest((json) => Object.assign(json, { pg_dump: '99.1' })),
        /no pg_restore 99 or newer.*\nInstall postgresql-client-99/,
      ],
    ]
    for (const [change, said] of wrong)
      await assert.rejects(restore(url, copy(change), surroundings), refusal(said))
    await assert.rejects(
      restore(archive.databaseUrl, file, surroundings),
      refusal(/is not empty: it has category, change.*\n.*createdb --owner=talkshelf/),
    )
    assert.equal(await tables(url), 0)

    await withDatabase(url, (query) =>
      query('revoke create on schema public from pg_database_owner'),
    )
    await assert.rejects(
      restore(url, file, surroundings),
      refusal(/may not make tables.*\n.*owner to talkshelf/),
    )
    await withDatabase(url, (query) => query('grant create on schema public to pg_database_owner'))
    await restore(url, file, surroundings)
  },
)

test(
  'rows that are not the saved ones are told table by table, and the server refuses to serve them',
  options,
  async (t) => {
    const file = await save()
    const json = JSON.parse(readFileSync(`${file}.json`, 'utf8'))
    json.tables.tag.rows += 1
    json.tables.video.sum = '12'
    json.tables.lost = { rows: 3, sum: '3' }
    delete json.tables.token
    writeFileSync(`${file}.json`, JSON.stringify(json))
    const url = await emptyDatabase(t)
    await assert.rejects(
      restore(url, file, surroundings),
      refusal(
        /lost: the table is missing\n *tag: \d+ rows, and the backup had \d+ rows\n *token: the backup has no such table\n *video: as many rows as in the backup, but not the same\n/,
      ),
    )
    await assert.rejects(spawnServer({ DATABASE_URL: url }), /at schema 0, this release needs/)
    await assert.rejects(
      restore(url, file, surroundings),
      refusal(/from a restore that did not come to its end/),
    )
  },
)

test(
  'a backup of an earlier release is restored, and the person is told to migrate',
  options,
  async (t) => {
    const { url: older } = await freshDatabase(t)
    await withDatabase(older, (query) =>
      query('delete from schema_version where version = (select max(version) from schema_version)'),
    )
    const file = await save(older)
    await restore(await emptyDatabase(t), file, surroundings)
    assert.match(told.at(-1) ?? '', /of an earlier release: run 'talkshelf migrate'/)
  },
)

test('what cannot be saved is said, and leaves nothing behind', options, async (t) => {
  const empty = await emptyDatabase(t)
  const there = await save()
  const without = join(folder, 'without')
  mkdirSync(without)
  const at = (name: string) => join(folder, name)
  const of = (
    file: string,
    environment: NodeJS.ProcessEnv = process.env,
    url = archive.databaseUrl,
  ) => backup(url, file, { ...surroundings, environment })
  writeFileSync(at('half.dump.part'), 'of somebody else')
  await assert.rejects(of(there), refusal(/never written over another one\. Name another file/))
  await assert.rejects(of(at('half.dump')), refusal(/half\.dump\.part is there: .* remove it/))
  await assert.rejects(of(at('no/such/folder')), refusal(/Its folder is not there\. Make it first/))
  await assert.rejects(of('/proc/a.dump'), refusal(/cannot be written/))
  await assert.rejects(
    of(at('a.dump'), { PG_BIN: without }),
    refusal(/no pg_dump in .*, where PG_BIN points\.\nInstall postgresql-client-\d+/),
  )
  await assert.rejects(
    of(at('a.dump'), process.env, empty),
    refusal(/There is no archive in this database/),
  )
  // One that dies in the middle.
  writeFileSync(
    join(without, 'pg_dump'),
    `#!/bin/sh\n[ "$1" = --version ] && echo 'pg_dump (PostgreSQL) 99.1' && exit\necho half; echo 'broken disk' >&2; exit 3\n`,
    { mode: 0o755 },
  )
  await assert.rejects(
    of(at('a.dump'), { ...process.env, PG_BIN: without }),
    refusal(/pg_dump ended with 3:\nbroken disk/),
  )
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.startsWith('a.dump')),
    [],
  )
  assert.equal(readFileSync(at('half.dump.part'), 'utf8'), 'of somebody else')
})

test(
  'a restore that is killed leaves an empty database, and a backup that is killed leaves its part',
  options,
  async (t) => {
    const killed = async (code: string, isUnderWay: () => Promise<boolean>) => {
      const script = `import { backup, restore } from './server/backup/backup.ts'
      const surroundings = { environment: process.env, migrations: 'server/migrations', say() {} }
      await ${code}`
      const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
        cwd: root,
        stdio: 'inherit',
      })
      const exited = once(child, 'exit')
      while (!(await isUnderWay())) {
        assert.equal(child.exitCode, null)
        await sleep(20)
      }
      child.kill('SIGKILL')
      await exited
    }
    const file = await save()
    const url = await emptyDatabase(t)
    // Somebody who makes a table of the same name holds the restore up in the middle.
    const holder = new pg.Client({ connectionString: url })
    await holder.connect()
    await holder.query('begin')
    await holder.query('create table video_body ()')
    const waiting = () =>
      withDatabase(url, (query) =>
        query(
          "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
        ),
      )
    await killed(
      `restore(${JSON.stringify(url)}, ${JSON.stringify(file)}, surroundings)`,
      async () => (await waiting()).length > 0,
    )
    for (let tries = 0; (await waiting()).length > 0; tries++) {
      assert.ok(tries < 100, 'pg_restore goes on without us')
      await sleep(50)
    }
    await holder.query('rollback')
    await holder.end()
    assert.equal(await tables(url), 0)
    await restore(url, file, surroundings)

    const slow = join(folder, 'slow')
    mkdirSync(slow)
    writeFileSync(
      join(slow, 'pg_dump'),
      `#!/bin/sh\n[ "$1" = --version ] && echo 'pg_dump (PostgreSQL) 99.1' && exit\necho half; exec sleep 60\n`,
      { mode: 0o755 },
    )
    const half = join(folder, 'killed.dump')
    const there = async () => existsSync(`${half}.part`) && statSync(`${half}.part`).size > 0
    await killed(
      `backup(${JSON.stringify(archive.databaseUrl)}, ${JSON.stringify(half)}, { ...surroundings, environment: { ...process.env, PG_BIN: ${JSON.stringify(slow)} } })`,
      there,
    )
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.startsWith('killed')),
      ['killed.dump.part'],
    )
  },
)

function refusal(said: RegExp) {
  return (error: unknown) => {
    assert.ok(error instanceof BackupError, String(error))
    assert.match(error.message, said)
    told = []
    return true
  }
}
