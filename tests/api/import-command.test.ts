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

// `talkshelf import` and `talkshelf imports` as somebody types them, on files and the real
// database.

const archive = await startArchive()
const folder = mkdtempSync(join(tmpdir(), 'talkshelf-import-'))
after(() => rmSync(folder, { recursive: true }))

const environment = { DATABASE_URL: archive.databaseUrl }
const run = (...args: string[]) => runCommand(args, environment)
const fed = (input: string, ...args: string[]) => runCommand(args, environment, input)

interface Talk {
  readonly key: string
  readonly title: string
  readonly [field: string]: string
}

/** A table of talks; the name is its source as well. */
function table(name: string, talks: readonly Talk[]): string {
  const path = join(folder, `${name}.csv`)
  const columns = [...new Set(talks.flatMap((talk) => Object.keys(talk)))]
  const cell = (text = '') => `"${text.replaceAll('"', '""')}"`
  const rows = [columns, ...talks.map((talk) => columns.map((column) => talk[column]))].map((row) =>
    row.map(cell).join(','),
  )
  writeFileSync(path, `${rows.join('\n')}\n`)
  return path
}

const given = ['--category', 'Example Days 2026', '--language', 'en']
const numberIn = (text: string): number => Number(/Import (\d+)/.exec(text)?.[1])

async function read(id: number): Promise<{ import: Import; talks: ImportedTalk[] }> {
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

// The command is another process: without a token the server may answer for a second what the
// record was before.
const now = (id: number | null | undefined) =>
  archive.call('GET', `/api/v2/video/${id}`, { token: archive.editor })

test('a dry run shows a plan and writes nothing; the plan is applied later, and a second import says nothing new', async () => {
  const path = table('dry', [
    { key: 'a', title: 'Weirs', speakers: 'Ann Example', summary: 'Words' },
    { key: 'b', title: 'Locks', colour: 'red' },
  ])
  const dry = await run('import', path, ...given, '--dry-run')
  assert.equal(dry.code, 0, dry.stderr)
  assert.equal(dry.stderr, '')
  assert.match(
    dry.stdout,
    /new {8}2 {2}become records[\s\S]*\+ Weirs {2}#1, row 2[\s\S]*dropped colour, once/,
  )
  const id = numberIn(dry.stdout)
  assert.match(
    dry.stdout,
    new RegExp(`Nothing is written yet[\\s\\S]*talkshelf imports apply ${id}\n$`),
  )
  assert.equal((await archive.call('GET', '/api/v2/video?q=weirs')).json.count, 0)
  assert.equal((await read(id)).import.by, userInfo().username)

  const stopped = await run('imports', 'stop', String(id))
  assert.equal(stopped.code, 1)
  assert.match(stopped.stderr, /is planned\. To stop it, it must be one that is being applied/)
  const applied = await run('imports', 'apply', String(id))
  assert.equal(applied.code, 0, applied.stderr)
  assert.match(applied.stdout, /is applied, in [\d.]+ s: 2 created\.\n/)
  assert.match(applied.stdout, new RegExp(`imports show ${id}\n  talkshelf imports undo ${id}\n$`))
  const shown = await run('imports', 'show', String(id), '--json')
  const { import: it, talks }: Awaited<ReturnType<typeof read>> = JSON.parse(shown.stdout)
  assert.deepEqual({ import: it, talks }, await read(id))
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

  const again = await run('import', path, ...given, '--apply')
  assert.equal(again.code, 0, again.stderr)
  assert.match(again.stdout, /unchanged {2}2[\s\S]*is applied, in [\d.]+ s: 2 unchanged\./)
  const planned = await run('import', path, ...given)
  assert.equal(planned.code, 0, planned.stderr)
  assert.match(planned.stdout, /There is nothing to apply\.\n$/)
})

test('with hand edits in the way it asks for a decision, and takes --yes for: they stay', async () => {
  const talk = { key: 'a', title: 'Sluices', summary: 'First words', quality_notes: 'quiet' }
  const path = table('conflict', [talk])
  const [made] = (await read(numberIn((await run('import', path, ...given, '--apply')).stdout)))
    .talks
  await edit(made?.video, { summary: 'By hand' })
  table('conflict', [{ ...talk, title: 'Sluices and gates', summary: 'Second words' }])

  const refused = await run('import', path, ...given, '--apply')
  assert.equal(refused.code, 3, refused.stderr)
  const id = numberIn(refused.stdout)
  assert.match(
    refused.stdout,
    /title {4}Sluices -> Sluices and gates\n +summary {2}mine {2}By hand\n +file {2}Second words\n/,
  )
  assert.match(
    refused.stdout,
    new RegExp(`By default mine stays: summary\\.[\\s\\S]*imports decide ${id} 1 --take summary`),
  )
  assert.match(
    refused.stderr,
    new RegExp(`1 talk is undecided[\\s\\S]*talkshelf imports apply ${id} --yes`),
  )
  const record = async () => (await now(made?.video)).json
  assert.equal((await record()).title, 'Sluices')

  const applied = await run('import', path, ...given, '--apply', '--yes')
  assert.equal(applied.code, 0, applied.stderr)
  assert.deepEqual(
    [(await record()).title, (await record()).summary],
    ['Sluices and gates', 'By hand'],
  )

  // Decided, it needs no --yes.
  table('conflict', [{ ...talk, title: 'Sluices and gates', summary: 'Third words' }])
  const third = numberIn((await run('import', path, ...given, '--dry-run')).stdout)
  for (const [args, code, said] of [
    [['1'], 2, /--take FIELD/],
    [['1', '--take', 'sumary'], 2, /no field sumary\. The fields are: .*summary/],
    [['2', '--keep'], 1, /has no talk 2/],
    [['1', '--take', 'summary'], 0, /^$/],
  ] as const) {
    const decided = await run('imports', 'decide', String(third), ...args)
    assert.equal(decided.code, code, decided.stderr)
    assert.match(decided.stderr, said)
  }
  assert.match(
    (await run('imports', 'show', String(third))).stdout,
    /decided: summary as the file says/,
  )
  assert.equal((await run('imports', 'apply', String(third))).code, 0)
  assert.equal((await record()).summary, 'Third words')
})

test('where a talk looks like a record that is there, it is asked which of the two it is', async () => {
  const there = await archive.make({ title: 'Piers', speakers: ['Pia Pier'] })
  const path = table('question', [
    { key: 'p', title: 'piers', speakers: 'Pia Pier', duration: '77' },
  ])
  const asked = await run('import', path, ...given, '--apply')
  assert.equal(asked.code, 3)
  const id = numberIn(asked.stdout)
  assert.match(
    asked.stdout,
    new RegExp(
      `Record ${there.id} has the same title[\\s\\S]*decide ${id} 1 --same\n.*decide ${id} 1 --not-same`,
    ),
  )
  assert.equal((await run('imports', 'decide', String(id), '1', '--take', 'title')).code, 2)
  assert.equal((await run('imports', 'decide', String(id), '1', '--same')).code, 0)
  assert.equal((await run('imports', 'apply', String(id))).code, 0)
  assert.equal((await now(there.id)).json.duration, 77)
})

test('what is refused is told with its place and its reason, and the rest is applied', async () => {
  const path = table('refused', [
    { key: 'a', title: 'Good' },
    { key: 'b', title: '' },
    {
      key: 'c',
      title: 'Escapes \x1b[2J\x1b]0;owned\x07 and\nlines \u202eback',
      summary: 'x\x9b31m',
    },
  ])
  const { code, stdout, stderr } = await run('import', path, ...given, '--apply')
  assert.equal(code, 4, stderr)
  assert.match(stdout, /x \(no title\) {2}#2, row 3\n +title is required/)
  assert.match(
    stdout,
    /x Escapes \\u001b\[2J\\u001b\]0;owned\\u0007 and\\nlines \\u202eback {2}#3, row 4\n/,
  )
  assert.match(stdout, /1 created, 2 refused\./)
  assert.match(stderr, /2 talks were refused and left out[\s\S]*--verdict refused/)
  const id = String(numberIn(stdout))
  for (const args of [['--verdict', 'refused'], ['--json']]) {
    const shown = await run('imports', 'show', id, ...args)
    assert.equal(shown.code, 0)
    assert.doesNotMatch(shown.stdout.replaceAll('\n', ''), /[\p{Cc}\u202e]/u, args.join(' '))
  }
})

test('what cannot be read is said with what to do, and the exit code tells whose mistake it is', async () => {
  writeFileSync(join(folder, 'letter.txt'), 'Dear Sir or Madam')
  const path = table('args', [{ key: 'a', title: 'A' }])
  const before = (await run('imports', 'list')).stdout
  const wrong: [string[], number, RegExp][] = [
    [['import', join(folder, 'nowhere.csv')], 1, /nowhere\.csv is not there/],
    [['import', folder], 1, /has no file whose name ends in \.json/],
    [['import', 'http://127.0.0.1/talks.csv'], 1, /Give another address|public/],
    [['import'], 2, /Say what to import/],
    [['import', path, '--format', 'morse'], 2, /Allowed choices are .*pyvideo/],
    [['import', path, '--dry-run', '--apply'], 2, /cannot be used with/],
    [['import', path, '--template', 'csv'], 2, /nothing is imported/],
    [['import', path, '--category', ' '], 2, /1 to 255 characters/],
    [['imports', 'show', 'x'], 2, /whole number/],
    [['imports', 'burn'], 2, /unknown command/],
    [['imports', 'show', '999999'], 1, /There is no such import\. 'talkshelf imports list'/],
  ]
  const all = wrong.map(async ([args, code, said]) => {
    const it = await run(...args)
    assert.equal(it.code, code, `${args.join(' ')}: ${it.stderr}`)
    assert.match(it.stderr, said)
    assert.equal(it.stdout, '')
    assert.doesNotMatch(it.stderr, /\n\s+at /, 'a stack')
  })
  await Promise.all(all)
  assert.equal((await run('imports', 'list')).stdout, before, 'none of them left a trace')

  // Of what is no file of talks it is kept that somebody tried.
  const letter = await run('import', join(folder, 'letter.txt'))
  assert.equal(letter.code, 1)
  assert.match(letter.stderr, /none of the formats that can be read:[\s\S]*yt-dlp[\s\S]*--format/)
  assert.match((await run('imports', 'list', '--limit', '1')).stdout, /failed .*letter\.txt/)
  const away = await runCommand(['import', path], {
    DATABASE_URL: 'postgres://nobody@127.0.0.1:1/nothing',
  })
  assert.equal(away.code, 1)
  assert.match(away.stderr, /Is PostgreSQL running/)
})

test('the template is a table that can be imported, also from standard input', async () => {
  const { code, stdout: template } = await runCommand(['import', '--template', 'csv'], {
    DATABASE_URL: '',
  })
  assert.equal(code, 0)
  const planned = await fed(template, 'import', '-')
  assert.equal(planned.code, 0, planned.stderr)
  assert.match(planned.stdout, /file {5}standard input\n[\s\S]*new {8}1 /)
  assert.match(planned.stderr, /--source NAME/)
  const empty = await fed('', 'import', '-')
  assert.equal(empty.code, 1)
  assert.match(empty.stderr, /standard input is empty/)
})

test('a folder is read file by file, with the events that it describes', async () => {
  const samples = join(root, 'server/imports/formats/samples/pyvideo')
  const first = await run('import', samples, '--yes')
  assert.ok(first.code === 0 || first.code === 4, first.stderr)
  assert.match(first.stdout, /format {3}pyvideo/)
  const { import: it, talks } = await read(numberIn(first.stdout))
  assert.ok((it.outcome.created ?? 0) >= 3, first.stdout)
  assert.ok(talks.every(({ place }) => place.endsWith('.json')))

  // A name in a folder is a foreign word too.
  const evil = join(folder, 'evil')
  mkdirSync(join(evil, 'videos'), { recursive: true })
  writeFileSync(join(evil, 'category.json'), '{"title": "Evil Days"}')
  writeFileSync(join(evil, 'videos', 'a\x1b[2J.json'), '{')
  const refused = await run('import', evil)
  assert.ok(!`${refused.stdout}${refused.stderr}`.includes('\x1b'))
  assert.match(refused.stdout, /a\\u001b\[2J\.json/)
})

test('an import is taken back but for what somebody touched since, which is listed', async () => {
  const path = table('undo', [
    { key: 'a', title: 'Dams' },
    { key: 'b', title: 'Dykes' },
  ])
  const id = numberIn((await run('import', path, ...given, '--apply')).stdout)
  const { talks } = await read(id)
  await edit(talks[1]?.video, { summary: 'By hand' })
  const unasked = await run('imports', 'undo', String(id))
  assert.equal(unasked.code, 3)
  assert.match(unasked.stderr, /made 2 records and changed 0[\s\S]*undo \d+ --yes/)
  const undone = await run('imports', 'undo', String(id), '--yes')
  assert.equal(undone.code, 0, undone.stderr)
  assert.match(
    undone.stdout,
    /1 talk taken back\.\n1 talk stayed, because somebody has touched it since:\n {2}\+ Dykes/,
  )
  assert.equal((await now(talks[0]?.video)).json.state, 2)
  assert.match(
    (await run('imports', 'show', String(id), '--touched')).stdout,
    /Dykes(?![\s\S]*Dams)/,
  )
  assert.match((await run('imports', 'undo', String(id), '--yes')).stdout, /undone already/)
  const [, last] = (await run('imports', 'list', '--limit', '1')).stdout.split('\n')
  assert.match(last ?? '', new RegExp(`^${id} +undone +.* +csv +2 +.*undo\\.csv$`))
})

test('of many talks a few are shown, with the command that shows all', async () => {
  const path = table(
    'many',
    Array.from({ length: 250 }, (_, number) => ({ key: `k${number}`, title: `Many ${number}` })),
  )
  const { stdout } = await run('import', path, ...given, '--draft')
  const id = numberIn(stdout)
  assert.ok((stdout.match(/\+ Many/g)?.length ?? 0) <= 30)
  assert.match(
    stdout,
    new RegExp(`All 250 talks, with their notes:\n  talkshelf imports show ${id} --all`),
  )
  assert.equal(
    (await run('imports', 'show', String(id), '--all')).stdout.match(/\+ Many/g)?.length,
    250,
  )
  const some = await run('imports', 'show', String(id), '--verdict', 'new')
  assert.equal(some.stdout.match(/\+ Many/g)?.length, 30)
  assert.match(some.stdout, new RegExp(`imports show ${id} --verdict new --all`))
  // Whoever reads only the first lines is no reason to fail.
  const child = spawn(
    'sh',
    ['-c', `"$0" '${program}' imports show ${id} --all | head -n 2; exit 0`, process.execPath],
    {
      cwd: root,
      env: { ...process.env, ...environment },
    },
  )
  let said = ''
  child.stderr.on('data', (data) => (said += data))
  await once(child, 'close')
  assert.equal(said, '')
})

test('without a terminal nothing is coloured, and nothing is redrawn', async () => {
  const path = table('plain', [{ key: 'a', title: 'Plain' }])
  const { FORCE_COLOR: _, ...rest } = process.env
  const child = spawn(process.execPath, [program, 'import', path, ...given, '--apply'], {
    cwd: root,
    env: { ...rest, ...environment },
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (said += data))
  const [code] = await once(child, 'close')
  assert.equal(code, 0, said)
  assert.match(said, /1 created/)
  for (const sign of ['\x1b', '\r']) assert.ok(!said.includes(sign), said)
})

test('Ctrl-C stops an import between two batches, and it goes on with each talk written once', async (t) => {
  const { url: DATABASE_URL } = await freshDatabase(t)
  const talks = Array.from({ length: 3000 }, (_, number) => ({
    key: `k${number}`,
    title: `Long ${number}`,
  }))
  const planned = await runCommand(['import', table('long', talks), ...given], { DATABASE_URL })
  const id = String(numberIn(planned.stdout))
  await withDatabase(DATABASE_URL, async (query) => {
    const state = async () => {
      const [it] = await query('select state, done from import')
      return { state: String(it?.state), done: Number(it?.done) }
    }
    const interrupted = async () => {
      const { done: before } = await state()
      const child = spawn(process.execPath, [program, 'imports', 'apply', id], {
        cwd: root,
        env: { ...process.env, DATABASE_URL },
      })
      let said = ''
      child.stderr.on('data', (data) => (said += data))
      while ((await state()).done === before) await sleep(5)
      child.kill('SIGINT')
      const [code] = await once(child, 'close')
      return { code, said }
    }
    for (let time = 1; time <= 2; time++) {
      const { code, said } = await interrupted()
      assert.equal(code, 130, said)
      assert.match(
        said,
        new RegExp(`Stopped at [\\d,]+ of 3,000[\\s\\S]*talkshelf imports apply ${id}\n`),
      )
      const { state: now, done } = await state()
      assert.equal(now, 'stopped')
      assert.ok(done >= 100 && done < 3000 && done % 100 === 0, String(done))
      assert.equal((await query('select count(*)::integer as count from video'))[0]?.count, done)
    }
    const finished = await runCommand(['imports', 'apply', id], { DATABASE_URL })
    assert.equal(finished.code, 0, finished.stderr)
    assert.match(finished.stdout, /: 3,000 created\./)
    const [counts] = await query(
      'select count(*)::integer as count, count(distinct title)::integer as titles, max(revision) as revision from video',
    )
    assert.deepEqual(counts, { count: 3000, titles: 3000, revision: 1 })
  })
})

test('Ctrl-C while it is read gives the plan up', async (t) => {
  const { url: DATABASE_URL } = await freshDatabase(t)
  const child = spawn(process.execPath, [program, 'import', '-', '--format', 'csv'], {
    cwd: root,
    env: { ...process.env, DATABASE_URL },
  })
  let said = ''
  child.stderr.on('data', (data) => (said += data))
  // More than is looked at to see what it is, and no end.
  child.stdin.on('error', () => {})
  child.stdin.write(
    `key,title\n${Array.from({ length: 2500 }, (_, number) => `k${number},A long enough title ${number}\n`).join('')}`,
  )
  await withDatabase(DATABASE_URL, async (query) => {
    // Until it has read what there is, and waits for more: so it has to be woken.
    const planned = async () => Number((await query('select count(*) from import_row'))[0]?.count)
    for (let before = -1; before <= 0 || before !== (await planned()); await sleep(500))
      before = await planned()
    child.kill('SIGINT')
    const [code] = await once(child, 'close')
    assert.equal(code, 130, said)
    assert.match(said, /Given up: nothing was planned or written\.\n$/)
    const [it] = await query('select state, problem from import')
    assert.deepEqual(it, { state: 'failed', problem: 'It was given up while it was read (Ctrl-C)' })
  })
})

test('after all of it the archive is sound', async () => {
  await checkInvariants(archive.databaseUrl)
})
