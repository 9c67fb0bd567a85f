import { globSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { call, type Reply, runCommand } from '../support/harness.ts'
import { checkInvariants, withDatabase } from '../support/invariants.ts'
import { type Fault, startDatabase, startFaultService } from './stage.ts'

// Days of use, with the clocks of the service and of PostgreSQL set forward from day to day:
// imports, edits, renames, merges, takedowns, POSTs with keys, searches, pictures, snapshots and
// the maintenance of every day. In the end every table and folder is as small as docs/operations.md
// says; a table that is not listed here fails.

const library = globSync('/usr/lib/*/faketime/libfaketime.so.1')[0]

const importDays = 2
const snapshotsKept = 3
const picturesMb = 1
const talksPerImport = 30
const keysPerDay = 10

export const simulatedDays: Fault = {
  name: 'simulated days of use',
  limitS: { quick: 240, full: 1500 },
  missing: () => (library === undefined ? 'libfaketime is not installed' : undefined),
  async run(stage) {
    const days = stage.quick ? 4 : 30
    const clock = join(stage.dir, 'time')
    const setDay = (day: number) => writeFileSync(clock, `+${day}d`)
    setDay(0)
    const preload = {
      LD_PRELOAD: library as string,
      FAKETIME_TIMESTAMP_FILE: clock,
      FAKETIME_CACHE_DURATION: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    }
    const [snapshots, pictures] = ['snapshots', 'pictures'].map((name) =>
      join(stage.dir, name),
    ) as [string, string]
    mkdirSync(pictures)
    const database = await startDatabase(stage, {
      environment: preload,
      settings: { autovacuum_naptime: '1s' },
    })
    const service = await startFaultService(stage, {
      DATABASE_URL: database.serviceUrl,
      ANSWER_SECONDS: '30',
      IMPORT_DAYS: String(importDays),
      SNAPSHOT_DIR: snapshots,
      SNAPSHOT_HOUR: '0',
      SNAPSHOT_KEEP: String(snapshotsKept),
      PICTURE_DIR: pictures,
      PICTURE_DIR_MB: String(picturesMb),
      ...preload,
    })
    const query = (text: string) => withDatabase(database.serviceUrl, (run) => run(text))
    const number = async (text: string) => Number(Object.values((await query(text))[0] ?? {})[0])
    const made = await runCommand(
      ['token', 'create', '--name', 'Ada', '--role', 'admin', '--days', '3650'],
      {
        DATABASE_URL: database.serviceUrl,
      },
    )
    const token = made.stdout.trim()
    const send = async (
      method: string,
      path: string,
      body: object = {},
      headers: Record<string, string> = {},
    ): Promise<Reply> => {
      const reply = await call(service.url, method, path, { token, body, headers })
      if (reply.status >= 400) throw new Error(`${method} ${path}: ${reply.status} ${reply.text}`)
      return reply
    }
    const until = async (what: string, isSo: () => Promise<boolean>) => {
      for (const end = performance.now() + 120_000; !(await isSo()); await sleep(50))
        if (performance.now() > end) throw new Error(`${what}: not within two minutes`)
    }
    /**
     * Starts the service on another day, once the database has seen it: libfaketime reads the file
     * once a second.
     */
    const goToDay = async (day: number) => {
      await service.stop()
      setDay(day)
      const noon = Date.now() / 1000 + day * 86_400 - 43_200
      await until(
        'the day of the database',
        async () => (await number(`select extract(epoch from now())`)) > noon,
      )
      await service.start()
    }
    const maintained = () =>
      until(
        'the maintenance',
        async () =>
          (await number(
            `select count(*) from maintenance where finished > now() - interval '12 hours'`,
          )) === 4,
      )

    await send('POST', '/api/v2/category', { title: 'Days' })
    const sizes: Record<string, number>[] = []
    for (let day = 0; day < days; day++) {
      if (day > 0) {
        await goToDay(day)
      }
      await useFor(day, send, until)
      await runCommand(
        ['token', 'create', '--name', `Day ${day}`, '--role', 'editor', '--days', '1'],
        {
          DATABASE_URL: database.serviceUrl,
        },
      )
      await maintained()
      await until('a snapshot', async () => {
        const night = new Date(Date.now() + day * 86_400_000).toISOString().slice(0, 10)
        return readdirSync(snapshots).includes(`talkshelf-${night}.json`)
      })
      sizes.push(await bytesOf(query))
    }
    // What is written after the maintenance of a day stays until the next.
    await goToDay(days)
    await maintained()
    await checkInvariants(database.serviceUrl)

    const names = await number(
      `select (select count(*) from entity_name) + (select count(*) from entity_slug)`,
    )
    const records = days * (talksPerImport + keysPerDay)
    const bounds: Record<string, number> = {
      video: records,
      video_body: records,
      video_facts: records,
      video_search: await number(
        'select count(*) from video where state = 1 and taken_down is null',
      ),
      source_record: days * talksPerImport,
      // The history, for ever.
      change: Number.POSITIVE_INFINITY,
      category: names,
      speaker: names,
      tag: names,
      language: 1000,
      entity_name: records * 10,
      entity_slug: records * 10,
      import: days,
      import_row: (importDays + 1) * talksPerImport,
      import_entity: (importDays + 1) * talksPerImport,
      idempotency_key: 2 * keysPerDay,
      token: days + 2,
      rename_job: 0,
      talk_count: names * 100,
      search_word: await number(
        'select count(*) from search_words_of(array(select id from video))',
      ),
      fingerprint:
        await number(`select count(*) from (select same_source from video where taken_down is null and same_source is not null
                            union select same_talk from video where taken_down is null and same_talk is not null) as used`),
      duplicate_candidate: 0,
      maintenance: 4,
      schema_version: 100,
    }
    const last = await bytesOf(query)
    const middle = sizes[Math.floor(days / 2)] as Record<string, number>
    const wrong: string[] = []
    for (const table of Object.keys(last).sort()) {
      const rows = await number(`select count(*) from "${table}"`)
      const bound = bounds[table]
      if (bound === undefined) wrong.push(`${table} is not listed: say what bounds it`)
      else if (rows > bound)
        wrong.push(`${table} has ${rows} rows, and at most ${bound} are stated`)
      const [now, then] = [last[table] ?? 0, middle[table] ?? 0]
      console.log(
        `      ${table.padEnd(16)} ${String(rows).padStart(7)} rows of ${String(bound).padStart(8)}, ${kilobytes(then)} at half time, ${kilobytes(now)} in the end`,
      )
      const isSteady = [
        'import_row',
        'import_entity',
        'idempotency_key',
        'rename_job',
        'maintenance',
      ].includes(table)
      if (isSteady && now > 2 * then + 100_000)
        wrong.push(`${table} grew from ${then} to ${now} bytes`)
    }
    const [files, bytes] = [readdirSync(snapshots).length, sizeOf(pictures)]
    console.log(
      `      snapshots        ${files} files of ${2 * snapshotsKept}; pictures ${kilobytes(bytes)} of ${picturesMb} MB`,
    )
    if (files > 2 * snapshotsKept) wrong.push(`${files} files of snapshots`)
    if (bytes > picturesMb * 2 ** 20) wrong.push(`${bytes} bytes of pictures`)

    // Long after: tokens of all those days ended 90 days ago, and nothing of the imports is left
    // but their summaries.
    await goToDay(days + 100)
    await maintained()
    const [tokens, rows] = [
      await number('select count(*) from token'),
      await number('select count(*) from import_row'),
    ]
    if (tokens !== 2 || rows !== 0)
      wrong.push(`after another hundred days ${tokens} tokens and ${rows} rows of imports are left`)
    await checkInvariants(database.serviceUrl)
    if (wrong.length > 0) throw new Error(wrong.join('\n'))
    return `${days} days, ${await number('select count(*) from change')} changes, ${await number('select count(*) from video')} records`
  },
}

type Send = (
  method: string,
  path: string,
  body?: object,
  headers?: Record<string, string>,
) => Promise<Reply>
type Until = (what: string, isSo: () => Promise<boolean>) => Promise<void>

/** One day: most talks are new, some were imported before and have changed. */
async function useFor(day: number, send: Send, until: Until): Promise<void> {
  const lines = Array.from({ length: talksPerImport }, (_, index) => {
    const isNew = index >= 5 || day === 0
    const [from, key] = [isNew ? day : day - 1, `${isNew ? day : day - 1}-${index}`]
    const title = `Talk about ${wordOf(from, index)} and ${wordOf(day, index)}`
    return `${title},Speaker ${day % 7} ${index % 5},topic ${index % 9},https://example.org/${key}`
  })
  const text = `title,speakers,tags,source_url\n${lines.join('\n')}\n`
  const { json } = await send('POST', '/api/v2/import', {
    text,
    format: 'csv',
    category: 'Days',
    language: 'en',
    source: 'daily',
  })
  const arrives = (state: string) =>
    until(
      `an import is ${state}`,
      async () => (await send('GET', `/api/v2/import/${json.id}`)).json.state === state,
    )
  await arrives('planned')
  await send('POST', `/api/v2/import/${json.id}/apply`)
  await arrives('applied')
  const { outcome } = (await send('GET', `/api/v2/import/${json.id}`)).json
  if (outcome.created < talksPerImport - 5) throw new Error(`Imported: ${JSON.stringify(outcome)}`)
  const { json: page } = await send('GET', '/api/v2/video?ordering=-added&page_size=20')
  const ids: number[] = page.results.map(({ id }: { id: number }) => id)
  for (const [index, id] of ids.entries()) {
    await send('PATCH', `/api/v2/video/${id}`, {
      title: `Edited ${wordOf(day, index + 100)}`,
      source_url: `https://example.org/edited-${day}-${index}`,
    })
    await call404(send, `/picture/${id}/${index % 2 ? 'preview' : '640'}`)
  }
  for (const id of ids.slice(0, 2))
    await send('POST', `/api/v2/video/${id}/takedown`, { reason: 'asked' })
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

/** A word of letters alone: only those are kept for spelling. */
const wordOf = (day: number, index: number) =>
  `word${[...`${day}q${index}`].map((sign) => (sign === 'q' ? 'q' : 'abcdefghij'[Number(sign)])).join('')}`

/** A picture is asked for as readers do; what was taken down has none. */
async function call404(send: Send, path: string): Promise<void> {
  await send('GET', path).catch((error: Error) => {
    if (!/: 4\d\d /.test(error.message)) throw error
  })
}

async function bytesOf(
  query: (text: string) => Promise<Record<string, never>[]>,
): Promise<Record<string, number>> {
  const rows = await query(`
    select relname as table, case relkind when 'r' then pg_total_relation_size(oid)
                             else (select sum(pg_total_relation_size(relid)) from pg_partition_tree(oid)) end::float8 as bytes
    from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition`)
  return Object.fromEntries(rows.map(({ table, bytes }) => [table, Number(bytes)]))
}

const kilobytes = (bytes: number) => `${Math.ceil(bytes / 1000)} kB`

function sizeOf(folder: string): number {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => statSync(join(folder, name)))
    .reduce((sum, it) => (it.isFile() ? sum + it.size : sum), 0)
}
