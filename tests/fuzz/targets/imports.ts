import { gzipSync } from 'node:zlib'
import { videoDefaults } from '@talkshelf/contract'
import { csv, csvTemplate } from '../../../server/imports/formats/csv.ts'
import { pyvideo } from '../../../server/imports/formats/pyvideo.ts'
import { schedule } from '../../../server/imports/formats/schedule.ts'
import { v2 } from '../../../server/imports/formats/v2.ts'
import { voctoweb } from '../../../server/imports/formats/voctoweb.ts'
import { ytdlp } from '../../../server/imports/formats/ytdlp.ts'
import { detectFormat, formats } from '../../../server/imports/formats.ts'
import { openInput } from '../../../server/imports/input/input.ts'
import { type ImportFormat, InputRefused, type ParsedItem } from '../../../server/imports/item.ts'
import { readItems, sample, samplesOf } from '../../support/formats.ts'
import { assertProperty, type FuzzTarget, inputWords, textLines } from '../target.ts'
import { jsonTokens, talkJson } from './json.ts'

const options = { category: 'Example Days 2026', language: 'en' }

/** Yields the input in chunks that end at arbitrary offsets, as a stream does. */
async function* inChunks(input: Buffer): AsyncGenerator<Uint8Array> {
  const first = input.length % 7
  const second = first + ((input.length * 31) % 4099)
  for (const part of [
    input.subarray(0, first),
    input.subarray(first, second),
    input.subarray(second),
  ])
    if (part.length > 0) yield part
}

/** Reads an input with a format, or with the one that recognizes it. */
async function readAll(input: Buffer, path: string, format?: ImportFormat): Promise<void> {
  const opened = await openInput({ stream: inChunks(input), name: path })
  const chosen = format ?? detectFormat(undefined, opened.head, opened.firstPath)
  chosen.recognises(opened.head, opened.firstPath)
  const sizes = { read: 0, max: 300 * opened.head.length + 300 * input.length + 100_000 }
  for await (const reading of chosen.read(opened.files, options)) checkItem(reading, sizes)
}

/** Asserts that an item is complete, and that the output is not much larger than the input. */
function checkItem(reading: ParsedItem, sizes: { read: number; max: number }): void {
  sizes.read += JSON.stringify(reading).length
  assertProperty(sizes.read <= sizes.max, 'the output is too large', sizes)
  if ('unreadable' in reading)
    assertProperty(reading.unreadable !== '' && reading.place !== '', 'an error without a reason')
  else if ('fields' in reading) {
    const { place, fields, notes, facts, id } = reading
    assertProperty(
      place !== '' && Array.isArray(notes) && Array.isArray(facts),
      'an incomplete talk',
    )
    assertProperty(id === undefined || Number.isSafeInteger(id), 'an id that is not an integer', id)
    assertProperty(
      Object.values(fields).every((value) => value !== undefined),
      'a field that is undefined',
      Object.keys(fields),
    )
  } else assertProperty('category' in reading || 'entity' in reading, 'an unknown kind of item')
}

const format = (
  name: string,
  format: ImportFormat,
  path: string,
  seeds: readonly string[],
  dictionary: readonly string[],
): FuzzTarget => ({
  name,
  seeds,
  dictionary,
  share: 1.5,
  refusals: [InputRefused],
  run: (input) => readAll(input, path, format),
})

const record = {
  ...videoDefaults,
  ...JSON.parse(talkJson),
  id: 7,
  slug: 'ten-years',
  added: '2026-05-18T10:00:00.000Z',
}
const exported = [
  { kind: 'talkshelf', version: 1, at: '2026-05-20T00:00:00.000Z' },
  {
    kind: 'category',
    id: 1,
    slug: 'example-days',
    title: 'Example Days 2026',
    aliases: [],
    slugs: ['example-days'],
  },
  {
    kind: 'speaker',
    id: 1,
    slug: 'ada',
    name: 'Ada Lovelace',
    aliases: [{ name: 'Ada', shown: true }],
    slugs: ['ada'],
  },
  {
    kind: 'video',
    revision: 3,
    record: { ...record, updated: '2026-05-19T10:00:00.000Z' },
    facts: [],
  },
  {
    kind: 'video',
    revision: 1,
    record: { ...record, id: 8 },
    taken_down: { day: '2026-05-19', reason: 'requested' },
  },
  { kind: 'end', videos: 2 },
]
const lines = (values: readonly unknown[]) =>
  values.map((value) => JSON.stringify(value)).join('\n')
const table = [
  'key;title;speakers;category;language;duration;recorded;state',
  '1;"One; ""two""";A B, C D;Days;en;1:02:30;2031-05-17;live',
  '',
].join('\r\n')
const csvTokens = [
  ...inputWords(', ; " "" title key id yes 1:00 \\; \'= https://example.org'),
  ...['\t', '\r\n', '\n', '"a\nb"'],
]
const pyvideoSamples = [
  'boatconf-2019/category.json',
  'boatconf-2019/videos/knots-for-programmers.json',
  'boatconf-2019/videos/steering-by-stars.json',
].map((name) => sample(`pyvideo/${name}`))
const scheduleTokens = textLines(`
  <event id="1">
  </event>
  <day date="2031-05-17">
  <room name="a">
  <title>
  </title>
  <person>
  <!DOCTYPE a [
  ]>
  <!ENTITY a "b">
  &a;
  &amp;
  <![CDATA[
  ]]>
  <?xml version="1.0"?>
  xmlns:a="b"
  <duration>00:30</duration>
  </schedule>
`)
const separator = '\n-----\n'

/** Formats that have no target of their own: their samples, and the tokens of all syntaxes. */
const otherFormats = formats
  .filter((it) => ![csv, schedule, ytdlp, voctoweb, pyvideo, v2].includes(it))
  .map((it) => {
    const names = samplesOf(it)
    const tokens = [...jsonTokens, ...csvTokens, ...scheduleTokens]
    return format(it.name, it, names[0] ?? it.name, names.map(sample), tokens)
  })

export const importTargets: readonly FuzzTarget[] = [
  format('CSV', csv, 'talks.csv', [csvTemplate(), table, 'title\ta\nx\ty\n'], csvTokens),
  format(
    'schedule in XML',
    schedule,
    'schedule.xml',
    ['pretalx', 'laughs'].map((name) => sample(`schedule-${name}.xml`)),
    scheduleTokens,
  ),
  format(
    'schedule in JSON',
    schedule,
    'schedule.json',
    [sample('schedule-frab.json')],
    [...jsonTokens, ...inputWords('"schedule": "conference": "days": "rooms": "PT1H"')],
  ),
  format(
    'yt-dlp',
    ytdlp,
    'playlist.json',
    ['channel.json', 'entries.ndjson', 'playlist.json', 'video.info.json'].map((name) =>
      sample(`ytdlp-${name}`),
    ),
    [
      ...jsonTokens,
      ...inputWords(
        '"_type":"playlist" "entries": "duration": "upload_date": "thumbnails": "extractor":',
      ),
    ],
  ),
  format(
    'voctoweb',
    voctoweb,
    'conference.json',
    ['conference', 'conferences', 'event'].map((name) => sample(`voctoweb-${name}.json`)),
    [
      ...jsonTokens,
      ...inputWords('"acronym": "events": "recordings": "guid": "persons": "length": "date":'),
    ],
  ),
  format(
    'pyvideo',
    pyvideo,
    'records.ndjson',
    [sample('pyvideo/records.ndjson'), ...pyvideoSamples.slice(1)],
    [
      ...jsonTokens,
      ...inputWords(
        '"videos": "url": "copyright_text": "related_urls": "thumbnail_url": "event": "file":',
      ),
    ],
  ),
  format(
    'export of an archive',
    v2,
    'export.ndjson',
    [
      lines(exported),
      lines([record, { ...record, id: 9 }]),
      JSON.stringify({ count: 1, results: [record] }),
    ],
    [
      ...jsonTokens,
      ...inputWords(
        '"kind":"video" "kind":"end" "revision": "record": "taken_down": "facts": "slug": "id":',
      ),
      '\n',
    ],
  ),
  ...otherFormats,
  {
    name: 'folder of pyvideo',
    seeds: [
      pyvideoSamples.join(separator),
      `[1, 2]${separator}{"title":"a"}${separator}{"title":"b","videos":[],"speakers":[]}`,
    ],
    dictionary: [separator, ...jsonTokens],
    refusals: [InputRefused],
    async run(input) {
      const [category = '', ...videos] = input.toString().split(separator)
      const files = Object.fromEntries(videos.map((text, at) => [`event/videos/${at}.json`, text]))
      const sizes = { read: 0, max: 300 * input.length + 100_000 }
      const all = await readItems(pyvideo, {
        'NO_PUBLISH.json': category,
        'event/category.json': category,
        ...files,
      })
      for (const reading of all) checkItem(reading, sizes)
    },
  },
  {
    name: 'any file, packed or not',
    seeds: [
      ...[
        csvTemplate(),
        lines(exported),
        sample('schedule-pretalx.xml'),
        sample('ytdlp-playlist.json'),
      ].map((text) => gzipSync(text)),
      gzipSync(gzipSync('title\nx\n')),
      Buffer.concat([gzipSync('title,category\n'), gzipSync('x,y\n')]),
      gzipSync(Buffer.alloc(1 << 20, 'title,')),
      csvTemplate(),
    ],
    dictionary: [
      '\x1f\x8b\x08',
      'PK\x03\x04',
      'BZh91AY&SY',
      '\ufeff',
      'ustar',
      '{"title":',
      '<schedule>',
      'title,',
    ],
    refusals: [InputRefused],
    run: (input) => readAll(input, 'file'),
  },
]
