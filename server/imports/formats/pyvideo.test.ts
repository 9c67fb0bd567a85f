import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
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

// The format of the pyvideo project: folders of events with a JSON file per talk, or one record per
// line. What is read can be written again without a difference.

const samples = fileURLToPath(new URL('samples/pyvideo/', import.meta.url))
const noOptions: ParseOptions = { category: undefined, language: undefined }

test('reads a folder of events, each with its talks', async () => {
  const items = await readAll({ path: samples })
  const categories = items.flatMap((item) => ('category' in item ? [item.category] : []))
  assert.deepEqual(categories, [
    {
      title: 'BoatConf 2019',
      description:
        'A conference on *boats* that compute.\n' +
        'See [the harbour](https://boatconf.example.org/).\n',
      url: 'https://boatconf.example.org/2019',
      start_date: '2019-06-14',
      end_date: '2019-06-16',
    },
    { title: 'Lantern Day 2021' },
  ])
  const talks = talksOf(items)
  assert.deepEqual(
    talks.map(({ key, fields }) => [key, fields.title, fields.category]),
    [
      ['boatconf-2019/videos/knots-for-programmers.json', 'Knots for programmers', 'BoatConf 2019'],
      ['boatconf-2019/videos/steering-by-stars.json', 'Steering by stars', 'BoatConf 2019'],
      ['lanternday-2021/videos/opening.json', 'Opening', 'Lantern Day 2021'],
    ],
  )
})

test('reads all fields of a talk', async () => {
  const [, stars] = talksOf(await readAll({ path: samples }))
  assert.deepEqual(stars?.fields, {
    category: 'BoatConf 2019',
    title: 'Steering by stars',
    description:
      '# Stars\n\nWith ``numpy`` and [a sextant](https://sextant.example.org):\n\n' +
      '```\nfrom stars import north\n```\n\nLines end\nin two ways.\n',
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
    'repaired: description was converted from reStructuredText to Markdown',
    'dropped: speakers had empty names: 1',
    'dropped: videos.length was 0, which is not a size in bytes; the video is kept',
    'dropped: videos.length was 1790, which is not a size in bytes; the video is kept',
  ])
})

test('keeps the id of a record only if it is from the former site', async () => {
  const talks = talksOf([
    ...(await readAll({ path: samples })),
    ...(await readAll({ path: `${samples}records.ndjson` })),
  ])
  const ids = talks.flatMap(({ id, fields }) => (id === undefined ? [] : [[id, fields.title]]))
  assert.deepEqual(ids, [[412, 'Steering by stars']])
})

test('reads one record per line, and continues after an invalid line', async () => {
  const text = readFileSync(`${samples}records.ndjson`, 'utf8').replace(
    '\n',
    '\n{"title": "half of\n\n[1]\n',
  )
  const items = await readAll({ stream: streamOf(text), name: 'records.ndjson' })
  const summaries = items.map(summaryOf)
  assert.match(String(summaries.splice(2, 1)), /^line 2: Is not valid JSON/)
  assert.deepEqual(summaries, [
    'category: Lantern Day 2021',
    'line 1: lanternday-2021/videos/opening.json',
    'line 4: Is not a JSON object',
    'line 5: lanternday-2021/videos/wicks.json',
  ])
})

test('needs a category for a single video', async () => {
  const input = { path: `${samples}boatconf-2019/videos/knots-for-programmers.json` }
  const [, item] = (await readAll(input, { ...noOptions, category: 'Knots & Co' })) as [
    ParsedItem,
    ImportItem,
  ]
  assert.equal(item.fields.category, 'Knots & Co')
  assert.equal(item.key, 'knots-co/videos/knots-for-programmers.json')
  const [refused] = await readAll(input)
  assert.ok(refused && 'unreadable' in refused)
  assert.match(refused.unreadable, /^Has no category\. Put category\.json/)
})

test('defaults to the requested language, or to undetermined', () => {
  const { language: _, ...without } = talk
  const read = (record: object, language?: string) =>
    readPyvideo({ ...without, ...record }, origin, language)
  assert.equal(read({ language: 'jpn' }).fields.language, 'jpn')
  for (const record of [{}, { language: null }, { language: '' }]) {
    assert.equal(read(record).fields.language, 'und')
    assert.equal(read(record, 'fin').fields.language, 'fin')
    assert.equal(read(record).notes[0]?.kind, 'guessed')
  }
})

test('rounds or drops a duration that is not a whole number, with a note', () => {
  const durations = [45, 1_595_000, 61.5, '90', 2_147_483_648, -1, 'long', null]
  const parts = durations.map((duration) => readPyvideo({ ...talk, duration }, origin, 'eng'))
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

test('writes every sample as it was read', async () => {
  const folder = talksOf(await readAll({ path: samples }))
  for (const item of folder) {
    const { event, file, category_title, record } = writePyvideo(storedOf(item), item.facts)
    assert.deepEqual(record, JSON.parse(readFileSync(samples + item.key, 'utf8')))
    assert.equal(file, item.key)
    assert.equal(event, file.split('/')[0])
    assert.equal(category_title, item.fields.category)
  }
  const lines = readFileSync(`${samples}records.ndjson`, 'utf8').trim().split('\n')
  const listed = talksOf(await readAll({ path: `${samples}records.ndjson` }))
  for (const [index, item] of listed.entries()) {
    const { record, ...where } = writePyvideo(storedOf(item), item.facts)
    assert.deepEqual({ ...where, ...record }, JSON.parse(lines[index] as string))
  }
})

test('keeps no fact of a common talk but the name of its file', () => {
  const { facts } = readPyvideo(talk, origin, undefined)
  assert.deepEqual(facts, [{ kind: 'said', source: 'pyvideo', field: 'file', value: origin.file }])
})

test('writes edited fields as they are now, and all others as in the file', async () => {
  const [, stars] = talksOf(await readAll({ path: samples })) as [ImportItem, ImportItem]
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

test('writes a missing key only if the record has a value', () => {
  const { tags: _, ...without } = talk
  const item = readPyvideo(without, origin, undefined)
  assert.ok(!('tags' in writePyvideo(storedOf(item), item.facts).record))
  assert.deepEqual(writePyvideo({ ...storedOf(item), tags: ['oars'] }, item.facts).record.tags, [
    'oars',
  ])
})

test('names the folder by the category and the file by the slug', () => {
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

test('reads a single folder, and respects NO_PUBLISH.json', async () => {
  const files = [
    ['NO_PUBLISH.json', '[77]'],
    ['category.json', '{"title": "Rowing Day"}'],
    ['videos/a.json', JSON.stringify({ ...talk, id: 77 })],
    ['videos/b.json', JSON.stringify(talk)],
    ['videos/c.json', '{'],
  ] as const
  const items = await collect(pyvideo.read(filesOf(files), noOptions))
  assert.deepEqual(
    items.map((item) => summaryOf(item).slice(0, 36)),
    [
      'category: Rowing Day',
      'videos/a.json: Is in NO_PUBLISH.json',
      'videos/b.json: rowing-day/videos/b.j',
      'videos/c.json: Is not valid JSON: Ex',
    ],
  )
})

test('reads NO_PUBLISH.json of the top folder before the videos of its subfolders', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'talkshelf-pyvideo-'))
  t.after(() => rmSync(folder, { recursive: true }))
  // Its name sorts before NO_PUBLISH.json.
  mkdirSync(join(folder, '2019-rowing/videos'), { recursive: true })
  writeFileSync(join(folder, 'NO_PUBLISH.json'), '[77]')
  writeFileSync(join(folder, '2019-rowing/category.json'), '{"title": "Rowing Day"}')
  writeFileSync(join(folder, '2019-rowing/videos/a.json'), JSON.stringify({ ...talk, id: 77 }))
  const { files } = await openInput({ path: folder })
  const items = await collect(pyvideo.read(files, noOptions))
  assert.deepEqual(
    items.map((item) => summaryOf(item).slice(0, 48)),
    ['category: Rowing Day', '2019-rowing/videos/a.json: Is in NO_PUBLISH.json'],
  )
})

test('recognises files by their content', () => {
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

const anyValue = fc.oneof(
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
        // Names of facts, which must not collide with keys of the file.
        '(others)',
        '(left out)',
        '__proto__',
        '',
        'x'.repeat(101),
      ),
      fc.string(),
    ),
    anyValue,
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

test('stores any record, and writes it as it was', async () => {
  await fc.assert(
    fc.asyncProperty(anyRecord, async (record) => {
      const line = JSON.stringify({
        ...record,
        category_title: ' Any ',
        event: 'any',
        file: 'any/videos/1.json',
      })
      const [item] = talksOf(
        await collect(pyvideo.read(filesOf([['all.ndjson', line]]), noOptions)),
      )
      assert.ok(item)
      assert.deepEqual(validationErrors(VideoInput, item.fields), [])
      for (const fact of item.facts) assert.deepEqual(validationErrors(Fact, fact), [])
      const { record: back, ...where } = writePyvideo(
        storedOf(item),
        JSON.parse(JSON.stringify(item.facts)),
      )
      assert.equal(
        JSON.stringify(comparable({ ...where, ...back })),
        JSON.stringify(comparable(JSON.parse(line))),
      )
    }),
    { numRuns: 300, examples: [[{ language: 'AA', title: 'T', videos: [] }]] },
  )
})

test('writes all 21,713 talks of pyvideo as they were', (t) => {
  const talks = readTalks()
  if (!talks) return t.skip('the data of pyvideo is not available')
  const counts: Record<string, number> = {}
  let facts = 0
  for (const original of talks) {
    const item = readPyvideo(
      { ...original },
      { event: original.event, file: original.file, category: original.category_title },
      undefined,
    )
    for (const fact of item.facts)
      if (fact.kind === 'said') counts[fact.field] = (counts[fact.field] ?? 0) + 1
    facts += item.facts.length
    const { record, ...where } = writePyvideo(storedOf(item), item.facts)
    if (!isDeepStrictEqual({ ...where, ...record }, original))
      assert.deepEqual({ ...where, ...record }, original)
  }
  assert.equal(talks.length, 21_713)
  t.diagnostic(`${facts} facts; original values: ${JSON.stringify(counts)}`)
})

const origin = { event: 'rowing-day', file: 'rowing-day/videos/oars.json', category: 'Rowing Day' }
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
const displayNames = new Intl.DisplayNames(['en'], { type: 'language', fallback: 'none' })

/** Returns the record that the archive stores for an item. */
function storedOf({ fields }: { readonly fields: ImportItem['fields'] }): PyvideoVideo {
  const code = fields.language ?? 'und'
  if (!languageNames.has(code)) languageNames.set(code, languageName(code))
  const normalize = (text: string) => text.normalize('NFC').trim()
  const unique = (list: readonly string[] = []) => [...new Set(list.map(normalize))]
  return {
    ...videoDefaults,
    id: 1,
    slug: '',
    ...fields,
    title: (fields.title ?? '').trim(),
    category: normalize(fields.category ?? ''),
    speakers: unique(fields.speakers),
    tags: unique(fields.tags),
    language: languageNames.get(code) as string,
  } as PyvideoVideo
}

function languageName(code: string): string {
  if (code === 'und') return 'Undetermined'
  return isCode(code) ? (displayNames.of(code) ?? code) : code
}

function isCode(text: string): boolean {
  try {
    return Intl.getCanonicalLocales(text).length > 0
  } catch {
    return false
  }
}

/** Returns the value as it can be stored, with sorted keys, for comparisons. */
function comparable(value: unknown): unknown {
  const clean = (text: string) => text.toWellFormed().replaceAll('\0', '')
  if (typeof value === 'string') return clean(value)
  if (Array.isArray(value)) return value.map(comparable)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(
    ([key, item]) => [clean(key), comparable(item)] as const,
  )
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)))
}

async function readAll(
  input: Parameters<typeof openInput>[0],
  options = noOptions,
): Promise<ParsedItem[]> {
  return collect(pyvideo.read((await openInput(input)).files, options))
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const item of items) list.push(item)
  return list
}

const talksOf = (items: readonly ParsedItem[]) => items.filter((item) => 'fields' in item)

function summaryOf(item: ParsedItem): string {
  if ('category' in item) return `category: ${item.category.title}`
  if ('fields' in item) return `${item.place}: ${item.key}`
  return 'unreadable' in item ? `${item.place}: ${item.unreadable}` : item.place
}

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
