import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { Fact, VideoInput, validationErrors, videoDefaults } from '@talkshelf/contract'
import fc from 'fast-check'
import { readTalks } from '../../../tests/support/pyvideo.ts'
import { openInput } from '../input/input.ts'
import type { ImportItem, ParsedItem, ParseOptions } from '../item.ts'
import { pyvideo } from './pyvideo.ts'
import { type PyvideoVideo, readPyvideo, writePyvideo } from './pyvideo-record.ts'

const samples = fileURLToPath(new URL('samples/pyvideo/', import.meta.url))
const nothing: ParseOptions = { category: undefined, language: undefined }

test('a folder of events gives each event with what is known about it, and then its talks', async () => {
  const readings = await readAll({ path: samples })
  const categories = readings.flatMap((it) => ('category' in it ? [it.category] : []))
  assert.deepEqual(categories, [
    {
      title: 'BoatConf 2019',
      description:
        'A conference on *boats* that compute.\nSee [the harbour](https://boatconf.example.org/).\n',
      url: 'https://boatconf.example.org/2019',
      start_date: '2019-06-14',
      end_date: '2019-06-16',
    },
    { title: 'Lantern Day 2021' },
  ])
  const drafts = draftsOf(readings)
  assert.deepEqual(
    drafts.map(({ key, fields }) => [key, fields.title, fields.category]),
    [
      ['boatconf-2019/videos/knots-for-programmers.json', 'Knots for programmers', 'BoatConf 2019'],
      ['boatconf-2019/videos/steering-by-stars.json', 'Steering by stars', 'BoatConf 2019'],
      ['lanternday-2021/videos/opening.json', 'Opening', 'Lantern Day 2021'],
    ],
  )
})

test('a talk has its texts as Markdown, its names once, its day, and its recordings in the fields that there are for them', async () => {
  const [, stars] = draftsOf(await readAll({ path: samples }))
  assert.deepEqual(stars?.fields, {
    category: 'BoatConf 2019',
    title: 'Steering by stars',
    description:
      '# Stars\n\nWith ``numpy`` and [a sextant](https://sextant.example.org):\n\n```\nfrom stars import north\n```\n\nLines end\nin two ways.\n',
    summary: 'Where is north?',
    quality_notes: '',
    copyright_text: 'CC BY',
    speakers: ['Ingvild Nordlys'],
    tags: [],
    recorded: '2019-06-15',
    language: 'nob',
    duration: null,
    thumbnail_url: '',
    source_url: 'https://www.youtube.com/watch?v=stars000002',
    video_mp4_url: 'http://media.example.org/stars.mp4',
    video_mp4_length: 3_744_241_418,
    video_webm_url: 'https://media.example.org/stars.webm',
    video_webm_length: null,
    video_ogv_url: null,
    video_ogv_length: null,
    video_flv_url: null,
    video_flv_length: null,
  })
  assert.deepEqual(
    stars?.facts.filter(({ kind }) => kind !== 'said'),
    [
      { kind: 'media', url: 'https://youtu.be/stars000003', type: 'youtube', size: null },
      { kind: 'media', url: 'https://media.example.org/stars.mkv', type: 'mkv', size: null },
      { kind: 'address', path: 'video/412/steering-by-stars' },
    ],
  )
  const notes = stars?.notes.map(({ kind, field, detail }) => `${kind}: ${field} ${detail}`)
  assert.deepEqual(notes, [
    'repaired: description was reStructuredText, and is Markdown here',
    'dropped: speakers has empty names: 1',
    'dropped: videos has the length 0, which is no number of bytes',
    'dropped: videos has the length 1790, which is no number of bytes',
  ])
})

test('the number of a record is taken only where it is the number of the former site', async () => {
  const drafts = draftsOf([
    ...(await readAll({ path: samples })),
    ...(await readAll({ path: `${samples}records.ndjson` })),
  ])
  const numbers = drafts.flatMap(({ id, fields }) => (id === undefined ? [] : [[id, fields.title]]))
  assert.deepEqual(numbers, [[412, 'Steering by stars']])
})

test('records with one a line name their event themselves, and one wrong line spoils no other', async () => {
  const text = readFileSync(`${samples}records.ndjson`, 'utf8').replace(
    '\n',
    '\n{"title": "half of\n\n[1]\n',
  )
  const readings = await readAll({ stream: streamOf(text), name: 'records.ndjson' })
  const told = readings.map((it) =>
    'category' in it
      ? it.category.title
      : 'fields' in it
        ? `${it.place}: ${it.key}`
        : 'unreadable' in it && `${it.place}: ${it.unreadable}`,
  )
  assert.match(String(told.splice(2, 1)), /^line 2: Is no JSON/)
  assert.deepEqual(told, [
    'Lantern Day 2021',
    'line 1: lanternday-2021/videos/opening.json',
    'line 4: Is no object, as a record is',
    'line 5: lanternday-2021/videos/wicks.json',
  ])
})

test('one video by itself belongs to the category that was asked for; without one it is told what to do', async () => {
  const given = { path: `${samples}boatconf-2019/videos/knots-for-programmers.json` }
  const [, draft] = (await readAll(given, { ...nothing, category: 'Knots & Co' })) as [
    ParsedItem,
    ImportItem,
  ]
  assert.equal(draft.fields.category, 'Knots & Co')
  assert.equal(draft.key, 'knots-co/videos/knots-for-programmers.json')
  const [refused] = await readAll(given)
  assert.ok(refused && 'unreadable' in refused)
  assert.match(refused.unreadable, /^Names no event\. Put category\.json/)
})

test('a language that nobody said is undetermined, or the one that was asked for', () => {
  const { language: _, ...without } = talk
  const read = (record: object, language?: string) =>
    readPyvideo({ ...without, ...record }, place, language)
  assert.equal(read({ language: 'jpn' }).fields.language, 'jpn')
  for (const record of [{}, { language: null }, { language: '' }]) {
    assert.equal(read(record).fields.language, 'und')
    assert.equal(read(record, 'fin').fields.language, 'fin')
    assert.equal(read(record).notes[0]?.kind, 'guessed')
  }
})

test('a duration stays as it is where it is a whole number; others are rounded or left out, and told of', () => {
  const durations = [45, 1_595_000, 61.5, '90', 2_147_483_648, -1, 'long', null]
  const parts = durations.map((duration) => readPyvideo({ ...talk, duration }, place, 'eng'))
  assert.deepEqual(
    parts.map(({ fields, notes }) => [fields.duration, notes.length]),
    [
      [45, 0],
      [1_595_000, 0],
      [62, 1],
      [90, 1],
      [null, 1],
      [null, 1],
      [null, 1],
      [null, 0],
    ],
  )
})

test('what comes back is what was given, for every sample', async () => {
  const folder = draftsOf(await readAll({ path: samples }))
  for (const draft of folder) {
    const { event, file, category_title, record } = writePyvideo(storedOf(draft), draft.facts)
    assert.deepEqual(record, JSON.parse(readFileSync(samples + draft.key, 'utf8')))
    assert.equal(file, draft.key)
    assert.equal(event, file.split('/')[0])
    assert.equal(category_title, draft.fields.category)
  }
  const lines = readFileSync(`${samples}records.ndjson`, 'utf8').trim().split('\n')
  const listed = draftsOf(await readAll({ path: `${samples}records.ndjson` }))
  for (const [at, draft] of listed.entries()) {
    const { record, ...where } = writePyvideo(storedOf(draft), draft.facts)
    assert.deepEqual({ ...where, ...record }, JSON.parse(lines[at] as string))
  }
})

test('a common talk needs no fact but the name of its file', () => {
  const { facts } = readPyvideo(talk, place, undefined)
  assert.deepEqual(facts, [{ kind: 'said', source: 'pyvideo', field: 'file', value: place.file }])
})

test('what was edited since the import is written as it is now, and all else as the file had it', async () => {
  const [, stars] = draftsOf(await readAll({ path: samples })) as [ImportItem, ImportItem]
  const stored = storedOf(stars)
  const file = JSON.parse(readFileSync(samples + stars.key, 'utf8'))
  const edited = (change: Partial<PyvideoVideo>, facts = stars.facts) =>
    writePyvideo({ ...stored, ...change }, facts).record
  assert.deepEqual(edited({ description: 'All *new*.' }), { ...file, description: 'All *new*.' })
  assert.deepEqual(edited({ title: 'Stars' }), { ...file, title: 'Stars' })
  assert.deepEqual(edited({ recorded: '2019-06-16' }), { ...file, recorded: '2019-06-16' })
  assert.deepEqual(edited({ speakers: ['Ingvild Dahl'] }), { ...file, speakers: ['Ingvild Dahl'] })
  assert.deepEqual(edited({ duration: 1790 }), { ...file, duration: 1790 })
  assert.deepEqual(edited({ language: 'Danish' }), { ...file, language: 'dan' })
  assert.deepEqual(edited({ video_webm_url: null }).videos, [
    { type: 'mp4', url: 'http://media.example.org/stars.mp4', size: 3_744_241_418 },
    { type: 'youtube', url: 'https://www.youtube.com/watch?v=stars000002' },
    { type: 'youtube', url: 'https://youtu.be/stars000003' },
    { type: 'mkv', url: 'https://media.example.org/stars.mkv' },
  ])
  const fewer = stars.facts.filter((fact) => !(fact.kind === 'media' && fact.type === 'mkv'))
  assert.equal((edited({}, fewer).videos as unknown[]).length, 4)
  const more = [
    ...stars.facts,
    { kind: 'related', url: 'https://example.org/map', label: null } as const,
  ]
  assert.deepEqual(edited({}, more), { ...file, related_urls: ['https://example.org/map'] })
})

test('a key that was left out stays out only while there is nothing to say', () => {
  const { tags: _, ...without } = talk
  const draft = readPyvideo(without, place, undefined)
  assert.ok(!('tags' in writePyvideo(storedOf(draft), draft.facts).record))
  assert.deepEqual(writePyvideo({ ...storedOf(draft), tags: ['oars'] }, draft.facts).record.tags, [
    'oars',
  ])
})

test('a record that was never imported gets a folder by its category, and a file by its slug', () => {
  const stored = {
    ...storedOf({ fields: { title: 'Å ro', category: 'Rowing Day' } }),
    language: 'Norwegian',
    slug: 'a-ro',
  }
  const { event, category_title, file, record } = writePyvideo(stored, [])
  assert.deepEqual(
    { event, category_title, file },
    { event: 'rowing-day', category_title: 'Rowing Day', file: 'rowing-day/videos/a-ro.json' },
  )
  assert.deepEqual(record, {
    title: 'Å ro',
    description: '',
    speakers: [],
    tags: [],
    recorded: null,
    language: 'nor',
    videos: [],
  })
})

test('a folder by itself, or a list of talks that must not be published, is respected', async () => {
  const files = [
    ['NO_PUBLISH.json', '[77]'],
    ['category.json', '{"title": "Rowing Day"}'],
    ['videos/a.json', JSON.stringify({ ...talk, id: 77 })],
    ['videos/b.json', JSON.stringify(talk)],
    ['videos/c.json', '{'],
  ] as const
  const readings = await collect(pyvideo.read(filesOf(files), nothing))
  const told = readings.map((it) =>
    'unreadable' in it
      ? it.unreadable.slice(0, 21)
      : 'key' in it
        ? it.key
        : 'category' in it && it.category.title,
  )
  assert.deepEqual(told, [
    'Rowing Day',
    'Is in NO_PUBLISH.json',
    'rowing-day/videos/b.json',
    'Is no JSON: Expected ',
  ])
})

test('the kind of file is seen by what is in it', () => {
  const line = readFileSync(`${samples}records.ndjson`, 'utf8')
  const video = readFileSync(`${samples}boatconf-2019/videos/knots-for-programmers.json`, 'utf8')
  const category = readFileSync(`${samples}boatconf-2019/category.json`, 'utf8')
  assert.ok(pyvideo.recognises(line, 'anything.txt'))
  assert.ok(pyvideo.recognises(video, 'one.json'))
  assert.ok(pyvideo.recognises(category, 'boatconf-2019/category.json'))
  assert.ok(pyvideo.recognises('[\n  12,\n 13]', 'NO_PUBLISH.json'))
  assert.ok(!pyvideo.recognises(category, 'one.json'))
  assert.ok(
    !pyvideo.recognises('{"title": "x", "category": "y", "speakers": [], "state": 1}', 'v2.json'),
  )
  assert.ok(!pyvideo.recognises('title;speakers;videos;recorded', 'list.csv'))
  assert.ok(!pyvideo.recognises('', ''))
})

const odd = fc.oneof(
  fc.json({ maxDepth: 2 }).map((text) => JSON.parse(text)),
  fc.constantFrom(
    null,
    '',
    [],
    {},
    ' x ',
    'x\u0000\u0007',
    '\ud800',
    '2020-02-30',
    '0000-01-01',
    'https://a.example.org',
    ['', ' a', 'a', 1],
    1e20,
    -0.5,
    3.7,
  ),
  fc.array(
    fc.record(
      {
        type: fc.constantFrom('mp4', 'youtube', 'mkv', 1),
        url: fc.webUrl(),
        size: fc.integer(),
        length: fc.integer(),
      },
      { requiredKeys: ['url'] },
    ),
  ),
  fc.array(fc.record({ label: fc.string(), url: fc.string() }, { requiredKeys: [] })),
  fc.string({ unit: 'binary' }),
)
const knownKeys = [
  'description',
  'summary',
  'speakers',
  'tags',
  'recorded',
  'language',
  'duration',
  'thumbnail_url',
  'videos',
  'related_urls',
  'alias',
  'id',
]
const anyRecord = fc
  .dictionary(
    fc.oneof(
      fc.constantFrom(
        ...knownKeys,
        'slug',
        '(others)',
        '(left out)',
        '__proto__',
        '',
        'x'.repeat(101),
      ),
      fc.string(),
    ),
    odd,
    { maxKeys: 20 },
  )
  .map((some) =>
    JSON.parse(
      JSON.stringify({
        ...some,
        title: 'T',
        ...(!Array.isArray(some.speakers) && !Array.isArray(some.videos) && { videos: [] }),
      }),
    ),
  )

test('whatever a record has, what is made of it can be stored, and the record comes back', async () => {
  await fc.assert(
    fc.asyncProperty(anyRecord, async (record) => {
      const line = JSON.stringify({
        ...record,
        category_title: ' Any ',
        event: 'any',
        file: 'any/videos/1.json',
      })
      const [draft] = draftsOf(
        await collect(pyvideo.read(filesOf([['all.ndjson', line]]), nothing)),
      )
      assert.ok(draft)
      assert.deepEqual(validationErrors(VideoInput, draft.fields), [])
      for (const fact of draft.facts) assert.deepEqual(validationErrors(Fact, fact), [])
      const { record: back, ...where } = writePyvideo(
        storedOf(draft),
        JSON.parse(JSON.stringify(draft.facts)),
      )
      assert.equal(
        JSON.stringify(sorted({ ...where, ...back })),
        JSON.stringify(sorted(JSON.parse(line))),
      )
    }),
    { numRuns: 300 },
  )
})

test('all 21,713 talks of pyvideo come back as they were', (t) => {
  const talks = readTalks()
  if (!talks) return t.skip('the data of pyvideo is not at hand')
  const counts: Record<string, number> = {}
  let facts = 0
  for (const given of talks) {
    const draft = readPyvideo(
      { ...given },
      { event: given.event, file: given.file, category: given.category_title },
      undefined,
    )
    for (const fact of draft.facts)
      if (fact.kind === 'said') counts[fact.field] = (counts[fact.field] ?? 0) + 1
    facts += draft.facts.length
    const { record, ...where } = writePyvideo(storedOf(draft), draft.facts)
    if (!isDeepStrictEqual({ ...where, ...record }, given))
      assert.deepEqual({ ...where, ...record }, given)
  }
  assert.equal(talks.length, 21_713)
  t.diagnostic(`${facts} facts; what is kept as it was said: ${JSON.stringify(counts)}`)
})

const place = { event: 'rowing-day', file: 'rowing-day/videos/oars.json', category: 'Rowing Day' }
const talk = {
  title: 'Oars',
  description: 'How to row.\n\nWith two of them.\n',
  speakers: ['Tove Årnes'],
  tags: [],
  recorded: '2020-05-01',
  language: 'eng',
  duration: 1200,
  thumbnail_url: 'https://i.example.org/oars.jpg',
  videos: [{ type: 'youtube', url: 'https://www.youtube.com/watch?v=oars0000001' }],
}

const languageNames = new Map<string, string>()
const names = new Intl.DisplayNames(['en'], { type: 'language', fallback: 'none' })

/** The record that the archive makes of a draft. */
function storedOf({ fields }: { readonly fields: ImportItem['fields'] }): PyvideoVideo {
  const code = fields.language ?? 'und'
  if (!languageNames.has(code))
    languageNames.set(
      code,
      code === 'und' ? 'Undetermined' : isCode(code) ? (names.of(code) ?? code) : code,
    )
  const tidy = (text: string) => text.normalize('NFC').trim()
  const once = (list: readonly string[] = []) => [...new Set(list.map(tidy))]
  return {
    ...videoDefaults,
    id: 1,
    slug: '',
    ...fields,
    title: (fields.title ?? '').trim(),
    category: tidy(fields.category ?? ''),
    speakers: once(fields.speakers),
    tags: once(fields.tags),
    language: languageNames.get(code) as string,
  } as PyvideoVideo
}

function isCode(text: string): boolean {
  try {
    return Intl.getCanonicalLocales(text).length > 0
  } catch {
    return false
  }
}

/** As it can be stored, in one order. */
function sorted(value: unknown): unknown {
  const text = (it: string) => it.toWellFormed().replaceAll('\0', '')
  if (typeof value === 'string') return text(value)
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, it]) => [text(key), sorted(it)] as const)
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)))
}

async function readAll(
  given: Parameters<typeof openInput>[0],
  options = nothing,
): Promise<ParsedItem[]> {
  return collect(pyvideo.read((await openInput(given)).files, options))
}

async function collect<T>(all: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const one of all) list.push(one)
  return list
}

const draftsOf = (readings: readonly ParsedItem[]) => readings.filter((it) => 'fields' in it)

async function* streamOf(text: string) {
  yield Buffer.from(text)
}

async function* filesOf(files: readonly (readonly [path: string, text: string])[]) {
  for (const [path, text] of files) {
    const lines = async function* () {
      yield* text.split('\n')
    }
    yield { path, text: async () => text, lines }
  }
}
