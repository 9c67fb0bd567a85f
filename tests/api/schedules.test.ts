import assert from 'node:assert/strict'
import { test } from 'node:test'
import { category, startArchive } from '../support/harness.ts'

// Schedules of events: the API, the page and the calendar.

const archive = await startArchive()
const { call, make, editor } = archive

const addFacts = async (id: number, ...facts: object[]) => {
  const reply = await call('PUT', `/api/v2/video/${id}/facts`, { token: editor, body: { facts } })
  assert.equal(reply.status, 200, reply.text)
}
const slot = (start: string, room: string, minutes: number | null = 45) => ({
  kind: 'slot',
  start,
  room,
  minutes,
})
const recording = (status: string) => ({ kind: 'recording', status })

const morning = '2026-03-01T09:30:00+01:00'
const given = await make({
  title: 'Given, recorded',
  speakers: ['Ada'],
  source_url: 'https://videos.example/given',
})
await addFacts(given.id, slot('2026-03-01T11:00:00+01:00', 'Blue'))
const expected = await make({ title: 'Still <expected>', state: 2, speakers: ['Bob; Ltd.'] })
await addFacts(expected.id, slot(morning, 'Red', null), recording('expected'))
const refused = await make({ title: 'Not recorded', state: 2 })
await addFacts(refused.id, recording('opted-out'))
const secret = await make({ title: 'SECRET draft', state: 2, speakers: ['SECRET person'] })
await addFacts(secret.id, slot(morning, 'SECRET room'))
await make({ title: 'Without a slot' })

const { json: other } = await call('POST', '/api/v2/category', {
  token: editor,
  body: { title: 'Days, 2026; here' },
})
const event = (await call('GET', '/api/v2/category?page_size=100')).json.results.find(
  ({ title }: { title: string }) => title === category,
)
const page = `/category/${event.id}/${event.slug}`

test('lists talks by time and room, also announced drafts, and no others', async () => {
  const { status, json, text } = await call('GET', `/api/v2/category/${event.slug}/schedule`)
  assert.equal(status, 200, text)
  assert.deepEqual(json.talks, [
    {
      id: expected.id,
      title: 'Still <expected>',
      speakers: ['Bob; Ltd.'],
      start: morning,
      minutes: null,
      room: 'Red',
      recording: 'expected',
      url: null,
    },
    {
      id: given.id,
      title: 'Given, recorded',
      speakers: ['Ada'],
      start: '2026-03-01T11:00:00+01:00',
      minutes: 45,
      room: 'Blue',
      recording: 'published',
      url: `${archive.url}/video/${given.id}/${given.slug}`,
    },
    {
      id: refused.id,
      title: 'Not recorded',
      speakers: [],
      start: null,
      minutes: null,
      room: '',
      recording: 'opted-out',
      url: null,
    },
  ])
})

test('shows the schedule as a page that escapes texts', async () => {
  const { status, text } = await call('GET', `${page}/schedule`)
  assert.equal(status, 200, text)
  assert.match(text, /<time datetime="2026-03-01T09:30:00\+01:00">09:30<\/time>/)
  assert.match(text, /Still &lt;expected>/)
  assert.match(text, new RegExp(`<a href="/video/${given.id}/`))
  assert.match(text, /Not recorded at the request of the speakers/)
  assert.doesNotMatch(text, new RegExp(`SECRET|/video/${expected.id}`))
  assert.match((await call('GET', page)).text, new RegExp(`href="${page}/schedule"`))
  const moved = await call('GET', `/category/${event.id}/old/schedule`)
  assert.deepEqual([moved.status, moved.headers.location], [301, `${page}/schedule`])
})

test('offers an iCalendar file with the times in UTC', async () => {
  const { status, text, headers } = await call('GET', `${page}/schedule.ics`)
  assert.equal(status, 200, text)
  assert.equal(headers['content-type'], 'text/calendar; charset=utf-8')
  const lines = text.replaceAll('\r\n ', '').split('\r\n')
  assert.equal(lines.filter((line) => line === 'BEGIN:VEVENT').length, 2, text)
  for (const line of [
    'DTSTART:20260301T083000Z',
    'DTSTART:20260301T100000Z',
    'DTEND:20260301T104500Z',
    'SUMMARY:Given\\, recorded',
    'SUMMARY:Still <expected>',
    'LOCATION:Blue',
    'DESCRIPTION:Bob\\; Ltd.',
  ])
    assert.ok(lines.includes(line), `${line} is missing in ${text}`)
  assert.doesNotMatch(text, /SECRET/)
  const again = await call('GET', `${page}/schedule.ics`, {
    headers: { 'if-none-match': headers.etag as string },
  })
  assert.equal(again.status, 304)
})

test('escapes the name of the event in the calendar', async () => {
  const { text } = await call('GET', `/category/${other.id}/${other.slug}/schedule.ics`)
  assert.match(text, /^X-WR-CALNAME:Days\\, 2026\\; here\r$/m)
})

test('a published talk is available, whatever its facts say', async () => {
  const talk = await make({ title: 'Published since', state: 2, source_url: 'https://a.example/b' })
  await addFacts(talk.id, recording('expected'))
  const entryOf = async () => {
    const { json } = await call('GET', `/api/v2/category/${event.slug}/schedule`)
    return json.talks.find(({ id }: { id: number }) => id === talk.id)
  }
  assert.equal((await entryOf()).recording, 'expected')
  const path = `/api/v2/video/${talk.id}`
  await call('PATCH', path, { token: editor, body: { state: 1 } })
  assert.equal((await entryOf()).recording, 'published')
  await call('POST', `${path}/takedown`, { token: archive.admin, body: { reason: 'asked' } })
  assert.equal(await entryOf(), undefined)
})

test('the page of a talk says why there is no recording', async () => {
  const talk = await make({ title: 'Live without recording', source_url: '' })
  await addFacts(talk.id, recording('not-recorded'))
  const { text } = await call('GET', `/video/${talk.id}/${talk.slug}`)
  assert.match(text, /This talk was not recorded\./)
})

test('refuses times without an offset and unknown statuses', async () => {
  for (const fact of [slot('2026-03-01T09:30:00', 'Red'), recording('lost')]) {
    const reply = await call('PUT', `/api/v2/video/${given.id}/facts`, {
      token: editor,
      body: { facts: [fact] },
    })
    assert.equal(reply.status, 400, reply.text)
  }
})
