import assert from 'node:assert/strict'
import { test } from 'node:test'
import { states, type Video, videoDefaults } from '@talkshelf/contract'
import { copyAt, mergeRecords, uniteFacts } from './merge-records.ts'

const record = (id: number, fields: Partial<Video>): Video => ({
  ...videoDefaults,
  speakers: [],
  tags: [],
  id,
  slug: `talk-${id}`,
  title: `Talk ${id}`,
  category: 'Example Days',
  language: 'English',
  state: states.live,
  added: '2026-01-01T00:00:00.000',
  updated: '2026-01-01T00:00:00.000',
  ...fields,
})

test('keeps the values of the kept record and fills its empty fields', () => {
  const merged = record(1, { summary: 'Of 1', duration: 60, recorded: '2026-01-02', embed: 'x' })
  const kept = record(2, { summary: 'Of 2', description: ' \n', duration: 0 })
  const result = mergeRecords({ ...merged, description: 'Long' }, kept, {})
  assert.deepEqual(result, {
    ...kept,
    description: 'Long',
    duration: 60,
    recorded: '2026-01-02',
    embed: 'x',
  })
})

test('unites lists, and takes length and kind of a file with its URL', () => {
  const mp4 = { video_mp4_url: 'https://a.example/1.mp4', video_mp4_length: 5 }
  const merged = record(1, {
    ...mp4,
    video_mp4_download_only: true,
    video_ogv_url: 'https://a.example/1.ogv',
    video_ogv_length: 6,
    speakers: ['Ada', 'Grace'],
    tags: ['b'],
  })
  const own = 'https://a.example/2.ogv'
  const kept = record(2, { video_ogv_url: own, speakers: ['Grace', 'Zoe'], tags: ['a'] })
  const result = mergeRecords(merged, kept, {})
  assert.deepEqual(result.speakers, ['Grace', 'Zoe', 'Ada'])
  assert.deepEqual(result.tags, ['a', 'b'])
  assert.deepEqual([result.video_mp4_length, result.video_mp4_download_only], [5, true])
  assert.deepEqual([result.video_ogv_url, result.video_ogv_length], [own, null])
})

test('is live if one of both is, and takes the chosen values', () => {
  const draft = { state: states.draft }
  const stateOf = (a: Partial<Video>, b: Partial<Video>) =>
    mergeRecords(record(1, a), record(2, b), {}).state
  assert.deepEqual(
    [stateOf({}, draft), stateOf(draft, {}), stateOf(draft, draft)],
    [states.live, states.live, states.draft],
  )
  const fields = { title: 'Chosen', speakers: ['Ada'], summary: '' }
  const result = mergeRecords(record(1, { summary: 'Of 1', speakers: ['Zoe'] }), record(2, {}), {
    ...fields,
    id: 7,
    slug: 'other',
  })
  assert.deepEqual(result, { ...record(2, {}), ...fields })
})

test('unites facts, each once, with one position in the programme', () => {
  const link = { kind: 'related', url: 'https://a.example/slides', label: null } as const
  const copy = copyAt('https://media.example/talk.mp4')
  const position = { kind: 'programme', position: 3 } as const
  assert.deepEqual(copy, {
    kind: 'media',
    url: 'https://media.example/talk.mp4',
    type: 'media.example',
    size: null,
  })
  assert.deepEqual(
    uniteFacts([link, position], [{ ...position, position: 9 }, { ...link }, copy, copy]),
    [link, position, copy],
  )
  const same = { ...copy, type: 'mp4', size: 5 }
  assert.deepEqual(uniteFacts([copy], [same as typeof copy]), [copy])
  assert.deepEqual(uniteFacts([], [position]), [position])
  const part = { kind: 'part', url: 'https://media.example/day.mp4', start: 5, end: 9 } as const
  assert.deepEqual(uniteFacts([part], [{ ...part, start: 6 }]), [part])
  const expected = { kind: 'recording', status: 'expected' } as const
  assert.deepEqual(uniteFacts([expected], [{ ...expected, status: 'opted-out' }]), [expected])
})
