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
  const unused = () => assert.fail('the text is read in chunks')
  async function* chunks() {
    for (let offset = 0; offset < text.length; offset += length)
      yield text.slice(offset, offset + length)
  }
  async function* files(): AsyncGenerator<SourceFile> {
    yield Object.assign({ path: 'talks.csv', text: unused, lines: unused }, { chunks })
  }
  const items: ParsedItem[] = []
  for await (const item of csv.read(files(), options)) items.push(item)
  return items
}

async function readTalks(...args: Parameters<typeof read>): Promise<ImportItem[]> {
  return (await read(...args)).map((item) => {
    assert.ok('fields' in item, JSON.stringify(item))
    return item
  })
}

/** Returns the place and the reason of each row that can't be read. */
async function readReasons(text: string): Promise<string[]> {
  return (await read(text)).flatMap((item) =>
    'unreadable' in item
      ? [`${item.place}: ${item.unreadable}`]
      : ('fields' in item && item.errors?.map((error) => `${item.place}: ${error}`)) || [],
  )
}

function assertRefused(text: string, message: RegExp): Promise<void> {
  return assert.rejects(
    read(text),
    (error) => error instanceof InputRefused && message.test(error.message),
  )
}

test('reads the template completely and without notes', async () => {
  const [short] = await readTalks(csvTemplate())
  assert.deepEqual(short?.notes, [])
  assert.deepEqual(short?.fields, {
    title: 'Gardens on the Moon',
    speakers: ['Ada Example', 'Bo Sample'],
    category: 'ExampleConf 2024',
    recorded: '2024-05-17',
    duration: 2700,
    language: 'English',
    source_url: 'https://example.org/talks/1',
  })
  const [talk, ...others] = await readTalks(csvTemplate('csv-all'))
  assert.ok(talk)
  assert.deepEqual(
    [talk.place, talk.key, talk.id, talk.notes, others],
    ['row 2', 'talk-1', undefined, [], []],
  )
  assert.deepEqual(validationErrors(VideoInput, talk.fields), [])
  assert.deepEqual(talk.fields.speakers, ['Ada Example', 'Bo Sample'])
  assert.deepEqual(
    [talk.fields.state, talk.fields.duration, talk.fields.video_mp4_download_only],
    [2, 2700, false],
  )
  assert.deepEqual(talk.facts, [
    { kind: 'related', url: 'https://example.org/talks/1/slides', label: null },
  ])
  assert.ok(csv.recognises(csvTemplate(), 'standard input'))
})

test('detects the delimiter, in any chunks and with any line end', async () => {
  for (const delimiter of [',', ';', '\t'])
    for (const end of ['\n', '\r\n'])
      for (const length of [1, 3, 1 << 16]) {
        const rows = [
          ['Title', ' SPEAKERS ', 'tags', 'description'],
          ['One', '"Ada; Bo"', '', '"A ""quoted"" word,\r\nand\n; more"'],
          ['Two', '', 'x', ''],
        ]
        const text = rows.map((cells) => cells.join(delimiter)).join(end)
        const [one, two] = await readTalks(text, none, length)
        assert.deepEqual(one?.fields, {
          title: 'One',
          speakers: ['Ada', 'Bo'],
          description: 'A "quoted" word,\r\nand\n; more',
        })
        assert.deepEqual([two?.place, two?.fields], ['row 3', { title: 'Two', tags: ['x'] }])
      }
})

test('ignores empty cells and rows, and accepts short rows', async () => {
  const talks = await readTalks('\r\ntitle,summary,duration\r\n\r\n,,\r\n"One", ,\r\nTwo\r\n')
  assert.deepEqual(
    talks.map(({ place, fields }) => [place, fields]),
    [
      ['row 5', { title: 'One' }],
      ['row 6', { title: 'Two' }],
    ],
  )
})

test('converts each type of cell', async () => {
  const readField = async (column: string, cell: string) =>
    (await readTalks(`title;${column}\nx;${cell}`))[0]?.fields[column as 'title']
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
    ['source_url', 'youtu.be/bbbbbbbbbb1', 'https://youtu.be/bbbbbbbbbb1'],
    ['source_url', 'www.youtube.com/watch?v=b', 'https://www.youtube.com/watch?v=b'],
    ['source_url', 'example.org/a', 'example.org/a'],
    ['speakers', '" Ada ;; Bo\\; Jr. ; C\\\\ ;D\\E; "', ['Ada', 'Bo; Jr.', 'C\\', 'D\\E']],
    ['summary', ' with space ', ' with space '],
    ['summary', "'=1+1", '=1+1'],
    ['summary', "''-x", "'-x"],
    ['summary', "'quoted'", "'quoted'"],
  ]
  for (const [column, cell, value] of cases) {
    const text = cell.startsWith('"') || !cell.includes(';') ? cell : `"${cell}"`
    assert.deepEqual(await readField(column, text), value, `${column} ${cell}`)
  }
  const [timed] = await readTalks('title,duration\nx,1:00')
  assert.deepEqual(timed?.notes, [
    {
      kind: 'repaired',
      field: 'duration',
      detail: 'was “1:00” in the file, converted to 60 seconds',
    },
  ])
})

test('reads the key, the id and related URLs', async () => {
  const related = 'https://example.org/a;b https://example.org/c;https://example.org/d; '
  const media = '"https://media.example.org/x.MP4\nhttps://tube.example.org/9"'
  const text = `key,id,title,related,media\na-1,7,x,${related},${media}`
  const [talk] = await readTalks(text)
  assert.deepEqual([talk?.key, talk?.id], ['a-1', 7])
  assert.deepEqual(talk?.facts, [
    { kind: 'related', url: 'https://example.org/a;b', label: null },
    { kind: 'related', url: 'https://example.org/c', label: null },
    { kind: 'related', url: 'https://example.org/d', label: null },
    { kind: 'media', url: 'https://media.example.org/x.MP4', type: 'mp4', size: null },
    { kind: 'media', url: 'https://tube.example.org/9', type: 'tube.example.org', size: null },
  ])
})

test('refuses a row with an invalid cell, and reads the others', async () => {
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
    ['recorded', '17/13/2031'],
    ['recorded', '05/01/2031'],
    ['id', '0'],
    ['id', 'seven'],
  ]
  for (const [column, cell] of wrong) {
    const items = await read(`title,${column}\nOne,\nTwo,${cell}\nThree,\n`)
    assert.equal(items.length, 3)
    assert.deepEqual(
      await readReasons(`title,${column}\nOne,\nTwo,${cell}\nThree,\n`).then(
        ([first]) => first?.split(',')[0],
      ),
      `row 3: ${column} is “${cell}”`,
    )
  }
  const [long] = await readReasons(`title,state\nx,${'y'.repeat(5000)}`)
  assert.ok(long && long.length < 150)
})

test('reports all invalid cells of a row, with its title and its cells', async () => {
  const [talk] = await readTalks('Title,Date,Length,state\nOne,soon,long,live\n')
  assert.deepEqual(talk?.errors, [
    'date is “soon”, but must be a date such as 2031-05-17',
    'length is “long”, but must be a length such as 45 min, 1:02:30 or 2700 (seconds)',
  ])
  assert.deepEqual(talk?.fields, { title: 'One', state: 1 })
  assert.deepEqual(talk?.cells, [
    ['title', 'One'],
    ['date', 'soon'],
    ['length', 'long'],
    ['state', 'live'],
  ])
})

test('reads the columns of other tables, and dates by the other dates of the file', async () => {
  const talks = await readTalks(
    'Talk Title,Speaker,Conference,Date,Length,Video,URL,Speakres\n' +
      'One,Ada,Days,05/01/2026,0:45,https://example.org/1,https://example.org/x,x\n' +
      'Two,Bo,Days,05/13/2026,1:05,https://example.org/2,,\n',
  )
  assert.deepEqual(talks[0]?.fields, {
    title: 'One',
    speakers: ['Ada'],
    category: 'Days',
    recorded: '2026-05-01',
    duration: 2700,
    source_url: 'https://example.org/1',
  })
  assert.deepEqual([talks[1]?.fields.recorded, talks[1]?.fields.duration], ['2026-05-13', 3900])
  assert.deepEqual(
    talks[0]?.notes.slice(0, 2).map(({ field, detail }) => `${field} ${detail}`),
    [
      'url means source_url, which another column has',
      'speakres is not a known column. Did you mean speakers?',
    ],
  )
  const [own] = await readTalks('title,Speaker,speakers\nOne,Ada,Bo\n')
  assert.deepEqual(own?.fields.speakers, ['Bo'])
})

test('finds out how dates are written without holding a large file', async () => {
  const rows = Array.from({ length: 6000 }, (_, index) => `Talk ${index},05/01/2026\n`)
  const items = await readTalks(`title,date\n${rows.join('')}Last,05/13/2026\n`)
  assert.equal(items.length, 6001)
  assert.match(items[0]?.errors?.[0] ?? '', /can be read with the day or the month first/)
  assert.equal(items.at(-1)?.fields.recorded, '2026-05-13')
})

test('reads headings and languages as people write them', async () => {
  const [talk] = await readTalks(
    'Vortrag;Referent*innen;Presenter(s);Dauer (min);Sprache\nFlut;;Ann Other;45 min;Deutsch\n',
  )
  assert.deepEqual(talk?.fields, {
    title: 'Flut',
    speakers: ['Ann Other'],
    duration: 2700,
    language: 'German',
  })
  const [other] = await readTalks('title,language\nA,English\n')
  assert.equal(other?.fields.language, 'English')
})

test('refuses a table without titles, and names its columns', async () => {
  await assert.rejects(
    readTalks('was,wer,event\nFlut,Ann,Days\n'),
    /has no column for the titles of the talks\. Its columns are: “was”, “wer”, “event”\. Rename/,
  )
})

test('skips only the row with too many cells or invalid quotation marks', async () => {
  assert.match(
    (await readReasons('title,tags\nOne,a,b\nTwo,c')).join(),
    /^row 2: Has 3 cells, but the header has 2/,
  )
  const wrong = ['A 5" disk,x', '"One" more,x', 'One,"x" "y"']
  for (const row of wrong)
    assert.equal(
      (await read(`title,tags\n${row}${row.split('"').length % 2 ? '' : '\n"'}\nTwo,c`)).length,
      2,
      row,
    )
  const items = await read('title,tags\nA 5" disk,a\nTwo,"b"\nA 3" disk,c\nFour,d')
  assert.deepEqual(
    items.map((item) => ('place' in item ? [item.place, 'unreadable' in item] : [])),
    [
      ['row 2', true],
      ['row 5', false],
    ],
  )
  assert.match(
    (await readReasons('title,tags\nOne,a\nTwo,"never closed\nThree,b')).join(),
    /^row 3: Has invalid quotation marks.*Skipped 2 lines/,
  )
})

test('notes an unknown column once, and read-only columns never', async () => {
  const [one, two] = await readTalks(
    'title,Room,,slug,added,updated\nOne,5,x,one,a,b\nTwo,6,,two,a,b',
  )
  assert.deepEqual(
    one?.notes.map(({ kind, field }) => [kind, field]),
    [
      ['dropped', 'room'],
      ['dropped', 'column 3'],
    ],
  )
  assert.deepEqual([one?.fields, two?.notes], [{ title: 'One' }, []])
  const [first, second] = await readTalks('title,room,state\nOne,5,wrong\nTwo,6,')
  assert.deepEqual([first?.notes.length, second?.notes.length], [1, 0])
})

test('refuses an invalid table', async () => {
  await assertRefused(
    'name,room\nx,y',
    /has no known column\. Known columns: key, id, title, category/,
  )
  await assertRefused('slug\nx', /has no known column/)
  await assertRefused('title,tags, Title\nx,y,z', /two columns called “title”/)
  await assertRefused(`title${',x'.repeat(500)}\n`, /501 columns/)
  await assertRefused('title,"tags\nx,y', /quotation marks/)
  await assertRefused('title,tags\rx,y\rz,', /CR only/)
  await assertRefused('\n\n', /no header/)
  await assertRefused(
    `title,tags\n"${'x\n'.repeat(3 << 20)}`,
    /Row 2 of talks\.csv has more than 4 MB\. Is a quotation mark missing/,
  )
})

test('uses the category and language options for rows that have none', async () => {
  const [one, two] = await readTalks('title,category,language\nOne,,\nTwo,Mine,German', {
    category: 'Theirs',
    language: 'en',
  })
  assert.deepEqual([one?.fields.category, one?.fields.language], ['Theirs', 'en'])
  assert.deepEqual([two?.fields.category, two?.fields.language], ['Mine', 'German'])
})

test('recognises a table by its header or its file name', () => {
  for (const head of ['title,category\n', '"Title";"Tags"\r\nx;y', 'key\ttitle\troom'])
    assert.ok(csv.recognises(head, 'talks'), head)
  assert.ok(csv.recognises('name,room\n', 'talks.CSV'))
  for (const head of [
    '',
    'title',
    'A talk about title, category',
    '{"title":1,"category":2}',
    '[title,category]',
    '<title>,<category>',
    '"title,category',
  ])
    assert.ok(!csv.recognises(head, 'talks.txt'), head)
})
