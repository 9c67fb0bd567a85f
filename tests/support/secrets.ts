import assert from 'node:assert/strict'
import { mock } from 'node:test'
import type { Fact } from '@talkshelf/contract'
import { maintain } from '../../server/maintenance/maintenance.ts'
import { category, type Reply, type TestArchive } from './harness.ts'
import { withDatabase } from './invariants.ts'
import { setSourceState } from './source-states.ts'
import { until } from './until.ts'

// An archive with public content and secrets. Two archives with the same public content and
// different secrets must look the same to readers.

/** Values that readers must not see. The archives have no value in common. */
export interface Secrets {
  readonly word: string
  /** The language of drafts and of records that were taken down. */
  readonly language: string
  readonly recorded: string
  /** The prefix of the names of three hundred speakers of drafts. */
  readonly crowd: string
  /** A word of a draft and of a record that was taken down, with the stem of a public word. */
  readonly inflected: string
}

export const secrets: readonly [Secrets, Secrets] = [
  {
    word: 'Wombat',
    language: 'Swedish',
    recorded: '1997-03-04',
    crowd: 'Nora',
    inflected: 'gardeners',
  },
  {
    word: 'Zyzzyvasaurus',
    language: 'Finnish',
    recorded: '2003-11-12',
    crowd: 'Qwert',
    inflected: 'gardened',
  },
]

/** Returns the retired slugs of former names. */
export const retired = ({ word }: Secrets) => ({
  speaker: [`${word.toLowerCase()}-former`, `${word.toLowerCase()}-merged`],
  tag: [`${word.toLowerCase()}-label`],
  category: [`${word.toLowerCase()}-days`],
})

/** Returns the slugs of entities that are not public; readers get 404 for all of them. */
export const unlisted = ({ word }: Secrets) =>
  ['draft', 'down', 'alias'].map((name) => `${word.toLowerCase()}-${name}`)

export const pyvideoTitle = 'Imported from elsewhere'

/**
 * Fills an archive. The clock of this process, which all public timestamps come from, is set before
 * each write, so that both archives have the same timestamps.
 */
export async function fill(archive: TestArchive, secret: Secrets): Promise<void> {
  const writer = startWriting(archive)
  await addManyDraftNames(writer, secret)
  await addPublicRecords(writer, secret)
  await addDrafts(writer, secret)
  await addTakedowns(writer, secret)
  await addFormerNames(writer, secret)
  await addImports(archive, writer, secret)
  await addReplacedTexts(writer, secret)
  await addSourceStates(archive, writer, secret)

  // Removes words of former names and titles, after the time that operations.md states.
  await maintain(archive.pool, {
    importDays: 90,
    everyHours: 0,
    isStopped: () => false,
    onDone: () => {},
  })
}

interface SecretsWriter {
  /** Sends a write as an admin; fails unless the status is 2xx. */
  send(method: string, path: string, body?: object): Promise<Reply>
  /** Creates a live record, and returns it. */
  make(fields: object): Promise<{ id: number }>
}

function startWriting(archive: TestArchive): SecretsWriter {
  let nowMs = Date.parse('2026-01-01T00:00:00Z')
  const send = async (method: string, path: string, body: object = {}): Promise<Reply> => {
    nowMs += 1000
    mock.timers.setTime(nowMs)
    const reply = await archive.call(method, `/api/v2/${path}`, { token: archive.admin, body })
    assert.ok(reply.status < 300, `${method} ${path}: ${reply.text}`)
    return reply
  }
  const make = async (fields: object) =>
    (await send('POST', 'video', { category, language: 'English', state: 1, ...fields })).json
  return { send, make }
}

/** Returns the fields of drafts and of records that were taken down. */
const secretFields = ({ word, language, recorded, inflected }: Secrets) => ({
  title: `${word} ${inflected} draft`,
  summary: `Summary ${word}`,
  description: `Description ${word}`,
  speakers: [`${word} Draft`],
  tags: [`${word} draft`],
  language,
  recorded,
  duration: word.length * 100,
  source_url: `https://example.org/${word}`,
  thumbnail_url: `https://example.org/${word}.png`,
  copyright_text: word,
  whiteboard: word,
})

/** Adds so many names of drafts that they could fill a limited list of candidates. */
async function addManyDraftNames({ make }: SecretsWriter, { word, crowd }: Secrets): Promise<void> {
  for (const part of [1, 2, 3])
    await make({
      title: `${word} crowd ${part}`,
      state: 2,
      speakers: Array.from(
        { length: 100 },
        (_, number) => `${crowd} Crowd ${word} ${part} ${number}`,
      ),
      tags: Array.from({ length: 100 }, (_, number) => `${crowd} tag ${word} ${part} ${number}`),
    })
}

async function addPublicRecords({ send, make }: SecretsWriter, { word }: Secrets): Promise<void> {
  await send('PATCH', 'category/example-days-2026', {
    description: 'Days of examples',
    start_date: '2024-05-01',
    city: 'Example Town',
    country: 'NO',
    series: 'Example Days',
    colour: '#123456',
  })
  await make({
    title: 'Gardens of the moon',
    speakers: ['Nora Public', 'Ada Example'],
    tags: ['gardens', 'moon'],
    recorded: '2024-05-01',
  })
  const published = await make({
    title: 'Gardening for two',
    speakers: ['Ada Example'],
    tags: ['gardens'],
    recorded: '2025-06-01',
    duration: 1800,
  })
  const facts: Fact[] = [
    { kind: 'related', url: 'https://example.org/slides', label: 'Slides' },
    { kind: 'said', source: 'pyvideo', field: 'speakers', value: [word] },
  ]
  await send('PUT', `video/${published.id}/facts`, { facts })
}

/** Adds drafts; one of them was public before. */
async function addDrafts({ send, make }: SecretsWriter, secret: Secrets): Promise<void> {
  const { word } = secret
  const draft = await make({ ...secretFields(secret), state: 2 })
  await send('PATCH', `speaker/${word.toLowerCase()}-draft`, {
    description: word,
    pronouns: word,
    picture_url: `https://example.org/${word}.png`,
  })
  await send('PUT', `video/${draft.id}/facts`, {
    facts: [{ kind: 'address', path: `old/${word}` }],
  })
  const unpublished = await make({ ...secretFields(secret), title: `${word} unpublished` })
  await send('PATCH', `video/${unpublished.id}`, { state: 2 })
}

async function addTakedowns({ send, make }: SecretsWriter, secret: Secrets): Promise<void> {
  const { word, inflected } = secret
  for (const title of [`${word} ${inflected} down`, `${word} down again`]) {
    const down = await make({
      ...secretFields(secret),
      title,
      speakers: [`${word} Down`],
      tags: [`${word} down`],
    })
    await send('POST', `video/${down.id}/takedown`, { reason: 'The speaker asked for it' })
  }
}

/** Adds names that are no longer public: of renamed and merged entities, and hidden aliases. */
async function addFormerNames({ send, make }: SecretsWriter, { word }: Secrets): Promise<void> {
  await send('POST', 'category', { title: `${word} Days` })
  await make({
    title: 'Renamed people',
    category: `${word} Days`,
    speakers: [`${word} Former`],
    tags: [`${word} label`],
  })
  await send('PATCH', `speaker/${word.toLowerCase()}-former`, {
    pronouns: word,
    description: `Known as ${word}`,
    picture_url: `https://example.org/${word}.png`,
    links: [{ kind: 'website', url: `https://example.org/${word}` }],
  })
  await send('PATCH', `speaker/${word.toLowerCase()}-former`, {
    pronouns: null,
    description: '',
    picture_url: null,
    links: [],
    name: 'Nell Now',
    retired_slugs: [`${word.toLowerCase()}-former`],
  })
  await send('PATCH', `tag/${word.toLowerCase()}-label`, {
    name: 'label',
    retired_slugs: [`${word.toLowerCase()}-label`],
  })
  const about = { city: word, series: word, logo_url: `https://example.org/${word}.png` }
  await send('PATCH', `category/${word.toLowerCase()}-days`, about)
  await send('PATCH', `category/${word.toLowerCase()}-days`, {
    city: null,
    series: null,
    logo_url: null,
    title: 'New Days',
    retired_slugs: [`${word.toLowerCase()}-days`],
  })
  await make({ title: 'Merged people', speakers: [`${word} Merged`, 'Mara Stays'] })
  await send('POST', `speaker/${word.toLowerCase()}-merged/merge`, { into: 'mara-stays' })
  await send('PATCH', 'speaker/mara-stays', { retired_slugs: [`${word.toLowerCase()}-merged`] })
  const aliases = [{ name: `${word} Alias` }, { name: 'Ada E.', shown: true }]
  await send('PATCH', 'speaker/ada-example', { aliases })
}

/** Adds an applied import with a former name, and one that is only planned. */
async function addImports(
  archive: TestArchive,
  { send }: SecretsWriter,
  { word }: Secrets,
): Promise<void> {
  const line = {
    event: 'elsewhere',
    category_title: category,
    file: `elsewhere/videos/${word}.json`,
    title: pyvideoTitle,
    speakers: [` ${word} Former`],
    tags: ['moon'],
    recorded: '2025-01-01',
    language: 'eng',
    [`about_${word}`]: word,
    videos: [{ type: 'youtube', url: 'https://www.youtube.com/watch?v=aaaaaaaaaaa' }],
  }
  await importText(archive, send, `${JSON.stringify(line)}\n`, true)
  await importText(
    archive,
    send,
    `${JSON.stringify({ ...line, title: `${word} planned`, file: 'elsewhere/videos/b.json' })}\n`,
    false,
  )
}

/** Adds a record whose secret texts have been replaced. */
async function addReplacedTexts({ send, make }: SecretsWriter, { word }: Secrets): Promise<void> {
  const changed = await make({
    title: 'Changed since',
    description: `Description ${word}`,
    summary: word,
  })
  await send('PATCH', `video/${changed.id}`, {
    title: `${word} for a while`,
    tags: [`${word} draft`],
  })
  await send('PATCH', `video/${changed.id}`, {
    title: 'Changed since',
    description: '',
    summary: '',
    tags: [],
  })
}

/**
 * Adds a suspicion against a source in one of the archives, and what was found out about sources of
 * drafts and of records that were taken down.
 */
async function addSourceStates(
  { databaseUrl }: TestArchive,
  { send, make }: SecretsWriter,
  { word }: Secrets,
): Promise<void> {
  const [there, lost] = ['https://videos.example.org/1.mp4', 'https://videos.example.org/2.mp4']
  await make({ title: 'Found elsewhere', source_url: there, video_mp4_url: lost })
  await make({ title: `${word} of the same`, source_url: there, video_mp4_url: lost, state: 2 })
  const isSuspect = word === secrets[0].word
  const found = { since: '2026-01-02T00:00:00Z', lastGood: '2026-01-02T00:00:00Z' }
  await setSourceState(databaseUrl, there, 'ok', found)
  if (isSuspect)
    await setSourceState(databaseUrl, there, 'suspect', { ...found, since: '2026-01-05T00:00:00Z' })
  await setSourceState(databaseUrl, lost, 'private')
  // Drafts and the records that were taken down share this one.
  const [source] = await withDatabase(databaseUrl, (query) =>
    query('select id::int from source where url = $1', [`https://example.org/${word}`]),
  )
  for (const state of isSuspect ? ['gone', 'ok', 'private'] : ['region'])
    await send('PATCH', `source/${source?.id}`, { pin: { state, until: '2999-01-01' } })
}

/** Imports a file, and applies it unless only a plan is wanted. */
async function importText(
  archive: TestArchive,
  send: SecretsWriter['send'],
  text: string,
  isApplied: boolean,
) {
  const { json } = await send('POST', 'import', { text, format: 'pyvideo', source: 'elsewhere' })
  const untilState = async (state: string) => {
    const reply = await until(`import ${json.id} to be ${state}`, async () => {
      const current = await archive.call('GET', `/api/v2/import/${json.id}`, {
        token: archive.editor,
      })
      return [state, 'failed'].includes(current.json.state) && current
    })
    assert.equal(reply.json.state, state, reply.text)
    assert.equal(reply.json.planned.refused, 0, reply.text)
  }
  await untilState('planned')
  if (!isApplied) return
  await send('POST', `import/${json.id}/apply`)
  await untilState('applied')
}
