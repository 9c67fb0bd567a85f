import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  assertRefused,
  readItems,
  sample,
  sampleNames,
  skipped,
  talksOf,
} from '../../../tests/support/formats.ts'
import type { ParseOptions } from '../item.ts'
import { schedule } from './schedule.ts'

const readTexts = (texts: Record<string, string>, options?: ParseOptions) =>
  readItems(schedule, texts, options)
const read = (name: string, options?: ParseOptions) => readTexts({ [name]: sample(name) }, options)

test('reads the conference and the talks of pretalx XML', async () => {
  const all = await read('schedule-pretalx.xml')
  assert.deepEqual(all[0], {
    category: {
      title: 'Heronbridge & Friends 2031',
      url: 'https://heron.example.org/2031',
      start_date: '2031-05-01',
      end_date: '2031-05-02',
      city: 'Heronbridge',
      logo_url: 'https://talks.example.org/media/heron31/heron.png',
      colour: '#0f766e',
    },
  })
  assert.deepEqual(all[1], {
    place: 'schedule-pretalx.xml, line 23',
    key: 'aaaaaaaa-0000-4000-8000-000000000001',
    fields: {
      title: 'Tests that talk: names as sentences',
      summary: 'A test name is a *sentence*.',
      description: 'First **this**,\n\nthen [that](https://example.org/x).',
      category: 'Heronbridge & Friends 2031',
      language: 'en',
      speakers: ['Ada Reedwarbler', 'Bo <Otter>'],
      tags: ['Quality'],
      recorded: '2031-05-01',
      duration: 2700,
      copyright_text: 'CC BY 4.0',
    },
    facts: [
      { kind: 'related', url: 'https://talks.example.org/heron31/talk/AAAAAA/', label: 'schedule' },
      { kind: 'related', url: 'https://code.example.org/tests', label: 'The code' },
      {
        kind: 'related',
        url: 'https://talks.example.org/media/heron31/slides.pdf',
        label: 'Slides',
      },
      { kind: 'programme', position: 601 },
      { kind: 'slot', start: '2031-05-01T10:00:00+02:00', minutes: 45, room: 'Reed Hall' },
      { kind: 'said', source: 'schedule', field: 'type', value: 'Talk (long)' },
      { kind: 'said', source: 'schedule', field: 'room', value: 'Reed Hall' },
    ],
    notes: [
      { kind: 'repaired', field: 'title', detail: 'was combined with the subtitle' },
      { kind: 'repaired', field: 'description', detail: 'was converted from HTML to Markdown' },
      { kind: 'dropped', field: 'speakers', detail: 'had an empty name' },
      { kind: 'guessed', field: 'duration', detail: 'is the planned duration (00:45)' },
      {
        kind: 'dropped',
        field: 'links',
        detail: 'had “javascript:alert(1)”, which is not a URL',
      },
    ],
  })
  assert.deepEqual(skipped(all), [
    'schedule-pretalx.xml, line 51: Must not be recorded (optout): Among us only',
    'schedule-pretalx.xml, line 59: Is a break (Lunch break)',
    'schedule-pretalx.xml, line 76: Has no title',
  ])
})

test('falls back to the id, day and room for a talk without guid and date', async () => {
  const last = talksOf(await read('schedule-pretalx.xml')).at(-1)
  assert.equal(last?.key, 'heron31:104')
  assert.equal(last?.fields.recorded, '2031-05-02')
  assert.equal(last?.fields.duration, 3900)
  assert.equal(last?.fields.source_url, 'https://media.example.org/old-boats.mp4')
  assert.deepEqual(last?.facts, [
    { kind: 'programme', position: 571 },
    { kind: 'said', source: 'schedule', field: 'room', value: 'Boat House' },
  ])
})

test('reads frab JSON the same way', async () => {
  const all = await read('schedule-frab.json', { category: undefined, language: 'en' })
  const [first, second] = talksOf(all)
  assert.deepEqual(all[0], {
    category: {
      title: 'OtterCon 2030',
      url: 'https://otter.example.org/schedule',
      start_date: '2030-09-07',
      end_date: '2030-09-07',
      // The country is not a code and the logo not a URL: both are left out.
      city: 'Otter Creek',
      colour: '#ABCDEF',
    },
  })
  assert.deepEqual(all[1], {
    place: 'schedule-frab.json, event 1',
    entity: {
      kind: 'speaker',
      id: 0,
      name: 'Dee Vole',
      slug: 'dee-vole',
      aliases: [],
      old_slugs: [],
      description: 'Swims **well**.',
      picture_url: 'https://otter.example.org/avatars/vole.png',
      revision: 1,
    },
  })
  assert.deepEqual(first, {
    place: 'schedule-frab.json, event 1',
    key: 'cccccccc-0000-4000-8000-000000000007',
    fields: {
      title: 'Swimming at night? A practical guide',
      description: 'Bring a lamp.',
      category: 'OtterCon 2030',
      language: 'de',
      speakers: ['Dee Vole', 'Eli Newt', 'Fay Toad'],
      tags: ['Practice'],
      recorded: '2030-09-07',
      duration: 3723,
      copyright_text: 'CC0',
    },
    facts: [
      { kind: 'related', url: 'https://otter.example.org/event/7', label: 'schedule' },
      { kind: 'related', url: 'https://example.org/lamp', label: null },
      { kind: 'related', url: 'https://example.org/pond', label: null },
      { kind: 'programme', position: 1291 },
      // In the zone of the conference.
      { kind: 'slot', start: '2030-09-07T21:30:00-04:00', minutes: 63, room: 'Pond' },
      { kind: 'said', source: 'schedule', field: 'type', value: 'lecture' },
      { kind: 'said', source: 'schedule', field: 'room', value: 'Pond' },
    ],
    notes: [
      { kind: 'repaired', field: 'title', detail: 'was combined with the subtitle' },
      { kind: 'dropped', field: 'speakers', detail: 'had an empty name' },
      { kind: 'guessed', field: 'duration', detail: 'is the planned duration (1:02:03)' },
    ],
  })
  assert.equal(second?.key, 'ottercon:8')
  assert.equal(second?.fields.language, 'en')
  assert.deepEqual(second?.notes, [
    { kind: 'dropped', field: 'duration', detail: 'was “soon” in the file, not hours:minutes' },
  ])
  assert.deepEqual(skipped(all), [
    'schedule-frab.json, event 3: Is a break (Resting)',
    'schedule-frab.json, event 4: Must not be recorded (optout): Behind closed doors',
  ])
})

test('replaces the title of the conference, and keeps it as a fact', async () => {
  const all = await read('schedule-frab.json', { category: 'OtterCon', language: undefined })
  assert.equal(
    'category' in (all[0] ?? {}) && JSON.stringify(all[0]).includes('"title":"OtterCon"'),
    true,
  )
  const [first] = talksOf(all)
  assert.equal(first?.fields.category, 'OtterCon')
  assert.deepEqual(first?.facts.at(-1), {
    kind: 'said',
    source: 'schedule',
    field: 'conference',
    value: 'OtterCon 2030',
  })
})

test('keeps a subtitle that does not fit as a fact', async () => {
  const long = sample('schedule-frab.json').replace('A practical guide', 'g'.repeat(250))
  const [first] = talksOf(await readTexts({ a: long }))
  assert.equal(first?.fields.title, 'Swimming at night?')
  assert.deepEqual(first?.facts.at(-1), {
    kind: 'said',
    source: 'schedule',
    field: 'subtitle',
    value: 'g'.repeat(250),
  })
})

const xml = (events: string, before = '') =>
  `${before}<schedule><conference><title>C</title></conference>` +
  `<day date="2031-05-01"><room name="R">${events}</room></day></schedule>`

test('refuses declared entities before they are expanded', async () => {
  await assert.rejects(
    read('schedule-laughs.xml'),
    assertRefused(/^schedule-laughs\.xml, line 6: declares entities/),
  )
  const outside = '<!DOCTYPE schedule [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
  await assert.rejects(
    readTexts({ a: xml('<event><title>&x;</title></event>', outside) }),
    assertRefused(/declares entities/),
  )
  // The URL of a DTD is harmless: it is not fetched, and its entities are unknown.
  const named = '<!DOCTYPE schedule SYSTEM "https://example.org/schedule.dtd">'
  assert.equal(
    talksOf(await readTexts({ a: xml('<event><title>x</title></event>', named) })).length,
    1,
  )
  for (const entity of ['&x;', '&nbsp;', '&constructor;', '&#0;']) {
    await assert.rejects(
      readTexts({ a: xml(`<event><title>${entity}</title></event>`, named) }),
      assertRefused(/^a, line 1: is not valid XML/),
    )
  }
})

test('refuses XML that is invalid, too deep or too large, with the line', async () => {
  const cut = sample('schedule-pretalx.xml').slice(0, 3000)
  await assert.rejects(
    readTexts({ 'cut.xml': cut }),
    assertRefused(/^cut\.xml, line \d+: is not valid XML \(.+\)\. Export it again/),
  )
  await assert.rejects(
    readTexts({ a: xml('<event><title>a</b></event>') }),
    assertRefused(/is not valid XML \(Unexpected close tag/),
  )
  await assert.rejects(
    readTexts({ a: '<rss><channel></channel></rss>' }),
    assertRefused(/begins with <rss>/),
  )
  await assert.rejects(
    readTexts({ a: xml('<b>'.repeat(100_000)) }),
    assertRefused(/is nested inside 64 others/),
  )
  await assert.rejects(
    readTexts({ a: xml(`<event><title>${'x'.repeat(2_000_000)}</title></event>`) }),
    assertRefused(/more than 1000000 characters/),
  )
  await assert.rejects(
    readTexts({ a: xml(`<event>${'<a/>'.repeat(11_000)}</event>`) }),
    assertRefused(/more than 1000000 characters/),
  )
  await assert.rejects(
    readTexts({ a: xml(`<event x="${'x'.repeat(200_000)}"></event>`) }),
    assertRefused(/is not valid XML/),
  )
})

test('refuses declarations early, because sax takes quadratic time for them', async () => {
  // Without the limit, 17,000 characters take a second or two.
  for (const declaration of [
    `<!${'x'.repeat(60_000)}`,
    '<!x>',
    `<schedule><!${'"'.repeat(60_001)}`,
  ]) {
    await assert.rejects(
      readTexts({ a: declaration }),
      assertRefused(/^a, line 1: has a declaration/),
    )
  }
  const [talk] = talksOf(
    await readTexts({
      a: xml('<event id="1"><!-- <!x --><title><![CDATA[<!x>]]></title></event>'),
    }),
  )
  assert.equal(talk?.fields.title, '<!x>')
})

test('reads many events and long texts', async () => {
  const description = 'é🦦'.repeat(50_000)
  const title = 'Ünd 🦦'
  const event = `<event><title>${title}</title><description>${description}</description></event>`
  const all = talksOf(await readTexts({ a: xml(event.repeat(20)) }))
  assert.equal(all.length, 20)
  for (const { fields } of all) assert.equal(fields.description, description)
})

test('refuses a file without a conference', async () => {
  for (const text of [
    '{"schedule": {}}',
    '[]',
    '{"schedule": {"conference": []}}',
    '<schedule><day><room><event/></room></day></schedule>',
  ]) {
    await assert.rejects(
      readTexts({ a: text }),
      assertRefused(/^a does not begin with a conference/),
    )
  }
  await assert.rejects(
    readTexts({ 'a.json': '{"schedule": {' }),
    assertRefused(/^a\.json is not valid JSON/),
  )
})

test('recognises schedules, and no other files', () => {
  for (const name of sampleNames()) {
    assert.equal(
      schedule.recognises(sample(name).slice(0, 65_536), 'x'),
      name.startsWith('schedule-'),
      name,
    )
  }
  assert.ok(schedule.recognises(sample('schedule-frab.json').slice(0, 400), 'x'))
  assert.ok(schedule.recognises(`\uFEFF${sample('schedule-pretalx.xml').slice(0, 400)}`, 'x'))
  for (const other of [
    '<html><schedule>',
    '<schedule><task/></schedule>',
    '<!-- <schedule><day>',
    '{"schedule_url": "x", "conference": {}}',
    'schedule,conference\n1,2',
  ]) {
    assert.equal(schedule.recognises(other, 'schedule.xml'), false)
  }
})
