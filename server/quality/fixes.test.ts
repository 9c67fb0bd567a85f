import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Fact, Video } from '@talkshelf/contract'
import { type FixableTalk, fixDate, fixMilliseconds, fixMinutes, fixThumbnail } from './fixes.ts'

const talk = (fields: Partial<Video>, more: Partial<FixableTalk> = {}): FixableTalk => ({
  video: fields as Video,
  facts: [],
  event: { start: null, end: null },
  ...more,
})
const said = (value: unknown, field = 'duration'): Fact[] => [
  { kind: 'said', source: 'v2', field, value },
]

test('sets the day of an event of one day, and of no other', () => {
  const day = (start: string | null, end: string | null) =>
    fixDate(talk({}, { event: { start, end } }))
  assert.deepEqual(day('2026-05-01', '2026-05-01'), { recorded: '2026-05-01' })
  for (const [start, end] of [
    ['2026-05-01', '2026-05-02'],
    ['2026-05-01', null],
    [null, '2026-05-01'],
    [null, null],
  ] as const)
    assert.equal(day(start, end), undefined)
})

test('sets the thumbnail of a video on YouTube, and of no other', () => {
  const thumbnail = (source_url: string | null) => fixThumbnail(talk({ source_url }))
  for (const url of [
    'https://www.youtube.com/watch?v=abcdefghi-_',
    'http://youtube.com/watch?t=3&v=abcdefghi-_&list=x',
    'https://youtu.be/abcdefghi-_?t=1',
    'https://www.youtube-nocookie.com/embed/abcdefghi-_',
  ])
    assert.deepEqual(
      thumbnail(url),
      { thumbnail_url: 'https://i.ytimg.com/vi/abcdefghi-_/hqdefault.jpg' },
      url,
    )
  for (const url of [
    null,
    '',
    'https://www.youtube.com/watch?v=short',
    'https://www.youtube.com/watch?v=abcdefghi-_x',
    'https://youtube.com.example/watch?v=abcdefghi-_',
    'https://example.org/?u=https://youtu.be/abcdefghi-_',
    'https://vimeo.com/12345',
  ])
    assert.equal(thumbnail(url), undefined, String(url))
})

test('converts a duration only if the source said the result', () => {
  for (const value of ['45:00', '0:45:00', 'PT45M', 'PT2700S'])
    assert.deepEqual(fixMinutes(talk({ duration: 45 }, { facts: said(value) })), { duration: 2700 })
  assert.deepEqual(fixMilliseconds(talk({ duration: 2_700_400 }, { facts: said('45:00') })), {
    duration: 2700,
  })
  for (const value of ['44:00', '45', 45, 2700, '0:45', null, 'PT', { minutes: 45 }])
    assert.equal(fixMinutes(talk({ duration: 45 }, { facts: said(value) })), undefined)
  assert.equal(fixMinutes(talk({ duration: 45 }, { facts: said('45:00', 'title') })), undefined)
  assert.equal(fixMinutes(talk({ duration: 45 })), undefined)
  assert.equal(fixMinutes(talk({ duration: null }, { facts: said('0:00') })), undefined)
})
