import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { Import, ImportedTalk, Video } from '@talkshelf/contract'
import { parse } from 'csv-parse/sync'
import { joinCells } from '../../server/imports/imports.ts'
import { runCommand, startArchive } from '../support/harness.ts'
import { checkInvariants } from '../support/invariants.ts'
import { until } from '../support/until.ts'

// What the plan of an import says before anything is written.

const archive = await startArchive()
const folder = mkdtempSync(join(tmpdir(), 'talkshelf-plan-'))
after(() => rmSync(folder, { recursive: true }))

const run = (...args: string[]) => runCommand(args, { DATABASE_URL: archive.databaseUrl })
const call = (method: string, path: string, body?: object) =>
  archive.call(method, `/api/v2${path}`, { token: archive.editor, ...(body && { body }) })

const table = `key,title,speakers,tags,recorded,duration,category,language
a,Weirs,raymond hettinger,rivers,2062-05-01,30,River Days 2026,English
b,Locks,"Ann Other, Bob Second",rivers; boats,2026-05-01,2700,River Days 2026,English
c,Dams,Zoë Third,,2026-05-02,100000,River Days 2026,English
d,Pumps,zoe  third,,,1800,River Days 2026,English
`

test('a plan shows what new talks have, which names it creates, and implausible values', async () => {
  const person = { title: 'Old', language: 'English', category: 'Old Days' }
  await call('POST', '/category', { title: 'Old Days' })
  const created = await call('POST', '/video', { ...person, speakers: ['Raymond Hettinger'] })
  assert.equal(created.status, 201, created.text)

  const path = join(folder, 'plan.csv')
  writeFileSync(path, table)
  const { code, stdout, stderr } = await run('import', path, '--dry-run')
  assert.equal(code, 0, stderr)
  assert.match(stdout, /\+ Weirs .*\n {6}raymond hettinger · 2062-05-01 · 0:30 · River Days 2026\n/)
  assert.match(stdout, /warning: duration is 30 seconds\. Are these minutes\?/)
  assert.match(stdout, /New events: 1\n {4}River Days 2026\n {2}New people: 4\n {4}raymond hett/)
  assert.match(stdout, /New tags: 2\n {4}rivers; boats\n/)

  const id = Number(/Import (\d+)/.exec(stdout)?.[1])
  const job: Import = (await call('GET', `/import/${id}`)).json
  assert.deepEqual(job.creates.speakers, {
    count: 4,
    names: ['raymond hettinger', 'Ann Other, Bob Second', 'Zoë Third', 'zoe  third'],
  })
  assert.deepEqual(job.warnings, {
    'missing-date': 1,
    'guessed-date': 0,
    'future-date': 1,
    'old-date': 0,
    'long-duration': 1,
    'short-duration': 1,
    'several-names': 1,
    'similar-name': 2,
  })
  const talks: ImportedTalk[] = (await call('GET', `/import/${id}/talk`)).json.results
  const [weirs, , , pumps] = talks
  assert.deepEqual(
    [weirs?.category, weirs?.speakers, weirs?.recorded, weirs?.duration],
    ['River Days 2026', ['raymond hettinger'], '2062-05-01', 30],
  )
  assert.deepEqual(
    weirs?.notes.map(({ code }) => code),
    ['future-date', 'short-duration', 'similar-name'],
  )
  assert.match(weirs?.notes.at(-1)?.detail ?? '', /the archive has “Raymond Hettinger”/)
  assert.match(pumps?.notes.at(-1)?.detail ?? '', /the file also has “Zoë Third”/)

  const applied = await run('imports', 'apply', String(id))
  assert.equal(applied.code, 0, applied.stderr)
  assert.match(applied.stdout, /4 created/)
  const warned = await call('GET', `/import/${id}/talk?note=warning`)
  assert.deepEqual(
    warned.json.results.map((talk: ImportedTalk) => [talk.title, talk.notes.length]),
    [
      ['Weirs', 3],
      ['Locks', 1],
      ['Dams', 1],
      ['Pumps', 2],
    ],
  )
  const again = await run('import', path, '--dry-run')
  assert.match(again.stdout, /unchanged {2}4/)
  assert.doesNotMatch(again.stdout, /[Ww]arning|Will be created/)
  await checkInvariants(archive.databaseUrl)
})

test('refused rows of a table can be corrected and imported again', async () => {
  const path = join(folder, 'wrong.csv')
  writeFileSync(
    path,
    'Talk title,Date,Length,Video,Event\n' +
      'Good,1 May 2026,45 min,https://example.org/good,Bad Days\n' +
      '=Bad; title,soon,long,https://example.org/bad,\n' +
      'Good,1 May 2026,45 min,https://example.org/good,Bad Days\n' +
      'A 5" and 8" disk,1 May 2026,45 min,https://example.org/disk,Bad Days\n' +
      'Knots, and ropes,1 May 2026,45 min,https://example.org/knots,Bad Days\n',
  )
  const { code, stdout, stderr } = await run('import', path, '--apply')
  assert.equal(code, 4, stderr)
  assert.match(stderr, /talkshelf imports refused \d+ > refused\.csv/)
  const id = Number(/Import (\d+)/.exec(stdout)?.[1])
  const bad: ImportedTalk = (await call('GET', `/import/${id}/talk?verdict=refused`)).json
    .results[0]
  assert.equal(bad.title, '=Bad; title')
  assert.deepEqual(
    bad.notes.map(({ detail }) => detail),
    [
      'date is “soon”, but must be a date such as 2031-05-17',
      'length is “long”, but must be a length such as 45 min, 1:02:30 or 2700 (seconds)',
      'category is missing from the file. Set it for all talks with --category',
    ],
  )
  const refused = (await call('GET', `/import/${id}/refused`)).json
  assert.deepEqual([refused.rows, refused.next_after], [1, null])
  const printed = await run('imports', 'refused', String(id))
  assert.equal(printed.code, 0, printed.stderr)
  assert.deepEqual(
    refused.omitted.map(({ place, reason }: Record<string, string>) => [
      place,
      reason?.slice(0, 30),
    ]),
    [
      ['row 4', 'Duplicate of row 2'],
      ['row 5', 'Has invalid quotation marks. Q'],
      ['row 6', 'Has 6 cells, but the header ha'],
    ],
  )
  assert.match(
    printed.stderr,
    /^3 refused talks are not in this table\..*\n {2}row 4: Dup.*\n {2}row 5: Has .*\n {2}row 6: Has/,
  )
  assert.equal(printed.stdout.trimEnd(), refused.csv.trimEnd().replaceAll('\r\n', '\r\n'))
  assert.match(
    refused.csv,
    /^talk title,date,length,video,event,refused because\r\n'=Bad; title,soon/,
  )

  const corrected = join(folder, 'corrected.csv')
  const text = refused.csv
    .replace(',soon,long,', ',02.05.2026,1h 05m,')
    .replace('bad,,', 'bad,Bad Days,')
  writeFileSync(corrected, text)
  const again = await run('import', corrected, '--source', 'csv wrong.csv', '--apply')
  assert.equal(again.code, 0, again.stderr)
  assert.match(again.stdout, /1 created/)
  const { results } = (await call('GET', '/video?category=bad-days&ordering=title')).json
  assert.deepEqual(
    results.map((video: Video) => [video.title, video.recorded, video.duration, video.language]),
    [
      ['=Bad; title', '2026-05-02', 3900, 'Undetermined'],
      ['Good', '2026-05-01', 2700, 'Undetermined'],
    ],
  )
  await checkInvariants(archive.databaseUrl)
})

/** Plans an import over HTTP. A plan that takes longer than a second is waited for. */
async function plan(body: object): Promise<Import> {
  const { json, status, text } = await call('POST', '/import', body)
  assert.equal(status, 201, text)
  let job: Import = json
  await until('the plan', async () => {
    job = (await call('GET', `/import/${json.id}`)).json
    return job.state !== 'reading'
  })
  return job
}

test('refused talks of other formats become a table, too', async () => {
  const entry = { _type: 'url', ie_key: 'Youtube', title: 'Long', tags: ['a;b', 'c'] }
  const playlist = {
    _type: 'playlist',
    title: 'Far Days 2026',
    entries: [{ ...entry, id: 'farDays-001', language: 'Klingonese' }],
  }
  const job = await plan({ text: JSON.stringify(playlist) })
  assert.equal(job.planned.refused, 1)
  const { csv } = (await call('GET', `/import/${job.id}/refused`)).json
  const corrected = await plan({
    text: csv.replace('Klingonese', 'English'),
    name: 'corrected.csv',
    source: 'yt-dlp',
  })
  const [talk] = (await call('GET', `/import/${corrected.id}/talk`)).json.results
  assert.deepEqual([talk.verdict, talk.title, talk.recorded], ['new', 'Long', '2026-01-01'])
})

const talksOf = async (id: number): Promise<ImportedTalk[]> =>
  (await call('GET', `/import/${id}/talk?page_size=100`)).json.results
const importIdIn = (text: string): number => Number(/Import (\d+)/.exec(text)?.[1])
const conflicting = (summary: string, title: string) =>
  `key,title,summary,event,date,video\n${[1, 2, 3]
    .map((n) => `${n},${title} ${n},${summary},Take Days,2026-05-0${n},https://example.org/t${n}\n`)
    .join('')}`

test('conflicts are decided by field, for all talks at once', async () => {
  const path = join(folder, 'take.csv')
  writeFileSync(path, conflicting('First', 'Talk'))
  const first = await run('import', path, '--apply')
  assert.equal(first.code, 0, first.stderr)
  assert.match(first.stdout, /The event is at:\n {2}\S*\/category\/\d+\/take-days\n/)
  const ids = (await talksOf(importIdIn(first.stdout))).map(({ video }) => video)
  for (const id of ids)
    await call('PATCH', `/video/${id}`, { summary: 'By hand', title: `By hand ${id}` })
  writeFileSync(path, conflicting('Second', 'New talk'))
  const planned = await run('import', path, '--dry-run')
  assert.match(planned.stdout, /conflict {3}3/)
  const id = importIdIn(planned.stdout)
  const wrong = await run('imports', 'decide', String(id), '--field', 'summary', '--take', 'x')
  assert.equal(wrong.code, 2)
  const decided = await run(
    'imports',
    'decide',
    String(id),
    '--field',
    'summary',
    '--take',
    'theirs',
  )
  assert.equal(decided.code, 0, decided.stderr)
  assert.match(decided.stdout, /Decided 3 talks: summary: take the values of the file/)
  const decide = (body: object) => call('POST', `/import/${id}/decide`, body)
  assert.equal((await decide({ take: 'theirs' })).json.decided, 3)
  assert.equal((await decide({ take: 'mine', fields: ['title'] })).json.decided, 3)
  assert.equal((await decide({ take: 'mine', fields: ['tags'] })).json.decided, 0)
  const applied = await run('imports', 'apply', String(id))
  assert.equal(applied.code, 0, applied.stderr)
  for (const video of ids) {
    const { json } = await call('GET', `/video/${video}`)
    assert.deepEqual([json.summary, json.title], ['Second', `By hand ${video}`])
  }
  assert.equal((await decide({ take: 'mine' })).status, 409)
})

test('all talks that resemble a record are decided at once', async () => {
  const path = join(folder, 'same.csv')
  const table = (column: string) =>
    [1, 2].reduce(
      (text, n) => `${text}\nAlike ${n},Same Days,https://example.org/${column}${n}`,
      `title,event,${column}`,
    )
  writeFileSync(path, table('video'))
  assert.equal((await run('import', path, '--apply')).code, 0)
  writeFileSync(path, table('thumbnail'))
  const planned = await run('import', path, '--source', 'other', '--dry-run')
  const id = importIdIn(planned.stdout)
  assert.match(planned.stdout, /conflict +2 /)
  const decided = await run('imports', 'decide', String(id), '--same')
  assert.match(decided.stdout, /Decided 2 talks: same talk as the record/)
  assert.match((await run('imports', 'apply', String(id))).stdout, /2 changed/)
})

test('an unknown language for all talks is rejected before the file is read', async () => {
  const body = { text: 'title,event\nBeans,Far Days', language: 'englsh' }
  const { status, json } = await archive.call('POST', '/api/v2/import', {
    token: archive.editor,
    body,
  })
  assert.equal(status, 400)
  assert.deepEqual(
    json.errors.map(({ pointer, code }: Record<string, string>) => [pointer, code]),
    [['/language', 'unknown-language']],
  )
  assert.match(json.errors[0].detail, /English/)
})

test('only a conflict can be decided', async () => {
  const path = join(folder, 'keep.csv')
  const table = (title: string) => `key,title,event\n1,${title},Keep Days\n`
  writeFileSync(path, table('Before'))
  assert.equal((await run('import', path, '--apply')).code, 0)
  writeFileSync(path, table('After'))
  const id = importIdIn((await run('import', path, '--dry-run')).stdout)
  const { code, stderr } = await run('imports', 'decide', String(id), '1', '--keep')
  assert.equal(code, 1)
  assert.match(stderr, /Talk 1 has no conflict to decide: it is changed/)
})

test('a plan whose talks are all refused cannot be applied', async () => {
  const path = join(folder, 'refused-all.csv')
  writeFileSync(path, 'title,video\nNo event,https://example.org/none\n')
  const imported = await run('import', path, '--apply')
  assert.equal(imported.code, 4)
  assert.match(imported.stderr, /All talks are refused: nothing can be applied/)
  assert.equal((await run('imports', 'apply', String(importIdIn(imported.stdout)))).code, 4)
})

test('a redo leaves records alone that changed after the import or after its undo', async () => {
  const path = join(folder, 'redo-old.csv')
  const table = (...durations: number[]) =>
    ['source_id,title,duration,category']
      .concat(durations.map((length, index) => `${index},Length ${index},${length},Redo Days`))
      .join('\n')
  writeFileSync(path, table(1800, 1800, 1800))
  const id = importIdIn((await run('import', path, '--apply')).stdout)
  const videos = (await talksOf(id)).map(({ video }) => video)
  const lengths = () =>
    Promise.all(videos.map(async (video) => (await call('GET', `/video/${video}`)).json.duration))
  writeFileSync(path, table(1800, 2400, 1800))
  assert.equal((await run('import', path, '--apply')).code, 0)
  const undone = await run('imports', 'undo', String(id), '--yes')
  assert.match(undone.stdout, /2 reverted, 1 kept|1 .*kept/s)
  writeFileSync(path, table(1800, 2400, 3600))
  assert.equal((await run('import', path, '--apply')).code, 0)
  assert.deepEqual(await lengths(), [1800, 2400, 3600])
  const redone = await run('imports', 'redo', String(id))
  assert.equal(redone.code, 0, redone.stderr)
  assert.deepEqual(await lengths(), [1800, 2400, 3600])
  await checkInvariants(archive.databaseUrl)
})

test('an undone import can be redone, and a plan deleted', async () => {
  const path = join(folder, 'redo.csv')
  writeFileSync(path, conflicting('First', 'Redo').replaceAll('org/t', 'org/redo'))
  const first = await run('import', path, '--apply')
  assert.equal(first.code, 0, first.stderr)
  const id = importIdIn(first.stdout)
  const ids = (await talksOf(id)).map(({ video }) => video)
  const statesNow = () =>
    Promise.all(ids.map(async (video) => (await call('GET', `/video/${video}`)).json.state))
  assert.equal((await call('POST', `/import/${id}/redo`)).status, 409)
  assert.equal((await call('POST', `/import/${id}/discard`)).status, 409)
  const undone = await run('imports', 'undo', String(id), '--yes')
  assert.equal(undone.code, 0, undone.stderr)
  assert.deepEqual(await statesNow(), [2, 2, 2])
  const redone = await run('imports', 'redo', String(id))
  assert.equal(redone.code, 0, redone.stderr)
  assert.deepEqual(await statesNow(), [1, 1, 1])
  const job: Import = (await call('GET', `/import/${id}`)).json
  assert.deepEqual([job.state, job.undone], ['applied', { undone: 0, touched: 0 }])
  assert.equal((await run('imports', 'undo', String(id), '--yes')).code, 0)
  assert.deepEqual(await statesNow(), [2, 2, 2])

  const planned = importIdIn((await run('import', path, '--dry-run')).stdout)
  const discarded = await run('imports', 'discard', String(planned))
  assert.equal(discarded.code, 0, discarded.stderr)
  assert.equal((await call('GET', `/import/${planned}`)).status, 404)
  await checkInvariants(archive.databaseUrl)
})

test('a corrected table replaces what an earlier import wrote, under any file name', async () => {
  const header = 'title,speakers,video,event,language\n'
  const video = 'https://media.example.org/corrected-table'
  const row = (title: string, speakers: string) =>
    `${header}${title},"${speakers}",${video},River Days 2026,English\n`
  const [first, second] = [join(folder, 'first.csv'), join(folder, 'second.csv')]
  writeFileSync(first, row('Fords', 'Bob Builder, Carol Coder'))
  assert.equal((await run('import', first, '--apply')).code, 0)
  writeFileSync(second, row('Fords and ferries', 'Bob Builder; Carol Coder'))
  const corrected = await run('import', second, '--apply')
  assert.equal(corrected.code, 0, corrected.stderr)
  const found = async () =>
    (await call('GET', `/video?source_url=${encodeURIComponent(video)}`)).json.results as Video[]
  const [talk, ...others] = await found()
  assert.deepEqual(
    [talk?.title, talk?.speakers, others.length],
    ['Fords and ferries', ['Bob Builder', 'Carol Coder'], 0],
  )

  // An edit of a person stays, and the plan says how to take the values of the file.
  await call('PATCH', `/video/${talk?.id}`, { title: 'By hand' })
  writeFileSync(first, row('Fords and bridges', 'Bob Builder; Carol Coder'))
  const conflict = await run('import', first, '--apply')
  assert.match(conflict.stdout, /By default the edit made here is kept: title\./)
  assert.match(conflict.stderr, /imports decide \d+ --take theirs/)
  assert.equal((await found())[0]?.title, 'By hand')
})

test('corrections in an exported table are applied, and later edits stay', async () => {
  const make = async (title: string) =>
    (
      await call('POST', '/video', {
        ...{ title, category: 'River Days 2026', language: 'English', state: 1 },
        ...{ summary: 'Old', speakers: ['Zoë Third'] },
      })
    ).json as Video
  const made = [await make('Table one'), await make('Table two'), await make('Table three')]
  const ids = made.map(({ id }) => id)
  // A person corrected it before the export.
  await call('PATCH', `/video/${ids[0]}`, { summary: 'By hand' })
  const { stdout } = await run('export', '--format', 'csv', '--after', String((ids[0] ?? 0) - 1))
  // And another field after it.
  await call('PATCH', `/video/${ids[1]}`, { summary: 'Later' })
  await call('PATCH', `/video/${ids[2]}`, { title: 'Later too' })
  const path = join(folder, 'exported.csv')
  writeFileSync(
    path,
    stdout
      .replace('Table one', 'Table one corrected')
      .replace('By hand', 'By hand and in the table')
      .replace('Table two', 'Table two corrected')
      .replace('Table three', 'Table three corrected'),
  )
  const { stdout: plan } = await run('import', path, '--dry-run')
  const id = /Import (\d+)/.exec(plan)?.[1] ?? ''
  assert.equal((await run('imports', 'apply', id, '--yes')).code, 0)
  const read = async (index: number) => (await call('GET', `/video/${ids[index]}`)).json as Video
  const fieldsOf = ({ title, summary }: Video) => [title, summary]
  assert.deepEqual(fieldsOf(await read(0)), ['Table one corrected', 'By hand and in the table'])
  assert.deepEqual(fieldsOf(await read(1)), ['Table two corrected', 'Later'])
  // Both sides changed the title.
  assert.deepEqual(fieldsOf(await read(2)), ['Later too', 'Old'])
  await checkInvariants(archive.databaseUrl)
})

/** Changes cells of an exported table, by column. */
function withCells(table: string, change: (cells: Record<string, string>) => object): string {
  const [header = [], ...rows] = parse(table) as string[][]
  const changed = rows.map((cells) => {
    const byColumn = Object.fromEntries(header.map((column, index) => [column, cells[index] ?? '']))
    return { ...byColumn, ...change(byColumn) }
  })
  return [header, ...changed.map((cells) => Object.values(cells))].map(joinCells).join('')
}

test('an emptied cell of an exported table clears the field', async () => {
  const made: Video = (
    await call('POST', '/video', {
      ...{ title: 'Emptied', category: 'River Days 2026', language: 'English', state: 2 },
      ...{ summary: 'Old', description: 'Old', speakers: ['Zoë Third'], tags: ['weirs'] },
      ...{ duration: 60, recorded: '2026-05-01', quality_notes: ' ', whiteboard: 'Old' },
    })
  ).json
  const other = (
    await call('POST', '/video', {
      ...{ title: 'Untouched', category: 'River Days 2026', language: 'English', state: 2 },
      ...{ quality_notes: ' \t', source_url: '', video_mp4_url: 'https://example.org/u.mp4' },
    })
  ).json as Video
  await call('PUT', `/video/${made.id}/facts`, {
    facts: [{ kind: 'related', url: 'https://example.org/slides', label: null }],
  })
  const { stdout: table } = await run('export', '--format', 'csv', '--after', String(made.id - 1))
  const path = join(folder, 'emptied.csv')
  const plan = async (text: string) => {
    writeFileSync(path, text)
    const { stdout } = await run('import', path, '--dry-run')
    const id = importIdIn(stdout)
    return { id, stdout, job: (await call('GET', `/import/${id}`)).json as Import }
  }

  // Nothing was edited: nothing changes, also in fields that were filled since.
  await call('PATCH', `/video/${other.id}`, { summary: 'Later' })
  const untouched = await plan(table)
  assert.deepEqual([untouched.job.planned.unchanged, untouched.job.ignored_cells], [2, 0])
  const withoutState = await plan(withCells(table, () => ({ state: '' })))
  assert.deepEqual([withoutState.job.planned.unchanged, withoutState.job.ignored_cells], [2, 0])

  // A person has changed one of the emptied fields since.
  await call('PATCH', `/video/${made.id}`, { whiteboard: 'Later' })
  const emptied = { summary: '', speakers: ' ', tags: '', duration: '', recorded: '' }
  const required = { title: '', category: '', language: '', state: '' }
  const { id, stdout, job } = await plan(
    withCells(table, ({ title }) =>
      title === 'Emptied' ? { ...emptied, ...required, whiteboard: '', related: '' } : {},
    ),
  )
  assert.match(stdout, /summary +Old -> \(empty\)/)
  assert.match(stdout, /tags +weirs -> \(empty\)/)
  assert.match(stdout, /1 empty cell is ignored/)
  assert.deepEqual([job.planned.conflict, job.planned.unchanged, job.ignored_cells], [1, 1, 1])
  const notes = (await talksOf(id)).flatMap((talk) => talk.notes)
  assert.deepEqual(notes.map(({ kind, field }) => `${kind} ${field}`).sort(), [
    'dropped category',
    'dropped language',
    'dropped state',
    'dropped title',
  ])
  assert.match(notes[0]?.detail ?? '', /every talk needs it/)
  assert.equal((await run('imports', 'apply', String(id), '--yes')).code, 0)
  const after: Video = (await call('GET', `/video/${made.id}`)).json
  assert.deepEqual(
    { ...after, updated: made.updated },
    {
      ...made,
      ...{ summary: '', speakers: [], tags: [], duration: null, recorded: null },
      whiteboard: 'Later',
    },
  )
  assert.equal((await run('imports', 'undo', String(id), '--yes')).code, 0)
  const restored: Video = (await call('GET', `/video/${made.id}`)).json
  assert.deepEqual([restored.summary, restored.tags], ['Old', ['weirs']])
  await checkInvariants(archive.databaseUrl)
})

test('counts the empty cells of other tables and says how to clear a field', async () => {
  const path = join(folder, 'empty-cells.csv')
  const header = 'title,speakers,tags,summary,slides,video,event,language\n'
  const video = 'https://media.example.org/empty-cells'
  const row = (cells: string) => `${header}Shoals,${cells},${video},River Days 2026,English\n`
  writeFileSync(path, row('Bob Builder,weirs,Old,https://example.org/s'))
  const first = await run('import', path, '--apply')
  assert.equal(first.code, 0, first.stderr)
  assert.doesNotMatch(first.stdout, /ignored/)
  writeFileSync(path, row(',,,'))
  const { stdout } = await run('import', path, '--dry-run')
  const job: Import = (await call('GET', `/import/${importIdIn(stdout)}`)).json
  assert.deepEqual([job.planned.changed, job.ignored_cells], [1, 3])
  assert.match(stdout, /facts +1 fact -> 0/)
  assert.match(stdout, /3 empty cells are ignored: the values here will stay/)
  assert.match(stdout, /talkshelf export --format csv/)
  assert.match((await run('import', '--help')).stdout, /an emptied cell clears the field/)
})

test('a refusal names the column of the file', async () => {
  const path = join(folder, 'columns.csv')
  writeFileSync(path, 'Title,Video,Event\nNo scheme,example.org/a,River Days 2026\n')
  const { stdout } = await run('import', path, '--dry-run')
  assert.match(stdout, /\n +video .*example\.org\/a/)
  assert.doesNotMatch(stdout, /source_url/)
})

test('asks about a talk without a video whose speakers were corrected', async () => {
  const path = join(folder, 'no-video.csv')
  const row = (speakers: string) =>
    `title,speakers,event,language\nDelta,"${speakers}",River Days 2026,English\n`
  writeFileSync(path, row('Bob Builder, Carol Coder'))
  assert.equal((await run('import', path, '--apply')).code, 0)
  writeFileSync(path, row('Bob Builder; Carol Coder'))
  const { stdout } = await run('import', path, '--dry-run')
  assert.match(stdout, /has the same title and category, and the speakers Bob Builder, Carol Coder/)
  const id = /Import (\d+)/.exec(stdout)?.[1] ?? ''
  assert.equal((await run('imports', 'decide', id, '--same')).code, 0)
  assert.equal((await run('imports', 'apply', id, '--yes')).code, 0)
  const { results } = (await call('GET', '/video?q=delta')).json
  assert.deepEqual(
    results.map(({ title, speakers }: Video) => [title, speakers]),
    [['Delta', ['Bob Builder', 'Carol Coder']]],
  )
})
