import fc from 'fast-check'
import { category } from './harness.ts'

// What clients may send, made by hand from the rules of the interface and not from the schemas: a
// mistake in a schema must show.

/** The record of the interface document: these fields, in this order. */
export const fieldOrder =
  'category language slug speakers tags id state title summary description quality_notes copyright_text embed thumbnail_url duration ' +
  'video_ogv_length video_ogv_url video_ogv_download_only video_mp4_length video_mp4_url video_mp4_download_only ' +
  'video_webm_length video_webm_url video_webm_download_only video_flv_length video_flv_url video_flv_download_only ' +
  'source_url whiteboard recorded added updated'
const fields = fieldOrder.split(' ')

export type ArbitraryJson = Record<string, unknown>

const readOnly = ['id', 'slug', 'added', 'updated']
export const addresses = fields.filter((field) => field.endsWith('_url'))
const sizes = fields.filter((field) => field.endsWith('_length'))
const switches = fields.filter((field) => field.endsWith('_download_only'))
export const texts: Record<string, number> = {
  summary: 20_000,
  description: 100_000,
  quality_notes: 20_000,
  copyright_text: 20_000,
  embed: 20_000,
  whiteboard: 20_000,
}
export const lists = ['speakers', 'tags']
const writable = fields.filter((field) => !readOnly.includes(field))

/** What a PUT makes of a field that it leaves out; the state is not here, because it stays. */
const defaults: ArbitraryJson = Object.fromEntries(
  writable
    .filter((field) => !['category', 'language', 'title', 'state'].includes(field))
    .map((field) => [
      field,
      lists.includes(field) ? [] : switches.includes(field) ? false : field in texts ? '' : null,
    ]),
)

/**
 * Must be made before records can use them: one as people write, one composed, one that is all
 * markup and astral characters.
 */
export const categories = [category, 'Journées d’été — Zürich', '<b>𝒳 & "Ω"</b> 日本語']

/** As sent, and what the record then shows. */
const languages: Record<string, string> = {
  English: 'English',
  en: 'English',
  EN: 'English',
  eng: 'English',
  french: 'French',
  FRENCH: 'French',
  deu: 'German',
  ' de ': 'German',
  pt_br: 'Brazilian Portuguese',
  'pt-BR': 'Brazilian Portuguese',
  'Brazilian Portuguese': 'Brazilian Portuguese',
  'zh-hant': 'Traditional Chinese',
  'Norwegian Bokmål': 'Norwegian Bokmål',
  'Norwegian Bokma\u030al': 'Norwegian Bokmål',
  iw: 'Hebrew',
}

const codePoint = (min: number, max: number) =>
  fc.integer({ min, max }).map((code) => String.fromCodePoint(code))

/** Any one character that a text field takes. */
const character = fc.oneof(
  { weight: 8, arbitrary: codePoint(0x20, 0x7e) },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      ...'<>&"\'\\/\n\r\t\u0085\u00a0\u200d\u202e\u2028\u2029\ufeff\ufffd\ufffe\uffff',
    ),
  },
  { weight: 2, arbitrary: codePoint(0x80, 0x24f) },
  { weight: 2, arbitrary: codePoint(0x300, 0x36f) },
  { weight: 1, arbitrary: codePoint(0x370, 0xd7ff) },
  { weight: 1, arbitrary: codePoint(0xe000, 0xffff) },
  { weight: 1, arbitrary: codePoint(0x1f300, 0x1faff) },
  { weight: 1, arbitrary: codePoint(0x10000, 0x10ffff) },
)

const text = (maxLength: number) =>
  fc.oneof(
    { weight: 30, arbitrary: fc.constant('') },
    { weight: 900, arbitrary: fc.string({ unit: character, maxLength: Math.min(maxLength, 60) }) },
    { weight: 1, arbitrary: character.map((one) => one.repeat(maxLength)) },
  )

const space = fc.constantFrom('', '', '', ' ', '\t', '\n ', '\u00a0', '\u3000', '\ufeff', '\u2028')
const padded = (content: fc.Arbitrary<string>) =>
  fc.tuple(space, content, space).map((parts) => parts.join(''))

const title = padded(text(255)).filter((it) => it.trim() !== '')

// Most names are there already, as in life; a new one costs the service several statements.
const knownNames = [
  ...[
    'Ada Lovelace',
    'Zoë',
    'Zoe\u0308',
    'ZOË',
    'İstanbul',
    'ﬁ',
    '\u212b',
    'Å',
    'A\u030a',
    '\u1e9b\u0323',
    '\u0958',
    '\ufb2c',
    '\u{1d15e}',
  ],
  ...[
    '山田 太郎',
    'Ωmega',
    '-',
    '!!!',
    '‼',
    'a',
    'A',
    'a ',
    '\u00a0a',
    "O'Brien",
    'O’Brien',
    '<b>',
    '&amp;',
    '"',
    '\\',
    '{}',
    '{a,b}',
    'NULL',
  ],
  ...[
    'null',
    "Robert'); drop table video;--",
    '%',
    '_',
    '٣',
    'x'.repeat(255),
    '𝒳'.repeat(255),
    'e\u0301'.repeat(255),
    'a\nb',
    '\u200d',
  ],
]
const name = fc
  .oneof(
    { weight: 60, arbitrary: fc.constantFrom(...knownNames) },
    { weight: 1, arbitrary: padded(fc.string({ unit: character, minLength: 1, maxLength: 20 })) },
  )
  .filter((it) => tidy(it) !== '' && [...tidy(it)].length <= 255)

const names = fc.oneof(
  { weight: 40, arbitrary: fc.array(name, { maxLength: 6 }) },
  {
    weight: 1,
    arbitrary: fc.array(fc.constantFrom(...knownNames), { minLength: 100, maxLength: 100 }),
  },
  {
    weight: 1,
    arbitrary: fc.constant(Array.from({ length: 100 }, (_, index) => `Speaker ${index}`)),
  },
)

const address = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      null,
      '',
      'https://example.org/',
      'HTTPS://EXAMPLE.ORG',
      'http://[::1]:8080/a?b=<c>&d#e',
      'http://xn--bcher-kva.example',
    ),
  },
  { weight: 2, arbitrary: fc.webUrl({ withQueryParameters: true, withFragments: true }) },
  {
    weight: 1,
    arbitrary: fc
      .string({ unit: character, maxLength: 30 })
      .map((path) => `https://example.org/${path.replaceAll(/\s/g, '')}`),
  },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom(...'aé𝒳')
      .map((one) => `https://example.org/${one.repeat(2048 - 20)}`),
  },
)

/** A real date. Every month has a 28th; the longer ones and leap years come by hand. */
const day = fc.oneof(
  fc.constantFrom(
    '2024-02-29',
    '2000-02-29',
    '0001-01-01',
    '9999-12-31',
    '1582-10-10',
    '2026-03-29',
  ),
  fc
    .tuple(
      fc.integer({ min: 1, max: 9999 }),
      fc.integer({ min: 1, max: 12 }),
      fc.integer({ min: 1, max: 28 }),
    )
    .map(([year, month, date]) =>
      [
        String(year).padStart(4, '0'),
        ...[month, date].map((it) => String(it).padStart(2, '0')),
      ].join('-'),
    ),
)

const orNull = <T>(it: fc.Arbitrary<T>) => fc.option(it, { freq: 3 })
const each = <T>(names: readonly string[], it: fc.Arbitrary<T>) =>
  Object.fromEntries(names.map((name) => [name, it]))
const wholeNumber = (max: number) =>
  fc.oneof(fc.constantFrom(0, 1, max, max - 1), fc.integer({ min: 0, max }))

const values: Record<string, fc.Arbitrary<unknown>> = {
  category: padded(fc.constantFrom(...categories, ...categories.map((it) => it.normalize('NFD')))),
  language: fc.constantFrom(...Object.keys(languages)),
  ...each(lists, names),
  state: fc.constantFrom(1, 2),
  title,
  ...Object.fromEntries(
    Object.entries(texts).map(([field, maxLength]) => [field, text(maxLength)]),
  ),
  ...each(addresses, address),
  duration: orNull(wholeNumber(2 ** 31 - 1)),
  ...each(sizes, orNull(wholeNumber(Number.MAX_SAFE_INTEGER))),
  ...each(switches, fc.boolean()),
  recorded: orNull(day),
}

// Clients send back what they read, and some send back nonsense.
const ignored = each(
  readOnly,
  fc.constantFrom<unknown>(null, 1, -1, '', 'x', [], { a: [1] }, '2001-01-01T00:00:00.000'),
)

/** Anything that PUT and POST must take. */
export const validRecord: fc.Arbitrary<ArbitraryJson> = fc.record(
  { ...values, ...ignored },
  { requiredKeys: ['title', 'category', 'language'] },
)

/** Some fields of a record: anything that PATCH must take. */
export const validPatch: fc.Arbitrary<ArbitraryJson> = fc
  .subarray([...writable, ...readOnly], { maxLength: 6 })
  .chain((chosen) =>
    fc.record(
      Object.fromEntries(
        chosen.map((field) => [field, values[field] ?? (ignored[field] as fc.Arbitrary<unknown>)]),
      ),
    ),
  )

function tidy(name: string): string {
  return name.normalize('NFC').trim()
}

/** What the record shows of fields that were sent. */
function shown(sent: ArbitraryJson): ArbitraryJson {
  const it: ArbitraryJson = {}
  for (const [field, value] of Object.entries(sent)) {
    if (readOnly.includes(field)) continue
    if (field === 'title') it[field] = (value as string).trim()
    else if (field === 'category') it[field] = tidy(value as string)
    else if (field === 'language') it[field] = languages[value as string] ?? value
    else if (lists.includes(field)) it[field] = [...new Set((value as string[]).map(tidy))]
    else it[field] = value
  }
  return it
}

export function afterPut(before: ArbitraryJson, sent: ArbitraryJson): ArbitraryJson {
  return { ...before, ...defaults, ...shown(sent) }
}

/**
 * RFC 7396, section 2, word for word; the record has all fields at all times, so one that was
 * removed is null.
 */
export function afterPatch(before: ArbitraryJson, sent: ArbitraryJson): ArbitraryJson {
  const merged = mergePatch(before, shown(sent)) as ArbitraryJson
  return Object.fromEntries(fields.map((field) => [field, merged[field] ?? null]))
}

function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch
  const result: ArbitraryJson = isObject(target) ? { ...target } : {}
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name]
    else result[name] = mergePatch(result[name], value)
  }
  return result
}

function isObject(value: unknown): value is ArbitraryJson {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const notText = [
  null,
  5,
  true,
  [],
  {},
  ['x'],
  '\u0000',
  'a\u0007b',
  'a\u001fb',
  'a\u007fb',
  'a\ud800b',
  '\udc00',
  '\ud83d',
]
const notAddress = [
  5,
  true,
  [],
  {},
  'x',
  '/a',
  '//example.org',
  'ftp://example.org',
  'javascript:alert(1)',
  'data:,x',
  'http://',
  'https://exa mple.org',
  'https://example.org/two words',
  'https://example.org/\n',
]
const notSize = [-1, 1.5, 2 ** 53, 1e300, '', '5', 'many', true, [], {}]
const notDate = [
  5,
  true,
  [],
  '',
  'today',
  'infinity',
  'now',
  '20240101',
  '2024-1-1',
  '2024-02-30',
  '2023-02-29',
  '0000-01-01',
  '1900-02-29',
  '2024-13-01',
]
const moreNotDates = [
  '2024-00-10',
  '2024-01-00',
  '2024-01-32',
  ' 2024-01-01',
  '2024-01-01T00:00:00',
  '2024-01-01Z',
  'January 8, 1999',
  '-2024-01-01',
  '٢٠٢٤-٠١-٠١',
]
const notNames = [
  null,
  'Ada',
  5,
  {},
  [''],
  ['   '],
  ['a', null],
  [5],
  [['a']],
  ['x'.repeat(256)],
  ['𝒳'.repeat(256)],
  ['a\u0000b'],
  ['\ud800'],
]
const tooLong = (maxLength: number) => ['x'.repeat(maxLength + 1), '𝒳'.repeat(maxLength + 1)]

const wrongValues: Record<string, readonly unknown[]> = {
  category: [...notText, '', '  ', 'No such category', 'x'.repeat(256)],
  language: [...notText, '', '  ', 'No such language', 'x-klingon', 'e', 'x'.repeat(256)],
  ...Object.fromEntries(
    lists.map((field) => [
      field,
      [...notNames, Array.from({ length: 101 }, (_, index) => `Name ${index}`)],
    ]),
  ),
  state: [null, 0, 3, -1, 1.5, '1', true, [1], {}],
  title: [...notText, '', ' \n\t ', '\u00a0\ufeff', ...tooLong(255)],
  ...Object.fromEntries(
    Object.entries(texts).map(([field, maxLength]) => [field, [...notText, ...tooLong(maxLength)]]),
  ),
  ...Object.fromEntries(
    addresses.map((field) => [
      field,
      [...notAddress, `https://example.org/${'x'.repeat(2048)}`, 'https://example.org/\u0000'],
    ]),
  ),
  duration: [...notSize, 2 ** 31],
  ...Object.fromEntries(sizes.map((field) => [field, notSize])),
  ...Object.fromEntries(switches.map((field) => [field, [null, 0, 1, 'true', '', [], {}]])),
  recorded: [...notDate, ...moreNotDates],
}

/**
 * One field with a value that breaks one rule; undefined stands for leaving a required field out.
 */
export const wrongField: fc.Arbitrary<{ field: string; value: unknown }> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.constantFrom(...Object.keys(wrongValues)).chain((field) =>
      fc.record({
        field: fc.constant(field),
        value: fc.constantFrom(...(wrongValues[field] as unknown[])),
      }),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      field: fc.string({ unit: character, maxLength: 12 }).map((it) => `no ${it}`),
      // A key of this name makes the whole body malformed, and then no field is named.
      value: fc.jsonValue().filter((it) => !JSON.stringify(it).includes('"__proto__"')),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      field: fc.constantFrom('title', 'category', 'language'),
      value: fc.constant(undefined),
    }),
  },
)

/** Any JSON at all, with the names of real fields where an object has keys. */
export const anyJson: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 1, arbitrary: fc.jsonValue() },
  {
    weight: 4,
    arbitrary: fc.dictionary(
      fc.oneof(
        {
          weight: 6,
          arbitrary: fc.constantFrom(
            ...fields,
            'url',
            'start_date',
            'end_date',
            'name',
            'aliases',
            'into',
            'videos',
          ),
        },
        { weight: 1, arbitrary: fc.string({ unit: 'binary' }) },
      ),
      fc.oneof(
        fc.jsonValue({ maxDepth: 9 }),
        fc.string({ unit: 'binary' }),
        fc.string({ unit: character, minLength: 8 }),
        fc.constantFrom('1', 1, 2, null, '', [], 'en'),
      ),
      { maxKeys: 8 },
    ),
  },
)

/** Bytes that are no JSON, or hardly. */
export const anyBytes: fc.Arbitrary<Buffer> = fc.oneof(
  fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
  fc
    .string({
      unit: fc.constantFrom(...'{}[]",:\\u0123456789eE+-. tfn\n\ufeff\u0000é𝒳'),
      maxLength: 30,
    })
    .map((it) => Buffer.from(it)),
  fc
    .tuple(validPatch, fc.nat(), fc.nat(3), fc.uint8Array({ maxLength: 3 }))
    .map(([record, at, taken, put]) => {
      const bytes = Buffer.from(JSON.stringify(record))
      const place = at % (bytes.length + 1)
      return Buffer.concat([bytes.subarray(0, place), put, bytes.subarray(place + taken)])
    }),
)
