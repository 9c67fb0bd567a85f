import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { Import, ImportedTalk, Video } from '@talkshelf/contract'
import fc from 'fast-check'
import { category, type Reply, startArchive } from '../support/harness.ts'
import { csvOf, type ImportTalk, importClient, threeWay } from '../support/import-client.ts'
import { checkInvariants } from '../support/invariants.ts'

// Imports over the API: planned before they are written, never over a hand edit, and undoable.

const archive = await startArchive()
const { editor: token } = archive
const client = importClient(archive, token)
const { apply, undo, until } = client
const get = (path: string, as?: string) =>
  archive.call('GET', `/api/v2/${path}`, as ? { token: as } : {})
const post = (path: string, body: object = {}) =>
  archive.call('POST', `/api/v2/${path}`, { token, body })
const record = async (id: number): Promise<Video> => (await ok(get(`video/${id}`, token))).json

async function ok(reply: Promise<Reply>): Promise<Reply> {
  const response = await reply
  assert.ok(response.status < 300, response.text)
  return response
}

/** Plans an import of talks with keys, as CSV. */
const plan = (talks: readonly ImportTalk[], more: object = {}): Promise<Import> =>
  client.plan({
    text: csvOf(talks),
    format: 'csv',
    name: 'talks.csv',
    category,
    language: 'en',
    ...more,
  })

const talksOf = async (id: number, query = ''): Promise<ImportedTalk[]> =>
  (await ok(get(`import/${id}/talk?page_size=100${query}`, token))).json.results

test('plans an import without writing anything', async () => {
  const source = 'plain plan'
  const talk = {
    key: 'a',
    title: 'A plan for bridges',
    speakers: ['Bea Bridge', 'Ben Bridge'],
    tags: ['steel'],
  }
  const planned = await plan(
    [
      { ...talk, source_url: 'https://media.example.org/1' },
      { key: 'b', title: '', speakers: ['Nobody'] },
      { key: 'a', title: 'The same key once more' },
    ],
    { source },
  )
  assert.deepEqual(
    [planned.state, planned.format, planned.source, planned.by],
    ['planned', 'csv', source, 'Edith'],
  )
  assert.deepEqual(planned.planned, { new: 1, changed: 0, unchanged: 0, conflict: 0, refused: 2 })
  const [first, second, third] = await talksOf(planned.id)
  assert.deepEqual(
    [first?.verdict, first?.title, first?.video],
    ['new', 'A plan for bridges', null],
  )
  assert.match(JSON.stringify(second?.notes), /title/)
  assert.match(JSON.stringify(third?.notes), /row 2/)
  assert.equal((await get('video?q=bridges')).json.count, 0)
  assert.equal((await get('speaker/bea-bridge', token)).status, 404)

  const applied = await apply(planned.id)
  assert.deepEqual(applied.outcome, { created: 1, changed: 0, unchanged: 0, kept: 0, refused: 2 })
  const [created] = await talksOf(planned.id, '&verdict=new')
  const video = await record(created?.video as number)
  assert.deepEqual(
    [video.title, video.speakers, video.tags, video.state],
    ['A plan for bridges', ['Bea Bridge', 'Ben Bridge'], ['steel'], 1],
  )
  assert.equal((await get('video?q=bridges')).json.count, 1)
  const { json: history } = await get(`video/${video.id}/revisions`, token)
  assert.deepEqual(
    [history.results[0].via, history.results[0].by, history.results[0].request],
    ['import', 'Edith', `import ${planned.id}`],
  )

  // The same file changes nothing when it is imported again.
  const again = await plan([talk], { source })
  assert.deepEqual(again.planned, { new: 0, changed: 0, unchanged: 1, conflict: 0, refused: 0 })
  await apply(again.id)
  assert.equal((await record(video.id)).updated, video.updated)
})

test('keeps hand edits, applies changes of the file and reports conflicts', async () => {
  const source = 'three ways'
  const talk = {
    key: 'k',
    title: 'Weirs',
    summary: 'First words',
    duration: 60,
    quality_notes: 'quiet',
  }
  const [made] = await talksOf((await apply((await plan([talk], { source })).id)).id)
  const id = made?.video as number
  await ok(
    archive.call('PATCH', `/api/v2/video/${id}`, {
      token,
      body: { summary: 'By hand', quality_notes: 'By hand too' },
    }),
  )

  const next = await plan(
    [{ ...talk, title: 'Weirs and locks', summary: 'Second words', quality_notes: 'quiet' }],
    { source },
  )
  assert.equal(next.planned.conflict, 1)
  const [row] = await talksOf(next.id)
  assert.deepEqual(row?.changes, {
    title: { old: 'Weirs', new: 'Weirs and locks' },
    summary: { old: 'By hand', new: 'Second words', conflict: true },
  })
  await apply(next.id)
  const current = await record(id)
  assert.deepEqual(
    [current.title, current.summary, current.quality_notes],
    ['Weirs and locks', 'By hand', 'By hand too'],
  )

  // The file changes again, and this time the editor takes its value.
  const third = await plan([{ ...talk, title: 'Weirs and locks', summary: 'Third words' }], {
    source,
  })
  const [conflict] = await talksOf(third.id, '&verdict=conflict')
  await ok(
    archive.call('PUT', `/api/v2/import/${third.id}/talk/${conflict?.position}`, {
      token,
      body: { take: ['summary'] },
    }),
  )
  await apply(third.id)
  assert.deepEqual(
    [(await record(id)).summary, (await record(id)).quality_notes],
    ['Third words', 'By hand too'],
  )
})

test('recognizes a renamed speaker in the next import', async () => {
  const source = 'names'
  const talk = { key: 'k', title: 'Sluices', speakers: ['Otto Oldname'] }
  const [made] = await talksOf((await apply((await plan([talk], { source })).id)).id)
  await ok(
    archive.call('PATCH', '/api/v2/speaker/otto-oldname', {
      token,
      body: { name: 'Nina Newname' },
    }),
  )
  const again = await plan([talk], { source })
  assert.equal(again.planned.unchanged, 1)
  await apply(again.id)
  assert.deepEqual((await record(made?.video as number)).speakers, ['Nina Newname'])
  const changed = await plan([{ ...talk, speakers: ['Otto Oldname', 'Second Person'] }], { source })
  const [row] = await talksOf(changed.id)
  assert.deepEqual(row?.changes.speakers, {
    old: ['Nina Newname'],
    new: ['Nina Newname', 'Second Person'],
  })
})

test('matches any URL of the same video and asks about the same text elsewhere', async () => {
  const video = await archive.make({
    title: 'Dams',
    speakers: ['Dana Dam'],
    source_url: 'https://www.youtube.com/watch?v=abcdefghijk&t=5s',
  })
  const same = await plan(
    [
      {
        key: 'x',
        title: 'Dams',
        speakers: ['Dana Dam'],
        source_url: 'https://youtu.be/abcdefghijk',
        duration: 99,
      },
    ],
    {
      source: 'hosts',
    },
  )
  const [row] = await talksOf(same.id)
  assert.equal(row?.video, video.id)
  assert.deepEqual(Object.keys(row?.changes ?? {}).sort(), ['duration', 'source_url'])
  await apply(same.id)
  const now = await record(video.id)
  assert.deepEqual(
    [now.duration, now.source_url],
    [99, 'https://www.youtube.com/watch?v=abcdefghijk&t=5s'],
  )

  const talk = {
    key: 'y',
    title: 'dams',
    speakers: ['Dana Dam'],
    source_url: 'https://media.example.org/dams',
  }
  const question = await plan([talk], { source: 'questions' })
  const [undecided] = await talksOf(question.id)
  assert.deepEqual([undecided?.verdict, undecided?.notes.at(-1)?.kind], ['conflict', 'question'])
  await apply(question.id)
  assert.equal((await talksOf(question.id))[0]?.outcome, 'kept')
  const other = await plan([talk], { source: 'questions' })
  await ok(
    archive.call('PUT', `/api/v2/import/${other.id}/talk/1`, { token, body: { same: false } }),
  )
  await apply(other.id)
  const created = (await talksOf(other.id))[0]
  assert.equal(created?.outcome, 'created')
  assert.notEqual(created?.video, video.id)
})

test('keeps the id of a talk and drops an id that is too high', async () => {
  const emptyArchive = await startArchive()
  const talk = (title: string, id?: number) =>
    JSON.stringify({ ...(id && { id }), title, category, language: 'en', speakers: [], state: 1 })
  const text = [
    ...Array.from({ length: 250 }, (_, index) => talk(`Without ${index}`)),
    talk('Seven', 7),
    talk('Far', 9_007_199_254_740_991),
  ].join('\n')
  const emptyClient = importClient(emptyArchive, emptyArchive.editor)
  const { id } = await emptyClient.plan({ text, format: 'v2' })
  await emptyClient.apply(id)
  assert.equal(
    (await emptyArchive.call('GET', '/api/v2/video/7', { token: emptyArchive.editor })).json.title,
    'Seven',
  )
  const next = await emptyArchive.make({ title: 'Next' })
  assert.ok(next.id < 1000, `the next record is ${next.id}`)
  await checkInvariants(emptyArchive.databaseUrl)
})

test('never imports a taken-down record again', async () => {
  const source = 'gone'
  const talk = { key: 'k', title: 'Gone', source_url: 'https://media.example.org/gone' }
  const [made] = await talksOf((await apply((await plan([talk], { source })).id)).id)
  await ok(
    archive.call('POST', `/api/v2/video/${made?.video}/takedown`, {
      token: archive.admin,
      body: { reason: 'asked for' },
    }),
  )
  assert.equal((await plan([talk], { source })).planned.refused, 1)
  // Nor from another source.
  const other = await plan(
    [{ key: 'other', title: 'Another title', source_url: 'http://media.example.org/gone/' }],
    {
      source: 'another source',
    },
  )
  assert.equal(other.planned.refused, 1)
  await apply(other.id)
  assert.equal((await get(`video/${made?.video}`, token)).status, 410)
})

test('does not import a fact again that an editor removed', async () => {
  const source = 'facts-by-hand'
  const talk = { key: 'locks', title: 'Locks', related: 'https://slides.example.org/locks' }
  const [row] = await talksOf((await apply((await plan([talk], { source })).id)).id)
  await ok(archive.call('PUT', `/api/v2/video/${row?.video}/facts`, { token, body: { facts: [] } }))
  const again = await plan([{ ...talk, summary: 'New' }], { source })
  assert.deepEqual(Object.keys((await talksOf(again.id))[0]?.changes ?? {}), ['summary'])
  await apply(again.id)
  assert.deepEqual((await get(`video/${row?.video}/facts`)).json.facts, [])
  // A new fact of the source is still imported.
  await apply(
    (await plan([{ ...talk, related: 'https://slides.example.org/weirs' }], { source })).id,
  )
  assert.deepEqual(
    (await get(`video/${row?.video}/facts`)).json.facts.map(({ url }: { url: string }) => url),
    ['https://slides.example.org/weirs'],
  )
})

test('restores unedited records on undo and lists the others', async () => {
  const source = 'undone'
  const old = {
    key: 'old',
    title: 'Canals',
    summary: 'Before',
    related: 'https://slides.example.org/canals',
  }
  const [before] = await talksOf((await apply((await plan([old], { source })).id)).id)
  const id = before?.video as number
  const original = await record(id)
  const second = await plan(
    [
      { ...old, title: 'Canals of the north', related: 'https://slides.example.org/north' },
      { key: 'new', title: 'Brand new' },
      { key: 'touched', title: 'Touched' },
    ],
    { source },
  )
  await apply(second.id)
  const [changed, created, touched] = await talksOf(second.id)
  assert.equal((await record(id)).title, 'Canals of the north')
  assert.deepEqual((await get(`video/${id}/facts`)).json.facts, [
    { kind: 'related', url: 'https://slides.example.org/north', label: null },
  ])
  await ok(
    archive.call('PATCH', `/api/v2/video/${touched?.video}`, {
      token,
      body: { summary: 'By hand' },
    }),
  )

  const undone = await undo(second.id)
  assert.deepEqual(undone.undone, { undone: 2, touched: 1 })
  assert.deepEqual(
    (await talksOf(second.id, '&undone=touched')).map(({ video }) => video),
    [touched?.video],
  )
  assert.deepEqual(
    { ...(await record(changed?.video as number)), updated: '' },
    { ...original, updated: '' },
  )
  assert.deepEqual((await get(`video/${id}/facts`)).json.facts, [
    { kind: 'related', url: 'https://slides.example.org/canals', label: null },
  ])
  assert.equal((await get(`video/${created?.video}`)).status, 404, 'a new record is a draft now')
  assert.equal((await record(touched?.video as number)).summary, 'By hand')

  // Importing it again makes the same record live again.
  const third = await plan([{ key: 'new', title: 'Brand new' }, { ...old }], { source })
  assert.deepEqual([third.planned.changed, third.planned.unchanged], [1, 1])
  await apply(third.id)
  assert.equal((await get(`video/${created?.video}`)).status, 200)
})

test('stops and resumes an import and rejects invalid state changes', async () => {
  const source = 'stopped'
  const talks = Array.from({ length: 450 }, (_, number) => ({
    key: `k${number}`,
    title: `Stop ${number}`,
  }))
  const { id } = await plan(talks, { source })
  assert.equal((await post(`import/${id}/undo`)).status, 409)
  assert.equal((await post(`import/${id}/stop`)).status, 409)
  await ok(post(`import/${id}/apply`))
  await ok(post(`import/${id}/stop`))
  const stopped = await until(id, 'stopped')
  await setTimeout(300)
  const { json: later } = await get(`import/${id}`, token)
  assert.ok(later.done < 450 && later.done <= stopped.done + 100, `${stopped.done}, ${later.done}`)
  const applied = await apply(id)
  assert.equal(applied.outcome.created, 450)
  assert.equal((await get('video?q=stop&page_size=1')).json.count, 450)
  assert.equal((await undo(id)).undone.undone, 450)
  assert.equal((await get('video?q=stop&page_size=1')).json.count, 0)
})

test('rejects an unknown file format and lists the known ones', async () => {
  const refused = await post('import', { text: 'Dear Sir or Madam', name: 'letter.txt' })
  assert.equal(refused.status, 400)
  assert.match(refused.json.detail, /yt-dlp[\s\S]*csv/)
  assert.equal((await post('import', {})).status, 400)
  assert.equal((await post('import', { url: 'http://127.0.0.1:1/' })).status, 400)
  assert.equal(
    (await archive.call('POST', '/api/v2/import', { body: { text: 'title\na' } })).status,
    401,
  )
})

const fields = ['title', 'summary', 'duration', 'quality_notes', 'speakers'] as const
const values: Record<(typeof fields)[number], fc.Arbitrary<unknown>> = {
  title: fc.constantFrom('One', 'Two', 'Three'),
  summary: fc.constantFrom('Red', 'Green', 'Blue'),
  duration: fc.constantFrom(10, 20, 30),
  quality_notes: fc.constantFrom('loud', 'quiet'),
  speakers: fc.constantFrom(['Ann Example'], ['Bob Example'], ['Ann Example', 'Bob Example']),
}
const someOf = fc.record(values, { requiredKeys: [] })
const step = fc.oneof(
  fc.record({ hand: someOf }),
  fc.record({ file: someOf }),
  fc.record({ file: someOf, undo: fc.constant(true) }),
)

test('loses no hand edit over random sequences of edits and imports', async () => {
  let number = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 8 }), async (steps) => {
      const source = `property ${number++}`
      const key = 'k'
      const start = {
        title: `Start ${number}`,
        summary: 'Start',
        duration: 1,
        quality_notes: 'start',
        speakers: ['Ann Example'],
      }
      const [made] = await talksOf(
        (await apply((await plan([{ key, ...start }], { source })).id)).id,
      )
      const id = made?.video as number
      // The model: the last state of the file, and the expected state of the record.
      let fileState: Record<string, unknown> = { ...start }
      let expected: Record<string, unknown> = { ...start }
      for (const action of steps) {
        if ('hand' in action) {
          await ok(archive.call('PATCH', `/api/v2/video/${id}`, { token, body: action.hand }))
          expected = { ...expected, ...action.hand }
        } else {
          const nextState = { ...fileState, ...action.file }
          const before = { fileState, expected }
          const { id: importId } = await plan([{ key, ...nextState }], { source })
          await apply(importId)
          expected = threeWay(fileState, nextState, expected)
          fileState = nextState
          if ('undo' in action) {
            await undo(importId)
            ;({ fileState, expected } = before)
          }
        }
        const video = await record(id)
        for (const field of fields)
          assert.deepEqual(
            video[field],
            expected[field],
            `${field} after ${JSON.stringify(action)}`,
          )
      }
    }),
    { numRuns: Number(process.env.IMPORT_CASES ?? 15), endOnFailure: true },
  )
})

test('keeps the archive consistent after all tests', async () => {
  await checkInvariants(archive.databaseUrl)
})
