import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  assertRefused,
  readItems,
  sample,
  sampleNames,
  talksOf,
} from '../../../tests/support/formats.ts'
import type { ParseOptions } from '../item.ts'
import { voctoweb } from './voctoweb.ts'

const readTexts = (texts: Record<string, string>, options?: ParseOptions) =>
  readItems(voctoweb, texts, options)
const read = (...names: string[]) =>
  readTexts(Object.fromEntries(names.map((name) => [name, sample(name)])))

test('reads a conference and its events', async () => {
  const all = await read('voctoweb-conference.json')
  assert.deepEqual(all[0], {
    category: {
      title: 'Fen Congress 2031',
      url: 'https://fen.example.org/',
      description: 'Three days in the fen.',
      logo_url: 'https://static.example.org/fen/logo.png',
    },
  })
  assert.deepEqual(all[1], {
    place: 'voctoweb-conference.json, event 1',
    key: 'dddddddd-0000-4000-8000-000000000001',
    fields: {
      title: 'Peat and packets',
      description: 'Networks in *wet* ground.',
      category: 'Fen Congress 2031',
      language: 'deu',
      speakers: ['Gus Marsh'],
      tags: ['fen2031', '1', '2031', 'Hardware'],
      recorded: '2031-08-10',
      duration: 2700,
      source_url: 'https://media.example.org/v/fen2031-1-peat-and-packets',
      thumbnail_url: 'https://static.example.org/fen/1.jpg',
    },
    facts: [{ kind: 'related', url: 'https://fen.example.org/events/1', label: null }],
    notes: [
      {
        kind: 'dropped',
        field: 'language',
        detail: 'was deu-eng in the file: only the first one is kept',
      },
      { kind: 'repaired', field: 'description', detail: 'was converted from HTML to Markdown' },
      { kind: 'dropped', field: 'speakers', detail: 'had an empty name' },
    ],
  })
  assert.deepEqual(all[2], {
    place: 'voctoweb-conference.json, event 2',
    key: 'dddddddd-0000-4000-8000-000000000002',
    fields: {
      title: 'Open stage',
      category: 'Fen Congress 2031',
      language: 'eng',
      recorded: '2031-08-13',
      source_url: 'https://media.example.org/v/fen2031-2-open-stage',
      thumbnail_url: 'https://static.example.org/fen/2_preview.jpg',
    },
    facts: [],
    notes: [{ kind: 'guessed', field: 'recorded', detail: 'is the day of the release' }],
  })
  assert.deepEqual(all.slice(3), [
    { place: 'voctoweb-conference.json, event 3', unreadable: 'Has no title' },
  ])
})

test('puts the best recording of each format into a field, and the others into facts', async () => {
  const [category, event] = await read('voctoweb-event.json')
  assert.deepEqual(category, { category: { title: 'Fen Congress 2031' } })
  assert.deepEqual(event, {
    place: 'voctoweb-event.json',
    key: 'dddddddd-0000-4000-8000-000000000004',
    fields: {
      title: 'Frogs on the bus: CAN for amphibians',
      description: 'Plain text.\nTwo lines.',
      category: 'Fen Congress 2031',
      language: 'deu',
      speakers: ['Hal Bittern'],
      tags: ['fen2031', '4'],
      recorded: '2031-08-11',
      duration: 1830,
      source_url: 'https://media.example.org/v/fen2031-4-frogs-on-the-bus',
      thumbnail_url: 'https://static.example.org/fen/4.jpg',
      video_mp4_url: 'https://cdn.example.org/fen/h264-hd/4-hd.mp4',
      video_mp4_length: 209_715_200,
      video_webm_url: 'https://cdn.example.org/fen/webm-hd/4.webm',
    },
    facts: [
      { kind: 'related', url: 'https://fen.example.org/events/4', label: null },
      { kind: 'related', url: 'https://doi.org/10.5555/12345678', label: 'DOI' },
      {
        kind: 'media',
        url: 'https://cdn.example.org/fen/h264-sd/4-sd.mp4',
        type: 'mp4',
        size: 52_428_800,
      },
      {
        kind: 'media',
        url: 'https://cdn.example.org/fen/h264-hd/4-eng.mp4',
        type: 'mp4',
        size: 94_371_840,
      },
      {
        kind: 'media',
        url: 'https://cdn.example.org/fen/slides/4.mp4',
        type: 'mp4',
        size: 41_943_040,
      },
      {
        kind: 'media',
        url: 'https://cdn.example.org/fen/mp3/4.mp3',
        type: 'mp3',
        size: 31_457_280,
      },
      { kind: 'related', url: 'https://cdn.example.org/fen/4.srt', label: 'subtitles (deu)' },
    ],
    notes: [
      { kind: 'repaired', field: 'title', detail: 'was combined with the subtitle' },
      {
        kind: 'guessed',
        field: 'video_mp4_length',
        detail: 'was calculated from 200 MB, which is rounded',
      },
    ],
  })
})

test('reads the media types of old sites', async () => {
  const recordings = [
    { mime_type: 'vnd.voc/h264-lq', recording_url: 'https://cdn.example.org/lq.mp4' },
    { mime_type: 'vnd.voc/h264-hd', recording_url: 'https://cdn.example.org/hd.mp4' },
    { mime_type: 'vnd.voc/webm-web', recording_url: 'https://cdn.example.org/web.webm' },
    { mime_type: 'video/ogg', recording_url: 'https://cdn.example.org/a.ogv' },
    { mime_type: 'application/pdf', recording_url: 'https://cdn.example.org/a.pdf' },
  ]
  const [first] = talksOf(
    await readTexts(
      { a: JSON.stringify({ guid: '1', title: 'x', recordings }) },
      { category: 'C', language: 'en' },
    ),
  )
  assert.deepEqual(first?.fields, {
    title: 'x',
    category: 'C',
    language: 'en',
    video_mp4_url: 'https://cdn.example.org/hd.mp4',
    video_webm_url: 'https://cdn.example.org/web.webm',
    video_ogv_url: 'https://cdn.example.org/a.ogv',
  })
  assert.deepEqual(first?.facts, [
    { kind: 'media', url: 'https://cdn.example.org/lq.mp4', type: 'mp4', size: null },
    { kind: 'related', url: 'https://cdn.example.org/a.pdf', label: 'slides' },
  ])
})

test('yields the conference of several files once', async () => {
  const all = await read('voctoweb-conference.json', 'voctoweb-event.json')
  assert.equal(all.filter((it) => 'category' in it).length, 1)
  assert.equal(talksOf(all).length, 3)
})

test('reads a list of events without a conference', async () => {
  const { events } = JSON.parse(sample('voctoweb-conference.json'))
  const all = await readTexts({ 'events.json': JSON.stringify({ events }) })
  assert.deepEqual(
    talksOf(all).map(({ place, fields }) => [place, fields.category]),
    [
      ['events.json, event 1', 'Fen Congress 2031'],
      ['events.json, event 2', 'Fen Congress 2031'],
    ],
  )
})

test('refuses a file without talks, and says what to download', async () => {
  await assert.rejects(
    read('voctoweb-conferences.json'),
    assertRefused(/^voctoweb-conferences\.json .*\/public\/conferences\/<acronym>$/),
  )
  await assert.rejects(
    readTexts({ a: '{"acronym": "x", "title": "X"}' }),
    assertRefused(/without talks/),
  )
  await assert.rejects(readTexts({ a: '{}' }), assertRefused(/has no events/))
  await assert.rejects(readTexts({ a: '[]' }), assertRefused(/is a list/))
  await assert.rejects(readTexts({ a: '{"acronym"' }), assertRefused(/^a is not valid JSON/))
  assert.deepEqual(await readTexts({ a: '{"acronym": "x", "events": [null]}' }), [
    { place: 'a, event 1', unreadable: 'Is not an event' },
  ])
})

test('recognises files of voctoweb, and no others', () => {
  for (const name of sampleNames()) {
    assert.equal(
      voctoweb.recognises(sample(name).slice(0, 65_536), 'x'),
      name.startsWith('voctoweb-'),
      name,
    )
  }
  assert.ok(voctoweb.recognises(sample('voctoweb-conference.json').slice(0, 300), 'x'))
  assert.ok(voctoweb.recognises('{"events":[{"guid":"1","frontend_link":"x"', 'x'))
  for (const other of [
    '{"guid": "1", "title": "x", "category": "y"}',
    '{"events": [{"title": "x"}]}',
    '{"conferences": [{"name": "x"}]}',
    'acronym,events',
  ]) {
    assert.equal(voctoweb.recognises(other, 'x'), false)
  }
})
