import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { states, type Video } from '@talkshelf/contract'
import { thisDatabase } from '../server/platform/db/database-identity.ts'
import { openPool } from '../server/platform/db/pool.ts'
import { refreshFrequencies } from '../server/search/search.ts'
import { renderVideo } from '../server/videos/wire.ts'
import { type GeneratedRecord, makeNames, makeRecord } from './records.ts'
import type { RemixNames } from './remix.ts'

// Fills an empty, migrated database with generated records as fast as possible: with COPY by psql.
// Every record has its body and its change, as if the service had written it.

const changeTarget =
  'change (subject, subject_id, revision, kind, before, after, ids, at, actor, via, ' +
  'request_id, request_hash)'

/**
 * Seeds a database. `url` must be that of a superuser: tables are written in parallel, so
 * foreign keys and triggers are disabled.
 */
export async function seed(
  bin: string,
  url: string,
  records: number,
  progress: (done: number) => void,
): Promise<void> {
  const names = makeNames(records)
  await copy(bin, url, 'category (id, slug, title)', lines(names.categories, 'category'))
  await copy(bin, url, changeTarget, categoryChanges(names))
  await copy(bin, url, 'speaker (id, slug, name)', lines(names.speakers, 'speaker'))
  await copy(bin, url, 'tag (id, slug, name)', lines(names.tags, 'tag'))

  const tables = [
    open(bin, url, `video (${[...videoColumns, ...idColumns].join(', ')})`),
    open(bin, url, 'video_body (id, revision, etag, live, updated, body)'),
    open(bin, url, changeTarget),
  ]
  const languages: Languages = new Map(
    (await query(bin, url, 'select code, id, name from language')).split('\n').map((row) => {
      const [code = '', id, name = ''] = row.split('|')
      return [code, { id: Number(id), name }]
    }),
  )
  for (let first = 1; first <= records; first += 1000) {
    const generated = Array.from({ length: Math.min(1000, records - first + 1) }, (_, index) =>
      makeRecord(first + index, names),
    )
    const rows = generated.map((record) => rowsOf(record, languages))
    await Promise.all(
      tables.map((table, index) => table.write(rows.map((row) => row[index]).join(''))),
    )
    progress(first - 1 + generated.length)
  }
  await Promise.all(tables.map((table) => table.end()))
  await finish(bin, url)
}

/** Advances sequences, and writes names, slugs and what triggers would have written. */
async function finish(bin: string, url: string): Promise<void> {
  for (const table of ['video', 'category', 'speaker', 'tag'])
    await query(
      bin,
      url,
      `select setval(
         pg_get_serial_sequence('${table}', 'id'),
         greatest(1, (select max(id) from ${table}))
       )`,
    )
  for (const [kind, name] of [
    ['category', 'title'],
    ['speaker', 'name'],
    ['tag', 'name'],
  ]) {
    await query(
      bin,
      url,
      `insert into entity_name (kind, name, entity_id, shown)
       select '${kind}', ${name}, id, true
       from ${kind}`,
    )
    await query(
      bin,
      url,
      `insert into entity_slug (kind, slug, entity_id)
       select '${kind}', slug, id
       from ${kind}`,
    )
  }
  await query(bin, url, 'select recount_talks()')
  await fillSearch(bin, url)
  await query(bin, url, 'select rebuild_fingerprints()')
  await query(
    bin,
    url,
    `select count(*)
     from (select array_agg(id) as ids from video group by id / 10000) as batch,
          refresh_video_sources(ids)`,
  )
  await query(bin, url, feedIsRead)
  await query(bin, url, 'vacuum analyze')
  const pool = openPool({ url, connections: 1, applicationName: 'bench' })
  await refreshFrequencies(pool, () => false).finally(() => pool.close())
  await query(bin, url, 'checkpoint')
}

/**
 * Makes the change feed begin after the seeded records. Otherwise each server would append their
 * entries for minutes, while it is measured.
 */
const feedIsRead = `
  update feed_head
  set database = ${thisDatabase.text}, read = pg_current_snapshot(), reading = null,
      comparing = null`

/** Does the same as rebuild_search(), on two processors. */
async function fillSearch(bin: string, url: string): Promise<void> {
  await query(bin, url, 'drop index video_search_head, video_search_all')
  await Promise.all(
    [0, 1].map((half) =>
      query(
        bin,
        url,
        `insert into video_search select * from search_source where id % 2 = ${half}`,
      ),
    ),
  )
  await Promise.all(
    ['select add_search_words(array(select id from video))', 'call create_search_indexes()'].map(
      (statement) => query(bin, url, statement),
    ),
  )
}

const videoColumns = [
  'id',
  'slug',
  'state',
  'title',
  'summary',
  'description',
  'quality_notes',
  'copyright_text',
  'embed',
  'thumbnail_url',
  'duration',
  'video_ogv_length',
  'video_ogv_url',
  'video_ogv_download_only',
  'video_mp4_length',
  'video_mp4_url',
  'video_mp4_download_only',
  'video_webm_length',
  'video_webm_url',
  'video_webm_download_only',
  'video_flv_length',
  'video_flv_url',
  'video_flv_download_only',
  'source_url',
  'whiteboard',
  'recorded',
  'added',
  'updated',
] as const satisfies (keyof Video)[]

const idColumns = ['speaker_ids', 'tag_ids', 'category_id', 'language_id', 'revision']

type Languages = ReadonlyMap<string, { readonly id: number; readonly name: string }>

function rowsOf(
  { video: generated, category, speakers, tags }: GeneratedRecord,
  languages: Languages,
): [string, string, string] {
  const language = languages.get(generated.language)
  if (!language) throw new Error(`There is no language ${generated.language}`)
  const video = { ...generated, language: language.name }
  const { body, etag } = renderVideo(video, 1)
  const ids = {
    category: category + 1,
    language: language.id,
    speakers: speakers.map((index) => index + 1),
    tags: tags.map((index) => index + 1),
  }
  const updated = `${video.updated}Z`
  const columns = videoColumns.map((name) =>
    name === 'added' || name === 'updated' ? `${video[name]}Z` : video[name],
  )
  return [
    line(...columns, `{${ids.speakers}}`, `{${ids.tags}}`, ids.category, ids.language, 1),
    line(video.id, 1, etag, video.state === states.live, updated, body),
    line(
      'video',
      video.id,
      1,
      'created',
      '{}',
      body,
      JSON.stringify(ids),
      updated,
      'bench',
      'command',
      'bench',
      '\\x00',
    ),
  ]
}

function* lines(names: readonly string[], slug: string) {
  for (const [index, name] of names.entries()) yield line(index + 1, `${slug}-${index}`, name)
}

function* categoryChanges({ categories }: RemixNames) {
  for (const [index, title] of categories.entries())
    yield line(
      'category',
      index + 1,
      1,
      'created',
      '{}',
      JSON.stringify({ title }),
      '{}',
      '2026-01-01Z',
      'bench',
      'command',
      'bench',
      '\\x00',
    )
}

function line(...values: unknown[]): string {
  return `${values.map((value) => (value === null ? '\\N' : escaped(String(value)))).join('\t')}\n`
}

const escaped = (text: string) =>
  /[\\\n\r\t]/.test(text)
    ? text
        .replaceAll('\\', '\\\\')
        .replaceAll('\n', '\\n')
        .replaceAll('\r', '\\r')
        .replaceAll('\t', '\\t')
    : text

async function copy(
  bin: string,
  url: string,
  target: string,
  rows: Iterable<string>,
): Promise<void> {
  const table = open(bin, url, target)
  let chunk = ''
  for (const row of rows) {
    chunk += row
    if (chunk.length < 1 << 20) continue
    await table.write(chunk)
    chunk = ''
  }
  await table.write(chunk)
  await table.end()
}

function open(bin: string, url: string, target: string) {
  const child = psql(bin, url, [
    '-c',
    'set session_replication_role = replica',
    '-c',
    `copy ${target} from stdin`,
  ])
  const ended = finished(child)
  ended.catch(() => {}) // write() and end() report the error.
  return {
    async write(text: string): Promise<void> {
      if (!child.stdin.write(text)) await Promise.race([once(child.stdin, 'drain'), ended])
    },
    async end(): Promise<void> {
      child.stdin.end()
      await ended
    },
  }
}

/** Runs one statement. Returns its output. */
export async function query(bin: string, url: string, statement: string): Promise<string> {
  const child = psql(bin, url, ['-Atc', statement])
  child.stdin.end()
  return (await finished(child)).trim()
}

function psql(bin: string, url: string, args: readonly string[]) {
  const child = spawn(join(bin, 'psql'), ['-X', '-q', '-v', 'ON_ERROR_STOP=1', ...args, url], {
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  child.stdin.on('error', () => {}) // psql has ended; its standard error has the reason.
  return child
}

async function finished(child: ReturnType<typeof psql>): Promise<string> {
  let [output, errors] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text))
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`psql: ${errors}`)
  return output
}
