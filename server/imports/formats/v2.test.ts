import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import test from 'node:test'
import { fileURLToPath } from 'node:url'
import { VideoPatch, validationErrors } from '@talkshelf/contract'
import fc from 'fast-check'
import { openInput } from '../input/input.ts'
import { objectKeysIn } from '../input/json-stream.ts'
import { type ImportItem, InputRefused, type ParsedItem, type SourceFile } from '../item.ts'
import { v2 } from './v2.ts'

const none = { category: undefined, language: undefined }

async function read(
  text: string,
  options: Parameters<typeof v2.read>[1] = none,
  length = 1 << 16,
): Promise<ParsedItem[]> {
  return listed(v2.read(given(file('talks.json', text, length)), options))
}

/** In pieces of this length, however the text lies in them. */
function file(path: string, text: string, length = 1 << 16): SourceFile {
  const once = () => assert.fail('the text is read in pieces')
  async function* pieces() {
    for (let from = 0; from < text.length; from += length) yield text.slice(from, from + length)
  }
  return Object.assign({ path, text: once, lines: once }, { pieces })
}

async function* given(...files: SourceFile[]) {
  yield* files
}

async function listed<T>(all: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const one of all) list.push(one)
  return list
}

function drafts(readings: readonly ParsedItem[]): ImportItem[] {
  return readings.map((reading) => {
    assert.ok('fields' in reading, JSON.stringify(reading))
    return reading
  })
}

const record = {
  category: 'ExampleConf 2021',
  language: 'English',
  speakers: ['Ada Example'],
  tags: [],
  title: 'Gardens on the Moon',
  summary: '',
  duration: null,
}
const titled = (title: string) => ({ ...record, title })
const lines = (...values: unknown[]) =>
  `${values.map((value) => JSON.stringify(value)).join('\n')}\n`

const head = { kind: 'talkshelf', version: 1, at: '2021-05-17T10:00:00.000' }
const whole = {
  ...record,
  id: 7,
  slug: 'gardens-on-the-moon',
  added: '2021-05-17T10:00:00.000',
  updated: '2021-05-18T10:00:00.000',
}
const speaker = {
  kind: 'speaker',
  id: 3,
  name: 'Ada Example',
  slug: 'ada-example',
  old_slugs: ['ada'],
  aliases: [],
  revision: 1,
}

test('a record, a list, a page and a record a line say the same, however they are laid out', async () => {
  const two = [titled('One'), titled('Two')]
  const texts = {
    lines: lines(...two),
    'lines with CR and blanks': `\r\n${lines(...two).replaceAll('\n', '\r\n\r\n')}`,
    'no end of line': lines(...two).trim(),
    list: JSON.stringify(two),
    'list over lines': JSON.stringify(two, null, 2),
    'one after the other': two.map((one) => JSON.stringify(one, null, '\t')).join('\n'),
    page: JSON.stringify({ count: 2, next: null, previous: null, results: two }),
    'page over lines': JSON.stringify(
      { count: 2, next: null, previous: null, results: two },
      null,
      2,
    ),
  }
  for (const [name, text] of Object.entries(texts))
    for (const length of [1, 7, 1 << 16]) {
      const found = drafts(await read(text, none, length))
      assert.deepEqual(
        found.map(({ fields, facts, notes, ...rest }) => ({
          fields,
          facts,
          notes,
          keys: Object.keys(rest),
        })),
        two.map((fields) => ({ fields, facts: [], notes: [], keys: ['place'] })),
        name,
      )
      assert.ok(v2.recognises(text, 'anything'), name)
    }
  const [one] = drafts(await read(JSON.stringify(record, null, 2)))
  assert.deepEqual([one?.place, one?.fields], ['record 1', record])
})

test('a list is read in any cut, with brackets, quotes and backslashes in its texts', async () => {
  const title = fc.string({
    unit: fc.constantFrom(...'[]{}",:\\é𝒳\n '),
    minLength: 1,
    maxLength: 12,
  })
  await fc.assert(
    fc.asyncProperty(
      fc.array(title, { minLength: 1, maxLength: 5 }),
      fc.integer({ min: 1, max: 9 }),
      fc.nat(2),
      async (titles, length, space) => {
        const list = titles.map(titled)
        for (const text of [JSON.stringify(list, null, space), lines(...list)])
          assert.deepEqual(
            drafts(await read(text, none, length)).map(({ fields }) => fields.title),
            titles,
          )
      },
    ),
    { numRuns: 100 },
  )
})

test('the places are those of the file', async () => {
  const places = async (text: string) =>
    (await read(text)).map((reading) => 'place' in reading && reading.place)
  assert.deepEqual(await places(`\n${lines(record)}\n${lines(record)}`), ['line 2', 'line 4'])
  assert.deepEqual(await places(JSON.stringify([record, record])), ['record 1', 'record 2'])
  assert.deepEqual(await places(JSON.stringify({ results: [record] })), ['line 1, result 1'])
  const folder = given(
    file('a/one.json', JSON.stringify(record, null, 2)),
    file('a/two.json', lines(record, record)),
  )
  const found = drafts(await listed(v2.read(folder, none)))
  assert.deepEqual(
    found.map(({ place }) => place),
    ['a/one.json', 'a/two.json', 'a/two.json, line 2'],
  )
})

test('a plain record keeps its id; what has no field is kept as said, and related addresses as such', async () => {
  const given = {
    ...whole,
    related_urls: [
      'https://example.org/a',
      { url: 'https://example.org/b', description: 'Slides' },
      { url: 'https://example.org/c', label: '' },
      5,
    ],
    rating: { stars: 5 },
    [`${'x'.repeat(101)}`]: 1,
    broken: 'a\ud800',
  }
  const [draft] = drafts(await read(lines(given)))
  assert.ok(draft)
  assert.deepEqual([draft.id, draft.key, draft.kept], [7, '7', undefined])
  assert.deepEqual(draft.fields, record)
  assert.deepEqual(draft.facts, [
    { kind: 'related', url: 'https://example.org/a', label: null },
    { kind: 'related', url: 'https://example.org/b', label: 'Slides' },
    { kind: 'related', url: 'https://example.org/c', label: null },
    { kind: 'said', source: 'v2', field: 'rating', value: { stars: 5 } },
  ])
  assert.deepEqual(
    draft.notes.map(({ kind, field }) => [kind, field]),
    [
      ['dropped', 'related_urls'],
      ['dropped', 'x'.repeat(100)],
      ['dropped', 'broken'],
    ],
  )
  const [wrongId] = drafts(await read(lines({ ...record, id: '7' })))
  assert.deepEqual(
    [wrongId?.id, wrongId?.key, wrongId?.notes[0]?.field],
    [undefined, undefined, 'id'],
  )
  const many = Object.fromEntries(Array.from({ length: 1500 }, (_, at) => [`field ${at}`, at]))
  const [full] = drafts(await read(lines({ ...record, ...many })))
  assert.deepEqual([full?.facts.length, full?.notes.length], [1000, 1])
})

test('the category and language that are given are for records that have none', async () => {
  const options = { category: 'Other Days', language: 'fr' }
  const { category: _, language: __, ...bare } = record
  const [first, second] = drafts(await read(lines(bare, record), options))
  assert.deepEqual([first?.fields.category, first?.fields.language], ['Other Days', 'fr'])
  assert.deepEqual(
    [second?.fields.category, second?.fields.language],
    ['ExampleConf 2021', 'English'],
  )
})

test('a page that is not the last one says so', async () => {
  const text = JSON.stringify({
    count: 2,
    next: 'https://example.org/api/v2/video?page=2',
    previous: null,
    results: [record, record],
  })
  const [first, second] = drafts(await read(text))
  assert.deepEqual([first?.notes.map(({ field }) => field), second?.notes], [['next'], []])
})

test('a line from which no record can be made is told, and the others are read', async () => {
  const wrong = [
    '{"title": "cut',
    'no JSON',
    '[]',
    '5',
    'null',
    '{"title": 5}',
    '{"name": "x"}',
    '{}',
    '{"kind":"end","videos":0}',
  ]
  const found = await read(`${lines(record)}${wrong.join('\n')}\n${lines(record)}`)
  assert.deepEqual(
    found.map((reading) => ('unreadable' in reading ? reading.place : 'read')),
    ['read', ...wrong.map((_, at) => `line ${at + 2}`), 'read'],
  )
  for (const reading of found)
    if ('unreadable' in reading) assert.ok(reading.unreadable.length < 200, reading.unreadable)
  const first = await read(`{"title": "cut\n${lines(record)}`)
  assert.deepEqual(
    first.map((reading) => 'unreadable' in reading),
    [true, false],
  )
  const list = await read(JSON.stringify([record, 5, [record], { ...record, title: null }, record]))
  assert.deepEqual(
    list.map((reading) => 'unreadable' in reading),
    [false, true, true, true, false],
  )
  for (const text of [
    JSON.stringify([record, record]).slice(0, -1),
    JSON.stringify([record, record]).slice(0, -5),
    JSON.stringify(record, null, 2).slice(0, -2),
  ]) {
    const last = (await read(text)).at(-1)
    assert.ok(last && 'unreadable' in last && /cut off/.test(last.unreadable), text)
  }
})

test('a key twice, __proto__ and a million brackets do no harm', async () => {
  const [twice] = drafts(await read(`{"title":"One","title":"Two","speakers":[]}\n`))
  assert.equal(twice?.fields.title, 'Two')
  const [proto] = drafts(
    await read(
      `{"title":"One","__proto__":{"polluted":1},"more":{"__proto__":{"polluted":1}},"constructor":1}\n`,
    ),
  )
  assert.ok(proto)
  assert.equal(({} as { polluted?: unknown }).polluted, undefined)
  assert.equal((proto.fields as { polluted?: unknown }).polluted, undefined)
  assert.deepEqual(
    proto.notes.map(({ field }) => field),
    ['__proto__', 'more'],
  )
  assert.deepEqual(proto.facts, [{ kind: 'said', source: 'v2', field: 'constructor', value: 1 }])
  const deep = `${'['.repeat(1 << 19)}${']'.repeat(1 << 19)}`
  const found = await read(
    `${lines(record)}{"title":"Deep","more":${deep}}\n${deep}\n${lines(record)}`,
  )
  assert.deepEqual(
    found.map((reading) => ('unreadable' in reading ? reading.unreadable : 'read')),
    ['read', 'Is nested more than 100 deep', 'Is nested more than 100 deep', 'read'],
  )
  assert.equal((await read(`[${deep},${JSON.stringify(record)}]`)).length, 2)
  await assert.rejects(read(`[{"title":"${'x'.repeat(17 << 20)}"}]`), /more than 16 MB/)
  await assert.rejects(read(`${lines(record)}${'x'.repeat(5 << 20)}`), /Line 2 .* more than 4 MB/)
})

test('an export of ours gives back what the service gave the record itself', async () => {
  const facts = [{ kind: 'address', path: 'video/7/gardens' }]
  const taken = { day: '2021-06-01', reason: 'The speaker asked for it' }
  const video = { kind: 'video', revision: 4, record: whole, facts }
  const gone = { kind: 'video', revision: 2, record: { ...whole, id: 8 }, taken_down: taken }
  const text = lines(head, speaker, video, gone, { kind: 'end', videos: 2 })
  assert.ok(v2.recognises(text, 'talkshelf.ndjson'))
  const [entity, first, second, ...rest] = await read(text, {
    category: 'Other Days',
    language: undefined,
  })
  assert.deepEqual(entity, { place: 'line 2', entity: speaker })
  const { slug, added, updated } = whole
  const kept = { slug, added, updated, revision: 4 }
  assert.deepEqual(first, {
    place: 'line 3',
    id: 7,
    key: `7 ${slug}`,
    fields: record,
    facts,
    notes: [],
    kept,
  })
  assert.deepEqual(second && 'kept' in second && second.kept, {
    slug,
    added,
    updated,
    revision: 2,
    takenDown: taken,
  })
  assert.deepEqual(rest, [])
})

test('an export that was cut off, or whose count is wrong, says so; several may follow each other', async () => {
  const video = { kind: 'video', revision: 4, record: whole }
  const end = { kind: 'end', videos: 1 }
  const told = async (...values: unknown[]) =>
    (await read(lines(...values))).flatMap((it) =>
      'unreadable' in it ? [`${it.place}: ${it.unreadable}`] : [],
    )
  assert.deepEqual(await told(head, video, end), [])
  assert.deepEqual(await told(head, video, end, head, video, end), [])
  assert.match((await told(head, video)).join(), /^end: The export was cut off/)
  assert.match((await told(head, video, head, video, end)).join(), /^end: The export was cut off/)
  assert.match(
    (await told(head, end)).join(),
    /^end: The export should have 1 records, and 0 are there/,
  )
  assert.match((await told(head, video, end, video)).join(), /^line 4: Has none of the fields/)
  assert.match(
    (await told(head, { ...speaker, slug: 5 }, { kind: 'end', videos: 0 })).join(),
    /^line 2: slug must be/,
  )
  assert.match(
    (await told(head, { ...video, record: { ...whole, added: 'today' } }, end)).join(),
    /^line 2: record\/added/,
  )
  assert.match(
    (await told(head, { ...video, facts: [{ kind: 'related' }] }, end)).join(),
    /^line 2: facts\/0/,
  )
  await assert.rejects(
    read(lines({ ...head, version: 2 })),
    (error) => error instanceof InputRefused && /newer Talkshelf \(version 2\)/.test(error.message),
  )
})

test('values of an export that no archive can have are refused line by line', async () => {
  const video = { kind: 'video', revision: 4, record: whole }
  const category = {
    ...speaker,
    kind: 'category',
    description: '',
    url: null,
    start_date: null,
    end_date: null,
  }
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, -1)
  const lineOf = async (value: unknown) => {
    const [reading] = await read(lines(head, value, { kind: 'end', videos: 1 }))
    return reading && 'unreadable' in reading ? reading.unreadable : 'taken'
  }
  assert.equal(await lineOf(video), 'taken')
  assert.equal(await lineOf(category), 'taken')
  const wrong: [unknown, RegExp][] = [
    [{ ...video, revision: 0 }, /^revision must be/],
    [{ ...video, revision: 2_147_483_647 }, /^revision must be/],
    [{ ...video, record: { ...whole, id: 1e300 } }, /^record\/id must be/],
    [
      { ...video, record: { ...whole, added: '2021-02-30T00:00:00.000' } },
      /^record\/added must be a real moment/,
    ],
    [
      { ...video, record: { ...whole, added: '2021-02-03T24:00:00.000' } },
      /^record\/added must be a real moment/,
    ],
    [
      { ...video, record: { ...whole, added: '0000-02-03T04:00:00.000' } },
      /^record\/added must be a real moment/,
    ],
    [{ ...video, record: { ...whole, updated: tomorrow } }, /is in the future/],
    [{ ...video, record: { ...whole, slug: 'x'.repeat(51) } }, /^record\/slug must be/],
    [
      { ...video, taken_down: { day: 'yesterday or so', reason: 'x' } },
      /^taken_down\/day must be a real date/,
    ],
    [{ ...video, taken_down: { day: tomorrow.slice(0, 10), reason: 'x' } }, /is in the future/],
    [
      { ...video, taken_down: { day: '2021-06-01', reason: 'x'.repeat(1001) } },
      /^taken_down\/reason must be/,
    ],
    [{ ...speaker, id: Number.MAX_SAFE_INTEGER }, /^id must be/],
    [{ ...speaker, revision: 3_000_000_000 }, /^revision must be/],
    [{ ...speaker, name: ' \n ' }, /^name must be/],
    [{ ...speaker, old_slugs: ['../x'] }, /^old_slugs\/0 must be/],
    [{ ...category, url: 'javascript:alert(1)' }, /^url must be an absolute http or https address/],
    [{ ...category, start_date: '2020-02-30' }, /^start_date must be a real date/],
    [{ ...category, kind: 'planet' }, /^kind must be/],
  ]
  for (const [value, reason] of wrong)
    assert.match(await lineOf(value), reason, JSON.stringify(value))
})

test('a slug that is none is replaced, with a note', async () => {
  for (const slug of ['', '../../x', 'a/b', 'a?b', 'a%2fb', 'Ä', '-a', 'a--b']) {
    const video = { kind: 'video', revision: 4, record: { ...whole, slug } }
    const [reading] = await read(lines(head, video, { kind: 'end', videos: 1 }))
    assert.ok(reading && 'kept' in reading, slug)
    assert.equal(reading.kept?.slug, undefined)
    assert.deepEqual(
      reading.notes.map(({ field }) => field),
      ['slug'],
    )
  }
})

test('it is recognised by what is in it, and takes no file of another format', () => {
  const yes = [record, [record], { count: 1, next: null, previous: null, results: [record] }, whole]
  for (const value of yes)
    for (const space of [0, 2])
      assert.ok(v2.recognises(JSON.stringify(value, null, space), 'x.txt'), JSON.stringify(value))
  const long = JSON.stringify([{ ...record, description: 'a"\\'.repeat(40_000) }])
  assert.ok(v2.recognises(long.slice(0, 65_536), 'x'))
  const no = [
    { ...record, videos: [] },
    { ...record, event: 'x', file: 'y' },
    {
      title: 'x',
      categories: [],
      tags: [],
      extractor: 'example',
      webpage_url: 'https://example.org/',
    },
    {
      title: 'x',
      speakers: [],
      state: 'confirmed',
      code: 'ABC',
      track: 'x',
      submission_type: 'talk',
      slot_count: 1,
      internal_notes: '',
    },
    { title: 'ExampleConf', description: '' },
    { name: 'x', about: { title: 'x', category: 'y', speakers: [] } },
    { about: '"title" "category"' },
    [],
    5,
  ]
  for (const value of no)
    assert.ok(!v2.recognises(JSON.stringify(value), 'talks.v2.json'), JSON.stringify(value))
  for (const text of ['', 'title,category\n', '<title/>', '{'])
    assert.ok(!v2.recognises(text, 'talks.json'), text)
  const started = performance.now()
  for (const text of [
    '{"a":"\\"'.repeat(9000),
    `{"${'\\"'.repeat(32_000)}`,
    `{"${'\\'.repeat(65_001)}`,
    '{"a":'.repeat(13_000),
  ])
    objectKeysIn(text)
  assert.ok(performance.now() - started < 5000, 'a beginning that is all quotes takes long')
})

const era = fileURLToPath(new URL('../../../../shared/data/v2-era.ndjson.gz', import.meta.url))

test('all records of the former API are read', {
  skip: !existsSync(era) && 'the records are not at hand',
}, async () => {
  const input = await openInput({ path: era })
  assert.ok(v2.recognises(input.begin, input.firstPath))
  const found = drafts(await listed(v2.read(input.files, none)))
  assert.equal(found.length, 2644)
  assert.equal(found.flatMap(({ facts }) => facts).length, 117)
  assert.deepEqual(
    found.flatMap(({ notes }) => notes),
    [],
  )
  assert.equal(
    found.filter(({ fields }) => validationErrors(VideoPatch, fields).length > 0).length,
    0,
  )
})
