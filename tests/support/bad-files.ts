import { deflateRawSync, gzipSync } from 'node:zlib'
import { sample, sampleNames } from './formats.ts'

// Import files that are broken, mistaken or hostile.

export interface BadFile {
  readonly name: string
  readonly bytes: () => AsyncIterable<Uint8Array> | Iterable<Uint8Array>
  /** The expected plan: the whole file is refused, no row can be written, or unspecified. */
  readonly expect: 'refused' | 'nothing new' | 'anything'
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

function* withStart(begin: string, rest: Iterable<Uint8Array>): Iterable<Uint8Array> {
  yield Buffer.from(begin)
  yield* rest
}

/** 60 lines of 4 MB, in a gzip of a quarter of a megabyte. */
function longRecords(name: string, field: string, expect: BadFile['expect']): BadFile {
  const text = 'x'.repeat((4 << 20) - 1000)
  const line = (id: number) => {
    const talk = { title: `Talk ${id}`, category: 'Bad days', language: 'en', [field]: text }
    return `${JSON.stringify(talk)}\n`
  }
  // Compressed line by line: a gzip file may have many members.
  return { name, bytes: () => Array.from({ length: 60 }, (_, id) => gzipSync(line(id))), expect }
}

function laughs(levels: number): string {
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
const cut = Object.entries(good).flatMap(([name, bytes]) =>
  [0.1, 0.3, 0.5, 0.7, 0.9, 0.99].map((share) =>
    file(
      `${name} cut at ${share}`,
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
      `${name} in UTF-16, the other way`,
      Buffer.concat([Buffer.from([0xfe, 0xff]), Buffer.from(text, 'utf16le').swap16()]),
    ),
    file(`${name} in Latin-1`, Buffer.from(`${text.slice(0, -2)}é ü ñ${text.slice(-2)}`, 'latin1')),
    file(`${name} with a NUL`, `${text.slice(0, 40)}\0${text.slice(40)}`),
    file(`${name} packed, and cut off`, gzipSync(bytes).subarray(0, -12)),
  ]
})

const json = [
  file('null', 'null'),
  file('a number', '42'),
  file('a text', '"talks"'),
  file('an empty list', '[]', 'anything'),
  file('an empty object', '{}'),
  file('a list of numbers', '[1,2,3]'),
  file('a list of lists', `${'['.repeat(100_000)}${']'.repeat(100_000)}`),
  file('objects in objects', `${'{"title":'.repeat(50_000)}1${'}'.repeat(50_000)}`),
  file(
    'a record in a record',
    JSON.stringify({ title: { title: 'x' }, category: ['a'], speakers: 'x', state: 'y' }),
    'nothing new',
  ),
  file(
    'a record with a prototype',
    '{"title":"x","category":"c","language":"en","state":1,"__proto__":{"id":7}}',
    'anything',
  ),
  file(
    'a key twice',
    '{"title":"x","title":"y","category":"c","language":"en","state":1}',
    'anything',
  ),
  file(
    'numbers too large',
    '{"title":"x","category":"c","language":"en","state":1,"duration":1e400,' +
      '"id":99999999999999999999}',
    'nothing new',
  ),
  file(
    'a negative length',
    '{"title":"x","category":"c","language":"en","state":1,"duration":-5}',
    'nothing new',
  ),
  file(
    'a day that is none',
    '{"title":"x","category":"c","language":"en","state":1,"recorded":"2024-02-30"}',
    'nothing new',
  ),
  file(
    'a language that is none',
    '{"title":"x","category":"c","language":"klingonish","state":1}',
    'nothing new',
  ),
  file(
    'a lone surrogate',
    '{"title":"\\ud800","category":"c","language":"en","state":1}',
    'nothing new',
  ),
  file(
    'an escaped NUL',
    '{"title":"a\\u0000b","category":"c","language":"en","state":1}',
    'nothing new',
  ),
  file(
    'an address that runs',
    '{"title":"x","category":"c","language":"en","state":1,"source_url":"javascript:alert(1)"}',
    'nothing new',
  ),
  file(
    'a title of a megabyte',
    JSON.stringify({ title: 'x'.repeat(900_000), category: 'c', language: 'en', state: 1 }),
    'nothing new',
  ),
  file(
    'a hundred thousand speakers',
    JSON.stringify({
      title: 'x',
      category: 'c',
      language: 'en',
      state: 1,
      speakers: Array.from({ length: 90_000 }, (_, index) => `s${index}`),
    }),
    'nothing new',
  ),
  file(
    'a hundred thousand fields',
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
    'lines of which each is broken',
    '{"title":"x","category":"c","language":"en","state":1,\n'.repeat(50),
    'nothing new',
  ),
  file(
    'a playlist of nothing',
    '{"_type":"playlist","entries":null,"extractor":"x","webpage_url":"https://x.example"}',
    'anything',
  ),
  file(
    'a playlist in a playlist',
    `${'{"_type":"playlist","extractor":"youtube","entries":['.repeat(5000)}${']}'.repeat(5000)}`,
    'anything',
  ),
  file('a conference without talks', '{"acronym":"x","title":"x","events":[]}', 'anything'),
  file(
    'a conference of wrong entities',
    '{"acronym":"x","title":"x","events":[null,1,"a",[],{"guid":{}}]}',
    'nothing new',
  ),
]

const xml = [
  file('a billion laughs', laughs(10)),
  file(
    'a quadratic blow-up',
    `<!DOCTYPE s [<!ENTITY a "${'x'.repeat(50_000)}">]><schedule>${'&a;'.repeat(5000)}</schedule>`,
  ),
  file(
    'a file of the server',
    '<!DOCTYPE s [<!ENTITY x SYSTEM "file:///etc/passwd">]>' +
      '<schedule><conference><title>&x;</title></conference></schedule>',
  ),
  file(
    'an address of the inside',
    '<!DOCTYPE s [<!ENTITY % x SYSTEM "http://127.0.0.1/x"> %x;]><schedule/>',
  ),
  file(
    'tags without end',
    `<schedule><conference><title>x</title></conference>${'<day><room><event>'.repeat(30_000)}`,
  ),
  file('tags that do not match', '<schedule><conference></schedule></conference>'),
  file(
    'an attribute of a megabyte',
    `<schedule version="${'x'.repeat(2_000_000)}"><conference/></schedule>`,
    'anything',
  ),
  file('a page', '<!doctype html><html><body><h1>Schedule</h1></body></html>'),
  file(
    'a feed',
    '<?xml version="1.0"?><rss version="2.0"><channel><title>x</title></channel></rss>',
  ),
]

const tables = [
  file(
    'a million columns',
    `${Array.from({ length: 1_000_000 }, (_, index) => `c${index}`).join(',')}\n`,
  ),
  file(
    'a million columns, some known',
    `title,${Array.from({ length: 1000 }, (_, index) => `c${index}`).join(',')}\nx\n`,
  ),
  file('no column that is known', 'a,b,c\n1,2,3\n'),
  file('a column twice', 'title,title\nx,y\n'),
  file('a quote without end', 'title,category,language\n"x,c,en\n', 'anything'),
  file('more cells than columns', 'title,category,language\nx,c,en,extra,extra\n', 'nothing new'),
  file(
    'formulas',
    'title,category,language,summary\n"=cmd|\' /C calc\'!A0",c,en,"@SUM(1+1)"\n',
    'anything',
  ),
  file('no title', 'title,category,language\n,c,en\n', 'nothing new'),
  file('a head and nothing else', 'title,category,language\n', 'anything'),
]

const bytes = [
  file('nothing', ''),
  file('white space', ' \n\t\r\n '),
  file('a letter', 'Dear archive,\n\nplease find my talks below.\n'),
  file('noise', Buffer.from(Array.from({ length: 5000 }, (_, index) => (index * 7919 + 13) % 256))),
  file('a zip', Buffer.concat([Buffer.from('PK\x03\x04'), deflateRawSync(Buffer.alloc(1000))])),
  file('a picture', Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0])),
  file('bzip2', Buffer.from('BZh91AY&SY')),
  file('xz', Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00])),
  file('zstd', Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, 0])),
  file(
    'gzip and then noise',
    Buffer.concat([
      Buffer.from([0x1f, 0x8b, 8, 0]),
      Buffer.from('noise that is no deflate stream at all'),
    ]),
  ),
  file('gzip in gzip', gzipSync(gzipSync(Buffer.from('title\nx\n')))),
  file('a bomb of one line', gzipSync(Buffer.alloc(200 << 20, 0x61), { level: 9 })),
  file(
    'a bomb of spaces in a list',
    gzipSync(
      Buffer.concat([
        Buffer.from('{"_type":"playlist","entries":['),
        Buffer.alloc(200 << 20, 0x20),
      ]),
      { level: 9 },
    ),
  ),
  longRecords('a bomb of 60 records with a text of 4 MB', 'description', 'nothing new'),
  longRecords('a bomb of 60 records with 4 MB that has no field', 'unknown_field', 'nothing new'),
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
  ...cut,
  ...encoded,
  ...json,
  ...xml,
  ...tables,
  ...bytes,
]
