import assert from 'node:assert/strict'
import test from 'node:test'
import { VideoInput, validationErrors } from '@talkshelf/contract'
import { type ImportItem, InputRefused, type ParsedItem, type SourceFile } from '../item.ts'
import { csv, csvTemplate } from './csv.ts'

const none = { category: undefined, language: undefined }

async function read(
  text: string,
  options: Parameters<typeof csv.read>[1] = none,
  length = 1 << 16,
): Promise<ParsedItem[]> {
  const once = () => assert.fail('the text is read in pieces')
  async function* pieces() {
    for (let from = 0; from < text.length; from += length) yield text.slice(from, from + length)
  }
  async function* files(): AsyncGenerator<SourceFile> {
    yield Object.assign({ path: 'talks.csv', text: once, lines: once }, { pieces })
  }
  const readings: ParsedItem[] = []
  for await (const reading of csv.read(files(), options)) readings.push(reading)
  return readings
}

async function drafts(...args: Parameters<typeof read>): Promise<ImportItem[]> {
  return (await read(...args)).map((reading) => {
    assert.ok('fields' in reading, JSON.stringify(reading))
    return reading
  })
}

/** What is told about each row that can't be read. */
async function told(text: string): Promise<string[]> {
  return (await read(text)).flatMap((reading) =>
    'unreadable' in reading ? [`${reading.place}: ${reading.unreadable}`] : [],
  )
}

function refused(text: string, message: RegExp): Promise<void> {
  return assert.rejects(
    read(text),
    (error) => error instanceof InputRefused && message.test(error.message),
  )
}

test('the template is read by the reader, whole and without notes', async () => {
  const [draft, ...others] = await drafts(csvTemplate())
  assert.ok(draft)
  assert.deepEqual(
    [draft.place, draft.key, draft.id, draft.notes, others],
    ['row 2', 'talk-1', undefined, [], []],
  )
  assert.deepEqual(validationErrors(VideoInput, draft.fields), [])
  assert.deepEqual(draft.fields.speakers, ['Ada Example', 'Bo Sample'])
  assert.deepEqual(
    [draft.fields.state, draft.fields.duration, draft.fields.video_mp4_download_only],
    [2, 2700, false],
  )
  assert.deepEqual(draft.facts, [
    { kind: 'related', url: 'https://example.org/talks/1/slides', label: null },
  ])
  assert.ok(csv.recognises(csvTemplate(), 'standard input'))
})

test('comma, semicolon and tab are seen from the header, in any cut and with any line end', async () => {
  for (const sign of [',', ';', '\t'])
    for (const end of ['\n', '\r\n'])
      for (const length of [1, 3, 1 << 16]) {
        const rows = [
          ['Title', ' SPEAKERS ', 'tags', 'description'],
          ['One', '"Ada; Bo"', '', '"A ""quoted"" word,\r\nand\n; more"'],
          ['Two', '', 'x', ''],
        ]
        const text = rows.map((cells) => cells.join(sign)).join(end)
        const [one, two] = await drafts(text, none, length)
        assert.deepEqual(one?.fields, {
          title: 'One',
          speakers: ['Ada', 'Bo'],
          description: 'A "quoted" word,\r\nand\n; more',
        })
        assert.deepEqual([two?.place, two?.fields], ['row 3', { title: 'Two', tags: ['x'] }])
      }
})

test('an empty cell says nothing, an empty row is none, and a short row is one', async () => {
  const found = await drafts('\r\ntitle,summary,duration\r\n\r\n,,\r\n"One", ,\r\nTwo\r\n')
  assert.deepEqual(
    found.map(({ place, fields }) => [place, fields]),
    [
      ['row 5', { title: 'One' }],
      ['row 6', { title: 'Two' }],
    ],
  )
})

test('each kind of cell becomes what the record has', async () => {
  const of = async (column: string, cell: string) =>
    (await drafts(`title;${column}\nx;${cell}`))[0]?.fields[column as 'title']
  const cases: [string, string, unknown][] = [
    ['state', ' Live ', 1],
    ['state', '2', 2],
    ['video_ogv_download_only', 'YES', true],
    ['video_ogv_download_only', '0', false],
    ['video_mp4_length', '3744241418', 3_744_241_418],
    ['duration', ' 90 ', 90],
    ['duration', '1:02:30', 3750],
    ['duration', '75:30', 4530],
    ['recorded', '2031-05-17', '2031-05-17'],
    ['source_url', ' https://example.org/a?b=c;d ', 'https://example.org/a?b=c;d'],
    ['speakers', '" Ada ;; Bo\\; Jr. ; C\\\\ ;D\\E; "', ['Ada', 'Bo; Jr.', 'C\\', 'D\\E']],
    ['summary', ' with space ', ' with space '],
    ['summary', "'=1+1", '=1+1'],
    ['summary', "''-x", "'-x"],
    ['summary', "'quoted'", "'quoted'"],
  ]
  for (const [column, cell, value] of cases) {
    const text = cell.startsWith('"') || !cell.includes(';') ? cell : `"${cell}"`
    assert.deepEqual(await of(column, text), value, `${column} ${cell}`)
  }
  const [timed] = await drafts('title,duration\nx,1:00')
  assert.deepEqual(timed?.notes, [
    { kind: 'repaired', field: 'duration', detail: 'is “1:00” in the file, and 60 seconds here' },
  ])
})

test('key, id and addresses beside the record', async () => {
  const text =
    'key,id,title,related,media\na-1,7,x,https://example.org/a;b https://example.org/c;https://example.org/d; ,"https://media.example.org/x.MP4\nhttps://tube.example.org/9"'
  const [draft] = await drafts(text)
  assert.deepEqual([draft?.key, draft?.id], ['a-1', 7])
  assert.deepEqual(draft?.facts, [
    { kind: 'related', url: 'https://example.org/a;b', label: null },
    { kind: 'related', url: 'https://example.org/c', label: null },
    { kind: 'related', url: 'https://example.org/d', label: null },
    { kind: 'media', url: 'https://media.example.org/x.MP4', type: 'mp4', size: null },
    { kind: 'media', url: 'https://tube.example.org/9', type: 'tube.example.org', size: null },
  ])
})

test('a cell that can’t be read is named with its row, and the other rows are read', async () => {
  const wrong: [string, string][] = [
    ['state', 'constructor'],
    ['video_mp4_download_only', 'toString'],
    ['video_mp4_download_only', 'perhaps'],
    ['video_mp4_length', '-1'],
    ['video_mp4_length', '1.5'],
    ['video_mp4_length', '9007199254740993'],
    ['duration', 'long'],
    ['duration', '1:75:00'],
    ['duration', '1:99'],
    ['recorded', '17.05.2031'],
    ['id', '0'],
    ['id', 'seven'],
  ]
  for (const [column, cell] of wrong) {
    const found = await read(`title,${column}\nOne,\nTwo,${cell}\nThree,\n`)
    assert.equal(found.length, 3)
    assert.deepEqual(
      await told(`title,${column}\nOne,\nTwo,${cell}\nThree,\n`).then(
        ([first]) => first?.split(',')[0],
      ),
      `row 3: The cell ${column} holds “${cell}”`,
    )
  }
  const [long] = await told(`title,state\nx,${'y'.repeat(5000)}`)
  assert.ok(long && long.length < 150)
})

test('a row with too many cells or wrong quotation marks is left out alone', async () => {
  assert.match(
    (await told('title,tags\nOne,a,b\nTwo,c')).join(),
    /^row 2: Has 3 cells, and the header has 2/,
  )
  const wrong = ['A 5" disk,x', '"One" more,x', 'One,"x" "y"']
  for (const row of wrong)
    assert.equal(
      (await read(`title,tags\n${row}${row.split('"').length % 2 ? '' : '\n"'}\nTwo,c`)).length,
      2,
      row,
    )
  const found = await read('title,tags\nA 5" disk,a\nTwo,"b"\nA 3" disk,c\nFour,d')
  assert.deepEqual(
    found.map((reading) => ('place' in reading ? [reading.place, 'unreadable' in reading] : [])),
    [
      ['row 2', true],
      ['row 5', false],
    ],
  )
  assert.match(
    (await told('title,tags\nOne,a\nTwo,"never closed\nThree,b')).join(),
    /^row 3: Its quotation marks are wrong.*2 lines are left out/,
  )
})

test('a column that is not known is told once, and the service’s own not at all', async () => {
  const [one, two] = await drafts('title,Room,,slug,added,updated\nOne,5,x,one,a,b\nTwo,6,,two,a,b')
  assert.deepEqual(
    one?.notes.map(({ kind, field }) => [kind, field]),
    [
      ['dropped', 'room'],
      ['dropped', 'column 3'],
    ],
  )
  assert.deepEqual([one?.fields, two?.notes], [{ title: 'One' }, []])
  const [, second] = await read('title,room,state\nOne,5,wrong\nTwo,6,')
  assert.equal(second && 'notes' in second && second.notes.length, 1)
})

test('a table that can’t be one is refused', async () => {
  await refused(
    'name,room\nx,y',
    /names no column that is known. These are: key, id, title, category/,
  )
  await refused('slug\nx', /names no column/)
  await refused('title,tags, Title\nx,y,z', /two columns called “title”/)
  await refused(`title${',x'.repeat(500)}\n`, /501 columns/)
  await refused('title,"tags\nx,y', /quotation marks/)
  await refused('title,tags\rx,y\rz,', /bare CR/)
  await refused('\n\n', /no header/)
  await refused(
    `title,tags\n"${'x\n'.repeat(3 << 20)}`,
    /Row 2 of talks.csv has more than 4 MB. Perhaps a quotation mark/,
  )
})

test('the category and language that are given are for rows that have none', async () => {
  const [one, two] = await drafts('title,category,language\nOne,,\nTwo,Mine,German', {
    category: 'Theirs',
    language: 'en',
  })
  assert.deepEqual([one?.fields.category, one?.fields.language], ['Theirs', 'en'])
  assert.deepEqual([two?.fields.category, two?.fields.language], ['Mine', 'German'])
})

test('a table is recognised by its header, or by its name where it has one', () => {
  for (const begin of ['title,category\n', '"Title";"Tags"\r\nx;y', 'key\ttitle\troom'])
    assert.ok(csv.recognises(begin, 'talks'), begin)
  assert.ok(csv.recognises('name,room\n', 'talks.CSV'))
  for (const begin of [
    '',
    'title',
    'A talk about title, category',
    '{"title":1,"category":2}',
    '[title,category]',
    '<title>,<category>',
    '"title,category',
  ])
    assert.ok(!csv.recognises(begin, 'talks.txt'), begin)
})
