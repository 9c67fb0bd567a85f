import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readItems, sample, sampleNames, skipped, talksOf } from '../../../tests/support/formats.ts'
import { fieldsOfNewRecord, InputRefused, type ParseOptions } from '../item.ts'
import { ytdlp } from './ytdlp.ts'

const readTexts = (texts: Record<string, string>, options?: ParseOptions) =>
  readItems(ytdlp, texts, options)
const read = (name: string, options?: ParseOptions) => readTexts({ [name]: sample(name) }, options)

test('reads the videos of a playlist in order, and says why some are skipped', async () => {
  const all = await read('ytdlp-playlist.json')
  const [first, second] = talksOf(all)
  const url = 'https://www.youtube.com/playlist?list=PLexample0000000000000000000000001'
  const event = { description: 'All talks', links: [{ kind: 'videos', url }] }
  assert.deepEqual(
    all.filter((item) => 'category' in item),
    [{ category: { title: 'Heronbridge Python Days 2031', ...event } }],
  )
  const [named] = await read('ytdlp-playlist.json', { category: 'Days', language: undefined })
  assert.deepEqual(named, { category: { title: 'Days', ...event } })
  assert.deepEqual(first, {
    place: 'ytdlp-playlist.json, entry 1',
    key: 'youtube:exampleAAA1',
    fields: {
      title: 'Watching rivers with asyncio',
      description: 'How *one* loop reads 40 gauges.\n\n00:00 Start',
      duration: 1805,
      thumbnail_url: 'https://img.example.org/exampleAAA1/large.jpg',
      source_url: 'https://www.youtube.com/watch?v=exampleAAA1',
    },
    fallback: { category: 'Heronbridge Python Days 2031', recorded: '2031-01-01' },
    facts: [{ kind: 'programme', position: 1 }],
    notes: [
      { kind: 'guessed', field: 'category', detail: 'is the title of the playlist' },
      {
        kind: 'warning',
        code: 'guessed-date',
        field: 'recorded',
        detail: 'is not in the file: set to 1 January 2031, by the title of the event',
      },
    ],
  })
  assert.equal(second?.fields.source_url, 'https://www.youtube.com/watch?v=exampleAAA2')
  assert.equal(second?.fields.thumbnail_url, 'https://img.example.org/exampleAAA2/1.jpg')
  assert.equal(second?.fields.duration, 1800)
  assert.deepEqual(second?.notes[1], {
    kind: 'repaired',
    field: 'duration',
    detail: 'was rounded from 1799.6 to 1800 seconds',
  })
  assert.equal(talksOf(all).length, 2)
  assert.deepEqual(skipped(all), [
    'ytdlp-playlist.json, entry 3: Is a private video (exampleAAA3)',
    'ytdlp-playlist.json, entry 4: Is a deleted video (exampleAAA4)',
    'ytdlp-playlist.json, entry 5: Is empty: yt-dlp could not read this video',
    'ytdlp-playlist.json, entry 6: Has no id',
  ])
})

test('takes the category of a video from its playlist in a channel', async () => {
  const all = await read('ytdlp-channel.json')
  assert.deepEqual(
    talksOf(all).map(({ place, key, fallback }) => [place, key, fallback?.category]),
    [
      ['ytdlp-channel.json, entry 1, entry 1', 'youtube:exampleBBB1', 'Heronbridge Python'],
      [
        'ytdlp-channel.json, entry 2, entry 1',
        'youtube:exampleBBB2',
        'Heronbridge Python Days 2030',
      ],
    ],
  )
  assert.match(skipped(all)[0] ?? '', /entry 3: Is only a link to a playlist/)
})

test('reads all fields of a single video', async () => {
  assert.deepEqual(await read('ytdlp-video.info.json', { category: 'Map Days', language: 'de' }), [
    {
      place: 'ytdlp-video.info.json',
      key: 'vimeo:480000001',
      fields: {
        title: 'Maps without a server',
        description: 'Tiles, files and <nothing> else.',
        category: 'Map Days',
        language: 'en-GB',
        tags: ['maps', 'python'],
        duration: 2417,
        copyright_text: 'Creative Commons Attribution licence (reuse allowed)',
        thumbnail_url: 'https://img.example.org/480000001_1280.jpg',
        source_url: 'https://vimeo.com/480000001',
      },
      fallback: { recorded: '2031-06-12' },
      facts: [],
      notes: [
        { kind: 'dropped', field: 'tags', detail: 'had an empty name' },
        { kind: 'guessed', field: 'recorded', detail: 'is the day of the upload' },
      ],
    },
  ])
})

const playlist = (titles: readonly string[], fields: object = {}) =>
  JSON.stringify({
    _type: 'playlist',
    title: 'River Days 2026',
    entries: titles.map((title, index) => ({
      _type: 'url',
      ie_key: 'Youtube',
      id: `river-days-${index}`,
      title,
      ...fields,
    })),
  })
const speakerFirst = ['Ann Other - Rivers', 'Bob Second - Maps', 'Opening', 'Cy Third - Tides']

test('finds speakers in titles and keeps the original title', async () => {
  const [rivers, , opening] = talksOf(await readTexts({ 'a.json': playlist(speakerFirst) }))
  assert.deepEqual([rivers?.fields.title, rivers?.fields.speakers], ['Rivers', ['Ann Other']])
  assert.deepEqual(rivers?.facts, [
    { kind: 'programme', position: 1 },
    { kind: 'said', source: 'yt-dlp', field: 'title', value: 'Ann Other - Rivers' },
  ])
  assert.deepEqual(rivers?.notes.at(-1), {
    kind: 'guessed',
    field: 'speakers',
    detail: 'are from the title “Ann Other - Rivers”',
  })
  assert.deepEqual([opening?.fields.title, opening?.fields.speakers], ['Opening', undefined])
  const options = { category: undefined, language: undefined, keepTitles: true }
  const [kept] = talksOf(await readTexts({ 'a.json': playlist(speakerFirst) }, options))
  assert.equal(kept?.fields.title, 'Ann Other - Rivers')
})

test('dates talks by the option, then by the upload, then by the year of the playlist', async () => {
  const dayOf = async (fields: object, recorded?: string) => {
    const options = { category: undefined, language: undefined, recorded }
    const text = playlist(['One', 'Two'], fields)
    const talk = talksOf(await readTexts({ 'a.json': text }, options))[1]
    return talk && fieldsOfNewRecord(talk).recorded
  }
  const live = { was_live: true, release_date: '20260502', upload_date: '20260503' }
  assert.equal(await dayOf({}), '2026-01-01')
  assert.equal(await dayOf({ upload_date: '20260801' }), '2026-08-01')
  assert.equal(await dayOf({ upload_date: '20260801' }, '2026-05-01'), '2026-05-01')
  assert.equal(await dayOf(live, '2026-05-01'), '2026-05-02')
})

test('a channel has no programme', async () => {
  const text = playlist(['One']).replace('River Days 2026', 'Rivers - Videos')
  assert.deepEqual(talksOf(await readTexts({ 'a.json': text }))[0]?.facts, [])
})

test('continues after a broken line', async () => {
  const all = await read('ytdlp-entries.ndjson', { category: undefined, language: 'en' })
  assert.deepEqual(
    talksOf(all).map((talk) => {
      const { category, language, recorded } = fieldsOfNewRecord(talk)
      return [talk.place, talk.key, category, language, recorded]
    }),
    [
      ['ytdlp-entries.ndjson, line 1', 'youtube:exampleCCC1', 'Small Meetup', 'en', undefined],
      ['ytdlp-entries.ndjson, line 2', 'youtube:exampleCCC2', 'Small Meetup', 'en', '2031-05-02'],
    ],
  )
  assert.deepEqual(skipped(all), [
    'ytdlp-entries.ndjson, line 4: Is not valid JSON. Run yt-dlp again',
    'ytdlp-entries.ndjson, line 5: Has not been streamed yet (exampleCCC4)',
  ])
})

test('reads a folder file by file', async () => {
  const one = '{"_type":"video","id":"exampleDDD1","title":"One","extractor_key":"Youtube"}'
  const all = await readTexts({
    'a/one.info.json': one,
    'a/two.info.json': one.replace('DDD1', 'DDD2'),
    'list.info.json': '{"_type":"playlist","id":"PL1"}',
  })
  assert.deepEqual(
    talksOf(all).map(({ place, key }) => [place, key]),
    [
      ['a/one.info.json', 'youtube:exampleDDD1'],
      ['a/two.info.json', 'youtube:exampleDDD2'],
    ],
  )
  assert.deepEqual(skipped(all), ['list.info.json: Is a playlist without entries'])
})

test('never uses a temporary stream as the source', async () => {
  const video = {
    _type: 'video',
    id: '1',
    title: 'x',
    extractor_key: 'Generic',
    url: 'https://stream.example.org/1.mp4',
  }
  const [first] = talksOf(await readTexts({ a: JSON.stringify(video) }))
  assert.equal(first?.fields.source_url, undefined)
  const [second] = talksOf(await readTexts({ a: JSON.stringify([{ ...video, _type: 'url' }]) }))
  assert.equal(second?.fields.source_url, 'https://stream.example.org/1.mp4')
})

test('refuses invalid JSON, and limits nested playlists', async () => {
  await assert.rejects(
    readTexts({ 'a.json': '{"_type": "playlist", ' }),
    (error: Error) => error instanceof InputRefused && /^a\.json is not/.test(error.message),
  )
  const deep = `${'{"_type":"playlist","entries":['.repeat(5000)}${']}'.repeat(5000)}`
  assert.match(
    skipped(await readTexts({ 'a.json': deep }))[0] ?? '',
    /Is a playlist inside 8 others$/,
  )
})

test('recognises files of yt-dlp, and no others', () => {
  for (const name of sampleNames()) {
    const head = sample(name).slice(0, 65_536)
    assert.equal(ytdlp.recognises(head, 'x'), name.startsWith('ytdlp-'), name)
  }
  const formats = Array.from({ length: 2000 }, (_, number) => ({
    format_id: `${number}`,
    url: 'https://stream.example.org/',
  }))
  const long = JSON.stringify({ id: '1', title: 'x', formats, extractor_key: 'Youtube' })
  assert.ok(long.length > 65_536 && ytdlp.recognises(long.slice(0, 65_536), 'x'))
  for (const other of [
    '{"title": "x", "category": "y", "state": 1}',
    '{"title": "x", "speakers": [], "videos": [{"type": "youtube"}]}',
    'title,id\nx,1',
  ]) {
    assert.equal(ytdlp.recognises(other, 'x.info.json'), false)
  }
})
