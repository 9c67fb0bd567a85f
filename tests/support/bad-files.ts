import { deflateRawSync, gzipSync } from 'node:zlib'
import { sample, sampleNames } from './formats.ts'

// Import files that are broken, mistaken or hostile.

export interface BadFile {
  readonly name: string
  readonly bytes: () => AsyncIterable<Uint8Array> | Iterable<Uint8Array>
  /** The expected plan: the whole file is refused, it creates no records, or unspecified. */
  readonly expect: 'refused' | 'no new records' | 'anything'
}

const good = {
  ...Object.fromEntries(sampleNames().map((name) => [name, Buffer.from(sample(name))])),
  'records.ndjson': Buffer.from(
    [1, 2, 3]
      .map((id) =>
        JSON.stringify({
          id,
          title: `Talk ${id}`,
          category: 'Bad days',
          language: 'English',
          speakers: ['A B'],
          state: 1,
        }),
      )
      .join('\n'),
  ),
  'talks.csv': Buffer.from(
    'key,title,speakers,category,language\r\n' +
      '1,"One, two",A B;C D,Bad days,en\r\n' +
      '2,"Line\r\nbreak",E F,Bad days,en\r\n',
  ),
}

const file = (
  name: string,
  content: string | Buffer,
  expect: BadFile['expect'] = 'refused',
): BadFile => ({
  name,
  bytes: () => [Buffer.from(content as string)],
  expect,
})

/** Repeats a text up to a size, in chunks. */
function* repeated(text: string, megabytes: number): Iterable<Uint8Array> {
  const chunk = Buffer.from(text.repeat(Math.ceil(65_536 / text.length)))
  for (let bytes = 0; bytes < megabytes * 2 ** 20; bytes += chunk.length) yield chunk
}

function* withStart(start: string, rest: Iterable<Uint8Array>): Iterable<Uint8Array> {
  yield Buffer.from(start)
  yield* rest
}

/** Returns a gzip file of 250 kB that contains 60 lines of 4 MB. */
function longRecords(name: string, field: string, expect: BadFile['expect']): BadFile {
  const text = 'x'.repeat((4 << 20) - 1000)
  const line = (id: number) => {
    const talk = { title: `Talk ${id}`, category: 'Bad days', language: 'en', [field]: text }
    return `${JSON.stringify(talk)}\n`
  }
  // Compressed line by line: a gzip file may have many members.
  return { name, bytes: () => Array.from({ length: 60 }, (_, id) => gzipSync(line(id))), expect }
}

/** Returns an XML entity expansion attack ("billion laughs"). */
function billionLaughs(levels: number): string {
  const entities = Array.from(
    { length: levels },
    (_, level) => `<!ENTITY a${level + 1} "${`&a${level};`.repeat(10)}">`,
  )
  return (
    `<?xml version="1.0"?><!DOCTYPE schedule [<!ENTITY a0 "ha">${entities.join('')}]>` +
    `<schedule><conference><title>&a${levels};</title></conference></schedule>`
  )
}

/** Valid files that are truncated. */
const truncated = Object.entries(good).flatMap(([name, bytes]) =>
  [0.1, 0.3, 0.5, 0.7, 0.9, 0.99].map((share) =>
    file(
      `${name} truncated at ${share}`,
      bytes.subarray(0, Math.floor(bytes.length * share)),
      'anything',
    ),
  ),
)

const encoded = Object.entries(good).flatMap(([name, bytes]) => {
  const text = bytes.toString()
  return [
    file(
      `${name} in UTF-16`,
      Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(text, 'utf16le')]),
    ),
    file(
      `${name} in big-endian UTF-16`,
      Buffer.concat([Buffer.from([0xfe, 0xff]), Buffer.from(text, 'utf16le').swap16()]),
    ),
    file(`${name} in Latin-1`, Buffer.from(`${text.slice(0, -2)}é ü ñ${text.slice(-2)}`, 'latin1')),
    file(`${name} with a NUL`, `${text.slice(0, 40)}\0${text.slice(40)}`),
    file(`${name} compressed and truncated`, gzipSync(bytes).subarray(0, -12)),
  ]
})

const json = [
  file('null', 'null'),
  file('a number', '42'),
  file('a string', '"talks"'),
  file('an empty list', '[]', 'anything'),
  file('an empty object', '{}'),
  file('a list of numbers', '[1,2,3]'),
  file('nested lists', `${'['.repeat(100_000)}${']'.repeat(100_000)}`),
  file('nested objects', `${'{"title":'.repeat(50_000)}1${'}'.repeat(50_000)}`),
  file(
    'fields of the wrong type',
    JSON.stringify({ title: { title: 'x' }, category: ['a'], speakers: 'x', state: 'y' }),
    'no new records',
  ),
  file(
    'a __proto__ key',
    '{"title":"x","category":"c","language":"en","state":1,"__proto__":{"id":7}}',
    'anything',
  ),
  file(
    'a duplicate key',
    '{"title":"x","title":"y","category":"c","language":"en","state":1}',
    'anything',
  ),
  file(
    'numbers too large',
    '{"title":"x","category":"c","language":"en","state":1,"duration":1e400,' +
      '"id":99999999999999999999}',
    'no new records',
  ),
  file(
    'a negative duration',
    '{"title":"x","category":"c","language":"en","state":1,"duration":-5}',
    'no new records',
  ),
  file(
    'an invalid date',
    '{"title":"x","category":"c","language":"en","state":1,"recorded":"2024-02-30"}',
    'no new records',
  ),
  file(
    'an unknown language',
    '{"title":"x","category":"c","language":"klingonish","state":1}',
    'no new records',
  ),
  file(
    'a lone surrogate',
    '{"title":"\\ud800","category":"c","language":"en","state":1}',
    'no new records',
  ),
  file(
    'an escaped NUL',
    '{"title":"a\\u0000b","category":"c","language":"en","state":1}',
    'no new records',
  ),
  file(
    'a javascript URL',
    '{"title":"x","category":"c","language":"en","state":1,"source_url":"javascript:alert(1)"}',
    'no new records',
  ),
  file(
    'a title of a megabyte',
    JSON.stringify({ title: 'x'.repeat(900_000), category: 'c', language: 'en', state: 1 }),
    'no new records',
  ),
  file(
    '90,000 speakers',
    JSON.stringify({
      title: 'x',
      category: 'c',
      language: 'en',
      state: 1,
      speakers: Array.from({ length: 90_000 }, (_, index) => `s${index}`),
    }),
    'no new records',
  ),
  file(
    '60,000 fields',
    JSON.stringify({
      title: 'x',
      category: 'c',
      language: 'en',
      state: 1,
      ...Object.fromEntries(Array.from({ length: 60_000 }, (_, index) => [`f${index}`, index])),
    }),
    'anything',
  ),
  file(
    'only malformed lines',
    '{"title":"x","category":"c","language":"en","state":1,\n'.repeat(50),
    'no new records',
  ),
  file(
    'a playlist without entries',
    '{"_type":"playlist","entries":null,"extractor":"x","webpage_url":"https://x.example"}',
    'anything',
  ),
  file(
    'nested playlists',
    `${'{"_type":"playlist","extractor":"youtube","entries":['.repeat(5000)}${']}'.repeat(5000)}`,
    'anything',
  ),
  file('a conference without talks', '{"acronym":"x","title":"x","events":[]}', 'anything'),
  file(
    'a conference with invalid events',
    '{"acronym":"x","title":"x","events":[null,1,"a",[],{"guid":{}}]}',
    'no new records',
  ),
]

const xml = [
  file('a billion laughs', billionLaughs(10)),
  file(
    'quadratic entity expansion',
    `<!DOCTYPE s [<!ENTITY a "${'x'.repeat(50_000)}">]><schedule>${'&a;'.repeat(5000)}</schedule>`,
  ),
  file(
    'an external entity with a local file',
    '<!DOCTYPE s [<!ENTITY x SYSTEM "file:///etc/passwd">]>' +
      '<schedule><conference><title>&x;</title></conference></schedule>',
  ),
  file(
    'an external entity with a private URL',
    '<!DOCTYPE s [<!ENTITY % x SYSTEM "http://127.0.0.1/x"> %x;]><schedule/>',
  ),
  file(
    'unclosed tags',
    `<schedule><conference><title>x</title></conference>${'<day><room><event>'.repeat(30_000)}`,
  ),
  file('mismatched tags', '<schedule><conference></schedule></conference>'),
  file(
    'an attribute of two megabytes',
    `<schedule version="${'x'.repeat(2_000_000)}"><conference/></schedule>`,
    'anything',
  ),
  file('an HTML page', '<!doctype html><html><body><h1>Schedule</h1></body></html>'),
  file(
    'an RSS feed',
    '<?xml version="1.0"?><rss version="2.0"><channel><title>x</title></channel></rss>',
  ),
]

const tables = [
  file(
    'a million columns',
    `${Array.from({ length: 1_000_000 }, (_, index) => `c${index}`).join(',')}\n`,
  ),
  file(
    'a thousand unknown columns',
    `title,${Array.from({ length: 1000 }, (_, index) => `c${index}`).join(',')}\nx\n`,
  ),
  file('only unknown columns', 'a,b,c\n1,2,3\n'),
  file('a duplicate column', 'title,title\nx,y\n'),
  file('an unclosed quote', 'title,category,language\n"x,c,en\n', 'anything'),
  file(
    'more cells than columns',
    'title,category,language\nx,c,en,extra,extra\n',
    'no new records',
  ),
  file(
    'formulas',
    'title,category,language,summary\n"=cmd|\' /C calc\'!A0",c,en,"@SUM(1+1)"\n',
    'anything',
  ),
  file('no title', 'title,category,language\n,c,en\n', 'no new records'),
  file('only a header', 'title,category,language\n', 'anything'),
]

const bytes = [
  file('an empty file', ''),
  file('white space', ' \n\t\r\n '),
  file('a letter', 'Dear archive,\n\nplease find my talks below.\n'),
  file(
    'random bytes',
    Buffer.from(Array.from({ length: 5000 }, (_, index) => (index * 7919 + 13) % 256)),
  ),
  file('a zip', Buffer.concat([Buffer.from('PK\x03\x04'), deflateRawSync(Buffer.alloc(1000))])),
  file('a PNG image', Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0])),
  file('bzip2', Buffer.from('BZh91AY&SY')),
  file('xz', Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00])),
  file('zstd', Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, 0])),
  file(
    'an invalid gzip stream',
    Buffer.concat([Buffer.from([0x1f, 0x8b, 8, 0]), Buffer.from('not a deflate stream')]),
  ),
  file('gzip in gzip', gzipSync(gzipSync(Buffer.from('title\nx\n')))),
  file('a gzip bomb of one line', gzipSync(Buffer.alloc(200 << 20, 0x61), { level: 9 })),
  file(
    'a gzip bomb of spaces in a list',
    gzipSync(
      Buffer.concat([
        Buffer.from('{"_type":"playlist","entries":['),
        Buffer.alloc(200 << 20, 0x20),
      ]),
      { level: 9 },
    ),
  ),
  longRecords('a gzip bomb of 60 records with a text of 4 MB', 'description', 'no new records'),
  longRecords(
    'a gzip bomb of 60 records with an unknown field of 4 MB',
    'unknown_field',
    'no new records',
  ),
  { name: 'a gigabyte in one line', bytes: () => repeated('x', 1024), expect: 'refused' },
  {
    name: 'a gigabyte in one record',
    bytes: () => withStart('{"title":"', repeated('x', 1024)),
    expect: 'refused',
  },
  {
    name: 'a gigabyte in one cell',
    bytes: () => withStart('title,category\n"', repeated('x', 1024)),
    expect: 'anything',
  },
  { name: 'a gigabyte of white space', bytes: () => repeated(' ', 1024), expect: 'refused' },
  {
    name: 'a gigabyte of XML',
    bytes: () => withStart('<schedule><conference><title>', repeated('x', 1024)),
    expect: 'refused',
  },
] satisfies BadFile[]

export const badFiles: readonly BadFile[] = [
  ...truncated,
  ...encoded,
  ...json,
  ...xml,
  ...tables,
  ...bytes,
]
