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
  return collect(v2.read(toAsync(file('talks.json', text, length)), options))
}

/** A file that is read in chunks of this length. */
function file(path: string, text: string, length = 1 << 16): SourceFile {
  const unused = () => assert.fail('the text is read in chunks')
  async function* chunks() {
    for (let offset = 0; offset < text.length; offset += length)
      yield text.slice(offset, offset + length)
  }
  return Object.assign({ path, text: unused, lines: unused }, { chunks })
}

async function* toAsync(...files: SourceFile[]) {
  yield* files
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const item of items) list.push(item)
  return list
}

function talksOf(items: readonly ParsedItem[]): ImportItem[] {
  return items.map((item) => {
    assert.ok('fields' in item, JSON.stringify(item))
    return item
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

test('reads a record, a list, a page and one record per line in any layout', async () => {
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
      const items = talksOf(await read(text, none, length))
      assert.deepEqual(
        items.map(({ fields, facts, notes, ...rest }) => ({
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
  const [one] = talksOf(await read(JSON.stringify(record, null, 2)))
  assert.deepEqual([one?.place, one?.fields], ['record 1', record])
})

test('reads a list in any chunks, with brackets, quotes and backslashes', async () => {
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
            talksOf(await read(text, none, length)).map(({ fields }) => fields.title),
            titles,
          )
      },
    ),
    { numRuns: 100 },
  )
})

test('reports the places of records', async () => {
  const places = async (text: string) =>
    (await read(text)).map((item) => 'place' in item && item.place)
  assert.deepEqual(await places(`\n${lines(record)}\n${lines(record)}`), ['line 2', 'line 4'])
  assert.deepEqual(await places(JSON.stringify([record, record])), ['record 1', 'record 2'])
  assert.deepEqual(await places(JSON.stringify({ results: [record] })), ['line 1, result 1'])
  const folder = toAsync(
    file('a/one.json', JSON.stringify(record, null, 2)),
    file('a/two.json', lines(record, record)),
  )
  const items = talksOf(await collect(v2.read(folder, none)))
  assert.deepEqual(
    items.map(({ place }) => place),
    ['a/one.json', 'a/two.json', 'a/two.json, line 2'],
  )
})

test('keeps the id of a record, and other fields as facts', async () => {
  const input = {
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
  const [talk] = talksOf(await read(lines(input)))
  assert.ok(talk)
  assert.deepEqual([talk.id, talk.key, talk.kept], [7, '7', undefined])
  assert.deepEqual(talk.fields, record)
  assert.deepEqual(talk.facts, [
    { kind: 'related', url: 'https://example.org/a', label: null },
    { kind: 'related', url: 'https://example.org/b', label: 'Slides' },
    { kind: 'related', url: 'https://example.org/c', label: null },
    { kind: 'said', source: 'v2', field: 'rating', value: { stars: 5 } },
  ])
  assert.deepEqual(
    talk.notes.map(({ kind, field }) => [kind, field]),
    [
      ['dropped', 'related_urls'],
      ['dropped', 'x'.repeat(100)],
      ['dropped', 'broken'],
    ],
  )
  const [wrongId] = talksOf(await read(lines({ ...record, id: '7' })))
  assert.deepEqual(
    [wrongId?.id, wrongId?.key, wrongId?.notes[0]?.field],
    [undefined, undefined, 'id'],
  )
  const many = Object.fromEntries(
    Array.from({ length: 1500 }, (_, index) => [`field ${index}`, index]),
  )
  const [full] = talksOf(await read(lines({ ...record, ...many })))
  assert.deepEqual([full?.facts.length, full?.notes.length], [1000, 1])
})

test('uses the category and language options for records that have none', async () => {
  const options = { category: 'Other Days', language: 'fr' }
  const { category: _, language: __, ...bare } = record
  const [first, second] = talksOf(await read(lines(bare, record), options))
  assert.deepEqual([first?.fields.category, first?.fields.language], ['Other Days', 'fr'])
  assert.deepEqual(
    [second?.fields.category, second?.fields.language],
    ['ExampleConf 2021', 'English'],
  )
})

test('notes that a page is not the last one', async () => {
  const text = JSON.stringify({
    count: 2,
    next: 'https://example.org/api/v2/video?page=2',
    previous: null,
    results: [record, record],
  })
  const [first, second] = talksOf(await read(text))
  assert.deepEqual([first?.notes.map(({ field }) => field), second?.notes], [['next'], []])
})

test('reports an invalid line, and reads the others', async () => {
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
  const items = await read(`${lines(record)}${wrong.join('\n')}\n${lines(record)}`)
  assert.deepEqual(
    items.map((item) => ('unreadable' in item ? item.place : 'read')),
    ['read', ...wrong.map((_, index) => `line ${index + 2}`), 'read'],
  )
  for (const item of items)
    if ('unreadable' in item) assert.ok(item.unreadable.length < 200, item.unreadable)
  const first = await read(`{"title": "cut\n${lines(record)}`)
  assert.deepEqual(
    first.map((item) => 'unreadable' in item),
    [true, false],
  )
  const list = await read(JSON.stringify([record, 5, [record], { ...record, title: null }, record]))
  assert.deepEqual(
    list.map((item) => 'unreadable' in item),
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

test('survives a duplicate key, __proto__ and a million brackets', async () => {
  const [twice] = talksOf(await read(`{"title":"One","title":"Two","speakers":[]}\n`))
  assert.equal(twice?.fields.title, 'Two')
  const [proto] = talksOf(
    await read(
      '{"title":"One","__proto__":{"polluted":1},' +
        '"more":{"__proto__":{"polluted":1}},"constructor":1}\n',
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
  const items = await read(
    `${lines(record)}{"title":"Deep","more":${deep}}\n${deep}\n${lines(record)}`,
  )
  assert.deepEqual(
    items.map((item) => ('unreadable' in item ? item.unreadable : 'read')),
    ['read', 'Is nested more than 100 levels deep', 'Is nested more than 100 levels deep', 'read'],
  )
  assert.equal((await read(`[${deep},${JSON.stringify(record)}]`)).length, 2)
  await assert.rejects(read(`[{"title":"${'x'.repeat(17 << 20)}"}]`), /more than 16 MB/)
  await assert.rejects(read(`${lines(record)}${'x'.repeat(5 << 20)}`), /Line 2 .* more than 4 MB/)
})

test('restores the read-only fields of an export', async () => {
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

test('reports an export that was cut off or has a wrong count', async () => {
  const video = { kind: 'video', revision: 4, record: whole }
  const end = { kind: 'end', videos: 1 }
  const readReasons = async (...values: unknown[]) =>
    (await read(lines(...values))).flatMap((item) =>
      'unreadable' in item ? [`${item.place}: ${item.unreadable}`] : [],
    )
  assert.deepEqual(await readReasons(head, video, end), [])
  assert.deepEqual(await readReasons(head, video, end, head, video, end), [])
  assert.match((await readReasons(head, video)).join(), /^end: The export was cut off/)
  assert.match(
    (await readReasons(head, video, head, video, end)).join(),
    /^end: The export was cut off/,
  )
  assert.match((await readReasons(head, end)).join(), /^end: The export has 0 of 1 records/)
  assert.match(
    (await readReasons(head, video, end, video)).join(),
    /^line 4: Has none of the fields/,
  )
  assert.match(
    (await readReasons(head, { ...speaker, slug: 5 }, { kind: 'end', videos: 0 })).join(),
    /^line 2: slug must be/,
  )
  assert.match(
    (await readReasons(head, { ...video, record: { ...whole, added: 'today' } }, end)).join(),
    /^line 2: record\/added/,
  )
  assert.match(
    (await readReasons(head, { ...video, facts: [{ kind: 'related' }] }, end)).join(),
    /^line 2: facts\/0/,
  )
  await assert.rejects(
    read(lines({ ...head, version: 2 })),
    (error) => error instanceof InputRefused && /newer Talkshelf \(version 2\)/.test(error.message),
  )
})

test('refuses invalid values of an export line by line', async () => {
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
    const [item] = await read(lines(head, value, { kind: 'end', videos: 1 }))
    return item && 'unreadable' in item ? item.unreadable : 'taken'
  }
  assert.equal(await lineOf(video), 'taken')
  assert.equal(await lineOf(category), 'taken')
  const wrong: [unknown, RegExp][] = [
    [{ ...video, revision: 0 }, /^revision must be/],
    [{ ...video, revision: 2_147_483_647 }, /^revision must be/],
    [{ ...video, record: { ...whole, id: 1e300 } }, /^record\/id must be/],
    [
      { ...video, record: { ...whole, added: '2021-02-30T00:00:00.000' } },
      /^record\/added must be a valid date and time/,
    ],
    [
      { ...video, record: { ...whole, added: '2021-02-03T24:00:00.000' } },
      /^record\/added must be a valid date and time/,
    ],
    [
      { ...video, record: { ...whole, added: '0000-02-03T04:00:00.000' } },
      /^record\/added must be a valid date and time/,
    ],
    [{ ...video, record: { ...whole, updated: tomorrow } }, /is in the future/],
    [{ ...video, record: { ...whole, slug: 'x'.repeat(51) } }, /^record\/slug must be/],
    [
      { ...video, taken_down: { day: 'yesterday or so', reason: 'x' } },
      /^taken_down\/day must be a valid date/,
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
    [{ ...category, url: 'javascript:alert(1)' }, /^url must be an absolute http or https URL/],
    [{ ...category, start_date: '2020-02-30' }, /^start_date must be a valid date/],
    [{ ...category, kind: 'planet' }, /^kind must be/],
  ]
  for (const [value, reason] of wrong)
    assert.match(await lineOf(value), reason, JSON.stringify(value))
})

test('replaces an invalid slug, with a note', async () => {
  for (const slug of ['', '../../x', 'a/b', 'a?b', 'a%2fb', 'Ä', '-a', 'a--b']) {
    const video = { kind: 'video', revision: 4, record: { ...whole, slug } }
    const [item] = await read(lines(head, video, { kind: 'end', videos: 1 }))
    assert.ok(item && 'kept' in item, slug)
    assert.equal(item.kept?.slug, undefined)
    assert.deepEqual(
      item.notes.map(({ field }) => field),
      ['slug'],
    )
  }
})

test('recognises records by their content, and no other files', () => {
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
  assert.ok(performance.now() - started < 60_000, 'a beginning of quotes takes too long')
})

const archiveFile = fileURLToPath(
  new URL('../../../../shared/data/v2-era.ndjson.gz', import.meta.url),
)

test('reads all records of the former API', {
  skip: !existsSync(archiveFile) && 'the records are not available',
}, async () => {
  const input = await openInput({ path: archiveFile })
  assert.ok(v2.recognises(input.head, input.firstPath))
  const items = talksOf(await collect(v2.read(input.files, none)))
  assert.equal(items.length, 2644)
  assert.equal(items.flatMap(({ facts }) => facts).length, 117)
  assert.deepEqual(
    items.flatMap(({ notes }) => notes),
    [],
  )
  assert.equal(
    items.filter(({ fields }) => validationErrors(VideoPatch, fields).length > 0).length,
    0,
  )
})
