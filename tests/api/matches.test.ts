import assert from 'node:assert/strict'
import { test } from 'node:test'
import { maintain } from '../../server/maintenance/maintenance.ts'
import {
  event,
  playlistJson,
  scheduleJson,
  type Talk,
  talks,
  type Video,
  videos,
} from '../support/conference.ts'
import { startArchive } from '../support/harness.ts'
import { importClient } from '../support/import-client.ts'
import { withDatabase } from '../support/invariants.ts'

// Matches: a schedule and a playlist are paired, decided about, planned, applied and undone.

const archive = await startArchive()
const { call, editor: token } = archive
const imports = importClient(archive, token)

const key = (video: Video | undefined) => `youtube:${video?.id}`

const create = async (schedule = talks, playlist = videos) => {
  const body = {
    schedule: { text: scheduleJson(schedule) },
    playlist: { text: playlistJson(playlist) },
  }
  const reply = await call('POST', '/api/v2/match', { token, body })
  assert.equal(reply.status, 201, reply.text)
  return reply.json
}
const decide = async (id: number, body: object, status = 200) => {
  const reply = await call('POST', `/api/v2/match/${id}/decision`, { token, body })
  assert.equal(reply.status, status, reply.text)
  return reply.json
}
const plan = async (id: number) => {
  const reply = await call('POST', `/api/v2/match/${id}/plan`, { token })
  assert.equal(reply.status, 201, reply.text)
  return reply.json
}
const talkOf = (match: { talks: { key: string }[] }, guid: string) =>
  match.talks.find((talk) => talk.key === guid) as Record<string, unknown> | undefined
/** Fails unless importing each file alone changes nothing. */
const assertUnchanged = async (...files: string[]) => {
  for (const text of files) {
    const { planned } = await imports.plan({ text })
    const { unchanged: _, ...others } = planned
    assert.deepEqual(others, { new: 0, changed: 0, conflict: 0, refused: 0 })
  }
}
/** Talks and recordings that no other test has. The letters name both. */
const eventOf = (prefix: string, letters: string) => ({
  schedule: [...letters].map((letter, index) => ({
    guid: `${prefix}-${letter}`,
    title: `The ${words[index]} of ${prefix}`,
    speakers: [`${names[index]} ${prefix}`],
    time: `1${index}:00`,
  })),
  playlist: [...letters].map((letter, index) => ({
    id: `${prefix}${letter}`.padEnd(11, 'v'),
    title: `${names[index]} ${prefix}: The ${words[index]} of ${prefix}`,
  })),
})
const words = ['gardens', 'rivers', 'compilers', 'lighthouses']
const names = ['Ada', 'Grace', 'Annie', 'Mary']
/** Reads the records of an import, by title. */
const recordsOf = async (importId: number) => {
  const found = new Map<string, Record<string, unknown>>()
  for (const { title, video } of await imports.rows(importId))
    found.set(title ?? '', (await call('GET', `/api/v2/video/${video}`, { token })).json)
  return found
}

test('pairs what is sure, asks about the rest, and remembers the answers', async () => {
  const match = await create()
  assert.equal(match.event, event)
  assert.equal(match.pattern, '{speaker}: {title} | {event}')
  assert.deepEqual(
    talks.map(({ guid }) => talkOf(match, guid)?.band),
    ['sure', 'sure', 'sure', 'sure', 'likely', 'none'],
  )
  assert.equal(match.questions, 1)
  assert.equal(talkOf(match, 'e')?.recording, key(videos[4]))

  const decided = await decide(match.id, {
    verdict: 'pair',
    talk: 'e',
    recording: key(videos[4]),
  })
  assert.equal(decided.questions, 0)
  assert.equal(talkOf(decided, 'e')?.decided, true)
  // Another match of the same sources does not ask again, until a title changes.
  assert.equal((await create()).questions, 0)
  const renamed = videos.with(4, {
    ...(videos[4] as Video),
    title: 'Hedy Lamarr: Cartography, quietly',
  })
  assert.equal((await create(talks, renamed)).questions, 1)

  const undone = await call('POST', `/api/v2/match/${match.id}/undo`, { token })
  assert.equal(undone.json.questions, 1)
  assert.equal((await call('POST', `/api/v2/match/${match.id}/undo`, { token })).status, 409)
})

test('replaces a decision by a later one, which undo brings back', async () => {
  const { id } = await create()
  await decide(id, { verdict: 'no-recording', talk: 'a', status: 'not-published' })
  const paired = await decide(id, { verdict: 'pair', talk: 'a', recording: key(videos[5]) })
  assert.equal(talkOf(paired, 'a')?.recording, key(videos[5]))
  const moved = await decide(id, { verdict: 'pair', talk: 'b', recording: key(videos[5]) })
  assert.notEqual(talkOf(moved, 'a')?.recording, key(videos[5]))
  const back = await call('POST', `/api/v2/match/${id}/undo`, { token })
  assert.equal(talkOf(back.json, 'a')?.recording, key(videos[5]))
  const first = await call('POST', `/api/v2/match/${id}/undo`, { token })
  assert.equal(talkOf(first.json, 'a')?.status, 'not-published')
  await call('POST', `/api/v2/match/${id}/undo`, { token })
})

test('refuses decisions about unknown keys and impossible parts', async () => {
  const { id } = await create()
  await decide(id, { verdict: 'pair', talk: 'a' }, 400)
  await decide(id, { verdict: 'pair', talk: 'x', recording: key(videos[0]) }, 400)
  await decide(id, { verdict: 'part', talk: 'a', recording: key(videos[0]) }, 400)
  await decide(id, { verdict: 'part', talk: 'a', recording: key(videos[0]), start: 9, end: 9 }, 400)
  await decide(id, { verdict: 'maybe', talk: 'a' }, 400)
})

test('refuses files that cannot be matched', async () => {
  const text = scheduleJson()
  for (const [body, status] of [
    [{ schedule: { text } }, 400],
    [{ schedule: { text }, playlist: {} }, 400],
    [{ schedule: { text }, playlist: { text } }, 400],
    [{ schedule: { text }, playlist: { text: 'nonsense' } }, 400],
    [{ schedule: { text: playlistJson([]) }, playlist: { text: playlistJson() } }, 400],
  ] as const) {
    const reply = await call('POST', '/api/v2/match', { token, body })
    assert.equal(reply.status, status, reply.text)
  }
})

test('becomes talks by one import, which each source can repeat and undo reverts', async () => {
  const { id } = await create()
  await decide(id, { verdict: 'pair', talk: 'e', recording: key(videos[4]) })
  await decide(id, { verdict: 'own-talk', recording: key(videos[5]) })
  const planned = await plan(id)
  assert.deepEqual(planned.planned, {
    new: 7,
    changed: 0,
    unchanged: 0,
    conflict: 0,
    refused: 0,
  })
  await imports.apply(planned.id)
  const found = await recordsOf(planned.id)
  const garden = found.get('Gardens of data')
  assert.equal(garden?.source_url, 'https://www.youtube.com/watch?v=vvvvvvvvvv1')
  assert.equal(garden?.duration, 1700)
  assert.equal(garden?.summary, 'About Gardens of data.')
  assert.equal(garden?.state, 1)
  assert.equal(
    found.get('Maps of silence')?.source_url,
    `https://www.youtube.com/watch?v=vvvvvvvvvv5`,
  )
  assert.equal(found.get('An evening of small tools')?.state, 2)
  assert.equal(found.get('River Days 2031: the trailer')?.state, 2)

  // Each source alone, and the match again, have nothing to change.
  await assertUnchanged(scheduleJson(), playlistJson())
  const again = await plan(id)
  assert.equal(again.planned.unchanged, 7, JSON.stringify(again.planned))
  await imports.apply(again.id)
  await assertUnchanged(scheduleJson(), playlistJson())

  // The recording that was missing arrives: only its talk changes, and becomes live.
  const late: Video = { id: 'vvvvvvvvvv7', title: 'Jean Bartik: An evening of small tools' }
  const second = await create(talks, [...videos, late])
  const update = await plan(second.id)
  assert.deepEqual(update.planned, {
    new: 0,
    changed: 1,
    unchanged: 6,
    conflict: 0,
    refused: 0,
  })
  await imports.apply(update.id)
  const evening = (await recordsOf(update.id)).get('An evening of small tools')
  assert.equal(evening?.state, 1)
  assert.equal(evening?.source_url, 'https://www.youtube.com/watch?v=vvvvvvvvvv7')
  const facts = await call('GET', `/api/v2/video/${evening?.id}/facts`, { token })
  assert.ok(!facts.text.includes('"recording"'), facts.text)

  for (const importId of [update.id, planned.id]) await imports.undo(importId)
  const after = [...(await recordsOf(planned.id)).values()]
  assert.deepEqual(new Set(after.map(({ state }) => state)), new Set([2]))
  // Applied again, the same records become live.
  const repeated = await plan(second.id)
  assert.equal(repeated.planned.new, 0)
  await imports.apply(repeated.id)
  assert.equal((await recordsOf(repeated.id)).get('Gardens of data')?.state, 1)
})

test('divides a recording of several talks into parts', async () => {
  const schedule: Talk[] = [
    { guid: 'p1', title: 'Wooden bridges', speakers: ['Elsie Shutt'], time: '16:00' },
    { guid: 'p2', title: 'Bridges of paper', speakers: ['Kay McNulty'], time: '16:10' },
  ]
  const stream: Video = {
    id: 'vvvvvvvvvv8',
    title: 'Short talks of Saturday',
    seconds: 1200,
    description: '0:00 Welcome\n1:30 Wooden bridges\n10:00 Bridges of paper\n19:00 Farewell',
  }
  const match = await create(schedule, [stream])
  const [recording] = match.recordings
  assert.deepEqual(recording.parts, [
    { talk: 'p1', start: 90, end: 600 },
    { talk: 'p2', start: 600, end: 1140 },
  ])
  for (const { talk, start, end } of recording.parts)
    await decide(match.id, { verdict: 'part', talk, recording: key(stream), start, end })
  const planned = await plan(match.id)
  assert.equal(planned.planned.new, 2, JSON.stringify(planned))
  await imports.apply(planned.id)
  const found = await recordsOf(planned.id)
  const [first, second] = ['Wooden bridges', 'Bridges of paper'].map((title) => found.get(title))
  assert.equal(first?.source_url, second?.source_url)
  assert.equal(first?.duration, 510)
  const facts = await call('GET', `/api/v2/video/${second?.id}/facts`, { token })
  assert.deepEqual(
    facts.json.facts.find(({ kind }: { kind: string }) => kind === 'part'),
    { kind: 'part', url: second?.source_url, start: 600, end: 1140 },
  )
  // The playlist alone brings no third record.
  const { json } = await call('POST', '/api/v2/import', {
    token,
    body: { text: playlistJson([stream]) },
  })
  assert.equal(json.planned.new, 0, JSON.stringify(json.planned))
})

test('forgets the files of a talk that is taken down, and keeps what was decided', async () => {
  const schedule: Talk[] = [
    { guid: 'q1', title: 'Kites at midnight', speakers: ['Secret Person'], time: '20:00' },
    { guid: 'q2', title: 'Kites at noon', speakers: ['Ida Rhodes'], time: '21:00' },
  ]
  const playlist: Video[] = [
    { id: 'vvvvvvvvvv9', title: 'Secret Person: Kites at midnight' },
    { id: 'vvvvvvvvv10', title: 'Ida Rhodes: Kites at noon' },
  ]
  const { id } = await create(schedule, playlist)
  await decide(id, { verdict: 'pair', talk: 'q1', recording: key(playlist[0]) })
  const planned = await plan(id)
  await imports.apply(planned.id)
  const secret = (await recordsOf(planned.id)).get('Kites at midnight')
  const reply = await call('POST', `/api/v2/video/${secret?.id}/takedown`, {
    token: archive.admin,
    body: { reason: 'The speaker asked for it' },
  })
  assert.equal(reply.status, 200, reply.text)
  const { json, text } = await call('GET', `/api/v2/match/${id}`, { token })
  assert.doesNotMatch(text, /Secret|midnight/)
  assert.deepEqual(
    json.talks.map((talk: { key: string }) => talk.key),
    ['q2'],
  )
})

test('leaves talks alone whose recording is in another playlist', async () => {
  const { schedule, playlist } = eventOf('Halves', 'ab')
  const first = await plan((await create(schedule, playlist.slice(0, 1))).id)
  await imports.apply(first.id)
  const second = await plan((await create(schedule, playlist.slice(1))).id)
  assert.deepEqual([second.planned.changed, second.planned.unchanged], [1, 1])
  await imports.apply(second.id)
  for (const record of (await recordsOf(first.id)).values()) assert.equal(record.state, 1)
})

test('takes further uploads of a talk as copies, beside its recording', async () => {
  const { schedule, playlist } = eventOf('Twice', 'ab')
  const [original] = playlist as [Video]
  const copy = { ...original, id: 'TwiceCopyvv' }
  const match = await create(schedule, [...playlist, copy])
  const talk = `Twice-a`
  const recording = match.talks[0].recording
  const other = recording === key(original) ? key(copy) : key(original)
  const decided = await decide(match.id, { verdict: 'copy', talk, recording: other })
  assert.equal(talkOf(decided, talk)?.recording, recording)
  assert.deepEqual(talkOf(decided, talk)?.copies, [other])
  const undone = await call('POST', `/api/v2/match/${match.id}/undo`, { token })
  assert.equal(talkOf(undone.json, talk)?.decided, false)
})

test('an undone import leaves nothing in the public schedule', async () => {
  const { schedule } = eventOf('Hidden', 'ab')
  const planned = await plan((await create(schedule, videos.slice(0, 1))).id)
  await imports.apply(planned.id)
  const listed = () => call('GET', '/api/v2/category/river-days-2031/schedule')
  assert.match((await listed()).text, /The gardens of Hidden/)
  await imports.undo(planned.id)
  assert.doesNotMatch((await listed()).text, /Hidden/)
})

test('asks again if a title changed after a refusal, and never pairs what was opted out', async () => {
  const { schedule, playlist } = eventOf('Lapsed', 'ab')
  const { id } = await create(schedule, playlist)
  await decide(id, { verdict: 'no-recording', talk: 'Lapsed-a', status: 'opted-out' })
  await decide(id, { verdict: 'not', talk: 'Lapsed-b', recording: key(playlist[1]) })
  const renamed = schedule.map((talk) => ({ ...talk, title: `${talk.title}!` }))
  const retitled = renamed.map((talk) => ({ ...talk, title: talk.title.replace('The', 'Some') }))
  const again = await create(retitled, playlist)
  assert.equal(talkOf(again, 'Lapsed-a')?.status, 'opted-out')
  assert.equal(talkOf(again, 'Lapsed-a')?.recording, null)
  assert.equal(talkOf(again, 'Lapsed-b')?.band, 'likely')
  assert.equal(again.questions, 1)
})

test('removes a wrong recording with its URL, and takes the right one later', async () => {
  const { schedule, playlist } = eventOf('Wrong', 'a')
  const other = { id: 'WrongOthervv', title: 'Something else' }
  const { id } = await create(schedule, [...playlist, other])
  await decide(id, { verdict: 'pair', talk: 'Wrong-a', recording: key(other) })
  const wrong = await plan(id)
  await imports.apply(wrong.id)
  await decide(id, { verdict: 'no-recording', talk: 'Wrong-a', status: 'expected' })
  const none = await plan(id)
  await imports.apply(none.id)
  const title = 'The gardens of Wrong'
  const without = (await recordsOf(none.id)).get(title)
  assert.deepEqual([without?.state, without?.source_url], [2, null])
  await decide(id, { verdict: 'pair', talk: 'Wrong-a', recording: key(playlist[0]) })
  const right = await plan(id)
  await imports.apply(right.id)
  const found = (await recordsOf(right.id)).get(title)
  assert.equal(found?.state, 1)
  assert.equal(found?.source_url, `https://www.youtube.com/watch?v=${playlist[0]?.id}`)
})

test('a recording that moves to another talk leaves both records, and undo moves it back', async () => {
  const { schedule, playlist } = eventOf('Moved', 'ab')
  const [recording] = playlist as [Video]
  const { id } = await create(schedule.slice(0, 1), [recording])
  const first = await plan(id)
  await imports.apply(first.id)
  const second = await create(schedule.toReversed(), [recording])
  await decide(second.id, { verdict: 'pair', talk: 'Moved-b', recording: key(recording) })
  const moved = await plan(second.id)
  await imports.apply(moved.id)
  const rows = await imports.rows(moved.id)
  assert.equal(new Set(rows.map(({ video }) => video)).size, 2, JSON.stringify(rows))
  await imports.undo(moved.id)
  await assertUnchanged(playlistJson([recording]))
})

test('undo of one match keeps what was decided later in another', async () => {
  const { schedule, playlist } = eventOf('Shared', 'abc')
  const [one, two] = [await create(schedule, playlist), await create(schedule, playlist)]
  const pair = (match: { id: number }, talk: string, video: number) =>
    decide(match.id, { verdict: 'pair', talk, recording: key(playlist[video]) })
  await pair(one, 'Shared-c', 0)
  await pair(one, 'Shared-b', 0)
  await pair(two, 'Shared-c', 1)
  const { json } = await call('POST', `/api/v2/match/${one.id}/undo`, { token })
  assert.equal(talkOf(json, 'Shared-c')?.recording, key(playlist[1]))
  assert.deepEqual(talkOf(json, 'Shared-c')?.copies, [])
})

test('a recording that was taken down does not come back with another talk', async () => {
  const { schedule, playlist } = eventOf('Removed', 'ab')
  const old = await create(schedule, playlist)
  const planned = await plan(old.id)
  await imports.apply(planned.id)
  const removed = (await recordsOf(planned.id)).get('The gardens of Removed')
  await call('POST', `/api/v2/video/${removed?.id}/takedown`, {
    token: archive.admin,
    body: { reason: 'The speaker asked for it' },
  })
  const match = await create(schedule, playlist)
  assert.doesNotMatch(JSON.stringify(match), /Ada Removed|gardens/)
  await decide(match.id, { verdict: 'pair', talk: 'Removed-b', recording: key(playlist[0]) }, 400)
})

test('reads files with characters and URLs that are not valid', async () => {
  const { schedule, playlist } = eventOf('Broken', 'ab')
  const text = playlistJson(playlist).replace('Ada Broken', 'Ada \\u0000 Broken')
  const body = { schedule: { text: scheduleJson(schedule) }, playlist: { text } }
  const reply = await call('POST', '/api/v2/match', { token, body })
  assert.equal(reply.status, 201, reply.text)
  assert.equal(reply.json.recordings.length, 1)
})

test('lists the entries of both files that it leaves out', async () => {
  const { schedule, playlist } = eventOf('Twice', 'ab')
  const { left_out: leftOut, left_out_count: count } = await create(
    [...schedule, { ...(schedule[0] as Talk), title: 'Again' }],
    [...playlist, { ...(playlist[1] as Video), title: 'Again' }, { id: '', title: '' }],
  )
  assert.deepEqual(
    leftOut.map(({ file, reason }: { file: string; reason: string }) => [
      file,
      reason.split(' ')[0],
    ]),
    [
      ['playlist', 'Duplicate'],
      ['playlist', 'Has'],
      ['schedule', 'Duplicate'],
    ],
  )
  assert.equal(count, 3)
})

test('maintenance deletes old matches and keeps what was decided', async () => {
  const { schedule, playlist } = eventOf('Old', 'ab')
  const { id } = await create(schedule, playlist)
  await decide(id, { verdict: 'no-talk', recording: key(playlist[0]) })
  const decision = { verdict: 'pair', talk: 'Old-b', recording: key(playlist[0]) }
  await decide(id, decision)
  await withDatabase(archive.databaseUrl, (query) =>
    query(`update match set created = now() - interval '91 days' where id = $1`, [id]),
  )
  const options = { importDays: 90, everyHours: 24, isStopped: () => false, onDone: () => {} }
  await maintain(archive.pool, options)
  assert.equal((await call('GET', `/api/v2/match/${id}`, { token })).status, 404)
  const later = await create(schedule, playlist)
  assert.equal(talkOf(later, 'Old-b')?.recording, key(playlist[0]))
  assert.equal(talkOf(later, 'Old-b')?.decided, true)
  const replaced = await withDatabase(archive.databaseUrl, (query) =>
    query('select from match_decision where match_id is null and replaced_by is not null'),
  )
  assert.equal(replaced.length, 0)
})

test('a talk of which an editor said that it has no recording stays a draft', async () => {
  const { schedule, playlist } = eventOf('Unseen', 'ab')
  const { id } = await create(schedule, playlist)
  await decide(id, { verdict: 'no-recording', talk: 'Unseen-a', status: 'opted-out' })
  for (const _ of ['created', 'unchanged']) await imports.apply((await plan(id)).id)
  await assertUnchanged(scheduleJson(schedule))
})
