import assert from 'node:assert/strict'
import test from 'node:test'
import { type Video, videoDefaults, videoFields } from '@talkshelf/contract'
import { csvHeader, csvLine } from './csv.ts'

const video: Video = {
  ...videoDefaults,
  category: 'ExampleConf 2031',
  language: 'English',
  slug: 'gardens-on-the-moon',
  speakers: ['Ada Example', 'Bo; Jr.'],
  tags: [],
  id: 7,
  state: 1,
  title: 'Gardens on the Moon',
  added: '2031-05-17T10:00:00.000',
  updated: '2031-05-18T10:00:00.000',
}
const csvLineWith = (fields: Partial<Video>) => csvLine({ ...video, ...fields }, [])

test('names every field of a record and its facts once in the header', () => {
  const names = csvHeader().trimEnd().split(',')
  assert.deepEqual([...names].sort(), [...videoFields, 'related', 'media'].sort())
  assert.deepEqual(names.slice(0, 3), ['id', 'title', 'category'])
})

test('writes a cell for each column and ends lines as in RFC 4180', () => {
  const line = csvLine({ ...video, duration: 0, video_mp4_download_only: true }, [
    { kind: 'related', url: 'https://example.org/a b;', label: 'Slides' },
    { kind: 'related', url: 'https://example.org/c', label: null },
    { kind: 'media', url: 'https://example.org/x.mp4', type: 'mp4', size: 5 },
    { kind: 'address', path: 'video/7' },
  ])
  assert.equal(line.split(',').length, csvHeader().split(',').length)
  assert.ok(
    line.startsWith(
      '7,Gardens on the Moon,ExampleConf 2031,English,Ada Example; Bo\\; Jr.,,,0,,1,' +
        'gardens-on-the-moon,',
    ),
    line,
  )
  assert.ok(
    line.endsWith(
      ',https://example.org/a%20b%3B https://example.org/c,https://example.org/x.mp4\r\n',
    ),
    line,
  )
})

test('quotes cells with quotes, commas or line breaks', () => {
  assert.ok(
    csvLineWith({ title: 'A "talk", or two\nlines' }).startsWith('7,"A ""talk"", or two\nlines",'),
  )
})

test('escapes cells that start like a formula', () => {
  for (const sign of ['=', '+', '-', '@', '\t', '\r', "'=", "''@"]) {
    const line = csvLineWith({ title: `${sign}cmd|' /C calc'!A0` })
    assert.match(line, /^7,"?'/, JSON.stringify(sign))
  }
  assert.match(csvLineWith({ title: "'quoted'" }), /^7,'quoted',/)
})
