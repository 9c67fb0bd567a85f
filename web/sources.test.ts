import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Fact, type Video, videoDefaults } from '@talkshelf/contract'
import type { SourceStatus } from './data.ts'
import { findSources, sourcePolicy } from './sources.ts'
import { formatTimecode, parseTimecode } from './timecode.ts'

const record = (fields: Partial<Video>) => ({ ...videoDefaults, ...fields }) as Video
const from = (source_url: string, facts: Fact[] = []) => findSources(record({ source_url }), facts)
const media = (url: string, size: number | null = null): Fact => ({
  kind: 'media',
  url,
  type: '',
  size,
})
const uuid = '991eba2d-0da3-45fc-a29f-30eb35187882'
const short = 'kkGMgK9ZtnKfYAgnEtQxbv'

const nothing = { sources: [], elsewhere: [], downloads: [], links: [], lost: [] }

const youtube = [
  'https://www.youtube.com/watch?v=A-u8XHAUac4',
  'http://youtube.com/watch?v=A-u8XHAUac4',
  'HTTPS://WWW.YOUTUBE.COM/watch?v=A-u8XHAUac4',
  'https://www.youtube.com/watch?feature=share&v=A-u8XHAUac4&list=PL123',
  'https://www.youtube.com/watch/A-u8XHAUac4',
  'https://m.youtube.com/watch?v=A-u8XHAUac4',
  'https://music.youtube.com/watch?v=A-u8XHAUac4',
  'https://youtu.be/A-u8XHAUac4',
  'http://youtu.be/A-u8XHAUac4?si=abc',
  'https://www.youtube.com/embed/A-u8XHAUac4?rel=0',
  'https://www.youtube-nocookie.com/embed/A-u8XHAUac4',
  'https://www.youtube.com/shorts/A-u8XHAUac4',
  'https://www.youtube.com/live/A-u8XHAUac4?feature=share',
  'http://www.youtube.com/v/A-u8XHAUac4?version=3',
  'http://www.youtube.com/v/A-u8XHAUac4&hl=en_US&fs=1',
  'https://www.youtube.com/watch?v=A-u8XHAUac4#t=30',
]

test('recognises all URL formats of YouTube', () => {
  for (const address of youtube) {
    const { sources, links } = from(address)
    assert.equal(sources[0]?.src, 'https://www.youtube-nocookie.com/embed/A-u8XHAUac4', address)
    assert.deepEqual(
      [sources.length, links.length, sources[0].host, sources[0].label],
      [1, 0, 'youtube', 'YouTube'],
    )
    assert.equal(sources[0].address, new URL(address).href)
  }
})

test('plays a part of a recording that holds several talks', () => {
  const part = (url: string, start: number, end: number | null): Fact => ({
    kind: 'part',
    url,
    start,
    end,
  })
  const watch = 'https://www.youtube.com/watch?v=A-u8XHAUac4'
  const [source] = from(watch, [part('https://youtu.be/A-u8XHAUac4', 90, 200)]).sources
  assert.deepEqual(
    [source?.address, source?.src, source?.part],
    [
      `${watch}&t=90s`,
      'https://www.youtube-nocookie.com/embed/A-u8XHAUac4',
      { recording: 'https://youtu.be/A-u8XHAUac4', start: 90, end: 200 },
    ],
  )
  const addresses = [
    ['https://vimeo.com/123', 'https://vimeo.com/123#t=90s'],
    [`https://tube.example/w/${short}`, `https://tube.example/w/${short}?start=90s`],
    ['https://files.example/day.mp4', 'https://files.example/day.mp4#t=90,200'],
  ]
  for (const [url = '', expected] of addresses)
    assert.equal(from(url, [part(url, 90, 200)]).sources[0]?.address, expected)
  const other = from(watch, [part('https://files.example/day.mp4', 90, null)]).sources
  assert.deepEqual(
    other.map((it) => it.part),
    [undefined, { recording: 'https://files.example/day.mp4', start: 90, end: null }],
    'a recording that is a source itself; only it holds several talks',
  )
  assert.equal(from(watch, [part(watch, 90, 90)]).sources[0]?.part?.end, null)
  const twice = from(watch, [part(watch, 90, null), part('https://youtu.be/A-u8XHAUac4', 5, null)])
  assert.deepEqual([twice.sources.length, twice.sources[0]?.part?.start], [1, 90])
  assert.deepEqual(from(watch, [part('nonsense', 90, 95)]).sources.length, 1)
})

test('separates the start time from the video id', () => {
  const src = (address: string) => from(address).sources[0]?.src
  assert.equal(
    src('https://www.youtube.com/watch?v=x6b7U9GpfQk&t=3h33m23s'),
    'https://www.youtube-nocookie.com/embed/x6b7U9GpfQk?start=12803',
  )
  assert.equal(
    src('https://youtu.be/x6b7U9GpfQk?t=1126'),
    'https://www.youtube-nocookie.com/embed/x6b7U9GpfQk?start=1126',
  )
  assert.equal(
    src('https://www.youtube.com/embed/x6b7U9GpfQk?start=5'),
    'https://www.youtube-nocookie.com/embed/x6b7U9GpfQk?start=5',
  )
  assert.equal(
    src('https://youtu.be/x6b7U9GpfQk?t="><b>'),
    'https://www.youtube-nocookie.com/embed/x6b7U9GpfQk',
  )
})

test('recognises Vimeo, and keeps the hash of an unlisted video', () => {
  const cases: Record<string, string> = {
    'https://vimeo.com/170384418': '170384418',
    'http://www.vimeo.com/170384418/': '170384418',
    'https://vimeo.com/170384418/0a1b2c3d4e': '170384418?h=0a1b2c3d4e',
    'https://vimeo.com/170384418?h=0a1b2c3d4e&share=copy': '170384418?h=0a1b2c3d4e',
    'https://player.vimeo.com/video/170384418?h=0a1b2c3d4e&title=0': '170384418?h=0a1b2c3d4e',
    'https://player.vimeo.com/video/170384418?h="><script>': '170384418',
    'https://vimeo.com/channels/pycon/170384418': '170384418',
    'https://vimeo.com/groups/pycon/videos/170384418': '170384418',
    'https://vimeo.com/showcase/42/video/170384418': '170384418',
  }
  for (const [address, id] of Object.entries(cases)) {
    assert.equal(from(address).sources[0]?.src, `https://player.vimeo.com/video/${id}`, address)
    assert.equal(from(address).sources[0]?.label, 'Vimeo')
  }
})

test('recognises a video of any PeerTube instance by its id', () => {
  for (const path of [
    `/videos/watch/${uuid}`,
    `/videos/embed/${uuid}?title=0`,
    `/w/${uuid}`,
    `/videos/watch/${uuid}/`,
  ])
    assert.equal(
      from(`https://tube.example${path}`).sources[0]?.src,
      `https://tube.example/videos/embed/${uuid}`,
      path,
    )
  assert.deepEqual(from(`https://tube.example:8443/w/${short}?start=3`).sources, [
    {
      host: 'peertube',
      src: `https://tube.example:8443/videos/embed/${short}`,
      address: `https://tube.example:8443/w/${short}?start=3`,
      label: 'tube.example',
    },
  ])
  for (const path of [
    '/w/p/kkGMgK9ZtnKfYAgnEtQxbv',
    '/w/short',
    `/videos/watch/playlist/${uuid}`,
    `/w/${short}0`,
    `/w/${short}%22%3E`,
  ])
    assert.equal(from(`https://tube.example${path}`).sources.length, 0, path)
  assert.equal(from(`http://tube.example/w/${short}`).sources.length, 0)
})

test('plays files and streams over https only', () => {
  const { sources, downloads } = from('http://files.example/a/My%20talk.MP4?Signature=x%2Fy', [
    media('https://files.example/live/index.m3u8'),
  ])
  assert.deepEqual(
    sources.map(({ host, src, label }) => [host, src, label]),
    [
      ['file', 'https://files.example/a/My%20talk.MP4?Signature=x%2Fy', 'MP4'],
      ['hls', 'https://files.example/live/index.m3u8', 'HLS'],
    ],
  )
  assert.deepEqual(downloads, [
    { address: 'http://files.example/a/My%20talk.MP4?Signature=x%2Fy', label: 'MP4', size: null },
  ])
  assert.equal(
    from('http://files.example:8080/a.mp4').sources.length,
    0,
    'a port of its own has no twin with https',
  )
  assert.equal(from('http://files.example:8080/a.mp4').downloads.length, 1)
})

test('offers files that browsers cannot play as downloads', () => {
  const { sources, downloads, links } = from('https://dl.example/talk.mkv', [
    media('https://dl.example/talk.flv', 12),
  ])
  assert.deepEqual([sources, links], [[], []])
  assert.deepEqual(downloads, [
    { address: 'https://dl.example/talk.mkv', label: 'MKV', size: null },
    { address: 'https://dl.example/talk.flv', label: 'FLV', size: 12 },
  ])
})

test('tells pages of archive.org from files', () => {
  assert.equal(
    from('https://archive.org/details/talk/talk%201.mp4').sources[0]?.src,
    'https://archive.org/download/talk/talk%201.mp4',
  )
  assert.deepEqual(from('https://archive.org/details/talk.mp4'), {
    sources: [],
    elsewhere: [],
    lost: [],
    downloads: [],
    links: [{ address: 'https://archive.org/details/talk.mp4', label: 'archive.org' }],
  })
})

test('never plays a file that is for download only', () => {
  const { sources, downloads } = findSources(
    record({
      video_mp4_url: 'https://dl.example/talk.mp4',
      video_mp4_length: 99,
      video_mp4_download_only: true,
      video_ogv_url: 'https://dl.example/get?file=1',
      video_ogv_download_only: true,
    }),
    [],
  )
  assert.deepEqual(sources, [])
  assert.deepEqual(downloads, [
    { address: 'https://dl.example/talk.mp4', label: 'MP4', size: 99 },
    { address: 'https://dl.example/get?file=1', label: 'OGV', size: null },
  ])
})

test('sorts sources: original, hosts, streams, files, without duplicates', () => {
  const { sources } = findSources(
    record({
      source_url: 'https://one.example/talk.webm',
      video_ogv_url: 'https://one.example/talk.ogv',
      video_mp4_url: 'https://one.example/talk.mp4',
      video_webm_url: 'https://one.example/talk.webm',
    }),
    [
      media('https://two.example/talk.mp4'),
      media('https://one.example/talk.m3u8'),
      media('https://vimeo.com/1'),
      media('https://youtu.be/A-u8XHAUac4'),
      media('https://www.youtube.com/watch?v=A-u8XHAUac4&t=9'),
    ],
  )
  assert.deepEqual(
    sources.map(({ label }) => label),
    ['WEBM', 'Vimeo', 'YouTube', 'HLS', 'MP4 (one.example)', 'MP4 (two.example)', 'OGV'],
  )
})

const hostile = [
  'javascript:alert(1)//https://www.youtube.com/watch?v=A-u8XHAUac4',
  ' javascript:alert(1)',
  'java\nscript:alert(1)',
  'data:text/html,<script>alert(1)</script>',
  'data:video/mp4;base64,AAAA',
  'blob:https://files.example/a.mp4',
  'file:///etc/passwd.mp4',
  'ftp://files.example/a.mp4',
  '//www.youtube.com/watch?v=A-u8XHAUac4',
  'https://www.youtube.com@evil.example/watch?v=A-u8XHAUac4',
  'https://user:word@files.example/a.mp4',
  'https://www.youtu\tbe.com/watch?v=A-u8XHAUac4',
  'https://files.example/\u0000a.mp4',
  'https://files.example/a\r\nSet-Cookie: a=b.mp4',
  'https://files.example/a\u0085.mp4',
  'https://',
  'https://[::1',
  '<script>alert(1)</script>',
  `https://files.example/${'a'.repeat(5000)}.mp4`,
]

test('drops URLs that are not plain http or https', () => {
  for (const address of hostile) {
    const related: Fact = { kind: 'related', url: address, label: 'Slides' }
    assert.deepEqual(from(address, [media(address), related]), nothing, JSON.stringify(address))
  }
})

const strangers = [
  'https://youtube.com.evil.example/watch?v=A-u8XHAUac4',
  'https://evilyoutube.com/watch?v=A-u8XHAUac4',
  'https://www.youtube.com.:443/watch?v=A-u8XHAUac4',
  'https://www.youtube.com:8443/watch?v=A-u8XHAUac4',
  'https://evil.example/www.youtube.com/watch?v=A-u8XHAUac4',
  'https://evil.example/#https://youtu.be/A-u8XHAUac4',
  'https://www.youtube.com/redirect?q=https://evil.example',
  'https://www.youtube.com/playlist?list=PL0123456789',
  'https://www.youtube.com/watch?v=A-u8XHAUac4"><script>',
  'https://www.youtube.com/watch?v=A-u8XHAUa',
  'https://www.youtube.com/watch?v=A-u8XHAUac4x',
  'https://www.youtube.com/embed/..%2f..%2fsearch',
  'https://www.youtube.com/embed/"><script>alert(1)</script>',
  'https://youtu.be/А-u8XHAUac4',
  'https://youtu.be/../A-u8XHAUac',
  'https://vimeo.com.evil.example/170384418',
  'https://vimeo.com/170384418"><script>',
  'https://vimeo.com/event/170384418',
  'https://vimeo.com/170384418/"><script>',
  'https://player.vimeo.com/video/1e9',
  `https://localhost/w/${short}`,
  `https://127.0.0.1/w/${short}`,
  `https://[::1]/videos/watch/${uuid}`,
  `https://0x7f.1/videos/watch/${uuid}`,
  `https://tube.example/videos/watch/${uuid}"><script>`,
  'https://evil.example/?file=a.mp4',
  'https://evil.example/a.mp4/',
  'https://evil.example/page.html#a.m3u8',
]

test('shows a URL of an unknown host as a link', () => {
  for (const address of strangers) {
    const { sources, downloads, links } = from(address)
    assert.deepEqual([sources, downloads], [[], []], address)
    assert.deepEqual(links[0]?.address, new URL(address).href, address)
    assert.doesNotMatch(JSON.stringify(links), /[<>]/, address)
  }
})

test('loads nothing from the local network of the reader', () => {
  for (const host of ['localhost', '192.168.0.1', '[fe80::1]', 'printer', '2130706433'])
    assert.deepEqual(from(`https://${host}/a.mp4`).sources, [], host)
})

test('ignores the embed markup of a record', () => {
  const embed = '<iframe src="https://www.youtube.com/embed/A-u8XHAUac4"></iframe>'
  assert.deepEqual(findSources(record({ embed }), []), nothing)
})

test('labels related links by their label or host', () => {
  const facts: Fact[] = [
    { kind: 'related', url: 'https://www.slides.example/1', label: null },
    { kind: 'related', url: 'https://slides.example/2', label: ' Slides ' },
    { kind: 'related', url: '/media/slides.pdf', label: 'Nowhere' },
  ]
  assert.deepEqual(findSources(record({}), facts).links, [
    { address: 'https://www.slides.example/1', label: 'slides.example', isRelated: true },
    { address: 'https://slides.example/2', label: 'Slides', isRelated: true },
  ])
})

test('plays files of the archive itself by their path, also without https', () => {
  const origin = 'http://127.0.0.1:8000'
  const clip = `${origin}/demo/clip.webm?a=1`
  const play = (address: string, from: string) =>
    findSources(record({ source_url: address }), [], from).sources.map(({ src }) => src)
  assert.deepEqual(play(clip, origin), ['/demo/clip.webm?a=1'])
  assert.deepEqual(play(clip, `${origin}/archive`), ['/demo/clip.webm?a=1'])
  assert.deepEqual(play(clip, 'http://127.0.0.1:8001'), [])
  assert.deepEqual(play(`${origin}//evil.example/clip.webm`, origin), [])
  assert.deepEqual(play(`${origin}/demo/clip.html`, origin), [])
})

test('allows only the hosts of the talk in the policy', () => {
  const { sources } = from('https://youtu.be/A-u8XHAUac4', [
    media('https://vimeo.com/1'),
    media(`https://tube.example/w/${short}`),
    media(`https://tube.example/w/${uuid}`),
  ])
  assert.deepEqual(sourcePolicy(sources), {
    frames: [
      'https://www.youtube-nocookie.com',
      'https://player.vimeo.com',
      'https://tube.example',
    ],
    hasMedia: false,
  })
  assert.deepEqual(sourcePolicy(from('https://a.example/a.mp4').sources), {
    frames: [],
    hasMedia: true,
  })
  assert.deepEqual(sourcePolicy([]), { frames: [], hasMedia: false })
})

test('parses timecodes in common formats', () => {
  const cases = {
    90: 90,
    '90s': 90,
    '1m30s': 90,
    '1h2m3s': 3723,
    '1h': 3600,
    '2m': 120,
    '1m30': 90,
    '1H2M': 3720,
    0: 0,
  }
  for (const [text, seconds] of Object.entries(cases))
    assert.equal(parseTimecode(text), seconds, text)
  for (const text of [
    '',
    'abc',
    '-5',
    '1.5',
    's',
    '1e3',
    '1s2m',
    '12345678',
    ' 9',
    null,
    undefined,
  ])
    assert.equal(parseTimecode(text), 0, String(text))
  assert.deepEqual([0, 59, 90.9, 3723].map(formatTimecode), ['0:00', '0:59', '1:30', '1:02:03'])
})

const status = (state: SourceStatus['state']): SourceStatus => ({
  state,
  since: '2026-03-15',
  lastGood: null,
})

test('orders limited sources after the others, then unreachable ones, and drops away ones', () => {
  const urls = {
    youtube: 'https://www.youtube.com/watch?v=A-u8XHAUac4',
    vimeo: 'https://vimeo.com/123',
    peertube: `https://tube.example/w/${short}`,
    mp4: 'https://files.example/talk.mp4',
    webm: 'https://files.example/talk.webm',
    flv: 'https://files.example/talk.flv',
    page: 'https://pages.example/talk',
  }
  const find = (states: Partial<Record<keyof typeof urls, SourceStatus['state']>>) => {
    const statuses = new Map(
      Object.entries(states).map(([name, state]) => [
        urls[name as keyof typeof urls],
        status(state),
      ]),
    )
    const { youtube, mp4, flv, ...copies } = urls
    const video = record({ source_url: youtube, video_mp4_url: mp4, video_flv_url: flv })
    return findSources(
      video,
      Object.values(copies).map((url) => media(url)),
      undefined,
      statuses,
    )
  }
  const labels = (list: readonly { label: string }[]) => list.map(({ label }) => label)

  assert.deepEqual(labels(find({}).sources), ['YouTube', 'Vimeo', 'tube.example', 'MP4', 'WEBM'])
  const mixed = find({ youtube: 'moved', vimeo: 'unreachable', mp4: 'age', webm: 'gone' })
  assert.deepEqual(labels(mixed.sources), ['tube.example', 'YouTube', 'MP4', 'Vimeo'])
  assert.deepEqual(
    mixed.sources.map((source) => source.status?.state),
    [undefined, 'moved', 'age', 'unreachable'],
  )
  assert.deepEqual(labels(mixed.downloads), ['FLV', 'MP4'])
  assert.deepEqual(mixed.lost, [
    { address: urls.webm, label: 'files.example (WEBM)', status: status('gone') },
  ])
  for (const state of ['gone', 'private', 'removed', 'closed'] as const) {
    const away = find({ youtube: state, flv: state, page: state })
    assert.deepEqual(labels(away.sources), ['Vimeo', 'tube.example', 'MP4', 'WEBM'])
    assert.deepEqual(labels(away.downloads), ['MP4', 'WEBM'])
    assert.deepEqual(away.links, [])
    assert.deepEqual(labels(away.lost), ['YouTube', 'files.example (FLV)', 'pages.example'])
    assert.deepEqual(sourcePolicy(away.sources).frames, [
      'https://player.vimeo.com',
      'https://tube.example',
    ])
  }
  const linked = find({ youtube: 'embed-off', peertube: 'embed-off' })
  assert.deepEqual(labels(linked.sources), ['Vimeo', 'MP4', 'WEBM'])
  assert.deepEqual(labels(linked.elsewhere), ['YouTube', 'tube.example'])
  assert.deepEqual(sourcePolicy(linked.sources).frames, ['https://player.vimeo.com'])
  const limited = find({ page: 'moved', flv: 'unreachable' })
  assert.deepEqual(limited.links, [
    { address: urls.page, label: 'pages.example', status: status('moved') },
  ])
  assert.deepEqual(labels(limited.downloads), ['MP4', 'WEBM', 'FLV'])
})

test('lists a lost recording once, and never a URL that is no plain one', () => {
  const [watch, short] = [
    'https://www.youtube.com/watch?v=A-u8XHAUac4',
    'https://youtu.be/A-u8XHAUac4',
  ]
  const script = 'javascript:alert(1)'
  const statuses = new Map([watch, short, script].map((url) => [url, status('private')]))
  const video = record({ source_url: watch, video_mp4_url: script })
  const { lost, ...others } = findSources(video, [media(short)], undefined, statuses)
  assert.deepEqual(
    lost.map(({ address }) => address),
    [watch],
  )
  assert.deepEqual({ ...others, lost: [] }, nothing)
})
