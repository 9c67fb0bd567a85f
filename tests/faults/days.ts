import { globSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { maintenanceTasks } from '../../server/maintenance/maintenance.ts'
import { call, type Reply, runCommand } from '../support/harness.ts'
import { checkInvariants, withDatabase } from '../support/invariants.ts'
import { until } from '../support/until.ts'
import {
  type Fault,
  type FaultEnvironment,
  startDatabase,
  startFaultService,
} from './environment.ts'

// Days of use, with the clocks of the service and of PostgreSQL advanced from day to day: imports,
// edits, renames, merges, takedowns, POSTs with keys, searches, pictures, snapshots and the daily
// maintenance. At the end every table and folder is as small as docs/operations.md states; a table
// that is not listed here fails the test.

const library = globSync('/usr/lib/*/faketime/libfaketime.so.1')[0]

const importDays = 2
const snapshotsKept = 3
const picturesMb = 1
const talksPerImport = 30
const keysPerDay = 10

/** Tables whose size must not grow with the days, because maintenance deletes their rows. */
const steadyTables = ['import_row', 'import_entity', 'idempotency_key', 'rename_job', 'maintenance']

export const simulatedDays: Fault = {
  name: 'simulated days of use',
  limitS: { quick: 600, full: 1500 },
  missing: () => (library === undefined ? 'libfaketime is not installed' : undefined),
  async run(environment) {
    const days = environment.quick ? 4 : 30
    const archive = await startArchive(environment)
    await archive.send('POST', '/api/v2/category', { title: 'Days' })
    const sizes: Record<string, number>[] = []
    for (let day = 0; day < days; day++) {
      if (day > 0) await archive.goToDay(day)
      await useFor(day, archive.send)
      await createToken(archive.databaseUrl, `Day ${day}`, 'editor', 1)
      await archive.untilMaintained()
      await until(
        'a snapshot',
        () => {
          const night = new Date(Date.now() + day * 86_400_000).toISOString().slice(0, 10)
          return readdirSync(archive.snapshots).includes(`talkshelf-${night}.json`)
        },
        { limitMs: 120_000 },
      )
      sizes.push(await tableBytes(archive.query))
    }
    // Rows that are written after the maintenance of a day stay until the next one.
    await archive.goToDay(days)
    await archive.untilMaintained()
    await checkInvariants(archive.databaseUrl)
    const problems = [
      ...(await tableProblems(archive, days, sizes[Math.floor(days / 2)] ?? {})),
      ...folderProblems(archive),
      ...(await laterProblems(archive, days + 100)),
    ]
    await checkInvariants(archive.databaseUrl)
    if (problems.length > 0) throw new Error(problems.join('\n'))
    const changes = await archive.number('select count(*) from change')
    const records = await archive.number('select count(*) from video')
    return `${days} days, ${changes} changes, ${records} records`
  },
}

type Send = (
  method: string,
  path: string,
  body?: object,
  headers?: Record<string, string>,
) => Promise<Reply>
type Query = (text: string) => Promise<Record<string, never>[]>

interface SimulatedArchive {
  readonly databaseUrl: string
  readonly snapshots: string
  readonly pictures: string
  /** Sends a request as an admin; fails if the status is an error. */
  readonly send: Send
  readonly query: Query
  /** Returns the only value of a query, as a number. */
  number(text: string): Promise<number>
  /** Restarts the service on another day. */
  goToDay(day: number): Promise<void>
  /** Waits until all maintenance tasks of the day are done. */
  untilMaintained(): Promise<void>
}

async function startArchive(environment: FaultEnvironment): Promise<SimulatedArchive> {
  const clock = join(environment.dir, 'time')
  const setDay = (day: number) => writeFileSync(clock, `+${day}d`)
  setDay(0)
  const preload = {
    LD_PRELOAD: library as string,
    FAKETIME_TIMESTAMP_FILE: clock,
    FAKETIME_CACHE_DURATION: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
  }
  const snapshots = join(environment.dir, 'snapshots')
  const pictures = join(environment.dir, 'pictures')
  mkdirSync(pictures)
  const database = await startDatabase(environment, {
    variables: preload,
    settings: { autovacuum_naptime: '1s' },
  })
  const databaseUrl = database.serviceUrl
  const service = await startFaultService(environment, {
    DATABASE_URL: databaseUrl,
    ANSWER_SECONDS: '30',
    IMPORT_DAYS: String(importDays),
    SNAPSHOT_DIR: snapshots,
    SNAPSHOT_HOUR: '0',
    SNAPSHOT_KEEP: String(snapshotsKept),
    PICTURE_DIR: pictures,
    PICTURE_DIR_MB: String(picturesMb),
    ...preload,
  })
  const query: Query = (text) => withDatabase(databaseUrl, (run) => run(text))
  const number = async (text: string) => Number(Object.values((await query(text))[0] ?? {})[0])
  const token = await createToken(databaseUrl, 'Ada', 'admin', 3650)
  return {
    databaseUrl,
    snapshots,
    pictures,
    async send(method, path, body = {}, headers = {}) {
      const reply = await call(service.url, method, path, { token, body, headers })
      if (reply.status >= 400) throw new Error(`${method} ${path}: ${reply.status} ${reply.text}`)
      return reply
    },
    query,
    number,
    async goToDay(day) {
      await service.stop()
      setDay(day)
      const noon = Date.now() / 1000 + day * 86_400 - 43_200
      // libfaketime reads the file once a second.
      await until(
        'the new day in the database',
        async () => (await number('select extract(epoch from now())')) > noon,
        { limitMs: 120_000 },
      )
      await service.start()
    },
    async untilMaintained() {
      const finished = `
        select count(*)
        from maintenance
        where finished > now() - interval '12 hours'`
      await until(
        'the maintenance',
        async () => (await number(finished)) === maintenanceTasks.length,
        { limitMs: 120_000 },
      )
    },
  }
}

async function createToken(
  databaseUrl: string,
  name: string,
  role: string,
  days: number,
): Promise<string> {
  const { stdout } = await runCommand(
    ['token', 'create', '--name', name, '--role', role, '--days', String(days)],
    { DATABASE_URL: databaseUrl },
  )
  return stdout.trim()
}

/** Returns how many rows each table may have after this many days. */
async function rowBounds(
  { number }: SimulatedArchive,
  days: number,
): Promise<Record<string, number>> {
  const names = await number(`
    select (select count(*) from entity_name) + (select count(*) from entity_slug)`)
  const records = days * (talksPerImport + keysPerDay)
  return {
    video: records,
    video_body: records,
    video_facts: records,
    video_search: await number('select count(*) from video where state = 1 and taken_down is null'),
    source_record: days * talksPerImport,
    // One for each URL that a talk has or had.
    source: 2 * records,
    video_source: records,
    link_host: 0,
    replacement: 0,
    // The history is kept forever.
    change: Number.POSITIVE_INFINITY,
    edge_purge: 1,
    feed_entry: Number.POSITIVE_INFINITY,
    feed_head: 1,
    mirror: 0,
    mirrored: 0,
    category: names,
    speaker: names,
    tag: names,
    language: 1000,
    entity_name: records * 10,
    entity_slug: records * 10,
    import: days,
    import_row: (importDays + 1) * talksPerImport,
    import_entity: (importDays + 1) * talksPerImport,
    match: 0,
    match_item: 0,
    match_decision: 0,
    match_pattern: 0,
    idempotency_key: 2 * keysPerDay,
    token: days + 2,
    person: 0,
    event_editor: 0,
    scheduled_publication: 0,
    working_copy: 0,
    passkey: 0,
    openid_identity: 0,
    session: 0,
    one_time_token: 0,
    audit_event: 2 * (days + 2),
    uploaded_picture: 0,
    rename_job: 0,
    // One row for each kind and record at most.
    ids_before_merge: await number('select 3 * count(*) from video'),
    talk_count: names * 100,
    talk_cube: 100_000,
    similar_talk: records,
    search_word: await number('select count(*) from search_words_of(array(select id from video))'),
    search_lexeme: await number(`
      select count(*)
      from (
        select
        from video_search, unnest(tsvector_to_array(head || text)) as lexeme
        group by language_id, lexeme
        having count(*) > 1
      ) as used`),
    former_name: 0,
    name_change: 0,
    name_change_place: 0,
    speaker_confirmation: 0,
    speaker_link: 0,
    speaker_request: 0,
    speaker_suggestion: 0,
    suggestion: 0,
    suggestion_key: 0,
    suggestion_sender: 0,
    synonym: 5000,
    fingerprint: await number(`
      select count(*)
      from (
        select same_source from video where taken_down is null and same_source is not null
        union
        select same_talk from video where taken_down is null and same_talk is not null
      ) as used`),
    duplicate_candidate: 0,
    followed_source: 0,
    webhook: 0,
    webhook_delivery: 0,
    maintenance: maintenanceTasks.length,
    schema_version: 100,
    trigger_file: 10,
  }
}

/** Prints the rows and bytes of each table, and returns which tables are too large. */
async function tableProblems(
  archive: SimulatedArchive,
  days: number,
  bytesAtHalfTime: Record<string, number>,
): Promise<string[]> {
  const bounds = await rowBounds(archive, days)
  const problems: string[] = []
  for (const [table, bytes] of Object.entries(await tableBytes(archive.query)).sort()) {
    const rows = await archive.number(`select count(*) from "${table}"`)
    const bound = bounds[table]
    const before = bytesAtHalfTime[table] ?? 0
    console.log(
      `      ${table.padEnd(16)} ${String(rows).padStart(7)} rows of ` +
        `${String(bound).padStart(8)}, ${kilobytes(before)} at half time, ` +
        `${kilobytes(bytes)} at the end`,
    )
    if (bound === undefined) problems.push(`${table} has no bound: add it to rowBounds`)
    else if (rows > bound) problems.push(`${table} has ${rows} rows, the limit is ${bound}`)
    if (steadyTables.includes(table) && bytes > 2 * before + 100_000)
      problems.push(`${table} grew from ${before} to ${bytes} bytes`)
  }
  return problems
}

function folderProblems({ snapshots, pictures }: SimulatedArchive): string[] {
  const [files, bytes] = [readdirSync(snapshots).length, folderBytes(pictures)]
  console.log(
    `      snapshots        ${files} files of ${2 * snapshotsKept}; ` +
      `pictures ${kilobytes(bytes)} of ${picturesMb} MB`,
  )
  return [
    ...(files > 2 * snapshotsKept ? [`${files} files of snapshots`] : []),
    ...(bytes > picturesMb * 2 ** 20 ? [`${bytes} bytes of pictures`] : []),
  ]
}

/**
 * Goes to a day on which the tokens of all days have been expired for more than 90 days, and only
 * the summaries of the imports may be left.
 */
async function laterProblems(archive: SimulatedArchive, day: number): Promise<string[]> {
  await archive.goToDay(day)
  await archive.untilMaintained()
  const tokens = await archive.number('select count(*) from token')
  const rows = await archive.number('select count(*) from import_row')
  if (tokens === 2 && rows === 0) return []
  return [`${tokens} tokens and ${rows} import rows are left after another hundred days`]
}

/** Plays one day: imports, edits, takedowns, POSTs with keys, renames, a merge and searches. */
async function useFor(day: number, send: Send): Promise<void> {
  await importTalks(day, send)
  const { json: page } = await send('GET', '/api/v2/video?ordering=-added&page_size=20')
  const ids: number[] = page.results.map(({ id }: { id: number }) => id)
  for (const [index, id] of ids.entries()) {
    await send('PATCH', `/api/v2/video/${id}`, {
      title: `Edited ${wordOf(day, index + 100)}`,
      source_url: `https://example.org/edited-${day}-${index}`,
    })
    await requestPicture(send, `/picture/${id}/${index % 2 ? 'preview' : '640'}`)
  }
  for (const id of ids.slice(0, 2))
    await send('POST', `/api/v2/video/${id}/takedown`, { reason: 'requested' })
  for (let index = 0; index < keysPerDay; index++) {
    const body = {
      title: `Posted ${day} ${index}`,
      category: 'Days',
      language: 'en',
      speakers: [`Former ${day} ${index}`, 'Stays'],
      state: 1,
    }
    await send('POST', '/api/v2/video', body, { 'idempotency-key': `${day}-${index}` })
  }
  for (const index of [0, 1, 2])
    await send('PATCH', `/api/v2/speaker/former-${day}-${index}`, {
      name: `Present ${day} ${index}`,
    })
  await send('POST', `/api/v2/speaker/former-${day}-3/merge`, { into: 'stays' })
  for (const q of ['talk', wordOf(day, 100), 'edtied']) await send('GET', `/api/v2/video?q=${q}`)
}

/**
 * Imports a file in which most talks are new; some were imported the day before and have changed.
 */
async function importTalks(day: number, send: Send): Promise<void> {
  const lines = Array.from({ length: talksPerImport }, (_, index) => {
    const firstDay = index >= 5 || day === 0 ? day : day - 1
    const title = `Talk about ${wordOf(firstDay, index)} and ${wordOf(day, index)}`
    const url = `https://example.org/${firstDay}-${index}`
    return `${title},Speaker ${day % 7} ${index % 5},topic ${index % 9},${url}`
  })
  const { json } = await send('POST', '/api/v2/import', {
    text: `title,speakers,tags,source_url\n${lines.join('\n')}\n`,
    format: 'csv',
    category: 'Days',
    language: 'en',
    source: 'daily',
  })
  const untilState = (state: string) =>
    until(
      `import ${json.id} to be ${state}`,
      async () => {
        const current = (await send('GET', `/api/v2/import/${json.id}`)).json
        return current.state === state && current
      },
      { limitMs: 120_000 },
    )
  await untilState('planned')
  await send('POST', `/api/v2/import/${json.id}/apply`)
  const { outcome } = await untilState('applied')
  if (outcome.created < talksPerImport - 5) throw new Error(`Imported: ${JSON.stringify(outcome)}`)
}

/** Returns a word of letters only: the spelling correction ignores other words. */
function wordOf(day: number, index: number): string {
  const letters = [...`${day}q${index}`].map((sign) => 'abcdefghij'[Number(sign)] ?? sign)
  return `word${letters.join('')}`
}

/** Requests a picture; a record that was taken down has none. */
async function requestPicture(send: Send, path: string): Promise<void> {
  await send('GET', path).catch((error: Error) => {
    if (!/: 4\d\d /.test(error.message)) throw error
  })
}

/** Returns the size of each table, with its partitions. */
async function tableBytes(query: Query): Promise<Record<string, number>> {
  const rows = await query(`
    select relname as table,
           case relkind
             when 'r' then pg_total_relation_size(oid)
             else (select sum(pg_total_relation_size(relid)) from pg_partition_tree(oid))
           end::float8 as bytes
    from pg_class
    where relnamespace = 'public'::regnamespace
      and relkind in ('r', 'p')
      and not relispartition`)
  return Object.fromEntries(rows.map(({ table, bytes }) => [table, Number(bytes)]))
}

const kilobytes = (bytes: number) => `${Math.ceil(bytes / 1000)} kB`

function folderBytes(folder: string): number {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => statSync(join(folder, name)))
    .reduce((sum, entry) => (entry.isFile() ? sum + entry.size : sum), 0)
}
