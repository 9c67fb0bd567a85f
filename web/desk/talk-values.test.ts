import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changedValues, talkFields, talkValues } from './talk-values.ts'

const talk = {
  title: 'A talk',
  speakers: ['Ada Lovelace', 'Lee, Jr.'],
  tags: [],
  description: '\nfirst\r\nsecond',
  duration: 3723,
  recorded: null,
  source_url: '',
  video_mp4_length: 42,
  video_mp4_download_only: true,
}

/** Sends the values of a talk as a browser does. */
function sent(changes: Record<string, string> = {}): URLSearchParams {
  const values = { ...talkValues(talk), ...changes }
  return new URLSearchParams(
    Object.entries(values).map(([field, text]) => [
      field,
      text.replaceAll(/\r\n|\r|\n/g, '\r\n').replace(/^\r\n/, ''),
    ]),
  )
}

test('a form that was not changed changes nothing', () => {
  assert.equal(talkFields.length, 27)
  assert.deepEqual(changedValues(talk, sent()), {})
  assert.deepEqual(changedValues(talk, new URLSearchParams()), {})
})

test('returns the changed fields with the types of the API', () => {
  const changes = {
    title: ' Another\ntalk ',
    speakers: 'Ada\n\n Grace ',
    tags: 'queues',
    duration: '62:05',
    recorded: '2026-01-02',
    video_mp4_length: '',
    video_mp4_download_only: '0',
    source_url: 'https://example.org/v',
    description: 'one\ntwo',
  }
  assert.deepEqual(changedValues(talk, sent(changes)), {
    title: 'Anothertalk',
    speakers: ['Ada', 'Grace'],
    tags: ['queues'],
    duration: 3725,
    recorded: '2026-01-02',
    video_mp4_length: null,
    video_mp4_download_only: false,
    source_url: 'https://example.org/v',
    description: 'one\ntwo',
  })
})

test('a checked checkbox comes after its hidden field', () => {
  const name = 'video_webm_download_only'
  const form = new URLSearchParams([
    [name, '0'],
    [name, '1'],
  ])
  assert.deepEqual(changedValues(talk, form), { [name]: true })
})

const durations: [text: string, expected: unknown][] = [
  ['90', 90],
  ['1:30', 90],
  ['1:00:00', 3600],
  ['1h2m3s', 3723],
  ['', null],
  ['1:75', '1:75'],
  ['soon', 'soon'],
  ['-1', '-1'],
]
for (const [text, expected] of durations)
  test(`reads the duration ${text || '(empty)'}`, () => {
    assert.deepEqual(changedValues({ duration: 1 }, new URLSearchParams({ duration: text })), {
      duration: expected,
    })
  })
