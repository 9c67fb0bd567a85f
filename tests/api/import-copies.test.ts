import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ImportedTalk, Replacement, Source, Video } from '@talkshelf/contract'
import { category, startArchive } from '../support/harness.ts'
import { importClient } from '../support/import-client.ts'
import { checkInvariants, withDatabase } from '../support/invariants.ts'

// An import brings another video for a talk whose own is lost: its row asks whether it replaces it.

const archive = await startArchive()
const { call, editor: token, databaseUrl } = archive
const imports = importClient(archive, token)
const other = 'Other Days'
await call('POST', '/api/v2/category', { token, body: { title: other } })

let made = 0
/** Creates a talk, all of whose videos are in a state. */
async function makeIn(state: string, fields: Partial<Video> = {}): Promise<Video> {
  made++
  const video = await archive.make({
    title: `Ten years of tiny queues, told by number ${made}`,
    speakers: ['Ada Lovelace'],
    duration: 1800,
    source_url: `https://lost.example/${made}.mp4`,
    ...fields,
  })
  await withDatabase(databaseUrl, (query) =>
    query(
      `update source set state = $1
       where id in (select source_id from video_source where video_id = $2)`,
      [state, video.id],
    ),
  )
  return video
}

interface Row {
  readonly title: string
  readonly url?: string
  readonly duration?: number
  readonly event?: string
  readonly key?: string
}

/** Plans a table of talks. Returns the id of the import and its rows. */
async function plan(rows: readonly Row[], source: string) {
  const text = [
    'key,title,event,language,duration,url',
    ...rows.map(({ title, url = '', duration = 1815, event = category, key = title }) =>
      [key, title, event, 'en', duration, url].map((cell) => `"${cell}"`).join(','),
    ),
  ].join('\n')
  const { id } = await imports.plan({ text: `${text}\n`, format: 'csv', source })
  return { id, rows: await imports.rows(id) }
}

const read = async (id: number): Promise<Video> =>
  (await call('GET', `/api/v2/video/${id}`, { token })).json
const questionOf = (row: ImportedTalk | undefined) =>
  row?.notes.find(({ kind }) => kind === 'question')?.detail
const openCopies = async ({ id }: Video): Promise<Replacement[]> =>
  (await call('GET', `/api/v2/replacement?video=${id}`, { token })).json.results
const decide = (id: number, position: number, same: boolean) =>
  imports.send('PUT', `import/${id}/talk/${position}`, { same })

test('a row asks instead of being new, and becomes a proposal if nobody answers', async () => {
  const lost = await makeIn('gone')
  const url = 'https://copies.example/undecided.mp4'
  const { id, rows } = await plan([{ title: `${lost.title.toUpperCase()}!`, url }], 'undecided')
  assert.equal(rows[0]?.verdict, 'conflict')
  assert.equal(
    questionOf(rows[0]),
    `The video of record ${lost.id}, “${lost.title}”, is gone. This one has the same length and a ` +
      'title like it. Is it the same talk, and replaces its video?',
  )
  const { outcome } = await imports.apply(id)
  assert.deepEqual([outcome.created, outcome.kept], [0, 1])
  assert.equal((await read(lost.id)).source_url, lost.source_url)
  const [copy, ...more] = await openCopies(lost)
  assert.deepEqual(more, [])
  assert.deepEqual([copy?.url, copy?.finder, copy?.effect], [url, 'import', 'replaces'])
  assert.match(copy?.evidence ?? '', new RegExp(`^Import ${id} has “TEN YEARS`))
  await checkInvariants(databaseUrl)
})

test('the answer yes replaces the video as a change of the import, which can be undone', async () => {
  const lost = await makeIn('private')
  const url = 'https://copies.example/yes.mp4'
  const { id } = await plan([{ title: lost.title, url }], 'yes')
  await decide(id, 1, true)
  const [planned] = await imports.rows(id)
  assert.equal(planned?.video, lost.id)
  assert.deepEqual(planned?.changes.source_url?.new, url)
  const { outcome } = await imports.apply(id)
  assert.deepEqual([outcome.created, outcome.changed], [0, 1])
  const changed = await read(lost.id)
  assert.deepEqual([changed.source_url, changed.duration], [url, 1800], 'only the video')
  const { json } = await call('GET', `/api/v2/video/${lost.id}/revisions/2`, { token })
  assert.deepEqual([json.via, json.fields], ['import', ['source_url']])
  assert.deepEqual(await openCopies(lost), [])

  const again = await plan([{ title: lost.title, url }], 'yes')
  assert.deepEqual([again.rows[0]?.verdict, again.rows[0]?.video], ['unchanged', lost.id])
  await imports.undo(id)
  assert.equal((await read(lost.id)).source_url, lost.source_url)
  await checkInvariants(databaseUrl)
})

test('the answer no makes it a new talk, and nothing is proposed', async () => {
  const lost = await makeIn('removed')
  const { id } = await plan([{ title: lost.title, url: 'https://copies.example/no.mp4' }], 'no')
  await decide(id, 1, false)
  assert.equal((await imports.apply(id)).outcome.created, 1)
  assert.deepEqual(await openCopies(lost), [])
})

test('asks only if title, length and event are alike and no video is left', async () => {
  const lost = await makeIn('unreachable')
  const several = await makeIn('gone', { video_mp4_url: 'https://lost.example/second.mp4' })
  const available = await makeIn('ok')
  const limited = await makeIn('embed-off')
  const halfLost = await makeIn('gone', { video_mp4_url: 'https://there.example/half.mp4' })
  await withDatabase(databaseUrl, (query) =>
    query(`update source set state = 'ok' where host = 'there.example'`),
  )
  const draft = await makeIn('gone', { state: 2 })
  const url = 'https://copies.example/asked.mp4'
  let number = 0
  const asks = async (row: Row) => {
    const { id, rows } = await plan([{ url: `${url}?${++number}`, ...row }], `asked ${number}`)
    await imports.send('POST', `import/${id}/discard`)
    return questionOf(rows[0]) !== undefined && /is gone/.test(questionOf(rows[0]) ?? '')
  }
  assert.equal(await asks({ title: lost.title }), true)
  assert.equal(await asks({ title: several.title }), true)
  assert.equal(await asks({ title: `Ada Lovelace: ${lost.title} (${category})` }), true)
  assert.equal(await asks({ title: lost.title, duration: 1830 }), true)
  assert.equal(await asks({ title: lost.title, duration: 1831 }), false)
  assert.equal(await asks({ title: lost.title, duration: 1769 }), false)
  assert.equal(await asks({ title: lost.title, event: other }), false)
  assert.equal(await asks({ title: lost.title, url: '' }), false)
  assert.equal(
    await asks({ title: `${lost.title} and much more than that, told by others` }),
    false,
  )
  for (const video of [available, limited, halfLost, draft])
    assert.equal(await asks({ title: video.title }), false, video.title)
})

test('a re-upload in the same playlist is asked about, and each lost talk only once', async () => {
  const first = await plan(
    [
      { key: 'old-1', title: 'A talk about shelves and boxes', url: 'https://lost.example/p1.mp4' },
      { key: 'old-2', title: 'A talk about doors and walls', url: 'https://lost.example/p2.mp4' },
    ],
    'playlist',
  )
  await imports.apply(first.id)
  await withDatabase(databaseUrl, (query) =>
    query(`update source set state = 'gone' where url like 'https://lost.example/p%'`),
  )
  const { rows } = await plan(
    [
      { key: 'new-1', title: 'A talk about shelves and boxes', url: 'https://copies.example/p1' },
      { key: 'new-2', title: 'A talk about shelves and boxes', url: 'https://copies.example/p3' },
      // Its old row is still in the playlist: it is another talk.
      { key: 'old-2', title: 'A talk about doors and walls', url: 'https://lost.example/p2.mp4' },
      { key: 'new-3', title: 'A talk about doors and walls', url: 'https://copies.example/p2' },
    ],
    'playlist',
  )
  const asked = rows.map((row) => /is gone/.test(questionOf(row) ?? ''))
  assert.deepEqual(asked, [true, true, false, false])
  const { id } = await plan(
    [
      { key: 'new-1', title: 'A talk about shelves and boxes', url: 'https://copies.example/p1' },
      { key: 'new-2', title: 'A talk about shelves and boxes', url: 'https://copies.example/p3' },
    ],
    'playlist',
  )
  for (const position of [1, 2]) await decide(id, position, true)
  await imports.apply(id)
  const applied = await imports.rows(id)
  assert.equal(applied[0]?.outcome, 'changed')
  assert.notEqual(applied[1]?.video, applied[0]?.video, 'one video replaces it')
  const sources: Source[] = (
    await call('GET', `/api/v2/video/${applied[0]?.video}/sources`, { token })
  ).json.results
  assert.deepEqual(
    sources.map(({ url }) => url),
    ['https://copies.example/p1'],
  )
  await checkInvariants(databaseUrl)
})
