import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { checksumTables } from '../../server/backup/manifest.ts'
import { openPool } from '../../server/platform/db/pool.ts'
import {
  installedPostgres,
  type PrivatePostgres,
  packagedPostgres,
  startPrivatePostgres,
} from '../../server/platform/db/private-postgres.ts'
import { withSnapshot } from '../../server/platform/db/snapshot.ts'
import {
  assertPublicState,
  digestOf,
  feedIsComplete,
  readFeed,
  replay,
} from '../support/feed-replay.ts'
import { call, category, root, runCommand, type TestArchive } from '../support/harness.ts'
import { withDatabase } from '../support/invariants.ts'
import { realTalks } from '../support/pyvideo.ts'
import { commandsIn } from '../support/shell-blocks.ts'
import { until } from '../support/until.ts'
import {
  type Database,
  durable,
  type Fault,
  type FaultEnvironment,
  type FaultService,
  startDatabase,
  startFaultService,
} from './environment.ts'
import { summarize } from './kills.ts'
import { type Attempt, startWorkload } from './workload.ts'

// A major upgrade of PostgreSQL with the commands of docs/upgrade-postgresql.md, while a server
// answers readers and writers.

/** Built by the new server instead of copied. The head of the feed names its database. */
const differentTables = [
  'duplicate_candidate',
  'feed_head',
  'fingerprint',
  'search_lexeme',
  'search_word',
  'video_search',
]

export const majorUpgrade: Fault = {
  name: 'a major upgrade of PostgreSQL',
  fullOnly: true,
  limitS: { quick: 400, full: 2400 },
  missing: () => {
    if (installedPostgres().every(({ major }) => major !== 15))
      return 'PostgreSQL 15 is not installed'
    return packagedPostgres() ? undefined : 'the package with PostgreSQL 18 is not installed'
  },
  async run(environment) {
    const { token, quick } = environment
    const old = await startDatabase(environment)
    const upgraded = await startNew(environment)
    await useTransactionIds(old)
    await importTalks(environment, old.serviceUrl)
    const service = await startFaultService(environment, { DATABASE_URL: old.serviceUrl })
    const runbook = openRunbook(environment, { old, upgraded, service })

    await runbook.run('A single server', 1)
    const workload = await startWorkload({ url: service.url, token, workers: 8 })
    const progress = () => workload.progress(quick ? 100 : 500, 300_000)
    await progress()
    const talks = await makeTalks(service.url, token, ['added', 'here'])
    const { cursor } = await until('the change feed to be built', () => feedAt(service.url), {
      limitMs: 300_000,
    })

    await runbook.run('A single server', 2, 3)
    await runbook.run('Go back', 1)
    await assertNothingLeft(old)
    await withDatabase(upgraded.url('postgres'), async (query) => {
      await query('drop database talkshelf')
      await query('drop role talkshelf')
    })
    await progress()

    const startedMs = performance.now()
    await runbook.run('A single server', 2, 3, 4)
    const copyS = (performance.now() - startedMs) / 1000
    await progress()
    await runbook.run('A single server', 5)
    const searchS = (performance.now() - startedMs) / 1000 - copyS
    await progress()
    await change(service.url, token, talks[1], 'added')
    await progress()
    await stopFeed(environment, old)
    await makeTalks(service.url, token, ['that the feed has not read'])

    const switchMs = performance.now()
    const output = await runbook.run('A single server', 6)
    assert.match(output, /tables have the same number of rows/)
    const [, switchS] = /read-only for (\d+) s/.exec(output) ?? assert.fail(output)
    const newUrl = upgraded.url('talkshelf', 'talkshelf')
    const copied = await keepSnapshot(newUrl)
    await runbook.run('A single server', 7)
    await progress()
    await workload.stop()
    const gaps = {
      writes: longestGapMs(
        workload.attempts,
        switchMs,
        ({ request }) => !request.startsWith('GET'),
      ),
      reads: longestGapMs(workload.attempts, switchMs, ({ request }) => request.startsWith('GET')),
    }

    const left = await withSnapshot(old.serviceUrl, 'faults', checksums)
    assert.deepEqual(await copied.checksums(), left, 'tables differ')
    const summary = summarize(await workload.verify(newUrl))
    await verifyFeed(service.url, newUrl, cursor)
    assert.deepEqual(
      await findAdded(service.url),
      talks.toSorted((a, b) => a - b),
    )
    await assert.rejects(
      runbook.run('Go back', 1),
      /has changes that the old one does not have/,
      'writes to the new server would be lost',
    )
    const [records] = await withDatabase(newUrl, (query) => query('select count(*) from video'))
    return (
      `${records?.count} records, copied in ${copyS.toFixed(1)} s, search index built in ` +
      `${searchS.toFixed(1)} s, switched in ${switchS} s, ` +
      `${seconds(gaps.writes)} s without writes, ` +
      `${seconds(gaps.reads)} s without reads, ${Object.keys(left).length} tables equal, ${summary}`
    )
  },
}

const seconds = (ms: number) => (ms / 1000).toFixed(1)

async function startNew(environment: FaultEnvironment): Promise<PrivatePostgres> {
  const { started, stop } = startPrivatePostgres({
    bin: packagedPostgres() ?? assert.fail(),
    name: 'upgraded-',
    listen: 'port',
    settings: durable,
  })
  environment.atEnd(stop)
  return started
}

/** Takes the old server far ahead of the new one, as years of writes do. */
async function useTransactionIds({ serviceUrl }: Database): Promise<void> {
  await withDatabase(serviceUrl, async (query) => {
    await query('set synchronous_commit = off')
    await query(`
      do $$
      begin
        for n in 1..50000 loop
          perform pg_current_xact_id();
          commit;
        end loop;
      end $$`)
  })
}

async function importTalks({ dir, quick }: FaultEnvironment, url: string): Promise<void> {
  const generated = join(dir, 'talks.csv')
  const lines = Array.from(
    { length: quick ? 300 : 20_000 },
    (_, n) => `${n},Talk ${n} about boring things,Speaker ${n % 97};Zoë ${n % 13},Ünïted Days`,
  )
  writeFileSync(generated, `key,title,speakers,category\n${lines.join('\n')}\n`)
  const file = quick ? undefined : realTalks
  const { code, stdout, stderr } = await runCommand(
    ['import', file ?? generated, '--apply', '--yes'],
    { DATABASE_URL: url, ANSWER_SECONDS: '30' },
  )
  // 4: some talks were skipped.
  assert.ok(code === 0 || code === 4, `${code}: ${stdout.slice(-1000)}${stderr.slice(-1000)}`)
}

interface Servers {
  readonly old: Database
  readonly upgraded: PrivatePostgres
  readonly service: FaultService
}

/** Runs the commands of docs/upgrade-postgresql.md with the servers of this fault. */
function openRunbook({ dir }: FaultEnvironment, { old, upgraded, service }: Servers) {
  const variables = join(dir, 'variables.sh')
  const urlFile = join(dir, 'database-url')
  writeFileSync(variables, '')
  writeFileSync(urlFile, `${old.serviceUrl}\n`)
  const [installed] = installedPostgres().filter(({ major }) => major === 15)
  const bin = installed?.bin ?? assert.fail()

  /** Replaces what is different here. Everything else is run as it is written. */
  const adapt = (command: string) =>
    command
      .replaceAll('5432', String(old.port))
      .replaceAll('5433', String(upgraded.port))
      .replaceAll('/opt/talkshelf/node_modules/talkshelf/deploy', join(root, 'deploy'))
      .replaceAll('/etc/talkshelf/database-url', urlFile)
      // The package with PostgreSQL 18 has no programs for clients.
      .replaceAll('/usr/lib/postgresql/18/bin', bin)
      .replaceAll('sleep 10', 'sleep 1')

  async function runShell(script: string): Promise<string> {
    const child = spawn(
      'sh',
      ['-c', `set -e\n. ${variables}\n${script}\nexport -p >${variables}`],
      {
        cwd: join(root, 'deploy/postgresql'),
        env: {
          ...process.env,
          PATH: `${bin}:${process.env.PATH}`,
          PGHOST: '127.0.0.1',
          PGUSER: 'postgres',
          OLD_URL_FROM_NEW: old.url.replace(/postgres$/, 'talkshelf'),
        },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    )
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data))
    const [code] = await once(child, 'close')
    if (code !== 0) throw new Error(`${script}ended with ${code}:\n${output}`)
    return output
  }

  async function restart(name: string): Promise<void> {
    if (name === 'postgresql@15-main') {
      await service.stop()
      await old.stop()
      await old.start()
      await service.start()
    } else if (name === 'talkshelf') {
      const url = readFileSync(urlFile, 'utf8').trim()
      await service.stop()
      // As the systemd unit does.
      const { code, stderr } = await runCommand(['migrate'], { DATABASE_URL: url })
      assert.equal(code, 0, stderr)
      await service.start({ variables: { DATABASE_URL: url } })
    } else assert.fail(`systemctl restart ${name}`)
  }

  return {
    /** Runs blocks of a section, of which the first one has the number 1. Returns their output. */
    async run(title: string, ...numbers: number[]): Promise<string> {
      const blocks = commandsIn('docs/upgrade-postgresql.md', title)
      let output = ''
      for (const number of numbers) {
        const block = blocks[number - 1] ?? assert.fail(`${title} has no block ${number}`)
        for (const part of block.split(/^(systemctl restart .*)\n/m).filter(Boolean)) {
          const [, name] = /^systemctl restart (.*)$/.exec(part) ?? []
          if (name) await restart(name)
          else output += await runShell(adapt(part))
        }
      }
      return output
    },
  }
}

async function makeTalks(url: string, token: string, titles: string[]): Promise<number[]> {
  const ids: number[] = []
  for (const title of titles) {
    const body = { title: `Marmot ${title}`, category, language: 'English', state: 1 }
    const { status, text, json } = await call(url, 'POST', '/api/v2/video', { token, body })
    assert.equal(status, 201, text)
    ids.push(json.id)
  }
  return ids
}

async function change(url: string, token: string, id: number | undefined, title: string) {
  const body = { title: `Marmot ${title}` }
  const { status, text } = await call(url, 'PATCH', `/api/v2/video/${id}`, { token, body })
  assert.equal(status, 200, text)
}

/** Searches for a word that has different stems in PostgreSQL 15 and 18. */
async function findAdded(url: string): Promise<number[]> {
  const { status, text, json } = await call(url, 'GET', '/api/v2/video?q=%22marmot%20added%22')
  assert.equal(status, 200, text)
  return json.results.map(({ id }: { id: number }) => id).sort((a: number, b: number) => a - b)
}

/** Stops the change feed of the old server, until the switch ends this connection. */
async function stopFeed(environment: FaultEnvironment, { serviceUrl }: Database): Promise<void> {
  const client = new pg.Client({ connectionString: serviceUrl })
  client.on('error', () => {})
  await client.connect()
  environment.atEnd(() => client.end().catch(() => {}))
  await client.query("select pg_advisory_lock(hashtext('change feed'))")
}

const checksums = (db: Parameters<typeof checksumTables>[0]) =>
  checksumTables(db, {
    say: () => {},
    isIncluded: (table) => !differentTables.includes(table),
  })

/** Keeps a view of the database, from which the checksums are computed later. */
async function keepSnapshot(url: string) {
  const opened = Promise.withResolvers<void>()
  const isWanted = Promise.withResolvers<void>()
  const result = withSnapshot(url, 'faults', async (db) => {
    opened.resolve()
    await isWanted.promise
    return checksums(db)
  })
  result.catch(opened.reject)
  await opened.promise
  return {
    checksums() {
      isWanted.resolve()
      return result
    },
  }
}

async function assertNothingLeft({ serviceUrl }: Database): Promise<void> {
  const [left] = await withDatabase(serviceUrl, (query) =>
    query(`
      select (select count(*) from pg_publication)
             + (select count(*) from pg_replication_slots)
             + (select count(*) from pg_class where relkind = 'r' and relreplident = 'f')
             + (select count(*) from pg_db_role_setting where setdatabase <> 0) as count`),
  )
  assert.equal(Number(left?.count), 0, 'something of the copy is left')
}

/** Returns the longest time without a successful response since a moment. */
function longestGapMs(
  attempts: readonly Attempt[],
  sinceMs: number,
  isIncluded: (attempt: Attempt) => boolean,
): number {
  const ends = attempts
    .filter((attempt) => isIncluded(attempt) && [200, 201].includes(attempt.status))
    .map(({ start, ms }) => start + ms)
    .filter((end) => end > sinceMs)
    .sort((a, b) => a - b)
  assert.ok(ends.length > 1)
  return Math.max(...ends.map((end, index) => end - (ends[index - 1] ?? sinceMs)))
}

const callOf =
  (url: string): TestArchive['call'] =>
  (method, path, options) =>
    call(url, method, path, options)

const feedAt = (url: string, since = '0') => readFeed({ call: callOf(url) }, since)

/**
 * Checks that the feed has no gap, knows a cursor from before, has what is public, and does not
 * wait for transaction ids of the old server.
 */
async function verifyFeed(url: string, databaseUrl: string, before: string): Promise<void> {
  const pool = openPool({ url: databaseUrl, connections: 1, applicationName: 'faults' })
  try {
    await feedIsComplete({ pool })
  } finally {
    await pool.close()
  }
  const [future] = await withDatabase(databaseUrl, (query) =>
    query('select count(*) from change where xid >= pg_snapshot_xmax(pg_current_snapshot())'),
  )
  assert.equal(Number(future?.count), 0, 'changes have transaction ids of the old server')
  const all = await feedAt(url)
  const state = replay(all.entries)
  assert.equal(all.cursor, `${all.entries.length}.${digestOf(state)}`)
  await assertPublicState({ call: callOf(url), databaseUrl }, state)
  const later = await feedAt(url, before)
  assert.equal(later.cursor, all.cursor)
  assert.deepEqual(later.entries, all.entries.slice(Number.parseInt(before, 10)))
}
