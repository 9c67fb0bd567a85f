import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Video } from '@talkshelf/contract'
import { runCommand, startArchive } from '../support/harness.ts'
import { checkInvariants } from '../support/invariants.ts'

// An organiser imports the playlist of a conference, from the file to the page of the event.

const archive = await startArchive()
const path = fileURLToPath(new URL('../../docs/examples/tidal-days-2026.json', import.meta.url))
const { entries } = JSON.parse(readFileSync(path, 'utf8')) as { entries: { title: string }[] }
/** The talks in the order of the playlist. Their titles are "Speaker - Title | Event". */
const programme = entries.map((entry) => {
  const [text = ''] = entry.title.split(' | ')
  const [title = '', speakers] = text.split(' - ').reverse()
  return { title, speakers: speakers?.split(' & ') ?? [] }
})
const folder = mkdtempSync(join(tmpdir(), 'talkshelf-playlist-'))
after(() => rmSync(folder, { recursive: true }))
const run = (...args: string[]) => runCommand(args, { DATABASE_URL: archive.databaseUrl })

test('a playlist of 30 talks becomes an event with speakers, dates and order', async () => {
  const options = ['--recorded', '2026-05-01']
  const { code, stdout, stderr } = await run('import', path, ...options, '--apply')
  assert.equal(code, 0, stderr)
  assert.match(stdout, /\+ Maps that forgive .*\n {6}Mara Ortiz Vega · 2026-05-01 · 20:37 · /)
  assert.match(stdout, /New events: 1\n {4}Tidal Days 2026\n {2}New people: 28\n/)
  assert.doesNotMatch(stdout, /Warnings/)
  assert.match(stdout, /guessed speakers, 27 times\n/)
  assert.match(stdout, /guessed language, 30 times\n/)
  assert.match(
    stdout,
    /30 created[^\n]*\nThe event is at:\n {2}http:\/\/127\.0\.0\.1:8000\/category\//,
  )

  const { json } = await archive.call('GET', '/api/v2/video?category=tidal-days-2026&page_size=50')
  const byTitle = new Map(json.results.map((video: Video) => [video.title, video]))
  assert.equal(byTitle.size, 30)
  for (const { title, speakers } of programme) {
    const video = byTitle.get(title) as Video | undefined
    assert.deepEqual([video?.speakers, video?.recorded], [speakers, '2026-05-01'], title)
  }

  const { headers } = await archive.call('GET', '/category/-/tidal-days-2026')
  const event = new URL(String(headers.location), archive.url).pathname
  const pages = await Promise.all(
    ['', '?page=2'].map((query) => archive.call('GET', `${event}${query}`)),
  )
  const html = pages.map((page) => page.text).join('')
  const positions = programme.map(({ title }) => html.indexOf(`>${title}<`))
  assert.ok(
    positions.every((position) => position > 0),
    'the pages list all talks',
  )
  assert.deepEqual(
    positions,
    positions.toSorted((a, b) => a - b),
  )

  // What the file does not say is only a guess. It does not replace what was chosen before.
  const again = await run('import', path, '--apply')
  assert.equal(again.code, 0, again.stderr)
  assert.match(again.stdout, /30 {2}already up to date/)
  assert.doesNotMatch(again.stdout, /Warnings|1 January|is the title of the playlist/)

  // A talk that was added since gets the guess.
  const playlist = JSON.parse(readFileSync(path, 'utf8'))
  const added = { ...playlist.entries[0], id: 'tidal-later', title: 'Added later' }
  const duplicate = { ...added, title: 'Added twice' }
  const longer = join(folder, 'longer.json')
  const text = JSON.stringify({ ...playlist, entries: [...playlist.entries, added, duplicate] })
  writeFileSync(longer, text)
  const third = await run('import', longer, '--apply')
  assert.equal(third.code, 4, third.stderr)
  assert.match(third.stdout, /1 talk dated by the year in a title only/)
  assert.equal(third.stdout.match(/set to 1 January 2026/g)?.length, 1)
  await checkInvariants(archive.databaseUrl)
})
