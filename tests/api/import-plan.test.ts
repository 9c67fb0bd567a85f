import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { Import, ImportedTalk } from '@talkshelf/contract'
import { runCommand, startArchive } from '../support/harness.ts'
import { checkInvariants } from '../support/invariants.ts'

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
