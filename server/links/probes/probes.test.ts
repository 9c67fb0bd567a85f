import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Video, videoDefaults } from '@talkshelf/contract'
import { findSources } from '../../../web/sources.ts'
import { identify } from './probes.ts'

test('recognizes what a URL is, and whom to ask', () => {
  const uuid = '8ac2f8c8-0b0b-4f1e-9d0e-0123456789ab'
  const cases: [string, string?, string?, string?, string?][] = [
    [
      'https://www.youtube.com/watch?v=abcdefghijk&t=3',
      'youtube',
      'www.youtube.com',
      'abcdefghijk',
    ],
    ['http://youtube.com/watch?v=abcdefghijk#t=3', 'youtube', 'www.youtube.com', 'abcdefghijk'],
    ['https://m.youtube.com/watch?x=1&v=a-_defghijk', 'youtube', 'www.youtube.com', 'a-_defghijk'],
    ['https://youtu.be/abcdefghijk?t=3', 'youtube', 'www.youtube.com', 'abcdefghijk'],
    [
      'https://www.youtube-nocookie.com/embed/abcdefghijk',
      'youtube',
      'www.youtube.com',
      'abcdefghijk',
    ],
    ['https://www.youtube.com/live/abcdefghijk', 'youtube', 'www.youtube.com', 'abcdefghijk'],
    ['https://www.youtube.com/playlist?list=abc'],
    ['https://www.youtube.com/watch?v=abc'],
    ['https://www.youtube.com/@conference'],
    ['https://youtu.be/'],
    ['https://vimeo.com/12345', 'vimeo', 'vimeo.com', '12345'],
    [
      'https://player.vimeo.com/video/12345?h=abcdef0123',
      'vimeo',
      'vimeo.com',
      '12345',
      'abcdef0123',
    ],
    ['https://vimeo.com/12345/abcdef0123', 'vimeo', 'vimeo.com', '12345', 'abcdef0123'],
    ['https://vimeo.com/channels/staff/12345', 'vimeo', 'vimeo.com', '12345'],
    ['https://vimeo.com/album/12345'],
    ['https://vimeo.com/about'],
    [`https://tube.example.org/w/${uuid}`, 'peertube', 'tube.example.org', uuid],
    [`https://tube.example.org/videos/watch/${uuid}`, 'peertube', 'tube.example.org', uuid],
    [
      'https://tube.example.org/w/3fbif9S3WmtTP8gGsC5HBd',
      'peertube',
      'tube.example.org',
      '3fbif9S3WmtTP8gGsC5HBd',
    ],
    ['https://media.ccc.de/v/38c3-a-talk#t=3', 'voctoweb', 'api.media.ccc.de', '38c3-a-talk'],
    ['https://media.ccc.de/c/38c3', 'page', 'media.ccc.de', 'https://media.ccc.de/c/38c3'],
    ['https://archive.org/details/a.talk_1', 'archive.org', 'archive.org', 'a.talk_1'],
    ['http://www.archive.org/embed/talk', 'archive.org', 'archive.org', 'talk'],
    [
      'https://archive.org/details/talk/a%20b.ogv',
      'archive.org',
      'archive.org',
      'talk',
      'a%20b.ogv',
    ],
    ['https://archive.org/details/book/page/n5', 'archive.org', 'archive.org', 'book'],
    ['https://archive.org/download/talk/a', 'archive.org', 'archive.org', 'talk', 'a'],
    [
      'https://archive.org/search?query=a',
      'page',
      'archive.org',
      'https://archive.org/search?query=a',
    ],
    [
      'http://files.example.org/a%20b.MP4?x=1#t=5',
      'file',
      'files.example.org',
      'http://files.example.org/a%20b.MP4?x=1',
    ],
    [
      'https://files.example.org/talk/master.m3u8',
      'file',
      'files.example.org',
      'https://files.example.org/talk/master.m3u8',
    ],
    ['https://example.org/talk', 'page', 'example.org', 'https://example.org/talk'],
    ['https://example.org:8443/talk.mp4'],
    ['https://a:b@example.org/talk.mp4'],
    ['https://example.org/a b'],
    ['https://example.org\\@other.example.org/'],
    [`https://example.org/${'a'.repeat(2100)}`],
    ['ftp://example.org/talk.mp4'],
    ['talk.mp4'],
    [''],
  ]
  for (const [address, kind, host, id, part] of cases) {
    const source = identify(address)
    assert.deepEqual(
      [source?.kind, source?.host, source?.id, source?.part],
      [kind, host, id, part],
      address,
    )
  }
})

test('recognizes what the player plays as the same kind', () => {
  const addresses = [
    'https://www.youtube.com/watch?v=abcdefghijk',
    'https://www.youtube.com/v/abcdefghijk',
    'https://youtu.be/abcdefghijk',
    'https://www.youtube.com/playlist?list=abc',
    'https://vimeo.com/12345/abcdef0123',
    'https://vimeo.com/showcase/1/video/2',
    'https://vimeo.com/album/12345',
    'https://tube.example.org/videos/embed/8ac2f8c8-0b0b-4f1e-9d0e-0123456789ab',
    'https://tube.example.org/w/3fbif9S3WmtTP8gGsC5HBd',
    'https://files.example.org/a.m3u8',
    'https://example.org/talk',
    ...'mp4 m4v mov webm ogv ogg oga opus mp3 m4a mkv flv avi wmv mpg mpeg ts flac wav'
      .split(' ')
      .map((extension) => `https://files.example.org/a.${extension}`),
  ]
  for (const address of addresses) {
    const record = { ...videoDefaults, id: 1, source_url: address } as unknown as Video
    const { sources, downloads } = findSources(record, [])
    const played = sources[0]?.host ?? (downloads.length > 0 ? 'file' : undefined)
    const kind = identify(address)?.kind
    const expected = played === 'hls' ? 'file' : played
    assert.equal(kind === 'page' ? undefined : kind, expected, address)
  }
})
