import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Import, ImportedTalk } from '@talkshelf/contract'
import { freshDatabase } from '../support/database.ts'
import { program, root, runCommand, startArchive } from '../support/harness.ts'
import { checkInvariants, withDatabase } from '../support/invariants.ts'

// The commands `talkshelf import` and `talkshelf imports`, run on files and a real database.

const archive = await startArchive()
const folder = mkdtempSync(join(tmpdir(), 'talkshelf-import-'))
after(() => rmSync(folder, { recursive: true }))

const environment = { DATABASE_URL: archive.databaseUrl }
const run = (...args: string[]) => runCommand(args, environment)
const runWithInput = (input: string, ...args: string[]) => runCommand(args, environment, input)

interface Talk {
  readonly key: string
  readonly title: string
  readonly [field: string]: string
}

/** Writes a CSV file of talks. Its name is also the source of the import. */
function writeCsv(name: string, talks: readonly Talk[]): string {
  const path = join(folder, `${name}.csv`)
  const columns = [...new Set(talks.flatMap((talk) => Object.keys(talk)))]
  const cell = (text = '') => `"${text.replaceAll('"', '""')}"`
  const rows = [columns, ...talks.map((talk) => columns.map((column) => talk[column]))].map((row) =>
    row.map(cell).join(','),
  )
  writeFileSync(path, `${rows.join('\n')}\n`)
  return path
}

const defaults = ['--category', 'Example Days 2026', '--language', 'en']
const importIdIn = (text: string): number => Number(/Import (\d+)/.exec(text)?.[1])

async function readImport(id: number): Promise<{ import: Import; talks: ImportedTalk[] }> {
  const get = (path: string) =>
    archive.call('GET', `/api/v2/import/${path}`, { token: archive.editor })
  return {
    import: (await get(String(id))).json,
    talks: (await get(`${id}/talk?page_size=100`)).json.results,
  }
}

const edit = (id: number | null | undefined, body: object) =>
  archive
    .call('PATCH', `/api/v2/video/${id}`, { token: archive.editor, body })
    .then(({ status, text }) => assert.equal(status, 200, text))

// The command runs in another process: without a token the server may return a cached version for
// up to a second.
const readRecord = (id: number | null | undefined) =>
  archive.call('GET', `/api/v2/video/${id}`, { token: archive.editor })

test('shows a plan in a dry run, applies it later and imports it again unchanged', async () => {
  const path = writeCsv('dry', [
    { key: 'a', title: 'Weirs', speakers: 'Ann Example', summary: 'Words' },
    { key: 'b', title: 'Locks', colour: 'red' },
  ])
  const dry = await run('import', path, ...defaults, '--dry-run')
  assert.equal(dry.code, 0, dry.stderr)
  assert.equal(dry.stderr, '')
  assert.match(
    dry.stdout,
    /new {8}2 {2}will be created[\s\S]*\+ Weirs {2}#1, row 2[\s\S]*dropped colour, once/,
  )
  const id = importIdIn(dry.stdout)
  assert.match(
    dry.stdout,
    new RegExp(`Nothing has been written yet[\\s\\S]*talkshelf imports apply ${id}\n$`),
  )
  assert.equal((await archive.call('GET', '/api/v2/video?q=weirs')).json.count, 0)
  assert.equal((await readImport(id)).import.by, userInfo().username)

  const stopped = await run('imports', 'stop', String(id))
  assert.equal(stopped.code, 1)
  assert.match(stopped.stderr, /is planned\. Only an import that is being applied can be stopped/)
  const applied = await run('imports', 'apply', String(id))
  assert.equal(applied.code, 0, applied.stderr)
  assert.match(applied.stdout, / applied in [\d.]+ s: 2 created\.\n/)
  assert.match(applied.stdout, new RegExp(`imports show ${id}\n  talkshelf imports undo ${id}\n$`))
  const json = await run('imports', 'show', String(id), '--json')
  const { import: job, talks }: Awaited<ReturnType<typeof readImport>> = JSON.parse(json.stdout)
  assert.deepEqual({ import: job, talks }, await readImport(id))
  assert.deepEqual(
    talks.map(({ title, outcome }) => [title, outcome]),
    [
      ['Weirs', 'created'],
      ['Locks', 'created'],
    ],
  )
  const { json: history } = await archive.call(
    'GET',
    `/api/v2/video/${talks[0]?.video}/revisions`,
    { token: archive.editor },
  )
  assert.deepEqual(
    [history.results[0].by, history.results[0].request],
    [userInfo().username, `import ${id}`],
  )

  const again = await run('import', path, ...defaults, '--apply')
  assert.equal(again.code, 0, again.stderr)
  assert.match(again.stdout, /unchanged {2}2[\s\S]* applied in [\d.]+ s: 2 unchanged\./)
  const planned = await run('import', path, ...defaults)
  assert.equal(planned.code, 0, planned.stderr)
  assert.match(planned.stdout, /Nothing to apply\.\n$/)
})

test('asks for a decision on hand edits and keeps them with --yes', async () => {
  const talk = { key: 'a', title: 'Sluices', summary: 'First words', quality_notes: 'quiet' }
  const path = writeCsv('conflict', [talk])
  const [made] = (
    await readImport(importIdIn((await run('import', path, ...defaults, '--apply')).stdout))
  ).talks
  await edit(made?.video, { summary: 'By hand' })
  writeCsv('conflict', [{ ...talk, title: 'Sluices and gates', summary: 'Second words' }])

  const refused = await run('import', path, ...defaults, '--apply')
  assert.equal(refused.code, 3, refused.stderr)
  const id = importIdIn(refused.stdout)
  assert.match(
    refused.stdout,
    /title {4}Sluices -> Sluices and gates\n +summary {2}here {2}By hand\n +file {2}Second words\n/,
  )
  assert.match(
    refused.stdout,
    new RegExp(
      `By default the edit made here is kept: summary\\.[\\s\\S]*imports decide ${id} 1 --take summary`,
    ),
  )
  assert.match(
    refused.stderr,
    new RegExp(`1 talk is undecided[\\s\\S]*talkshelf imports apply ${id} --yes`),
  )
  const record = async () => (await readRecord(made?.video)).json
  assert.equal((await record()).title, 'Sluices')

  const applied = await run('import', path, ...defaults, '--apply', '--yes')
  assert.equal(applied.code, 0, applied.stderr)
  assert.deepEqual(
    [(await record()).title, (await record()).summary],
    ['Sluices and gates', 'By hand'],
  )

  // After a decision no --yes is needed.
  writeCsv('conflict', [{ ...talk, title: 'Sluices and gates', summary: 'Third words' }])
  const third = importIdIn((await run('import', path, ...defaults, '--dry-run')).stdout)
  for (const [args, code, message] of [
    [['1'], 2, /--take FIELD/],
    [['1', '--take', 'sumary'], 2, /Unknown field: sumary\.\nThe fields are: .*summary/],
    [['2', '--keep'], 1, /has no talk 2/],
    [['1', '--take', 'summary'], 0, /^$/],
  ] as const) {
    const decided = await run('imports', 'decide', String(third), ...args)
    assert.equal(decided.code, code, decided.stderr)
    assert.match(decided.stderr, message)
  }
  assert.match(
    (await run('imports', 'show', String(third))).stdout,
    /decided: take summary from the file/,
  )
  assert.equal((await run('imports', 'apply', String(third))).code, 0)
  assert.equal((await record()).summary, 'Third words')
})

test('asks whether a talk is an existing record with the same title', async () => {
  const existing = await archive.make({ title: 'Piers', speakers: ['Pia Pier'] })
  const path = writeCsv('question', [
    { key: 'p', title: 'piers', speakers: 'Pia Pier', duration: '77' },
  ])
  const undecided = await run('import', path, ...defaults, '--apply')
  assert.equal(undecided.code, 3)
  const id = importIdIn(undecided.stdout)
  assert.match(
    undecided.stdout,
    new RegExp(
      `Record ${existing.id} has the same title[\\s\\S]*` +
        `decide ${id} 1 --same\n.*decide ${id} 1 --not-same`,
    ),
  )
  assert.equal((await run('imports', 'decide', String(id), '1', '--take', 'title')).code, 2)
  const decided = await run('imports', 'decide', String(id), '1', '--same')
  assert.equal(decided.code, 0, decided.stderr)
  const keep = new RegExp(`kept: title\\.\n.*\n.*decide ${id} 1 --same --take title`)
  const show = async () => (await run('imports', 'show', String(id), '--all')).stdout
  for (const text of [decided.stdout, await show()]) {
    assert.match(text, /duration +\(empty\) -> 77\n/)
    assert.match(text, keep)
  }
  // A decision can be changed as long as the import is not applied.
  assert.equal((await run('imports', 'decide', String(id), '1', '--not-same')).code, 0)
  assert.doesNotMatch(await show(), /duration +\(empty\)/)
  assert.equal((await run('imports', 'decide', String(id), '1', '--same')).code, 0)
  assert.equal((await run('imports', 'apply', String(id))).code, 0)
  const { json } = await readRecord(existing.id)
  assert.deepEqual([json.title, json.duration], ['Piers', 77])
  const applied = await show()
  assert.match(applied, /duration +\(empty\) -> 77\n[\s\S]*decided: same talk as the record/)
  assert.doesNotMatch(applied, /--take/)
})

test('lets an editor choose the record of a talk that is planned as new', async () => {
  const [here, other] = [await archive.make({ title: 'Quays' }), await archive.make()]
  const path = writeCsv('chosen', [
    { key: 'q', title: 'The Quays', speakers: 'Quinn Quay', duration: '88' },
    { key: 'r', title: 'Ramps' },
  ])
  const planned = await run('import', path, ...defaults, '--dry-run')
  const id = String(importIdIn(planned.stdout))
  const decide = (...args: string[]) => run('imports', 'decide', id, ...args)
  const wrong: [string[], number, RegExp][] = [
    [['1', '--same'], 2, /Talk 1 resembles no record\. .* --same RECORD/],
    [['1', '--same', '999999'], 1, /^The record does not exist\.$/m],
    [['--same', String(here.id)], 2, new RegExp(`decide ${id} POSITION --same ${here.id}`)],
    [['1', '--not-same'], 1, /has no conflict to decide: it is new/],
  ]
  for (const [args, code, message] of wrong) {
    const result = await decide(...args)
    assert.equal(result.code, code, result.stderr)
    assert.match(result.stderr, message)
  }
  const decided = await decide('1', '--same', String(here.id))
  assert.equal(decided.code, 0, decided.stderr)
  const [talk] = (await readImport(Number(id))).talks
  assert.deepEqual([talk?.verdict, talk?.video], ['conflict', here.id])
  const show = async () => (await run('imports', 'show', id, '--all')).stdout
  for (const text of [decided.stdout, await show()]) {
    assert.match(text, /title +here +Quays\n +file +The Quays\n[\s\S]*duration +\(empty\) -> 88\n/)
    assert.match(text, new RegExp(`decided: same talk as record ${here.id}\n`))
    assert.match(text, new RegExp(`decide ${id} 1 --take title`))
  }
  // Two talks are two records. A decision can be changed, and taken back.
  assert.match(
    (await decide('2', '--same', String(here.id))).stderr,
    /the record of talk 1 already/,
  )
  assert.equal((await decide('1', '--not-same')).code, 0)
  assert.deepEqual((await readImport(Number(id))).import.planned.new, 2)
  assert.equal((await decide('1', '--same', String(other.id))).code, 0)
  assert.equal((await decide('1', '--same', String(here.id))).code, 0)
  assert.equal((await decide('1', '--take', 'title')).code, 0)
  const applied = await run('imports', 'apply', id)
  assert.match(applied.stdout, /1 created, 1 changed/)
  const { json } = await readRecord(here.id)
  assert.deepEqual([json.title, json.duration, json.speakers], ['The Quays', 88, ['Quinn Quay']])
  assert.match(await show(), /duration +\(empty\) -> 88\n/)
  // The source knows the record now.
  assert.match((await run('import', path, ...defaults, '--dry-run')).stdout, /unchanged +2/)
  const update = await archive.call('PUT', `/api/v2/import/${id}/talk/1`, {
    token: archive.editor,
    body: { same: true, record: other.id },
  })
  assert.equal(update.status, 409, 'it was applied')
})

test('rejects a record over HTTP that a talk cannot be', async () => {
  const [here, gone] = [await archive.make({ title: 'Slips' }), await archive.make()]
  await archive.call('POST', `/api/v2/video/${gone.id}/takedown`, {
    token: archive.admin,
    body: { reason: 'asked' },
  })
  const path = writeCsv('unfit', [{ key: 's', title: 'Slipways' }])
  const id = importIdIn((await run('import', path, ...defaults, '--dry-run')).stdout)
  const decide = (body: object) =>
    archive.call('PUT', `/api/v2/import/${id}/talk/1`, { token: archive.editor, body })
  for (const body of [
    { record: here.id },
    { same: false, record: here.id },
    { same: true, record: 999_999 },
    { same: true, record: gone.id },
  ]) {
    const { status, json, text } = await decide(body)
    assert.deepEqual([status, json.errors?.[0]?.pointer], [400, '/record'], text)
  }
  const { json } = await decide({ same: true, record: here.id, take: ['title'] })
  assert.deepEqual([json.video, json.changes.title.new], [here.id, 'Slipways'])
})

test('reports refused rows with position and reason and applies the others', async () => {
  const path = writeCsv('refused', [
    { key: 'a', title: 'Good' },
    { key: 'b', title: '' },
    {
      key: 'c',
      title: 'Escapes \x1b[2J\x1b]0;owned\x07 and\nlines \u202eback',
      summary: 'x\x9b31m',
    },
  ])
  const { code, stdout, stderr } = await run('import', path, ...defaults, '--apply')
  assert.equal(code, 4, stderr)
  assert.match(stdout, /x \(no title\) {2}#2, row 3\n +title is required/)
  assert.match(
    stdout,
    /x Escapes \\u001b\[2J\\u001b\]0;owned\\u0007 and\\nlines \\u202eback {2}#3, row 4\n/,
  )
  assert.match(stdout, /1 created, 2 refused\./)
  assert.match(stderr, /2 talks were refused\. To see why[\s\S]*--verdict refused/)
  const id = String(importIdIn(stdout))
  for (const args of [['--verdict', 'refused'], ['--json']]) {
    const result = await run('imports', 'show', id, ...args)
    assert.equal(result.code, 0)
    assert.doesNotMatch(result.stdout.replaceAll('\n', ''), /[\p{Cc}\u202e]/u, args.join(' '))
  }
})

test('reports unreadable input with a hint and an exit code', async () => {
  writeFileSync(join(folder, 'letter.txt'), 'Dear Sir or Madam')
  const path = writeCsv('args', [{ key: 'a', title: 'A' }])
  const before = (await run('imports', 'list')).stdout
  const wrong: [string[], number, RegExp][] = [
    [['import', join(folder, 'nowhere.csv')], 1, /nowhere\.csv does not exist/],
    [['import', folder], 1, /has no \.json files/],
    [['import', 'http://127.0.0.1/talks.csv'], 1, /Use another URL|public/],
    [['import'], 2, /Nothing to import/],
    [['import', path, '--format', 'morse'], 2, /Allowed choices are .*pyvideo/],
    [['import', path, '--dry-run', '--apply'], 2, /cannot be used with/],
    [['import', path, '--template', 'csv'], 2, /cannot be combined with a file/],
    [['import', path, '--category', ' '], 2, /1 to 255 characters/],
    [['import', path, '--language', ''], 2, /1 to 100 characters/],
    [['import', path, '--language', 'englsh'], 2, /--language “englsh” is not .*: English/],
    [['import', path, '--language', 'qqq'], 2, /--language “qqq” is not .* code of a language/],
    [['imports', 'show', 'x'], 2, /whole number/],
    [['imports', 'burn'], 2, /unknown command/],
    [['imports', 'show', '999999'], 1, /There is no such import\. .*talkshelf imports list/],
  ]
  const checks = wrong.map(async ([args, code, message]) => {
    const result = await run(...args)
    assert.equal(result.code, code, `${args.join(' ')}: ${result.stderr}`)
    assert.match(result.stderr, message)
    assert.equal(result.stdout, '')
    assert.doesNotMatch(result.stderr, /\n\s+at /, 'a stack')
  })
  await Promise.all(checks)
  assert.equal((await run('imports', 'list')).stdout, before, 'none of them left a trace')

  // A file of an unknown format is recorded as a failed import.
  const letter = await run('import', join(folder, 'letter.txt'))
  assert.equal(letter.code, 1)
  assert.match(letter.stderr, /was not recognised\. Supported formats:[\s\S]*yt-dlp[\s\S]*--format/)
  assert.match((await run('imports', 'list', '--limit', '1')).stdout, /failed .*letter\.txt/)
  const unreachable = await runCommand(['import', path], {
    DATABASE_URL: 'postgres://nobody@127.0.0.1:1/nothing',
  })
  assert.equal(unreachable.code, 1)
  assert.match(unreachable.stderr, /Check that PostgreSQL is running/)
})

test('imports its own CSV template, also from standard input', async () => {
  const { code, stdout: template } = await runCommand(['import', '--template', 'csv'], {
    DATABASE_URL: '',
  })
  assert.equal(code, 0)
  const planned = await runWithInput(template, 'import', '-')
  assert.equal(planned.code, 0, planned.stderr)
  assert.match(planned.stdout, /file {5}standard input\n[\s\S]*new {8}1 /)
  assert.match(planned.stderr, /--source NAME/)
  const empty = await runWithInput('', 'import', '-')
  assert.equal(empty.code, 1)
  assert.match(empty.stderr, /standard input is empty/)
})

test('reads a folder file by file with the events it describes', async () => {
  const samples = join(root, 'server/imports/formats/samples/pyvideo')
  const first = await run('import', samples, '--yes')
  assert.ok(first.code === 0 || first.code === 4, first.stderr)
  assert.match(first.stdout, /format {3}pyvideo/)
  const { import: job, talks } = await readImport(importIdIn(first.stdout))
  assert.ok((job.outcome.created ?? 0) >= 3, first.stdout)
  assert.ok(talks.every(({ place }) => place.endsWith('.json')))

  // File names are untrusted input too.
  const evil = join(folder, 'evil')
  mkdirSync(join(evil, 'videos'), { recursive: true })
  writeFileSync(join(evil, 'category.json'), '{"title": "Evil Days"}')
  writeFileSync(join(evil, 'videos', 'a\x1b[2J.json'), '{')
  const refused = await run('import', evil)
  assert.ok(!`${refused.stdout}${refused.stderr}`.includes('\x1b'))
  assert.match(refused.stdout, /a\\u001b\[2J\.json/)
})

test('undoes an import except for records that were edited since, and lists those', async () => {
  const path = writeCsv('undo', [
    { key: 'a', title: 'Dams' },
    { key: 'b', title: 'Dykes' },
  ])
  const id = importIdIn((await run('import', path, ...defaults, '--apply')).stdout)
  const { talks } = await readImport(id)
  await edit(talks[1]?.video, { summary: 'By hand' })
  const unconfirmed = await run('imports', 'undo', String(id))
  assert.equal(unconfirmed.code, 3)
  assert.match(unconfirmed.stderr, /created 2 records and changed 0[\s\S]*undo \d+ --yes/)
  const undone = await run('imports', 'undo', String(id), '--yes')
  assert.equal(undone.code, 0, undone.stderr)
  assert.match(
    undone.stdout,
    /1 talk reverted\.\n1 talk was kept because it changed since the import:\n {2}\+ Dykes/,
  )
  assert.equal((await readRecord(talks[0]?.video)).json.state, 2)
  assert.match(
    (await run('imports', 'show', String(id), '--touched')).stdout,
    /Dykes(?![\s\S]*Dams)/,
  )
  const again = (await run('imports', 'undo', String(id), '--yes')).stdout
  assert.match(again, /1 talk was kept[\s\S]*Dykes[\s\S]*undo that one first[\s\S]*state/)
  const redone = await run('imports', 'redo', String(id))
  assert.match(redone.stdout, /: 1 changed, 1 kept as they are here\./)
  assert.equal((await readRecord(talks[0]?.video)).json.state, 1)
  await run('imports', 'undo', String(id), '--yes')
  const [, last] = (await run('imports', 'list', '--limit', '1')).stdout.split('\n')
  assert.match(last ?? '', new RegExp(`^${id} +undone +.* +csv +2 +.*undo\\.csv$`))
})

test('undoes two imports of a table, the last one first', async () => {
  const path = writeCsv('lifo', [
    { key: 'one', title: 'Lifo one', source_url: 'https://youtu.be/bbbbbbbbbb1' },
    { key: 'two', title: 'Lifo two', source_url: 'https://youtu.be/bbbbbbbbbb2' },
  ])
  const first = importIdIn((await run('import', path, ...defaults, '--apply')).stdout)
  const corrected = [...defaults, '--recorded', '2026-05-02', '--apply']
  const second = importIdIn((await run('import', path, ...corrected)).stdout)
  const undo = async (id: number) => (await run('imports', 'undo', String(id), '--yes')).stdout
  assert.match(await undo(second), /2 talks reverted\.\n$/)
  assert.match(await undo(first), /2 talks reverted\.\n$/)
  for (const { video } of (await readImport(first)).talks)
    assert.equal((await readRecord(video)).json.state, 2)
  assert.match(await undo(first), /already undone/)
  const redone = await run('imports', 'redo', String(first))
  assert.match(redone.stdout, /: 2 changed\./)
})

test('shows some of many talks and the command that shows all', async () => {
  const path = writeCsv(
    'many',
    Array.from({ length: 250 }, (_, number) => ({ key: `k${number}`, title: `Many ${number}` })),
  )
  const { stdout } = await run('import', path, ...defaults, '--draft')
  const id = importIdIn(stdout)
  assert.ok((stdout.match(/\+ Many/g)?.length ?? 0) <= 30)
  assert.match(
    stdout,
    new RegExp(`To see all 250 talks with their notes:\n  talkshelf imports show ${id} --all`),
  )
  assert.equal(
    (await run('imports', 'show', String(id), '--all')).stdout.match(/\+ Many/g)?.length,
    250,
  )
  const firstNew = await run('imports', 'show', String(id), '--verdict', 'new')
  assert.equal(firstNew.stdout.match(/\+ Many/g)?.length, 30)
  assert.match(firstNew.stdout, new RegExp(`imports show ${id} --verdict new --all`))
  // A reader that closes the pipe early is no error.
  const child = spawn(
    'sh',
    ['-c', `"$0" '${program}' imports show ${id} --all | head -n 2; exit 0`, process.execPath],
    {
      cwd: root,
      env: { ...process.env, ...environment },
    },
  )
  let stderr = ''
  child.stderr.on('data', (data) => (stderr += data))
  await once(child, 'close')
  assert.equal(stderr, '')
})

test('prints no colours and redraws no lines without a terminal', async () => {
  const path = writeCsv('plain', [{ key: 'a', title: 'Plain' }])
  const { FORCE_COLOR: _, ...rest } = process.env
  const child = spawn(process.execPath, [program, 'import', path, ...defaults, '--apply'], {
    cwd: root,
    env: { ...rest, ...environment },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data))
  const [code] = await once(child, 'close')
  assert.equal(code, 0, output)
  assert.match(output, /1 created/)
  for (const character of ['\x1b', '\r']) assert.ok(!output.includes(character), output)
})

test('stops between two batches on Ctrl-C and resumes without writing a talk twice', async (t) => {
  const { url: DATABASE_URL } = await freshDatabase(t)
  const talks = Array.from({ length: 3000 }, (_, number) => ({
    key: `k${number}`,
    title: `Long ${number}`,
  }))
  const planned = await runCommand(['import', writeCsv('long', talks), ...defaults], {
    DATABASE_URL,
  })
  const id = String(importIdIn(planned.stdout))
  await withDatabase(DATABASE_URL, async (query) => {
    const state = async () => {
      const [row] = await query('select state, done from import')
      return { state: String(row?.state), done: Number(row?.done) }
    }
    const applyAndInterrupt = async () => {
      const { done: before } = await state()
      const child = spawn(process.execPath, [program, 'imports', 'apply', id], {
        cwd: root,
        env: { ...process.env, DATABASE_URL },
      })
      let stderr = ''
      child.stderr.on('data', (data) => (stderr += data))
      while ((await state()).done === before) await sleep(5)
      child.kill('SIGINT')
      const [code] = await once(child, 'close')
      return { code, stderr }
    }
    for (let attempt = 1; attempt <= 2; attempt++) {
      const { code, stderr } = await applyAndInterrupt()
      assert.equal(code, 130, stderr)
      assert.match(
        stderr,
        new RegExp(`Stopped at [\\d,]+ of 3,000[\\s\\S]*talkshelf imports apply ${id}\n`),
      )
      const { state: stateNow, done } = await state()
      assert.equal(stateNow, 'stopped')
      assert.ok(done >= 100 && done < 3000 && done % 100 === 0, String(done))
      assert.equal((await query('select count(*)::integer as count from video'))[0]?.count, done)
    }
    const finished = await runCommand(['imports', 'apply', id], { DATABASE_URL })
    assert.equal(finished.code, 0, finished.stderr)
    assert.match(finished.stdout, /: 3,000 created\./)
    const [counts] = await query(
      `select count(*)::integer as count, count(distinct title)::integer as titles,
              max(revision) as revision
       from video`,
    )
    assert.deepEqual(counts, { count: 3000, titles: 3000, revision: 1 })
  })
})

test('discards the plan on Ctrl-C while the input is read', async (t) => {
  const { url: DATABASE_URL } = await freshDatabase(t)
  const child = spawn(process.execPath, [program, 'import', '-', '--format', 'csv'], {
    cwd: root,
    env: { ...process.env, DATABASE_URL },
  })
  let stderr = ''
  child.stderr.on('data', (data) => (stderr += data))
  // More than the format detection reads, and no end of input.
  child.stdin.on('error', () => {})
  const lines = Array.from(
    { length: 2500 },
    (_, number) => `k${number},A long enough title ${number}\n`,
  )
  child.stdin.write(`key,title\n${lines.join('')}`)
  await withDatabase(DATABASE_URL, async (query) => {
    // Waits until the command has read everything and blocks on more input.
    const planned = async () => Number((await query('select count(*) from import_row'))[0]?.count)
    for (let before = -1; before <= 0 || before !== (await planned()); await sleep(500))
      before = await planned()
    child.kill('SIGINT')
    const [code] = await once(child, 'close')
    assert.equal(code, 130, stderr)
    assert.match(stderr, /Cancelled\. Nothing was planned or written\.\n$/)
    const [row] = await query('select state, problem from import')
    assert.deepEqual(row, {
      state: 'failed',
      problem: 'Cancelled while it was read (Ctrl-C)',
    })
  })
})

test('keeps the archive consistent after all tests', async () => {
  await checkInvariants(archive.databaseUrl)
})
