import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import {
  ExportEnd,
  ExportedEntity,
  ExportedVideo,
  ExportHead,
  type Fact,
  type Video,
  validationErrors,
} from '@talkshelf/contract'
import { createApp } from '../../server/app.ts'
import { createToken } from '../../server/auth/auth.ts'
import { readConfig } from '../../server/config.ts'
import {
  applyImport,
  beginImport,
  nextImportBatch,
  openInput,
  readImport,
} from '../../server/imports/imports.ts'
import { openPool, type Pool } from '../../server/platform/db/pool.ts'
import { freshDatabase } from '../support/database.ts'
import { call, category, type Reply, runCommand, startArchive } from '../support/harness.ts'
import { checkInvariants, withDatabase } from '../support/invariants.ts'
import { eventProfile, personProfile } from '../support/profiles.ts'
import { until } from '../support/until.ts'

// An export loses no data, and contains nothing that its reader may not see.

const archive = await startArchive()
const { editor: token, admin } = archive
const send = async (method: string, path: string, body?: object): Promise<Reply> => {
  const reply = await archive.call(method, `/api/v2/${path}`, {
    token: admin,
    ...(body && { body }),
  })
  assert.ok(reply.status < 300, reply.text)
  return reply
}

const withdrawn = 'https://www.youtube.com/watch?v=withdrawn00'
const twin = {
  title: 'Lightning talks',
  speakers: ['Tia Twin'],
  category: 'Days of Bridges',
  source_url: 'https://media.example.org/twins',
}
const facts: Fact[] = [
  { kind: 'media', url: 'https://media.example.org/1.mkv', type: 'mkv', size: 2 ** 40 },
  { kind: 'related', url: 'https://slides.example.org/ünï', label: 'Folien 🦊' },
  { kind: 'address', path: 'video/7/old-one' },
  { kind: 'said', source: 'somewhere', field: 'odd', value: { b: [1.5, null, '\u2028'], a: {} } },
  // A duplicate.
  { kind: 'address', path: 'video/7/old-one' },
  { kind: 'programme', position: 3 },
]

await send('POST', 'category', {
  title: 'Days of Bridges',
  description: 'Über\r\n\tBrücken',
  url: 'https://example.org/',
  start_date: '2019-05-01',
  end_date: '2019-05-03',
  ...eventProfile,
})
await send('POST', 'category', { title: 'Brückentage' })
await send('POST', 'category', { title: 'Nobody Came' })
const full = await archive.make({
  title: '  Ein “Titel” <b>& 🧑‍🚀 עברית\u2029e\u0301 ',
  category: 'Brückentage',
  language: 'German',
  speakers: ['Zoë Ågren', 'Deadname Doe', 'Müge Ø', 'A. Double'],
  tags: ['c++', 'C#', 'Ruby on Rails', 'rails'],
  summary: 'Zeile\r\n\tZwei\u0085 ',
  description: '\u{10FFFF} <script>alert(1)</script>'.repeat(20),
  quality_notes: 'quiet',
  copyright_text: 'CC BY',
  embed: '',
  thumbnail_url: '',
  duration: 0,
  video_mp4_length: Number.MAX_SAFE_INTEGER,
  video_mp4_url: 'https://media.example.org/a b.mp4'.replace(' ', '%20'),
  video_flv_download_only: true,
  source_url: 'https://youtu.be/abcdefghijk',
  whiteboard: 'for editors\n',
  recorded: '0999-12-31',
})
await send('PUT', `video/${full.id}/facts`, { facts: facts.slice(1) })
await send('PUT', `video/${full.id}/facts`, { facts })
for (const summary of ['One', 'Two', full.summary])
  await send('PATCH', `video/${full.id}`, { summary })
const first = await archive.make(twin)
for (let number = 0; number < 130; number++)
  await archive.make({
    title: `日本語 ${number % 7}`,
    speakers: [`Speaker ${number}`],
    tags: [`tag ${number % 20}`],
  })
// A second record with the same text and the same video.
const second = await archive.make(twin)
const draft = await archive.make({
  title: 'A draft',
  state: 2,
  speakers: ['Only Drafts'],
  tags: ['only drafts'],
  whiteboard: 'secret plan',
})
const gone = await archive.make({
  title: 'Withdrawn words',
  speakers: ['Wanda Withdrawn'],
  source_url: withdrawn,
  summary: 'never again',
})
const again = await archive.make({ title: 'The same video with leave', source_url: withdrawn })
await send('POST', `video/${gone.id}/takedown`, { reason: 'Asked by <Wanda>' })
await send('PATCH', 'speaker/deadname-doe', { name: 'Alive Doe' })
await send('PATCH', 'speaker/zoe-agren', {
  ...personProfile,
  aliases: [{ name: 'Z. Ågren', shown: true }, { name: 'Hidden Ågren' }],
})
await send('PATCH', 'speaker/only-drafts', { description: 'A hermit', pronouns: 'he/mit' })
await send('PATCH', 'speaker/wanda-withdrawn', { pronouns: 'wan/da' })
await send('POST', 'speaker/a-double/merge', { into: 'speaker-3' })
await send('PATCH', 'tag/ruby-on-rails', { name: 'Rails framework' })
await send('POST', 'tag/rails/merge', { into: 'rails-framework' })
await send('PATCH', 'category/days-of-bridges', {
  title: 'Bridge Days',
  aliases: [{ name: 'BD', shown: true }],
})
await send('POST', 'category/bruckentage/merge', { into: 'bridge-days' })
const last = Number((await archive.make({ title: '…' })).id)

const whole = await exported(archive.databaseUrl)
const secrets = [
  'Deadname',
  'deadname',
  'Hidden',
  'Only Drafts',
  'hermit',
  'he/mit',
  'wan/da',
  'only drafts',
  'secret plan',
  'A draft',
  'Wanda',
  'never again',
  'Withdrawn words',
]

async function exported(databaseUrl: string, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runCommand(['export', ...args], {
    DATABASE_URL: databaseUrl,
  })
  assert.equal(code, 0, stderr)
  return stdout
}

interface Target {
  url: string
  databaseUrl: string
  pool: Pool
  editor: string
}

async function emptyArchive(): Promise<Target> {
  const database = await freshDatabase()
  const pool = openPool({ url: database.url, connections: 4, applicationName: 'tests' })
  const app = createApp(
    readConfig({ DATABASE_URL: database.url, RESUME_SECONDS: '0' }),
    pool,
    false,
  )
  await app.listen({ host: '127.0.0.1', port: 0 })
  after(async () => {
    await app.close()
    await pool.close()
  })
  const { token: editor } = await createToken(pool, { name: 'Edith', role: 'editor', days: 1 })
  return {
    url: `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`,
    databaseUrl: database.url,
    pool,
    editor,
  }
}

async function planText(pool: Pool, text: string) {
  const origin = {
    actor: { role: 'admin', name: 'Edith', token: null },
    via: 'command',
    request: 'test',
  } as const
  const open = () =>
    openInput({
      stream: (async function* () {
        yield Buffer.from(text)
      })(),
      name: 'export.ndjson',
    })
  const { id, planned: done } = await beginImport(pool, { name: 'export.ndjson', open }, origin)
  await done
  return readImport(pool, id)
}

async function importText(pool: Pool, text: string) {
  const { id } = await planText(pool, text)
  await applyImport(pool, id, 'admin')
  // An archive that is running applies batches itself.
  return until(`import ${id} to be applied`, async () => {
    while (await nextImportBatch(pool));
    const current = await readImport(pool, id)
    return current.state === 'applied' && current
  })
}

/** Reads every resource as an editor and as a reader, without hosts and request ids. */
async function readEverything({
  url,
  editor,
}: Pick<Target, 'url' | 'editor'>): Promise<Map<string, unknown>> {
  const responses = new Map<string, unknown>()
  async function read(path: string): Promise<Reply> {
    const [reply] = await Promise.all(
      [editor, undefined].map(async (as) => {
        const response = await call(
          url,
          'GET',
          `/api/v2/${path}`,
          as === undefined ? {} : { token: as },
        )
        const text = response.text.replaceAll(url, '').replace(/urn:uuid:[\w-]+/, '')
        // The ETag of a list depends on the host, and that of facts on revisions that are not
        // exported.
        const etag = /\?|facts$/.test(path) ? '' : response.headers.etag
        const { location, 'last-modified': changed } = response.headers
        responses.set(`${path} for ${as === undefined ? 'anyone' : 'editors'}`, [
          response.status,
          etag,
          location?.replace(url, ''),
          changed,
          text,
        ])
        return response
      }),
    )
    return reply as Reply
  }
  const ids = Array.from({ length: last + 1 }, (_, index) => index + 1)
  for (const id of ids) await Promise.all([read(`video/${id}`), read(`video/${id}/facts`)])
  for (const list of ['video', 'category', 'speaker', 'tag', 'language'])
    for (let path: string | undefined = `${list}?page_size=100`; path; ) {
      const { json } = await read(path)
      path = json.next?.split('/api/v2/')[1]
      if (['category', 'speaker', 'tag'].includes(list))
        for (const { slug } of json.results) await read(`${list}/${slug}`)
    }
  const old = [
    'speaker/deadname-doe',
    'speaker/a-double',
    'tag/ruby-on-rails',
    'tag/rails',
    'category/days-of-bridges',
    'category/bruckentage',
  ]
  for (const path of old) assert.equal((await read(path)).status, 301, path)
  for (const path of ['speaker/only-drafts', 'speaker/wanda-withdrawn'])
    assert.equal((await read(path)).status, 200, path)
  for (const q of ['titel', 'withdrawn', 'agren', 'deadname', '日本語'])
    await read(`video?q=${encodeURIComponent(q)}&page_size=100`)
  return responses
}

/**
 * Waits until the second of the last change is over. Only then has a record a Last-Modified header,
 * and both archives shall have it.
 */
async function waitForLastModified(): Promise<void> {
  const newest = `
    select date_trunc('second', max(updated)) + interval '1 second' <= clock_timestamp() as over
    from video`
  await withDatabase(archive.databaseUrl, async (query) => {
    while (!(await query(newest))[0]?.over) await setTimeout(20)
  })
}

const linesIn = (text: string) => text.trimEnd().split('\n')
const withoutTime = (text: string) => text.replace(/"at":"[^"]+"/, '')
const valuesIn = (text: string) => linesIn(text).map((line) => JSON.parse(line))

test('restores an identical archive from its export', async () => {
  const target = await emptyArchive()
  const { outcome } = await importText(target.pool, whole)
  const count = linesIn(whole).filter((line) => line.startsWith('{"kind":"video"')).length
  assert.deepEqual(outcome, { created: count, changed: 0, unchanged: 0, kept: 0, refused: 0 })
  await waitForLastModified()
  const [before, now] = [await readEverything(archive), await readEverything(target)]
  assert.deepEqual([...now.keys()].sort(), [...before.keys()].sort())
  for (const [path, expected] of before) assert.deepEqual(now.get(path), expected, path)
  await checkInvariants(target.databaseUrl)
  assert.equal(withoutTime(await exported(target.databaseUrl)), withoutTime(whole))
  // No id is assigned a second time.
  const { json } = await call(target.url, 'POST', '/api/v2/video', {
    token: target.editor,
    body: { title: 'Next', category, language: 'English', speakers: ['Brand New'] },
  })
  assert.ok(json.id > last)
})

test('changes nothing when an export is imported into its own archive', async () => {
  const { planned: plan } = await planText(archive.pool, whole)
  assert.deepEqual(
    { ...plan, unchanged: 0 },
    { new: 0, changed: 0, unchanged: 0, conflict: 0, refused: 1 },
  )
  assert.deepEqual((await importText(archive.pool, whole)).outcome, {
    created: 0,
    changed: 0,
    unchanged: plan.unchanged,
    kept: 0,
    refused: 1,
  })
  assert.equal(withoutTime(await exported(archive.databaseUrl)), withoutTime(whole))
})

test('writes lines that match the contract, in the documented order', () => {
  const values = valuesIn(whole)
  const schemas = {
    talkshelf: ExportHead,
    category: ExportedEntity,
    speaker: ExportedEntity,
    tag: ExportedEntity,
    video: ExportedVideo,
    end: ExportEnd,
  }
  for (const value of values)
    assert.deepEqual(
      validationErrors(schemas[value.kind as keyof typeof schemas], value),
      [],
      JSON.stringify(value),
    )
  const order = Object.keys(schemas)
  const positions = values.map(({ kind }) => order.indexOf(kind))
  assert.deepEqual(
    positions,
    positions.toSorted((a, b) => a - b),
  )
  const ids = values.flatMap(({ kind, record }) => (kind === 'video' ? [record.id] : []))
  assert.deepEqual(
    ids,
    Array.from({ length: last }, (_, index) => index + 1),
  )
  assert.equal(values.at(-1).videos, last)
  assert.match(whole, /^[\n\x20-\x7e]+$/)
})

test('exports only public data to readers and everything but takedowns to editors', async () => {
  const { status, headers, text } = await archive.call('GET', '/api/v2/export.ndjson')
  assert.deepEqual(
    [status, headers['content-type'], headers['content-encoding']],
    [200, 'application/x-ndjson', undefined],
  )
  for (const secret of secrets) assert.ok(!text.includes(secret), secret)
  for (const value of valuesIn(text)) {
    if ('old_slugs' in value) assert.deepEqual(value.old_slugs, [])
    for (const { shown } of value.aliases ?? []) assert.equal(shown, true)
    if (value.kind === 'video') assert.equal(value.record.state, 1)
  }
  const names = (kind: string) =>
    valuesIn(text).flatMap((line) => (line.kind === kind ? [line.name] : []))
  assert.ok(names('speaker').includes('Alive Doe') && names('category').includes('Nobody Came'))
  assert.ok(text.includes('"BD"') && text.includes(String(again.id)))

  const { text: editors } = await archive.call('GET', '/api/v2/export.ndjson', { token })
  for (const known of ['Deadname', 'deadname-doe', 'Hidden', 'secret plan'])
    assert.ok(editors.includes(known), known)
  for (const { kind, record, taken_down } of valuesIn(editors))
    if (kind === 'video') assert.deepEqual([taken_down, record.id === gone.id], [undefined, false])
  assert.ok(!editors.includes('never again'))
  const [takenDown] = valuesIn(whole).filter(({ taken_down }) => taken_down)
  assert.deepEqual(
    [takenDown.record.id, takenDown.record.summary, takenDown.taken_down.reason],
    [gone.id, 'never again', 'Asked by <Wanda>'],
  )
  assert.deepEqual(
    [first.source_url, second.source_url, draft.state],
    [twin.source_url, twin.source_url, 2],
  )

  // The export for readers can be imported too.
  const target = await emptyArchive()
  const { outcome } = await importText(target.pool, text)
  assert.deepEqual([outcome.created, outcome.refused], [last - 2, 0])
  assert.equal(
    withoutTime((await call(target.url, 'GET', '/api/v2/export.ndjson')).text),
    withoutTime(text),
  )
})

test('exports no old name during a running rename or merge', async () => {
  for (let number = 0; number < 60; number++)
    await archive.make({ title: `Left ${number}`, speakers: ['Left Behind', 'Left Twin'] })
  // The lock delays the batches, so that the rename is half done.
  await withDatabase(archive.databaseUrl, async (query) => {
    await query('begin')
    await query(`select from video where title = 'Left 59' for update`)
    const { json } = await send('PATCH', 'speaker/left-behind', { name: 'Gone Ahead' })
    const { json: merged } = await send('POST', 'speaker/left-twin/merge', { into: 'gone-ahead' })
    assert.ok(json.records_left > 0 && merged.records_left > 0)
    const { text } = await archive.call('GET', '/api/v2/export.ndjson')
    assert.ok(!text.includes('Left Behind') && !text.includes('Left Twin'))
    const speakers = valuesIn(text).flatMap(({ record }) =>
      record?.speakers.includes('Gone Ahead') ? [record.speakers] : [],
    )
    assert.deepEqual(speakers, Array(60).fill(['Gone Ahead']))
    await query('commit')
    // The tests below need the rename to be finished.
    while ((await query('select from rename_job')).length > 0) await setTimeout(20)
  })
})

test('exports ranges of ids with the same lines as the whole export', async () => {
  const exportRange = async (query: string) =>
    (await archive.call('GET', `/api/v2/export.ndjson${query}`, { token })).text
  const videos = (text: string) =>
    linesIn(text).filter((line) => line.startsWith('{"kind":"video"'))
  const every = await exportRange('')
  const parts = [
    await exportRange('?up_to=50'),
    await exportRange('?after=50&up_to=51'),
    await exportRange('?after=51'),
  ]
  assert.deepEqual(parts.flatMap(videos), videos(every))
  assert.deepEqual(valuesIn(parts[1] as string)[0], {
    ...valuesIn(parts[1] as string)[0],
    after: 50,
    up_to: 51,
  })
  assert.deepEqual(parts.map((part) => valuesIn(part).at(-1).videos).slice(0, 2), [50, 1])
  const { text } = await archive.call('GET', '/api/v2/export.ndjson?after=2&up_to=4')
  assert.deepEqual(
    valuesIn(text).flatMap(({ record }) => (record ? [record.id] : [])),
    [3, 4],
  )
  for (const wrong of ['after=0', 'after=x', 'up_to=-1', 'from=1']) {
    const { status, json } = await archive.call('GET', `/api/v2/export.ndjson?${wrong}`)
    assert.deepEqual([status, json.type.split('/').at(-1)], [400, 'invalid-query'], wrong)
  }
  // Concatenated ranges are imported as one export.
  const target = await emptyArchive()
  const { outcome } = await importText(target.pool, parts.join(''))
  assert.deepEqual([outcome.created, outcome.refused], [videos(every).length, 0])
})

test('exports a consistent snapshot during concurrent writes', async () => {
  // Two records are always changed together, in one transaction of a rename.
  const pair: Video[] = [
    await archive.make({ tags: ['tick 0'] }),
    await archive.make({ tags: ['tick 0'] }),
  ]
  let isDone = false
  const writing = (async () => {
    for (let tick = 1; !isDone; tick++)
      await send('PATCH', `tag/tick-${tick - 1}`, { name: `tick ${tick}` })
  })()
  for (let round = 0; round < 10; round++) {
    const { text } = await archive.call('GET', '/api/v2/export.ndjson', { token })
    const values = valuesIn(text)
    const [tag] = values.filter(({ kind, name }) => kind === 'tag' && name.startsWith('tick'))
    const records = values.filter(({ record }) => pair.some(({ id }) => id === record?.id))
    assert.deepEqual(
      records.map(({ record, revision }) => [record.tags, revision]),
      pair.map(() => [[tag.name], tag.revision + 1]),
    )
  }
  isDone = true
  await writing
})
