import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import type { Fact } from '@talkshelf/contract'
import { formats, openInput } from '../../server/imports/imports.ts'
import { category, program, root, runCommand, startArchive } from '../support/harness.ts'

// The command `talkshelf export`.

const archive = await startArchive()
const DATABASE_URL = archive.databaseUrl
const folder = mkdtempSync(join(tmpdir(), 'talkshelf-export-'))
after(() => rmSync(folder, { recursive: true }))

const fileFact = (file: string): Fact => ({
  kind: 'said',
  source: 'pyvideo',
  field: 'file',
  value: file,
})
const attach = async (id: number, facts: Fact[]) => {
  const reply = await archive.call('PUT', `/api/v2/video/${id}/facts`, {
    token: archive.editor,
    body: { facts },
  })
  assert.equal(reply.status, 200, reply.text)
}
const event = {
  title: 'Brücken/Tage',
  description: 'About bridges',
  url: 'https://example.org/',
  start_date: '2026-05-01',
  end_date: '2026-05-02',
}
await archive.call('POST', '/api/v2/category', { token: archive.editor, body: event })
const one = await archive.make({
  title: 'One',
  category: event.title,
  speakers: ['Zoë Example'],
  source_url: 'https://youtu.be/abcdefghijk',
})
const two = await archive.make({ title: 'Two' })
const three = await archive.make({ title: 'Three' })
await attach(two.id, [fileFact('example-days/videos/same.json')])
await attach(three.id, [fileFact('example-days/videos/same.json')])
const unsafePaths = [
  '../../evil/videos/x.json',
  'a/../../videos/x.json',
  '/etc/videos/x.json',
  '..',
  'example-days/videos/..json',
]
for (const file of unsafePaths)
  await attach((await archive.make({ title: `Strange ${file.length}` })).id, [fileFact(file)])
await archive.make({ title: 'A draft', state: 2 })
const gone = await archive.make({ title: 'Gone' })
await archive.call('POST', `/api/v2/video/${gone.id}/takedown`, {
  token: archive.admin,
  body: { reason: 'Asked' },
})

const run = async (...args: string[]) => {
  const result = await runCommand(args, { DATABASE_URL })
  assert.equal(result.code, 0, result.stderr)
  return result
}
const withoutTime = (text: string) => text.replace(/"at":"[^"]+"/, '')

test('exports to standard output or atomically to a file', async () => {
  const { stdout, stderr } = await run('export')
  assert.equal(stderr, '')
  const file = join(folder, 'talks.ndjson.gz')
  writeFileSync(file, 'what was there before')
  const result = await run('export', '--out', file, '--gzip')
  assert.deepEqual([result.stdout, result.stderr], ['', `Exported 10 records to ${file}.\n`])
  assert.equal(withoutTime(gunzipSync(readFileSync(file)).toString()), withoutTime(stdout))
  assert.equal(statSync(file).mode & 0o777, 0o600, 'the file has data that is hidden from readers')
  assert.deepEqual(readdirSync(folder), ['talks.ndjson.gz'])
  const part = join(folder, 'part.ndjson')
  await run('export', '--out', part, '--after', '2', '--up-to', '3')
  const lines = readFileSync(part, 'utf8').trimEnd().split('\n')
  assert.deepEqual(
    lines.flatMap((line) => JSON.parse(line).record?.id ?? []),
    [three.id],
  )
})

test('exports a CSV row for each record that was not taken down', async () => {
  const { stdout } = await run('export', '--format', 'csv')
  const [head = '', ...rows] = stdout.trimEnd().split('\r\n')
  assert.match(head, /^id,title,category/)
  assert.equal(rows.length, 9)
  assert.ok(stdout.includes('A draft') && !stdout.includes('Gone'))
})

test('exports pyvideo as lines or as a folder per event without path traversal', async () => {
  const { stdout } = await run('export', '--format', 'pyvideo')
  const records = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  assert.equal(records.length, 8)
  assert.deepEqual(Object.keys(records[0]).slice(0, 3), ['event', 'category_title', 'file'])
  assert.deepEqual(
    [records[0].title, records[0].category_title, records[0].speakers],
    ['One', event.title, ['Zoë Example']],
  )

  const out = join(folder, 'pyvideo')
  const { stderr } = await run('export', '--format', 'pyvideo', '--out', out)
  assert.match(stderr, /Exported 8 records to /)
  assert.deepEqual(
    readdirSync(folder).filter((name) => /pyvideo|evil/.test(name)),
    ['pyvideo'],
  )
  assert.ok(!existsSync(join(folder, '../evil')))
  const events = readdirSync(out)
  assert.ok(events.includes('brucken-tage') && events.includes('example-days'), String(events))
  for (const name of events) assert.ok(existsSync(join(out, name, 'category.json')), name)
  assert.deepEqual(JSON.parse(readFileSync(join(out, 'brucken-tage/category.json'), 'utf8')), event)
  assert.ok(readdirSync(join(out, 'example-days/videos')).includes(`same-${three.id}.json`))

  // Its import has the same talks in the same events.
  const { files } = await openInput({ path: out })
  const titles: [unknown, unknown][] = []
  const format = formats.find(({ name }) => name === 'pyvideo')
  for await (const reading of format?.read(files, { category: undefined, language: undefined }) ??
    [])
    if ('fields' in reading) titles.push([reading.fields.title, reading.fields.category])
  assert.deepEqual(
    titles.sort(),
    records.map(({ title, category_title }) => [title, category_title]).sort(),
  )
  assert.ok(
    titles.some(([title, group]) => title === one.title && group === event.title) &&
      titles.some(([, group]) => group === category),
  )
})

test('exits with 0 when the reader closes the pipe early', async () => {
  // `true` exits without reading anything.
  const line = '{ "$NODE" "$PROGRAM" export; echo "ended with $?" >&2; } | true'
  const child = spawn('sh', ['-c', line], {
    cwd: root,
    env: { ...process.env, DATABASE_URL, NODE: process.execPath, PROGRAM: program },
  })
  let stderr = ''
  child.stderr.on('data', (data) => (stderr += data))
  await once(child, 'close')
  assert.equal(stderr, 'ended with 0\n')
})

test('reports errors with a hint and leaves no partial file', async () => {
  const full = join(folder, 'full')
  mkdirSync(full)
  writeFileSync(join(full, 'mine.txt'), 'mine')
  const wrong: [string[], RegExp, code?: number][] = [
    [['export', '--format', 'xml'], /Allowed choices are ndjson, csv, pyvideo/, 2],
    [['export', '--after', '0'], /Expected the id of a record/, 2],
    [
      ['export', '--out', join(folder, 'nowhere/talks.ndjson')],
      /The parent folder does not exist\. Create it first/,
    ],
    [['export', '--out', full], /This is a folder/],
    [['export', '--format', 'pyvideo', '--out', full], /is not empty\. Choose another folder/],
    [
      ['export', '--format', 'pyvideo', '--out', full, '--gzip'],
      /--gzip cannot compress a folder/,
      2,
    ],
    [['snapshot', join(full, 'mine.txt')], /A file with this name already exists/],
  ]
  for (const [args, message, expectedCode = 1] of wrong) {
    const { code, stdout, stderr } = await runCommand(args, { DATABASE_URL })
    assert.deepEqual([code, stdout], [expectedCode, ''], args.join(' '))
    assert.match(stderr, message)
    assert.doesNotMatch(stderr, /\n\s+at /, 'a stack')
  }
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.endsWith('.part')),
    [],
  )
})
