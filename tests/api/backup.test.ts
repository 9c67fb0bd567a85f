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
import { feedIsComplete } from '../support/feed-replay.ts'
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
import { until } from '../support/until.ts'

// A backup is restored byte for byte, or fails with a message that says what to do.

// Keeps absolute links the same in every archive.
const PUBLIC_URL = 'https://talks.example.org'
const archive = await startArchive({ PUBLIC_URL })
const folder = mkdtempSync(join(tmpdir(), 'talkshelf-backup-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const schemaFolder = join(root, 'server')
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

let output: string[] = []
const backupContext = {
  environment: process.env,
  schemaFolder,
  say: (line: string) => void output.push(line),
}
let fileCount = 0

async function save(url = archive.databaseUrl): Promise<string> {
  const file = join(folder, `${++fileCount}.dump`)
  await backup(url, file, backupContext)
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

const countTables = (url: string) =>
  withDatabase(url, (query) => query("select from pg_tables where schemaname = 'public'")).then(
    (rows) => rows.length,
  )

/** Returns a shell script that acts as a pg_dump of version 99.1. */
const fakeDump = (commands: string) =>
  `#!/bin/sh\n[ "$1" = --version ] && echo 'pg_dump (PostgreSQL) 99.1' && exit\n${commands}\n`

/** Creates records in every state and with every kind of change. Returns their ids. */
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

/** Reads records and lists, and returns the responses with their ETags. */
async function readResponses(url: string, ids: number[], token: string): Promise<unknown[]> {
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

/** Asserts that two servers of a restored archive accept writes and see each other's. */
async function assertWritable(
  first: Server,
  second: Server,
  ids: readonly number[],
): Promise<void> {
  const { editor: token } = archive
  const path = `/api/v2/video/${ids[0]}`
  const summary = 'Written after the restore'
  await call(second.url, 'GET', path)
  assert.equal((await call(first.url, 'PATCH', path, { token, body: { summary } })).status, 200)
  const created = await call(first.url, 'POST', '/api/v2/video', {
    token,
    body: {
      title: 'New',
      category: 'Example Days 2026',
      language: 'English',
      state: 1,
      speakers: ['Nova'],
    },
  })
  assert.equal(created.status, 201, created.text)
  assert.ok(created.json.id > Math.max(...ids))
  for (let tries = 0; (await call(second.url, 'GET', path)).json.summary !== summary; tries++) {
    assert.ok(tries < 100, 'the other process never saw the change')
    await sleep(20)
  }
}

test('restores a backup byte for byte and keeps serving reads and writes', options, async (t) => {
  const ids = await fill(archive)
  const suggestion = { kind: 'correction', video: ids[0], comment: 'Wrong' }
  const sent = await archive.call('POST', '/api/v2/suggestion', { body: suggestion })
  assert.equal(sent.status, 201, sent.text)
  const before = await readResponses(archive.url, ids, archive.editor)
  // Simulates a source server with far higher transaction ids.
  await withDatabase(archive.databaseUrl, (query) => query("update change set xid = '99999999999'"))
  const file = await save()
  assert.equal(statSync(file).mode & 0o777, 0o600)
  assert.equal(statSync(`${file}.json`).mode & 0o777, 0o600)
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.endsWith('.part')),
    [],
  )

  const url = await emptyDatabase(t)
  await restore(url, file, backupContext)
  assert.match(
    output.at(-2) ?? '',
    /^Restored \d+ tables in .* All rows are identical to those of the backup/,
  )
  assert.match(output.at(-1) ?? '', /tokens that were revoked since then work again.*taken down/)
  await checkInvariants(url)
  const count = (from: string) =>
    withDatabase(from, async (query) => {
      const [row] = await query(`select (select count(*) from suggestion)::int as suggestions,
                                        (select count(*) from suggestion_sender)::int as senders,
                                        (select count(*) from suggestion_key)::int as keys`)
      return row
    })
  assert.deepEqual(await count(archive.databaseUrl), { suggestions: 1, senders: 1, keys: 1 })
  assert.deepEqual(await count(url), { suggestions: 1, senders: 0, keys: 0 }, 'no networks')
  const [first, second] = (await Promise.all(
    [1, 2].map(() => spawnServer({ DATABASE_URL: url, PUBLIC_URL })),
  )) as [Server, Server]
  assert.deepEqual(await readResponses(first.url, ids, archive.editor), before)

  // Restored changes count as old: only new writes are reported to other processes.
  const late = await withDatabase(url, (query) =>
    query('select from change where xid >= pg_snapshot_xmin(pg_current_snapshot())'),
  )
  assert.equal(late.length, 0)
  await assertWritable(first, second, ids)
  await checkInvariants(url)
})

test('takes a consistent backup during concurrent writes', options, async (t) => {
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
  const count = (url: string) =>
    withDatabase(url, (query) => query('select count(*)::integer from video')).then((rows) =>
      Number(rows[0]?.count),
    )
  const before = await count(archive.databaseUrl)
  const writers = Promise.all([1, 2, 3, 4].map(write))
  await until('all to write', async () => (await count(archive.databaseUrl)) > before + 8)
  const file = await save().finally(() => {
    isDone = true
  })
  await writers
  const url = await emptyDatabase(t)
  await restore(url, file, backupContext)
  await checkInvariants(url)
  const [saved, current] = [await count(url), await count(archive.databaseUrl)]
  assert.ok(saved > before + 8 && saved < current, `${saved} of ${current} records`)
})

test('detects a change of one character in one row by the table checksums', options, async () => {
  const checksums = async () =>
    (await backup(archive.databaseUrl, join(folder, `${++fileCount}.dump`), backupContext)).tables
  const change = (statement: string) =>
    withDatabase(archive.databaseUrl, (query) => query(statement))
  await feedIsComplete(archive)
  const before = await checksums()
  // Moves every row to another place on disk.
  await change('update video set whiteboard = whiteboard')
  assert.deepEqual(await checksums(), before)
  await change(
    "update video set whiteboard = whiteboard || '.' where id = (select min(id) from video)",
  )
  const { video, ...others } = await checksums()
  const { video: videoBefore, ...othersBefore } = before
  assert.deepEqual(others, othersBefore)
  assert.equal(video?.rows, videoBefore?.rows)
  assert.notEqual(video?.sum, videoBefore?.sum)
  await change(
    'update video set whiteboard = left(whiteboard, -1) where id = (select min(id) from video)',
  )
  assert.deepEqual(await checksums(), before)
})

test('moves an archive from PostgreSQL 15 to 18 and to a role with a password', {
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
  const urlWith = (password: string) =>
    Object.assign(new URL(postgres.url('moved', 'keeper')), {
      password: encodeURIComponent(password),
    }).href
  await assert.rejects(
    restore(urlWith('wrong'), file, backupContext),
    (error) => error instanceof Unavailable && /password authentication failed/.test(error.message),
  )
  await assert.rejects(backup(urlWith('wrong'), join(folder, 'never'), backupContext), Unavailable)
  const url = urlWith("a 'secret' @:/ word")
  await restore(url, file, backupContext)
  assert.match(output.at(-1) ?? '', /another version of PostgreSQL/)
  await checkInvariants(url)
  // A backup of it needs client programs of that version.
  const newBackup = backup(url, join(folder, 'never'), backupContext)
  if (newest < 18)
    await assert.rejects(
      newBackup,
      /The server is PostgreSQL 18, and the newest pg_dump on this machine is .*\n.*postgresql-client-18/,
    )
  else await newBackup
})

test('passes the password to the PostgreSQL programs in the environment', () => {
  const url =
    'postgres://someone:se%40cret@db.example.org:6000/shelf' +
    `?sslmode=verify-full&sslrootcert=${import.meta.filename}`
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

const changeManifest =
  (change: (manifest: Record<string, Record<string, unknown>>) => void) => (dump: string) => {
    const json = JSON.parse(readFileSync(`${dump}.json`, 'utf8'))
    change(json)
    writeFileSync(`${dump}.json`, JSON.stringify(json))
  }
const flipBit = (dump: string) => {
  const bytes = readFileSync(dump)
  bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1
  writeFileSync(dump, bytes)
}

/** Damages to a dump and its manifest, with the messages of the refusals. */
const damages: [(dump: string) => void, RegExp][] = [
  [flipBit, /SHA-256 does not match .*\nUse another copy/],
  [
    (dump) => truncateSync(dump, 1000),
    /has 1000 bytes, but .* expects \d+: it is incomplete.*\nUse another copy/,
  ],
  [(dump) => rmSync(dump), /Cannot read .*dump:/],
  [(dump) => rmSync(`${dump}.json`), /json cannot be read: .*\n.*copy both/],
  [
    (dump) => truncateSync(`${dump}.json`, 100),
    /json is not a manifest that this release can read.*\n.*copy both/,
  ],
  [(dump) => writeFileSync(`${dump}.json`, ' '.repeat(2_000_000)), /json is too large/],
  [changeManifest((json) => Object.assign(json, { format: 2 })), /format/],
  [
    changeManifest((json) => Object.assign(json, { schema: 9999, talkshelf: '77.1.0' })),
    new RegExp(
      'schema 9999, made by Talkshelf 77\\.1\\.0; this release supports up to \\d+\\.\\n' +
        'Restore it with that release',
    ),
  ],
  [changeManifest((json) => Object.assign(json.dump ?? {}, { sha256: '0'.repeat(64) })), /SHA-256/],
  [
    changeManifest((json) => Object.assign(json, { extensions: ['pg_nothing'] })),
    /does not have the extension pg_nothing\.\n.*postgresql-contrib/,
  ],
  [
    changeManifest((json) => Object.assign(json, { extensions: ['file_fdw'] })),
    /cannot create the extension file_fdw\.\n.*create extension file_fdw/,
  ],
  [
    changeManifest((json) => Object.assign(json, { pg_dump: '99.1' })),
    /no pg_restore 99 or newer.*\nInstall postgresql-client-99/,
  ],
]

test(
  'refuses an unusable backup before it writes anything, and says what to do',
  options,
  async (t) => {
    const file = await save()
    const url = await emptyDatabase(t)
    const copy = (change: (dump: string) => void) => {
      const dump = join(folder, `${++fileCount}.dump`)
      copyFileSync(file, dump)
      copyFileSync(`${file}.json`, `${dump}.json`)
      change(dump)
      return dump
    }
    for (const [change, message] of damages)
      await assert.rejects(restore(url, copy(change), backupContext), refusal(message))
    await assert.rejects(
      restore(archive.databaseUrl, file, backupContext),
      refusal(/is not empty: it has audit_event, category.*\n.*createdb --owner=talkshelf/),
    )
    assert.equal(await countTables(url), 0)

    await withDatabase(url, (query) =>
      query('revoke create on schema public from pg_database_owner'),
    )
    await assert.rejects(
      restore(url, file, backupContext),
      refusal(/cannot create tables.*\n.*owner to talkshelf/),
    )
    await withDatabase(url, (query) => query('grant create on schema public to pg_database_owner'))
    await restore(url, file, backupContext)
  },
)

test('lists the tables that differ from the backup and does not serve them', options, async (t) => {
  const file = await save()
  const json = JSON.parse(readFileSync(`${file}.json`, 'utf8'))
  json.tables.tag.rows += 1
  json.tables.video.sum = '12'
  json.tables.lost = { rows: 3, sum: '3' }
  delete json.tables.token
  writeFileSync(`${file}.json`, JSON.stringify(json))
  const differences = [
    'lost: missing',
    'tag: \\d+ rows instead of \\d+ rows',
    'token: not in the backup',
    'video: rows with different values',
  ]
  const url = await emptyDatabase(t)
  await assert.rejects(
    restore(url, file, backupContext),
    refusal(new RegExp(`${differences.join('\\n *')}\\n`)),
  )
  await assert.rejects(spawnServer({ DATABASE_URL: url }), /at schema 0, this release needs/)
  await assert.rejects(restore(url, file, backupContext), refusal(/from an interrupted restore/))
})

test('restores a backup of an earlier release and asks for a migration', options, async (t) => {
  const { url: older } = await freshDatabase(t)
  await withDatabase(older, (query) =>
    query('delete from schema_version where version = (select max(version) from schema_version)'),
  )
  const file = await save(older)
  await restore(await emptyDatabase(t), file, backupContext)
  assert.match(output.at(-1) ?? '', /from an earlier release: run 'talkshelf migrate'/)
})

test('reports why a backup failed and leaves no file behind', options, async (t) => {
  const empty = await emptyDatabase(t)
  const existing = await save()
  const binFolder = join(folder, 'without')
  mkdirSync(binFolder)
  const pathOf = (name: string) => join(folder, name)
  const backupTo = (
    file: string,
    environment: NodeJS.ProcessEnv = process.env,
    url = archive.databaseUrl,
  ) => backup(url, file, { ...backupContext, environment })
  writeFileSync(pathOf('half.dump.part'), 'of another process')
  await assert.rejects(
    backupTo(existing),
    refusal(/already exists\. Backups never overwrite a file: choose another name/),
  )
  await assert.rejects(
    backupTo(pathOf('half.dump')),
    refusal(/half\.dump\.part exists: .*\. Remove the file/),
  )
  await assert.rejects(
    backupTo(pathOf('no/such/folder')),
    refusal(/The parent folder does not exist\. Create it first/),
  )
  await assert.rejects(backupTo('/proc/a.dump'), refusal(/Cannot write \/proc\/a\.dump/))
  await assert.rejects(
    backupTo(pathOf('a.dump'), { PG_BIN: binFolder }),
    refusal(/no pg_dump in .* \(PG_BIN\)\.\nInstall postgresql-client-\d+/),
  )
  await assert.rejects(
    backupTo(pathOf('a.dump'), process.env, empty),
    refusal(/This database has no archive/),
  )
  // A pg_dump that fails midway.
  writeFileSync(join(binFolder, 'pg_dump'), fakeDump(`echo half; echo 'broken disk' >&2; exit 3`), {
    mode: 0o755,
  })
  await assert.rejects(
    backupTo(pathOf('a.dump'), { ...process.env, PG_BIN: binFolder }),
    refusal(/pg_dump ended with 3:\nbroken disk/),
  )
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.startsWith('a.dump')),
    [],
  )
  assert.equal(readFileSync(pathOf('half.dump.part'), 'utf8'), 'of another process')
})

test('leaves an empty database or a .part file when it is killed', options, async (t) => {
  const killDuring = async (code: string, isRunning: () => Promise<boolean>) => {
    const script = `import { backup, restore } from './server/backup/backup.ts'
      const context = { environment: process.env, schemaFolder: 'server', say() {} }
      await ${code}`
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      cwd: root,
      stdio: 'inherit',
    })
    const exited = once(child, 'exit')
    while (!(await isRunning())) {
      assert.equal(child.exitCode, null)
      await sleep(20)
    }
    child.kill('SIGKILL')
    await exited
  }
  const file = await save()
  const url = await emptyDatabase(t)
  // An uncommitted table of the same name blocks the restore midway.
  const holder = new pg.Client({ connectionString: url })
  await holder.connect()
  await holder.query('begin')
  await holder.query('create table video_body ()')
  const waiting = () =>
    withDatabase(url, (query) =>
      query(
        `select from pg_stat_activity
         where wait_event_type = 'Lock' and datname = current_database()`,
      ),
    )
  await killDuring(
    `restore(${JSON.stringify(url)}, ${JSON.stringify(file)}, context)`,
    async () => (await waiting()).length > 0,
  )
  await until('pg_restore to end', async () => (await waiting()).length === 0)
  await holder.query('rollback')
  await holder.end()
  assert.equal(await countTables(url), 0)
  await restore(url, file, backupContext)

  const slow = join(folder, 'slow')
  mkdirSync(slow)
  writeFileSync(join(slow, 'pg_dump'), fakeDump('echo half; exec sleep 60'), { mode: 0o755 })
  const half = join(folder, 'killed.dump')
  const hasStarted = async () => existsSync(`${half}.part`) && statSync(`${half}.part`).size > 0
  const environment = `{ ...process.env, PG_BIN: ${JSON.stringify(slow)} }`
  const source = JSON.stringify(archive.databaseUrl)
  await killDuring(
    `backup(${source}, ${JSON.stringify(half)}, { ...context, environment: ${environment} })`,
    hasStarted,
  )
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.startsWith('killed')),
    ['killed.dump.part'],
  )
})

function refusal(message: RegExp) {
  return (error: unknown) => {
    assert.ok(error instanceof BackupError, String(error))
    assert.match(error.message, message)
    output = []
    return true
  }
}
