import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Import } from '@talkshelf/contract'
import {
  applyNameChange,
  beginNameChange,
  choosePlaces,
  readNameChange,
} from '../../server/name-changes/name-changes.ts'
import { playlistJson, scheduleJson } from '../support/conference.ts'
import { operator } from '../support/desk-client.ts'
import { category, startArchive } from '../support/harness.ts'
import { importClient } from '../support/import-client.ts'
import { withDatabase } from '../support/invariants.ts'
import { until } from '../support/until.ts'

// Imports and matches after a name change: the same file again changes nothing, other people keep
// their names, and so does what an editor has kept.

const archive = await startArchive({ RESUME_SECONDS: '1' })
const { pool, editor: token } = archive
const editing = importClient(archive, token)

type Place = Awaited<ReturnType<typeof readNameChange>>['places'][number]

interface Change {
  readonly speaker: string
  readonly name: string
  readonly oldNames: readonly string[]
  readonly inLinks?: boolean
  /** Whether an editor keeps a place. */
  readonly isKept?: (place: Pick<Place, 'subject' | 'subject_id' | 'field' | 'title'>) => boolean
}

async function changeName({ speaker, inLinks = false, isKept, ...names }: Change): Promise<void> {
  const { json } = await archive.call('GET', `/api/v2/speaker/${speaker}`, { token })
  const id = await beginNameChange(pool, { ...names, speaker: json.id, inLinks }, operator)
  const read = () => readNameChange(pool, id, 0, 1000)
  await until('the plan', async () => (await read()).change.state === 'planned', {
    limitMs: 180_000,
  })
  const { places } = await read()
  const taken = places.filter((place) => !isKept?.(place)).map(({ position }) => position)
  await choosePlaces(pool, id, { from: 1, to: 10_000, taken })
  await applyNameChange(pool, id, operator)
  await until('the change', async () => (await read()).change.state === 'applied', {
    limitMs: 180_000,
  })
}

async function importCsv(source: string, text: string): Promise<Import> {
  const { id } = await editing.plan({ text, format: 'csv', source, category, language: 'en' })
  return editing.apply(id)
}

const readVideo = async (id: number | null | undefined) =>
  (await archive.call('GET', `/api/v2/video/${id}`)).json
const videoOf = async ({ id }: Import) => (await editing.rows(id))[0]?.video
const keysOf = (source: string) =>
  withDatabase(archive.databaseUrl, async (query) => {
    const rows = await query(`select key from source_record where source = '${source}' order by 1`)
    return rows.map(({ key }) => key)
  })

/** Fails unless all talks of an import were found by their keys. */
const assertKnown = ({ planned }: Import, message = '') =>
  assert.deepEqual([planned.new, planned.conflict, planned.refused], [0, 0, 0], message)

test('a former name is replaced only where it is the whole name', async () => {
  await archive.make({ speakers: ['Ann Lee', 'Sam'] })
  await changeName({ speaker: 'ann-lee', name: 'Max Lee', oldNames: ['Ann Lee'] })
  await changeName({ speaker: 'sam', name: 'Alex Doe', oldNames: ['Sam'] })
  const made = await importCsv(
    'others',
    'title,speakers,tags,summary,key\n' +
      'Uncle Sam,"Mary Ann Lee;Ann Lee Smith;ANN LEE;Sam Smith;Sam",Sam,By Ann Lee,talks/sam-x\n',
  )
  const { title, speakers, tags, summary } = await readVideo(await videoOf(made))
  assert.deepEqual(
    { title, speakers, tags, summary },
    {
      title: 'Uncle Sam',
      speakers: ['Mary Ann Lee', 'Ann Lee Smith', 'Max Lee', 'Sam Smith', 'Alex Doe'],
      tags: ['Alex Doe'],
      summary: 'By Max Lee',
    },
  )
  assert.deepEqual(await keysOf('others'), ['talks/sam-x'])
  const reversed = await archive.make({ speakers: ['Lee, Ann'] })
  assert.deepEqual(reversed.speakers, ['Max Lee'])
})

test('the same file after a change creates no records', async () => {
  const long = `talks/brian-parts-${'x'.repeat(600)}`
  const files = {
    keys: `title,speakers,key\nBrian explains,Brian Parts,talks/brian-x\nTwo,Brian Parts,talks/brian-parts-2\n`,
    long: `title,speakers,key\nThree,Brian Parts,${long}\n`,
    derived: 'title,speakers\nBrian again,Brian Parts\nBrian Parts alone,\n',
    videos: 'title,source_url\nBrian Parts,https://videos.example/brian-parts.mp4\n',
    'of Brian Parts': 'title,speakers,key\nSix,Brian Parts,6\n',
  }
  for (const [source, text] of Object.entries(files))
    assert.notEqual((await importCsv(source, text)).outcome.created, 0)
  const gone = 'title,speakers\nGone with Brian Parts,Brian Parts\n'
  const takenDown = await videoOf(await importCsv('gone', gone))
  const reply = await archive.call('POST', `/api/v2/video/${takenDown}/takedown`, {
    token: archive.admin,
    body: { reason: 'asked for' },
  })
  assert.ok(reply.status < 300, reply.text)
  await changeName({
    speaker: 'brian-parts',
    name: 'Bea Parts',
    oldNames: ['Brian Parts', 'Brian => Bea'],
  })
  for (const round of [1, 2])
    for (const [source, text] of Object.entries(files))
      assertKnown(await importCsv(source, text), `${source} ${round}`)
  const again = await editing.plan({ text: gone, format: 'csv', source: 'gone', category })
  assert.deepEqual(again.planned, { ...again.planned, new: 0, refused: 1 })
  // A new talk gets a key without the former name, and keeps it.
  const text = 'title,speakers,key\nNew,Brian Parts,talks/brian-parts-new\n'
  assert.equal((await importCsv('new', text)).outcome.created, 1)
  assert.deepEqual(await keysOf('new'), ['talks/bea-parts-new'])
  assert.equal((await importCsv('new', text)).outcome.created, 0)
})

test('a key that an editor has kept is found', async () => {
  const text = 'title,speakers,key\nKeys,Pat Keys,talks/pat-keys\n'
  await importCsv('Pat Keys', text)
  const isKept = ({ subject }: { subject: string }) => subject === 'source_record'
  await changeName({ speaker: 'pat-keys', name: 'Kit Keys', oldNames: ['Pat Keys'], isKept })
  assertKnown(await importCsv('Pat Keys', text))
})

test('texts that an editor has kept stay in later imports', async () => {
  const description = `About Kim Past, ${'a namesake '.repeat(20)}`
  const text = (summary: string) =>
    'title,speakers,key,description,related,summary\n' +
    `"Kim Past, a namesake",Someone,1,"${description}",https://x.example/1,${summary}\n` +
    `Home,Kim Past,2,By Kim Past,,${summary}\n`
  const [other, own] = await editing.rows((await importCsv('kept', text('One'))).id)
  const isKept = ({ subject_id, field }: { subject_id: number; field: string }) =>
    subject_id === other?.video && ['title', 'slug', 'description'].includes(field)
  await changeName({ speaker: 'kim-past', name: 'Kim Now', oldNames: ['Kim Past'], isKept })
  const read = async () => {
    const { title, description, summary } = await readVideo(other?.video)
    return { title, description: description.trim(), summary }
  }
  const kept = { title: 'Kim Past, a namesake', description: description.trim(), summary: 'One' }
  assert.deepEqual(await read(), kept)
  const same = await importCsv('kept', text('One'))
  assert.equal(same.planned.changed, 0)
  await importCsv('kept', text('Two'))
  // Records are served from memory, at most one second old.
  await until('the second import', async () => (await read()).summary === 'Two')
  assert.deepEqual(await read(), { ...kept, summary: 'Two' })
  assert.equal((await readVideo(own?.video)).description, 'By Kim Now')
})

test('links are changed only for the names for which that was chosen', async () => {
  await archive.make({ speakers: ['Lou Before', 'Joe Before'] })
  await changeName({ speaker: 'lou-before', name: 'Lou After', oldNames: ['Lou Before'] })
  const joe = { speaker: 'joe-before', name: 'Joe After', oldNames: ['Joe Before'] }
  await changeName({ ...joe, inLinks: true })
  const made = await importCsv(
    'links',
    'title,summary\nLinks,https://x.example/lou-before https://x.example/joe-before%2F1\n',
  )
  assert.equal(
    (await readVideo(await videoOf(made))).summary,
    'https://x.example/lou-before https://x.example/joe-after%2F1',
  )
})

test('a match after a change finds the talks of the one before', async () => {
  const files = {
    schedule: {
      text: scheduleJson([
        {
          guid: 'dee-match',
          title: 'Dee Match on gardens',
          speakers: ['Dee Match'],
          time: '12:00',
        },
        { guid: '2', title: 'Mary Dee Match', speakers: ['Mary Dee Match'], time: '13:00' },
      ]),
      source: 'schedule of Dee Match',
    },
    playlist: {
      text: playlistJson([{ id: 'dmdmdmdmdm1', title: 'Dee Match on gardens' }]),
      source: 'videos of Dee Match',
    },
    category,
  }
  const planMatch = async () => {
    const match = await editing.send('POST', 'match', files)
    const { json } = await editing.send('POST', `match/${match.json.id}/plan`, {})
    return editing.until(json.import ?? json.id, 'planned')
  }
  const first = await planMatch()
  assert.notEqual((await editing.apply(first.id)).outcome.created, 0)
  const isKept = ({ title }: { title: string }) => title === 'Mary Dee Match'
  await changeName({ speaker: 'dee-match', name: 'Dora Match', oldNames: ['Dee Match'], isKept })
  const second = await planMatch()
  assert.equal(second.planned.new, 0)
  await editing.apply(second.id)
  const { json } = await archive.call('GET', '/api/v2/speaker/mary-dee-match', { token })
  assert.equal(json.name, 'Mary Dee Match')
})
