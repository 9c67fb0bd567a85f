import fc from 'fast-check'
import { category } from './harness.ts'

// Values that clients may send, written by hand from the documented rules and not from the schemas,
// so that a mistake in a schema is found.

/** The fields of a record in their documented order. */
export const fieldOrder =
  'category language slug speakers tags id state title summary description quality_notes ' +
  'copyright_text embed thumbnail_url duration ' +
  'video_ogv_length video_ogv_url video_ogv_download_only ' +
  'video_mp4_length video_mp4_url video_mp4_download_only ' +
  'video_webm_length video_webm_url video_webm_download_only ' +
  'video_flv_length video_flv_url video_flv_download_only ' +
  'source_url whiteboard recorded added updated'
const fields = fieldOrder.split(' ')

export type ArbitraryJson = Record<string, unknown>

const readOnly = ['id', 'slug', 'added', 'updated']
export const urlFields = fields.filter((field) => field.endsWith('_url'))
const sizes = fields.filter((field) => field.endsWith('_length'))
const switches = fields.filter((field) => field.endsWith('_download_only'))
/** The text fields with their maximum lengths. */
export const textFields: Record<string, number> = {
  summary: 20_000,
  description: 100_000,
  quality_notes: 20_000,
  copyright_text: 20_000,
  embed: 20_000,
  whiteboard: 20_000,
}
export const listFields = ['speakers', 'tags']
const writable = fields.filter((field) => !readOnly.includes(field))

/** The values of fields that a PUT omits, without the state, which a PUT without it keeps. */
const defaults: ArbitraryJson = Object.fromEntries(
  writable
    .filter((field) => !['category', 'language', 'title', 'state'].includes(field))
    .map((field) => [field, defaultOf(field)]),
)

function defaultOf(field: string): unknown {
  if (listFields.includes(field)) return []
  if (switches.includes(field)) return false
  return field in textFields ? '' : null
}

/**
 * Must be created before records can use them: one ordinary, one with accents, one with markup and
 * astral characters.
 */
export const categories = [category, 'Journées d’été — Zürich', '<b>𝒳 & "Ω"</b> 日本語']

/** Accepted spellings, and the name that the record then has. */
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

/** Any character that a text field accepts. */
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
    { weight: 1, arbitrary: character.map((char) => char.repeat(maxLength)) },
  )

const space = fc.constantFrom('', '', '', ' ', '\t', '\n ', '\u00a0', '\u3000', '\ufeff', '\u2028')
const padded = (content: fc.Arbitrary<string>) =>
  fc.tuple(space, content, space).map((parts) => parts.join(''))

const title = padded(text(255)).filter((text) => text.trim() !== '')

// Most names exist already, as in practice; a new one costs the service several statements.
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
  .filter((text) => normalize(text) !== '' && [...normalize(text)].length <= 255)

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

const url = fc.oneof(
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
      .map((char) => `https://example.org/${char.repeat(2048 - 20)}`),
  },
)

/** A valid date. Every month has a 28th; leap days and limits are listed. */
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
        ...[month, date].map((number) => String(number).padStart(2, '0')),
      ].join('-'),
    ),
)

const orNull = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { freq: 3 })
const each = <T>(names: readonly string[], arbitrary: fc.Arbitrary<T>) =>
  Object.fromEntries(names.map((name) => [name, arbitrary]))
const wholeNumber = (max: number) =>
  fc.oneof(fc.constantFrom(0, 1, max, max - 1), fc.integer({ min: 0, max }))

const values: Record<string, fc.Arbitrary<unknown>> = {
  category: padded(
    fc.constantFrom(...categories, ...categories.map((title) => title.normalize('NFD'))),
  ),
  language: fc.constantFrom(...Object.keys(languages)),
  ...each(listFields, names),
  state: fc.constantFrom(1, 2),
  title,
  ...Object.fromEntries(
    Object.entries(textFields).map(([field, maxLength]) => [field, text(maxLength)]),
  ),
  ...each(urlFields, url),
  duration: orNull(wholeNumber(2 ** 31 - 1)),
  ...each(sizes, orNull(wholeNumber(Number.MAX_SAFE_INTEGER))),
  ...each(switches, fc.boolean()),
  recorded: orNull(day),
}

// Clients send back what they read, and some send nonsense.
const ignored = each(
  readOnly,
  fc.constantFrom<unknown>(null, 1, -1, '', 'x', [], { a: [1] }, '2001-01-01T00:00:00.000'),
)

/** Any record that PUT and POST must accept. */
export const validRecord: fc.Arbitrary<ArbitraryJson> = fc.record(
  { ...values, ...ignored },
  { requiredKeys: ['title', 'category', 'language'] },
)

/** Some fields of a record: any body that PATCH must accept. */
export const validPatch: fc.Arbitrary<ArbitraryJson> = fc
  .subarray([...writable, ...readOnly], { maxLength: 6 })
  .chain((chosen) =>
    fc.record(
      Object.fromEntries(
        chosen.map((field) => [field, values[field] ?? (ignored[field] as fc.Arbitrary<unknown>)]),
      ),
    ),
  )

function normalize(name: string): string {
  return name.normalize('NFC').trim()
}

/** Returns the values that a record has after fields were sent. */
function stored(input: ArbitraryJson): ArbitraryJson {
  const record: ArbitraryJson = {}
  for (const [field, value] of Object.entries(input)) {
    if (readOnly.includes(field)) continue
    if (field === 'title') record[field] = (value as string).trim()
    else if (field === 'category') record[field] = normalize(value as string)
    else if (field === 'language') record[field] = languages[value as string] ?? value
    else if (listFields.includes(field))
      record[field] = [...new Set((value as string[]).map(normalize))]
    else record[field] = value
  }
  return record
}

/** Returns the record after a PUT. */
export function afterPut(before: ArbitraryJson, input: ArbitraryJson): ArbitraryJson {
  return { ...before, ...defaults, ...stored(input) }
}

/**
 * Returns the record after a PATCH: RFC 7396, section 2, word for word. A record always has all
 * fields, so one that was removed is null.
 */
export function afterPatch(before: ArbitraryJson, input: ArbitraryJson): ArbitraryJson {
  const merged = mergePatch(before, stored(input)) as ArbitraryJson
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
    listFields.map((field) => [
      field,
      [...notNames, Array.from({ length: 101 }, (_, index) => `Name ${index}`)],
    ]),
  ),
  state: [null, 0, 3, -1, 1.5, '1', true, [1], {}],
  title: [...notText, '', ' \n\t ', '\u00a0\ufeff', ...tooLong(255)],
  ...Object.fromEntries(
    Object.entries(textFields).map(([field, maxLength]) => [
      field,
      [...notText, ...tooLong(maxLength)],
    ]),
  ),
  ...Object.fromEntries(
    urlFields.map((field) => [
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
 * One field with a value that breaks one rule; undefined means that a required field is missing.
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
      field: fc.string({ unit: character, maxLength: 12 }).map((name) => `no ${name}`),
      // A key of this name makes the whole body malformed, and the problem names no field.
      value: fc.jsonValue().filter((value) => !JSON.stringify(value).includes('"__proto__"')),
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
            'city',
            'country',
            'colour',
            'links',
            'picture_url',
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

/** Bytes that are not JSON, or only almost. */
export const anyBytes: fc.Arbitrary<Buffer> = fc.oneof(
  fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
  fc
    .string({
      unit: fc.constantFrom(...'{}[]",:\\u0123456789eE+-. tfn\n\ufeff\u0000é𝒳'),
      maxLength: 30,
    })
    .map((text) => Buffer.from(text)),
  fc
    .tuple(validPatch, fc.nat(), fc.nat(3), fc.uint8Array({ maxLength: 3 }))
    .map(([record, number, removed, inserted]) => {
      const bytes = Buffer.from(JSON.stringify(record))
      const offset = number % (bytes.length + 1)
      return Buffer.concat([bytes.subarray(0, offset), inserted, bytes.subarray(offset + removed)])
    }),
)
